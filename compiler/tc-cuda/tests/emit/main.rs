//! From text to CUDA, and through NVIDIA's compiler: no warning, nothing contracted, the same bytes twice.

mod legal;
mod support;

mod exact;
mod ops;
mod refusals;
mod texts;
