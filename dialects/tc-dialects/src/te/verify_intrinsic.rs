//! What holds of a tensor intrinsic.
//!
//! What it computes and what stands for it must be comparable with loops of constant extents: so all extents are
//! constant, and a symbol says nothing but how far the rows of a buffer lie apart.

use super::intrinsic::Intrinsic;
use super::{BODY_OP, INIT, UPDATE};
use crate::algebra::Algebra;
use crate::scope::Scope;
use crate::tir;
use tc_ir::opdef::Role;
use tc_ir::walk::ops_under;
use tc_ir::{Attr, AttrData, Func, Op, Opcode, Region, Value, effects, keys};
use tc_support::{Diagnostic, Diagnostics, Location, counted, suggest};

const COMBINERS: [&str; 4] = ["sum", "prod", "min", "max"];

/// An intrinsic has one `compute` of constant extents, and blocks that stand for it.
pub(super) fn intrinsic(func: &Func, _: Op, found: &mut Diagnostics) {
    shape(func, found);
    if found.has_errors() {
        return;
    }
    let Some(intrinsic) = Intrinsic::of(func) else {
        let text = format!("the axes of `@{}` do not run from 0 to a constant", func.symbol());
        let help = "an intrinsic stands for loops of constant extents: `compute C[i: 16, j: 16] = …`";
        return found.push(at_header(func, "extent", text).help(help));
    };
    result(&intrinsic, found);
    blocks(&intrinsic, found);
    parameters(&intrinsic, found);
    symbols(&intrinsic, found);
    if !found.has_errors() {
        covered(&intrinsic, found);
    }
}

fn error(location: Location, code: &'static str, text: String) -> Diagnostic {
    Diagnostic::error(code, location, text)
}

fn at_header(func: &Func, code: &'static str, text: String) -> Diagnostic {
    error(func.location(func.header.loc), code, text)
}

/// One `compute` of one tensor, blocks, and nothing else; parameters are tensors of constant extents.
fn shape(func: &Func, found: &mut Diagnostics) {
    let name = func.symbol();
    let computes: Vec<Op> = func.ops(func.body()).filter(|&op| func.role(op) == Role::Compute).collect();
    if computes.len() != 1 || func.n_results(computes[0]) != 1 {
        let text = format!("`@{name}` computes {}, and must compute one", counted(computes.len(), "tensor"));
        let at = computes.get(1).map_or(func.location(func.header.loc), |&op| func.op_location(op));
        found.push(error(at, "intrinsic", text).help("an intrinsic has one `compute`, of one tensor"));
    }
    for op in func.ops(func.body()) {
        let known = matches!(func.role(op), Role::Compute | Role::Constant)
            || matches!(func.opcode(op), BODY_OP | INIT | UPDATE);
        if !known {
            let text = format!("`{}` has no place in `@{name}` outside its blocks", func.op_name(op));
            let help = "an intrinsic is a `compute` and the blocks that stand for it: `body`, or `init` and `update`";
            found.push(error(func.op_location(op), "intrinsic", text).help(help));
        }
    }
    for &param in func.params() {
        let ty = func.value_type(param);
        let constant = func.as_shaped(ty).is_some_and(|(elem, shape, _)| {
            func.as_scalar(elem).is_some() && shape.iter().all(|&dim| func.as_int(dim).is_some_and(|dim| dim > 0))
        });
        if !constant {
            let text = format!("the parameter `{}` of `@{name}` is `{}`", func.value_text(param), func.show_type(ty));
            let help = "a parameter of an intrinsic is a tensor of numbers with constant extents: `A: f16[16, 16]`";
            found.push(at_header(func, "extent", text).help(help));
        }
    }
}

/// The header names the tensor that is computed, and its type; a reduction is one that loops can be compared with.
fn result(intrinsic: &Intrinsic<'_>, found: &mut Diagnostics) {
    let func = intrinsic.func;
    let name = func.value_text(intrinsic.result);
    let at = func.op_location(intrinsic.compute);
    let [declared] = &func.header.results[..] else {
        let text =
            format!("`@{}` declares {}, and computes one", func.symbol(), counted(func.header.results.len(), "result"));
        return found.push(at_header(func, "results", text).help("name it in the header: `-> (C: f32[16, 16])`"));
    };
    let parts = |ty| func.as_shaped(ty).map(|(elem, shape, _)| (elem, shape));
    let computed = func.value_type(intrinsic.result);
    if declared.name.is_none_or(|declared| func.text(declared) != name) {
        let text = format!("`@{}` computes `{name}`, which its header does not name", func.symbol());
        let help = format!("write `-> ({name}: {})`", func.show_type(computed));
        found.push(error(at.clone(), "results", text).help(help));
    } else if parts(declared.ty) != parts(computed) {
        let (have, want) = (func.show_type(computed), func.show_type(declared.ty));
        let text = format!("`@{}` declares `{want}`, and computes `{have}`", func.symbol());
        found.push(error(at.clone(), "type", text).help(format!("declare `{have}`")));
    }
    if intrinsic.all_axes().any(|axis| axis.extent < 1) {
        let text = format!("an axis of `@{}` has no iterations", func.symbol());
        found.push(error(at, "extent", text).help("give each axis an extent of 1 or more"));
    }
    let Some(reduction) = &intrinsic.reduction else { return };
    let at = func.op_location(reduction.op);
    if !COMBINERS.contains(&&*reduction.combiner) {
        let text = format!("an intrinsic cannot reduce by `{}`", suggest::shorten(&reduction.combiner));
        found.push(error(at.clone(), "combiner", text).help("reduce by sum, prod, min or max"));
    }
    let has_inits = func.operands(reduction.op).len() > 2 * reduction.axes.len();
    if has_inits || func.attr_of(reduction.op, keys::HAS_WHERE).is_some() {
        let text = "the reduction of an intrinsic has no `where` and no `init`".to_string();
        found
            .push(error(at, "reduce", text).help("leave them out; the block `init` is what stands for the first step"));
    }
}

/// `body`, or `init` and `update`, which write the result and nothing else.
fn blocks(intrinsic: &Intrinsic<'_>, found: &mut Diagnostics) {
    let func = intrinsic.func;
    for opcode in [BODY_OP, INIT, UPDATE] {
        if let Some(second) = func.ops(func.body()).filter(|&op| func.opcode(op) == opcode).nth(1) {
            let word = func.row(second).short.unwrap_or_default();
            let text = format!("`@{}` has two blocks `{word}`", func.symbol());
            found.push(error(func.op_location(second), "block", text).help("join them into one"));
        }
    }
    let Intrinsic { body, init, update, .. } = *intrinsic;
    let wrong = match (body, init, update) {
        (Some(_), None, None) | (None, _, Some(_)) => None,
        (None, None, None) => Some("has nothing that stands for it"),
        (None, Some(_), None) => Some("has an `init` without an `update`"),
        (Some(_), ..) => Some("has a `body` beside an `init` or `update`"),
    };
    if let Some(wrong) = wrong {
        let help = "write `body { … }`, or, for a reduction, `init { … } update { … }`, or `update { … }` alone";
        found.push(at_header(func, "block", format!("`@{}` {wrong}", func.symbol())).help(help));
    }
    if let (None, Some(region)) = (&intrinsic.reduction, update.or(init)) {
        let text = format!("`@{}` reduces nothing, so it has no first and further steps", func.symbol());
        let at = func.region_parent(region).map_or(Location::None, |op| func.op_location(op));
        found.push(error(at, "block", text).help("call the block `body`"));
    }
    for region in [body, init, update].into_iter().flatten() {
        ops_under(func, region).for_each(|op| block_op(intrinsic, region, op, found));
        writes(intrinsic, region, found);
    }
}

/// A block stands for loops that write the result: one that does not would leave it as it is.
fn writes(intrinsic: &Intrinsic<'_>, block: Region, found: &mut Diagnostics) {
    let func = intrinsic.func;
    let is_written = |op: Op| {
        let mut all = effects::accesses(func, op).into_iter();
        all.any(|(place, access)| access.writes() && effects::root_buffer(func, place) == intrinsic.result)
    };
    let Some(op) = func.region_parent(block).filter(|_| !ops_under(func, block).any(is_written)) else { return };
    let (word, name) = (func.row(op).short.unwrap_or_default(), func.value_text(intrinsic.result));
    let text = format!("the block `{word}` of `@{}` does not write `{name}`", func.symbol());
    let help = format!("write what it computes, such as `{name}[0] = …`, or an op that does");
    found.push(error(func.op_location(op), "writes", text).help(help));
}

fn block_op(intrinsic: &Intrinsic<'_>, block: Region, op: Op, found: &mut Diagnostics) {
    let func = intrinsic.func;
    let at = || func.op_location(op);
    if func.opcode(op) == Opcode::UNKNOWN || func.row(op).effect.unknown {
        let text =
            format!("the effect of `{}` is not known, so it cannot stand for `@{}`", func.op_name(op), func.symbol());
        return found.push(error(at(), "effect", text).help("write out what it does"));
    }
    let is_param = |value: Value| func.params().contains(&value) && func.as_shaped(func.value_type(value)).is_some();
    if func.opcode(op) == tir::VIEW && func.operands(op).iter().any(|&base| base == intrinsic.result || is_param(base))
    {
        let text = "a view of what an intrinsic is given would depend on how that lies in memory".to_string();
        return found.push(error(at(), "view", text).help("refer to a region instead: `&A[i : 1, 0 : 16]`"));
    }
    if func.row(op).terminator && func.region_of(op) == Some(block) {
        let text = "a block of an intrinsic hands nothing on".to_string();
        return found.push(error(at(), "block", text).help("take the `yield` out; the block writes the result itself"));
    }
    for (place, access) in effects::accesses(func, op) {
        let root = effects::root_buffer(func, place);
        if access.writes() && is_param(root) {
            let (param, result) = (func.value_text(root), func.value_text(intrinsic.result));
            let text = format!("a block of `@{}` writes its parameter `{param}`", func.symbol());
            found.push(error(at(), "writes", text).help(format!("what it may write is its result, `{result}`")));
        }
    }
}

/// Strides, alignments and scopes of the parameters and the result.
fn parameters(intrinsic: &Intrinsic<'_>, found: &mut Diagnostics) {
    let func = intrinsic.func;
    let at = func.location(func.header.loc);
    for &place in func.params().iter().chain([&intrinsic.result]) {
        let name = func.value_text(place);
        if let Some(scope) = intrinsic.scope(place)
            && Scope::parse(scope).is_none()
        {
            let mut diagnostic = error(at.clone(), "scope", format!("there is no scope `{}`", suggest::shorten(scope)));
            diagnostic.help = suggest::did_you_mean(scope, Scope::ALL.map(Scope::name));
            found.push(diagnostic);
        }
        let Some(rank) = intrinsic.extents(place).map(|extents| extents.len()) else { continue };
        match intrinsic.attr(place, keys::STRIDES).map(|attr| func.attr_data(attr)) {
            None => {}
            Some(AttrData::List(strides)) if strides.len() == rank => {
                strides.iter().for_each(|&stride| stride_entry(func, name, stride, found));
            }
            Some(_) => {
                let text = format!("`{name}` has {}, and as many strides", counted(rank, "dimension"));
                found.push(error(at.clone(), "strides", text).help("write `strides = [s, 1]`"));
            }
        }
        for (key, word) in [(keys::ALIGN, "align"), (keys::OFFSET_FACTOR, "offset_factor")] {
            let Some(attr) = intrinsic.attr(place, key) else { continue };
            let power = |n: i64| key != keys::ALIGN || n.count_ones() == 1;
            if !func.as_int(attr).is_some_and(|n| n > 0 && n <= 1 << 20 && power(n)) {
                let text = format!("`{word}` of `{name}` cannot be {}", func.show_attr(attr));
                let help = "`align` is a power of two, in bytes; `offset_factor` counts elements; both up to 2^20";
                found.push(error(at.clone(), "align", text).help(help));
            }
        }
    }
}

/// A stride is a number or a symbol of the header.
fn stride_entry(func: &Func, name: &str, stride: Attr, found: &mut Diagnostics) {
    let declared = |word| func.header.symbols.iter().any(|symbol| symbol.name == word);
    let known = match func.attr_data(stride) {
        AttrData::Int(value, _) => (0..=i128::from(i64::MAX)).contains(value),
        AttrData::Word(word) => declared(*word),
        _ => false,
    };
    if !known {
        let text =
            format!("a stride of `{name}` is a number or a symbol of the header, not `{}`", func.show_attr(stride));
        let help = format!("declare it: `te.intrin @{}<s>(…)`", func.symbol());
        found.push(at_header(func, "strides", text).help(help));
    }
}

/// Each symbol is a stride of something, or nothing says what it is.
fn symbols(intrinsic: &Intrinsic<'_>, found: &mut Diagnostics) {
    let func = intrinsic.func;
    let mut bound = Vec::new();
    for &place in func.params().iter().chain([&intrinsic.result]) {
        if let Some(AttrData::List(strides)) = intrinsic.attr(place, keys::STRIDES).map(|attr| func.attr_data(attr)) {
            bound.extend(strides.iter().filter_map(|&stride| match func.attr_data(stride) {
                AttrData::Word(word) => Some(*word),
                _ => None,
            }));
        }
    }
    for symbol in func.header.symbols.iter().filter(|symbol| !bound.contains(&symbol.name)) {
        let name = func.text(symbol.name);
        let text = format!("nothing says what `{name}` of `@{}` is", func.symbol());
        let help =
            format!("a symbol of an intrinsic is a stride: `A: f16[16, 16] attributes {{strides = [{name}, 1]}}`");
        found.push(at_header(func, "symbol", text).help(help));
    }
}

/// What is computed reads all of each parameter: a block may touch all of it, and nothing else tells where that lies.
fn covered(intrinsic: &Intrinsic<'_>, found: &mut Diagnostics) {
    let func = intrinsic.func;
    let mut algebra = Algebra::of_func(func);
    for axis in intrinsic.all_axes() {
        let var = algebra.declare(func, axis.value);
        algebra.analyzer.bind_range(var, Some(0), Some(axis.extent - 1));
    }
    // A block may read elements too; what it is given is what the computation reads.
    let computed = func.op_regions(intrinsic.compute).iter().flat_map(|&region| ops_under(func, region));
    let reads: Vec<Op> = computed.filter(|&op| func.opcode(op) == super::READ).collect();
    for &param in func.params() {
        let Some(extents) = intrinsic.extents(param) else { continue };
        let name = func.value_text(param);
        let of_param: Vec<Op> = reads.iter().copied().filter(|&op| func.operands(op).first() == Some(&param)).collect();
        if of_param.is_empty() {
            let text = format!("`@{}` reads nothing of its parameter `{name}`", func.symbol());
            found.push(at_header(func, "unread", text).help("leave the parameter out"));
            continue;
        }
        for (dim, &extent) in extents.iter().enumerate() {
            let mut ends: Option<(i64, i64)> = None;
            for &op in &of_param {
                let Some(&index) = func.operands(op).get(dim + 1) else { continue };
                let index = algebra.expr(func, index);
                let range = algebra.analyzer.bounds(index);
                let (low, high) = (range.min().unwrap_or(i64::MIN), range.max().unwrap_or(i64::MAX));
                ends = Some(ends.map_or((low, high), |(a, b)| (a.min(low), b.max(high))));
            }
            if ends != Some((0, extent - 1)) {
                let text = format!(
                    "`@{}` does not read the whole of dimension {dim} of `{name}`, 0 to {}",
                    func.symbol(),
                    extent - 1
                );
                let help = "give the parameter the extents that are read, and no others";
                found.push(error(func.op_location(of_param[0]), "extent", text).help(help));
            }
        }
    }
}
