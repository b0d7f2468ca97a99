//! Runs the solver z3, which `scripts/install-z3` puts below the target folder.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::smt::{Domain, Problem};
use super::{Law, Meaning, Sort};

/// What the solver says of a law.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Answer {
    Proved,
    /// Wrong at this point, in words.
    Refuted(String),
    Undecided,
}

/// The solver. `scripts/install-z3` pins its version, on which what is decided in time depends, so no other is looked for.
pub(crate) fn find() -> Result<PathBuf, String> {
    let exe = std::env::current_exe().map_err(|error| error.to_string())?;
    let mut targets: Vec<PathBuf> = std::env::var_os("CARGO_TARGET_DIR").map(PathBuf::from).into_iter().collect();
    targets.extend(exe.ancestors().map(Path::to_path_buf));
    targets.extend(exe.ancestors().map(|above| above.join("target")));
    let mut programs = targets.into_iter().map(|target| target.join("z3/z3"));
    programs.find(|program| program.is_file()).ok_or_else(|| "z3 is not there: run `scripts/install-z3`".to_string())
}

/// Seconds that one problem may take.
pub(crate) const LIMIT: u32 = 10;

/// What the solver says of a law: over all integers, and at widths where it leaves these undecided.
pub(crate) fn prove(solver: &Path, law: &Law) -> Answer {
    for integers in Domain::integers(law) {
        let answer = ask(solver, law, &integers, LIMIT);
        let answers = match answer {
            Answer::Undecided => integers.at_widths().iter().map(|domain| ask(solver, law, domain, LIMIT)).collect(),
            _ => vec![answer],
        };
        if let Some(other) = answers.into_iter().find(|answer| *answer != Answer::Proved) {
            return other;
        }
    }
    Answer::Proved
}

/// Asks the solver about a law over a domain.
pub(crate) fn ask(solver: &Path, law: &Law, domain: &Domain, seconds: u32) -> Answer {
    let problem = Problem::text(law, domain);
    let output = run(solver, &problem, seconds);
    let (verdict, model) = output.split_once('\n').unwrap_or((&output, ""));
    match verdict {
        "unsat" => Answer::Proved,
        "unknown" | "timeout" => Answer::Undecided,
        "sat" => {
            let point = point(law, domain, model);
            let contradiction = law.contradiction(&point).unwrap_or_else(|| {
                panic!(
                    "evaluation does not confirm the solver, of `{}` over {domain} at {}",
                    law.text,
                    law.describe(&point)
                )
            });
            Answer::Refuted(format!("at {}: {contradiction}", law.describe(&point)))
        }
        _ => panic!("z3 does not understand the problem of `{}`: {output}\n{problem}", law.text),
    }
}

fn run(solver: &Path, problem: &str, seconds: u32) -> String {
    let mut child = Command::new(solver)
        .args(["-in", &format!("-T:{}", seconds)])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit())
        .spawn()
        .unwrap_or_else(|error| panic!("{} cannot be run: {error}", solver.display()));
    // Closed at the end of the statement: the solver answers and ends.
    child.stdin.take().expect("the input is piped").write_all(problem.as_bytes()).expect("the solver reads");
    let output = child.wait_with_output().expect("the solver runs");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// The point of a model, given as `((n0 #x3) (d0 true) …)`.
fn point(law: &Law, domain: &Domain, model: &str) -> Vec<Meaning> {
    let text = model.replace(['(', ')'], " ");
    let words: Vec<&str> = text.split_whitespace().collect();
    let value = |key: &str| {
        let at = words.iter().position(|word| *word == key).unwrap_or_else(|| panic!("no {key} in {model}"));
        match words[at + 1..] {
            ["-", digits, ..] => -digits.parse::<i64>().expect("a numeral"),
            ["true", ..] => 1,
            ["false", ..] => 0,
            [word, ..] => number(word),
            [] => panic!("no value of {key} in {model}"),
        }
    };
    let mut types = domain.types.iter();
    let meanings = law.names.iter().enumerate().map(|(at, (_, sort))| match sort {
        Sort::Type => Meaning::Type(*types.next().expect("a type for each name")),
        _ if value(&format!("d{at}")) == 0 => Meaning::Fails,
        _ => Meaning::Value(value(&format!("n{at}"))),
    });
    meanings.collect()
}

/// A numeral, or a bit vector in two's complement.
fn number(word: &str) -> i64 {
    let (digits, bits, radix) = match (word.strip_prefix("#x"), word.strip_prefix("#b")) {
        (Some(digits), _) => (digits, 4, 16),
        (_, Some(digits)) => (digits, 1, 2),
        _ => return word.parse().expect("a numeral"),
    };
    let value = i64::from_str_radix(digits, radix).expect("digits");
    let modulus = 1_i64 << (digits.len() * bits);
    if value >= modulus / 2 { value - modulus } else { value }
}
