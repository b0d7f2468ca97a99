//! What stands before the body of a function.

use crate::entity::{Attr, Attrs, Loc, Name, Type};
use crate::opdef::Opcode;

/// A symbol of a function, such as `n: 1..65536 = 1024`, or a parameter of a schedule.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct SymbolDecl {
    /// The name; the function's body knows it as a region argument of the same name.
    pub name: Name,
    /// The range `low .. high`, expressions over earlier symbols.
    pub range: Option<(Attr, Attr)>,
    /// The default.
    pub default: Option<Attr>,
}

/// A parameter of a schedule: `p: i32 in [8, 16]`.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct ParamDecl {
    /// The parameter's attributes: alignment and strides of a buffer.
    pub attrs: Attrs,
    /// What follows `in` where it is no scope: the choices of a schedule's parameter.
    pub choices: Option<Attr>,
    /// What a call of a schedule function that does not give the parameter means: `rows: i32 = 128`.
    pub default: Option<Attr>,
}

/// A result of a function as its header declares it.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct ResultDecl {
    /// The name, where it has one (intrinsics).
    pub name: Option<Name>,
    /// The type.
    pub ty: Type,
    /// The attributes.
    pub attrs: Attrs,
}

/// What stands before the body of a function.
#[derive(Clone, Hash, Debug)]
pub struct Header {
    /// The item's row.
    pub opcode: Opcode,
    /// The symbol, without `@`.
    pub symbol: String,
    /// The operators that a schedule is for.
    pub targets: Vec<String>,
    /// Symbols; they are the first arguments of the body.
    pub symbols: Vec<SymbolDecl>,
    /// Parameters; they are the arguments of the body after the symbols.
    pub params: Vec<ParamDecl>,
    /// Results.
    pub results: Vec<ResultDecl>,
    /// The conditions after `where`.
    pub facts: Vec<Attr>,
    /// Attributes.
    pub attrs: Attrs,
    /// Where the item opens.
    pub loc: Loc,
}
