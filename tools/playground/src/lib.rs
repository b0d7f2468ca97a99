//! The compiler and the simulator as a module of WebAssembly, for one static page.
//!
//! The page sends a request as JSON and gets an answer as JSON; [`answer`] is all of it. `ffi` carries both over the memory of
//! the module: there are four exported functions, and nothing is imported but a clock, so that the module runs wherever it is loaded.
//!
//! | request | answer |
//! |---|---|
//! | `options` | targets, passes, named pipelines |
//! | `look` | what the text holds: items, cases to check, diagnostics |
//! | `run` | the program after each pass, and what was emitted |
//! | `check` | a case on the simulator: values, races, bounds |
//! | `block` | what each thread of one block does to a buffer |
//! | `report` | the page of `tc-opt --report` |
//!
//! An answer has `ok`, and `diagnostics` each of which has its rendered `text` beside the fields of `tc-opt --json`.

mod block;
mod check;
#[cfg(target_family = "wasm")]
mod ffi;
mod look;
mod passes;
mod request;
mod shown;

pub use request::answer;
