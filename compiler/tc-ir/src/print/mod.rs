//! The text of a module, the inverse of parsing.
//!
//! What prints parses, and prints the same again, byte for byte. The pretty form puts ops inside each other where a
//! reader expects it and uses all sugar; the generic form has one op a line, each in the same shape.
//!
//! - [`types`]: types, attributes, literals.
//! - `words`: what the lexer reads as a name.
//! - `style`: how each row prints, looked up once.
//! - `names`: the names that values print under.
//! - `form`: the sugar that an op stands behind.
//! - `inline`: which ops print inside the op that uses them.
//! - `expr`: expressions; `stmt`, `branch`, `operator`: statements and their regions; `item`: headers.
//! - `generic`: arguments of calls, and the one shape of all ops.

mod branch;
mod expr;
mod form;
mod generic;
mod inline;
mod item;
mod names;
mod operator;
mod stmt;
mod style;
pub mod types;
mod words;

use crate::entity::Region;
use crate::func::Func;
use crate::module::Module;
use crate::registry::Registry;
use expr::Link;
use inline::OpState;
use names::Names;
use std::fmt;
use std::sync::Arc;
use stmt::Frame;
use style::Styles;
use tc_support::Sources;

/// How a module is printed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PrintOptions {
    /// One op a line, each in the same shape.
    pub generic: bool,
    /// With the location of each op, where one is known.
    pub locations: bool,
    /// How many levels deep an expression may go before it is cut by a `let`; from 8 to 200.
    pub max_inline_depth: usize,
}

impl Default for PrintOptions {
    fn default() -> PrintOptions {
        PrintOptions { generic: false, locations: false, max_inline_depth: 64 }
    }
}

/// The text of `module`.
pub fn print_module(module: &Module, options: &PrintOptions) -> String {
    let mut printer = Printer::new(options).with_sources(&module.sources);
    printer.module(module);
    printer.finish()
}

/// The text of the item `func`, without the line that says the version.
pub fn print_func(func: &Func, options: &PrintOptions) -> String {
    let mut printer = Printer::new(options);
    printer.func(func);
    printer.finish()
}

impl fmt::Display for Func {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&print_func(self, &PrintOptions::default()))
    }
}

impl fmt::Display for Module {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&print_module(self, &PrintOptions::default()))
    }
}

/// Prints items one after the other into one text.
pub struct Printer<'m> {
    options: PrintOptions,
    sources: Option<&'m Sources>,
    out: String,
    /// The styles in use, by registry and context; there are a handful.
    styles: Vec<(Arc<Registry>, Styles)>,
    scratch: Scratch,
}

/// Storage that items use one after the other.
#[derive(Default)]
struct Scratch {
    names: Names,
    ops: Vec<OpState>,
    frames: Vec<Frame>,
    links: Vec<Link>,
    given: Vec<(usize, usize)>,
}

impl<'m> Printer<'m> {
    /// A printer with an empty text.
    pub fn new(options: &PrintOptions) -> Printer<'m> {
        Printer {
            options: *options,
            sources: None,
            out: String::new(),
            styles: Vec::new(),
            scratch: Scratch::default(),
        }
    }

    /// Lets locations that are positions in files be printed.
    pub fn with_sources(mut self, sources: &'m Sources) -> Printer<'m> {
        self.sources = Some(sources);
        self
    }

    /// Prints a whole module: the version, then its items with an empty line before each.
    pub fn module(&mut self, module: &Module) {
        let n_ops: usize = module.items.iter().map(Func::n_op_ids).sum();
        self.out.reserve(n_ops * if self.options.generic { 48 } else { 16 });
        self.out.push_str("tir ");
        words::push_u64(&mut self.out, u64::from(Module::VERSION));
        self.out.push('\n');
        for item in &module.items {
            self.out.push('\n');
            self.func(item);
        }
    }

    /// Prints an item.
    pub fn func(&mut self, func: &Func) {
        let Scratch { mut names, mut ops, frames, links, given } = std::mem::take(&mut self.scratch);
        names.reset(func);
        ops.clear();
        if !self.options.generic {
            ops.resize(func.n_op_ids(), OpState::default());
        }
        let no_sources = Sources::new();
        let nth = self.styles_for(func);
        let mut body = Body {
            func,
            options: self.options,
            sources: self.sources.unwrap_or(&no_sources),
            styles: &self.styles[nth].1,
            out: std::mem::take(&mut self.out),
            names,
            ops,
            frames,
            links,
            given,
            indent: 0,
            n_blocks: 0,
            level: 0,
            ready: None,
        };
        body.item();
        let Body { out, names, ops, frames, links, given, .. } = body;
        self.out = out;
        self.scratch = Scratch { names, ops, frames, links, given };
    }

    /// The text so far.
    pub fn finish(self) -> String {
        self.out
    }

    fn styles_for(&mut self, func: &Func) -> usize {
        let known = self
            .styles
            .iter()
            .position(|(registry, styles)| Arc::ptr_eq(registry, func.registry()) && styles.fit(func));
        known.unwrap_or_else(|| {
            let styles = Styles::new(func.registry(), func.context());
            self.styles.push((func.registry().clone(), styles));
            self.styles.len() - 1
        })
    }
}

/// An item that is being printed.
struct Body<'a> {
    func: &'a Func,
    options: PrintOptions,
    sources: &'a Sources,
    styles: &'a Styles,
    out: String,
    names: Names,
    /// What is known of each op.
    ops: Vec<OpState>,
    /// The regions that are open, outermost first.
    frames: Vec<Frame>,
    /// The operators that wait for their right operands.
    links: Vec<Link>,
    /// Where the operands of each parameter of an op stand.
    given: Vec<(usize, usize)>,
    indent: usize,
    n_blocks: u32,
    /// How deep conditionals that are expressions are being looked at.
    level: u8,
    /// A region that was looked at before it was entered.
    ready: Option<Region>,
}
