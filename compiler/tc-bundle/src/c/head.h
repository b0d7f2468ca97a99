#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What became of a call. The numbers are the same in every bundle, and stay. */
typedef enum {
  BUNDLE_OK = 0,
  BUNDLE_NO_DRIVER = 1, /* libcuda.so.1 cannot be opened */
  BUNDLE_OLD_DRIVER = 2, /* the driver lacks an entry point */
  BUNDLE_NO_CONTEXT = 3, /* no CUDA context is current in this thread */
  BUNDLE_NO_CODE = 4, /* there is no code for the compute capability of the device */
  BUNDLE_BAD_CODE = 5, /* the code cannot be read, or the driver does not take it */
  BUNDLE_BAD_SIZE = 6, /* a size is outside of its range, or what the program says of sizes does not hold */
  BUNDLE_OVERFLOW = 7, /* a number that follows from the sizes does not fit */
  BUNDLE_OVER_LIMIT = 8, /* a grid is greater than a device allows */
  BUNDLE_NULL_POINTER = 9, /* a buffer that is not empty is at no address */
  BUNDLE_MISALIGNED = 10, /* a buffer is at no multiple of its alignment */
  BUNDLE_BAD_MAP = 11, /* bulk copies cannot read a buffer of these sizes */
  BUNDLE_SMALL_WORKSPACE = 12, /* the workspace has fewer bytes than the temporaries */
  BUNDLE_NO_MEMORY = 13, /* there is no memory left, on the device or on the host */
  BUNDLE_CUDA_ERROR = 14, /* the driver reports an error */
  BUNDLE_BAD_ARGUMENT = 15 /* an argument is none of those that the function takes */
} bundle_status;

/* What a status means. */
const char *bundle_status_text(bundle_status status);

/* What the last call of this bundle in this thread that failed says of it, with names and numbers; empty where none failed.
   The text is valid until the next call that fails in this thread. */
const char *bundle_message(void);

/* Loads the code into the current context of this thread. The first call of a function in a context does so, too; in a graph
   that is captured, nothing may be loaded, so call this before. */
bundle_status bundle_load(void);

/* Unloads it from the current context, which must have no kernel of it left to run, in any thread. Call this before a
   context is destroyed. */
bundle_status bundle_unload(void);
