//! The device that is a GPU. Where there is none, each test holds that this is said, and not a panic; with the variable
//! `TC_REQUIRE_GPU` set it fails instead.

use tc_runtime::device::{BenchOptions, BenchReport, Code, Device, Program, RunOptions};
use tc_runtime::{Array, CudaDevice, DType, Element, Fill, L2, compare, random};
use tc_target::{Access, Buffer, Feature, Kernel, KernelManifest, Param, Scalar, TensorMap};

const N: u64 = 1 << 16;
const BLOCK: u64 = 256;

/// `B = reverse(n * A)` by two kernels and a temporary; the second works in shared memory.
fn program(device: &CudaDevice, dynamic_shared: u64) -> Program {
    let source = r#"
extern "C" __global__ void scale(const float* A, float* T, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    T[i] = A[i] * n;
}
extern "C" __global__ void reverse(const float* T, float* B) {
    extern __shared__ float tile[];
    tile[threadIdx.x] = T[blockIdx.x * blockDim.x + threadIdx.x];
    __syncthreads();
    B[(gridDim.x - 1 - blockIdx.x) * blockDim.x + threadIdx.x] = tile[blockDim.x - 1 - threadIdx.x];
}
"#;
    let buffer = |name, access| Buffer::new(name, DType::F32, [N], access).expect("a small buffer");
    let kernel = |name: &str, args: &[&str], dynamic_shared| Kernel {
        name: name.into(),
        args: args.iter().map(|&arg| arg.into()).collect(),
        grid: [N / BLOCK, 1, 1],
        block: [BLOCK, 1, 1],
        cluster: [1, 1, 1],
        overlaps: false,
        dynamic_shared,
        static_shared: 0,
        when: None,
    };
    let target = device.target().expect("a GPU has one");
    Program {
        manifest: KernelManifest {
            function: "scaled_reverse".into(),
            target: target.name.into(),
            params: vec![
                Param::Buffer(buffer("A", Access::Read)),
                Param::Scalar(Scalar { name: "n".into(), dtype: DType::I32 }),
                Param::Buffer(buffer("B", Access::Write)),
            ],
            temporaries: vec![buffer("T", Access::ReadWrite)],
            maps: vec![],
            kernels: vec![kernel("scale", &["A", "T", "n"], 0), kernel("reverse", &["T", "B"], dynamic_shared)],
            sizes: vec![],
            formulas: vec![],
            facts: vec![],
        },
        target,
        code: Code::Cuda(source.into()),
    }
}

fn args() -> Vec<Array> {
    let mut a = Array::zeros(DType::F32, &[N]).expect("a small array");
    random::fill(&mut a, 1, 0, Fill::Uniform);
    vec![a, Array::scalar(DType::I32, Element::Int(-3)), Array::zeros(DType::F32, &[N]).expect("a small array")]
}

/// The first GPU, or nothing once its absence was reported as it should be.
fn device() -> Option<CudaDevice> {
    match CudaDevice::open(0) {
        Ok(device) => Some(device),
        Err(wrong) => {
            assert!(std::env::var_os("TC_REQUIRE_GPU").is_none(), "{wrong:?}");
            let is_absence = ["no-cuda-driver", "no-gpu", "cuda"].contains(&wrong.code);
            assert!(is_absence && wrong.is_error() && wrong.help.is_some(), "{wrong:?}");
            None
        }
    }
}

#[test]
fn two_kernels_and_a_temporary_give_the_result() {
    let Some(mut device) = device() else { return };
    // Above 48 KiB a kernel has to opt in.
    for dynamic_shared in [BLOCK * 4, 60_000] {
        let program = program(&device, dynamic_shared);
        let mut args = args();
        let report = device.run(&program, &mut args, &RunOptions::default()).unwrap();
        let expected: Vec<f64> = args[0].to_f64s().iter().rev().map(|value| value * -3.0).collect();
        let expected = Array::from_f64s(DType::F32, &[N], &expected).unwrap();
        assert!(compare(&args[2], &expected).unwrap().is_exact());
        assert_eq!(report.kernels.len(), 2);
        assert!(report.kernels[1].registers.is_some_and(|registers| registers > 0));
    }
}

#[test]
fn cells_that_no_thread_writes_are_seen() {
    let Some(mut device) = device() else { return };
    let mut program = program(&device, BLOCK * 4);
    program.manifest.kernels[1].grid = [1, 1, 1];
    let mut args = args();
    device.run(&program, &mut args, &RunOptions { poison: true }).unwrap();
    let n_unwritten = args[2].to_f64s().iter().filter(|value| value.is_nan()).count();
    assert_eq!(n_unwritten as u64, N - BLOCK);
}

#[test]
fn what_cannot_run_is_refused() {
    let Some(mut device) = device() else { return };
    let good = program(&device, BLOCK * 4);
    let mut refused = |change: fn(&mut Program)| {
        let mut program = good.clone();
        change(&mut program);
        device.run(&program, &mut args(), &RunOptions::default()).unwrap_err()
    };
    assert_eq!(refused(|program| program.manifest.kernels[0].block = [2048, 1, 1]).code, "over-limit");
    let missing = refused(|program| program.manifest.kernels[0].name = "scael".into());
    assert!(missing.message.starts_with("there is no kernel `scael` in the program: "), "{}", missing.message);
    assert_eq!(refused(|program| program.code = Code::Foreign(std::sync::Arc::new(3))).code, "wrong-code");
    assert_eq!(refused(|program| program.code = Code::Ptx("no PTX".into())).code, "cuda");
    // The device is as good as before.
    device.run(&good, &mut args(), &RunOptions::default()).unwrap();
}

/// A program of one block that brings a box of 2 x 3 x 8 numbers, from position 1, 2, 4 of a tensor of 2 x 4 x 8 on.
fn boxed(device: &CudaDevice) -> Program {
    let source = r#"
struct __align__(64) map_t { unsigned long long opaque[16]; };
extern "C" __global__ void bring(const float *A, float *B, const __grid_constant__ map_t M) {
  __shared__ __align__(128) float tile[48];
  __shared__ __align__(8) unsigned long long bar;
  const unsigned int to = __cvta_generic_to_shared(tile), at = __cvta_generic_to_shared(&bar);
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" :: "r"(at) : "memory");
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 192;" :: "r"(at) : "memory");
    asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5}], [%2];"
      :: "r"(to), "l"(&M), "r"(at), "r"(4), "r"(2), "r"(1) : "memory");
  }
  __syncthreads();
  unsigned int done;
  do {
    asm volatile("{\n.reg .pred p;\nmbarrier.try_wait.parity.shared::cta.b64 p, [%1], 0;\nselp.u32 %0, 1, 0, p;\n}"
      : "=r"(done) : "r"(at) : "memory");
  } while (done == 0);
  for (int i = threadIdx.x; i < 48; i += 32) B[i] = tile[i];
}
"#;
    let target = device.target().expect("a GPU has one");
    let buffer = |name, shape: &[u64], access| Buffer::new(name, DType::F32, shape, access).expect("a small buffer");
    Program {
        manifest: KernelManifest {
            function: "boxed".into(),
            target: target.name.into(),
            params: vec![
                Param::Buffer(buffer("A", &[2, 4, 8], Access::Read)),
                Param::Buffer(buffer("B", &[48], Access::Write)),
            ],
            temporaries: vec![],
            maps: vec![TensorMap {
                name: "M".into(),
                buffer: "A".into(),
                dtype: DType::F32,
                extents: vec![2, 4, 8],
                sides: vec![2, 3, 8],
                steps: vec![1, 1, 1],
                swizzle: 0,
                promotion: 128,
            }],
            kernels: vec![Kernel {
                name: "bring".into(),
                args: vec!["A".into(), "B".into(), "M".into()],
                grid: [1, 1, 1],
                block: [32, 1, 1],
                cluster: [1, 1, 1],
                overlaps: false,
                dynamic_shared: 0,
                static_shared: 200,
                when: None,
            }],
            sizes: vec![],
            formulas: vec![],
            facts: vec![],
        },
        target,
        code: Code::Cuda(source.into()),
    }
}

#[test]
fn a_box_at_the_border_of_its_tensor_is_filled_with_zeros() {
    let Some(mut device) = device() else { return };
    if !device.target().is_some_and(|target| target.has(Feature::Tma)) {
        return;
    }
    let program = boxed(&device);
    let numbers: Vec<f64> = (1..=64).map(f64::from).collect();
    let a = Array::from_f64s(DType::F32, &[2, 4, 8], &numbers).unwrap();
    let mut args = vec![a, Array::zeros(DType::F32, &[48]).unwrap()];
    device.run(&program, &mut args, &RunOptions { poison: true }).unwrap();
    let at = |nth: usize| {
        let (plane, row, column) = (nth / 24 + 1, nth / 8 % 3 + 2, nth % 8 + 4);
        if plane < 2 && row < 4 && column < 8 { numbers[plane * 32 + row * 8 + column] } else { 0.0 }
    };
    assert_eq!(args[1].to_f64s(), (0..48).map(at).collect::<Vec<f64>>());
}

#[test]
fn times_are_measured_with_the_cache_kept_and_flushed() {
    let Some(mut device) = device() else { return };
    let program = program(&device, BLOCK * 4);
    for l2 in [L2::Kept, L2::Flushed, L2::Rotated] {
        let options = BenchOptions { l2, repetitions: 20, ..BenchOptions::default() };
        let BenchReport { timing, clocks, kernels } = device.bench(&program, &args(), &options).unwrap();
        assert_eq!(kernels.len(), 2);
        assert_eq!((kernels[1].local_bytes, kernels[1].dynamic_shared), (Some(0), Some(BLOCK * 4)));
        assert!(kernels[1].registers.is_some_and(|registers| registers > 0));
        // A batch takes 20 ms, whatever the number of its samples.
        assert!(timing.n >= 20 && timing.l2 == l2, "{timing}");
        if let Some(clocks) = clocks {
            assert!(clocks.sm_mhz.is_some_and(|clock| clock > 100), "{clocks:?}");
        }
        assert!(timing.low_us > 0.5 && timing.low_us <= timing.median_us && timing.median_us <= timing.high_us);
        // Two kernels of a few microseconds.
        assert!(timing.median_us < 1000.0, "{timing}");
        assert_eq!(timing.launches_per_replay > 1, l2 != L2::Flushed);
    }
}

#[test]
fn a_gpu_that_is_not_there_is_no_panic() {
    let wrong = CudaDevice::open(4096).err().unwrap();
    assert!(["no-gpu", "no-cuda-driver", "cuda"].contains(&wrong.code), "{wrong:?}");
    if wrong.code == "no-cuda-driver" {
        assert_eq!(wrong.message, "no CUDA driver found: `libcuda.so` could not be opened");
    }
}
