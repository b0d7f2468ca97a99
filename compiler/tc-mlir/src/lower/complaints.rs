//! What MLIR says, as diagnostics of ours.
//!
//! MLIR calls a handler for each diagnostic. The text that it complains of is ours, so an error is a bug of ours; it is reported
//! at the place in the author's file that the text names, or with the line of the text. Notes that show the op, often hundreds of
//! lines, are cut.

use melior::Context;
use melior::diagnostic::{Diagnostic as Complaint, DiagnosticSeverity};
use melior::ir::Location as Place;
use std::cell::RefCell;
use std::rc::Rc;
use tc_support::{Diagnostic, Diagnostics, LineCol, Location};

/// Where MLIR points.
pub(crate) enum At {
    Nowhere,
    /// A line of the text and a column, from 1.
    Line(usize, usize),
    /// A place that the text names: `loc("f.tir":12:5)`.
    Named(Location),
}

/// One complaint.
pub(crate) struct One {
    pub(crate) is_error: bool,
    pub(crate) at: At,
    pub(crate) message: String,
    pub(crate) notes: Vec<String>,
}

/// What has been said so far.
#[derive(Clone, Default)]
pub(crate) struct Complaints(Rc<RefCell<Vec<One>>>);

impl Complaints {
    /// Hears what is said of anything in `context`, so that nothing of it goes to a stream.
    pub(crate) fn of(context: &Context) -> Complaints {
        let heard = Complaints::default();
        let list = heard.0.clone();
        context.attach_diagnostic_handler(move |complaint| {
            // Only this thread calls the handler, and nothing holds the list meanwhile.
            if let Ok(mut list) = list.try_borrow_mut() {
                list.push(one(&complaint));
            }
            true
        });
        heard
    }

    /// What was said, as it was said.
    pub(crate) fn take(&self) -> Vec<One> {
        self.0.take()
    }

    /// What was said, as diagnostics; an error if `failed` says that the step failed, or if MLIR told an error and went
    /// on as if there were none.
    pub(super) fn diagnostics(&self, text: &str, step: &str, failed: bool) -> Diagnostics {
        let list = self.0.take();
        let mut found = Diagnostics::new();
        // What follows the first error of a step says only that it failed.
        for one in list.iter().filter(|one| one.is_error).take(3) {
            let message = format!("MLIR refused {step}: {}", cut(&one.message, 3));
            let bug = match &one.at {
                At::Nowhere => Diagnostic::bug("mlir", Location::None, message),
                At::Named(place) => Diagnostic::bug("mlir", place.clone(), message),
                At::Line(line, _) => {
                    let shown = text.lines().nth(line.saturating_sub(1)).unwrap_or("");
                    Diagnostic::bug("mlir", Location::None, message)
                        .note(format!("line {line} of the MLIR text: `{}`", cut(shown.trim(), 1)))
                }
            };
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
        at: at(complaint.location(), 8).unwrap_or(At::Nowhere),
        message: complaint.to_string(),
        notes: notes.map(|note| note.to_string()).filter(|note| !note.starts_with("see current operation")).collect(),
    }
}

/// Where `place` is, looked for at most `depth` levels within places that are made of others.
fn at(place: Place<'_>, depth: usize) -> Option<At> {
    let depth = depth.checked_sub(1)?;
    if place.is_file_line_col_range() {
        let (line, col) = (place.file_line_col_range_start_line(), place.file_line_col_range_start_column());
        let file = place.file_line_col_range_filename();
        // What is read from memory has this name.
        return Some(match file.as_string_ref().as_str() {
            Ok(file) if file != "-" => {
                let at = LineCol { line: u32::try_from(line).ok()?, col: u32::try_from(col).ok()? };
                At::Named(Location::Point { file: file.into(), at })
            }
            _ => At::Line(line, col),
        });
    }
    if place.is_name() {
        at(place.name_child_location(), depth)
    } else if place.is_call_site() {
        at(place.call_site_callee(), depth)
    } else if place.is_fused() {
        (0..place.fused_num_locations()).find_map(|nth| at(place.fused_location(nth), depth))
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
