
/* ---- TVM FFI ---------------------------------------------------------------------------------------------------- */

#ifdef BUNDLE_TVM_FFI
/* A function of the program is called with its buffers as tensors on the device, its values, and its sizes as integers, in this
   order. It uses the stream that the environment of TVM FFI has for the device of the tensors, which is that of the current
   context. */

#include <tvm/ffi/c_api.h>
#include <tvm/ffi/extra/c_env_api.h>

#ifdef __cplusplus
#define BUNDLE_TC_FFI_EXPORT extern "C" __attribute__((visibility("default")))
#else
#define BUNDLE_TC_FFI_EXPORT __attribute__((visibility("default")))
#endif

#define BUNDLE_TC_FFI_TRY(call)      \
  do {                               \
    if ((call) != 0) return -1;      \
  } while (0)

/* Raises what `bundle_message` says, as an error of a kind that TVM FFI knows by its name. */
static int bundle_tc_ffi_raise(bundle_status status) {
  const char *kind = status == BUNDLE_BAD_ARGUMENT || status == BUNDLE_BAD_SIZE ? "ValueError" : "RuntimeError";
  TVMFFIErrorSetRaisedFromCStr(kind, bundle_message());
  return -1;
}

static int bundle_tc_ffi_count(int32_t have, int32_t want, const char *function) {
  if (have == want) return 0;
  (void)bundle_tc_fail(BUNDLE_BAD_ARGUMENT, "`%s` takes %d arguments, and is given %d", function, (int)want, (int)have);
  TVMFFIErrorSetRaisedFromCStr("TypeError", bundle_message());
  return -1;
}

static int bundle_tc_ffi_type_error(const char *name, const char *what) {
  (void)bundle_tc_fail(BUNDLE_BAD_ARGUMENT, "`%s` has to be %s", name, what);
  TVMFFIErrorSetRaisedFromCStr("TypeError", bundle_message());
  return -1;
}

/* An integer from `low` to `high`. */
BUNDLE_TC_MAYBE_UNUSED static int bundle_tc_ffi_int(const TVMFFIAny *arg, int64_t low, int64_t high, int64_t *value,
                                                    const char *name) {
  if (arg->type_index != kTVMFFIInt && arg->type_index != kTVMFFIBool) return bundle_tc_ffi_type_error(name, "an integer");
  *value = arg->v_int64;
  if (*value >= low && *value <= high) return 0;
  return bundle_tc_ffi_raise(bundle_tc_fail(BUNDLE_BAD_ARGUMENT, "`%s` is %lld, which does not fit its type", name,
                                            (long long)*value));
}

BUNDLE_TC_MAYBE_UNUSED static int bundle_tc_ffi_float(const TVMFFIAny *arg, double *value, const char *name) {
  if (arg->type_index == kTVMFFIFloat) {
    *value = arg->v_float64;
  } else if (arg->type_index == kTVMFFIInt) {
    *value = (double)arg->v_int64;
  } else {
    return bundle_tc_ffi_type_error(name, "a number");
  }
  return 0;
}

/* The address of a tensor of `bytes` bytes, dense, on a device that `device` holds or, where it holds -1, is given. */
BUNDLE_TC_MAYBE_UNUSED static int bundle_tc_ffi_buffer(const TVMFFIAny *arg, int code, int bits, uint64_t bytes, int *device,
                                                       void **address, const char *name) {
  const DLTensor *tensor;
  int64_t stride = 1;
  uint64_t has = 0;
  int nth;
  if (arg->type_index == kTVMFFIDLTensorPtr) {
    tensor = (const DLTensor *)arg->v_ptr;
  } else if (arg->type_index == kTVMFFITensor) {
    tensor = (const DLTensor *)(const void *)((const char *)arg->v_ptr + sizeof(TVMFFIObject));
  } else {
    return bundle_tc_ffi_type_error(name, "a tensor");
  }
  if (tensor->dtype.code != code || tensor->dtype.bits != bits || tensor->dtype.lanes != 1) {
    (void)bundle_tc_fail(BUNDLE_BAD_ARGUMENT, "`%s` has elements of type code %d with %d bits, and has to have code %d with %d bits",
                         name, (int)tensor->dtype.code, (int)tensor->dtype.bits, code, bits);
    return bundle_tc_ffi_raise(BUNDLE_BAD_ARGUMENT);
  }
  if (tensor->device.device_type != kDLCUDA || (*device >= 0 && tensor->device.device_id != *device)) {
    return bundle_tc_ffi_raise(bundle_tc_fail(BUNDLE_BAD_ARGUMENT, "`%s` is not on one GPU with the others", name));
  }
  *device = tensor->device.device_id;
  for (nth = 0; nth < tensor->ndim; ++nth) {
    if (tensor->shape[nth] < 0) {
      return bundle_tc_ffi_raise(bundle_tc_fail(BUNDLE_BAD_ARGUMENT, "`%s` has a negative extent", name));
    }
  }
  if (bundle_tc_bytes(&has, bits / 8, tensor->shape, tensor->ndim, name) != BUNDLE_OK) {
    return bundle_tc_ffi_raise(BUNDLE_BAD_ARGUMENT);
  }
  if (has != bytes) {
    (void)bundle_tc_fail(BUNDLE_BAD_ARGUMENT, "`%s` has %llu bytes, and these sizes need %llu", name, (unsigned long long)has,
                         (unsigned long long)bytes);
    return bundle_tc_ffi_raise(BUNDLE_BAD_ARGUMENT);
  }
  for (nth = tensor->ndim - 1; nth >= 0 && tensor->strides != NULL && bytes > 0; --nth) {
    if (tensor->shape[nth] != 1 && tensor->strides[nth] != stride) {
      return bundle_tc_ffi_raise(bundle_tc_fail(BUNDLE_BAD_ARGUMENT, "`%s` is not contiguous", name));
    }
    stride *= tensor->shape[nth];
  }
  *address = (void *)((char *)tensor->data + tensor->byte_offset);
  return 0;
}

/* The stream to use. The device of the tensors, if there are any, has to be that of the current context. */
static int bundle_tc_ffi_stream(int device, void **stream) {
  const bundle_tc_loaded *loaded;
  int current = 0;
  bundle_status status = bundle_tc_get(&loaded);
  if (status != BUNDLE_OK) return bundle_tc_ffi_raise(status);
  if (bundle_tc_cuda.device(&current) != 0 || (device >= 0 && device != current)) {
    return bundle_tc_ffi_raise(bundle_tc_fail(BUNDLE_BAD_ARGUMENT, "the tensors are on GPU %d, and the current context on %d",
                                              device, current));
  }
  *stream = TVMFFIEnvGetStream(kDLCUDA, current);
  return 0;
}

static int bundle_tc_ffi_end(bundle_status status, TVMFFIAny *result) {
  if (status != BUNDLE_OK) return bundle_tc_ffi_raise(status);
  result->type_index = kTVMFFINone;
  result->zero_padding = 0;
  result->v_int64 = 0;
  return 0;
}
