//! Types of operators.

use crate::arith;
use tc_ir::opdef::Role;
use tc_ir::symbols::Symbols;
use tc_ir::walk::{all_ops, ops_under};
use tc_ir::{Attrs, Elem, Func, Op, Scalar, Type, TypeData, Value, keys};
use tc_support::{Diagnostic, Diagnostics, counted, suggest};

fn error(func: &Func, op: Op, code: &'static str, message: String) -> Diagnostic {
    Diagnostic::error(code, func.op_location(op), message)
}

pub(super) fn infer_read(func: &mut Func, operands: &[Value], _: Attrs) -> Result<Type, String> {
    let (&tensor, indices) = operands.split_first().ok_or("a read takes a tensor")?;
    let Some((elem, shape, _)) = func.as_shaped(func.value_type(tensor)) else {
        return Err(format!("`{}` is no tensor", func.show_type(func.value_type(tensor))));
    };
    if shape.len() != indices.len() {
        return Err(format!(
            "`{}` has {}, not {}",
            func.value_text(tensor),
            counted(shape.len(), "dimension"),
            indices.len()
        ));
    }
    for &index in indices {
        if !func.value_scalar(index).is_some_and(|scalar| scalar.elem.is_int() && scalar.lanes == 1) {
            return Err(format!("an index must be an integer, not `{}`", func.show_type(func.value_type(index))));
        }
    }
    Ok(elem)
}

fn check_bounds(func: &Func, op: Op, bounds: &[Value], found: &mut Diagnostics) {
    for &bound in bounds {
        if func.value_type(bound) != func.index_ty() {
            let ty = func.show_type(func.value_type(bound));
            found.push(error(func, op, "type", format!("the bound of an axis must be `index`, not `{ty}`")));
        }
    }
    for pair in bounds.chunks(2) {
        if let [lo, hi] = *pair
            && let (Some(lo), Some(hi)) = (func.const_int(lo), func.const_int(hi))
            && lo > hi
        {
            found.push(error(func, op, "extent", format!("the axis {lo}..{hi} runs backwards")));
        }
    }
}

pub(super) fn compute(func: &Func, op: Op, found: &mut Diagnostics) {
    let bounds = func.operands(op);
    let body = func.op_regions(op)[0];
    let axes = func.region_args(body);
    if bounds.len() != axes.len() * 2 {
        let text =
            format!("`te.compute` over {} axes takes {} bounds, not {}", axes.len(), axes.len() * 2, bounds.len());
        return found.push(error(func, op, "axes", text));
    }
    check_bounds(func, op, bounds, found);
    let yielded = func.yielded(body);
    if yielded.len() != func.n_results(op) {
        let text = format!(
            "`te.compute` of {} is given {}",
            counted(func.n_results(op), "tensor"),
            counted(yielded.len(), "value")
        );
        return found.push(error(func, op, "results", text));
    }
    let mut bytes: i128 = 8;
    for pair in bounds.chunks(2) {
        if let (Some(lo), Some(hi)) = (func.const_int(pair[0]), func.const_int(pair[1])) {
            bytes = bytes.saturating_mul(i128::from(hi) - i128::from(lo));
        }
    }
    if bytes > i128::from(i64::MAX) {
        found.push(error(func, op, "extent", "the extents overflow: the tensor has more than 2^63 bytes".to_string()));
    }
    for (result, &value) in func.results(op).zip(yielded) {
        let rank_and_elem = func.as_shaped(func.value_type(result)).map(|(elem, shape, _)| (shape.len(), elem));
        if rank_and_elem != Some((axes.len(), func.value_type(value))) {
            let (ty, value) = (func.show_type(func.value_type(result)), func.show_type(func.value_type(value)));
            found.push(error(
                func,
                op,
                "type",
                format!("`te.compute` over {} axes of `{value}` cannot be `{ty}`", axes.len()),
            ));
        }
    }
    // A reduction is the whole of what is computed: it has no place inside an expression or a conditional.
    for inner in ops_under(func, body) {
        if func.role(inner) == Role::Reduce {
            let at_top =
                func.region_of(inner) == Some(body) && func.results(inner).all(|value| yielded.contains(&value));
            let whole = yielded.iter().all(|&value| func.def_op(value) == Some(inner));
            if !at_top || !whole {
                let help = "compute the reduction as a tensor of its own, and use that";
                let text = "a reduction stands at the top of what is computed, not inside an expression".to_string();
                found.push(error(func, inner, "nested-reduction", text).help(help));
            }
        }
    }
}

pub(super) fn reduce(func: &Func, op: Op, found: &mut Diagnostics) {
    let n_axes = func.int_of(op, keys::N_AXES).unwrap_or(-1);
    let body = func.op_regions(op)[0];
    let args = func.operands(op);
    if n_axes < 1 || func.region_args(body).len() as i64 != n_axes || (args.len() as i64) < 2 * n_axes {
        return found.push(error(func, op, "axes", "a reduction takes an axis and its bounds".to_string()));
    }
    let (bounds, inits) = args.split_at(2 * n_axes as usize);
    check_bounds(func, op, bounds, found);
    let n_results = func.n_results(op);
    if !inits.is_empty() && inits.len() != n_results {
        found.push(error(
            func,
            op,
            "init",
            format!("a reduction starts from as many values as it gives: {n_results}, not {}", inits.len()),
        ));
    }
    for (result, &init) in func.results(op).zip(inits) {
        let (want, have) = (func.value_type(result), func.value_type(init));
        if want != have {
            let (want, have) = (func.show_type(want), func.show_type(have));
            found.push(error(func, op, "type", format!("a reduction to `{want}` starts from `{have}`")));
        }
    }
    let has_where = func.attr_of(op, keys::HAS_WHERE).is_some();
    let yielded = func.yielded(body);
    if yielded.len() != n_results + usize::from(has_where) {
        return found.push(error(
            func,
            op,
            "results",
            format!("a reduction of {} yields {}", counted(n_results, "result"), yielded.len()),
        ));
    }
    for (result, &value) in func.results(op).zip(yielded) {
        let (want, have) = (func.value_type(result), func.value_type(value));
        if want != have {
            let (want, have) = (func.show_type(want), func.show_type(have));
            found.push(error(func, op, "type", format!("a reduction to `{want}` is given `{have}`")));
        }
    }
    let combiner = func.word_of(op, keys::COMBINER).unwrap_or("");
    if super::BUILT_IN_COMBINERS.contains(&combiner) {
        let number = func.results(op).all(|value| {
            matches!(func.type_data(func.value_type(value)), TypeData::Scalar(Scalar { elem, lanes: 1 }) if *elem != Elem::Bool)
        });
        if n_results != 1 || !number {
            found.push(error(func, op, "combiner", format!("`{combiner}` reduces one number")));
        }
    }
    if has_where && yielded.last().is_some_and(|&cond| func.value_type(cond) != func.bool_ty()) {
        found.push(error(func, op, "type", "the `where` of a reduction must be `bool`".to_string()));
    }
}

/// The combiner of a reduction is one of those that there are, and combines what is reduced.
pub(super) fn combiner_of(symbols: &Symbols<'_>, func: &Func, op: Option<Op>, found: &mut Diagnostics) {
    let Some(op) = op else { return };
    let word = func.word_of(op, keys::COMBINER).unwrap_or("");
    if super::BUILT_IN_COMBINERS.contains(&word) {
        return;
    }
    match symbols.function(word) {
        Some(combiner) if combiner.header.opcode == super::COMBINER => {
            if let Some(misfit) = super::misfit(func, op, combiner) {
                found.push(misfit.label(combiner.location(combiner.header.loc), "it is declared here"));
            }
        }
        other => {
            let combiners = symbols.functions().filter(|item| item.header.opcode == super::COMBINER).map(Func::symbol);
            let known: Vec<&str> = super::BUILT_IN_COMBINERS.into_iter().chain(combiners).collect();
            let mut wrong = error(func, op, "combiner", format!("there is no combiner `{}`", suggest::shorten(word)));
            if let Some(other) = other {
                let what = format!("`@{}` is no combiner but a `{}`", other.symbol(), other.item_row().name);
                wrong = wrong.label(other.location(other.header.loc), what);
            }
            wrong.help = suggest::did_you_mean(word, known.iter().copied());
            found.push(wrong);
        }
    }
}

/// An operator returns what it declares, and divides by no literal zero: no place of it that may be evaluated does.
pub(super) fn operator(func: &Func, _: Op, found: &mut Diagnostics) {
    arguments(func, found);
    declared_results(func, found);
    for op in all_ops(func) {
        let divides = matches!(func.opcode(op), arith::DIV | arith::MOD | arith::TDIV | arith::TMOD);
        if divides
            && let Some(&divisor) = func.operands(op).get(1)
            && func.const_int(divisor) == Some(0)
        {
            let help = "divide by what is not zero; a divisor that may be is guarded: `if_then_else(n != 0, a / n, 0)`";
            found.push(error(func, op, "division", "division by zero".to_string()).help(help));
        }
    }
}

/// The extents of arguments make no tensor that is greater than memory can be.
fn arguments(func: &Func, found: &mut Diagnostics) {
    for &param in func.params() {
        let Some((elem, shape, _)) = func.as_shaped(func.value_type(param)) else { continue };
        let of_elem = func.as_scalar(elem).map_or(1, |scalar| i128::from(scalar.bytes()));
        let extents = shape.iter().filter_map(|&dim| func.as_int(dim)).map(i128::from);
        if extents.fold(of_elem, i128::saturating_mul) > i128::from(i64::MAX) {
            let text = format!("the extents of `{}` overflow: it has more than 2^63 bytes", func.value_text(param));
            let help = "give it smaller extents; sizes that are not known yet are symbols: `@f<n>(A: f32[n])`";
            found.push(Diagnostic::error("extent", func.location(func.header.loc), text).help(help));
        }
    }
}

/// What is returned has the element types and extents that the header declares, if it does. Extents over sizes may be
/// written in many ways and are compared where both are integers.
fn declared_results(func: &Func, found: &mut Diagnostics) {
    let declared = &func.header.results;
    let end = func.terminator(func.body()).filter(|&end| func.role(end) == Role::Return);
    let Some(end) = end.filter(|_| !declared.is_empty()) else { return };
    let returned = func.operands(end);
    if returned.len() != declared.len() {
        let text = format!(
            "`@{}` declares {} and returns {}",
            func.symbol(),
            counted(declared.len(), "result"),
            returned.len()
        );
        return found.push(error(func, end, "results", text).help("a header names the type of each tensor returned"));
    }
    for (result, &value) in declared.iter().zip(returned) {
        let (want, have) = (result.ty, func.value_type(value));
        if is_alike(func, want, have) {
            continue;
        }
        let (want, have, name) = (func.show_type(want), func.show_type(have), func.value_text(value));
        let text = format!("`@{}` declares `{want}`, and returns `{name}`, which is `{have}`", func.symbol());
        let help = format!("declare `{have}`, or compute a tensor of that type; `cast<…>` converts elements");
        found.push(error(func, end, "type", text).help(help));
    }
}

/// Have the two types of tensors one element type, and extents that are not known to differ?
fn is_alike(func: &Func, a: Type, b: Type) -> bool {
    let parts = |ty| func.as_shaped(ty).map_or((ty, &[][..]), |(elem, shape, _)| (elem, shape));
    let ((a, extents), (b, others)) = (parts(a), parts(b));
    let differs = |(&a, &b)| func.as_int(a).zip(func.as_int(b)).is_some_and(|(a, b)| a != b);
    a == b && extents.len() == others.len() && !extents.iter().zip(others).any(differs)
}

pub(super) fn combiner(func: &Func, _: Op, found: &mut Diagnostics) {
    check_combiner(func, found);
}

/// The verifier of an item is given its first op, so that of an empty body is not asked.
pub(super) fn empty_combiner(_: &Symbols<'_>, func: &Func, _: Option<Op>, found: &mut Diagnostics) {
    if func.first_op(func.body()).is_none() {
        check_combiner(func, found);
    }
}

/// A combiner takes the values so far and as many new ones of the same types, and yields the next; so does its identity,
/// of nothing.
fn check_combiner(func: &Func, found: &mut Diagnostics) {
    let params: Vec<Type> = func.params().iter().map(|&param| func.value_type(param)).collect();
    let (so_far, new) = params.split_at(params.len() / 2);
    let mut refuse = |location, text: String, help: String| {
        found.push(Diagnostic::error("combiner", location, text).help(help));
    };
    let at = func.location(func.header.loc);
    let symbol = func.symbol();
    let show = |types: &[Type]| {
        let types: Vec<String> = types.iter().map(|&ty| format!("`{}`", func.show_type(ty))).collect();
        if types.is_empty() { "nothing".to_string() } else { types.join(", ") }
    };
    if so_far.is_empty() || so_far != new || !params.iter().all(|&ty| func.as_scalar(ty).is_some()) {
        let text = format!("`@{symbol}` combines {}, and cannot", show(&params));
        let help = "a combiner takes the numbers so far and as many new ones of the same types: `(a: f32, b: f32)`";
        return refuse(at, text, help.to_string());
    }
    let declared: Vec<Type> = func.header.results.iter().map(|result| result.ty).collect();
    if !declared.is_empty() && declared != so_far {
        let text = format!("`@{symbol}` combines {}, and declares {}", show(so_far), show(&declared));
        return refuse(at, text, "leave out its results, or declare those types".to_string());
    }
    let mut blocks = vec![(func.body(), at.clone(), "")];
    let identity = func.ops(func.body()).find(|&op| func.opcode(op) == super::IDENTITY);
    if let Some(op) = identity {
        blocks.push((func.op_regions(op)[0], func.op_location(op), "the identity of "));
    }
    for (region, location, what) in blocks {
        let types: Vec<Type> = func.yielded(region).iter().map(|&value| func.value_type(value)).collect();
        if types != so_far {
            let text = format!("{what}`@{symbol}` yields {}, not {}", show(&types), show(so_far));
            refuse(location, text, format!("end it with `yield` of {}", show(so_far)));
        }
    }
}
