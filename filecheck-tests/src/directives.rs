//! What the comments of a file ask for.
//!
//! A directive is a comment that opens with a word in capitals and a colon. One that nothing reads would let a test
//! pass that checks nothing, so it is an error; so is a file without a `RUN` line.

use crate::command::Command;

/// What may follow a prefix of FileCheck.
const SUFFIXES: &[&str] = &["", "-NEXT", "-SAME", "-NOT", "-DAG", "-LABEL", "-EMPTY"];

/// The `RUN` lines of a file, those that end in `\` joined with the next.
pub fn run_lines(text: &str) -> Result<Vec<String>, String> {
    let mut lines = Vec::new();
    let mut open: Option<String> = None;
    for line in text.lines() {
        let Some(run) = line.trim_start().strip_prefix("// RUN:") else { continue };
        let whole = open.take().unwrap_or_default() + run.trim();
        match whole.strip_suffix('\\') {
            Some(part) => open = Some(part.trim_end().to_string() + " "),
            None => lines.push(whole),
        }
    }
    if open.is_some() {
        return Err("the last RUN line ends in `\\`".to_string());
    }
    if lines.is_empty() {
        return Err("the file has no `// RUN:` line".to_string());
    }
    Ok(lines)
}

/// The prefixes that a FileCheck command reads.
pub fn prefixes(command: &Command) -> Vec<String> {
    let mut found = Vec::new();
    let mut args = command.args.iter();
    while let Some(arg) = args.next() {
        let value = match arg.split_once('=') {
            Some(("--check-prefix" | "--check-prefixes", value)) => value,
            None if arg == "--check-prefix" || arg == "--check-prefixes" => args.next().map_or("", String::as_str),
            _ => continue,
        };
        found.extend(value.split(',').map(str::to_string));
    }
    if found.is_empty() {
        found.push("CHECK".to_string());
    }
    found
}

/// What is wrong with the directives of a file whose `RUN` lines are `commands`.
pub fn check(text: &str, commands: &[Vec<Command>]) -> Vec<String> {
    let all = || commands.iter().flatten();
    let mut read: Vec<String> = all().filter(|command| command.tool == "FileCheck").flat_map(prefixes).collect();
    read.sort();
    read.dedup();
    let mut wrong = Vec::new();
    let mut used = vec![false; read.len()];
    for (idx, line) in text.lines().enumerate() {
        let Some(word) = directive(line) else { continue };
        if word == "RUN" || word == "COM" {
            continue;
        }
        match read.iter().position(|prefix| is_check(word, prefix)) {
            Some(nth) => used[nth] = true,
            // `// A: the input` is prose.
            None if word.len() == 1 => {}
            None => wrong.push(format!("line {}: nothing reads the directive `{word}:`", idx + 1)),
        }
    }
    for (prefix, _) in read.iter().zip(&used).filter(|(_, used)| !**used) {
        wrong.push(format!("FileCheck reads `{prefix}:` and the file has none"));
    }
    let verifies = all().any(|command| command.has("--verify-diagnostics"));
    let expects = text.lines().any(|line| line.find("//").is_some_and(|at| line[at..].contains("expected-")));
    if expects && !verifies {
        wrong.push("`expected-` comments are only read with --verify-diagnostics".to_string());
    }
    wrong
}

/// The word in capitals that opens the comment on this line.
fn directive(line: &str) -> Option<&str> {
    let (word, _) = line.trim_start().strip_prefix("//")?.trim_start().split_once(':')?;
    let good = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || matches!(c, '-' | '_');
    let is_word = word.starts_with(|c: char| c.is_ascii_uppercase()) && word.chars().all(good);
    is_word.then_some(word)
}

/// Is `word` a directive of FileCheck for `prefix`?
fn is_check(word: &str, prefix: &str) -> bool {
    let Some(suffix) = word.strip_prefix(prefix) else { return false };
    let count = |n: &str| !n.is_empty() && n.chars().all(|c| c.is_ascii_digit());
    SUFFIXES.contains(&suffix) || suffix.strip_prefix("-COUNT-").is_some_and(count)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::{Names, parse};

    fn wrong(text: &str) -> Vec<String> {
        let names = Names { file: "f".into(), folder: ".".into(), temporary: "t".into() };
        let lines = run_lines(text).expect("there is one");
        let commands: Vec<_> = lines.iter().map(|line| parse(line, &names).expect("right")).collect();
        check(text, &commands)
    }

    #[test]
    fn lines_that_end_in_a_backslash_go_on() {
        let lines = run_lines("// RUN: tc-opt %s \\\n// RUN:   | FileCheck %s\n// RUN: tc-opt %s\n");
        assert_eq!(lines, Ok(vec!["tc-opt %s | FileCheck %s".to_string(), "tc-opt %s".to_string()]));
        assert!(run_lines("// nothing").is_err());
        assert!(run_lines("// RUN: a \\").is_err());
    }

    #[test]
    fn a_directive_that_nothing_reads_is_wrong() {
        assert!(
            wrong("// RUN: tc-opt %s | FileCheck %s\n// CHECK: x\n// CHECK-NEXT: y\n// CHECK-COUNT-2: z").is_empty()
        );
        assert_eq!(wrong("// RUN: tc-opt %s | FileCheck %s\n// CHECK: x\n// CHECK-NXT: y").len(), 1);
        assert_eq!(wrong("// RUN: tc-opt %s | FileCheck %s\n").len(), 1);
        assert_eq!(wrong("// RUN: tc-opt %s\n// CHECK: x").len(), 1);
        assert_eq!(wrong("// RUN: tc-opt %s | FileCheck %s --check-prefixes=A,B\n// A: x").len(), 1);
        assert_eq!(wrong("// RUN: tc-opt %s\n// expected-error {{x}}").len(), 1);
        assert!(wrong("// RUN: tc-opt %s --verify-diagnostics\n// expected-error {{x}}").is_empty());
        assert!(wrong("// RUN: tc-opt %s\n// What it shows: that prose is no directive").is_empty());
    }
}
