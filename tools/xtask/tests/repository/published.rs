//! The crates that a registry gets: each has what a registry asks for, and depends on no crate that stays here.

use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

/// The packages of the workspace by name, as `cargo metadata` tells them.
fn packages() -> BTreeMap<String, Value> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let flags = ["metadata", "--no-deps", "--offline", "--format-version=1"];
    let output = Command::new(cargo).args(flags).current_dir(root).output().expect("cargo runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let Ok(Value::Object(mut metadata)) = serde_json::from_slice(&output.stdout) else {
        panic!("cargo writes an object")
    };
    let Some(Value::Array(packages)) = metadata.remove("packages") else { panic!("a list of packages") };
    packages.into_iter().map(|package| (package["name"].as_str().expect("a name").to_string(), package)).collect()
}

/// Whether a package may be published: `publish = false` is an empty list of registries.
fn is_published(package: &Value) -> bool {
    package["publish"].is_null()
}

#[test]
fn a_published_crate_needs_no_crate_that_stays_here() {
    let packages = packages();
    let published: Vec<_> = packages.iter().filter(|(_, package)| is_published(package)).collect();
    assert!(
        published.iter().any(|(name, _)| *name == "tirc") && published.iter().any(|(name, _)| *name == "tirc-build")
    );
    for (name, package) in published {
        assert!(name.starts_with("tirc"), "`{name}` is published by a name that is not ours (docs/adr/0027)");
        for field in ["description", "license", "documentation"] {
            assert!(package[field].is_string(), "`{name}` has no {field}");
        }
        assert!(!package["keywords"].as_array().expect("a list").is_empty(), "`{name}` has no keywords");
        for used in package["dependencies"].as_array().expect("a list").iter().filter(|used| used["path"].is_string()) {
            let other = used["name"].as_str().expect("a name");
            // A test may use a crate by its path alone, which is left out of what is published.
            let left_out = used["kind"] == "dev" && used["req"] == "*";
            assert!(left_out || is_published(&packages[other]), "`{name}` depends on `{other}`, which stays here");
        }
    }
}
