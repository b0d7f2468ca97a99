//! Where NVIDIA's run-time compiler, its headers and the programs of its toolkit are.
//!
//! The folders, in the order in which they are looked at:
//!
//! 1. those in the variable `TC_CUDA_HOME`;
//! 2. `target/cuda` below the current folder, the program's folder, and all folders above either; and `cuda` below
//!    the folder in `CARGO_TARGET_DIR`: where `scripts/install-nvrtc` puts them;
//! 3. those in `CUDA_HOME` and `CUDA_PATH`;
//! 4. those in `LD_LIBRARY_PATH`;
//! 5. `/usr/local/cuda` and the system's library folders;
//! 6. folders that the program added ([`add_folder`]), such as those of a Python installation.
//!
//! Programs, `ptxas` and `nvdisasm`, are looked for in `bin` of these folders, and then in those of the `PATH`.
//!
//! Several versions may be found, and all are offered: CUDA 13 no longer compiles for `sm_70`, and a driver may be
//! older than the newest compiler. A folder may be a toolkit, a folder of toolkits, or NVIDIA's unpacked wheels.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::{PoisonError, RwLock};

/// One copy of the compiler.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Toolkit {
    /// The library, by its full path.
    pub nvrtc: PathBuf,
    /// The libraries with its built-in functions, which it opens by name and which are therefore opened before it.
    pub builtins: Vec<PathBuf>,
    /// The folders with its headers, such as `mma.h` and `cuda_fp16.h`.
    pub includes: Vec<PathBuf>,
}

/// Folders that the program added.
static ADDED: RwLock<Vec<PathBuf>> = RwLock::new(Vec::new());

/// Adds a folder to the places that are looked into, for the whole process. The compiler is looked for once: what is added
/// after the first use is not seen.
pub fn add_folder(folder: impl Into<PathBuf>) {
    let folder = folder.into();
    let mut added = ADDED.write().unwrap_or_else(PoisonError::into_inner);
    if !added.contains(&folder) {
        added.push(folder);
    }
}

/// The copies of the compiler on this machine, in the order of the search.
pub fn find() -> Vec<Toolkit> {
    let starts = [std::env::current_dir().ok(), std::env::current_exe().ok()];
    find_with(&|name| std::env::var_os(name), &starts.into_iter().flatten().collect::<Vec<_>>(), &SYSTEM)
}

/// The folder of a toolkit that holds `nvvm/libdevice/libdevice.10.bc`, the functions of CUDA's mathematics as LLVM's
/// bitcode: the first in the order of the search.
pub fn libdevice() -> Option<PathBuf> {
    let starts = [std::env::current_dir().ok(), std::env::current_exe().ok()];
    libdevice_with(&|name| std::env::var_os(name), &starts.into_iter().flatten().collect::<Vec<_>>(), &SYSTEM)
}

/// The copies of NVIDIA's assembler, `bin/ptxas` of a toolkit, in the order of the search.
pub fn assemblers() -> Vec<PathBuf> {
    programs("ptxas")
}

/// The copies of NVIDIA's disassembler of machine code, `bin/nvdisasm` of a toolkit, in the order of the search.
pub fn disassemblers() -> Vec<PathBuf> {
    programs("nvdisasm")
}

fn programs(name: &str) -> Vec<PathBuf> {
    let starts = [std::env::current_dir().ok(), std::env::current_exe().ok()];
    programs_with(name, &|name| std::env::var_os(name), &starts.into_iter().flatten().collect::<Vec<_>>(), &SYSTEM)
}

/// The copies of a program of the toolkit: in its folders, and after them in those of the `PATH`.
fn programs_with(
    name: &str,
    env: &dyn Fn(&str) -> Option<OsString>,
    starts: &[PathBuf],
    system: &[&str],
) -> Vec<PathBuf> {
    let path = env("PATH").map(|path| std::env::split_paths(&path).collect::<Vec<_>>()).unwrap_or_default();
    let folders = compiler_folders(env, starts, system).into_iter().map(|folder| folder.join("bin"));
    let mut found: Vec<PathBuf> = Vec::new();
    for folder in folders.chain(path.into_iter().filter(|folder| folder.is_absolute())) {
        let file = folder.join(name);
        if file.is_file()
            && let Ok(file) = file.canonicalize()
            && !found.contains(&file)
        {
            found.push(file);
        }
    }
    found
}

/// The folders that may hold what comes with CUDA's compiler.
fn compiler_folders(env: &dyn Fn(&str) -> Option<OsString>, starts: &[PathBuf], system: &[&str]) -> Vec<PathBuf> {
    let below = ["", "cu13", "cu12", "nvdisasm", "nvidia/cu13", "nvidia/cuda_nvcc", "cuda_nvcc"];
    roots(env, starts, system).into_iter().flat_map(|root| below.map(|name| root.join(name))).collect()
}

fn libdevice_with(env: &dyn Fn(&str) -> Option<OsString>, starts: &[PathBuf], system: &[&str]) -> Option<PathBuf> {
    let folders = compiler_folders(env, starts, system).into_iter();
    let mut folders = folders.filter(|folder| folder.join("nvvm/libdevice/libdevice.10.bc").is_file());
    folders.find_map(|folder| folder.canonicalize().ok())
}

const SYSTEM: [&str; 5] =
    ["/usr/local/cuda", "/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64", "/usr/lib"];

/// [`find`] with the environment, the folders to start from, and the system's folders given.
fn find_with(env: &dyn Fn(&str) -> Option<OsString>, starts: &[PathBuf], system: &[&str]) -> Vec<Toolkit> {
    let mut found: Vec<Toolkit> = Vec::new();
    for root in roots(env, starts, system) {
        for lib in library_folders(&root) {
            for toolkit in toolkits_in(&lib) {
                if !found.iter().any(|known| known.nvrtc == toolkit.nvrtc) {
                    found.push(toolkit);
                }
            }
        }
    }
    found
}

/// The folders that are looked into, in their order.
fn roots(env: &dyn Fn(&str) -> Option<OsString>, starts: &[PathBuf], system: &[&str]) -> Vec<PathBuf> {
    let listed = |name| env(name).map(|value| std::env::split_paths(&value).collect::<Vec<_>>()).unwrap_or_default();
    let mut roots = listed("TC_CUDA_HOME");
    roots.extend(listed("CARGO_TARGET_DIR").iter().map(|target| target.join("cuda")));
    roots.extend(starts.iter().flat_map(|start| start.ancestors()).map(|above| above.join("target/cuda")));
    roots.extend(listed("CUDA_HOME"));
    roots.extend(listed("CUDA_PATH"));
    roots.extend(listed("LD_LIBRARY_PATH"));
    roots.extend(system.iter().map(PathBuf::from));
    roots.extend(ADDED.read().unwrap_or_else(PoisonError::into_inner).iter().cloned());
    roots.retain(|root| !root.as_os_str().is_empty());
    roots
}

/// `root` itself and the places below it where toolkits and wheels keep their libraries.
fn library_folders(root: &Path) -> Vec<PathBuf> {
    let inside = ["", "lib64", "lib", "targets/x86_64-linux/lib", "targets/sbsa-linux/lib"];
    let mut tops = vec![root.to_path_buf()];
    for below in ["cu13", "cu12", "nvidia/cu13", "nvidia/cuda_nvrtc"] {
        tops.push(root.join(below));
    }
    let folders = tops.iter().flat_map(|top| inside.iter().map(|below| top.join(below)));
    folders.filter(|folder| folder.is_dir()).collect()
}

/// The compilers in one folder, newest name first.
fn toolkits_in(lib: &Path) -> Vec<Toolkit> {
    let Ok(entries) = std::fs::read_dir(lib) else { return Vec::new() };
    let mut names: Vec<OsString> = entries.flatten().map(|entry| entry.file_name()).collect();
    names.sort();
    let starts_with = |name: &OsStr, start: &str| name.to_str().is_some_and(|name| name.starts_with(start));
    let builtins: Vec<PathBuf> =
        names.iter().filter(|name| starts_with(name, "libnvrtc-builtins.so")).map(|name| lib.join(name)).collect();
    let mut found: Vec<Toolkit> = Vec::new();
    for name in names.iter().rev().filter(|name| starts_with(name, "libnvrtc.so")) {
        // `libnvrtc.so` and `libnvrtc.so.13` are links to the one file that counts.
        let Ok(nvrtc) = lib.join(name).canonicalize() else { continue };
        if !found.iter().any(|known| known.nvrtc == nvrtc) {
            found.push(Toolkit { nvrtc, builtins: builtins.clone(), includes: include_folders(lib) });
        }
    }
    found
}

/// The folders with CUDA's headers that belong to a library folder.
fn include_folders(lib: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut add = |folder: PathBuf| {
        let is_cudas = ["cuda_fp16.h", "crt/host_defines.h", "nv/target"].iter().any(|file| folder.join(file).exists());
        if is_cudas
            && let Ok(folder) = folder.canonicalize()
            && !found.contains(&folder)
        {
            found.push(folder);
        }
    };
    for above in lib.ancestors().skip(1).take(3) {
        add(above.join("include"));
        add(above.join("include/cccl"));
        for wheel in ["cuda_runtime", "cuda_nvcc", "cuda_cccl"] {
            add(above.join(wheel).join("include"));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    /// A folder tree made of empty files, removed when the test is done.
    struct Tree(PathBuf);

    impl Tree {
        fn new(name: &str, files: &[&str]) -> Tree {
            let root = std::env::temp_dir().join(format!("tc-toolkit-{}-{name}", std::process::id()));
            for file in files {
                let path = root.join(file);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, "").unwrap();
            }
            Tree(root.canonicalize().unwrap())
        }
    }

    impl Drop for Tree {
        fn drop(&mut self) {
            fs::remove_dir_all(&self.0).ok();
        }
    }

    #[test]
    fn both_toolkits_of_the_install_script_are_found_from_a_folder_below() {
        let tree = Tree::new(
            "script",
            &[
                "target/cuda/cu13/lib/libnvrtc.so.13",
                "target/cuda/cu13/lib/libnvrtc-builtins.so.13.0",
                "target/cuda/cu13/include/cuda_fp16.h",
                "target/cuda/cu12/lib/libnvrtc.so.12",
                "target/cuda/cu12/include/cuda_fp16.h",
                "runtime/tc-runtime/src/lib.rs",
            ],
        );
        let found = find_with(&|_| None, &[tree.0.join("runtime/tc-runtime")], &[]);
        let home = tree.0.join("target/cuda");
        let expected = [
            Toolkit {
                nvrtc: home.join("cu13/lib/libnvrtc.so.13"),
                builtins: vec![home.join("cu13/lib/libnvrtc-builtins.so.13.0")],
                includes: vec![home.join("cu13/include")],
            },
            Toolkit {
                nvrtc: home.join("cu12/lib/libnvrtc.so.12"),
                builtins: vec![],
                includes: vec![home.join("cu12/include")],
            },
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn libdevice_is_found_where_the_install_script_puts_it() {
        let tree = Tree::new("libdevice", &["target/cuda/cu12/nvvm/libdevice/libdevice.10.bc", "tools/tc-opt/lib.rs"]);
        let found = libdevice_with(&|_| None, &[tree.0.join("tools/tc-opt")], &[]);
        assert_eq!(found, Some(tree.0.join("target/cuda/cu12")));
        assert_eq!(libdevice_with(&|_| None, &[], &[]), None);
        let named = tree.0.join("target/cuda/cu12").into_os_string();
        let found = libdevice_with(&|name| (name == "TC_CUDA_HOME").then(|| named.clone()), &[], &[]);
        assert_eq!(found, Some(tree.0.join("target/cuda/cu12")));
    }

    #[test]
    fn programs_of_toolkits_come_before_those_of_the_path() {
        let files =
            ["target/cuda/nvdisasm/bin/nvdisasm", "usr/bin/nvdisasm", "named/bin/nvdisasm", "usr/bin/ptxas", "src/x"];
        let tree = Tree::new("programs", &files);
        let variables = [("PATH", "usr/bin"), ("CUDA_HOME", "named")].map(|(name, path)| (name, tree.0.join(path)));
        let env =
            |name: &str| variables.iter().find(|(of, _)| *of == name).map(|(_, path)| path.clone().into_os_string());
        let found = programs_with("nvdisasm", &env, &[tree.0.join("src")], &[]);
        assert_eq!(found, [files[0], files[2], files[1]].map(|file| tree.0.join(file)));
        assert_eq!(programs_with("ptxas", &env, &[], &[]), [tree.0.join(files[3])]);
        assert_eq!(programs_with("nvdisasm", &|_| None, &[], &[]), Vec::<PathBuf>::new());
    }

    #[test]
    fn a_variable_comes_before_the_system_and_links_count_once() {
        let tree = Tree::new(
            "order",
            &[
                "wheels/nvidia/cuda_nvrtc/lib/libnvrtc.so.12",
                "wheels/nvidia/cuda_runtime/include/cuda_fp16.h",
                "wheels/nvidia/cuda_nvcc/include/crt/host_defines.h",
                "system/lib64/libnvrtc.so.13.0.88",
                "system/include/cuda_fp16.h",
            ],
        );
        let lib64 = tree.0.join("system/lib64");
        std::os::unix::fs::symlink(lib64.join("libnvrtc.so.13.0.88"), lib64.join("libnvrtc.so")).unwrap();
        let wheels = tree.0.join("wheels");
        let env = |name: &str| (name == "TC_CUDA_HOME").then(|| wheels.clone().into_os_string());
        let found = find_with(&env, &[], &[tree.0.join("system").to_str().unwrap()]);
        let names: Vec<_> = found.iter().map(|toolkit| toolkit.nvrtc.strip_prefix(&tree.0).unwrap()).collect();
        let expected = ["wheels/nvidia/cuda_nvrtc/lib/libnvrtc.so.12", "system/lib64/libnvrtc.so.13.0.88"];
        assert_eq!(names, expected.map(Path::new));
        let includes = ["cuda_runtime/include", "cuda_nvcc/include"].map(|below| wheels.join("nvidia").join(below));
        assert_eq!(found[0].includes, includes);
        assert_eq!(find_with(&|_| Some("".into()), &[], &[]), []);
    }
}
