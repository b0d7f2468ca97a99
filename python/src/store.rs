//! The cache of machine code, for `tirc.cache`.

use crate::error::alone;
use pyo3::prelude::*;
use std::path::PathBuf;
use std::time::UNIX_EPOCH;
use tc::runtime::code_cache::CodeCache;

/// Key, function, target, bytes, seconds since 1970, whether it fits its hash.
type Entry = (String, String, String, u64, f64, bool);

/// The folder of the user's cache; `None` where nothing is kept.
#[pyfunction]
pub(crate) fn cache_folder() -> Option<PathBuf> {
    CodeCache::of_user().map(|cache| cache.folder().to_path_buf())
}

/// What the cache holds.
#[pyfunction]
pub(crate) fn cache_entries(py: Python<'_>) -> Vec<Entry> {
    let entries = py.detach(|| CodeCache::of_user().map_or(Vec::new(), |cache| cache.entries()));
    let entry = |entry: tc::runtime::code_cache::Entry| {
        let seconds = entry.modified.duration_since(UNIX_EPOCH).map_or(0.0, |since| since.as_secs_f64());
        (entry.key, entry.function, entry.target, entry.bytes, seconds, entry.is_whole)
    };
    entries.into_iter().map(entry).collect()
}

/// Removes entries, all or those whose keys begin with one of `keys`, and says how many.
#[pyfunction]
#[pyo3(signature = (keys = None))]
pub(crate) fn clear_cache(py: Python<'_>, keys: Option<Vec<String>>) -> PyResult<usize> {
    let cleared = py.detach(|| CodeCache::of_user().map_or(Ok(0), |cache| cache.clear(keys.as_deref())));
    cleared.map_err(|wrong| alone(py, wrong))
}
