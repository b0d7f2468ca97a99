//! What a program is drawn with: the choices, the text so far, and what can be named at this place of it.

use super::interval::Interval;
use crate::random::choices::Choices;
use std::collections::BTreeSet;
use tc::ir::Elem;

/// What is known of a value, whatever its text.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Known {
    pub(super) elem: Elem,
    /// Of an integer: the values it may have.
    pub(super) range: Interval,
    /// Of a float: how large it may be.
    pub(super) mag: f64,
    /// Of a float: no pass may round it otherwise, so that comparing it gives the same after all passes.
    pub(super) exact: bool,
    /// Threads of a block may have different ones.
    pub(super) varies: bool,
}

impl Known {
    pub(super) fn int(elem: Elem, range: Interval) -> Known {
        Known { elem, range, mag: 0.0, exact: true, varies: false }
    }

    pub(super) fn float(elem: Elem, mag: f64) -> Known {
        Known { elem, range: Interval::of(0), mag, exact: true, varies: false }
    }

    pub(super) fn varying(self, varies: bool) -> Known {
        Known { varies: self.varies || varies, ..self }
    }
}

/// An expression: its text, in brackets where it needs them, and what is known of it.
#[derive(Clone, Debug)]
pub(super) struct Value {
    pub(super) text: String,
    pub(super) known: Known,
    /// It is a literal, whose suffix may be left out beside something that has a type.
    pub(super) literal: bool,
}

impl Value {
    pub(super) fn new(text: impl Into<String>, known: Known) -> Value {
        Value { text: text.into(), known, literal: false }
    }
}

/// A name and what is known of it.
#[derive(Clone, Debug)]
pub(super) struct Var {
    pub(super) name: String,
    pub(super) known: Known,
}

/// How the cell in column `col` of row `row` of a buffer is addressed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Layout {
    /// One dimension, rows one after another.
    Flat,
    /// One dimension, columns one after another.
    FlatColumns,
    /// Rows and columns.
    Rows,
    /// Columns and rows.
    Columns,
    /// Rows in groups of so many, and columns.
    Groups(i64),
}

/// Whose cells a thread may read, or write.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum AccessibleRows {
    Nothing,
    /// The row of the thread.
    Own,
    /// The rows of the block.
    Block,
    All,
}

/// How many rows a buffer has.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Rows {
    Fixed(i64),
    /// As many as a size of the program says, which is at least 1.
    Open(String),
}

/// A buffer that can be named here.
#[derive(Clone, Debug)]
pub(super) struct Buffer {
    pub(super) name: String,
    pub(super) scope: &'static str,
    pub(super) layout: Layout,
    pub(super) rows: Rows,
    pub(super) cols: i64,
    /// What is known of every element.
    pub(super) holds: Known,
    pub(super) reads: AccessibleRows,
    pub(super) writes: AccessibleRows,
}

/// What a program may be made of.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Style {
    /// Division, roots and functions of floats, which only a tolerance compares.
    pub(super) reals: bool,
    /// A GPU computes it bit for bit.
    pub(super) exact: bool,
}

/// The threads of the launch that is being drawn.
#[derive(Clone, Debug)]
pub(super) struct Launch {
    /// Threads of a block.
    pub(super) threads: i64,
    /// Rows that all threads have together, at most.
    pub(super) rows: i64,
    /// The coordinates of threads and their extents, the outer one first.
    pub(super) axes: Vec<(&'static str, i64)>,
    /// The number of the thread in its block.
    pub(super) thread: String,
    /// The number of the block.
    pub(super) block: String,
    /// The row of global buffers that is the thread's.
    pub(super) own: String,
    /// The size that `own` has to be below, and is not known to be.
    pub(super) guard: Option<String>,
}

/// What may be done to memory that threads share, at a place that not all threads come to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Sharing {
    /// All threads come here, or it does not matter.
    Free,
    /// It is only read.
    Reads,
    /// Each thread has its own cells.
    Own,
}

/// A program being drawn.
pub(super) struct Draw<'c> {
    pub(super) choices: &'c mut dyn Choices,
    pub(super) style: Style,
    out: String,
    indent: usize,
    names: usize,
    pub(super) vars: Vec<Var>,
    pub(super) buffers: Vec<Buffer>,
    /// Statements that may still be drawn.
    pub(super) budget: usize,
    pub(super) launch: Option<Launch>,
    pub(super) sharing: Sharing,
    /// Not all threads of the block come here.
    pub(super) divergent: bool,
    /// How many loops are around that run in order.
    pub(super) loops: usize,
    /// Lanes run at once here, so that nothing is carried and no further loop is wanted.
    pub(super) in_lanes: bool,
    /// What it was made of.
    /// Reads inside the indices of reads, at this place.
    pub(super) nested: usize,
    pub(super) made: BTreeSet<&'static str>,
}

impl<'c> Draw<'c> {
    pub(super) fn new(choices: &'c mut dyn Choices, style: Style) -> Draw<'c> {
        Draw {
            choices,
            style,
            out: String::new(),
            indent: 0,
            names: 0,
            vars: Vec::new(),
            buffers: Vec::new(),
            budget: 0,
            launch: None,
            sharing: Sharing::Free,
            divergent: false,
            loops: 0,
            in_lanes: false,
            nested: 0,
            made: BTreeSet::new(),
        }
    }

    /// A name that is not taken.
    pub(super) fn name(&mut self, stem: &str) -> String {
        loop {
            self.names += 1;
            let name = format!("{stem}{}", self.names);
            // `i8` is a type.
            if Elem::parse(&name).is_none() {
                return name;
            }
        }
    }

    pub(super) fn line(&mut self, text: impl AsRef<str>) {
        for _ in 0..self.indent {
            self.out.push_str("  ");
        }
        self.out.push_str(text.as_ref());
        self.out.push('\n');
    }

    /// `head {`, what `body` draws, `}`. What is named inside cannot be named after it.
    pub(super) fn block<T>(&mut self, head: &str, body: impl FnOnce(&mut Self) -> T) -> T {
        self.line(format!("{head} {{"));
        let drawn = self.inside(body);
        self.line("}");
        drawn
    }

    /// What `body` draws, further in.
    pub(super) fn inside<T>(&mut self, body: impl FnOnce(&mut Self) -> T) -> T {
        self.indent += 1;
        let (vars, buffers) = (self.vars.len(), self.buffers.len());
        let drawn = body(self);
        self.vars.truncate(vars);
        self.buffers.truncate(buffers);
        self.indent -= 1;
        drawn
    }

    /// Binds `value` to a new name, in a statement of its own.
    pub(super) fn bind(&mut self, stem: &str, value: &Value) -> Value {
        let name = self.name(stem);
        // A literal alone says its type by its suffix, or is an index.
        self.line(format!("let {name} = {}", value.text));
        self.vars.push(Var { name: name.clone(), known: value.known });
        Value::new(name, value.known)
    }

    pub(super) fn var(&mut self, name: &str, known: Known) {
        self.vars.push(Var { name: name.to_string(), known });
    }

    pub(super) fn made(&mut self, what: &'static str) {
        self.made.insert(what);
    }

    /// The text; and nothing is left.
    pub(super) fn take(&mut self) -> String {
        std::mem::take(&mut self.out)
    }
}
