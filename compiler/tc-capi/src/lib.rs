//! The compiler for programs in C: a library with a C interface, and its header.
