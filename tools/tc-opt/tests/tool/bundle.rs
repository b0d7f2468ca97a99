//! `--emit=bundle` writes a folder, whole and the same each time, or nothing.

use std::path::PathBuf;

fn run(args: &[&str]) -> (u8, String) {
    let (mut stdin, mut stdout, mut stderr) = (std::io::empty(), Vec::new(), Vec::new());
    let args = std::iter::once("tc-opt").chain(args.iter().copied()).map(Into::into);
    let status = tc_opt::run(args, tc_opt::Io::plain(&mut stdin, &mut stdout, &mut stderr));
    assert!(stdout.is_empty(), "a bundle prints nothing");
    (status, String::from_utf8(stderr).expect("the tool writes UTF-8"))
}

const TEXT: &str = "
te.func @double<n: 1..100000>(A: f32[n]) -> f32[n] {
  compute B[i: n] = A[i] * 2.0
  return B
}
schedule @threads for @double {
  bx, tx = split(B.i, factor = 128)
  bind(bx, blockIdx.x)
  bind(tx, threadIdx.x)
}
schedule @wide for @double {
  bx, tx = split(B.i, factor = 256)
  bind(bx, blockIdx.x)
  bind(tx, threadIdx.x)
}
";

/// A file with the text, and a folder that is not there yet.
fn places(name: &str) -> (String, PathBuf) {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("tc-opt-bundle-{name}"));
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).expect("writable");
    let file = folder.join("double.tir");
    std::fs::write(&file, TEXT).expect("writable");
    (file.to_string_lossy().into_owned(), folder.join("made/here"))
}

/// The names and bytes of the files in a folder.
fn files(folder: &PathBuf) -> Vec<(String, Vec<u8>)> {
    let entries = std::fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("readable"));
    let file = |entry: std::fs::DirEntry| {
        (entry.file_name().to_string_lossy().into_owned(), std::fs::read(entry.path()).expect("a file"))
    };
    let mut files: Vec<_> = entries.map(file).collect();
    files.sort();
    files
}

#[test]
fn a_folder_is_made_with_a_pipeline_for_each_target() {
    let (file, folder) = places("made");
    let out = folder.to_string_lossy().into_owned();
    let own = "--target-pipeline=sm_90=cuda{schedule=wide}";
    let common = "--pass-pipeline=cuda{schedule=threads}";
    let args = [file.as_str(), "--emit=bundle", "--targets=sm_80,sm_90", common, own, "-o", &out];
    assert_eq!(run(&args), (0, String::new()));
    let made = files(&folder);
    let names: Vec<&str> = made.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["double.c", "double.h", "double.json", "double.sm_80.cubin", "double.sm_90.cubin"]);
    let source = String::from_utf8_lossy(&made[0].1).into_owned();
    assert!(source.contains("{\"double_kernel\", {128, 1, 1},") && source.contains("{\"double_kernel\", {256, 1, 1},"));
    assert_eq!(run(&args), (0, String::new()));
    assert_eq!(files(&folder), made);
}

#[test]
fn what_fails_writes_nothing() {
    let (file, folder) = places("failed");
    let out = folder.to_string_lossy().into_owned();
    let common = ["--emit=bundle", "--targets=sm_80", "-o", &out];
    let with = |first: &str, pipeline: &str| {
        let pipeline = format!("--pass-pipeline={pipeline}");
        run(&[&[first, pipeline.as_str()], &common[..]].concat())
    };
    let (status, told) = with(&file, "cuda{schedule=absent}");
    assert!(
        status == 2 && told.contains("error[unknown-schedule]") && told.contains("--> <pass-pipeline>:1:1"),
        "{told}"
    );
    let (status, told) = with(&file, "schedule{name=threads}");
    assert!(status != 0 && told.contains("double.tir:") && told.contains("error[no-emitter]"), "{told}");
    let (status, told) = with("absent.tir", "cuda");
    assert!(status == 2 && told.starts_with("error[call]: cannot read `absent.tir`"), "{told}");
    assert!(!folder.exists());
    let (status, told) = run(&[&file, "--emit=bundle", "--pass-pipeline=cuda{schedule=threads}", "-o", &file]);
    assert!(status == 2 && !told.is_empty(), "{told}");
    assert_eq!(std::fs::read_to_string(&file).expect("still there"), TEXT);
}
