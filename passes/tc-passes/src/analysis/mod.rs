//! Facts that several passes ask for. A pass never imports another pass; what they share stands here.

pub(crate) mod access;
pub(crate) mod dead;
pub(crate) mod dependence;
mod difference;
mod flight;
pub(crate) mod fold;
mod form;
mod guards;
pub(crate) mod inlining;
pub(crate) mod invariant;
pub(crate) mod launch;
pub(crate) mod lockstep;
pub(crate) mod order;
pub(crate) mod places;
mod points;
pub(crate) mod privatize;
pub(crate) mod remake;
mod rows;
pub(crate) mod structure;
pub(crate) mod sync;
pub(crate) mod target;
mod threads;
pub(crate) mod tiles;
pub(crate) mod touched;
pub(crate) mod uniform;
pub(crate) mod warps;
pub(crate) mod words;
