/* Calls a bundle that tc made of hopper.tir, checks what comes out, prints `ok`.

     tc-opt hopper.tir --emit=bundle --pass-pipeline='cuda{schedule=by_size}' --target=sm_90a -o bundle
     cc -I bundle hopper.c bundle/hopper.c -o hopper -ldl -lpthread

   It exits with 0 where all is right, with 1 where something is wrong, with 77 where there is no GPU of compute capability 9.0. */
#include "driver.h"
#include "hopper.h"

enum { N = 512 };

static void check(hopper_status status, const char *what) {
  if (status == HOPPER_OK) return;
  printf("%s: %s (%s)\n", what, hopper_message(), hopper_status_text(status));
  exit(status == HOPPER_NO_DRIVER || status == HOPPER_NO_CODE ? EXIT_NO_GPU : EXIT_WRONG);
}

/* The bits of a bf16: the upper half of a float, exact for the small integers here. */
static uint16_t bf16(float number) {
  uint32_t bits;
  memcpy(&bits, &number, sizeof bits);
  return (uint16_t)(bits >> 16);
}

static float small(size_t nth) { return (float)(int)(nth * 5 % 9) - 4; }

static void *factor(size_t n) {
  uint16_t *bits = malloc(n * sizeof *bits);
  void *on_device;
  size_t nth;
  if (bits == NULL) exit(EXIT_WRONG);
  for (nth = 0; nth < n; ++nth) bits[nth] = bf16(small(nth));
  on_device = driver_memory(bits, n * sizeof *bits);
  free(bits);
  return on_device;
}

/* The product of `m` x `k` and `k` x 512: of small integers, so that each sum is exact. */
static void product(size_t m, size_t k) {
  float *c = malloc(m * N * sizeof *c);
  void *a = factor(m * k), *b = factor(N * k), *on_device = driver_memory(NULL, m * N * sizeof *c);
  size_t i, j, r;
  if (c == NULL) exit(EXIT_WRONG);
  check(hopper_product(NULL, a, b, on_device, (int64_t)m, (int64_t)k), "hopper_product");
  driver_read(c, on_device, m * N * sizeof *c);
  for (i = 0; i < m; ++i) {
    for (j = 0; j < N; ++j) {
      float want = 0;
      for (r = 0; r < k; ++r) want += small(i * k + r) * small(j * k + r);
      if (c[i * N + j] != want) {
        printf("product of %zu rows: element %zu, %zu is %g, not %g\n", m, i, j, (double)c[i * N + j], (double)want);
        exit(EXIT_WRONG);
      }
    }
  }
  driver_free(a);
  driver_free(b);
  driver_free(on_device);
  free(c);
}

int main(void) {
  int has_driver = driver_begin();
  check(hopper_load(), "hopper_load");
  if (!has_driver) return EXIT_NO_GPU;
  /* By threads, and by clusters: rows that no tile divides, several tiles a block. */
  product(5, 64);
  product(128, 64);
  product(1000, 192);
  product(2304, 128);
  if (hopper_product(NULL, NULL, NULL, NULL, 128, 65) != HOPPER_BAD_SIZE) return EXIT_WRONG;
  check(hopper_unload(), "hopper_unload");
  printf("ok\n");
  return EXIT_RIGHT;
}
