//! Rust programs over bundles, compiled by `rustc` and linked with the C, run with the driver that tc-bundle has for tests.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use tc_build::Bundle;

fn folder(name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("build-{name}"));
    std::fs::create_dir_all(&folder).expect("cargo's folder for tests can be written");
    folder
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The output of `command`, which has to succeed.
fn done(command: &mut Command) -> Output {
    let output = command.output().unwrap_or_else(|error| panic!("cannot run {command:?}: {error}"));
    let said = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {}\n{said}", output.status);
    output
}

/// Builds the program `source` with the bundle `name` in `folder`.
fn program(source: &Path, name: &str, folder: &Path, edition: &str) -> PathBuf {
    let (object, library) = (folder.join("bundle.o"), folder.join("libbundle.a"));
    done(Command::new("cc").args(["-c", "-O1", "-o"]).arg(&object).arg(folder.join(format!("{name}.c"))));
    done(Command::new("ar").arg("crs").arg(&library).arg(&object));
    let binary = folder.join("program");
    let mut rustc = Command::new(std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()));
    rustc.args(["--edition", edition, "-D", "warnings", "-o"]).arg(&binary).arg(source).env("OUT_DIR", folder);
    rustc.arg("-L").arg(folder).args(["-l", "static=bundle", "-l", "dl", "-l", "pthread"]);
    done(&mut rustc);
    binary
}

const PROGRAM: &str = r#"
#[allow(dead_code)]
mod kernels {
    include!(concat!(env!("OUT_DIR"), "/kernels.rs"));
}
use kernels::{Input, Output, Status, Stream};

fn main() {
    let shown = |result: Result<(), kernels::Error>| match result {
        Ok(()) => println!("ok"),
        Err(error) => println!("{:?}: {error}", error.status),
    };
    // SAFETY: the driver of the tests touches no memory.
    let (a, mut b, mut workspace, stream) =
        unsafe { (Input::new(0x1000, 15), Output::new(0x2000, 15), Output::new(0x10000, 12), Stream::from_raw(64 as *mut _)) };
    shown(kernels::load());
    shown(kernels::shares(stream, a, &mut b, 3, 5));
    shown(kernels::shares_in(stream, &mut workspace, a, &mut b, 3, 5));
    shown(kernels::shares(stream, a, &mut b, 5, 5));
    shown(kernels::shares(stream, a, &mut b, 0, 5));
    println!("{:?}", kernels::shares_workspace(3, 5));
    // SAFETY: there is no kernel that could run.
    shown(unsafe { kernels::unload() });
    assert_ne!(Status::BadSize as i32, 0);
}
"#;

#[test]
fn the_module_calls_the_bundle_and_checks_lengths() {
    let folder = folder("module");
    let bundle =
        Bundle::new(root().join("examples/aot/kernels.tir")).pipeline("cuda{schedule=threads}").targets(["sm_80"]);
    let made = bundle.write(&folder).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!((made.name.as_str(), made.warnings.as_str()), ("kernels", ""));
    let source = folder.join("main.rs");
    std::fs::write(&source, PROGRAM).expect("a file");
    let driver = root().join("compiler/tc-bundle/tests/c/driver.c");
    done(Command::new("cc").args(["-shared", "-fPIC", "-o"]).arg(folder.join("libcuda.so.1")).arg(driver));
    let log = folder.join("log");
    for edition in ["2021", "2024"] {
        let program = program(&source, "kernels", &folder, edition);
        let _ = std::fs::remove_file(&log);
        let mut command = Command::new(program);
        command.env("LD_LIBRARY_PATH", &folder).env("FAKE_CUDA_CAPABILITY", "8.0").env("FAKE_CUDA_LOG", &log);
        command.env("FAKE_CUDA_KERNELS", "matmul_kernel 8 8 8 4 4 4\nshares_kernel 8 8 4 4\nshares_kernel_1 8 8 8 4\n");
        let printed = String::from_utf8(done(&mut command).stdout).expect("UTF-8");
        assert_eq!(
            printed,
            "ok\nok\nok\nBadArgument: `A` has 15 elements, and these sizes need 25\nBadSize: the size `m` is 0, and must be at \
             least 1 and at most 65535\nOk(12)\nok\n"
        );
        let log = std::fs::read_to_string(&log).expect("the driver wrote it");
        let count = |word: &str| log.lines().filter(|line| line.starts_with(word)).count();
        assert_eq!([count("launch"), count("allocate"), count("free"), count("unload")], [4, 1, 1, 1], "{log}");
    }
}

#[test]
fn what_is_wrong_is_told_with_its_place() {
    let folder = folder("wrong");
    let told = |bundle: &Bundle| bundle.write(&folder).expect_err("it cannot be made").to_string();
    let absent = Bundle::new("nowhere.tir");
    assert!(told(&absent).starts_with("cannot read `nowhere.tir`: "), "{}", told(&absent));
    let file = folder.join("wrong.tir");
    std::fs::write(&file, "te.func @f(A: f32[8]) -> f32[8] {\n  return C\n}\n").expect("a file");
    let text = told(&Bundle::new(&file));
    assert!(text.contains("error[") && text.contains("wrong.tir:2:10"), "{text}");
    let kernels = Bundle::new(root().join("examples/aot/kernels.tir"));
    let text = told(&kernels.clone().targets(["sm_99"]));
    assert!(text.starts_with("unknown target `sm_99`; there is `sm_70`"), "{text}");
    let text = told(&kernels.clone().pipeline("cuda{schedule=absent}"));
    assert!(text.contains("error[unknown-schedule]: no operator has a schedule `absent`"), "{text}");
    assert!(
        told(&kernels.name("Kernels").pipeline("cuda{schedule=threads}")).contains("`Kernels` is no name of a bundle")
    );
}
