//! What a new pass and a new schedule primitive consist of, to be filled in.

use std::path::Path;

/// Writes the file, the row and the corpus folder of the pass `name`; what went wrong.
pub fn new_pass(root: &Path, name: &str) -> Vec<String> {
    match try_new_pass(root, name) {
        Ok(()) => Vec::new(),
        Err(why) => vec![why],
    }
}

/// Writes the folder, the generator, the lines in the tables and the corpus folder of the primitive `name`; what went wrong.
pub fn new_primitive(root: &Path, name: &str) -> Vec<String> {
    match try_new_primitive(root, name) {
        Ok(()) => Vec::new(),
        Err(why) => vec![why],
    }
}

/// Is it a part of a name in kebab or snake case?
fn is_part(part: &str) -> bool {
    part.starts_with(|c: char| c.is_ascii_lowercase())
        && part.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit())
}

fn try_new_primitive(root: &Path, name: &str) -> Result<(), String> {
    if !name.split('_').all(is_part) {
        return Err(format!("`{name}` is no name in snake case, such as `prefetch_at`"));
    }
    let source = root.join("compiler/tc-schedule/src/primitives");
    let folder = source.join(name);
    if folder.exists() {
        return Err(format!("there is a primitive `{name}` already"));
    }
    let camel = camel(&name.replace('_', "-"));
    let filled =
        |text: &str| text.replace("NAME", name).replace("UPPER", &name.to_uppercase()).replace("CAMEL", &camel);
    let row = filled(include_str!("scaffold/row.txt"));
    let module = format!("mod {name};\n");
    let generators = root.join("filecheck-tests/src/random/schedules/primitives");
    let corpus = root.join("filecheck-tests/schedule").join(name);
    for folder in [&folder, &corpus] {
        std::fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    }
    write(&folder.join("mod.rs"), &filled(include_str!("scaffold/primitive.txt")))?;
    write(&generators.join(name).with_extension("rs"), &filled(include_str!("scaffold/generator.txt")))?;
    write(&corpus.join("basic.tir"), &filled(include_str!("scaffold/corpus.txt")))?;
    let with_lines = |text: &str, line: &str| with_last_line(&with_module(text, &module)?, "table! {", line);
    edit(&source.join("mod.rs"), |text| with_lines(text, &format!("    {name} {camel} stage Said;\n")))?;
    edit(&generators.join("mod.rs"), |text| with_lines(text, &format!("    {name}::draw at Buffers, 1;\n")))?;
    edit(&root.join("dialects/tc-dialects/src/sched/mod.rs"), |text| with_last_line(text, "dialect! {", &row))
}

/// Adds a line at the end of what `opening` opens, which closes at the start of a line.
fn with_last_line(text: &str, opening: &str, line: &str) -> Option<String> {
    let start = text.rfind(&format!("{opening}\n"))?;
    let end = start + text[start..].find("\n}\n")? + 1;
    Some(format!("{}{line}{}", &text[..end], &text[end..]))
}

fn try_new_pass(root: &Path, name: &str) -> Result<(), String> {
    if !name.split('-').all(is_part) {
        return Err(format!("`{name}` is no name in kebab case, such as `rotate-loop`"));
    }
    let snake = name.replace('-', "_");
    let source = root.join("passes/tc-passes/src");
    let file = source.join(&snake).with_extension("rs");
    if file.exists() || source.join(&snake).exists() {
        return Err(format!("there is a pass `{name}` already"));
    }
    write(&file, &template(name, &camel(name)))?;
    edit(&source.join("lib.rs"), |text| with_module(text, &format!("pub mod {snake};\n")))?;
    edit(&source.join("table.rs"), |text| with_row(text, &snake))?;
    let corpus = root.join("filecheck-tests/passes").join(name);
    std::fs::create_dir_all(&corpus).map_err(|error| format!("{}: {error}", corpus.display()))?;
    write(&corpus.join("basic.tir"), &corpus_template(name))
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    std::fs::write(path, text).map_err(|error| format!("{}: {error}", path.display()))
}

fn edit(path: &Path, change: impl Fn(&str) -> Option<String>) -> Result<(), String> {
    let text = std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
    let changed = change(&text).ok_or_else(|| format!("{}: there is no place for the new line", path.display()))?;
    write(path, &changed)
}

/// Adds a module, in the order of the names where they are sorted.
fn with_module(text: &str, line: &str) -> Option<String> {
    let name = |line: &str| line.split_once("mod ").map(|(_, name)| name.to_string());
    let (mut at, mut place) = (0, None);
    for other in text.split_inclusive('\n') {
        // The list of modules ends where a line is none.
        match name(other).filter(|_| other.starts_with("mod ") || other.starts_with("pub")) {
            Some(other) if Some(&other) > name(line).as_ref() => {
                return Some(text[..at].to_string() + line + &text[at..]);
            }
            Some(_) => place = Some(at + other.len()),
            None if place.is_some() => break,
            None => {}
        }
        at += other.len();
    }
    place.map(|at| text[..at].to_string() + line + &text[at..])
}

/// Adds a row at the end of the table of passes.
fn with_row(text: &str, snake: &str) -> Option<String> {
    let start = text.find("PASSES: &[&PassInfo] = &[")? + "PASSES: &[&PassInfo] = &[".len();
    let end = start + text[start..].find("];")?;
    let (head, tail) = (&text[..end], &text[end..]);
    let open = if head.ends_with('[') { "\n" } else { "" };
    Some(format!("{}{open}    &crate::{snake}::INFO,\n{tail}", head.trim_end_matches(' ')))
}

fn camel(name: &str) -> String {
    let word = |word: &str| word[..1].to_uppercase() + &word[1..];
    name.split('-').map(word).collect()
}

fn corpus_template(name: &str) -> String {
    format!(
        "// RUN: tc-opt %s --pass-pipeline='module(tir.func({name}))' | FileCheck %s\n\
         // What `{name}` does, on the smallest program.\n\n\
         // CHECK: tir.func @f(A: f32[8])\n\
         tir.func @f(A: f32[8]) {{\n  for i in 0..8 {{\n    A[i] = 1.0\n  }}\n}}\n"
    )
}

fn template(name: &str, camel: &str) -> String {
    const TEMPLATE: &str = r#"//! Says in one sentence what it does.
//!
//! # Input form
//!
//! Which ops it needs, which it refuses.
//!
//! # Output form
//!
//! What holds afterwards.
//!
//! # Example
//!
//! ```tir
//! for i in 0..8 { A[i] = 1.0 }
//! ->
//! for i in 0..8 { A[i] = 1.0 }
//! ```
//!
//! # Algorithm
//!
//! 1. Find the sites. 2. Rewrite them.
//!
//! # Limits
//!
//! What it does not do.
//!
//! # Remarks
//!
//! What it tells of that, and which of it without being asked for.

use tc_dialects::tir;
use tc_ir::{Func, Op, walk};
use tc_pass::{FuncPass, PassCx, PassInfo, PassKind};

tc_pass::options! {
    /// What `NAME` can be told.
    pub struct Options {}
}

/// The row.
pub const INFO: PassInfo = PassInfo {
    name: "NAME",
    page: tc_support::page!("SNAKE.rs"),
    anchor: "tir.func",
    options: Options::INFO,
    requires: &[],
    establishes: &[],
    preserves: &[],
    make: |raw| {
        Options::read(raw)?;
        Ok(PassKind::Func(tir::FUNC, Box::new(CAMEL)))
    },
};

/// The pass.
pub struct CAMEL;

impl FuncPass for CAMEL {
    fn run(&self, func: &mut Func, cx: &mut PassCx) -> bool {
        let sites = find_sites(func);
        cx.count("sites found", sites.len() as u64);
        false
    }
}

/// The loops that can be rewritten.
fn find_sites(func: &Func) -> Vec<Op> {
    walk::all_ops(func).filter(|&op| tir::For::of(func, op).is_some()).collect()
}
"#;
    TEMPLATE.replace("NAME", name).replace("SNAKE", &name.replace('-', "_")).replace("CAMEL", camel)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_primitive_gets_its_folder_and_its_lines() {
        let root = std::env::temp_dir().join(format!("xtask-primitive-{}", std::process::id()));
        let real = crate::root();
        let tables = [
            "compiler/tc-schedule/src/primitives/mod.rs",
            "filecheck-tests/src/random/schedules/primitives/mod.rs",
            "dialects/tc-dialects/src/sched/mod.rs",
        ];
        for path in tables {
            std::fs::create_dir_all(root.join(path).parent().expect("a folder")).expect("writable");
            std::fs::copy(real.join(path), root.join(path)).expect("writable");
        }
        assert_eq!(new_primitive(&root, "prefetch_at"), [""; 0]);
        let read = |path: &str| std::fs::read_to_string(root.join(path)).expect("written");
        let added = |path: &str| {
            let before = std::fs::read_to_string(real.join(path)).expect("a table");
            let old: Vec<&str> = before.lines().collect();
            let new = read(path);
            new.lines().filter(|line| !old.contains(line)).map(str::to_string).collect::<Vec<_>>()
        };
        assert_eq!(added(tables[0]), ["mod prefetch_at;", "    prefetch_at PrefetchAt stage Said;"]);
        assert_eq!(added(tables[1]), ["mod prefetch_at;", "    prefetch_at::draw at Buffers, 1;"]);
        let row = added(tables[2]);
        assert!(row.len() == 3 && row[1].contains("PrefetchAt PREFETCH_AT \"prefetch_at\" (stage: value)"), "{row:?}");
        assert!(
            read("compiler/tc-schedule/src/primitives/prefetch_at/mod.rs").contains("impl Primitive for PrefetchAt")
        );
        assert!(read("filecheck-tests/src/random/schedules/primitives/prefetch_at.rs").contains("\"prefetch_at\""));
        assert!(read("filecheck-tests/schedule/prefetch_at/basic.tir").contains("prefetch_at(T)"));
        assert_eq!(new_primitive(&root, "prefetch_at").len(), 1);
        assert_eq!(new_primitive(&root, "Prefetch").len(), 1);
        std::fs::remove_dir_all(&root).expect("ours");
    }

    #[test]
    fn a_pass_gets_its_file_row_and_folder() {
        let root = std::env::temp_dir().join(format!("xtask-scaffold-{}", std::process::id()));
        let source = root.join("passes/tc-passes/src");
        std::fs::create_dir_all(&source).expect("writable");
        let write = |name: &str, text: &str| std::fs::write(source.join(name), text).expect("writable");
        write("lib.rs", "//! Passes.\n\npub mod cse;\npub mod table;\n");
        write("table.rs", "pub static PASSES: &[&PassInfo] = &[\n    &crate::cse::INFO,\n];\n");
        assert!(new_pass(&root, "rotate-loop").is_empty());
        let read = |name: &str| std::fs::read_to_string(root.join(name)).expect("written");
        assert!(read("passes/tc-passes/src/rotate_loop.rs").contains("name: \"rotate-loop\""));
        assert!(read("passes/tc-passes/src/lib.rs").contains("cse;\npub mod rotate_loop;\npub mod table;"));
        assert!(read("passes/tc-passes/src/table.rs").contains("cse::INFO,\n    &crate::rotate_loop::INFO,\n];"));
        assert!(read("filecheck-tests/passes/rotate-loop/basic.tir").starts_with("// RUN: tc-opt"));
        assert_eq!(new_pass(&root, "rotate-loop").len(), 1);
        assert_eq!(new_pass(&root, "Rotate Loop").len(), 1);
        std::fs::remove_dir_all(&root).expect("ours");
    }
}
