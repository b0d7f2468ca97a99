//! The device that is a GPU. Where there is none, each test holds that this is said, and not a panic; with the variable
//! `TC_REQUIRE_GPU` set it fails instead.

use tc_runtime::device::{BenchOptions, BenchReport, Code, Device, Program, RunOptions};
use tc_runtime::{Array, CudaDevice, DType, Element, Fill, L2, compare, random};
use tc_target::{Access, Buffer, Kernel, KernelManifest, Param, Scalar};

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
