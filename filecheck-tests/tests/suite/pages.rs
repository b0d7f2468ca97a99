//! What pages show of files and commands: each file is read, each command answers what stands there, times aside.
//!
//! A block that begins with `// NAME.tir` is a file; if it holds schedules, they are right. A block `console` is what a
//! shell shows: `$ COMMAND`, its output, where a line `…` stands for any lines, and `$ echo $?` with the exit status where it is
//! not 0. Commands find the files of `examples/`, as at the root of the repository.

use std::path::{Path, PathBuf};
use tc_filetest::command::{Command, Names, parse};

const PAGES: [&str; 16] = [
    include_str!("../../../docs/tour.md"),
    include_str!("../../../docs/ir.md"),
    include_str!("../../../docs/tools.md"),
    include_str!("../../../docs/tc-opt.md"),
    include_str!("../../../docs/debugging.md"),
    include_str!("../../../docs/hopper.md"),
    include_str!("../../../docs/attention.md"),
    include_str!("../../../docs/rows.md"),
    include_str!("../../../docs/bundles.md"),
    include_str!("../../../docs/editors.md"),
    include_str!("../../../docs/tvmscript.md"),
    include_str!("../../../docs/tutorial/conv1d.md"),
    include_str!("../../../docs/tutorial/depthwise2d.md"),
    include_str!("../../../docs/tutorial/conv2d.md"),
    include_str!("../../../docs/tutorial/depthwise.md"),
    include_str!("../../../docs/tutorial/tensorcores.md"),
];

/// A command, and what it has to answer.
struct Shown {
    command: String,
    output: String,
    status: u8,
}

/// The fenced blocks of the pages: the word behind the fence, and the text.
fn blocks() -> impl Iterator<Item = (&'static str, &'static str)> {
    PAGES.iter().flat_map(|page| page.split("```").skip(1).step_by(2)).filter_map(|block| block.split_once('\n'))
}

/// The commands of a block.
fn commands(text: &str) -> Vec<Shown> {
    let mut list: Vec<Shown> = Vec::new();
    let mut is_status = false;
    for line in text.lines() {
        match (line.strip_prefix("$ "), list.last_mut()) {
            (Some("echo $?"), Some(_)) => is_status = true,
            (Some(command), _) => {
                is_status = false;
                list.push(Shown { command: command.to_string(), output: String::new(), status: 0 });
            }
            (None, Some(last)) if is_status => last.status = line.parse().expect("a status"),
            (None, Some(last)) => last.output += &format!("{line}\n"),
            (None, None) => panic!("a block begins with a command: {line}"),
        }
    }
    list
}

fn run(Command { tool, args, .. }: Command) -> (u8, String) {
    let args: Vec<_> = std::iter::once(tool.clone()).chain(args).map(Into::into).collect();
    let (mut stdin, mut stdout, mut stderr) = (&b""[..], Vec::new(), Vec::new());
    let status = match tool.as_str() {
        "tc-opt" => {
            let io = tc_opt::Io::plain(&mut stdin, &mut stdout, &mut stderr);
            tc_opt::run(args, io)
        }
        "tc-run" => {
            let io = tc_run::Io::plain(&mut stdin, &mut stdout, &mut stderr);
            tc_run::run(args, io)
        }
        tool => panic!("unknown tool `{tool}`"),
    };
    stdout.extend(stderr);
    (status, String::from_utf8(stdout).expect("the tools write UTF-8"))
}

/// The words of each line, without times, and without the widths of columns, which hang on them.
fn steady(text: &str) -> Vec<String> {
    let line = |line: &str| {
        let mut words: Vec<&str> = line.split_whitespace().collect();
        for nth in 1..words.len() {
            let unit = words[nth].trim_end_matches([',', ':']);
            if matches!(unit, "us" | "ms" | "s") && words[nth - 1].parse::<f64>().is_ok() {
                (words[nth - 1], words[nth]) = ("TIME", "UNIT");
            }
        }
        let is_rule = words.iter().all(|word| word.chars().all(|c| c == '-'));
        if is_rule { words.len().to_string() } else { words.join(" ") }
    };
    text.trim_end().lines().map(line).collect()
}

/// Does a tool say what a page shows? Lines of the page that are `…` stand for any lines.
fn agrees(shown: &str, said: &str) -> bool {
    let said = steady(said);
    let runs: Vec<Vec<String>> = shown.split("…\n").map(steady).collect();
    let (Some(first), Some(last)) = (runs.first(), runs.last()) else { return false };
    if runs.len() == 1 {
        return *first == said;
    }
    let mut rest = &said[..];
    for (nth, run) in runs.iter().enumerate() {
        let found = match nth {
            0 => rest.starts_with(run).then_some(0),
            _ if run.is_empty() => Some(0),
            _ => rest.windows(run.len()).position(|window| window == run),
        };
        let Some(at) = found else { return false };
        rest = &rest[at + run.len()..];
    }
    last.is_empty() || said.ends_with(last)
}

#[test]
fn dots_stand_for_lines() {
    let said = "a\nb\nc\nd\n";
    for shown in ["a\nb\nc\nd\n", "a\n…\n", "…\nb\n…\nd\n", "…\nb\n…\n", "a\nb\n…\nc\nd\n"] {
        assert!(agrees(shown, said), "{shown}");
    }
    for shown in ["a\nb\n", "b\n…\n", "…\nc\n…\nb\n…\n", "…\nc\n", "…\nb\nd\n…\n", "a\n…\na\n…\n"] {
        assert!(!agrees(shown, said), "{shown}");
    }
}

/// Puts the examples that a command names where it finds them.
fn lay_out_examples(command: &Command) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    for name in command.args.iter().filter(|arg| arg.starts_with("examples/") && !Path::new(arg).exists()) {
        let folder = Path::new(name).parent().expect("a path below examples/");
        std::fs::create_dir_all(folder).expect("the folder is ours");
        std::fs::copy(root.join(name), name).unwrap_or_else(|error| panic!("{name}: {error}"));
    }
}

#[test]
fn the_tools_answer_what_pages_show() {
    let folder: PathBuf = std::env::temp_dir().join(format!("tc-pages-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a temporary folder");
    std::env::set_current_dir(&folder).expect("the folder is there");
    let names = Names { file: "%s".into(), folder: "%S".into(), temporary: "%t".into() };
    let (mut n_files, mut n_commands, mut wrong) = (0, 0, String::new());
    for (kind, text) in blocks() {
        if let Some(name) = text.strip_prefix("// ").and_then(|rest| rest.split(':').next()) {
            std::fs::write(name, text).expect("the file can be written");
            n_files += 1;
            let target = if text.contains("wgmma") { " --target=sm_90a" } else { "" };
            let command = if text.contains("schedule @") { "tc-run --check" } else { "tc-opt" }.to_string() + target;
            let (ended, said) = run(parse(&format!("{command} {name}"), &names).expect("a command").remove(0));
            if ended != 0 {
                wrong += &format!("---- {name}\nended with {ended}, said\n{said}\n");
            }
        }
        if kind != "console" {
            continue;
        }
        for Shown { command, output, status } in commands(text) {
            n_commands += 1;
            let parsed = parse(&command, &names).expect("a command").remove(0);
            lay_out_examples(&parsed);
            let (ended, said) = run(parsed);
            if ended != status || !agrees(&output, &said) {
                wrong += &format!("---- {command}\nended with {ended}, said\n{said}\nbut the page shows\n{output}\n");
            }
        }
    }
    // Best effort: what is left in the temporary folder does no harm.
    let _ = std::fs::remove_dir_all(&folder);
    assert!(wrong.is_empty(), "{wrong}");
    assert!(n_files >= 3 && n_commands >= 9, "only {n_files} files and {n_commands} commands were found");
}

/// The flags that `--help` lists: each stands on a line of its own.
fn flags(tool: &str) -> Vec<String> {
    let (_, help) = run(Command { not: false, tool: tool.to_string(), args: vec!["--help".to_string()], merge: false });
    let long = |line: &str| {
        let line = line.trim_start();
        let at = line.find("--").filter(|_| line.starts_with('-'))?;
        let flag: String = line[at..].chars().take_while(|c| c.is_ascii_lowercase() || *c == '-').collect();
        Some(flag).filter(|flag| flag.len() > 2)
    };
    help.lines().filter_map(long).collect()
}

#[test]
fn pages_name_every_flag() {
    let pages =
        [("tc-opt", include_str!("../../../docs/tc-opt.md")), ("tc-run", include_str!("../../../docs/tools.md"))];
    for (tool, page) in pages {
        let flags = flags(tool);
        assert!(flags.len() > 15, "{tool}: {flags:?}");
        let words: Vec<&str> = page.split(|c: char| !c.is_ascii_lowercase() && c != '-').collect();
        let missing: Vec<&String> = flags
            .iter()
            .filter(|flag| !["--help", "--version"].contains(&flag.as_str()))
            .filter(|flag| !words.contains(&flag.as_str()))
            .collect();
        assert!(missing.is_empty(), "the page of {tool} lacks {missing:?}");
    }
}
