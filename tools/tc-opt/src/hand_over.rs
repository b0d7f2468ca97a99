//! Where results go: to the standard output, to a file, or back to the files that they came from.

use crate::args::{Args, Emit, InPlace};
use crate::inputs::Input;
use crate::{CALL, FINE, split};
use std::path::Path;
use tc_cli::{Session, write_whole};

/// What came of the texts of one file.
#[derive(Default)]
pub(crate) struct Results {
    /// The outputs of the texts that went well, in order.
    pub(crate) outputs: Vec<String>,
    /// How many texts there were.
    pub(crate) n_texts: usize,
    /// The worst status of its texts.
    pub(crate) status: u8,
}

/// Texts with the line between them that splits them again.
fn join<'o>(outputs: impl Iterator<Item = &'o String>) -> String {
    let mut text = String::new();
    for (nth, output) in outputs.enumerate() {
        if nth > 0 {
            text.push_str(split::MARKER);
            text.push('\n');
        }
        text.push_str(output);
    }
    text
}

/// What keeps `--in-place` from being a sensible wish.
pub(crate) fn check(args: &Args) -> Result<(), &'static str> {
    let show = &args.show;
    if args.input.in_place.is_none() {
        return Ok(());
    }
    if args.run.emit != Emit::Tir {
        return Err("`--in-place` writes programs back: it wants `--emit=tir`");
    }
    let is_told = show.explain_bounds.is_some() || show.access.is_some() || show.lint.is_some();
    if show.generic || show.locations || is_told {
        return Err("`--in-place` writes programs as they are read: not with `--generic`, `--locations`, \
            `--explain-bounds`, `--access` or `--lint`");
    }
    Ok(())
}

/// Hands over the results; `status` is the worst of the run. The file of `-o` is only touched if all went well, and with
/// `--in-place` each file if all of it did.
pub(crate) fn hand_over(args: &Args, session: &Session<'_>, inputs: &[Input], results: &[Results], status: u8) -> u8 {
    if let Some(how) = args.input.in_place {
        let written = inputs.iter().zip(results).map(|(input, results)| {
            let is_split = args.input.split_input_file;
            write_back(session, input, results, (how, is_split))
        });
        return written.max().unwrap_or(FINE).max(status);
    }
    let text = || join(results.iter().flat_map(|results| &results.outputs));
    match &args.input.output {
        Some(path) if path.as_os_str() != "-" => {
            if status == FINE {
                return written(session, path, &text());
            }
        }
        _ => session.print(&text()),
    }
    status
}

fn written(session: &Session<'_>, path: &Path, text: &str) -> u8 {
    match write_whole(path, text) {
        Ok(()) => FINE,
        Err(error) => session.refuse(&format!("cannot write `{}`: {error}", path.display())),
    }
}

fn write_back(session: &Session<'_>, input: &Input, results: &Results, (how, is_split): (InPlace, bool)) -> u8 {
    let text = join(results.outputs.iter());
    let is_whole = results.status == FINE && results.outputs.len() == results.n_texts;
    // What is not changed keeps its time.
    if !is_whole || text == input.text {
        return FINE;
    }
    let is_lost = |line: &&str| line.contains("//") && !(is_split && line.trim_end() == split::MARKER);
    let n_lost = input.text.lines().filter(is_lost).count();
    if how == InPlace::Keep && n_lost > 0 {
        let (name, lines) = (&input.name, if n_lost == 1 { "line" } else { "lines" });
        session.refuse(&format!(
            "`{name}` stays as it is: it has comments on {n_lost} {lines}, and a program that is printed has none; \
             `--in-place=drop-comments` writes it all the same"
        ));
        return CALL;
    }
    written(session, Path::new(&input.file), &text)
}
