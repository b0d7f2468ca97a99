//! `tc-tune import`: a log as records on the standard output.

use crate::args::TaskArgs;
use crate::autotvm;
use crate::drive::identified;
use std::path::Path;
use tc::support::{Diagnostic, Diagnostics, Location, Sources};
use tc_cli::{FINE, INPUT, Session};

pub(crate) fn import(session: &Session<'_>, args: &TaskArgs, log: &Path, device: &str) -> Result<u8, u8> {
    let (identity, names) = identified(session, args)?;
    let lines = std::fs::read_to_string(log).map_err(|error| {
        let text = format!("cannot read {}: {error}", log.display());
        session.refuse_with(&Diagnostic::error("records", Location::None, text))
    })?;
    let (mut out, mut warnings) = (String::new(), Diagnostics::new());
    for (nth, line) in lines.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        match autotvm::record(line, nth, &identity, &names, device) {
            Ok(record) => out.push_str(&record.line()),
            Err(why) => {
                let text = format!("line {} of {} is passed over: {why}", nth + 1, log.display());
                warnings.push(Diagnostic::warning("records", Location::None, text));
            }
        }
    }
    session.tell(&warnings, &Sources::new());
    session.print(&out);
    Ok(if out.is_empty() { INPUT } else { FINE })
}
