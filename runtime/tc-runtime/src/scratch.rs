//! Folders for what programs that we call read and write.

use std::path::{Path, PathBuf};

/// A new folder among the temporary files, removed with its scope.
#[derive(Debug)]
pub struct ScratchFolder(PathBuf);

impl ScratchFolder {
    /// Makes one whose name begins with `name`.
    pub fn new(name: &str) -> std::io::Result<ScratchFolder> {
        let mut nth = 0;
        loop {
            let path = std::env::temp_dir().join(format!("{name}-{}-{nth}", std::process::id()));
            match std::fs::create_dir(&path) {
                Ok(()) => return Ok(ScratchFolder(path)),
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists && nth < 10_000 => nth += 1,
                Err(error) => return Err(error),
            }
        }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for ScratchFolder {
    fn drop(&mut self) {
        // What cannot be removed is left to the system.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
