//! One planted error after another: the line it is reported at, and what is said.
//!
//! Each case is a text and all that is said of it, in order.

use crate::parse;

/// A name, a text, and its errors.
type Case = (&'static str, &'static str, &'static [&'static str]);

const CASES: &[Case] = &[
    (
        "compute_without_assign",
        "te.func @f(A: f32[n]) -> f32[n] {\n  compute B[i: 16] A[i]\n  return B\n}\n",
        &["2:20: expected `=`, found `A`\n  help: a stage is written `compute B[i: n] = e`"],
    ),
    (
        "compute_without_value",
        "te.func @f(A: f32[n]) -> f32[n] {\n  compute B[i: 16] =\n  return B\n}\n",
        &["2:21: expected an expression, found the end of the line"],
    ),
    (
        "compute_axis_without_extent",
        "te.func @f(A: f32[n]) -> f32[n] {\n  compute B[i] = A[i]\n  return B\n}\n",
        &["2:14: expected `:`, found `]`\n  help: a stage is written `compute B[i: n] = e`"],
    ),
    (
        "compute_axis_cut",
        "te.func @f(A: f32[n]) -> f32[n] {\n  compute B[i: ] = A[i]\n  return B\n}\n",
        &["2:16: expected an expression, found `]`"],
    ),
    (
        "compute_bracket_unclosed",
        "te.func @f(A: f32[n]) -> f32[n] {\n  compute B[i: 16 = A[i]\n  return B\n}\n",
        &["2:19: expected `]`, `,` or `..`, found `=`\n  help: a `[` before it is not closed"],
    ),
    (
        "compute_dotted_name",
        "te.func @f(A: f32[n]) -> f32[n] {\n  compute B.x[i: 16] = A[i]\n  return B\n}\n",
        &["2:11: expected a name, found `B.x`\n  help: a name that is bound here has no dots"],
    ),
    (
        "call_unclosed",
        "te.func @f(A: f32[n]) -> f32[n] {\n  compute B[i: 16] = max(A[i], 0.0\n  return B\n}\n",
        &["2:35: expected `)` or `,`, found the end of the line"],
    ),
    (
        "argument_missing",
        "tir.func @f(A: f32[64], B: f32[64]) {\n  let x = max(A[0], )\n  let y = max(, 1)\n  let z = max(1 2)\n}\n",
        &["3:15: expected a value or `)`, found `,`", "4:17: expected `)` or `,`, found `2`"],
    ),
    (
        "operand_missing",
        "tir.func @f(A: f32[64], B: f32[64]) {\n  let x = 1 +\n  let y = * 2\n  let z = 3\n}\n",
        &["2:14: expected an expression, found the end of the line", "3:11: expected an expression, found `*`"],
    ),
    (
        "two_operators",
        "tir.func @f(A: f32[64], B: f32[64]) {\n  let x = 1 + * 2\n}\n",
        &["2:15: expected an expression, found `*`"],
    ),
    (
        "chained_comparison",
        "tir.func @f(A: f32[64], B: f32[64]) {\n  let x = 0 <= i < 16\n}\n",
        &["2:18: comparisons do not chain: `<` after `<=`\n  help: write `a <= b && b < c`, or parentheses"],
    ),
    (
        "assign_in_condition",
        "tir.func @f(A: f32[64], B: f32[64]) {\n  if i = 3 {\n    A[0] = 1.0\n  }\n}\n",
        &["2:8: expected `attributes`, `{` or an operator, found `=`\n  help: equality is written `==`"],
    ),
    (
        "equality_as_statement",
        "tir.func @f(A: f32[64], B: f32[64]) {\n  x == 3\n}\n",
        &["2:5: expected `(`, `[`, `{`, `,` or `=`, found `==`\n  help: an assignment is written `=`"],
    ),
    (
        "type_after_expression",
        "tir.func @f(A: f32[64], B: f32[64]) {\n  x = a + b : f32\n}\n",
        &[
            "2:13: expected a statement, `attributes` or `}`, found `:`\n  help: only an op may carry result types, `x = dialect.op(…) : f32`; the type of a value stands before it, `let x: f32 = e`, and a conversion is written `cast<f32>(e)`",
        ],
    ),
    (
        "type_after_load",
        "tir.func @f(A: f32[64], B: f32[64]) {\n  x = A[0] : f32\n  y = 1 : i32\n}\n",
        &[
            "2:12: expected a statement, `attributes` or `}`, found `:`\n  help: only an op may carry result types, `x = dialect.op(…) : f32`; the type of a value stands before it, `let x: f32 = e`, and a conversion is written `cast<f32>(e)`",
            "3:9: expected a statement, `attributes` or `}`, found `:`\n  help: only an op may carry result types, `x = dialect.op(…) : f32`; the type of a value stands before it, `let x: f32 = e`, and a conversion is written `cast<f32>(e)`",
        ],
    ),
    (
        "let_without_value",
        "tir.func @f(A: f32[64], B: f32[64]) {\n  let x: f32\n  let y = 2\n}\n",
        &["2:13: expected `=`, found the end of the line"],
    ),
    ("let_without_name", "tir.func @f(A: f32[64], B: f32[64]) {\n  let = 2\n}\n", &["2:7: expected a name, found `=`"]),
    (
        "let_reserved",
        "tir.func @f(A: f32[64], B: f32[64]) {\n  let in = 2\n  let f32 = 3\n}\n",
        &[
            "2:7: expected a name, found the reserved word `in`\n  help: `in` cannot be a name; `in_` can",
            "3:7: expected a name, found the element type `f32`\n  help: `f32` cannot be a name; `f32_` can",
        ],
    ),
    (
        "let_dotted",
        "tir.func @f(A: f32[64], B: f32[64]) {\n  let a.b = 2\n}\n",
        &["2:7: expected a name, found `a.b`\n  help: a name that is bound here has no dots"],
    ),
    (
        "assign_dotted",
        "tir.func @f(A: f32[64], B: f32[64]) {\n  a.b = 2\n}\n",
        &["2:7: expected `(`, `[` or `{`, found `=`\n  help: a result's name has no dots"],
    ),
    (
        "alloc_without_type",
        "tir.func @f(A: f32[64], B: f32[64]) {\n  alloc W in shared\n}\n",
        &["2:11: expected `:`, found `in`"],
    ),
    (
        "alloc_without_scope",
        "tir.func @f(A: f32[64], B: f32[64]) {\n  alloc W: f32[64]\n  alloc V: f32[64] in\n}\n",
        &["2:19: expected `in`, found the end of the line", "3:22: expected a name, found the end of the line"],
    ),
    (
        "for_without_in",
        "tir.func @f(A: f32[64], B: f32[64]) {\n  for i 0..16 {\n    A[i] = 1.0\n  }\n  B[0] = 1.0\n}\n",
        &["2:9: expected `in`, found `0`"],
    ),
    (
        "for_without_range",
        "tir.func @f(A: f32[64], B: f32[64]) {\n  for i in 16 {\n    A[i] = 1.0\n  }\n  B[0] = 1.0\n}\n",
        &["2:15: expected `..`, found `{`"],
    ),
    (
        "for_without_variable",
        "tir.func @f(A: f32[64], B: f32[64]) {\n  for in 0..16 {\n    A[0] = 1.0\n  }\n}\n",
        &["2:7: expected a name, found the reserved word `in`\n  help: `in` cannot be a name; `in_` can"],
    ),
    (
        "for_bare_attributes",
        "tir.func @f(A: f32[64], B: f32[64]) {\n  for i in 0..16 {x = 1} {\n    A[i] = 1.0\n  }\n  B[0] = = 1.0\n}\n",
        &["2:26: expected a statement or `}`, found `{`", "5:10: expected an expression, found `=`"],
    ),
    (
        "for_without_block",
        "tir.func @f(A: f32[64], B: f32[64]) {\n  for i in 0..16\n  A[0] = 1.0\n}\n",
        &["2:17: expected `{`, found the end of the line"],
    ),
    (
        "if_without_condition",
        "tir.func @f(A: f32[64], B: f32[64]) {\n  if {\n    A[0] = 1.0\n  }\n  let x = )\n}\n",
        &["2:6: expected an expression, found `{`", "5:11: expected an expression, found `)`"],
    ),
    (
        "if_without_block",
        "tir.func @f(A: f32[64], B: f32[64]) {\n  if x > 1\n    A[0] = 1.0\n  B[0] = 1.0\n}\n",
        &["2:11: expected `attributes` or `{`, found the end of the line"],
    ),
    (
        "else_alone",
        "tir.func @f(A: f32[64], B: f32[64]) {\n  else {\n    A[0] = 1.0\n  }\n}\n",
        &[
            "2:3: expected a statement or `}`, found the reserved word `else`\n  help: `else` follows the `}` of an `if`",
        ],
    ),
    (
        "else_without_block",
        "tir.func @f(A: f32[64], B: f32[64]) {\n  if x { } else\n  A[0] = 1.0\n}\n",
        &["2:16: expected `if` or `{`, found the end of the line"],
    ),
    (
        "return_in_the_middle",
        "te.func @f(A: f32[n]) -> f32[n] {\n  return A\n  compute B[i: 16] = A[i]\n}\n",
        &["2:3: `return` is not the last statement of its block\n  help: a block has one `return`, at its end"],
    ),
    (
        "yield_in_the_middle",
        "tir.func @f(A: f32[64], B: f32[64]) {\n  x = if c {\n    yield 1\n    A[0] = 1.0\n  } else { yield 2 }\n}\n",
        &["3:5: `yield` is not the last statement of its block\n  help: a block has one `yield`, at its end"],
    ),
    (
        "return_comma",
        "te.func @f(A: f32[n]) -> f32[n] {\n  return A,\n}\n",
        &["2:12: expected an expression, found the end of the line"],
    ),
    (
        "store_without_value",
        "tir.func @f(A: f32[64], B: f32[64]) {\n  A[0] =\n  B[0] = 1.0\n}\n",
        &["2:9: expected an expression, found the end of the line"],
    ),
    (
        "store_without_brackets",
        "tir.func @f(A: f32[64], B: f32[64]) {\n  A = 1.0\n  A 1.0\n}\n",
        &["3:5: expected `(`, `[`, `{`, `,` or `=`, found `1.0`"],
    ),
    (
        "index_unclosed",
        "tir.func @f(A: f32[64], B: f32[64]) {\n  A[0 = 1.0\n  B[0] = 1.0\n}\n",
        &["2:7: expected `]`, `,` or `:`, found `=`\n  help: a `[` before it is not closed"],
    ),
    (
        "slice_cut",
        "tir.func @f(A: f32[64], B: f32[64]) {\n  f(&A[0 :], 1)\n}\n",
        &["2:11: expected an expression, found `]`"],
    ),
    (
        "reference_of_number",
        "tir.func @f(A: f32[64], B: f32[64]) {\n  f(&1)\n}\n",
        &["2:6: expected a place such as `A[i]`, found `1`"],
    ),
    (
        "cast_without_type",
        "tir.func @f(A: f32[64], B: f32[64]) {\n  x = cast(y)\n  z = cast<foo>(y)\n  w = cast<f32> y\n}\n",
        &[
            "2:11: expected `<`, found `(`",
            "3:12: expected an element type, found `foo`",
            "4:17: expected `(`, found `y`",
        ],
    ),
    (
        "semicolon",
        "tir.func @f(A: f32[64], B: f32[64]) {\n  A[0] = 1.0;\n  B[0] = 2.0;\n}\n",
        &[
            "2:13: stray `;`\n  help: statements end by themselves: leave it out",
            "3:13: stray `;`\n  help: statements end by themselves: leave it out",
        ],
    ),
    (
        "stray_characters",
        "tir.func @f(A: f32[64], B: f32[64]) {\n  A[0] = 1.0 ? 2\n  B[0] = ~1\n  C[0] = `x`\n  D[0] = é\n}\n",
        &[
            "2:14: stray `?`",
            "3:10: stray `~`",
            "4:10: stray ```",
            "5:10: stray character `é` (U+00E9)\n  help: names are ASCII; other characters may stand in strings and comments",
        ],
    ),
    (
        "single_quotes",
        "tir.func @f(A: f32[64], B: f32[64]) {\n  f(x = 'abc')\n}\n",
        &["2:9: stray `'`\n  help: strings stand between double quotes"],
    ),
    (
        "unclosed_string",
        "tir.func @f(A: f32[64], B: f32[64]) {\n  f(x = \"abc)\n  g(y = \"def\")\n}\n",
        &["2:9: this string is not closed on its line\n  help: write a line break as `\\n`"],
    ),
    (
        "nul",
        "tir.func @f(A: f32[64], B: f32[64]) {\n  A[0] = 1.0\0\n  f(\"a\0b\")\n  B[0] = \x07\n}\n",
        &[
            "2:13: a NUL byte in the text\n  help: is this a text file?",
            "3:5: a NUL byte in a string\n  help: is this a text file?",
            "4:10: a control character (0x07) in the text",
        ],
    ),
    (
        "bad_numbers",
        "tir.func @f(A: f32[64], B: f32[64]) {\n  let a = 12abc\n  let b = 0xzz\n  let c = 1.\n  let d = .5\n  let e = 1.5x\n  let g = 1e\n}\n",
        &[
            "2:11: malformed number `12abc`\n  help: a number is its digits, then a type if need be: `3i64`, `0.5f16`, `1e-5f32`",
            "3:11: malformed number `0xzz`\n  help: a hexadecimal number is `0x` and the digits, then an integer type if need be: `0x1fu8`",
            "4:12: stray `.`\n  help: a float has digits on both sides of its point, a dotted name has no spaces, a range is `low..high`",
            "5:11: stray `.`\n  help: a float has digits on both sides of its point, a dotted name has no spaces, a range is `low..high`",
            "6:11: malformed number `1.5x`\n  help: a number is its digits, then a type if need be: `3i64`, `0.5f16`, `1e-5f32`",
            "7:11: malformed number `1e`\n  help: a number is its digits, then a type if need be: `3i64`, `0.5f16`, `1e-5f32`",
        ],
    ),
    (
        "bare_at",
        "tir.func @f(A: f32[64], B: f32[64]) {\n  @ f(x)\n  # note\n}\n",
        &[
            "2:3: `@` without a name after it\n  help: a symbol is written `@name` or `@\"any name\"`",
            "3:3: `#` without a location after it\n  help: a location is written `#12:5` or `#\"f.tir\":12:5`; a comment begins with `//`",
        ],
    ),
    (
        "keyword_statement",
        "tir.func @f(A: f32[64], B: f32[64]) {\n  where x\n  in = 3\n}\n",
        &[
            "2:3: expected a statement or `}`, found the reserved word `where`\n  help: `where` cannot be a name; `where_` can",
        ],
    ),
    (
        "name_alone",
        "tir.func @f(A: f32[64], B: f32[64]) {\n  foo\n  bar\n  A[0] = 1.0\n}\n",
        &[
            "2:6: expected `(`, `[`, `{`, `,` or `=`, found the end of the line",
            "3:6: expected `(`, `[`, `{`, `,` or `=`, found the end of the line",
        ],
    ),
    (
        "two_names",
        "tir.func @f(A: f32[64], B: f32[64]) {\n  foo bar\n  A[0] = 1.0\n}\n",
        &["2:7: expected `(`, `[`, `{`, `,` or `=`, found `bar`"],
    ),
    (
        "number_alone",
        "tir.func @f(A: f32[64], B: f32[64]) {\n  12\n  A[0] = 1.0\n}\n",
        &["2:3: expected a statement or `}`, found `12`"],
    ),
    (
        "paren_too_many",
        "tir.func @f(A: f32[64], B: f32[64]) {\n  f(x))\n  A[0] = 1.0\n}\n",
        &["2:7: expected a statement, `(`, `{`, `}` or `:`, found `)`\n  help: this `)` closes nothing"],
    ),
    (
        "brace_too_many",
        "tir.func @f(A: f32[64], B: f32[64]) {\n  A[0] = 1.0\n}\n}\n",
        &["4:1: expected an item such as `te.func @name`, found `}`\n  help: this `}` closes nothing"],
    ),
    (
        "brace_missing_inner",
        "tir.func @f() {\n  for i in 0..3 {\n    f(i)\n}\n\ntir.func @g() {\n  f(1)\n}\n",
        &["2:17: this `{` is not closed\n  6:1: an item begins here"],
    ),
    (
        "brace_missing_outer",
        "tir.func @f() {\n  for i in 0..3 {\n    f(i)\n  }\n\ntir.func @g() {\n  f(1)\n}\n",
        &["1:15: this `{` is not closed\n  6:1: an item begins here"],
    ),
    (
        "brace_missing_last",
        "tir.func @f() {\n  f(1)\n}\ntir.func @g() {\n  if x {\n    f(1)\n  }\n",
        &["4:15: this `{` is not closed\n  8:1: the file ends here"],
    ),
    (
        "op_without_type",
        "tir.func @f(A: f32[64], B: f32[64]) {\n  x = a.b(1) :\n  y = 2\n}\n",
        &["2:15: expected a type, found the end of the line"],
    ),
    (
        "op_bad_region",
        "tir.func @f(A: f32[64], B: f32[64]) {\n  a.b(1) (i: index {\n    f(i)\n  }\n  A[0] = 1.0\n}\n",
        &["2:20: expected `in`, `attributes`, `)`, `,` or `=`, found `{`"],
    ),
    (
        "attributes_without_block",
        "tir.func @f(A: f32[64], B: f32[64]) {\n  A[0] = 1.0 attributes\n  B[0] = 1.0\n}\n",
        &["2:24: expected `{`, found the end of the line"],
    ),
    (
        "attributes_unclosed",
        "tir.func @f(A: f32[64], B: f32[64]) {\n  A[0] = 1.0 attributes {a = 1\n  B[0] = 1.0\n}\n",
        &["2:25: this `{` is not closed\n  5:1: the file ends here"],
    ),
    (
        "attribute_without_value",
        "tir.func @f(A: f32[64], B: f32[64]) {\n  A[0] = 1.0 attributes {a =}\n}\n",
        &["2:29: expected a value, found `}`"],
    ),
    (
        "item_without_name",
        "te.func f(A: f32[n]) -> f32[n] {\n  return A\n}\n",
        &["1:9: expected a symbol such as `@name`, found `f`"],
    ),
    (
        "item_func_word",
        "func @f(A: f32[n]) -> f32[n] {\n  return A\n}\nfunc g() {\n  return A\n}\n",
        &[
            "4:6: expected a symbol such as `@name`, found `g`\n  help: items are `te.func @name(…)`, `tir.func @name(…)`, `schedule @name for @operator`",
        ],
    ),
    (
        "item_without_block",
        "te.func @f(A: f32[n]) -> f32[n]\nte.func @g(A: f32[n]) -> f32[n] {\n  return A\n}\n",
        &["1:32: expected `where`, `attributes` or `{`, found the end of the line"],
    ),
    (
        "item_without_result",
        "te.func @f(A: f32[n]) -> {\n  return A\n}\n",
        &["1:26: expected a type or `(`, found `{`"],
    ),
    (
        "item_bad_parameter",
        "te.func @f(A f32[n], B: ) -> f32[n] {\n  return A\n}\n",
        &[
            "1:14: expected `in`, `attributes`, `)`, `,` or `:`, found `f32`\n  help: a parameter is written `name: type`",
        ],
    ),
    (
        "item_params_unclosed",
        "te.func @f(A: f32[n] -> f32[n] {\n  return A\n}\nte.func @g(A: f32[n]) -> f32[n] {\n  return = A\n}\n",
        &[
            "1:22: expected `in`, `attributes`, `)`, `,` or `=`, found `->`",
            "5:10: expected an expression or `}`, found `=`",
        ],
    ),
    (
        "item_where_empty",
        "te.func @f(A: f32[n]) -> f32[n] where {\n  return A\n}\n",
        &["1:39: expected an expression, found `{`"],
    ),
    (
        "schedule_for_what",
        "schedule @s for conv {\n  inline(A)\n}\n",
        &["1:17: expected a symbol such as `@name`, found `conv`"],
    ),
    (
        "symbol_params_unclosed",
        "te.func @f<n(A: f32[n]) -> f32[n] {\n  return A\n}\n",
        &["1:13: expected `,`, `:`, `=` or `>`, found `(`"],
    ),
    (
        "symbol_param_bounds",
        "te.func @f<n: 1>(A: f32[n]) -> f32[n] {\n  return A\n}\n",
        &["1:16: expected `..`, found `>`"],
    ),
    (
        "text_at_top",
        "hello world\n\nte.func @f(A: f32[n]) -> f32[n] {\n  return A\n}\n",
        &[
            "1:7: expected a symbol such as `@name`, found `world`\n  help: items are `te.func @name(…)`, `tir.func @name(…)`, `schedule @name for @operator`",
        ],
    ),
    (
        "statement_at_top",
        "let x = 3\nte.func @f(A: f32[n]) -> f32[n] {\n  return A\n}\n",
        &[
            "1:1: expected an item such as `te.func @name`, found the reserved word `let`\n  help: what stands outside an item is a comment, or the version line `tir 1`",
        ],
    ),
    (
        "block_at_top",
        "{\n  let x = 3\n}\nte.func @f(A: f32[n]) -> f32[n] {\n  return A\n}\n",
        &[
            "1:1: expected an item such as `te.func @name`, found `{`\n  help: what stands outside an item is a comment, or the version line `tir 1`",
        ],
    ),
    (
        "brace_too_many_inner",
        "tir.func @f() {\n  for i in 0..3 {\n    f(i)\n  }\n  }\n  A[0] = 1.0\n  B[0] = 1.0\n  for i in 0..3 {\n    f(i)\n  }\n}\n\nte.func f() {\n}\n",
        &[
            "6:4: expected a symbol such as `@name`, found `[`\n  help: items are `te.func @name(…)`, `tir.func @name(…)`, `schedule @name for @operator`",
            "11:1: expected an item such as `te.func @name`, found `}`\n  help: this `}` closes nothing",
            "13:9: expected a symbol such as `@name`, found `f`",
        ],
    ),
    (
        "unclosed_paren_then_item",
        "tir.func @f() {\n  f((1, 2)\n}\n\ntir.func @g() {\n  let x = = 1\n}\n",
        &["2:7: expected `)`, found `,`", "6:11: expected an expression, found `=`"],
    ),
    (
        "reserved_in_expression",
        "tir.func @f(A: f32[64], B: f32[64]) {\n  let x = 1 + for\n  let y = in + 1\n}\n",
        &[
            "2:15: expected an expression, found the reserved word `for`\n  help: `for` cannot be a name; `for_` can",
            "3:11: expected an expression, found the reserved word `in`\n  help: `in` cannot be a name; `in_` can",
        ],
    ),
    (
        "attribute_then_more",
        "tir.func @f(A: f32[64], B: f32[64]) {\n  A[0] = 1.0 attributes {a =}\n  f(map = {a = 1 b})\n  B[0] = 2.0 +\n  C[0] = 1.0\n}\n",
        &[
            "2:29: expected a value, found `}`",
            "3:18: expected `}` or `,`, found `b`",
            "4:15: expected an expression, found the end of the line",
        ],
    ),
    (
        "version",
        "tir 2\ntir.func @f() {\n}\n",
        &["1:1: unknown version of the language\n  help: the version line is `tir 1`"],
    ),
    (
        "version_word",
        "abc 1\ntir.func @f() {\n}\n",
        &["1:1: unknown version of the language\n  help: the version line is `tir 1`"],
    ),
    (
        "version_late",
        "tir.func @f() {\n}\ntir 1\n",
        &[
            "3:5: expected a symbol such as `@name`, found `1`\n  help: items are `te.func @name(…)`, `tir.func @name(…)`, `schedule @name for @operator`",
        ],
    ),
    (
        "several",
        "te.func @f(A: f32[n]) -> f32[n] {\n  compute B[i: n] A[i]\n  let x = (1 + \n  compute C[i: n] = B[i]\n  return C\n}\n\nschedule @s for @f {\n  a, b = split(B.i, factor = )\n  bind(a, blockIdx.x\n  c = = 3\n}\n\nte.func @g(A: f32[n] -> f32[n] {\n  return A\n}\n",
        &[
            "2:19: expected `=`, found `A`\n  help: a stage is written `compute B[i: n] = e`",
            "3:15: expected an expression, found the end of the line",
            "9:30: expected a value, found `)`",
            "10:21: expected `)` or `,`, found the end of the line",
            "11:7: expected an expression, found `=`",
            "14:22: expected `in`, `attributes`, `)`, `,` or `=`, found `->`",
        ],
    ),
    (
        "directive_dotted_result",
        "schedule @s for @f {\n  B.i, x = split(B.i, factor = 4)\n}\n",
        &["2:6: expected `(`, `[` or `{`, found `,`\n  help: a result's name has no dots"],
    ),
    (
        "dictionary_in_operand",
        "tir.func @f(A: f32[64], B: f32[64]) {\n  let x = {a = 1}\n}\n",
        &["2:11: expected an expression, found `{`"],
    ),
    (
        "type_in_operand",
        "tir.func @f(A: f32[64], B: f32[64]) {\n  let x = f32 + 1\n}\n",
        &["2:11: expected an expression, found the element type `f32`\n  help: a conversion is written `cast<f32>(e)`"],
    ),
    (
        "list_unclosed",
        "schedule @s for @f {\n  AA = cache_read(A, shared, [B)\n  inline(C)\n}\n",
        &["2:32: expected `]` or `,`, found `)`"],
    ),
    (
        "location_cut",
        "tir.func @f(A: f32[64], B: f32[64]) {\n  A[0] = 1.0 #12\n  B[0] = 1.0 #\"f\":1\n}\n",
        &[
            "2:14: `#` without a location after it\n  help: a location is written `#12:5` or `#\"f.tir\":12:5`; a comment begins with `//`",
            "3:14: a malformed location\n  help: a location is written `#12:5` or `#\"f.tir\":12:5`",
        ],
    ),
    (
        "crlf",
        "tir.func @f() {\r\n  let x =\r\n  let y = 2\r\n}\r\n",
        &["2:10: expected an expression, found the end of the line"],
    ),
    (
        "comment_between",
        "tir.func @f(A: f32[64], B: f32[64]) {\n  let x = // nothing\n  // more\n  let y = 2\n}\n",
        &["2:10: expected an expression, found the end of the line"],
    ),
    (
        "end_in_header",
        "te.func @f(A: f32[n])",
        &["1:22: expected `where`, `attributes`, `{` or `->`, found the end of the file"],
    ),
    (
        "end_in_expression",
        "te.func @f(A: f32[n]) {\n  let x = 1 +",
        &[
            "1:23: this `{` is not closed\n  2:14: the file ends here",
            "2:14: expected an expression, found the end of the file",
        ],
    ),
    (
        "end_in_string",
        "te.func @f(A: f32[n]) {\n  f(\"abc",
        &[
            "1:23: this `{` is not closed\n  2:9: the file ends here",
            "2:5: this string is not closed on its line\n  help: write a line break as `\\n`",
        ],
    ),
    ("just_a_word", "te.func", &["1:8: expected a symbol such as `@name`, found the end of the file"]),
];

#[test]
fn every_planted_error_is_told_where_it_is() {
    let mut wrong = String::new();
    for &(name, text, expected) in CASES {
        let (_, errors) = parse(text);
        if errors != expected {
            wrong.push_str(&format!(
                "== {name}\n{text}\n-- expected\n{}\n-- found\n{}\n",
                expected.join("\n"),
                errors.join("\n")
            ));
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}
