//! The protocol over the standard streams: a header with the length of a message, then the message.
//!
//! A message that cannot be read is logged and skipped, since the next one may be right; only the end of the stream ends
//! the connection.

use crossbeam_channel::{Receiver, Sender, unbounded};
use lsp_server::{Connection, Message, Notification};
use lsp_types::notification::{Exit, LogMessage, Notification as _};
use lsp_types::{LogMessageParams, MessageType};
use std::io::{self, BufRead, Read, Write};
use std::thread::JoinHandle;

/// A message with more bytes is skipped.
const MAX_MESSAGE: u64 = 256 << 20;
/// A line of a header has so many bytes at most.
const MAX_LINE: u64 = 4096;

/// What was read.
enum Incoming {
    Message(Message),
    /// Why a message was skipped.
    Wrong(String),
    End,
}

/// A connection over the streams, and the thread that writes: it ends when the connection is dropped and all is written.
pub(crate) fn connect(
    mut input: impl BufRead + Send + 'static,
    output: impl Write + Send + 'static,
) -> io::Result<(Connection, JoinHandle<()>)> {
    let (to_server, receiver) = unbounded();
    let (sender, to_client) = unbounded();
    let log = sender.clone();
    let spawn =
        |name: &str, run: Box<dyn FnOnce() + Send>| std::thread::Builder::new().name(name.to_string()).spawn(run);
    let writer = spawn("tc-lsp writer", Box::new(move || write_all(&to_client, output)))?;
    spawn("tc-lsp reader", Box::new(move || read_all(&mut input, &to_server, &log)))?;
    Ok((Connection { sender, receiver }, writer))
}

fn write_all(messages: &Receiver<Message>, mut output: impl Write) {
    for message in messages {
        // A client that reads no more has gone, and so will its side of the other stream.
        if message.write(&mut output).is_err() {
            return;
        }
    }
}

fn read_all(input: &mut impl BufRead, server: &Sender<Message>, log: &Sender<Message>) {
    loop {
        match read(input) {
            Incoming::Message(message) => {
                let is_exit = matches!(&message, Message::Notification(one) if one.method == Exit::METHOD);
                if server.send(message).is_err() || is_exit {
                    return;
                }
            }
            Incoming::Wrong(why) => {
                let params =
                    LogMessageParams { typ: MessageType::ERROR, message: format!("a message was skipped: {why}") };
                let note = Notification::new(LogMessage::METHOD.to_string(), params);
                if log.send(note.into()).is_err() {
                    return;
                }
            }
            Incoming::End => return,
        }
    }
}

fn read(input: &mut impl BufRead) -> Incoming {
    let length = match header(input) {
        Ok(Some(Ok(length))) => length,
        Ok(Some(Err(why))) => return Incoming::Wrong(why),
        Ok(None) | Err(_) => return Incoming::End,
    };
    let mut body = input.take(length);
    if length > MAX_MESSAGE {
        return match io::copy(&mut body, &mut io::sink()) {
            Ok(_) => Incoming::Wrong(format!("it has {length} bytes")),
            Err(_) => Incoming::End,
        };
    }
    // The memory grows with what comes, not with what the header says.
    let mut bytes = Vec::new();
    match body.read_to_end(&mut bytes) {
        Ok(n) if n as u64 == length => {}
        _ => return Incoming::End,
    }
    match serde_json::from_slice(&bytes) {
        Ok(message) => Incoming::Message(message),
        Err(error) => Incoming::Wrong(error.to_string()),
    }
}

/// The length that a header tells; the inner error says why there is none, the outer `None` is the end of the stream.
fn header(input: &mut impl BufRead) -> io::Result<Option<Result<u64, String>>> {
    let mut length = None;
    loop {
        let mut line = Vec::new();
        if input.by_ref().take(MAX_LINE).read_until(b'\n', &mut line)? == 0 {
            return Ok(None);
        }
        let line = String::from_utf8_lossy(&line);
        let line = line.trim_end();
        match line.split_once(':') {
            _ if line.is_empty() => {
                // Without a length it is a line between messages.
                if let Some(length) = length {
                    return Ok(Some(Ok(length)));
                }
            }
            Some((key, value)) if key.eq_ignore_ascii_case("content-length") => match value.trim().parse() {
                Ok(number) => length = Some(number),
                Err(_) => return Ok(Some(Err("its length is no number".to_string()))),
            },
            Some(_) => {}
            None => return Ok(Some(Err("its header is malformed".to_string()))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(text: &[u8]) -> Vec<String> {
        let mut input = io::Cursor::new(text);
        let mut found = Vec::new();
        loop {
            match read(&mut input) {
                Incoming::Message(Message::Notification(note)) => found.push(note.method),
                Incoming::Message(_) => found.push("other".to_string()),
                Incoming::Wrong(why) => found.push(format!("wrong: {why}")),
                Incoming::End => return found,
            }
        }
    }

    fn message(body: &str) -> String {
        format!("Content-Length: {}\r\n\r\n{body}", body.len())
    }

    #[test]
    fn what_cannot_be_read_is_skipped() {
        let good = message(r#"{"jsonrpc":"2.0","method":"a"}"#);
        let text = [message("{"), good.clone(), "nonsense\r\n".to_string(), message("[1]"), good.clone()].concat();
        let found = all(text.as_bytes());
        assert_eq!(found.iter().filter(|one| *one == "a").count(), 2, "{found:?}");
        assert!(found[0].starts_with("wrong: EOF") && found[2] == "wrong: its header is malformed", "{found:?}");
    }

    #[test]
    fn a_length_that_lies_takes_no_memory() {
        assert_eq!(all(b"Content-Length: 99999999999999\r\n\r\n{}"), ["wrong: it has 99999999999999 bytes"]);
        assert_eq!(all(b"Content-Length: 100000000\r\n\r\n{}"), [""; 0]);
        assert_eq!(all(b"Content-Length: x\r\n\r\n"), ["wrong: its length is no number"]);
        assert_eq!(all(&vec![b'a'; 1 << 20]).len(), (1 << 20) / 4096);
    }
}
