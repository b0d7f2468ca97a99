//! Tensor cores, without a GPU: the schedules of the examples are right on the simulator at small sizes, and compile for
//! every generation that has what they use; one that has not is told so.

use std::path::Path;
use tc::ir::Module;
use tc::perf::KernelCode;
use tc::run::{Case, CheckOptions, Choice, Define, Machine, cases, check};
use tc::runtime::nvrtc;
use tc::sim::FieldVerdict;
use tc::target::Target;
use tc::{Compiler, Failure, Via};

/// A schedule of an example, or a program where that has no name, and sizes and parameters at which all of it is checked.
struct Small {
    file: &'static str,
    func: &'static str,
    schedule: &'static str,
    defines: &'static [(&'static str, i64)],
    /// The first target that has what it uses.
    since: &'static str,
}

const fn small(
    file: &'static str,
    func: &'static str,
    schedule: &'static str,
    defines: &'static [(&'static str, i64)],
    since: &'static str,
) -> Small {
    Small { file, func, schedule, defines, since }
}

/// Two blocks, of small warps, and a reduction of more steps than a pipeline has stages ahead.
const TILE: &[(&str, i64)] = &[
    ("m", 64),
    ("n", 128),
    ("k", 160),
    ("row_warps", 2),
    ("col_warps", 2),
    ("row_tiles", 2),
    ("col_tiles", 2),
    ("chunk", 2),
];
/// The same where a warp is to have eight tiles.
const WIDE: &[(&str, i64)] = &[
    ("m", 64),
    ("n", 256),
    ("k", 160),
    ("row_warps", 2),
    ("col_warps", 2),
    ("row_tiles", 2),
    ("col_tiles", 4),
    ("chunk", 2),
];
const BYTES: &[(&str, i64)] = &[
    ("m", 64),
    ("n", 128),
    ("k", 320),
    ("row_warps", 2),
    ("col_warps", 2),
    ("row_tiles", 2),
    ("col_tiles", 4),
    ("chunk", 2),
];
const FUSED: &[(&str, i64)] =
    &[("m", 64), ("n", 128), ("k", 160), ("row_warps", 2), ("col_warps", 2), ("row_tiles", 2), ("col_tiles", 2)];
/// Images with borders and a middle.
const LOOPS: &[(&str, i64)] = &[("size", 3), ("batch", 8), ("ins", 2), ("outs", 8)];
const WMMA: &[(&str, i64)] = &[
    ("size", 3),
    ("batch", 4),
    ("ins", 2),
    ("outs", 8),
    ("block_row_warps", 2),
    ("block_col_warps", 2),
    ("warp_row_tiles", 2),
    ("warp_col_tiles", 4),
];
const MMA: &[(&str, i64)] = &[
    ("size", 3),
    ("batch", 4),
    ("ins", 2),
    ("outs", 4),
    ("block_row_warps", 1),
    ("block_col_warps", 2),
    ("warp_row_tiles", 4),
    ("warp_col_tiles", 2),
];
const PIECES: &[(&str, i64)] = &[
    ("size", 2),
    ("batch", 64),
    ("ic", 32),
    ("oc", 64),
    ("row_warps", 2),
    ("col_warps", 2),
    ("row_tiles", 2),
    ("col_tiles", 2),
    ("chunk", 2),
];
/// Six ragged tiles in two blocks, of two steps each.
const HOPPER: &[(&str, i64)] =
    &[("m", 70), ("n", 136), ("k", 80), ("blocks", 2), ("rows", 64), ("columns", 64), ("group", 4), ("stages", 3)];
/// The same where a step has 128 numbers.
const HOPPER_BYTES: &[(&str, i64)] =
    &[("m", 70), ("n", 136), ("k", 144), ("blocks", 2), ("rows", 64), ("columns", 64), ("group", 4), ("stages", 3)];
const HOPPER_TILE: &[(&str, i64)] = &[("m", 70), ("n", 136), ("k", 80), ("columns", 128), ("stages", 3)];
const FEW_ROWS: &[(&str, i64)] = &[("m", 5), ("n", 72), ("k", 208)];
/// Ragged boxes of every second pixel, and channels that no tile divides.
const CONVOLUTION: &[(&str, i64)] = &[
    ("batch", 8),
    ("size", 9),
    ("outs", 72),
    ("stride", 2),
    ("blocks", 2),
    ("images", 8),
    ("rows", 4),
    ("channels", 64),
    ("stages", 3),
];
const BATCHED: &[(&str, i64)] =
    &[("batch", 2), ("m", 70), ("n", 72), ("k", 80), ("blocks", 2), ("rows", 64), ("columns", 64), ("stages", 3)];
const SCALED_ROWS: &[(&str, i64)] =
    &[("m", 70), ("n", 136), ("k", 144), ("blocks", 2), ("rows", 64), ("columns", 128), ("group", 4), ("stages", 3)];
/// Rows of scales that no bulk copy takes, and such that one takes.
const SCALED_BLOCKS: &[(&str, i64)] = &[
    ("m", 70),
    ("n", 136),
    ("blocks_of_k", 2),
    ("blocks", 2),
    ("rows", 64),
    ("group", 4),
    ("stages", 3),
    ("along", 0),
];
const SCALED_ALONG: &[(&str, i64)] =
    &[("m", 72), ("n", 136), ("blocks_of_k", 4), ("blocks", 2), ("rows", 64), ("group", 4), ("stages", 3)];
/// Ragged tiles, and a last step of 16 numbers.
const PRODUCT_PIECES: &[(&str, i64)] =
    &[("m", 70), ("n", 136), ("k", 80), ("blocks", 2), ("rows", 64), ("group", 4), ("stages", 2)];
/// A pixel at each border, and a last tile of eight images.
const CONVOLUTION_PIECES: &[(&str, i64)] = &[("size", 2), ("ic", 64), ("oc", 128), ("batch", 136), ("blocks", 2)];
const BLOCKED: &[(&str, i64)] =
    &[("size", 2), ("batch", 4), ("ins", 2), ("outs", 8), ("blocks", 2), ("images", 4), ("channels", 8), ("stages", 3)];
/// Blocks of a cluster of which some have no rows.
const CLUSTERED: &[(&str, i64)] = &[
    ("m", 300),
    ("n", 136),
    ("k", 80),
    ("blocks", 2),
    ("rows", 64),
    ("columns", 128),
    ("group", 2),
    ("stages", 3),
    ("share", 2),
];
/// Ragged tiles of rows and of keys, and a second step.
const ATTENTION: &[(&str, i64)] = &[("heads", 2), ("n", 200)];
/// Rows whose window leaves out the first step of their block.
const WINDOW: &[(&str, i64)] = &[("kv", 1), ("group", 2), ("n", 300), ("window", 70)];
/// Ragged tiles of queries and of keys.
const BACKWARD: &[(&str, i64)] = &[("heads", 1), ("n", 140)];
/// Ragged tiles of rows and of keys, by warps, and two heads of queries for a head of keys.
const WARPS: &[(&str, i64)] = &[("kv", 1), ("group", 2), ("n", 150)];
/// Lengths of all numbers that the tests draw.
const PADDED: &[(&str, i64)] = &[("batch", 2), ("heads", 1), ("n", 200)];
const PACKED: &[(&str, i64)] = &[("batch", 3), ("heads", 1), ("total", 200)];
/// One step of keys: weights are rounded as the operator says.
const F8_STEP: &[(&str, i64)] = &[("heads", 2), ("n", 112)];
/// Three steps: the maximum moves.
const F8_STEPS: &[(&str, i64)] = &[("heads", 1), ("n", 272)];
/// Lengths of all numbers that the tests draw, in tables that name pages twice.
const PAGED_16: &[(&str, i64)] = &[("batch", 3), ("kv", 1), ("pages", 9), ("most", 80)];
const PAGED_64: &[(&str, i64)] = &[("batch", 3), ("kv", 1), ("pages", 9), ("most", 20)];
/// No rows that bulk copies take.
const RAGGED: &[(&str, i64)] = &[("m", 70), ("n", 75), ("k", 77)];
/// A block's second row.
const GRADIENTS: &[(&str, i64)] = &[("m", 266), ("n", 4096)];
const LONG_ROWS: &[(&str, i64)] = &[("m", 2), ("n", 32768)];
const TWO_LONG_ROWS: &[(&str, i64)] = &[("m", 134), ("n", 32768)];
const HALF_ROWS: &[(&str, i64)] = &[("m", 3), ("n", 4096)];
/// Ragged rows and steps.
const ROWS: &[(&str, i64)] = &[("m", 200), ("k", 80), ("blocks", 2), ("stages", 3)];
const ONE_TILE: &[(&str, i64)] = &[("heads", 2), ("n", 256), ("rows", 128)];
/// Each part is whole steps.
const SPLIT_ROWS: &[(&str, i64)] = &[("m", 5), ("n", 72), ("k", 256)];

const ALL: &[Small] = &[
    small("conv2d_tensorcore", "conv_tensorcore_sym", "loops", LOOPS, "sm_70"),
    small("conv2d_tensorcore", "conv_tensorcore_sym", "tensorcore", WMMA, "sm_70"),
    small("conv2d_tensorcore", "conv_tensorcore_sym", "mma", MMA, "sm_80"),
    small("matmul_f16", "matmul_f16", "wmma", TILE, "sm_70"),
    small("matmul_f16", "matmul_f16", "mma", WIDE, "sm_80"),
    small("matmul_f16", "dense_f16", "mma", FUSED, "sm_80"),
    small("matmul_bf16", "matmul_bf16", "wmma", TILE, "sm_80"),
    small("matmul_bf16", "matmul_bf16", "mma", WIDE, "sm_80"),
    small("matmul_i8", "matmul_i8", "wmma", TILE, "sm_72"),
    small("matmul_i8", "matmul_i8", "mma", BYTES, "sm_80"),
    small("matmul_tf32", "matmul_tf32", "wmma", TILE, "sm_80"),
    small("matmul_tf32", "matmul_tf32", "mma", WIDE, "sm_80"),
    small("matmul_f32_tensorcore", "matmul_f16x3", "mma", TILE, "sm_80"),
    small("matmul_f32_tensorcore", "matmul_tf32x3", "mma", TILE, "sm_80"),
    small("conv2d_f32_tensorcore", "conv2d_f32_sym", "mma", PIECES, "sm_80"),
    small("hopper/product", "product_f16", "persistent", HOPPER, "sm_90a"),
    small("hopper/product", "product_f16", "tile", HOPPER_TILE, "sm_90a"),
    small("hopper/product", "product_f16_f16", "persistent", HOPPER, "sm_90a"),
    small("hopper/product", "dense_f16", "persistent", HOPPER, "sm_90a"),
    small("hopper/product", "product_bf16", "persistent", HOPPER, "sm_90a"),
    small("hopper/product", "product_bf16_bf16", "persistent", HOPPER, "sm_90a"),
    small("hopper/product", "product_tf32", "persistent", HOPPER, "sm_90a"),
    small("hopper/product", "product_i8", "persistent", HOPPER_BYTES, "sm_90a"),
    small("hopper/product", "product_f8", "persistent", HOPPER_BYTES, "sm_90a"),
    small("hopper/product", "few_rows_f16", "swapped", FEW_ROWS, "sm_90a"),
    small("hopper/product", "few_rows_f16", "split", SPLIT_ROWS, "sm_90a"),
    small("hopper/conv", "conv_f16", "persistent", CONVOLUTION, "sm_90a"),
    small("hopper/clustered", "clustered_bf16", "persistent", CLUSTERED, "sm_90a"),
    small("hopper/conv_blocked", "conv_blocked", "persistent", BLOCKED, "sm_90a"),
    small("hopper/conv_f32", "conv_f32", "persistent", CONVOLUTION_PIECES, "sm_90a"),
    small("hopper/product_f32", "product_f32", "persistent", PRODUCT_PIECES, "sm_90a"),
    small("hopper/batched", "batched_f16", "persistent", BATCHED, "sm_90a"),
    small("hopper/scaled", "product_f8_rows", "persistent", SCALED_ROWS, "sm_90a"),
    small("hopper/scaled", "product_f8_blocks", "persistent", SCALED_BLOCKS, "sm_90a"),
    small("hopper/scaled", "product_f8_blocks", "persistent", SCALED_ALONG, "sm_90a"),
    small("hopper/rows", "rms_product", "persistent", ROWS, "sm_90a"),
    small("hopper/rows", "attention_tile", "one_tile", ONE_TILE, "sm_90a"),
    small("hopper/attention", "full_64", "", ATTENTION, "sm_90a"),
    small("hopper/attention", "full_128", "", ATTENTION, "sm_90a"),
    small("hopper/attention", "causal_64", "", ATTENTION, "sm_90a"),
    small("hopper/attention", "causal_128", "", ATTENTION, "sm_90a"),
    small("hopper/attention_window", "window_128", "", WINDOW, "sm_90a"),
    small("hopper/attention_256", "full_256", "", BACKWARD, "sm_90a"),
    small("hopper/attention_256", "causal_256", "", BACKWARD, "sm_90a"),
    small("hopper/attention_backward", "full_backward_64", "", BACKWARD, "sm_90a"),
    small("hopper/attention_backward", "full_backward_128", "", BACKWARD, "sm_90a"),
    small("hopper/attention_backward", "causal_backward_64", "", BACKWARD, "sm_90a"),
    small("hopper/attention_backward", "causal_backward_128", "", BACKWARD, "sm_90a"),
    small("hopper/ragged", "ragged_layer", "packed", RAGGED, "sm_90a"),
    small("hopper/ragged", "ragged_layer", "by_warps", RAGGED, "sm_80"),
    small("hopper/program_product", "product", "tile", &[], "sm_90a"),
    small("hopper/program_product", "product_loops", "ring", &[], "sm_90a"),
    small("hopper/attention_varlen", "padded_64", "", PADDED, "sm_90a"),
    small("hopper/attention_varlen", "padded_causal_128", "", PADDED, "sm_90a"),
    small("hopper/attention_varlen", "packed_128", "", PACKED, "sm_90a"),
    small("hopper/attention_varlen", "packed_causal_128", "", PACKED, "sm_90a"),
    small("hopper/attention_fp8", "full_f8_128", "", F8_STEP, "sm_90a"),
    small("hopper/attention_fp8", "causal_f8_128", "", F8_STEP, "sm_90a"),
    small("hopper/attention_fp8", "full_f8_64", "", F8_STEP, "sm_90a"),
    small("hopper/attention_fp8", "causal_f8_64", "", F8_STEP, "sm_90a"),
    small("hopper/attention_fp8", "grouped_full_f8_128", "", F8_STEP, "sm_90a"),
    small("hopper/attention_fp8", "grouped_causal_f8_128", "", F8_STEP, "sm_90a"),
    small("hopper/attention_fp8", "causal_f8_128", "", F8_STEPS, "sm_90a"),
    small("hopper/attention_fp8", "grouped_full_f8_128", "", F8_STEPS, "sm_90a"),
    small("attention", "full_64", "", WARPS, "sm_80"),
    small("attention", "full_128", "", WARPS, "sm_80"),
    small("attention", "causal_64", "", WARPS, "sm_80"),
    small("attention", "causal_128", "", WARPS, "sm_80"),
    small("attention", "causal_bf16", "", WARPS, "sm_80"),
    small("attention", "window_64", "", WINDOW, "sm_80"),
    small("hopper/attention_backward_atomic", "full_backward_64", "", BACKWARD, "sm_90a"),
    small("hopper/attention_backward_atomic", "full_backward_128", "", BACKWARD, "sm_90a"),
    small("hopper/attention_backward_atomic", "causal_backward_64", "", BACKWARD, "sm_90a"),
    small("hopper/attention_backward_atomic", "causal_backward_128", "", BACKWARD, "sm_90a"),
    small("attention_backward", "full_backward_64", "", BACKWARD, "sm_80"),
    small("attention_backward", "full_backward_128", "", BACKWARD, "sm_80"),
    small("attention_backward", "causal_backward_64", "", BACKWARD, "sm_80"),
    small("attention_backward", "causal_backward_128", "", BACKWARD, "sm_80"),
    small("attention_decode", "decode_16", "", PAGED_16, "sm_80"),
    small("attention_decode", "decode_64", "", PAGED_64, "sm_80"),
    small("norms_backward", "rms_norm_gradients", "", GRADIENTS, "sm_70"),
    small("norms_backward", "layer_norm_gradients", "", GRADIENTS, "sm_70"),
    small("hopper/softmax_rows", "divided", "", LONG_ROWS, "sm_80"),
    small("hopper/softmax_rows", "ahead", "", TWO_LONG_ROWS, "sm_80"),
    small("hopper/softmax_rows", "softmax_4096", "", HALF_ROWS, "sm_70"),
];

impl Small {
    fn name(&self) -> String {
        format!("{}: @{} of @{}", self.file, self.schedule, self.func)
    }

    fn read(&self, compiler: &Compiler) -> (Module, Case) {
        let path = format!("{}/../../examples/{}.tir", env!("CARGO_MANIFEST_DIR"), self.file);
        let text = std::fs::read_to_string(Path::new(&path)).expect("the example is there");
        let module = compiler.parse(self.file, &text).unwrap_or_else(|why| panic!("{}: {why}", self.file)).module;
        let choice = Choice { func: Some(self.func), schedule: (!self.schedule.is_empty()).then_some(self.schedule) };
        let case = cases::to_check(&module, choice).unwrap_or_else(|why| panic!("{}: {why:?}", self.name()))[0];
        (module, case)
    }

    fn defines(&self) -> Vec<Define> {
        self.defines.iter().map(|&(name, value)| (name.to_string(), value)).collect()
    }

    fn check(&self) {
        let name = if self.since == "sm_90a" { self.since } else { Target::DEFAULT };
        let target = Target::parse(name).expect("one of the targets");
        let compiler = Compiler { target, ..Compiler::new() };
        let (module, case) = self.read(&compiler);
        let options = CheckOptions { defines: self.defines(), ..CheckOptions::default() };
        let checked = check(&compiler, &module, &case, &mut Machine::Simulator, &options);
        let checked = checked.unwrap_or_else(|why| panic!("{}: {why}", self.name()));
        assert!(checked.ok, "{}: {:?}", self.name(), checked.diagnostics);
        assert!(checked.cells.is_some_and(|cells| cells > 0), "{} compares nothing", self.name());
        // The weights of attention are rounded on the way.
        let is_rounded = self.file.contains("attention") && self.schedule.is_empty() && self.defines != F8_STEP;
        let verdict = if is_rounded { FieldVerdict::Different } else { FieldVerdict::Equal };
        let exactly = (!self.func.ends_with("_i8")).then_some(verdict);
        assert_eq!(checked.field, exactly, "{}: {:?}", self.name(), checked.diagnostics);
    }

    /// The CUDA text for `target`.
    fn emitted(&self, target: &Target) -> Result<String, Failure> {
        let compiler = Compiler { target: *target, ..Compiler::new() };
        let (module, case) = self.read(&compiler);
        let built = compiler.build(&module, &case, &self.defines(), true)?;
        tc::cuda::emit(&built.module, &built.name, target, &tc::cuda::EmitOptions::default())
            .map(|program| program.source)
            .map_err(|diagnostics| Failure { diagnostics, sources: built.module.sources.clone() })
    }
}

fn check_all_of(file: &str) {
    let chosen: Vec<&Small> = ALL.iter().filter(|small| small.file.starts_with(file)).collect();
    assert!(!chosen.is_empty());
    chosen.into_iter().for_each(Small::check);
}

#[test]
fn a_convolution_in_f16_is_right() {
    check_all_of("conv2d_tensorcore");
}

#[test]
fn products_in_f16_are_right() {
    check_all_of("matmul_f16");
}

#[test]
fn products_in_bf16_are_right() {
    check_all_of("matmul_bf16");
}

#[test]
fn products_of_integers_are_right() {
    check_all_of("matmul_i8");
}

#[test]
fn products_in_tf32_are_right() {
    check_all_of("matmul_tf32");
}

#[test]
fn products_in_f32_by_pieces_are_right() {
    check_all_of("matmul_f32");
}

#[test]
fn a_convolution_in_f32_by_pieces_is_right() {
    check_all_of("conv2d_f32");
}

#[test]
fn products_of_warpgroups_are_right() {
    check_all_of("hopper");
}

#[test]
fn attention_by_warps_is_right() {
    check_all_of("attention");
}

#[test]
fn gradients_of_rows_are_right() {
    check_all_of("norms_backward");
}

#[test]
fn kernels_compile_for_all_targets_that_have_what_they_use() {
    for name in ["sm_70", "sm_80", "sm_90", "sm_90a"] {
        let target = Target::parse(name).expect("one of the targets");
        for small in ALL {
            let emitted = small.emitted(&target);
            if small.since > name {
                let why = emitted.err().unwrap_or_else(|| panic!("{} is emitted for {name}", small.name()));
                assert!(why.to_string().contains(name), "{}: {why}", small.name());
                continue;
            }
            let source = emitted.unwrap_or_else(|why| panic!("{} for {name}: {why}", small.name()));
            let compiled = nvrtc::compile(&source, small.file, &target, &nvrtc::Options::default());
            assert!(compiled.is_ok(), "{} for {name}: {:?}\n{source}", small.name(), compiled.err());
        }
    }
}

/// The assembler lets products of warpgroups wait for one another where it finds too few registers, or does not see that their
/// sums are left alone, and tells that in its log alone. It may spill in a loop, and order memory there.
#[test]
fn the_lint_of_machine_code_finds_nothing_in_products_of_warpgroups() {
    let target = Target::parse("sm_90a").expect("one of the targets");
    let compiler = Compiler { target, ..Compiler::new() };
    // One warpgroup a tile, so that two blocks would share a multiprocessor.
    let alone = vec![("images".to_string(), 4), ("channels".to_string(), 8)];
    for small in ALL.iter().filter(|small| small.since == "sm_90a") {
        let (module, case) = small.read(&compiler);
        // At the sizes and the points of the files, where they have some.
        let mut points = vec![if small.func == "few_rows_f16" { small.defines() } else { Vec::new() }];
        points.extend((small.func == "conv_blocked").then(|| alone.clone()));
        for defines in points {
            let built = compiler.build(&module, &case, &defines, true);
            let built = built.unwrap_or_else(|why| panic!("{}: {why}", small.name()));
            let code = compiler.machine_code(&built.module, Via::Cuda);
            let code = code.unwrap_or_else(|why| panic!("{}: {why}", small.name()));
            let found: Vec<_> = code.kernels.iter().flat_map(|kernel| &kernel.findings).collect();
            assert!(found.is_empty(), "{}: {found:#?}", small.name());
            assert_eq!(code.not_looked_at(), Vec::<String>::new(), "{}", small.name());
            let has_products = |kernel: &KernelCode| kernel.products.iter().any(|one| one.machine > Some(0));
            assert!(code.kernels.iter().any(has_products), "{}: {:#?}", small.name(), code.kernels);
        }
    }
}
