//! `--explain-bounds`: the chain of demands that gave each stage its region, as text or JSON.

use serde_json::{Value, json};
use std::fmt::Write as _;
use tc::passes::schedule::Explained;
use tc::schedule::bounds::Taken;
use tc::schedule::explain::{Extent, ReadWhy, StageWhy};
use tc::support::{Location, Sources, counted};

/// The explanations of the stages called `wanted`, or of all; `None` where no stage has that name.
pub(crate) fn text(all: &[Explained], wanted: &str, sources: &Sources) -> Option<String> {
    let mut text = String::new();
    for explained in all {
        let stages: Vec<&StageWhy> = chosen(explained, wanted).collect();
        if stages.is_empty() {
            continue;
        }
        let schedule = explained.schedule.as_ref().map_or(String::new(), |name| format!(" @{name}"));
        let _ = writeln!(text, "{}{schedule}:", explained.operator);
        stages.iter().for_each(|one| stage(&mut text, one, sources));
    }
    (!text.is_empty()).then_some(text)
}

fn chosen<'e>(explained: &'e Explained, wanted: &'e str) -> impl Iterator<Item = &'e StageWhy> {
    explained.stages.iter().filter(move |stage| wanted.is_empty() || stage.name == wanted)
}

/// The names of all stages.
pub(crate) fn names(all: &[Explained]) -> Vec<&str> {
    all.iter().flat_map(|explained| &explained.stages).map(|stage| stage.name.as_str()).collect()
}

/// ` (line 12)`; nothing where it has no place.
fn line(location: &Location, sources: &Sources) -> String {
    match line_of(location, sources) {
        Some(line) => format!(" (line {line})"),
        None => String::new(),
    }
}

fn line_of(location: &Location, sources: &Sources) -> Option<u32> {
    match location {
        Location::None => None,
        Location::Point { at, .. } => Some(at.line),
        Location::Span(span) => sources.line_col(span.start).map(|(_, at)| at.line),
    }
}

fn stage(text: &mut String, why: &StageWhy, sources: &Sources) {
    let at = why.at.as_ref().map_or("at the root".to_string(), |(axis, of)| format!("at `{axis}` of `{of}`"));
    let place = line(&why.location, sources);
    let _ = writeln!(text, "\n`{}`, in {} memory, computed {at}{place}", why.name, why.scope);
    let shape: Vec<String> = why.shape.iter().map(Extent::to_string).collect();
    let _ = writeln!(text, "  buffer: [{}], {}", shape.join(", "), counted(why.bytes, "byte"));
    for (nth, read) in why.reads.iter().enumerate() {
        let place = line(&read.location, sources);
        let _ = writeln!(text, "  read {}: by `{}`{place}", nth + 1, read.consumer);
        for (how, title) in [
            (Taken::Fixed, "stand still, outside or at the attach point"),
            (Taken::Inside, "run, inside the attach point"),
            (Taken::Shared, "run, for they share the buffer"),
            (Taken::Point, "have one iteration"),
        ] {
            let loops: Vec<String> = read
                .loops
                .iter()
                .rev()
                .filter(|(_, taken)| *taken == how)
                .map(|(name, _)| format!("`{name}`"))
                .collect();
            if !loops.is_empty() {
                let _ = writeln!(text, "    {title}: {}", loops.join(", "));
            }
        }
    }
    for (nth, dim) in why.dims.iter().enumerate() {
        let low = dim.declared.0;
        // An axis whose end stays open starts at 0.
        let last = match &dim.declared.1 {
            Extent::Int(extent) => (i128::from(low) + i128::from(*extent)).to_string(),
            Extent::Text(text) => text.clone(),
        };
        let _ = writeln!(text, "  `{}`, of {low}..{last}: {} from {}", dim.axis, dim.extent, dim.min);
        for (at, read) in why.reads.iter().enumerate() {
            match read.ends.get(nth) {
                Some(Some((min, max))) => drop(writeln!(text, "    read {} asks for {min} to {max}", at + 1)),
                Some(None) => drop(writeln!(text, "    read {} asks for what is not known", at + 1)),
                None => {}
            }
        }
        let _ = writeln!(text, "    rule: {}", dim.rule.text());
    }
    for one in &why.loops {
        let place = line(&one.location, sources);
        let _ = writeln!(text, "  loop `{}`: {}, {}{place}", one.name, one.extent, one.made);
    }
    for guard in &why.guards {
        let _ = writeln!(text, "  guard: {}{}", guard.condition, line(&guard.location, sources));
    }
}

/// The same as JSON: `{"explain-bounds": [{"operator": …, "schedule": …, "stages": […]}]}`.
pub(crate) fn document(all: &[Explained], wanted: &str, sources: &Sources) -> Option<Value> {
    let found: Vec<Value> = all
        .iter()
        .filter(|explained| chosen(explained, wanted).next().is_some())
        .map(|explained| {
            let stages: Vec<Value> = chosen(explained, wanted).map(|one| stage_json(one, sources)).collect();
            json!({"operator": explained.operator, "schedule": explained.schedule, "stages": stages})
        })
        .collect();
    (!found.is_empty()).then(|| json!({"explain-bounds": found}))
}

/// A number, or the text of an expression over sizes.
fn number(extent: &Extent) -> Value {
    match extent {
        Extent::Int(int) => json!(int),
        Extent::Text(text) => json!(text),
    }
}

fn stage_json(why: &StageWhy, sources: &Sources) -> Value {
    let line = |location: &Location| line_of(location, sources);
    let dims: Vec<Value> = why
        .dims
        .iter()
        .map(|dim| {
            json!({
                "axis": dim.axis, "low": dim.declared.0, "declared": number(&dim.declared.1),
                "min": dim.min, "extent": number(&dim.extent), "rule": dim.rule.name(),
            })
        })
        .collect();
    let loops: Vec<Value> = why
        .loops
        .iter()
        .map(|one| json!({"name": one.name, "extent": number(&one.extent), "made": one.made, "line": line(&one.location)}))
        .collect();
    let guards: Vec<Value> =
        why.guards.iter().map(|guard| json!({"condition": guard.condition, "line": line(&guard.location)})).collect();
    json!({
        "stage": why.name,
        "scope": why.scope,
        "at": why.at.as_ref().map(|(axis, of)| json!({"axis": axis, "stage": of})),
        "line": line(&why.location),
        "shape": why.shape.iter().map(number).collect::<Vec<_>>(),
        "bytes": why.bytes,
        "reads": why.reads.iter().map(|read| read_json(read, sources)).collect::<Vec<_>>(),
        "dims": dims,
        "loops": loops,
        "guards": guards,
    })
}

fn read_json(read: &ReadWhy, sources: &Sources) -> Value {
    let word = |taken: Taken| match taken {
        Taken::Point => "point",
        Taken::Inside => "inside",
        Taken::Shared => "shared",
        Taken::Fixed => "fixed",
    };
    let ends: Vec<Value> = read.ends.iter().map(|ends| json!(ends.as_ref().map(|(min, max)| [min, max]))).collect();
    let loops: Vec<Value> =
        read.loops.iter().map(|(name, taken)| json!({"loop": name, "taken": word(*taken)})).collect();
    json!({"consumer": read.consumer, "line": line_of(&read.location, sources), "ends": ends, "loops": loops})
}
