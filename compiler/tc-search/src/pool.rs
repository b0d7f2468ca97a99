//! The points that a search chooses from, each a number.

use crate::model::Table;
use std::collections::BTreeMap;

/// A parameter, with the values that some point has for it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Knob {
    /// The name.
    pub name: String,
    /// The values, ascending.
    pub values: Vec<i64>,
}

/// What is known of a point beside its values.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Features {
    /// Numbers that models learn from, as many for each point.
    pub columns: Vec<f64>,
    /// What a rule makes of the point before anything is measured; less is better.
    pub cost: f64,
}

/// The points that a search chooses from. All are valid; a point is known by its number.
#[derive(Clone, Debug)]
pub struct Pool {
    knobs: Vec<Knob>,
    points: Vec<Vec<i64>>,
    numbers: BTreeMap<Vec<i64>, usize>,
    features: Table,
    costs: Vec<f64>,
    /// Of so many points that are drawn, that of the least cost is one of the first.
    contenders: usize,
    /// The mean of what is expected of the points whose costs are estimated times; none where no cost is.
    expected: Option<f64>,
}

/// Of so many points, where nothing is said of how good the rule is.
const CONTENDERS: usize = 8;
/// By so much two predictions differ where one time is estimated to be twice the other: e^-4 then are the odds that it is less.
const TRUST: f64 = 4.0;

/// What is expected of a point whose estimated time is `cost`, which `f64::MAX` is not.
fn expected(cost: f64) -> Option<f64> {
    (cost > 0.0 && cost < f64::MAX).then(|| -TRUST * libm::log2(cost))
}

impl Pool {
    /// A pool of `points`, each with a value for each of `names`; points that repeat are taken once.
    pub fn new(names: &[String], points: Vec<Vec<i64>>) -> Pool {
        let empty = vec![Features::default(); points.len()];
        Pool::with_features(names, points, &empty)
    }

    /// The same, where more is known of each point than its values.
    pub fn with_features(names: &[String], points: Vec<Vec<i64>>, more: &[Features]) -> Pool {
        let mut knobs: Vec<Knob> = names.iter().map(|name| Knob { name: name.clone(), values: Vec::new() }).collect();
        for point in &points {
            for (knob, &value) in knobs.iter_mut().zip(point) {
                knob.values.push(value);
            }
        }
        for knob in &mut knobs {
            knob.values.sort_unstable();
            knob.values.dedup();
        }
        let n_more = more.first().map_or(0, |more| more.columns.len());
        let features = Table::new(names.len() + n_more);
        let mut pool = Pool {
            points: Vec::new(),
            numbers: BTreeMap::new(),
            features,
            costs: Vec::new(),
            contenders: CONTENDERS,
            expected: None,
            knobs,
        };
        for (point, more) in points.into_iter().zip(more) {
            if pool.numbers.contains_key(&point) {
                continue;
            }
            // Ranks, so that steps between powers of two are as long as those between small numbers.
            let rank = |(knob, value): (&Knob, &i64)| knob.values.partition_point(|other| other < value) as f64;
            let row: Vec<f64> = pool.knobs.iter().zip(&point).map(rank).chain(more.columns.iter().copied()).collect();
            pool.features.push(&row);
            pool.costs.push(more.cost);
            pool.numbers.insert(point.clone(), pool.points.len());
            pool.points.push(point);
        }
        pool
    }

    /// The same, where the costs are estimated times: models start from them, and each of the first points is that of least
    /// cost of `n` that are drawn.
    pub fn with_estimates(self, n: usize) -> Pool {
        let known: Vec<f64> = self.costs.iter().filter_map(|&cost| expected(cost)).collect();
        let mean = known.iter().sum::<f64>() / known.len().max(1) as f64;
        Pool { contenders: n.max(1), expected: Some(mean), ..self }
    }

    /// Of how many points that are drawn one is chosen by its cost.
    pub fn contenders(&self) -> usize {
        self.contenders
    }

    /// The number of points.
    pub fn len(&self) -> usize {
        self.points.len()
    }

    /// Is there no point?
    pub fn is_empty(&self) -> bool {
        self.points.is_empty()
    }

    /// The parameters.
    pub fn knobs(&self) -> &[Knob] {
        &self.knobs
    }

    /// The values of a point.
    pub fn point(&self, nth: usize) -> &[i64] {
        &self.points[nth]
    }

    /// The number of the point with these values, if it is in the pool.
    pub fn find(&self, values: &[i64]) -> Option<usize> {
        self.numbers.get(values).copied()
    }

    /// What models learn from: a row for each point.
    pub fn features(&self) -> &Table {
        &self.features
    }

    /// What a rule makes of a point before anything is measured; less is better.
    pub fn cost(&self, nth: usize) -> f64 {
        self.costs[nth]
    }

    /// Are the costs estimated times?
    pub fn is_estimated(&self) -> bool {
        self.expected.is_some()
    }

    /// What a model that orders points by speed starts from: the less, the longer the estimated time. A point without one is taken to be
    /// as the others are in the mean.
    pub fn expected(&self, nth: usize) -> f64 {
        self.expected.map_or(0.0, |mean| expected(self.costs[nth]).unwrap_or(mean))
    }

    /// In how many values two points differ.
    pub fn distance(&self, a: usize, b: usize) -> usize {
        self.points[a].iter().zip(&self.points[b]).filter(|(a, b)| a != b).count()
    }

    /// The points that differ from a point in one value, and those that differ in two, in order.
    pub fn neighbours(&self, of: usize) -> (Vec<usize>, Vec<usize>) {
        let (mut near, mut far) = (Vec::new(), Vec::new());
        for other in 0..self.len() {
            match self.distance(of, other) {
                1 => near.push(other),
                2 => far.push(other),
                _ => {}
            }
        }
        (near, far)
    }

    /// The point that `change` makes of a point, if it is in the pool: another value for one parameter.
    pub fn changed(&self, of: usize, knob: usize, value: i64) -> Option<usize> {
        let mut values = self.points[of].clone();
        values[knob] = value;
        self.find(&values)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// All pairs of `0..n` and `0..m`.
    pub(crate) fn grid(n: i64, m: i64) -> Pool {
        let points = (0..n).flat_map(|a| (0..m).map(move |b| vec![a, b])).collect();
        Pool::new(&["a".to_string(), "b".to_string()], points)
    }

    #[test]
    fn points_are_found_by_their_values() {
        let pool = grid(3, 4);
        assert_eq!((pool.len(), pool.knobs()[1].values.clone()), (12, vec![0, 1, 2, 3]));
        assert!((0..12).all(|nth| pool.find(pool.point(nth)) == Some(nth)));
        assert_eq!((pool.find(&[3, 0]), pool.changed(0, 1, 3), pool.changed(0, 1, 9)), (None, Some(3), None));
        assert!(grid(0, 0).is_empty());
    }

    #[test]
    fn neighbours_differ_in_one_value_or_in_two() {
        let (near, far) = grid(3, 3).neighbours(4);
        assert_eq!((near, far), (vec![1, 3, 5, 7], vec![0, 2, 6, 8]));
    }

    #[test]
    fn a_point_that_repeats_is_one() {
        let pool = Pool::new(&["a".to_string()], vec![vec![8], vec![2], vec![8]]);
        assert_eq!((pool.len(), pool.features().n_rows(), pool.features().at(0, 0)), (2, 2, 1.0));
    }
}
