/* From a program to PTX, by NVIDIA's run-time compiler. */
#include "check.h"

int main(void) {
    TcContext context;
    TcModule module;
    TcString text;
    TcEmitted emitted = {.struct_size = sizeof emitted};
    TcEmitOptions options = {.struct_size = sizeof options, .kind = TC_EMIT_PTX};
    IS(tc_context_create(TC_ABI_VERSION, NULL, &context), TC_STATUS_OK);
    IS(tc_module_parse(context, str("double.tir"), str(PROGRAM), &module, NULL), TC_STATUS_OK);
    IS(tc_module_run(module, str("cuda"), NULL), TC_STATUS_OK);
    IS(tc_module_emit(module, &options, &emitted, NULL), TC_STATUS_OK);
    IS(tc_text_get(emitted.source, &text), TC_STATUS_OK);
    CHECK(holds(text, ".visible .entry double_kernel("));
    IS(tc_text_get(emitted.manifest, &text), TC_STATUS_OK);
    CHECK(holds(text, "\"block\":[256,1,1]"));
    IS(tc_context_free(context), TC_STATUS_OK);
    puts("all is well");
    return 0;
}
