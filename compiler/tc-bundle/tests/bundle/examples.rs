//! The programs of examples/aot/ build with machine code of NVRTC, as C and as C++, and say what they lack where there is no GPU.

use crate::harness::{STRICT, done, folder};
use std::path::{Path, PathBuf};
use std::process::Command;
use tc::BundleTarget;
use tc::bundles::{Link, Options};
use tc::target::Target;

/// What the programs exit with where there is no GPU for them.
const NO_GPU: i32 = 77;

fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/aot")
}

/// The folder of the bundle of `name.tir`.
fn bundle(name: &str, pipeline: &str, targets: &[&str]) -> PathBuf {
    let path = examples().join(format!("{name}.tir"));
    let compiler = tc::Compiler::new();
    let text = std::fs::read_to_string(path).expect("an example");
    let module = compiler.parse(name, &text).unwrap_or_else(|failure| panic!("{}", failure.text())).module;
    let target = |name: &&str| BundleTarget { target: Target::parse(name).expect("known"), pipeline: pipeline.into() };
    let targets: Vec<BundleTarget> = targets.iter().map(target).collect();
    let options = Options { name: name.into(), link: Link::Embedded, rust: false };
    let made = compiler.bundle(&module, &targets, &options).unwrap_or_else(|failure| panic!("{}", failure.text()));
    assert!(made.warnings.is_empty());
    let folder = folder(name);
    for file in &made.files {
        std::fs::write(folder.join(&file.name), &file.bytes).expect("a file");
        assert!(!file.name.ends_with(".cubin") || file.bytes.starts_with(b"\x7fELF"), "{}", file.name);
    }
    folder
}

/// Builds `program` with the bundle `name` in `folder`, and runs it.
fn check(program: &str, name: &str, folder: &Path) {
    let source = folder.join(format!("{name}.c"));
    let mut syntax = Command::new("c++");
    done(
        syntax
            .args(["-fsyntax-only", "-std=c++17", "-Wall", "-Wextra", "-Werror", "-pedantic", "-x", "c++"])
            .arg(&source),
    );
    let binary = folder.join(program);
    let mut cc = Command::new("cc");
    cc.args(STRICT).arg("-std=c11").arg("-I").arg(folder).arg(examples().join(format!("{program}.c"))).arg(&source);
    done(cc.arg("-o").arg(&binary).args(["-ldl", "-lpthread", "-lm"]));
    let output = Command::new(&binary).output().expect("it was just compiled");
    let printed = String::from_utf8_lossy(&output.stdout);
    if Path::new("/dev/nvidiactl").exists() {
        assert!(printed.ends_with("ok\n") || output.status.code() == Some(NO_GPU), "{}: {printed}", output.status);
        return;
    }
    assert_eq!(output.status.code(), Some(NO_GPU), "{printed}");
    assert!(
        printed.contains("no CUDA driver: libcuda.so.1") && printed.contains("(there is no CUDA driver)"),
        "{printed}"
    );
}

#[test]
fn the_first_example_builds_and_tells_that_there_is_no_driver() {
    check("main", "kernels", &bundle("kernels", "cuda{schedule=threads}", &["sm_80", "sm_90"]));
}

#[test]
fn the_example_for_hopper_builds_and_tells_that_there_is_no_driver() {
    check("hopper", "hopper", &bundle("hopper", "cuda{schedule=by_size}", &["sm_90a"]));
}
