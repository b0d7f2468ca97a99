//! Operators: what to compute, by definition.
//!
//! A `te.compute` gives a tensor element by element. Its operands are the bounds of its axes, its region's
//! arguments are the axes. A reduction (`te.reduce`) stands at the top of that region.

mod intrinsic;
mod shifted;
mod verify;
mod verify_intrinsic;

use tc_ir::attrs::AttrData;
use tc_ir::opdef::{Context, Effect, Infer, ItemDef, RegionDef, Results, Role, SymbolTable};
use tc_ir::{Elem, Func, Op};
use tc_support::Diagnostic;
use tc_support::float_format::FloatFormat;

pub use intrinsic::{Axis, Intrinsic, Reduction};

/// The combiners that need no `te.combiner`.
pub const BUILT_IN_COMBINERS: [&str; 4] = ["sum", "prod", "min", "max"];

const BODY: &[RegionDef] = &[RegionDef { name: "body", optional: false }];

tc_ir::dialect! {
    /// The rows of `te`.
    dialect "te" = 3;

    /// An operator.
    FuncItem FUNC "func" ()
    { open_attrs: true, effect: Effect::UNKNOWN, verify: Some(verify::operator), verify_symbols: Some(shifted::warn),
      item: Some(ItemDef { keyword: "te.func", context: Context::Te, table: SymbolTable::Functions }) }

    /// A combiner of reductions: from the values so far and the new ones, the next; its identity stands in `identity`.
    CombinerItem COMBINER "combiner" ()
    { open_attrs: true, effect: Effect::UNKNOWN, verify: Some(verify::combiner), verify_symbols: Some(verify::empty_combiner),
      item: Some(ItemDef { keyword: "te.combiner", context: Context::Te, table: SymbolTable::Functions }) }

    /// A tensor intrinsic: what it computes, and the program that stands for it.
    IntrinItem INTRIN "intrin" ()
    { open_attrs: true, effect: Effect::UNKNOWN, verify: Some(verify_intrinsic::intrinsic),
      item: Some(ItemDef { keyword: "te.intrin", context: Context::Te, table: SymbolTable::Intrinsics }) }

    /// The element of a tensor; out of range it is poison, an error only if it is used.
    Read READ "read" (tensor: value, indices: values)
    { context: Context::Te, results: Results::Count(1), effect: Effect::NOT_SPECULATABLE, infer: Infer::By(verify::infer_read), role: Role::Load }

    /// Tensors by their elements. `bounds` holds the low and high end of each axis in turn.
    Compute COMPUTE "compute" (bounds: values)
    { context: Context::Te, open_attrs: true, results: Results::Many, regions: BODY, effect: Effect::PURE, role: Role::Compute, verify: Some(verify::compute) }

    /// Reduces by `combiner`: `args` holds the low and high end of each of `n_axes` axes, then initial values; with `has_where` the last value yielded is a condition.
    Reduce REDUCE "reduce" (args: values, n_axes: int key, combiner: word key, has_where: any key opt)
    { context: Context::Te, results: Results::Many, regions: BODY, effect: Effect::PURE, role: Role::Reduce, verify: Some(verify::reduce),
      verify_symbols: Some(verify::combiner_of) }

    /// Ends an operator and hands on its results.
    Return RETURN "return" (values: values)
    { context: Context::Te, terminator: true, role: Role::Return }

    /// The identity of a combiner.
    Identity IDENTITY "identity" ()
    { context: Context::Te, effect: Effect::REGIONS, regions: BODY, role: Role::Block, short: Some("identity") }

    /// What stands for an intrinsic as a whole.
    Body BODY_OP "body" ()
    { context: Context::Te, effect: Effect::REGIONS, regions: BODY, role: Role::Block, short: Some("body") }

    /// What stands for the first step of an intrinsic that reduces.
    Init INIT "init" ()
    { context: Context::Te, effect: Effect::REGIONS, regions: BODY, role: Role::Block, short: Some("init") }

    /// What stands for a further step of an intrinsic that reduces.
    Update UPDATE "update" ()
    { context: Context::Te, effect: Effect::REGIONS, regions: BODY, role: Role::Block, short: Some("update") }
}

/// What the combiner `word`, one of those that need no `te.combiner`, leaves alone among numbers of type `elem`.
pub fn identity_of(word: &str, elem: Elem) -> Option<AttrData> {
    let range = elem.int_range();
    // A type without an infinity has a greatest number.
    let greatest = elem.format().filter(|format| !format.has_infinity()).map_or(f64::INFINITY, FloatFormat::max_finite);
    let number = |int: i128, float: f64| if range.is_some() { AttrData::int(int) } else { AttrData::float(float) };
    Some(match word {
        "sum" => number(0, 0.0),
        "prod" => number(1, 1.0),
        "min" => number(range.map_or(0, |(_, max)| max), greatest),
        "max" => number(range.map_or(0, |(min, _)| min), -greatest),
        _ => return None,
    })
}

/// Why `combiner` cannot serve the reduction `reduce` of `te`, if it cannot: it combines numbers of other types.
pub fn misfit(te: &Func, reduce: Op, combiner: &Func) -> Option<Diagnostic> {
    let params = combiner.params();
    let combined: Vec<String> =
        params[..params.len() / 2].iter().map(|&param| combiner.show_type(combiner.value_type(param))).collect();
    let reduced: Vec<String> = te.results(reduce).map(|result| te.show_type(te.value_type(result))).collect();
    (combined != reduced).then(|| {
        let show = |types: &[String]| types.iter().map(|ty| format!("`{ty}`")).collect::<Vec<_>>().join(", ");
        let text = format!("`@{}` combines {}, not {}", combiner.symbol(), show(&combined), show(&reduced));
        let help = "convert what is reduced, `cast<…>(…)`, or write a combiner of these types";
        Diagnostic::error("combiner", te.op_location(reduce), text).help(help)
    })
}

/// The reduction at the top of a `te.compute`: the op behind everything its region yields.
pub fn top_reduce(func: &Func, compute: Compute) -> Option<Reduce> {
    let body = *func.op_regions(compute.0).first()?;
    let &first = func.yielded(body).first()?;
    Reduce::of(func, func.def_op(first)?)
}
