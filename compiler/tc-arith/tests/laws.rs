//! The laws that the rules state are proved by the solver z3, and tried at all points of a small range: two ways that
//! have nothing in common but the reader of the statements.

mod law;

use law::z3::{self, Answer};
use law::{Law, on_all_cores, parse};
use tc_arith::rules;

/// A law that the solver leaves undecided.
struct Open {
    law: &'static str,
    /// Why it holds.
    argument: &'static str,
    /// The numbers for which it is tried at all points: more than for other laws.
    tried: (i64, i64),
}

/// The laws that the solver leaves undecided. The fewer the better; their number is stated in `open_laws_are_counted`.
const OPEN: &[Open] = &[];

/// The numbers for which every law is tried at all points.
const TRIED: (i64, i64) = (-4, 3);
/// The same for laws with types, of 2 and 3 bits: numbers outside each are among them.
const TRIED_AROUND_TYPES: (i64, i64) = (-9, 9);

fn read(text: &str) -> Vec<Law> {
    parse::laws(text).unwrap_or_else(|error| panic!("{error}"))
}

/// Every law, with the name of its rule.
fn laws() -> Vec<(&'static str, Law)> {
    let stated = rules::all().flat_map(|rule| rule.laws.iter().map(|text| (rule.name, *text)));
    let stated = stated.chain(rules::FOLDS.iter().map(|text| ("fold", *text)));
    stated.flat_map(|(name, text)| read(text).into_iter().map(move |law| (name, law))).collect()
}

/// What the solver says of each law.
fn answers(laws: &[(&'static str, Law)]) -> Vec<Answer> {
    let solver = z3::find().unwrap_or_else(|error| panic!("{error}"));
    on_all_cores(laws, |(_, law)| z3::prove(&solver, law))
}

/// What is wrong with an answer.
fn complaint(name: &str, law: &str, answer: &Answer, open: &[&str]) -> Option<String> {
    match (answer, open.contains(&law)) {
        (Answer::Proved, false) | (Answer::Undecided, true) => None,
        (Answer::Proved, true) => Some(format!("{name}: `{law}` is proved now: take it from the list of open laws")),
        (Answer::Undecided, false) => Some(format!("{name}: `{law}` is not decided: put it another way, or list it")),
        (Answer::Refuted(at), _) => Some(format!("{name}: `{law}` is wrong {at}")),
    }
}

#[test]
fn every_rule_has_laws_and_each_is_proved() {
    let silent: Vec<&str> = rules::all().filter(|rule| rule.laws.is_empty()).map(|rule| rule.name).collect();
    assert!(silent.is_empty(), "rules without a law: {silent:?}");
    let laws = laws();
    let open: Vec<&str> = OPEN.iter().map(|open| open.law).collect();
    let answers = answers(&laws);
    let complaints =
        laws.iter().zip(&answers).filter_map(|((name, law), answer)| complaint(name, &law.text, answer, &open));
    let complaints: Vec<String> = complaints.collect();
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
}

#[test]
fn every_law_holds_at_all_points_of_a_small_range_and_says_something_there() {
    for (name, law) in laws() {
        let (lo, hi) = if law.has_types() { TRIED_AROUND_TYPES } else { TRIED };
        let points = law.try_all(lo, hi).unwrap_or_else(|wrong| panic!("{name}: `{}` is wrong {wrong}", law.text));
        assert!(points > 0, "{name}: the conditions of `{}` are never satisfied", law.text);
    }
}

#[test]
fn open_laws_are_counted_argued_and_tried_further() {
    assert_eq!(OPEN.len(), 0);
    let laws = laws();
    for open in OPEN {
        assert!(open.argument.len() > 80 && open.tried.0 < TRIED.0 && open.tried.1 > TRIED.1, "{}", open.law);
        let (_, law) = laws.iter().find(|(_, law)| law.text == open.law).expect("the law is stated by a rule");
        law.try_all(open.tried.0, open.tried.1).unwrap_or_else(|wrong| panic!("`{}` is wrong {wrong}", law.text));
    }
}

/// Laws that do not hold, and what is said of them: a condition is missing, or one side fails where the other does not.
const WRONG: &[(&str, &str)] = &[
    ("x/c*c -> x if c > 0", "the left side is"),
    ("x/c*c + x%c -> x", "the left side is a division by zero"),
    ("min(x, y) -> x if x <= y", "y fails: the left side is a division by zero"),
    ("x*k -> 0 if k == 0", "x fails"),
    ("tdiv(x, n) -> x / n if 0 < n", "the left side is"),
    ("x % n -> x if 0 <= x < n", "the left side is a division by zero"),
    ("p && q -> q && p", "a division by zero"),
    ("select(p, x, y) -> select(p, x', y) if p => x == x'", "fails"),
    ("(x/d + k) / c -> (x + k*d) / (d*c) if d > 0", "c = -"),
    ("x*d + y < k -> x < k/d if d > 0, -d < y < d", "the left side is"),
    ("min(x, y)*a + z <= k -> x*a + z <= k if k < y*a + z, defined(y)", "the left side is"),
    ("x ~ k -> x < k + 1", "the left side is"),
    ("cast<t>(x) + y -> cast<t>(x + y)", "the left side is"),
    ("cast<t>(x / y) -> cast<t>(cast<t>(x) / cast<t>(y)) if 0 <= y", "the left side is"),
    ("cast<t>(cast<s>(x)) -> cast<t>(x)", "the left side is"),
    ("cast<t>(x) -> x if cast<s>(x) == x", "the left side is"),
];

#[test]
fn a_wrong_law_is_refuted_both_ways() {
    let solver = z3::find().unwrap_or_else(|error| panic!("{error}"));
    for (text, words) in WRONG {
        let answers: Vec<Answer> = read(text).iter().map(|law| z3::prove(&solver, law)).collect();
        let refuted = answers.iter().find_map(|answer| if let Answer::Refuted(at) = answer { Some(at) } else { None });
        let at = refuted.unwrap_or_else(|| panic!("`{text}`: {answers:?}"));
        assert!(at.contains(words), "`{text}` is wrong {at}");
        let range = if text.contains("cast") { TRIED_AROUND_TYPES } else { TRIED };
        assert!(read(text).iter().any(|law| law.try_all(range.0, range.1).is_err()), "`{text}`");
    }
}

/// What is true of machine types.
const TYPED: &[&str] = &[
    "cast<t>(x) -> x if x in t",
    "cast<t>(cast<t>(x) + y) -> cast<t>(x + y)",
    "cast<t>(cast<t>(x) - cast<t>(y)) -> cast<t>(x - y)",
    "cast<t>(cast<t>(x) * y) -> cast<t>(x * y)",
    "cast<s>(cast<t>(x)) -> cast<t>(x) if t in s",
    "cast<t>(x) ~ k -> x ~ k if x in t",
    "cast<t>(x) / c -> x / c if c > 0, x in t",
];

#[test]
fn laws_of_machine_types_are_proved_for_narrow_types() {
    let laws: Vec<(&str, Law)> = TYPED.iter().flat_map(|text| read(text)).map(|law| ("typed", law)).collect();
    for ((_, law), answer) in laws.iter().zip(answers(&laws)) {
        assert_eq!(answer, Answer::Proved, "{}", law.text);
        law.try_all(TRIED_AROUND_TYPES.0, TRIED_AROUND_TYPES.1)
            .unwrap_or_else(|wrong| panic!("`{}`: {wrong}", law.text));
    }
}

#[test]
fn what_the_solver_cannot_decide_is_said() {
    let solver = z3::find().unwrap_or_else(|error| panic!("{error}"));
    // Euler proved it in 1770; the solver does not in a second.
    let [law] = &read("x*x*x + y*y*y == n*n*n -> false if 0 < x, 0 < y, 0 < n, defined(x + y + n)")[..] else {
        panic!()
    };
    let domain = law::smt::Domain { bits: None, types: Vec::new() };
    assert_eq!(z3::ask(&solver, law, &domain, 1), Answer::Undecided);
    let said = |answer: &Answer, open: &[&str]| complaint("rule", "law", answer, open).unwrap_or_default();
    assert_eq!(said(&Answer::Undecided, &[]), "rule: `law` is not decided: put it another way, or list it");
    assert_eq!(said(&Answer::Undecided, &["law"]), "");
    assert_eq!(said(&Answer::Proved, &["law"]), "rule: `law` is proved now: take it from the list of open laws");
    assert_eq!(said(&Answer::Refuted("at x = 0".into()), &["law"]), "rule: `law` is wrong at x = 0");
}

#[test]
fn at_widths_nothing_wraps() {
    let solver = z3::find().unwrap_or_else(|error| panic!("{error}"));
    let domain = |bits| law::smt::Domain { bits: Some(bits), types: Vec::new() };
    let right = [
        "x*y + x*z -> x*(y + z)",
        "x/n*n + x%n -> x if n != 0, defined(n)",
        "tdiv(x, n)*n + tmod(x, n) -> x if n != 0, defined(n)",
        "-(-x) -> x",
        "x % -c -> -(-x % c) if c > 0",
        "tdiv(x, y) -> -tdiv(x, -y)",
    ];
    for law in right.iter().flat_map(|text| read(text)) {
        assert_eq!(z3::ask(&solver, &law, &domain(4), 60), Answer::Proved, "{}", law.text);
    }
    for law in ["x + y < 10 -> true if defined(x), defined(y)", "x / n -> -8 if x == -8, n == -1"]
        .iter()
        .flat_map(|text| read(text))
    {
        assert!(matches!(z3::ask(&solver, &law, &domain(4), 60), Answer::Refuted(_)), "{}", law.text);
    }
}

#[test]
fn a_statement_that_cannot_be_read_is_refused() {
    let wrong = [
        ("x + y", "expected `->`"),
        ("x + f -> x", "`f` is no name, at `f -> x`"),
        ("x -> y if", "`` is no name"),
        ("x -> y, z", "expected the end"),
        ("x -> p", "expected an integer"),
        ("p + x -> x", "expected an integer"),
        ("x && p -> p", "expected a truth value"),
        ("select(x, y, z) -> x", "expected a truth value"),
        ("select(p, y, q) -> x", "expected an integer"),
        ("x -> y if x", "expected a truth value"),
        ("x -> y if x = p", "expected an integer"),
        ("cast<x>(y) -> y", "expected a type"),
        ("t + x -> x", "a type stands for a value"),
        ("min(x) -> x", "expected 2 arguments"),
        ("x # y -> x", "`#` is no sign of laws"),
    ];
    for (text, said) in wrong {
        let error = parse::laws(text).map(|laws| laws.len()).expect_err(text);
        assert!(error.starts_with(&format!("`{text}`: ")) && error.contains(said), "{error}");
    }
}
