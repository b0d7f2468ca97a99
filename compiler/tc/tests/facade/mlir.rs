//! The way through MLIR, without a GPU: each schedule of each example that it accepts becomes PTX that ptxas assembles,
//! the same bytes twice; what it does not accept it says at a line, and it never says that it is itself at fault.

use std::path::{Path, PathBuf};
use std::process::Command;
use tc::ir::Module;
use tc::run::{Choice, cases};
use tc::runtime::toolkit;
use tc::support::{Fault, Location};
use tc::target::Target;
use tc::{Compiler, Failure, Via};

/// The assembler that the install script puts beside libdevice.
fn ptxas() -> PathBuf {
    toolkit::libdevice().expect("scripts/install-nvrtc puts libdevice below target/cuda").join("bin/ptxas")
}

/// Assembles `ptx` for `target`.
fn assemble(name: &str, ptx: &str, target: &Target) {
    let mut name = name.replace(|c: char| !c.is_ascii_alphanumeric(), "_");
    name.push_str(&format!("-{}", std::process::id()));
    let path = std::env::temp_dir().join(name).with_extension("ptx");
    std::fs::write(&path, ptx).expect("a temporary file");
    let mut command = Command::new(ptxas());
    let done = command.arg(format!("-arch={}", target.name)).arg(&path).args(["-o", "/dev/null"]).output();
    let done = done.expect("ptxas runs");
    std::fs::remove_file(&path).ok();
    assert!(done.status.success(), "{}\n{ptx}", String::from_utf8_lossy(&done.stderr));
}

/// An example: its file, what that holds, and the names of operators and their schedules.
type Example = (String, Module, Vec<(String, String)>);

/// The examples in `folder`.
fn examples_in(compiler: &Compiler, folder: &str) -> Vec<Example> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(folder);
    let entries = std::fs::read_dir(&folder).expect("the examples are there");
    let files = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let mut files: Vec<String> = files.filter(|name| name.ends_with(".tir")).collect();
    files.sort();
    let read = |file: String| {
        let text = std::fs::read_to_string(folder.join(&file)).expect("an example can be read");
        let module = compiler.parse(&file, &text).unwrap_or_else(|why| panic!("{file}: {why}")).module;
        let found = cases::to_check(&module, Choice::default()).expect("an example has something to check");
        let symbol = |item: usize| module.items[item].symbol().to_string();
        let names = found.iter().filter_map(|case| Some((symbol(case.func), symbol(case.schedule?)))).collect();
        (file, module, names)
    };
    let found: Vec<_> = files.into_iter().map(read).collect();
    assert!(found.len() >= 13, "{} examples", found.len());
    found
}

/// The examples for all targets.
fn examples(compiler: &Compiler) -> Vec<Example> {
    examples_in(compiler, "examples")
}

/// How many schedules were accepted for `target`, and those that were not, each with the reason.
fn lowered(target: &str) -> (usize, Vec<String>) {
    let target = Target::parse(target).expect("one of the targets");
    let compiler = Compiler { target, ..Compiler::new() };
    let (mut accepted, mut refused) = (0, Vec::new());
    for (file, module, names) in examples(&compiler) {
        for (func, schedule) in names {
            let name = format!("{file} @{func} @{schedule} {target}");
            let mut program = module.clone();
            let pipeline = format!("cuda{{func={func} schedule={schedule}}}");
            // A target that lacks what the schedule uses is told so on the way here, or by either emitter.
            if compiler.run(&mut program, &pipeline).is_err() || compiler.emit_cuda(&program).is_err() {
                continue;
            }
            match assembled(&compiler, &name, &program) {
                Ok(()) => accepted += 1,
                Err(why) => refused.push(format!("{file} @{schedule}: {why}")),
            }
        }
    }
    (accepted, refused)
}

/// Makes PTX of `program` twice, and assembles it; the reason where it is refused.
fn assembled(compiler: &Compiler, name: &str, program: &Module) -> Result<(), String> {
    match compiler.emit_ptx(program, Via::Mlir) {
        Ok(ptx) => {
            let cuda = compiler.emit_cuda(program).expect("it was emitted before");
            assert_eq!(ptx.manifests, cuda.manifests, "{name}: kernels are launched alike on both ways");
            let again = compiler.emit_ptx(program, Via::Mlir).expect("it was emitted before");
            assert_eq!(ptx, again, "{name}");
            assemble(name, &ptx.text, &compiler.target);
            Ok(())
        }
        Err(failure) => {
            assert_refused(name, &failure);
            Err(failure.diagnostics.iter().next().map_or(String::new(), |first| first.message.clone()))
        }
    }
}

/// A refusal is the input's, at a place, with help.
fn assert_refused(name: &str, failure: &Failure) {
    for found in failure.diagnostics.iter().filter(|found| found.is_error()) {
        assert_eq!(found.code, "no-emitter", "{name}: {failure}");
        assert!(found.location != Location::None && found.help.is_some(), "{name}: {failure}");
    }
}

#[test]
fn schedules_lower_for_sm_70() {
    let (accepted, refused) = lowered("sm_70");
    assert!(accepted >= 30 && refused.is_empty(), "{accepted}, and not {refused:#?}");
}

#[test]
fn schedules_lower_for_sm_75() {
    let (accepted, refused) = lowered("sm_75");
    assert!(accepted >= 30 && refused.is_empty(), "{accepted}, and not {refused:#?}");
}

#[test]
fn schedules_lower_for_sm_80() {
    let (accepted, refused) = lowered("sm_80");
    assert!(accepted >= 30, "{accepted}, and not {refused:#?}");
    assert!(refused.iter().all(|one| one.contains("`wmma` fragments of `bf16`")), "{refused:#?}");
}

#[test]
fn schedules_lower_for_sm_90() {
    let (accepted, refused) = lowered("sm_90");
    assert!(accepted >= 30, "{accepted}, and not {refused:#?}");
    assert!(refused.iter().all(|one| one.contains("`wmma` fragments of `bf16`")), "{refused:#?}");
}

/// Every schedule in `examples/hopper`, and every program there: tensor maps, barriers in shared memory, products of warpgroups.
#[test]
fn hopper_lowers_for_sm_90a() {
    let target = Target::parse("sm_90a").expect("one of the targets");
    let compiler = Compiler { target, ..Compiler::new() };
    let (mut accepted, mut refused) = (0, Vec::new());
    for (file, module, names) in examples_in(&compiler, "examples/hopper") {
        let mut pipelines: Vec<String> =
            names.iter().map(|(func, schedule)| format!("cuda{{func={func} schedule={schedule}}}")).collect();
        if pipelines.is_empty() {
            pipelines.push("cuda".to_string());
        }
        for pipeline in pipelines {
            let name = format!("{file} {pipeline}");
            let mut program = module.clone();
            // A schedule may want other sizes than those by default.
            if compiler.run(&mut program, &pipeline).is_err() || compiler.emit_cuda(&program).is_err() {
                continue;
            }
            match assembled(&compiler, &name, &program) {
                Ok(()) => accepted += 1,
                Err(why) => refused.push(format!("{file}: {why}")),
            }
        }
    }
    assert!(accepted >= 30, "{accepted}, and not {refused:#?}");
    assert_eq!(
        refused,
        ["attention_fp8.tir: MLIR's way to PTX has no arithmetic of `f8e4m3`: it moves such numbers only"]
    );
}

const ADD: &str = "te.func @add(A: f32[1024], B: f32[1024]) -> f32[1024] {\n  compute C[i: 1024] = A[i] + B[i]\n  \
                   return C\n}\nschedule @threads for @add {\n  bx, tx = split(C.i, factor = 128)\n  bind(bx, blockIdx.x)\n  \
                   bind(tx, threadIdx.x)\n}\n";

fn add(compiler: &Compiler) -> Module {
    let mut module = compiler.parse("add.tir", ADD).unwrap_or_else(|why| panic!("{why}")).module;
    compiler.run(&mut module, "cuda{schedule=threads}").unwrap_or_else(|why| panic!("{why}"));
    module
}

#[test]
fn every_target_gets_ptx_of_its_own() {
    for &target in Target::all() {
        let compiler = Compiler { target, ..Compiler::new() };
        let ptx = compiler.emit_ptx(&add(&compiler), Via::Mlir).unwrap_or_else(|why| panic!("{why}"));
        assert!(ptx.text.contains(&format!(".target {}", target.name)), "{}", ptx.text);
        assemble("add", &ptx.text, &target);
    }
}

#[test]
fn llvm_ir_is_for_nvptx_and_contracts_nothing() {
    let compiler = Compiler::new();
    let text = compiler.emit_llvm(&add(&compiler)).unwrap_or_else(|why| panic!("{why}"));
    assert!(text.contains("target triple = \"nvptx64-nvidia-cuda\""), "{text}");
    assert!(text.contains("define ptx_kernel void @"), "{text}");
    assert!(text.contains("fadd float") && !text.contains("contract"), "{text}");
}

#[test]
fn several_threads_lower_at_once() {
    let compiler = Compiler::new();
    let module = add(&compiler);
    let ptx = || compiler.emit_ptx(&module, Via::Mlir).unwrap_or_else(|why| panic!("{why}")).text;
    let first = ptx();
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(ptx)).collect();
        for thread in threads {
            assert_eq!(thread.join().expect("no panic"), first);
        }
    });
}

#[test]
fn text_that_mlir_refuses_is_a_bug_at_a_line_and_nothing_dies() {
    let target = Target::parse("sm_80").expect("one of the targets");
    let options = tc::mlir::lower::LowerOptions::default();
    let say = |text: &str| {
        let found = tc::mlir::lower::ptx(text, &target, &options).expect_err("it is wrong");
        found.iter().map(|one| format!("{}: {:?} {}", one.code, one.location, one.message)).collect::<Vec<_>>()
    };
    let parse = say("gpu.module @k { gpu.func @f() kernel { gpu.return %x : f32 } }");
    assert!(parse[0].contains("MLIR refused the text"), "{parse:?}");
    let placed =
        "gpu.module @k {\n  gpu.func @f(%a: memref<?xf32>) kernel {\n    gpu.return\n  } loc(\"f.tir\":7:3)\n}";
    let placed = say(placed);
    assert!(placed[0].contains("f.tir") && placed[0].contains("line: 7"), "{placed:?}");
    assert!(say("module {}")[0].contains("no object"), "a text without kernels");
    assert!(!say("").is_empty());
}

#[test]
fn a_damaged_libdevice_is_for_the_installation_to_mend() {
    let target = Target::parse("sm_80").expect("one of the targets");
    let compiler = Compiler { target, ..Compiler::new() };
    let text = ADD.replace("A[i] + B[i]", "exp(A[i]) + B[i]");
    let mut module = compiler.parse("exp.tir", &text).unwrap_or_else(|why| panic!("{why}")).module;
    compiler.run(&mut module, "cuda{schedule=threads}").unwrap_or_else(|why| panic!("{why}"));
    let with_locations = tc::mlir::EmitOptions { locations: true };
    let text = compiler.emit_mlir(&module, &with_locations).unwrap_or_else(|why| panic!("{why}")).text;
    let sound = toolkit::libdevice().expect("scripts/install-nvrtc puts libdevice below target/cuda");
    let sound = std::fs::read(sound.join("nvvm/libdevice/libdevice.10.bc")).expect("libdevice can be read");
    let folder = std::env::temp_dir().join(format!("tc-libdevice-{}", std::process::id()));
    let file = folder.join("nvvm/libdevice/libdevice.10.bc");
    std::fs::create_dir_all(file.parent().expect("it has a folder")).expect("a temporary folder");
    let options = tc::mlir::lower::LowerOptions { toolkit: Some(folder.clone()) };
    let mut told = Vec::new();
    for bytes in [b"".as_slice(), b"no bitcode at all", &sound[..sound.len() / 2], &sound[..64], &[0; 4096]] {
        std::fs::write(&file, bytes).expect("a temporary file");
        told.push(tc::mlir::lower::ptx(&text, &target, &options));
    }
    std::fs::write(&file, &sound).expect("a temporary file");
    let mended = tc::mlir::lower::ptx(&text, &target, &options);
    std::fs::remove_dir_all(&folder).ok();
    for found in told {
        let found = found.expect_err("there is no libdevice");
        let [found] = found.iter().collect::<Vec<_>>()[..] else { panic!("one diagnostic, not {found:?}") };
        assert_eq!((found.code, found.fault), ("bad-libdevice", Fault::Input), "{found:?}");
        assert!(found.message.contains(file.to_str().expect("a plain path")), "{found:?}");
        assert!(found.location != Location::None && found.help.is_some(), "{found:?}");
    }
    assert!(mended.is_ok(), "{mended:?}");
}

#[test]
fn ptx_of_mlir_is_assembled_for_what_its_kernels_take() {
    for name in ["sm_70", "sm_90"] {
        let compiler = Compiler { target: Target::parse(name).expect("one of the targets"), ..Compiler::new() };
        let module = add(&compiler);
        let found = compiler.kernel_resources(&module, Via::Mlir).unwrap_or_else(|why| panic!("{why}"));
        let kernels: Vec<&str> = found.iter().map(|one| one.kernel.as_str()).collect();
        assert_eq!(kernels, ["add_kernel"]);
        assert!((4..=64).contains(&found[0].registers) && found[0].local_bytes == 0, "{found:?}");
    }
}

/// A kernel of one thread whose nested loops are to be unrolled, with this body.
fn nested(compiler: &Compiler, body: &str) -> Module {
    let params = "(A: f32[2000000], B: f32[2000000])";
    let text = format!(
        "tir.func @f{params} attributes {{noalias}} {{\n  @f_kernel(A, B)\n}}\n\
         tir.func @f_kernel{params} attributes {{device, noalias, threaded}} {{\n  \
         for tx in 0i32..32i32 bind(threadIdx.x) {{\n    for i in 0i32..1000i32 unroll {{\n      \
         for j in 0i32..1000i32 unroll {{\n        {body}\n      }}\n    }}\n  }}\n}}\n"
    );
    compiler.parse("nested.tir", &text).unwrap_or_else(|why| panic!("{why}")).module
}

#[test]
fn loops_that_would_unroll_to_a_million_bodies_lower_in_seconds() {
    let compiler = Compiler::new();
    let store = "A[i * 1000 + j + tx] = A[i * 1000 + j + tx + 1] * 2.0";
    let sum = "B[tx] = fma(A[i * 1000 + j + tx], A[j * 1000 + i + tx], B[tx])";
    for body in [store, sum] {
        let module = nested(&compiler, body);
        let start = std::time::Instant::now();
        let ptx = compiler.emit_ptx(&module, Via::Mlir).unwrap_or_else(|why| panic!("{why}"));
        // They take a second or two; without a limit, more than ten minutes.
        assert!(start.elapsed().as_secs() < 60, "{body}: {:?}", start.elapsed());
        assert!(ptx.text.lines().count() > 1000, "the inner loop is unrolled: {}", ptx.text);
    }
}
