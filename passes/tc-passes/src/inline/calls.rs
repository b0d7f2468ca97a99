//! Functions into their callers.

use indexmap::IndexSet;
use tc_dialects::algebra::{Algebra, is_launch};
use tc_dialects::scope::scope_text;
use tc_dialects::{forms, tir};
use tc_ir::clone::Importer;
use tc_ir::walk::{all_ops, n_ops};
use tc_ir::{AttrData, Builder, Func, Module, Op, Rewriter, Type, Value, keys};
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
            // The host chooses whether it runs: its kernels leave it first.
            if tir::is_in_branch(&module.items[caller], call) && launches(&module.items[callee]) {
                continue;
            }
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
    let mut changed = !inlined.is_empty();
    if !keep {
        retain(module, |item, is_called| is_called || !inlined.contains(item.symbol()));
    }
    // What only a private program called goes after it.
    let is_private = |item: &Func| item.entry(item.header.attrs, keys::PRIVATE).is_some();
    while module.items.iter().any(is_private) && retain(module, |item, is_called| is_called || !is_private(item)) {
        changed = true;
    }
    changed
}

/// Keeps the programs of which `keeps` says so, told whether something calls them, and all that is no program. Tells whether
/// any went.
fn retain(module: &mut Module, keeps: impl Fn(&Func, bool) -> bool) -> bool {
    let called: IndexSet<usize> = (0..module.items.len())
        .flat_map(|idx| calls_of(module, &module.items[idx]).into_iter().map(|(_, callee)| callee))
        .collect();
    let (n, mut nth) = (module.items.len(), 0..);
    module.items.retain(|item| {
        let is_called = nth.next().is_some_and(|idx| called.contains(&idx));
        item.header.opcode != tir::FUNC || keeps(item, is_called)
    });
    module.items.len() < n
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

/// Does `func` bind a loop to a launch coordinate?
fn launches(func: &Func) -> bool {
    all_ops(func).any(|op| is_launch(func, op))
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
            let by_name = if callee.header.symbols.is_empty() { "" } else { "; sizes are those of the same name" };
            let param = callee.value_text(param);
            return Some(format!("its parameter `{param}` is `{want}`, and `{have}` is given{by_name}"));
        }
        let strides =
            |func: &Func, value| func.buffer_attr(value, keys::STRIDES).map(|attr| func.show_attr(attr).to_string());
        if strides(callee, param) != strides(caller, arg) {
            return Some(format!("its parameter `{}` has other strides", callee.value_text(param)));
        }
    }
    unknown_of_sizes(caller, call, callee)
}

/// The values of the sizes of `callee`, each with the size of `caller` that has its name; a name that it lacks is the error.
fn sizes(caller: &Func, callee: &Func) -> Result<Vec<(Value, Value)>, String> {
    let values = |func: &Func| func.region_args(func.body())[..func.header.symbols.len()].to_vec();
    let named = |symbol: &tc_ir::func::SymbolDecl| {
        let name = callee.text(symbol.name);
        let at = caller.header.symbols.iter().position(|other| caller.text(other.name) == name);
        at.map(|at| values(caller)[at]).ok_or_else(|| name.to_string())
    };
    values(callee).into_iter().zip(&callee.header.symbols).map(|(value, symbol)| Ok((value, named(symbol)?))).collect()
}

/// What `callee` counts on of its sizes, and is not known where it is called.
fn unknown_of_sizes(caller: &mut Func, call: Op, callee: &Func) -> Option<String> {
    if callee.header.symbols.is_empty() {
        return None;
    }
    let pairs = match sizes(caller, callee) {
        Ok(pairs) => pairs,
        Err(name) => return Some(format!("its size `{name}` is no size of `@{}`", caller.symbol())),
    };
    let assumed = caller.attr_of(call, keys::ASSUMED).map(|attr| caller.attr_data(attr));
    if matches!(assumed, Some(AttrData::Bool(true))) {
        return None;
    }
    let mut importer = Importer::new(callee);
    let mut algebra = Algebra::of_func(caller);
    algebra.enter_place(caller, call);
    for ((_, have), symbol) in pairs.into_iter().zip(&callee.header.symbols) {
        let Some((low, high)) = symbol.range else { continue };
        let bounds = [low, high].map(|attr| importer.attr(caller, attr)).map(|attr| algebra.attr(caller, attr));
        let [Some(low), Some(high)] = bounds else { continue };
        let size = algebra.expr(caller, have);
        let pool = &mut algebra.analyzer.pool;
        let (above, below) = (pool.le(low, size), pool.lt(size, high));
        if !algebra.analyzer.can_prove(above) || !algebra.analyzer.can_prove(below) {
            return Some(format!("its size `{}` may be out of its range there", callee.text(symbol.name)));
        }
    }
    let facts: Vec<_> = callee.header.facts.iter().map(|&fact| (fact, importer.attr(caller, fact))).collect();
    facts.into_iter().find_map(|(fact, here)| {
        let holds = caller.header.facts.contains(&here)
            || algebra.attr(caller, here).is_some_and(|condition| algebra.analyzer.can_prove(condition));
        (!holds).then(|| format!("`{}`, which it says of its sizes, is not known there", callee.show_attr(fact)))
    })
}

fn into_caller(caller: &mut Func, call: Op, callee: &Func) {
    let mut importer = Importer::new(callee);
    importer.values.extend(sizes(caller, callee).unwrap_or_default());
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
