//! A small dialect and small passes for the tests.
#![allow(dead_code, reason = "each test uses a part of it")]

use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tc_ir::form::{Form, Rule};
use tc_ir::opdef::{Context, Effect, ItemDef, SymbolTable};
use tc_ir::walk::all_ops;
use tc_ir::{Builder, Func, Module, Registry};
use tc_pass::pipeline::quote_value;
use tc_pass::{
    Analysis, FuncPass, ModulePass, PassCx, PassInfo, PassKind, PassTable, PipelineInfo, PipelineStep, preserved,
};
use tc_support::{Diagnostic, Location};

tc_ir::dialect! {
    /// The rows.
    dialect "t" = 70;

    /// A function.
    FuncItem FUNC "func" ()
    { open_attrs: true, effect: Effect::UNKNOWN,
      item: Some(ItemDef { keyword: "t.func", context: Context::Tir, table: SymbolTable::Functions }) }

    /// An operator.
    OpItem OPERATOR "op" ()
    { open_attrs: true, effect: Effect::UNKNOWN,
      item: Some(ItemDef { keyword: "t.op", context: Context::Te, table: SymbolTable::Functions }) }

    /// Does nothing.
    Nop NOP "nop" ()
    { open_attrs: true, effect: Effect::UNKNOWN }

    /// Ends a region.
    End END "end" ()
    { terminator: true }
}

pub(crate) fn module(symbols: &[&str]) -> Module {
    let mut registry = Registry::new();
    registry.register(DIALECT).expect("the only one");
    let mut module = Module::new(Arc::new(registry));
    for symbol in symbols {
        module.items.push(Func::new(module.registry.clone(), FUNC, *symbol));
    }
    module
}

fn add_nops(func: &mut Func, n: i64) {
    let body = func.body();
    for _ in 0..n {
        Nop::build(&mut Builder::at_end(func, body), &[], &[]);
    }
}

tc_pass::options! {
    /// What `touch` can be told.
    pub struct TouchOptions {
        /// How many ops to add.
        times: i64 = 1,
        /// Add none after all.
        never: bool = false,
        /// Says something.
        word: String = "x".to_string(),
    }
}

tc_pass::options! {
    /// Nothing.
    pub struct NoOptions {}
}

/// A pass that is a function.
struct OnFunc(fn(&mut Func, &mut PassCx) -> bool);

impl FuncPass for OnFunc {
    fn run(&self, func: &mut Func, cx: &mut PassCx) -> bool {
        (self.0)(func, cx)
    }
}

struct Touch(TouchOptions);

impl FuncPass for Touch {
    fn run(&self, func: &mut Func, cx: &mut PassCx) -> bool {
        if self.0.never {
            return false;
        }
        add_nops(func, self.0.times);
        cx.count("ops added", self.0.times as u64);
        cx.report(Diagnostic::remark("touched", Location::None, format!("touched `@{}`", func.symbol())));
        true
    }
}

struct Over;

impl ModulePass for Over {
    fn run(&self, module: &mut Module, _: &mut PassCx) -> bool {
        module.items.push(Func::new(module.registry.clone(), FUNC, format!("made_{}", module.items.len())));
        true
    }
}

struct DenyOver;

impl ModulePass for DenyOver {
    fn run(&self, module: &mut Module, _: &mut PassCx) -> bool {
        module.items.reverse();
        false
    }
}

fn is_full(func: &Func) -> Option<String> {
    all_ops(func).next().is_none().then(|| "the function is empty".to_string())
}

static FULL: Form = Form {
    name: "full",
    summary: "There is something to run.",
    rules: &[Rule {
        name: "some-op",
        summary: "There is an op.",
        op: None,
        of: tc_ir::form::Ops::Any,
        func: Some(is_full),
        passes: None,
    }],
};

const fn func_row(name: &'static str, make: fn(&[tc_pass::RawOption]) -> Made) -> PassInfo {
    PassInfo { name, page: "Tests.", anchor: "t.func", make, ..PassInfo::BASE }
}

/// How many ops there are, and which count this is of all that were made.
pub(crate) struct Census {
    n_ops: usize,
    nth: u64,
}

impl PartialEq for Census {
    fn eq(&self, other: &Census) -> bool {
        self.n_ops == other.n_ops
    }
}

impl Analysis for Census {
    const NAME: &'static str = "census";

    fn of(func: &Func) -> Census {
        static MADE: AtomicU64 = AtomicU64::new(0);
        Census { n_ops: all_ops(func).count(), nth: MADE.fetch_add(1, Ordering::Relaxed) }
    }
}

type Made = Result<PassKind, tc_pass::OptionError>;

fn on_func(raw: &[tc_pass::RawOption], run: fn(&mut Func, &mut PassCx) -> bool) -> Made {
    NoOptions::read(raw)?;
    Ok(PassKind::Func(FUNC, Box::new(OnFunc(run))))
}

static TOUCH: PassInfo = PassInfo {
    options: TouchOptions::INFO,
    ..func_row("touch", |raw| Ok(PassKind::Func(FUNC, Box::new(Touch(TouchOptions::read(raw)?)))))
};
static ON_OPERATOR: PassInfo = PassInfo {
    anchor: "t.op",
    ..func_row("on-operator", |_| Ok(PassKind::Func(OPERATOR, Box::new(OnFunc(|_, _| false)))))
};
static OVER: PassInfo = PassInfo { anchor: "module", ..func_row("over", |_| Ok(PassKind::Module(Box::new(Over)))) };
static FILL: PassInfo = PassInfo {
    establishes: &[&FULL],
    ..func_row("fill", |raw| {
        on_func(raw, |func, _| {
            add_nops(func, 1);
            true
        })
    })
};
static LIE: PassInfo = PassInfo { establishes: &[&FULL], ..func_row("lie", |raw| on_func(raw, |_, _| false)) };
static NEED: PassInfo = PassInfo { requires: &[&FULL], ..func_row("need", |raw| on_func(raw, |_, _| false)) };
static REFUSE: PassInfo = func_row("refuse", |raw| {
    on_func(raw, |func, cx| {
        if func.symbol() == "bad" {
            cx.report(Diagnostic::error("no", Location::None, "refused"));
        }
        false
    })
});
static ASK: PassInfo = func_row("ask", |raw| {
    on_func(raw, |func, cx| {
        let census = cx.analysis::<Census>(func);
        cx.report(Diagnostic::remark("census", Location::None, format!("{} ops, {}", census.n_ops, census.nth)));
        false
    })
});
static RENAME: PassInfo = PassInfo {
    preserves: &[preserved::<Census>],
    ..func_row("rename", |raw| {
        on_func(raw, |func, _| {
            func.header.symbol.push('x');
            true
        })
    })
};
static SPOIL: PassInfo = PassInfo {
    preserves: &[preserved::<Census>],
    ..func_row("spoil", |raw| {
        on_func(raw, |func, _| {
            add_nops(func, 1);
            true
        })
    })
};
static DENY: PassInfo = func_row("deny", |raw| {
    on_func(raw, |func, _| {
        add_nops(func, 1);
        false
    })
});
static DENY_OVER: PassInfo =
    PassInfo { anchor: "module", ..func_row("deny-over", |_| Ok(PassKind::Module(Box::new(DenyOver)))) };
static PANIC: PassInfo = func_row("panic", |raw| on_func(raw, |func, _| panic!("at the sight of @{}", func.symbol())));
static BREAK: PassInfo = func_row("break", |raw| {
    on_func(raw, |func, _| {
        let body = func.body();
        End::build(&mut Builder::at_end(func, body), &[], &[]);
        add_nops(func, 1);
        true
    })
});

tc_pass::options! {
    /// What `twice` can be told.
    pub struct TwiceOptions {
        /// What is said.
        word: String = "w".to_string(),
    }
}

static TWICE: PipelineInfo = PipelineInfo {
    name: "twice",
    summary: "Touches twice.",
    options: TwiceOptions::INFO,
    steps: |raw| {
        let word = quote_value(&TwiceOptions::read(raw)?.word);
        let first: Cow<'static, str> = format!("t.func(touch{{word={word}}})").into();
        Ok(vec![PipelineStep::new(first, "The first."), PipelineStep::new("touch{times=2}", "The second.")])
    },
};
static ENDLESS: PipelineInfo = PipelineInfo {
    name: "endless",
    summary: "Names itself.",
    options: &[],
    steps: |_| Ok(vec![PipelineStep::new("endless", "To find out.")]),
};

/// The passes as if they were the compiler's own.
pub(crate) fn table() -> PassTable {
    PassTable::of_own(PASSES, &[&TWICE, &ENDLESS, &PLACES])
}

pub(crate) static PASSES: &[&PassInfo] = &[
    &TOUCH,
    &ON_OPERATOR,
    &OVER,
    &FILL,
    &LIE,
    &NEED,
    &REFUSE,
    &PANIC,
    &BREAK,
    &ASK,
    &RENAME,
    &SPOIL,
    &DENY,
    &DENY_OVER,
];

static PLACES: PipelineInfo = PipelineInfo {
    name: "places",
    summary: "Has places for passes of others.",
    options: &[],
    steps: |_| {
        Ok(vec![
            PipelineStep::place("first", "Nothing ran yet."),
            PipelineStep::new("t.func(touch)", "To begin."),
            PipelineStep::new("over", "To go on."),
            PipelineStep::place("middle", "Both ran."),
            PipelineStep::new("t.func(touch)", "To end."),
            PipelineStep::place("last", "All ran."),
        ])
    },
};
