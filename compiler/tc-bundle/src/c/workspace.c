
/* ---- Temporaries ------------------------------------------------------------------------------------------------ */

/* Puts a temporary of `bytes` bytes behind those before it. */
static bundle_status bundle_tc_put(bundle_tc_plan *plan, int nth, uint64_t bytes, uint64_t alignment, const char *name) {
  uint64_t most = (uint64_t)INT64_MAX, offset;
  if (alignment < BUNDLE_WORKSPACE_ALIGNMENT) alignment = BUNDLE_WORKSPACE_ALIGNMENT;
  offset = (plan->workspace + (alignment - 1)) / alignment * alignment;
  if (bytes > most || offset > most - bytes) {
    return bundle_tc_fail(BUNDLE_OVERFLOW, "the bytes of `%s` and the other temporaries do not fit 63 bits", name);
  }
  plan->offsets[nth] = offset;
  plan->bytes[nth] = bytes;
  plan->workspace = bytes == 0 ? plan->workspace : offset + bytes;
  return BUNDLE_OK;
}

/* Where the temporaries of a call are: in the caller's workspace, or in memory that the stream allocates. */
static bundle_status bundle_tc_reserve(const bundle_tc_plan *plan, int is_own, void *workspace, uint64_t bytes, void *stream,
                                       uint64_t *address) {
  unsigned long long made = 0;
  int error;
  *address = (uint64_t)(uintptr_t)workspace;
  if (plan->workspace == 0) return BUNDLE_OK;
  if (!is_own) {
    if (bytes < plan->workspace) {
      return bundle_tc_fail(BUNDLE_SMALL_WORKSPACE, "the workspace has %llu bytes, and the temporaries need %llu",
                            (unsigned long long)bytes, (unsigned long long)plan->workspace);
    }
    return bundle_tc_check_pointer(workspace, bytes, BUNDLE_WORKSPACE_ALIGNMENT, "workspace");
  }
  if (bundle_tc_cuda.allocate == NULL || bundle_tc_cuda.release == NULL) {
    return bundle_tc_fail(BUNDLE_OLD_DRIVER, "the CUDA driver has no `cuMemAllocAsync`: pass a workspace");
  }
  if (plan->workspace > SIZE_MAX) return bundle_tc_fail(BUNDLE_NO_MEMORY, "the temporaries do not fit the address space");
  error = bundle_tc_cuda.allocate(&made, (size_t)plan->workspace, stream);
  if (error != 0) {
    bundle_status status = error == BUNDLE_TC_OUT_OF_MEMORY ? BUNDLE_NO_MEMORY : BUNDLE_CUDA_ERROR;
    return bundle_tc_driver_error(status, error, "cannot allocate the temporaries", "");
  }
  if (made % BUNDLE_WORKSPACE_ALIGNMENT != 0) {
    (void)bundle_tc_cuda.release(made, stream);
    return bundle_tc_fail(BUNDLE_MISALIGNED, "the memory of the stream is at 0x%llx, which is no multiple of %d: pass a workspace",
                          made, BUNDLE_WORKSPACE_ALIGNMENT);
  }
  *address = made;
  return BUNDLE_OK;
}

/* Frees what was allocated, once the stream is done with it. An earlier error is the one that is reported. */
static bundle_status bundle_tc_release(const bundle_tc_plan *plan, int is_own, uint64_t address, void *stream,
                                       bundle_status status) {
  int error;
  if (!is_own || plan->workspace == 0) return status;
  error = bundle_tc_cuda.release(address, stream);
  if (error != 0 && status == BUNDLE_OK) {
    return bundle_tc_driver_error(BUNDLE_CUDA_ERROR, error, "cannot free the temporaries", "");
  }
  return status;
}
