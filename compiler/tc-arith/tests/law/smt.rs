//! Laws as problems of SMT-LIB 2: satisfiable where the law is wrong.
//!
//! A term becomes two: whether it has a value, and the value. Over mathematical integers these are of the sort `Int`. At
//! a width, names stand for all numbers of so many bits in two's complement, and every operation is done on bit vectors
//! wide enough for all results it can have, so that nothing wraps; only a cast does.

use std::fmt;

use tc_arith::BinaryOp;

use super::{Condition, Law, Machine, Name, Sort, Term};

/// What the names of a law range over.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Domain {
    /// Numbers are those of so many bits; without, all integers.
    pub(crate) bits: Option<u32>,
    /// What the names of types stand for, in the order of the names.
    pub(crate) types: Vec<Machine>,
}

impl Domain {
    /// All integers: a domain for each choice of types.
    pub(crate) fn integers(law: &Law) -> Vec<Domain> {
        let names = law.names.iter().filter(|(_, sort)| *sort == Sort::Type);
        let choices = names.fold(vec![Vec::new()], |choices: Vec<Vec<Machine>>, _| {
            choices
                .iter()
                .flat_map(|chosen| Machine::PROVED.map(|machine| [&chosen[..], &[machine]].concat()))
                .collect()
        });
        choices.into_iter().map(|types| Domain { bits: None, types }).collect()
    }

    /// What is tried where the solver leaves all integers undecided: widths, which no law mentions. Numbers around types
    /// have two more bits than the widest type, so that there are some outside each.
    pub(crate) fn at_widths(&self) -> Vec<Domain> {
        let widths: &[u32] = if self.types.is_empty() { &[4, 8] } else { &[10] };
        widths.iter().map(|&bits| Domain { bits: Some(bits), types: self.types.clone() }).collect()
    }
}

impl fmt::Display for Domain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.bits {
            None => f.write_str("all integers")?,
            Some(bits) => write!(f, "numbers of {bits} bits")?,
        }
        let types: Vec<String> = self.types.iter().map(Machine::to_string).collect();
        if types.is_empty() { Ok(()) } else { write!(f, ", with the types {}", types.join(", ")) }
    }
}

/// A term of the problem.
#[derive(Clone)]
struct Encoded {
    /// A formula: whether there is a value.
    defined: String,
    /// The value: a formula, an integer or a bit vector.
    value: String,
    /// The least and the greatest value of a bit vector; its width follows.
    range: (i128, i128),
}

/// The width in two's complement that holds a range.
fn width((lo, hi): (i128, i128)) -> u32 {
    (1..127_u32).find(|bits| -(1_i128 << (bits - 1)) <= lo && hi < 1_i128 << (bits - 1)).expect("ranges are small")
}

fn hull(values: &[i128]) -> (i128, i128) {
    let (lo, hi) = (values.iter().min(), values.iter().max());
    lo.copied().zip(hi.copied()).expect("there are values")
}

/// The problem of a law over a domain.
pub(crate) struct Problem<'a> {
    law: &'a Law,
    domain: &'a Domain,
    text: String,
    defined: usize,
}

impl<'a> Problem<'a> {
    /// The text that asks whether the law can be wrong, and where.
    pub(crate) fn text(law: &'a Law, domain: &'a Domain) -> String {
        let mut problem = Problem { law, domain, text: String::new(), defined: 0 };
        problem.line(if domain.bits.is_some() { "(set-logic QF_BV)" } else { "(set-logic ALL)" });
        for name in 0..law.names.len() {
            problem.declare(name);
        }
        for condition in &law.conditions {
            let condition = problem.condition(condition);
            problem.line(&format!("(assert {condition})"));
        }
        let same = problem.same(&law.left, &law.right);
        problem.line(&format!("(assert (not {same}))"));
        problem.line("(check-sat)");
        let asked = (0..law.names.len()).filter(|&name| law.names[name].1 != Sort::Type);
        let asked: String = asked.map(|name| format!(" n{name} d{name}")).collect();
        problem.line(&format!("(get-value ({}))", asked.trim_start()));
        problem.text
    }

    fn line(&mut self, line: &str) {
        self.text.push_str(line);
        self.text.push('\n');
    }

    /// Names `n3` the value of the fourth name, and `d3` whether it has one.
    fn declare(&mut self, name: Name) {
        let sort = self.law.names[name].1;
        if sort == Sort::Type {
            return;
        }
        let kind = match self.domain.bits {
            _ if sort == Sort::Truth => "Bool".to_string(),
            None => "Int".to_string(),
            Some(width) => format!("(_ BitVec {width})"),
        };
        self.line(&format!("(declare-const n{name} {kind})\n(declare-const d{name} Bool)"));
        if !sort.may_fail() {
            self.line(&format!("(assert d{name})"));
        }
    }

    fn machine(&self, name: Name) -> Machine {
        let before = self.law.names[..name].iter().filter(|(_, sort)| *sort == Sort::Type).count();
        self.domain.types[before]
    }

    /// Gives a name to a value, so that the text does not grow with each use.
    fn share(&mut self, truth: bool, encoded: Encoded) -> Encoded {
        let kind = match self.domain.bits {
            _ if truth => "Bool".to_string(),
            None => "Int".to_string(),
            Some(_) => format!("(_ BitVec {})", width(encoded.range)),
        };
        let at = self.defined;
        self.defined += 1;
        self.line(&format!("(define-fun v{at} () {kind} {})", encoded.value));
        self.line(&format!("(define-fun e{at} () Bool {})", encoded.defined));
        Encoded { defined: format!("e{at}"), value: format!("v{at}"), range: encoded.range }
    }

    fn numeral(&self, value: i64) -> Encoded {
        let range = (i128::from(value), i128::from(value));
        let text = match self.domain.bits {
            None if value < 0 => format!("(- {})", value.unsigned_abs()),
            None => value.to_string(),
            Some(_) => {
                let width = width(range);
                format!("(_ bv{} {width})", i128::from(value).rem_euclid(1 << width))
            }
        };
        Encoded { defined: "true".into(), value: text, range }
    }

    /// The bit vector in a greater width.
    fn extended(&self, term: &Encoded, to: u32) -> String {
        match to - width(term.range) {
            0 => term.value.clone(),
            more => format!("((_ sign_extend {more}) {})", term.value),
        }
    }

    /// Two operands, and a way to write a numeral, in a common width that also holds the result.
    fn common(&self, a: &Encoded, b: &Encoded, result: (i128, i128)) -> (String, String, u32) {
        if self.domain.bits.is_none() {
            return (a.value.clone(), b.value.clone(), 0);
        }
        let to = width(a.range).max(width(b.range)).max(width(result));
        (self.extended(a, to), self.extended(b, to), to)
    }

    fn term(&mut self, term: &Term) -> Encoded {
        let truth = self.law.is_truth(term);
        let encoded = match term {
            Term::Int(value) => return self.numeral(*value),
            Term::Bool(value) => {
                return Encoded { defined: "true".into(), value: value.to_string(), range: (0, 1) };
            }
            Term::Name(name) => {
                let range = self.domain.bits.map_or((0, 0), |width| (-(1 << (width - 1)), (1 << (width - 1)) - 1));
                return Encoded { defined: format!("d{name}"), value: format!("n{name}"), range };
            }
            Term::Neg(a) => {
                let zero = self.numeral(0);
                let a = self.term(a);
                self.binary(BinaryOp::Sub, &zero, &a)
            }
            Term::Not(a) => {
                let a = self.term(a);
                Encoded { value: format!("(not {})", a.value), ..a }
            }
            Term::Binary(op, a, b) => {
                let (a, b) = (self.term(a), self.term(b));
                self.binary(*op, &a, &b)
            }
            Term::Select(c, a, b) => {
                let (c, a, b) = (self.term(c), self.term(a), self.term(b));
                let range = (a.range.0.min(b.range.0), a.range.1.max(b.range.1));
                let (x, y, _) = if truth { (a.value.clone(), b.value.clone(), 0) } else { self.common(&a, &b, range) };
                Encoded {
                    defined: format!("(and {} (ite {} {} {}))", c.defined, c.value, a.defined, b.defined),
                    value: format!("(ite {} {x} {y})", c.value),
                    range,
                }
            }
            Term::Cast(to, a) => {
                let to = self.machine(*to);
                let a = self.term(a);
                let (lo, hi) = to.range();
                let range = (i128::from(lo), i128::from(hi));
                if self.domain.bits.is_none() {
                    let (from, size) = (self.numeral(lo).value, 1_i64 << to.width);
                    let value = format!("(+ (mod (- {} {from}) {size}) {from})", a.value);
                    return self.share(false, Encoded { value, range, ..a });
                }
                let wide = self.extended(&a, width(a.range).max(to.width));
                let low = format!("((_ extract {} 0) {wide})", to.width - 1);
                let value = if to.signed { low } else { format!("((_ zero_extend 1) {low})") };
                Encoded { defined: a.defined, value, range }
            }
        };
        self.share(truth, encoded)
    }

    fn binary(&self, op: BinaryOp, a: &Encoded, b: &Encoded) -> Encoded {
        let defined = match op {
            BinaryOp::And => format!("(and {} (=> {} {}))", a.defined, a.value, b.defined),
            BinaryOp::Or => format!("(and {} (or {} {}))", a.defined, a.value, b.defined),
            _ => format!("(and {} {})", a.defined, b.defined),
        };
        if matches!(op, BinaryOp::And | BinaryOp::Or) {
            let sign = if op == BinaryOp::And { "and" } else { "or" };
            return Encoded { defined, value: format!("({sign} {} {})", a.value, b.value), range: (0, 1) };
        }
        let range = result_range(op, a.range, b.range);
        let operands = if op.is_comparison() { (0, 0) } else { range };
        let (x, y, to) = self.common(a, b, operands);
        let vectors = self.domain.bits.is_some();
        let zero = if vectors { format!("(_ bv0 {to})") } else { "0".to_string() };
        let apply = |integers: &str, bits: &str, x: &str, y: &str| {
            format!("({} {x} {y})", if vectors { bits } else { integers })
        };
        let value = match op {
            BinaryOp::Add => apply("+", "bvadd", &x, &y),
            BinaryOp::Sub => apply("-", "bvsub", &x, &y),
            BinaryOp::Mul => apply("*", "bvmul", &x, &y),
            BinaryOp::Min => format!("(ite {} {x} {y})", apply("<=", "bvsle", &x, &y)),
            BinaryOp::Max => format!("(ite {} {y} {x})", apply("<=", "bvsle", &x, &y)),
            BinaryOp::Eq => format!("(= {x} {y})"),
            BinaryOp::Ne => format!("(distinct {x} {y})"),
            BinaryOp::Lt => apply("<", "bvslt", &x, &y),
            BinaryOp::Le => apply("<=", "bvsle", &x, &y),
            BinaryOp::FloorDiv | BinaryOp::FloorMod | BinaryOp::TruncDiv | BinaryOp::TruncMod => {
                if vectors {
                    bit_division(op, &x, &y, &zero, to)
                } else {
                    integer_division(op, &x, &y)
                }
            }
            _ => panic!("laws do not speak of bits"),
        };
        let divides = if op.is_division() { format!("(and {defined} (distinct {y} {zero}))") } else { defined };
        if op.is_boolean() || !vectors {
            return Encoded { defined: divides, value, range };
        }
        // The result may be narrower than what it was computed in.
        let narrow = width(range);
        let value = if narrow == to { value } else { format!("((_ extract {} 0) {value})", narrow - 1) };
        Encoded { defined: divides, value, range }
    }

    fn same(&mut self, a: &Term, b: &Term) -> String {
        let truth = self.law.is_truth(a);
        let (a, b) = (self.term(a), self.term(b));
        let (x, y, _) = if truth { (a.value.clone(), b.value.clone(), 0) } else { self.common(&a, &b, (0, 0)) };
        format!("(and (= {} {}) (=> {} (= {x} {y})))", a.defined, b.defined, a.defined)
    }

    fn condition(&mut self, condition: &Condition) -> String {
        match condition {
            Condition::Holds(term) => {
                let term = self.term(term);
                format!("(=> {} {})", term.defined, term.value)
            }
            Condition::Defined(term) => self.term(term).defined,
            Condition::Same(a, b) => self.same(a, b),
            Condition::Where(term, inner) => {
                let term = self.term(term);
                let inner = self.condition(inner);
                format!("(=> (and {} {}) {inner})", term.defined, term.value)
            }
            Condition::InType(term, to) => {
                let (lo, hi) = self.machine(*to).range();
                let (lo, hi, term) = (self.numeral(lo), self.numeral(hi), self.term(term));
                let (lo, hi) = (self.binary(BinaryOp::Le, &lo, &term), self.binary(BinaryOp::Le, &term, &hi));
                format!("(=> {} (and {} {}))", term.defined, lo.value, hi.value)
            }
            Condition::Within(narrow, wide) => {
                let (narrow, wide) = (self.machine(*narrow).range(), self.machine(*wide).range());
                (wide.0 <= narrow.0 && narrow.1 <= wide.1).to_string()
            }
            Condition::NoWider(narrow, wide) => (self.machine(*narrow).width <= self.machine(*wide).width).to_string(),
        }
    }
}

/// The values that an operation can have.
fn result_range(op: BinaryOp, a: (i128, i128), b: (i128, i128)) -> (i128, i128) {
    let magnitude = |(lo, hi): (i128, i128)| lo.abs().max(hi.abs());
    match op {
        BinaryOp::Add => (a.0 + b.0, a.1 + b.1),
        BinaryOp::Sub => (a.0 - b.1, a.1 - b.0),
        BinaryOp::Mul => hull(&[a.0 * b.0, a.0 * b.1, a.1 * b.0, a.1 * b.1]),
        BinaryOp::FloorDiv | BinaryOp::TruncDiv => (-magnitude(a), magnitude(a)),
        BinaryOp::FloorMod | BinaryOp::TruncMod => (-magnitude(b), magnitude(b)),
        BinaryOp::Min | BinaryOp::Max => (a.0.min(b.0), a.1.max(b.1)),
        _ => (0, 1),
    }
}

/// SMT-LIB's `div` and `mod` of integers leave a remainder that is not negative. The floored remainder is defined by the
/// quotient: of the two ways to write it the solver decides more laws with this one.
fn integer_division(op: BinaryOp, x: &str, y: &str) -> String {
    let (turned, flipped) = (format!("(- {x})"), format!("(- {y})"));
    match op {
        BinaryOp::FloorDiv => format!("(ite (< {y} 0) (div {turned} {flipped}) (div {x} {y}))"),
        BinaryOp::FloorMod => format!("(- {x} (* {y} {}))", integer_division(BinaryOp::FloorDiv, x, y)),
        BinaryOp::TruncDiv => format!("(ite (< {x} 0) (div {turned} {flipped}) (div {x} {y}))"),
        _ => format!("(ite (< {x} 0) (- (mod {turned} {y})) (mod {x} {y}))"),
    }
}

/// `bvsdiv` and `bvsrem` truncate, `bvsmod` has the sign of the divisor.
fn bit_division(op: BinaryOp, x: &str, y: &str, zero: &str, width: u32) -> String {
    match op {
        BinaryOp::FloorDiv => {
            let exact = format!("(= (bvsrem {x} {y}) {zero})");
            let same_sign = format!("(= (bvslt {x} {zero}) (bvslt {y} {zero}))");
            format!("(ite (or {exact} {same_sign}) (bvsdiv {x} {y}) (bvsub (bvsdiv {x} {y}) (_ bv1 {width})))")
        }
        BinaryOp::FloorMod => format!("(bvsmod {x} {y})"),
        BinaryOp::TruncDiv => format!("(bvsdiv {x} {y})"),
        _ => format!("(bvsrem {x} {y})"),
    }
}
