//! Bundles, compiled by `cc` and `c++` and run: with a driver that writes down what it is asked to do, and with none.

mod calls;
mod document;
mod examples;
mod ffi;
mod formulas;
mod harness;
mod launches;
mod misuse;
mod pages;
mod texts;
