//! A test for each capability.

use crate::BLUR;
use crate::client::{Client, URI, cursor, edited, range, text_of};
use lsp_server::Message;
use serde_json::{Value, json};

/// The diagnostics, a line each.
fn shown(text: &str, found: &[Value]) -> String {
    let line = |one: &Value| {
        let code = one["code"].as_str().expect("a code");
        let message = one["message"].as_str().expect("a message").replace('\n', "\n    ");
        format!("{} `{}` {code}: {message}\n", range(&one["range"]), text_of(text, &one["range"]))
    };
    found.iter().map(line).collect()
}

#[test]
fn a_text_without_errors_has_no_diagnostics() {
    let mut client = Client::open(BLUR);
    assert_eq!(client.diagnostics(), Vec::<Value>::new());
    assert_eq!(client.end(), 0);
}

#[test]
fn a_file_has_several_diagnostics() {
    let text = "te.func @f(A: f32[8]) -> f32[8] {\n  compute B[i: 8] = A[i] + c\n  compute C[i: 8] = A[j]\n  return B\n}\ntir.func @g(A: f32[8]) {\n  A[0] = = 1\n}\n";
    let mut client = Client::open(text);
    insta::assert_snapshot!(shown(text, &client.diagnostics()), @"
    1:27-1:28 `c` unknown-name: nothing is called `c` here
        help: did you mean `A`?
    2:22-2:23 `j` unknown-name: nothing is called `j` here
        help: did you mean `A`?
    6:9-6:10 `=` syntax: expected an expression, found `=`
    ");
}

#[test]
fn schedules_are_judged() {
    let text = BLUR.replace("bind(bx, blockIdx.x)", "bind(B.i, blockIdx.x)");
    let mut client = Client::open(&text);
    insta::assert_snapshot!(shown(&text, &client.diagnostics()), @"
    6:2-6:23 `bind(B.i, blockIdx.x)` axis-consumed: `B.i` is no loop any more: `split` made `bx` and `tx` of it
        help: `bind(bx, blockIdx.x)`
    ");
}

#[test]
fn a_schedule_that_the_target_does_not_allow_is_told() {
    let text = BLUR.replace("factor = 128", "factor = 2048");
    let mut client = Client::open(&text);
    insta::assert_snapshot!(shown(&text, &client.diagnostics()), @"4:0-4:17 `schedule @threads` over-limit: `sm_80` does not allow it: threads 2048 > 1024, block 2048 > 1024");
}

#[test]
fn an_edit_brings_the_diagnostics_of_the_new_text() {
    let mut client = Client::open(BLUR);
    client.diagnostics();
    // Two edits of one message: the second is about the text that the first left.
    let at = |line: u32, from: u32, to: u32| json!({"start": {"line": line, "character": from}, "end": {"line": line, "character": to}});
    client.change_by(json!([
        {"range": at(7, 7, 9), "text": "thread"},
        {"range": at(7, 7, 13), "text": "ty"},
    ]));
    let text = BLUR.replace("bind(tx", "bind(ty");
    let found = client.diagnostics();
    insta::assert_snapshot!(shown(&text, &found), @"
    7:2-7:23 `bind(ty, threadIdx.x)` schedule-type: `bind` takes an axis here, and `ty` is `stage`
        help: a name is bound before it is used; the axis `i` of a stage `B` is `B.i`
    ");
}

/// The hovers at the cursors of `marked`, one after another.
fn hovers(all: &[String]) -> String {
    let one = |marked: &String| {
        let (text, at) = cursor(marked);
        let mut client = Client::open(&text);
        let hover = client.ask_at("textDocument/hover", &at, json!({})).expect("it answers");
        let value = hover["contents"]["value"].as_str().unwrap_or("nothing").to_string();
        let word = if hover.is_null() { "" } else { text_of(&text, &hover["range"]) };
        format!("=== {word}\n{value}\n")
    };
    all.iter().map(one).collect()
}

#[test]
fn hover_tells_what_a_name_stands_for() {
    let all = [
        BLUR.replace("bind(bx", "bind(b$0x"),
        BLUR.replace("split(B.i", "split($0B.i"),
        BLUR.replace("split(B.i", "split(B.i$0"),
        BLUR.replace("A[i + r]", "$0A[i + r]"),
        BLUR.replace("for @blur", "for @bl$0ur"),
        BLUR.replace("[r: 3]", "[$0r: 3]"),
    ];
    insta::assert_snapshot!(hovers(&all), @"
    === bx
    ```tir
    bx, tx = split(B.i, factor = 128)
    ```

    loop `bx`: 8, the outer part of `i` (1022), split by 128, bound to blockIdx.x (line 6)
    === B
    ```tir
    compute B[i: 1022] = sum[r: 3](A[i + r])
    ```

    type: `f32[1022]`, 4088 bytes

    computed at the root (line 2), in global memory
    - buffer `[1022]`, 4088 bytes
    - `i`: 1022 from `0`; a result of the operator is computed whole
    - `r`: 3 from `0`; a reduction runs over its whole axis
    - loop `bx`: 8, the outer part of `i` (1022), split by 128, bound to blockIdx.x (line 6)
    - loop `tx`: 128, the inner part of `i` (1022), split by 128, bound to threadIdx.x (line 6)
    - loop `r`: 3, the axis itself
    - guard `i < 1022` (line 6)
    === i
    ```tir
    i: 1022
    ```

    extent: `1022`

    `B` computes 1022 from `0`; a result of the operator is computed whole
    === A
    ```tir
    A: f32[1024]
    ```

    type: `f32[1024]`, 4096 bytes
    === blur
    ```tir
    te.func @blur(A: f32[1024]) -> f32[1022]
    ```
    === r
    ```tir
    r: 3
    ```

    extent: `3`
    ");
}

#[test]
fn hover_tells_what_a_row_does() {
    insta::assert_snapshot!(hovers(&[BLUR.replace("bind(tx", "bi$0nd(tx"), BLUR.replace("te.func", "t$0e.func")]), @"
    === bind
    ```tir
    bind(axis, thread)
    ```

    Binds an axis to a launch coordinate or to virtual threads.

    # Arguments

    `bind(axis, blockIdx.x)`, also `.y` and `.z`, and `threadIdx`; or `bind(axis, vthread)`: virtual threads, which one
    thread interleaves statement by statement (the pass `inject-virtual-thread`).

    # Legality

    - `axis` is a loop of its stage that is not bound, vectorized or unrolled.
    - A stage binds a launch coordinate once.
    - Loops of one kernel that are bound to one launch coordinate have equal extents; if one is shorter, a guard
      protects its body. If shared memory is filled inside it, a guard is impossible: the error names both directives.
    - A reduction axis may be bound to threads, which then reduce together, but not to blocks, which no barrier orders.
      No data loop may be inside a loop of such a reduction, and all its thread loops have the extent of the launch.
    - A stage in a storage scope `wmma.…` or `mma.…` has no loop bound to `threadIdx.x`: the 32 threads of a warp hold
      its tiles together. If the kernel around it binds `threadIdx.x`, its extent is a multiple of 32. For `wgmma.…` it is
      the 128 threads of a warpgroup, and a multiple of 128.

    # Rewrite

    ```tir
    for i in 0..128 { A[i] = 0.0 }
    ->
    for i in 0..128 bind(threadIdx.x) { A[i] = 0.0 }
    ```

    # Known elsewhere as

    `bind` (TVM), `gpu_blocks` and `gpu_threads` (Halide), mapping to `gpu.block` and `gpu.thread` (MLIR).
    === te.func
    `te.func`: An operator.
    ");
}

#[test]
fn hover_of_a_text_with_errors_tells_what_parsed() {
    let text = BLUR.replace("bind(bx, blockIdx.x)", "bind(bx, \n  bind(t$0x, threadIdx.x)");
    insta::assert_snapshot!(hovers(&[text]), @"
    === tx
    ```tir
    bx, tx = split(B.i, factor = 128)
    ```
    ");
}

#[test]
fn definitions_and_uses_reach_across_items() {
    let mut out = String::new();
    for marked in [
        BLUR.replace("split(B.i", "split($0B.i"),
        BLUR.replace("split(B.i", "split(B.$0i"),
        BLUR.replace("for @blur", "for $0@blur"),
        BLUR.replace("bind(tx", "bind($0tx"),
    ] {
        let (text, at) = cursor(&marked);
        let mut client = Client::open(&text);
        let found = client.ask_at("textDocument/definition", &at, json!({})).expect("it answers");
        out.push_str(&format!("{} `{}` of:", range(&found["range"]), text_of(&text, &found["range"])));
        let context = json!({"context": {"includeDeclaration": true}});
        let places = client.ask_at("textDocument/references", &at, context).expect("it answers");
        for place in places.as_array().expect("a list") {
            assert_eq!(place["uri"], URI);
            out.push_str(&format!(" {}", range(&place["range"])));
        }
        let marks = client.ask_at("textDocument/documentHighlight", &at, json!({})).expect("it answers");
        assert_eq!(marks.as_array().map(Vec::len), places.as_array().map(Vec::len));
        out.push('\n');
    }
    insta::assert_snapshot!(out, @"
    1:10-1:11 `B` of: 1:10-1:11 2:9-2:10 5:17-5:18
    1:12-1:13 `i` of: 1:12-1:13 1:35-1:36 5:19-5:20
    0:9-0:13 `blur` of: 0:9-0:13 4:23-4:27
    5:6-5:8 `tx` of: 5:6-5:8 7:7-7:9
    ");
}

#[test]
fn rename_changes_a_name_everywhere() {
    let (text, at) = cursor(&BLUR.replace("compute B", "compute $0B"));
    let mut client = Client::open(&text);
    let prepared = client.ask_at("textDocument/prepareRename", &at, json!({})).expect("it answers");
    assert_eq!(prepared["placeholder"], "B");
    let edit = client.ask_at("textDocument/rename", &at, json!({"newName": "Out"})).expect("it answers");
    insta::assert_snapshot!(edited(&text, &edit["changes"][URI]), @"
    te.func @blur(A: f32[1024]) -> f32[1022] {
      compute Out[i: 1022] = sum[r: 3](A[i + r])
      return Out
    }
    schedule @threads for @blur {
      bx, tx = split(Out.i, factor = 128)
      bind(bx, blockIdx.x)
      bind(tx, threadIdx.x)
    }
    ");
    let (text, at) = cursor(&BLUR.replace("for @blur", "for @bl$0ur"));
    client.change(&text);
    let edit = client.ask_at("textDocument/rename", &at, json!({"newName": "@smooth"})).expect("it answers");
    let renamed = edited(&text, &edit["changes"][URI]);
    assert_eq!(renamed, text.replace("@blur", "@smooth"));
}

#[test]
fn rename_refuses_what_is_no_free_name() {
    let mut out = String::new();
    for (marked, new) in [
        (BLUR.replace("compute B", "compute $0B"), "for"),
        (BLUR.replace("compute B", "compute $0B"), "A"),
        (BLUR.replace("compute B", "compute $0B"), "tx"),
        (BLUR.replace("compute B", "com$0pute B"), "x"),
        (BLUR.replace("bind(tx", "bind($0tx"), "bx"),
    ] {
        let (text, at) = cursor(&marked);
        let mut client = Client::open(&text);
        let (code, message) =
            client.ask_at("textDocument/rename", &at, json!({"newName": new})).expect_err("it refuses");
        out.push_str(&format!("{code} {message}\n"));
    }
    insta::assert_snapshot!(out, @"
    -32803 `for` is no name: letters, digits and `_`, and no reserved word
    -32803 the name `A` is taken
    -32803 the name `tx` is taken
    -32803 there is no name here that this file defines
    -32803 the name `bx` is taken
    ");
}

/// The labels of what is completed at the cursor.
fn completed(marked: &str) -> Vec<String> {
    let (text, at) = cursor(marked);
    let mut client = Client::open(&text);
    let found = client.ask_at("textDocument/completion", &at, json!({})).expect("it answers");
    let label = |item: &Value| item["label"].as_str().expect("a label").to_string();
    found.as_array().expect("a list").iter().map(label).collect()
}

#[test]
fn completion_knows_rows_and_names() {
    let mut out = String::new();
    for (title, marked) in [
        ("axes", BLUR.replace("split(B.i", "split(B.$0")),
        ("coordinates", BLUR.replace("threadIdx.x)", "threadIdx.$0)")),
        ("threads", BLUR.replace("bind(tx, threadIdx.x)", "bind(tx, $0")),
        ("keys", BLUR.replace("factor = 128", "$0")),
        ("scopes", BLUR.replace("  bind(tx", "  cache_write(B, $0\n  bind(tx")),
        ("nothing", BLUR.replace("return B", "// wor$0ds")),
    ] {
        out.push_str(&format!("{title}: {}\n", completed(&marked).join(" ")));
    }
    insta::assert_snapshot!(out, @"
    axes: i r
    coordinates: x y z
    threads: blockIdx.x blockIdx.y blockIdx.z threadIdx.x threadIdx.y threadIdx.z vthread
    keys: factor =  nparts =  A B floordiv floormod shl shr tdiv tmod min max pow fma select exp exp2 log log2 sqrt rsqrt tanh sin cos tan erf floor ceil round trunc sigmoid exp2.approx tanh.approx rcp.approx rsqrt.approx abs popcount likely ramp broadcast axis reduce_axis
    scopes: global shared shared.dyn registers local wmma.matrix_a wmma.matrix_b wmma.accumulator mma.matrix_a mma.matrix_b mma.accumulator mma.rows wgmma.matrix_a wgmma.accumulator wgmma.rows
    nothing:
    ");
    let statement = completed(&BLUR.replace("  bind(tx", "  b$0\n  bind(tx"));
    for wanted in ["bind", "bx", "tx", "B", "A", "compute_at", "if"] {
        assert!(statement.iter().any(|label| label == wanted), "{wanted}: {statement:?}");
    }
    let symbols = completed(&BLUR.replace("  bind(tx", "  @$0\n  bind(tx"));
    assert!(symbols.iter().any(|label| label == "@blur"), "{symbols:?}");
    let top = completed(&format!("{BLUR}$0"));
    assert_eq!(top, completed("$0"));
    assert!(top.iter().any(|label| label == "te.func") && top.iter().any(|label| label == "schedule"), "{top:?}");
}

#[test]
fn symbols_and_folds_show_the_items() {
    let mut client = Client::open(&format!("// One\n// two.\n{BLUR}"));
    let symbols = client.ask_document("textDocument/documentSymbol");
    let mut out = String::new();
    for item in symbols.as_array().expect("a list") {
        out.push_str(&format!("{} {} {}\n", item["name"], item["detail"], range(&item["range"])));
        for child in item["children"].as_array().into_iter().flatten() {
            out.push_str(&format!("  {} {}\n", child["name"], range(&child["selectionRange"])));
        }
    }
    for fold in client.ask_document("textDocument/foldingRange").as_array().expect("a list") {
        out.push_str(&format!("fold {}-{} {}\n", fold["startLine"], fold["endLine"], fold["kind"]));
    }
    insta::assert_snapshot!(out, @r#"
    "blur" "te.func" 2:0-5:1
      "A" 2:14-2:15
      "B" 3:10-3:11
    "threads" "schedule for @blur" 6:0-10:1
    fold 0-1 "comment"
    fold 2-4 null
    fold 6-9 null
    "#);
}

#[test]
fn colours_tell_names_apart() {
    let text = format!("// é\n{BLUR}");
    let mut client = Client::open(&text);
    let data = client.ask_document("textDocument/semanticTokens/full")["data"].as_array().expect("a list").clone();
    let legend = [
        "comment",
        "keyword",
        "type",
        "number",
        "string",
        "function",
        "macro",
        "parameter",
        "variable",
        "property",
        "word",
    ];
    let (mut line, mut start, mut out) = (0, 0, String::new());
    for token in data.chunks(5) {
        let number = |nth: usize| token[nth].as_u64().expect("a number") as usize;
        if number(0) > 0 {
            (line, start) = (line + number(0), 0);
            out.push('\n');
        }
        start += number(1);
        let units: Vec<u16> = text.lines().nth(line).expect("a line").encode_utf16().collect();
        let word = String::from_utf16_lossy(&units[start..start + number(2)]);
        out.push_str(&format!("{word}:{}{} ", legend[number(3)], if number(4) & 1 == 1 { "!" } else { "" }));
    }
    insta::assert_snapshot!(out, @"
    // é:comment 
    te.func:keyword @blur:function! A:parameter! f32:type 1024:number f32:type 1022:number 
    compute:keyword B:variable! i:variable! 1022:number sum:word r:variable! 3:number A:parameter i:variable r:variable 
    return:keyword B:variable 
    schedule:keyword @threads:function! for:keyword @blur:function 
    bx:variable! tx:variable! split:macro B:variable i:variable factor:property 128:number 
    bind:macro bx:variable blockIdx.x:word 
    bind:macro tx:variable threadIdx.x:word
    ");
}

#[test]
fn formatting_lays_out_and_keeps_comments() {
    let text = "te.func @f(A: f32[8])->f32[8] {\n // what\ncompute B[i: 8]=A[ i ] // why\n\n\n\n    return B\n  }";
    let mut client = Client::open(text);
    let options = json!({"textDocument": {"uri": URI}, "options": {"tabSize": 2, "insertSpaces": true}});
    let edits = client.ask("textDocument/formatting", options.clone()).expect("it answers");
    insta::assert_snapshot!(edited(text, &edits), @"
    te.func @f(A: f32[8]) -> f32[8] {
      // what
      compute B[i: 8] = A[i] // why

      return B
    }
    ");
    client.change("te.func @f( {\n");
    assert_eq!(client.ask("textDocument/formatting", options).expect("it answers"), Value::Null);
}

#[test]
fn tried_changes_are_code_actions() {
    let mut out = String::new();
    for (from, to) in [
        ("bind(bx, blockIdx.x)", "bind(B.i, blockIdx.x)"),
        ("split(B.i", "split(B.j"),
        ("bind(tx, threadIdx.x)", "bnd(tx, threadIdx.x)"),
        ("bind(tx, threadIdx.x)", "bind(tx, threadIdx.x)\n  bind(tx, threadIdx.y)"),
    ] {
        let text = BLUR.replace(from, to);
        let mut client = Client::open(&text);
        let found = client.diagnostics();
        let params =
            json!({"textDocument": {"uri": URI}, "range": found[0]["range"], "context": {"diagnostics": found}});
        let actions = client.ask("textDocument/codeAction", params).expect("it answers");
        for action in actions.as_array().expect("a list") {
            out.push_str(&format!("{}\n", action["title"].as_str().expect("a title")));
            let fixed = edited(&text, &action["edit"]["changes"][URI]);
            // What was tried has no error any more.
            let mut again = Client::open(&fixed);
            assert_eq!(again.diagnostics(), Vec::<Value>::new(), "{fixed}");
        }
    }
    insta::assert_snapshot!(out, @"
    `bind(bx, blockIdx.x)`
    did you mean `B.i`?
    did you mean `bind`?
    leave out this `bind`
    leave out the other `bind`
    ");
}

#[test]
fn a_function_that_schedules_call_is_not_changed() {
    let text = BLUR.replace("  bind(tx, threadIdx.x)\n}", "  @twice(tx)\n}")
        + "schedule.func @twice(axis: axis) {\n  bind(axis, threadIdx.x)\n  bind(axis, threadIdx.y)\n}\n";
    let mut client = Client::open(&text);
    let found = client.diagnostics();
    insta::assert_snapshot!(shown(&text, &found), @"
    11:2-11:25 `bind(axis, threadIdx.y)` said-twice: how `B.tx` runs was said before
        help: leave out this `bind`; or leave out the other `bind`
    ");
    let params = json!({"textDocument": {"uri": URI}, "range": found[0]["range"], "context": {"diagnostics": found}});
    assert_eq!(client.ask("textDocument/codeAction", params).expect("it answers"), json!([]));
}

const SHARED: &str = "\
te.func @f(A: f32[1024]) -> f32[1024] {
  compute B[i: 1024] = A[1023 - i]
  return B
}
schedule @s for @f {
  AS = cache_read(A, shared, [B])
  bx, tx = split(B.i, factor = 128)
  bind(bx, blockIdx.x)
  bind(tx, threadIdx.x)
  compute_at(AS, bx)
  y, x = split(AS.ax0, factor = 128)
  bind(x, threadIdx.x)
}
tir.func @p(A: f32[64, 32], B: f32[64, 32]) attributes {noalias} {
  for b in 0..2 bind(blockIdx.x) {
    for tx in 0..32 bind(threadIdx.x) {
      alloc S: f32[32, 32] in shared
      for k in 0..32 {
        S[tx, k] = A[b * 32 + tx, k]
      }
      for k in 0..32 {
        B[b * 32 + k, tx] = S[k, tx]
      }
    }
  }
}
";

#[test]
fn hints_tell_extents_bytes_barriers_and_conflicts() {
    let mut client = Client::open(SHARED);
    let whole = json!({"start": {"line": 0, "character": 0}, "end": {"line": 999, "character": 0}});
    let params = json!({"textDocument": {"uri": URI}, "range": whole});
    let hints = client.ask("textDocument/inlayHint", params).expect("it answers");
    let line = |hint: &Value| {
        let at = &hint["position"];
        format!("{}:{} {} | {}\n", at["line"], at["character"], hint["label"], hint["tooltip"])
    };
    insta::assert_snapshot!(hints.as_array().expect("a list").iter().map(line).collect::<String>(), @r#"
    1:11 "4096 bytes" | "`f32[1024]`"
    4:11 "1 barrier" | "line 2: a barrier stands before this: `AS` is read behind it and written before it, maybe by two threads"
    5:4 "[128] shared, 512 bytes" | null
    6:4 "8" | "the outer part of `i` (1024), split by 128, bound to blockIdx.x"
    6:8 "128" | "the inner part of `i` (1024), split by 128, bound to threadIdx.x"
    10:3 "1" | "the outer part of `ax0` (128), split by 128"
    10:6 "128" | "the inner part of `ax0` (128), split by 128, bound to threadIdx.x"
    16:13 "4096 bytes" | "`f32[32, 32]`"
    18:36 "8.0-way conflict" | "`S` is written by 32.0 wavefronts a request, and 4.0 would do without conflicts of banks"
    20:22 "barrier" | "a barrier stands before this: `S` is read behind it and written before it, maybe by two threads"
    "#);
}

#[test]
fn settings_are_kept_until_they_change() {
    let mut client = Client::with_options(json!({"hints": {"bytes": false}, "target": "sm_90"}));
    client.open_text(SHARED);
    let whole = json!({"start": {"line": 4, "character": 0}, "end": {"line": 12, "character": 0}});
    let params = json!({"textDocument": {"uri": URI}, "range": whole});
    let labels = |client: &mut Client| {
        let hints = client.ask("textDocument/inlayHint", params.clone()).expect("it answers");
        let label = |hint: &Value| hint["label"].as_str().expect("a label").to_string();
        hints.as_array().expect("a list").iter().map(label).collect::<Vec<String>>().join(", ")
    };
    assert_eq!(labels(&mut client), "1 barrier, 8, 128, 1, 128");
    client.notify("workspace/didChangeConfiguration", json!({"settings": {}}));
    assert_eq!(labels(&mut client), "1 barrier, 8, 128, 1, 128");
    let settings = json!({"settings": {"tc": {"hints": {"extents": false, "bytes": true, "barriers": null}}}});
    client.notify("workspace/didChangeConfiguration", settings);
    assert_eq!(labels(&mut client), "1 barrier, [128] shared, 512 bytes");
}

#[test]
fn lenses_start_commands() {
    let mut client = Client::open(SHARED);
    let lenses = client.ask_document("textDocument/codeLens");
    let mut out = String::new();
    for lens in lenses.as_array().expect("a list") {
        let (title, command) = (&lens["command"]["title"], &lens["command"]["command"]);
        out.push_str(&format!("{} {title} {command}\n", lens["range"]["start"]["line"]));
        let params = json!({"command": command, "arguments": lens["command"]["arguments"]});
        let answer = client.ask("workspace/executeCommand", params).expect("it answers");
        match answer.get("text") {
            Some(text) => out.push_str(&format!("{}:\n{}\n", answer["title"], text.as_str().expect("a text"))),
            None => out.push_str(&format!("{answer}\n")),
        }
    }
    insta::assert_snapshot!(out, @r#"
    4 "check this schedule" "tc.check"
    {"message":"f @s: 1024 cells right, 2 sets of inputs; no races, no access out of bounds","ok":true}
    4 "show the program" "tc.showProgram"
    "f @s.tir":
    tir 1

    tir.func @f(A: f32[1024], B: f32[1024]) attributes {noalias} {
      for bx in 0..8 bind(blockIdx.x) {
        alloc AS: f32[128] in shared
        for x in 0..128 bind(threadIdx.x) {
          AS[x] = A[x - bx * 128 + 896]
        }
        for tx in 0..128 bind(threadIdx.x) {
          B[bx * 128 + tx] = AS[127 - tx]
        }
      }
    }

    4 "bounds" "tc.showBounds"
    "f @s bounds.md":
    # f @s

    ## `B`

    computed at the root (line 2), in global memory
    - buffer `[1024]`, 4096 bytes
    - `i`: 1024 from `0`; a result of the operator is computed whole
    - loop `bx`: 8, the outer part of `i` (1024), split by 128, bound to blockIdx.x (line 7)
    - loop `tx`: 128, the inner part of `i` (1024), split by 128, bound to threadIdx.x (line 7)

    ## `AS`

    computed at `bx` of `B` (line 10), in shared memory
    - buffer `[128]`, 512 bytes
    - `ax0`: 128 from `896 - bx * 128`; as it is read
    - read 1 by `B` (line 2)
    - loop `y`: 1, the outer part of `ax0` (128), split by 128 (line 11)
    - loop `x`: 128, the inner part of `ax0` (128), split by 128, bound to threadIdx.x (line 11)

    13 "check this program" "tc.check"
    {"message":"p: nothing to compare with, 2 sets of inputs; no races, no access out of bounds","ok":true}
    "#);
}

#[test]
fn an_editor_without_lenses_has_actions_in_their_place() {
    let titles = |of_text: Value, line: u32, only: Option<&str>| {
        let mut client = Client::with_capabilities(of_text, json!({}));
        client.open_text(SHARED);
        let at = json!({"line": line, "character": 3});
        let context = json!({"diagnostics": [], "only": only.map(|kind| [kind])});
        let params = json!({"textDocument": {"uri": URI}, "range": {"start": at, "end": at}, "context": context});
        let actions = client.ask("textDocument/codeAction", params).expect("it answers");
        let actions: Vec<Value> = serde_json::from_value(actions).expect("a list");
        let lenses = client.ask_document("textDocument/codeLens");
        let commands: Vec<&Value> = lenses.as_array().expect("a list").iter().map(|lens| &lens["command"]).collect();
        assert!(actions.iter().all(|action| commands.contains(&&action["command"])), "{actions:?}");
        let titles: Vec<&str> = actions.iter().filter_map(|action| action["title"].as_str()).collect();
        titles.join(", ")
    };
    assert_eq!(titles(json!({}), 4, None), "check this schedule, show the program, bounds");
    assert_eq!(titles(json!({}), 13, None), "check this program");
    // Between the names, where only quick fixes are asked for, and beside lenses there are none.
    assert_eq!(titles(json!({}), 5, None), "");
    assert_eq!(titles(json!({}), 4, Some("quickfix")), "");
    assert_eq!(titles(json!({"codeLens": {}}), 4, None), "");
}

/// The notifications and requests called `method` that came so far.
fn came(client: &Client, method: &str) -> Vec<Value> {
    let params = |message: &Message| match message {
        Message::Notification(note) if note.method == method => Some(note.params.clone()),
        Message::Request(request) if request.method == method => Some(request.params.clone()),
        _ => None,
    };
    client.inbox.iter().filter_map(params).collect()
}

#[test]
fn a_check_tells_what_it_finds() {
    let text =
        "tir.func @p(A: f32[8], B: f32[8]) attributes {noalias} {\n  for i in 0..8 {\n    B[i] = A[i + 1]\n  }\n}\n";
    let mut client = Client::open(text);
    assert_eq!(client.diagnostics(), Vec::<Value>::new());
    let about = json!({"uri": URI, "func": "p", "schedule": null});
    let params = json!({"command": "tc.check", "arguments": [about]});
    let answer = client.ask("workspace/executeCommand", params).expect("it answers");
    assert_eq!(answer["ok"], false, "{answer}");
    let shown_message = came(&client, "window/showMessage");
    assert_eq!(shown_message, [json!({"type": 1, "message": answer["message"]})]);
    let kinds: Vec<Value> = came(&client, "$/progress").iter().map(|one| one["value"]["kind"].clone()).collect();
    assert_eq!(kinds, ["begin", "end"]);
    let published = came(&client, "textDocument/publishDiagnostics");
    let last = published.last().expect("it was published")["diagnostics"].as_array().expect("a list").clone();
    insta::assert_snapshot!(shown(text, &last), @"
    2:11-2:12 `A` out-of-bounds: the only thread reads `A[8]` out of bounds
        note: `A` has shape [8]
        note: found 2 times at these lines
    ");
    // What was found stays until the program changes.
    client.change(&format!("// A comment.\n{text}"));
    assert_eq!(client.diagnostics().len(), last.len());
    client.change(&text.replace("A[i + 1]", "A[i]"));
    assert_eq!(client.diagnostics(), Vec::<Value>::new());
}

#[test]
fn a_client_that_opens_files_gets_one_with_the_text() {
    let about = json!({"uri": URI, "func": "blur", "schedule": "@threads"});
    let params = json!({"command": "tc.showProgram", "arguments": [about]});
    let mut client = Client::open(BLUR);
    let answer = client.ask("workspace/executeCommand", params.clone()).expect("it answers");
    let asked = came(&client, "window/showDocument");
    assert_eq!(asked, [json!({"uri": answer["uri"], "takeFocus": true})]);
    let path = answer["uri"].as_str().and_then(|uri| uri.strip_prefix("file://")).expect("a file");
    assert_eq!(std::fs::read_to_string(path).expect("it was written"), answer["text"].as_str().expect("a text"));
    std::fs::remove_file(path).expect("ours");
    // One that shows texts itself is asked for nothing.
    let mut client = Client::with_options(json!({"virtualDocuments": true}));
    client.open_text(BLUR);
    let answer = client.ask("workspace/executeCommand", params).expect("it answers");
    assert!(answer["uri"].is_null() && came(&client, "window/showDocument").is_empty(), "{answer}");
    // A schedule without a program says why.
    client.change(&BLUR.replace("bind(bx", "bind(B.i"));
    let about = json!({"uri": URI, "func": "blur", "schedule": "threads"});
    let params = json!({"command": "tc.showProgram", "arguments": [about]});
    let (_, message) = client.ask("workspace/executeCommand", params).expect_err("it refuses");
    insta::assert_snapshot!(message, @"there is no program yet: `B.i` is no loop any more: `split` made `bx` and `tx` of it");
}
