//! What is kept of texts while they are compiled: for the folder, the page and the trace that were asked for.

use crate::args::Args;
use crate::inputs::InputChunk;
use serde_json::json;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use tc::Compiler;
use tc::pass::{PassRecord, Pipeline};
use tc::report::dump;
use tc::report::index::{DumpedText, write_index, write_overview};
use tc::report::page::{Emitted, Page, Run};
use tc::report::recorder::{Recorder, dump_folder_of_environment};
use tc::report::recording::Recording;
use tc::report::trace::Trace;
use tc::support::{Diagnostic, Diagnostics, Location, Sources};

/// The folder that the program after each pass is written into.
pub(crate) fn dump_folder(args: &Args) -> Option<PathBuf> {
    args.show.dump_dir.clone().or_else(dump_folder_of_environment)
}

/// Writes the page beside the files of a text, where there are files.
pub(crate) fn index(recorder: &Recorder<'_>, name: &str, command: &str) -> Diagnostics {
    write_index(recorder, name, command)
}

/// What of the files that were asked for no run has written, where none came so far.
pub(crate) fn not_written(args: &Args) -> Vec<Diagnostic> {
    let show = &args.show;
    let files = [&show.report, &show.chrome_trace, &show.dump_dir];
    let warning = |path: &PathBuf| {
        let message = format!("`{}` was not written: nothing was compiled", path.display());
        let warning = Diagnostic::warning("call", Location::None, message);
        if path.exists() { warning.help("what stands there is of an earlier run") } else { warning }
    };
    files.into_iter().flatten().map(warning).collect()
}

/// Which passes were asked about that `pipeline` does not have: nothing is shown of them.
pub(crate) fn absent_passes(args: &Args, pipeline: &Pipeline) -> Vec<Diagnostic> {
    let show = &args.show;
    let flags = [
        ("--print-ir-before", &show.print_ir_before, show.print_ir_before_all),
        ("--print-ir-after", &show.print_ir_after, show.print_ir_after_all),
        ("--remarks", &show.remarks, false),
    ];
    let asked = flags.into_iter().filter(|(_, names, all)| !all && names.iter().all(|name| !name.is_empty()));
    let each = asked.flat_map(|(flag, names, _)| names.iter().map(move |name| (flag, name)));
    let absent = each.filter(|(_, name)| pipeline.passes.iter().all(|planned| planned.info.name != **name));
    absent.map(|(flag, name)| absent_pass(flag, name, pipeline.passes.is_empty())).collect()
}

fn absent_pass(flag: &str, name: &str, is_empty: bool) -> Diagnostic {
    let why = if is_empty { "no pass runs" } else { "the pass is not in the pipeline" };
    let warning = Diagnostic::warning("call", Location::None, format!("`{flag}={name}` shows nothing: {why}"));
    warning.help(if is_empty {
        "`--pass-pipeline` says which passes run"
    } else {
        "`--dump-pass-pipeline` prints the passes that run"
    })
}

/// Makes the folder of a dump ready: what an earlier one left there goes.
pub(crate) fn prepare_dump(args: &Args, parts: &[InputChunk<'_>]) -> Result<(), String> {
    let Some(folder) = dump_folder(args) else { return Ok(()) };
    let of_parts = || parts.iter().filter_map(|part| part.folder.as_deref());
    dump::clear(&folder)
        .and_then(|()| of_parts().try_for_each(|part| dump::add_folder(&folder, part)))
        .map_err(|error| format!("cannot dump into `{}`: {error}", folder.display()))
}

/// A path as one would type it where a tool expects a file.
pub(crate) fn shell_path(path: &Path) -> String {
    // What begins with a dash is taken for a flag.
    let is_flag = path.as_os_str().as_encoded_bytes().starts_with(b"-");
    let path = if is_flag { Path::new(".").join(path) } else { path.to_path_buf() };
    shell_words(&[path.into_os_string()])
}

/// A command line as one would type it.
pub(crate) fn shell_words(words: &[OsString]) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=,:@%+".contains(c);
    let quoted = |word: &OsString| {
        let word = word.to_string_lossy();
        match word.is_empty() || !word.chars().all(plain) {
            true => format!("'{}'", word.replace('\'', "'\\''")),
            false => word.into_owned(),
        }
    };
    words.iter().map(quoted).collect::<Vec<_>>().join(" ")
}

/// What is kept of one text.
#[derive(Default)]
pub(crate) struct Shown {
    /// What the text is called.
    pub(crate) name: String,
    /// Its folder below that of the dump, if it has one of its own.
    pub(crate) folder: Option<String>,
    /// The program after each pass.
    pub(crate) recording: Recording,
    /// What the passes did.
    pub(crate) records: Vec<PassRecord>,
    /// What was emitted.
    emitted: Option<Emitted>,
    /// All that was found, and what it points into.
    pub(crate) found: Diagnostics,
    pub(crate) sources: Sources,
    /// What was done beside passes: when it began and how long it took.
    phases: Vec<(&'static str, Instant, Duration)>,
    /// When the passes began.
    passes_at: Option<Instant>,
}

impl Shown {
    /// Of the text called `name`; nothing yet.
    pub(crate) fn of(name: String, folder: Option<String>) -> Shown {
        Shown { name, folder, ..Shown::default() }
    }

    /// Does `work`, and keeps how long it took.
    pub(crate) fn phase<T>(&mut self, name: &'static str, work: impl FnOnce() -> T) -> T {
        let start = Instant::now();
        let done = work();
        self.phases.push((name, start, start.elapsed()));
        done
    }

    /// Passes are about to run.
    pub(crate) fn passes_begin(&mut self) {
        self.passes_at = Some(Instant::now());
    }

    /// Passes have run.
    pub(crate) fn passes_ended(&mut self, records: &[PassRecord], recorder: Option<Recorder<'_>>) {
        self.records = records.to_vec();
        self.recording = recorder.map_or_else(Recording::default, Recorder::into_recording);
    }

    /// Something was emitted.
    pub(crate) fn emitted(&mut self, emitted: Emitted) {
        self.emitted = Some(emitted);
    }
}

/// Writes what was asked for about all texts. The error says what could not be written.
pub(crate) fn finish(
    args: &Args,
    command: &str,
    (compiler, pipeline): (&Compiler, &Pipeline),
    begin: Instant,
    shown: Vec<Shown>,
) -> Result<Diagnostics, String> {
    let mut found = Diagnostics::new();
    let write = |path: &PathBuf, text: &str| {
        tc_cli::write_whole(path, text).map_err(|error| format!("cannot write `{}`: {error}", path.display()))
    };
    if let Some(folder) = dump_folder(args).filter(|_| shown.iter().any(|one| one.folder.is_some())) {
        let text = |one: &Shown| {
            let folder = one.folder.clone()?;
            Some(DumpedText { name: one.name.clone(), folder, good: !one.found.has_errors() })
        };
        let texts: Vec<DumpedText> = shown.iter().filter_map(text).collect();
        found.append(write_overview(&folder, &format!("{} texts", texts.len()), command, &texts));
    }
    if let Some(path) = &args.show.chrome_trace {
        write(path, &format!("{}\n", trace(&shown, begin)))?;
    }
    if let Some(path) = &args.show.report {
        let planned: Vec<_> = pipeline.passes.iter().map(|planned| (planned.info.name, planned.info.anchor)).collect();
        let run = |one: Shown| Run {
            name: one.name,
            recording: one.recording,
            records: one.records,
            planned: planned.clone(),
            diagnostics: one.found,
            sources: one.sources,
            emitted: one.emitted,
        };
        let page = Page {
            command: command.to_string(),
            version: env!("CARGO_PKG_VERSION").to_string(),
            target: compiler.target,
            pipeline: pipeline.to_string(),
            runs: shown.into_iter().map(run).collect(),
        };
        write(path, &page.html())?;
    }
    Ok(found)
}

/// When what was done, counted from `begin`; a track for each text.
fn trace(shown: &[Shown], begin: Instant) -> serde_json::Value {
    let mut trace = Trace::new("tc-opt");
    for (track, one) in (1..).zip(shown) {
        trace.track(track, &one.name);
        for &(name, start, time) in &one.phases {
            trace.event(track, "tool", name, (start.saturating_duration_since(begin), time), json!({}));
        }
        if let Some(start) = one.passes_at {
            trace.run(track, start.saturating_duration_since(begin), &one.records);
        }
    }
    trace.json()
}
