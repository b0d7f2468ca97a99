//! The head of a reproducer, read and checked: what is wrong with it is reported at its line.

use crate::args::{Emit, RunArgs, Via};
use clap::ValueEnum;
use tc::Compiler;
use tc::debug::{Reproducer, reproducer};
use tc::pass::parse_pipeline;
use tc::support::{Diagnostic, Diagnostics, Location, Pos, Sources, Span};
use tc::target::Target;
use tc_cli::{INPUT, Session};

/// Reads the head of `text`, which messages call `name`. The error is the status, and was reported.
pub(super) fn read(name: &str, text: &str, session: &Session<'_>) -> Result<Reproducer, u8> {
    Reproducer::parse(name, text).map_err(|(wrong, sources)| {
        session.tell(&(*wrong).into(), &sources);
        INPUT
    })
}

/// The same, and checks that there is a target, a pipeline and a way to what is emitted as it says.
pub(super) fn read_and_check(
    name: &str,
    text: &str,
    compiler: &Compiler,
    session: &Session<'_>,
) -> Result<Reproducer, u8> {
    let found = read(name, text, session)?;
    let refuse = |key: &str, wrong: Diagnostics, from: &Sources| {
        let (wrong, sources) = at_value(name, text, key, &wrong, from);
        session.tell(&wrong, &sources);
        INPUT
    };
    if !found.target.is_empty() {
        Target::parse(&found.target).map_err(|wrong| refuse("target", wrong.into(), &Sources::new()))?;
    }
    if let Some(message) = stray_via(&found) {
        let wrong = Diagnostic::error("reproducer", Location::None, message).help("drop the line, or change `emit`");
        return Err(refuse("via", wrong.into(), &Sources::new()));
    }
    let mut sources = Sources::new();
    let parsed = parse_pipeline(&found.pipeline, &compiler.passes, &compiler.registry, &mut sources);
    parsed.map_err(|wrong| refuse("pipeline", wrong, &sources))?;
    Ok(found)
}

/// What is emitted, and through what.
pub(super) fn emitted(found: &Reproducer) -> (Emit, Option<Via>) {
    // What the head may name is what there is.
    let emit = found.emit.as_deref().and_then(|emit| Emit::from_str(emit, false).ok());
    let via = found.via.as_deref().and_then(|via| Via::from_str(via, false).ok());
    (emit.unwrap_or(Emit::Tir), via)
}

fn stray_via(found: &Reproducer) -> Option<&'static str> {
    let (emit, via) = emitted(found);
    match RunArgs::stray_via(emit, via)? {
        _ if emit == Emit::Llvm => Some("`via = cuda` makes no LLVM IR: `emit = llvm` goes through MLIR"),
        _ => Some("`via` tells the way to PTX, and wants `emit = ptx`"),
    }
}

/// Diagnostics about the value of `key`, whose places are in `from`, told where it stands in the head of `text`.
fn at_value(name: &str, text: &str, key: &str, found: &Diagnostics, from: &Sources) -> (Diagnostics, Sources) {
    let mut sources = Sources::new();
    let (Ok(file), Some(value)) = (sources.add(name, text), reproducer::value(text, key)) else {
        return (found.clone(), from.clone());
    };
    let Pos(base) = sources.file(file).start();
    let span = |from: usize, to: usize| {
        let pos = |at: usize| Pos(base + at.clamp(value.range.start, value.range.end) as u32);
        Span::new(pos(from), pos(to))
    };
    let whole = Location::Span(span(value.range.start, value.range.end));
    // The value is the first file.
    let own = from.file_of(Pos(1)).map(|file| file.start());
    let moved = |place: &Location| match place {
        Location::Span(at) => match (from.line_col(at.start), own) {
            (Some((file, _)), Some(own)) if file.start() == own && value.is_plain => {
                let offset = |pos: Pos| value.range.start + pos.0.saturating_sub(own.0) as usize;
                Location::Span(span(offset(at.start), offset(at.end)))
            }
            (Some((file, at)), Some(own)) if file.start() != own => {
                Location::Point { file: file.name.as_str().into(), at }
            }
            _ => whole.clone(),
        },
        other => other.clone(),
    };
    let one = |one: &Diagnostic| {
        let mut one = one.clone();
        one.location = if one.location == Location::None { whole.clone() } else { moved(&one.location) };
        one.labels.iter_mut().for_each(|label| label.location = moved(&label.location));
        one
    };
    (found.iter().map(one).collect(), sources)
}
