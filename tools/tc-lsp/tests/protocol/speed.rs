//! How long the server takes for a file of ten thousand lines. The times are printed; what is asserted is loose, since debug
//! builds on a busy machine are slow. docs/editors.md has the figures of a release build, and the command.

use crate::client::{Client, URI};
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::time::{Duration, Instant};

/// What one request may take here.
const LOOSE: Duration = Duration::from_secs(10);

/// A file of `lines` lines: operators, each with three schedules, and programs.
fn file(lines: usize) -> String {
    let mut text = "tir 1\n".to_string();
    let mut nth = 0;
    while text.matches('\n').count() < lines {
        let _ = write!(
            text,
            "
// Operator {nth}: a sum of neighbours, scaled.
te.func @blur{nth}(A: f32[4096]) -> f32[4094] {{
  compute S[i: 4096] = A[i] * 2.0
  compute B[i: 4094] = sum[r: 3](S[i + r])
  return B
}}
schedule @threads for @blur{nth} {{
  inline(S)
  bx, tx = split(B.i, factor = 128)
  bind(bx, blockIdx.x)
  bind(tx, threadIdx.x)
}}
schedule @shared for @blur{nth} {{
  bx, tx = split(B.i, factor = 128)
  bind(bx, blockIdx.x)
  bind(tx, threadIdx.x)
  set_scope(S, shared)
  compute_at(S, bx)
  so, si = split(S.i, factor = 128)
  bind(si, threadIdx.x)
}}
tir.func @copy{nth}(A: f32[64, 64], B: f32[64, 64]) attributes {{noalias}} {{
  for i in 0..64 bind(blockIdx.x) {{
    for j in 0..64 bind(threadIdx.x) {{
      let x = A[i, j] * 2.0
      B[i, j] = x + 1.0
    }}
  }}
}}
"
        );
        nth += 1;
    }
    text
}

#[test]
fn a_file_of_ten_thousand_lines() {
    let text = file(10_000);
    let lines = text.matches('\n').count();
    let mut client = Client::new();
    let begin = Instant::now();
    client.open_text(&text);
    assert_eq!(client.diagnostics(), Vec::<Value>::new());
    let mut out = format!(
        "{lines} lines, {} schedules\nopening to all diagnostics: {:?}\n",
        text.matches("schedule @").count(),
        begin.elapsed()
    );
    // An edit of a schedule in the middle, as one types it.
    let line = text
        .lines()
        .take(lines / 2)
        .collect::<Vec<_>>()
        .iter()
        .rposition(|line| line.contains("bind(tx"))
        .expect("there");
    let at = |from: u32, to: u32| json!({"start": {"line": line, "character": from}, "end": {"line": line, "character": to}});
    let mut least = LOOSE;
    for new in ["ty", "tx"].repeat(if cfg!(debug_assertions) { 1 } else { 5 }) {
        let begin = Instant::now();
        client.change_by(json!([{"range": at(7, 9), "text": new}]));
        let found = client.diagnostics();
        assert_eq!(found.len(), usize::from(new == "ty"));
        least = begin.elapsed().min(least);
    }
    let _ = writeln!(out, "didChange to all diagnostics: {least:?}");
    assert!(least < LOOSE, "{out}");
    let position = json!({"line": line, "character": 7});
    let document = json!({"textDocument": {"uri": URI}});
    let screen = json!({"start": {"line": line - 30, "character": 0}, "end": {"line": line + 30, "character": 0}});
    let options = json!({"tabSize": 2, "insertSpaces": true});
    let mut requests: Vec<(&str, Value)> = Vec::new();
    for method in ["documentSymbol", "foldingRange", "semanticTokens/full", "codeLens"] {
        requests.push((method, document.clone()));
    }
    let context = json!({"includeDeclaration": true});
    requests.push(("references", json!({"textDocument": {"uri": URI}, "position": position, "context": context})));
    for method in ["hover", "definition", "documentHighlight", "completion", "prepareRename", "rename"] {
        let more = json!({"textDocument": {"uri": URI}, "position": position, "newName": "t"});
        requests.push((method, more));
    }
    requests.push(("inlayHint", json!({"textDocument": {"uri": URI}, "range": screen})));
    requests
        .push(("codeAction", json!({"textDocument": {"uri": URI}, "range": screen, "context": {"diagnostics": []}})));
    requests.push(("formatting", json!({"textDocument": {"uri": URI}, "options": options})));
    let turns = if cfg!(debug_assertions) { 1 } else { 9 };
    for (method, params) in requests {
        // The first after a change reads the text; those after it share what it found. The least of several turns is told.
        let (mut first, mut again) = (LOOSE, LOOSE);
        for _ in 0..turns {
            client.change_by(json!([{"range": at(7, 9), "text": "tx"}]));
            for least in [&mut first, &mut again] {
                let begin = Instant::now();
                client.ask(&format!("textDocument/{method}"), params.clone()).expect("it answers");
                *least = begin.elapsed().min(*least);
            }
        }
        let _ = writeln!(out, "{method}: {first:?} after a change, then {again:?}");
        assert!(first < LOOSE && again < LOOSE, "{out}");
    }
    println!("{out}");
}
