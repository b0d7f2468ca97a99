//! Calls of schedule functions: their directives are put in the place of the calls, before a schedule runs.
//!
//! A directive that a call brought stands where its function is written; the location of the directive that made it
//! (`Locs::directive`) is that of the call. So a diagnostic is reported at the line of the function, and
//! `with_calls` adds the line of the call.

use crate::followed::{has_followed_bounds, with_conditions};
use std::borrow::Cow;
use std::sync::{Arc, OnceLock};
use tc_dialects::arith::Cast;
use tc_dialects::sched::{self, arguments, callee, wrong_results};
use tc_dialects::te;
use tc_ir::attrs::AttrData;
use tc_ir::clone::Importer;
use tc_ir::func::Locs;
use tc_ir::opdef::{Role, SymbolTable};
use tc_ir::walk::{all_ops, ops_under};
use tc_ir::{Builder, Func, Module, Op, Rewriter, Value};
use tc_support::{Diagnostic, Diagnostics, Location, counted, suggest};

/// How many ops a schedule may have, its calls in place.
const MAX_OPS: usize = 20_000;
/// How many calls of one function a diagnostic lists.
const MAX_CALLS: usize = 3;

/// The schedule functions that a run lends to modules, made when they are asked for the first time. It is an extension of runs
/// of passes.
#[derive(Clone)]
pub struct Library(Arc<Shelf>);

struct Shelf {
    make: Box<dyn Fn() -> Vec<Func> + Send + Sync>,
    items: OnceLock<Vec<Func>>,
}

impl Library {
    /// A library of the functions that `make` makes. Their locations are told to readers of other files, so they must
    /// name their file themselves.
    pub fn new(make: impl Fn() -> Vec<Func> + Send + Sync + 'static) -> Library {
        Library(Arc::new(Shelf { make: Box::new(make), items: OnceLock::new() }))
    }

    /// The functions.
    pub fn items(&self) -> &[Func] {
        self.0.items.get_or_init(|| (self.0.make)())
    }
}

impl Default for Library {
    fn default() -> Library {
        Library::new(Vec::new)
    }
}

/// Where schedule functions are found: those of a module, which hide those of the library.
#[derive(Clone, Copy)]
pub struct Functions<'a> {
    module: &'a Module,
    library: &'a [Func],
}

impl<'a> Functions<'a> {
    /// The functions of `module`, and those of `library` that it does not have.
    pub fn of(module: &'a Module, library: &'a [Func]) -> Functions<'a> {
        Functions { module, library }
    }

    /// The function called `name`, and whether it is one of the library. What functions of the library call is theirs.
    fn find(self, name: &str, in_library: bool) -> Option<(&'a Func, bool)> {
        let own = self.module.find(SymbolTable::ScheduleFunctions, name).filter(|_| !in_library);
        let own = own.map(|idx| (&self.module.items[idx], false));
        own.or_else(|| self.library.iter().find(|item| item.symbol() == name).map(|item| (item, true)))
    }
}

/// Does `schedule` call schedule functions?
pub fn has_calls(schedule: &Func) -> bool {
    all_ops(schedule).any(|op| schedule.opcode(op) == sched::CALL)
}

/// `schedule` with the directives of functions in the place of its calls.
///
/// # Errors
///
/// A call that does not fit its function, and more than 20,000 ops.
pub fn inline_calls<'a>(schedule: &'a Func, functions: Functions<'_>) -> Result<Cow<'a, Func>, Diagnostics> {
    if !has_calls(schedule) {
        return Ok(Cow::Borrowed(schedule));
    }
    let mut func = schedule.clone();
    let mut n_ops = all_ops(&func).count();
    let calls = all_ops(&func).filter(|&op| func.opcode(op) == sched::CALL);
    let mut worklist: Vec<(Op, bool)> = calls.map(|call| (call, false)).collect();
    worklist.reverse();
    // Functions do not call themselves, so the calls end; how many ops they come to is what must be bounded.
    while let Some((call, in_library)) = worklist.pop() {
        let name = callee(&func, call).unwrap_or_default();
        let Some((item, in_library)) = functions.find(name, in_library) else {
            let text = format!("there is no schedule function `@{}`", suggest::shorten(name));
            return Err(Diagnostic::error("unknown-symbol", func.op_location(call), text).into());
        };
        n_ops += all_ops(item).count();
        if n_ops > MAX_OPS {
            let text = format!("with its calls in place the schedule has over {}", counted(MAX_OPS, "op"));
            return Err(Diagnostic::error("schedule-size", outermost(&func, call), text).into());
        }
        if let Some(wrong) = wrong_results(&func, call, item) {
            return Err(wrong.into());
        }
        let given = arguments(&func, call, item).map_err(|wrong| Diagnostics::from(*wrong))?;
        let copied = inline(&mut func, call, item, &given);
        worklist.extend(copied.into_iter().rev().map(|call| (call, in_library)));
    }
    Ok(Cow::Owned(func))
}

/// Makes `module` what schedules are run on: calls of schedule functions are put in place, and bounds of reductions that follow
/// the element become conditions. Returns whether anything changed.
///
/// # Errors
///
/// As for [`inline_calls`], and a bound that data decide alone; the module is then as it was.
pub fn prepare_all(module: &mut Module, library: &[Func]) -> Result<bool, Diagnostics> {
    let followed = |item: &Func| item.header.opcode == te::FUNC && has_followed_bounds(item);
    let mut done = Vec::new();
    for (idx, item) in module.items.iter().enumerate().filter(|(_, item)| followed(item)) {
        done.push((idx, with_conditions(item)?));
    }
    let changed = inline_all(module, library)? || !done.is_empty();
    done.into_iter().for_each(|(idx, func)| module.items[idx] = func);
    Ok(changed)
}

/// The same for all schedules of `module`; returns whether any had calls.
///
/// # Errors
///
/// As for [`inline_calls`]; the module is then as it was.
pub fn inline_all(module: &mut Module, library: &[Func]) -> Result<bool, Diagnostics> {
    let (mut done, mut found) = (Vec::new(), Diagnostics::new());
    for (idx, item) in module.items.iter().enumerate() {
        if item.header.opcode != sched::SCHEDULE || !has_calls(item) {
            continue;
        }
        match inline_calls(item, Functions::of(module, library)) {
            Ok(func) => done.push((idx, func.into_owned())),
            Err(more) => found.append(more),
        }
    }
    if found.has_errors() {
        return Err(found);
    }
    let changed = !done.is_empty();
    done.into_iter().for_each(|(idx, func)| module.items[idx] = func);
    Ok(changed)
}

/// Puts the directives of `item` in the place of `call`; returns the calls among them.
fn inline(func: &mut Func, call: Op, item: &Func, given: &[Option<Value>]) -> Vec<Op> {
    let Locs { source, directive } = func.op_locs(call);
    let directive = if directive.is_none() { source } else { directive };
    let mut calls = Vec::new();
    let results: Vec<Value> = {
        let mut b = Builder::before(func, call);
        b.locs = Locs { source, directive };
        let mut importer = Importer::new(item);
        for (nth, (&param, value)) in item.params().iter().zip(given).enumerate() {
            let value = match value {
                Some(value) => number(&mut b, *value, item, param),
                None => default(&mut b, &mut importer, item, nth),
            };
            importer.values.insert(param, value);
        }
        let mut results = Vec::new();
        for op in item.ops(item.body()) {
            if item.opcode(op) == sched::RETURN {
                results.extend(item.operands(op).iter().map(|value| importer.values[value]));
                break;
            }
            let copy = importer.op(&mut b, op);
            calls.extend(
                [copy].into_iter().chain(ops_within(b.func, copy)).filter(|&op| b.func.opcode(op) == sched::CALL),
            );
        }
        results
    };
    let mut rw = Rewriter::new(func);
    let old: Vec<Value> = rw.func().results(call).collect();
    for (&old, &new) in old.iter().zip(&results) {
        // What the caller calls it is the better name.
        if let Some(name) = rw.func().value_name(old) {
            rw.func_mut().set_value_name(new, Some(name));
        }
        rw.replace_value(old, new);
    }
    let literals: Vec<Op> = rw.func().operands(call).iter().filter_map(|&value| rw.func().def_op(value)).collect();
    rw.erase(call);
    // A literal of another type became one of the parameter's.
    for op in literals {
        let unused = rw.func().results(op).all(|value| rw.func().n_uses(value) == 0);
        if rw.func().role(op) == Role::Constant && unused {
            rw.erase(op);
        }
    }
    drop(rw);
    calls
}

/// The ops in the regions of `op`.
fn ops_within(func: &Func, op: Op) -> Vec<Op> {
    func.op_regions(op).iter().flat_map(|&region| ops_under(func, region)).collect()
}

/// `value` as a number of the type of `param`; a stage or an axis as it is.
fn number(b: &mut Builder<'_>, value: Value, item: &Func, param: Value) -> Value {
    let Some(scalar) = item.value_scalar(param).filter(|&scalar| b.func.value_scalar(value) != Some(scalar)) else {
        return value;
    };
    let ty = b.func.scalar_ty(scalar);
    if let Some(literal) = b.func.constant(value).and_then(|attr| b.func.as_int(attr)) {
        return b.int(literal, scalar.elem);
    }
    let op = Cast::build(b, value, &[], &[ty]);
    b.func.result(op).unwrap_or(value)
}

/// The default of parameter `nth`, which has one.
fn default(b: &mut Builder<'_>, importer: &mut Importer<'_>, item: &Func, nth: usize) -> Value {
    let param = item.params()[nth];
    let elem = item.value_scalar(param).map_or(tc_ir::Elem::I32, |scalar| scalar.elem);
    match item.header.params[nth].default.map(|attr| item.attr_data(attr)) {
        Some(AttrData::Bool(value)) => b.bool(*value),
        Some(AttrData::Int(value, _)) => b.int(i64::try_from(*value).unwrap_or_default(), elem),
        other => {
            debug_assert!(false, "the verifier accepts numbers alone: {other:?}");
            let ty = importer.ty(b.func, item.value_type(param));
            let zero = b.func.attr(AttrData::Int(0, None));
            b.constant(zero, ty)
        }
    }
}

/// Where the call that brought `op` stands in the schedule, or `op` itself.
fn outermost(schedule: &Func, op: Op) -> Location {
    let Locs { source, directive } = schedule.op_locs(op);
    schedule.location(if directive.is_none() { source } else { directive })
}

/// `found`, where a diagnostic at a line of a function names the calls that brought it.
pub fn with_calls(schedule: Option<&Func>, found: Diagnostics) -> Diagnostics {
    let Some(schedule) = schedule else { return found };
    let brought: Vec<(Location, Location)> = all_ops(schedule)
        .filter(|&op| !schedule.op_locs(op).directive.is_none())
        .map(|op| (schedule.op_location(op), outermost(schedule, op)))
        .collect();
    if brought.is_empty() {
        return found;
    }
    let told = |mut one: Diagnostic| {
        let mut calls: Vec<&Location> = Vec::new();
        for (at, call) in &brought {
            if *at == one.location && !calls.contains(&call) && calls.len() < MAX_CALLS {
                calls.push(call);
            }
        }
        for (nth, call) in calls.into_iter().enumerate() {
            if !one.labels.iter().any(|label| label.location == *call) {
                one = one.label(call.clone(), if nth == 0 { "called here" } else { "or here" });
            }
        }
        one
    };
    found.into_iter().map(told).collect()
}
