//! What each thread of one block does to a buffer.

use crate::request::{Answer, NAME, Request};
use crate::shown::{diagnostics, line};
use serde_json::{Value, json};
use tc::run::WatchedCase;
use tc::sim::watch::{Subject, Watched, WatchedAccess, WatchedBuffer};

/// Accesses that an answer has, at the most.
const MOST: usize = 20_000;

/// Watches one block of a case.
pub(crate) fn block(request: &Request) -> Answer {
    let module = request.compiler.load(NAME, request.text("text"))?.module;
    let case = request.case(&module)?;
    let subject = Subject {
        launch: request.number("launch").and_then(|launch| usize::try_from(launch).ok()).unwrap_or(0),
        block: request.number("block").unwrap_or(0),
        buffer: request.some_text("buffer"),
    };
    let defines = request.defines()?;
    let seen = tc::run::watch(&request.compiler, &module, &case, (&defines, request.limits()), subject)?;
    Ok(told(&case.name(&module), &seen))
}

fn told(name: &str, seen: &WatchedCase) -> Value {
    let watched = &seen.watched;
    let buffer = |buffer: &WatchedBuffer| json!({ "name": buffer.name, "memory": buffer.memory, "elem": buffer.elem.name(), "shape": buffer.shape });
    let accesses: Vec<Value> = watched.accesses.iter().take(MOST).map(|one| access(one, seen)).collect();
    let cut = watched.accesses.len() - accesses.len();
    json!({
        "ok": true,
        "name": name,
        "program": seen.program,
        "launches": watched.launches,
        "grid": watched.grid,
        "block": watched.block,
        "threaded": watched.threaded,
        "buffers": watched.buffers.iter().map(buffer).collect::<Vec<_>>(),
        "watched": watched.watched,
        "accesses": accesses,
        "dropped": watched.dropped + cut as u64,
        "diagnostics": found(watched, seen),
    })
}

fn access(one: &WatchedAccess, seen: &WatchedCase) -> Value {
    let (file, at) = line(&one.location, &seen.sources);
    let race = one.race.as_ref().map(
        |rival| json!({ "thread": rival.thread, "line": line(&rival.location, &seen.sources).1, "same": rival.same }),
    );
    json!({
        "thread": one.thread, "barriers": one.barriers, "kind": one.kind.name(), "cell": one.cell, "place": one.place,
        "value": one.value, "file": file, "line": at, "race": race,
    })
}

fn found(watched: &Watched, seen: &WatchedCase) -> Vec<Value> {
    diagnostics(&watched.diagnostics.with_counts().collect(), &seen.sources)
}
