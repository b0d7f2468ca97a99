//! A proposer outside: a person, a script, a language model. `--ask` prints points, `--points` measures what it answers.
//!
//! What it chose is recorded as trials of the searcher `outside`, so that a replay needs it no more.

use crate::show::point_text;
use crate::task::Values;
use crate::tune::{find, values};
use serde::{Deserialize, Serialize};
use std::path::Path;
use tc::support::{Diagnostic, Location};
use tc_search::searcher::Listed;
use tc_search::{Budget, Kind, Next, Outcome, Pool, Search, Searcher};

/// What the searcher is called that is none of ours.
const NAME: &str = "outside";

/// Who chooses.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Proposer {
    /// A searcher of ours.
    Ours(Kind),
    /// Somebody else, who chose these.
    Outside(Vec<usize>),
}

impl Proposer {
    /// The name in records.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Proposer::Ours(kind) => kind.name(),
            Proposer::Outside(_) => NAME,
        }
    }

    /// The searcher.
    pub(crate) fn searcher(&self, seed: u64) -> Box<dyn Searcher> {
        match self {
            Proposer::Ours(kind) => kind.searcher(seed),
            Proposer::Outside(points) => Box::new(Listed(points.clone())),
        }
    }
}

/// A line of a file of points.
#[derive(Serialize, Deserialize)]
struct Line {
    point: Values,
}

/// The points that a searcher would try next, as JSON lines.
pub(crate) fn ask(pool: &Pool, (kind, seed): (Kind, u64), known: &[(usize, Outcome)], n: usize) -> String {
    let mut search = Search::new(pool, kind.searcher(seed), Budget { trials: n, batch: n, patience: None });
    search.warm_start(known.iter().copied());
    let Next::Batch(batch) = search.ask() else { return String::new() };
    let line = |&point: &usize| serde_json::to_string(&Line { point: values(pool, point) }).unwrap_or_default() + "\n";
    batch.points.iter().map(line).collect()
}

/// The points of a file, in order.
pub(crate) fn read(path: &Path, pool: &Pool) -> Result<Vec<usize>, Diagnostic> {
    let refuse = |text: String| Diagnostic::error("points", Location::None, text);
    let text =
        std::fs::read_to_string(path).map_err(|error| refuse(format!("cannot read {}: {error}", path.display())))?;
    let mut points = Vec::new();
    for (nth, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let at = || format!("line {} of {}", nth + 1, path.display());
        let line: Line = serde_json::from_str(line).map_err(|error| refuse(format!("{}: {error}", at())))?;
        let point = find(pool, &line.point).ok_or_else(|| {
            let text = format!("{}: {} is no valid point of the space", at(), point_text(&line.point));
            refuse(text).help("`tc-opt --list-space` shows the space, and why points are rejected")
        })?;
        if !points.contains(&point) {
            points.push(point);
        }
    }
    Ok(points)
}
