//! From IR to the dialects of MLIR's GPU path as text, and, with the feature `mlir`, to PTX and LLVM IR in process.

pub mod lower;
