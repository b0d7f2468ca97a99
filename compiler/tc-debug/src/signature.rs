//! How a run failed, in a form that another run can be compared with.

use std::fmt;
use tc_support::{Diagnostics, Fault};

/// What stays the same when the same thing fails again.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Signature {
    /// Who has to act.
    pub fault: Fault,
    /// The code of the first error.
    pub code: String,
    /// The pass that failed; none if it was an emitter, or the text itself.
    pub pass: Option<String>,
    /// The message of the first error.
    pub message: String,
}

impl Signature {
    /// How a run with these diagnostics failed; none if it went well. A bug of ours is told before other errors.
    pub fn of(found: &Diagnostics, pass: Option<&str>) -> Option<Signature> {
        let bug = found.iter().find(|one| one.is_error() && one.fault == Fault::Bug);
        let first = bug.or_else(|| found.iter().find(|one| one.is_error()))?;
        Some(Signature {
            fault: first.fault,
            code: first.code.to_string(),
            pass: pass.map(str::to_string),
            message: first.message.clone(),
        })
    }

    /// Is `other` the same failure, perhaps of a smaller program? Names and numbers in the message may differ.
    pub fn is_like(&self, other: &Signature) -> bool {
        (self.fault, &self.code, &self.pass) == (other.fault, &other.code, &other.pass)
            && shape(&self.message) == shape(&other.message)
    }

    /// Reads what [`Signature`]'s `Display` writes.
    pub fn parse(text: &str) -> Option<Signature> {
        let (fault, rest) = text.split_once(' ')?;
        let fault = FAULTS.iter().find(|(_, word)| *word == fault)?.0;
        let (place, message) = rest.split_once(": ")?;
        let (code, pass) = match place.split_once(" in ") {
            Some((code, pass)) => (code, Some(pass.to_string())),
            None => (place, None),
        };
        Some(Signature { fault, code: code.to_string(), pass, message: message.to_string() })
    }
}

const FAULTS: &[(Fault, &str)] = &[
    (Fault::Input, "input"),
    (Fault::PassAssumption, "call"),
    (Fault::Bug, "bug"),
    (Fault::ForeignPass, "foreign-pass"),
];

impl fmt::Display for Signature {
    /// Such as ``bug pass-panicked in simplify: the pass panicked: boom``.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let fault = FAULTS.iter().find(|(fault, _)| *fault == self.fault).map_or("bug", |(_, word)| word);
        write!(f, "{fault} {}", self.code)?;
        if let Some(pass) = &self.pass {
            write!(f, " in {pass}")?;
        }
        write!(f, ": {}", self.message)
    }
}

/// The words of a message, so that two of the same kind are alike: the first line, without what stands in backticks, its
/// numbers all one, and without what was found where something else was expected.
pub fn shape(message: &str) -> String {
    let mut out = String::new();
    let mut in_code = false;
    for c in message.lines().next().unwrap_or("").chars() {
        match c {
            '`' => {
                in_code = !in_code;
                if in_code {
                    out.push('`');
                }
            }
            _ if in_code => {}
            c if c.is_ascii_digit() => {
                if !out.ends_with('0') {
                    out.push('0');
                }
            }
            c => out.push(c),
        }
    }
    // What is found and what is expected are numbers, however they are written.
    match out.find(" is ").filter(|_| out.contains("disagreed")) {
        Some(at) => out[..at].to_string(),
        None => out,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn signature(message: &str) -> Signature {
        Signature {
            fault: Fault::Bug,
            code: "pass-panicked".into(),
            pass: Some("simplify".into()),
            message: message.into(),
        }
    }

    #[test]
    fn what_is_written_reads_back() {
        for pass in [None, Some("cse".to_string())] {
            let one = Signature { pass, ..signature("the pass panicked: in x: boom") };
            assert_eq!(Signature::parse(&one.to_string()), Some(one));
        }
        assert_eq!(Signature::parse("sunshine x: y"), None);
        assert_eq!(Signature::parse(""), None);
    }

    #[test]
    fn words_stay_and_names_and_numbers_go() {
        assert_eq!(shape("index 712 of `A` is 12 long\nmore"), "index 0 of ` is 0 long");
        assert_eq!(shape("disagreed: `A[3]` is 1.5, not -nan"), "disagreed: `");
        assert_ne!(shape("nothing is called `A`"), shape("nothing is called A"));
        assert_eq!(shape(""), "");
    }

    #[test]
    fn a_smaller_program_fails_alike() {
        assert!(signature("index 7 of `A` is 12 long").is_like(&signature("index 1 of `B` is 3 long")));
        assert!(!signature("index 7").is_like(&signature("length 7")));
        let other = Signature { pass: Some("cse".into()), ..signature("index 7") };
        assert!(!signature("index 7").is_like(&other));
    }
}
