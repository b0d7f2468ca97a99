/* A CUDA driver for tests: it has no device, and writes down what it is asked to do, as text, into the file that
   FAKE_CUDA_LOG names.

   FAKE_CUDA_KERNELS holds a line for each kernel: its name, and the bytes of each of its parameters. FAKE_CUDA_CAPABILITY is
   `major.minor` of its device. FAKE_CUDA_FAIL names an entry point that reports an error. Compiled with WITHOUT_LAUNCH_EX,
   WITHOUT_POOLS or WITHOUT_MAPS it is as old as drivers without these. */

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_KERNELS = 64, MAX_PARAMETERS = 32, ERROR = 999 };

typedef struct {
  char name[128];
  int n_parameters;
  int bytes[MAX_PARAMETERS];
} kernel;

typedef struct {
  unsigned int id, padding;
  union {
    char bytes[64];
    unsigned int cluster[3];
    int overlaps;
  } value;
} attribute;

typedef struct {
  unsigned int grid[3], block[3], dynamic_shared;
  void *stream;
  attribute *attributes;
  unsigned int n_attributes;
} config;

static kernel kernels[MAX_KERNELS];
static int n_kernels;
static int context, module;
static unsigned long long n_contexts = 1;
static int is_current = 1;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static int fails(const char *entry) {
  const char *which = getenv("FAKE_CUDA_FAIL");
  return which != NULL && strcmp(which, entry) == 0;
}

static FILE *log_file(void) {
  const char *path = getenv("FAKE_CUDA_LOG");
  FILE *file = path != NULL ? fopen(path, "a") : NULL;
  return file != NULL ? file : stderr;
}

static void end_line(FILE *file) {
  fputc('\n', file);
  if (file != stderr) fclose(file);
}

static void note(const char *text) {
  FILE *file = log_file();
  fputs(text, file);
  end_line(file);
}

/* For tests: contexts come and go. */
void fake_set_current(int yes) { is_current = yes; }
void fake_new_context(void) { n_contexts += 1; }

int cuCtxGetCurrent(void **current) {
  *current = is_current ? &context : NULL;
  return fails("cuCtxGetCurrent") ? ERROR : 0;
}

int cuCtxGetId(void *of, unsigned long long *id) {
  (void)of;
  *id = n_contexts;
  return 0;
}

int cuCtxGetDevice(int *device) {
  *device = 0;
  return fails("cuCtxGetDevice") ? ERROR : 0;
}

int cuDeviceGetAttribute(int *value, int which, int device) {
  const char *capability = getenv("FAKE_CUDA_CAPABILITY");
  int major = 9, minor = 0;
  (void)device;
  if (capability != NULL) sscanf(capability, "%d.%d", &major, &minor);
  if (which != 75 && which != 76) return 1;
  *value = which == 75 ? major : minor;
  return 0;
}

int cuModuleLoadData(void **loaded, const void *image) {
  static const char elf[4] = {0x7f, 'E', 'L', 'F'};
  char line[64];
  if (fails("cuModuleLoadData") || memcmp(image, elf, 4) != 0) return 200;
  /* Tests put a number behind the sign of an ELF file. */
  snprintf(line, sizeof line, "load %d", ((const unsigned char *)image)[4]);
  note(line);
  *loaded = &module;
  return 0;
}

int cuModuleUnload(void *of) {
  (void)of;
  note("unload");
  return 0;
}

static void read_kernels(void) {
  const char *text = getenv("FAKE_CUDA_KERNELS");
  n_kernels = 0;
  while (text != NULL && *text != '\0' && n_kernels < MAX_KERNELS) {
    kernel *one = &kernels[n_kernels];
    int length = 0, bytes;
    if (sscanf(text, "%127s%n", one->name, &length) != 1) return;
    text += length;
    one->n_parameters = 0;
    while (*text == ' ' && sscanf(text, "%d%n", &bytes, &length) == 1) {
      one->bytes[one->n_parameters++] = bytes;
      text += length;
    }
    while (*text == '\n') ++text;
    ++n_kernels;
  }
}

int cuModuleGetFunction(void **function, void *of, const char *name) {
  int nth, error = 500;
  (void)of;
  pthread_mutex_lock(&mutex);
  if (n_kernels == 0) read_kernels();
  for (nth = 0; nth < n_kernels; ++nth) {
    if (strcmp(kernels[nth].name, name) == 0) {
      *function = &kernels[nth];
      error = 0;
    }
  }
  pthread_mutex_unlock(&mutex);
  return error;
}

int cuFuncGetAttribute(int *value, int which, void *function) {
  (void)function;
  *value = which == 1 ? 1024 : 0;
  return 0;
}

int cuFuncSetAttribute(void *function, int which, int value) {
  FILE *file = log_file();
  fprintf(file, "attribute %s %d = %d", ((kernel *)function)->name, which, value);
  end_line(file);
  return fails("cuFuncSetAttribute") ? ERROR : 0;
}

static int launch(void *function, const unsigned int *grid, const unsigned int *block, unsigned int shared, void *stream,
                  void **arguments, const attribute *attributes, unsigned int n_attributes) {
  const kernel *one = (const kernel *)function;
  FILE *file = log_file();
  int nth, byte;
  fprintf(file, "launch %s grid %u %u %u block %u %u %u shared %u stream %llu", one->name, grid[0], grid[1], grid[2], block[0],
          block[1], block[2], shared, (unsigned long long)(uintptr_t)stream);
  for (nth = 0; nth < (int)n_attributes; ++nth) {
    const attribute *it = &attributes[nth];
    if (it->id == 4) fprintf(file, " cluster %u %u %u", it->value.cluster[0], it->value.cluster[1], it->value.cluster[2]);
    else if (it->id == 6) fprintf(file, " overlaps %d", it->value.overlaps);
    else fprintf(file, " attribute %u", it->id);
  }
  fputs(" args", file);
  for (nth = 0; nth < one->n_parameters; ++nth) {
    const unsigned char *bytes = (const unsigned char *)arguments[nth];
    if (one->bytes[nth] == 128) {
      uint64_t number;
      memcpy(&number, bytes, sizeof number);
      fprintf(file, " map#%llu%s", (unsigned long long)number, (uintptr_t)bytes % 64 == 0 ? "" : "-misaligned");
      continue;
    }
    fputs(" 0x", file);
    for (byte = one->bytes[nth] - 1; byte >= 0; --byte) fprintf(file, "%02x", bytes[byte]);
  }
  end_line(file);
  return fails("cuLaunchKernel") ? ERROR : 0;
}

int cuLaunchKernel(void *function, unsigned int grid_x, unsigned int grid_y, unsigned int grid_z, unsigned int block_x,
                   unsigned int block_y, unsigned int block_z, unsigned int shared, void *stream, void **arguments,
                   void **extra) {
  const unsigned int grid[3] = {grid_x, grid_y, grid_z}, block[3] = {block_x, block_y, block_z};
  if (extra != NULL) return 1;
  return launch(function, grid, block, shared, stream, arguments, NULL, 0);
}

#ifndef WITHOUT_LAUNCH_EX
int cuLaunchKernelEx(const config *how, void *function, void **arguments, void **extra) {
  if (extra != NULL) return 1;
  return launch(function, how->grid, how->block, how->dynamic_shared, how->stream, arguments, how->attributes,
                how->n_attributes);
}
#endif

#ifndef WITHOUT_POOLS
int cuMemAllocAsync(unsigned long long *address, size_t bytes, void *stream) {
  FILE *file = log_file();
  *address = 0x700000000000ull;
  fprintf(file, "allocate %llu stream %llu at 0x%llx", (unsigned long long)bytes, (unsigned long long)(uintptr_t)stream,
          *address);
  end_line(file);
  return fails("cuMemAllocAsync") ? 2 : 0;
}

int cuMemFreeAsync(unsigned long long address, void *stream) {
  FILE *file = log_file();
  fprintf(file, "free 0x%llx stream %llu", address, (unsigned long long)(uintptr_t)stream);
  end_line(file);
  return fails("cuMemFreeAsync") ? ERROR : 0;
}
#endif

#ifndef WITHOUT_MAPS
int cuTensorMapEncodeTiled(void *made, int type, unsigned int rank, void *address, const uint64_t *extents,
                           const uint64_t *strides, const uint32_t *box, const uint32_t *steps, int interleave, int swizzle,
                           int promotion, int fill) {
  static int n_maps;
  FILE *file = log_file();
  uint64_t number;
  unsigned int nth;
  memset(made, 0, 128);
  number = (uint64_t)++n_maps;
  memcpy(made, &number, sizeof number);
  fprintf(file, "map#%d type %d at 0x%llx extents", n_maps, type, (unsigned long long)(uintptr_t)address);
  for (nth = 0; nth < rank; ++nth) fprintf(file, " %llu", (unsigned long long)extents[nth]);
  fputs(" strides", file);
  for (nth = 0; nth + 1 < rank; ++nth) fprintf(file, " %llu", (unsigned long long)strides[nth]);
  fputs(" box", file);
  for (nth = 0; nth < rank; ++nth) fprintf(file, " %u", box[nth]);
  fputs(" steps", file);
  for (nth = 0; nth < rank; ++nth) fprintf(file, " %u", steps[nth]);
  fprintf(file, " interleave %d swizzle %d promotion %d fill %d", interleave, swizzle, promotion, fill);
  end_line(file);
  return fails("cuTensorMapEncodeTiled") ? 1 : 0;
}
#endif

int cuGetErrorName(int error, const char **name) {
  *name = error == 2 ? "CUDA_ERROR_OUT_OF_MEMORY" : "CUDA_ERROR_OF_TESTS";
  return 0;
}

int cuGetErrorString(int error, const char **text) {
  *text = error == 2 ? "out of memory" : "as a test wishes";
  return 0;
}
