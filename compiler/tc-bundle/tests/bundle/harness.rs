//! Bundles of texts, programs that call them, and the driver of the tests.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::atomic::{AtomicU64, Ordering};
use tc::bundles::{Link, Options, TargetCode, write};
use tc::target::{KernelManifest, Param, Target};

/// The flags under which every source of a bundle compiles without a warning.
pub(crate) const STRICT: [&str; 5] = ["-Wall", "-Wextra", "-Werror", "-pedantic", "-O1"];

/// What every program is built with that runs: it ends at the first wrong access, overflow or leak.
const SANITIZED: [&str; 2] = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"];

/// A folder of the test's own below cargo's for tests, the same in each run.
pub(crate) fn folder(name: &str) -> PathBuf {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let nth = COUNT.fetch_add(1, Ordering::Relaxed);
    let test = std::thread::current().name().unwrap_or("test").replace("::", "-");
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("bundle-{test}-{nth}-{name}"));
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).expect("cargo's folder for tests can be written");
    folder
}

/// The output of `command`, which has to succeed.
pub(crate) fn done(command: &mut Command) -> Output {
    let output = command.output().unwrap_or_else(|error| panic!("cannot run {command:?}: {error}"));
    let said = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {}\n{said}", output.status);
    output
}

/// What the programs of a text are for one target, by `pipeline`. The machine code is what the driver of the tests takes:
/// the sign of an ELF file, and `number`.
pub(crate) fn code(text: &str, target: &str, pipeline: &str, number: u8) -> TargetCode {
    let mut compiler = tc::Compiler::new();
    compiler.target = Target::parse(target).expect("a target");
    let cuda =
        compiler.compile_to_cuda("test.tir", text, pipeline).unwrap_or_else(|failure| panic!("{}", failure.text()));
    TargetCode { target: compiler.target, manifests: cuda.manifests, cubin: vec![0x7f, b'E', b'L', b'F', number, 0, 0] }
}

/// A bundle in a folder.
pub(crate) struct Made {
    pub(crate) folder: PathBuf,
    pub(crate) name: String,
    pub(crate) codes: Vec<TargetCode>,
}

impl Made {
    pub(crate) fn new(name: &str, codes: Vec<TargetCode>, link: Link) -> Made {
        let options = Options { name: name.to_string(), link, rust: false };
        let files = write(&codes, &options).unwrap_or_else(|found| panic!("{found:?}"));
        let folder = folder(name);
        for file in &files {
            std::fs::write(folder.join(&file.name), &file.bytes).expect("a file");
        }
        Made { folder, name: name.to_string(), codes }
    }

    /// The program whose `main` has `body`.
    pub(crate) fn program(&self, body: &str) -> PathBuf {
        self.program_with(&["-std=c11"], body)
    }

    pub(crate) fn program_with(&self, flags: &[&str], body: &str) -> PathBuf {
        let name = &self.name;
        let includes = "#include <inttypes.h>\n#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n";
        let text = format!("#include \"{name}.h\"\n{includes}\n#define AT(n) ((void *)(uintptr_t)(n))\n\n{body}");
        let (source, binary) = (self.folder.join("main.c"), self.folder.join("main"));
        std::fs::write(&source, text).expect("a file");
        let mut cc = Command::new("cc");
        cc.args(STRICT)
            .args(SANITIZED)
            .args(flags)
            .arg("-o")
            .arg(&binary)
            .arg(&source)
            .arg(self.folder.join(format!("{name}.c")));
        done(cc.args(["-ldl", "-lpthread"]));
        binary
    }
}

/// The driver of the tests, in a folder of its own.
pub(crate) fn driver(flags: &[&str]) -> PathBuf {
    let folder = folder("driver");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/c/driver.c");
    let mut cc = Command::new("cc");
    cc.args(["-std=c11", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC"]).args(flags).arg("-o");
    done(cc.arg(folder.join("libcuda.so.1")).arg(source).arg("-lpthread"));
    folder
}

/// A run of a program under the driver of the tests.
pub(crate) struct Run<'a> {
    pub(crate) made: &'a Made,
    pub(crate) driver: PathBuf,
    pub(crate) capability: &'a str,
    pub(crate) environment: Vec<(&'static str, String)>,
}

impl<'a> Run<'a> {
    pub(crate) fn on(made: &'a Made, capability: &'a str) -> Run<'a> {
        Run { made, driver: driver(&[]), capability, environment: Vec::new() }
    }

    pub(crate) fn with(mut self, name: &'static str, value: &str) -> Run<'a> {
        self.environment.push((name, value.to_string()));
        self
    }

    /// What the program printed, and what the driver wrote down.
    pub(crate) fn run(&self, program: &Path) -> (String, Vec<String>) {
        let log = self.made.folder.join("log");
        let _ = std::fs::remove_file(&log);
        let mut command = Command::new(program);
        command.env("LD_LIBRARY_PATH", &self.driver).env("FAKE_CUDA_LOG", &log);
        command.env("FAKE_CUDA_CAPABILITY", self.capability).env("FAKE_CUDA_KERNELS", kernels(&self.made.codes));
        command.envs(self.environment.iter().cloned()).current_dir(&self.made.folder);
        let output = done(&mut command);
        let printed = String::from_utf8(output.stdout).expect("UTF-8");
        let log = std::fs::read_to_string(&log).unwrap_or_default();
        (printed, log.lines().map(str::to_string).collect())
    }
}

/// What the driver of the tests is told of kernels: the bytes of their parameters.
fn kernels(codes: &[TargetCode]) -> String {
    let mut out = String::new();
    for manifest in codes.iter().flat_map(|code| &code.manifests) {
        for kernel in &manifest.kernels {
            let bytes: Vec<String> = kernel.args.iter().map(|arg| bytes(manifest, arg).to_string()).collect();
            let _ = writeln!(out, "{} {}", kernel.name, bytes.join(" "));
        }
    }
    out
}

/// The bytes of what a kernel takes as `arg`.
pub(crate) fn bytes(manifest: &KernelManifest, arg: &str) -> u64 {
    let scalar = manifest.params.iter().find_map(|param| match param {
        Param::Scalar(scalar) if scalar.name == arg => Some(scalar.dtype.bytes()),
        _ => None,
    });
    let size = || manifest.size(arg).map(|size| size.dtype.bytes());
    let map = || manifest.map(arg).map(|_| 128);
    scalar.or_else(size).or_else(map).unwrap_or(8)
}
