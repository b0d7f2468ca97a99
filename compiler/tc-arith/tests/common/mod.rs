//! Random expressions of the shapes that index arithmetic has, random knowledge about their variables, and random
//! points at which to compare values.
#![allow(dead_code, reason = "each test binary uses a part")]

use tc_arith::{Analyzer, BinaryOp, EvalError, Expr, IntType, RuleApplication, Var};

/// A small generator of numbers (splitmix64, Steele, Lea and Flood 2014), so that every run sees the same cases.
pub(crate) struct Random(pub u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// From `lo` to `hi`, both included.
    pub(crate) fn range(&mut self, lo: i64, hi: i64) -> i64 {
        lo.wrapping_add_unsigned(self.next() % (hi.abs_diff(lo) + 1))
    }

    pub(crate) fn chance(&mut self, one_in: u64) -> bool {
        self.next().is_multiple_of(one_in)
    }

    pub(crate) fn pick<T: Copy>(&mut self, items: &[T]) -> T {
        items[(self.next() % items.len() as u64) as usize]
    }
}

pub(crate) const VARS: u32 = 5;
/// A variable that stands for an expression in the others.
pub(crate) const DEFINED: Var = Var(VARS);

/// An analyzer with random knowledge, and the means to make expressions and points for it.
pub(crate) struct Case {
    pub(crate) az: Analyzer,
    pub(crate) random: Random,
    pub(crate) ranges: Vec<(i64, i64)>,
    definition: Option<Expr>,
    /// Conditions that are assumed.
    assumed: Vec<Expr>,
    /// A sum that an assumed condition is about, to be met again.
    tied: Option<Expr>,
    /// Conditions made so far, to be met again.
    conditions: Vec<Expr>,
}

impl Case {
    pub(crate) fn new(seed: u64) -> Case {
        let mut random = Random(seed);
        let mut az = Analyzer::new();
        let mut ranges = Vec::new();
        for v in 0..VARS {
            let (lo, hi) = match random.next() % 6 {
                0 => (random.range(-6, 3), random.range(4, 12)),
                1 => (0, random.pick(&[1, 2, 3, 7, 15])),
                2 => (0, random.pick(&[0, 1, 4, 6, 11])),
                3 => (1, random.range(1, 9)),
                4 => (random.range(-9, -1), 0),
                // Unknown to the analyzer.
                _ => (-40, 40),
            };
            if (lo, hi) != (-40, 40) {
                az.bind_range(Var(v), Some(lo), Some(hi));
            }
            ranges.push((lo, hi));
        }
        let mut case =
            Case { az, random, ranges, definition: None, assumed: Vec::new(), tied: None, conditions: Vec::new() };
        if case.random.chance(4) {
            let value = if case.random.chance(3) { case.leaf() } else { case.affine() };
            case.az.define(DEFINED, value);
            case.definition = Some(value);
        }
        case
    }

    /// A case whose variables have the given ranges, and nothing else known.
    pub(crate) fn with_ranges(seed: u64, ranges: Vec<(i64, i64)>) -> Case {
        let mut az = Analyzer::new();
        for (v, &(lo, hi)) in (0..).zip(&ranges) {
            az.bind_range(Var(v), Some(lo), Some(hi));
        }
        let (assumed, conditions) = (Vec::new(), Vec::new());
        Case { az, random: Random(seed), ranges, definition: None, assumed, tied: None, conditions }
    }

    /// Assumes a few random conditions.
    pub(crate) fn assume(&mut self) {
        for _ in 0..self.random.range(0, 2) {
            let condition = if self.random.chance(3) { self.tie() } else { self.condition(1) };
            self.az.push_constraint(condition);
            self.conditions.push(condition);
            self.assumed.push(condition);
        }
    }

    /// `x - y == c`, or `0 <= x && x < y`.
    fn tie(&mut self) -> Expr {
        let (x, y, c) = (self.variable(), self.variable(), self.random.range(-3, 3));
        let p = &mut self.az.pool;
        let (c, zero) = (p.int(c), p.int(0));
        if self.random.chance(2) {
            let difference = p.sub(x, y);
            self.tied = Some(difference);
            return p.eq(difference, c);
        }
        let (op, low, high) = (self.random.pick(&[BinaryOp::FloorDiv, BinaryOp::FloorMod]), p.le(zero, x), p.lt(x, y));
        self.tied = Some(p.binary(op, x, y));
        p.and(low, high)
    }

    /// The conditions that are assumed.
    pub(crate) fn known(&self) -> Vec<Expr> {
        self.assumed.clone()
    }

    /// A random point of the ranges, with the value of the defined variable last.
    pub(crate) fn point(&mut self) -> Vec<i64> {
        let mut point: Vec<i64> =
            self.ranges.iter().map(|&(lo, hi)| (lo, hi)).map(|(lo, hi)| self.random.range(lo, hi)).collect();
        let defined = self.definition_value(&point);
        point.push(defined);
        point
    }

    /// The value of the defined variable at a point; 0 without a definition.
    pub(crate) fn definition_value(&self, point: &[i64]) -> i64 {
        self.definition.and_then(|e| self.az.pool.eval(e, &|v| point[v.0 as usize])).unwrap_or(0)
    }

    pub(crate) fn eval(&self, e: Expr, point: &[i64]) -> Result<i64, EvalError> {
        self.az.pool.eval_checked(e, &|v| point[v.0 as usize])
    }

    pub(crate) fn show(&self, e: Expr) -> String {
        self.az.pool.display(e).to_string()
    }

    fn small(&mut self) -> i64 {
        self.random.pick(&[1, 2, 3, 4, 4, 5, 6, 8, 8, 12, 16])
    }

    pub(crate) fn constant(&mut self) -> Expr {
        let value = if self.random.chance(2) { self.small() } else { self.random.range(-12, 24) };
        self.az.pool.int(value)
    }

    pub(crate) fn variable(&mut self) -> Expr {
        let last = if self.definition.is_some() { VARS } else { VARS - 1 };
        let v = self.random.range(0, i64::from(last)) as u32;
        self.az.pool.var(Var(v))
    }

    fn leaf(&mut self) -> Expr {
        if let Some(tied) = self.tied.filter(|_| self.random.chance(6)) {
            return tied;
        }
        if self.random.chance(5) { self.constant() } else { self.variable() }
    }

    /// `x*8 + y*2 + z - 3` and the like.
    pub(crate) fn affine(&mut self) -> Expr {
        let mut sum = self.leaf();
        for _ in 0..self.random.range(1, 3) {
            let (x, factor) = (self.variable(), self.small());
            let factor = self.az.pool.int(factor);
            let x = self.az.pool.mul(x, factor);
            sum = if self.random.chance(4) { self.az.pool.sub(sum, x) } else { self.az.pool.add(sum, x) };
        }
        if self.random.chance(2) {
            let constant = self.constant();
            sum = self.az.pool.add(sum, constant);
        }
        sum
    }

    fn divisor(&mut self) -> Expr {
        let value = if self.random.chance(10) { -self.small() } else { self.small() };
        self.az.pool.int(value)
    }

    pub(crate) fn integer(&mut self, depth: u32) -> Expr {
        use BinaryOp::*;
        if depth == 0 {
            return if self.random.chance(3) { self.affine() } else { self.leaf() };
        }
        let less = depth - 1;
        match self.random.next() % 20 {
            13 => self.cast(less),
            0..=2 => {
                let (op, a, b) = (self.random.pick(&[Add, Add, Sub]), self.integer(less), self.integer(less));
                self.az.pool.binary(op, a, b)
            }
            3 => {
                let (a, c) = (self.integer(less), self.constant());
                self.az.pool.mul(a, c)
            }
            4 => {
                let (a, b) = (self.integer(0), self.integer(less.min(1)));
                self.az.pool.mul(a, b)
            }
            5..=7 => {
                let (op, a, c) = (self.random.pick(&[FloorDiv, FloorMod]), self.integer(less), self.divisor());
                self.az.pool.binary(op, a, c)
            }
            8 => {
                let (op, a, c) = (self.random.pick(&[TruncDiv, TruncMod]), self.integer(less), self.divisor());
                self.az.pool.binary(op, a, c)
            }
            9 | 10 => {
                let (op, a, b) = (self.random.pick(&[Min, Max]), self.integer(less), self.integer(less));
                self.az.pool.binary(op, a, b)
            }
            11 => {
                let (c, a, b) = (self.condition(less), self.integer(less), self.integer(less));
                self.az.pool.select(c, a, b)
            }
            12 => {
                let op = self.random.pick(&[Shl, Shr, BitAnd, BitOr, BitXor]);
                let (a, c) = (self.leaf(), self.random.range(0, 3));
                let c = self.az.pool.int(c);
                self.az.pool.binary(op, a, c)
            }
            _ => self.pattern(less),
        }
    }

    /// A cast of what may leave the type, of a product or sum with casts in it too.
    fn cast(&mut self, depth: u32) -> Expr {
        let narrow = [IntType::I8, IntType::U8, IntType::I16, IntType::U16];
        let (ty, from) = (self.random.pick(&narrow), self.random.pick(&narrow));
        let (x, y) = (self.integer(depth), self.variable());
        let (factor, offset) = (self.random.pick(&[1, 3, 40, 100]), self.random.pick(&[0, -3, 250]));
        let p = &mut self.az.pool;
        let (factor, offset) = (p.int(factor), p.int(offset));
        let scaled = p.mul(x, factor);
        let scaled = p.add(scaled, offset);
        let inner = p.cast(from, scaled);
        match self.random.next() % 3 {
            0 => self.az.pool.cast(ty, scaled),
            1 => {
                let sum = self.az.pool.add(inner, y);
                self.az.pool.cast(ty, sum)
            }
            _ => {
                let product = self.az.pool.mul(y, inner);
                self.az.pool.cast(ty, product)
            }
        }
    }

    /// The two sides of an identity, or near misses of it.
    fn pattern(&mut self, depth: u32) -> Expr {
        use BinaryOp::*;
        let (x, y) = (self.integer(depth.min(1)), self.leaf());
        let (c, m, n) = (self.small(), self.small(), self.variable());
        let factor = if self.random.chance(3) { self.small() } else { c };
        let [c_expr, m_expr, factor] = [c, m, factor].map(|value| self.az.pool.int(value));
        let choice = self.random.next() % 17;
        let choose = self.random.pick(&[Min, Max]);
        let truncating = self.random.pick(&[TruncDiv, TruncMod]);
        let floored = self.random.pick(&[FloorDiv, FloorMod]);
        let p = &mut self.az.pool;
        let (div, rem) = (p.floor_div(x, c_expr), p.floor_mod(x, c_expr));
        match choice {
            0 => {
                let high = p.mul(div, factor);
                p.add(high, rem)
            }
            1 => p.sub(x, rem),
            2 => {
                let digit = p.floor_mod(div, m_expr);
                let high = p.mul(digit, factor);
                p.add(high, rem)
            }
            3 => {
                let (low, high) = (p.min(x, y), p.max(x, y));
                p.add(low, high)
            }
            4 => {
                let shifted = p.add(x, c_expr);
                let least = p.binary(choose, shifted, y);
                p.sub(least, x)
            }
            5 => {
                let high = p.mul(x, n);
                let sum = p.add(high, y);
                p.binary(floored, sum, n)
            }
            6 => p.binary(floored, x, n),
            7 => p.binary(truncating, x, n),
            8 => {
                let inner = p.binary(choose, x, y);
                let flipped = if c % 2 == 0 { p.min(inner, m_expr) } else { p.max(inner, y) };
                p.add(flipped, c_expr)
            }
            9 => p.floor_div(div, m_expr),
            10 => {
                let scale = p.mul(c_expr, m_expr);
                let inner = p.floor_mod(x, scale);
                p.binary(floored, inner, c_expr)
            }
            11 => {
                let high = p.mul(x, c_expr);
                let exact = p.mul(high, m_expr);
                p.binary(truncating, exact, c_expr)
            }
            12 => {
                let (low, high) = (p.add(x, c_expr), p.add(y, c_expr));
                p.binary(choose, low, high)
            }
            13 => {
                let nested = p.binary(choose, x, c_expr);
                p.binary(choose, nested, m_expr)
            }
            14 => {
                // Of the offsets only some make this a minimum.
                let offset = p.int(m % 5 - 2);
                let end = p.add(y, offset);
                let less = if c % 3 == 0 { p.le(x, end) } else { p.lt(x, end) };
                if m % 2 == 0 { p.select(less, x, y) } else { p.select(less, y, x) }
            }
            15 => {
                let (q, r) = (p.lt(x, n), p.le(y, n));
                let nested = p.select(r, x, y);
                p.select(q, nested, y)
            }
            _ => {
                let (q, r, s) = (p.lt(x, c_expr), p.lt(y, m_expr), p.eq(n, c_expr));
                let choice = p.select(q, r, s);
                let not = p.not(choice);
                p.select(not, x, y)
            }
        }
    }

    pub(crate) fn comparison(&mut self, depth: u32) -> Expr {
        use BinaryOp::*;
        if self.random.chance(16) {
            // `x/c == 0`, for a variable that is often known not to be negative.
            let (x, c, op) = (self.variable(), self.small(), self.random.pick(&[Eq, Ne]));
            let (c, zero) = (self.az.pool.int(c), self.az.pool.int(0));
            let quotient = self.az.pool.floor_div(x, c);
            return self.az.pool.binary(op, quotient, zero);
        }
        let op = self.random.pick(&[Lt, Lt, Le, Le, Eq, Ne]);
        let a = match self.random.next() % 8 {
            0 => {
                let (x, c) = (if self.random.chance(2) { self.affine() } else { self.variable() }, self.divisor());
                self.az.pool.floor_div(x, c)
            }
            1 => {
                let (x, y, z) = (self.variable(), self.variable(), self.constant());
                let less = self.az.pool.lt(x, y);
                let (one, two) = (self.az.pool.int(20), self.az.pool.int(1));
                let chosen = self.az.pool.select(less, one, two);
                self.az.pool.add(chosen, z)
            }
            2 => {
                let (op, x, y) = (self.random.pick(&[Min, Max]), self.affine(), self.constant());
                self.az.pool.binary(op, x, y)
            }
            _ => self.integer(depth),
        };
        let b = match self.random.next() % 3 {
            0 => self.integer(depth),
            1 => self.affine(),
            _ => self.constant(),
        };
        let near = self.random.range(-2, 2);
        let b = if self.random.chance(5) { self.az.pool.int(near) } else { b };
        if self.random.chance(4) { self.az.pool.binary(op, b, a) } else { self.az.pool.binary(op, a, b) }
    }

    pub(crate) fn condition(&mut self, depth: u32) -> Expr {
        let less = depth.saturating_sub(1);
        let made = match self.random.next() % 13 {
            0 if !self.conditions.is_empty() => {
                let known = self.conditions.clone();
                self.random.pick(&known)
            }
            1 if depth > 0 => {
                let a = self.condition(less);
                self.az.pool.not(a)
            }
            2 => {
                let a = self.comparison(less);
                self.az.pool.likely(a)
            }
            3 | 4 if depth > 0 => {
                let (a, b) = (self.condition(less), self.condition(less));
                self.az.pool.and(a, b)
            }
            5 | 6 if depth > 0 => {
                let (a, b) = (self.condition(less), self.condition(less));
                self.az.pool.or(a, b)
            }
            7 if depth > 0 => {
                let (c, a) = (self.condition(less), self.condition(less));
                let b = if self.random.chance(2) { self.condition(less) } else { self.az.pool.bool(false) };
                if self.random.chance(2) { self.az.pool.select(c, a, b) } else { self.az.pool.select(c, b, a) }
            }
            8 => {
                // A remainder that is known, or a value that is excluded.
                let (x, c, r) = (self.variable(), self.small(), self.random.range(0, 3));
                let (c, r) = (self.az.pool.int(c), self.az.pool.int(r));
                let rem = self.az.pool.floor_mod(x, c);
                self.az.pool.eq(rem, r)
            }
            9 if self.random.chance(6) => {
                // The digits of a number, of which one may be left out.
                let (x, c, bound) = (self.affine(), self.small(), self.constant());
                let (high, low) = (self.random.chance(4), self.random.chance(2));
                let p = &mut self.az.pool;
                let c = p.int(c);
                let (div, rem) = (p.floor_div(x, c), p.floor_mod(x, c));
                let scaled = p.mul(div, c);
                let sum = if high { p.sub(x, rem) } else { p.add(scaled, rem) };
                if low { p.lt(sum, bound) } else { p.ne(bound, sum) }
            }
            _ => self.comparison(less),
        };
        if self.az.pool.is_bool(made) && self.random.chance(3) {
            self.conditions.push(made);
        }
        made
    }

    /// Panics unless both expressions have the same value, or fail in the same way, at points that satisfy `under`.
    pub(crate) fn check_same(&mut self, what: &str, before: Expr, after: Expr, under: &[Expr], points: u32) {
        for _ in 0..points {
            let point = self.point();
            if under.iter().any(|&condition| !matches!(self.eval(condition, &point), Ok(x) if x != 0)) {
                continue;
            }
            let (old, new) = (self.eval(before, &point), self.eval(after, &point));
            assert!(
                old == new || old == Err(EvalError::Overflow),
                "{what}: {}  ->  {}\nat {point:?}: {old:?}, {new:?}\nunder {:?}\nranges {:?}",
                self.show(before),
                self.show(after),
                under.iter().map(|&e| self.show(e)).collect::<Vec<_>>(),
                self.ranges,
            );
        }
    }
}

/// Shows the steps of rules on `n` random cases; different `family` numbers give different cases.
pub(crate) fn each_step(family: u64, n: u64, mut visit: impl FnMut(&mut Case, &RuleApplication)) {
    for seed in 0..n {
        let mut case = Case::new(family << 40 | seed);
        case.az.record_steps(true);
        case.assume();
        let depth = 1 + (seed % 2) as u32;
        let e = if seed % 3 == 0 { case.condition(depth) } else { case.integer(depth) };
        case.az.simplify(e);
        for step in case.az.record_steps(false) {
            visit(&mut case, &step);
        }
    }
}
