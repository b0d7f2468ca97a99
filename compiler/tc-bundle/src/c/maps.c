
/* ---- Tensor maps ------------------------------------------------------------------------------------------------ */

/* How bulk copies see a buffer. The box and its steps are innermost dimension first, as the driver takes them. */
typedef struct {
  const char *name;
  const char *buffer;
  int type; /* CUtensorMapDataType */
  int element_bytes;
  int rank;
  uint32_t box[5];
  uint32_t steps[5];
  int swizzle;   /* CUtensorMapSwizzle */
  int promotion; /* CUtensorMapL2promotion */
} bundle_tc_map;

/* What the driver fills in, and a kernel takes by value. All zeros, it is the map of a kernel that copies nothing by it. */
typedef struct {
  uint64_t words[16];
} __attribute__((aligned(64))) bundle_tc_made_map;

/* The strides of a dense tensor, innermost first, without that of the innermost dimension; `extents` are outermost first. */
static bundle_status bundle_tc_strides(const bundle_tc_map *map, const int64_t *extents, uint64_t *strides) {
  int64_t stride = map->element_bytes;
  int bad = 0, nth;
  for (nth = 0; nth + 1 < map->rank; ++nth) {
    stride = bundle_tc_product(&bad, stride, extents[map->rank - 1 - nth]);
    if (bad || stride % 16 != 0 || stride >= (int64_t)1 << 40) {
      return bundle_tc_fail(BUNDLE_BAD_MAP, "rows of `%s` are %lld bytes apart, and bulk copies take multiples of 16 below 2^40",
                            map->buffer, (long long)stride);
    }
    strides[nth] = (uint64_t)stride;
  }
  return BUNDLE_OK;
}

/* Is the tensor one that bulk copies take? It lies in a buffer of `bytes` bytes. */
static bundle_status bundle_tc_check_map(const bundle_tc_map *map, const int64_t *extents, uint64_t bytes) {
  uint64_t strides[5], taken = 0;
  int dim;
  bundle_status status;
  for (dim = 0; dim < map->rank; ++dim) {
    if (extents[dim] == 0) return BUNDLE_OK;
  }
  for (dim = 0; dim < map->rank; ++dim) {
    if (extents[dim] > 2147483632) {
      return bundle_tc_fail(BUNDLE_BAD_MAP, "an extent of the map `%s` is %lld, and the most is 2147483632", map->name,
                            (long long)extents[dim]);
    }
  }
  status = bundle_tc_bytes(&taken, map->element_bytes, extents, map->rank, map->name);
  if (status == BUNDLE_OK && taken > bytes) {
    return bundle_tc_fail(BUNDLE_BAD_MAP, "the map `%s` is of more than the %llu bytes of `%s`", map->name,
                          (unsigned long long)bytes, map->buffer);
  }
  return status == BUNDLE_OK ? bundle_tc_strides(map, extents, strides) : status;
}

/* Makes the map of a buffer at `address`. The driver makes none of an empty tensor, and no box of it is copied. */
static bundle_status bundle_tc_make_map(bundle_tc_made_map *made, const bundle_tc_map *map, const int64_t *extents,
                                        uint64_t address) {
  uint64_t dims[5] = {1, 1, 1, 1, 1}, strides[5] = {16, 16, 16, 16, 16};
  int nth, error;
  bundle_status status;
  for (nth = 0; nth < map->rank; ++nth) {
    if (extents[nth] == 0) return BUNDLE_OK;
    dims[nth] = (uint64_t)extents[map->rank - 1 - nth];
  }
  if (bundle_tc_cuda.encode == NULL) {
    return bundle_tc_fail(BUNDLE_OLD_DRIVER, "the CUDA driver has no `cuTensorMapEncodeTiled`: it is older than CUDA 12");
  }
  if (address % 16 != 0) {
    return bundle_tc_fail(BUNDLE_MISALIGNED, "the buffer `%s` is at 0x%llx, and bulk copies want a multiple of 16",
                          map->buffer, (unsigned long long)address);
  }
  status = bundle_tc_strides(map, extents, strides);
  if (status != BUNDLE_OK) return status;
  /* No interleave; what of a box lies outside of the tensor is zero. */
  error = bundle_tc_cuda.encode(made, map->type, (unsigned int)map->rank, (void *)(uintptr_t)address, dims, strides, map->box,
                                map->steps, 0, map->swizzle, map->promotion, 0);
  if (error != 0) return bundle_tc_driver_error(BUNDLE_BAD_MAP, error, "cannot make the tensor map ", map->name);
  return BUNDLE_OK;
}
