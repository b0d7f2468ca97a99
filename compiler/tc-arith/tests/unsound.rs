//! Things that must not happen. Two of them did, in the `<` rule of a canonical simplifier that was in wide use: a term
//! that is smaller than the common factor was dropped whatever its sign, and the scale of a remainder was ignored. Both
//! made guards stronger than they were written, so that work was silently left out.

use tc_arith::{Analyzer, Expr, SymInterval, Var, Verdict};

const X: Var = Var(0);
const Y: Var = Var(1);

/// An analyzer with `x` and `y` between the given bounds, and the two as expressions.
fn analyzer(x: (i64, i64), y: (i64, i64)) -> (Analyzer, Expr, Expr) {
    let mut az = Analyzer::new();
    az.bind_range(X, Some(x.0), Some(x.1));
    az.bind_range(Y, Some(y.0), Some(y.1));
    let (x, y) = (az.pool.named_var(X, "x"), az.pool.named_var(Y, "y"));
    (az, x, y)
}

/// `2*x + y < 8`.
fn doubled(az: &mut Analyzer, x: Expr, y: Expr) -> Expr {
    let p = &mut az.pool;
    let (two, eight) = (p.int(2), p.int(8));
    let double = p.mul(x, two);
    let sum = p.add(double, y);
    p.lt(sum, eight)
}

fn simplified(az: &mut Analyzer, e: Expr) -> String {
    let e = az.simplify(e);
    az.pool.display(e).to_string()
}

#[test]
fn a_small_negative_term_is_not_dropped() {
    // x = 4, y = -1 satisfies the condition and not x < 4.
    let (mut az, x, y) = analyzer((0, 9), (-1, 1));
    let condition = doubled(&mut az, x, y);
    assert_eq!(simplified(&mut az, condition), "x * 2 + y < 8");
    let weaker = az.simplify(condition);
    assert_eq!(az.pool.eval(weaker, &|v| if v == X { 4 } else { -1 }), Some(1));
}

#[test]
fn a_small_term_that_is_not_negative_is_dropped() {
    let (mut az, x, y) = analyzer((0, 9), (0, 1));
    let condition = doubled(&mut az, x, y);
    assert_eq!(simplified(&mut az, condition), "x < 4");
}

#[test]
fn the_scale_of_a_remainder_counts() {
    // 2*(tx%4) < 16*w + (tx%32)/4: for w = 0 it holds for tx = 8, 12, 16, 20, ...; dropping terms as if the left
    // side had scale 1 loses whole threads.
    let (mut az, tx, w) = analyzer((0, 63), (0, 3));
    let p = &mut az.pool;
    let [two, four, sixteen, all] = [2, 4, 16, 32].map(|c| p.int(c));
    let lane = p.floor_mod(tx, four);
    let left = p.mul(lane, two);
    let (warps, rest) = (p.mul(w, sixteen), p.floor_mod(tx, all));
    let group = p.floor_div(rest, four);
    let right = p.add(warps, group);
    let condition = p.lt(left, right);
    let simplified = az.simplify(condition);
    for (tx, w) in (0..64).flat_map(|tx| (0..4).map(move |w| (tx, w))) {
        let at = |v: Var| if v == X { tx } else { w };
        let direct = 2 * (tx % 4) < 16 * w + (tx % 32) / 4;
        assert_eq!(az.pool.eval(simplified, &at), Some(i64::from(direct)), "tx = {tx}, w = {w}");
    }
    assert_eq!(az.prove(condition), Verdict::Unknown);
}

#[test]
fn every_scale_sign_and_bound_of_the_divided_comparison() {
    for (a, b, c) in [2, 3, 4, -2, -4]
        .into_iter()
        .flat_map(|a| [1, -1, 3].map(|b| (a, b)))
        .flat_map(|(a, b)| (-9..=9).map(move |c| (a, b, c)))
    {
        for (lo, hi) in [(0, 0), (0, 1), (0, 3), (-1, 1), (-3, 0), (1, 4)] {
            let (mut az, x, y) = analyzer((-6, 6), (lo, hi));
            let p = &mut az.pool;
            let [a_expr, b_expr, c_expr] = [a, b, c].map(|value| p.int(value));
            let (ax, by) = (p.mul(x, a_expr), p.mul(y, b_expr));
            let sum = p.add(ax, by);
            let condition = p.lt(sum, c_expr);
            let simplified = az.simplify(condition);
            for (x, y) in (-6..=6).flat_map(|x| (lo..=hi).map(move |y| (x, y))) {
                let value = az.pool.eval(simplified, &|v| if v == X { x } else { y });
                assert_eq!(value, Some(i64::from(a * x + b * y < c)), "{a}*{x} + {b}*{y} < {c}");
            }
        }
    }
}

#[test]
fn a_division_by_zero_is_neither_hidden_nor_made() {
    let (mut az, x, n) = analyzer((0, 9), (0, 9));
    let p = &mut az.pool;
    let zero = p.int(0);
    let quotient = p.floor_div(x, n);
    let cancelled = p.sub(quotient, quotient);
    let scaled = p.mul(quotient, zero);
    let equal = p.eq(quotient, quotient);
    let decided = p.bool(false);
    let guarded = p.and(equal, decided);
    let chosen = p.select(equal, x, x);
    for e in [cancelled, scaled, equal, guarded, chosen] {
        let simplified = az.simplify(e);
        assert_eq!(az.pool.eval(simplified, &|_| 0), None, "{}", az.pool.display(e));
        assert_eq!(az.pool.eval(simplified, &|_| 3), az.pool.eval(e, &|_| 3));
    }
    // A guard goes on guarding.
    let nonzero = az.pool.ne(n, zero);
    let positive = az.pool.lt(zero, quotient);
    let guarded = az.pool.and(nonzero, positive);
    let simplified = az.simplify(guarded);
    assert_eq!(az.pool.eval(simplified, &|_| 0), Some(0));
    assert_eq!(az.prove(guarded), Verdict::Unknown);
    // The ends of a set stand outside of guards, so they must not divide.
    let set = az.eval_set(quotient, &[(X, SymInterval::new(zero, n))]);
    assert!([set.min, set.max].into_iter().flatten().all(|end| !az.pool.may_fail(end)));
}

#[test]
fn a_condition_does_not_outlive_its_scope() {
    let (mut az, x, y) = analyzer((0, 9), (0, 9));
    let less = az.pool.lt(x, y);
    az.push_constraint(less);
    assert!(az.can_prove(less));
    az.pop_constraint();
    assert_eq!(az.prove(less), Verdict::Unknown);
    let inside = az.scope(|az| {
        az.bind_range(X, Some(0), Some(0));
        let one = az.pool.int(1);
        az.bind(Y, one, one);
        az.can_prove(less)
    });
    assert!(inside);
    assert_eq!(az.prove(less), Verdict::Unknown);
    let branch = az.pool.select(less, less, less);
    let not = az.pool.not(less);
    let both = az.pool.or(branch, not);
    assert!(az.can_prove(both));
    assert_eq!(az.prove(less), Verdict::Unknown);
}

#[test]
fn a_condition_that_comes_back_is_weighed_against_what_is_known_then() {
    let mut az = Analyzer::new();
    let i = az.pool.var(Var(0));
    az.bind_range(Var(0), Some(0), None);
    let mut last = |limit: i64| {
        let mark = az.mark();
        az.bind_range(Var(1), Some(0), Some(limit));
        let j = az.pool.var(Var(1));
        let less = az.pool.lt(i, j);
        // Twice in one place, and in the same words as at other times.
        let bounds = [0, 1].map(|_| {
            az.scope(|az| {
                az.constrain(less);
                az.bounds(i).max()
            })
        });
        assert_eq!(bounds[0], bounds[1]);
        az.rollback(mark);
        bounds[0]
    };
    assert_eq!(last(10), Some(9));
    assert_eq!(last(100), Some(99));
    assert_eq!(last(10), Some(9));
}
