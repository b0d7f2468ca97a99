//! Float expressions: most are sums and products of small integers, which no order of rounding changes.

use super::draw::{Draw, Known, Value};
use super::ints::INTS;
use tc::ir::Elem;

/// The types that floats are computed in.
pub(super) const FLOATS: &[Elem] = &[Elem::F32, Elem::F32, Elem::F32, Elem::F32, Elem::F16, Elem::BF16, Elem::F64];

/// The integers up to which a type holds all, and a bound for what is computed in it.
fn most(elem: Elem) -> f64 {
    match elem {
        Elem::F64 => 1e12,
        Elem::F32 => 1e6,
        Elem::F16 => 1024.0,
        _ => 128.0,
    }
}

impl Draw<'_> {
    /// A literal of a float type.
    pub(super) fn float_literal(&mut self, elem: Elem) -> Value {
        let whole = self.choices.between(-4, 4);
        let half = self.style.reals && self.choices.chance(30);
        let suffix = if elem == Elem::F32 { "" } else { elem.name() };
        let digits = format!("{}.{}{suffix}", whole.abs(), if half { 5 } else { 0 });
        let text = if whole < 0 { format!("-{digits}") } else { digits };
        Value { literal: true, ..Value::new(text, Known::float(elem, whole.abs() as f64 + 1.0)) }
    }

    fn float_leaf(&mut self, elem: Elem) -> Value {
        match self.choices.below(10) {
            0 => self.float_literal(elem),
            1..=6 => self.read_of(elem, 1).unwrap_or_else(|| self.float_of_int(elem)),
            7 => self.float_of_int(elem),
            _ => {
                let known: Vec<usize> = (0..self.vars.len()).filter(|&at| self.vars[at].known.elem == elem).collect();
                if known.is_empty() {
                    return self.float_literal(elem);
                }
                let at = self.choices.pick(&known);
                Value::new(self.vars[at].name.clone(), self.vars[at].known)
            }
        }
    }

    fn float_of_int(&mut self, elem: Elem) -> Value {
        let from = self.choices.pick(INTS);
        let value = self.int(from, 1);
        let most = value.known.range.low.abs().max(value.known.range.high.abs());
        if most > 128 {
            return self.float_literal(elem);
        }
        self.made("integer to float");
        let known = Known::float(elem, most as f64).varying(value.known.varies);
        Value::new(format!("cast<{}>({})", elem.name(), value.text), known)
    }

    /// A float that no pass may round otherwise.
    pub(super) fn exact_float(&mut self, elem: Elem) -> Option<Value> {
        let value = self.float_leaf(elem);
        (value.known.exact && value.known.mag <= most(elem)).then_some(value)
    }

    /// A float of type `elem`.
    pub(super) fn float(&mut self, elem: Elem, depth: usize) -> Value {
        if depth == 0 {
            return self.float_leaf(elem);
        }
        match self.choices.below(16) {
            0..=6 => self.float_binary(elem, depth),
            7 => self.float_unary(elem, depth),
            8 => {
                let from = self.choices.pick(FLOATS);
                let value = self.float(from, depth - 1);
                if value.known.elem == elem || value.known.mag > most(elem) {
                    return self.float_leaf(elem);
                }
                self.made("float to float");
                let exact = value.known.exact && from.bits() <= elem.bits() && from != Elem::BF16;
                let known = Known { elem, exact, ..value.known };
                Value::new(format!("cast<{}>({})", elem.name(), value.text), known)
            }
            9..=10 => {
                let condition = self.condition(depth - 1);
                let (yes, no) = (self.float(elem, depth - 1), self.float(elem, depth - 1));
                self.choose(&condition, &yes, &no)
            }
            11..=12 => self.guarded_read(elem, depth).unwrap_or_else(|| self.float_leaf(elem)),
            13 if self.style.reals => self.float_function(elem, depth),
            _ => self.float_leaf(elem),
        }
    }

    fn float_binary(&mut self, elem: Elem, depth: usize) -> Value {
        let (left, right) = (self.float(elem, depth - 1), self.float(elem, depth - 1));
        let (a, b) = (left.known, right.known);
        let op = self.choices.pick(&["+", "+", "-", "*", "*", "min", "max"]);
        let (mag, exact) = match op {
            "*" if a.mag * b.mag <= most(elem) => (a.mag * b.mag, false),
            "min" | "max" => (a.mag.max(b.mag), true),
            "+" | "-" | "*" if a.mag + b.mag <= most(elem) => (a.mag + b.mag, true),
            _ => return left,
        };
        let op = if op == "*" && exact { "+" } else { op };
        let known = Known { mag, exact: exact && a.exact && b.exact, ..a }.varying(b.varies);
        self.made("float sum");
        let right = if right.literal && !left.literal { right.text.replace(elem.name(), "") } else { right.text };
        let text = match op {
            "min" | "max" => format!("{op}({}, {right})", left.text),
            _ => format!("({} {op} {right})", left.text),
        };
        Value::new(text, known)
    }

    fn float_unary(&mut self, elem: Elem, depth: usize) -> Value {
        let value = self.float(elem, depth - 1);
        let op = self.choices.pick(&["-", "abs", "floor", "ceil", "round", "trunc"]);
        // What rounds to integers makes much of what is little.
        if !value.known.exact && !matches!(op, "-" | "abs") {
            return value;
        }
        let text = if op == "-" { format!("(-{})", value.text) } else { format!("{op}({})", value.text) };
        Value::new(text, Known { mag: value.known.mag + 1.0, ..value.known })
    }

    /// What only a tolerance compares.
    fn float_function(&mut self, elem: Elem, depth: usize) -> Value {
        let value = self.float(elem, depth - 1);
        self.made("float function");
        let known = Known { exact: false, ..value.known };
        let x = &value.text;
        match self.choices.pick(&["sqrt", "tanh", "sigmoid", "exp", "/", "erf", "fma"]) {
            "sqrt" => Value::new(format!("sqrt(abs({x}))"), Known { mag: known.mag + 1.0, ..known }),
            "exp" if known.mag <= 8.0 => Value::new(format!("exp({x})"), Known { mag: 3000.0, ..known }),
            "/" => Value::new(format!("({x} / {})", self.choices.pick(&["2.0", "4.0", "3.0"])), known),
            "fma" if known.mag * known.mag < most(elem) => {
                Value::new(format!("fma({x}, {x}, {x})"), Known { mag: known.mag * (known.mag + 1.0), ..known })
            }
            "tanh" | "exp" => Value::new(format!("tanh({x})"), Known { mag: 1.0, ..known }),
            "sigmoid" => Value::new(format!("sigmoid({x})"), Known { mag: 1.0, ..known }),
            _ => Value::new(format!("erf({x})"), Known { mag: 1.0, ..known }),
        }
    }

    /// A value of any type.
    pub(super) fn value(&mut self, elem: Elem, depth: usize) -> Value {
        match elem {
            Elem::Bool => self.condition(depth.min(2)),
            elem if elem.is_float() => self.float(elem, depth),
            elem => self.int(elem, depth),
        }
    }

    /// A value that a cell of which that much is known may hold.
    pub(super) fn value_for(&mut self, holds: Known, depth: usize) -> Value {
        let value = self.value(holds.elem, depth);
        if holds.elem.is_int() {
            return self.fit(value, holds.range);
        }
        if holds.elem.is_float() && (value.known.mag > holds.mag || (holds.exact && !value.known.exact)) {
            let leaf = self.float_literal(holds.elem);
            return if leaf.known.mag <= holds.mag { leaf } else { Value::new("0.0", Known::float(holds.elem, 0.0)) };
        }
        value
    }
}
