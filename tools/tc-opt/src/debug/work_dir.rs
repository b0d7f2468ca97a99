//! A folder for the files of one run of the tool.

use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// A folder of its own below another one, gone with this value. What ends the process leaves it there.
pub(super) struct WorkDir {
    path: PathBuf,
    is_kept: Cell<bool>,
}

/// How many folders this process has asked for: runs of the tool in one process do not meet.
static NEXT: AtomicU64 = AtomicU64::new(0);

impl WorkDir {
    /// Makes `tc-WHAT-PID-N` below `parent`, or below the folder for temporary files.
    pub(super) fn new(parent: Option<&Path>, what: &str) -> std::io::Result<WorkDir> {
        let parent = parent.map_or_else(std::env::temp_dir, Path::to_path_buf);
        loop {
            let number = NEXT.fetch_add(1, Ordering::Relaxed);
            let folder = parent.join(format!("tc-{what}-{}-{number}", std::process::id()));
            match std::fs::create_dir(&folder) {
                Ok(()) => return Ok(WorkDir { path: folder, is_kept: Cell::new(false) }),
                // One of a process that had this number before.
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists && number < 1000 => {}
                Err(error) => return Err(error),
            }
        }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// From now on it outlives this value: something in it is wanted.
    pub(super) fn keep(&self) {
        self.is_kept.set(true);
    }
}

impl Drop for WorkDir {
    fn drop(&mut self) {
        if !self.is_kept.get() {
            // Best effort: it lies among temporary files.
            let _ = std::fs::remove_dir_all(&self.path);
        }
    }
}
