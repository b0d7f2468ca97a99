//! The repository as this tool holds it.

mod additions;
mod editor;
mod features;
mod published;
mod tidy;
