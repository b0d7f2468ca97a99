/* All that the interface is for, once, with everything freed by hand. */
#include "check.h"

int main(void) {
    CHECK(tc_abi_version() == TC_ABI_VERSION);
    CHECK(tc_version().size > 0);
    CHECK(strcmp(tc_status_name(TC_STATUS_NOT_UTF8), "a string is not UTF-8") == 0);
    CHECK(strcmp(tc_status_name(12345), "no such status") == 0);

    TcContextOptions options = {.struct_size = sizeof options, .target = str("sm_90"), .threads = 1};
    TcContext context;
    IS(tc_context_create(TC_ABI_VERSION, &options, &context), TC_STATUS_OK);

    /* From text to CUDA, on a copy. */
    TcModule module, copy;
    TcDiagnostics found;
    size_t count = 7;
    IS(tc_module_parse(context, str("double.tir"), str(PROGRAM), &module, &found), TC_STATUS_OK);
    IS(tc_diagnostics_count(found, &count), TC_STATUS_OK);
    CHECK(count == 0);
    IS(tc_diagnostics_free(found), TC_STATUS_OK);
    IS(tc_module_clone(module, &copy), TC_STATUS_OK);
    IS(tc_module_run(copy, str("cuda"), NULL), TC_STATUS_OK);
    TcEmitted emitted = {.struct_size = sizeof emitted};
    IS(tc_module_emit(copy, NULL, &emitted, NULL), TC_STATUS_OK);
    TcString text;
    IS(tc_text_get(emitted.source, &text), TC_STATUS_OK);
    CHECK(holds(text, "__global__") && holds(text, "for sm_90"));
    IS(tc_text_get(emitted.manifest, &text), TC_STATUS_OK);
    CHECK(text.size > 2 && text.data[0] == '[' && holds(text, "\"block\":[256,1,1]"));
    IS(tc_text_free(emitted.source), TC_STATUS_OK);
    IS(tc_text_free(emitted.manifest), TC_STATUS_OK);

    /* The same as MLIR, launched the same way. */
    TcEmitOptions as_mlir = {.struct_size = sizeof as_mlir, .kind = TC_EMIT_MLIR};
    IS(tc_module_emit(copy, &as_mlir, &emitted, NULL), TC_STATUS_OK);
    IS(tc_text_get(emitted.source, &text), TC_STATUS_OK);
    CHECK(holds(text, "gpu.func"));
    IS(tc_text_get(emitted.manifest, &text), TC_STATUS_OK);
    CHECK(holds(text, "\"block\":[256,1,1]"));
    IS(tc_text_free(emitted.source), TC_STATUS_OK);
    IS(tc_text_free(emitted.manifest), TC_STATUS_OK);

    /* The original is what it was. */
    TcText printed;
    IS(tc_module_print(module, &printed), TC_STATUS_OK);
    IS(tc_text_get(printed, &text), TC_STATUS_OK);
    CHECK(holds(text, "compute B[i: 256]"));
    IS(tc_text_free(printed), TC_STATUS_OK);

    /* Diagnostics as data, as text and as JSON. */
    TcModule none;
    IS(tc_module_parse(context, str("bad.tir"), str("te.func @f(A: f32[8]) -> f32[8] {\n  return C\n}\n"), &none, &found),
       TC_STATUS_FAILED);
    CHECK(none.id == 0);
    IS(tc_diagnostics_count(found, &count), TC_STATUS_OK);
    CHECK(count == 1);
    TcDiagnostic one = {.struct_size = sizeof one};
    IS(tc_diagnostics_get(found, 0, &one), TC_STATUS_OK);
    CHECK(one.severity == TC_SEVERITY_ERROR && one.fault == TC_FAULT_INPUT && one.struct_size == sizeof one);
    CHECK(one.place.line == 2 && one.place.column == 10 && holds(one.place.file, "bad.tir") && holds(one.message, "`C`"));
    IS(tc_diagnostics_text(found, &printed), TC_STATUS_OK);
    IS(tc_text_get(printed, &text), TC_STATUS_OK);
    CHECK(holds(text, "--> bad.tir:2:10"));
    IS(tc_text_free(printed), TC_STATUS_OK);
    IS(tc_diagnostics_json(found, &printed), TC_STATUS_OK);
    IS(tc_text_get(printed, &text), TC_STATUS_OK);
    CHECK(text.data[0] == '[' && holds(text, "\"line\":2"));
    IS(tc_text_free(printed), TC_STATUS_OK);
    IS(tc_diagnostics_free(found), TC_STATUS_OK);

    /* Notes tell which pass failed; the place is in the pipeline. */
    IS(tc_module_run(copy, str("storage-flatten,simplfy"), &found), TC_STATUS_FAILED);
    IS(tc_diagnostics_get(found, 0, &one), TC_STATUS_OK);
    CHECK(holds(one.help, "simplify"));
    IS(tc_diagnostics_free(found), TC_STATUS_OK);
    IS(tc_module_parse(context, str("f.tir"), str("tir.func @f(A: f32[8]) {\n  A[9] = 1.0\n}\n"), &none, NULL), TC_STATUS_OK);
    IS(tc_module_run(none, str("tir.func(check-bounds)"), &found), TC_STATUS_FAILED);
    IS(tc_diagnostics_get(found, 0, &one), TC_STATUS_OK);
    CHECK(one.n_notes > 0);
    IS(tc_diagnostics_note(found, 0, one.n_notes - 1, &text), TC_STATUS_OK);
    CHECK(holds(text, "while running pass 1 of 1, `check-bounds`"));
    IS(tc_diagnostics_free(found), TC_STATUS_OK);

    /* A smaller struct, as an older program has it, and a larger one that asks nothing new. */
    struct {
        TcContextOptions known;
        size_t more;
    } newer = {.known = {.struct_size = sizeof newer}};
    TcContext other;
    IS(tc_context_create(TC_ABI_VERSION, &newer.known, &other), TC_STATUS_OK);
    IS(tc_context_free(other), TC_STATUS_OK);
    IS(tc_context_create(TC_ABI_VERSION, NULL, &other), TC_STATUS_OK);
    IS(tc_context_free(other), TC_STATUS_OK);

    IS(tc_module_free(module), TC_STATUS_OK);
    IS(tc_module_free(copy), TC_STATUS_OK);
    IS(tc_module_free(none), TC_STATUS_OK);
    IS(tc_context_free(context), TC_STATUS_OK);
    puts("all is well");
    return 0;
}
