//! Files that are written whole or not at all.

use std::io::Write;
use std::path::{Path, PathBuf};

/// Writes `text` to the file at `path`: into a new file beside it, which then takes its place. On failure, what was
/// there stays.
pub fn write_whole(path: &Path, text: &str) -> std::io::Result<()> {
    // A device such as /dev/null is written to, not replaced; so is what a link names.
    let target = match std::fs::canonicalize(path) {
        Ok(target) if !target.is_file() => return std::fs::write(target, text),
        Ok(target) => target,
        Err(_) => path.to_path_buf(),
    };
    let temporary = beside(&target);
    let written = write_new(&temporary, text, &target).and_then(|()| std::fs::rename(&temporary, &target));
    if written.is_err() {
        // Best effort: the first error is the one worth telling.
        let _ = std::fs::remove_file(&temporary);
    }
    written
}

fn write_new(temporary: &Path, text: &str, target: &Path) -> std::io::Result<()> {
    let mut file = std::fs::File::create_new(temporary)?;
    if let Ok(old) = std::fs::metadata(target) {
        file.set_permissions(old.permissions())?;
    }
    file.write_all(text.as_bytes())?;
    file.sync_all()
}

fn beside(target: &Path) -> PathBuf {
    let mut name = std::ffi::OsString::from(".");
    name.push(target.file_name().unwrap_or_default());
    name.push(format!(".{}.tmp", std::process::id()));
    target.with_file_name(name)
}
