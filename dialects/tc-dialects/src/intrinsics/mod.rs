//! The library of tensor intrinsics, as text. A file says at its head what its intrinsics are called; docs/intrinsics.md
//! lists them. Those of `wgmma` are over a thousand, and their text is made of their name ([`wgmma::text`]).

pub mod wgmma;

/// The files: what messages call each, and its text.
pub const FILES: &[(&str, &str)] = &[
    ("intrinsics/wmma.tir", include_str!("../../intrinsics/wmma.tir")),
    ("intrinsics/mma.tir", include_str!("../../intrinsics/mma.tir")),
    ("intrinsics/ldmatrix.tir", include_str!("../../intrinsics/ldmatrix.tir")),
];
