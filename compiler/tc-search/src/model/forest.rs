//! A random forest, which says how likely a point is to be of a class (Breiman, "Random forests", 2001).

use super::Table;
use super::table::Sorted;
use super::tree::{Growth, Sums, Tree};
use crate::random::Random;

/// How a forest grows.
#[derive(Clone, Copy, Debug)]
pub struct ForestOptions {
    /// How many trees vote.
    pub n_trees: usize,
    /// The most splits above a leaf.
    pub max_depth: usize,
    /// The least number of different rows of a leaf.
    pub min_leaf: usize,
}

impl Default for ForestOptions {
    fn default() -> ForestOptions {
        ForestOptions { n_trees: 100, max_depth: 12, min_leaf: 1 }
    }
}

/// A random forest for two classes.
#[derive(Clone, Debug)]
pub struct Forest {
    trees: Vec<Tree>,
}

impl Forest {
    /// Learns which rows have the label true.
    ///
    /// Each tree sees as many rows as there are, drawn with replacement, and each split is the best of about the square
    /// root of the columns, drawn too. A row counts as `weights` says, or 1 if that is empty; one of which the weight
    /// is not above 0 or not finite does not count.
    ///
    /// # Panics
    ///
    /// If there is not a label, and a weight if any, for each row.
    pub fn fit(rows: &Table, labels: &[bool], weights: &[f64], options: ForestOptions, random: &mut Random) -> Forest {
        assert_eq!(labels.len(), rows.n_rows(), "each row has a label");
        assert!(weights.is_empty() || weights.len() == rows.n_rows(), "each row has a weight");
        let weight = |row: usize| if weights.is_empty() { 1.0 } else { weights[row] };
        let usable: Vec<usize> =
            (0..rows.n_rows()).filter(|&row| weight(row) > 0.0 && weight(row).is_finite()).collect();
        if usable.is_empty() {
            return Forest { trees: Vec::new() };
        }
        let growth = Growth {
            max_depth: options.max_depth,
            min_rows: options.min_leaf,
            min_weight: f64::MIN_POSITIVE,
            lambda: 0.0,
            until_pure: true,
        };
        let sorted = Sorted::new(rows);
        let n_drawn = rows.n_columns().isqrt();
        let tree = |_| {
            let mut sums = vec![Sums::default(); rows.n_rows()];
            for _ in 0..usable.len() {
                let row = usable[random.below(usable.len())];
                sums[row].add(Sums { pull: if labels[row] { weight(row) } else { 0.0 }, weight: weight(row) });
            }
            Tree::grow(&sorted, &sums, growth, Some((n_drawn, &mut *random)))
        };
        Forest { trees: (0..options.n_trees).map(tree).collect() }
    }

    /// How likely the label of `row` is true: the mean over the trees of the share of true in the leaf that it reaches,
    /// and 0.5 where nothing was learnt.
    pub fn probability(&self, row: &[f64]) -> f64 {
        if self.trees.is_empty() {
            return 0.5;
        }
        self.trees.iter().map(|tree| tree.predict(row)).sum::<f64>() / self.trees.len() as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(n_rows: usize, n_columns: usize, random: &mut Random) -> Table {
        let mut table = Table::new(n_columns);
        for _ in 0..n_rows {
            table.push(&(0..n_columns).map(|_| random.unit()).collect::<Vec<_>>());
        }
        table
    }

    fn fit(rows: &Table, label: impl Fn(&[f64]) -> bool, seed: u64) -> Forest {
        let labels: Vec<bool> = (0..rows.n_rows()).map(|row| label(rows.row(row))).collect();
        Forest::fit(rows, &labels, &[], ForestOptions { n_trees: 40, ..Default::default() }, &mut Random::new(seed))
    }

    /// The share of new rows which the forest labels right.
    fn share_right(label: impl Fn(&[f64]) -> bool, n_columns: usize) -> f64 {
        let mut random = Random::new(1);
        let forest = fit(&table(300, n_columns, &mut random), &label, 2);
        let held_out = table(300, n_columns, &mut random);
        let right = |&row: &usize| {
            let probability = forest.probability(held_out.row(row));
            assert!((0.0..=1.0).contains(&probability));
            (probability > 0.5) == label(held_out.row(row))
        };
        (0..300).filter(right).count() as f64 / 300.0
    }

    #[test]
    fn a_forest_learns_a_threshold_and_an_exclusive_or() {
        let threshold = share_right(|row| row[2] > 0.3, 6);
        assert!(threshold > 0.95, "{threshold}");
        let exclusive_or = share_right(|row| (row[0] > 0.5) != (row[1] > 0.5), 4);
        assert!(exclusive_or > 0.9, "{exclusive_or}");
    }

    #[test]
    fn the_seed_decides_each_bit() {
        let rows = table(80, 5, &mut Random::new(7));
        let bits = |seed: u64| {
            let forest = fit(&rows, |row| row[0] + row[1] > 1.0, seed);
            (0..80).map(|row| forest.probability(rows.row(row)).to_bits()).collect::<Vec<_>>()
        };
        assert_eq!(bits(3), bits(3));
        assert_ne!(bits(3), bits(4));
    }

    #[test]
    fn weights_say_how_much_a_row_counts() {
        let mut rows = Table::new(1);
        (0..20).for_each(|_| rows.push(&[1.0]));
        let labels: Vec<bool> = (0..20).map(|row| row % 2 == 0).collect();
        let probability = |weight: f64| {
            let weights: Vec<f64> = labels.iter().map(|&label| if label { weight } else { 1.0 }).collect();
            Forest::fit(&rows, &labels, &weights, ForestOptions::default(), &mut Random::new(1)).probability(&[1.0])
        };
        assert!((probability(1.0) - 0.5).abs() < 0.05 && (probability(3.0) - 0.75).abs() < 0.05);
        assert_eq!([0.0, f64::NAN, f64::INFINITY].map(probability), [0.0; 3]);
    }

    #[test]
    fn degenerate_tables_give_a_probability() {
        assert_eq!(fit(&Table::new(3), |_| true, 1).probability(&[0.0; 3]), 0.5);
        for (numbers, label) in [(vec![], true), (vec![1.0], false), (vec![f64::NAN, f64::INFINITY], true)] {
            let mut rows = Table::new(numbers.len());
            (0..3).for_each(|_| rows.push(&numbers));
            assert_eq!(fit(&rows, |_| label, 1).probability(&numbers), f64::from(u8::from(label)));
        }
        let mut rows = Table::new(2);
        (0..50).for_each(|row| rows.push(&[[f64::NAN, f64::NEG_INFINITY, -0.0, 1.0][row % 4], 1.0]));
        let forest = fit(&rows, |row| row[0].is_nan(), 1);
        assert!(forest.probability(&[-f64::NAN, 1.0]) > 0.9 && forest.probability(&[0.0, 1.0]) < 0.1);
        assert!(fit(&rows, |row| row[0] == 0.0, 1).probability(&[0.0, f64::NAN]) > 0.9);
    }
}
