//! What the facade depends on without its features.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

/// The crates that `tc` depends on, with `flags`.
fn tree(flags: &[&str]) -> BTreeSet<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let flags = ["tree", "--package=tirc", "--edges=normal", "--prefix=none", "--offline"].iter().chain(flags);
    let output = Command::new(cargo).args(flags).current_dir(root).output().expect("cargo runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.lines().filter_map(|line| line.split_whitespace().next()).map(str::to_string).collect()
}

#[test]
fn without_features_there_is_no_cuda_and_no_thread_pool() {
    let (whole, bare) = (tree(&[]), tree(&["--no-default-features"]));
    for name in ["cudarc", "libloading", "nvml-wrapper", "rayon", "rayon-core"] {
        assert!(whole.contains(name), "`tc` has no `{name}` any more: name another crate here");
        assert!(!bare.contains(name), "`tc` depends on `{name}` without its features");
    }
    assert!(["tirc-sim", "tirc-runtime", "tirc-cuda"].iter().all(|name| bare.contains(*name)));
}
