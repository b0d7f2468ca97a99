//! Rows: what an op is.
//!
//! A dialect is a table of [`OpDef`] rows. From a row come the typed view, the builder method, what the parser
//! accepts, what the printer writes, the structural part of the verifier and the op's entry in the documents;
//! so none of these can drift from the others. The macro [`dialect!`](crate::dialect) writes such a table.

use crate::attrs::{BinOp, UnOp};
use crate::entity::{Attr, Attrs, Op, Type, Value};
use crate::func::Func;
use crate::symbols::Symbols;
use tc_support::Diagnostics;

/// The number of an op's row: the dialect's number in the high byte, the row's index in the low one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Opcode(pub u16);

impl Opcode {
    /// An op without a row, kept as it came; its name is the attribute `op.name`.
    pub const UNKNOWN: Opcode = Opcode(u16::MAX);

    /// Row `row` of dialect number `dialect`.
    pub const fn new(dialect: u8, row: u8) -> Opcode {
        Opcode((dialect as u16) << 8 | row as u16)
    }

    /// The dialect's number.
    pub const fn dialect(self) -> u8 {
        (self.0 >> 8) as u8
    }

    /// The row's index.
    pub const fn row(self) -> u8 {
        self.0 as u8
    }
}

/// The level of the language that an item's body is written at. It decides what short names mean there.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Context {
    /// Everywhere.
    Any,
    /// Operators.
    Te,
    /// Programs.
    Tir,
    /// Schedules.
    Sched,
}

/// Which piece of sugar an op stands behind; an op without a role has the generic form.
///
/// A dialect from elsewhere has the operators of the language for values of its own types
/// ([`OwnBinary`](Role::OwnBinary), [`OwnUnary`](Role::OwnUnary)), blocks ([`Block`](Role::Block)), short names
/// ([`OpDef::short`]) and items ([`OpDef::item`]). The other roles say what an op means to passes, and are this repository's.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Role {
    /// The generic form; also a call by short name, where the row has one.
    Plain,
    /// A literal.
    Constant,
    /// `a + b`
    Binary(BinOp),
    /// `a < b`: the predicate is an attribute.
    Compare,
    /// `-a`
    Unary(UnOp),
    /// `a * b`, where `a` or `b` is of a type of the row's dialect; any operator but comparisons, `&&` and `||`. It is no
    /// arithmetic to passes.
    OwnBinary(BinOp),
    /// `-a`, where `a` is of a type of the row's dialect.
    OwnUnary(UnOp),
    /// `cast<f32>(a)`
    Cast,
    /// `for i in a..b { … }`
    For,
    /// `if c { … } else { … }`; with a result and expressions for arms, `if_then_else(c, a, b)` and `a && b`.
    If,
    /// `yield a, b`
    Yield,
    /// `return a, b`
    Return,
    /// `A[i, j]`
    Load,
    /// `A[i, j] = x`
    Store,
    /// `&A[i, j]`: a reference to an element.
    RefElement,
    /// `&A[i : n, j : m]`: a reference to a region.
    RefRegion,
    /// `alloc A: f32[n] in shared`
    Alloc,
    /// `@callee(a, b)`
    Call,
    /// `compute B[i: n] = …`
    Compute,
    /// `sum[k: n](…)`
    Reduce,
    /// A stage of the operator that a schedule names.
    Stage,
    /// `B.i`: an axis of a stage.
    Axis,
    /// What a name stands for on the way through a branch of a schedule that does not bind it.
    Undefined,
    /// `init { … }`: an op without operands whose regions follow its short name.
    Block,
}

impl Role {
    /// Is it `a << b` or `a >> b`?
    pub const fn is_shift(self) -> bool {
        matches!(self, Role::Binary(BinOp::Shl | BinOp::Shr))
    }
}

/// What an op does to the buffer behind an operand.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Access {
    /// Nothing.
    None,
    /// Reads.
    Read,
    /// Writes.
    Write,
    /// Reads and writes.
    ReadWrite,
}

impl Access {
    /// Does it read?
    pub const fn reads(self) -> bool {
        matches!(self, Access::Read | Access::ReadWrite)
    }

    /// Does it write?
    pub const fn writes(self) -> bool {
        matches!(self, Access::Write | Access::ReadWrite)
    }
}

/// What stands at a parameter.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ParamKind {
    /// A value.
    Value,
    /// A place: a buffer, or a reference to an element or a region of one.
    Place(Access),
    /// Any number of values; one parameter of a row at the most is variadic.
    Values,
    /// A bracketed list of values.
    List,
    /// An attribute: a word such as `shared`.
    Word,
    /// An attribute: an integer.
    Int,
    /// An attribute: a string.
    Str,
    /// An attribute: a symbol such as `@f`.
    Symbol,
    /// An attribute: any value, expressions over names included.
    Any,
}

impl ParamKind {
    /// Does it hold operands?
    pub const fn is_operand(self) -> bool {
        matches!(self, ParamKind::Value | ParamKind::Place(_) | ParamKind::Values | ParamKind::List)
    }

    /// Does it hold any number of operands?
    pub const fn is_variadic(self) -> bool {
        matches!(self, ParamKind::Values | ParamKind::List)
    }
}

/// One parameter of an op.
#[derive(Clone, Copy, Debug)]
pub struct Param {
    /// The name; of a keyed parameter, the key.
    pub name: &'static str,
    /// What stands there.
    pub kind: ParamKind,
    /// Is it given as `name = value`, or by position?
    pub keyed: bool,
    /// May it be left out?
    pub optional: bool,
}

impl Param {
    /// A parameter by position.
    pub const fn pos(name: &'static str, kind: ParamKind) -> Param {
        Param { name, kind, keyed: false, optional: false }
    }

    /// A parameter by key.
    pub const fn key(name: &'static str, kind: ParamKind) -> Param {
        Param { name, kind, keyed: true, optional: false }
    }

    /// The same, but it may be left out.
    pub const fn opt(mut self) -> Param {
        self.optional = true;
        self
    }
}

/// What an op does besides computing its results from its operands. Accesses through operands are told by
/// [`ParamKind::Place`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Effect {
    /// It makes a buffer.
    pub allocates: bool,
    /// It orders threads.
    pub synchronises: bool,
    /// Not known; stops all motion.
    pub unknown: bool,
    /// It does what its regions do, perhaps many times or not at all.
    pub regions: bool,
    /// It may run where the program would not have run it. Loads and divisions by a variable may not.
    pub speculatable: bool,
    /// It fails only where its second operand, the divisor, is zero: by a literal above zero it may run anywhere.
    pub divides: bool,
    /// All threads of a group must meet at it; it is never moved into or out of divergent control.
    pub convergent: bool,
}

impl Effect {
    /// No effect, and it may run anywhere.
    pub const PURE: Effect = Effect {
        allocates: false,
        synchronises: false,
        unknown: false,
        regions: false,
        speculatable: true,
        divides: false,
        convergent: false,
    };
    /// No effect beyond accesses through operands, but it runs only where the program says.
    pub const NOT_SPECULATABLE: Effect = Effect { speculatable: false, ..Effect::PURE };
    /// The name that [`Effect::NOT_SPECULATABLE`] had.
    #[deprecated(note = "use `Effect::NOT_SPECULATABLE`")]
    pub const PINNED: Effect = Effect::NOT_SPECULATABLE;
    /// No effect, and it fails only where its divisor is zero.
    pub const DIVISION: Effect = Effect { divides: true, ..Effect::NOT_SPECULATABLE };
    /// What its regions do.
    pub const REGIONS: Effect = Effect { regions: true, ..Effect::NOT_SPECULATABLE };
    /// Unknown.
    pub const UNKNOWN: Effect = Effect { unknown: true, ..Effect::NOT_SPECULATABLE };
}

/// How many results an op has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Results {
    /// This many.
    Count(u8),
    /// Any number.
    Many,
}

/// The type of the one result from operands and attributes; refuses with a reason.
pub type InferType = fn(&mut Func, &[Value], Attrs) -> Result<Type, String>;

/// The types of several results.
pub type InferTypes = fn(&mut Func, &[Value], Attrs) -> Result<Vec<Type>, String>;

/// How the types of the results follow, where the text does not write them.
#[derive(Clone, Copy)]
pub enum Infer {
    /// They do not: the text must write them.
    Written,
    /// The type of this operand.
    Same(usize),
    /// `bool`, with the lanes of operand 0.
    Predicate,
    /// Of the one result, as the function says.
    By(InferType),
    /// Of several results, as the function says.
    All(InferTypes),
}

/// A region of an op.
#[derive(Clone, Copy, Debug)]
pub struct RegionDef {
    /// What it is for.
    pub name: &'static str,
    /// May it be left out?
    pub optional: bool,
}

/// What folding an op gave.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Folded {
    /// A constant of the result's type, given by its attribute.
    Constant(Attr),
    /// A value that is there already.
    Value(Value),
}

/// Checks an op beyond its row. Errors go into the diagnostics.
pub type Verify = fn(&Func, Op, &mut Diagnostics);

/// Checks what an op, or without one its item, says of the module's symbols: once, when the module is read. So it is the
/// place for warnings, too. Errors go into the diagnostics.
pub type VerifySymbols = fn(&Symbols<'_>, &Func, Option<Op>, &mut Diagnostics);

/// Folds an op whose operands allow it. It may intern attributes and nothing else.
pub type Fold = fn(&mut Func, Op) -> Option<Folded>;

/// What an item row adds: the op is a symbol of a module.
#[derive(Clone, Copy, Debug)]
pub struct ItemDef {
    /// The word that opens the item in text.
    pub keyword: &'static str,
    /// What its body is written in.
    pub context: Context,
    /// The symbol table it lives in.
    pub table: SymbolTable,
}

/// The symbol tables of a module.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum SymbolTable {
    /// Functions and combiners.
    Functions,
    /// Tensor intrinsics.
    Intrinsics,
    /// Schedules, each known by its operator and its name.
    Schedules,
    /// Functions that schedules call.
    ScheduleFunctions,
}

/// A row: everything the tools know of an op.
#[derive(Clone, Copy)]
pub struct OpDef {
    /// The dotted name.
    pub name: &'static str,
    /// One sentence, with its full stop.
    pub summary: &'static str,
    /// Operands and attributes, in the order in which they are written.
    pub params: &'static [Param],
    /// May it carry attributes besides those? Strangers' notes (`x.note`) are always allowed.
    pub open_attrs: bool,
    /// The results.
    pub results: Results,
    /// The types of the results.
    pub infer: Infer,
    /// The regions.
    pub regions: &'static [RegionDef],
    /// What it does.
    pub effect: Effect,
    /// Does it end a region?
    pub terminator: bool,
    /// Do its first two operands commute?
    pub commutative: bool,
    /// The sugar it stands behind.
    pub role: Role,
    /// Where its short name and its role hold.
    pub context: Context,
    /// The name by which it is called without its dialect.
    pub short: Option<&'static str>,
    /// Set for items.
    pub item: Option<ItemDef>,
    /// Checks of the op alone: of the types of its operands and results, and of its attributes. It is not asked again
    /// of an op before one of these changes.
    pub verify_alone: Option<Verify>,
    /// Further checks, which may look at what stands around the op.
    pub verify: Option<Verify>,
    /// Checks of the symbols that an op refers to, or, in the row of an item, those that its header refers to.
    pub verify_symbols: Option<VerifySymbols>,
    /// The folder.
    pub fold: Option<Fold>,
}

impl OpDef {
    /// A pure op without parameters, results or regions, on which rows are built by naming what differs.
    pub const BASE: OpDef = OpDef {
        name: "",
        summary: "",
        params: &[],
        open_attrs: false,
        results: Results::Count(0),
        infer: Infer::Written,
        regions: &[],
        effect: Effect::PURE,
        terminator: false,
        commutative: false,
        role: Role::Plain,
        context: Context::Any,
        short: None,
        item: None,
        verify_alone: None,
        verify: None,
        verify_symbols: None,
        fold: None,
    };

    /// The row of ops that have none.
    pub const UNKNOWN: OpDef = OpDef {
        name: "unknown",
        summary: "An op that no dialect declares.",
        open_attrs: true,
        results: Results::Many,
        effect: Effect::UNKNOWN,
        ..OpDef::BASE
    };

    /// The index of the parameter called `name`.
    pub fn param_idx(&self, name: &str) -> Option<usize> {
        self.params.iter().position(|param| param.name == name)
    }
}

/// Declares a dialect: the types of its own, its rows, and a typed view for each.
///
/// A view is a newtype over [`Op`]; it has `row`, `opcode_in` (the opcode that a registry allotted), `of` (a checked cast),
/// `build` (the builder method) and an accessor for each operand parameter.
///
/// This repository's dialects name a number, and a constant for the opcode of each row, so that opcodes can be matched:
/// `dialect "tir" = 3;` and `For FOR "for" …`. A dialect from elsewhere names neither: `dialect "mine";` and `Twice "twice" …`.
#[macro_export]
macro_rules! dialect {
    (
        $(#[$meta:meta])*
        dialect $name:literal = $number:literal $(, types = [$($ty:literal),* $(,)?])?;
        $($(#[doc = $doc:literal])+ $view:ident $opcode:ident $text:literal
          ($($pname:ident : $pkind:ident $(($access:ident))? $($pflag:ident)*),* $(,)?)
          $row:tt)*
    ) => {
        #[allow(clippy::upper_case_acronyms, reason = "the constants number the rows")]
        #[allow(non_camel_case_types, reason = "the constants number the rows")]
        #[repr(u8)]
        enum RowNumber { $($opcode),* }

        $(
            #[doc = concat!("The opcode of `", $name, ".", $text, "`.")]
            pub const $opcode: $crate::Opcode = $crate::Opcode::new($number, RowNumber::$opcode as u8);

            $(#[doc = $doc])+
            #[derive(Clone, Copy, PartialEq, Eq, Debug)]
            pub struct $view(pub $crate::Op);

            impl $view {
                /// The opcode.
                pub const OPCODE: $crate::Opcode = $opcode;

                /// The view of `op`, if it is one of these.
                pub fn of(func: &$crate::Func, op: $crate::Op) -> Option<$view> {
                    (func.opcode(op) == $opcode).then_some($view(op))
                }

                /// The opcode, which is the same in every registry.
                pub const fn opcode_in(_: &$crate::Registry) -> $crate::Opcode { $opcode }

                $crate::dialect!(@new []; []; $($pname $pkind;)*);
                $crate::dialect!(@accessors 0; $($pname $pkind;)*);
            }
        )*

        $(#[$meta])*
        pub const ROWS: &[$crate::OpDef] = &[$(
            $crate::dialect!(@def $name $text [$($doc)+] [$($pname $pkind $(($access))? $($pflag)*;)*] $row)
        ),*];

        /// The dialect, to be registered.
        pub const DIALECT: $crate::registry::Dialect =
            $crate::registry::Dialect { name: $name, number: Some($number), rows: ROWS, types: &[$($($ty),*)?] };
    };
    (
        $(#[$meta:meta])*
        dialect $name:literal $(, types = [$($ty:literal),* $(,)?])?;
        $($(#[doc = $doc:literal])+ $view:ident $text:literal
          ($($pname:ident : $pkind:ident $(($access:ident))? $($pflag:ident)*),* $(,)?)
          $row:tt)*
    ) => {
        #[repr(u8)]
        enum RowNumber { $($view),* }

        $(
            $(#[doc = $doc])+
            #[derive(Clone, Copy, PartialEq, Eq, Debug)]
            pub struct $view(pub $crate::Op);

            impl $view {
                /// The row.
                pub fn row() -> &'static $crate::OpDef { &ROWS[RowNumber::$view as usize] }

                /// The opcode that `registry` allotted. The dialect has to be registered there.
                pub fn opcode_in(registry: &$crate::Registry) -> $crate::Opcode {
                    registry.by_name($view::row().name).expect("ops are made where their dialect was added")
                }

                /// The view of `op`, if it is one of these.
                pub fn of(func: &$crate::Func, op: $crate::Op) -> Option<$view> {
                    core::ptr::eq(func.row(op), $view::row()).then_some($view(op))
                }

                $crate::dialect!(@new []; []; $($pname $pkind;)*);
                $crate::dialect!(@accessors 0; $($pname $pkind;)*);
            }
        )*

        $(#[$meta])*
        // One place in memory, by which an op is told to be of a row.
        pub static ROWS: &[$crate::OpDef] = &[$(
            $crate::dialect!(@def $name $text [$($doc)+] [$($pname $pkind $(($access))? $($pflag)*;)*] $row)
        ),*];

        /// The dialect, to be registered.
        pub static DIALECT: $crate::registry::Dialect =
            $crate::registry::Dialect { name: $name, number: None, rows: ROWS, types: &[$($($ty),*)?] };
    };

    (@def $name:literal $text:literal [$($doc:literal)+] [$($pname:ident $pkind:ident $(($access:ident))? $($pflag:ident)*;)*] $row:tt) => {
        $crate::opdef::OpDef {
            name: concat!($name, ".", $text),
            summary: $crate::dialect!(@first $($doc)+),
            params: &[$($crate::dialect!(@param $pname $pkind $(($access))? $($pflag)*)),*],
            ..$crate::dialect!(@row $row)
        }
    };

    (@first $doc:literal $($rest:literal)*) => { $doc };
    (@row { $($field:ident : $value:expr),* $(,)? }) => {
        $crate::opdef::OpDef { $($field: $value,)* ..$crate::opdef::OpDef::BASE }
    };

    (@param $name:ident value $($flag:ident)*) => { $crate::dialect!(@flags $name, $crate::opdef::ParamKind::Value; $($flag)*) };
    (@param $name:ident place ($access:ident) $($flag:ident)*) => {
        $crate::dialect!(@flags $name, $crate::opdef::ParamKind::Place($crate::opdef::Access::$access); $($flag)*)
    };
    (@param $name:ident values $($flag:ident)*) => { $crate::dialect!(@flags $name, $crate::opdef::ParamKind::Values; $($flag)*) };
    (@param $name:ident list $($flag:ident)*) => { $crate::dialect!(@flags $name, $crate::opdef::ParamKind::List; $($flag)*) };
    (@param $name:ident word $($flag:ident)*) => { $crate::dialect!(@flags $name, $crate::opdef::ParamKind::Word; $($flag)*) };
    (@param $name:ident int $($flag:ident)*) => { $crate::dialect!(@flags $name, $crate::opdef::ParamKind::Int; $($flag)*) };
    (@param $name:ident str $($flag:ident)*) => { $crate::dialect!(@flags $name, $crate::opdef::ParamKind::Str; $($flag)*) };
    (@param $name:ident symbol $($flag:ident)*) => { $crate::dialect!(@flags $name, $crate::opdef::ParamKind::Symbol; $($flag)*) };
    (@param $name:ident any $($flag:ident)*) => { $crate::dialect!(@flags $name, $crate::opdef::ParamKind::Any; $($flag)*) };

    (@flags $name:ident, $kind:expr;) => { $crate::opdef::Param::pos(stringify!($name), $kind) };
    (@flags $name:ident, $kind:expr; opt) => { $crate::opdef::Param::pos(stringify!($name), $kind).opt() };
    (@flags $name:ident, $kind:expr; key) => { $crate::opdef::Param::key(stringify!($name), $kind) };
    (@flags $name:ident, $kind:expr; key opt) => { $crate::opdef::Param::key(stringify!($name), $kind).opt() };

    // The builder method: one argument an operand parameter, then attributes and result types.
    (@new [$($args:tt)*]; [$($parts:tt)*]; $name:ident value; $($rest:tt)*) => {
        $crate::dialect!(@new [$($args)* $name: $crate::Value,]; [$($parts)* $crate::builder::OperandSegment::One($name),]; $($rest)*);
    };
    (@new [$($args:tt)*]; [$($parts:tt)*]; $name:ident place; $($rest:tt)*) => {
        $crate::dialect!(@new [$($args)* $name: $crate::Value,]; [$($parts)* $crate::builder::OperandSegment::One($name),]; $($rest)*);
    };
    (@new [$($args:tt)*]; [$($parts:tt)*]; $name:ident values; $($rest:tt)*) => {
        $crate::dialect!(@new [$($args)* $name: &[$crate::Value],]; [$($parts)* $crate::builder::OperandSegment::Many($name),]; $($rest)*);
    };
    (@new [$($args:tt)*]; [$($parts:tt)*]; $name:ident list; $($rest:tt)*) => {
        $crate::dialect!(@new [$($args)* $name: &[$crate::Value],]; [$($parts)* $crate::builder::OperandSegment::Many($name),]; $($rest)*);
    };
    (@new [$($args:tt)*]; [$($parts:tt)*]; $name:ident $attr:ident; $($rest:tt)*) => {
        $crate::dialect!(@new [$($args)*]; [$($parts)*]; $($rest)*);
    };
    (@new [$($args:tt)*]; [$($parts:tt)*];) => {
        /// Builds one at the builder's place. The arguments are the operands of the row, then attributes, then
        /// the types of the results where the row cannot infer them.
        #[allow(clippy::too_many_arguments, reason = "as many as the row has operands")]
        pub fn build(b: &mut $crate::Builder<'_>, $($args)* attrs: &[($crate::Name, $crate::Attr)], results: &[$crate::Type]) -> $crate::Op {
            let parts: &[$crate::builder::OperandSegment<'_>] = &[$($parts)*];
            let opcode = Self::opcode_in(b.func.registry());
            b.build_segments(opcode, parts, attrs, results)
        }
    };

    (@accessors $idx:expr; $name:ident values; $($rest:tt)*) => {
        /// The operands of this parameter.
        pub fn $name(self, func: &$crate::Func) -> &[$crate::Value] { func.param_operands(self.0, $idx) }
        $crate::dialect!(@accessors $idx + 1; $($rest)*);
    };
    (@accessors $idx:expr; $name:ident list; $($rest:tt)*) => {
        /// The operands of this parameter.
        pub fn $name(self, func: &$crate::Func) -> &[$crate::Value] { func.param_operands(self.0, $idx) }
        $crate::dialect!(@accessors $idx + 1; $($rest)*);
    };
    (@accessors $idx:expr; $name:ident value; $($rest:tt)*) => {
        /// The operand. Panics where the verifier would have refused, or where an optional one was left out.
        pub fn $name(self, func: &$crate::Func) -> $crate::Value { func.param_operands(self.0, $idx)[0] }
        $crate::dialect!(@accessors $idx + 1; $($rest)*);
    };
    (@accessors $idx:expr; $name:ident place; $($rest:tt)*) => {
        /// The operand: a buffer or a reference.
        pub fn $name(self, func: &$crate::Func) -> $crate::Value { func.param_operands(self.0, $idx)[0] }
        $crate::dialect!(@accessors $idx + 1; $($rest)*);
    };
    (@accessors $idx:expr; $name:ident $attr:ident; $($rest:tt)*) => {
        /// The attribute, if it is given.
        pub fn $name(self, func: &$crate::Func) -> Option<$crate::Attr> { func.attr_named(self.0, stringify!($name)) }
        $crate::dialect!(@accessors $idx + 1; $($rest)*);
    };
    (@accessors $idx:expr;) => {};
}
