//! Machine code that was made before, by a hash of what it was made of.
//!
//! A cache is a folder. An entry is called by a hash of the source, the target, the compiler and its options, and holds a
//! head with a hash of the code: an entry that was torn or changed does not fit its hash, and is made again. Entries are
//! written beside their place and renamed into it, so that any number of processes may share a folder, and one may clear it
//! while others read. A cache that cannot be written costs time and nothing else.

use crate::device::{Code, Program};
use crate::hash::hash;
use crate::nvrtc;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::SystemTime;
use tc_support::{Diagnostic, Location};

/// The first line of an entry.
const MAGIC: &str = "tc code 1";
/// How the files of entries end.
const ENDING: &str = "cubin";
/// Names the folder of a user's cache; empty for none.
pub const VARIABLE: &str = "TC_CACHE_DIR";

/// A folder of machine code.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CodeCache {
    folder: PathBuf,
}

/// How a program is compiled.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct CompileOptions {
    /// The newest CUDA version, major and minor, whose compiler may be used.
    pub max_version: Option<(u32, u32)>,
    /// Keep the lines of the source in the code, for profilers.
    pub line_info: bool,
}

/// What a cache holds.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Entry {
    /// What it is called by.
    pub key: String,
    /// The host function whose kernels it has.
    pub function: String,
    /// What it was made for.
    pub target: String,
    /// Bytes of the file.
    pub bytes: u64,
    /// When it was made.
    pub modified: SystemTime,
    /// It fits its hash.
    pub is_whole: bool,
}

impl CodeCache {
    /// The cache in `folder`, which is made when something is kept.
    pub fn new(folder: impl Into<PathBuf>) -> CodeCache {
        CodeCache { folder: folder.into() }
    }

    /// The user's: the folder that `TC_CACHE_DIR` names, or `tc/code` below the user's cache folder; none where the variable
    /// is empty, or there is no such folder.
    pub fn of_user() -> Option<CodeCache> {
        CodeCache::of_environment(&|name| std::env::var_os(name).map(PathBuf::from))
    }

    fn of_environment(env: &dyn Fn(&str) -> Option<PathBuf>) -> Option<CodeCache> {
        if let Some(folder) = env(VARIABLE) {
            return (!folder.as_os_str().is_empty()).then(|| CodeCache::new(folder));
        }
        // A relative path is to be passed over (XDG Base Directory Specification 0.8).
        let user = env("XDG_CACHE_HOME").filter(|folder| folder.is_absolute());
        let user = user.or_else(|| env("HOME").filter(|home| home.is_absolute()).map(|home| home.join(".cache")));
        user.map(|user| CodeCache::new(user.join("tc").join("code")))
    }

    /// Where it is.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// `program`, which is CUDA C++, as machine code: the one that was kept, or newly made and kept. Other code stays as it is.
    pub fn compiled(&self, program: &Program, options: &CompileOptions) -> Result<Program, Diagnostic> {
        let Code::Cuda(source) = &program.code else { return Ok(program.clone()) };
        let key = key(program, source, options)?;
        if let Some(code) = self.code(&key) {
            return Ok(Program { code: Code::Cubin(code), ..program.clone() });
        }
        let made = compile(program, options)?;
        if let Code::Cubin(code) = &made.code {
            self.keep(&key, program, code);
        }
        Ok(made)
    }

    /// `program` as machine code, where some is kept.
    pub fn found(&self, program: &Program, options: &CompileOptions) -> Option<Program> {
        let Code::Cuda(source) = &program.code else { return None };
        let code = self.code(&key(program, source, options).ok()?)?;
        Some(Program { code: Code::Cubin(code), ..program.clone() })
    }

    /// What is there, in the order of keys. What is no entry is passed over.
    pub fn entries(&self) -> Vec<Entry> {
        let Ok(files) = std::fs::read_dir(&self.folder) else { return Vec::new() };
        let mut entries: Vec<Entry> = files.flatten().filter_map(|file| entry(&file.path())).collect();
        entries.sort_by(|one, other| one.key.cmp(&other.key));
        entries
    }

    /// Removes all entries, or those whose keys begin with one of `keys`, and says how many. One that another process removes
    /// or makes meanwhile is no error.
    pub fn clear(&self, keys: Option<&[String]>) -> Result<usize, Diagnostic> {
        let is_meant =
            |key: &str| keys.is_none_or(|keys| keys.iter().any(|one| !one.is_empty() && key.starts_with(one)));
        let mut n_removed = 0;
        for entry in self.entries().iter().filter(|entry| is_meant(&entry.key)) {
            let path = self.path(&entry.key);
            match std::fs::remove_file(&path) {
                Ok(()) => n_removed += 1,
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                Err(error) => {
                    let text = format!("cannot remove `{}`: {error}", path.display());
                    return Err(Diagnostic::error("cache", Location::None, text));
                }
            }
        }
        Ok(n_removed)
    }

    fn path(&self, key: &str) -> PathBuf {
        self.folder.join(format!("{key}.{ENDING}"))
    }

    /// The code of an entry that is whole.
    fn code(&self, key: &str) -> Option<Vec<u8>> {
        let bytes = read(&self.path(key))?;
        let (_, code) = parts(&bytes)?;
        Some(code.to_vec())
    }

    fn keep(&self, key: &str, program: &Program, code: &[u8]) {
        static NTH: AtomicU64 = AtomicU64::new(0);
        let head = [MAGIC, &hash(code), &program.manifest.function, program.target.name].join("\n");
        let bytes = [head.as_bytes(), b"\n\n", code].concat();
        let beside = format!(".{key}.{}.{}.part", std::process::id(), NTH.fetch_add(1, Relaxed));
        let beside = self.folder.join(beside);
        let kept = std::fs::create_dir_all(&self.folder)
            .and_then(|()| std::fs::write(&beside, bytes))
            .and_then(|()| std::fs::rename(&beside, self.path(key)));
        if kept.is_err() {
            std::fs::remove_file(&beside).ok();
        }
    }
}

/// `program`, which is CUDA C++, as machine code. Other code stays as it is.
pub fn compile(program: &Program, options: &CompileOptions) -> Result<Program, Diagnostic> {
    let Code::Cuda(source) = &program.code else { return Ok(program.clone()) };
    let &CompileOptions { max_version, line_info } = options;
    let how = nvrtc::Options { output: nvrtc::Output::Cubin, line_info, max_version, ..nvrtc::Options::default() };
    let name = format!("{}.cu", program.manifest.function);
    let compiled = nvrtc::compile(source, &name, &program.target, &how)?;
    Ok(Program { code: Code::Cubin(compiled.code), ..program.clone() })
}

/// What the machine code of `program` is called by. That no compiler is there is an error.
fn key(program: &Program, source: &str, options: &CompileOptions) -> Result<String, Diagnostic> {
    let (version, _) = nvrtc::available(&program.target, options.max_version)?;
    Ok(hash(format!("{} {version:?} {}\n{source}", program.target.name, options.line_info)))
}

/// The lines of the head of an entry, and its code, where it fits its hash.
fn parts(bytes: &[u8]) -> Option<(Vec<&str>, &[u8])> {
    let at = bytes.windows(2).take(MAX_HEAD).position(|two| two == b"\n\n")?;
    let head: Vec<&str> = std::str::from_utf8(&bytes[..at]).ok()?.split('\n').collect();
    let code = &bytes[at + 2..];
    (head.len() == 4 && head[0] == MAGIC && head[1] == hash(code)).then_some((head, code))
}

/// A head is shorter: a name is shortened by nothing, but no file has one that long.
const MAX_HEAD: usize = 1 << 16;

/// What is in the file at `path`. A pipe by that name is not waited for.
fn read(path: &Path) -> Option<Vec<u8>> {
    if !path.metadata().ok()?.is_file() {
        return None;
    }
    std::fs::read(path).ok()
}

/// The file at `path` as an entry; broken ones are entries too, so that they can be removed.
fn entry(path: &Path) -> Option<Entry> {
    let key = path.file_stem()?.to_str()?;
    let is_key = key.len() == 32 && key.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    if !is_key || path.extension()? != ENDING {
        return None;
    }
    let meta = path.metadata().ok().filter(|meta| !meta.is_dir())?;
    let bytes = read(path).unwrap_or_default();
    let parts = parts(&bytes);
    let line = |nth: usize| parts.as_ref().map_or(String::new(), |(head, _)| head[nth].to_string());
    Some(Entry {
        key: key.to_string(),
        function: line(2),
        target: line(3),
        bytes: meta.len(),
        modified: meta.modified().unwrap_or(SystemTime::UNIX_EPOCH),
        is_whole: parts.is_some(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::ScratchFolder;
    use tc_target::{KernelManifest, Target};

    fn program(source: &str) -> Program {
        let manifest = KernelManifest {
            function: "f".into(),
            target: "sm_80".into(),
            params: vec![],
            temporaries: vec![],
            maps: vec![],
            kernels: vec![],
            sizes: vec![],
            formulas: vec![],
            facts: vec![],
        };
        let target = Target::parse("sm_80").expect("one of the targets");
        Program { manifest, target, code: Code::Cuda(source.into()) }
    }

    fn cubin(program: &Program) -> &[u8] {
        let Code::Cubin(code) = &program.code else { panic!("{:?}", program.code) };
        code
    }

    #[test]
    fn what_was_made_is_found_and_what_is_broken_is_made_again() {
        let folder = ScratchFolder::new("tc-code-cache").expect("a folder");
        let cache = CodeCache::new(folder.path().join("deep/code"));
        let (program, options) = (program("extern \"C\" __global__ void f() {}"), CompileOptions::default());
        assert!(cache.found(&program, &options).is_none() && cache.entries().is_empty());
        let made = cache.compiled(&program, &options).expect("it compiles");
        let [entry] = &cache.entries()[..] else { panic!("one entry") };
        assert_eq!((entry.function.as_str(), entry.target.as_str(), entry.is_whole), ("f", "sm_80", true));
        assert!(cache.found(&program, &options).is_some());
        // Other options are other code.
        assert!(cache.found(&program, &CompileOptions { line_info: true, ..options }).is_none());
        let path = cache.path(&entry.key);
        let whole = std::fs::read(&path).expect("there");
        for torn in [&whole[..whole.len() - 1], &whole[..10], b""] {
            std::fs::write(&path, torn).expect("written");
            assert!(!cache.entries()[0].is_whole && cache.found(&program, &options).is_none());
            assert_eq!(cubin(&cache.compiled(&program, &options).expect("made again")), cubin(&made));
            assert!(cache.found(&program, &options).is_some());
        }
        // A pipe that nothing writes to is broken too.
        std::fs::remove_file(&path).expect("removed");
        let piped = std::process::Command::new("mkfifo").arg(&path).status().expect("mkfifo runs");
        assert!(piped.success() && !cache.entries()[0].is_whole && cache.found(&program, &options).is_none());
        assert_eq!(cubin(&cache.compiled(&program, &options).expect("made again")), cubin(&made));
        assert!(cache.entries()[0].is_whole);
        std::fs::write(cache.folder().join("notes.txt"), "not ours").expect("written");
        assert_eq!(cache.clear(Some(&["0000".into(), String::new()])), Ok(usize::from(entry.key.starts_with("0000"))));
        assert_eq!(cache.clear(None), Ok(1));
        assert!(cache.folder().join("notes.txt").exists() && cache.entries().is_empty());
    }

    #[test]
    fn a_source_that_does_not_compile_keeps_nothing() {
        let folder = ScratchFolder::new("tc-code-cache-wrong").expect("a folder");
        let cache = CodeCache::new(folder.path());
        assert!(cache.compiled(&program("no code"), &CompileOptions::default()).is_err());
        assert!(cache.entries().is_empty());
    }

    #[test]
    fn many_may_share_a_folder() {
        let folder = ScratchFolder::new("tc-code-cache-many").expect("a folder");
        let cache = CodeCache::new(folder.path());
        let program = program("extern \"C\" __global__ void g() {}");
        std::thread::scope(|scope| {
            for nth in 0..8 {
                let (cache, program) = (&cache, &program);
                scope.spawn(move || {
                    if nth % 4 == 3 {
                        cache.clear(None).expect("removed");
                    }
                    let made = cache.compiled(program, &CompileOptions::default()).expect("it compiles");
                    assert!(cubin(&made).starts_with(b"\x7fELF"));
                });
            }
        });
        assert!(cache.entries().iter().all(|entry| entry.is_whole));
    }

    #[test]
    fn the_environment_says_where_the_users_is() {
        let of = |pairs: &[(&str, &str)]| {
            let get = |name: &str| pairs.iter().find(|(key, _)| *key == name).map(|(_, value)| PathBuf::from(value));
            CodeCache::of_environment(&get).map(|cache| cache.folder().to_string_lossy().into_owned())
        };
        assert_eq!(of(&[("HOME", "/home/a")]).as_deref(), Some("/home/a/.cache/tc/code"));
        assert_eq!(of(&[("HOME", "/home/a"), ("XDG_CACHE_HOME", "/c")]).as_deref(), Some("/c/tc/code"));
        assert_eq!(of(&[("HOME", "/home/a"), ("XDG_CACHE_HOME", "c")]).as_deref(), Some("/home/a/.cache/tc/code"));
        assert_eq!(of(&[("HOME", "/home/a"), (VARIABLE, "/t")]).as_deref(), Some("/t"));
        assert_eq!(of(&[("HOME", "/home/a"), (VARIABLE, "")]), None);
        assert_eq!(of(&[]), None);
    }
}
