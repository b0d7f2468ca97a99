//! What the driver is asked to do is what the manifest says: grids, blocks, arguments, attributes, tensor maps, temporaries.
//!
//! What is expected is computed here from the manifest for the sizes of a call, which `set_sizes` evaluates as it does for
//! the launcher of the runtime.

use crate::harness::{Made, Run, bytes, code};
use std::fmt::Write;
use std::path::Path;
use tc::bundles::Link;
use tc::target::{DType, Kernel, KernelManifest, Param, TensorMap};

/// A call: the values of scalars as C and as the bits that a kernel takes, and the sizes.
struct Call<'a> {
    scalars: &'a [(&'a str, u64)],
    sizes: &'a [(&'a str, i64)],
}

const NO_SIZES: Call<'static> = Call { scalars: &[], sizes: &[] };

/// Where the driver of the tests puts what is allocated.
const POOL: u64 = 0x7000_0000_0000;

/// The stream of all calls.
const STREAM: u64 = 0x40;

/// Where the parameter `nth` is.
fn address(nth: usize) -> u64 {
    0x10_0000_0000 * (nth as u64 + 1)
}

/// `text` of the examples.
fn example(path: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    std::fs::read_to_string(root.join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The C of a call of the function `nth`.
fn call(made: &Made, nth: usize, call: &Call<'_>) -> String {
    let manifest = &made.codes[0].manifests[nth];
    let mut args = vec![format!("AT({STREAM})")];
    let mut scalars = call.scalars.iter();
    for (nth, param) in manifest.params.iter().enumerate() {
        args.push(match param {
            Param::Buffer(_) => format!("AT({}u)", address(nth)),
            Param::Scalar(_) => scalars.next().expect("a value").0.to_string(),
        });
    }
    for size in &manifest.sizes {
        let (_, value) = call.sizes.iter().find(|(name, _)| *name == size.name).expect("a value for each size");
        args.push(value.to_string());
    }
    let name = format!("{}_{}", made.name, manifest.function);
    format!("  printf(\"%d %s\\n\", (int){name}({}), {}_message());\n", args.join(", "), made.name)
}

/// What the driver is asked by a call of the function `nth` for the target `target`, after the code is loaded.
fn expected(made: &Made, (target, nth): (usize, usize), call: &Call<'_>) -> Vec<String> {
    let mut manifest = made.codes[target].manifests[nth].clone();
    let sizes: Vec<(String, i64)> = call.sizes.iter().map(|&(name, value)| (name.to_string(), value)).collect();
    manifest.set_sizes(&sizes).expect("sizes that the program takes");
    let mut lines = Vec::new();
    let mut words: Vec<(String, String)> = Vec::new();
    let mut scalars = call.scalars.iter();
    for (nth, param) in manifest.params.iter().enumerate() {
        let word = match param {
            Param::Buffer(_) => address(nth),
            Param::Scalar(_) => scalars.next().expect("a value").1,
        };
        words.push((param.name().to_string(), hex(word, bytes(&manifest, param.name()))));
    }
    for size in &manifest.sizes {
        words.push((size.name.clone(), hex(size.value as u64, size.dtype.bytes())));
    }
    let total = temporaries(&manifest, &mut words);
    if total > 0 {
        lines.push(format!("allocate {total} stream {STREAM} at {POOL:#x}"));
    }
    let mut n_maps = 0;
    for map in &manifest.maps {
        let (_, at) = words.iter().find(|(name, _)| *name == map.buffer).expect("a buffer").clone();
        if manifest.is_needed(&map.name) && !map.is_empty() {
            n_maps += 1;
            lines.push(encoded(map, n_maps, at.trim_start_matches("0x").trim_start_matches('0')));
            words.push((map.name.clone(), format!("map#{n_maps}")));
        } else {
            words.push((map.name.clone(), "map#0".to_string()));
        }
    }
    for kernel in manifest.kernels.iter().filter(|kernel| !kernel.is_empty()) {
        lines.push(launched(kernel, &words));
    }
    if total > 0 {
        lines.push(format!("free {POOL:#x} stream {STREAM}"));
    }
    lines
}

fn hex(word: u64, bytes: u64) -> String {
    let digits = bytes as usize * 2;
    let mask = if bytes == 8 { u64::MAX } else { (1 << (8 * bytes)) - 1 };
    format!("0x{:0digits$x}", word & mask)
}

/// Adds the addresses of temporaries, and tells the bytes of all.
fn temporaries(manifest: &KernelManifest, words: &mut Vec<(String, String)>) -> u64 {
    let value = |name: &str| manifest.size(name).map(|size| size.value);
    let is_chosen = |kernel: &&Kernel| kernel.when.as_ref().is_none_or(|when| when.eval(&value) != Some(0));
    let mut total: u64 = 0;
    for buffer in &manifest.temporaries {
        let is_it =
            |arg: &String| *arg == buffer.name || manifest.map(arg).is_some_and(|map| map.buffer == buffer.name);
        let is_taken = manifest.kernels.iter().filter(is_chosen).any(|kernel| kernel.args.iter().any(is_it));
        let offset = total.next_multiple_of(buffer.alignment.max(256));
        let is_made = is_taken && buffer.bytes > 0;
        words.push((buffer.name.clone(), hex(POOL + if is_made { offset } else { 0 }, 8)));
        total = if is_made { offset + buffer.bytes } else { total };
    }
    total
}

fn encoded(map: &TensorMap, number: usize, address: &str) -> String {
    let reversed = |list: &[u64]| list.iter().rev().map(|one| format!(" {one}")).collect::<String>();
    let strides = map.strides().expect("they fit");
    // CUtensorMapDataType, CUtensorMapSwizzle and CUtensorMapL2promotion of cuda.h.
    let kind = match map.dtype {
        DType::F16 => 6,
        DType::F32 => 7,
        DType::BF16 => 9,
        DType::F8E4M3 | DType::I8 => 0,
        other => panic!("no example has maps of {}", other.name()),
    };
    let swizzle = map.swizzle.checked_ilog2().map_or(0, |log| log - 4);
    let promotion = map.promotion.checked_ilog2().map_or(0, |log| log - 5);
    format!(
        "map#{number} type {kind} at 0x{address} extents{} strides{} box{} steps{} interleave 0 swizzle {swizzle} promotion \
         {promotion} fill 0",
        reversed(&map.extents),
        reversed(&strides),
        reversed(&map.spans()),
        reversed(&map.steps)
    )
}

fn launched(kernel: &Kernel, words: &[(String, String)]) -> String {
    let three = |list: [u64; 3]| format!("{} {} {}", list[0], list[1], list[2]);
    let (grid, block) = (three(kernel.grid), three(kernel.block));
    let mut line = format!("launch {} grid {grid} block {block} shared {}", kernel.name, kernel.dynamic_shared);
    let _ = write!(line, " stream {STREAM}");
    if kernel.cluster != [1, 1, 1] {
        let _ = write!(line, " cluster {}", three(kernel.cluster));
    }
    if kernel.overlaps {
        line.push_str(" overlaps 1");
    }
    line.push_str(" args");
    for arg in &kernel.args {
        let (_, word) = words.iter().find(|(name, _)| name == arg).expect("an argument that exists");
        let _ = write!(line, " {word}");
    }
    line
}

/// What loading the code of the target `target` asks the driver; its kernels have 1024 bytes of shared memory each.
fn loaded(made: &Made, target: usize) -> Vec<String> {
    let code = &made.codes[target];
    let kernels = code.manifests.iter().flat_map(|manifest| &manifest.kernels);
    let large = kernels.filter(|kernel| kernel.dynamic_shared + 1024 > 48 << 10);
    let attributes = large.map(|kernel| format!("attribute {} 8 = {}", kernel.name, kernel.dynamic_shared));
    std::iter::once(format!("load {}", code.cubin[4])).chain(attributes).collect()
}

/// Calls each function once for each of `calls`, on a device of `capability`, which the code `target` is for.
fn check(made: &Made, (target, capability): (usize, &str), calls: &[Call<'_>]) {
    for nth in 0..made.codes[0].manifests.len() {
        for one in calls {
            let program = made.program(&format!("int main(void) {{\n{}  return 0;\n}}\n", call(made, nth, one)));
            let (printed, log) = Run::on(made, capability).run(&program);
            assert_eq!(printed, "0 \n", "{log:?}");
            let want = [loaded(made, target), expected(made, (target, nth), one)].concat();
            assert_eq!(log, want, "{:?}", one.sizes);
            assert!(log.iter().any(|line| line.starts_with("launch ")), "{log:?}");
        }
    }
}

fn single(name: &str, text: &str, target: &str, pipeline: &str) -> Made {
    Made::new(name, vec![code(text, target, pipeline, 7)], Link::Embedded)
}

#[test]
fn grids_follow_open_sizes() {
    let made = single("add", &example("examples/add.tir"), "sm_80", "cuda{schedule=threads,symbolic=true}");
    let of = |sizes| Call { scalars: &[], sizes };
    check(&made, (0, "8.0"), &[of(&[("n", 1)]), of(&[("n", 1000)]), of(&[("n", 1048575)])]);
}

#[test]
fn temporaries_are_allocated_in_the_stream_and_freed() {
    let made = single("softmax", &example("examples/softmax.tir"), "sm_80", "cuda{schedule=staged}");
    assert!(made.codes[0].manifests[0].temporaries.len() == 3);
    check(&made, (0, "8.6"), &[NO_SIZES]);
}

#[test]
fn kernels_that_overlap_and_those_that_do_not() {
    let made = single("softmax90", &example("examples/softmax.tir"), "sm_90", "cuda{schedule=staged},overlap-launches");
    assert!(made.codes[0].manifests[0].kernels[1].overlaps);
    check(&made, (0, "9.0"), &[NO_SIZES]);
}

const DISPATCH: &str = "
te.func @add<m: 1..4096, n: 1..65536>(A: f32[m, n]) -> f32[m, n] {
  compute B[i: m, j: n] = A[i, j] + 1.0
  return B
}
schedule @one for @add {
  bind(B.i, blockIdx.y)
  bind(B.j, blockIdx.x)
}
schedule @two for @add {
  AL = cache_read(A, global)
  bind(AL.ax0, blockIdx.x)
  bind(B.i, blockIdx.y)
  bind(B.j, blockIdx.x)
}
schedule @by for @add {
  dispatch(@one, when = m >= 64 && n >= 64 || m == n)
  dispatch(@two)
}
";

#[test]
fn sizes_choose_the_kernels() {
    let made = single("chosen", DISPATCH, "sm_80", "cuda{schedule=by}");
    let manifest = &made.codes[0].manifests[0];
    assert!(manifest.kernels.iter().all(|kernel| kernel.when.is_some()) && !manifest.temporaries.is_empty());
    let of = |sizes| Call { scalars: &[], sizes };
    check(&made, (0, "8.0"), &[of(&[("m", 64), ("n", 64)]), of(&[("m", 63), ("n", 70)]), of(&[("m", 5), ("n", 5)])]);
}

const SCALARS: &str = "
tir.func @fill(A: f32[1024], n: i32, x: f32, flag: bool, wide: i64, small: u8, half: f16) {
  for bx in 0..8 bind(blockIdx.x) {
    for tx in 0..128 bind(threadIdx.x) {
      if bx * 128 + tx < cast<index>(n) && flag {
        A[bx * 128 + tx] = x + cast<f32>(wide) + cast<f32>(small) + cast<f32>(half)
      }
    }
  }
}
";

#[test]
fn values_are_passed_in_the_width_that_kernels_take() {
    let made = single("scalars", SCALARS, "sm_80", "cuda");
    let scalars = [
        ("-3", (-3i64) as u64),
        ("1.5f", u64::from(1.5f32.to_bits())),
        ("1", 1),
        ("-5000000000", (-5_000_000_000i64) as u64),
        ("200", 200),
        ("0x3c00", 0x3c00),
    ];
    check(&made, (0, "8.0"), &[Call { scalars: &scalars, sizes: &[] }]);
}

#[test]
fn tensor_maps_are_encoded_as_the_manifest_says() {
    let pipeline = "cuda{schedule=tile,param=\"m=256 n=512 k=128\"}";
    let text = only(&example("examples/hopper/product.tir"), "product_f16");
    let made = single("product", &text, "sm_90a", pipeline);
    assert!(made.codes[0].manifests[0].maps.len() >= 2);
    check(&made, (0, "9.0"), &[NO_SIZES]);
}

#[test]
fn tensor_maps_follow_open_sizes() {
    let text = only(&example("examples/hopper/product.tir"), "product_f16");
    let text = text.replace("<m = 4096, n = 4096, k = 4096>", "<m: 1..65536, n: 8..65536, k: 64..65536>");
    let text = text.replace(") -> f32[m, n] {", ") -> f32[m, n] where k % 64 == 0, n % 8 == 0 {");
    let made = single("open_product", &text, "sm_90a", "cuda{schedule=tile}");
    assert!(made.codes[0].manifests[0].maps.iter().all(|map| !map.extents.is_empty()));
    let of = |sizes| Call { scalars: &[], sizes };
    check(&made, (0, "9.0"), &[of(&[("m", 100), ("n", 264), ("k", 128)]), of(&[("m", 1), ("n", 8), ("k", 64)])]);
}

#[test]
fn clusters_are_asked_for() {
    let text = example("examples/hopper/clustered.tir");
    let pipeline = "cuda{schedule=persistent,param=\"m=512 n=512 k=128\"}";
    let made = single("clustered", &text, "sm_90a", pipeline);
    assert_eq!(made.codes[0].manifests[0].kernels[0].cluster, [2, 1, 1]);
    check(&made, (0, "9.0"), &[NO_SIZES]);
}

#[test]
fn sizes_choose_maps_and_clusters() {
    let made = single("hopper", &example("examples/aot/hopper.tir"), "sm_90a", "cuda{schedule=by_size}");
    let of = |sizes| Call { scalars: &[], sizes };
    check(&made, (0, "9.0"), &[of(&[("m", 128), ("k", 64)]), of(&[("m", 127), ("k", 640)])]);
}

#[test]
fn the_best_code_for_a_device_is_launched() {
    let text = example("examples/softmax.tir");
    let one = |target, pipeline, number| code(&text, target, pipeline, number);
    let codes = vec![
        one("sm_90a", "cuda{schedule=fused}", 3),
        one("sm_80", "cuda{schedule=staged}", 1),
        one("sm_86", "cuda{schedule=fused}", 2),
    ];
    let made = Made::new("many", codes, Link::Embedded);
    check(&made, (1, "8.0"), &[NO_SIZES]);
    check(&made, (2, "8.6"), &[NO_SIZES]);
    check(&made, (2, "8.9"), &[NO_SIZES]);
    check(&made, (0, "9.0"), &[NO_SIZES]);
}

/// `text` with the one operator of it, and its schedules.
fn only(text: &str, operator: &str) -> String {
    let mut out = String::new();
    let mut is_kept = false;
    for line in text.lines() {
        let begins = line.starts_with("te.func ") || line.starts_with("schedule ");
        if begins {
            is_kept = line.contains(&format!("@{operator}<"))
                || line.ends_with(&format!("for @{operator} {{"))
                || line.contains(&format!("for @{operator} ("));
        }
        if is_kept {
            out.push_str(line);
            out.push('\n');
        }
        if line == "}" {
            is_kept = false;
        }
    }
    out
}
