/* As much of the C interface of TVM FFI 0.1 and of DLPack 1 as a bundle uses, for tests: the headers of the package `apache-tvm-ffi`
   declare the same, and are not there on every machine. */
#ifndef TVM_FFI_C_API_H_
#define TVM_FFI_C_API_H_

#include <stdint.h>

typedef enum { kDLCPU = 1, kDLCUDA = 2 } DLDeviceType;

typedef struct {
  DLDeviceType device_type;
  int32_t device_id;
} DLDevice;

typedef struct {
  uint8_t code;
  uint8_t bits;
  uint16_t lanes;
} DLDataType;

typedef struct {
  void *data;
  DLDevice device;
  int32_t ndim;
  DLDataType dtype;
  int64_t *shape;
  int64_t *strides;
  uint64_t byte_offset;
} DLTensor;

enum {
  kTVMFFINone = 0,
  kTVMFFIInt = 1,
  kTVMFFIBool = 2,
  kTVMFFIFloat = 3,
  kTVMFFIDLTensorPtr = 7,
  kTVMFFITensor = 70
};

typedef struct {
  uint64_t combined_ref_count;
  int32_t type_index;
  uint32_t padding;
  void (*deleter)(void *self, int flags);
} TVMFFIObject;

typedef struct {
  int32_t type_index;
  union {
    uint32_t zero_padding;
    uint32_t small_str_len;
  };
  union {
    int64_t v_int64;
    double v_float64;
    void *v_ptr;
  };
} TVMFFIAny;

void TVMFFIErrorSetRaisedFromCStr(const char *kind, const char *message);

#endif
