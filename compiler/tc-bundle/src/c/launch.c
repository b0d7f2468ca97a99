
/* The best code for a device of compute capability major.minor; -1 where there is none. The newest comes last. */
static int bundle_tc_code_for(int major, int minor) {
  int nth, best = -1;
  for (nth = 0; nth < BUNDLE_TC_N_CODES; ++nth) {
    const bundle_tc_code *code = &bundle_tc_codes[nth];
    if (code->major == major && (code->is_exact ? code->minor == minor : code->minor <= minor)) best = nth;
  }
  return best;
}

/* Finds the kernels of a module that was loaded, and gives them their shared memory. */
static bundle_status bundle_tc_find_kernels(bundle_tc_loaded *loaded) {
  const bundle_tc_driver *cuda = &bundle_tc_cuda;
  const bundle_tc_code *code = &bundle_tc_codes[loaded->code];
  size_t nth;
  for (nth = 0; nth < code->n_kernels; ++nth) {
    const bundle_tc_kernel *kernel = &code->kernels[nth];
    void **function = &loaded->functions[nth];
    int fixed = 0, error = cuda->function(function, loaded->module, kernel->name);
    if (error == 0) error = cuda->function_attribute(&fixed, BUNDLE_TC_STATIC_SHARED, *function);
    if (error == 0 && (unsigned int)fixed + kernel->dynamic_shared > BUNDLE_TC_FREE_SHARED) {
      error = cuda->set_function_attribute(*function, BUNDLE_TC_MAX_DYNAMIC_SHARED, (int)kernel->dynamic_shared);
    }
    if (error != 0) return bundle_tc_driver_error(BUNDLE_BAD_CODE, error, "cannot prepare the kernel ", kernel->name);
  }
  return BUNDLE_OK;
}

/* Loads the code into the current context, whose device is `device`; the mutex is held. */
static bundle_status bundle_tc_load_code(bundle_tc_loaded *loaded, int device) {
  const bundle_tc_driver *cuda = &bundle_tc_cuda;
  int major = 0, minor = 0;
  int error = cuda->device_attribute(&major, BUNDLE_TC_CAPABILITY_MAJOR, device);
  const void *image;
  void *read = NULL;
  bundle_status status;
  if (error == 0) error = cuda->device_attribute(&minor, BUNDLE_TC_CAPABILITY_MINOR, device);
  if (error != 0) return bundle_tc_driver_error(BUNDLE_CUDA_ERROR, error, "cannot ask the device what it is", "");
  loaded->code = bundle_tc_code_for(major, minor);
  if (loaded->code < 0) {
    return bundle_tc_fail(BUNDLE_NO_CODE, "there is no code for a device of compute capability %d.%d, only for %s", major,
                          minor, BUNDLE_TC_TARGETS);
  }
  status = bundle_tc_image(&bundle_tc_codes[loaded->code], &image, &read);
  if (status != BUNDLE_OK) return status;
  error = cuda->load_module(&loaded->module, image);
  free(read);
  if (error != 0) {
    const char *target = bundle_tc_codes[loaded->code].target;
    return bundle_tc_driver_error(BUNDLE_BAD_CODE, error, "the driver cannot load the code for ", target);
  }
  status = bundle_tc_find_kernels(loaded);
  if (status != BUNDLE_OK) cuda->unload_module(loaded->module);
  return status;
}

/* The context that is current in this thread, with the number that no other context ever has, where the driver tells it. */
static bundle_status bundle_tc_current(void **context, unsigned long long *id) {
  const bundle_tc_driver *cuda = &bundle_tc_cuda;
  if (cuda->context(context) != 0 || *context == NULL) {
    return bundle_tc_fail(BUNDLE_NO_CONTEXT, "no CUDA context is current in this thread");
  }
  *id = 0;
  if (cuda->context_id != NULL && cuda->context_id(*context, id) != 0) *id = 0;
  return BUNDLE_OK;
}

/* Where the record of a context is linked from; the mutex is held. */
static bundle_tc_loaded **bundle_tc_place(void *context, unsigned long long id) {
  bundle_tc_loaded **place = &bundle_tc_first;
  while (*place != NULL && ((*place)->context != context || (*place)->id != id)) place = &(*place)->next;
  return place;
}

/* The code in the current context, which is loaded where it is not yet; the mutex is held. */
static bundle_status bundle_tc_find_or_load(const bundle_tc_loaded **found) {
  void *context = NULL;
  unsigned long long id = 0;
  bundle_tc_loaded **place, *loaded;
  int device = 0, error;
  bundle_status status = bundle_tc_open_driver();
  if (status == BUNDLE_OK) status = bundle_tc_current(&context, &id);
  if (status != BUNDLE_OK) return status;
  place = bundle_tc_place(context, id);
  if (*place == NULL) {
    error = bundle_tc_cuda.device(&device);
    if (error != 0) return bundle_tc_driver_error(BUNDLE_CUDA_ERROR, error, "cannot ask for the device", "");
    loaded = (bundle_tc_loaded *)calloc(1, sizeof *loaded);
    if (loaded == NULL) return bundle_tc_fail(BUNDLE_NO_MEMORY, "there is no memory on the host");
    loaded->context = context;
    loaded->id = id;
    status = bundle_tc_load_code(loaded, device);
    if (status != BUNDLE_OK) {
      free(loaded);
      return status;
    }
    *place = loaded;
  }
  *found = *place;
  return BUNDLE_OK;
}

static bundle_status bundle_tc_get(const bundle_tc_loaded **found) {
  bundle_status status;
  pthread_mutex_lock(&bundle_tc_mutex);
  status = bundle_tc_find_or_load(found);
  pthread_mutex_unlock(&bundle_tc_mutex);
  return status;
}

bundle_status bundle_load(void) {
  const bundle_tc_loaded *found;
  return bundle_tc_get(&found);
}

bundle_status bundle_unload(void) {
  void *context = NULL;
  unsigned long long id = 0;
  bundle_tc_loaded **place, *loaded;
  bundle_status status;
  int error = 0;
  pthread_mutex_lock(&bundle_tc_mutex);
  status = bundle_tc_open_driver();
  if (status == BUNDLE_OK) status = bundle_tc_current(&context, &id);
  if (status == BUNDLE_OK) {
    place = bundle_tc_place(context, id);
    loaded = *place;
    if (loaded != NULL) {
      *place = loaded->next;
      error = bundle_tc_cuda.unload_module(loaded->module);
      free(loaded);
    }
    if (error != 0) status = bundle_tc_driver_error(BUNDLE_CUDA_ERROR, error, "cannot unload the code", "");
  }
  pthread_mutex_unlock(&bundle_tc_mutex);
  return status;
}

const char *bundle_message(void) { return bundle_tc_text; }

const char *bundle_status_text(bundle_status status) {
  switch (status) {
    case BUNDLE_OK: return "no error";
    case BUNDLE_NO_DRIVER: return "there is no CUDA driver";
    case BUNDLE_OLD_DRIVER: return "the CUDA driver is too old";
    case BUNDLE_NO_CONTEXT: return "no CUDA context is current";
    case BUNDLE_NO_CODE: return "there is no code for the device";
    case BUNDLE_BAD_CODE: return "the code cannot be loaded";
    case BUNDLE_BAD_SIZE: return "a size is not one that the function takes";
    case BUNDLE_OVERFLOW: return "a number that follows from the sizes does not fit";
    case BUNDLE_OVER_LIMIT: return "the sizes need more than the device allows";
    case BUNDLE_NULL_POINTER: return "a pointer is null";
    case BUNDLE_MISALIGNED: return "a pointer is not aligned";
    case BUNDLE_BAD_MAP: return "bulk copies cannot read a buffer of these sizes";
    case BUNDLE_SMALL_WORKSPACE: return "the workspace is too small";
    case BUNDLE_NO_MEMORY: return "there is no memory left";
    case BUNDLE_CUDA_ERROR: return "the CUDA driver reports an error";
    case BUNDLE_BAD_ARGUMENT: return "an argument is not one that the function takes";
  }
  return "unknown status";
}

/* ---- Launching -------------------------------------------------------------------------------------------------- */

/* All that follows from the sizes of a call. */
typedef struct {
  int is_launched[BUNDLE_TC_N_LAUNCHES];
  int64_t grid[BUNDLE_TC_N_LAUNCHES][3];
  uint64_t offsets[BUNDLE_TC_N_TEMPORARIES];
  uint64_t bytes[BUNDLE_TC_N_TEMPORARIES];
  int64_t extents[BUNDLE_TC_N_MAPS][5];
  uint64_t workspace; /* the bytes of all temporaries together */
} bundle_tc_plan;

/* A pointer of the caller's, to `bytes` bytes. */
BUNDLE_TC_MAYBE_UNUSED static bundle_status bundle_tc_check_pointer(const void *pointer, uint64_t bytes, uint64_t alignment, const char *name) {
  uint64_t address = (uint64_t)(uintptr_t)pointer;
  if (bytes == 0) return BUNDLE_OK;
  if (pointer == NULL) return bundle_tc_fail(BUNDLE_NULL_POINTER, "`%s` is null", name);
  if (address % alignment != 0) {
    return bundle_tc_fail(BUNDLE_MISALIGNED, "`%s` is at 0x%llx, which is no multiple of %llu", name,
                          (unsigned long long)address, (unsigned long long)alignment);
  }
  return BUNDLE_OK;
}

/* Is a grid, some of which may be 0, one that a device takes, with blocks in clusters? */
BUNDLE_TC_MAYBE_UNUSED static bundle_status bundle_tc_check_grid(const bundle_tc_kernel *kernel, const int64_t grid[3], int *is_launched) {
  static const int64_t most[3] = {2147483647, 65535, 65535};
  int dim;
  for (dim = 0; dim < 3; ++dim) {
    if (grid[dim] > most[dim]) {
      return bundle_tc_fail(BUNDLE_OVER_LIMIT, "the grid of `%s` has %lld blocks along %c, and a device allows %lld",
                            kernel->name, (long long)grid[dim], "xyz"[dim], (long long)most[dim]);
    }
    if (grid[dim] % kernel->cluster[dim] != 0) {
      return bundle_tc_fail(BUNDLE_OVER_LIMIT, "the grid of `%s` has %lld blocks along %c, which clusters of %u do not divide",
                            kernel->name, (long long)grid[dim], "xyz"[dim], kernel->cluster[dim]);
    }
    if (grid[dim] == 0) *is_launched = 0;
  }
  return BUNDLE_OK;
}

BUNDLE_TC_MAYBE_UNUSED static bundle_status bundle_tc_launch(const bundle_tc_kernel *kernel, void *function, const int64_t grid[3], void *stream,
                                      void **arguments) {
  const bundle_tc_driver *cuda = &bundle_tc_cuda;
  bundle_tc_attribute attributes[2];
  bundle_tc_config config;
  int dim, error;
  memset(attributes, 0, sizeof attributes);
  memset(&config, 0, sizeof config);
  for (dim = 0; dim < 3; ++dim) {
    config.grid[dim] = (unsigned int)grid[dim];
    config.block[dim] = kernel->block[dim];
  }
  config.dynamic_shared = kernel->dynamic_shared;
  config.stream = stream;
  if (kernel->cluster[0] != 1 || kernel->cluster[1] != 1 || kernel->cluster[2] != 1) {
    attributes[config.n_attributes].id = BUNDLE_TC_CLUSTER;
    for (dim = 0; dim < 3; ++dim) attributes[config.n_attributes].value.cluster[dim] = kernel->cluster[dim];
    config.n_attributes += 1;
  }
  if (kernel->overlaps) {
    attributes[config.n_attributes].id = BUNDLE_TC_OVERLAPS;
    attributes[config.n_attributes].value.overlaps = 1;
    config.n_attributes += 1;
  }
  if (config.n_attributes == 0) {
    error = cuda->launch(function, config.grid[0], config.grid[1], config.grid[2], config.block[0], config.block[1],
                         config.block[2], config.dynamic_shared, stream, arguments, NULL);
  } else if (cuda->launch_with == NULL) {
    return bundle_tc_fail(BUNDLE_OLD_DRIVER, "the CUDA driver has no `cuLaunchKernelEx`: it is older than CUDA 11.8");
  } else {
    config.attributes = attributes;
    error = cuda->launch_with(&config, function, arguments, NULL);
  }
  if (error != 0) return bundle_tc_driver_error(BUNDLE_CUDA_ERROR, error, "cannot launch the kernel ", kernel->name);
  return BUNDLE_OK;
}
