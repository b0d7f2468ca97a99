//! Types of loops, accesses and references.

use super::kind::{Coordinate, LoopKind, MAX_CLUSTER, VTHREAD, loop_kind};
use super::strides;
use crate::distribution::{self, Distribution};
use crate::mbarrier::{BARRIER_BYTES, is_barrier_type};
use crate::scope::{Scope, scope_text};
use crate::{tma, update};
use tc_ir::attrs::AttrData;
use tc_ir::{Attr, Attrs, Func, Name, Op, Scalar, Type, TypeData, Value, keys};
use tc_support::{Diagnostic, Diagnostics, counted, suggest};

/// How many iterations of a loop may be in flight.
const MAX_STAGES: i64 = 64;

fn error(func: &Func, op: Op, code: &'static str, message: String) -> Diagnostic {
    Diagnostic::error(code, func.op_location(op), message)
}

/// Element type, extents and scope of the place `place`: a buffer, or what a reference refers to.
pub fn place_type(func: &Func, place: Value) -> Option<(Type, &[Attr], Option<Name>)> {
    match func.type_data(func.value_type(place)) {
        TypeData::Shaped { elem, shape, scope } | TypeData::Ref { elem, shape, scope } => Some((*elem, shape, *scope)),
        _ => None,
    }
}

/// The type of an access to `buffer`: the element, widened by a vector for the last index.
fn accessed(func: &mut Func, buffer: Value, indices: &[Value]) -> Result<Type, String> {
    let Some((elem, shape, _)) = place_type(func, buffer) else {
        return Err(format!("`{}` is no buffer", func.show_type(func.value_type(buffer))));
    };
    if shape.len() != indices.len() {
        return Err(format!(
            "`{}` has {}, not {}",
            func.value_text(buffer),
            counted(shape.len(), "dimension"),
            indices.len()
        ));
    }
    let mut lanes = 1;
    for (nth, &index) in indices.iter().enumerate() {
        let Some(scalar) = func.value_scalar(index).filter(|scalar| scalar.elem.is_int()) else {
            return Err(format!("an index must be an integer, not `{}`", func.show_type(func.value_type(index))));
        };
        if scalar.lanes > 1 && nth + 1 != indices.len() {
            return Err("only the last index may be a vector".to_string());
        }
        lanes = scalar.lanes;
    }
    if lanes == 1 {
        return Ok(elem);
    }
    match func.as_scalar(elem) {
        Some(Scalar { elem, lanes: 1 }) => Ok(func.scalar_ty(Scalar { elem, lanes })),
        _ => Err(format!("an element of type `{}` cannot be accessed by a vector", func.show_type(elem))),
    }
}

pub(super) fn infer_load(func: &mut Func, operands: &[Value], _: Attrs) -> Result<Type, String> {
    let (&buffer, indices) = operands.split_first().ok_or("a load takes a buffer")?;
    accessed(func, buffer, indices)
}

pub(super) fn infer_ref(func: &mut Func, operands: &[Value], _: Attrs) -> Result<Type, String> {
    let (&buffer, indices) = operands.split_first().ok_or("a reference takes a buffer")?;
    let Some((elem, shape, scope)) = place_type(func, buffer) else {
        return Err(format!("`{}` is no buffer", func.show_type(func.value_type(buffer))));
    };
    if indices.len() > shape.len() {
        return Err(format!(
            "`{}` has {}, not {}",
            func.value_text(buffer),
            counted(shape.len(), "dimension"),
            indices.len()
        ));
    }
    let shape = shape[indices.len()..].into();
    Ok(func.ty(TypeData::Ref { elem, shape, scope }))
}

pub(super) fn infer_region(func: &mut Func, operands: &[Value], attrs: Attrs) -> Result<Type, String> {
    let (&buffer, starts) = operands.split_first().ok_or("a reference takes a buffer")?;
    let lengths = func.find_name("lengths").and_then(|key| func.entry(attrs, key));
    let Some((elem, shape, scope)) = place_type(func, buffer) else {
        return Err(format!("`{}` is no buffer", func.show_type(func.value_type(buffer))));
    };
    let lengths: Box<[Attr]> = match lengths.map(|attr| func.attr_data(attr)) {
        Some(AttrData::List(list)) => list.clone(),
        _ => return Err("a reference to a region takes a list of lengths".to_string()),
    };
    if starts.len() != shape.len() || lengths.len() != shape.len() {
        return Err(format!(
            "`{}` has {}, not {}",
            func.value_text(buffer),
            counted(shape.len(), "dimension"),
            starts.len()
        ));
    }
    Ok(func.ty(TypeData::Ref { elem, shape: lengths, scope }))
}

pub(super) fn load(func: &Func, op: Op, found: &mut Diagnostics) {
    let (&buffer, indices) = func.operands(op).split_first().expect("the row has a buffer");
    access(func, op, buffer, indices, func.result(op).expect("the row has one result"), found);
}

pub(super) fn store(func: &Func, op: Op, found: &mut Diagnostics) {
    let (&buffer, rest) = func.operands(op).split_first().expect("the row has a buffer");
    let (&value, indices) = rest.split_last().expect("the row has a value");
    access(func, op, buffer, indices, value, found);
}

/// An update is of one number of global or shared memory.
pub(super) fn atomic_rmw(func: &Func, op: Op, found: &mut Diagnostics) {
    let (place, value) = (func.operand(op, 0), func.operand(op, 1));
    let shown = func.show_type(func.value_type(place));
    let Some((elem, shape, scope)) = place_type(func, place) else {
        let text = format!("an update is of an element of a buffer, not of a `{shown}`");
        return found.push(error(func, op, "type", text).help("name the element: `&B[i]`"));
    };
    if tma::map_of(func, place).is_some() {
        let text = "a thread updates a buffer, and not what a tensor map shows of it".to_string();
        return found.push(
            error(func, op, "type", text).help("name the element of the buffer; bulk copies take maps: `tma.reduce`"),
        );
    }
    let indices = func.def_op(place).map_or(&[][..], |reference| func.operands(reference));
    let lanes = |value: Value| func.value_scalar(value).map_or(1, |scalar| scalar.lanes);
    if indices.iter().any(|&index| lanes(index) > 1) || lanes(value) > 1 {
        let text = "one element is updated, and not one for each lane of a vector".to_string();
        return found.push(error(func, op, "type", text).help("update them one by one, in a loop"));
    }
    if shape.iter().any(|&length| func.as_int(length) != Some(1)) {
        let text = format!("one element is updated, not `{shown}`");
        return found
            .push(error(func, op, "extent", text).help("name one element: `&B[i]`, with an index for each dimension"));
    }
    if !Scope::of_name(func, scope).is_some_and(|scope| scope == Scope::Global || scope.is_shared()) {
        let text = format!("memory that threads share is updated atomically, not `{}`", scope_text(func, scope));
        let help = "a buffer of one thread takes a load and a store: `B[i] = B[i] + x`";
        found.push(error(func, op, "scope", text).help(help));
    }
    let Some(scalar) = func.as_scalar(elem).filter(|scalar| scalar.lanes == 1) else {
        let text = format!("a number is updated, not `{shown}`");
        return found.push(error(func, op, "type", text));
    };
    if func.value_type(value) != elem {
        let (elem, have) = (func.show_type(elem), func.show_type(func.value_type(value)));
        let text = format!("an element of type `{elem}` is updated by one, not by `{have}`");
        found.push(error(func, op, "type", text).help(format!("cast it: `cast<{elem}>(…)`; a literal is `1{elem}`")));
    }
    update::verify_kind(func, op, scalar.elem, found);
}

fn access(func: &Func, op: Op, buffer: Value, indices: &[Value], value: Value, found: &mut Diagnostics) {
    let Some((elem, shape, _)) = place_type(func, buffer) else {
        found.push(error(func, op, "type", format!("`{}` is no buffer", func.show_type(func.value_type(buffer)))));
        return;
    };
    if shape.len() != indices.len() {
        let text =
            format!("`{}` has {}, not {}", func.value_text(buffer), counted(shape.len(), "dimension"), indices.len());
        return found.push(error(func, op, "rank", text));
    }
    let mut lanes = 1;
    for (nth, &index) in indices.iter().enumerate() {
        match func.value_scalar(index) {
            Some(scalar) if scalar.elem.is_int() && (scalar.lanes == 1 || nth + 1 == indices.len()) => {
                lanes = scalar.lanes
            }
            _ => {
                let ty = func.show_type(func.value_type(index));
                found.push(error(func, op, "type", format!("an index must be an integer, not `{ty}`")));
            }
        }
    }
    let want = match func.as_scalar(elem) {
        Some(Scalar { elem, lanes: 1 }) => Some(Scalar { elem, lanes }),
        scalar => scalar.filter(|_| lanes == 1),
    };
    let have = func.value_type(value);
    let fits = match want {
        Some(want) => func.as_scalar(have) == Some(want),
        None => lanes == 1 && have == elem,
    };
    if !fits {
        let (elem, have) = (func.show_type(elem), func.show_type(have));
        let name = func.value_text(buffer);
        found.push(error(func, op, "type", format!("an element of `{name}` is `{elem}`, not `{have}`")));
    }
}

pub(super) fn for_loop(func: &Func, op: Op, found: &mut Diagnostics) {
    let operands = func.operands(op);
    let (lo, hi, inits) = (operands[0], operands[1], &operands[2..]);
    let bounds = func.value_type(lo);
    let is_int = func.as_scalar(bounds).is_some_and(|scalar| scalar.elem.is_int() && scalar.lanes == 1);
    if !is_int || bounds != func.value_type(hi) {
        let (lo, hi) = (func.show_type(bounds), func.show_type(func.value_type(hi)));
        found.push(error(
            func,
            op,
            "type",
            format!("the bounds of a loop must be integers of one type, not `{lo}` and `{hi}`"),
        ));
    }
    let body = func.op_regions(op)[0];
    let args = func.region_args(body);
    if args.len() != inits.len() + 1 || func.n_results(op) != inits.len() || func.yielded(body).len() != inits.len() {
        let text = format!(
            "a loop that carries {} takes {}, yields and returns",
            counted(inits.len(), "value"),
            counted(inits.len(), "argument")
        );
        found.push(error(func, op, "carry", text));
        return;
    }
    if func.value_type(args[0]) != bounds {
        let (var, bounds) = (func.show_type(func.value_type(args[0])), func.show_type(bounds));
        found.push(error(func, op, "type", format!("the loop variable is `{var}`, its bounds are `{bounds}`")));
    }
    for (nth, result) in func.results(op).enumerate() {
        let ty = func.value_type(inits[nth]);
        let others = [args[nth + 1], func.yielded(body)[nth], result].map(|value| func.value_type(value));
        if let Some(&other) = others.iter().find(|&&other| other != ty) {
            let what = func.value_text(args[nth + 1]);
            let (ty, other) = (func.show_type(ty), func.show_type(other));
            let text = format!("carried value `{what}` begins as `{ty}` and goes on as `{other}`");
            found.push(error(func, op, "type", text).help(format!("cast what is yielded: `cast<{ty}>(…)`")));
        }
    }
    check_kind(func, op, found);
    check_cluster(func, op, found);
}

/// A cluster is of blocks along `blockIdx.x`, and small.
fn check_cluster(func: &Func, op: Op, found: &mut Diagnostics) {
    if func.attr_of(op, keys::CLUSTER).is_none() {
        return;
    }
    if loop_kind(func, op) != Some(LoopKind::Launch(Coordinate::BlockX)) {
        let text = "`cluster` is of a loop bound to `blockIdx.x`".to_string();
        found.push(error(func, op, "cluster", text).help("bind the loop over blocks to blockIdx.x"));
    } else if func.int_of(op, keys::CLUSTER).is_none_or(|size| !(1..=MAX_CLUSTER).contains(&size)) {
        let text = format!("a cluster has 1 to {MAX_CLUSTER} blocks");
        found.push(error(func, op, "cluster", text).help("write `cluster = 2`"));
    }
}

/// The kind of the loop `op`: there is such a one, and it may carry values if it does.
fn check_kind(func: &Func, op: Op, found: &mut Diagnostics) {
    match loop_kind(func, op) {
        None => {
            let kind = func.word_of(op, keys::KIND).unwrap_or("");
            let axis = func.word_of(op, keys::AXIS).unwrap_or("");
            let text = match kind {
                "bind" => format!("there is no launch coordinate `{}`", suggest::shorten(axis)),
                _ => format!("there is no kind of loop `{}`", suggest::shorten(kind)),
            };
            let names: Vec<&str> = match kind {
                "bind" => Coordinate::ALL.map(Coordinate::name).into_iter().chain([VTHREAD]).collect(),
                _ => vec!["serial", "unroll", "vectorize", "bind"],
            };
            let asked = if kind == "bind" { axis } else { kind };
            let mut diagnostic = error(func, op, "loop-kind", text);
            diagnostic.help = suggest::did_you_mean(asked, names);
            found.push(diagnostic);
        }
        Some(LoopKind::Unroll(Some(factor))) if factor < 1 => {
            found.push(error(func, op, "loop-kind", format!("cannot unroll by {factor}")));
        }
        Some(LoopKind::Launch(_) | LoopKind::Vthread | LoopKind::Vectorize) if func.operands(op).len() > 2 => {
            found.push(error(func, op, "carry", "only a loop that runs in order can carry values".to_string()));
        }
        Some(_) => {}
    }
}

pub(super) fn branch(func: &Func, op: Op, found: &mut Diagnostics) {
    let condition = func.value_type(func.operand(op, 0));
    if condition != func.bool_ty() {
        let ty = func.show_type(condition);
        found.push(error(func, op, "type", format!("a condition must be `bool`, not `{ty}`")));
    }
    let n_results = func.n_results(op);
    if n_results > 0 && func.op_regions(op).len() != 2 {
        return found.push(error(func, op, "branch", "an `if` with results needs an `else`".to_string()));
    }
    for &region in func.op_regions(op) {
        if !func.region_args(region).is_empty() {
            found.push(error(func, op, "branch", "a branch has no arguments".to_string()));
        }
        let yielded = func.yielded(region);
        if yielded.len() != n_results {
            let text = format!("a branch yields {}, not {n_results}", counted(yielded.len(), "value"));
            found.push(error(func, op, "branch", text));
            continue;
        }
        for (result, &value) in func.results(op).zip(yielded) {
            let (want, have) = (func.value_type(result), func.value_type(value));
            if want != have {
                let (want, have) = (func.show_type(want), func.show_type(have));
                found.push(error(func, op, "type", format!("a branch yields `{have}` where `{want}` is wanted")));
            }
        }
    }
}

pub(super) fn alloc(func: &Func, op: Op, found: &mut Diagnostics) {
    let ty = func.value_type(func.result(op).expect("the row has one result"));
    let Some((elem, shape, scope)) = func.as_shaped(ty) else {
        return found.push(error(func, op, "type", format!("cannot allocate a `{}`", func.show_type(ty))));
    };
    let scope = scope.map_or("", |scope| func.text(scope));
    if Scope::parse(scope).is_none() {
        let mut diagnostic = error(func, op, "scope", format!("there is no scope `{}`", suggest::shorten(scope)));
        diagnostic.help = suggest::did_you_mean(scope, Scope::ALL.map(Scope::name));
        found.push(diagnostic);
    }
    if let Some(elem) = func.as_scalar(elem).map(|scalar| scalar.elem).filter(|elem| !elem.is_stored()) {
        let text = format!("`{}` is a number format of tensor cores, not of memory", elem.name());
        found.push(error(func, op, "type", text));
    }
    check_shape(func, op, shape, elem, found);
    strides::check(func, op, shape, found);
    if let Some(align) = func.attr_of(op, keys::ALIGN) {
        check_align(func, func.op_location(op), align, found);
    }
    if let Some(stages) = func.int_of(op, keys::STAGES)
        && !(1..=MAX_STAGES).contains(&stages)
    {
        let text = format!("a buffer is kept for 1 to {MAX_STAGES} iterations, not {stages}");
        found.push(error(func, op, "stages", text));
    }
    check_distribution(func, op, shape, found);
}

/// What an alloc says of who holds its elements is a distribution, and over as many registers as there are.
fn check_distribution(func: &Func, op: Op, shape: &[Attr], found: &mut Diagnostics) {
    let Some(attr) = func.attr_named(op, distribution::KEY) else { return };
    let help = "passes write it: leave it out, or let each digit be `[extent, thread, step]`, `register` or `copy`";
    let Some(distribution) = Distribution::parse(func, attr) else {
        let text = format!("a distribution is a list of digits for each dimension, not {}", func.show_attr(attr));
        return found.push(error(func, op, "distribution", text).help(help));
    };
    if let Err(why) = distribution.check() {
        let text = format!("this is no distribution: {why}");
        return found.push(error(func, op, "distribution", text).help(help));
    }
    let held = shape.iter().try_fold(1i64, |held, &dim| held.checked_mul(func.as_int(dim)?));
    if held.is_some_and(|held| held < distribution.n_registers()) {
        let text = format!(
            "the distribution is over {} registers of each thread, and the buffer has {}",
            distribution.n_registers(),
            held.unwrap_or(0)
        );
        found.push(error(func, op, "distribution", text).help(help));
    }
}

fn check_align(func: &Func, location: tc_support::Location, align: Attr, found: &mut Diagnostics) {
    let fits = func.as_int(align).is_some_and(|align| align > 0 && align <= 1 << 20 && align.count_ones() == 1);
    if !fits {
        let text = format!("an alignment is a power of two, in bytes, not {}", func.show_attr(align));
        found.push(Diagnostic::error("align", location, text));
    }
}

/// Constant extents are positive, and the buffer's size in bytes fits 63 bits.
fn check_shape(func: &Func, op: Op, shape: &[Attr], elem: Type, found: &mut Diagnostics) {
    let barrier = if is_barrier_type(func, elem) { BARRIER_BYTES.into() } else { 1 };
    let mut bytes = func.as_scalar(elem).map_or(barrier, |scalar| i128::from(scalar.bytes()));
    for &dim in shape {
        match func.attr_data(dim) {
            AttrData::Int(extent, _) if *extent < 0 => {
                return found.push(error(func, op, "extent", format!("an extent cannot be {extent}")));
            }
            AttrData::Int(extent, _) => bytes = bytes.saturating_mul(*extent),
            _ => {}
        }
    }
    if bytes > i128::from(i64::MAX) {
        found.push(error(func, op, "extent", "the extents overflow: the buffer has more than 2^63 bytes".to_string()));
    }
}

pub(super) fn func(func: &Func, _: Op, found: &mut Diagnostics) {
    for (nth, param) in func.header.params.iter().enumerate() {
        let Some(&value) = func.params().get(nth) else { continue };
        let Some((elem, shape, scope)) = func.as_shaped(func.value_type(value)) else { continue };
        let location = func.location(func.header.loc);
        let scope = scope_text(func, scope);
        if Scope::parse(scope).is_none() {
            let mut diagnostic = Diagnostic::error(
                "scope",
                location.clone(),
                format!("there is no scope `{}`", suggest::shorten(scope)),
            );
            diagnostic.help = suggest::did_you_mean(scope, Scope::ALL.map(Scope::name));
            found.push(diagnostic);
        }
        let mut bytes = func.as_scalar(elem).map_or(1, |scalar| i128::from(scalar.bytes()));
        for &dim in shape {
            if let AttrData::Int(extent, _) = func.attr_data(dim) {
                if *extent < 0 {
                    found.push(Diagnostic::error("extent", location.clone(), format!("an extent cannot be {extent}")));
                }
                bytes = bytes.saturating_mul(*extent);
            }
        }
        if bytes > i128::from(i64::MAX) {
            let text = format!("the extents of `{}` overflow: it has more than 2^63 bytes", func.value_text(value));
            found.push(Diagnostic::error("extent", location.clone(), text));
        }
        if let Some(align) = func.entry(param.attrs, keys::ALIGN) {
            check_align(func, location, align, found);
        }
    }
}
