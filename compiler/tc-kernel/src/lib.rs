//! What all emitters ask of a device program: launches, facts of a kernel, sizes left open, the manifest.
//!
//! The module comes out of `split-host-device`, `narrow-index`, `lower-intrin` and `legalize-arith`: functions of the host
//! that make global buffers and call kernels, and kernels in the form `device`. Anything else is refused, all of it at
//! once, each diagnostic at its place.
//!
//! - [`job`] is the way from a module to texts and manifests; an emitter gives an [`accepts::Emitter`], which says what
//!   it has words for, and a function that writes one kernel.
//! - [`accepts`] is what can be written; [`host`] takes a function of the host apart; [`facts`] is what is known of a
//!   kernel before it is written: launch, shared memory, accesses.
//! - [`arithmetic`] is what tables of arithmetic are made of; [`access`] says how a load or store touches memory, [`place`] what a reference refers to, [`live`] what anything
//!   needs, [`names`] and [`reserved`] what things are called.
//! - [`matrix`], [`mma`] and [`wmma`] are what matrix products and asynchronous copies ask of a kernel, [`residency`] how
//!   many blocks of it fit. [`bulk`] and [`maps`] are the same for bulk copies, [`warpgroup`] for products of a warpgroup.
//! - [`ptx`] is the instructions that all emitters write as PTX.
//! - [`manifest`] builds the manifest; [`sizes`] says what in it follows from sizes that the program leaves open.

pub mod accepts;
pub mod access;
pub mod arithmetic;
pub mod bulk;
pub mod facts;
pub mod host;
pub mod job;
pub mod live;
pub mod manifest;
pub mod maps;
pub mod matrix;
pub mod mma;
pub mod names;
pub mod place;
pub mod ptx;
pub mod reserved;
pub mod residency;
pub mod sizes;
pub mod warpgroup;
pub mod wmma;
