//! What a reduction made is never lost: where its output breaks it is kept, and the tool says where.

use std::io::{Error, ErrorKind, Write};
use std::path::{Path, PathBuf};
use tc_opt::{CALL, Io};

const TEXT: &str = "tir.func @f(A: f32[64]) {\n  for i in 0..64 {\n    A[i] = erf(A[i])\n  }\n}\n";
const SMALL: &str = "erf(0.0)";

/// A stream that takes nothing.
struct Broken(ErrorKind);

impl Write for Broken {
    fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
        Err(Error::from(self.0))
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// A folder of its own for one test.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("tc-opt-kept-{}-{name}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).expect("a folder");
        Folder(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Reduces with this standard output; the status and what was reported.
fn reduce(args: &[&str], stdout: &mut (dyn Write + Send), temporary: &Path) -> (u8, String) {
    let (mut stdin, mut stderr) = (TEXT.as_bytes(), Vec::new());
    let io = Io { temporary: Some(temporary.to_path_buf()), ..Io::plain(&mut stdin, stdout, &mut stderr) };
    let call = ["tc-opt", "-", "--reduce", "grep -q 'erf('", "--threads=1"].into_iter().chain(args.iter().copied());
    let status = tc_opt::run(call.map(Into::into), io);
    (status, String::from_utf8(stderr).expect("UTF-8"))
}

/// The text in the only file below the only folder of `folder`, and its path.
fn kept(folder: &Path) -> (String, String) {
    let only = |folder: &Path| {
        let entries: Vec<_> =
            std::fs::read_dir(folder).expect("there").map(|entry| entry.expect("an entry").path()).collect();
        assert_eq!(entries.len(), 1, "{entries:?}");
        entries[0].clone()
    };
    let path = only(&only(folder));
    (std::fs::read_to_string(&path).expect("text"), path.display().to_string())
}

#[test]
fn a_standard_output_that_breaks_loses_nothing() {
    for kind in [ErrorKind::StorageFull, ErrorKind::BrokenPipe] {
        let folder = Folder::new(&format!("{kind:?}"));
        let (status, told) = reduce(&[], &mut Broken(kind), &folder.0);
        let (text, path) = kept(&folder.0);
        assert_eq!(status, CALL, "{told}");
        assert!(text.contains(SMALL), "{text}");
        assert!(told.contains(&format!("did not take the text, which is in `{path}`")), "{told}");
    }
}

#[test]
fn a_file_that_cannot_be_written_loses_nothing() {
    let folder = Folder::new("file");
    let (status, told) = reduce(&["-o", "/dev/full"], &mut Vec::new(), &folder.0);
    let (text, path) = kept(&folder.0);
    assert_eq!(status, CALL, "{told}");
    // The first better text could not be written, and that ended it.
    assert!(text.contains("erf("), "{text}");
    assert!(told.contains("cannot write `/dev/full`") && told.contains(&format!("is in `{path}` instead")), "{told}");
}

#[test]
fn an_output_that_holds_leaves_nothing_behind() {
    let folder = Folder::new("holds");
    let mut out = Vec::new();
    let (status, told) = reduce(&[], &mut out, &folder.0);
    assert_eq!(status, tc_opt::FINE, "{told}");
    assert!(String::from_utf8_lossy(&out).contains(SMALL));
    assert_eq!(std::fs::read_dir(&folder.0).expect("there").count(), 0);
}

#[test]
fn what_breaks_is_told_as_json_where_asked() {
    let folder = Folder::new("json");
    let (status, told) = reduce(&["--json"], &mut Broken(ErrorKind::StorageFull), &folder.0);
    assert_eq!(status, CALL);
    let lines: Vec<serde_json::Value> =
        told.lines().map(|line| serde_json::from_str(line).expect("JSON, a line each")).collect();
    let messages: Vec<&str> = lines.iter().filter_map(|line| line["message"].as_str()).collect();
    assert!(messages.iter().any(|message| message.starts_with("cannot write to the standard output")), "{told}");
    assert!(messages.iter().any(|message| message.contains("which is in `")), "{told}");
}
