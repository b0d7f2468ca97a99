//! The canonical forms that a reader sees, and what is known of the index arithmetic of tiled loops.

use tc_arith::{Analyzer, Expr, SymInterval, Var, Verdict};

/// The launch and loops of a tiled convolution: names, and extents from 0.
const LOOPS: [(&str, i64); 8] =
    [("bx", 513), ("ty", 8), ("tx", 4), ("ro", 4), ("ri", 8), ("i", 64), ("j", 49), ("k", 16)];

fn analyzer() -> Analyzer {
    let mut az = Analyzer::new();
    for (v, (name, extent)) in (0..).zip(LOOPS) {
        az.pool.named_var(Var(v), name);
        let (min, extent) = (az.pool.int(0), az.pool.int(extent));
        az.bind(Var(v), min, extent);
    }
    for (v, name) in [(20, "n"), (21, "m"), (22, "p")] {
        az.pool.named_var(Var(v), name);
    }
    az
}

fn var(name: &str) -> Var {
    let at = LOOPS.iter().position(|(other, _)| *other == name);
    let symbol = ["n", "m", "p"].iter().position(|other| *other == name);
    Var(at.unwrap_or_else(|| 20 + symbol.expect("the name is in one of the lists")) as u32)
}

/// Reads an expression in the syntax that `display` prints, so that cases are text on both sides.
struct Reader<'a> {
    az: &'a mut Analyzer,
    tokens: Vec<String>,
    at: usize,
}

fn read(az: &mut Analyzer, text: &str) -> Expr {
    let mut tokens: Vec<String> = Vec::new();
    let mut joins = false;
    for c in text.chars() {
        let last = tokens.last_mut().filter(|_| joins);
        let word = c.is_ascii_alphanumeric();
        match last {
            Some(last) if word && last.chars().all(|c| c.is_ascii_alphanumeric()) => last.push(c),
            Some(last) if matches!((last.as_str(), c), ("<" | "=" | "!", '=') | ("&", '&') | ("|", '|')) => {
                last.push(c)
            }
            _ if c != ' ' => tokens.push(c.into()),
            _ => {}
        }
        joins = c != ' ';
    }
    let mut reader = Reader { az, tokens, at: 0 };
    let e = reader.binary(0);
    assert_eq!(reader.at, reader.tokens.len(), "all of {text} is read");
    e
}

impl Reader<'_> {
    fn peek(&self) -> &str {
        self.tokens.get(self.at).map_or("", |token| token)
    }

    fn take(&mut self) -> String {
        self.at += 1;
        self.tokens[self.at - 1].clone()
    }

    fn binary(&mut self, level: usize) -> Expr {
        use tc_arith::BinaryOp::*;
        let levels: [&[(&str, _)]; 5] = [
            &[("||", Or)],
            &[("&&", And)],
            &[("<", Lt), ("<=", Le), ("==", Eq), ("!=", Ne)],
            &[("+", Add), ("-", Sub)],
            &[("*", Mul), ("/", FloorDiv), ("%", FloorMod)],
        ];
        if level == levels.len() {
            return self.atom();
        }
        let mut left = self.binary(level + 1);
        while let Some(&(_, op)) = levels[level].iter().find(|(symbol, _)| *symbol == self.peek()) {
            self.take();
            let right = self.binary(level + 1);
            left = self.az.pool.binary(op, left, right);
        }
        left
    }

    fn atom(&mut self) -> Expr {
        let token = self.take();
        match token.as_str() {
            "(" => {
                let e = self.binary(0);
                assert_eq!(self.take(), ")");
                e
            }
            "-" => {
                let (zero, e) = (self.az.pool.int(0), self.atom());
                self.az.pool.sub(zero, e)
            }
            "!" => {
                let e = self.atom();
                self.az.pool.not(e)
            }
            "min" | "max" | "tdiv" | "tmod" | "select" | "likely" => {
                let mut parts = Vec::new();
                // An opening parenthesis, then commas, until it closes.
                while self.take() != ")" {
                    parts.push(self.binary(0));
                }
                let p = &mut self.az.pool;
                match (token.as_str(), &parts[..]) {
                    ("min", &[a, b]) => p.min(a, b),
                    ("max", &[a, b]) => p.max(a, b),
                    ("tdiv", &[a, b]) => p.trunc_div(a, b),
                    ("tmod", &[a, b]) => p.trunc_mod(a, b),
                    ("select", &[c, a, b]) => p.select(c, a, b),
                    ("likely", &[a]) => p.likely(a),
                    _ => panic!("wrong number of operands of {token}"),
                }
            }
            _ => match token.parse() {
                Ok(value) => self.az.pool.int(value),
                Err(_) => self.az.pool.var(var(&token)),
            },
        }
    }
}

fn check(az: &mut Analyzer, cases: &[(&str, &str)]) {
    for &(before, after) in cases {
        let e = read(az, before);
        let simplified = az.simplify(e);
        assert_eq!(az.pool.display(simplified).to_string(), after, "simplified from {before}");
    }
}

#[test]
fn sums_read_in_the_order_in_which_they_were_written() {
    check(
        &mut analyzer(),
        &[
            ("(bx * 8 + ty) * 4 + tx - (ro * 8 + ri)", "bx * 32 + ty * 4 + tx - ro * 8 - ri"),
            ("3 + i - 5 + 4 * j", "i + j * 4 - 2"),
            ("-i + j", "j - i"),
            ("-i - j * 2", "-i - j * 2"),
            ("5 - i", "5 - i"),
            ("i * n + j * n - n * i", "j * n"),
            ("(i + 1) * (n + 2)", "i * n + i * 2 + n + 2"),
            ("((i * 4 + j) * 16 + k) * 32 + tx", "i * 2048 + j * 512 + k * 32 + tx"),
            ("i - i", "0"),
            ("n * 3 - (n + n + n)", "0"),
        ],
    );
}

#[test]
fn divisions_of_tiled_indices_come_apart() {
    check(
        &mut analyzer(),
        &[
            ("(bx * 32 + ty * 4 + tx) / 4", "bx * 8 + ty"),
            ("(bx * 32 + ty * 4 + tx) % 4", "tx"),
            ("(bx * 32 + ty * 4 + tx) / 32 * 32 + (bx * 32 + ty * 4 + tx) % 32", "bx * 32 + ty * 4 + tx"),
            ("(bx * 32 + ty * 4 + tx) / 128", "bx / 4"),
            ("(bx * 32 + ty * 4 + tx) % 128", "bx % 4 * 32 + ty * 4 + tx"),
            ("n / 4 * 4 + n % 4", "n"),
            ("n / 4 % 8 * 4 + n % 4", "n % 32"),
            ("n - n % 4", "n / 4 * 4"),
            ("n - n / 4 * 4", "n % 4"),
            ("n / 4 / 8", "n / 32"),
            ("n % 32 % 8", "n % 8"),
            ("n % 32 / 8", "n / 8 % 4"),
            ("(n + 7) / 4", "(n + 3) / 4 + 1"),
            ("i % 64", "i"),
            ("i / 64", "0"),
            ("(i + 64) % 64", "i"),
            ("(n * 6 + 4) / 4", "n * 3 / 2 + 1"),
            ("j / 49 + j % 49", "j"),
            ("n / -4", "-n / 4"),
            ("tdiv(i, 8)", "i / 8"),
            ("tmod(i + n * 0, 8)", "i % 8"),
            ("tdiv(-i, 8)", "-(i / 8)"),
            ("tdiv(n, 8)", "tdiv(n, 8)"),
            ("(i * n + j * n) / n", "i + j + 0 / n"),
            ("n / 0", "n / 0"),
        ],
    );
}

#[test]
fn comparisons_keep_constants_right_and_fold() {
    check(
        &mut analyzer(),
        &[
            ("bx * 32 + ty * 4 + tx < 16415", "bx * 32 + ty * 4 + tx < 16415"),
            ("0 <= bx * 32 + ty * 4 + tx - ri", "0 <= bx * 32 + ty * 4 + tx - ri"),
            ("bx * 32 + ty * 4 + tx - ro * 8 < 16384", "bx * 8 + ty - ro * 2 < 4096"),
            ("1 <= bx * 32 + ty * 4 + tx - ro * 8", "1 <= bx * 32 + ty * 4 + tx - ro * 8"),
            ("bx * 32 + ty * 4 + tx - ro * 8 - 1 < 16384", "bx * 32 + ty * 4 + tx - ro * 8 < 16385"),
            ("3 <= i + j && i + j < 19", "3 <= i + j && i + j < 19"),
            ("i + 3 < 10", "i < 7"),
            ("10 < i", "11 <= i"),
            ("0 <= i", "true"),
            ("i < 64", "true"),
            ("64 <= i", "false"),
            ("i < n", "i < n"),
            ("i + 1 <= n", "i < n"),
            ("i - n < 0", "i - n < 0"),
            ("-i < -n", "n < i"),
            ("i + n < j + n", "i < j"),
            ("n * 4 < m * 4 + 8", "n < m + 2"),
            ("n * 4 == m * 4 + 2", "false"),
            ("n * 4 != 8", "n != 2"),
            ("n / 4 < 3", "n < 12"),
            ("3 <= n / 4", "12 <= n"),
            ("i / 4 == 0", "i < 4"),
            ("i / 4 == 15", "60 <= i"),
            ("!(i < 5 && 3 <= j)", "5 <= i || j < 3"),
            ("i < 10 && i < 5", "i < 5"),
            ("i < 5 || i < 10", "i < 10"),
            ("i < 5 && 7 <= i", "false"),
            ("i < 5 || 3 <= i", "true"),
            ("likely(i < 70) && likely(j < 5)", "likely(j < 5)"),
            ("min(n, 5) <= 3", "n < 4"),
            ("max(n, 5) <= 3", "false"),
            ("select(n < 3, 1, 0) == 1", "n < 3"),
        ],
    );
}

#[test]
fn choices_fold_where_one_side_is_the_answer() {
    check(
        &mut analyzer(),
        &[
            ("min(i, 100)", "i"),
            ("max(min(i, 63), 0)", "i"),
            ("min(3, n)", "min(n, 3)"),
            ("min(min(n, 7), 5)", "min(n, 5)"),
            ("min(n, max(n, m))", "n"),
            ("min(i * 4 + 4, n) - i * 4", "min(n - i * 4, 4)"),
            ("min(n + 1, m + 1)", "min(n, m) + 1"),
            ("min(n, m) + max(m, n)", "n + m"),
            ("select(i < 64, n, m)", "n"),
            ("select(n < m, n, m)", "min(n, m)"),
            ("select(m <= n, n, m)", "max(n, m)"),
            ("select(n < 5, min(n, 7), n)", "n"),
            ("select(n < 5, 0, max(n, 5))", "select(n < 5, 0, n)"),
            ("select(n == 5, n, select(n < 5, 0, max(n, 6)))", "select(n == 5, 5, select(n < 5, 0, n))"),
            ("select(n < 5, m < 3, n < 0)", "n < 5 && m < 3"),
            ("select(n < 5, select(m < 3, i, j), j)", "select(n < 5 && m < 3, i, j)"),
        ],
    );
}

#[test]
fn conditions_and_symbolic_extents_are_used() {
    let mut az = analyzer();
    let (zero, one, n, i) = (az.pool.int(0), az.pool.int(1), read(&mut az, "n"), read(&mut az, "p"));
    az.bind_range(var("n"), Some(1), Some(65536));
    az.bind(var("p"), zero, n);
    for (condition, verdict) in [
        ("p < n", Verdict::True),
        ("n <= p", Verdict::False),
        ("p + 1 <= n", Verdict::True),
        ("p < n - 1", Verdict::Unknown),
        ("p < 65536", Verdict::True),
        ("p * 4 + tx < n * 4", Verdict::True),
        ("p * n + p < n * n", Verdict::Unknown),
        ("p / n == 0", Verdict::True),
        ("p % n == p", Verdict::True),
    ] {
        let e = read(&mut az, condition);
        assert_eq!(az.prove(e), verdict, "{condition}");
    }
    let multiple = read(&mut az, "n % 8 == 0");
    az.push_constraint(multiple);
    check(&mut az, &[("(n + 7) / 8 * 8", "n"), ("n % 4", "0"), ("(n + 3) % 8", "3"), ("n / 8 * 8 - p", "n - p")]);
    assert_eq!(az.modular(n).coeff(), 8);
    assert_eq!(az.bounds(n).min(), Some(8));
    az.pop_constraint();
    let guard = read(&mut az, "likely(bx * 32 + ty * 4 + tx < 16400)");
    az.push_constraint(guard);
    let inside = read(&mut az, "(bx * 32 + ty * 4 + tx) / 8 < 2050");
    assert!(az.can_prove(inside));
    let offset = read(&mut az, "bx * 32 + ty * 4 + tx - ri + 7 < 16407");
    assert!(az.can_prove(offset));
    az.pop_constraint();
    assert_eq!(az.prove(inside), Verdict::Unknown);
    let last = az.pool.sub(n, one);
    let equal = az.pool.eq(i, last);
    let found = az.scope(|az| {
        az.push_constraint(equal);
        let value = az.simplify(i);
        let difference = az.pool.sub(n, i);
        (value, az.simplify(difference))
    });
    assert_eq!(found.1, one);
}

#[test]
fn enumeration_proves_what_rules_do_not() {
    let mut az = analyzer();
    for (condition, verdict) in [
        ("k * k % 4 != 2", Verdict::True),
        ("k * k % 4 != 1", Verdict::Unknown),
        ("k * (k + 1) % 2 == 1", Verdict::False),
        ("k % 3 + (k + 1) % 3 + (k + 2) % 3 == 3", Verdict::True),
        ("n * n % 4 != 2", Verdict::Unknown),
    ] {
        let e = read(&mut az, condition);
        assert_eq!(az.prove(e), verdict, "{condition}");
    }
    let wide = read(&mut az, "bx * bx % 4 != 2");
    assert_eq!(az.prove_by_enumeration(wide, 512), Verdict::Unknown);
    assert_eq!(az.prove_by_enumeration(wide, 513), Verdict::True);
    // Points at which a known condition fails do not count.
    let cube = read(&mut az, "k * k * k < 126");
    assert_eq!(az.prove(cube), Verdict::Unknown);
    let guard = read(&mut az, "k * k < 30");
    az.push_constraint(guard);
    assert!(az.can_prove(cube));
}

#[test]
fn regions_have_the_ends_that_bound_inference_needs() {
    let mut az = analyzer();
    let range = |az: &mut Analyzer, name: &str, min: &str, max: &str| {
        (var(name), SymInterval::new(read(az, min), read(az, max)))
    };
    let relaxed = [range(&mut az, "ri", "0", "7"), range(&mut az, "tx", "0", "3"), range(&mut az, "m", "n", "n + 5")];
    for (e, min, max) in [
        ("bx * 32 + ty * 4 + tx - ri", "bx * 32 + ty * 4 - 7", "bx * 32 + ty * 4 + 3"),
        ("i", "i", "i"),
        ("ri / 4", "0", "1"),
        ("(i * 8 + ri) / 8", "i", "i"),
        ("(i * 8 + ri) % 8", "0", "7"),
        ("(i * 16 + ri + 4) % 16", "4", "11"),
        ("m * 2 - n", "n", "n + 10"),
        ("min(ri, i)", "0", "min(i, 7)"),
        ("select(i < 5, ri, tx + 9)", "select(i < 5, 0, 9)", "select(i < 5, 7, 12)"),
        ("select(ri < 5, ri, tx + 9)", "0", "12"),
        ("ri * n", "min(n * 7, 0)", "max(n * 7, 0)"),
    ] {
        let e = read(&mut az, e);
        let set = az.eval_set(e, &relaxed);
        let show = |end: Option<Expr>| end.map(|end| az.pool.display(end).to_string());
        assert_eq!(
            (show(set.min).as_deref(), show(set.max).as_deref()),
            (Some(min), Some(max)),
            "{}",
            az.pool.display(e)
        );
        let extent = az.extent(set);
        assert!(extent.is_some());
    }
    let (a, b) = (range(&mut az, "i", "i", "i + 3").1, range(&mut az, "i", "i - 1", "i + 2").1);
    let hull = az.union_all(&[a, b]);
    let extent = az.extent(hull).map(|extent| az.pool.as_const(extent));
    assert_eq!(extent, Some(Some(5)));
    let (e, padded) = (read(&mut az, "i + ri - 3"), read(&mut az, "3 <= i + ri && i + ri < 59"));
    let set = az.eval_set_under(e, &relaxed, padded);
    assert_eq!(set.min.map(|end| az.pool.display(end).to_string()).as_deref(), Some("max(i - 3, 0)"));
    assert_eq!(set.max.map(|end| az.pool.display(end).to_string()).as_deref(), Some("min(i + 4, 55)"));
}

#[test]
fn guards_are_solved_for_a_loop() {
    let mut az = analyzer();
    let all_threads = [
        (var("ty"), SymInterval::new(az.pool.int(0), az.pool.int(7))),
        (var("tx"), SymInterval::new(az.pool.int(0), az.pool.int(3))),
    ];
    for (condition, relaxed, min, max) in [
        ("bx * 32 + ty * 4 + tx < 16415", &all_threads[..], None, Some("511")),
        ("16415 <= bx * 32 + ty * 4 + tx", &all_threads[..], Some("513"), None),
        ("bx * 4 + i < n", &[], None, Some("(n - i + 3) / 4 - 1")),
        ("(bx + i) / 4 < n", &[], None, Some("n * 4 - i - 1")),
        ("n <= (bx + i) / 4", &[], Some("n * 4 - i"), None),
        ("i <= bx && bx < n", &[], Some("i"), Some("n - 1")),
        ("bx == i + 2", &[], Some("i + 2"), Some("i + 2")),
    ] {
        let e = read(&mut az, condition);
        let set = az.deduce_bound(var("bx"), e, relaxed).expect("the condition can be solved");
        let show = |end: Option<Expr>| end.map(|end| az.pool.display(end).to_string());
        assert_eq!((show(set.min).as_deref(), show(set.max).as_deref()), (min, max), "{condition}");
    }
    for unsolvable in ["bx % 4 < 2", "bx != 5", "bx < 5 || n < bx", "bx == i * 2 + tx"] {
        let e = read(&mut az, unsolvable);
        assert_eq!(az.deduce_bound(var("bx"), e, &all_threads), None, "{unsolvable}");
    }
}

#[test]
fn definitions_are_seen_through_by_proofs_and_kept_by_simplify() {
    let mut az = analyzer();
    let value = read(&mut az, "bx * 32 + tx");
    az.define(var("n"), value);
    check(&mut az, &[("n + 1", "n + 1"), ("n - bx * 32 < 4", "true")]);
    let proof = read(&mut az, "n / 32 == bx");
    assert!(az.can_prove(proof));
    assert_eq!(az.bounds(value).max(), Some(512 * 32 + 3));
    let alias = read(&mut az, "i");
    az.define(var("m"), alias);
    check(&mut az, &[("m + i", "i * 2")]);
    // A definition in terms of itself says nothing.
    let cyclic = read(&mut az, "p + 1");
    az.define(var("p"), cyclic);
    check(&mut az, &[("p", "p")]);
}
