//! Which files there are.

use std::path::{Path, PathBuf};

/// The folder of the corpus.
pub fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// The `.tir` files below `root`, relative to it, in the order of their names. Folders that hold other files of a
/// test are left out: `inputs` and `snapshots`.
pub fn files(root: &Path) -> std::io::Result<Vec<PathBuf>> {
    let mut found = with_extension(root, "tir")?;
    found.retain(|path| !path.components().any(|part| part.as_os_str() == "inputs" || part.as_os_str() == "snapshots"));
    Ok(found)
}

/// The folder of files whose commands lower programs through MLIR.
const MLIR: &str = "with-mlir";

/// Does the file, named relative to the root, want a build with the feature `mlir`?
pub fn needs_mlir(file: &Path) -> bool {
    file.starts_with(MLIR)
}

/// The files below `root` whose names end in `.extension`, relative to it, in the order of their names.
pub fn with_extension(root: &Path, extension: &str) -> std::io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut worklist = vec![root.to_path_buf()];
    while let Some(folder) = worklist.pop() {
        for entry in std::fs::read_dir(&folder)? {
            let path = entry?.path();
            if path.is_dir() {
                worklist.push(path);
            } else if path.extension().is_some_and(|other| other == extension) {
                found.push(path.strip_prefix(root).unwrap_or(&path).to_path_buf());
            }
        }
    }
    found.sort();
    Ok(found)
}
