//! Functions into their callers.

use indexmap::IndexSet;
use tc_dialects::scope::scope_text;
use tc_dialects::{forms, tir};
use tc_ir::clone::Importer;
use tc_ir::walk::{all_ops, n_ops};
use tc_ir::{AttrData, Builder, Func, Module, Op, Rewriter, Type, keys};
use tc_pass::PassCx;
use tc_support::{Diagnostic, counted};

/// A function does not grow beyond this many ops.
const MAX_OPS: usize = 1_000_000;

/// Inlines every call of a program that is no kernel.
pub(super) fn inline(module: &mut Module, keep: bool, cx: &mut PassCx) -> bool {
    let Some(order) = callees_first(module, cx) else { return false };
    let mut inlined: IndexSet<String> = IndexSet::new();
    for caller in order {
        let calls = calls_of(module, &module.items[caller]);
        for (call, callee) in calls {
            let Some(body) = module.items.get(callee).cloned() else { continue };
            let caller = &mut module.items[caller];
            match obstacle(caller, call, &body) {
                None => {
                    into_caller(caller, call, &body);
                    cx.count("calls inlined", 1);
                    inlined.insert(body.symbol().to_string());
                }
                Some(reason) => {
                    let text = format!("cannot inline `@{}`: {reason}", body.symbol());
                    cx.report(Diagnostic::error("cannot-inline", caller.op_location(call), text));
                }
            }
        }
    }
    let changed = !inlined.is_empty();
    if !keep {
        let called: IndexSet<usize> = (0..module.items.len())
            .flat_map(|idx| calls_of(module, &module.items[idx]).into_iter().map(|(_, callee)| callee))
            .collect();
        let mut idx = 0;
        module.items.retain(|item| {
            let still_called = called.contains(&idx);
            idx += 1;
            item.header.opcode != tir::FUNC || still_called || !inlined.contains(item.symbol())
        });
    }
    changed
}

/// The calls in `func` of programs in `module`, in order.
fn calls_of(module: &Module, func: &Func) -> Vec<(Op, usize)> {
    if func.header.opcode != tir::FUNC {
        return Vec::new();
    }
    let calls = all_ops(func).filter(|&op| func.opcode(op) == tir::CALL);
    let callee = |op: Op| match func.attr_of(op, keys::CALLEE).map(|attr| func.attr_data(attr)) {
        Some(AttrData::Symbol(symbol)) => module
            .items
            .iter()
            .position(|item| item.header.opcode == tir::FUNC && item.symbol() == &**symbol && !forms::is_device(item)),
        _ => None,
    };
    calls.filter_map(|op| callee(op).map(|callee| (op, callee))).collect()
}

/// All programs, each after those that it calls; `None`, with a diagnostic, if one calls itself.
fn callees_first(module: &Module, cx: &mut PassCx) -> Option<Vec<usize>> {
    #[derive(Clone, Copy, PartialEq)]
    enum State {
        New,
        Open,
        Done,
    }
    let mut states = vec![State::New; module.items.len()];
    let mut order = Vec::new();
    for root in 0..module.items.len() {
        // With a stack of our own: calls may be deep.
        let mut worklist = vec![(root, false)];
        while let Some((idx, leaving)) = worklist.pop() {
            if leaving {
                states[idx] = State::Done;
                order.push(idx);
                continue;
            }
            if states[idx] != State::New {
                continue;
            }
            states[idx] = State::Open;
            worklist.push((idx, true));
            for (call, callee) in calls_of(module, &module.items[idx]) {
                if states[callee] == State::Open {
                    let func = &module.items[idx];
                    let text = format!("`@{}` calls itself, so it cannot be inlined", module.items[callee].symbol());
                    cx.report(Diagnostic::error("recursion", func.op_location(call), text));
                    return None;
                }
                worklist.push((callee, false));
            }
        }
    }
    Some(order)
}

/// Why `callee` cannot stand in the place of `call`.
fn obstacle(caller: &mut Func, call: Op, callee: &Func) -> Option<String> {
    if !callee.header.symbols.is_empty() {
        return Some("it has symbolic sizes".to_string());
    }
    if caller.n_results(call) > 0 || !callee.header.results.is_empty() {
        return Some("it has results".to_string());
    }
    if n_ops(caller).saturating_add(n_ops(callee)) > MAX_OPS {
        return Some(format!("`@{}` would come to more than {MAX_OPS} ops", caller.symbol()));
    }
    let args = caller.operands(call).to_vec();
    if args.len() != callee.params().len() {
        return Some(format!("it takes {}, not {}", counted(callee.params().len(), "argument"), args.len()));
    }
    let mut importer = Importer::new(callee);
    for (&param, arg) in callee.params().iter().zip(args) {
        let want = importer.ty(caller, callee.value_type(param));
        if want != caller.value_type(arg) {
            let given = caller.value_type(arg);
            let alike = caller.show_type(want) == caller.show_type(given);
            let (want, have) = (shown(caller, want, alike), shown(caller, given, alike));
            return Some(format!("its parameter `{}` is `{want}`, and `{have}` is given", callee.value_text(param)));
        }
        let strides =
            |func: &Func, value| func.buffer_attr(value, keys::STRIDES).map(|attr| func.show_attr(attr).to_string());
        if strides(callee, param) != strides(caller, arg) {
            return Some(format!("its parameter `{}` has other strides", callee.value_text(param)));
        }
    }
    None
}

fn into_caller(caller: &mut Func, call: Op, callee: &Func) {
    let mut importer = Importer::new(callee);
    importer.values.extend(callee.params().iter().copied().zip(caller.operands(call).iter().copied()));
    let mut b = Builder::before(caller, call);
    for op in callee.ops(callee.body()) {
        importer.op(&mut b, op);
    }
    Rewriter::new(caller).erase(call);
}

/// A type, of a buffer with its scope if that is what tells it from another.
fn shown(func: &Func, ty: Type, with_scope: bool) -> String {
    let text = func.show_type(ty);
    match func.as_shaped(ty) {
        Some((.., scope)) if with_scope => {
            let scope = scope_text(func, scope);
            format!("{text} in {scope}")
        }
        _ => text,
    }
}
