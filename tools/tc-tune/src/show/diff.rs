//! `tc-tune diff`: the points that two files have, by how their times changed.

use super::{by_task, heading, point_text, ranked, results};
use crate::drive::load;
use crate::records::{self, Time};
use crate::task::Values;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use tc::support::counted;
use tc_cli::{FINE, Session};

/// `tc-tune diff`: the points that two files have, by how their times changed.
pub(crate) fn diff(session: &Session<'_>, before: &Path, after: &Path) -> Result<u8, u8> {
    let before = load(session, &[before.to_path_buf()])?;
    let after = load(session, &[after.to_path_buf()])?;
    let mut out = String::new();
    for (identity, device, records) in by_task(&before) {
        let Some((_, _, others)) =
            by_task(&after).into_iter().find(|(task, class, _)| *task == identity && *class == device)
        else {
            continue;
        };
        let (before, after) = (results(&records), results(&others));
        let after: BTreeMap<&Values, &records::Result> = ranked(&after).into_iter().collect();
        let mut changed: Vec<(f64, &Values, Time, Time)> = Vec::new();
        let (mut common, mut other_clocks) = (0, 0);
        for (point, result) in ranked(&before) {
            let Some(later) = after.get(point) else { continue };
            let (Some(old), Some(new)) = (result.time_us, later.time_us) else { continue };
            common += 1;
            if let (Some(this), Some(other)) = (result.class(), later.class())
                && this != other
            {
                other_clocks += 1;
                continue;
            }
            if new.high < old.low || old.high < new.low {
                changed.push((new.median / old.median, point, old, new));
            }
        }
        changed.sort_by(|a, b| a.0.total_cmp(&b.0));
        out.push_str(&heading(identity, device));
        let at = if crate::records::is_estimated(device) { "" } else { " at 95 %" };
        let _ = writeln!(out, "{} in both, {} of them differ{at}", counted(common, "point"), changed.len());
        if other_clocks > 0 {
            let _ = writeln!(out, "{other_clocks} of them ran under clocks of two classes, and are not compared");
        }
        for (ratio, point, old, new) in changed {
            let _ = writeln!(out, "{ratio:>6.2} {:>10.2} {:>10.2}  {}", old.median, new.median, point_text(point));
        }
    }
    if out.is_empty() {
        out.push_str("the files have no task and class of device in common\n");
    }
    session.print(&out);
    Ok(FINE)
}
