/* Calls a bundle that tc made of kernels.tir, checks what comes out, prints `ok`.

     tc-opt kernels.tir --emit=bundle --pass-pipeline='cuda{schedule=threads}' --targets=sm_80,sm_90 -o bundle
     cc -I bundle main.c bundle/kernels.c -o main -ldl -lpthread

   It exits with 0 where all is right, with 1 where something is wrong, with 77 where there is no CUDA driver. */
#include "driver.h"
#include "kernels.h"

#include <math.h>

/* Any status but KERNELS_OK ends the program, with what the bundle says. */
static void check(kernels_status status, const char *what) {
  if (status == KERNELS_OK) return;
  printf("%s: %s (%s)\n", what, kernels_message(), kernels_status_text(status));
  exit(status == KERNELS_NO_DRIVER ? EXIT_NO_GPU : EXIT_WRONG);
}

/* An array of small numbers, whose sums and products are exact. */
static float *numbers(size_t n) {
  float *list = malloc(n * sizeof *list);
  size_t nth;
  if (list == NULL) exit(EXIT_WRONG);
  for (nth = 0; nth < n; ++nth) list[nth] = (float)(nth * 7 % 13 + 1);
  return list;
}

/* C = A B for these sizes, on the device and here. */
static void matmul(size_t m, size_t n, size_t k) {
  float *a = numbers(m * k), *b = numbers(k * n), *c = numbers(m * n);
  size_t i, j, r;
  uint64_t bytes[3];
  void *on_device[3];
  check(kernels_matmul_bytes((int64_t)m, (int64_t)n, (int64_t)k, bytes), "kernels_matmul_bytes");
  on_device[0] = driver_memory(a, bytes[0]);
  on_device[1] = driver_memory(b, bytes[1]);
  on_device[2] = driver_memory(NULL, bytes[2]);
  check(kernels_matmul(NULL, on_device[0], on_device[1], on_device[2], (int64_t)m, (int64_t)n, (int64_t)k), "kernels_matmul");
  driver_read(c, on_device[2], bytes[2]);
  for (i = 0; i < m; ++i) {
    for (j = 0; j < n; ++j) {
      float want = 0;
      for (r = 0; r < k; ++r) want += a[i * k + r] * b[r * n + j];
      if (c[i * n + j] != want) {
        printf("matmul: element %zu, %zu is %g, not %g\n", i, j, (double)c[i * n + j], (double)want);
        exit(EXIT_WRONG);
      }
    }
  }
  for (i = 0; i < 3; ++i) driver_free(on_device[i]);
  free(a);
  free(b);
  free(c);
}

/* The share of each number in the sum of its row. The temporary, a sum for each row, is in `workspace`, or in memory of the stream's. */
static void shares(size_t m, size_t n, int has_workspace) {
  float *a = numbers(m * n), *b = numbers(m * n);
  size_t bytes = m * n * sizeof *a, i, j;
  void *on_device[2];
  on_device[0] = driver_memory(a, bytes);
  on_device[1] = driver_memory(NULL, bytes);
  if (has_workspace) {
    uint64_t workspace_bytes;
    void *workspace;
    check(kernels_shares_workspace((int64_t)m, (int64_t)n, &workspace_bytes), "kernels_shares_workspace");
    workspace = driver_memory(NULL, workspace_bytes);
    check(kernels_shares_in(NULL, workspace, workspace_bytes, on_device[0], on_device[1], (int64_t)m, (int64_t)n), "kernels_shares_in");
    driver_read(b, on_device[1], bytes);
    driver_free(workspace);
  } else {
    check(kernels_shares(NULL, on_device[0], on_device[1], (int64_t)m, (int64_t)n), "kernels_shares");
    driver_read(b, on_device[1], bytes);
  }
  for (i = 0; i < m; ++i) {
    float sum = 0;
    for (j = 0; j < n; ++j) sum += a[i * n + j];
    for (j = 0; j < n; ++j) {
      float want = a[i * n + j] / sum;
      if (fabsf(b[i * n + j] - want) > 1e-6f * want) {
        printf("shares: element %zu, %zu is %g, not %g\n", i, j, (double)b[i * n + j], (double)want);
        exit(EXIT_WRONG);
      }
    }
  }
  for (i = 0; i < 2; ++i) driver_free(on_device[i]);
  free(a);
  free(b);
}

/* The same, captured into a graph, which runs twice: temporaries become nodes of it. */
static void shares_in_a_graph(size_t m, size_t n) {
  float *a = numbers(m * n), *b = numbers(m * n);
  size_t bytes = m * n * sizeof *a, i, j;
  void *stream, *graph, *made, *on_device[2];
  on_device[0] = driver_memory(a, bytes);
  on_device[1] = driver_memory(NULL, bytes);
  DRIVER("cuStreamCreate", (void **, unsigned int), (&stream, 0));
  DRIVER("cuStreamBeginCapture_v2", (void *, int), (stream, 0));
  check(kernels_shares(stream, on_device[0], on_device[1], (int64_t)m, (int64_t)n), "kernels_shares in a graph");
  DRIVER("cuStreamEndCapture", (void *, void **), (stream, &graph));
  DRIVER("cuGraphInstantiateWithFlags", (void **, void *, unsigned long long), (&made, graph, 0));
  DRIVER("cuGraphLaunch", (void *, void *), (made, stream));
  DRIVER("cuGraphLaunch", (void *, void *), (made, stream));
  driver_read(b, on_device[1], bytes);
  for (i = 0; i < m; ++i) {
    float sum = 0;
    for (j = 0; j < n; ++j) sum += b[i * n + j];
    if (fabsf(sum - 1) > 1e-4f) {
      printf("shares in a graph: row %zu has the sum %g\n", i, (double)sum);
      exit(EXIT_WRONG);
    }
  }
  DRIVER("cuGraphExecDestroy", (void *), (made));
  DRIVER("cuGraphDestroy", (void *), (graph));
  DRIVER("cuStreamDestroy_v2", (void *), (stream));
  for (i = 0; i < 2; ++i) driver_free(on_device[i]);
  free(a);
  free(b);
}

int main(void) {
  int has_driver = driver_begin();
  check(kernels_load(), "kernels_load");
  if (!has_driver) return EXIT_NO_GPU;
  matmul(1, 1, 1);
  matmul(100, 75, 50);
  matmul(256, 128, 64);
  shares(3, 5, 0);
  shares(200, 1000, 1);
  shares_in_a_graph(200, 1000);
  /* What does not fit is told, and launches nothing. */
  if (kernels_shares(NULL, NULL, NULL, 0, 5) != KERNELS_BAD_SIZE) return EXIT_WRONG;
  if (kernels_shares(NULL, NULL, NULL, 5, 5) != KERNELS_NULL_POINTER) return EXIT_WRONG;
  check(kernels_unload(), "kernels_unload");
  printf("ok\n");
  return EXIT_RIGHT;
}
