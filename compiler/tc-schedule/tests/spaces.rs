//! Spaces: lazily told, counted, drawn, asked for membership; and what is said where there is no point.

mod common;

use common::{pair, parse};
use tc_schedule::space::{Count, Differs, Member, Reject, Rejections, Why};
use tc_schedule::{Point, Space};
use tc_support::Diagnostics;
use tc_target::Target;

/// A module with `schedule @s for @f HEADER { BODY }` over a vector of `n` elements.
fn module(header: &str, body: &str) -> tc_ir::Module {
    parse(&format!(
        "te.func @f<n = 64>(A: f32[n]) -> f32[n] {{\n  compute B[i: n] = A[i] + 1.0\n  return B\n}}\n\
         schedule @s for @f {header} {{\n{body}\n}}\n"
    ))
}

fn with_space<T>(header: &str, defines: &[(&str, i64)], ask: impl FnOnce(Result<Space<'_>, Diagnostics>) -> T) -> T {
    let module = module(header, "  unroll(B.i)");
    let (te, sched) = pair(&module, "f", "s");
    let defines: Vec<(String, i64)> = defines.iter().map(|&(name, value)| (name.to_string(), value)).collect();
    ask(Space::of(te, sched, &defines))
}

fn all(header: &str) -> Vec<Vec<i64>> {
    with_space(header, &[], |space| {
        let space = space.expect("a space");
        space.points(u64::MAX).map(|point| point.expect("it can be evaluated").values).collect()
    })
}

/// The message and the help about the first point.
fn refused(header: &str, defines: &[(&str, i64)]) -> (String, String) {
    with_space(header, defines, |space| {
        let found = match space {
            Err(found) => found.iter().next().cloned().expect("a diagnostic"),
            Ok(space) => space.first().expect_err("there is no first point"),
        };
        (found.message, found.help.unwrap_or_default())
    })
}

#[test]
fn choices_are_expressions_over_sizes_and_earlier_parameters() {
    assert_eq!(all("(p: i32 in [n / 32, 8])"), [[2], [8]]);
    assert_eq!(all("(p: i32 in divisors(12), q: i32 in range(p, 7, 2)) where p > 3"), [[4, 4], [4, 6], [6, 6]]);
    assert_eq!(all("(p: i32 in [2, 4], q: i32 in [p, 4, p * 2])"), [[2, 2], [2, 4], [4, 4], [4, 8]]);
    assert_eq!(all("(c: bool in [true, false], q: i32 in [1, 2]) where c || q == 2"), [[1, 1], [1, 2], [0, 2]]);
    // Without parameters there is one point.
    assert_eq!(all(""), [[0i64; 0]]);
}

#[test]
fn a_condition_rules_out_what_a_later_one_could_not_evaluate() {
    assert_eq!(all("(p: i32 in range(0, 4), q: i32 in [6]) where p != 0, q % p == 0"), [[1, 6], [2, 6], [3, 6]]);
    assert_eq!(all("(p: i32 in range(0, 3)) where p != 0 && n % p == 0"), [[1], [2]]);
    let (message, help) = refused("(p: i32 in range(0, 4)) where n % p == 0", &[]);
    assert_eq!(message, "the condition `n % p == 0` has no value: `n % p` divides by zero with p = 0");
    assert!(help.contains("&&"), "{help}");
}

#[test]
fn what_cannot_be_a_choice_is_refused() {
    let message = |header: &str| refused(header, &[]).0;
    assert_eq!(
        message("(p: i32 in [0, 2], q: i32 in [8 / p])"),
        "the choices of `q` cannot be listed: `8 / p` divides by zero with p = 0"
    );
    assert_eq!(
        message("(p: i32 in [q, 2], q: i32 in [8])"),
        "the choices of `p` cannot be listed: `q` has no value there; it does not stand before"
    );
    assert_eq!(
        message("(p: i32 in divisors(blok))"),
        "the choices of `p` cannot be listed: there is no parameter `blok`, and no size of that name has a value"
    );
    assert_eq!(
        message("(p: i32 in divisors(0))"),
        "the choices of `p` cannot be listed: the divisors of 0 are not listed: there is 1 to 1099511627776"
    );
    assert_eq!(
        message("(p: i32 in range(0, 8, 0))"),
        "the choices of `p` cannot be listed: the step of `range` must be at least 1, not 0"
    );
    assert!(message("(p: i32 in powers(2))").contains("lists no choices"));
    assert_eq!(message("(p: i8 in [64, 128])"), "`p` is a `i8`, which cannot be 128");
    assert_eq!(message("(p: bool in [true, 2])"), "`p` is a `bool`, which cannot be 2");
    assert_eq!(message("(p: f32 in [1])"), "`p` is no integer and no `bool`");
    assert_eq!(message("(p: i32)"), "`p` has no choices, and is given no value");
    assert_eq!(message("(p: i32 in [4, 8], q: i32 in range(p, 4))"), "`q` has no choices with p = 8");
    assert_eq!(message("(p: i32 in [4611686018427387904 * 4])"), {
        "the choices of `p` cannot be listed: `4611686018427387904 * 4` overflows"
    });
}

#[test]
fn a_value_that_is_given_must_be_one_of_a_point() {
    let header = "(p: i32 in [2, 4], q: i32 in divisors(p), c: bool in [true]) where p * q <= 8";
    let refused = |defines: &[(&str, i64)]| refused(header, defines);
    assert_eq!(refused(&[("p", 3)]), ("`p` cannot be 3".to_string(), "its choices are 2 and 4".to_string()));
    assert_eq!(
        refused(&[("p", 2), ("q", 4)]),
        ("`q` cannot be 4 with p = 2".to_string(), "its choices are 1 and 2".to_string())
    );
    assert_eq!(refused(&[("c", 0)]).0, "`c` cannot be false");
    let first = "the first point is `p=2 q=1 c=true`".to_string();
    assert_eq!(
        refused(&[("p", 4), ("q", 4), ("c", 1)]),
        ("`p * q <= 8` does not hold with p = 4, q = 4, c = true".to_string(), first.clone())
    );
    assert_eq!(
        refused(&[("q", 4)]),
        ("no values of the other parameters of `@s` satisfy `p * q <= 8` with q = 4".to_string(), first)
    );
    assert_eq!(refused(&[("r", 4)]).0, "`@f` has no size or parameter `r`");
}

#[test]
fn a_large_space_is_counted_and_drawn_from_without_being_listed() {
    let huge = "(p: i64 in range(0, 1000000000000), q: i64 in range(0, 1000000000000), r: i32 in [1, 2, 3])";
    with_space(huge, &[], |space| {
        let space = space.expect("a space");
        assert_eq!(space.count(1000), Ok(Count::Exactly(3 * 10u128.pow(24))));
        let last = space.nth(3 * 10u128.pow(24) - 1).expect("it is reached").expect("it is there");
        assert_eq!(last.values, [999_999_999_999, 999_999_999_999, 3]);
        assert_eq!(space.nth(3 * 10u128.pow(24)), Ok(None));
        assert_eq!(space.nth(4).expect("it is reached"), Some(Point { values: vec![0, 1, 2] }));
        let drawn = space.sample(50, 7).expect("they can be drawn");
        assert_eq!((drawn.len(), space.sample(50, 7)), (50, Ok(drawn.clone())));
        assert!(drawn.iter().all(|point| space.contains(point).is_ok()));
        assert_ne!(space.sample(50, 8), Ok(drawn));
    });
    // A condition at the end leaves nothing to multiply.
    let held = "(p: i64 in range(0, 1000000000), q: i64 in range(0, 1000000000)) where (p + q) % 2 == 0";
    with_space(held, &[], |space| {
        let space = space.expect("a space");
        assert!(matches!(space.count(1000), Ok(Count::AtLeast(n)) if n > 100), "{:?}", space.count(1000));
        let drawn = space.sample(20, 1).expect("they can be drawn");
        assert_eq!(drawn.len(), 20);
        assert!(drawn.iter().all(|point| space.contains(point).is_ok()));
    });
}

#[test]
fn numbers_and_points_agree() {
    let header =
        "(p: i32 in divisors(24), q: i32 in divisors(p), r: i32 in range(0, 3), s: i32 in [r, 7]) where p + q > 3";
    with_space(header, &[], |space| {
        let space = space.expect("a space");
        let all: Vec<Point> = space.points(u64::MAX).map(|point| point.expect("a value")).collect();
        assert_eq!(space.count(u64::MAX), Ok(Count::Exactly(all.len() as u128)));
        for (nth, point) in all.iter().enumerate() {
            assert_eq!(space.nth(nth as u128).as_ref(), Ok(&Some(point.clone())));
            assert_eq!(space.contains(point), Ok(()));
        }
        assert_eq!(space.nth(all.len() as u128), Ok(None));
        assert_eq!(space.sample(all.len() + 1, 3), Ok(all.clone()));
        let some = space.sample(10, 3).expect("they can be drawn");
        assert!(some.len() == 10 && some.iter().all(|point| all.contains(point)), "{some:?}");
        assert_eq!(space.first().as_ref(), Ok(&all[0]));
    });
}

#[test]
fn what_is_no_point_is_told_why() {
    with_space("(p: i32 in [2, 4], q: i32 in divisors(p)) where p * q <= 8", &[], |space| {
        let space = space.expect("a space");
        let why = |values: &[i64]| space.contains(&Point { values: values.to_vec() });
        assert_eq!(why(&[4, 2]), Ok(()));
        assert_eq!(why(&[4]), Err(Why::Length { params: 2 }));
        assert_eq!(why(&[4, 4]), Err(Why::Fails { fact: "p * q <= 8".to_string() }));
        let shown = why(&[2, 4]).expect_err("no divisor").to_string();
        assert_eq!(shown, "`q` cannot be 4: its choices are 1 and 2");
    });
}

#[test]
fn a_point_beyond_the_target_is_rejected_before_there_is_a_program() {
    let body = "  AS = cache_read(A, shared)\n  bx, tx = split(B.i, factor = t)\n  bind(bx, blockIdx.x)\n  bind(tx, \
                threadIdx.x)\n  compute_at(AS, bx)\n  if late {\n    unroll(tx)\n  }";
    let module = module("(t: i32 in [32, 1024, 2048], late: bool in [false, true])", body);
    let (te, sched) = pair(&module, "f", "s");
    let space = Space::of(te, sched, &[("n".to_string(), 1 << 20)]).expect("a space");
    let target = Target::parse("sm_80").expect("there is such a target");
    let (mut valid, mut rejections) = (Vec::new(), Rejections::default());
    for point in space.points(u64::MAX) {
        let point = point.expect("a value");
        match space.judge(&point, &target) {
            Ok(()) => valid.push((space.show(&point), space.bounds(&point).expect("a valid point").launches.len())),
            Err(why) => rejections.add(&point, &why),
        }
    }
    assert_eq!(valid, [("t=32 late=false".to_string(), 2), ("t=1024 late=false".to_string(), 2)]);
    let told: Vec<(&str, u64, String)> =
        rejections.iter().map(|(reason, why)| (reason, why.count, space.show(&why.example))).collect();
    assert_eq!(
        told,
        [("said-twice", 3, "t=32 late=true".to_string()), ("threads > 1024", 1, "t=2048 late=false".to_string())]
    );
    assert_eq!(rejections.total(), 4);
    let point = Point { values: vec![2048, 0] };
    assert!(matches!(space.judge(&point, &target), Err(Reject::OverLimit(over)) if over.len() == 2));
}

const MATMUL: &str = "te.func @mm(A: f32[64, 32], B: f32[32, 48]) -> f32[64, 48] {
  compute C[i: 64, j: 48] = sum[k: 32](A[i, k] * B[k, j])
  return C
}
schedule @tiled for @mm (t: i32 in [8, 16], step: i32 in [4, 8], hint: i32 in [16, 32]) {
  CL = cache_write(C, local)
  AS = cache_read(A, shared, [CL])
  io, ii = split(C.i, factor = t)
  jo, ji = split(C.j, factor = t)
  reorder(io, jo, ii, ji)
  bind(io, blockIdx.y)
  bind(jo, blockIdx.x)
  bind(ii, threadIdx.y)
  bind(ji, threadIdx.x)
  compute_at(CL, ji)
  ko, ki = split(CL.k, factor = step)
  compute_at(AS, ko)
  pragma(ki, auto_unroll_max_step = hint)
}
";

/// The nearest point, and the directives that only one of the two has.
type Nearest = (String, Option<String>, Option<String>);

/// What `@mine`, whose body is `body`, is in the space `@tiled`: a point, or else where the nearest one differs.
fn member(body: &str) -> (Option<Vec<i64>>, Option<Nearest>) {
    let module = parse(&format!("{MATMUL}schedule @mine for @mm {{\n{body}\n}}\n"));
    let (te, tiled) = pair(&module, "mm", "tiled");
    let space = Space::of(te, tiled, &[]).expect("a space");
    let (_, mine) = pair(&module, "mm", "mine");
    let mine = Space::of(te, mine, &[]).expect("a space of one point");
    match space.member(&mine, 1000).expect("both can be applied") {
        Member::Is(point) => (Some(point.values), None),
        Member::Not { nearest, compared, all } => {
            assert_eq!((compared, all), (8, true));
            let (point, Differs { here, there }) = nearest.expect("points can be applied");
            (None, Some((space.show(&point), here.map(|one| one.text), there.map(|one| one.text))))
        }
    }
}

/// `@tiled` at t = 16, step = 8, hint = 32 under other names, and with directives in another order.
const SAME: &str = "  acc = cache_write(C, local)
  x, xi = split(C.j, factor = 16)
  y, yi = split(C.i, factor = 16)
  reorder(y, x, yi, xi)
  bind(xi, threadIdx.x)
  bind(yi, threadIdx.y)
  bind(x, blockIdx.x)
  bind(y, blockIdx.y)
  ko, ki = split(acc.k, factor = 8)
  tile_a = cache_read(A, shared, [acc])
  compute_at(tile_a, ko)
  pragma(ki, auto_unroll_max_step = 32)
  compute_at(acc, xi)";

#[test]
fn a_schedule_is_the_point_that_gives_the_same() {
    assert_eq!(member(SAME), (Some(vec![16, 8, 32]), None));
}

#[test]
fn a_schedule_that_is_no_point_is_told_where_the_nearest_differs() {
    let changed = |from: &str, to: &str| {
        assert!(SAME.contains(from));
        let (point, nearest) = member(&SAME.replace(from, to));
        assert_eq!(point, None);
        nearest.expect("there is a nearest point")
    };
    let text = |text: &str| Some(text.to_string());
    let (point, here, there) = changed("acc.k, factor = 8", "acc.k, factor = 2");
    assert_eq!((here, there), (text("split(acc.k, factor = 2)"), text("split(CL.k, factor = 4)")));
    assert!(point.starts_with("t=16"), "{point}");
    // What only a hint says counts too.
    let (point, here, there) = changed("max_step = 32", "max_step = 33");
    assert_eq!(point, "t=16 step=8 hint=16");
    assert_eq!(here, text("pragma(ki, auto_unroll_max_step = 33)"));
    assert_eq!(there, text("pragma(ki, auto_unroll_max_step = 16)"));
    let (_, here, there) = changed("shared, [acc]", "local, [acc]");
    assert_eq!((here, there), (text("cache_read(A, local, [acc])"), text("cache_read(A, shared, [CL])")));
    // The same directives, one of them too few.
    let (_, here, there) = changed("\n  compute_at(tile_a, ko)", "");
    assert_eq!((here, there), (None, text("compute_at(AS, ko)")));
}
