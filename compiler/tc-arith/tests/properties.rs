//! Answers of the analyzer against evaluation, on random expressions with random knowledge.

mod common;

use common::{Case, DEFINED, VARS};
use proptest::prelude::*;
use tc_arith::{Expr, SymInterval, Var, Verdict};

/// Points tried for each case.
const POINTS: u32 = 40;

/// `PROPTEST_CASES` asks for more, `PROPTEST_RNG_SEED` for other ones.
fn config() -> ProptestConfig {
    let usual = ProptestConfig::default();
    ProptestConfig { cases: usual.cases.max(2000), failure_persistence: None, ..usual }
}

/// A case with assumptions, and the number of levels of its expressions.
fn cases() -> impl Strategy<Value = (u64, u32)> {
    (any::<u64>(), 0..4u32)
}

fn make(seed: u64) -> Case {
    let mut case = Case::new(seed);
    case.assume();
    case
}

/// The value at a point that satisfies what is known, if there is one.
fn value(case: &Case, e: Expr, point: &[i64]) -> Option<i64> {
    let known = case.known();
    if known.iter().any(|&condition| !matches!(case.eval(condition, point), Ok(x) if x != 0)) {
        return None;
    }
    case.eval(e, point).ok()
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn simplify_keeps_the_value((seed, depth) in cases()) {
        let mut case = make(seed);
        let e = if seed % 3 == 0 { case.condition(depth) } else { case.integer(depth) };
        let simplified = case.az.simplify(e);
        let known = case.known();
        case.check_same("simplify", e, simplified, &known, POINTS);
    }

    #[test]
    fn simplify_twice_is_simplify_once((seed, depth) in cases()) {
        let mut case = make(seed);
        let e = if seed % 3 == 0 { case.condition(depth) } else { case.integer(depth) };
        let once = case.az.simplify(e);
        prop_assume!(!case.az.gave_up());
        // What is remembered of the first time must not answer the second.
        case.az.forget();
        let twice = case.az.simplify(once);
        prop_assert_eq!(case.show(once), case.show(twice), "of {}", case.show(e));
    }

    #[test]
    fn bounds_and_modular_sets_hold_every_value((seed, depth) in cases()) {
        let mut case = make(seed);
        let e = case.integer(depth);
        let (bounds, set) = (case.az.bounds(e), case.az.modular(e));
        for _ in 0..POINTS {
            let point = case.point();
            if let Some(value) = value(&case, e, &point) {
                prop_assert!(bounds.contains(value), "{} is {value} at {point:?}, outside {bounds}", case.show(e));
                prop_assert!(set.contains(value), "{} is {value} at {point:?}, outside {set}", case.show(e));
            }
        }
    }

    #[test]
    fn proofs_are_never_contradicted((seed, depth) in cases()) {
        let mut case = make(seed);
        let e = case.condition(depth);
        let verdicts = [case.az.prove(e), case.az.prove_by_enumeration(e, 600)];
        for _ in 0..POINTS {
            let point = case.point();
            let value = value(&case, e, &point);
            for verdict in verdicts {
                let wrong = match verdict {
                    Verdict::True => value == Some(0),
                    Verdict::False => value.is_some_and(|value| value != 0),
                    Verdict::Unknown => false,
                };
                prop_assert!(!wrong, "{} is {value:?} at {point:?}, {verdicts:?}", case.show(e));
            }
        }
    }

    #[test]
    fn sets_hold_every_value((seed, depth) in cases()) {
        let mut case = Case::new(seed);
        let (e, condition) = (case.integer(depth), case.condition(1));
        // Two of the variables run, the second over a part that depends on one that does not.
        let ends = [0, 1].map(|i| {
            let (lo, hi) = case.ranges[i];
            [lo, hi].map(|end| case.az.pool.int(end))
        });
        let outer = case.az.pool.var(Var(2));
        let shifted = ends[1].map(|end| case.az.pool.add(end, outer));
        let relaxed = [(Var(0), SymInterval::new(ends[0][0], ends[0][1])), (Var(6), SymInterval::new(shifted[0], shifted[1]))];
        let v6 = case.az.pool.var(Var(6));
        let e = case.az.pool.subst(e, &[(Var(1), v6)]);
        let condition = case.az.pool.subst(condition, &[(Var(1), v6)]);
        let (set, under) = (case.az.eval_set(e, &relaxed), case.az.eval_set_under(e, &relaxed, condition));
        for end in [set.min, set.max, under.min, under.max].into_iter().flatten() {
            prop_assert!(![Var(0), Var(6)].iter().any(|&v| case.az.pool.uses(end, v)));
        }
        for _ in 0..POINTS {
            let mut point = case.point();
            point.push(point[1] + point[2]);
            let Ok(value) = case.eval(e, &point) else { continue };
            check_within(&case, e, set, value, &point)?;
            if case.eval(condition, &point).is_ok_and(|holds| holds != 0) {
                check_within(&case, e, under, value, &point)?;
            }
        }
    }

    #[test]
    fn sets_of_affine_expressions_are_exact(seed in any::<u64>()) {
        let mut case = Case::new(seed);
        let e = case.affine();
        let e = case.az.expand(e);
        let relaxed: Vec<(Var, SymInterval)> = (0..2).map(|v: u32| {
            let (lo, hi) = case.ranges[v as usize];
            (Var(v), SymInterval::new(case.az.pool.int(lo), case.az.pool.int(hi)))
        }).collect();
        let set = case.az.eval_set(e, &relaxed);
        let point = case.point();
        let mut values = Vec::new();
        for (i, j) in (0..2).flat_map(|i| (0..2).map(move |j| (i, j))) {
            let mut corner = point.clone();
            let at = |v: usize, end: i32| if end == 0 { case.ranges[v].0 } else { case.ranges[v].1 };
            (corner[0], corner[1]) = (at(0, i), at(1, j));
            values.push(case.eval(e, &corner).unwrap());
        }
        let ends = [set.min.unwrap(), set.max.unwrap()].map(|end| case.eval(end, &point).unwrap());
        prop_assert_eq!(ends, [*values.iter().min().unwrap(), *values.iter().max().unwrap()], "{}", case.show(e));
    }

    #[test]
    fn a_hull_holds_both_sets(seed in any::<u64>()) {
        let mut case = Case::new(seed);
        let ends: Vec<Expr> = (0..4).map(|_| case.affine()).collect();
        let (a, b) = (SymInterval::new(ends[0], ends[1]), SymInterval::new(ends[2], ends[3]));
        let hull = case.az.union(a, b);
        let (min, max) = (hull.min.unwrap(), hull.max.unwrap());
        for _ in 0..POINTS {
            let point = case.point();
            let values: Vec<i64> = ends.iter().map(|&end| case.eval(end, &point).unwrap()).collect();
            prop_assert_eq!(case.eval(min, &point).unwrap(), values[0].min(values[2]));
            prop_assert_eq!(case.eval(max, &point).unwrap(), values[1].max(values[3]));
        }
    }

    #[test]
    fn deduced_bounds_are_right_and_exact_where_linear((seed, depth) in (any::<u64>(), 0..2u32)) {
        let mut case = Case::new(seed);
        let linear = depth == 0;
        let condition = if linear { affine_comparison(&mut case) } else { case.comparison(depth) };
        let relaxed = relaxed_by_constants(&mut case, if seed % 2 == 0 { &[1] } else { &[] });
        let Some(set) = case.az.deduce_bound(Var(0), condition, &relaxed) else { return Ok(()) };
        for end in [set.min, set.max].into_iter().flatten() {
            prop_assert!(!case.az.pool.uses(end, Var(0)));
            prop_assert!(seed % 2 != 0 || !case.az.pool.uses(end, Var(1)));
        }
        for _ in 0..POINTS / 4 {
            let point = case.point();
            let inside = within(&case, set, point[0], &point);
            let holds = holds_for_all(&case, condition, &point, seed % 2 == 0);
            prop_assert!(!inside || holds, "{} for v0 in {}, not at {point:?}", case.show(condition), show(&case, set));
            if linear {
                prop_assert!(inside || !holds, "{} at {point:?}, outside {}", case.show(condition), show(&case, set));
            }
        }
    }

    #[test]
    fn linear_forms_are_the_expression(seed in any::<u64>()) {
        let mut case = Case::new(seed);
        let (a, b) = (case.affine(), case.affine());
        let n = case.az.pool.var(Var(3));
        let scaled = case.az.pool.mul(b, n);
        let e = if seed % 2 == 0 { a } else { case.az.pool.add(a, scaled) };
        let e = case.az.expand(e);
        let vars = [Var(0), Var(1)];
        let form = case.az.linear(e, &vars);
        // `v3` may meet itself and the others, so the sum is linear in the two variables at all times.
        let form = form.unwrap();
        prop_assert!(!form.coeffs.iter().chain([&form.constant]).any(|&part| case.az.pool.uses_any(part, &vars)));
        let point = case.point();
        let value = |part: Expr| case.eval(part, &point).unwrap();
        let sum = value(form.coeffs[0]) * point[0] + value(form.coeffs[1]) * point[1] + value(form.constant);
        prop_assert_eq!(sum, value(e), "{}", case.show(e));
        let all: Vec<Var> = (0..VARS).map(Var).collect();
        if let Some(form) = case.az.linear_const(a, &all) {
            let sum: i64 = form.coeffs.iter().zip(&point).map(|(c, x)| c * x).sum::<i64>() + form.constant;
            prop_assert_eq!(sum, case.eval(a, &point).unwrap());
        } else {
            prop_assert!(case.az.pool.uses(a, DEFINED));
        }
    }

    #[test]
    fn floor_is_truncation_where_it_is_said_to_be((seed, depth) in cases()) {
        let mut case = make(seed);
        let (num, den) = (case.integer(depth), if seed % 2 == 0 { case.constant() } else { case.variable() });
        if case.az.floor_is_trunc(num, den) {
            let known = case.known();
            let p = &mut case.az.pool;
            let (floor, trunc) = (p.floor_div(num, den), p.trunc_div(num, den));
            let (floor_rest, trunc_rest) = (p.floor_mod(num, den), p.trunc_mod(num, den));
            case.check_same("floor is trunc", floor, trunc, &known, POINTS);
            case.check_same("floor is trunc", floor_rest, trunc_rest, &known, POINTS);
        }
    }

    #[test]
    fn substitution_is_evaluation_with_other_values((seed, depth) in cases()) {
        let mut case = Case::new(seed);
        let (e, by) = (case.integer(depth), case.affine());
        let replaced = case.az.pool.subst(e, &[(Var(0), by)]);
        for _ in 0..POINTS {
            let mut point = case.point();
            let after = case.eval(replaced, &point);
            point[0] = case.eval(by, &point).unwrap();
            prop_assert_eq!(case.eval(e, &point), after);
        }
    }

    #[test]
    fn no_rewrite_overflows_where_the_expression_did_not(seed in any::<u64>()) {
        let (mut case, constants) = extreme(seed);
        let e = with_extremes(&mut case, &constants);
        let simplified = case.az.simplify(e);
        case.check_same("extreme", e, simplified, &[], 60);
        let (bounds, set) = (case.az.bounds(e), case.az.modular(e));
        for _ in 0..POINTS {
            let point = case.point();
            if let Ok(value) = case.eval(e, &point) {
                prop_assert!(bounds.contains(value) && set.contains(value), "{} is {value}", case.show(e));
            }
        }
    }
}

fn check_within(case: &Case, e: Expr, set: SymInterval, value: i64, point: &[i64]) -> Result<(), TestCaseError> {
    prop_assert!(within(case, set, value, point), "{} is {value} at {point:?}: {}", case.show(e), show(case, set));
    Ok(())
}

fn within(case: &Case, set: SymInterval, value: i64, point: &[i64]) -> bool {
    let end = |end: Option<Expr>| end.map(|end| case.eval(end, point).expect("ends have values"));
    end(set.min).is_none_or(|min| min <= value) && end(set.max).is_none_or(|max| value <= max)
}

fn show(case: &Case, set: SymInterval) -> String {
    let end = |end: Option<Expr>| end.map_or("open".into(), |end| case.show(end));
    format!("[{}, {}]", end(set.min), end(set.max))
}

fn affine_comparison(case: &mut Case) -> Expr {
    let (a, b) = (case.affine(), case.affine());
    if case.random.chance(2) { case.az.pool.lt(a, b) } else { case.az.pool.le(a, b) }
}

fn relaxed_by_constants(case: &mut Case, vars: &[u32]) -> Vec<(Var, SymInterval)> {
    let set = |case: &mut Case, v: u32| {
        let (lo, hi) = case.ranges[v as usize];
        SymInterval::new(case.az.pool.int(lo), case.az.pool.int(hi))
    };
    vars.iter().map(|&v| (Var(v), set(case, v))).collect()
}

/// Whether the condition holds at the point, for every value of the second variable if that one is relaxed.
fn holds_for_all(case: &Case, condition: Expr, point: &[i64], relaxed: bool) -> bool {
    let mut program = point.to_vec();
    let (lo, hi) = if relaxed { case.ranges[1] } else { (point[1], point[1]) };
    (lo..=hi).all(|value| {
        program[1] = value;
        let defined = case.definition_value(&program);
        program[DEFINED.0 as usize] = defined;
        case.eval(condition, &program).is_ok_and(|holds| holds != 0)
    })
}

/// Variables over extreme ranges, and extreme constants.
fn extreme(seed: u64) -> (Case, Vec<i64>) {
    let ranges =
        [(i64::MIN + 1, -(i64::MAX / 2)), (i64::MAX / 3, i64::MAX - 1), (-3, 3), (0, 1 << 40), (-(1 << 62), 5)];
    let case = Case::with_ranges(seed, ranges.to_vec());
    let half = 1 << 62;
    (case, vec![i64::MIN, i64::MIN + 1, -half, -3, -1, 2, 3, 7, 1 << 31, half, half - 1, i64::MAX - 1, i64::MAX])
}

fn with_extremes(case: &mut Case, constants: &[i64]) -> Expr {
    use tc_arith::BinaryOp::*;
    let mut stack: Vec<Expr> = (0..VARS).map(|v| case.az.pool.var(Var(v))).collect();
    for _ in 0..case.random.range(1, 7) {
        let op = case.random.pick(&[Add, Sub, Mul, FloorDiv, FloorMod, TruncDiv, TruncMod, Min, Max, Lt, Le, Eq]);
        let (a, b) = (case.random.pick(&stack), case.random.pick(&stack));
        let c = case.random.pick(constants);
        let c = case.az.pool.int(c);
        let b = if case.random.chance(2) { c } else { b };
        let e = if case.random.chance(4) { case.az.pool.binary(op, b, a) } else { case.az.pool.binary(op, a, b) };
        stack.push(e);
    }
    stack[stack.len() - 1]
}
