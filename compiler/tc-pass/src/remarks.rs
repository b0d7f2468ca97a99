//! Remarks: what a pass did not do, and why.
//!
//! There are two kinds. One answers what somebody asked for in words: a mark of a schedule (`vectorize(i)`) that was not
//! carried out, an access that a check could not prove. A pass reports it like any diagnostic, and it is shown unless no one
//! wants remarks. The other tells what a pass decided by itself: an expression that is computed twice, a division that takes
//! the long way. [`PassCx::missed`](crate::PassCx::missed) makes it only where the run asks for the remarks of the pass, so
//! that it costs nothing otherwise.

use indexmap::IndexMap;
use tc_support::{Diagnostics, Location, Severity};

/// At one place that many remarks of one kind are shown; a loop that was copied has the same to say of each copy.
const MAX_ALIKE: usize = 8;

/// Which remarks a run wants.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub enum Remarks {
    /// None: nothing reads them.
    None,
    /// Those that answer what somebody asked for.
    #[default]
    Asked,
    /// All.
    All,
    /// All of these passes, and none of others.
    Of(Vec<String>),
}

/// Which remarks a run wants of one pass.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Wanted {
    /// None.
    None,
    /// Those that answer what somebody asked for.
    #[default]
    Asked,
    /// All.
    All,
}

impl Remarks {
    /// Which of the pass `name`.
    pub fn of_pass(&self, name: &str) -> Wanted {
        match self {
            Remarks::None => Wanted::None,
            Remarks::Asked => Wanted::Asked,
            Remarks::All => Wanted::All,
            Remarks::Of(names) if names.iter().any(|wanted| wanted == name) => Wanted::All,
            Remarks::Of(_) => Wanted::None,
        }
    }
}

/// Leaves of the diagnostics of one pass the remarks that are wanted, each of them once, and only so many at one place.
pub(crate) fn settle(found: &mut Diagnostics, wanted: Wanted) {
    let is_remark = |severity: Severity| severity == Severity::Remark;
    if !found.iter().any(|one| is_remark(one.severity)) {
        return;
    }
    if wanted == Wanted::None {
        found.retain(|one| !is_remark(one.severity));
        return;
    }
    let mut texts: IndexMap<(&'static str, Location), Vec<String>> = IndexMap::new();
    let mut n_more: IndexMap<(&'static str, Location), usize> = IndexMap::new();
    found.retain(|one| {
        if !is_remark(one.severity) {
            return true;
        }
        let place = (one.code, one.location.clone());
        let shown = texts.entry(place.clone()).or_default();
        if shown.contains(&one.message) {
            return false;
        }
        if shown.len() == MAX_ALIKE && one.location != Location::None {
            *n_more.entry(place).or_default() += 1;
            return false;
        }
        shown.push(one.message.clone());
        true
    });
    for one in found.iter_mut().filter(|one| is_remark(one.severity)) {
        let place = (one.code, one.location.clone());
        let is_last = texts.get(&place).and_then(|shown| shown.last()) == Some(&one.message);
        if let Some(n) = n_more.get(&place).filter(|_| is_last) {
            one.notes.push(format!("{n} more like this here"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tc_support::{Diagnostic, Pos, Span};

    fn remarks(texts: impl IntoIterator<Item = String>) -> Diagnostics {
        texts.into_iter().map(|text| Diagnostic::remark("r", Span::at(Pos(7)), text)).collect()
    }

    #[test]
    fn a_filter_names_passes() {
        let one = Remarks::Of(vec!["cse".to_string()]);
        assert_eq!((one.of_pass("cse"), one.of_pass("dce")), (Wanted::All, Wanted::None));
        assert_eq!(Remarks::default().of_pass("cse"), Wanted::Asked);
    }

    #[test]
    fn what_is_said_twice_is_shown_once_and_a_flood_is_counted() {
        let mut found = remarks((0..12).map(|n| format!("copy {}", n.min(10))));
        settle(&mut found, Wanted::Asked);
        assert_eq!(found.len(), MAX_ALIKE);
        let notes: Vec<&String> = found.iter().flat_map(|one| &one.notes).collect();
        assert_eq!(notes, ["4 more like this here"]);
    }

    #[test]
    fn an_error_is_no_remark() {
        let mut found = remarks(["x".to_string()]);
        found.push(Diagnostic::error("e", Location::None, "wrong"));
        settle(&mut found, Wanted::None);
        assert_eq!(found.len(), 1);
    }
}
