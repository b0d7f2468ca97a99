//! The IR core: functions that own their storage, ops described by rows, and the text that they print as.
//!
//! Reading order:
//!
//! - [`entity`]: the `u32` ids of everything.
//! - [`types`], [`attrs`], [`names`], [`locs`]: what an op refers to, interned per function.
//! - [`opdef`]: the rows that say what an op is; [`registry`]: the dialects a run knows.
//! - [`func`]: a function and its storage; [`module`]: the symbols of a file.
//! - [`paged`]: tables of what is known of entities.
//! - [`builder`], [`rewrite`], [`clone`]: the only ways to change a function.
//! - [`walk`], [`uses`], [`effects`], [`form`], [`verify`], [`symbols`]: questions asked of it.
//! - [`print`](mod@print): the text; [`text_order`]: the order of ops that it implies.
//!
//! A function shares nothing with another one: it is `Send`, a clone is a few copies, and a dropped candidate
//! leaves nothing behind. Control is structured and a region has one block, so dominance is scope.

pub mod attrs;
pub mod builder;
pub mod clone;
pub mod effects;
pub mod entity;
pub mod form;
pub mod func;
pub mod locs;
pub mod module;
pub mod names;
pub mod opdef;
pub mod paged;
pub mod print;
pub mod registry;
pub mod rewrite;
mod row_facts;
pub mod symbols;
pub mod text_order;
pub mod types;
pub mod uses;
pub mod verify;
pub mod walk;

pub use attrs::{AttrData, BinOp, UnOp};
pub use builder::Builder;
pub use cranelift_entity::EntitySet;
pub use entity::{Attr, Attrs, Loc, Name, Op, Region, Type, Value};
pub use func::{Def, Func, Locs};
pub use module::Module;
pub use names::keys;
pub use opdef::{Effect, OpDef, Opcode, Role};
pub use registry::Registry;
pub use rewrite::Rewriter;
pub use types::{Elem, Scalar, TypeData, TypeParam};
