//! Types and words of what threads do together.

use crate::tir::Coordinate;
use tc_ir::effects::summary;
use tc_ir::{AttrData, Attrs, Func, Op, Type, Value, keys};
use tc_support::{Diagnostic, Diagnostics, counted};

fn error(func: &Func, op: Op, code: &'static str, message: String) -> Diagnostic {
    Diagnostic::error(code, func.op_location(op), message)
}

pub(super) fn barrier(func: &Func, op: Op, found: &mut Diagnostics) {
    let scope = func.word_of(op, keys::SCOPE).unwrap_or("");
    if !matches!(scope, "shared" | "global" | "warp" | "warpgroup" | "cluster") {
        let text = format!("there is no barrier over `{scope}`; there are shared, global, warp, warpgroup, cluster");
        found.push(error(func, op, "scope", text));
    }
}

pub(super) fn setmaxnreg(func: &Func, op: Op, found: &mut Diagnostics) {
    let count = func.int_of(op, keys::COUNT).unwrap_or(0);
    if !(24..=256).contains(&count) || count % 8 != 0 {
        let text = format!("a thread gets a multiple of 8 registers from 24 to 256, not {count}");
        found.push(error(func, op, "registers", text));
    }
    let action = func.word_of(op, keys::ACTION).unwrap_or("");
    if !matches!(action, "increase" | "decrease") {
        let text = format!("the number of registers is to `increase` or to `decrease`, not to `{action}`");
        found.push(error(func, op, "action", text));
    }
}

pub(super) fn griddepcontrol(func: &Func, op: Op, found: &mut Diagnostics) {
    let action = func.word_of(op, keys::ACTION).unwrap_or("");
    if !matches!(action, "wait" | "launch_dependents") {
        let text = format!("a kernel can `wait` or `launch_dependents`, not `{action}`");
        found.push(error(func, op, "action", text));
    }
}

pub(super) fn infer_all_reduce(func: &mut Func, values: &[Value], _: Attrs) -> Result<Vec<Type>, String> {
    Ok(values.iter().map(|&value| func.value_type(value)).collect())
}

/// What a lane holds has nothing to do with the number of the lane.
pub(super) fn infer_shuffle(func: &mut Func, operands: &[Value], _: Attrs) -> Result<Type, String> {
    operands.first().map(|&value| func.value_type(value)).ok_or_else(|| "a value is missing".to_string())
}

/// The thread coordinates that `op`, an `all_reduce`, reduces over; `None` where its list is no list of them.
pub fn reduced_axes(func: &Func, op: Op) -> Option<Vec<Coordinate>> {
    let AttrData::List(axes) = func.attr_data(func.attr_of(op, keys::AXES)?) else { return None };
    let axis = |&attr| Coordinate::parse(func.as_word(attr)?).filter(|axis| axis.is_thread());
    axes.iter().map(axis).collect()
}

pub(super) fn all_reduce(func: &Func, op: Op, found: &mut Diagnostics) {
    match reduced_axes(func, op) {
        Some(axes) if !axes.is_empty() => {
            if (1..axes.len()).any(|nth| axes[..nth].contains(&axes[nth])) {
                found.push(error(func, op, "axes", "a coordinate stands twice in `axes`".to_string()));
            }
        }
        _ => {
            let text = "`axes` lists thread coordinates: threadIdx.x, threadIdx.y, threadIdx.z".to_string();
            found.push(error(func, op, "axes", text).help("write `axes = [threadIdx.x]`"));
        }
    }
    let values = func.operands(op);
    let body = func.op_regions(op)[0];
    let types = |values: &[Value]| values.iter().map(|&value| func.value_type(value)).collect::<Vec<Type>>();
    let wanted = types(values);
    let (args, yielded) = (types(func.region_args(body)), types(func.yielded(body)));
    let results: Vec<Type> = func.results(op).map(|value| func.value_type(value)).collect();
    let fits =
        args.len() == 2 * wanted.len() && args.iter().enumerate().all(|(nth, ty)| *ty == wanted[nth % wanted.len()]);
    if wanted.is_empty() || results != wanted || yielded != wanted || !fits {
        let text =
            format!("a reduction of {} combines two sets, of the same types, to one", counted(wanted.len(), "value"));
        found.push(error(func, op, "type", text).help("write `(a: f32, b: f32) { yield a + b }`"));
    }
    for (nth, &value) in values.iter().enumerate() {
        if func.value_scalar(value).is_none_or(|scalar| scalar.lanes != 1) {
            found.push(error(func, op, "type", format!("value {nth} of a reduction across threads must be a number")));
        }
    }
    // How often the combiner runs, and in which threads, is not told.
    if let Some(stray) = func.ops(body).find(|&inner| !func.row(inner).terminator && !summary(func, inner).is_pure()) {
        let text = format!("a combiner only computes, and `{}` does more", func.op_name(stray));
        let help = "take it out of the reduction; what it gives may be used inside";
        found.push(error(func, stray, "effect", text).help(help));
    }
}

pub(super) fn shuffle(func: &Func, op: Op, found: &mut Diagnostics) {
    let mode = func.word_of(op, keys::MODE).unwrap_or("");
    if !matches!(mode, "down" | "up" | "xor" | "idx") {
        let text = format!("there is no shuffle `{mode}`; there are down, up, xor, idx");
        found.push(error(func, op, "shuffle", text));
    }
    if let Some(width) = func.int_of(op, keys::WIDTH)
        && !matches!(width, 1 | 2 | 4 | 8 | 16 | 32)
    {
        let text = format!("a group of lanes has 1, 2, 4, 8, 16 or 32 of them, not {width}");
        found.push(error(func, op, "shuffle", text));
    }
    let [value, lane] = *func.operands(op) else { return };
    if func.value_scalar(lane).is_none_or(|scalar| !scalar.elem.is_int() || scalar.lanes != 1) {
        let text = format!("the lane is an integer, not `{}`", func.show_type(func.value_type(lane)));
        found.push(error(func, op, "type", text));
    }
    if func.value_scalar(value).is_none_or(|scalar| scalar.lanes != 1) {
        let text = format!("lanes exchange numbers, not `{}`", func.show_type(func.value_type(value)));
        found.push(error(func, op, "type", text));
    }
}
