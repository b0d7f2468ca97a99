//! Sizes that are known before anything runs: symbols, shapes, extents.

use std::collections::BTreeMap;
use tc_dialects::arith::{self, Predicate, eval};
use tc_ir::attrs::{AttrData, BinOp, UnOp};
use tc_ir::{Attr, Elem, Func};
use tc_support::Diagnostic;

/// How deep an expression over sizes may be.
const MAX_EXPR_DEPTH: usize = 200;

/// The values of symbols, by name.
pub type Sizes = BTreeMap<String, i64>;

/// The sizes that hold in `func`: what is given, else the defaults. Ranges and facts are checked.
pub(crate) fn bind_symbols(func: &Func, given: &Sizes) -> Result<Sizes, Diagnostic> {
    let at = || func.location(func.header.loc);
    let mut sizes = Sizes::new();
    for symbol in &func.header.symbols {
        let name = func.text(symbol.name).to_string();
        let default = || symbol.default.and_then(|attr| eval_attr(func, attr, &sizes));
        let Some(value) = given.get(&name).copied().or_else(default) else {
            let text = format!("the size `{name}` of `@{}` has no value", func.symbol());
            return Err(Diagnostic::error("size", at(), text).help(format!("give one with `-D {name}=…`")));
        };
        if let Some((lo, hi)) = symbol.range
            && let (Some(lo), Some(hi)) = (eval_attr(func, lo, &sizes), eval_attr(func, hi, &sizes))
            && !(lo..hi).contains(&value)
        {
            return Err(Diagnostic::error("size", at(), format!("`{name}` is {value}, outside {lo}..{hi}")));
        }
        sizes.insert(name, value);
    }
    for &fact in &func.header.facts {
        if eval_attr(func, fact, &sizes) == Some(0) {
            let given: Vec<String> = sizes.iter().map(|(name, value)| format!("{name} = {value}")).collect();
            let text = format!("`{}` does not hold for {}", func.show_attr(fact), given.join(", "));
            return Err(Diagnostic::error("size", at(), text));
        }
    }
    Ok(sizes)
}

/// The value of an expression over sizes.
pub(crate) fn eval_attr(func: &Func, attr: Attr, sizes: &Sizes) -> Option<i64> {
    eval_at(func, attr, sizes, 0)
}

fn eval_at(func: &Func, attr: Attr, sizes: &Sizes, depth: usize) -> Option<i64> {
    if depth > MAX_EXPR_DEPTH {
        return None;
    }
    let of = |attr| eval_at(func, attr, sizes, depth + 1);
    match func.attr_data(attr) {
        AttrData::Int(value, _) => i64::try_from(*value).ok(),
        AttrData::Bool(value) => Some(i64::from(*value)),
        AttrData::Word(name) => sizes.get(func.text(*name)).copied(),
        AttrData::Unary(UnOp::Neg, arg) => of(*arg)?.checked_neg(),
        AttrData::Unary(UnOp::Not, arg) => Some(i64::from(of(*arg)? == 0)),
        AttrData::Binary(op, lhs, rhs) => binary(*op, of(*lhs)?, of(*rhs)?),
        AttrData::Call(name, args) => {
            let args: Option<Vec<i64>> = args.iter().map(|&arg| of(arg)).collect();
            call(func.text(*name), &args?)
        }
        _ => None,
    }
}

fn binary(op: BinOp, lhs: i64, rhs: i64) -> Option<i64> {
    let predicate = match op {
        BinOp::Eq => Predicate::Eq,
        BinOp::Ne => Predicate::Ne,
        BinOp::Lt => Predicate::Lt,
        BinOp::Le => Predicate::Le,
        BinOp::Gt => Predicate::Gt,
        BinOp::Ge => Predicate::Ge,
        BinOp::AndAnd => return Some(i64::from(lhs != 0 && rhs != 0)),
        BinOp::OrOr => return Some(i64::from(lhs != 0 || rhs != 0)),
        _ => return i64::try_from(eval::int_binary(op, lhs.into(), rhs.into(), Elem::Index)?).ok(),
    };
    Some(i64::from(predicate.holds(Some(lhs.cmp(&rhs)))))
}

fn call(name: &str, args: &[i64]) -> Option<i64> {
    match (name, args) {
        ("min", [a, b]) => Some(*a.min(b)),
        ("max", [a, b]) => Some(*a.max(b)),
        ("floordiv", [a, b]) => binary(BinOp::Div, *a, *b),
        ("floormod", [a, b]) => binary(BinOp::Mod, *a, *b),
        ("tdiv", [a, b]) => i64::try_from(eval::int_trunc(arith::TDIV, (*a).into(), (*b).into(), Elem::Index)?).ok(),
        ("tmod", [a, b]) => i64::try_from(eval::int_trunc(arith::TMOD, (*a).into(), (*b).into(), Elem::Index)?).ok(),
        ("abs", [a]) => a.checked_abs(),
        _ => None,
    }
}

/// The extents of a shape; refused where one is unknown or negative.
pub(crate) fn eval_shape(func: &Func, shape: &[Attr], sizes: &Sizes) -> Result<Vec<u64>, String> {
    let extent = |&dim: &Attr| match eval_attr(func, dim, sizes) {
        Some(extent) => u64::try_from(extent).map_err(|_| format!("an extent cannot be {extent}")),
        None => Err(format!("the extent `{}` has no value", func.show_attr(dim))),
    };
    shape.iter().map(extent).collect()
}
