//! Statements: names, stores, conditionals with and without results, and what decides which is drawn.

use super::draw::{Draw, Sharing, Value};
use super::floats::FLOATS;
use super::ints::INTS;
use tc::ir::Elem;

/// Loops inside loops.
const MOST_LOOPS: usize = 3;

impl Draw<'_> {
    /// A type to compute in.
    pub(super) fn some_elem(&mut self) -> Elem {
        match self.choices.below(10) {
            0..=4 => self.choices.pick(INTS),
            5..=8 => self.float_elem(),
            _ => Elem::Bool,
        }
    }

    /// A float type.
    pub(super) fn float_elem(&mut self) -> Elem {
        self.choices.pick(FLOATS)
    }

    /// Some statements.
    pub(super) fn statements(&mut self, most: usize) {
        let n = 1 + self.choices.below(most);
        for _ in 0..n {
            if self.budget == 0 {
                break;
            }
            self.budget -= 1;
            self.statement();
        }
    }

    fn statement(&mut self) {
        match self.choices.below(40) {
            0..=5 => self.named(),
            6..=15 => {
                self.store(2);
            }
            16..=19 if self.loops < MOST_LOOPS && !self.in_lanes => self.serial_loop(),
            20..=21 if self.loops < MOST_LOOPS && !self.in_lanes => self.carrying_loop(),
            22..=23 if !self.in_lanes => self.lane_loop(),
            24 if !self.in_lanes => self.virtual_threads(),
            25..=27 => self.branch(),
            28..=29 => self.branch_with_results(),
            30 if !self.in_lanes => self.local_buffer(),
            31 if !self.in_lanes => self.shared_buffer(),
            32 if !self.in_lanes => self.view(),
            33..=34 => self.exchange(),
            35 => self.accumulation(),
            36 if self.loops < MOST_LOOPS && !self.in_lanes => self.staged_loop(),
            37 if !self.in_lanes => self.asynchronous_copy(),
            38 if !self.in_lanes => self.vector(),
            39 => self.update(),
            _ => {
                self.store(3);
            }
        }
    }

    /// `let x = e`.
    fn named(&mut self) {
        let elem = self.some_elem();
        let value = self.value(elem, 3);
        self.bind("x", &value);
    }

    /// `body` where only those threads come for which `condition` holds.
    pub(super) fn guarded(&mut self, condition: &Value, body: impl FnOnce(&mut Self)) {
        let before = (self.sharing, self.divergent);
        self.divergent |= condition.known.varies;
        if condition.known.varies && before.0 == Sharing::Free && self.launch.is_some() {
            // Now and then one is drawn that no barrier can serve.
            self.sharing = match self.choices.below(24) {
                0..=11 => Sharing::Reads,
                12..=22 => Sharing::Own,
                _ => Sharing::Free,
            };
        }
        body(self);
        (self.sharing, self.divergent) = before;
    }

    /// Statements under the guard that the launch needs.
    fn own_rows(&mut self) -> bool {
        let Some(mut launch) = self.launch.clone() else { return false };
        let Some(size) = launch.guard.take() else { return false };
        let outer = self.launch.replace(launch.clone());
        let condition = Value::new("", super::draw::Known::int(Elem::Bool, super::interval::Interval::new(0, 1)));
        let condition = Value { known: condition.known.varying(true), ..condition };
        self.made("guard of a launch");
        self.guarded(&condition, |draw| {
            draw.block(&format!("if {} < {size}", launch.own), |draw| draw.statements(3));
        });
        self.launch = outer;
        true
    }

    fn branch(&mut self) {
        if self.choices.chance(50) && self.own_rows() {
            return;
        }
        let condition = self.condition(2);
        self.made("conditional");
        let with_else = self.choices.chance(40);
        let likely = !self.in_lanes && self.choices.chance(10);
        let text = if likely { format!("likely({})", condition.text) } else { condition.text.clone() };
        self.guarded(&condition, |draw| {
            draw.line(format!("if {text} {{"));
            draw.inside(|draw| draw.statements(3));
            if with_else {
                draw.line("} else {");
                draw.inside(|draw| draw.statements(2));
            }
            draw.line("}");
        });
    }

    fn branch_with_results(&mut self) {
        let condition = self.condition(2);
        self.made("conditional with results");
        let n = 1 + self.choices.below(2);
        let elems: Vec<Elem> = (0..n).map(|_| self.some_elem()).collect();
        let names: Vec<String> = elems.iter().map(|_| self.name("r")).collect();
        let mut arms = Vec::new();
        self.line(format!("{} = if {} {{", names.join(", "), condition.text));
        self.guarded(&condition, |draw| {
            for nth in 0..2 {
                arms.push(draw.inside(|draw| {
                    if draw.choices.chance(50) {
                        draw.statements(2);
                    }
                    let values: Vec<Value> = elems.iter().map(|&elem| draw.value(elem, 2)).collect();
                    let texts: Vec<&str> = values.iter().map(|value| &*value.text).collect();
                    draw.line(format!("yield {}", texts.join(", ")));
                    values
                }));
                draw.line(if nth == 0 { "} else {" } else { "}" });
            }
        });
        for (nth, name) in names.iter().enumerate() {
            let known = |arm: usize| arms[arm][nth].known;
            let (yes, no) = (known(0), known(1));
            let mut joined = yes;
            joined.range = yes.range.or(no.range);
            joined.mag = yes.mag.max(no.mag);
            joined.exact &= no.exact;
            self.var(name, joined.varying(no.varies || condition.known.varies));
        }
    }

    /// What is added to a cell of the thread's again and again.
    fn accumulation(&mut self) {
        let own = |at: &usize| {
            let buffer = &self.buffers[*at];
            buffer.scope == "local" && buffer.holds.elem.is_int() && super::interval::wraps(buffer.holds.elem)
        };
        let found: Vec<usize> = (0..self.buffers.len()).filter(own).collect();
        if found.is_empty() || self.loops >= MOST_LOOPS {
            self.store(2);
            return;
        }
        let buffer = self.buffers[self.choices.pick(&found)].clone();
        if buffer.holds.range != super::interval::Interval::all(buffer.holds.elem) {
            self.store(2);
            return;
        }
        self.made("accumulation");
        let col = self.index(buffer.cols, 0);
        let (var, trips) = (self.name("k"), self.choices.between(1, 5));
        let place = format!("{}[{}]", buffer.name, col.text);
        self.block(&format!("for {var} in 0..{trips}"), |draw| {
            let range = super::interval::Interval::new(0, i128::from(trips) - 1);
            draw.var(&var, super::draw::Known::int(Elem::Index, range));
            let value = draw.int(buffer.holds.elem, 2);
            let op = draw.choices.pick(&["+", "^", "-"]);
            draw.line(format!("{place} = {place} {op} {}", value.text));
        });
    }
}
