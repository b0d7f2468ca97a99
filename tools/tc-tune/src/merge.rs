//! `tc-tune merge`: records of several files in one, each attempt once.

use crate::drive::load;
use std::path::{Path, PathBuf};
use tc::support::{Diagnostic, Location};
use tc_cli::{FINE, Session, write_whole};

pub(crate) fn merge(session: &Session<'_>, paths: &[PathBuf], output: Option<&Path>) -> Result<u8, u8> {
    let mut lines: Vec<String> = Vec::new();
    let mut seen = std::collections::BTreeSet::new();
    for record in load(session, paths)? {
        let line = record.line();
        if seen.insert(line.clone()) {
            lines.push(line);
        }
    }
    let text = lines.concat();
    match output {
        None => session.print(&text),
        Some(path) => write_whole(path, &text).map_err(|error| {
            let text = format!("cannot write {}: {error}", path.display());
            session.refuse_with(&Diagnostic::error("records", Location::None, text))
        })?,
    }
    Ok(FINE)
}
