//! An addition touches few files: how many name one thing of each kind, next to what is allowed.
//!
//! Tests are left out, files of them and modules in other files; what is generated is below `docs/` and the like. A
//! schedule primitive is counted where schedules are read, applied, explained and drawn. A pass that carries out what a
//! primitive says is an addition of its own.

use std::path::{Path, PathBuf};
use xtask::tidy::walk;

/// A kind of addition, and how many files may name a thing of that kind.
struct Kind {
    kind: &'static str,
    /// Things of the kind, each with the spellings that code gives it: words, and what stands in quotes.
    examples: &'static [&'static [&'static str]],
    most: usize,
}

const KINDS: &[Kind] = &[
    Kind {
        kind: "a function of one float",
        examples: &[&["EXP2"], &["LOG2"], &["RSQRT"], &["TANH"], &["TAN"], &["SIN"], &["COS"], &["ERF"], &["CEIL"]],
        most: 4,
    },
    // The row, a rule of `legalize-arith`, and TVM's name of it.
    Kind { kind: "a function that is written in others", examples: &[&["SIGMOID"]], most: 3 },
    // The row, a line in each emitter's table and in that of TVMScript, and one in the simulator's.
    Kind { kind: "a function of two floats", examples: &[&["POW"]], most: 5 },
    Kind { kind: "a function of an integer", examples: &[&["POPCOUNT"]], most: 5 },
    // The row, a line in each emitter's table, and one in the simulator's; one pass makes some of them.
    Kind {
        kind: "an operator on integers",
        examples: &[&["BITAND"], &["BITOR"], &["BITXOR"], &["SHL"], &["SHR"]],
        most: 5,
    },
    // The row, and a line for each emitter's spelling.
    Kind {
        kind: "an element type",
        examples: &[&["F8E4M3", "\"f8e4m3\""], &["F8E5M2", "\"f8e5m2\""], &["I16", "\"i16\""], &["U16"]],
        most: 6,
    },
    // Beside these the products that tensor cores have, what they need of a target, and the name of that.
    Kind {
        kind: "an element type of tensor cores",
        examples: &[&["F16", "\"f16\""], &["BF16", "\"bf16\""], &["TF32", "\"tf32\""]],
        most: 6,
    },
    Kind {
        kind: "an op with memory effects",
        examples: &[
            &["COPY_ASYNC", "CopyAsync"],
            &["COMMIT_GROUP"],
            &["WAIT_GROUP"],
            &["LDMATRIX"],
            &["FILL"],
            &["BARRIER"],
            &["SHUFFLE"],
            &["ALL_REDUCE"],
        ],
        most: 10,
    },
    // The row, and what makes buffers in the scope.
    Kind {
        kind: "a memory scope",
        examples: &[
            &["WmmaA", "\"wmma.matrix_a\""],
            &["MmaB", "\"mma.matrix_b\""],
            &["MmaAccumulator", "\"mma.accumulator\""],
            &["SharedDyn", "\"shared.dyn\""],
        ],
        most: 2,
    },
    Kind {
        kind: "a coordinate of the launch",
        examples: &[&["BlockY", "\"blockIdx.y\""], &["BlockZ", "\"blockIdx.z\""], &["ThreadZ", "\"threadIdx.z\""]],
        most: 1,
    },
    Kind { kind: "a target", examples: &[&["\"sm_86\""], &["\"sm_89\""], &["\"sm_70\""]], most: 1 },
];

/// Schedule primitives of different kinds, and the files outside the folder of each that may name it: the rows of ops, the
/// table of primitives and that of the random generator. A pair that excludes each other
/// names each other, `tc-run` looks for the mark of an intrinsic, and diagnostics of several primitives propose `compute_root`.
const PRIMITIVES: &[(&str, usize)] = &[
    ("rfactor", 3),
    ("compute_root", 4),
    ("pragma", 3),
    ("tensorize", 4),
    ("double_buffer", 3),
    ("swizzle", 3),
    ("set_store_predicate", 3),
    ("storage_align", 4),
    ("transform_layout", 4),
    ("cache_read", 3),
    ("cache_write", 3),
];

/// Where a primitive is counted.
const OF_SCHEDULES: &[&str] =
    &["compiler/tc-schedule/", "compiler/tc/", "dialects/tc-dialects/src/sched/", "filecheck-tests/", "tools/"];

/// The code of the crates, without that of tests.
fn sources(root: &Path) -> Vec<(String, String)> {
    let is_code = |path: &String| {
        let mut folders = path.split('/');
        path.ends_with(".rs")
            && ["compiler", "dialects", "filecheck-tests", "passes", "runtime", "tools"]
                .contains(&folders.next().unwrap_or_default())
            // Modules of tests stand beside what they test.
            && !folders.any(|part| matches!(part, "tests" | "tests.rs" | "laws.rs" | "examples"))
    };
    let read = |path: String| {
        let text = std::fs::read_to_string(root.join(&path)).expect("a file of the repository");
        let end = text.find("#[cfg(test)]\nmod ").unwrap_or(text.len());
        (path, text[..end].to_string())
    };
    let shown = |path: PathBuf| path.strip_prefix(root).unwrap_or(&path).display().to_string();
    walk(root).into_iter().map(shown).filter(is_code).map(read).collect()
}

/// Is one of the spellings in the code? Comments and pages may name what they like.
fn names(text: &str, spellings: &[&str]) -> bool {
    let code = |line: &&str| !line.trim_start().starts_with("//");
    text.lines().filter(code).any(|line| {
        let mut words = line.split(|c: char| !c.is_alphanumeric() && c != '_');
        spellings.iter().any(|&spelling| match spelling.starts_with('"') {
            true => line.contains(spelling),
            false => words.any(|word| word == spelling),
        })
    })
}

fn says(text: &str, word: &str) -> bool {
    text.split(|c: char| !c.is_alphanumeric() && !matches!(c, '_' | '-')).any(|part| part == word)
}

/// `text` without comments, and without what it says to people: strings that are no name.
fn code(text: &str) -> String {
    let lines = text.lines().map(|line| line.split("//").next().unwrap_or(line));
    let parts = lines.collect::<Vec<_>>().join("\n");
    let parts = parts.split('"').enumerate();
    let kept = parts.filter(|(nth, part)| nth % 2 == 0 || part.chars().all(|c| c.is_ascii_lowercase() || c == '_'));
    kept.map(|(_, part)| part).collect::<Vec<_>>().join(" ")
}

/// `storage_align`, `StorageAlign`, `STORAGE_ALIGN`.
fn spellings(name: &str) -> [String; 3] {
    let camel = name.split('_').map(|word| word[..1].to_uppercase() + &word[1..]).collect();
    [name.to_string(), camel, name.to_uppercase()]
}

#[test]
fn a_schedule_primitive_is_a_folder_and_a_line_in_each_table() {
    let sources = sources(&xtask::root());
    let counted: Vec<(&String, String)> = sources
        .iter()
        .filter(|(path, _)| OF_SCHEDULES.iter().any(|folder| path.starts_with(folder)))
        // Rules write schedules, as an author does.
        .filter(|(path, _)| !path.starts_with("compiler/tc-schedule/src/auto/"))
        // The same word for a program is a directive of its own: a file in `program_schedule/primitives` and a line.
        .filter(|(path, _)| !path.starts_with("filecheck-tests/src/random/scheduled/"))
        .map(|(path, text)| (path, code(text)))
        .collect();
    for (name, allowed) in PRIMITIVES {
        let own = [
            format!("compiler/tc-schedule/src/primitives/{name}/"),
            format!("filecheck-tests/src/random/schedules/primitives/{name}.rs"),
        ];
        let outside = counted.iter().filter(|(path, _)| !own.iter().any(|own| path.starts_with(own)));
        let touched: Vec<&String> = outside
            .filter(|(_, text)| spellings(name).iter().any(|word| says(text, word)))
            .map(|(path, _)| *path)
            .collect();
        // More than it says is an addition that spread; fewer is a figure to be lowered.
        assert_eq!(touched.len(), *allowed, "`{name}`: {touched:#?}");
    }
}

#[test]
fn each_addition_touches_as_few_files_as_it_says() {
    let mut sources = sources(&xtask::root());
    // The random generator names what it draws.
    sources.retain(|(path, _)| !path.starts_with("filecheck-tests/"));
    // Rules write schedules, as an author does.
    sources.retain(|(path, _)| !path.starts_with("compiler/tc-schedule/src/auto/"));
    assert!(sources.len() > 300, "{} files", sources.len());
    let mut over = Vec::new();
    for Kind { kind, examples, most } in KINDS {
        for example in *examples {
            let touched: Vec<&String> =
                sources.iter().filter(|(_, text)| names(text, example)).map(|(path, _)| path).collect();
            println!("{kind}, `{}`: {}", example[0], touched.len());
            if touched.is_empty() || touched.len() > *most {
                over.push(format!(
                    "{kind}, `{}`, in {} files where {most} are allowed: {touched:#?}",
                    example[0],
                    touched.len()
                ));
            }
        }
    }
    assert!(over.is_empty(), "{}", over.join("\n"));
}

#[test]
fn names_are_whole_words_outside_comments() {
    assert!(names("let a = Elem::F16;", &["F16"]) && !names("let a = Elem::BF16;", &["F16"]));
    assert!(!names("    /// `F16`, \"f16\"", &["F16", "\"f16\""]) && names("name: \"f16\",", &["F16", "\"f16\""]));
}
