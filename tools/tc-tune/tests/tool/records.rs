//! Records: searches that go on from them, choose the same again, and are applied.

use crate::{example, folder, shown, sweep, tune};
use std::fs;
use std::process::Command;

/// A search over the recorded sweep of conv1d, with records in `path`.
fn search(path: &str, seed: &str) -> String {
    let device = format!("replay={}", sweep("conv1d"));
    let file = example("conv1d");
    let ran = tune(&[
        &file,
        "@autotvm",
        "--device",
        &device,
        "--estimate",
        "0",
        "--trials",
        "40",
        "--seed",
        seed,
        "--records",
        path,
    ]);
    assert_eq!(ran.status, 0, "{}{}", ran.stdout, ran.stderr);
    ran.stdout
}

/// The records of a file, sorted.
fn whole_lines(text: &str) -> Vec<String> {
    let mut lines: Vec<String> = text.lines().filter(|line| line.ends_with('}')).map(str::to_string).collect();
    lines.sort_unstable();
    lines
}

#[test]
fn a_search_goes_on_from_its_records_and_chooses_the_same_again() {
    let folder = folder("resume");
    let path = shown(&folder.join("r.jsonl"));
    let out = search(&path, "3");
    assert!(out.contains("40 of 1404 valid points tried: 40 ok"), "{out}");
    let whole = fs::read_to_string(&path).expect("written");
    assert_eq!(whole.lines().count(), 40);
    // The same again measures nothing and appends nothing.
    assert_eq!(search(&path, "3"), out);
    assert_eq!(fs::read_to_string(&path).expect("there"), whole);
    // A search that was ended anywhere, in the middle of a line too, goes on to the same records.
    let cut = whole.lines().take(17).map(str::len).sum::<usize>() + 17 + 40;
    fs::write(&path, &whole[..cut]).expect("ours");
    assert_eq!(search(&path, "3"), out);
    let again = fs::read_to_string(&path).expect("there");
    assert_eq!(whole_lines(&again), whole_lines(&whole));
    let replayed = tune(&["replay", &example("conv1d"), "--records", &path]);
    assert_eq!(replayed.status, 0, "{}", replayed.stdout);
    assert!(replayed.stdout.contains("forest with seed 3: the same 40 choices"), "{}", replayed.stdout);
    assert!(replayed.stderr.contains("line 18 of"), "the torn line is told: {}", replayed.stderr);
    // What was not chosen is found.
    let forged = whole.replacen("\"nth\":9,", "\"nth\":99,", 1).replacen("\"nth\":10,", "\"nth\":9,", 1);
    fs::write(&path, forged).expect("ours");
    let replayed = tune(&["replay", &example("conv1d"), "--records", &path]);
    assert_eq!(replayed.status, 1);
    assert!(replayed.stdout.contains("trial 9 was"), "{}", replayed.stdout);
    fs::remove_dir_all(&folder).ok();
}

#[test]
fn a_full_disk_is_told_and_the_same_command_goes_on() {
    let folder = folder("full");
    let (undisturbed, path) = (shown(&folder.join("undisturbed.jsonl")), shown(&folder.join("r.jsonl")));
    let out = search(&undisturbed, "3");
    let whole = fs::read_to_string(&undisturbed).expect("written");
    // No file of this process grows beyond 8 KiB. Without the signal that goes with it, a write ends in the middle and the
    // next one fails, as on a disk that is full.
    let script = "trap '' XFSZ; ulimit -f 8; exec \"$@\"";
    let (program, device) = (env!("CARGO_BIN_EXE_tc-tune"), format!("replay={}", sweep("conv1d")));
    let ran = Command::new("bash")
        .args(["-c", script, "bash", program, &example("conv1d"), "@autotvm", "--device", &device])
        .args(["--estimate", "0", "--trials", "40", "--seed", "3", "--records", &path])
        .output()
        .expect("bash is there");
    let stderr = String::from_utf8_lossy(&ran.stderr);
    assert_eq!(ran.status.code(), Some(2), "{stderr}");
    for part in ["cannot append to", "File too large", "the same command goes on from it"] {
        assert!(stderr.contains(part), "{part}: {stderr}");
    }
    let cut = fs::read_to_string(&path).expect("there");
    assert!(cut.len() == 8192 && cut.lines().count() > 5, "{} bytes", cut.len());
    // With room again, nothing is overwritten, and nothing is lost.
    assert_eq!(search(&path, "3"), out);
    let again = fs::read_to_string(&path).expect("there");
    assert!(again.starts_with(&cut), "what was there stays, the torn line too");
    assert_eq!(whole_lines(&again), whole_lines(&whole));
    fs::remove_dir_all(&folder).ok();
}

#[test]
fn the_best_point_is_applied_as_text_that_compiles() {
    let ran = tune(&["apply", &example("conv1d"), "--records", &sweep("conv1d")]);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    assert!(ran.stdout.contains("// Tuned on NVIDIA H100 80GB HBM3, CUDA 13.0: 1.4"), "{}", ran.stdout);
    let module = tc::Compiler::new().parse("tuned.tir", &ran.stdout).expect("it reads").module;
    let [(te, sched)] = tc::space::spaces(&module)[..] else { panic!("one schedule has parameters") };
    let space = tc::schedule::Space::of(&module.items[te], &module.items[sched], &[]).expect("a space");
    assert_eq!(space.count(1000).expect("small").number(), 1, "{}", ran.stdout);
    // What else stands in the file stays.
    let before = fs::read_to_string(example("conv1d")).expect("there");
    let kept = before.lines().filter(|line| ran.stdout.lines().any(|other| other == *line)).count();
    assert!(before.lines().count() - kept <= 6, "{}", ran.stdout);
}

/// Records of three estimates of conv1d, in `path`; what the search printed.
fn estimated(path: &str) -> String {
    let how = ["--device", "model=H200", "--target", "sm_90a", "--estimate", "0", "--trials", "3", "--records", path];
    let ran = tune(&[&[example("conv1d").as_str(), "@autotvm"], &how[..]].concat());
    assert_eq!(ran.status, 0, "{}{}", ran.stdout, ran.stderr);
    ran.stdout
}

#[test]
fn estimates_are_told_as_such() {
    let folder = folder("estimates");
    let path = shown(&folder.join("r.jsonl"));
    let out = estimated(&path);
    assert_eq!(out.matches(" us estimated\n").count(), 3, "{out}");
    assert!(!out.contains("n = ") && !out.contains('%'), "numbers that are the same each time have no interval: {out}");
    // Alone they are applied, with a warning; models are not judged by them.
    let applied = tune(&["apply", &example("conv1d"), "--records", &path]);
    assert_eq!(applied.status, 0, "{}", applied.stderr);
    assert!(applied.stdout.contains("// Estimated by the model of H200, not measured: "), "{}", applied.stdout);
    assert!(applied.stderr.contains("no measured time fits `@autotvm`"), "{}", applied.stderr);
    let judged = tune(&["model", &example("conv1d"), "--records", &path]);
    assert_eq!((judged.status, judged.stdout.as_str()), (1, ""));
    assert!(judged.stderr.contains("the records hold estimates alone"), "{}", judged.stderr);
    let judged = tune(&["model", &example("row_sum"), "--records", &sweep("conv1d")]);
    assert_eq!((judged.status, judged.stdout.as_str()), (1, ""));
    assert!(judged.stderr.contains("no record with a time fits a schedule of the file"), "{}", judged.stderr);
    fs::remove_dir_all(&folder).ok();
}

#[test]
fn measured_times_are_applied_before_estimates() {
    let folder = folder("measured");
    let path = shown(&folder.join("r.jsonl"));
    estimated(&path);
    let records = ["--records", &path, "--records", &sweep("conv1d")];
    let applied = |more: &[&str]| tune(&[&["apply", &example("conv1d")], &records[..], more].concat());
    let measured = applied(&[]);
    assert_eq!(measured.status, 0, "{}", measured.stderr);
    assert!(measured.stdout.contains("// Tuned on NVIDIA H100 80GB HBM3, CUDA 13.0: 1.4"), "{}", measured.stdout);
    for part in ["`@autotvm` takes times of `NVIDIA H100 80GB HBM3, CUDA 13.0`", "--device 'model of H200'"] {
        assert!(measured.stderr.contains(part), "{part}: {}", measured.stderr);
    }
    let estimated = applied(&["--device", "model of H200"]);
    assert_eq!((estimated.status, estimated.stderr.as_str()), (0, ""));
    assert!(estimated.stdout.contains("// Estimated by the model of H200"), "{}", estimated.stdout);
    fs::remove_dir_all(&folder).ok();
}

#[test]
fn what_strangers_wrote_into_records_stays_what_it_is() {
    let folder = folder("strange");
    let path = shown(&folder.join("r.jsonl"));
    let all = tune(&["merge", &sweep("conv1d")]).stdout;
    let line = all.lines().next().expect("one");
    let hostile = line.replace("NVIDIA H100", "\\n}\\nschedule @evil for @conv1d {\\n//");
    fs::write(&path, format!("{hostile}\n{}", line.replace("\"ok\"", "\"\\u001b[31m\""))).expect("writable");
    let ran = tune(&["apply", &example("conv1d"), "--records", &path]);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    // The class of device is a comment, whatever it holds.
    assert!(ran.stdout.contains("// Tuned on \\n}\\nschedule @evil"), "{}", ran.stdout);
    assert!(!ran.stdout.contains("\nschedule @evil"), "{}", ran.stdout);
    assert!(ran.stderr.contains("is torn: unknown variant") && !ran.stderr.contains('\x1b'), "{}", ran.stderr);
    fs::remove_dir_all(&folder).ok();
}

#[test]
fn records_of_another_operator_are_told_and_left() {
    let folder = folder("changed");
    let file = shown(&folder.join("changed.tir"));
    let text = fs::read_to_string(example("conv1d")).expect("there").replace("16384", "8192");
    fs::write(&file, text).expect("writable");
    let device = format!("replay={}", sweep("conv1d"));
    let ran = tune(&[&file, "@autotvm", "--estimate", "0", "--device", &device]);
    assert_eq!(ran.status, 2);
    assert!(ran.stderr.contains("is of this operator, schedule and sizes"), "{}", ran.stderr);
    let ran = tune(&["apply", &file, "--records", &sweep("conv1d")]);
    assert_eq!(ran.status, 1);
    assert!(ran.stderr.contains("no record fits `@autotvm`"), "{}", ran.stderr);
    fs::remove_dir_all(&folder).ok();
}

#[test]
fn records_are_shown_joined_and_compared() {
    let shown = tune(&["show", &sweep("depthwise2d"), "--top", "3"]);
    assert_eq!(shown.status, 0, "{}", shown.stderr);
    for part in ["depthwise2d @autotvm on NVIDIA H100", "the best over trials", "the best time with each value"] {
        assert!(shown.stdout.contains(part), "{part}: {}", shown.stdout);
    }
    let (one, other) = (sweep("conv1d"), sweep("depthwise2d"));
    let merged = tune(&["merge", &one, &other, &one]);
    assert_eq!(merged.stdout.lines().count(), 1404 + 2880, "each attempt once");
    let diff = tune(&["diff", &one, &one]);
    assert!(diff.stdout.contains("1404 points in both, 0 of them differ at 95 %"), "{}", diff.stdout);
}

#[test]
fn a_proposer_outside_takes_part_and_a_replay_needs_it_no_more() {
    let folder = folder("outside");
    let (path, points) = (shown(&folder.join("r.jsonl")), shown(&folder.join("points.jsonl")));
    let (file, device) = (example("conv1d"), format!("replay={}", sweep("conv1d")));
    let asked = tune(&[&file, "@autotvm", "--estimate", "0", "--ask", "6", "--target", "sm_90a"]);
    assert_eq!((asked.status, asked.stdout.lines().count()), (0, 6), "{}", asked.stderr);
    fs::write(&points, &asked.stdout).expect("writable");
    let told = tune(&[&file, "@autotvm", "--device", &device, "--points", &points, "--records", &path]);
    assert_eq!(told.status, 0, "{}", told.stderr);
    assert!(told.stdout.contains("6 of 1404 valid points tried: 6 ok"), "{}", told.stdout);
    // What is recorded is not proposed again.
    let next = tune(&[&file, "@autotvm", "--estimate", "0", "--ask", "6", "--records", &path]);
    assert_eq!((next.status, next.stdout.lines().count()), (0, 6), "{}", next.stderr);
    assert!(next.stdout.lines().all(|line| !asked.stdout.contains(line)), "{}{}", asked.stdout, next.stdout);
    let replayed = tune(&["replay", &file, "--records", &path]);
    assert!(replayed.stdout.contains("outside with seed 0: the same 6 choices"), "{}", replayed.stdout);
    fs::write(&points, "{\"point\": {\"block\": 3}}\n").expect("writable");
    let wrong = tune(&[&file, "@autotvm", "--device", &device, "--points", &points]);
    assert_eq!(wrong.status, 2);
    assert!(wrong.stderr.contains("block=3 is no valid point of the space"), "{}", wrong.stderr);
    fs::remove_dir_all(&folder).ok();
}

#[test]
fn a_log_of_autotvm_is_a_record() {
    let folder = folder("autotvm");
    let (log, records) = (shown(&folder.join("log.json")), shown(&folder.join("r.jsonl")));
    let entity = r#"[["block", "ot", 64], ["lanes", "ot", 8], ["step", "ot", 1], ["use_local", "ot", true], ["use_shared", "ot", false], ["unroll_step", "ot", true]]"#;
    let line = |cost: &str| {
        let config = format!(r#"{{"index": 1, "code_hash": null, "entity": {entity}}}"#);
        format!(
            r#"{{"input": ["cuda", "conv1d_gpu", [], {{}}], "config": {config}, "result": [[{cost}], 0, 1.0, 1.7e9], "version": 0.2, "tvm_version": "0.16.0"}}"#
        )
    };
    fs::write(&log, format!("{}\nrubbish\n{}\n", line("2.5e-6"), line("2.0e-6"))).expect("writable");
    let file = example("conv1d");
    let imported = tune(&["import", &file, "@autotvm", "--target", "sm_90a", "--log", &log, "--device", "my GPU"]);
    assert_eq!((imported.status, imported.stdout.lines().count()), (0, 2), "{}", imported.stderr);
    assert!(imported.stderr.contains("line 2 of"), "{}", imported.stderr);
    fs::write(&records, &imported.stdout).expect("writable");
    let shown = tune(&["show", &records]);
    assert!(shown.stdout.contains("conv1d @autotvm on my GPU (sm_90a)"), "{}", shown.stdout);
    fs::remove_dir_all(&folder).ok();
}

#[test]
fn the_tuned_examples_are_what_their_records_say() {
    let tuned = format!("{}/../../examples/tuned", env!("CARGO_MANIFEST_DIR"));
    let records = ["h100", "h200"].map(|device| format!("{tuned}/{device}.jsonl.gz"));
    let files = |folder: &str| std::fs::read_dir(format!("{tuned}/{folder}")).expect("a folder");
    let paths = files("").chain(files("hopper")).map(|entry| entry.expect("readable").path());
    let mut n = 0;
    for entry in paths.filter(|path| path.extension().is_some_and(|extension| extension == "tir")) {
        let inside = entry.with_extension("");
        let name = inside.strip_prefix(&tuned).ok().and_then(|name| name.to_str()).expect("a name");
        let ran = tune(&["apply", &example(name), "--records", &records[0], "--records", &records[1]]);
        assert_eq!(ran.stdout, std::fs::read_to_string(&entry).expect("readable"), "{name}: {}", ran.stderr);
        // What was edited by hand would be text that reads: two schedules of one name are told apart.
        let read = tc::Compiler::new().parse(name, &ran.stdout);
        assert!(read.is_ok(), "{name}: {}", read.err().map_or(String::new(), |failure| failure.text()));
        n += 1;
    }
    assert_eq!(n, 15);
}

/// Where there are records of several sizes, what is written chooses by size, and takes at each size what was fastest there.
#[test]
fn records_of_several_sizes_become_a_choice_by_size() {
    let tuned = format!("{}/../../examples/tuned/matmul_f16.tir", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(tuned).expect("readable");
    let program = |param: &str| {
        let compiler = tc::Compiler::new();
        let mut module = compiler.parse("matmul_f16.tir", &text).expect("it reads").module;
        let pipeline = format!("schedule{{name={} func=matmul_f16 param=\"{param}\"}}", by(param));
        compiler.run(&mut module, &pipeline).expect("it is scheduled");
        module.function("matmul_f16").expect("a program").to_string()
    };
    fn by(param: &str) -> &'static str {
        if param.contains("row_warps") { "mma" } else { "mma_by_size" }
    }
    let small = "row_warps=2 col_warps=2 row_tiles=2 col_tiles=4 chunk=4 stages=4";
    let large = "row_warps=4 col_warps=2 row_tiles=4 col_tiles=4 chunk=4 stages=4";
    for (m, best) in [(64, small), (127, small), (4096, large), (8192, large)] {
        assert_eq!(program(&format!("m={m}")), program(&format!("m={m} {best}")), "m = {m}");
    }
    assert_ne!(program("m=128"), program(&format!("m=128 {small}")));
}

/// Schedules of one operator that were measured at several sizes share one choice.
#[test]
fn a_choice_by_size_takes_the_fastest_schedule() {
    let path = format!("{}/../../examples/tuned/hopper/product.tir", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path).expect("readable");
    let table = text.split("schedule @by_size for @product_f16_f16 {").nth(1).expect("a choice by size");
    let taken: Vec<&str> = table.lines().filter_map(|line| line.trim().strip_prefix("dispatch(")).collect();
    let of = |name: &str| taken.iter().filter(|line| line.starts_with(name)).count();
    assert_eq!((of("@split"), of("@persistent"), taken.len()), (3, 4, 7), "{table}");
    assert!(taken[0].contains("m <= 1") && !taken[6].contains("when"), "{table}");
}

/// A point may hold for some sizes only, and the last choice is for all that are left.
#[test]
fn a_choice_that_does_not_serve_all_sizes_is_told() {
    let folder = folder("some-sizes");
    let (file, records) = (shown(&folder.join("copy.tir")), shown(&folder.join("r.jsonl")));
    let text = "tir 1

te.func @copy<n: 3..65536 = 4096>(A: f32[n]) -> f32[n] {
  compute B[i: n] = A[i]
  return B
}

schedule @blocks for @copy (block: i32 in [64, 128]) where block < n {
  bx, tx = split(B.i, factor = block)
  bind(bx, blockIdx.x)
  bind(tx, threadIdx.x)
}
";
    fs::write(&file, text).expect("writable");
    for size in ["n=100", "n=1000"] {
        let how = ["--device", "model=H200", "--target", "sm_90a", "--searcher", "exhaustive", "--records", &records];
        let ran = tune(&[&[file.as_str(), "@blocks", "-D", size], &how[..]].concat());
        assert_eq!(ran.status, 0, "{}", ran.stderr);
    }
    let applied = tune(&["apply", &file, "--records", &records]);
    assert!(applied.stdout.contains("schedule @blocks_by_size for @copy"), "{}", applied.stdout);
    let told = "`@blocks_by_size` does not serve all sizes of `@copy`: the condition `block < n` has no value";
    assert!(applied.stderr.contains(told), "{}", applied.stderr);
    fs::remove_dir_all(&folder).ok();
}
