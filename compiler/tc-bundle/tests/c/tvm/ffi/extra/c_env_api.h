/* As much of the environment of TVM FFI as a bundle uses, for tests. */
#ifndef TVM_FFI_EXTRA_C_ENV_API_H_
#define TVM_FFI_EXTRA_C_ENV_API_H_

#include <stdint.h>

typedef void *TVMFFIStreamHandle;

TVMFFIStreamHandle TVMFFIEnvGetStream(int32_t device_type, int32_t device_id);

#endif
