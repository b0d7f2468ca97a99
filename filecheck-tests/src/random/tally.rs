//! What the cases were made of: a histogram.

use super::run::Counts;
use std::collections::BTreeMap;
use std::fmt;

/// How often something was written, and how often it was refused.
#[derive(Clone, Debug, Default)]
pub struct Entry {
    /// It stayed.
    pub applied: u64,
    /// It was refused, by the code of the diagnostic.
    pub refused: BTreeMap<String, u64>,
}

/// Counts over cases.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// Cases that were run.
    pub cases: u64,
    /// Cases that went all the way to CUDA text.
    pub emitted: u64,
    /// Cells that were compared with the definition.
    pub cells: u64,
    /// What stages were made of what.
    pub shapes: BTreeMap<&'static str, u64>,
    /// The directives, by primitive.
    pub directives: BTreeMap<String, Entry>,
    /// How often each pass ran, and changed something.
    pub passes: BTreeMap<String, (u64, u64)>,
    /// Passes that refused a program.
    pub refused_passes: BTreeMap<String, u64>,
    /// What CUDA could say, and MLIR could not.
    pub not_mlir: BTreeMap<String, u64>,
    /// What the simulator could not compare, by pass and reason.
    pub uncompared: BTreeMap<String, u64>,
}

impl Counts for Tally {
    fn add(&mut self, other: &Tally) {
        self.cases += other.cases;
        self.emitted += other.emitted;
        self.cells += other.cells;
        for (&shape, n) in &other.shapes {
            *self.shapes.entry(shape).or_default() += n;
        }
        for (name, entry) in &other.directives {
            let sum = self.directives.entry(name.clone()).or_default();
            sum.applied += entry.applied;
            for (code, n) in &entry.refused {
                *sum.refused.entry(code.clone()).or_default() += n;
            }
        }
        for (name, (ran, changed)) in &other.passes {
            let sum = self.passes.entry(name.clone()).or_default();
            *sum = (sum.0 + ran, sum.1 + changed);
        }
        for (name, n) in &other.refused_passes {
            *self.refused_passes.entry(name.clone()).or_default() += n;
        }
        for (name, n) in &other.not_mlir {
            *self.not_mlir.entry(name.clone()).or_default() += n;
        }
        for (name, n) in &other.uncompared {
            *self.uncompared.entry(name.clone()).or_default() += n;
        }
    }
}

impl Tally {
    /// Was this primitive applied, in whatever form?
    pub fn has_applied(&self, primitive: &str) -> bool {
        let is_of = |name: &String| name.split(' ').next() == Some(primitive);
        self.directives.iter().any(|(name, entry)| is_of(name) && entry.applied > 0)
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} cases, {} of them as far as CUDA; {} cells compared", self.cases, self.emitted, self.cells)?;
        writeln!(f, "\nstages made by")?;
        for (shape, n) in &self.shapes {
            writeln!(f, "  {shape:<28} {n:>8}")?;
        }
        writeln!(f, "\n{:<30} {:>8} {:>8}", "directives", "applied", "refused")?;
        for (name, Entry { applied, refused }) in &self.directives {
            let n: u64 = refused.values().sum();
            let codes: Vec<String> = refused.iter().map(|(code, n)| format!("{code} {n}")).collect();
            writeln!(f, "  {name:<28} {applied:>8} {n:>8}  {}", codes.join(", "))?;
        }
        writeln!(f, "\n{:<30} {:>8} {:>8}", "passes", "ran", "changed")?;
        for (name, (ran, changed)) in &self.passes {
            writeln!(f, "  {name:<28} {ran:>8} {changed:>8}")?;
        }
        let refused = [("refused by a pass", &self.refused_passes), ("refused on the way to MLIR", &self.not_mlir)];
        for (title, counts) in refused.into_iter().chain([("not compared", &self.uncompared)]) {
            if !counts.is_empty() {
                writeln!(f, "\n{title}")?;
            }
            for (name, n) in counts {
                writeln!(f, "  {name:<60} {n:>8}")?;
            }
        }
        Ok(())
    }
}
