/* Reads an operator with its schedule, makes CUDA of it, and prints that and how it is launched. */
#include "tc.h"
#include <stdio.h>
#include <string.h>

static TcString str(const char *text) {
    TcString string = {text, strlen(text)};
    return string;
}

static void show(TcText text) {
    TcString bytes;
    if (tc_text_get(text, &bytes) == TC_STATUS_OK) fwrite(bytes.data, 1, bytes.size, stdout);
}

int main(void) {
    const char *program =
        "te.func @double(A: f32[1024]) -> f32[1024] {\n"
        "  compute B[i: 1024] = A[i] * 2.0\n"
        "  return B\n"
        "}\n"
        "schedule @threads for @double {\n"
        "  bx, tx = split(B.i, factor = 128)\n"
        "  bind(bx, blockIdx.x)\n"
        "  bind(tx, threadIdx.x)\n"
        "}\n";
    TcContextOptions options = {.struct_size = sizeof options, .target = str("sm_90")};
    TcEmitted emitted = {.struct_size = sizeof emitted};
    TcDiagnostics found = {0};
    TcContext context;
    TcModule module;

    TcStatus status = tc_context_create(TC_ABI_VERSION, &options, &context);
    if (status == TC_STATUS_OK) status = tc_module_parse(context, str("double.tir"), str(program), &module, &found);
    if (status == TC_STATUS_OK) status = tc_module_run(module, str("cuda"), &found);
    if (status == TC_STATUS_OK) status = tc_module_emit(module, NULL, &emitted, &found);
    if (status == TC_STATUS_OK) {
        show(emitted.source);
        show(emitted.manifest);
    } else {
        TcText text;
        fprintf(stderr, "%s\n", tc_status_name(status));
        if (tc_diagnostics_text(found, &text) == TC_STATUS_OK) show(text);
    }
    tc_context_free(context); /* and with it all that was made in it */
    return status == TC_STATUS_OK ? 0 : 1;
}
