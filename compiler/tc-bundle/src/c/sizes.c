
/* ---- Numbers that follow from sizes ----------------------------------------------------------------------------- */

typedef enum {
  BUNDLE_TC_ADD, BUNDLE_TC_SUB, BUNDLE_TC_MUL, BUNDLE_TC_DIV, BUNDLE_TC_MOD, BUNDLE_TC_TDIV, BUNDLE_TC_TMOD,
  BUNDLE_TC_MIN, BUNDLE_TC_MAX, BUNDLE_TC_EQ, BUNDLE_TC_NE, BUNDLE_TC_LT, BUNDLE_TC_LE, BUNDLE_TC_SHL, BUNDLE_TC_SHR,
  BUNDLE_TC_BITAND, BUNDLE_TC_BITOR, BUNDLE_TC_BITXOR
} bundle_tc_operator;

/* a * b, or 0 where it does not fit, which `bad` then says. */
BUNDLE_TC_MAYBE_UNUSED static int64_t bundle_tc_product(int *bad, int64_t a, int64_t b) {
  int overflows;
  if (a > 0) {
    overflows = b > 0 ? a > INT64_MAX / b : b < INT64_MIN / a;
  } else {
    overflows = b > 0 ? a < INT64_MIN / b : a != 0 && b < INT64_MAX / a;
  }
  if (overflows) *bad = 1;
  return overflows ? 0 : a * b;
}

/* a / b or a % b, rounded down (`div`, `mod`) or towards zero (`tdiv`, `tmod`). */
BUNDLE_TC_MAYBE_UNUSED static int64_t bundle_tc_quotient(int *bad, bundle_tc_operator op, int64_t a, int64_t b) {
  int64_t rest, down;
  int is_quotient = op == BUNDLE_TC_DIV || op == BUNDLE_TC_TDIV;
  if (b == 0 || (is_quotient && a == INT64_MIN && b == -1)) {
    *bad = 1;
    return 0;
  }
  rest = b == -1 ? 0 : a % b;
  down = (op == BUNDLE_TC_DIV || op == BUNDLE_TC_MOD) && rest != 0 && (a < 0) != (b < 0);
  return is_quotient ? a / b - down : rest + (down ? b : 0);
}

/* The value of an operator on two numbers. Where there is none, on overflow or division by zero, `bad` becomes 1 and stays
   so. Numbers are two's complement, and `>>` of a negative one rounds down, as with every compiler that CUDA supports. */
BUNDLE_TC_MAYBE_UNUSED static int64_t bundle_tc_op(int *bad, bundle_tc_operator op, int64_t a, int64_t b) {
  switch (op) {
    case BUNDLE_TC_ADD:
      if (b > 0 ? a > INT64_MAX - b : a < INT64_MIN - b) break;
      return a + b;
    case BUNDLE_TC_SUB:
      if (b < 0 ? a > INT64_MAX + b : a < INT64_MIN + b) break;
      return a - b;
    case BUNDLE_TC_MUL: return bundle_tc_product(bad, a, b);
    case BUNDLE_TC_DIV:
    case BUNDLE_TC_MOD:
    case BUNDLE_TC_TDIV:
    case BUNDLE_TC_TMOD: return bundle_tc_quotient(bad, op, a, b);
    case BUNDLE_TC_MIN: return a < b ? a : b;
    case BUNDLE_TC_MAX: return a > b ? a : b;
    case BUNDLE_TC_EQ: return a == b;
    case BUNDLE_TC_NE: return a != b;
    case BUNDLE_TC_LT: return a < b;
    case BUNDLE_TC_LE: return a <= b;
    case BUNDLE_TC_SHL:
      if (b < 0 || b > 62) break;
      return bundle_tc_product(bad, a, (int64_t)1 << b);
    case BUNDLE_TC_SHR:
      if (b < 0 || b > 63) break;
      return a >> b;
    case BUNDLE_TC_BITAND: return a & b;
    case BUNDLE_TC_BITOR: return a | b;
    case BUNDLE_TC_BITXOR: return a ^ b;
  }
  *bad = 1;
  return 0;
}

/* An extent: a number that is there and is not negative. `text` says what it is. */
BUNDLE_TC_MAYBE_UNUSED static bundle_status bundle_tc_extent(int64_t *extent, int *bad, int64_t value, const char *text) {
  if (*bad) return bundle_tc_fail(BUNDLE_OVERFLOW, "%s, which has no value for these sizes", text);
  if (value < 0) return bundle_tc_fail(BUNDLE_BAD_SIZE, "%s, which is %lld for these sizes", text, (long long)value);
  *extent = value;
  return BUNDLE_OK;
}

/* Whether a condition holds; `text` says which. */
BUNDLE_TC_MAYBE_UNUSED static bundle_status bundle_tc_condition(int *holds, int *bad, int64_t value, const char *text) {
  if (*bad) return bundle_tc_fail(BUNDLE_OVERFLOW, "`%s` has no value for these sizes", text);
  *holds = value != 0;
  return BUNDLE_OK;
}

BUNDLE_TC_MAYBE_UNUSED static bundle_status bundle_tc_fact(int *bad, int64_t value, const char *text) {
  int holds = 0;
  bundle_status status = bundle_tc_condition(&holds, bad, value, text);
  if (status == BUNDLE_OK && !holds) {
    return bundle_tc_fail(BUNDLE_BAD_SIZE, "`%s` does not hold for these sizes", text);
  }
  return status;
}

BUNDLE_TC_MAYBE_UNUSED static bundle_status bundle_tc_range(int64_t value, int64_t low, int64_t high, const char *name) {
  if (value >= low && value <= high) return BUNDLE_OK;
  return bundle_tc_fail(BUNDLE_BAD_SIZE, "the size `%s` is %lld, and must be at least %lld and at most %lld", name,
                        (long long)value, (long long)low, (long long)high);
}

/* The bytes of a buffer with elements of `bytes` bytes. */
BUNDLE_TC_MAYBE_UNUSED static bundle_status bundle_tc_bytes(uint64_t *result, int64_t bytes, const int64_t *extents, int rank, const char *name) {
  int bad = 0, is_empty = 0, dim;
  for (dim = 0; dim < rank; ++dim) is_empty |= extents[dim] == 0;
  for (dim = 0; dim < rank && !is_empty; ++dim) bytes = bundle_tc_product(&bad, bytes, extents[dim]);
  if (bad) return bundle_tc_fail(BUNDLE_OVERFLOW, "the bytes of `%s` do not fit 63 bits for these sizes", name);
  *result = is_empty ? 0 : (uint64_t)bytes;
  return BUNDLE_OK;
}
