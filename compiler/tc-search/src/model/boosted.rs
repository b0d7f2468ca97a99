//! Gradient-boosted trees, which predict how great a number is (Friedman, "Greedy function approximation: a gradient
//! boosting machine", 2001), with the second-order step of Chen and Guestrin ("XGBoost", 2016).

use super::Table;
use super::table::Sorted;
use super::tree::{Growth, Sums, Tree};

/// What the predictions are fitted to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Loss {
    /// The targets themselves, by least squares.
    Squares,
    /// The order of the targets: the logistic loss of each pair of rows by the difference of their predictions, which
    /// is RankNet (Burges, "From RankNet to LambdaRank to LambdaMART", 2010) and AutoTVM's objective `rank` (Chen et
    /// al., "Learning to optimize tensor programs", 2018).
    Rank,
}

/// How boosted trees grow.
#[derive(Clone, Copy, Debug)]
pub struct BoostedOptions {
    /// The most trees.
    pub n_rounds: usize,
    /// The share of each tree's prediction that counts.
    pub learning_rate: f64,
    /// The most splits above a leaf.
    pub max_depth: usize,
    /// The penalty on the square of a leaf's prediction.
    pub lambda: f64,
    /// The least sum of hessians of a leaf.
    pub min_weight: f64,
    /// What the predictions are fitted to.
    pub loss: Loss,
}

impl Default for BoostedOptions {
    fn default() -> BoostedOptions {
        BoostedOptions {
            n_rounds: 100,
            learning_rate: 0.2,
            max_depth: 3,
            lambda: 1.0,
            min_weight: 1e-3,
            loss: Loss::Rank,
        }
    }
}

/// A sum of regression trees.
#[derive(Clone, Debug)]
pub struct Boosted {
    base: f64,
    learning_rate: f64,
    trees: Vec<Tree>,
}

impl Boosted {
    /// Learns the targets of the rows, or their order: the greater a target, the greater the prediction.
    ///
    /// A target that is no number does not count, nor does an infinite one for [`Loss::Squares`].
    ///
    /// # Panics
    ///
    /// If there is not a target for each row.
    pub fn fit(rows: &Table, targets: &[f64], options: BoostedOptions) -> Boosted {
        Boosted::correct(rows, targets, &vec![0.0; targets.len()], options)
    }

    /// Learns what is to be added to `start`, what is expected of each row without the trees: few rows correct another model where
    /// they would not make one.
    ///
    /// # Panics
    ///
    /// If there is not a target and a start for each row.
    pub fn correct(rows: &Table, targets: &[f64], start: &[f64], options: BoostedOptions) -> Boosted {
        assert_eq!((targets.len(), start.len()), (rows.n_rows(), rows.n_rows()), "each row has a target and a start");
        let (base, pairs) = match options.loss {
            Loss::Squares => {
                (mean(&targets.iter().zip(start).map(|(to, from)| to - from).collect::<Vec<_>>()), Vec::new())
            }
            Loss::Rank => (0.0, pairs(targets)),
        };
        let growth = Growth {
            max_depth: options.max_depth,
            min_rows: 1,
            min_weight: options.min_weight,
            lambda: options.lambda,
            until_pure: false,
        };
        let sorted = Sorted::new(rows);
        let mut boosted = Boosted { base, learning_rate: options.learning_rate, trees: Vec::new() };
        let mut predictions: Vec<f64> = start.iter().map(|start| base + start).collect();
        for _ in 0..options.n_rounds {
            let sums = match options.loss {
                Loss::Squares => square_sums(targets, &predictions),
                Loss::Rank => rank_sums(&pairs, &predictions),
            };
            let tree = Tree::grow(&sorted, &sums, growth, None);
            // Nothing to tell rows apart by: later rounds would not find more.
            if tree.is_leaf() {
                break;
            }
            for (row, prediction) in predictions.iter_mut().enumerate() {
                *prediction += options.learning_rate * tree.predict(rows.row(row));
            }
            boosted.trees.push(tree);
        }
        boosted
    }

    /// The target that is expected of `row`, or for [`Loss::Rank`] a number without unit that orders rows; apart from its start.
    pub fn predict(&self, row: &[f64]) -> f64 {
        self.trees.iter().fold(self.base, |sum, tree| sum + self.learning_rate * tree.predict(row))
    }
}

/// The mean of the finite targets, 0 without one.
fn mean(targets: &[f64]) -> f64 {
    let finite = || targets.iter().filter(|target| target.is_finite());
    finite().sum::<f64>() / finite().count().max(1) as f64
}

/// Minus the gradient and the hessian of the half squares.
fn square_sums(targets: &[f64], predictions: &[f64]) -> Vec<Sums> {
    let sums = |(target, prediction): (&f64, &f64)| match target.is_finite() {
        true => Sums { pull: target - prediction, weight: 1.0 },
        false => Sums::default(),
    };
    targets.iter().zip(predictions).map(sums).collect()
}

/// Pairs of a row and one of a lower target: all of up to 64 rows. Of more, each row meets those at some distances in
/// the order of the targets, each distance about 1.5 times the one before, so that near and far are told apart.
fn pairs(targets: &[f64]) -> Vec<(u32, u32)> {
    let n_rows = targets.len();
    let mut order: Vec<usize> = (0..n_rows).collect();
    order.sort_unstable_by(|&a, &b| targets[a].total_cmp(&targets[b]).then(a.cmp(&b)));
    let mut pairs = Vec::new();
    let mut distance = 1;
    while distance < n_rows {
        for (&low, &high) in order.iter().zip(&order[distance..]) {
            if targets[high] > targets[low] {
                pairs.push((high as u32, low as u32));
            }
        }
        distance += if n_rows > 64 { distance.div_ceil(2) } else { 1 };
    }
    pairs
}

/// Minus the gradient and the hessian of ln(1 + exp(low - high)), summed over the pairs.
fn rank_sums(pairs: &[(u32, u32)], predictions: &[f64]) -> Vec<Sums> {
    let mut sums = vec![Sums::default(); predictions.len()];
    for &(high, low) in pairs {
        let (high, low) = (high as usize, low as usize);
        let wrong = 1.0 / (1.0 + libm::exp(predictions[high] - predictions[low]));
        let weight = (wrong * (1.0 - wrong)).max(f64::EPSILON);
        sums[high].add(Sums { pull: wrong, weight });
        sums[low].add(Sums { pull: -wrong, weight });
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    fn with(loss: Loss) -> BoostedOptions {
        BoostedOptions { loss, ..Default::default() }
    }

    /// Rows of 5 columns, the last of noise, and a target that is not linear in the others.
    fn sample(n_rows: usize, random: &mut Random) -> (Table, Vec<f64>) {
        let mut table = Table::new(5);
        for _ in 0..n_rows {
            table.push(&[0; 5].map(|_| random.unit() * 2.0 - 1.0));
        }
        let target = |row: &[f64]| libm::sin(3.0 * row[0]) + 2.0 * row[1] * row[1] + row[2].abs() + row[0] * row[3];
        let targets = (0..n_rows).map(|row| target(table.row(row))).collect();
        (table, targets)
    }

    /// The rank of each number.
    fn ranks(numbers: &[f64]) -> Vec<f64> {
        numbers.iter().map(|a| numbers.iter().filter(|b| b < &a).count() as f64).collect()
    }

    /// The rank correlation (Spearman 1904) of numbers of which hardly any are equal.
    fn correlation(a: &[f64], b: &[f64]) -> f64 {
        let n = a.len() as f64;
        let squares: f64 = ranks(a).iter().zip(ranks(b)).map(|(a, b)| (a - b) * (a - b)).sum();
        1.0 - 6.0 * squares / (n * (n * n - 1.0))
    }

    fn predictions(boosted: &Boosted, rows: &Table) -> Vec<f64> {
        (0..rows.n_rows()).map(|row| boosted.predict(rows.row(row))).collect()
    }

    #[test]
    fn both_losses_order_rows_that_were_held_out() {
        let mut random = Random::new(1);
        let (rows, targets) = sample(400, &mut random);
        let (held_out, expected) = sample(200, &mut random);
        for loss in [Loss::Squares, Loss::Rank] {
            let found = predictions(&Boosted::fit(&rows, &targets, with(loss)), &held_out);
            let correlation = correlation(&found, &expected);
            assert!(correlation > 0.95, "{loss:?}: {correlation}");
        }
    }

    #[test]
    fn few_rows_are_ordered_by_all_pairs() {
        let (rows, targets) = sample(40, &mut Random::new(2));
        assert_eq!(pairs(&targets).len(), 40 * 39 / 2);
        let found = predictions(&Boosted::fit(&rows, &targets, with(Loss::Rank)), &rows);
        assert!(correlation(&found, &targets) > 0.99);
        let many = sample(1000, &mut Random::new(2)).1;
        let pairs = pairs(&many);
        assert!(pairs.iter().all(|&(high, low)| many[high as usize] > many[low as usize]));
        assert!((10_000..20_000).contains(&pairs.len()), "{}", pairs.len());
    }

    #[test]
    fn a_start_that_orders_most_rows_is_corrected_by_few() {
        let mut random = Random::new(3);
        let (rows, targets) = sample(30, &mut random);
        let (held_out, expected) = sample(200, &mut random);
        // Right but for what one column says.
        let start = |rows: &Table, targets: &[f64]| -> Vec<f64> {
            (0..rows.n_rows()).map(|row| targets[row] - if rows.at(row, 0) > 0.5 { 2.0 } else { 0.0 }).collect()
        };
        let of = |loss: Loss| {
            let trees = Boosted::correct(&rows, &targets, &start(&rows, &targets), with(loss));
            let from = start(&held_out, &expected);
            let both: Vec<f64> =
                predictions(&trees, &held_out).iter().zip(&from).map(|(more, from)| more + from).collect();
            let alone = predictions(&Boosted::fit(&rows, &targets, with(loss)), &held_out);
            (correlation(&from, &expected), correlation(&alone, &expected), correlation(&both, &expected))
        };
        for loss in [Loss::Squares, Loss::Rank] {
            let (from, alone, both) = of(loss);
            assert!(both > from.max(alone) + 0.05, "{loss:?}: {from} {alone} {both}");
        }
    }

    #[test]
    fn the_same_rows_give_the_same_bits_and_others_do_not() {
        let bits = |seed: u64, loss: Loss| {
            let (rows, targets) = sample(100, &mut Random::new(seed));
            Boosted::fit(&rows, &targets, with(loss)).predict(&[0.3; 5]).to_bits()
        };
        for loss in [Loss::Squares, Loss::Rank] {
            assert_eq!(bits(1, loss), bits(1, loss));
            assert_ne!(bits(1, loss), bits(2, loss));
        }
    }

    #[test]
    fn degenerate_tables_give_a_prediction() {
        for loss in [Loss::Squares, Loss::Rank] {
            let fit = |rows: &[[f64; 2]], targets: &[f64]| {
                let mut table = Table::new(2);
                rows.iter().for_each(|row| table.push(row));
                Boosted::fit(&table, targets, with(loss))
            };
            let constant = if loss == Loss::Squares { 3.0 } else { 0.0 };
            assert_eq!(fit(&[], &[]).predict(&[1.0, 2.0]), 0.0);
            assert_eq!(fit(&[[1.0, 2.0]], &[3.0]).predict(&[1.0, 2.0]), constant);
            assert_eq!(fit(&[[1.0, 2.0]; 4], &[2.0, 4.0, 1.0, 5.0]).predict(&[0.0, 9.0]), constant);
            assert_eq!(fit(&[[1.0, 2.0], [2.0, 3.0]], &[3.0; 2]).predict(&[0.0, 9.0]), constant);
            let wild = [[f64::NAN, 0.0], [f64::INFINITY, 0.0], [f64::NEG_INFINITY, f64::NAN], [1.0, 0.0]];
            let fitted = fit(&wild, &[4.0, 3.0, 1.0, 2.0]);
            let found = [f64::NAN, f64::INFINITY, 1.0, f64::NEG_INFINITY].map(|number| fitted.predict(&[number, 0.0]));
            assert!(found.is_sorted_by(|a, b| a > b), "{loss:?}: {found:?}");
            let holes = fit(&[[0.0; 2], [1.0; 2], [2.0; 2]], &[f64::NAN, 1.0, 2.0]);
            assert!(holes.predict(&[2.0; 2]) > holes.predict(&[1.0; 2]));
        }
    }
}
