//! Buffers on the chip: what a thread has, what threads share, views, staged and asynchronous copies.

use super::draw::{AccessibleRows, Buffer, Draw, Known, Launch, Layout, Rows, Value};
use super::interval::{Interval, wraps};
use super::ints::INTS;
use tc::ir::Elem;

/// Bytes on the chip that a program may ask for in one place.
const MOST_BYTES: i64 = 2048;

impl Draw<'_> {
    /// What a buffer's elements shall be.
    pub(super) fn holding(&mut self) -> Known {
        let elem = match self.choices.below(10) {
            0..=4 => self.float_elem(),
            5..=8 => self.choices.pick(INTS),
            _ => Elem::Bool,
        };
        // Memory holds no `index`.
        self.holding_of(if elem == Elem::Index { Elem::I32 } else { elem })
    }

    /// What a buffer of `elem` shall hold.
    pub(super) fn holding_of(&mut self, elem: Elem) -> Known {
        if elem.is_float() {
            let mag = match elem {
                Elem::F32 | Elem::F64 => 4096.0,
                _ => 64.0,
            };
            return Known { exact: self.choices.chance(50), ..Known::float(elem, mag) };
        }
        let all = wraps(elem) || self.choices.chance(25);
        let range = if all { Interval::all(elem) } else { Interval::new(-1000, 1000) };
        Known::int(elem, if elem == Elem::Bool { Interval::new(0, 1) } else { range })
    }

    /// Writes all of `buffer` that is the thread's.
    pub(super) fn fill(&mut self, buffer: &Buffer, row: &str, guarded: bool) {
        let one_by_one = buffer.cols == 1 || (buffer.cols <= 3 && self.choices.chance(40));
        if one_by_one {
            for col in 0..buffer.cols {
                let value = self.value_for(buffer.holds, 2);
                self.store_to(&buffer.place(row, &col.to_string()), &value, guarded);
            }
            return;
        }
        let var = self.name("e");
        let kind = self.choices.pick(&["", "", " unroll", " vectorize"]);
        let in_lanes = std::mem::replace(&mut self.in_lanes, kind == " vectorize");
        self.block(&format!("for {var} in 0..{}{kind}", buffer.cols), |draw| {
            draw.var(&var, Known::int(Elem::Index, Interval::new(0, i128::from(buffer.cols) - 1)));
            let value = draw.value_for(buffer.holds, 2);
            draw.store_to(&buffer.place(row, &var), &value, guarded);
        });
        self.in_lanes = in_lanes;
    }

    /// A buffer of the thread, filled.
    pub(super) fn local_buffer(&mut self) {
        let holds = self.holding();
        let buffer = Buffer {
            name: self.name("L"),
            scope: "local",
            layout: Layout::Flat,
            rows: Rows::Fixed(1),
            cols: self.choices.between(1, 6),
            holds,
            reads: AccessibleRows::All,
            writes: AccessibleRows::All,
        };
        self.made("local buffer");
        self.line(format!("alloc {}: {}[{}] in local", buffer.name, holds.elem.name(), buffer.cols));
        self.fill(&buffer, "0", false);
        self.buffers.push(buffer);
    }

    /// A buffer that threads of a block share, as yet without an `alloc`.
    pub(super) fn shared_of(&mut self, launch: &Launch, holds: Known) -> Buffer {
        let bytes = i64::from(holds.elem.bytes().max(1));
        let cols = self.choices.pick(&[1i64, 1, 2, 4, 8]).min(MOST_BYTES / bytes / launch.threads).max(1);
        let layout = match self.choices.below(8) {
            0..=3 => Layout::Flat,
            4 => Layout::FlatColumns,
            5 => Layout::Rows,
            6 => Layout::Columns,
            _ if launch.threads % 4 == 0 => Layout::Groups(4),
            _ => Layout::Rows,
        };
        Buffer {
            name: self.name("S"),
            scope: self.choices.pick(&["shared", "shared", "shared", "shared.dyn", "registers"]),
            layout,
            rows: Rows::Fixed(launch.threads),
            cols,
            holds,
            reads: AccessibleRows::All,
            writes: AccessibleRows::All,
        }
    }

    pub(super) fn allocate(&mut self, buffer: &Buffer, attributes: &str) {
        let extents = buffer.extents();
        let padded = buffer.layout == Layout::Rows && attributes.is_empty() && self.choices.chance(30);
        let told = match padded {
            true => format!(" attributes {{strides = [{}, 1]}}", buffer.cols + self.choices.between(1, 3)),
            false if attributes.is_empty() && self.choices.chance(15) => " attributes {align = 16}".to_string(),
            false => attributes.to_string(),
        };
        if padded {
            self.made("strides");
        }
        self.line(format!("alloc {}: {}[{extents}] in {}{told}", buffer.name, buffer.holds.elem.name(), buffer.scope));
    }

    /// Can all threads of the block come here and fill something together?
    pub(super) fn together(&self) -> Option<Launch> {
        self.launch.clone().filter(|_| !self.divergent && !self.in_lanes)
    }

    /// A buffer that all threads of a block fill together.
    pub(super) fn shared_buffer(&mut self) {
        let Some(launch) = self.together() else { return self.local_buffer() };
        let holds = self.holding();
        let buffer = self.shared_of(&launch, holds);
        self.made("shared buffer");
        self.allocate(&buffer, "");
        let row = self.permuted(&launch);
        self.fill(&buffer, &row, false);
        self.buffers.push(buffer);
    }

    /// Two buffers inside one, that may have bytes in common.
    pub(super) fn view(&mut self) {
        let Some(launch) = self.together() else { return self.local_buffer() };
        let elems = [Elem::I32, Elem::U32, Elem::U8, Elem::I16, Elem::U64, Elem::F32];
        let (first, second) = (self.choices.pick(&elems), self.choices.pick(&elems));
        // Bits of integers are integers; those of floats may be none.
        let apart = first.is_float() || second.is_float() || self.choices.chance(40);
        let bytes = |elem: Elem| launch.threads * i64::from(elem.bytes());
        let offset = if apart { (bytes(first) + 7) / 8 * 8 } else { self.choices.pick(&[0i64, 8, 16]) };
        let total = (offset + bytes(second)).max(bytes(first));
        let pool = self.name("P");
        self.made(if apart { "views" } else { "views with bytes in common" });
        self.line(format!("alloc {pool}: u8[{total}] in shared attributes {{align = 16}}"));
        for (elem, at) in [(first, 0), (second, offset)] {
            let mut holds = self.holding_of(elem);
            if elem.is_int() {
                holds.range = Interval::all(elem);
            }
            let buffer = Buffer {
                name: self.name("V"),
                scope: "shared",
                layout: Layout::Flat,
                rows: Rows::Fixed(launch.threads),
                cols: 1,
                holds,
                reads: AccessibleRows::All,
                writes: AccessibleRows::All,
            };
            let ty = elem.name();
            self.line(format!("{} = tir.view({pool}, {at}) : {ty}[{}] in shared", buffer.name, launch.threads));
            let row = self.permuted(&launch);
            self.fill(&buffer, &row, false);
            self.buffers.push(buffer);
        }
    }

    /// A read-only global buffer of `elem` with at least `least` elements one after another.
    fn source(&mut self, elem: Option<Elem>, least: i64) -> Option<(Buffer, i64)> {
        let size = |buffer: &Buffer| match buffer.rows {
            Rows::Fixed(rows) if buffer.layout == Layout::Flat => rows * buffer.cols,
            _ => 0,
        };
        let fits = |at: &usize| {
            let buffer = &self.buffers[*at];
            let plain = buffer.scope == "global"
                && buffer.writes == AccessibleRows::Nothing
                && buffer.reads == AccessibleRows::All;
            plain && size(buffer) >= least && elem.is_none_or(|elem| buffer.holds.elem == elem)
        };
        let found: Vec<usize> = (0..self.buffers.len()).filter(fits).collect();
        let buffer = self.buffers[*found.get(self.choices.below(found.len()))?].clone();
        let size = size(&buffer);
        Some((buffer, size))
    }

    /// A loop whose copies may run ahead.
    pub(super) fn staged_loop(&mut self) {
        let Some(launch) = self.together().filter(|_| self.loops < 2) else { return self.serial_loop() };
        let trips = self.choices.between(1, 6);
        let start = self.choices.pick(&[0i64, 0, 1, -2]);
        let var = self.name("k");
        self.made("staged loop");
        self.loops += 1;
        self.block(&format!("for {var} in {start}..{}", start + trips), |draw| {
            let range = Interval::new(start.into(), (start + trips - 1).into());
            draw.var(&var, Known::int(Elem::Index, range));
            for _ in 0..1 + draw.choices.below(2) {
                draw.staged_buffer(&launch, &var, start, trips);
            }
            draw.statements(4);
            // Early uses and late fills are what pipelines have to refuse or to keep.
            if draw.choices.chance(20) {
                draw.statements(2);
            }
        });
        self.loops -= 1;
    }

    fn staged_buffer(&mut self, launch: &Launch, var: &str, start: i64, trips: i64) {
        let found = self.source(None, launch.threads * trips);
        let holds = match &found {
            Some((source, _)) => source.holds,
            None => self.holding(),
        };
        let mut buffer = self.shared_of(launch, holds);
        let stages = self.choices.pick(&[2i64, 2, 3, 4]);
        let asynchronous = self.choices.chance(40);
        let told = if asynchronous { ", async = true" } else { "" };
        let size = found.as_ref().map_or(0, |(_, size)| *size);
        while buffer.cols > 1 && size < launch.threads * trips * buffer.cols {
            buffer.cols /= 2;
        }
        self.allocate(&buffer, &format!(" attributes {{stages = {stages}{told}}}"));
        match found {
            Some((source, _)) if self.choices.chance(75) => {
                if asynchronous {
                    self.made("asynchronous staged copy");
                }
                let (thread, cols, threads) = (&launch.thread, buffer.cols, launch.threads);
                let at = if start == 0 { var.to_string() } else { format!("({var} - {start})") };
                let e = self.name("e");
                self.block(&format!("for {e} in 0..{cols}{}", if cols > 1 { " vectorize" } else { "" }), |draw| {
                    let read = format!("{}[({at} * {threads} + {thread}) * {cols} + {e}]", source.name);
                    draw.line(format!("{} = {read}", buffer.place(thread, &e)));
                });
            }
            _ => {
                let row = self.permuted(launch);
                self.fill(&buffer, &row, false);
            }
        }
        self.buffers.push(buffer);
    }

    /// Asynchronous copies, their groups, and the waits for these.
    pub(super) fn asynchronous_copy(&mut self) {
        let Some(launch) = self.together() else { return self.local_buffer() };
        let n = 1 + self.choices.below(2);
        let mut buffers = Vec::new();
        for _ in 0..n {
            let elem = self.choices.pick(&[Elem::F32, Elem::I32, Elem::U32]);
            let cols = self.choices.pick(&[1i64, 2, 4]);
            let Some((source, size)) = self.source(Some(elem), launch.threads * cols) else { continue };
            let mut buffer = self.shared_of(&launch, source.holds);
            (buffer.layout, buffer.cols) = (Layout::Flat, cols);
            if buffer.scope == "registers" {
                buffer.scope = "shared";
            }
            self.line(format!("alloc {}: {}[{}] in {}", buffer.name, elem.name(), buffer.extents(), buffer.scope));
            buffers.push((buffer, source, size));
        }
        for (buffer, source, size) in &buffers {
            self.made("asynchronous copy");
            let (thread, cols) = (&launch.thread, buffer.cols);
            let last = size / cols - launch.threads;
            let shift = if last > 0 { self.choices.between(0, last) } else { 0 };
            let when: Option<Value> = self.choices.chance(30).then(|| self.condition(1));
            let when = when.map_or(String::new(), |when| format!(", when = {}", when.text));
            let to = format!("&{}[{thread} * {cols} : {cols}]", buffer.name);
            self.line(format!("gpu.copy_async({to}, &{}[({thread} + {shift}) * {cols} : {cols}]{when})", source.name));
            self.line("gpu.commit_group()");
        }
        if self.choices.chance(40) {
            self.statements(2);
        }
        let n = buffers.len();
        for (nth, (mut buffer, _, _)) in buffers.into_iter().enumerate() {
            self.line(format!("gpu.wait_group(pending = {})", n - 1 - nth));
            // Zeros come where `when` does not hold.
            buffer.holds.range = buffer.holds.range.or(Interval::of(0));
            self.buffers.push(buffer);
            if self.choices.chance(60) {
                self.store(2);
            }
        }
    }
}
