//! Which crate may know which: the list, and the comparison with what the manifests say.

use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

/// Each crate and those that it knows. A crate may use what the crates that it knows may use.
pub const ARROWS: &[(&str, &[&str])] = &[
    ("tc-support", &[]),
    ("tc-arith", &["tc-support"]),
    ("tc-ir", &["tc-support"]),
    ("tc-syntax", &["tc-ir"]),
    ("tc-pass", &["tc-ir"]),
    ("tc-target", &["tc-support", "tc-arith"]),
    ("tc-search", &[]),
    ("tc-dialects", &["tc-ir", "tc-arith"]),
    ("tc-schedule", &["tc-dialects", "tc-arith", "tc-target"]),
    ("tc-passes", &["tc-dialects", "tc-pass", "tc-arith", "tc-schedule", "tc-target"]),
    ("tc-kernel", &["tc-dialects", "tc-target"]),
    ("tc-cuda", &["tc-kernel"]),
    ("tc-mlir", &["tc-kernel", "tc-syntax"]),
    ("tc-tvm", &["tc-kernel", "tc-syntax"]),
    ("tc-perf", &["tc-kernel"]),
    ("tc-bundle", &["tc-kernel"]),
    ("tc-report", &["tc-pass", "tc-target", "tc-perf"]),
    ("tc-debug", &["tc-pass", "tc-syntax"]),
    ("tc-sim", &["tc-dialects", "tc-target"]),
    ("tc-runtime", &["tc-support", "tc-target"]),
    (
        "tc",
        &[
            "tc-syntax",
            "tc-passes",
            "tc-kernel",
            "tc-cuda",
            "tc-mlir",
            "tc-tvm",
            "tc-report",
            "tc-debug",
            "tc-bundle",
            "tc-sim",
            "tc-runtime",
        ],
    ),
    ("tc-capi", &["tc"]),
    ("tc-python", &["tc"]),
    ("tc-build", &["tc"]),
    ("tc-cli", &["tc"]),
    ("tc-lsp", &["tc"]),
    ("tc-opt", &["tc-cli", "tc-lsp"]),
    ("tc-run", &["tc-cli"]),
    ("tc-tune", &["tc-cli", "tc-search"]),
    // The runner calls the tools in process.
    ("tc-filetest", &["tc", "tc-opt", "tc-run"]),
    ("tc-bench", &["tc"]),
    ("xtask", &["tc"]),
    ("tc-playground", &["tc"]),
    ("einsum-embed", &["tc"]),
];

/// What is wrong with the dependencies of the workspace at `root`.
pub fn check(root: &Path) -> Vec<String> {
    match metadata(root) {
        Ok(packages) => compare(ARROWS, &packages),
        Err(why) => vec![why],
    }
}

/// What the tree calls the package `name`: the registry has other crates by the names `tc`, `tc-runtime` and so on, so those that
/// are published are called `tirc` there (docs/adr/0027).
fn in_tree(name: &str) -> String {
    match name.strip_prefix("tirc") {
        Some(rest) => format!("tc{rest}"),
        None => name.to_string(),
    }
}

/// The members of the workspace, each with the members that it depends on outside of its tests.
fn metadata(root: &Path) -> Result<BTreeMap<String, Vec<String>>, String> {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.args(["metadata", "--no-deps", "--format-version", "1"]).current_dir(root);
    let output = cargo.output().map_err(|error| format!("cannot run cargo metadata: {error}"))?;
    if !output.status.success() {
        return Err(format!("cargo metadata failed: {}", String::from_utf8_lossy(&output.stderr)));
    }
    let value: Value = serde_json::from_slice(&output.stdout).map_err(|error| error.to_string())?;
    let list = |value: &Value, key: &str| value[key].as_array().cloned().unwrap_or_default();
    let name = |value: &Value| in_tree(value["name"].as_str().unwrap_or(""));
    let mut packages = BTreeMap::new();
    for package in list(&value, "packages") {
        let dependencies = list(&package, "dependencies");
        // Tests may use more: a pass is tested on text.
        let used = dependencies.iter().filter(|used| used["path"].is_string() && used["kind"] != "dev").map(name);
        packages.insert(name(&package), used.collect());
    }
    Ok(packages)
}

fn compare(arrows: &[(&str, &[&str])], packages: &BTreeMap<String, Vec<String>>) -> Vec<String> {
    let mut wrong = Vec::new();
    for (name, used) in packages {
        let Some(allowed) = reach(arrows, name) else {
            wrong.push(format!("the list of arrows has no row for the crate `{name}`"));
            continue;
        };
        for other in used.iter().filter(|other| !allowed.contains(other.as_str())) {
            wrong.push(format!("`{name}` may not depend on `{other}`"));
        }
    }
    for (name, _) in arrows.iter().filter(|(name, _)| !packages.contains_key(*name)) {
        wrong.push(format!("the list of arrows has a row for `{name}`, which is no crate of the workspace"));
    }
    wrong
}

/// All that `name` may use.
fn reach<'a>(arrows: &[(&'a str, &[&'a str])], name: &str) -> Option<BTreeSet<&'a str>> {
    let row = |name: &str| arrows.iter().find(|(other, _)| *other == name).map(|(_, known)| known.to_vec());
    let mut worklist = row(name)?;
    let mut found = BTreeSet::new();
    while let Some(next) = worklist.pop() {
        if found.insert(next) {
            worklist.extend(row(next).unwrap_or_default());
        }
    }
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packages(list: &[(&str, &[&str])]) -> BTreeMap<String, Vec<String>> {
        let owned = |names: &[&str]| names.iter().map(|name| name.to_string()).collect();
        list.iter().map(|(name, used)| (name.to_string(), owned(used))).collect()
    }

    #[test]
    fn arrows_go_only_as_listed() {
        let arrows: &[(&str, &[&str])] = &[("a", &[]), ("b", &["a"]), ("c", &["b"])];
        assert!(compare(arrows, &packages(&[("a", &[]), ("b", &["a"]), ("c", &["a", "b"])])).is_empty());
        assert_eq!(compare(arrows, &packages(&[("a", &["b"]), ("b", &[]), ("c", &[])])), ["`a` may not depend on `b`"]);
        assert_eq!(compare(arrows, &packages(&[("a", &[]), ("b", &[]), ("d", &[])])).len(), 2);
    }

    #[test]
    fn the_list_has_no_circles() {
        for (name, _) in ARROWS {
            assert!(!reach(ARROWS, name).expect("a row").contains(name), "{name}");
        }
    }
}
