//! What is emitted as MLIR: `mlir-opt` of LLVM 22 reads it, verifies it and makes PTX of it, for the corpus and for every
//! schedule of every example. Manifests are those of CUDA. What is refused is refused by name, with help.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use tc::Compiler;
use tc::mlir::EmitOptions;
use tc::run::{Choice, cases};
use tc::target::Target;

/// Where Debian's packages put it.
const MLIR_OPT: &str = "/usr/lib/llvm-22/bin/mlir-opt";

/// Schedules of examples that are refused: the file, the schedule, and what is said.
const REFUSED: &[(&str, &str, &str)] = &[("matmul_bf16.tir", "wmma", "MLIR 22 has no `wmma` fragments of `bf16`")];

/// Files of the corpus that CUDA says and MLIR does not.
const REFUSED_FILES: &[&str] = &[
    "fragments.tir",
    "half-floats.tir",
    "refuses-approximations.tir",
    "refuses-bf16-fragments.tir",
    "refuses-eight-bit-floats.tir",
    "refuses-rounding-twice.tir",
];

/// The `.tir` files of a folder, in order.
fn files(folder: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(folder);
    let entries = std::fs::read_dir(&folder).expect("the folder is there");
    let mut files: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "tir"));
    files.sort();
    assert!(!files.is_empty(), "{} is empty", folder.display());
    files
}

fn name_of(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

fn compiler_for(target: &str) -> Compiler {
    Compiler { target: Target::parse(target).expect("one of the targets"), ..Compiler::new() }
}

/// Texts for one target, each with a name.
#[derive(Default)]
struct Texts(Vec<(String, String)>);

impl Texts {
    /// Hands all texts to one process, which makes PTX of each.
    fn are_accepted(&self, target: &str) {
        assert!(Path::new(MLIR_OPT).exists(), "{MLIR_OPT} is missing: `scripts/install-mlir` installs it");
        let mut all = String::new();
        let mut starts = Vec::new();
        let mut line = 1;
        for (name, text) in &self.0 {
            starts.push((line, name));
            let _ = writeln!(all, "{text}\n// -----\n");
            line += text.lines().count() + 3;
        }
        let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{target}-{}.mlir", self.0.len()));
        std::fs::write(&file, &all).expect("a temporary file can be written");
        let version = Target::parse(target).expect("one of the targets").ptx_version;
        let pipeline = format!(
            "builtin.module(nvvm-attach-target{{chip={target} features=+ptx{version} O=1}},gpu.module(convert-scf-to-cf,\
             convert-gpu-to-nvvm{{use-bare-ptr-memref-call-conv=1}},canonicalize,cse,reconcile-unrealized-casts),\
             gpu-module-to-binary{{format=isa}})"
        );
        let mut command = Command::new(MLIR_OPT);
        command.arg(&file).arg("--split-input-file").arg(format!("--pass-pipeline={pipeline}"));
        let ran = command.output().expect("mlir-opt runs");
        let said = String::from_utf8_lossy(&ran.stderr);
        // It may say that something is wrong and call it a success all the same.
        let errors = said.lines().filter(|line| line.contains("error:")).take(20).map(|said| {
            let at = said.split(':').nth(1).and_then(|at| at.parse::<usize>().ok()).unwrap_or(1);
            let of = starts.iter().rev().find(|(start, _)| *start <= at).map_or("?", |(_, name)| name.as_str());
            format!("{of}: {said}\n    {}", all.lines().nth(at.saturating_sub(1)).unwrap_or_default())
        });
        let errors: Vec<String> = errors.collect();
        assert!(errors.is_empty() && ran.status.success(), "{}\n{}", ran.status, errors.join("\n"));
        let made = String::from_utf8_lossy(&ran.stdout).matches("gpu.binary @").count();
        assert_eq!(made, self.0.len(), "a text for {target} became no program");
    }
}

#[test]
fn the_corpus_is_accepted() {
    let mut by_target: BTreeMap<String, Texts> = BTreeMap::new();
    let mut refused = BTreeSet::new();
    for path in files("filecheck-tests/emit-mlir").into_iter().chain(files("filecheck-tests/emit-cuda")) {
        let name = name_of(&path);
        let text = std::fs::read_to_string(&path).expect("a file of the corpus can be read");
        let target = text.split("--target=").nth(1).and_then(|rest| rest.split_whitespace().next()).unwrap_or("sm_80");
        let compiler = compiler_for(target);
        for part in text.split("// -----\n") {
            // Some files show what no emitter takes.
            let Ok(parsed) = compiler.parse(&name, part) else { continue };
            let Ok(cuda) = compiler.emit_cuda(&parsed.module) else { continue };
            let mlir = match compiler.emit_mlir(&parsed.module, &EmitOptions::default()) {
                Ok(mlir) => mlir,
                Err(why) => {
                    assert!(REFUSED_FILES.contains(&name.as_str()), "{name}: {why}");
                    assert!(why.diagnostics.iter().all(|diagnostic| diagnostic.help.is_some()), "{name}: no help");
                    refused.insert(name.clone());
                    continue;
                }
            };
            assert_eq!(mlir.manifests, cuda.manifests, "{name}");
            let located = compiler.emit_mlir(&parsed.module, &EmitOptions { locations: true });
            let located = located.unwrap_or_else(|why| panic!("{name}: {why}"));
            assert!(located.text.contains(" loc(\""), "{name} has no locations");
            let texts = by_target.entry(target.to_string()).or_default();
            texts.0.push((name.clone(), mlir.text));
            texts.0.push((format!("{name}, with locations"), located.text));
        }
    }
    assert!(refused.iter().map(String::as_str).eq(REFUSED_FILES.iter().copied()), "{refused:?}");
    assert!(by_target.values().map(|texts| texts.0.len()).sum::<usize>() > 60);
    by_target.iter().for_each(|(target, texts)| texts.are_accepted(target));
}

#[test]
fn every_schedule_of_every_example_is_accepted_or_refused_by_name() {
    let compiler = compiler_for("sm_80");
    let mut texts = Texts::default();
    let mut refused = Vec::new();
    for path in files("examples") {
        let file = name_of(&path);
        let text = std::fs::read_to_string(&path).expect("an example can be read");
        let module = compiler.parse(&file, &text).unwrap_or_else(|why| panic!("{file}: {why}")).module;
        let found = cases::to_check(&module, Choice::default()).expect("an example has something to check");
        for case in found {
            let Some(schedule) = case.schedule.map(|item| module.items[item].symbol().to_string()) else { continue };
            let func = module.items[case.func].symbol();
            let name = format!("{} of {file}", case.name(&module));
            let mut program = module.clone();
            let pipeline = format!("cuda{{func={func} schedule={schedule}}}");
            compiler.run(&mut program, &pipeline).unwrap_or_else(|why| panic!("{name}: {why}"));
            let emit = || compiler.emit_mlir(&program, &EmitOptions::default());
            match emit() {
                Ok(mlir) => {
                    assert_eq!(Some(&mlir.text), emit().ok().map(|again| again.text).as_ref(), "{name}");
                    let cuda = compiler.emit_cuda(&program).unwrap_or_else(|why| panic!("{name}: {why}"));
                    assert_eq!(mlir.manifests, cuda.manifests, "{name}");
                    texts.0.push((name, mlir.text));
                }
                Err(why) => {
                    assert!(why.diagnostics.iter().all(|diagnostic| diagnostic.help.is_some()), "{name}: no help");
                    let said = why.diagnostics.iter().map(|diagnostic| diagnostic.message.clone()).next();
                    refused.push((file.clone(), schedule, said.unwrap_or_default()));
                }
            }
        }
    }
    refused.dedup();
    let shown: Vec<(&str, &str, &str)> =
        refused.iter().map(|(file, schedule, said)| (file.as_str(), schedule.as_str(), said.as_str())).collect();
    assert_eq!(shown, REFUSED);
    assert!(texts.0.len() > 40, "{} texts", texts.0.len());
    texts.are_accepted("sm_80");
}
