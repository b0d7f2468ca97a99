//! What threads do together: barriers, reductions across threads, shuffles.

use super::draw::{AccessibleRows, Buffer, Draw, Known, Sharing, Value};
use super::interval::{Interval, wraps};
use tc::ir::Elem;

impl Draw<'_> {
    /// A barrier, a reduction or a shuffle, where all threads come; a store elsewhere.
    pub(super) fn exchange(&mut self) {
        if self.together().is_none() {
            self.store(2);
            return;
        }
        match self.choices.below(6) {
            0 => {
                self.made("barrier");
                let scope = self.choices.pick(&["shared", "shared", "global"]);
                self.line(format!("gpu.barrier({scope})"));
            }
            1..=3 => self.all_reduce(),
            _ => self.shuffle(),
        }
    }

    /// An atomic update: of any cell in shared memory where a barrier may follow, of the thread's own elsewhere.
    pub(super) fn update(&mut self) {
        let fits = |buffer: &Buffer| {
            let elem = buffer.holds.elem;
            let is_wide = matches!(elem, Elem::I32 | Elem::U32 | Elem::I64 | Elem::U64);
            is_wide && (buffer.scope == "global" || buffer.scope.starts_with("shared"))
        };
        let free = |buffer: &Buffer| fits(buffer) && buffer.is_shared() && buffer.writes != AccessibleRows::Nothing;
        let found: Vec<usize> = (0..self.buffers.len()).filter(|&at| free(&self.buffers[at])).collect();
        let target = if self.sharing == Sharing::Free && self.launch.is_some() && !found.is_empty() {
            let buffer = self.buffers[self.choices.pick(&found)].clone();
            let row = self.row(&buffer, AccessibleRows::All, 1);
            let col = self.index(buffer.cols, 1);
            Some((self.place(&buffer, row, col), buffer.holds, false))
        } else {
            self.target_among(fits)
        };
        let Some((place, holds, guarded)) = target else {
            self.store(2);
            return;
        };
        let mut kinds = vec!["min", "max"];
        if holds.range == Interval::all(holds.elem) {
            kinds.extend(["add", "add", "and", "or", "xor"]);
        }
        let kind = self.choices.pick(&kinds);
        let value = self.value_for(holds, 2);
        let value = self.bind("h", &value);
        self.made("atomic update");
        self.under_guard(format!("tir.atomic_rmw(&{place}, {}, kind = {kind})", value.text), guarded);
    }

    /// What threads hand one another: a number that is not an index.
    fn handed(&mut self) -> Value {
        let elem = match self.some_elem() {
            Elem::Index | Elem::Bool => Elem::I32,
            elem => elem,
        };
        self.value(elem, 2)
    }

    fn all_reduce(&mut self) {
        let Some(launch) = self.launch.clone() else { return };
        let value = self.handed();
        let elem = value.known.elem;
        let n = launch.threads as f64;
        let mut ops = vec!["min", "max"];
        let sums = value.known.mag * n <= if elem.bits() < 32 { 64.0 } else { 1e5 };
        if (elem.is_int() && wraps(elem)) || (elem.is_float() && sums) {
            ops.push("+");
            ops.push("+");
        }
        if elem.is_int() && wraps(elem) {
            ops.extend(["^", "&", "|"]);
        }
        let axes: Vec<&str> = match launch.axes.len() {
            2 if self.choices.chance(50) => vec![self.choices.pick(&launch.axes).0],
            _ => launch.axes.iter().map(|axis| axis.0).collect(),
        };
        let (ty, all) = (elem.name(), axes.len() == launch.axes.len());
        let axes = axes.join(", ");
        self.made("reduction across threads");
        // The value is a number of its own: a literal has no type here.
        let value = self.bind("h", &value);
        if self.choices.chance(20) && value.known.exact {
            let (best, at) = (self.name("m"), self.name("m"));
            let head =
                format!("{best}, {at} = gpu.all_reduce({}, cast<i32>({}), axes = [{axes}])", value.text, launch.thread);
            let (a, i, b, j) = (self.name("a"), self.name("a"), self.name("a"), self.name("a"));
            self.block(&format!("{head} ({a}: {ty}, {i}: i32, {b}: {ty}, {j}: i32)"), |draw| {
                let keep = draw.name("q");
                draw.line(format!("let {keep} = {a} > {b} || {a} == {b} && {i} < {j}"));
                draw.line(format!("yield select({keep}, {a}, {b}), select({keep}, {i}, {j})"));
            });
            self.var(&best, value.known.varying(!all));
            let last = super::interval::Interval::new(0, i128::from(launch.threads) - 1);
            self.var(&at, Known::int(Elem::I32, last).varying(!all));
            return;
        }
        let op = self.choices.pick(&ops);
        let (name, a, b) = (self.name("m"), self.name("a"), self.name("a"));
        let combined = if op.len() == 3 { format!("{op}({a}, {b})") } else { format!("{a} {op} {b}") };
        let head = format!("{name} = gpu.all_reduce({}, axes = [{axes}]) ({a}: {ty}, {b}: {ty})", value.text);
        self.block(&head, |draw| draw.line(format!("yield {combined}")));
        let mut known = value.known;
        if op == "+" {
            (known.mag, known.exact) = (known.mag * n, false);
        }
        if op.len() == 1 && elem.is_int() {
            known.range = super::interval::Interval::all(elem);
        }
        self.var(&name, Known { varies: !all, ..known });
    }

    fn shuffle(&mut self) {
        let value = self.handed();
        let width = self.choices.pick(&[32i64, 32, 16, 8, 4]);
        let lane = match self.choices.chance(70) {
            true => {
                let lane = self.choices.between(0, width - 1);
                self.int_literal(Elem::I32, lane.into())
            }
            false => self.index(width, 1),
        };
        let mode = self.choices.pick(&["down", "up", "xor", "idx"]);
        self.made("shuffle");
        let told = if width == 32 { String::new() } else { format!(", width = {width}") };
        let value = self.bind("h", &value);
        let name = self.name("u");
        self.line(format!("{name} = gpu.shuffle({}, {}, {mode}{told})", value.text, lane.text));
        self.var(&name, value.known.varying(true));
    }
}
