//! What can be written for a GPU, and what cannot: everything at once, each at its place.
//!
//! A kernel is in the form `device`. The tables of the emitter have rows for its ops, its numbers have a type, its buffers
//! a scope that a kernel can declare, its launch extents that the target allows: constant ones for threads, for blocks also
//! such as follow from sizes.

use crate::facts::{self, Facts, scope_name};
use crate::{bulk, maps, matrix, mma, place, sizes, warpgroup, wmma};
use tc_dialects::algebra::remainder::may_overflow;
use tc_dialects::forms::DEVICE;
use tc_dialects::fragment::{Family, scope_use};
use tc_dialects::scope::Scope;
use tc_dialects::threads::{Meeting, is_by_mbarrier, meeting};
use tc_dialects::{arith as ops, gpu, mbarrier, tir};
use tc_ir::verify::{is_threaded, verify};
use tc_ir::walk::all_ops;
use tc_ir::{Elem, Func, Op, Opcode, Type, TypeData, Value, keys};
use tc_support::{Diagnostic, Diagnostics};
use tc_target::Target;

/// Regions within regions that are written without running out of stack.
const MAX_DEPTH: u32 = 128;

/// What an emitter has words for, as the tables that it writes by tell.
pub struct Emitter {
    /// The language that it writes.
    pub language: &'static str,
    /// Has it a row for such an op, which is no arithmetic?
    pub has: fn(Opcode) -> bool,
    /// Has it words for this arithmetic op on numbers of its types?
    pub spells: fn(&Func, Op, &Target) -> bool,
    /// Why it has none, where no pass writes the op in others that it has words for.
    pub lacks: fn(&Func, Op, &Target) -> Option<String>,
    /// What else keeps it from writing a kernel which all emitters could write.
    pub refuses: fn(&Func, &Facts, &Target, &mut Diagnostics),
    /// What helps where it has no words, if anything does.
    pub way_out: Option<&'static str>,
}

/// What keeps the kernel `func` from being written by `emitter`, and the facts that were found on the way.
pub fn kernel(func: &Func, target: &Target, emitter: &Emitter, found: &mut Diagnostics) -> Option<Facts> {
    let before = found.len();
    found.append(verify(func));
    // Rows say what an op has; without that, nothing more can be asked of it.
    if found.iter().skip(before).any(Diagnostic::is_error) {
        return None;
    }
    for mut diagnostic in DEVICE.check_in_short(func) {
        diagnostic.help.get_or_insert_with(|| "run the pipeline `cuda`, which ends in the form `device`".to_string());
        found.push(diagnostic);
    }
    if !is_threaded(func) && !all_ops(func).any(|op| is_by_mbarrier(func, op)) {
        let text = format!("the threads of `@{}` are not synchronised yet", func.symbol());
        let help = "run the pass `thread-sync` before `split-host-device`; the pipeline `cuda` does";
        found.push(Diagnostic::assumption("form", func.location(func.header.loc), text).help(help));
    }
    params(func, emitter, found);
    if let Some(op) = sizes::strays(func) {
        let text = format!("a size of `@{}` has no width here", func.symbol());
        let help = "run the pass `narrow-index` after `split-host-device`; the pipeline `cuda` does";
        found.push(Diagnostic::assumption("no-emitter", func.op_location(op), text).help(help));
    }
    let mut depths = vec![0u32; func.n_op_ids()];
    for op in all_ops(func) {
        if func.opcode(op) != Opcode::UNKNOWN {
            check(func, op, emitter, found);
        }
        let depth = func.parent_op(op).map_or(0, |parent| depths[parent.as_u32() as usize] + 1);
        depths[op.as_u32() as usize] = depth;
        if depth > MAX_DEPTH {
            let text = format!("more than {MAX_DEPTH} loops and conditionals inside one another");
            found.push(Diagnostic::error("too-deep", func.op_location(op), text));
            break;
        }
    }
    let facts = Facts::new(func, target, found);
    matrix::check(func, &facts, target, found);
    if !found.iter().skip(before).any(Diagnostic::is_error) {
        arithmetic(func, target, emitter, found);
        (emitter.refuses)(func, &facts, target, found);
    }
    for diagnostic in found.iter_mut().skip(before).filter(|one| one.code == "no-emitter") {
        diagnostic.help.get_or_insert_with(|| OTHERWISE.to_string());
    }
    (!found.iter().skip(before).any(Diagnostic::is_error)).then_some(facts)
}

fn is_arithmetic(opcode: Opcode) -> bool {
    opcode.dialect() == ops::ADD.dialect()
}

/// Finds the arithmetic on numbers for which the emitter has no words.
fn arithmetic(func: &Func, target: &Target, emitter: &Emitter, found: &mut Diagnostics) {
    let is_written = |op| (emitter.spells)(func, op, target) && !may_overflow(func, op);
    for op in all_ops(func).filter(|&op| is_arithmetic(func.opcode(op)) && !is_written(op)) {
        let at = func.op_location(op);
        let mut diagnostic = match (emitter.lacks)(func, op, target) {
            Some(reason) => Diagnostic::error("no-emitter", at, reason),
            None => {
                let text =
                    format!("there is no {} for `{}` on numbers of this type", emitter.language, func.op_name(op));
                let help = "run the passes `legalize-dtype` and `legalize-arith`; the pipeline `cuda` does";
                Diagnostic::assumption("no-emitter", at, text).help(help)
            }
        };
        if diagnostic.help.is_none() {
            diagnostic.help = emitter.way_out.map(String::from);
        }
        // An op that a pass wrote in several has one diagnostic.
        if !found.iter().any(|known| known.location == diagnostic.location && known.message == diagnostic.message) {
            found.push(diagnostic);
        }
    }
}

/// The help where nothing more is known.
const OTHERWISE: &str = "write it with ops, types and scopes that a kernel has: docs/ir.md lists them";

fn params(func: &Func, emitter: &Emitter, found: &mut Diagnostics) {
    let location = func.location(func.header.loc);
    for &param in func.params() {
        if let Some(reason) = unwritable(func, param, emitter) {
            found.push(Diagnostic::error("no-emitter", location.clone(), reason));
        }
        let scope = scope_name(func, param);
        if scope != "global" {
            let text = format!(
                "the parameter `{}` lies in `{scope}`, and a kernel is given global memory",
                func.value_text(param)
            );
            let help = "declare it without a scope, and copy what is needed into a buffer that the kernel makes";
            found.push(Diagnostic::error("no-emitter", location.clone(), text).help(help));
        }
    }
}

/// Why `value` cannot be declared.
fn unwritable(func: &Func, value: Value, emitter: &Emitter) -> Option<String> {
    let ty = func.value_type(value);
    let elem = match func.type_data(ty) {
        TypeData::Scalar(scalar) => Some(scalar.elem),
        TypeData::Shaped { elem, .. } if mbarrier::is_barrier_type(func, *elem) => return None,
        TypeData::Shaped { elem, .. } if func.as_scalar(*elem).is_none() => {
            return wmma::unwritable(func, *elem, emitter.language);
        }
        TypeData::Shaped { elem, .. } => func.as_scalar(*elem).map(|scalar| scalar.elem),
        // It stands where it is used; the buffer behind it is asked by itself.
        TypeData::Ref { .. } => return None,
        TypeData::Opaque { .. } => None,
    };
    let of = || match func.value_text(value) {
        "" => String::new(),
        name => format!(" of `{name}`"),
    };
    match elem {
        None => {
            Some(format!("the type `{}`{} cannot be written in {} yet", func.show_type(ty), of(), emitter.language))
        }
        // The form `device` says so of everything but parameters.
        Some(Elem::Index) => {
            func.params().contains(&value).then(|| format!("the `index`{} has no width in a kernel", of()))
        }
        Some(_) => None,
    }
}

fn check(func: &Func, op: Op, emitter: &Emitter, found: &mut Diagnostics) {
    let mut refuse = |text: String| found.push(Diagnostic::error("no-emitter", func.op_location(op), text));
    let opcode = func.opcode(op);
    // The form `device` has said so of calls, and arithmetic is asked about by its numbers.
    if opcode != tir::CALL && !is_arithmetic(opcode) && !(emitter.has)(opcode) {
        let text = format!("there is no {} for `{}`", emitter.language, func.op_name(op));
        let mut diagnostic = Diagnostic::error("no-emitter", func.op_location(op), text);
        diagnostic.help = emitter.way_out.map(String::from);
        if opcode == gpu::ALL_REDUCE {
            diagnostic =
                diagnostic.help("run the pass `lower-thread-allreduce` before `thread-sync`; the pipeline `cuda` does");
        }
        return found.push(diagnostic);
    }
    let args = func.op_regions(op).iter().flat_map(|&region| func.region_args(region).iter().copied());
    for value in func.results(op).chain(args) {
        if let Some(reason) = unwritable(func, value, emitter) {
            refuse(reason);
        }
    }
    if let Some(reason) = unwritable_op(func, op, emitter.language) {
        refuse(reason);
    }
    let with_help = wmma::unwritable_op(func, op)
        .or_else(|| mma::unwritable_op(func, op))
        .or_else(|| if opcode == tir::ALLOC { unwritable_tiles(func, op) } else { None });
    if let Some((text, help)) = with_help {
        found.push(Diagnostic::error("no-emitter", func.op_location(op), text).help(help));
    }
    maps::check(func, op, found);
    bulk::check(func, op, found);
    warpgroup::check(func, op, found);
}

/// What else an op asks for.
fn unwritable_op(func: &Func, op: Op, language: &str) -> Option<String> {
    match func.opcode(op) {
        tir::ALLOC => {
            let buffer = func.result(op)?;
            let scope = scope_name(func, buffer);
            Scope::parse(scope)
                .is_none_or(Scope::is_only_before_passes)
                .then(|| format!("a kernel cannot declare `{}` in `{scope}`", func.value_text(buffer)))
        }
        tir::REF | tir::REGION => place::unwritable(func, op),
        tir::LOAD | tir::STORE => {
            let is_buffer = matches!(func.type_data(func.value_type(func.operand(op, 0))), TypeData::Shaped { .. });
            (!is_buffer)
                .then(|| format!("`{}` through a reference cannot be written in {language} yet", func.op_name(op)))
        }
        tir::VIEW => {
            let is_buffer = |ty: Type| matches!(func.type_data(ty), TypeData::Shaped { .. });
            let buffers = is_buffer(func.value_type(func.operand(op, 0)))
                && func.result(op).is_some_and(|view| is_buffer(func.value_type(view)));
            let scopes =
                func.result(op).map(|view| scope_name(func, view)) == Some(scope_name(func, func.operand(op, 0)));
            (!buffers || !scopes).then(|| "a view is of a buffer, and lies in its scope".to_string())
        }
        _ if meeting(func, op) == Some(Meeting::Exchange) => {
            let elem = func.value_scalar(func.operand(op, 0))?.elem;
            let refused = (!are_exchanged(elem)).then(|| format!("lanes exchange no `{}` in {language}", elem.name()));
            refused.or_else(|| no_lane(func, op))
        }
        _ => None,
    }
}

/// Why the shuffle `op` reads from no lane: the machine takes the number otherwise, and tc as an error. Folding may have made
/// the literal, so that a program which runs no such exchange has it too.
fn no_lane(func: &Func, op: Op) -> Option<String> {
    let width = func.int_of(op, keys::WIDTH).unwrap_or(32);
    let lane = *func.operands(op).get(1).filter(|_| func.word_of(op, keys::MODE).is_some())?;
    let number = func.const_int(lane).filter(|number| !(0..width).contains(number))?;
    Some(format!("a lane of a group of {width} is a number from 0 to {}, not {number}", width - 1))
}

/// Do lanes exchange numbers of this type?
fn are_exchanged(elem: Elem) -> bool {
    !elem.is_for_products()
}

/// What is wrong with the buffer of tiles that the alloc `op` makes: the message, and the help.
fn unwritable_tiles(func: &Func, op: Op) -> Option<(String, &'static str)> {
    let buffer = func.result(op)?;
    let name = func.value_text(buffer);
    let scope = scope_name(func, buffer);
    // The form `device` has said so of tiles that are no fragments.
    let fragment = facts::fragment_of(func, buffer)?;
    let fits = matches!(scope_use(scope), Some((Family::Wmma, part)) if part == fragment.part);
    (!fits).then(|| {
        let text = format!("`{name}` is of fragments for `{}`, and does not lie in `{scope}`", fragment.part.name());
        (text, "set the scope of the buffer to what it is used for")
    })
}
