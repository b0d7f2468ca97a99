//! `tc-opt lsp` as editors start it: a process whose streams carry the protocol.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

struct Server {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Server {
    fn start(args: &[&str]) -> Server {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tc-opt"));
        command.args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("it starts");
        let input = child.stdin.take().expect("piped");
        let output = BufReader::new(child.stdout.take().expect("piped"));
        Server { child, input, output }
    }

    fn send(&mut self, body: &str) {
        write!(self.input, "Content-Length: {}\r\n\r\n{body}", body.len()).expect("it reads");
        self.input.flush().expect("it reads");
    }

    /// The next message whose text holds `wanted`. Between headers and messages there is nothing else on the stream.
    fn receive(&mut self, wanted: &str) -> String {
        loop {
            let (mut header, mut blank) = (String::new(), String::new());
            self.output.read_line(&mut header).expect("a header");
            self.output.read_line(&mut blank).expect("its end");
            let length = header.trim().strip_prefix("Content-Length: ").expect("a length").parse().expect("a number");
            assert_eq!(blank.trim(), "");
            let mut body = vec![0; length];
            self.output.read_exact(&mut body).expect("a message");
            let body = String::from_utf8(body).expect("a text");
            if body.contains(wanted) {
                return body;
            }
        }
    }

    /// The exit status, when the process has ended by itself; it has written nothing more.
    fn end(mut self) -> (Option<i32>, String) {
        drop(self.input);
        let (mut rest, mut log) = (String::new(), String::new());
        self.output.read_to_string(&mut rest).expect("a text");
        self.child.stderr.take().expect("piped").read_to_string(&mut log).expect("a text");
        assert_eq!(rest, "");
        (self.child.wait().expect("it ends").code(), log)
    }
}

const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"capabilities":{}}}"#;
const INITIALIZED: &str = r#"{"jsonrpc":"2.0","method":"initialized","params":{}}"#;

#[test]
fn an_editor_is_served() {
    let mut server = Server::start(&["lsp", "--stdio"]);
    server.send(INITIALIZE);
    assert!(server.receive("\"id\":1").contains("hoverProvider"));
    server.send(INITIALIZED);
    // What is no message is skipped, and told.
    server.send("{nonsense");
    assert!(server.receive("window/logMessage").contains("a message was skipped"));
    let text = r"te.func @f(A: f32[8]) -> f32[8] {\n  compute B[i: 8] = A[j]\n  return B\n}\n";
    server.send(&format!(
        r#"{{"jsonrpc":"2.0","method":"textDocument/didOpen","params":{{"textDocument":{{"uri":"file:///f.tir","languageId":"tir","version":1,"text":"{text}"}}}}}}"#
    ));
    assert!(server.receive("publishDiagnostics").contains("nothing is called `j` here"));
    server.send(r#"{"jsonrpc":"2.0","id":2,"method":"shutdown"}"#);
    assert_eq!(server.receive("\"id\":2"), r#"{"jsonrpc":"2.0","id":2,"result":null}"#);
    server.send(r#"{"jsonrpc":"2.0","method":"exit"}"#);
    assert_eq!(server.end(), (Some(0), String::new()));
}

#[test]
fn an_editor_that_goes_without_a_word_is_a_failure() {
    let mut server = Server::start(&["lsp"]);
    server.send(INITIALIZE);
    server.receive("\"id\":1");
    assert_eq!(server.end().0, Some(1));
    assert_eq!(Server::start(&["lsp"]).end().0, Some(1));
}

#[test]
fn flags_that_the_server_lacks_are_refused() {
    let (status, log) = Server::start(&["lsp", "--tcp"]).end();
    assert_eq!(status, Some(2));
    assert!(log.starts_with("error: `tc-opt lsp` takes no `--tcp`\n"), "{log}");
}
