
/* ---- Loading ---------------------------------------------------------------------------------------------------- */

/* One launch of a kernel. */
typedef struct {
  const char *name;
  unsigned int block[3];
  unsigned int cluster[3];
  unsigned int dynamic_shared;
  int overlaps;
} bundle_tc_kernel;

/* The code for one target. */
typedef struct {
  const char *target;
  int major;
  int minor;
  int is_exact; /* it runs on this compute capability only, not on those of greater minor number */
  size_t bytes;
  const void *image;
  const bundle_tc_kernel *kernels;
  size_t n_kernels;
} bundle_tc_code;

/* The code in one context. */
typedef struct bundle_tc_loaded {
  struct bundle_tc_loaded *next;
  void *context;
  unsigned long long id;
  int code;
  void *module;
  void *functions[BUNDLE_TC_N_KERNELS];
} bundle_tc_loaded;

static bundle_tc_loaded *bundle_tc_first;
