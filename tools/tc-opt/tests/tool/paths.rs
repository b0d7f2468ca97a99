//! Files that are named twice, and files of an earlier run.

use std::path::{Path, PathBuf};

struct Ran {
    status: u8,
    stdout: String,
    stderr: String,
}

fn run(args: &[&str]) -> Ran {
    let (mut stdin, mut stdout, mut stderr) = (std::io::empty(), Vec::new(), Vec::new());
    let args = std::iter::once("tc-opt").chain(args.iter().copied()).map(Into::into);
    let status = tc_opt::run(args, tc_opt::Io::plain(&mut stdin, &mut stdout, &mut stderr));
    let text = |bytes| String::from_utf8(bytes).expect("the tool writes UTF-8");
    Ran { status, stdout: text(stdout), stderr: text(stderr) }
}

const TEXT: &str = "tir 1\n\ntir.func @f(A: f32[8]) {\n  A[0] = 1.0\n}\n";

/// A folder of a test, gone with this value.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let folder = std::env::temp_dir().join(format!("tc-opt-paths-{}-{name}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).expect("writable");
        Folder(folder)
    }

    fn path(&self, name: &str) -> String {
        self.0.join(name).to_string_lossy().into_owned()
    }

    fn file(&self, name: &str, text: &str) -> String {
        std::fs::write(self.0.join(name), text).expect("writable");
        self.path(name)
    }

    fn names(&self, below: &str) -> Vec<String> {
        let entries = std::fs::read_dir(self.0.join(below)).expect("there");
        let mut names: Vec<String> =
            entries.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn read(path: &str) -> String {
    std::fs::read_to_string(Path::new(path)).expect("there")
}

#[test]
fn no_output_is_an_input_whatever_it_is_called() {
    let folder = Folder::new("inputs");
    let a = folder.file("a.tir", TEXT);
    let (soft, hard) = (folder.path("soft.tir"), folder.path("hard.tir"));
    std::os::unix::fs::symlink(&a, &soft).expect("a link");
    std::fs::hard_link(&a, &hard).expect("a link");
    let pipeline = folder.file("pipeline", "module(tir.func(cse))");
    let around = format!("{}/../{}/a.tir", folder.0.display(), folder.0.file_name().expect("one").to_string_lossy());
    for name in [&a, &soft, &hard, &around] {
        for flag in ["-o", "--report", "--chrome-trace", "--reproducer", "--dump-dir"] {
            let ran = run(&[&a, flag, name]);
            assert!(ran.status == 2 && ran.stderr.contains("would overwrite"), "{flag} {name}: {}", ran.stderr);
            assert!(ran.stdout.is_empty(), "nothing is read or written");
        }
    }
    let ran = run(&[&a, "--pass-pipeline", &format!("@{pipeline}"), "-o", &pipeline]);
    assert!(ran.status == 2 && ran.stderr.contains("which is read as the pipeline"), "{}", ran.stderr);
    let ran = run(&[&a, "--reduce", "true", "-o", &a]);
    assert!(ran.status == 2 && ran.stderr.contains("name another file"), "{}", ran.stderr);
    assert_eq!((read(&a).as_str(), read(&pipeline).as_str()), (TEXT, "module(tir.func(cse))"));
    // Devices are no files that could be lost, and two of them may be one.
    assert_eq!(run(&[&a, "-o", "/dev/null", "--report", "/dev/null"]).status, 0);
}

#[test]
fn outputs_are_not_each_other() {
    let folder = Folder::new("outputs");
    let a = folder.file("a.tir", TEXT);
    let (x, same) = (folder.path("x"), folder.path("./x"));
    let ran = run(&[&a, "-o", &x, "--report", &same]);
    assert!(ran.status == 2 && ran.stderr.contains("`-o` and `--report` name one file"), "{}", ran.stderr);
    assert!(!Path::new(&x).exists());
    let dump = folder.path("dump");
    for name in ["dump/01-cse.tir", "dump/index.html", "dump/00/00-parse.tir"] {
        let ran = run(&[&a, "--dump-dir", &dump, "--report", &folder.path(name)]);
        assert!(ran.status == 2 && ran.stderr.contains("of the files of a dump"), "{name}: {}", ran.stderr);
    }
    let inside = folder.path("dump/out.tir");
    std::fs::create_dir(&dump).expect("writable");
    assert_eq!(run(&[&a, "--dump-dir", &dump, "-o", &inside]).status, 0);
    assert_eq!(read(&inside), TEXT);
    // `r.tir` stands for `r.00.tir` and so on where there are several texts.
    let part = folder.file("r.00.tir", TEXT);
    let reproducer = folder.path("r.tir");
    let ran = run(&[&part, "--split-input-file", "--reproducer", &reproducer]);
    assert!(ran.status == 2 && ran.stderr.contains("reproducers of several texts"), "{}", ran.stderr);
    assert_eq!(run(&[&part, "--reproducer", &reproducer]).status, 0);
    for flag in ["--report", "--chrome-trace", "--reproducer", "--dump-dir"] {
        let ran = run(&[&a, flag, "-"]);
        assert!(ran.status == 2 && ran.stderr.contains("writes no standard output"), "{flag}: {}", ran.stderr);
    }
}

#[test]
fn a_dump_is_of_one_run() {
    let folder = Folder::new("dump");
    let a = folder.file("a.tir", TEXT);
    let wrong = folder.file("wrong.tir", "tir.func @f(");
    let dump = folder.path("dump");
    let listed = |names: &[&str]| [".tc-dump"].iter().chain(names).map(|name| name.to_string()).collect::<Vec<_>>();
    assert_eq!(run(&[&a, "--pass-pipeline=tir.func(cse,simplify,dce)", "--dump-dir", &dump]).status, 0);
    assert_eq!(folder.names("dump").len(), 6);
    std::fs::write(folder.path("dump/04-mine.tir"), "mine").expect("writable");
    assert_eq!(run(&[&a, "--pass-pipeline=tir.func(simplify)", "--dump-dir", &dump]).status, 0);
    assert_eq!(folder.names("dump"), listed(&["00-parse.tir", "01-simplify.tir", "04-mine.tir", "index.html"]));
    // Several texts have folders, which go where the next run has one text, or one that does not parse.
    assert_eq!(run(&[&a, &wrong, "--pass-pipeline=tir.func(cse)", "--dump-dir", &dump]).status, 1);
    assert_eq!(folder.names("dump"), listed(&["00", "04-mine.tir", "index.html"]));
    assert_eq!(folder.names("dump/00"), listed(&["00-parse.tir", "01-cse.tir", "index.html"]));
    assert_eq!(run(&[&wrong, "--dump-dir", &dump]).status, 1);
    assert_eq!(folder.names("dump"), ["04-mine.tir"]);
    let bisect = ["--pass-pipeline=tir.func(cse,simplify)", "--bisect", "test -s", "--dump-dir", &dump];
    assert_eq!(run(&[&[a.as_str()], &bisect[..]].concat()).status, 2);
    assert_eq!(folder.names("dump"), ["04-mine.tir"]);
}

#[test]
fn files_of_an_earlier_run_are_not_taken_for_new_ones() {
    let folder = Folder::new("stale");
    let a = folder.file("a.tir", TEXT);
    let (report, trace) = (folder.path("report.html"), folder.path("trace.json"));
    let files = ["--report", &report, "--chrome-trace", &trace];
    let with = |args: &[&str]| run(&[args, &files[..]].concat());
    assert_eq!((with(&[&a]).status, with(&[&a]).stderr.as_str()), (0, ""));
    let (old_page, old_trace) = (read(&report), read(&trace));
    let calls: [&[&str]; 4] = [
        &["/no/such/file.tir"],
        &[&a, "--pass-pipeline=no-such-pass"],
        &[&a, "--target=sm_81"],
        &[&a, "--run-reproducer"],
    ];
    for call in calls {
        let ran = with(call);
        assert!(matches!(ran.status, 1 | 2), "{call:?}: {}", ran.stderr);
        assert_eq!(ran.stderr.matches("was not written: nothing was compiled").count(), 2, "{call:?}: {}", ran.stderr);
        assert_eq!(ran.stderr.matches("of an earlier run").count(), 2, "{call:?}: {}", ran.stderr);
        assert_eq!((&read(&report), &read(&trace)), (&old_page, &old_trace));
    }
    // What is read is compiled and told of, though another input is not there.
    let ran = with(&[&a, "/no/such/file.tir"]);
    assert!(ran.status == 2 && !ran.stderr.contains("not written"), "{}", ran.stderr);
    assert_ne!(read(&report), old_page);
}

#[test]
fn names_that_are_made_up_replace_links_and_not_what_they_lead_to() {
    let folder = Folder::new("links");
    let input = folder.file("a.tir", TEXT);
    let (dump, broken) = (folder.path("dump"), folder.path("broken"));
    for below in [&dump, &broken] {
        std::fs::create_dir(below).expect("a folder");
    }
    for name in ["00-parse.tir", "index.html"] {
        std::os::unix::fs::symlink("../a.tir", Path::new(&dump).join(name)).expect("a link");
    }
    std::fs::hard_link(&input, Path::new(&dump).join("01-simplify.tir")).expect("a link");
    let ran = run(&[&input, "--pass-pipeline=tir.func(simplify)", "--dump-dir", &dump]);
    assert_eq!((ran.status, read(&input).as_str()), (0, TEXT), "{}", ran.stderr);
    assert!(read(&format!("{dump}/index.html")).starts_with("<!"));
    // Of several texts each has a reproducer of its own.
    let wrong = "tir.func @g(A: f32[8]) attributes {device} {\n  A[9] = 1.0\n}\n";
    let several = folder.file("several.tir", &format!("{wrong}\n// -----\n\n{wrong}"));
    let before = read(&several);
    for nth in ["00", "01"] {
        std::os::unix::fs::symlink(&several, Path::new(&broken).join(format!("r.{nth}.tir"))).expect("a link");
    }
    let reproducer = format!("{broken}/r.tir");
    let args = ["--split-input-file", "--pass-pipeline=tir.func(check-bounds)", "--reproducer", &reproducer];
    let ran = run(&[&[several.as_str()][..], &args].concat());
    assert_eq!((ran.status, read(&several) == before), (1, true), "{}", ran.stderr);
    assert!(read(&format!("{broken}/r.00.tir")).starts_with("// tc-reproducer:"), "{}", ran.stderr);
}
