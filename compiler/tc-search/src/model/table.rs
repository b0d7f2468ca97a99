//! The rows that a model learns from, and their order by each column.

use std::ops::Range;

/// Rows of numbers, all of one length.
#[derive(Clone, Debug, Default)]
pub struct Table {
    n_rows: usize,
    n_columns: usize,
    numbers: Vec<f64>,
}

/// Where a row stands among all rows that one column orders.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Place {
    /// The row.
    pub(super) row: u32,
    /// How many other numbers of the column are below the row's; equal for equal numbers.
    pub(super) rank: u32,
}

impl Table {
    /// A table without rows.
    pub fn new(n_columns: usize) -> Table {
        Table { n_columns, ..Table::default() }
    }

    /// Adds a row at the end.
    ///
    /// # Panics
    ///
    /// If the row does not have a number for each column.
    pub fn push(&mut self, row: &[f64]) {
        assert_eq!(row.len(), self.n_columns, "a row has one number for each column");
        self.numbers.extend_from_slice(row);
        self.n_rows += 1;
    }

    /// How many rows there are.
    pub fn n_rows(&self) -> usize {
        self.n_rows
    }

    /// How many numbers each row has.
    pub fn n_columns(&self) -> usize {
        self.n_columns
    }

    /// The numbers of a row.
    pub fn row(&self, row: usize) -> &[f64] {
        assert!(row < self.n_rows, "row {row} of {}", self.n_rows);
        &self.numbers[row * self.n_columns..][..self.n_columns]
    }

    /// One number of a row.
    pub fn at(&self, row: usize, column: usize) -> f64 {
        self.row(row)[column]
    }

    /// The rows from the least number of `column` to the greatest, equal ones by their index.
    ///
    /// The order is that of [`f64::total_cmp`], but both zeros are equal and all that are no number are equal and last:
    /// the sign of such a value depends on the machine.
    pub(super) fn sorted(&self, column: usize) -> Vec<Place> {
        let number = |row| match self.at(row, column) {
            number if number.is_nan() => f64::NAN,
            number => number + 0.0,
        };
        let mut keys: Vec<(f64, usize)> = (0..self.n_rows).map(|row| (number(row), row)).collect();
        keys.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        let mut rank = 0;
        let place = |at: usize| {
            if at > 0 && keys[at].0.total_cmp(&keys[at - 1].0).is_ne() {
                rank = at as u32;
            }
            Place { row: keys[at].1 as u32, rank }
        };
        (0..self.n_rows).map(place).collect()
    }
}

/// The rows of a table by each column, from which many trees grow.
#[derive(Debug)]
pub(super) struct Sorted<'a> {
    /// The table.
    pub(super) table: &'a Table,
    lists: Vec<Vec<Place>>,
}

impl<'a> Sorted<'a> {
    /// Sorts all columns.
    pub(super) fn new(table: &'a Table) -> Sorted<'a> {
        let mut lists: Vec<Vec<Place>> = (0..table.n_columns()).map(|column| table.sorted(column)).collect();
        lists.push((0..table.n_rows() as u32).map(|row| Place { row, rank: 0 }).collect());
        Sorted { table, lists }
    }

    /// The lists of the rows that `keep` has.
    pub(super) fn keep(&self, keep: impl Fn(usize) -> bool) -> Lists {
        let kept = |place: &Place| keep(place.row as usize);
        let places: Vec<Place> = self.lists.iter().flatten().copied().filter(kept).collect();
        let n_rows = places.len() / self.lists.len();
        let spare = vec![Place { row: 0, rank: 0 }; n_rows];
        Lists { n_rows, n_columns: self.table.n_columns(), places, spare, goes_left: vec![false; self.table.n_rows()] }
    }
}

/// One list of rows for each column in the order of its numbers, and a last one in the order of the rows.
///
/// A node of a tree has the same range of places in all lists: to part a node puts the rows of its left side before
/// those of its right side in each list, and keeps their order otherwise.
#[derive(Debug)]
pub(super) struct Lists {
    n_rows: usize,
    n_columns: usize,
    places: Vec<Place>,
    spare: Vec<Place>,
    goes_left: Vec<bool>,
}

impl Lists {
    /// How many rows each list has.
    pub(super) fn n_rows(&self) -> usize {
        self.n_rows
    }

    /// The rows of a node in the order of `column`.
    pub(super) fn by_column(&self, column: usize, range: &Range<usize>) -> &[Place] {
        &self.places[column * self.n_rows..][range.clone()]
    }

    /// The rows of a node in their own order.
    pub(super) fn by_row(&self, range: &Range<usize>) -> &[Place] {
        self.by_column(self.n_columns, range)
    }

    /// Parts a node before the place `middle` of the list of `column`; only the list by row unless `all`.
    pub(super) fn part(&mut self, range: &Range<usize>, column: usize, middle: usize, all: bool) {
        for at in range.clone() {
            let row = self.places[column * self.n_rows + at].row;
            self.goes_left[row as usize] = at < middle;
        }
        for list in if all { 0 } else { self.n_columns }..=self.n_columns {
            let places = &mut self.places[list * self.n_rows..][range.clone()];
            let (mut n_left, mut n_right) = (0, 0);
            for at in 0..places.len() {
                let place = places[at];
                let left = self.goes_left[place.row as usize];
                // The next one overwrites one of the two: cheaper than a branch that cannot be predicted.
                places[n_left] = place;
                self.spare[n_right] = place;
                n_left += usize::from(left);
                n_right += usize::from(!left);
            }
            places[n_left..].copy_from_slice(&self.spare[..n_right]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_gives_back_its_rows() {
        let mut table = Table::new(2);
        assert_eq!((table.n_rows(), table.n_columns()), (0, 2));
        table.push(&[1.0, 2.0]);
        table.push(&[3.0, 4.0]);
        assert_eq!((table.n_rows(), table.row(1), table.at(0, 1)), (2, [3.0, 4.0].as_slice(), 2.0));
        let mut no_columns = Table::default();
        no_columns.push(&[]);
        assert_eq!((no_columns.n_rows(), no_columns.row(0).len()), (1, 0));
    }

    #[test]
    #[should_panic(expected = "one number for each column")]
    fn a_row_of_another_length_is_refused() {
        Table::new(2).push(&[1.0]);
    }

    #[test]
    fn zeros_are_equal_and_what_is_no_number_is_last() {
        let mut table = Table::new(1);
        for number in [f64::INFINITY, 0.0, -f64::NAN, -1.0, -0.0, f64::NAN, f64::NEG_INFINITY] {
            table.push(&[number]);
        }
        let places: Vec<(u32, u32)> = table.sorted(0).iter().map(|place| (place.row, place.rank)).collect();
        assert_eq!(places, [(6, 0), (3, 1), (1, 2), (4, 2), (0, 4), (2, 5), (5, 5)]);
    }

    #[test]
    fn a_parted_node_keeps_the_order_of_each_list() {
        let mut table = Table::new(2);
        for row in [[3.0, 0.0], [1.0, 0.0], [2.0, -1.0], [0.0, 5.0], [9.0, 9.0]] {
            table.push(&row);
        }
        let mut lists = Sorted::new(&table).keep(|row| row != 4);
        lists.part(&(0..4), 0, 2, true);
        let rows = |places: &[Place]| places.iter().map(|place| place.row).collect::<Vec<_>>();
        assert_eq!(rows(lists.by_column(0, &(0..4))), [3, 1, 2, 0]);
        assert_eq!(rows(lists.by_column(1, &(0..2))), [1, 3]);
        assert_eq!(rows(lists.by_column(1, &(2..4))), [2, 0]);
        assert_eq!((rows(lists.by_row(&(0..2))), rows(lists.by_row(&(2..4)))), (vec![1, 3], vec![0, 2]));
    }
}
