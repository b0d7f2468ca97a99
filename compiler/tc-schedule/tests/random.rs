//! Random schedules of several operators: each program that comes out computes the operator.

mod common;

/// A generator of pseudo-random numbers (Vigna 2015, "splitmix64").
struct Rng(u64);

impl Rng {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    fn below(&mut self, n: usize) -> usize {
        (self.next() % n.max(1) as u64) as usize
    }

    fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len())]
    }
}

/// An operator, and its stages from the last to the first: name, data axes, reduction axes, whether it can be inlined.
struct Case {
    text: &'static str,
    stages: &'static [(&'static str, &'static [&'static str], &'static [&'static str], bool)],
    /// The arguments with their ranks, and who reads each.
    args: &'static [(&'static str, usize)],
}

const CASES: &[Case] = &[
    Case {
        text: "te.func @op(A: f32[29], W: f32[6]) -> f32[34] {
  compute B[i: 34] = sum[r: 6](if_then_else(0 <= i - r && i - r < 29, A[i - r], 0.0) * W[r])
  return B
}",
        stages: &[("B", &["i"], &["r"], false)],
        args: &[("A", 1), ("W", 1)],
    },
    Case {
        text: "te.func @op(A: f32[13, 11], B: f32[11, 10]) -> f32[13, 10] {
  compute C[i: 13, j: 10] = sum[k: 11](A[i, k] * B[k, j])
  return C
}",
        stages: &[("C", &["i", "j"], &["k"], false)],
        args: &[("A", 2), ("B", 2)],
    },
    Case {
        text: "te.func @op(A: f32[2, 9, 10], W: f32[2, 3, 2]) -> f32[2, 9, 11] {
  compute P[c: 2, h: 11, w: 12] = if_then_else(h >= 1 && h < 10 && w >= 1 && w < 11, A[c, h - 1, w - 1], 0.0)
  compute D[c: 2, h: 9, w: 11] = sum[y: 3, x: 2](P[c, h + y, w + x] * W[c, y, x])
  compute R[c: 2, h: 9, w: 11] = max(D[c, h, w], 0.0)
  return R
}",
        stages: &[
            ("R", &["c", "h", "w"], &[], false),
            ("D", &["c", "h", "w"], &["y", "x"], false),
            ("P", &["c", "h", "w"], &[], true),
        ],
        args: &[("A", 3), ("W", 3)],
    },
    Case {
        text: "te.func @op(A: f32[40]) -> f32[17] {
  compute S[i: 40] = A[i] * 2.0
  compute T[i: 36] = S[i] + S[i + 4]
  compute U[i: 17] = T[i * 2] + T[i * 2 + 1] + S[i]
  return U
}",
        stages: &[("U", &["i"], &[], false), ("T", &["i"], &[], true), ("S", &["i"], &[], true)],
        args: &[("A", 1)],
    },
    Case {
        text: "te.func @op(A: f32[8, 6]) -> f32[48] {
  compute F[i: 48] = A[i / 6, i % 6]
  compute G[i: 48] = F[i] + F[47 - i]
  return G
}",
        stages: &[("G", &["i"], &[], false), ("F", &["i"], &[], true)],
        args: &[("A", 2)],
    },
    Case {
        text: "te.func @op(A: f32[7, 12], M: bool[12]) -> f32[7] {
  compute S[i: 7] = max[k: 3..12](A[i, k], where = M[k], init = A[i, 0])
  return S
}",
        stages: &[("S", &["i"], &["k"], false)],
        args: &[("A", 2), ("M", 1)],
    },
];

struct Schedule<'r> {
    rng: &'r mut Rng,
    text: String,
    n_names: usize,
}

/// A loop as the schedule can name it.
#[derive(Clone)]
struct Loop {
    name: String,
    reduce: bool,
    taken: bool,
}

impl Schedule<'_> {
    fn line(&mut self, line: String) {
        self.text.push_str("  ");
        self.text.push_str(&line);
        self.text.push('\n');
    }

    fn name(&mut self) -> String {
        self.n_names += 1;
        format!("l{}", self.n_names)
    }

    /// Splits, fuses and reorders at random.
    fn shape(&mut self, loops: &mut Vec<Loop>) {
        for _ in 0..self.rng.below(4) {
            if loops.is_empty() {
                return;
            }
            let at = self.rng.below(loops.len());
            match self.rng.below(4) {
                0 | 1 => {
                    let (outer, inner) = (self.name(), self.name());
                    let how = if self.rng.chance(70) { "factor" } else { "nparts" };
                    let by = *self.rng.pick(&[1, 2, 3, 4, 5, 8, 16]);
                    let Loop { name, reduce, .. } = loops[at].clone();
                    self.line(format!("{outer}, {inner} = split({name}, {how} = {by})"));
                    let part = |name| Loop { name, reduce, taken: false };
                    loops.splice(at..=at, [part(outer), part(inner)]);
                }
                2 if at + 1 < loops.len() && loops[at].reduce == loops[at + 1].reduce => {
                    let fused = self.name();
                    let (a, b) = (loops[at].name.clone(), loops[at + 1].name.clone());
                    self.line(format!("{fused} = fuse({a}, {b})"));
                    let reduce = loops[at].reduce;
                    loops.splice(at..at + 2, [Loop { name: fused, reduce, taken: false }]);
                }
                _ => {
                    let other = self.rng.below(loops.len());
                    if at != other {
                        loops.swap(at, other);
                        let names: Vec<String> = loops.iter().map(|l| l.name.clone()).collect();
                        self.line(format!("reorder({})", names.join(", ")));
                    }
                }
            }
        }
    }

    fn bind(&mut self, loops: &mut [Loop], to: &str) {
        let free: Vec<usize> = (0..loops.len()).filter(|&at| !loops[at].taken && !loops[at].reduce).collect();
        if free.is_empty() {
            return;
        }
        let at = *self.rng.pick(&free);
        loops[at].taken = true;
        let name = loops[at].name.clone();
        self.line(format!("bind({name}, {to})"));
    }

    fn annotate(&mut self, loops: &mut [Loop]) {
        for one in loops.iter_mut().filter(|one| !one.taken) {
            let name = &one.name;
            match self.rng.below(12) {
                0 => self.line(format!("unroll({name})")),
                1 if !one.reduce => self.line(format!("vectorize({name})")),
                2 => self.line(format!("pragma({name}, auto_unroll_max_step = 8)")),
                3 => self.line(format!("bind({name}, vthread)")),
                _ => continue,
            }
            one.taken = true;
        }
    }
}

fn axes(stage: &str, data: &[&str], reduce: &[&str]) -> Vec<Loop> {
    let of = |names: &[&str], reduce: bool| -> Vec<Loop> {
        names.iter().map(|axis| Loop { name: format!("{stage}.{axis}"), reduce, taken: false }).collect()
    };
    [of(data, false), of(reduce, true)].concat()
}

/// A random schedule of `case`.
fn schedule(case: &Case, rng: &mut Rng) -> String {
    let mut s = Schedule { rng, text: String::from("schedule @s for @op {\n"), n_names: 0 };
    let (out, out_data, out_reduce, _) = case.stages[0];
    // Stages to be placed, consumers first; each with its loops.
    let mut pending: Vec<(String, Vec<Loop>, &str)> = Vec::new();
    let mut inlined = Vec::new();
    let cached = s.rng.chance(50);
    for &(name, _, _, can_inline) in &case.stages[1..] {
        if can_inline && s.rng.chance(30) {
            s.line(format!("inline({name})"));
            inlined.push(name);
        }
    }
    if cached {
        let scope = *s.rng.pick(&["local", "local", "shared"]);
        s.line(format!("CW = cache_write({out}, {scope})"));
        pending.push(("CW".to_string(), axes("CW", out_data, out_reduce), scope));
    }
    for &(name, data, reduce, _) in &case.stages[1..] {
        if !inlined.contains(&name) {
            pending.push((name.to_string(), axes(name, data, reduce), "auto"));
        }
    }
    for &(name, rank) in case.args {
        if s.rng.chance(40) {
            let scope = *s.rng.pick(&["local", "shared", "shared"]);
            let cache = format!("{name}C");
            s.line(format!("{cache} = cache_read({name}, {scope})"));
            let loops =
                (0..rank).map(|nth| Loop { name: format!("{cache}.ax{nth}"), reduce: false, taken: false }).collect();
            pending.push((cache, loops, scope));
        }
    }
    let mut loops = axes(out, out_data, if cached { &[] } else { out_reduce });
    s.shape(&mut loops);
    let threads = s.rng.chance(70);
    if threads {
        s.bind(&mut loops, "blockIdx.x");
        s.bind(&mut loops, "threadIdx.x");
        if s.rng.chance(40) {
            s.bind(&mut loops, "threadIdx.y");
        }
    }
    s.annotate(&mut loops);
    // Where stages may be attached: loops of the output, then of those placed before.
    let mut places: Vec<String> = loops.iter().map(|l| l.name.clone()).collect();
    for (name, mut loops, scope) in pending {
        if s.rng.chance(85) && !places.is_empty() {
            let at = s.rng.pick(&places).clone();
            s.line(format!("compute_at({name}, {at})"));
            if scope == "auto" && s.rng.chance(30) {
                let scope = *s.rng.pick(&["shared", "local"]);
                s.line(format!("set_scope({name}, {scope})"));
            }
        }
        s.shape(&mut loops);
        if threads && scope != "local" && s.rng.chance(40) {
            s.bind(&mut loops, "threadIdx.x");
        }
        s.annotate(&mut loops);
        places.extend(loops.iter().map(|l| l.name.clone()));
    }
    s.text.push('}');
    s.text
}

#[test]
fn programs_of_random_schedules_compute_their_operators() {
    let n: u64 = std::env::var("TC_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(400);
    let (mut n_accepted, mut failures) = (0, Vec::new());
    for seed in 0..n {
        let mut rng = Rng(seed);
        let case = rng.pick(CASES);
        let text = format!("{}\n{}\n", case.text, schedule(case, &mut rng));
        let module = common::parse(&text);
        let program = match common::lower(&module, "op", "s") {
            Ok(program) => program,
            Err(found) => {
                let bug = found.iter().find(|found| found.fault == tc_support::Fault::Bug);
                assert!(bug.is_none(), "seed {seed}: {bug:?}\n{text}");
                continue;
            }
        };
        n_accepted += 1;
        let shown = common::show(&program);
        if let Some(wrong) = common::wrong(&module, "op", program) {
            failures.push(format!("seed {seed}: {wrong}\n{text}\n{shown}"));
        }
    }
    assert!(failures.is_empty(), "{} of {n_accepted} programs are wrong; the first:\n{}", failures.len(), failures[0]);
    assert!(n_accepted > n / 3, "only {n_accepted} of {n} schedules were accepted");
}
