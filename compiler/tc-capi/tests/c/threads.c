/* Threads: one context for several of them, one module for one at a time. */
#include "check.h"
#include <pthread.h>

enum { N_THREADS = 3, N_TRIES = 40 };

static TcContext context;
static TcModule shared;
static int n_busy[N_THREADS], n_done[N_THREADS];

/* Compiles a program of its own, then fights for the shared one. */
static void *work(void *arg) {
    size_t nth = *(const size_t *)arg;
    TcModule module;
    IS(tc_module_parse(context, str("own.tir"), str(PROGRAM), &module, NULL), TC_STATUS_OK);
    IS(tc_module_run(module, str("schedule,tir.func(simplify)"), NULL), TC_STATUS_OK);
    IS(tc_module_free(module), TC_STATUS_OK);
    for (int nth_try = 0; nth_try < N_TRIES; nth_try++) {
        TcText text;
        TcStatus status = tc_module_print(shared, &text);
        CHECK(status == TC_STATUS_OK || status == TC_STATUS_BUSY);
        if (status == TC_STATUS_BUSY) {
            CHECK(text.id == 0);
            n_busy[nth]++;
        } else {
            IS(tc_text_free(text), TC_STATUS_OK);
            n_done[nth]++;
        }
    }
    return NULL;
}

int main(void) {
    pthread_t threads[N_THREADS];
    size_t numbers[N_THREADS];
    pthread_attr_t small;
    IS(tc_context_create(TC_ABI_VERSION, NULL, &context), TC_STATUS_OK);
    IS(tc_module_parse(context, str("shared.tir"), str(PROGRAM), &shared, NULL), TC_STATUS_OK);
    /* The compiler brings its own stack: 64 KiB are enough for whoever calls it. */
    CHECK(pthread_attr_init(&small) == 0 && pthread_attr_setstacksize(&small, 1 << 16) == 0);
    for (size_t nth = 0; nth < N_THREADS; nth++) {
        numbers[nth] = nth;
        CHECK(pthread_create(&threads[nth], &small, work, &numbers[nth]) == 0);
    }
    int done = 0, busy = 0;
    for (size_t nth = 0; nth < N_THREADS; nth++) {
        CHECK(pthread_join(threads[nth], NULL) == 0);
        done += n_done[nth];
        busy += n_busy[nth];
    }
    CHECK(done + busy == N_THREADS * N_TRIES && done > 0);
    IS(tc_context_free(context), TC_STATUS_OK);
    puts("all is well");
    return 0;
}
