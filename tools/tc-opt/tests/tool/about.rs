//! What the tool says of itself: completion, the manual page, and all as JSON.

use serde_json::Value;
use std::process::Command;

fn ask(args: &[&str]) -> (u8, String) {
    let (mut stdin, mut stdout, mut stderr) = (std::io::empty(), Vec::new(), Vec::new());
    let args = std::iter::once("tc-opt").chain(args.iter().copied()).map(Into::into);
    let status = tc_opt::run(args, tc_opt::Io::plain(&mut stdin, &mut stdout, &mut stderr));
    stdout.extend(stderr);
    (status, String::from_utf8(stdout).expect("the tool writes UTF-8"))
}

/// What bash offers after these words, whose last is being typed.
fn offered(script: &str, words: &[&str]) -> Vec<String> {
    let list = words.iter().map(|word| format!("'{word}'")).collect::<Vec<_>>().join(" ");
    let ask = format!(
        "{script}\nCOMP_WORDS=({list}); COMP_CWORD=$((${{#COMP_WORDS[@]}}-1)); COMPREPLY=()\n\
         _tc__opt tc-opt \"${{COMP_WORDS[COMP_CWORD]}}\" \"${{COMP_WORDS[COMP_CWORD-1]}}\"\n\
         printf '%s\\n' \"${{COMPREPLY[@]}}\"\n"
    );
    let output = Command::new("bash").args(["--norc", "-c", &ask]).output().expect("bash starts");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && said.is_empty(), "{said}");
    String::from_utf8(output.stdout).expect("UTF-8").lines().map(str::to_string).collect()
}

#[test]
fn bash_completes_flags_and_names() {
    let (status, script) = ask(&["--completion=bash"]);
    assert_eq!(status, 0);
    assert_eq!(offered(&script, &["tc-opt", "--split"]), ["--split-input-file"]);
    assert_eq!(offered(&script, &["tc-opt", "--help-pass", "unroll"]), ["unroll-loop"]);
    assert_eq!(offered(&script, &["tc-opt", "--print-ir-after", "=", "unroll"]), ["unroll-loop"]);
    assert!(offered(&script, &["tc-opt", "--emit", "="]).contains(&"cuda".to_string()));
    assert!(offered(&script, &["tc-opt", "--target", "sm_9"]).contains(&"sm_90".to_string()));
}

#[test]
fn other_shells_have_scripts_too() {
    for (shell, mark) in [("zsh", "#compdef tc-opt"), ("fish", "complete -c tc-opt")] {
        let (status, script) = ask(&["--completion", shell]);
        assert!(status == 0 && script.contains(mark) && script.contains("unroll-loop"), "{shell}:\n{script}");
    }
    assert_eq!(ask(&["--completion=csh"]).0, 2);
}

#[test]
fn the_manual_page_names_every_flag() {
    let (status, page) = ask(&["--man-page"]);
    assert_eq!(status, 0);
    assert!(page.is_ascii() && page.contains("\n.TH tc-opt 1 ") && page.contains("\n.SH NAME\n"), "{page}");
    let (_, help) = ask(&["--help"]);
    let flags: Vec<&str> = help
        .lines()
        .filter_map(|line| line.trim_start().trim_start_matches("-o, ").strip_prefix("--"))
        .filter_map(|line| line.split(|c: char| !c.is_ascii_lowercase() && c != '-').next())
        .collect();
    assert!(flags.len() > 30, "{flags:?}");
    for flag in flags {
        assert!(page.contains(&format!("\\-\\-{}", flag.replace('-', "\\-"))), "{flag}");
    }
}

#[test]
fn help_stands_under_headings() {
    let (_, help) = ask(&["--help"]);
    let headings = ["Input and output:", "Running:", "Showing:", "Debugging:", "Search spaces:", "Asking:"];
    let places: Vec<Option<usize>> = headings.iter().map(|heading| help.find(&format!("\n{heading}\n"))).collect();
    assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{places:?}\n{help}");
    // The short one says each flag in a line or two.
    let (_, short) = ask(&["-h"]);
    assert!(short.lines().count() < help.lines().count());
}

fn json(args: &[&str]) -> Value {
    let (status, text) = ask(args);
    assert_eq!(status, 0, "{text}");
    serde_json::from_str(&text).expect("one document")
}

#[test]
fn answers_about_passes_are_json_where_asked() {
    let list = json(&["--list-passes", "--json"]);
    let passes = list["passes"].as_array().expect("a list");
    let unroll = passes.iter().find(|pass| pass["name"] == "unroll-loop").expect("there");
    assert_eq!(unroll["anchor"], "tir.func");
    let page = json(&["--help-pass=unroll-loop", "--json"]);
    assert!(page["page"].as_str().is_some_and(|page| page.contains("# Input form")));
    assert_eq!(page["options"], unroll["options"]);
    let cuda = json(&["--help-pass=cuda", "--json"]);
    assert!(cuda["lines"][0]["reason"].is_string(), "{cuda}");
    let expanded = json(&["--pass-pipeline=schedule{name=s},cse", "--dump-pass-pipeline", "--json"]);
    assert_eq!(expanded["passes"][0]["options"]["name"], "s");
    assert_eq!(expanded["passes"][1]["anchor"], "tir.func");
    assert_eq!(expanded["pipeline"], "module(schedule{name=s},tir.func(cse))");
}
