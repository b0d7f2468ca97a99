//! What MLIR says, as diagnostics of ours.
//!
//! MLIR calls a handler for each finding. The text that it complains of is ours, so an error is a bug of ours; it is told
//! at the line of the author's file that the line of the text was written for. Notes that show the op, often hundreds of
//! lines, are cut.

use super::Source;
use melior::Context;
use melior::diagnostic::{Diagnostic as Complaint, DiagnosticSeverity};
use melior::ir::Location as Place;
use std::cell::RefCell;
use std::rc::Rc;
use tc_support::{Diagnostic, Diagnostics, Location};

/// One complaint.
struct One {
    is_error: bool,
    /// The line in the text, from 1.
    line: Option<usize>,
    message: String,
    notes: Vec<String>,
}

/// What has been said so far.
#[derive(Clone, Default)]
pub(super) struct Complaints(Rc<RefCell<Vec<One>>>);

impl Complaints {
    /// Hears what is said of anything in `context`, so that nothing of it goes to a stream.
    pub(super) fn of(context: &Context) -> Complaints {
        let heard = Complaints::default();
        let list = heard.0.clone();
        context.attach_diagnostic_handler(move |complaint| {
            // Only this thread calls the handler, and nobody holds the list meanwhile.
            if let Ok(mut list) = list.try_borrow_mut() {
                list.push(one(&complaint));
            }
            true
        });
        heard
    }

    /// What was said, as diagnostics; an error if `failed` says that the step failed, or if MLIR told an error and went
    /// on as if there were none.
    pub(super) fn findings(&self, source: Source<'_>, step: &str, failed: bool) -> Diagnostics {
        let list = self.0.take();
        let mut found = Diagnostics::new();
        // What follows the first error of a step says only that it failed.
        for one in list.iter().filter(|one| one.is_error).take(3) {
            let line = one.line.and_then(|line| line.checked_sub(1));
            let location = line.and_then(|line| source.places.get(line)).cloned().unwrap_or(Location::None);
            let mut bug = Diagnostic::bug("mlir", location, format!("MLIR refused {step}: {}", cut(&one.message, 3)));
            if let Some(text) = line.and_then(|line| source.text.lines().nth(line)) {
                bug = bug.note(format!("line {} of the MLIR text: `{}`", one.line.unwrap_or(0), cut(text.trim(), 1)));
            }
            found.push(one.notes.iter().fold(bug, |bug, note| bug.note(cut(note, 2))));
        }
        if failed && !found.has_errors() {
            found.push(Diagnostic::bug("mlir", Location::None, format!("MLIR refused {step} and does not say why")));
        }
        found
    }
}

fn one(complaint: &Complaint<'_>) -> One {
    let notes = (0..complaint.note_count()).filter_map(|nth| complaint.note(nth).ok());
    One {
        is_error: matches!(complaint.severity(), DiagnosticSeverity::Error),
        line: line(complaint.location(), 8),
        message: complaint.to_string(),
        notes: notes.map(|note| note.to_string()).filter(|note| !note.starts_with("see current operation")).collect(),
    }
}

/// The line of a place, looked for at most `depth` levels within places that are made of others.
fn line(place: Place<'_>, depth: usize) -> Option<usize> {
    let depth = depth.checked_sub(1)?;
    if place.is_file_line_col_range() {
        Some(place.file_line_col_range_start_line())
    } else if place.is_name() {
        line(place.name_child_location(), depth)
    } else if place.is_call_site() {
        line(place.call_site_callee(), depth)
    } else if place.is_fused() {
        (0..place.fused_num_locations()).find_map(|nth| line(place.fused_location(nth), depth))
    } else {
        None
    }
}

/// The first lines of a text, each cut.
fn cut(text: &str, n_lines: usize) -> String {
    let shorten = |line: &str| -> String {
        match line.char_indices().nth(160) {
            Some((end, _)) => format!("{}…", &line[..end]),
            None => line.to_string(),
        }
    };
    let lines: Vec<String> = text.lines().filter(|line| !line.trim().is_empty()).take(n_lines).map(shorten).collect();
    lines.join("\n")
}
