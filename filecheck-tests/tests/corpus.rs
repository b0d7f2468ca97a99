//! A test for each file of the corpus and its `RUN` lines, one for the law that holds of it, and one for snapshots.

use libtest_mimic::{Arguments, Failed, Trial};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use tc_filetest::exec::Case;
use tc_filetest::{Outcome, corpus, law, snapshot};

fn main() {
    let args = Arguments::from_args();
    let root = corpus::root();
    let files = corpus::files(&root).expect("the corpus can be read");
    assert!(!files.is_empty(), "the corpus is empty");
    let mut trials = Vec::new();
    for file in &files {
        let name = file.to_string_lossy().into_owned();
        // A build without MLIR leaves them out, and the summary of the run says how many tests that are.
        let left_out = corpus::needs_mlir(file) && !tc::mlir::lower::AVAILABLE;
        trials.push(on_case(name.clone(), file, Case::run).with_ignored_flag(left_out));
        trials.push(on_case(format!("law/{name}"), file, law::check).with_ignored_flag(left_out));
    }
    trials.push(Trial::test("no_snapshot_is_left_over", move || left_over(&files).map_err(Failed::from)));
    libtest_mimic::run(&args, trials).exit();
}

/// A test that reads a file and does something with it. It is read in the test, so that listing tests costs nothing.
fn on_case(name: String, file: &Path, check: fn(&Case) -> Outcome) -> Trial {
    let file = file.to_path_buf();
    Trial::test(name, move || {
        let ran = Case::read(&corpus::root(), &file).and_then(|case| check(&case));
        ran.map_err(Failed::from)
    })
}

fn left_over(files: &[PathBuf]) -> Outcome {
    let root = corpus::root();
    let mut wanted = BTreeSet::new();
    for file in files {
        // A file that cannot be read fails in its own test.
        if let Ok(case) = Case::read(&root, file) {
            wanted.extend(case.snapshots());
        }
    }
    snapshot::refuse_left_over(&root, &wanted)
}
