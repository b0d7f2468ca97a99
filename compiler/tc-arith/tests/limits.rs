//! Hostile expressions: deep, wide, shared exponentially, and at the ends of the range of numbers. Nothing here may
//! panic, overflow the two megabytes of a test's stack, or fail to come to an end.

mod common;

use tc_arith::{Analyzer, BinaryOp, Expr, MAX_DEPTH, SymInterval, Var, Verdict};

const DEEP: usize = 20_000;

/// Asks every question of an expression.
fn ask_all(az: &mut Analyzer, e: Expr) {
    az.simplify(e);
    az.bounds(e);
    az.modular(e);
    az.prove(e);
    az.prove_by_enumeration(e, 10);
    let (zero, one) = (az.pool.int(0), az.pool.int(9));
    let relaxed = [(Var(1), SymInterval::new(zero, one))];
    az.eval_set(e, &relaxed);
    az.eval_set_under(e, &relaxed, e);
    az.deduce_bound(Var(0), e, &relaxed);
    az.linear(e, &[Var(0)]);
    az.floor_is_trunc(e, one);
    az.push_constraint(e);
    az.simplify(e);
    az.pop_constraint();
    az.define(Var(7), e);
    assert!(!az.pool.vars(e).is_empty());
    assert!(!az.pool.display(e).to_string().is_empty());
    az.pool.eval(e, &|_| 1);
    let by = az.pool.var(Var(3));
    az.pool.subst(e, &[(Var(0), by)]);
}

fn nested(az: &mut Analyzer, depth: usize, mut step: impl FnMut(&mut Analyzer, Expr, usize) -> Expr) -> Expr {
    let mut e = az.pool.var(Var(0));
    for i in 0..depth {
        e = step(az, e, i);
    }
    e
}

fn steps() -> Vec<fn(&mut Analyzer, Expr, usize) -> Expr> {
    use BinaryOp::*;
    fn binary(az: &mut Analyzer, e: Expr, i: usize, op: BinaryOp) -> Expr {
        let (x, c) = (az.pool.var(Var((i % 5) as u32)), az.pool.int((i % 7) as i64 + 2));
        let inner = az.pool.add(e, x);
        az.pool.binary(op, inner, c)
    }
    vec![
        |az, e, i| binary(az, e, i, Add),
        |az, e, i| binary(az, e, i, Mul),
        |az, e, i| binary(az, e, i, FloorDiv),
        |az, e, i| binary(az, e, i, FloorMod),
        |az, e, i| binary(az, e, i, Min),
        |az, e, i| binary(az, e, i, TruncDiv),
        |az, e, i| binary(az, e, i, Lt),
        |az, e, _| az.pool.not(e),
        |az, e, i| {
            let x = az.pool.var(Var((i % 5) as u32));
            let condition = az.pool.lt(e, x);
            az.pool.select(condition, e, x)
        },
        |az, e, i| {
            let (x, c) = (az.pool.var(Var((i % 9) as u32)), az.pool.int(i as i64));
            let less = az.pool.lt(x, c);
            if i % 2 == 0 { az.pool.and(e, less) } else { az.pool.or(less, e) }
        },
        |az, e, _| {
            // A product of an expression with itself: a graph of n nodes, a tree of 2^n.
            az.pool.mul(e, e)
        },
        |az, e, i| {
            // Two branches with one expression each under its own condition.
            let (x, c) = (az.pool.var(Var((i % 5) as u32)), az.pool.int(i as i64));
            let condition = az.pool.lt(x, c);
            let other = az.pool.add(e, x);
            az.pool.select(condition, e, other)
        },
        |az, e, i| {
            let c = az.pool.int(i as i64 % 5 + 2);
            let (high, low) = (az.pool.floor_div(e, c), az.pool.floor_mod(e, c));
            az.pool.sub(high, low)
        },
    ]
}

#[test]
fn depth_costs_neither_stack_nor_time() {
    for step in steps() {
        let mut az = Analyzer::new();
        let e = nested(&mut az, DEEP, step);
        ask_all(&mut az, e);
    }
}

#[test]
fn the_greatest_depth_that_is_simplified_fits_the_stack() {
    for step in steps() {
        for depth in [20, MAX_DEPTH as usize / 3, MAX_DEPTH as usize - 2] {
            let mut az = Analyzer::new();
            for v in 0..5 {
                az.bind_range(Var(v), Some(0), Some(1000));
            }
            let e = nested(&mut az, depth, step);
            ask_all(&mut az, e);
        }
    }
}

#[test]
fn many_conditions_and_terms_stay_cheap() {
    let mut az = Analyzer::new();
    for i in 0..3000u32 {
        let (x, y) = (az.pool.var(Var(i)), az.pool.var(Var(i + 1)));
        let less = az.pool.lt(x, y);
        az.push_constraint(less);
    }
    let (first, later) = (az.pool.var(Var(0)), az.pool.var(Var(2)));
    let less = az.pool.lt(first, later);
    az.prove(less);
}

#[test]
fn ends_of_the_range_of_numbers() {
    let mut az = Analyzer::new();
    let ends = [i64::MIN, i64::MIN + 1, -1, 0, 1, i64::MAX - 1, i64::MAX];
    let (x, y) = (az.pool.var(Var(0)), az.pool.var(Var(1)));
    az.bind_range(Var(1), Some(i64::MIN), Some(i64::MAX));
    use BinaryOp::*;
    for op in [Add, Sub, Mul, FloorDiv, FloorMod, TruncDiv, TruncMod, Min, Max, Eq, Lt, Le, Shl, Shr, BitAnd, BitOr] {
        for (a, b) in ends.iter().flat_map(|&a| ends.iter().map(move |&b| (a, b))) {
            let [a, b] = [a, b].map(|c| az.pool.int(c));
            let constants = az.pool.binary(op, a, b);
            let (left, right) = (az.pool.binary(op, x, a), az.pool.binary(op, b, y));
            let outer = az.pool.binary(op, left, right);
            for e in [constants, left, right, outer] {
                az.simplify(e);
                az.bounds(e);
                az.modular(e);
                az.prove(e);
                az.deduce_bound(Var(0), e, &[]);
                az.eval_set(e, &[(Var(1), SymInterval::new(a, b))]);
                az.bind(Var(2), a, b);
            }
        }
    }
}

#[test]
fn wrong_use_is_harmless() {
    let mut az = Analyzer::new();
    az.pop_constraint();
    let mark = az.mark();
    az.bind_range(Var(0), Some(5), Some(-5));
    let x = az.pool.var(Var(0));
    assert_eq!(az.bounds(x).min(), None);
    let impossible = az.pool.bool(false);
    az.push_constraint(impossible);
    let (one, two) = (az.pool.int(1), az.pool.int(2));
    let (a, b) = (az.pool.lt(x, one), az.pool.lt(two, x));
    let both = az.pool.and(a, b);
    assert_eq!(az.prove(both), Verdict::False);
    az.push_constraint(both);
    az.prove(a);
    az.rollback(mark);
    az.pop_constraint();
    az.pop_constraint();
    // Integers where truth values are asked for, and the other way round.
    let sum = az.pool.add(a, b);
    let odd = az.pool.and(x, sum);
    az.prove(odd);
    assert_eq!(az.pool.eval(odd, &|_| 0), Some(0));
    assert_eq!(az.pool.eval(sum, &|_| 0), Some(1));
    assert_eq!(az.pool.eval(odd, &|_| 3), Some(1));
}

/// Every fact is looked at by later questions, so that a condition tells only so many.
#[test]
fn so_many_parts_of_a_condition_are_learnt() {
    let mut az = Analyzer::new();
    let ten = az.pool.int(10);
    let below = |az: &mut Analyzer, nth: u32| {
        let var = az.pool.var(Var(nth));
        az.pool.lt(var, ten)
    };
    let clauses: Vec<Expr> = (0..1000).map(|nth| below(&mut az, nth)).collect();
    let all = az.pool.all(&clauses);
    az.constrain(all);
    let (first, last) = (az.pool.var(Var(0)), az.pool.var(Var(999)));
    assert_eq!(az.bounds(first).max(), Some(9));
    assert_eq!(az.bounds(last).max(), None);
}
