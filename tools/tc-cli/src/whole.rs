//! Files that are written whole or not at all.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// Writes `bytes`, of a text or others, to the file at `path`: into a new file beside it, which then takes its place. On failure, what was
/// there stays.
pub fn write_whole(path: &Path, bytes: impl AsRef<[u8]>) -> std::io::Result<()> {
    let bytes = bytes.as_ref();
    // A device such as /dev/null is written to, not replaced; so is what a link names.
    let target = match std::fs::canonicalize(path) {
        Ok(target) if !target.is_file() => return std::fs::write(target, bytes),
        Ok(target) => target,
        Err(_) => path.to_path_buf(),
    };
    let temporary = beside(&target);
    let mut file = std::fs::File::create_new(&temporary)?;
    let written = fill(&mut file, bytes, &target).and_then(|()| std::fs::rename(&temporary, &target));
    if written.is_err() {
        // Best effort: the first error is the one worth telling.
        let _ = std::fs::remove_file(&temporary);
    }
    written
}

fn fill(file: &mut std::fs::File, bytes: &[u8], target: &Path) -> std::io::Result<()> {
    if let Ok(old) = std::fs::metadata(target) {
        file.set_permissions(old.permissions())?;
    }
    file.write_all(bytes)?;
    file.sync_all()
}

/// A file beside `target` that no one else writes to: threads that write the same file have one each.
fn beside(target: &Path) -> PathBuf {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let nth = COUNT.fetch_add(1, Ordering::Relaxed);
    target.with_file_name(format!(".tc-{}-{nth}.tmp", std::process::id()))
}
