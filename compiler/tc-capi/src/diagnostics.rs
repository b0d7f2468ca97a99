//! Diagnostics as data.

use crate::abi::{
    Out, OutStruct, TcDiagnostic, TcDiagnostics, TcFault, TcLabel, TcPlace, TcSeverity, TcString, TcText,
};
use crate::call::{Result, call};
use crate::module::add_text;
use crate::status::TcStatus;
use crate::table;
use std::sync::Arc;
use tc::support::{Diagnostic, Diagnostics, Fault, LineCol, Location, Severity, Sources};

/// Diagnostics, and the names of the files that they point into.
pub(crate) struct Found {
    list: Vec<(Diagnostic, Place, Vec<Place>)>,
    text: String,
    json: String,
}

/// A place, by name and numbers.
struct Place {
    file: String,
    start: LineCol,
    end: LineCol,
}

impl Place {
    fn new(location: &Location, sources: &Sources) -> Place {
        let nowhere = LineCol { line: 0, col: 0 };
        let none = || Place { file: String::new(), start: nowhere, end: nowhere };
        match location {
            Location::None => none(),
            Location::Point { file, at } => Place { file: file.to_string(), start: *at, end: *at },
            Location::Span(span) => sources.line_col(span.start).map_or_else(none, |(file, start)| {
                let end = sources.line_col(span.end).map_or(start, |(_, end)| end);
                Place { file: file.name.clone(), start, end }
            }),
        }
    }

    fn show(&self) -> TcPlace {
        TcPlace {
            file: TcString::of(&self.file),
            line: self.start.line,
            column: self.start.col,
            end_line: self.end.line,
            end_column: self.end.col,
        }
    }
}

impl Found {
    pub(crate) fn new(diagnostics: &Diagnostics, sources: &Sources) -> Found {
        let flat = |one: &Diagnostic| {
            let labels = one.labels.iter().map(|label| Place::new(&label.location, sources)).collect();
            (one.clone(), Place::new(&one.location, sources), labels)
        };
        Found {
            list: diagnostics.iter().map(flat).collect(),
            text: tc::support::render::text(diagnostics, sources, false),
            json: tc::diagnostics_json(diagnostics, sources),
        }
    }

    fn get(&self, index: usize) -> Result<&(Diagnostic, Place, Vec<Place>)> {
        self.list.get(index).ok_or(TcStatus::OutOfRange)
    }
}

/// Gives how many diagnostics there are.
///
/// # Safety
/// `out` is null or points to a `size_t`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tc_diagnostics_count(found: TcDiagnostics, out: *mut usize) -> TcStatus {
    call(|| {
        let mut out = Out::new(out, 0)?;
        out.set(table::get::<Arc<Found>>(found.id)?.0.list.len());
        Ok(())
    })
}

/// Gives diagnostic number `index`, from 0.
///
/// # Safety
/// `out` is null or points to a `TcDiagnostic` with its size.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tc_diagnostics_get(found: TcDiagnostics, index: usize, out: *mut TcDiagnostic) -> TcStatus {
    call(|| {
        // SAFETY: as the caller says.
        let mut out = unsafe { OutStruct::new(out)? };
        let (found, _) = table::get::<Arc<Found>>(found.id)?;
        let (one, place, _) = found.get(index)?;
        let severity = match one.severity {
            Severity::Remark => TcSeverity::Remark,
            Severity::Warning => TcSeverity::Warning,
            Severity::Error => TcSeverity::Error,
        };
        let fault = match one.fault {
            Fault::Input => TcFault::Input,
            Fault::PassAssumption => TcFault::PassAssumption,
            Fault::Bug => TcFault::Bug,
            Fault::ForeignPass => TcFault::ForeignPass,
        };
        out.set(TcDiagnostic {
            struct_size: 0,
            severity: severity as u32,
            fault: fault as u32,
            code: TcString::of(one.code),
            message: TcString::of(&one.message),
            help: one.help.as_deref().map_or(TcString::EMPTY, TcString::of),
            place: place.show(),
            n_labels: one.labels.len(),
            n_notes: one.notes.len(),
        });
        Ok(())
    })
}

/// Gives label number `label` of diagnostic number `index`.
///
/// # Safety
/// `out` is null or points to a `TcLabel` with its size.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tc_diagnostics_label(
    found: TcDiagnostics,
    index: usize,
    label: usize,
    out: *mut TcLabel,
) -> TcStatus {
    call(|| {
        // SAFETY: as the caller says.
        let mut out = unsafe { OutStruct::new(out)? };
        let (found, _) = table::get::<Arc<Found>>(found.id)?;
        let (one, _, places) = found.get(index)?;
        let (text, place) = one.labels.get(label).zip(places.get(label)).ok_or(TcStatus::OutOfRange)?;
        out.set(TcLabel { struct_size: 0, text: TcString::of(&text.text), place: place.show() });
        Ok(())
    })
}

/// Gives note number `note` of diagnostic number `index`. It stays until `found` is freed.
///
/// # Safety
/// `out` is null or points to a `TcString`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tc_diagnostics_note(
    found: TcDiagnostics,
    index: usize,
    note: usize,
    out: *mut TcString,
) -> TcStatus {
    call(|| {
        let mut out = Out::new(out, TcString::EMPTY)?;
        let (found, _) = table::get::<Arc<Found>>(found.id)?;
        out.set(found.get(index)?.0.notes.get(note).map(|note| TcString::of(note)).ok_or(TcStatus::OutOfRange)?);
        Ok(())
    })
}

/// Gives all diagnostics as text for people, with the lines that they point at.
///
/// # Safety
/// `out` is null or points to a `TcText`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tc_diagnostics_text(found: TcDiagnostics, out: *mut TcText) -> TcStatus {
    call(|| {
        let mut out = Out::new(out, TcText::NONE)?;
        let (found, owner) = table::get::<Arc<Found>>(found.id)?;
        out.set(add_text(owner, found.text.clone())?);
        Ok(())
    })
}

/// Gives all diagnostics as a JSON array.
///
/// # Safety
/// `out` is null or points to a `TcText`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tc_diagnostics_json(found: TcDiagnostics, out: *mut TcText) -> TcStatus {
    call(|| {
        let mut out = Out::new(out, TcText::NONE)?;
        let (found, owner) = table::get::<Arc<Found>>(found.id)?;
        out.set(add_text(owner, found.json.clone())?);
        Ok(())
    })
}

/// Frees `found`. Freeing 0 does nothing.
#[unsafe(no_mangle)]
pub extern "C" fn tc_diagnostics_free(found: TcDiagnostics) -> TcStatus {
    call(|| table::free::<Arc<Found>>(found.id))
}
