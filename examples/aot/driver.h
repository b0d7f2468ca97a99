/* As much of the CUDA driver as the examples need, opened at run time. A program of yours includes cuda.h or cuda_runtime.h, and links
   CUDA; these build where neither is. */
#ifndef DRIVER_H
#define DRIVER_H

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What the examples exit with: right, wrong, and where there is no GPU to run on, or not one that they are for. */
enum { EXIT_RIGHT = 0, EXIT_WRONG = 1, EXIT_NO_GPU = 77 };

static void *driver_library;

/* Calls the entry point NAME, whose parameters have the types TYPES; any error ends the program. */
#define DRIVER(NAME, TYPES, ARGUMENTS)                                        \
  do {                                                                        \
    int (*driver_function) TYPES;                                             \
    void *driver_symbol = dlsym(driver_library, NAME);                        \
    int driver_error = 500;                                                   \
    memcpy(&driver_function, &driver_symbol, sizeof driver_symbol);           \
    if (driver_symbol != NULL) driver_error = driver_function ARGUMENTS;      \
    if (driver_error != 0) {                                                  \
      printf("%s failed with error %d\n", NAME, driver_error);                \
      exit(EXIT_WRONG);                                                       \
    }                                                                         \
  } while (0)

/* Makes the first GPU the one that this thread uses. Returns 0 where there is no driver. */
static int driver_begin(void) {
  int device;
  void *context;
  driver_library = dlopen("libcuda.so.1", RTLD_NOW);
  if (driver_library == NULL) return 0;
  DRIVER("cuInit", (unsigned int), (0));
  DRIVER("cuDeviceGet", (int *, int), (&device, 0));
  DRIVER("cuDevicePrimaryCtxRetain", (void **, int), (&context, device));
  DRIVER("cuCtxSetCurrent", (void *), (context));
  return 1;
}

/* Memory on the device; with a copy of `from` in it, if that is not NULL. */
static void *driver_memory(const void *from, size_t bytes) {
  unsigned long long address;
  DRIVER("cuMemAlloc_v2", (unsigned long long *, size_t), (&address, bytes));
  if (from != NULL) DRIVER("cuMemcpyHtoD_v2", (unsigned long long, const void *, size_t), (address, from, bytes));
  return (void *)(uintptr_t)address;
}

/* Waits for the kernels, and copies from the device. */
static void driver_read(void *to, const void *from, size_t bytes) {
  DRIVER("cuCtxSynchronize", (void), ());
  DRIVER("cuMemcpyDtoH_v2", (void *, unsigned long long, size_t), (to, (unsigned long long)(uintptr_t)from, bytes));
}

static void driver_free(void *address) {
  DRIVER("cuMemFree_v2", (unsigned long long), ((unsigned long long)(uintptr_t)address));
}

#endif
