//! TVM FFI: the functions that it calls check their arguments, use the stream of the environment, and raise errors.

use crate::harness::{Made, Run, STRICT, code, done};
use std::path::{Path, PathBuf};
use std::process::Command;
use tc::bundles::Link;

const TEXT: &str = "
tir.func @fill<n: 1..100000>(A: f32[n], B: f32[n], x: f32, small: u8, flag: bool) attributes {noalias} {
  for bx in 0..(n + 127) / 128 bind(blockIdx.x) {
    for tx in 0..128 bind(threadIdx.x) {
      if bx * 128 + tx < n && flag {
        B[bx * 128 + tx] = A[bx * 128 + tx] + x + cast<f32>(small)
      }
    }
  }
}
";

const PROGRAM: &str = r#"
#include <tvm/ffi/c_api.h>
#include <tvm/ffi/extra/c_env_api.h>

int __tvm_ffi_fill(void *handle, const TVMFFIAny *args, int32_t n_args, TVMFFIAny *result);

void TVMFFIErrorSetRaisedFromCStr(const char *kind, const char *message) { printf("%s: %s\n", kind, message); }

TVMFFIStreamHandle TVMFFIEnvGetStream(int32_t device_type, int32_t device_id) {
  return device_type == kDLCUDA && device_id == 0 ? AT(64) : NULL;
}

static int64_t shape[2] = {5, 3}, strides[2] = {3, 1};
static DLTensor a, b;
static TVMFFIAny args[6];

/* Right arguments. */
static void reset(void) {
  DLTensor tensor = {AT(0x1000), {kDLCUDA, 0}, 2, {2, 32, 1}, shape, strides, 256};
  static struct {
    TVMFFIObject head;
    DLTensor tensor;
  } object;
  shape[0] = 5;
  shape[1] = 3;
  strides[0] = 3;
  strides[1] = 1;
  a = tensor;
  b = tensor;
  b.data = AT(0x2000);
  b.strides = NULL;
  object.tensor = b;
  memset(args, 0, sizeof args);
  args[0].type_index = kTVMFFIDLTensorPtr;
  args[0].v_ptr = &a;
  args[1].type_index = kTVMFFITensor;
  args[1].v_ptr = &object;
  args[2].type_index = kTVMFFIFloat;
  args[2].v_float64 = 1.5;
  args[3].type_index = kTVMFFIInt;
  args[3].v_int64 = 255;
  args[4].type_index = kTVMFFIBool;
  args[4].v_int64 = 1;
  args[5].type_index = kTVMFFIInt;
  args[5].v_int64 = 15;
}

static void call(int32_t n_args) {
  TVMFFIAny result;
  int status;
  memset(&result, 1, sizeof result);
  status = __tvm_ffi_fill(NULL, args, n_args, &result);
  if (status == 0) printf("ok %d %d\n", (int)result.type_index, (int)result.v_int64);
  reset();
}

int main(void) {
  reset();
  call(6);
  args[2].type_index = kTVMFFIInt;
  args[2].v_int64 = 2;
  call(6);
  call(5);
  args[0].type_index = kTVMFFIInt;
  call(6);
  a.dtype.bits = 16;
  call(6);
  a.device.device_type = kDLCPU;
  call(6);
  a.device.device_id = 1;
  call(6);
  args[5].v_int64 = 16;
  call(6);
  args[5].v_int64 = 0;
  call(6);
  strides[0] = 4;
  call(6);
  args[3].v_int64 = 256;
  call(6);
  args[2].type_index = kTVMFFINone;
  call(6);
  a.byte_offset = 4;
  call(6);
  return 0;
}
"#;

fn headers() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/c")
}

#[test]
fn functions_are_called_through_tvm_ffi() {
    let made = Made::new("k", vec![code(TEXT, "sm_80", "cuda", 1)], Link::Embedded);
    let include = format!("-I{}", headers().display());
    let program = made.program_with(&["-std=c11", "-DK_TVM_FFI", &include], PROGRAM);
    let (printed, log) = Run::on(&made, "8.0").run(&program);
    let want = [
        "ok 0 0",
        "ok 0 0",
        "TypeError: `fill` takes 6 arguments, and is given 5",
        "TypeError: `A` has to be a tensor",
        "ValueError: `A` has elements of type code 2 with 16 bits, and has to have code 2 with 32 bits",
        "ValueError: `A` is not on one GPU with the others",
        "ValueError: `B` is not on one GPU with the others",
        "ValueError: `A` has 60 bytes, and these sizes need 64",
        "ValueError: the size `n` is 0, and must be at least 1 and at most 99999",
        "ValueError: `A` is not contiguous",
        "ValueError: `small` is 256, which does not fit its type",
        "TypeError: `x` has to be a number",
        "RuntimeError: `A` is at 0x1004, which is no multiple of 16",
    ];
    assert_eq!(printed.lines().collect::<Vec<_>>(), want);
    let launches: Vec<&String> = log.iter().filter(|line| line.starts_with("launch")).collect();
    assert_eq!(launches.len(), 2);
    let args = "0x0000000000001100 0x0000000000002100 0x3fc00000 0xff 0x01 0x0000000f";
    assert!(launches[0].contains(" stream 64 ") && launches[0].ends_with(args), "{launches:?}");
}

#[test]
fn the_part_compiles_in_both_languages_without_a_warning() {
    let made = Made::new("k", vec![code(TEXT, "sm_80", "cuda", 1)], Link::Embedded);
    for (compiler, standard, language) in [("cc", "-std=c11", "c"), ("c++", "-std=c++17", "c++")] {
        let mut cc = Command::new(compiler);
        // TVM FFI's own headers have unions without a name, which C++ does not.
        cc.args(STRICT).args(["-Wno-pedantic", "-DK_TVM_FFI", standard, "-x", language, "-c", "-o", "/dev/null"]);
        done(cc.arg("-I").arg(headers()).arg(made.folder.join("k.c")));
    }
}
