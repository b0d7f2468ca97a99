//! Bad calls end in a status and a text, and put nothing into the stream.

use crate::harness::{Made, Run, code, driver};
use std::process::Command;
use tc::bundles::{Link, Options, TargetCode, check_name, write};

/// Open sizes with a fact, a grid of two dimensions, a temporary.
const TEXT: &str = "
te.func @scale<m: 1..1048576, n: 4..4000000000>(A: f32[m, n]) -> f32[m, n] where n % 4 == 0 {
  compute T[i: m, j: n] = A[i, j] + 1.0
  compute B[i: m, j: n] = T[i, j] * T[i, j]
  return B
}
schedule @threads for @scale {
  bind(T.i, blockIdx.y)
  to, ti = split(T.j, factor = 128)
  bind(to, blockIdx.x)
  bind(ti, threadIdx.x)
  bind(B.i, blockIdx.y)
  bo, bi = split(B.j, factor = 128)
  bind(bo, blockIdx.x)
  bind(bi, threadIdx.x)
}
";

fn scale() -> Made {
    Made::new("k", vec![code(TEXT, "sm_80", "cuda{schedule=threads}", 1)], Link::Embedded)
}

/// A program that prints the status of each call, the message, and what the status means.
fn printing(calls: &[&str]) -> String {
    let mut body = String::from("static void show(k_status status) {\n  ");
    body.push_str("printf(\"%d %s (%s)\\n\", (int)status, k_message(), k_status_text(status));\n}\n\n");
    body.push_str("int main(void) {\n  uint64_t bytes[2];\n  (void)bytes;\n");
    for call in calls {
        body.push_str(&format!("  show({call});\n"));
    }
    body + "  return 0;\n}\n"
}

/// What these calls print, and what the driver wrote down.
fn told(made: &Made, run: &Run<'_>, calls: &[&str]) -> (Vec<String>, Vec<String>) {
    let (printed, log) = run.run(&made.program(&printing(calls)));
    (printed.lines().map(str::to_string).collect(), log)
}

const RIGHT: &str = "k_scale(NULL, AT(4096), AT(8192), 2, 8)";

#[test]
fn sizes_and_pointers_are_checked_before_anything_is_loaded() {
    let made = scale();
    let calls = [
        "k_scale(NULL, AT(4096), AT(8192), 0, 8)",
        "k_scale(NULL, AT(4096), AT(8192), -1, 8)",
        "k_scale(NULL, AT(4096), AT(8192), 2, 4000000000)",
        "k_scale(NULL, AT(4096), AT(8192), 2, 7)",
        "k_scale(NULL, NULL, AT(8192), 2, 8)",
        "k_scale(NULL, AT(4096), AT(8196), 2, 8)",
        "k_scale_bytes(2, 8, NULL)",
        "k_scale_bytes(2, 9, bytes)",
        "k_scale_workspace(2, 8, NULL)",
    ];
    let (printed, log) = told(&made, &Run::on(&made, "8.0"), &calls);
    assert_eq!(
        printed,
        [
            "6 the size `m` is 0, and must be at least 1 and at most 1048575 (a size is not one that the function takes)",
            "6 the size `m` is -1, and must be at least 1 and at most 1048575 (a size is not one that the function takes)",
            "6 the size `n` is 4000000000, and must be at least 4 and at most 3999999996 (a size is not one that the function takes)",
            "6 `n % 4 == 0` does not hold for these sizes (a size is not one that the function takes)",
            "9 `A` is null (a pointer is null)",
            "10 `B` is at 0x2004, which is no multiple of 16 (a pointer is not aligned)",
            "9 `bytes` is null (a pointer is null)",
            "6 `n % 4 == 0` does not hold for these sizes (a size is not one that the function takes)",
            "9 `workspace_bytes` is null (a pointer is null)",
        ]
    );
    assert!(log.is_empty(), "{log:?}");
}

#[test]
fn grids_and_workspaces_that_do_not_fit_launch_nothing() {
    let made = scale();
    let calls = [
        "k_scale(NULL, AT(4096), AT(8192), 70000, 8)",
        "k_scale_in(NULL, AT(256), 63, AT(4096), AT(8192), 2, 8)",
        "k_scale_in(NULL, NULL, 64, AT(4096), AT(8192), 2, 8)",
        "k_scale_in(NULL, AT(264), 64, AT(4096), AT(8192), 2, 8)",
    ];
    let (printed, log) = told(&made, &Run::on(&made, "8.0"), &calls);
    let kernel = &made.codes[0].manifests[0].kernels[0].name;
    let grid = format!(
        "8 the grid of `{kernel}` has 70000 blocks along y, and a device allows 65535 (the sizes need more than the device allows)"
    );
    assert_eq!(
        printed,
        [
            &grid[..],
            "12 the workspace has 63 bytes, and the temporaries need 64 (the workspace is too small)",
            "9 `workspace` is null (a pointer is null)",
            "10 `workspace` is at 0x108, which is no multiple of 256 (a pointer is not aligned)",
        ]
    );
    assert_eq!(log, ["load 1"]);
}

/// Sizes of which all are allowed, and whose products are not numbers of 63 bits.
const HUGE: &str = "
te.func @huge<m, n>(A: f32[m, n]) -> f32[m, n] {
  compute B[i: m, j: n] = A[i, j] + 1.0
  return B
}
schedule @threads for @huge {
  ij = fuse(B.i, B.j)
  bo, bi = split(ij, factor = 128)
  bind(bo, blockIdx.x)
  bind(bi, threadIdx.x)
}
";

#[test]
fn products_of_sizes_do_not_wrap() {
    let made = Made::new("k", vec![code(HUGE, "sm_80", "cuda{schedule=threads}", 1)], Link::Embedded);
    let largest = made.codes[0].manifests[0].sizes[0].high.unwrap_or(i64::MAX);
    let large = format!("k_huge(NULL, AT(4096), AT(8192), INT64_C({largest}), INT64_C({largest}))");
    let (printed, log) = told(&made, &Run::on(&made, "8.0"), &[&large]);
    assert_eq!(printed.len(), 1);
    assert!(printed[0].starts_with("7 ") || printed[0].starts_with("8 "), "{printed:?}");
    assert!(log.iter().all(|line| !line.starts_with("launch")), "{log:?}");
}

#[test]
fn devices_contexts_and_code_are_checked() {
    let made = scale();
    let (printed, log) = told(&made, &Run::on(&made, "7.5"), &[RIGHT, "k_load()"]);
    let no_code =
        "4 there is no code for a device of compute capability 7.5, only for sm_80 (there is no code for the device)";
    assert_eq!(printed, [no_code, no_code]);
    assert!(log.is_empty());
    let (printed, _) = told(&made, &Run::on(&made, "9.0"), &[RIGHT]);
    assert!(printed[0].starts_with("4 "), "machine code is of one major number: {printed:?}");
    let fails = |entry: &str| told(&made, &Run::on(&made, "8.0").with("FAKE_CUDA_FAIL", entry), &[RIGHT]);
    assert_eq!(
        fails("cuCtxGetCurrent").0,
        ["3 no CUDA context is current in this thread (no CUDA context is current)"]
    );
    assert_eq!(
        fails("cuModuleLoadData").0,
        [
            "5 the driver cannot load the code for sm_80: CUDA error 200, CUDA_ERROR_OF_TESTS: as a test wishes (the code cannot \
          be loaded)"
        ]
    );
    let kernel = &made.codes[0].manifests[0].kernels[0].name;
    let (printed, log) = fails("cuLaunchKernel");
    let message = format!(
        "14 cannot launch the kernel {kernel}: CUDA error 999, CUDA_ERROR_OF_TESTS: as a test wishes (the CUDA driver reports \
         an error)"
    );
    assert_eq!(printed, [message]);
    // What was allocated is freed all the same.
    assert!(log[1].starts_with("allocate 64 ") && log[3].starts_with("free ") && log.len() == 4, "{log:?}");
    let (printed, log) = fails("cuMemAllocAsync");
    assert!(
        printed[0].starts_with("13 cannot allocate the temporaries: CUDA error 2, CUDA_ERROR_OUT_OF_MEMORY"),
        "{printed:?}"
    );
    assert!(log.iter().all(|line| !line.starts_with("launch")), "{log:?}");
    assert!(fails("cuMemFreeAsync").0[0].starts_with("14 cannot free the temporaries"));
}

#[test]
fn an_old_driver_is_named() {
    let made = scale();
    let run = Run { driver: driver(&["-DWITHOUT_POOLS"]), ..Run::on(&made, "8.0") };
    let with_workspace = "k_scale_in(NULL, AT(256), 64, AT(4096), AT(8192), 2, 8)";
    let (printed, log) = told(&made, &run, &[RIGHT, with_workspace]);
    assert!(printed[0].starts_with("2 the CUDA driver has no `cuMemAllocAsync`: pass a workspace"), "{printed:?}");
    assert!(printed[1].starts_with("0 ") && log.len() == 3, "{printed:?} {log:?}");
}

#[test]
fn a_machine_without_a_driver_is_told() {
    // Where there is a GPU, the driver of the system is found.
    if std::path::Path::new("/dev/nvidiactl").exists() {
        return;
    }
    let made = scale();
    let program = made.program(&printing(&["k_load()", RIGHT, "k_unload()"]));
    let output = crate::harness::done(Command::new(program).env("LD_LIBRARY_PATH", "/nowhere"));
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(printed.lines().count(), 3);
    for line in printed.lines() {
        assert!(
            line.starts_with("1 no CUDA driver: libcuda.so.1") && line.ends_with("(there is no CUDA driver)"),
            "{line}"
        );
    }
}

#[test]
fn tensors_that_bulk_copies_cannot_read_are_told() {
    let text = include_str!("../../../../examples/aot/hopper.tir");
    let mut code = code(text, "sm_90a", "cuda{schedule=by_size}", 1);
    // As if the program did not say which sizes it takes.
    code.manifests[0].facts.clear();
    let made = Made::new("k", vec![code], Link::Embedded);
    let (printed, log) =
        told(&made, &Run::on(&made, "9.0"), &["k_product(NULL, AT(4096), AT(8192), AT(256), 128, 65)"]);
    let buffer = "rows of `B` are 130 bytes apart, and bulk copies take multiples of 16 below 2^40";
    assert_eq!(printed, [format!("11 {buffer} (bulk copies cannot read a buffer of these sizes)")]);
    assert!(log.iter().all(|line| !line.starts_with("launch") && !line.starts_with("map#")), "{log:?}");
    let old = Run { driver: driver(&["-DWITHOUT_MAPS"]), ..Run::on(&made, "9.0") };
    let right = "k_product(NULL, AT(4096), AT(8192), AT(256), 128, 64)";
    let (printed, _) = told(&made, &old, &[right]);
    assert!(printed[0].starts_with("2 the CUDA driver has no `cuTensorMapEncodeTiled`"), "{printed:?}");
    let old = Run { driver: driver(&["-DWITHOUT_LAUNCH_EX"]), ..Run::on(&made, "9.0") };
    let (printed, _) = told(&made, &old, &[right]);
    assert!(printed[0].starts_with("2 the CUDA driver has no `cuLaunchKernelEx`"), "{printed:?}");
}

#[test]
fn sizes_of_zero_launch_nothing_and_need_no_memory() {
    let text = TEXT.replace("m: 1..", "m: 0..");
    let made = Made::new("k", vec![code(&text, "sm_80", "cuda{schedule=threads}", 1)], Link::Embedded);
    let (printed, log) = told(&made, &Run::on(&made, "8.0"), &["k_scale(NULL, NULL, NULL, 0, 8)"]);
    assert!(printed[0].starts_with("0 "), "{printed:?}");
    assert_eq!(log, ["load 1"]);
}

fn refused(codes: &[TargetCode], name: &str) -> String {
    let options = Options { name: name.to_string(), link: Link::Embedded, rust: false };
    let found = write(codes, &options).expect_err("it cannot be written");
    found.iter().next().expect("an error").message.clone()
}

#[test]
fn what_no_bundle_can_be_made_of_is_refused() {
    let one = || code(TEXT, "sm_80", "cuda{schedule=threads}", 1);
    assert_eq!(refused(&[], "k"), "the bundle `k` has no target");
    assert_eq!(refused(&[one(), one()], "k"), "the bundle `k` has the target `sm_80` twice");
    assert_eq!(refused(&[one()], "K"), "`K` is no name of a bundle");
    assert!(check_name("k").is_ok());
    let other = code(TEXT, "sm_90", "cuda{schedule=threads param=\"m=5\"}", 1);
    assert_eq!(refused(&[one(), other], "k"), "`@scale` has other parameters for `sm_90` than for `sm_80`");
    let named = code(&TEXT.replace("scale", "load"), "sm_80", "cuda{schedule=threads}", 1);
    assert_eq!(refused(&[named], "k"), "the C function `load` for `@load` has the name of one of every bundle");
    let other = code(&TEXT.replace("scale", "other"), "sm_90", "cuda{schedule=threads}", 1);
    assert_eq!(refused(&[one(), other], "k"), "the program has other functions for `sm_90` than for `sm_80`");
    let mut wrong = one();
    wrong.manifests[0].kernels[0].args.push("nothing".into());
    assert!(refused(&[wrong], "k").contains("takes `nothing`, which does not exist"));
}
