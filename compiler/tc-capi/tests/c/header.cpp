// The header is one of C++ too.
#include "tc.h"

int main() {
    TcContext context{};
    TcContextOptions options{};
    options.struct_size = sizeof options;
    if (tc_context_create(TC_ABI_VERSION, &options, &context) != TC_STATUS_OK) return 1;
    return tc_context_free(context) == TC_STATUS_OK ? 0 : 1;
}
