//! Sizes that are known before anything runs: symbols, shapes, extents.

use std::collections::BTreeMap;
use tc_dialects::algebra;
use tc_ir::{Attr, AttrData, Func, Value};
use tc_support::Diagnostic;

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
        // A fact without a value does not hold either.
        let value = eval_attr(func, fact, &sizes);
        if value.is_none_or(|value| value == 0) {
            let given: Vec<String> = sizes.iter().map(|(name, value)| format!("{name} = {value}")).collect();
            let what = if value.is_some() { "does not hold" } else { "has no value" };
            let text = format!("`{}` {what} for {}", func.show_attr(fact), given.join(", "));
            return Err(Diagnostic::error("size", at(), text));
        }
    }
    Ok(sizes)
}

/// `given`, and what the extents of the parameters of `program` say of the sizes of `operator`, which it implements.
pub fn sizes_of_operator(operator: &Func, program: &Func, given: &Sizes) -> Sizes {
    let own = bind_symbols(program, given).unwrap_or_default();
    let mut sizes = given.clone();
    let extents = |func: &Func, param: Value| func.as_shaped(func.value_type(param)).map(|(_, dims, _)| dims.to_vec());
    for (&param, &other) in operator.params().iter().zip(program.params()) {
        let (Some(dims), Some(known)) = (extents(operator, param), extents(program, other)) else { continue };
        // Other ranks are another program's: that says so by itself.
        if dims.len() != known.len() {
            continue;
        }
        for (dim, extent) in dims.into_iter().zip(known) {
            let AttrData::Word(name) = operator.attr_data(dim) else { continue };
            let name = operator.text(*name);
            if let Some(extent) = eval_attr(program, extent, &own) {
                sizes.entry(name.to_string()).or_insert(extent);
            }
        }
    }
    sizes
}

/// The value of an expression over sizes.
pub(crate) fn eval_attr(func: &Func, attr: Attr, sizes: &Sizes) -> Option<i64> {
    algebra::eval_attr(func, attr, &|name| sizes.get(func.text(name)).copied()).ok()
}

/// The extents of a shape; refused where one is unknown or negative.
pub(crate) fn eval_shape(func: &Func, shape: &[Attr], sizes: &Sizes) -> Result<Vec<u64>, String> {
    let extent = |&dim: &Attr| match eval_attr(func, dim, sizes) {
        Some(extent) => u64::try_from(extent).map_err(|_| format!("an extent cannot be {extent}")),
        None => Err(format!("the extent `{}` has no value", func.show_attr(dim))),
    };
    shape.iter().map(extent).collect()
}
