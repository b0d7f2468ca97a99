//! Conditions: comparisons of all types, and what is made of them.

use super::draw::{Draw, Known, Value};
use super::interval::Interval;
use super::ints::INTS;
use tc::ir::Elem;

impl Draw<'_> {
    fn truth(&self, text: String, varies: bool) -> Value {
        Value::new(text, Known::int(Elem::Bool, Interval::new(0, 1)).varying(varies))
    }

    /// A condition.
    pub(super) fn condition(&mut self, depth: usize) -> Value {
        match self.choices.below(12) {
            0..=1 if depth > 0 => {
                let (left, right) = (self.condition(depth - 1), self.condition(depth - 1));
                let op = self.choices.pick(&["&&", "||"]);
                self.made("logic");
                self.truth(format!("({} {op} {})", left.text, right.text), left.known.varies || right.known.varies)
            }
            2 if depth > 0 => {
                let value = self.condition(depth - 1);
                self.truth(format!("!({})", value.text), value.known.varies)
            }
            3 => self.float_comparison().unwrap_or_else(|| self.comparison(depth)),
            4 => self.read_of(Elem::Bool, depth).unwrap_or_else(|| self.comparison(depth)),
            5 => {
                let truths: Vec<usize> =
                    (0..self.vars.len()).filter(|&at| self.vars[at].known.elem == Elem::Bool).collect();
                if truths.is_empty() {
                    return self.comparison(depth);
                }
                let at = self.choices.pick(&truths);
                Value::new(self.vars[at].name.clone(), self.vars[at].known)
            }
            _ => self.comparison(depth),
        }
    }

    fn comparison(&mut self, depth: usize) -> Value {
        let elem = self.choices.pick(INTS);
        let left = self.int(elem, depth.min(2));
        // Most conditions are about what may be either.
        let range = left.known.range;
        let right = if self.choices.chance(60) && range.high - range.low < 1 << 40 {
            let span = i64::try_from(range.high - range.low).unwrap_or(0);
            let at = range.low + i128::from(self.choices.between(0, span));
            self.int_literal(elem, at)
        } else {
            self.int(elem, depth.min(1))
        };
        let op = self.choices.pick(&["<", "<=", ">", ">=", "==", "!="]);
        self.truth(format!("({} {op} {})", left.text, right.text), left.known.varies || right.known.varies)
    }

    fn float_comparison(&mut self) -> Option<Value> {
        let elem = self.choices.pick(&[Elem::F32, Elem::F32, Elem::F16, Elem::F64]);
        let left = self.exact_float(elem)?;
        let right = if self.choices.chance(50) { self.exact_float(elem)? } else { self.float_literal(elem) };
        let op = self.choices.pick(&["<", "<=", ">", ">=", "==", "!="]);
        self.made("float comparison");
        Some(self.truth(format!("({} {op} {})", left.text, right.text), left.known.varies || right.known.varies))
    }
}
