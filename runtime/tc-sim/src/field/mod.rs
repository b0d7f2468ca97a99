//! A second domain of values beside numbers: exact arithmetic, modulo primes.
//!
//! In it a float is an element of a finite field. Sums and products may be taken in any order, division has an inverse,
//! the exponential of a sum is the product of the exponentials, and other functions are opaque, but equal on equal
//! arguments. So a program that computes what its operator says, in whatever order, gives the same bits; one that leaves
//! a term out, or rounds at another place, gives others but with a chance of about 2^-30 a cell. Integers stay numbers:
//! indices and control are what they are.
//!
//! - `residue`: the two primes. `element`: elements, and how a cell holds one.
//! - `range`: the interval of the number that an element stands for. It runs beside the element in the register and the
//!   plane that hold magnitudes in the domain of numbers.
//! - `number`: arithmetic on both. `rounding`: conversions. `lanes`: instructions.
//! - `compare`: a program against its operator. `literals`: those that the compiler made.
//!
//! # What is not decided
//!
//! Residues have no order. Maxima, comparisons and integer parts follow the ranges; where two overlap, and the elements
//! differ, the result is *tainted*, and so is what follows of it. Tainted are also an exponential of what comes of an
//! exponential, whose exponent has no residue, and quotients by what may be 0. Where a tainted cell differs nothing is
//! said. A comparison or an integer that is not decided taints the whole run, and so does a literal that the compiler
//! evaluated, which is rounded.

mod compare;
mod element;
mod lanes;
mod literals;
mod number;
mod range;
mod residue;
mod rounding;

pub use compare::{FieldReport, FieldVerdict, compare};
pub(crate) use element::{Pieces, is_element};
pub(crate) use lanes::{Doubt, FieldInstr, FieldOp, binary, fma};
pub(crate) use number::Number;
pub(crate) use range::Range;
pub(crate) use rounding::convert;

#[cfg(test)]
mod laws;
