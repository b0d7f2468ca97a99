//! The tree of both models, and how it grows.
//!
//! Each row has a pull, which says where and how strongly it draws a prediction, and a weight. A leaf predicts
//! sum(pull) / (sum(weight) + lambda) of its rows, and a split is worth the sum of sum(pull)^2 / (sum(weight) + lambda)
//! over its sides. With minus the gradient and the hessian of a loss that is the rule of Chen and Guestrin ("XGBoost",
//! 2016, equations 5 and 7). With weight x label and weight, and lambda = 0, it is the least Gini impurity (Breiman et
//! al., "Classification and regression trees", 1984): sum(weight p (1 - p)) over the sides is sum(pull) less the worth.

use super::table::{Lists, Sorted};
use crate::random::Random;
use std::ops::Range;

/// By how much, relatively, a split must beat one found before: less is rounding, and then the earlier one stays.
const ROUNDING: f64 = 1e-12;

/// The pull and the weight of a row, or of some rows together.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Sums {
    pub(super) pull: f64,
    pub(super) weight: f64,
}

impl Sums {
    /// Adds those of another row.
    pub(super) fn add(&mut self, other: Sums) {
        self.pull += other.pull;
        self.weight += other.weight;
    }

    fn prediction(self, lambda: f64) -> f64 {
        let weight = self.weight + lambda;
        if weight > 0.0 { self.pull / weight } else { 0.0 }
    }
}

/// When a node becomes a leaf.
#[derive(Clone, Copy, Debug)]
pub(super) struct Growth {
    /// The most splits above a leaf.
    pub(super) max_depth: usize,
    /// The least number of rows of a leaf.
    pub(super) min_rows: usize,
    /// The least weight of a leaf.
    pub(super) min_weight: f64,
    /// What is added to the weight of a leaf.
    pub(super) lambda: f64,
    /// Is any split taken while the labels of a node differ, also one that is worth nothing by itself (the first of an
    /// exclusive or)? If not, a split must be worth more than none.
    pub(super) until_pure: bool,
}

#[derive(Clone, Debug)]
enum Node {
    /// The next node has the numbers up to `threshold`, and the node `right` has the others.
    Split {
        threshold: f64,
        column: u32,
        right: u32,
    },
    Leaf(f64),
}

/// A binary tree that maps a row to a number.
#[derive(Clone, Debug)]
pub(super) struct Tree(Vec<Node>);

impl Tree {
    /// Grows a tree from the rows of which `sums` has a weight above 0. With `drawn`, each split is the best of so many
    /// columns, drawn anew from those that are not constant in the node.
    pub(super) fn grow(sorted: &Sorted, sums: &[Sums], growth: Growth, drawn: Option<(usize, &mut Random)>) -> Tree {
        let lists = sorted.keep(|row| sums[row].weight > 0.0);
        let columns = (0..sorted.table.n_columns()).collect();
        Grower { sorted, sums, growth, drawn, columns, lists }.grow()
    }

    /// The number of the leaf that `row` reaches; what is no number goes right.
    pub(super) fn predict(&self, row: &[f64]) -> f64 {
        let mut at = 0;
        loop {
            match self.0[at] {
                Node::Leaf(prediction) => return prediction,
                Node::Split { threshold, column, right } => {
                    at = if row[column as usize] <= threshold { at + 1 } else { right as usize };
                }
            }
        }
    }

    /// Does it predict the same for all rows?
    pub(super) fn is_leaf(&self) -> bool {
        self.0.len() == 1
    }
}

struct Grower<'a> {
    sorted: &'a Sorted<'a>,
    sums: &'a [Sums],
    growth: Growth,
    drawn: Option<(usize, &'a mut Random)>,
    columns: Vec<usize>,
    lists: Lists,
}

impl Grower<'_> {
    fn grow(mut self) -> Tree {
        let mut nodes = Vec::new();
        // Places in the lists, depth, and the node of which this is the right side.
        let mut stack = vec![(0..self.lists.n_rows(), 0, None)];
        while let Some((range, depth, above)) = stack.pop() {
            let index = nodes.len();
            if let Some(Node::Split { right, .. }) = above.and_then(|above: usize| nodes.get_mut(above)) {
                *right = index as u32;
            }
            let total = self.total(&range);
            let split = if depth < self.growth.max_depth { self.split(&range, total) } else { None };
            let Some((column, middle)) = split else {
                nodes.push(Node::Leaf(total.prediction(self.growth.lambda)));
                continue;
            };
            nodes.push(Node::Split { threshold: self.threshold(column, middle), column: column as u32, right: 0 });
            self.lists.part(&range, column, middle, depth + 1 < self.growth.max_depth);
            stack.push((middle..range.end, depth + 1, Some(index)));
            stack.push((range.start..middle, depth + 1, None));
        }
        Tree(nodes)
    }

    fn total(&self, range: &Range<usize>) -> Sums {
        let mut total = Sums::default();
        self.lists.by_row(range).iter().for_each(|place| total.add(self.sums[place.row as usize]));
        total
    }

    /// The midpoint of the numbers at the places before and at `middle`, or the lower one if none is between them.
    fn threshold(&self, column: usize, middle: usize) -> f64 {
        let pair = self.lists.by_column(column, &(middle - 1..middle + 1));
        let [low, high] = [pair[0], pair[1]].map(|place| self.sorted.table.at(place.row as usize, column));
        let between = low * 0.5 + high * 0.5;
        if low <= between && between < high { between } else { low }
    }

    /// The column of the split of the greatest worth and the place where its right side begins; of equal ones that of
    /// the lowest column, then of the lowest threshold.
    fn split(&mut self, range: &Range<usize>, total: Sums) -> Option<(usize, usize)> {
        let any = self.growth.until_pure;
        if range.len() < 2 || any && (total.pull == 0.0 || total.pull == total.weight) {
            return None;
        }
        let worth = total.pull * total.pull / (total.weight + self.growth.lambda);
        let mut bar = if any { f64::NEG_INFINITY } else { worth * (1.0 + ROUNDING) };
        let mut best = None;
        for column in self.candidates(range) {
            best = self.scan(column, range, total, &mut bar).map(|middle| (column, middle)).or(best);
        }
        best
    }

    /// The columns to choose a split from, in ascending order.
    fn candidates(&mut self, range: &Range<usize>) -> Vec<usize> {
        let varies = |column: &usize| {
            let places = self.lists.by_column(*column, range);
            places[0].rank != places[places.len() - 1].rank
        };
        let Some((wanted, random)) = &mut self.drawn else {
            return self.columns.iter().copied().filter(varies).collect();
        };
        let mut chosen = Vec::with_capacity(*wanted);
        let n_columns = self.columns.len();
        for at in 0..n_columns {
            if chosen.len() == *wanted {
                break;
            }
            self.columns.swap(at, at + random.below(n_columns - at));
            chosen.extend(Some(self.columns[at]).filter(varies));
        }
        chosen.sort_unstable();
        chosen
    }

    /// Looks for a split of `column` that is worth more than `bar`, raises `bar` to the best one, and says where its
    /// right side begins.
    fn scan(&self, column: usize, range: &Range<usize>, total: Sums, bar: &mut f64) -> Option<usize> {
        let Growth { min_rows, min_weight, lambda, .. } = self.growth;
        let places = self.lists.by_column(column, range);
        let mut best = None;
        let mut left = Sums::default();
        for (pair, n_left) in places.windows(2).zip(1..) {
            left.add(self.sums[pair[0].row as usize]);
            if pair[0].rank == pair[1].rank || n_left < min_rows || places.len() - n_left < min_rows {
                continue;
            }
            let right = Sums { pull: total.pull - left.pull, weight: total.weight - left.weight };
            if left.weight < min_weight || right.weight < min_weight {
                continue;
            }
            let (left_weight, right_weight) = (left.weight + lambda, right.weight + lambda);
            // Both quotients by one division.
            let worth = (left.pull * left.pull * right_weight + right.pull * right.pull * left_weight)
                / (left_weight * right_weight);
            if worth > *bar {
                *bar = worth * (1.0 + ROUNDING);
                best = Some(range.start + n_left);
            }
        }
        best
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Table;

    struct Oracle<'a> {
        table: &'a Table,
        sums: &'a [Sums],
        growth: Growth,
    }

    impl Oracle<'_> {
        /// May some rows be a leaf?
        fn may_be(&self, rows: &[usize]) -> bool {
            let weight: f64 = rows.iter().map(|&row| self.sums[row].weight).sum();
            rows.len() >= self.growth.min_rows && weight >= self.growth.min_weight
        }

        /// The prediction p for some rows, and sum(weight (y - p)^2) + lambda p^2, which it makes least.
        fn leaf(&self, rows: &[usize]) -> (f64, f64) {
            let of = |number: fn(&Sums) -> f64| rows.iter().map(|&row| number(&self.sums[row])).sum::<f64>();
            let p = of(|sums| sums.pull) / (of(|sums| sums.weight) + self.growth.lambda);
            let square = |sums: &Sums| sums.weight * (sums.pull / sums.weight - p) * (sums.pull / sums.weight - p);
            (p, rows.iter().map(|&row| square(&self.sums[row])).sum::<f64>() + self.growth.lambda * p * p)
        }

        /// Tries all splits of some rows one by one, and writes the prediction for each row.
        fn fit(&self, rows: &[usize], depth: usize, predictions: &mut [f64]) {
            let (prediction, error) = self.leaf(rows);
            rows.iter().for_each(|&row| predictions[row] = prediction);
            let any = self.growth.until_pure && error > 1e-9;
            let (mut least, mut best) = (if any { f64::INFINITY } else { error - 1e-9 }, None);
            for column in 0..self.table.n_columns() {
                for low in -2..3 {
                    let is_left = |row: &usize| self.table.at(*row, column) <= f64::from(low);
                    let (left, right): (Vec<usize>, Vec<usize>) = rows.iter().partition(|row| is_left(row));
                    let error = self.leaf(&left).1 + self.leaf(&right).1;
                    if self.may_be(&left) && self.may_be(&right) && error < least {
                        (least, best) = (error - 1e-9, Some((left, right)));
                    }
                }
            }
            if let Some((left, right)) = best.filter(|_| depth < self.growth.max_depth) {
                self.fit(&left, depth + 1, predictions);
                self.fit(&right, depth + 1, predictions);
            }
        }
    }

    #[test]
    fn each_split_is_the_best_of_all() {
        let mut random = Random::new(5);
        for case in 0..300 {
            let (n_rows, n_columns, until_pure) = (random.below(16), random.below(5), case % 2 == 0);
            let (mut table, mut sums) = (Table::new(n_columns), Vec::new());
            for _ in 0..n_rows {
                table.push(&(0..n_columns).map(|_| random.below(6) as f64 - 2.0).collect::<Vec<_>>());
                let weight = random.below(4) as f64;
                let target = if until_pure { random.below(2) as f64 } else { random.below(5) as f64 * 0.1 - 0.2 };
                sums.push(Sums { pull: weight * target, weight });
            }
            let (max_depth, min_rows) = (case % 5, 1 + case % 3);
            let (lambda, min_weight) = if until_pure { (0.0, 0.0) } else { ((case % 3) as f64, (case % 4) as f64) };
            let growth = Growth { max_depth, min_rows, min_weight, lambda, until_pure };
            // To draw all columns is to take all.
            let drawn = Some((n_columns, &mut random)).filter(|_| case % 7 < 3);
            let tree = Tree::grow(&Sorted::new(&table), &sums, growth, drawn);
            let rows: Vec<usize> = (0..n_rows).filter(|&row| sums[row].weight > 0.0).collect();
            let mut expected = vec![0.0; n_rows];
            Oracle { table: &table, sums: &sums, growth }.fit(&rows, 0, &mut expected);
            for row in rows {
                let found = tree.predict(table.row(row));
                assert!((found - expected[row]).abs() < 1e-9, "case {case}, row {row}: {found}, {}", expected[row]);
            }
        }
    }

    #[test]
    fn a_threshold_parts_the_numbers_next_to_it_in_the_middle() {
        let small = [f64::NEG_INFINITY, -f64::MAX, -1.0, -5e-324, 0.0, 5e-324];
        let great = [1.0, 1.0 + f64::EPSILON, 2.0, f64::MAX, f64::INFINITY, f64::NAN];
        let mut table = Table::new(1);
        small.iter().chain(&great).for_each(|&number| table.push(&[number]));
        let sums: Vec<Sums> = (0..12).map(|row| Sums { pull: f64::from(row * row), weight: 1.0 }).collect();
        let growth = Growth { max_depth: 20, min_rows: 1, min_weight: 0.0, lambda: 0.0, until_pure: false };
        let tree = Tree::grow(&Sorted::new(&table), &sums, growth, None);
        (0..12).for_each(|row| assert_eq!(tree.predict(table.row(row)), sums[row].pull));
        assert_eq!([-0.6, -0.4, 1.4, 1.6].map(|number| tree.predict(&[number])), [4.0, 9.0, 49.0, 64.0]);
    }

    #[test]
    fn labels_that_differ_are_told_apart_though_the_first_split_gains_nothing() {
        let (mut table, mut sums) = (Table::new(2), Vec::new());
        for (a, b) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
            table.push(&[f64::from(a), f64::from(b)]);
            sums.push(Sums { pull: f64::from(a ^ b), weight: 1.0 });
        }
        let growth = Growth { max_depth: 2, min_rows: 1, min_weight: 0.0, lambda: 0.0, until_pure: true };
        let tree = Tree::grow(&Sorted::new(&table), &sums, growth, None);
        (0..4).for_each(|row| assert_eq!(tree.predict(table.row(row)), sums[row].pull));
        assert!(Tree::grow(&Sorted::new(&table), &sums, Growth { until_pure: false, ..growth }, None).is_leaf());
    }
}
