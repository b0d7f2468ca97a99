//! Rows of the tables: what was measured, the peer's figure, their ratio, and whether the budget of the design is kept.

use crate::report;

/// What is allowed.
pub(crate) enum Budget {
    /// So many times as fast as the peer, at least.
    Faster(f64),
    /// So many bytes an op, at most.
    Bytes(f64),
    /// So many percent of the whole, at most.
    Share(f64),
}

impl Budget {
    /// Is it kept by `ours`, which is `ratio` times better than the peer's, if there is one?
    fn is_kept(&self, ours: f64, ratio: Option<f64>) -> Option<bool> {
        match *self {
            Budget::Faster(times) => ratio.map(|ratio| ratio >= times),
            Budget::Bytes(most) | Budget::Share(most) => Some(ours <= most),
        }
    }

    fn text(&self) -> String {
        match *self {
            Budget::Faster(times) => format!("{times:.0}x"),
            Budget::Bytes(most) => format!("{most:.0} B/op"),
            Budget::Share(most) => format!("{most:.0} %"),
        }
    }
}

/// The head of a table whose other column is `peer`'s.
pub(crate) fn head(peer: &str) {
    report(&format!("{:<28}{:>13}{peer:>15}{:>9}{:>10}\n", "", "tc", "ratio", "budget"));
}

/// A row of it: `ours` and `peer` in the unit that `show` writes; less is better.
pub(crate) fn row(what: &str, ours: f64, peer: Option<f64>, budget: &Budget, show: impl Fn(f64) -> String) {
    let ratio = peer.map(|peer| peer / ours);
    let verdict = match budget.is_kept(ours, ratio) {
        Some(true) => "OK",
        Some(false) => "over",
        None => "no peer",
    };
    report(&format!(
        "{what:<28}{:>13}{:>15}{:>9}{:>10}  {verdict}\n",
        show(ours),
        peer.map_or(String::new(), &show),
        ratio.map_or(String::new(), |ratio| format!("{ratio:.1}x")),
        budget.text()
    ));
}

/// Seconds as milliseconds.
pub(crate) fn ms(seconds: f64) -> String {
    format!("{:.3} ms", seconds * 1e3)
}
