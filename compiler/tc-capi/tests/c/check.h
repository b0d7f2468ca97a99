/* What the test programs share. */
#include "tc.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(condition)                                                              \
    do {                                                                              \
        if (!(condition)) {                                                           \
            printf("%s:%d: %s does not hold\n", __FILE__, __LINE__, #condition);      \
            exit(1);                                                                  \
        }                                                                             \
    } while (0)

#define IS(call, wanted)                                                              \
    do {                                                                              \
        TcStatus came_to = (call);                                                    \
        if (came_to != (wanted)) {                                                    \
            printf("%s:%d: %s is `%s`\n", __FILE__, __LINE__, #call, tc_status_name(came_to)); \
            exit(1);                                                                  \
        }                                                                             \
    } while (0)

static inline TcString str(const char *text) {
    TcString string = {text, strlen(text)};
    return string;
}

/* Does `text` hold `part`? */
static inline int holds(TcString text, const char *part) {
    size_t size = strlen(part);
    for (size_t at = 0; at + size <= text.size; at++)
        if (memcmp(text.data + at, part, size) == 0) return 1;
    return 0;
}

static const char *const PROGRAM =
    "te.func @double(A: f32[256]) -> f32[256] {\n"
    "  compute B[i: 256] = A[i] * 2.0\n"
    "  return B\n"
    "}\n"
    "schedule @threads for @double {\n"
    "  bind(B.i, threadIdx.x)\n"
    "}\n";
