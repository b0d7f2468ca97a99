//! Exact outputs: snapshots beside the files, blessed by `cargo xtask bless`, never edited by hand.

use crate::Outcome;
use crate::corpus::with_extension;
use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

/// The file of the `nth` snapshot (from 0) of the file `file` of the corpus, relative to its root.
pub fn path(file: &Path, nth: usize) -> PathBuf {
    file.with_file_name("snapshots").join(format!("{}.snap", name(file, nth)))
}

fn name(file: &Path, nth: usize) -> String {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    if nth == 0 { name.into_owned() } else { format!("{name}.{}", nth + 1) }
}

/// Compares `text` with the `nth` snapshot of `file`. Blessing (`INSTA_UPDATE=always`) writes it instead.
pub fn check(root: &Path, file: &Path, nth: usize, text: &str) -> Outcome {
    let mut settings = insta::Settings::new();
    settings.set_snapshot_path(root.join(file.with_file_name("snapshots")));
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    let compare = || settings.bind(|| insta::assert_snapshot!(name(file, nth), text));
    catch_unwind(AssertUnwindSafe(compare)).map_err(|_| {
        let old = std::fs::read_to_string(root.join(path(file, nth))).unwrap_or_default();
        // What stands before the second `---` is insta's own.
        let old = old.splitn(3, "---\n").nth(2).unwrap_or("");
        let diff = similar::TextDiff::from_lines(old.trim_end(), text.trim_end());
        let diff = diff.unified_diff().header("snapshot", "output").to_string();
        format!("the output is not that of the snapshot; if it is right, run `cargo xtask bless`\n{diff}")
    })
}

/// Refuses snapshots that no file of the corpus asks for.
pub fn refuse_left_over(root: &Path, wanted: &BTreeSet<PathBuf>) -> Outcome {
    let found = ["snap", "new"].iter().map(|extension| with_extension(root, extension));
    let found: Vec<PathBuf> = found.collect::<Result<Vec<_>, _>>().map_err(|error| error.to_string())?.concat();
    let left: Vec<String> =
        found.iter().filter(|path| !wanted.contains(*path)).map(|path| path.display().to_string()).collect();
    if left.is_empty() { Ok(()) } else { Err(format!("no test asks for these snapshots:\n{}", left.join("\n"))) }
}
