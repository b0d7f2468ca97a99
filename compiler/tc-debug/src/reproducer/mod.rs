//! A reproducer as text.
//!
//! ```text
//! // tc-reproducer: version = 0.0.0
//! // tc-reproducer: pipeline = module(tir.func(simplify,cse))
//! // tc-reproducer: target = sm_80
//! // tc-reproducer: verify-each = structure
//! // tc-reproducer: fails = bug pass-panicked in simplify: the pass panicked: boom
//! tir 1
//!
//! tir.func @f(…) { … }
//! ```
//!
//! The lines are comments, so the file is a program like any other, and each of them is one that a person may edit.
//! They stand before the program, in any order, among other comments.

mod head;
mod read;

pub use head::{Value, value};

use crate::signature::Signature;
use head::escape;
use std::fmt;

/// What opens each line of the head.
pub const MARK: &str = "// tc-reproducer:";

/// What was checked around each pass.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Verify {
    /// Nothing.
    None,
    /// What the verifier checks.
    #[default]
    Structure,
    /// The verifier, and on the simulator that the program still means the same.
    Semantics,
}

impl Verify {
    const NAMES: &[(Verify, &str)] =
        &[(Verify::None, "none"), (Verify::Structure, "structure"), (Verify::Semantics, "semantics")];

    /// The word for it.
    pub fn name(self) -> &'static str {
        Verify::NAMES.iter().find(|(one, _)| *one == self).map_or("", |(_, name)| name)
    }
}

/// A failing run: a program, the passes that fail on it, and what they were given.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Reproducer {
    /// The version of the compiler that failed.
    pub version: String,
    /// The passes, from the one that failed on.
    pub pipeline: String,
    /// The GPU that was compiled for.
    pub target: String,
    /// What was checked around each pass.
    pub verify: Verify,
    /// What was emitted in the end, such as `cuda`, where it was no program.
    pub emit: Option<String>,
    /// Through what it was emitted, where that was said.
    pub via: Option<String>,
    /// Were ops that no dialect declares kept?
    pub allow_unknown_ops: bool,
    /// Steps that one run on the simulator was allowed, where that was said.
    pub step_limit: Option<u64>,
    /// How it failed.
    pub fails: Option<Signature>,
    /// What places in the program call its file. It is no part of the text.
    pub name: String,
    /// The number of the first line of the program, where it is a part of a file; 0 is as good as 1. It is no part of
    /// the text either.
    pub first_line: u32,
    /// The program.
    pub program: String,
}

impl fmt::Display for Reproducer {
    /// The text: the head, then the program.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write_head(f)?;
        f.write_str(&self.program)
    }
}

impl Reproducer {
    /// Is `text` led by the head of a reproducer, or by what is meant to be one?
    pub fn is_one(text: &str) -> bool {
        head::lines(text).any(|(_, line)| line.starts_with(MARK) || head::is_near_miss(line))
    }

    /// The text with another program and pipeline.
    pub fn text_with(&self, pipeline: String, program: String) -> String {
        Reproducer { pipeline, program, ..self.clone() }.to_string()
    }

    fn write_head(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut line = |key: &str, value: &str| writeln!(f, "{MARK} {key} = {}", escape(value));
        line("version", &self.version)?;
        line("pipeline", &self.pipeline)?;
        line("target", &self.target)?;
        line("verify-each", self.verify.name())?;
        if let Some(emit) = &self.emit {
            line("emit", emit)?;
        }
        if let Some(via) = &self.via {
            line("via", via)?;
        }
        if self.allow_unknown_ops {
            line("allow-unknown-ops", "true")?;
        }
        if let Some(steps) = self.step_limit {
            line("step-limit", &steps.to_string())?;
        }
        match &self.fails {
            Some(fails) => line("fails", &fails.to_string()),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one() -> Reproducer {
        Reproducer {
            version: "0.0.0".into(),
            pipeline: "module(schedule{param=\"n=1\n\\ m=2\"},tir.func(cse))".into(),
            target: "sm_90".into(),
            verify: Verify::Semantics,
            emit: Some("cuda".into()),
            via: None,
            allow_unknown_ops: true,
            step_limit: Some(1000),
            fails: Signature::parse("bug x in cse: it says\nno"),
            name: "r.tir".into(),
            first_line: 0,
            program: "tir 1\n\n// a comment\ntir.func @f() {\n}\n".into(),
        }
    }

    #[test]
    fn what_is_written_reads_back() {
        let text = one().to_string();
        assert!(Reproducer::is_one(&text));
        assert_eq!(Reproducer::parse("r.tir", &text).map_err(|(wrong, _)| wrong), Ok(one()));
        let led = format!("// RUN: something\n\n{text}");
        assert_eq!(Reproducer::parse("r.tir", &led).map_err(|(wrong, _)| wrong), Ok(one()));
    }

    #[test]
    fn what_is_wrong_is_told_at_its_line() {
        let refused = |text: &str| {
            let (wrong, sources) = Reproducer::parse("r.tir", text).expect_err("wrong");
            assert!(wrong.help.is_some(), "{wrong:?}");
            tc_support::render::one(&wrong, &sources, false)
        };
        let led = |line: &str| refused(&format!("// tc-reproducer: pipeline = module()\n{line}\n"));
        let cases = [
            ("// tc-reproducer: taget = x", "unknown key `taget`", "`target`"),
            ("// tc-reproducer: emit = cdua", "unknown output `cdua`", "did you mean `cuda`?"),
            ("// tc-reproducer: via = nvcc", "unknown way `nvcc`", "`mlir`"),
            ("// tc-reproducer: step-limit = many", "`many` is no number of steps", "such as"),
            ("// tc-reproducer: allow-unknown-ops = yes", "`yes` is neither", "`true`"),
            ("// tc-reproducer: fails = badly", "says how a run failed", "bug CODE in PASS: MESSAGE"),
            ("// tc-reproducer: pipeline = module(x)", "`pipeline` stands twice", "drop"),
            ("// tc-reproducer pipeline = module(x)", "none is read", "// tc-reproducer: KEY = VALUE"),
            ("//tc-reproducer: emit = cuda", "none is read", "// tc-reproducer: KEY = VALUE"),
            ("// TC-Reproducr: emit = cuda", "none is read", "// tc-reproducer: KEY = VALUE"),
            ("  // tc-reproducer: emit = cuda", "none is read", "// tc-reproducer: KEY = VALUE"),
        ];
        for (line, message, help) in cases {
            let shown = led(line);
            assert!(shown.contains("r.tir:2:") && shown.contains(message) && shown.contains(help), "{line}\n{shown}");
        }
        assert!(refused("// tc-reproducer: pipeline\n").contains("expected `key = value`"));
        assert!(refused("// tc-reproducer: target = sm_80\n").contains("names no `pipeline`"));
        assert!(refused("tir 1\n// tc-reproducer: pipeline = x\n").contains("is no reproducer"));
    }

    #[test]
    fn prose_is_no_head() {
        for line in ["// A reproducer: it crashes.", "// tc-reproducers are texts", "// x = 1", "//"] {
            let text = format!("{line}\n// tc-reproducer: pipeline = module()\n");
            assert!(Reproducer::parse("r.tir", &text).is_ok(), "{line}");
            assert!(!Reproducer::is_one(&format!("{line}\n")), "{line}");
        }
    }

    #[test]
    fn values_are_found_again() {
        let text = one().to_string();
        let target = value(&text, "target").expect("there");
        assert_eq!((&text[target.range.clone()], target.is_plain), ("sm_90", true));
        assert!(!value(&text, "pipeline").expect("there").is_plain);
        assert_eq!(value(&text, "via"), None);
    }
}
