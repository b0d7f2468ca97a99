//! A client in the process: it opens texts, asks, and keeps what the server sends.

use lsp_server::{Connection, Message, Notification, Request, RequestId, Response};
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// A server that does not answer for so long has failed: debug builds on a busy machine take their time.
const PATIENCE: Duration = Duration::from_secs(120);

/// The address of the text that most tests open.
pub(crate) const URI: &str = "file:///home/user/test.tir";

pub(crate) struct Client {
    pub(crate) connection: Connection,
    server: Option<JoinHandle<u8>>,
    next: i32,
    /// What came and was not asked for yet.
    pub(crate) inbox: VecDeque<Message>,
    version: i32,
}

impl Client {
    /// A client that has not said anything yet.
    pub(crate) fn silent() -> Client {
        let (ours, theirs) = Connection::memory();
        let server = std::thread::spawn(move || tc_lsp::serve(theirs));
        Client { connection: ours, server: Some(server), next: 0, inbox: VecDeque::new(), version: 0 }
    }

    /// A client that is initialized, with `options` for the server.
    pub(crate) fn with_options(options: Value) -> Client {
        Client::with_capabilities(json!({}), options)
    }

    /// A client that can do `of_text` with texts, with `options` for the server.
    pub(crate) fn with_capabilities(of_text: Value, options: Value) -> Client {
        let mut client = Client::silent();
        let window = json!({"workDoneProgress": true, "showDocument": {"support": true}});
        let capabilities = json!({"window": window, "textDocument": of_text});
        let params = json!({"capabilities": capabilities, "initializationOptions": options});
        client.ask("initialize", params).expect("the server answers");
        client.notify("initialized", json!({}));
        client
    }

    pub(crate) fn new() -> Client {
        Client::with_options(json!({}))
    }

    /// A client that has opened `text`, and got the diagnostics of it.
    pub(crate) fn open(text: &str) -> Client {
        let mut client = Client::new();
        client.open_text(text);
        client
    }

    pub(crate) fn open_text(&mut self, text: &str) {
        self.version += 1;
        let document = json!({"uri": URI, "languageId": "tir", "version": self.version, "text": text});
        self.notify("textDocument/didOpen", json!({"textDocument": document}));
    }

    /// Replaces the whole text.
    pub(crate) fn change(&mut self, text: &str) {
        self.change_by(json!([{"text": text}]));
    }

    pub(crate) fn change_by(&mut self, changes: Value) {
        self.version += 1;
        let document = json!({"uri": URI, "version": self.version});
        self.notify("textDocument/didChange", json!({"textDocument": document, "contentChanges": changes}));
    }

    pub(crate) fn notify(&mut self, method: &str, params: Value) {
        self.send(Notification::new(method.to_string(), params).into());
    }

    pub(crate) fn send(&mut self, message: Message) {
        self.connection.sender.send(message).expect("the server listens");
    }

    /// Sends a request and does not wait.
    pub(crate) fn begin(&mut self, method: &str, params: Value) -> RequestId {
        self.next += 1;
        let id = RequestId::from(self.next);
        self.send(Request::new(id.clone(), method.to_string(), params).into());
        id
    }

    /// The answer to a request; the error is its code and message.
    pub(crate) fn answer(&mut self, id: &RequestId) -> Result<Value, (i32, String)> {
        let is_it = |message: &Message| matches!(message, Message::Response(response) if response.id == *id);
        let Message::Response(Response { result, error, .. }) = self.wait(is_it) else { unreachable!("it is one") };
        match error {
            Some(error) => Err((error.code, error.message)),
            None => Ok(result.unwrap_or_default()),
        }
    }

    pub(crate) fn ask(&mut self, method: &str, params: Value) -> Result<Value, (i32, String)> {
        let id = self.begin(method, params);
        self.answer(&id)
    }

    /// Asks about the text.
    pub(crate) fn ask_document(&mut self, method: &str) -> Value {
        self.ask(method, json!({"textDocument": {"uri": URI}})).expect("it answers")
    }

    /// Asks about a place of the text.
    pub(crate) fn ask_at(&mut self, method: &str, position: &Value, more: Value) -> Result<Value, (i32, String)> {
        let mut params = json!({"textDocument": {"uri": URI}, "position": position});
        if let (Some(params), Value::Object(more)) = (params.as_object_mut(), more) {
            params.extend(more);
        }
        self.ask(method, params)
    }

    /// The first message for which `is_it` holds, of those that came and those to come.
    pub(crate) fn wait(&mut self, is_it: impl Fn(&Message) -> bool) -> Message {
        let until = Instant::now() + PATIENCE;
        if let Some(at) = self.inbox.iter().position(&is_it) {
            return self.inbox.remove(at).expect("it is there");
        }
        loop {
            let left = until.saturating_duration_since(Instant::now());
            let message = self.connection.receiver.recv_timeout(left).expect("the server answers in time");
            if is_it(&message) {
                return message;
            }
            self.inbox.push_back(message);
        }
    }

    /// The diagnostics of the newest version, when they are complete.
    pub(crate) fn diagnostics(&mut self) -> Vec<Value> {
        let version = self.version;
        // Work of one lane is done in order: an answer of the lane tells that what came before is done.
        self.notified_version(version);
        let whole = json!({"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 0}});
        let params = json!({"textDocument": {"uri": URI}, "range": whole, "context": {"diagnostics": []}});
        self.ask("textDocument/codeAction", params).expect("it answers");
        let mut last = Vec::new();
        self.inbox.retain(|message| match message {
            Message::Notification(note) if note.method == "textDocument/publishDiagnostics" => {
                if note.params["version"] == version {
                    last.push(note.params.clone());
                }
                false
            }
            _ => true,
        });
        last.pop().expect("it was published")["diagnostics"].as_array().expect("a list").clone()
    }

    /// Waits until diagnostics of `version` came, and leaves them in the inbox.
    fn notified_version(&mut self, version: i32) {
        let is_it = |message: &Message| match message {
            Message::Notification(note) => {
                note.method == "textDocument/publishDiagnostics" && note.params["version"] == version
            }
            _ => false,
        };
        let message = self.wait(is_it);
        self.inbox.push_back(message);
    }

    /// Says good-bye; the exit status of the server.
    pub(crate) fn end(mut self) -> u8 {
        self.ask("shutdown", Value::Null).expect("it answers");
        self.notify("exit", Value::Null);
        self.status()
    }

    /// Waits for the server to end.
    pub(crate) fn status(&mut self) -> u8 {
        self.server.take().expect("it runs").join().expect("it does not panic")
    }
}

/// A text with a cursor, `$0`, as the text and the position.
pub(crate) fn cursor(marked: &str) -> (String, Value) {
    let at = marked.find("$0").expect("a cursor");
    let before = &marked[..at];
    let line = before.matches('\n').count();
    let start = before.rfind('\n').map_or(0, |at| at + 1);
    let character = before[start..].encode_utf16().count();
    (marked.replacen("$0", "", 1), json!({"line": line, "character": character}))
}

/// A range as `line:column-line:column`, from 0 as the protocol counts.
pub(crate) fn range(range: &Value) -> String {
    let place = |at: &Value| format!("{}:{}", at["line"], at["character"]);
    format!("{}-{}", place(&range["start"]), place(&range["end"]))
}

/// The text of a range.
pub(crate) fn text_of<'t>(text: &'t str, range: &Value) -> &'t str {
    &text[offset(text, &range["start"])..offset(text, &range["end"])]
}

/// The byte offset of a position.
fn offset(text: &str, position: &Value) -> usize {
    let number = |key: &str| position[key].as_u64().expect("a number") as usize;
    let start: usize = text.split_inclusive('\n').take(number("line")).map(str::len).sum();
    let mut units = number("character");
    for (at, c) in text[start..].char_indices() {
        if units == 0 {
            return start + at;
        }
        units = units.saturating_sub(c.len_utf16());
    }
    text.len()
}

/// The text after edits of the protocol.
pub(crate) fn edited(text: &str, edits: &Value) -> String {
    let mut edits: Vec<(usize, usize, String)> = edits
        .as_array()
        .expect("a list")
        .iter()
        .map(|edit| {
            let range = &edit["range"];
            let new = edit["newText"].as_str().expect("a text").to_string();
            (offset(text, &range["start"]), offset(text, &range["end"]), new)
        })
        .collect();
    edits.sort();
    let mut text = text.to_string();
    for (start, end, new) in edits.into_iter().rev() {
        text.replace_range(start..end, &new);
    }
    text
}
