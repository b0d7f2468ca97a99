//! Several inputs, parts of files, files that are written back.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

struct Ran {
    status: u8,
    stdout: String,
    stderr: String,
}

fn run(args: &[&str]) -> Ran {
    let (mut stdin, mut stdout, mut stderr) = (&b"tir 1\n"[..], Vec::new(), Vec::new());
    let args = std::iter::once("tc-opt").chain(args.iter().copied()).map(Into::into);
    let status = tc_opt::run(args, tc_opt::Io::plain(&mut stdin, &mut stdout, &mut stderr));
    let text = |bytes| String::from_utf8(bytes).expect("the tool writes UTF-8");
    Ran { status, stdout: text(stdout), stderr: text(stderr) }
}

/// A folder of a test, gone with this value.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let folder = std::env::temp_dir().join(format!("tc-opt-{}-{name}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).expect("writable");
        Folder(folder)
    }

    fn file(&self, name: &str, text: &str) -> String {
        let path = self.0.join(name);
        std::fs::write(&path, text).expect("writable");
        path.to_string_lossy().into_owned()
    }
}

#[test]
fn files_of_python_are_tvmscript() {
    let folder = Folder::new("tvmscript");
    let text =
        "@T.prim_func\ndef f(A: T.Buffer((8,), \"float32\")):\n    for i in range(8):\n        A[i] = T.float32(i)\n";
    let file = folder.file("f.py", text);
    let ran = run(&[&file]);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    let program = "tir 1\n\ntir.func @f(A: f32[8]) {\n  for i in 0..8 {\n    A[i] = cast<f32>(i)\n  }\n}\n";
    assert_eq!(ran.stdout, program);
    let again = run(&[&file, "--emit=tvmscript"]);
    assert!(again.stdout.contains("A[i] = T.Cast(\"float32\", i)"), "{}", again.stdout);
    let wrong = folder.file("wrong.py", &text.replace("T.float32(i)", "T.sine(i)"));
    let ran = run(&[&wrong]);
    assert_eq!(ran.status, 1);
    assert!(ran.stderr.contains("error[no-counterpart]: tc has no counterpart of `T.sine`"), "{}", ran.stderr);
    assert!(ran.stderr.contains("wrong.py:4:16"), "{}", ran.stderr);
}

#[test]
fn files_of_mlir_are_kernels() {
    let folder = Folder::new("mlir");
    let text = "gpu.module @m {\n  gpu.func @f(%a: memref<8xf32>) kernel attributes {known_block_size = array<i32: 8, 1, 1>, \
                known_grid_size = array<i32: 1, 1, 1>} {\n    %i = gpu.thread_id x\n    %x = memref.load %a[%i] : \
                memref<8xf32>\n    %y = math.exp %x : f32\n    memref.store %y, %a[%i] : memref<8xf32>\n    gpu.return\n  \
                }\n}\n";
    let file = folder.file("f.mlir", text);
    let ran = run(&[&file]);
    if !tc::mlir::lower::AVAILABLE {
        assert_ne!(ran.status, 0);
        assert!(ran.stderr.contains("this tc was built without MLIR"), "{}", ran.stderr);
        assert!(ran.stderr.contains("build with `--features tc/mlir`"), "{}", ran.stderr);
        return;
    }
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    assert!(ran.stdout.contains("let y = exp(x)") && ran.stdout.contains("bind(threadIdx.x)"), "{}", ran.stdout);
    let back = run(&[&file, "--pass-pipeline=cuda", "--emit=mlir"]);
    assert!(back.stdout.contains("math.exp"), "{}\n{}", back.stdout, back.stderr);
    let wrong = folder.file("wrong.mlir", &text.replace("math.exp", "math.cbrt"));
    let ran = run(&[&wrong]);
    assert_eq!(ran.status, 1);
    assert!(ran.stderr.contains("error[no-counterpart]: `math.cbrt` has no counterpart"), "{}", ran.stderr);
    assert!(ran.stderr.contains("wrong.mlir:5:10"), "{}", ran.stderr);
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn read(path: &str) -> String {
    std::fs::read_to_string(Path::new(path)).expect("there")
}

fn program(name: &str) -> String {
    format!("tir 1\n\ntir.func @{name}(A: f32[8]) {{\n  A[0] = 1.0\n}}\n")
}

#[test]
fn outputs_of_several_inputs_follow_each_other() {
    let folder = Folder::new("several");
    let (a, c) = (folder.file("a.tir", &program("a")), folder.file("c.tir", &program("c")));
    let b = folder.file("b.tir", "tir.func @b(");
    let both = format!("{}// -----\n{}", program("a"), program("c"));
    let ran = run(&[&a, &c]);
    assert_eq!((ran.status, &ran.stdout, ran.stderr.as_str()), (0, &both, ""));
    let ran = run(&[&a, &b, &c]);
    assert_eq!((ran.status, &ran.stdout), (1, &both));
    assert!(ran.stderr.contains("b.tir:1:"), "{}", ran.stderr);
    let ran = run(&[&a, "/no/such/file.tir", &c]);
    assert_eq!((ran.status, &ran.stdout), (2, &both));
    let out = folder.file("out.tir", "old");
    assert_eq!(run(&[&a, &b, &c, "-o", &out]).status, 1);
    assert_eq!(read(&out), "old");
    assert_eq!(run(&[&a, &c, "-o", &out]).status, 0);
    assert_eq!(read(&out), both);
    let again = run(&[&out, "--split-input-file"]);
    assert_eq!((again.status, &again.stdout), (0, &both));
}

#[test]
fn one_input_is_not_asked_for_twice() {
    let ran = run(&["-", "-"]);
    assert!(ran.status == 2 && ran.stderr.contains("the standard input can be read once"), "{}", ran.stderr);
    let folder = Folder::new("one");
    let a = folder.file("a.tir", &program("a"));
    for flag in ["--reduce", "--run-reproducer"] {
        let ran = run(&[&a, &a, flag]);
        assert!(ran.status == 2 && ran.stderr.contains("works on one file"), "{flag}: {}", ran.stderr);
    }
}

#[test]
fn programs_are_written_back() {
    let folder = Folder::new("in-place");
    let loose = program("a").replace(" = ", "   =   ");
    let (a, b) = (folder.file("a.tir", &loose), folder.file("b.tir", "tir.func @b("));
    let ran = run(&["--in-place", &a, &b]);
    assert_eq!((ran.status, ran.stdout.as_str()), (1, ""));
    assert_eq!((read(&a), read(&b).as_str()), (program("a"), "tir.func @b("));
    let parts = folder.file("parts.tir", &format!("{loose}// -----\ntir.func @b("));
    assert_eq!(run(&["--in-place", "--split-input-file", &parts]).status, 1);
    assert!(read(&parts).starts_with(&loose));
    let commented = folder.file("commented.tir", &format!("// why\n{loose}"));
    let ran = run(&["--in-place", &commented]);
    assert!(ran.status == 2 && ran.stderr.contains("comments on 1 line"), "{}", ran.stderr);
    assert!(read(&commented).starts_with("// why\n"));
    assert_eq!(run(&["--in-place=drop-comments", &commented]).status, 0);
    assert_eq!(read(&commented), program("a"));
    for (args, why) in [
        (&["-", "--in-place"][..], "the standard input is none"),
        (&["-", "--update", "--verify-diagnostics"], "the standard input is none"),
        (&["--in-place", "--emit=cuda", &a], "--emit=tir"),
        (&["--in-place", "--generic", &a], "--generic"),
        (&["--in-place", "-o", "x", &a], "cannot be used with"),
        (&["--in-place", "--verify-diagnostics", &a], "cannot be used with"),
    ] {
        let ran = run(args);
        assert!(ran.status == 2 && ran.stderr.contains(why), "{args:?}: {}", ran.stderr);
    }
    assert_eq!(read(&a), program("a"));
}

#[test]
fn expectations_are_written_into_files() {
    let folder = Folder::new("update");
    let wrong = "tir.func @f(A: f32[8]) { // kept\n  A[0] = b\n  // expected-error@+1 {{long gone}}\n  A[1] = 1.0\n}";
    let file =
        folder.file("f.tir", &format!("{wrong}\n// -----\n{}", wrong.replace("[0]", "[7]").replace("= b", "= cc")));
    let update = ["--split-input-file", "--verify-diagnostics", "--update", &file];
    let check = ["--split-input-file", "--verify-diagnostics", &file];
    assert_eq!(run(&check).status, 1);
    let ran = run(&update);
    assert_eq!((ran.status, ran.stderr.as_str()), (0, ""));
    assert!(ran.stdout.ends_with("f.tir: 2 added, 2 dropped\n"), "{}", ran.stdout);
    let right = "tir.func @f(A: f32[8]) { // kept\n  // expected-error@+1 {{nothing is called `b` here}}\n  A[0] = b\n  A[1] = 1.0\n}";
    let both =
        format!("{right}\n// -----\n{}", right.replace("[0]", "[7]").replace("= b", "= cc").replace("`b`", "`cc`"));
    assert_eq!(read(&file), both);
    assert_eq!(run(&check).status, 0);
    let ran = run(&update);
    assert_eq!((ran.status, ran.stdout.as_str()), (0, ""));
    assert_eq!(read(&file), both);
    // What looks like an expectation and is none is not touched, and neither is the rest.
    let bad = folder.file("bad.tir", "// expected-eror {{x}}\ntir.func @f(");
    let ran = run(&["--verify-diagnostics", "--update", &bad]);
    assert!(ran.status == 1 && ran.stderr.contains("line 1: unknown directive"), "{}", ran.stderr);
    assert_eq!(read(&bad), "// expected-eror {{x}}\ntir.func @f(");
}

#[test]
fn ten_thousand_parts_take_no_longer_than_their_number() {
    let folder = Folder::new("many");
    let text = |n: usize| vec![program("f"); n].join("// -----\n");
    let time = |n: usize| {
        let file = folder.file("many.tir", &text(n));
        let start = Instant::now();
        let ran = run(&["--split-input-file", "--threads=1", &file]);
        assert_eq!((ran.status, ran.stdout == text(n)), (0, true), "{}", ran.stderr);
        start.elapsed()
    };
    let (few, many) = (time(1_000), time(10_000));
    // Ten times as many; a square would make it a hundred.
    assert!(many < few * 40 + Duration::from_secs(2), "{few:?} for 1000 parts, {many:?} for 10000");
}

#[test]
fn parts_tell_the_same_with_any_number_of_threads() {
    let folder = Folder::new("threads");
    let parts: Vec<String> =
        (0..60)
            .map(|nth| {
                if nth % 3 == 1 {
                    format!("tir.func @f{nth}(A: f32[8]) {{\n  A[0] = b{nth}\n}}\n")
                } else {
                    program("f")
                }
            })
            .collect();
    let file = folder.file("mixed.tir", &parts.join("// -----\n"));
    let told = |threads: &str| {
        let ran = run(&["--split-input-file", "--pass-pipeline=simplify", "--print-ir-after-all", threads, &file]);
        assert_eq!(ran.status, 1);
        (ran.stdout, ran.stderr)
    };
    let one = told("--threads=1");
    assert!(one.1.contains("mixed.tir:8:10") && one.1.contains("`b58`"), "{}", one.1);
    for threads in ["--threads=2", "--threads=8", "--threads=0"] {
        assert!(told(threads) == one, "{threads} tells otherwise");
    }
}

#[test]
fn hostile_names_are_names() {
    let folder = Folder::new("names");
    let file = folder.file("a b'\"$(x)\n.tir", "tir.func @f(");
    let ran = run(&[&file]);
    assert!(ran.status == 1 && ran.stderr.contains("$(x)"), "{}", ran.stderr);
}
