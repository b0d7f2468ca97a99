//! The driver's errors as diagnostics.

use cudarc::driver::DriverError;
use cudarc::driver::sys::CUresult;
use tc_support::{Diagnostic, Location};

/// Says what was tried when the driver answered with `error`.
pub(super) fn driver_error(what: &str, error: DriverError) -> Diagnostic {
    let name = |text: Result<&std::ffi::CStr, DriverError>| text.ok().map(|text| text.to_string_lossy().into_owned());
    let why = match (name(error.error_string()), name(error.error_name())) {
        (Some(text), Some(name)) => format!("{text} (`{name}`)"),
        _ => format!("{:?}", error.0),
    };
    let wrong = Diagnostic::error("cuda", Location::None, format!("{what}: {why}"));
    match advice(error.0) {
        Some(help) => wrong.help(help),
        None => wrong,
    }
}

fn advice(error: CUresult) -> Option<&'static str> {
    Some(match error {
        CUresult::CUDA_ERROR_NO_DEVICE => "no GPU is visible; see `nvidia-smi` and `CUDA_VISIBLE_DEVICES`",
        CUresult::CUDA_ERROR_STUB_LIBRARY => "the `libcuda.so` that was found is a stub for linking, not the driver",
        CUresult::CUDA_ERROR_OUT_OF_MEMORY => "the buffers do not fit the GPU's memory",
        CUresult::CUDA_ERROR_UNSUPPORTED_PTX_VERSION => "the driver is older than the compiler that made the PTX",
        CUresult::CUDA_ERROR_NO_BINARY_FOR_GPU => "the program was made for another target than this GPU",
        CUresult::CUDA_ERROR_NOT_FOUND => "the code has no function of that name: is it `extern \"C\"`?",
        CUresult::CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES => {
            "the block needs more registers than there are; use fewer threads"
        }
        CUresult::CUDA_ERROR_ILLEGAL_ADDRESS | CUresult::CUDA_ERROR_MISALIGNED_ADDRESS => {
            "run it on the device `sim`, which names the access; this process can use the GPU no further"
        }
        CUresult::CUDA_ERROR_LAUNCH_FAILED | CUresult::CUDA_ERROR_ILLEGAL_INSTRUCTION => {
            "this process can use the GPU no further"
        }
        _ => return None,
    })
}
