//! NVIDIA's run-time compiler: CUDA C++ to PTX or machine code, without a GPU.
//!
//! Each copy of the compiler is opened by its full path, so that several versions live side by side: the one that is
//! used is the first that knows the target and is no newer than asked for. Floating-point operations are never
//! contracted or made fast here: `--fmad=false` is always passed.
#![expect(unsafe_code, reason = "calls a C library that is opened at run time")]

use crate::toolkit::{self, Toolkit};
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use tc_support::suggest::shorten;
use tc_support::{Diagnostic, LineCol, Location};
use tc_target::Target;

/// What to make.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Output {
    /// PTX for the target's virtual architecture, which runs on newer GPUs too.
    #[default]
    Ptx,
    /// Machine code of the target itself; resources beyond its limits are errors here already.
    Cubin,
}

/// How to compile.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Options {
    /// What to make.
    pub output: Output,
    /// Keep the lines of the source in the code, for profilers.
    pub line_info: bool,
    /// The newest CUDA version, major and minor, whose compiler may be used: a driver reads no newer PTX than its own.
    pub max_version: Option<(u32, u32)>,
    /// Folders with headers, searched before the compiler's own.
    pub includes: Vec<PathBuf>,
    /// Further options of NVRTC, passed last.
    pub extra: Vec<String>,
}

/// What came out.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Compiled {
    /// PTX text, or machine code.
    pub code: Vec<u8>,
    /// What the compiler said although it succeeded; empty if nothing.
    pub log: String,
    /// The CUDA version of the compiler.
    pub version: (u32, u32),
}

impl Compiled {
    /// The code as text, which PTX is.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.code).into_owned()
    }
}

/// Compiles `source`, named `file_name` in messages, for `target`.
///
/// If the compiler refuses it, the diagnostic stands at the first error (in the file that a `#line` names, if any)
/// and carries the log.
pub fn compile(source: &str, file_name: &str, target: &Target, options: &Options) -> Result<Compiled, Diagnostic> {
    let compiler = compiler_for(target, options.max_version)?;
    let no_nul = |text: &str, what: &str| {
        CString::new(text).map_err(|_| failed(format!("the {what} given to NVRTC holds a zero byte")))
    };
    check_depth(source)?;
    let source = no_nul(source, "source")?;
    let file_name = no_nul(file_name, "file name")?;
    let flags = flags(target, options, &compiler.includes);
    let flags = flags.iter().map(|flag| no_nul(flag, "option")).collect::<Result<Vec<_>, _>>()?;
    let job = move || compiler.compile(&source, &file_name, &flags, options.output);
    // The compiler recurses on nested source, and deeper than the stack of a thread of ours may be.
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().name("nvrtc".into()).stack_size(STACK).spawn_scoped(scope, job);
        let thread = thread.map_err(|error| failed(format!("no thread for NVRTC could be started: {error}")))?;
        thread.join().unwrap_or_else(|_| Err(failed("the thread that called NVRTC panicked".into())))
    })
}

/// Memory that is taken only as it is touched.
const STACK: usize = 512 << 20;

/// Brackets within brackets, and bytes of one expression, that the compiler was seen to manage on half that stack.
const MAX_NESTING: usize = 50_000;
const MAX_EXPRESSION: usize = 200_000;

/// Refuses what would overflow the compiler's stack and end the process: it recurses on every bracket and operator.
fn check_depth(source: &str) -> Result<(), Diagnostic> {
    let (mut nesting, mut length) = (0usize, 0);
    for byte in source.bytes() {
        match byte {
            b'(' | b'[' | b'{' => nesting += 1,
            b')' | b']' | b'}' => nesting = nesting.saturating_sub(1),
            _ => {}
        }
        length = if matches!(byte, b';' | b',' | b'{' | b'}') { 0 } else { length + 1 };
        if nesting > MAX_NESTING || length > MAX_EXPRESSION {
            return Err(failed("the program is nested too deeply, or has too long an expression, for NVRTC".into())
                .help("name parts of the expression with `let`"));
        }
    }
    Ok(())
}

/// The CUDA versions of the compilers that were found, in the order of the search.
pub fn versions() -> Vec<(u32, u32)> {
    compilers().iter().filter_map(|slot| slot.open().ok()).map(|compiler| compiler.version).collect()
}

/// The compiler that would be used for `target`: its CUDA version and its path.
pub fn available(target: &Target, max_version: Option<(u32, u32)>) -> Result<((u32, u32), PathBuf), Diagnostic> {
    compiler_for(target, max_version).map(|compiler| (compiler.version, compiler.path.clone()))
}

/// The code of the error that there is no compiler for a target.
pub const MISSING: &str = "no-nvrtc";

fn flags(target: &Target, options: &Options, includes: &[PathBuf]) -> Vec<String> {
    let arch = match options.output {
        Output::Ptx => target.compute,
        Output::Cubin => target.name,
    };
    let mut flags = vec![format!("--gpu-architecture={arch}"), "--fmad=false".into(), "--std=c++17".into()];
    if options.line_info {
        flags.push("--generate-line-info".into());
    }
    let folders = options.includes.iter().chain(includes);
    flags.extend(folders.map(|folder| format!("--include-path={}", folder.display())));
    flags.extend(options.extra.iter().cloned());
    flags
}

fn compiler_for(target: &Target, max_version: Option<(u32, u32)>) -> Result<Arc<Compiler>, Diagnostic> {
    let number = (target.capability.0 * 10 + target.capability.1) as c_int;
    let mut refusals = Vec::new();
    for slot in compilers() {
        match slot.open() {
            Err(why) => refusals.push(format!("`{}`: {why}", slot.toolkit.nvrtc.display())),
            Ok(compiler) => {
                let (major, minor) = compiler.version;
                if !compiler.archs.contains(&number) {
                    refusals.push(format!("NVRTC {major}.{minor} does not compile for `{target}`"));
                } else if max_version.is_some_and(|max| compiler.version > max) {
                    refusals.push(format!("NVRTC {major}.{minor} is newer than the driver"));
                } else {
                    return Ok(compiler);
                }
            }
        }
    }
    let message = if refusals.is_empty() {
        "no NVRTC found: `libnvrtc.so` is in none of the usual folders".to_string()
    } else {
        format!("no NVRTC found that compiles for `{target}`")
    };
    let wrong = Diagnostic::error(MISSING, Location::None, message)
        .help("run `scripts/install-nvrtc`, or name the folder of a CUDA toolkit in `TC_CUDA_HOME`");
    Err(refusals.into_iter().fold(wrong, Diagnostic::note))
}

/// A copy of the compiler that may not have been opened yet.
struct Slot {
    toolkit: Toolkit,
    compiler: OnceLock<Result<Arc<Compiler>, String>>,
}

impl Slot {
    fn open(&self) -> Result<Arc<Compiler>, String> {
        self.compiler.get_or_init(|| Compiler::open(&self.toolkit).map(Arc::new)).clone()
    }
}

/// The search is done once: what is installed later is seen by the next process.
fn compilers() -> &'static [Slot] {
    static SLOTS: OnceLock<Vec<Slot>> = OnceLock::new();
    let slot = |toolkit| Slot { toolkit, compiler: OnceLock::new() };
    SLOTS.get_or_init(|| toolkit::find().into_iter().map(slot).collect())
}

type Program = *mut c_void;
type Status = c_int;

const ERROR_COMPILATION: Status = 6;

/// The functions of one opened copy, as `nvrtc.h` declares them. They may be called from several threads.
struct Compiler {
    version: (u32, u32),
    archs: Vec<c_int>,
    path: PathBuf,
    includes: Vec<PathBuf>,
    error_string: unsafe extern "C" fn(Status) -> *const c_char,
    create: unsafe extern "C" fn(
        *mut Program,
        *const c_char,
        *const c_char,
        c_int,
        *const *const c_char,
        *const *const c_char,
    ) -> Status,
    destroy: unsafe extern "C" fn(*mut Program) -> Status,
    compile: unsafe extern "C" fn(Program, c_int, *const *const c_char) -> Status,
    log: Getter,
    ptx: Getter,
    cubin: Getter,
    /// Keeps the code of the functions above in memory.
    _library: libloading::Library,
}

/// The two functions that give the size of something and then the thing.
#[derive(Clone, Copy)]
struct Getter {
    size: unsafe extern "C" fn(Program, *mut usize) -> Status,
    data: unsafe extern "C" fn(Program, *mut c_char) -> Status,
}

impl Compiler {
    fn open(toolkit: &Toolkit) -> Result<Compiler, String> {
        for path in &toolkit.builtins {
            // SAFETY: opening NVIDIA's library runs its initialisers, which have no preconditions.
            if let Ok(library) = unsafe { libloading::Library::new(path) } {
                // NVRTC opens it by name, and gets the one that is open already. It has to stay.
                std::mem::forget(library);
            }
        }
        // SAFETY: as above.
        let library = unsafe { libloading::Library::new(&toolkit.nvrtc) }.map_err(|error| error.to_string())?;
        macro_rules! symbol {
            ($name:literal) => {
                // SAFETY: the type is that of the function of this name in `nvrtc.h`, unchanged since CUDA 11.2.
                *unsafe { library.get($name) }.map_err(|error| error.to_string())?
            };
        }
        let version: unsafe extern "C" fn(*mut c_int, *mut c_int) -> Status = symbol!(b"nvrtcVersion\0");
        let n_archs: unsafe extern "C" fn(*mut c_int) -> Status = symbol!(b"nvrtcGetNumSupportedArchs\0");
        let archs: unsafe extern "C" fn(*mut c_int) -> Status = symbol!(b"nvrtcGetSupportedArchs\0");
        let (mut major, mut minor, mut n) = (0, 0, 0);
        // SAFETY: the pointers are valid for a write of one integer each.
        let status = unsafe { version(&mut major, &mut minor) | n_archs(&mut n) };
        let mut list = vec![0; usize::try_from(n).unwrap_or(0)];
        // SAFETY: the list has room for as many integers as the library said it writes.
        if status != 0 || unsafe { archs(list.as_mut_ptr()) } != 0 {
            return Err("the library does not say what it is".into());
        }
        Ok(Compiler {
            version: (major as u32, minor as u32),
            archs: list,
            path: toolkit.nvrtc.clone(),
            includes: toolkit.includes.clone(),
            error_string: symbol!(b"nvrtcGetErrorString\0"),
            create: symbol!(b"nvrtcCreateProgram\0"),
            destroy: symbol!(b"nvrtcDestroyProgram\0"),
            compile: symbol!(b"nvrtcCompileProgram\0"),
            log: Getter { size: symbol!(b"nvrtcGetProgramLogSize\0"), data: symbol!(b"nvrtcGetProgramLog\0") },
            ptx: Getter { size: symbol!(b"nvrtcGetPTXSize\0"), data: symbol!(b"nvrtcGetPTX\0") },
            cubin: Getter { size: symbol!(b"nvrtcGetCUBINSize\0"), data: symbol!(b"nvrtcGetCUBIN\0") },
            _library: library,
        })
    }

    fn compile(&self, source: &CStr, name: &CStr, flags: &[CString], output: Output) -> Result<Compiled, Diagnostic> {
        let mut program = std::ptr::null_mut();
        let no_headers = std::ptr::null();
        // SAFETY: `program` is valid for a write; the strings end in zero; no headers are passed.
        let status = unsafe { (self.create)(&mut program, source.as_ptr(), name.as_ptr(), 0, no_headers, no_headers) };
        self.check(status, "nvrtcCreateProgram")?;
        let program = OpenProgram { compiler: self, raw: program };
        let flags: Vec<*const c_char> = flags.iter().map(|flag| flag.as_ptr()).collect();
        // SAFETY: the program is open, and `flags` holds as many strings as are announced, each ending in zero.
        let status = unsafe { (self.compile)(program.raw, flags.len() as c_int, flags.as_ptr()) };
        let log = program.get(self.log).map(|log| trimmed(&log)).unwrap_or_default();
        if status != 0 {
            return Err(self.refusal(status, &log));
        }
        let getter = if output == Output::Ptx { self.ptx } else { self.cubin };
        let mut code = program.get(getter).map_err(|status| self.failure(status, "the result of NVRTC"))?;
        if output == Output::Ptx && code.last() == Some(&0) {
            code.pop();
        }
        Ok(Compiled { code, log, version: self.version })
    }

    fn check(&self, status: Status, what: &str) -> Result<(), Diagnostic> {
        if status == 0 { Ok(()) } else { Err(self.failure(status, what)) }
    }

    fn failure(&self, status: Status, what: &str) -> Diagnostic {
        // SAFETY: the function gives a constant string that ends in zero for every status, known or not.
        let why = unsafe { CStr::from_ptr((self.error_string)(status)) };
        failed(format!("{what} failed: {}", why.to_string_lossy()))
    }

    fn refusal(&self, status: Status, log: &str) -> Diagnostic {
        let (location, first) = first_error(log);
        let wrong = match first {
            Some(first) if status == ERROR_COMPILATION => {
                Diagnostic::bug("nvrtc", location, format!("NVRTC refused the program: {}", shorten_line(&first)))
            }
            _ => self.failure(status, "NVRTC"),
        };
        if log.is_empty() { wrong } else { wrong.note(format!("its log:\n{}", cut(log))) }
    }
}

/// A program of NVRTC, destroyed with its scope.
struct OpenProgram<'a> {
    compiler: &'a Compiler,
    raw: Program,
}

impl OpenProgram<'_> {
    fn get(&self, getter: Getter) -> Result<Vec<u8>, Status> {
        let mut size = 0;
        // SAFETY: the program is open and `size` is valid for a write.
        let status = unsafe { (getter.size)(self.raw, &mut size) };
        if status != 0 {
            return Err(status);
        }
        let mut data = vec![0u8; size];
        // SAFETY: `data` has the room that was asked for.
        let status = unsafe { (getter.data)(self.raw, data.as_mut_ptr().cast()) };
        if status == 0 { Ok(data) } else { Err(status) }
    }
}

impl Drop for OpenProgram<'_> {
    fn drop(&mut self) {
        // SAFETY: the program was created by this compiler and is not used again.
        unsafe { (self.compiler.destroy)(&mut self.raw) };
    }
}

fn failed(message: String) -> Diagnostic {
    Diagnostic::error("nvrtc", Location::None, message)
}

fn trimmed(log: &[u8]) -> String {
    String::from_utf8_lossy(log).trim_matches(['\0', '\n', ' ']).to_string()
}

/// The place and the text of the first error in a log, whose lines are `file(line): error: text`.
fn first_error(log: &str) -> (Location, Option<String>) {
    for line in log.lines() {
        let Some((place, rest)) = line.split_once("): ") else { continue };
        let Some((file, number)) = place.rsplit_once('(') else { continue };
        let Some((kind, text)) = rest.split_once(": ") else { continue };
        // The kind may carry a number: `error #20`.
        let Ok(number) = number.parse() else { continue };
        if kind.split(' ').next() == Some("error") || kind == "catastrophic error" {
            return (Location::Point { file: file.into(), at: LineCol { line: number, col: 1 } }, Some(text.into()));
        }
    }
    let first = log.lines().find(|line| line.contains("error"));
    (Location::None, first.map(str::to_string))
}

fn shorten_line(text: &str) -> String {
    if text.chars().count() > 200 { shorten(text) } else { text.to_string() }
}

/// A log that a message can carry.
fn cut(log: &str) -> String {
    const MAX_LINES: usize = 40;
    let mut lines: Vec<String> = log.lines().take(MAX_LINES).map(shorten_line).collect();
    let n_more = log.lines().count().saturating_sub(MAX_LINES);
    if n_more > 0 {
        lines.push(format!("… and {n_more} more lines"));
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_error_of_a_log_is_found() {
        let log = "k.cu(3): warning #177-D: variable \"x\" was declared but never referenced\n\
                   dir(1)/f.tir(12): error: identifier \"y\" is undefined\n\
                   k.cu(14): error: expected a \";\"\n2 errors detected";
        let (location, text) = first_error(log);
        assert_eq!(location, Location::Point { file: "dir(1)/f.tir".into(), at: LineCol { line: 12, col: 1 } });
        assert_eq!(text.as_deref(), Some("identifier \"y\" is undefined"));
        let (location, text) = first_error("k.cu(1): catastrophic error: cannot open source file \"mma.h\"");
        assert!(matches!(location, Location::Point { .. }));
        assert_eq!(text.as_deref(), Some("cannot open source file \"mma.h\""));
        let (location, text) = first_error("nvrtc: error: invalid value for --gpu-architecture (-arch)");
        assert_eq!(location, Location::None);
        assert!(text.is_some_and(|text| text.contains("invalid value")));
        assert_eq!(first_error(""), (Location::None, None));
    }

    #[test]
    fn a_long_log_is_cut() {
        let log: String = (0..100).map(|n| format!("line {n} {}\n", "x".repeat(1000))).collect();
        let shown = cut(&log);
        assert_eq!(shown.lines().count(), 41);
        assert!(shown.len() < 40 * 120 && shown.ends_with("… and 60 more lines"));
    }

    #[test]
    fn contraction_is_off_in_every_call() {
        let target = Target::parse("sm_90a").expect("known");
        let options = Options { line_info: true, extra: vec!["-G".into()], ..Options::default() };
        let given = flags(&target, &options, &["/cuda/include".into()]);
        let expected = [
            "--gpu-architecture=compute_90a",
            "--fmad=false",
            "--std=c++17",
            "--generate-line-info",
            "--include-path=/cuda/include",
            "-G",
        ];
        assert_eq!(given, expected);
        let cubin = Options { output: Output::Cubin, ..Options::default() };
        assert_eq!(flags(&target, &cubin, &[])[0], "--gpu-architecture=sm_90a");
    }
}
