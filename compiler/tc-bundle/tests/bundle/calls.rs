//! Loading and unloading, threads, contexts, workspaces, files.

use crate::harness::{Made, Run, code, done, folder};
use std::process::Command;
use tc::bundles::Link;

const TEXT: &str = "
te.func @twice<n: 1..100000>(A: f32[n]) -> f32[n] {
  compute T[i: n] = A[i] + 1.0
  compute B[i: n] = T[i] * 2.0
  return B
}
schedule @threads for @twice {
  to, ti = split(T.i, factor = 128)
  bind(to, blockIdx.x)
  bind(ti, threadIdx.x)
  bo, bi = split(B.i, factor = 128)
  bind(bo, blockIdx.x)
  bind(bi, threadIdx.x)
}
";

fn twice(link: Link) -> Made {
    Made::new("k", vec![code(TEXT, "sm_80", "cuda{schedule=threads}", 9)], link)
}

fn count(log: &[String], word: &str) -> usize {
    log.iter().filter(|line| line.starts_with(word)).count()
}

#[test]
fn code_is_loaded_once_for_each_context() {
    let made = twice(Link::Embedded);
    let body = "
void fake_new_context(void);
void fake_set_current(int yes);
#include <dlfcn.h>

int main(void) {
  void *driver = dlopen(\"libcuda.so.1\", RTLD_NOW | RTLD_GLOBAL);
  void (*fresh)(void);
  void *symbol = driver != NULL ? dlsym(driver, \"fake_new_context\") : NULL;
  int nth;
  if (symbol == NULL) return 1;
  memcpy(&fresh, &symbol, sizeof symbol);
  if (k_load() != K_OK || k_load() != K_OK) return 2;
  for (nth = 0; nth < 3; ++nth) {
    if (k_twice(NULL, AT(4096), AT(8192), 10) != K_OK) return 3;
  }
  fresh();
  if (k_twice(NULL, AT(4096), AT(8192), 10) != K_OK) return 4;
  if (k_unload() != K_OK || k_unload() != K_OK) return 5;
  if (k_twice(NULL, AT(4096), AT(8192), 10) != K_OK) return 6;
  return 0;
}
";
    let (_, log) = Run::on(&made, "8.0").run(&made.program(body));
    let loads: Vec<&String> = log.iter().filter(|line| line.contains("load")).collect();
    assert_eq!(loads, ["load 9", "load 9", "unload", "load 9"]);
    assert_eq!((count(&log, "launch"), count(&log, "allocate"), count(&log, "free")), (10, 5, 5));
}

#[test]
fn threads_that_begin_at_once_load_once() {
    let made = twice(Link::Embedded);
    let body = "
#include <pthread.h>

static void *work(void *failed) {
  int nth;
  for (nth = 0; nth < 50; ++nth) {
    if (k_twice(NULL, AT(4096), AT(8192), 10) != K_OK) *(int *)failed = 1;
    if (k_twice(NULL, NULL, AT(8192), 10) != K_NULL_POINTER || strcmp(k_message(), \"`A` is null\") != 0) *(int *)failed = 1;
  }
  return NULL;
}

int main(void) {
  pthread_t threads[8];
  int failed[8] = {0}, nth, sum = 0;
  for (nth = 0; nth < 8; ++nth) {
    if (pthread_create(&threads[nth], NULL, work, &failed[nth]) != 0) return 2;
  }
  for (nth = 0; nth < 8; ++nth) {
    pthread_join(threads[nth], NULL);
    sum += failed[nth];
  }
  return sum;
}
";
    let (_, log) = Run::on(&made, "8.0").run(&made.program(body));
    assert_eq!((count(&log, "load"), count(&log, "launch")), (1, 8 * 50 * 2));
}

#[test]
fn a_workspace_takes_the_place_of_allocations() {
    let made = twice(Link::Embedded);
    let body = "
int main(void) {
  uint64_t bytes[2], workspace;
  if (k_twice_bytes(1000, bytes) != K_OK || k_twice_workspace(1000, &workspace) != K_OK) return 1;
  printf(\"%\" PRIu64 \" %\" PRIu64 \" %\" PRIu64 \" %d\\n\", bytes[0], bytes[1], workspace, K_WORKSPACE_ALIGNMENT);
  return k_twice_in(AT(64), AT(0x100000), workspace, AT(4096), AT(8192), 1000) != K_OK;
}
";
    let (printed, log) = Run::on(&made, "8.0").run(&made.program(body));
    assert_eq!(printed, "4000 4000 4000 256\n");
    assert_eq!((count(&log, "allocate"), count(&log, "free"), count(&log, "launch")), (0, 0, 2));
    assert!(log.iter().filter(|line| line.contains(" 0x0000000000100000")).count() == 2, "{log:?}");
}

#[test]
fn code_in_files_is_read_when_it_is_loaded() {
    let made = twice(Link::Files);
    let body = "
int main(int argc, char **argv) {
  k_status status = argc > 1 ? k_set_folder(argv[1]) : K_OK;
  if (status == K_OK) status = k_load();
  printf(\"%d %s\\n\", (int)status, k_message());
  return 0;
}
";
    let program = made.program(body);
    let (printed, log) = Run::on(&made, "8.0").run(&program);
    assert_eq!((printed.as_str(), &log[..]), ("0 \n", &["load 9".to_string()][..]));
    let elsewhere = folder("elsewhere");
    let run = |argument: &std::ffi::OsStr| {
        let mut command = Command::new(&program);
        command.env("LD_LIBRARY_PATH", Run::on(&made, "8.0").driver).env("FAKE_CUDA_CAPABILITY", "8.0");
        String::from_utf8(done(command.current_dir(&elsewhere).arg(argument)).stdout).expect("UTF-8")
    };
    assert_eq!(run(".".as_ref()), "5 cannot open `./k.sm_80.cubin`\n");
    std::fs::write(elsewhere.join("k.sm_80.cubin"), b"\x7fELF of another").expect("a file");
    assert_eq!(run(".".as_ref()), "5 `./k.sm_80.cubin` is not the file that was written with this source\n");
    std::fs::write(elsewhere.join("k.sm_80.cubin"), b"\x7fELF").expect("a file");
    assert!(run(".".as_ref()).starts_with("5 "));
    let long = "x".repeat(5000);
    assert_eq!(run(long.as_ref()), "15 the name of the folder has 5000 bytes, and may have 4095\n");
}
