//! The host's side of a function: which kernels it launches, in which order, with what.

use crate::facts::scope_name;
use crate::sizes;
use rustc_hash::FxHashSet;
use tc_dialects::forms::is_device;
use tc_dialects::tir;
use tc_ir::func::Def;
use tc_ir::walk::ops_under;
use tc_ir::{AttrData, Func, Module, Op, Role, Value, keys};
use tc_support::{Diagnostic, Diagnostics, counted, suggest};
use tc_target::{BinaryOp, Formula};

/// One launch of a kernel.
pub struct Launch<'m> {
    /// The kernel.
    pub kernel: &'m Func,
    /// What it is given: parameters and buffers of the host function.
    pub args: Vec<Value>,
    /// The conditionals around it, outermost first, each with the branch in which it stands: the first where the condition
    /// holds.
    pub choices: Vec<(Op, bool)>,
}

/// A host function, taken apart.
pub struct Host<'m> {
    /// The function.
    pub func: &'m Func,
    /// The buffers that it makes in global memory.
    pub temporaries: Vec<Value>,
    /// The launches, in order.
    pub launches: Vec<Launch<'m>>,
}

/// Is `func` a function of the host, which launches kernels?
pub fn is_host(func: &Func) -> bool {
    func.header.opcode == tir::FUNC && !is_device(func)
}

/// The function of the host called `symbol`.
pub fn find<'m>(module: &'m Module, symbol: &str) -> Result<&'m Func, Diagnostic> {
    let shown = suggest::shorten(symbol);
    match module.function(symbol) {
        Some(func) if is_host(func) => Ok(func),
        Some(func) if is_device(func) => {
            let text = format!("`@{shown}` is a kernel, and what is emitted is a function that launches kernels");
            let wrong = Diagnostic::error("no-function", func.location(func.header.loc), text);
            let callers = module.items.iter().filter(|item| is_host(item) && calls(item, symbol));
            Err(match callers.map(Func::symbol).next() {
                Some(caller) => wrong.help(format!("emit `@{}`, which launches it", suggest::shorten(caller))),
                None => wrong.help("write a function that calls it"),
            })
        }
        Some(func) => {
            let text = format!("`@{shown}` is no program yet");
            let help = "run the pipeline `cuda` on it first";
            Err(Diagnostic::assumption("no-function", func.location(func.header.loc), text).help(help))
        }
        None => {
            let text = format!("there is no function `@{shown}`");
            let mut wrong = Diagnostic::error("no-function", tc_support::Location::None, text);
            wrong.help =
                suggest::did_you_mean(symbol, module.items.iter().filter(|item| is_host(item)).map(Func::symbol));
            Err(wrong)
        }
    }
}

fn calls(func: &Func, symbol: &str) -> bool {
    func.ops(func.body()).any(|op| callee(func, op) == Some(symbol))
}

fn callee(func: &Func, op: Op) -> Option<&str> {
    match func.attr_data(func.attr_of(op, keys::CALLEE)?) {
        AttrData::Symbol(name) => Some(name),
        _ => None,
    }
}

/// Takes `func` apart. What is no launch is found.
pub fn read<'m>(module: &'m Module, func: &'m Func, found: &mut Diagnostics) -> Host<'m> {
    let mut host = Host { func, temporaries: Vec::new(), launches: Vec::new() };
    let undivided = all_on_host(func, found);
    for op in on_host(func).filter(|_| !undivided) {
        match func.opcode(op) {
            tir::ALLOC => host.temporaries.extend(func.result(op)),
            tir::CALL => host.launches.extend(launch(module, func, op, found)),
            _ => {}
        }
    }
    host
}

/// Is `op` a conditional by which the host chooses what it launches?
fn is_choice(func: &Func, op: Op) -> bool {
    func.opcode(op) == tir::IF && func.n_results(op) == 0 && sizes::of_value(func, func.operand(op, 0)).is_some()
}

/// What runs on the host, in the order of the text: the ops of the body, and those under conditionals of sizes.
fn on_host(func: &Func) -> impl Iterator<Item = Op> {
    let mut worklist = vec![func.first_op(func.body())];
    std::iter::from_fn(move || {
        loop {
            let Some(op) = worklist.pop()? else { continue };
            worklist.push(func.next_op(op));
            if is_choice(func, op) {
                worklist.extend(func.op_regions(op).iter().rev().map(|&region| func.first_op(region)));
            }
            return Some(op);
        }
    })
}

/// Finds what runs on the host but is no alloc and no call. Tells whether there is any.
fn all_on_host(func: &Func, found: &mut Diagnostics) -> bool {
    let told = conditions_told(func);
    let stray = on_host(func).filter(|&op| {
        let follows = || func.result(op).is_some_and(|value| sizes::of_value(func, value).is_some());
        let harmless = matches!(func.opcode(op), tir::ALLOC | tir::CALL)
            || func.role(op) == Role::Constant
            || is_choice(func, op)
            || told.contains(&op)
            || follows();
        !harmless && !func.row(op).terminator
    });
    let before = found.len();
    for op in stray {
        found.push(left_over(func, op));
    }
    for op in on_host(func).filter(|&op| func.opcode(op) == tir::ALLOC) {
        let Some(buffer) = func.result(op) else { continue };
        let scope = scope_name(func, buffer);
        if scope != "global" {
            let text = format!("the host cannot make `{}` in `{scope}`", func.value_text(buffer));
            let help = "make the buffer inside of the launch nest that uses it";
            found.push(Diagnostic::error("no-emitter", func.op_location(op), text).help(help));
        }
    }
    found.len() > before
}

/// What conditions are made of that are no choices of the host: the conditional is told, and not its parts.
fn conditions_told(func: &Func) -> FxHashSet<Op> {
    let refused = on_host(func).filter(|&op| func.opcode(op) == tir::IF && !is_choice(func, op));
    let mut worklist: Vec<Value> = refused.map(|op| func.operand(op, 0)).collect();
    let mut told = FxHashSet::default();
    while let Some(value) = worklist.pop() {
        let Some(op) = func.def_op(value) else { continue };
        if told.insert(op) {
            worklist.extend_from_slice(func.operands(op));
        }
    }
    told
}

/// The error of `op`, which the host would have to run.
fn left_over(func: &Func, op: Op) -> Diagnostic {
    let under = func.op_regions(op).iter().flat_map(|&region| ops_under(func, region));
    let launched = under.filter(|&inner| func.opcode(inner) == tir::CALL).find_map(|inner| callee(func, inner));
    let error = |code, text: String| Diagnostic::assumption(code, func.op_location(op), text);
    match launched {
        Some(kernel) if func.opcode(op) == tir::IF => {
            let kernel = suggest::shorten(kernel);
            let text = format!("whether the host launches `@{kernel}` is no formula of sizes, or a long one");
            let help =
                "let sizes decide, by at most 64 operations inside one another: `+ - * / %`, `min`, `max`, comparisons";
            Diagnostic::error("host-choice", func.op_location(op), text).help(help)
        }
        Some(kernel) => {
            let kernel = suggest::shorten(kernel);
            error(
                "host-loop",
                format!("`{}` of the host launches `@{kernel}`, and the host only launches kernels", func.op_name(op)),
            )
            .help(OUT_OF_THE_LOOP)
        }
        None => {
            error("no-emitter", format!("`{}` is left for the host, which only launches kernels", func.op_name(op)))
                .help("run the pass `split-host-device` first; the pipeline `cuda` does")
        }
    }
}

/// The help where the host would have to count.
const OUT_OF_THE_LOOP: &str = "bind the threads outside of the loop, or unroll it before `split-host-device`";

fn launch<'m>(module: &'m Module, func: &Func, op: Op, found: &mut Diagnostics) -> Option<Launch<'m>> {
    let symbol = callee(func, op)?;
    let shown = suggest::shorten(symbol);
    let mut refuse = |text: String| found.push(Diagnostic::error("no-kernel", func.op_location(op), text));
    let Some(kernel) = module.function(symbol) else {
        refuse(format!("there is no kernel `@{shown}`"));
        return None;
    };
    if !is_device(kernel) {
        refuse(format!("`@{shown}` is no kernel: it lacks the attribute `device`"));
        return None;
    }
    let args = func.operands(op);
    let params = kernel.params();
    if args.len() != params.len() {
        refuse(format!("`@{shown}` takes {}, not {}", counted(params.len(), "argument"), args.len()));
        return None;
    }
    let sizes = |func: &Func| -> Vec<String> {
        func.header.symbols.iter().map(|symbol| func.text(symbol.name).to_string()).collect()
    };
    if let Some(stray) = sizes(kernel).iter().find(|name| !sizes(func).contains(name)) {
        refuse(format!("the size `{stray}` of `@{shown}` is no size of `@{}`", func.symbol()));
        return None;
    }
    for (&arg, &param) in args.iter().zip(params) {
        let name = kernel.value_text(param);
        let have = func.show_type(func.value_type(arg));
        let want = kernel.show_type(kernel.value_type(param));
        if have != want {
            refuse(format!("the parameter `{name}` of `@{shown}` is `{want}`, not `{have}`"));
            return None;
        }
        let is_alloc = func.def_op(arg).is_some_and(|op| func.opcode(op) == tir::ALLOC);
        if !is_alloc && !matches!(func.def(arg), Def::Arg(..)) {
            let text = format!("`@{shown}` takes `{name}` from a loop of the host, which only launches kernels");
            found.push(Diagnostic::assumption("host-loop", func.op_location(op), text).help(OUT_OF_THE_LOOP));
            return None;
        }
    }
    Some(Launch { kernel, args: args.to_vec(), choices: tir::choices(func, op)? })
}

impl Launch<'_> {
    /// When it runs, by the sizes of the host function `func`; `None` where it always does.
    pub fn when(&self, func: &Func) -> Option<Formula> {
        let conditions = self.choices.iter().filter_map(|&(op, holds)| {
            let condition = sizes::of_value(func, func.operand(op, 0))?;
            Some(if holds { condition } else { negated(condition) })
        });
        all(conditions.collect())
    }
}

/// 1 where all of these hold, the formula as flat as it gets: how deep one may be is bounded.
fn all(mut conditions: Vec<Formula>) -> Option<Formula> {
    while conditions.len() > 1 {
        let mut pairs = conditions.into_iter();
        let mut flatter = Vec::with_capacity(pairs.len().div_ceil(2));
        while let Some(first) = pairs.next() {
            flatter.push(match pairs.next() {
                Some(second) => Formula::op(BinaryOp::And, first, second),
                None => first,
            });
        }
        conditions = flatter;
    }
    conditions.pop()
}

/// 1 where `condition` is 0.
fn negated(condition: Formula) -> Formula {
    let Formula::Op(op, args) = condition else { return Formula::op(BinaryOp::Eq, condition, Formula::Int(0)) };
    let (lhs, rhs) = *args;
    match op {
        BinaryOp::Lt => Formula::op(BinaryOp::Le, rhs, lhs),
        BinaryOp::Le => Formula::op(BinaryOp::Lt, rhs, lhs),
        BinaryOp::Eq => Formula::op(BinaryOp::Ne, lhs, rhs),
        BinaryOp::Ne => Formula::op(BinaryOp::Eq, lhs, rhs),
        op => Formula::op(BinaryOp::Eq, Formula::op(op, lhs, rhs), Formula::Int(0)),
    }
}
