//! What programs were made of, and where they ended.

use std::collections::BTreeMap;
use std::fmt;

/// Counts over cases.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// Cases that were run.
    pub cases: u64,
    /// Cases that went through all their passes.
    pub through: u64,
    /// Cases that went all the way to CUDA text.
    pub emitted: u64,
    /// What the simulator found before any pass, in cases that were dropped for it.
    pub at_fault: BTreeMap<String, u64>,
    /// In how many cases each construct came.
    pub made: BTreeMap<&'static str, u64>,
    /// How often each pass ran, and changed something.
    pub passes: BTreeMap<String, (u64, u64)>,
    /// Passes that refused a program, with the code of the refusal.
    pub refused: BTreeMap<String, u64>,
    /// What CUDA could say, and MLIR could not.
    pub not_mlir: BTreeMap<String, u64>,
    /// What the simulator could not compare, by pass and reason.
    pub uncompared: BTreeMap<String, u64>,
}

impl super::super::run::Counts for Tally {
    fn add(&mut self, other: &Tally) {
        self.cases += other.cases;
        self.through += other.through;
        self.emitted += other.emitted;
        for (name, (ran, changed)) in &other.passes {
            let sum = self.passes.entry(name.clone()).or_default();
            *sum = (sum.0 + ran, sum.1 + changed);
        }
        for (&name, n) in &other.made {
            *self.made.entry(name).or_default() += n;
        }
        for (own, more) in [
            (&mut self.at_fault, &other.at_fault),
            (&mut self.refused, &other.refused),
            (&mut self.not_mlir, &other.not_mlir),
            (&mut self.uncompared, &other.uncompared),
        ] {
            for (name, n) in more {
                *own.entry(name.clone()).or_default() += n;
            }
        }
    }
}

impl Tally {
    /// Cases that were dropped as their programs are at fault.
    pub fn dropped(&self) -> u64 {
        self.at_fault.values().sum()
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Tally { cases, through, emitted, .. } = self;
        writeln!(
            f,
            "{cases} cases: {} at fault before any pass, {through} through their passes, {emitted} as far as CUDA",
            self.dropped()
        )?;
        writeln!(f, "\nmade of")?;
        for (name, n) in &self.made {
            writeln!(f, "  {name:<36} {n:>8}")?;
        }
        writeln!(f, "\n{:<38} {:>8} {:>8}", "passes", "ran", "changed")?;
        for (name, (ran, changed)) in &self.passes {
            writeln!(f, "  {name:<36} {ran:>8} {changed:>8}")?;
        }
        let counts = [
            ("at fault before any pass", &self.at_fault),
            ("refused", &self.refused),
            ("refused on the way to MLIR", &self.not_mlir),
            ("not compared", &self.uncompared),
        ];
        for (title, counts) in counts.into_iter().filter(|(_, counts)| !counts.is_empty()) {
            writeln!(f, "\n{title}")?;
            for (name, n) in counts {
                writeln!(f, "  {name:<60} {n:>8}")?;
            }
        }
        Ok(())
    }
}
