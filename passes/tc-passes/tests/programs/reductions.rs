//! Reductions across threads, on every path and in blocks of every shape: what `lower-thread-allreduce` writes, and what
//! `thread-sync` makes of it, means what the reduction meant.

use crate::random::Random;
use crate::{parse, run_on};
use std::fmt::Write as _;
use tc_pass::PassCx;
use tc_sim::{CheckOptions, agree};

/// What is reduced: the type, the values a thread brings, and the combiner. All of them are associative; the last three
/// tell who stands on the left.
struct Combiner {
    elem: &'static str,
    values: &'static [&'static str],
    combine: &'static str,
}

const COMBINERS: &[Combiner] = &[
    Combiner { elem: "f32", values: &["V"], combine: "yield l0 + r0" },
    Combiner { elem: "f64", values: &["V"], combine: "yield max(r0, l0)" },
    Combiner { elem: "i32", values: &["V"], combine: "yield l0 + r0" },
    Combiner { elem: "i8", values: &["V"], combine: "yield min(l0, r0)" },
    Combiner { elem: "u16", values: &["V", "V | 3u16"], combine: "yield l0 ^ r0, l1 & r1" },
    Combiner { elem: "f8e4m3", values: &["V"], combine: "yield max(l0, r0)" },
    Combiner {
        elem: "f16",
        values: &["V", "V * 2.0"],
        combine: "let keep = l0 >= r0\nyield select(keep, l0, r0), select(keep, l1, r1)",
    },
    Combiner { elem: "i64", values: &["V"], combine: "yield r0" },
    // Maps `x -> a * x + b`, one after the other, in numbers that wrap.
    Combiner { elem: "u32", values: &["V * 2u32 + 1u32", "V"], combine: "yield l0 * r0, l1 * r0 + r1" },
];

/// A program that reduces along `axes` in a block of this shape.
struct Case<'a> {
    block: [i64; 3],
    axes: &'a [usize],
    combiner: &'a Combiner,
    /// Iterations of a loop around it.
    rounds: Option<i64>,
    /// Threads from this number on bring the value of thread 0.
    bound: Option<i64>,
}

impl Case<'_> {
    fn text(&self) -> String {
        let [x, y, z] = self.block;
        let (n, elem) = (x * y * z, self.combiner.elem);
        let n_values = self.combiner.values.len();
        let names = |prefix: &str| (0..n_values).map(|nth| format!("{prefix}{nth}")).collect::<Vec<_>>();
        let mut text = "tir.func @f(A: E[2, R, N]".to_string();
        for name in names("B") {
            write!(text, ", {name}: E[2, R, N]").expect("a string takes text");
        }
        text.push_str(") attributes {noalias} {\nfor bx in 0..2 bind(blockIdx.x) {\n");
        for (name, extent, axis) in [("tz", z, "z"), ("ty", y, "y"), ("tx", x, "x")] {
            writeln!(text, "for {name} in 0..{extent} bind(threadIdx.{axis}) {{").expect("a string takes text");
        }
        writeln!(text, "let t = tz * {} + ty * {x} + tx", x * y).expect("a string takes text");
        let round = if self.rounds.is_some() { "k" } else { "0" };
        if let Some(rounds) = self.rounds {
            writeln!(text, "for k in 0..{rounds} {{").expect("a string takes text");
        }
        let value = match self.bound {
            Some(bound) => format!("if_then_else(t < {bound}, A[bx, {round}, t], A[bx, {round}, 0])"),
            None => format!("A[bx, {round}, t]"),
        };
        writeln!(text, "let value = {value}").expect("a string takes text");
        let values: Vec<String> = self.combiner.values.iter().map(|of| of.replace('V', "value")).collect();
        let axes: Vec<String> = self.axes.iter().map(|&axis| format!("threadIdx.{}", ["x", "y", "z"][axis])).collect();
        let args: Vec<String> = names("l").into_iter().chain(names("r")).map(|name| format!("{name}: E")).collect();
        let (results, values) = (names("s").join(", "), values.join(", "));
        writeln!(
            text,
            "{results} = gpu.all_reduce({values}, axes = [{}]) ({}) {{\n{}\n}}",
            axes.join(", "),
            args.join(", "),
            self.combiner.combine
        )
        .expect("a string takes text");
        for nth in 0..n_values {
            writeln!(text, "B{nth}[bx, {round}, t] = s{nth}").expect("a string takes text");
        }
        text.push_str(&"}\n".repeat(5 + usize::from(self.rounds.is_some())));
        let rounds = self.rounds.unwrap_or(1).to_string();
        text.replace("E[", &format!("{elem}["))
            .replace(": E", &format!(": {elem}"))
            .replace("R, N]", &format!("{rounds}, {n}]"))
    }

    /// Holds the meaning after each of `passes` against that before it.
    #[track_caller]
    fn holds(&self, passes: &[&str]) {
        let text = self.text();
        let mut module = parse(&text);
        for pass in passes {
            let before = module.clone();
            let mut cx = PassCx::default();
            run_on(&mut module, pass, &mut cx);
            assert!(cx.diagnostics.is_empty(), "{pass}: {:#?}\n{text}", cx.diagnostics);
            let report = agree(&before, &module, "f", &CheckOptions { serial: true, ..CheckOptions::default() });
            let report = report.unwrap_or_else(|diagnostic| panic!("{pass}: {diagnostic:#?}\n{text}"));
            assert!(report.agrees() && report.cells > 0, "{pass}: {report}\n{text}\n{}", module.items[0]);
        }
        let left = module.items.iter().any(|func| func.to_string().contains("all_reduce"));
        assert!(!left, "a reduction is left over:\n{}", module.items[0]);
    }
}

const SHUFFLES: &[&str] = &["lower-thread-allreduce", "hoist-alloc", "thread-sync"];
const SHARED: &[&str] = &["lower-thread-allreduce shuffles=false", "hoist-alloc", "thread-sync"];
/// As in the pipeline `cuda`, from where positions are flat.
const WHOLE: &[&str] = &[
    "storage-flatten",
    "lower-thread-allreduce",
    "hoist-alloc",
    "unroll-loop auto-max-step=8",
    "simplify",
    "canonicalize",
    "cse",
    "remove-no-op",
    "dce",
    "thread-sync",
    "split-host-device",
];

#[test]
fn every_extent_by_every_path() {
    for extent in [1, 2, 7, 16, 31, 32, 33, 48, 64, 96, 100, 256] {
        for combiner in COMBINERS {
            let case = Case { block: [extent, 1, 1], axes: &[0], combiner, rounds: None, bound: None };
            case.holds(SHUFFLES);
            case.holds(SHARED);
        }
    }
}

#[test]
fn the_largest_block() {
    for (block, axes) in [([1024, 1, 1], &[0][..]), ([32, 32, 1], &[1]), ([16, 8, 8], &[0, 2])] {
        let case = Case { block, axes, combiner: &COMBINERS[2], rounds: None, bound: None };
        case.holds(SHUFFLES);
    }
}

#[test]
fn blocks_of_any_shape() {
    let mut random = Random::new(7);
    for _ in 0..120 {
        let extents = [1, 2, 3, 4, 5, 8, 16, 24, 32, 33, 64];
        let mut block = [1; 3];
        for nth in 0..3 {
            let extent = extents[random.below(extents.len() as u64) as usize];
            let taken: i64 = block.iter().product();
            block[nth] = if taken * extent <= 256 { extent } else { 1 };
        }
        // Coordinates are listed in any order.
        let axes: Vec<usize> = [vec![0], vec![1], vec![2], vec![1, 0], vec![0, 2], vec![2, 1], vec![2, 0, 1]]
            [random.below(7) as usize]
            .clone();
        let combiner = &COMBINERS[random.below(COMBINERS.len() as u64) as usize];
        let rounds = (random.below(3) == 0).then_some(3);
        let bound = (random.below(3) == 0).then(|| 1 + random.below(64) as i64);
        let case = Case { block, axes: &axes, combiner, rounds, bound };
        case.holds(if random.below(2) == 0 { SHUFFLES } else { SHARED });
    }
}

#[test]
fn through_the_pipeline() {
    let mut random = Random::new(11);
    for block in [[32, 1, 1], [7, 3, 1], [64, 2, 1], [100, 1, 1], [8, 4, 2], [1, 40, 1]] {
        for axes in [&[0][..], &[1], &[0, 1]] {
            let combiner = &COMBINERS[random.below(COMBINERS.len() as u64) as usize];
            Case { block, axes, combiner, rounds: Some(3), bound: Some(20) }.holds(WHOLE);
        }
    }
}

#[test]
fn every_barrier_is_needed() {
    let options = CheckOptions { serial: true, ..CheckOptions::default() };
    for (block, axes, pass) in [
        ([64, 1, 1], &[0][..], "lower-thread-allreduce"),
        ([100, 1, 1], &[0], "lower-thread-allreduce"),
        ([64, 1, 1], &[0], "lower-thread-allreduce shuffles=false"),
        ([4, 9, 1], &[1], "lower-thread-allreduce"),
    ] {
        let case = Case { block, axes, combiner: &COMBINERS[0], rounds: Some(2), bound: None };
        let before = parse(&case.text());
        let mut module = before.clone();
        for pass in [pass, "hoist-alloc", "thread-sync"] {
            run_on(&mut module, pass, &mut PassCx::default());
        }
        let text = module.items[0].to_string();
        let barriers: Vec<usize> = text.match_indices("gpu.barrier(shared)").map(|(at, _)| at).collect();
        assert!(barriers.len() > 1, "{text}");
        for at in barriers {
            let without = format!("{}{}", &text[..at], &text[at + "gpu.barrier(shared)".len()..]);
            let report = agree(&before, &parse(&without), "f", &options).expect("both run");
            assert!(!report.agrees(), "the run does not miss the barrier at {at} of\n{text}");
        }
    }
}
