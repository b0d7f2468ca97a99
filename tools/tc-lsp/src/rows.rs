//! What rows say of ops and directives, and what the libraries hold: for hover and completion.

use tc::Compiler;
use tc::dialects::{intrinsics, schedules};
use tc::ir::Opcode;
use tc::ir::opdef::{OpDef, Param, ParamKind, Results};
use tc::schedule::primitives;

/// The name by which a row is called.
pub(crate) fn name(row: &OpDef) -> &'static str {
    row.short.unwrap_or(row.name)
}

/// A row as a call: `split(axis, factor = …)`.
pub(crate) fn signature(row: &OpDef) -> String {
    let params: Vec<String> = row.params.iter().map(parameter).collect();
    let results = match row.results {
        Results::Count(0) => String::new(),
        Results::Count(1) => " -> 1 result".to_string(),
        Results::Count(n) => format!(" -> {n} results"),
        Results::Many => " -> …".to_string(),
    };
    format!("{}({}){results}", name(row), params.join(", "))
}

fn parameter(param: &Param) -> String {
    let shown = match param.kind {
        ParamKind::Values => format!("{}…", param.name),
        ParamKind::List => format!("[{}…]", param.name),
        ParamKind::Symbol => format!("@{}", param.name),
        _ => param.name.to_string(),
    };
    let shown = if param.keyed { format!("{} = …", param.name) } else { shown };
    if param.optional { format!("{shown}?") } else { shown }
}

/// The page of a row: its call, what it does, and of a directive its page.
pub(crate) fn page(compiler: &Compiler, opcode: Opcode) -> String {
    let row = compiler.registry.row(opcode);
    let mut text = format!("```tir\n{}\n```\n\n{}", signature(row), row.summary.trim());
    if let Some(primitive) = primitives().iter().find(|primitive| primitive.opcode == opcode) {
        // Its first paragraph says what the row says.
        let rest = primitive.page.split_once("\n\n").map_or("", |(_, rest)| rest);
        text.push_str(&format!("\n\n{}", rest.trim()));
    }
    text
}

/// What the word that opens an item says.
pub(crate) fn of_item(compiler: &Compiler, keyword: &str) -> Option<String> {
    let (_, opcode) = compiler.registry.item(keyword)?;
    Some(format!("`{keyword}`: {}", compiler.registry.row(opcode).summary.trim()))
}

/// A function or an intrinsic of the libraries: the comment above it, and its head.
pub(crate) fn of_library(name: &str) -> Option<String> {
    let files = schedules::FILES.iter().chain(intrinsics::FILES.iter());
    files.map(|(file, text)| (file, text)).find_map(|(file, text)| {
        let start = head_of(text, name)?;
        let head = text[start..].split('{').next()?.trim_end();
        let above: Vec<&str> = text[..start].lines().rev().take_while(|line| line.starts_with("//")).collect();
        let comment: Vec<&str> = above.iter().rev().map(|line| line.trim_start_matches('/').trim()).collect();
        Some(format!("```tir\n{head}\n```\n\n{}\n\nof the library, `{file}`", comment.join("\n")))
    })
}

/// Where the item `@name` begins.
fn head_of(text: &str, name: &str) -> Option<usize> {
    let mut from = 0;
    let symbol = format!(" @{name}");
    while let Some(found) = text[from..].find(&symbol) {
        let at = from + found;
        let end = at + symbol.len();
        let start = text[..at].rfind('\n').map_or(0, |line| line + 1);
        let is_whole = !text[end..].starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_');
        let is_head = text[start..at].chars().all(|c| c.is_ascii_alphanumeric() || c == '.');
        if is_whole && is_head && start < at {
            return Some(start);
        }
        from = end;
    }
    None
}

/// The names of the items of the libraries, with the words that open them.
pub(crate) fn library_names() -> Vec<(&'static str, &'static str)> {
    let files = schedules::FILES.iter().chain(intrinsics::FILES.iter());
    let heads = files.flat_map(|(_, text)| text.lines()).filter_map(|line| {
        let (keyword, rest) = line.split_once(" @")?;
        let is_head = matches!(keyword, "schedule.func" | "te.intrin");
        let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(rest.len());
        is_head.then(|| (keyword, &rest[..end]))
    });
    heads.collect()
}
