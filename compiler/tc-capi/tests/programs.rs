//! Programs in C and C++ that use the library, compiled by `cc` and `c++` and run under valgrind: an invalid access, a
//! value that was never set and a leak fail the test.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const HERE: &str = env!("CARGO_MANIFEST_DIR");

/// What valgrind exits with where it found something. No program here does.
const FOUND: i32 = 99;

/// A folder with the shared library, which cargo puts beside this test, for the program `stem`.
///
/// Its debug information is left out: valgrind reads all of it at each start, and gives up on forms that are newer than
/// it is, which code linked from LLVM has.
fn library(stem: &str) -> PathBuf {
    let test = std::env::current_exe().expect("a test is a file");
    let made = test.parent().expect("it lies in a folder").join("libtc_capi.so");
    assert!(made.exists(), "cargo did not make {}", made.display());
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("capi-{stem}-library"));
    std::fs::create_dir_all(&folder).expect("cargo's folder for tests can be written");
    let mut strip = Command::new("strip");
    strip.arg("--strip-debug").arg(&made).arg("-o").arg(folder.join("libtc_capi.so"));
    let stripped = run(&mut strip, "`apt-get install binutils` has it");
    assert!(stripped.status.success(), "{}", shown(&stripped));
    folder
}

fn run(command: &mut Command, is_from: &str) -> Output {
    let name = command.get_program().to_string_lossy().into_owned();
    command.output().unwrap_or_else(|error| panic!("cannot run {name}: {error}; {is_from}"))
}

fn shown(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

/// Compiles `source`: the program, and the folder of its library.
fn compiled(source: &Path) -> (PathBuf, PathBuf) {
    let is_cpp = source.extension().is_some_and(|extension| extension == "cpp");
    let (compiler, standard) = if is_cpp { ("c++", "-std=c++17") } else { ("cc", "-std=c11") };
    let stem = source.file_stem().expect("a name").to_string_lossy().into_owned();
    let library = library(&stem);
    let binary = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("capi-{stem}"));
    let mut compile = Command::new(compiler);
    compile.args([standard, "-g", "-Wall", "-Wextra", "-Wpedantic", "-Werror"]);
    compile.arg("-I").arg(Path::new(HERE).join("include")).arg(source).arg("-o").arg(&binary);
    compile.arg("-L").arg(&library).args(["-ltc_capi", "-lpthread"]);
    compile.arg(format!("-Wl,-rpath,{}", library.display()));
    let compiled = run(&mut compile, "`apt-get install gcc g++` has it");
    assert!(compiled.status.success(), "{}", shown(&compiled));
    (binary, library)
}

/// Compiles `source`, runs it under valgrind, and gives what it printed.
fn program(source: &Path) -> String {
    let (binary, library) = compiled(source);
    let mut valgrind = Command::new("valgrind");
    // cargo points this at the library that it made, and it goes before what the program says.
    valgrind.env("LD_LIBRARY_PATH", &library);
    valgrind.args(["-q", "--leak-check=full", "--show-leak-kinds=definite", "--errors-for-leak-kinds=definite"]);
    valgrind.arg(format!("--error-exitcode={FOUND}")).arg(&binary);
    printed(source, &run(&mut valgrind, "`scripts/install-valgrind` installs it"))
}

/// What a program printed that went well and wrote nothing to stderr.
fn printed(source: &Path, output: &Output) -> String {
    let stem = source.file_stem().expect("a name").to_string_lossy();
    assert!(output.status.success(), "{stem}: {}\n{}", output.status, shown(output));
    assert!(output.stderr.is_empty(), "{stem} wrote to stderr: {}", shown(output));
    String::from_utf8(output.stdout.clone()).expect("UTF-8")
}

fn test_program(name: &str) -> String {
    program(&Path::new(HERE).join("tests/c").join(name))
}

#[test]
fn all_that_the_interface_is_for() {
    assert_eq!(test_program("flow.c"), "all is well\n");
}

#[test]
fn passes_limits_and_spaces() {
    assert_eq!(test_program("passes.c"), "all is well\n");
}

/// Without valgrind, which takes minutes for NVIDIA's compiler and finds what is not ours.
#[test]
fn ptx_is_made() {
    let source = Path::new(HERE).join("tests/c/ptx.c");
    let (binary, library) = compiled(&source);
    let mut made = Command::new(&binary);
    made.env("LD_LIBRARY_PATH", &library).current_dir(Path::new(HERE).join("../.."));
    assert_eq!(printed(&source, &run(&mut made, "it was just compiled")), "all is well\n");
}

#[test]
fn the_second_program_runs_a_pass_of_its_own_in_a_pipeline() {
    let printed = program(&Path::new(HERE).join("../../examples/capi/passes.c"));
    assert!(printed.starts_with("{\"count\":3,") && printed.contains("\ntripled 1\n"), "{printed}");
    assert!(printed.contains("B[i] = A[i] * 3.0f;"), "{printed}");
}

#[test]
fn every_misuse_ends_in_a_status() {
    let told = test_program("misuse.c");
    let n_ways: usize = told.strip_suffix(" ways\n").and_then(|n| n.parse().ok()).expect("a number");
    assert!(n_ways >= 10, "{told}");
}

#[test]
fn threads_share_a_context_and_not_a_module() {
    assert_eq!(test_program("threads.c"), "all is well\n");
}

#[test]
fn the_header_is_one_of_cpp_too() {
    assert_eq!(test_program("header.cpp"), "");
}

#[test]
fn the_first_program_prints_what_tc_opt_does() {
    let printed = program(&Path::new(HERE).join("../../examples/capi/first.c"));
    let (cuda, manifest) = printed.rsplit_once("}\n[").expect("CUDA, then a manifest");
    assert!(cuda.contains("__global__ void __launch_bounds__(128) double_kernel("), "{cuda}");
    let manifest: serde_json::Value = serde_json::from_str(&format!("[{manifest}")).expect("JSON");
    assert_eq!(manifest[0]["kernels"][0]["grid"], serde_json::json!([8, 1, 1]));
}

#[test]
fn the_first_program_stands_in_the_documentation() {
    let read = |path: &str| std::fs::read_to_string(Path::new(HERE).join("../..").join(path)).expect("it is there");
    let (page, shown) = (read("docs/embedding.md"), read("examples/capi/first.c"));
    assert!(page.contains(&format!("```c\n{shown}```\n")), "docs/embedding.md shows another first.c");
}

/// Valgrind is no decoration: a program that does what the interface cannot forbid is caught.
#[test]
fn valgrind_finds_what_the_interface_cannot_forbid() {
    let source = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("late.c");
    let text = "#include \"tc.h\"\n#include <stdio.h>\nint main(void) {\n  TcContext c; TcModule m; TcText t; TcString s;\n  \
        if (tc_context_create(TC_ABI_VERSION, NULL, &c) || tc_module_parse(c, (TcString){\"f\", 1}, (TcString){\"\", 0}, &m, NULL)\n  \
        || tc_module_print(m, &t) || tc_text_get(t, &s)) return 1;\n  tc_text_free(t);\n  return s.data[0] == 'x';\n}\n";
    std::fs::write(&source, text).expect("a file");
    let caught = std::panic::catch_unwind(|| program(&source)).expect_err("the text was read after it was freed");
    let message = caught.downcast_ref::<String>().expect("a message");
    assert!(message.contains("Invalid read of size 1"), "{message}");
}
