//! The pages that `tc-opt` writes, opened in a browser: their scripts run, nothing is complained about, hostile text stays
//! text, and there is something to be seen.

use std::path::{Path, PathBuf};
use std::process::Command;

/// The program that says where to get a browser from.
const MISSING: &str = "there is no Chromium: run scripts/install-chromium, or name one in TC_CHROMIUM";

/// A name that would end a script, were it not escaped.
const HOSTILE: &str = "</script><script>document.documentElement.dataset.pwned=1</script><img src=x onerror=1>";

fn browser() -> PathBuf {
    let names = ["chromium-headless-shell", "chromium", "chromium-browser", "google-chrome"];
    let asked = std::env::var_os("TC_CHROMIUM").map(PathBuf::from).filter(|path| !path.as_os_str().is_empty());
    let path = std::env::var_os("PATH").unwrap_or_default();
    let on_path = || std::env::split_paths(&path).flat_map(|folder| names.map(|name| folder.join(name)));
    asked.or_else(|| on_path().find(|file| file.is_file())).expect(MISSING)
}

/// A folder of its own for a test, empty, removed in the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let folder = std::env::temp_dir().join(format!("tc-browser-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).expect("a temporary folder");
        Folder(folder)
    }

    fn file(&self, name: &str) -> String {
        self.0.join(name).to_string_lossy().into_owned()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // Best effort: what is left in the temporary folder does no harm.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn tc_opt(args: &[&str]) -> u8 {
    let (mut stdin, mut stdout, mut stderr) = (&b""[..], Vec::new(), Vec::new());
    let args = std::iter::once("tc-opt").chain(args.iter().copied()).map(Into::into);
    tc_opt::run(args, tc_opt::Io::plain(&mut stdin, &mut stdout, &mut stderr))
}

/// Runs the browser on `page`; what it printed, and what its console said.
fn open(folder: &Folder, page: &Path, flags: &[&str]) -> (String, String) {
    let mut command = Command::new(browser());
    // As root, as in a container, its sandbox cannot be had; the page comes from ourselves.
    command.args(["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--disable-dev-shm-usage"]);
    command.args(["--enable-logging=stderr", "--v=0", "--virtual-time-budget=5000", "--timeout=60000"]);
    command.arg(format!("--user-data-dir={}", folder.file("profile"))).args(flags);
    let output = command.arg(format!("file://{}", page.display())).output().expect(MISSING);
    assert!(output.status.success(), "{:?}: {}", output.status, String::from_utf8_lossy(&output.stderr));
    let log = String::from_utf8_lossy(&output.stderr).into_owned();
    let console: String = log.lines().filter(|line| line.contains("CONSOLE")).collect();
    (String::from_utf8_lossy(&output.stdout).into_owned(), console)
}

/// Opens `page`, lets its script run, and looks for what must be there and what must not.
fn check(folder: &Folder, page: &str, viewers: usize, wanted: &[&str]) {
    let (dom, console) = open(folder, Path::new(page), &["--dump-dom"]);
    assert_eq!(console, "", "{page}");
    assert!(dom.contains(&format!("data-ready=\"{viewers}\"")), "the script of {page} did not end\n{dom}");
    assert!(!dom.contains("data-error") && !dom.contains("data-pwned") && !dom.contains("<img"), "{page}");
    for text in wanted {
        assert!(dom.contains(text), "{page} has no `{text}`\n{dom}");
    }
}

/// How many pixels of a picture there are, and whether it has more than one colour: a page that drew nothing does not
/// compress to so many bytes.
fn picture(folder: &Folder, page: &str, size: (u32, u32), flags: &[&str]) {
    let file = folder.file("page.png");
    let window = format!("--window-size={},{}", size.0, size.1);
    let shot = format!("--screenshot={file}");
    let flags: Vec<&str> = [window.as_str(), &shot].into_iter().chain(flags.iter().copied()).collect();
    let (_, console) = open(folder, Path::new(page), &flags);
    assert_eq!(console, "", "{page}");
    let bytes = std::fs::read(&file).expect("a picture");
    assert_eq!(bytes[..8], *b"\x89PNG\r\n\x1a\n");
    let number = |at: usize| u32::from_be_bytes(bytes[at..at + 4].try_into().expect("four bytes"));
    assert_eq!((number(16), number(20)), size);
    assert!(bytes.len() > 30_000, "only {} bytes: is the page empty?", bytes.len());
}

#[test]
fn a_report_of_a_compilation_is_a_page() {
    let folder = Folder::new("report");
    let example = concat!(env!("CARGO_MANIFEST_DIR"), "/../examples/matmul_ragged.tir");
    let (report, dump, cuda) = (folder.file("report.html"), folder.file("dump"), folder.file("out.cu"));
    let pipeline = "--pass-pipeline=cuda{schedule=shared}";
    let status = tc_opt(&[example, pipeline, "--emit=cuda", "-o", &cuda, "--report", &report, "--dump-dir", &dump]);
    assert_eq!(status, 0);
    let wanted = [
        "rows split",
        "<mark>",
        "class=\"k\">for",
        "matmul_kernel",
        "CUDA C++",
        "class=\"plot\"",
        " registers a thread: ",
        "held back by ",
        "bytes of local memory of a thread",
        "aria-current=\"true\"",
    ];
    check(&folder, &report, 1, &wanted);
    picture(&folder, &report, (1400, 1600), &[]);
    picture(&folder, &report, (480, 1600), &["--blink-settings=preferredColorScheme=0"]);
    let index = format!("{dump}/index.html");
    check(&folder, &index, 1, &["rows split", "<mark>", "href=\"01-schedule.tir\"", "href=\"00-parse.tir\""]);
    picture(&folder, &index, (1400, 1600), &[]);
}

#[test]
fn a_report_of_a_failure_says_where() {
    let folder = Folder::new("failure");
    let (report, dump, input) = (folder.file("report.html"), folder.file("dump"), folder.file("<b>'\"&.tir"));
    // The name of the first function and a size out of bounds in the second text are hostile.
    let text = format!(
        "tir.func @{HOSTILE:?}(A: f32[8]) {{\n  A[0] = 1.0\n}}\n// -----\ntir.func @f(A: f32[8]) {{\n  A[9] = 1.0\n}}\n"
    );
    std::fs::write(&input, text).expect("writable");
    let pipeline = "--pass-pipeline=tir.func(simplify,check-bounds,cse)";
    let flags = [&input, pipeline, "--split-input-file", "--report", &report, "--dump-dir", &dump];
    assert_eq!(tc_opt(&flags), 1);
    let wanted = ["1 of 2 failed", "failed in pass 2, check-bounds", "did not run", "&lt;b&gt;"];
    check(&folder, &report, 2, &wanted);
    check(&folder, &format!("{dump}/index.html"), 0, &["href=\"00/index.html\"", "href=\"01/index.html\""]);
    check(&folder, &format!("{dump}/01/index.html"), 1, &["02-check-bounds-failed.tir"]);
    check(&folder, &format!("{dump}/00/index.html"), 1, &["&lt;/script&gt;"]);
}

#[test]
fn a_text_that_does_not_parse_has_a_report_too() {
    let folder = Folder::new("parse");
    let (report, input) = (folder.file("report.html"), folder.file("f.tir"));
    std::fs::write(&input, "tir.func @f( {\n").expect("writable");
    assert_eq!(tc_opt(&[&input, "--report", &report]), 1);
    check(&folder, &report, 0, &["not parsed", "diagnostic bad", "f.tir:1:"]);
}
