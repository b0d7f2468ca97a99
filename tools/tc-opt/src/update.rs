//! `--update`: writes the expectations of `--verify-diagnostics` into the files.

use crate::args::Args;
use crate::expect::{self, Seen, Updated};
use crate::inputs::{Input, parts_of};
use crate::{BUG, FINE, INPUT};
use std::ops::Range;
use std::path::Path;
use tc_cli::{Session, write_whole};

/// What was found in a part of a file: its first line, its bytes, the diagnostics.
pub(crate) type SeenInChunk = (u32, Range<usize>, Vec<Seen>);

/// Compiles a text by its parts, each a first line and a range of bytes; gives what was found in each.
type Run<'r> = dyn Fn(&str, &[(u32, Range<usize>)]) -> Result<Vec<Vec<Seen>>, u8> + 'r;

/// How often a file is compiled anew. Messages may speak of lines, which move as expectations are added.
const ROUNDS: usize = 5;

/// Updates `input`; `run` compiles texts, and gives the diagnostics or a status whose reason was reported.
pub(crate) fn update(session: &Session<'_>, args: &Args, input: &Input, run: &Run<'_>) -> u8 {
    let wrong = |why: &str| {
        session.refuse(&format!("`{}` stays as it is: {why}", input.name));
        INPUT
    };
    let (mut text, mut added, mut dropped) = (input.text.clone(), 0, 0);
    for _ in 0..ROUNDS {
        let parts = parts_of(&text, args);
        let seen = match run(&text, &parts) {
            Ok(seen) => seen,
            Err(status) => return status,
        };
        let diagnostics: Vec<SeenInChunk> =
            parts.into_iter().zip(seen).map(|((line, range), seen)| (line, range, seen)).collect();
        let updated = match expect::update(&text, &diagnostics) {
            Ok(updated) => updated,
            Err(why) => return wrong(&why),
        };
        let Updated { text: next, added: more, dropped: fewer } = updated;
        (added, dropped) = (added + more, dropped + fewer);
        if next == text {
            return finish(session, input, &text, (added, dropped));
        }
        text = next;
    }
    wrong("its diagnostics are others each time that expectations are written for them")
}

fn finish(session: &Session<'_>, input: &Input, text: &str, (added, dropped): (usize, usize)) -> u8 {
    if *text == input.text {
        return FINE;
    }
    if let Err(error) = write_whole(Path::new(&input.file), text) {
        return session.refuse(&format!("cannot write `{}`: {error}", input.name));
    }
    session.print(&if session.tell.json {
        format!("{}\n", serde_json::json!({"file": input.name, "added": added, "dropped": dropped}))
    } else {
        format!("{}: {added} added, {dropped} dropped\n", input.name)
    });
    FINE
}

/// A bug of ours is not written down as if it were meant.
pub(crate) fn is_writable(status: u8) -> bool {
    status != BUG
}
