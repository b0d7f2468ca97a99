//! Results that were found right, for programs of the same operator that follow.

use super::arrays::to_array;
use tc_runtime::compare;
use tc_sim::{CheckReport, Signature, Sizes, Tensor};
use tc_support::Diagnostics;

/// Two right programs differ by at most so many times what one of them was seen to differ from the definition, in the cells
/// that were compared.
const SLACK: f64 = 8.0;

/// Results of programs that [`super::check_after`] found right, by what was run and at which sizes.
///
/// The first inputs of a check are integers whose sums are exact: right programs give the same bits, in whatever order they
/// add. On reals they may differ by what rounding explains, which is taken for a few times what the first differed from the
/// definition.
#[derive(Default, Debug)]
pub struct Verified {
    right: Vec<(String, Sizes, u64, Right)>,
}

/// Inputs, and what comes out.
#[derive(Debug)]
pub(super) struct Right {
    /// The integers first.
    trials: Vec<(Vec<Tensor>, Vec<Tensor>)>,
    pub(super) outputs: Vec<Signature>,
    /// How far results on reals may differ from these.
    slack: f64,
    /// Only some cells were compared with the definition.
    sampled: bool,
}

/// What was run, at which sizes, on inputs of which seed.
type Key<'k> = (&'k str, &'k Sizes, u64);

impl Verified {
    pub(super) fn get(&self, (name, sizes, seed): Key<'_>) -> Option<&Right> {
        let found = self.right.iter().find(|(a, b, c, _)| (a.as_str(), b, *c) == (name, sizes, seed));
        found.map(|(_, _, _, right)| right)
    }

    pub(super) fn add(&mut self, key: Key<'_>, right: Right) {
        if self.get(key).is_none() {
            let (name, sizes, seed) = key;
            self.right.push((name.to_string(), sizes.clone(), seed, right));
        }
    }
}

/// Runs a program on some inputs; what comes out.
type Run<'r> = dyn FnMut(&[Tensor]) -> Result<Vec<Tensor>, Diagnostics> + 'r;

impl Right {
    /// The trials of a program that `report` found right.
    pub(super) fn new(trials: Vec<(Vec<Tensor>, Vec<Tensor>)>, outputs: Vec<Signature>, report: &CheckReport) -> Right {
        Right { trials, outputs, slack: SLACK * report.max_abs_err, sampled: report.sampled }
    }

    /// Runs another program on the same inputs: the report if its results are these, or nothing.
    pub(super) fn compare(&self, run: &mut Run<'_>) -> Result<Option<CheckReport>, Diagnostics> {
        let mut report = CheckReport { sampled: self.sampled, ..CheckReport::default() };
        for (nth, (inputs, right)) in self.trials.iter().enumerate() {
            let results = run(inputs)?;
            let slack = if nth == 0 { 0.0 } else { self.slack };
            if results.len() != right.len() {
                return Ok(None);
            }
            for (result, right) in results.iter().zip(right) {
                if result == right {
                    continue;
                }
                let array = |tensor: &Tensor| to_array(tensor).map_err(Diagnostics::from);
                let comparison = compare::compare(&array(result)?, &array(right)?)?;
                if comparison.max_abs > slack {
                    return Ok(None);
                }
                report.max_abs_err = report.max_abs_err.max(comparison.max_abs);
            }
            report.inputs += 1;
            report.cells += right.iter().map(|tensor| tensor.shape.iter().product::<u64>()).sum::<u64>();
        }
        Ok(Some(report))
    }
}
