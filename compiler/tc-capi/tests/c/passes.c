/* Passes of one's own, places, limits, cancelling, values and search spaces. */
#include "check.h"
#include <pthread.h>

static const char *const SPACE =
    "te.func @double<n: 1..1048576 = 1024>(A: f32[n]) -> f32[n] {\n"
    "  compute B[i: n] = A[i] * 2.0\n"
    "  return B\n"
    "}\n"
    "schedule @threads for @double (block: i32 in [32, 64, 4096]) {\n"
    "  bx, tx = split(B.i, factor = block)\n"
    "  bind(bx, blockIdx.x)\n"
    "  bind(tx, threadIdx.x)\n"
    "}\n";

/* What a pass does when it is called. */
typedef struct {
    int n_calls, n_drops, came_to;
    const char *gives;
    const char *reports;
    TcCancel asks;
    TcPassCall last;
} Plan;

static int32_t run(TcPassCall call, TcString text, void *user) {
    Plan *plan = user;
    plan->n_calls++;
    plan->last = call;
    CHECK(text.size > 0 && holds(text, "tir 1"));
    if (plan->asks.id != 0) IS(tc_cancel_ask(plan->asks), TC_STATUS_OK);
    if (plan->reports != NULL)
        IS(tc_pass_report(call, TC_SEVERITY_ERROR, str(plan->reports), str("a help"), 9, 4), TC_STATUS_OK);
    IS(tc_pass_report(call, 77, str("x"), str(""), 0, 0), TC_STATUS_BAD_VALUE);
    if (plan->gives != NULL) IS(tc_pass_give(call, str(plan->gives)), TC_STATUS_OK);
    return plan->came_to;
}

static void drop(void *user) { ((Plan *)user)->n_drops++; }

static TcContext context;

static TcModule parse(const char *text) {
    TcModule module;
    IS(tc_module_parse(context, str("f.tir"), str(text), &module, NULL), TC_STATUS_OK);
    return module;
}

/* The text of the diagnostics holds `part`; frees them. */
static void says(TcDiagnostics found, const char *part) {
    TcText text;
    TcString bytes;
    IS(tc_diagnostics_text(found, &text), TC_STATUS_OK);
    IS(tc_text_get(text, &bytes), TC_STATUS_OK);
    if (!holds(bytes, part)) fwrite(bytes.data, 1, bytes.size, stdout);
    CHECK(holds(bytes, part));
    IS(tc_text_free(text), TC_STATUS_OK);
    IS(tc_diagnostics_free(found), TC_STATUS_OK);
}

static void is_text(TcText text, const char *part) {
    TcString bytes;
    IS(tc_text_get(text, &bytes), TC_STATUS_OK);
    if (!holds(bytes, part)) fwrite(bytes.data, 1, bytes.size, stdout);
    CHECK(holds(bytes, part));
    IS(tc_text_free(text), TC_STATUS_OK);
}

static const char *const F = "tir 1\n\ntir.func @f(A: f32[8]) {\n  A[0] = 1.0\n}\n";

static void *ask_soon(void *cancel) {
    IS(tc_cancel_ask(*(TcCancel *)cancel), TC_STATUS_OK);
    return NULL;
}

int main(void) {
    Plan plan = {0};
    TcPassOptions pass = {.struct_size = sizeof pass, .name = str("mine"), .summary = str("Mine."), .run = run,
                          .user = &plan, .drop_user = drop};
    TcDiagnostics found;
    TcText text;
    IS(tc_context_create(TC_ABI_VERSION, NULL, &context), TC_STATUS_OK);

    /* What is no pass, and a place that there is not. */
    TcPassOptions wrong = pass;
    wrong.name = str("Mine!");
    IS(tc_context_add_pass(context, &wrong), TC_STATUS_BAD_VALUE);
    wrong.name = str("cse");
    IS(tc_context_add_pass(context, &wrong), TC_STATUS_BAD_VALUE);
    wrong.name = str("x");
    wrong.run = NULL;
    IS(tc_context_add_pass(context, &wrong), TC_STATUS_NULL_ARGUMENT);
    IS(tc_context_add_pass(context, NULL), TC_STATUS_NULL_ARGUMENT);
    IS(tc_context_add_passes_at(context, str("cuda"), str("nowhere"), str("mine")), TC_STATUS_BAD_VALUE);
    CHECK(plan.n_drops == 0);

    /* Modules that were made before do not know the pass. */
    TcModule early = parse(F);
    IS(tc_context_add_pass(context, &pass), TC_STATUS_OK);
    IS(tc_context_add_pass(context, &pass), TC_STATUS_BAD_VALUE);
    IS(tc_module_run(early, str("mine"), NULL), TC_STATUS_FAILED);
    CHECK(plan.n_calls == 0);

    /* It leaves the module alone, then changes it. */
    TcModule module = parse(F);
    IS(tc_module_run(module, str("mine"), NULL), TC_STATUS_OK);
    CHECK(plan.n_calls == 1);
    plan.gives = "tir 1\n\ntir.func @f(A: f32[8]) {\n  A[0] = 3.0\n}\n";
    IS(tc_module_run(module, str("mine,tir.func(cse)"), NULL), TC_STATUS_OK);
    IS(tc_module_print(module, &text), TC_STATUS_OK);
    is_text(text, "A[0] = 3.0");

    /* A call is over when it is over. */
    IS(tc_pass_give(plan.last, str(F)), TC_STATUS_FREED_HANDLE);

    /* It gives what is no program, fails, and reports an error. */
    plan.gives = "tir.func @f(A: f32[8]) {\n  A[0] = b\n}\n";
    module = parse(F);
    IS(tc_module_run(module, str("mine"), &found), TC_STATUS_FAILED);
    TcDiagnostic one = {.struct_size = sizeof one};
    IS(tc_diagnostics_get(found, 0, &one), TC_STATUS_OK);
    CHECK(one.fault == TC_FAULT_FOREIGN_PASS && one.place.line == 2 && one.place.column == 10);
    says(found, "<after mine>:2:10");
    IS(tc_module_run(module, str("cse"), NULL), TC_STATUS_SPOILED);
    plan.gives = NULL;
    plan.came_to = 5;
    IS(tc_module_run(parse(F), str("mine"), &found), TC_STATUS_FAILED);
    says(found, "`mine` failed: it returned 5");
    plan.came_to = 0;
    plan.reports = "not like this";
    IS(tc_module_run(parse(F), str("mine"), &found), TC_STATUS_FAILED);
    says(found, "error[text-pass]: not like this\n --> <before mine>:3:3");
    plan.reports = NULL;

    /* It runs inside `cuda`, at a place. */
    IS(tc_context_add_passes_at(context, str("cuda"), str("before-emit"), str("mine")), TC_STATUS_OK);
    plan.n_calls = 0;
    module = parse(PROGRAM);
    IS(tc_module_run(module, str("cuda"), NULL), TC_STATUS_OK);
    CHECK(plan.n_calls == 1);

    /* A limit of steps ends a run, and leaves the module as it was. */
    module = parse(PROGRAM);
    TcRunOptions how = {.struct_size = sizeof how, .max_steps = 5};
    IS(tc_module_run_with(module, str("cuda"), &how, &found), TC_STATUS_ENDED);
    says(found, "error[step-limit]");
    how.max_steps = 1000000;
    IS(tc_module_run_with(module, str("cuda"), &how, NULL), TC_STATUS_OK);

    /* A request to cancel: before the run, from another thread, and from inside of a pass. */
    TcCancel cancel;
    IS(tc_cancel_create(context, &cancel), TC_STATUS_OK);
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, ask_soon, &cancel) == 0 && pthread_join(thread, NULL) == 0);
    module = parse(PROGRAM);
    how = (TcRunOptions){.struct_size = sizeof how, .cancel = cancel};
    IS(tc_module_run_with(module, str("cuda"), &how, &found), TC_STATUS_ENDED);
    says(found, "error[cancelled]: the run was cancelled");
    IS(tc_cancel_free(cancel), TC_STATUS_OK);
    IS(tc_module_run_with(module, str("cuda"), &how, NULL), TC_STATUS_FREED_HANDLE);
    IS(tc_cancel_create(context, &plan.asks), TC_STATUS_OK);
    how.cancel = plan.asks;
    IS(tc_module_run_with(module, str("mine,cuda"), &how, &found), TC_STATUS_ENDED);
    says(found, "while running pass 2 of");
    plan.asks.id = 0;
    IS(tc_module_run(module, str("cuda"), NULL), TC_STATUS_OK);

    /* Spaces, points, values. */
    module = parse(SPACE);
    TcSpaceOptions ask = {.struct_size = sizeof ask};
    IS(tc_module_space(module, NULL, &text, NULL), TC_STATUS_OK);
    is_text(text, "\"count\":3");
    IS(tc_module_points(module, NULL, &text, NULL), TC_STATUS_OK);
    is_text(text, "block=32\nblock=64\n");
    ask.n_points = 1;
    IS(tc_module_points(module, &ask, &text, NULL), TC_STATUS_OK);
    is_text(text, "block=32\n");
    ask.is_sample = 1;
    IS(tc_module_points(module, &ask, &text, NULL), TC_STATUS_OK);
    is_text(text, "block=");
    ask.n_points = 0;
    IS(tc_module_points(module, &ask, &text, NULL), TC_STATUS_BAD_VALUE);
    ask = (TcSpaceOptions){.struct_size = sizeof ask, .schedule = str("thread")};
    IS(tc_module_space(module, &ask, &text, &found), TC_STATUS_FAILED);
    says(found, "did you mean `threads`?");
    ask = (TcSpaceOptions){.struct_size = sizeof ask, .defines = str("blok=3")};
    IS(tc_module_space(module, &ask, &text, &found), TC_STATUS_FAILED);
    says(found, "did you mean `block`?");
    ask.defines = str("block");
    IS(tc_module_space(module, &ask, &text, NULL), TC_STATUS_BAD_VALUE);
    how = (TcRunOptions){.struct_size = sizeof how, .defines = str("block=64 n=128")};
    IS(tc_module_run_with(module, str("cuda"), &how, NULL), TC_STATUS_OK);
    TcEmitted emitted = {.struct_size = sizeof emitted};
    IS(tc_module_emit(module, NULL, &emitted, NULL), TC_STATUS_OK);
    is_text(emitted.manifest, "\"grid\":[2,1,1]");

    /* PTX has no locations, and only PTX has a way. */
    TcEmitOptions as = {.struct_size = sizeof as, .kind = TC_EMIT_PTX, .locations = 1};
    IS(tc_module_emit(module, &as, &emitted, NULL), TC_STATUS_BAD_VALUE);
    as = (TcEmitOptions){.struct_size = sizeof as, .kind = TC_EMIT_CUDA, .via = TC_VIA_MLIR};
    IS(tc_module_emit(module, &as, &emitted, NULL), TC_STATUS_BAD_VALUE);

    /* Options of an older program, which end before `via`. */
    as = (TcEmitOptions){.struct_size = offsetof(TcEmitOptions, via), .kind = TC_EMIT_CUDA};
    IS(tc_module_emit(module, &as, &emitted, NULL), TC_STATUS_OK);

    CHECK(plan.n_drops == 0);
    IS(tc_context_free(context), TC_STATUS_OK);
    CHECK(plan.n_drops == 1);
    puts("all is well");
    return 0;
}
