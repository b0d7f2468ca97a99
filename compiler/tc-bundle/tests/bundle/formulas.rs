//! Formulas of sizes mean in C what they mean in the manifest, where they overflow, too.

use crate::harness::{Made, Run};
use tc::bundles::{Link, TargetCode};
use tc::target::sizes::FORMULA_OPS;
use tc::target::{Access, Buffer, DType, Follows, Formula, KernelManifest, OpenSize, Param, Slot, Target};

/// Numbers that are drawn one after the other, the same in each run.
struct Draw(u64);

impl Draw {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) as usize % n
    }

    fn number(&mut self) -> i64 {
        const NUMBERS: [i64; 16] =
            [0, 1, -1, 2, -2, 3, -7, 31, 62, 63, 64, 1 << 31, -(1 << 31), i64::MAX, i64::MIN, i64::MAX / 3];
        NUMBERS[self.below(NUMBERS.len())]
    }

    fn formula(&mut self, depth: usize) -> Formula {
        match self.below(if depth == 0 { 3 } else { 8 }) {
            0 => Formula::Int(self.number()),
            1 => Formula::Size("a".into()),
            2 => Formula::Size("b".into()),
            _ => {
                let (op, _) = FORMULA_OPS[self.below(FORMULA_OPS.len())];
                Formula::op(op, self.formula(depth - 1), self.formula(depth - 1))
            }
        }
    }
}

/// A function without kernels whose buffer has as many bytes as `formula` says.
fn function(nth: usize, formula: Formula) -> KernelManifest {
    let size = |name: &str| OpenSize { name: name.into(), dtype: DType::I64, low: i64::MIN, high: None, value: 1 };
    let buffer = Buffer::new("A", DType::U8, [0], Access::Read).expect("it is small");
    KernelManifest {
        function: format!("f{nth}"),
        target: "sm_80".into(),
        params: vec![Param::Buffer(buffer)],
        temporaries: vec![],
        maps: vec![],
        kernels: vec![],
        sizes: vec![size("a"), size("b")],
        formulas: vec![Follows { slot: Slot::Shape { buffer: "A".into(), dim: 0 }, formula }],
        facts: vec![],
    }
}

#[test]
fn formulas_have_the_values_that_the_manifest_gives_them() {
    let mut draw = Draw(11);
    // Each operator on its own, then others as they come.
    let (a, b) = (Formula::Size("a".into()), Formula::Size("b".into()));
    let each = FORMULA_OPS.iter().map(|&(op, _)| Formula::op(op, a.clone(), b.clone()));
    let mut formulas: Vec<Formula> = each.collect();
    formulas.extend((0..300).map(|_| draw.formula(5)));
    let manifests = formulas.iter().cloned().enumerate().map(|(nth, formula)| function(nth, formula)).collect();
    let code = TargetCode { target: Target::parse("sm_80").expect("known"), manifests, cubin: vec![] };
    let made = Made::new("k", vec![code], Link::Embedded);
    let points: Vec<(i64, i64)> = (0..12).map(|_| (draw.number(), draw.number())).collect();
    let mut body = String::from("int main(void) {\n  uint64_t bytes[1];\n");
    let mut want = String::new();
    for (nth, formula) in formulas.iter().enumerate() {
        for &(a, b) in &points {
            let c = |value: i64| if value == i64::MIN { "INT64_MIN".to_string() } else { format!("INT64_C({value})") };
            body += &format!("  bytes[0] = 0;\n  printf(\"%d \", (int)k_f{nth}_bytes({}, {}, bytes));\n", c(a), c(b));
            body += "  printf(\"%\" PRIu64 \"\\n\", bytes[0]);\n";
            want += &match formula.eval(&|name| Some(if name == "a" { a } else { b })) {
                Some(value) if value >= 0 => format!("0 {value}\n"),
                Some(_) => "6 0\n".to_string(),
                None => "7 0\n".to_string(),
            };
        }
    }
    body += "  return 0;\n}\n";
    let (printed, _) = Run::on(&made, "8.0").run(&made.program(&body));
    for (nth, (printed, want)) in printed.lines().zip(want.lines()).enumerate() {
        let (formula, point) = (&formulas[nth / points.len()], points[nth % points.len()]);
        assert_eq!(printed, want, "`{formula}` at {point:?}");
    }
    assert_eq!(printed.lines().count(), want.lines().count());
    let n_values = want.lines().filter(|line| line.starts_with("0 ")).count();
    assert!(n_values > 500 && n_values < want.lines().count() - 500, "{n_values} of {}", want.lines().count());
}
