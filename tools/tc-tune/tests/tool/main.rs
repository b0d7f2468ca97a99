//! tc-tune as a user meets it: searches over recorded measurements, records, stores of them, workers that fail, clocks.

mod clocks;
mod pages;
mod records;
mod searches;
mod store;
mod workers;

use std::path::{Path, PathBuf};

/// What a call came to.
struct Ran {
    status: u8,
    stdout: String,
    stderr: String,
}

fn tune(args: &[&str]) -> Ran {
    let (mut input, mut stdout, mut stderr) = (&b""[..], Vec::new(), Vec::new());
    let args = std::iter::once("tc-tune").chain(args.iter().copied()).map(Into::into);
    let status = tc_tune::run(args, tc_tune::Io::plain(&mut input, &mut stdout, &mut stderr));
    let text = |bytes| String::from_utf8(bytes).expect("the tool writes UTF-8");
    Ran { status, stdout: text(stdout), stderr: text(stderr) }
}

/// A folder of a test, empty.
fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("tc-tune-{}-{name}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).expect("writable");
    folder
}

fn example(name: &str) -> String {
    format!("{}/../../examples/{name}.tir", env!("CARGO_MANIFEST_DIR"))
}

/// A recorded sweep.
fn sweep(name: &str) -> String {
    format!("{}/tests/data/{name}.jsonl.gz", env!("CARGO_MANIFEST_DIR"))
}

fn shown(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}
