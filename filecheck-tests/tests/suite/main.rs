//! The pages and the generators: what they show runs.

mod browser;
mod from_tvm;
mod pages;
mod random;
mod tutorial;
