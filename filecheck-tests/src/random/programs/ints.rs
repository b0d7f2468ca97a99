//! Integer expressions of all widths, both signs, and values at the limits of their types.

use super::draw::{Draw, Known, Value};
use super::interval::Interval;
use tc::ir::Elem;
use tc::ir::types::ElemKind;

/// The types that integers are computed in, those that indices mostly have more often.
pub(super) const INTS: &[Elem] = &[
    Elem::Index,
    Elem::Index,
    Elem::I32,
    Elem::I32,
    Elem::I64,
    Elem::U8,
    Elem::I8,
    Elem::U16,
    Elem::I16,
    Elem::U32,
    Elem::U64,
];

const BINARY: &[&str] =
    &["+", "+", "+", "-", "-", "*", "*", "/", "%", "min", "max", "&", "|", "^", "<<", ">>", "tdiv", "tmod"];

impl Draw<'_> {
    /// A literal of `elem`.
    pub(super) fn int_literal(&self, elem: Elem, value: i128) -> Value {
        let suffix = if elem == Elem::Index { "" } else { elem.name() };
        let text = format!("{value}{suffix}");
        Value { literal: true, ..Value::new(text, Known::int(elem, Interval::of(value))) }
    }

    fn random_literal(&mut self, elem: Elem) -> Value {
        let all = Interval::all(elem);
        let value = match self.choices.below(10) {
            0..=4 => self.choices.between(0, 9).into(),
            5 => self.choices.between(-9, 9).into(),
            6 => 1i128 << self.choices.below(elem.bits() as usize - 1),
            7 => self.choices.between(10, 100).into(),
            8 => all.high - i128::from(self.choices.between(0, 2)),
            _ => all.low + i128::from(self.choices.between(0, 2)),
        };
        self.int_literal(elem, value.clamp(all.low, all.high))
    }

    fn int_leaf(&mut self, elem: Elem) -> Value {
        match self.choices.below(10) {
            0..=1 => self.random_literal(elem),
            2..=4 => self.read_of(elem, 1).unwrap_or_else(|| self.random_literal(elem)),
            _ => {
                let known: Vec<usize> = (0..self.vars.len()).filter(|&at| self.vars[at].known.elem == elem).collect();
                if known.is_empty() {
                    return self.converted_to(elem);
                }
                let at = self.choices.pick(&known);
                Value::new(self.vars[at].name.clone(), self.vars[at].known)
            }
        }
    }

    /// A value of another type, cast.
    fn converted_to(&mut self, elem: Elem) -> Value {
        let is_other = |known: &Known| known.elem.is_int() || known.elem == Elem::Bool;
        let others: Vec<usize> = (0..self.vars.len()).filter(|&at| is_other(&self.vars[at].known)).collect();
        if others.is_empty() {
            return self.random_literal(elem);
        }
        let at = self.choices.pick(&others);
        let var = Value::new(self.vars[at].name.clone(), self.vars[at].known);
        self.cast_int(&var, elem)
    }

    /// `value`, an integer or a truth value, as `elem`.
    pub(super) fn cast_int(&mut self, value: &Value, elem: Elem) -> Value {
        if value.known.elem == elem {
            return value.clone();
        }
        let range = if value.known.elem == Elem::Bool { Interval::new(0, 1) } else { value.known.range.cast(elem) };
        self.made("cast");
        Value::new(
            format!("cast<{}>({})", elem.name(), value.text),
            Known::int(elem, range).varying(value.known.varies),
        )
    }

    /// An integer of type `elem`.
    pub(super) fn int(&mut self, elem: Elem, depth: usize) -> Value {
        if depth == 0 {
            return self.int_leaf(elem);
        }
        match self.choices.below(20) {
            0..=9 => self.int_binary(elem, depth),
            10 => self.int_unary(elem, depth),
            11..=12 => {
                let from = self.choices.pick(INTS);
                let value = self.int(from, depth - 1);
                self.cast_int(&value, elem)
            }
            13 => self.int_of_float(elem).unwrap_or_else(|| self.int_leaf(elem)),
            14..=15 => self.int_choice(elem, depth),
            16 => self.guarded_division(elem, depth),
            17 => self.guarded_read(elem, depth).unwrap_or_else(|| self.int_leaf(elem)),
            _ => self.int_leaf(elem),
        }
    }

    fn int_binary(&mut self, elem: Elem, depth: usize) -> Value {
        let left = self.int(elem, depth - 1);
        let right = self.int(elem, depth - 1);
        for _ in 0..4 {
            let op = self.choices.pick(BINARY);
            let right = if op == "<<" || op == ">>" { self.shift_count(elem, &right) } else { right.clone() };
            if let Some(value) = self.join(&left, op, &right) {
                return value;
            }
        }
        self.join(&left, "min", &right).unwrap_or(left)
    }

    /// `left OP right`; none where it may be at fault.
    pub(super) fn join(&mut self, left: &Value, op: &'static str, right: &Value) -> Option<Value> {
        let elem = left.known.elem;
        let range = left.known.range.binary(op, right.known.range, elem)?;
        let known = Known::int(elem, range).varying(left.known.varies || right.known.varies);
        self.made(match op {
            "/" | "%" => "floor division",
            "tdiv" | "tmod" => "truncating division",
            "<<" | ">>" => "shift",
            "&" | "|" | "^" => "bits",
            "*" => "product",
            _ => "sum",
        });
        // A literal takes the type of what it meets.
        let bare = right.literal && !left.literal && elem != Elem::Index && self.choices.chance(50);
        let right = if bare { right.text.replace(elem.name(), "") } else { right.text.clone() };
        let text = match op {
            "min" | "max" | "tdiv" | "tmod" => format!("{op}({}, {right})", left.text),
            _ => format!("({} {op} {right})", left.text),
        };
        Some(Value::new(text, known))
    }

    fn shift_count(&mut self, elem: Elem, value: &Value) -> Value {
        let most = i128::from(elem.bits()) - 1;
        if value.known.range.within(Interval::new(0, most)) {
            return value.clone();
        }
        match self.choices.chance(50) {
            true => {
                let count = self.choices.between(0, 4);
                self.int_literal(elem, count.into())
            }
            false => {
                let mask = self.choices.pick(&[1i128, 3, 7]);
                let mask = self.int_literal(elem, mask);
                self.join(value, "&", &mask).unwrap_or(mask)
            }
        }
    }

    fn int_unary(&mut self, elem: Elem, depth: usize) -> Value {
        let value = self.int(elem, depth - 1);
        let op = self.choices.pick(&["-", "abs", "popcount"]);
        let Some(range) = value.known.range.unary(op, elem).filter(|_| elem != Elem::Index || op != "popcount") else {
            return value;
        };
        self.made("unary");
        let text = if op == "-" { format!("(-{})", value.text) } else { format!("{op}({})", value.text) };
        Value::new(text, Known { range, ..value.known })
    }

    fn int_of_float(&mut self, elem: Elem) -> Option<Value> {
        let from = self.choices.pick(&[Elem::F32, Elem::F16, Elem::F64]);
        let value = self.exact_float(from)?;
        let most = value.known.mag.ceil() as i128;
        let range = Interval::new(-most, most);
        if !range.within(Interval::all(elem)) {
            return None;
        }
        self.made("float to integer");
        let text = format!("cast<{}>({})", elem.name(), value.text);
        Some(Value::new(text, Known::int(elem, range).varying(value.known.varies)))
    }

    fn int_choice(&mut self, elem: Elem, depth: usize) -> Value {
        let condition = self.condition(depth - 1);
        let (yes, no) = (self.int(elem, depth - 1), self.int(elem, depth - 1));
        self.choose(&condition, &yes, &no)
    }

    /// `select` or `if_then_else` of two values of one type.
    pub(super) fn choose(&mut self, condition: &Value, yes: &Value, no: &Value) -> Value {
        let name = self.choices.pick(&["select", "if_then_else"]);
        self.made(name);
        let known = Known {
            range: yes.known.range.or(no.known.range),
            mag: yes.known.mag.max(no.known.mag),
            exact: yes.known.exact && no.known.exact,
            varies: yes.known.varies || no.known.varies || condition.known.varies,
            ..yes.known
        };
        Value::new(format!("{name}({}, {}, {})", condition.text, yes.text, no.text), known)
    }

    /// A quotient whose divisor may be 0, where it is not.
    fn guarded_division(&mut self, elem: Elem, depth: usize) -> Value {
        let (left, by) = (self.int(elem, depth - 1), self.int(elem, depth - 1));
        let op = self.choices.pick(&["/", "%"]);
        let by = self.bind("d", &by);
        let all = Interval::all(elem);
        // What holds under the guard.
        let (guard, divisor) = match self.choices.chance(60) || by.known.range.low >= 0 {
            true if by.known.range.high >= 1 => (">", Interval::new(by.known.range.low.max(1), by.known.range.high)),
            _ if by.known.range.low <= -2 => ("<", Interval::new(by.known.range.low, -2)),
            _ => return left,
        };
        let least = if guard == ">" { 0 } else { -1 };
        let Some(range) = left.known.range.binary(op, divisor, elem).filter(|range| range.within(all)) else {
            return left;
        };
        self.made("guarded division");
        let least = self.int_literal(elem, least);
        let varies = left.known.varies || by.known.varies;
        let other = self.int_leaf(elem);
        let known = Known::int(elem, range.or(other.known.range)).varying(varies || other.known.varies);
        Value::new(
            format!("if_then_else({} {guard} {}, {} {op} {}, {})", by.text, least.text, left.text, by.text, other.text),
            known,
        )
    }

    /// `value`, brought into `range`.
    pub(super) fn fit(&mut self, value: Value, range: Interval) -> Value {
        let elem = value.known.elem;
        if value.known.range.within(range) {
            return value;
        }
        let width = self.int_literal(elem, range.high - range.low + 1);
        if width.known.range.within(Interval::all(elem)) && range.low == 0 && self.choices.chance(60) {
            let bits = range.high & (range.high + 1) == 0 && self.choices.chance(30);
            let (op, by) = if bits { ("&", self.int_literal(elem, range.high)) } else { ("%", width) };
            if let Some(value) = self.join(&value, op, &by).filter(|value| value.known.range.within(range)) {
                return value;
            }
        }
        let (low, high) = (self.int_literal(elem, range.low), self.int_literal(elem, range.high));
        let at_least = self.join(&value, "max", &low).unwrap_or(low);
        self.join(&at_least, "min", &high).unwrap_or(high)
    }

    /// An index below `extent`.
    pub(super) fn index(&mut self, extent: i64, depth: usize) -> Value {
        let wanted = Interval::new(0, i128::from(extent) - 1);
        if extent == 1 && self.choices.chance(80) {
            return self.int_literal(Elem::Index, 0);
        }
        let elem = if self.choices.chance(70) { Elem::Index } else { self.choices.pick(INTS) };
        if !wanted.within(Interval::all(elem)) || elem.kind() == ElemKind::Bool {
            return self.index(extent, 0);
        }
        // What is in range already is what programs have most.
        let fits = |var: &super::draw::Var| var.known.elem == elem && var.known.range.within(wanted);
        let ready: Vec<usize> = (0..self.vars.len()).filter(|&at| fits(&self.vars[at])).collect();
        if !ready.is_empty() && self.choices.chance(50) {
            let at = self.choices.pick(&ready);
            return Value::new(self.vars[at].name.clone(), self.vars[at].known);
        }
        let value = self.int(elem, depth.min(2));
        self.fit(value, wanted)
    }
}
