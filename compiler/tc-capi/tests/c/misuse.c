/* Ways to misuse the interface. Each ends in a status of its own, and nothing else happens. */
#include "check.h"

static int n_ways = 0;

#define WAY(name) (n_ways++, (void)(name))

int main(void) {
    TcContext context, other;
    TcModule module;
    TcText text;
    TcDiagnostics found;
    TcString string;
    size_t count;
    IS(tc_context_create(TC_ABI_VERSION, NULL, &context), TC_STATUS_OK);
    IS(tc_module_parse(context, str("f.tir"), str(PROGRAM), &module, &found), TC_STATUS_OK);
    IS(tc_module_print(module, &text), TC_STATUS_OK);

    WAY("null where a result goes");
    IS(tc_context_create(TC_ABI_VERSION, NULL, NULL), TC_STATUS_NULL_ARGUMENT);
    IS(tc_module_parse(context, str("f"), str(""), NULL, NULL), TC_STATUS_NULL_ARGUMENT);
    IS(tc_module_clone(module, NULL), TC_STATUS_NULL_ARGUMENT);
    IS(tc_module_print(module, NULL), TC_STATUS_NULL_ARGUMENT);
    IS(tc_module_emit(module, NULL, NULL, NULL), TC_STATUS_NULL_ARGUMENT);
    IS(tc_text_get(text, NULL), TC_STATUS_NULL_ARGUMENT);
    IS(tc_diagnostics_count(found, NULL), TC_STATUS_NULL_ARGUMENT);
    IS(tc_diagnostics_get(found, 0, NULL), TC_STATUS_NULL_ARGUMENT);

    WAY("null text that is said to have bytes");
    TcString hollow = {NULL, 5};
    TcModule none = {99};
    IS(tc_module_parse(context, str("f"), hollow, &none, NULL), TC_STATUS_NULL_ARGUMENT);
    CHECK(none.id == 0);

    WAY("another version of the interface");
    IS(tc_context_create(TC_ABI_VERSION + 1, NULL, &other), TC_STATUS_BAD_ABI_VERSION);
    CHECK(other.id == 0);

    WAY("a struct without its size");
    TcContextOptions options = {0};
    IS(tc_context_create(TC_ABI_VERSION, &options, &other), TC_STATUS_BAD_STRUCT_SIZE);
    TcEmitted emitted = {0};
    IS(tc_module_emit(module, NULL, &emitted, NULL), TC_STATUS_BAD_STRUCT_SIZE);
    TcDiagnostic one = {0};
    IS(tc_diagnostics_get(found, 0, &one), TC_STATUS_BAD_STRUCT_SIZE);

    WAY("a struct of an absurd size");
    options.struct_size = (size_t)-1;
    IS(tc_context_create(TC_ABI_VERSION, &options, &other), TC_STATUS_BAD_STRUCT_SIZE);
    one.struct_size = sizeof one - 1;
    IS(tc_diagnostics_get(found, 0, &one), TC_STATUS_BAD_STRUCT_SIZE);

    WAY("a field of a newer library");
    struct {
        TcContextOptions known;
        size_t more;
    } newer = {.known = {.struct_size = sizeof newer}, .more = 1};
    IS(tc_context_create(TC_ABI_VERSION, &newer.known, &other), TC_STATUS_UNKNOWN_FIELD);
    TcContextOptions reserved = {.struct_size = sizeof reserved, .reserved = 1};
    IS(tc_context_create(TC_ABI_VERSION, &reserved, &other), TC_STATUS_UNKNOWN_FIELD);

    WAY("a value that is none of those allowed");
    TcContextOptions odd = {.struct_size = sizeof odd, .no_verify = 2};
    IS(tc_context_create(TC_ABI_VERSION, &odd, &other), TC_STATUS_BAD_VALUE);
    TcContextOptions nowhere = {.struct_size = sizeof nowhere, .target = str("sm_1234")};
    IS(tc_context_create(TC_ABI_VERSION, &nowhere, &other), TC_STATUS_BAD_VALUE);
    TcEmitOptions how = {.struct_size = sizeof how, .kind = 77};
    emitted.struct_size = sizeof emitted;
    IS(tc_module_emit(module, &how, &emitted, NULL), TC_STATUS_BAD_VALUE);

    WAY("text that is not UTF-8");
    IS(tc_module_parse(context, str("f"), str("tir \xff\xfe"), &none, NULL), TC_STATUS_NOT_UTF8);
    IS(tc_module_run(module, str("\xc3"), NULL), TC_STATUS_NOT_UTF8);

    WAY("a size that no text has");
    TcString endless = {"", (size_t)-1};
    IS(tc_module_parse(context, str("f"), endless, &none, NULL), TC_STATUS_BAD_VALUE);

    WAY("a handle that was made up");
    TcModule made_up = {1234};
    TcText zero = {0};
    IS(tc_module_run(made_up, str("cse"), NULL), TC_STATUS_BAD_HANDLE);
    IS(tc_module_free(made_up), TC_STATUS_BAD_HANDLE);
    IS(tc_text_get(zero, &string), TC_STATUS_BAD_HANDLE);
    CHECK(string.data == NULL && string.size == 0);

    WAY("a handle that was never written");
    TcModule later = {module.id + 1000};
    IS(tc_module_print(later, &(TcText){0}), TC_STATUS_BAD_HANDLE);

    WAY("a handle of another kind");
    TcModule as_module = {text.id};
    TcContext as_context = {module.id};
    TcText as_text = {context.id};
    IS(tc_module_run(as_module, str("cse"), NULL), TC_STATUS_WRONG_KIND);
    IS(tc_module_free(as_module), TC_STATUS_WRONG_KIND);
    IS(tc_context_free(as_context), TC_STATUS_WRONG_KIND);
    IS(tc_text_free(as_text), TC_STATUS_WRONG_KIND);
    IS(tc_text_get(text, &string), TC_STATUS_OK);

    WAY("an index past the end");
    IS(tc_diagnostics_count(found, &count), TC_STATUS_OK);
    one.struct_size = sizeof one;
    IS(tc_diagnostics_get(found, count, &one), TC_STATUS_OUT_OF_RANGE);
    IS(tc_diagnostics_get(found, (size_t)-1, &one), TC_STATUS_OUT_OF_RANGE);
    IS(tc_diagnostics_note(found, 0, 0, &string), TC_STATUS_OUT_OF_RANGE);
    TcLabel label = {.struct_size = sizeof label};
    IS(tc_diagnostics_label(found, 0, 0, &label), TC_STATUS_OUT_OF_RANGE);

    WAY("freeing twice");
    IS(tc_text_free(text), TC_STATUS_OK);
    IS(tc_text_free(text), TC_STATUS_FREED_HANDLE);

    WAY("using what was freed");
    IS(tc_text_get(text, &string), TC_STATUS_FREED_HANDLE);
    IS(tc_diagnostics_free(found), TC_STATUS_OK);
    IS(tc_diagnostics_count(found, &count), TC_STATUS_FREED_HANDLE);

    WAY("emitting what went through no pipeline");
    IS(tc_module_emit(module, NULL, &emitted, &found), TC_STATUS_FAILED);
    IS(tc_diagnostics_get(found, 0, &one), TC_STATUS_OK);
    CHECK(one.fault == TC_FAULT_PASS_ASSUMPTION && emitted.source.id == 0 && emitted.manifest.id == 0);

    WAY("going on after a pipeline that cannot be read");
    IS(tc_module_run(module, str("no-such-pass"), NULL), TC_STATUS_FAILED);
    IS(tc_module_run(module, str("cse"), NULL), TC_STATUS_OK);

    WAY("going on with a module that a pipeline failed on");
    IS(tc_module_run(module, str("schedule{name=none}"), NULL), TC_STATUS_FAILED);
    IS(tc_module_run(module, str("cse"), NULL), TC_STATUS_SPOILED);
    IS(tc_module_print(module, &text), TC_STATUS_SPOILED);
    IS(tc_module_clone(module, &none), TC_STATUS_SPOILED);

    WAY("a text that nests without end");
    size_t deep = 1 << 16;
    char *open = malloc(deep);
    CHECK(open != NULL);
    memset(open, '(', deep);
    TcString nested = {open, deep};
    IS(tc_module_parse(context, str("deep"), nested, &none, NULL), TC_STATUS_FAILED);
    free(open);

    WAY("using what went with its context");
    IS(tc_context_free(context), TC_STATUS_OK);
    IS(tc_module_free(module), TC_STATUS_FREED_HANDLE);
    IS(tc_diagnostics_count(found, &count), TC_STATUS_FREED_HANDLE);
    IS(tc_module_parse(context, str("f"), str(PROGRAM), &module, NULL), TC_STATUS_FREED_HANDLE);
    IS(tc_context_free(context), TC_STATUS_FREED_HANDLE);

    WAY("freeing nothing is none");
    n_ways--;
    IS(tc_context_free((TcContext){0}), TC_STATUS_OK);
    IS(tc_module_free((TcModule){0}), TC_STATUS_OK);
    IS(tc_diagnostics_free((TcDiagnostics){0}), TC_STATUS_OK);
    IS(tc_text_free((TcText){0}), TC_STATUS_OK);

    printf("%d ways\n", n_ways);
    return 0;
}
