//! Times beside others: the first and the previous schedule of the same operator and sizes, a peer's, the bound.

use crate::table::Row;
use std::collections::BTreeMap;
use tc::runtime::Timing;
use tc::support::{Diagnostic, Location, suggest};

/// Times of a peer in microseconds, by case as the table calls it.
pub(crate) type Peer = BTreeMap<String, f64>;

/// A time beside others; each a factor by which it is shorter.
#[derive(Clone, Copy, PartialEq, Default, Debug)]
pub(crate) struct Against {
    /// Than that of the first schedule.
    pub(crate) first: Option<f64>,
    /// Than that of the schedule before.
    pub(crate) previous: Option<f64>,
    /// The peer's time in microseconds.
    pub(crate) peer_us: Option<f64>,
    /// Than the peer's.
    pub(crate) peer: Option<f64>,
    /// The part of it that its operations and buffers take at least.
    pub(crate) bound: Option<f64>,
}

/// Each row's time beside others.
pub(crate) fn compare(rows: &[Row], peer: &Peer) -> Vec<Against> {
    (0..rows.len()).map(|nth| one(rows, nth, peer)).collect()
}

fn one(rows: &[Row], nth: usize, peer: &Peer) -> Against {
    let row = &rows[nth];
    let us = |row: &Row| row.timing.as_ref().map(|timing: &Timing| timing.median_us);
    let Some(own) = us(row) else { return Against::default() };
    let mut before =
        rows[..nth].iter().filter(|other| (&other.func, &other.sizes) == (&row.func, &row.sizes)).filter_map(us);
    let first = before.next();
    let previous = before.next_back().or(first);
    let peer_us = peer.get(&row.case).copied();
    Against {
        first: first.map(|first| first / own),
        previous: previous.map(|previous| previous / own),
        peer_us,
        peer: peer_us.map(|peer| peer / own),
        bound: row.bound_us.map(|bound| bound / own),
    }
}

/// Reads a peer's times: `{"conv1d @v5": 3.2}`.
pub(crate) fn read(path: &std::path::Path) -> Result<Peer, String> {
    let shown = path.display();
    let text = std::fs::read_to_string(path).map_err(|error| format!("cannot read `{shown}`: {error}"))?;
    let peer: Peer = serde_json::from_str(&text)
        .map_err(|error| format!("`{shown}` holds no times by case, such as {{\"conv1d @v5\": 3.2}}: {error}"))?;
    match peer.iter().find(|(_, us)| !us.is_finite() || **us <= 0.0) {
        Some((case, us)) => Err(format!("`{shown}` gives `{case}` {us} microseconds")),
        None => Ok(peer),
    }
}

/// What is wrong with a peer's file some of whose times are of no row.
pub(crate) fn strays(rows: &[Row], peer: &Peer) -> Option<Diagnostic> {
    let cases = || rows.iter().map(|row| row.case.as_str());
    let strays: Vec<&String> = peer.keys().filter(|key| cases().all(|case| case != key.as_str())).collect();
    if strays.is_empty() {
        return None;
    }
    let named: Vec<String> = strays.iter().take(SHOWN).map(|key| format!("`{}`", suggest::shorten(key))).collect();
    let more = strays.len().saturating_sub(SHOWN);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let message = format!("no row takes the peer's time of {}{more}", named.join(", "));
    let mut told = Diagnostic::warning("peer", Location::None, message);
    for stray in strays.into_iter().take(SHOWN) {
        if let Some(near) = suggest::nearest(stray, cases()) {
            told = told.note(format!("`{}`: did you mean `{near}`?", suggest::shorten(stray)));
        }
    }
    let rows: Vec<String> = cases().take(SHOWN).map(|case| format!("`{case}`")).collect();
    let and = if cases().nth(SHOWN).is_some() { ", …" } else { "" };
    Some(told.help(format!("rows are called {}{and}", rows.join(", "))))
}

/// Names that a message lists, at most.
const SHOWN: usize = 5;

#[cfg(test)]
mod tests {
    use super::*;
    use tc::runtime::L2;

    fn row(case: &str, sizes: &str, us: f64) -> Row {
        let timing = Timing::from_samples(vec![us; 9], 1, L2::Kept);
        Row { case: case.into(), func: "f".into(), sizes: sizes.into(), timing, bound_us: Some(0.5), ..Row::default() }
    }

    #[test]
    fn rows_compare_with_those_of_their_operator_and_size() {
        let rows = [row("f @a", "", 8.0), row("f @b", "", 4.0), row("f @c", "", 2.0), row("f @a n=2", "n=2", 3.0)];
        let found = compare(&rows, &Peer::from([("f @c".to_string(), 1.0)]));
        assert_eq!(found[0], Against { bound: Some(0.0625), ..Against::default() });
        assert_eq!((found[1].first, found[1].previous), (Some(2.0), Some(2.0)));
        assert_eq!(
            (found[2].first, found[2].previous, found[2].peer, found[2].bound),
            (Some(4.0), Some(2.0), Some(0.5), Some(0.25))
        );
        assert_eq!(found[3].first, None);
    }

    #[test]
    fn times_of_no_row_are_told() {
        let rows = [row("f @a", "", 8.0), row("f @b", "", 4.0)];
        let peer = |keys: &[&str]| keys.iter().map(|key| (key.to_string(), 1.0)).collect::<Peer>();
        assert_eq!(strays(&rows, &peer(&["f @a"])), None);
        let told = strays(&rows, &peer(&["f @a", "f @c", "g"])).expect("two strays");
        assert_eq!(told.message, "no row takes the peer's time of `f @c`, `g`");
        assert_eq!(told.notes, ["`f @c`: did you mean `f @a`?"]);
        assert_eq!(told.help.as_deref(), Some("rows are called `f @a`, `f @b`"));
        let many: Vec<String> = (0..9).map(|nth| format!("case {nth}")).collect();
        let many = strays(&rows, &peer(&many.iter().map(String::as_str).collect::<Vec<_>>())).expect("nine");
        assert!(many.message.ends_with("`case 4` and 4 more"), "{}", many.message);
    }
}
