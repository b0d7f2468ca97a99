//! Reads and writes: every index is in range, and no cell is written by two threads at once.

use super::draw::{AccessibleRows, Buffer, Draw, Known, Launch, Layout, Rows, Sharing, Value};
use super::interval::Interval;
use tc::ir::Elem;

/// Reads inside the indices of reads.
const MOST_NESTED: usize = 2;

impl Buffer {
    pub(super) fn is_shared(&self) -> bool {
        self.scope.starts_with("shared") || self.scope == "registers"
    }

    /// Its extents, as they are written.
    pub(super) fn extents(&self) -> String {
        let cols = self.cols;
        match (&self.rows, self.layout) {
            (Rows::Fixed(rows), Layout::Flat | Layout::FlatColumns) => format!("{}", rows * cols),
            (Rows::Open(size), Layout::Flat | Layout::FlatColumns) if cols == 1 => size.clone(),
            (Rows::Open(size), Layout::Flat | Layout::FlatColumns) => format!("{size} * {cols}"),
            (Rows::Fixed(rows), Layout::Rows) => format!("{rows}, {cols}"),
            (Rows::Fixed(rows), Layout::Columns) => format!("{cols}, {rows}"),
            (Rows::Fixed(rows), Layout::Groups(group)) => format!("{}, {group}, {cols}", rows / group),
            (Rows::Open(size), Layout::Columns) => format!("{cols}, {size}"),
            (Rows::Open(size), _) => format!("{size}, {cols}"),
        }
    }

    /// The place in column `col` of row `row`, both indices.
    pub(super) fn place(&self, row: &str, col: &str) -> String {
        let (name, cols) = (&self.name, self.cols);
        let rows = match &self.rows {
            Rows::Fixed(rows) => rows.to_string(),
            Rows::Open(size) => size.clone(),
        };
        match self.layout {
            _ if self.rows == Rows::Fixed(1) && self.layout == Layout::Flat => format!("{name}[{col}]"),
            Layout::Flat if cols == 1 => format!("{name}[{row}]"),
            Layout::Flat => format!("{name}[{row} * {cols} + {col}]"),
            Layout::FlatColumns => format!("{name}[{col} * {rows} + {row}]"),
            Layout::Columns => format!("{name}[{col}, {row}]"),
            Layout::Groups(group) if matches!(self.rows, Rows::Fixed(_)) => {
                format!("{name}[{row} / {group}, {row} % {group}, {col}]")
            }
            Layout::Rows | Layout::Groups(_) => format!("{name}[{row}, {col}]"),
        }
    }
}

impl Draw<'_> {
    /// `value` as an index.
    fn as_index(&mut self, value: Value) -> Value {
        self.cast_int(&value, Elem::Index)
    }

    /// May `buffer` be read here, and how far?
    fn reach_of_reads(&self, buffer: &Buffer) -> AccessibleRows {
        let guarded = self.launch.as_ref().is_some_and(|launch| launch.guard.is_some());
        match buffer.reads {
            AccessibleRows::All if buffer.is_shared() && self.sharing == Sharing::Own => AccessibleRows::Own,
            AccessibleRows::Block if self.sharing == Sharing::Own && guarded => AccessibleRows::Nothing,
            AccessibleRows::Block if self.sharing == Sharing::Own => AccessibleRows::Own,
            AccessibleRows::Own if guarded && matches!(buffer.rows, Rows::Open(_)) => AccessibleRows::Nothing,
            reach => reach,
        }
    }

    /// A row of `buffer` within `reach`.
    pub(super) fn row(&mut self, buffer: &Buffer, reach: AccessibleRows, depth: usize) -> Value {
        let launch = self.launch.clone();
        let index = |text: String, varies: bool| {
            Value::new(text, Known::int(Elem::Index, Interval::new(0, 1 << 30)).varying(varies))
        };
        match (reach, launch) {
            (AccessibleRows::Own, Some(launch)) if buffer.is_shared() => index(launch.thread, true),
            (AccessibleRows::Own, Some(launch)) => index(launch.own, true),
            (AccessibleRows::Block, Some(launch)) => {
                let within = self.index(launch.threads, depth);
                let within = self.as_index(within);
                let row = format!("({} * {} + {})", launch.block, launch.threads, within.text);
                match &buffer.rows {
                    Rows::Fixed(_) => index(row, true),
                    Rows::Open(size) => index(format!("min({row}, {size} - 1)"), true),
                }
            }
            _ => match &buffer.rows {
                Rows::Fixed(rows) => self.index(*rows, depth),
                Rows::Open(size) => {
                    let value = self.int(Elem::Index, depth.min(1));
                    let value = self.fit(value, Interval::new(0, 1 << 40));
                    self.made("open size");
                    let text = match self.choices.chance(50) {
                        true => format!("min({}, {size} - 1)", value.text),
                        false => format!("({} % {size})", value.text),
                    };
                    index(text, value.known.varies)
                }
            },
        }
    }

    /// The place of `buffer` in `row` and `col`, with indices of one type where they are added.
    pub(super) fn place(&mut self, buffer: &Buffer, row: Value, col: Value) -> String {
        let adds = !matches!(buffer.layout, Layout::Rows | Layout::Columns);
        let (row, col) = if adds { (self.as_index(row), self.as_index(col)) } else { (row, col) };
        buffer.place(&row.text, &col.text)
    }

    /// An element of type `elem`, read.
    pub(super) fn read_of(&mut self, elem: Elem, depth: usize) -> Option<Value> {
        if self.nested >= MOST_NESTED {
            return None;
        }
        let readable =
            |buffer: &Buffer| buffer.holds.elem == elem && self.reach_of_reads(buffer) != AccessibleRows::Nothing;
        let found: Vec<usize> = (0..self.buffers.len()).filter(|&at| readable(&self.buffers[at])).collect();
        if found.is_empty() {
            return None;
        }
        let at = self.choices.pick(&found);
        let buffer = self.buffers[at].clone();
        let mut reach = self.reach_of_reads(&buffer);
        let has_own = self.launch.as_ref().is_some_and(|launch| launch.rows_of(&buffer) && launch.guard.is_none());
        if reach > AccessibleRows::Own && has_own && self.choices.chance(50) {
            reach = AccessibleRows::Own;
        }
        self.nested += 1;
        let row = self.row(&buffer, reach, depth.min(1));
        let col = self.index(buffer.cols, depth.min(1));
        self.nested -= 1;
        let varies = buffer.writes != AccessibleRows::Nothing || row.known.varies || col.known.varies;
        let text = self.place(&buffer, row, col);
        Some(Value::new(text, buffer.holds.varying(varies)))
    }

    /// An element read under the condition that its index is in range, perhaps among other conditions.
    pub(super) fn guarded_read(&mut self, elem: Elem, depth: usize) -> Option<Value> {
        let is_row = |buffer: &Buffer| {
            let fixed = matches!(buffer.rows, Rows::Fixed(_)) && buffer.layout == Layout::Flat;
            buffer.holds.elem == elem && fixed && self.reach_of_reads(buffer) == AccessibleRows::All
        };
        let found: Vec<usize> = (0..self.buffers.len()).filter(|&at| is_row(&self.buffers[at])).collect();
        if found.is_empty() || self.nested >= MOST_NESTED {
            return None;
        }
        let buffer = self.buffers[self.choices.pick(&found)].clone();
        let Rows::Fixed(rows) = buffer.rows else { return None };
        self.nested += 1;
        let index_elem = self.choices.pick(&[Elem::Index, Elem::Index, Elem::I32, Elem::I64, Elem::U8, Elem::I16]);
        let drawn = self.int(index_elem, depth.min(2));
        let other = if self.choices.chance(40) { Some(self.condition(1)) } else { None };
        self.nested -= 1;
        let index = if self.choices.chance(60) { self.bind("p", &drawn) } else { drawn };
        let extent = i128::from(rows * buffer.cols);
        let mut parts = Vec::new();
        if index.known.range.low < 0 || self.choices.chance(20) {
            parts.push(format!("{} >= {}", index.text, self.int_literal(index_elem, 0).text));
        }
        if index.known.range.high >= extent && extent <= Interval::all(index_elem).high {
            parts.push(format!("{} < {}", index.text, self.int_literal(index_elem, extent).text));
        }
        if let Some(other) = &other {
            let at = self.choices.below(parts.len() + 1);
            parts.insert(at, other.text.clone());
        }
        let varies = index.known.varies || other.is_some_and(|other| other.known.varies);
        let varies = varies || buffer.writes != AccessibleRows::Nothing;
        let read = format!("{}[{}]", buffer.name, index.text);
        if parts.is_empty() {
            return Some(Value::new(read, buffer.holds.varying(varies)));
        }
        self.made("guarded read");
        let other = match elem {
            Elem::Bool => Value::new("false", Known::int(Elem::Bool, Interval::new(0, 1))),
            elem if elem.is_float() => self.float_literal(elem),
            elem => self.int_literal(elem, 0),
        };
        let holds = Known {
            range: buffer.holds.range.or(other.known.range),
            mag: buffer.holds.mag.max(other.known.mag),
            ..buffer.holds
        };
        let text = format!("if_then_else({}, {read}, {})", parts.join(" && "), other.text);
        Some(Value::new(text, holds.varying(varies)))
    }

    /// A number that differs between the threads of a block, as their numbers do.
    pub(super) fn permuted(&mut self, launch: &Launch) -> String {
        let (threads, thread) = (launch.threads, &launch.thread);
        match self.choices.below(5) {
            0 => format!("({} - {thread})", threads - 1),
            1 if threads > 1 => format!("(({thread} + {}) % {threads})", self.choices.between(1, threads - 1)),
            2 if threads.count_ones() == 1 && threads > 1 => {
                format!("({thread} ^ {})", self.choices.between(1, threads - 1))
            }
            _ => thread.clone(),
        }
    }

    /// A cell that may be written here, as a place and what it holds; none if there is none.
    fn target(&mut self) -> Option<(String, Known, bool)> {
        self.target_among(|_| true)
    }

    /// The same of a buffer that `fits`.
    pub(super) fn target_among(&mut self, fits: impl Fn(&Buffer) -> bool) -> Option<(String, Known, bool)> {
        let shared_ok = self.sharing != Sharing::Reads;
        let writable = |buffer: &Buffer| {
            buffer.writes != AccessibleRows::Nothing && (shared_ok || !buffer.is_shared()) && fits(buffer)
        };
        let found: Vec<usize> = (0..self.buffers.len()).filter(|&at| writable(&self.buffers[at])).collect();
        if found.is_empty() {
            return None;
        }
        let buffer = self.buffers[self.choices.pick(&found)].clone();
        let col = self.index(buffer.cols, 1);
        let launch = self.launch.clone();
        let of_threads = |text: String| Value::new(text, Known::int(Elem::Index, Interval::new(0, 1 << 30)));
        let (row, guarded) = match (&buffer.rows, launch) {
            (Rows::Fixed(1), _) => (self.int_literal(Elem::Index, 0), false),
            (_, Some(launch)) if buffer.is_shared() => match self.sharing {
                Sharing::Free => (of_threads(self.permuted(&launch)), false),
                _ => (of_threads(launch.thread), false),
            },
            (rows, Some(launch)) => {
                let guarded = launch.guard.is_some() && matches!(rows, Rows::Open(_));
                (of_threads(launch.own), guarded)
            }
            (Rows::Fixed(rows), None) => (self.index(*rows, 1), false),
            (Rows::Open(_), None) => return None,
        };
        let holds = buffer.holds;
        Some((self.place(&buffer, row, col), holds, guarded))
    }

    /// A store to a cell that is the thread's; returns whether there was one.
    pub(super) fn store(&mut self, depth: usize) -> bool {
        let Some((place, holds, guarded)) = self.target() else { return false };
        // What is added to what is there keeps it if it wraps or is in range.
        let value = self.value_for(holds, depth);
        self.store_to(&place, &value, guarded);
        true
    }

    /// `place = value`, under the guard of the launch where `guarded` says so.
    pub(super) fn store_to(&mut self, place: &str, value: &Value, guarded: bool) {
        self.under_guard(format!("{place} = {}", value.text), guarded);
    }

    /// A statement, under the guard of the launch where `guarded` says so.
    pub(super) fn under_guard(&mut self, line: String, guarded: bool) {
        let guard = self
            .launch
            .as_ref()
            .filter(|_| guarded)
            .and_then(|launch| Some(format!("if {} < {}", launch.own, launch.guard.as_ref()?)));
        match guard {
            Some(guard) => self.block(&guard, |draw| draw.line(line)),
            None => self.line(line),
        }
    }
}

impl Launch {
    /// Does each of its threads have a row of `buffer`?
    pub(super) fn rows_of(&self, buffer: &Buffer) -> bool {
        buffer.is_shared() || buffer.scope == "global" && buffer.writes != AccessibleRows::Nothing
    }
}
