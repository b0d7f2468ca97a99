//! The results that a search starts from, as its trials name them.

use super::Record;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use tc::runtime::hash;

/// So many records, the first of their task and device in the file of the search.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, Debug)]
pub(crate) struct Start {
    pub(crate) records: usize,
    /// The hash of what a search is told of them: the points, and the times.
    pub(crate) hash: String,
}

impl Start {
    /// How trials name `records`, each of which is there once.
    pub(crate) fn of(records: &[&Record]) -> Start {
        let told: Vec<_> = records.iter().map(|record| (&record.point, record.result.median())).collect();
        // Names, numbers and nothing: that cannot fail.
        Start { records: records.len(), hash: hash(serde_json::to_string(&told).unwrap_or_default()) }
    }

    /// The records, among those of the task and device; nothing where they are not the first any more.
    pub(crate) fn find<'r>(&self, records: impl IntoIterator<Item = &'r Record>) -> Option<Vec<&'r Record>> {
        let mut first = distinct(records);
        first.truncate(self.records);
        (Start::of(&first) == *self).then_some(first)
    }
}

/// The records, each attempt once.
pub(crate) fn distinct<'r>(records: impl IntoIterator<Item = &'r Record>) -> Vec<&'r Record> {
    let mut seen = BTreeSet::new();
    records.into_iter().filter(|record| seen.insert(record.original())).collect()
}
