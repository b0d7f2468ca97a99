//! Which file a name means, so that nothing is written over what is read.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// What makes two names one file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum FileId {
    /// The device and the number of what is there, links followed.
    There(u64, u64),
    /// The path of what is not there yet.
    Absent(PathBuf),
}

impl FileId {
    /// The file that `path` names; none if it is no file that could be replaced, such as `/dev/null`.
    pub fn of(path: &Path) -> Option<FileId> {
        match std::fs::metadata(path) {
            Ok(found) if found.is_file() || found.is_dir() => Some(FileId::There(found.dev(), found.ino())),
            Ok(_) => None,
            Err(_) => Some(FileId::Absent(full_path(path))),
        }
    }
}

/// The path of `path` from the root, links followed as far as there is something.
pub fn full_path(path: &Path) -> PathBuf {
    if let Ok(full) = std::fs::canonicalize(path) {
        return full;
    }
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf());
    match (path.parent(), path.file_name()) {
        (Some(parent), Some(name)) => full_path(parent).join(name),
        _ => path,
    }
}
