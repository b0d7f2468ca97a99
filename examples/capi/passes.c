/* Adds a pass of its own, has it run inside the pipeline `cuda`, and bounds the run; then asks for points of a search space
 * and compiles one of them. */
#include "tc.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static TcString str(const char *text) {
    TcString string = {text, strlen(text)};
    return string;
}

static void show(TcText text) {
    TcString bytes;
    if (tc_text_get(text, &bytes) == TC_STATUS_OK) fwrite(bytes.data, 1, bytes.size, stdout);
}

/* Makes every factor 2.0 a 3.0: it is given the text of the module, and gives it back changed. */
static int32_t triple(TcPassCall call, TcString text, void *user) {
    char *changed = malloc(text.size);
    if (changed == NULL) return 1;
    memcpy(changed, text.data, text.size);
    for (size_t at = 0; at + 5 <= text.size; at++) {
        if (memcmp(changed + at, "* 2.0", 5) == 0) {
            changed[at + 2] = '3';
            ++*(int *)user;
            tc_pass_report(call, TC_SEVERITY_REMARK, str("made a 3 of this"), str(""), at + 2, 3);
        }
    }
    TcString given = {changed, text.size};
    TcStatus status = tc_pass_give(call, given);
    free(changed);
    return status == TC_STATUS_OK ? 0 : 2;
}

int main(void) {
    const char *program =
        "te.func @double(A: f32[1024]) -> f32[1024] {\n"
        "  compute B[i: 1024] = A[i] * 2.0\n"
        "  return B\n"
        "}\n"
        "schedule @threads for @double (block: i32 in [64, 128, 256]) {\n"
        "  bx, tx = split(B.i, factor = block)\n"
        "  bind(bx, blockIdx.x)\n"
        "  bind(tx, threadIdx.x)\n"
        "}\n";
    int n_tripled = 0;
    TcPassOptions pass = {.struct_size = sizeof pass, .name = str("triple"), .summary = str("Triples what is doubled."),
                          .run = triple, .user = &n_tripled};
    TcSpaceOptions ask = {.struct_size = sizeof ask, .n_points = 1, .is_sample = 1, .seed = 7};
    TcRunOptions how = {.struct_size = sizeof how, .max_steps = 100000};
    TcEmitted emitted = {.struct_size = sizeof emitted};
    TcDiagnostics found = {0};
    TcContext context;
    TcModule module;
    TcText space, points;
    TcString point;

    /* Passes are added before the modules that they run on are made. */
    TcStatus status = tc_context_create(TC_ABI_VERSION, NULL, &context);
    if (status == TC_STATUS_OK) status = tc_context_add_pass(context, &pass);
    if (status == TC_STATUS_OK) status = tc_context_add_passes_at(context, str("cuda"), str("after-schedule"), str("triple"));
    if (status == TC_STATUS_OK) status = tc_module_parse(context, str("double.tir"), str(program), &module, &found);

    /* What the schedule spans, and a point of it, whose values the run is given. */
    if (status == TC_STATUS_OK) status = tc_module_space(module, NULL, &space, &found);
    if (status == TC_STATUS_OK) status = tc_module_points(module, &ask, &points, &found);
    if (status == TC_STATUS_OK) status = tc_text_get(points, &point);
    if (status == TC_STATUS_OK) {
        how.defines.data = point.data;
        how.defines.size = point.size - 1; /* without the end of the line */
        status = tc_module_run_with(module, str("cuda"), &how, &found);
    }
    if (status == TC_STATUS_OK) status = tc_module_emit(module, NULL, &emitted, &found);
    if (status == TC_STATUS_OK) {
        show(space);
        printf("\n");
        show(points);
        printf("tripled %d\n", n_tripled);
        show(emitted.source);
    } else {
        TcText text;
        fprintf(stderr, "%s\n", tc_status_name(status));
        if (tc_diagnostics_text(found, &text) == TC_STATUS_OK) show(text);
    }
    tc_context_free(context);
    return status == TC_STATUS_OK ? 0 : 1;
}
