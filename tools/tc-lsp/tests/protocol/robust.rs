//! What clients must not do, and do: the server answers with an error, and goes on.

use crate::BLUR;
use crate::client::{Client, URI};
use lsp_server::{Message, RequestId};
use serde_json::{Value, json};

/// The codes of the protocol.
const NOT_INITIALIZED: i32 = -32002;
const INVALID_REQUEST: i32 = -32600;
const NO_METHOD: i32 = -32601;
const INVALID_PARAMS: i32 = -32602;
const CANCELLED: i32 = -32800;

fn code(answer: Result<Value, (i32, String)>) -> i32 {
    answer.expect_err("it refuses").0
}

/// The server still works.
fn assert_works(client: &mut Client) {
    client.open_text(BLUR);
    let symbols = client.ask_document("textDocument/documentSymbol");
    assert_eq!(symbols.as_array().map(Vec::len), Some(2));
}

#[test]
fn messages_may_come_in_any_order() {
    let mut client = Client::silent();
    client.notify("textDocument/didOpen", json!({}));
    assert_eq!(code(client.ask("textDocument/hover", json!({}))), NOT_INITIALIZED);
    assert_eq!(code(client.ask("shutdown", Value::Null)), NOT_INITIALIZED);
    client.ask("initialize", json!({"capabilities": {}})).expect("it answers");
    assert_eq!(code(client.ask("initialize", json!({"capabilities": {}}))), INVALID_REQUEST);
    assert_works(&mut client);
    client.ask("shutdown", Value::Null).expect("it answers");
    assert_eq!(code(client.ask("textDocument/hover", json!({}))), INVALID_REQUEST);
    client.notify("exit", Value::Null);
    assert_eq!(client.status(), 0);
}

#[test]
fn an_exit_without_a_shutdown_is_a_failure() {
    let mut client = Client::new();
    client.notify("exit", Value::Null);
    assert_eq!(client.status(), 1);
    let mut client = Client::silent();
    client.notify("exit", Value::Null);
    assert_eq!(client.status(), 1);
}

#[test]
fn a_client_that_is_gone_ends_the_server() {
    let mut client = Client::new();
    let (other, _) = lsp_server::Connection::memory();
    client.connection = other;
    assert_eq!(client.status(), 1);
}

#[test]
fn initialize_takes_any_parameters() {
    for params in [Value::Null, json!([]), json!({"capabilities": 7}), json!({"initializationOptions": "x"})] {
        let mut client = Client::silent();
        client.ask("initialize", params).expect("it answers");
        assert_works(&mut client);
    }
}

#[test]
fn wrong_calls_are_refused() {
    let mut client = Client::open(BLUR);
    assert_eq!(code(client.ask("textDocument/unknown", json!({}))), NO_METHOD);
    assert_eq!(code(client.ask("$/unknown", json!({}))), NO_METHOD);
    assert_eq!(code(client.ask("textDocument/hover", Value::Null)), INVALID_PARAMS);
    assert_eq!(code(client.ask("textDocument/hover", json!({"textDocument": 1}))), INVALID_PARAMS);
    let elsewhere = json!({"textDocument": {"uri": "file:///other.tir"}, "position": {"line": 0, "character": 0}});
    assert_eq!(code(client.ask("textDocument/hover", elsewhere)), INVALID_PARAMS);
    for command in
        [json!({"command": "rm"}), json!({"command": "tc.check"}), json!({"command": "tc.check", "arguments": [7]})]
    {
        assert_eq!(code(client.ask("workspace/executeCommand", command)), INVALID_PARAMS);
    }
    // So do editors that list commands and know nothing of their arguments.
    let (_, message) = client.ask("workspace/executeCommand", json!({"command": "tc.check"})).expect_err("it refuses");
    assert_eq!(message, "`tc.check` takes an object with `uri`, `func` and, of a schedule, `schedule`");
    let about = json!({"uri": URI, "func": "blur", "schedule": "none"});
    client
        .ask("workspace/executeCommand", json!({"command": "tc.check", "arguments": [about]}))
        .expect_err("it refuses");
    assert_works(&mut client);
}

#[test]
fn notifications_that_make_no_sense_are_ignored() {
    let mut client = Client::new();
    client.notify("textDocument/didChange", json!({"textDocument": {"uri": URI, "version": 7}, "contentChanges": []}));
    client.notify("textDocument/didClose", json!({"textDocument": {"uri": URI}}));
    client.notify("textDocument/didOpen", json!({"textDocument": {"uri": "no address", "text": 1}}));
    client.notify("$/cancelRequest", json!({"id": 99}));
    client.notify("$/cancelRequest", json!({"id": {}}));
    client.notify("workspace/didChangeConfiguration", json!({"settings": {"tc": {"target": "sm_0"}}}));
    client.notify("workspace/didChangeConfiguration", json!({}));
    client.notify("unknown", json!([1, 2]));
    client.send(lsp_server::Response::new_ok(RequestId::from(5), 1).into());
    assert_works(&mut client);
}

#[test]
fn a_closed_text_is_forgotten() {
    let mut client = Client::open(BLUR);
    client.diagnostics();
    client.notify("textDocument/didClose", json!({"textDocument": {"uri": URI}}));
    let params = json!({"textDocument": {"uri": URI}});
    assert_eq!(code(client.ask("textDocument/documentSymbol", params)), INVALID_PARAMS);
    let is_last = |message: &Message| match message {
        Message::Notification(note) => {
            note.method == "textDocument/publishDiagnostics" && note.params.get("version").is_none_or(Value::is_null)
        }
        _ => false,
    };
    let Message::Notification(last) = client.wait(is_last) else { unreachable!("it is one") };
    assert_eq!(last.params["diagnostics"], json!([]));
    assert_works(&mut client);
}

/// Requests about a place, with what else they take.
fn place_requests() -> Vec<(&'static str, Value)> {
    vec![
        ("textDocument/hover", json!({})),
        ("textDocument/definition", json!({})),
        ("textDocument/references", json!({"context": {"includeDeclaration": false}})),
        ("textDocument/documentHighlight", json!({})),
        ("textDocument/completion", json!({})),
        ("textDocument/prepareRename", json!({})),
        ("textDocument/rename", json!({"newName": "fresh"})),
    ]
}

#[test]
fn positions_outside_of_the_text_are_taken() {
    let text = BLUR.replace("@blur", "@\"bl😀ur\"");
    let mut client = Client::open(&text);
    let far = u32::MAX;
    for (line, character) in [(0, far), (far, 0), (far, far), (0, 13), (0, 14), (9, 0), (9, 1)] {
        for (method, more) in place_requests() {
            match client.ask_at(method, &json!({"line": line, "character": character}), more) {
                Ok(_) => {}
                Err((code, message)) => assert_eq!(code, -32803, "{method}: {message}"),
            }
        }
    }
    let upside_down = json!({"start": {"line": 5, "character": 3}, "end": {"line": 1, "character": 900}});
    let params = json!({"textDocument": {"uri": URI}, "range": upside_down, "context": {"diagnostics": []}});
    client.ask("textDocument/codeAction", params.clone()).expect("it answers");
    client.ask("textDocument/inlayHint", params).expect("it answers");
    // Edits too: what lies outside is at the end, what is upside down is turned.
    client.change_by(json!([
        {"range": upside_down, "text": ""},
        {"range": {"start": {"line": far, "character": 0}, "end": {"line": far, "character": far}}, "text": "\n// é😀"},
        {"range": {"start": {"line": 0, "character": 14}, "end": {"line": 0, "character": 15}}, "text": "x"},
    ]));
    client.ask_document("textDocument/semanticTokens/full");
    assert_works(&mut client);
}

#[test]
fn every_place_of_a_broken_text_has_answers() {
    // Each prefix of a text is what one has while it is typed.
    let mut client = Client::open(BLUR);
    for end in (0..BLUR.len()).step_by(7) {
        client.change(&BLUR[..end]);
        let line = BLUR[..end].matches('\n').count();
        let character = end - BLUR[..end].rfind('\n').map_or(0, |at| at + 1);
        for (method, more) in place_requests() {
            if let Err((code, message)) = client.ask_at(method, &json!({"line": line, "character": character}), more) {
                assert_eq!(code, -32803, "{method} at {end}: {message}");
            }
        }
        for method in ["documentSymbol", "foldingRange", "semanticTokens/full", "codeLens"] {
            client.ask_document(&format!("textDocument/{method}"));
        }
    }
    assert_works(&mut client);
}

#[test]
fn a_request_can_be_given_up() {
    let mut client = Client::open(BLUR);
    // The lane is busy with the first; the others wait.
    let at = json!({"line": 5, "character": 3});
    let ids: Vec<RequestId> = (0..20)
        .map(|_| client.begin("textDocument/hover", json!({"textDocument": {"uri": URI}, "position": at})))
        .collect();
    for nth in 1..=21 {
        client.notify("$/cancelRequest", json!({"id": nth}));
    }
    let mut cancelled = 0;
    for id in ids {
        match client.answer(&id) {
            Ok(_) => {}
            Err((code, _)) => {
                assert_eq!(code, CANCELLED);
                cancelled += 1;
            }
        }
    }
    assert!(cancelled > 0, "all were answered before the client could give them up");
    assert_works(&mut client);
}

#[test]
fn two_requests_of_one_number_are_one_too_many() {
    let mut client = Client::open(BLUR);
    let about = json!({"uri": URI, "func": "blur", "schedule": "threads"});
    let params = json!({"command": "tc.check", "arguments": [about]});
    let id = client.begin("workspace/executeCommand", params.clone());
    client.send(lsp_server::Request::new(id.clone(), "workspace/executeCommand".to_string(), params).into());
    let mut refused = 0;
    for _ in 0..2 {
        refused += usize::from(client.answer(&id).is_err());
    }
    assert_eq!(refused, 1);
    assert_works(&mut client);
}

#[test]
fn a_fast_typist_gets_the_diagnostics_of_the_last_text() {
    let mut client = Client::open(BLUR);
    let mut text = BLUR.to_string();
    for nth in 0..200 {
        text = BLUR.replace("128", &format!("{}", 64 + nth));
        client.change(&text);
    }
    let broken = text.replace("bind(bx", "bind(by");
    client.change(&broken);
    let found = client.diagnostics();
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0]["message"].as_str().expect("a message").contains("`by`"), "{found:?}");
    assert_eq!(client.end(), 0);
}

#[test]
fn a_text_that_is_too_large_is_not_looked_into() {
    let mut client = Client::open(&" ".repeat((16 << 20) + 1));
    let found = client.diagnostics();
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0]["code"], "too-large");
    assert_eq!(client.ask_document("textDocument/documentSymbol"), json!([]));
    assert_works(&mut client);
}

/// Numbers that look random and are the same each time (Knuth's constants).
struct Dice(u64);

impl Dice {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) as usize % n
    }
}

#[test]
fn damaged_texts_have_answers() {
    const PIECES: [&str; 12] = ["{", "}", "(", ")", "\"", "@", ".", "for i in", "é😀", "\n", "$", "compute B[i: 8] = "];
    let source = include_str!("../../../../examples/conv1d.tir");
    let mut dice = Dice(7);
    let mut client = Client::open(source);
    for _ in 0..40 {
        let mut text = source.to_string();
        for _ in 0..4 {
            let mut start = dice.below(text.len());
            while !text.is_char_boundary(start) {
                start -= 1;
            }
            let mut end = (start + dice.below(60)).min(text.len());
            while !text.is_char_boundary(end) {
                end += 1;
            }
            text.replace_range(start..end, PIECES[dice.below(PIECES.len())]);
        }
        client.change(&text);
        for method in ["documentSymbol", "foldingRange", "semanticTokens/full", "codeLens"] {
            client.ask_document(&format!("textDocument/{method}"));
        }
        let n_lines = text.matches('\n').count();
        for (method, more) in place_requests() {
            let at = json!({"line": dice.below(n_lines), "character": dice.below(40)});
            if let Err((code, message)) = client.ask_at(method, &at, more) {
                assert_eq!(code, -32803, "{method}: {message}\n{text}");
            }
        }
        let whole = json!({"start": {"line": 0, "character": 0}, "end": {"line": n_lines, "character": 0}});
        let params = json!({"textDocument": {"uri": URI}, "range": whole, "context": {"diagnostics": []},
            "options": {"tabSize": 2, "insertSpaces": true}});
        for method in ["codeAction", "formatting"] {
            client.ask(&format!("textDocument/{method}"), params.clone()).expect("it answers");
        }
    }
    assert_works(&mut client);
}
