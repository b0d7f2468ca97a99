
/* ---- The CUDA driver -------------------------------------------------------------------------------------------- */

/* What is used of the driver's interface, as cuda.h of CUDA 12 declares it; its ABI does not change. The library is opened
   at run time, so that a program links, starts and reports where there is no driver. */

typedef struct {
  unsigned int id;
  unsigned int padding;
  union {
    char bytes[64];
    unsigned int cluster[3];
    int overlaps;
  } value;
} bundle_tc_attribute;

typedef struct {
  unsigned int grid[3];
  unsigned int block[3];
  unsigned int dynamic_shared;
  void *stream;
  bundle_tc_attribute *attributes;
  unsigned int n_attributes;
} bundle_tc_config;

enum {
  BUNDLE_TC_CAPABILITY_MAJOR = 75,  /* CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR */
  BUNDLE_TC_CAPABILITY_MINOR = 76,
  BUNDLE_TC_STATIC_SHARED = 1,      /* CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES */
  BUNDLE_TC_MAX_DYNAMIC_SHARED = 8, /* CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES */
  BUNDLE_TC_CLUSTER = 4,            /* CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION */
  BUNDLE_TC_OVERLAPS = 6,           /* CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION */
  BUNDLE_TC_OUT_OF_MEMORY = 2       /* CUDA_ERROR_OUT_OF_MEMORY */
};

/* Shared memory that a block may use without asking. */
#define BUNDLE_TC_FREE_SHARED 49152

typedef struct {
  int (*context)(void **context);
  int (*device)(int *device);
  int (*device_attribute)(int *value, int attribute, int device);
  int (*load_module)(void **module, const void *image);
  int (*unload_module)(void *module);
  int (*function)(void **function, void *module, const char *name);
  int (*function_attribute)(int *value, int attribute, void *function);
  int (*set_function_attribute)(void *function, int attribute, int value);
  int (*launch)(void *function, unsigned int grid_x, unsigned int grid_y, unsigned int grid_z, unsigned int block_x,
                unsigned int block_y, unsigned int block_z, unsigned int dynamic_shared, void *stream, void **arguments,
                void **extra);
  /* These may be absent from an old driver. */
  int (*error_name)(int error, const char **name);
  int (*error_text)(int error, const char **text);
  int (*context_id)(void *context, unsigned long long *id);
  int (*launch_with)(const bundle_tc_config *config, void *function, void **arguments, void **extra);
  int (*allocate)(unsigned long long *address, size_t bytes, void *stream);
  int (*release)(unsigned long long address, void *stream);
  int (*encode)(void *map, int type, unsigned int rank, void *address, const uint64_t *extents, const uint64_t *strides,
                const uint32_t *box, const uint32_t *steps, int interleave, int swizzle, int promotion, int fill);
} bundle_tc_driver;

/* Guards all that is static below, each message aside. */
static pthread_mutex_t bundle_tc_mutex = PTHREAD_MUTEX_INITIALIZER;
static bundle_tc_driver bundle_tc_cuda;
static int bundle_tc_is_open;

#if defined(__cplusplus)
#define BUNDLE_TC_THREAD_LOCAL thread_local
#elif defined(__STDC_VERSION__) && __STDC_VERSION__ >= 201112L
#define BUNDLE_TC_THREAD_LOCAL _Thread_local
#else
#define BUNDLE_TC_THREAD_LOCAL __thread
#endif

static BUNDLE_TC_THREAD_LOCAL char bundle_tc_text[512];

/* Keeps a message for `bundle_message`; gives `status`. */
static bundle_status bundle_tc_fail(bundle_status status, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(bundle_tc_text, sizeof bundle_tc_text, format, arguments);
  va_end(arguments);
  return status;
}

/* An error of the driver, while `doing` something to `what`. */
static bundle_status bundle_tc_driver_error(bundle_status status, int error, const char *doing, const char *what) {
  const char *name = NULL, *text = NULL;
  if (bundle_tc_cuda.error_name != NULL && bundle_tc_cuda.error_name(error, &name) != 0) name = NULL;
  if (bundle_tc_cuda.error_text != NULL && bundle_tc_cuda.error_text(error, &text) != 0) text = NULL;
  return bundle_tc_fail(status, "%s%s: CUDA error %d, %s: %s", doing, what, error, name != NULL ? name : "unknown",
                        text != NULL ? text : "unknown");
}

/* Stores the address of the entry point `name` in the pointer to a function at `place`; 0 where there is none. */
static int bundle_tc_entry(void *library, const char *name, void *place) {
  void *symbol = dlsym(library, name);
  memcpy(place, &symbol, sizeof symbol);
  return symbol != NULL;
}

/* Opens the driver; the mutex is held. It stays open: there is no state of it here but these addresses. */
static bundle_status bundle_tc_open_driver(void) {
  static const char *const required[] = {
      "cuCtxGetCurrent",     "cuCtxGetDevice",     "cuDeviceGetAttribute", "cuModuleLoadData", "cuModuleUnload",
      "cuModuleGetFunction", "cuFuncGetAttribute", "cuFuncSetAttribute",   "cuLaunchKernel"};
  bundle_tc_driver *cuda = &bundle_tc_cuda;
  void *places[9];
  void *library;
  size_t nth;
  if (bundle_tc_is_open) return BUNDLE_OK;
  library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
  if (library == NULL) {
    const char *why = dlerror();
    return bundle_tc_fail(BUNDLE_NO_DRIVER, "no CUDA driver: %s", why != NULL ? why : "libcuda.so.1 cannot be opened");
  }
  places[0] = &cuda->context;
  places[1] = &cuda->device;
  places[2] = &cuda->device_attribute;
  places[3] = &cuda->load_module;
  places[4] = &cuda->unload_module;
  places[5] = &cuda->function;
  places[6] = &cuda->function_attribute;
  places[7] = &cuda->set_function_attribute;
  places[8] = &cuda->launch;
  for (nth = 0; nth < sizeof places / sizeof *places; ++nth) {
    if (!bundle_tc_entry(library, required[nth], places[nth])) {
      return bundle_tc_fail(BUNDLE_OLD_DRIVER, "the CUDA driver has no `%s`: it is too old", required[nth]);
    }
  }
  (void)bundle_tc_entry(library, "cuGetErrorName", &cuda->error_name);
  (void)bundle_tc_entry(library, "cuGetErrorString", &cuda->error_text);
  (void)bundle_tc_entry(library, "cuCtxGetId", &cuda->context_id);
  (void)bundle_tc_entry(library, "cuLaunchKernelEx", &cuda->launch_with);
  (void)bundle_tc_entry(library, "cuMemAllocAsync", &cuda->allocate);
  (void)bundle_tc_entry(library, "cuMemFreeAsync", &cuda->release);
  (void)bundle_tc_entry(library, "cuTensorMapEncodeTiled", &cuda->encode);
  bundle_tc_is_open = 1;
  return BUNDLE_OK;
}
