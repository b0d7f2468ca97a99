//! Files that are written must not be one another, nor what is read.

use crate::args::Args;
use crate::show;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use tc::report::dump;
use tc_cli::{FileId, full_path};

/// A file or a folder that the command line names.
struct Named {
    /// The flag, or the name of an input.
    what: String,
    path: PathBuf,
    /// Which file it is; none if it is no file that could be replaced, such as `/dev/null`.
    file: Option<FileId>,
    is_read: bool,
}

impl Named {
    fn new(what: impl Into<String>, path: &Path, is_read: bool) -> Named {
        Named { what: what.into(), path: path.to_path_buf(), file: FileId::of(path), is_read }
    }
}

/// What is wrong with the files that are read and written; nothing is opened for that.
pub(crate) fn check(args: &Args) -> Result<(), String> {
    let show = &args.show;
    let output = args.input.output.as_ref().filter(|path| path.as_os_str() != "-");
    let reproducer = args.debug.reproducer.as_ref();
    let files = [
        ("`--report`", show.report.as_ref()),
        ("`--chrome-trace`", show.chrome_trace.as_ref()),
        ("`--reproducer`", reproducer),
        ("`--dump-dir`", show.dump_dir.as_ref()),
    ];
    if let Some((flag, _)) = files.iter().find(|(_, path)| path.is_some_and(|path| path.as_os_str() == "-")) {
        return Err(format!(
            "{flag} writes no standard output, which `-` stands for: `./-` names a file that is called so"
        ));
    }
    let mut named: Vec<Named> = Vec::new();
    for input in args.input.files.iter().filter(|file| *file != "-") {
        named.push(Named::new("an input", Path::new(input), true));
    }
    if let Some(file) = args.run.pass_pipeline.as_deref().and_then(|text| text.trim().strip_prefix('@')) {
        named.push(Named::new("the pipeline", Path::new(file), true));
    }
    for (flag, path) in [("`-o`", output)].into_iter().chain(files) {
        named.extend(path.map(|path| Named::new(flag, path, false)));
    }
    let dump = show::dump_folder(args).filter(|_| args.debug.reduce.is_none() && args.debug.bisect.is_none());
    if let (Some(folder), None) = (&dump, &show.dump_dir) {
        named.push(Named::new("`TC_DUMP_IR`", folder, false));
    }
    for (nth, one) in named.iter().enumerate().filter(|(_, one)| !one.is_read) {
        let is_same = |other: &&Named| other.file.is_some() && other.file == one.file;
        if let Some(other) = named[..nth].iter().find(is_same) {
            return Err(clash(args, one, other));
        }
    }
    let has_many = args.input.files.len() > 1 || args.input.split_input_file;
    let inside = |one: &&Named| {
        let is_dumped = dump.as_ref().or(show.dump_dir.as_ref()).is_some_and(|folder| is_of_dump(folder, &one.path));
        let is_reproducer = || has_many && reproducer.is_some_and(|path| is_of_reproducers(path, &one.path));
        one.file.is_some() && (is_dumped || is_reproducer())
    };
    match named.iter().find(inside) {
        Some(one) => Err(format!(
            "{} is `{}`, a name of the files of a dump or of the reproducers of several texts: give it another one",
            one.what,
            one.path.display()
        )),
        None => Ok(()),
    }
}

fn clash(args: &Args, one: &Named, other: &Named) -> String {
    let (path, what) = (one.path.display(), &one.what);
    if !other.is_read {
        return format!("{} and {what} name one file, `{path}`: give each its own", other.what);
    }
    let is_written_back = what == "`-o`" && args.debug.reduce.is_none() && other.what == "an input";
    let way_out = if is_written_back { "`--in-place` writes programs back" } else { "name another file" };
    format!("{what} would overwrite `{path}`, which is read as {}: {way_out}", other.what)
}

/// Is `path` one that a dump into `folder` writes?
fn is_of_dump(folder: &Path, path: &Path) -> bool {
    let path = full_path(path);
    let Ok(below) = path.strip_prefix(full_path(folder)) else { return false };
    let names: Vec<&str> = below.iter().filter_map(OsStr::to_str).collect();
    match names[..] {
        [name] => dump::is_name_of_dump(name),
        [folder, name] => dump::is_number(folder) && dump::is_name_of_dump(name),
        _ => false,
    }
}

/// Is `path` the file of a part, where `reproducer` stands for those of several: `r.00.tir` for `r.tir`?
fn is_of_reproducers(reproducer: &Path, path: &Path) -> bool {
    let (reproducer, path) = (full_path(reproducer), full_path(path));
    let number = path.file_stem().map(Path::new).and_then(Path::extension).and_then(OsStr::to_str);
    let stem = path.file_stem().map(Path::new).and_then(Path::file_stem);
    number.is_some_and(dump::is_number)
        && (path.parent(), stem, path.extension())
            == (reproducer.parent(), reproducer.file_stem(), reproducer.extension())
}
