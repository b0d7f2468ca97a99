//! The pipeline string: from `gpu.module`s to an object.
//!
//! The order is part of its correctness. `convert-nvgpu-to-nvvm` comes after `convert-scf-to-cf`, for it refuses loops
//! that carry what it converts. `convert-vector-to-llvm` is not here: `convert-gpu-to-nvvm` converts vectors itself, and
//! after the other it tells errors and goes on. Indices have 64 bits: with 32, ops of `nvgpu` do not come through, and
//! addresses beyond 4 GiB would be wrong. Buffers are bare pointers, as the manifest says.

use super::LowerOptions;
use std::io::Read;
use std::path::Path;
use tc_support::{Diagnostic, Diagnostics, LineCol, Location};
use tc_target::Target;

/// What the kernels are made into.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Format {
    Ptx,
    Llvm,
}

impl Format {
    fn name(self) -> &'static str {
        match self {
            Format::Ptx => "isa",
            Format::Llvm => "llvm",
        }
    }
}

/// The pipelines that make `format` of a text, one after the other. Between them, what the text says of loops is handed
/// to the branches that loops have become: [`annotate`](super::annotate).
pub(super) fn texts(format: Format, target: &Target, toolkit: Option<&str>) -> [String; 2] {
    // Told to LLVM in so many words: the version that it would take by itself can be too old for what the target has
    // (`ldmatrix` on `sm_75`), and the default of other pipelines is older than the target, which LLVM dies of.
    let (chip, version) = (target.name, target.ptx_version);
    let toolkit = toolkit.map_or(String::new(), |path| format!(" toolkit=\"{path}\""));
    let to_branches = format!(
        "builtin.module(\
         gpu.module(convert-scf-to-cf,expand-strided-metadata,lower-affine,convert-nvgpu-to-nvvm),\
         nvvm-attach-target{{chip={chip} features=+ptx{version} O=3}},\
         gpu.module(convert-gpu-to-nvvm{{use-bare-ptr-memref-call-conv=1}}))"
    );
    let to_object = format!(
        "builtin.module(\
         gpu.module(convert-nvvm-to-llvm,canonicalize,cse,reconcile-unrealized-casts),\
         gpu-module-to-binary{{format={}{toolkit}}})",
        format.name()
    );
    [to_branches, to_object]
}

/// What in a text says that functions of libdevice will be called.
const CALLS: [&str; 5] = ["math.", "arith.maxnumf", "arith.minnumf", "arith.remf", "arith.maximumf"];

/// Is the op of `line` a function of libdevice? Names of values and files are the author's, and say nothing.
fn calls(line: &str) -> bool {
    let op = line.split_once(" = ").map_or("", |(_, op)| op.trim_start());
    CALLS.iter().any(|call| op.starts_with(call))
}

/// The folder of the toolkit whose libdevice is linked, where `text` needs one.
pub(super) fn toolkit(text: &str, options: &LowerOptions) -> Result<Option<String>, Diagnostics> {
    let line = text.lines().find(|line| calls(line));
    let Some(line) = line else { return Ok(None) };
    let refuse = |message: String| refusal("no-libdevice", line, message);
    let Some(folder) = &options.toolkit else {
        let message = "this function is one of CUDA's libdevice, and no `nvvm/libdevice/libdevice.10.bc` was found";
        return Err(refuse(message.to_string()));
    };
    let file = folder.join(LIBDEVICE);
    if !file.is_file() {
        return Err(refuse(format!("there is no libdevice: `{}`", file.display())));
    }
    // LLVM takes what is no bitcode for text, links an empty file without a word, and writes to the standard error.
    if !begins_as_bitcode(&file) {
        return Err(unusable(line, &file, "it is no bitcode of LLVM"));
    }
    // A pipeline string has no way to write these.
    let writable = |path: &&str| !path.contains(['"', '\'', '{', '}', '\\']) && !path.contains(char::is_control);
    match Path::to_str(folder).filter(writable) {
        Some(path) => Ok(Some(path.to_string())),
        None => Err(refuse(format!("the path `{}` cannot be passed to MLIR", folder.display()))),
    }
}

/// Where libdevice lies in a toolkit.
const LIBDEVICE: &str = "nvvm/libdevice/libdevice.10.bc";

fn refusal(code: &'static str, line: &str, message: String) -> Diagnostics {
    Diagnostic::error(code, place(line), message)
        .help("run `scripts/install-nvrtc`, or name the folder of a CUDA toolkit in `TC_CUDA_HOME`")
        .into()
}

/// What is reported where the libdevice `file` that `line` needs is not what it should be.
fn unusable(line: &str, file: &Path, why: &str) -> Diagnostics {
    let message = format!("this function is one of CUDA's libdevice, and `{}` cannot be used: {why}", file.display());
    refusal("bad-libdevice", line, message)
}

/// Does the file begin as bitcode does, with or without a wrapper?
fn begins_as_bitcode(file: &Path) -> bool {
    let mut magic = [0; 4];
    let read = std::fs::File::open(file).and_then(|mut file| file.read_exact(&mut magic));
    read.is_ok() && (magic == *b"BC\xc0\xde" || magic == [0xde, 0xc0, 0x17, 0x0b])
}

/// What is reported where `text` could not be lowered because the libdevice that it needs cannot be read: the installation is
/// at fault. `None` where LLVM can read the file, so that the reason is another.
#[cfg_attr(not(feature = "mlir"), allow(dead_code, reason = "nothing is lowered without MLIR"))]
pub(super) fn broken_libdevice(
    text: &str,
    options: &LowerOptions,
    is_bitcode: &dyn Fn(&[u8]) -> bool,
) -> Option<Diagnostics> {
    match std::fs::read(options.toolkit.as_ref()?.join(LIBDEVICE)) {
        Ok(bytes) if is_bitcode(&bytes) => None,
        Ok(_) => bad_libdevice(text, options, "it is damaged"),
        Err(error) => bad_libdevice(text, options, &error.to_string()),
    }
}

/// What is reported where the libdevice that `text` needs is not what it should be. `None` where it needs none.
pub(super) fn bad_libdevice(text: &str, options: &LowerOptions, why: &str) -> Option<Diagnostics> {
    let line = text.lines().find(|line| calls(line))?;
    let file = options.toolkit.as_ref()?.join(LIBDEVICE);
    Some(unusable(line, &file, why))
}

/// The place that a line of the text names: `… loc("f.tir":12:5)`.
fn place(line: &str) -> Location {
    let read = || {
        let (file, rest) = line.rsplit_once("loc(\"")?.1.split_once("\":")?;
        let (row, col) = rest.strip_suffix(')')?.split_once(':')?;
        let at = LineCol { line: row.parse().ok()?, col: col.parse().ok()? };
        Some(Location::Point { file: file.into(), at })
    };
    read().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_target_has_a_version_of_ptx() {
        for target in Target::all() {
            let [text, _] = texts(Format::Ptx, target, None);
            assert!(text.contains(&format!("chip={} features=+ptx", target.name)), "{text}");
        }
    }

    #[test]
    fn functions_of_libdevice_want_a_toolkit_at_their_line() {
        let text = "gpu.module @k {\n%1 = math.exp %0 : f32 loc(\"f\":7:1)\n}";
        let found = toolkit(text, &LowerOptions::default()).expect_err("no toolkit");
        let found = found.iter().next().expect("a diagnostic");
        let place = Location::Point { file: "f".into(), at: LineCol { line: 7, col: 1 } };
        assert_eq!((found.code, &found.location), ("no-libdevice", &place));
        let options = LowerOptions { toolkit: Some("/nowhere".into()) };
        assert!(toolkit(text, &options).is_err());
        let found = broken_libdevice(text, &options, &|_| true).expect("there is no file");
        let found = found.iter().next().expect("a diagnostic");
        assert_eq!((found.code, &found.location), ("bad-libdevice", &place));
        assert_eq!(toolkit("gpu.module @k {}", &LowerOptions::default()), Ok(None));
    }
}
