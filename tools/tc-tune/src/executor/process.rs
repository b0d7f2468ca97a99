//! A worker as a process: lines to its input, lines from its output, an end when it takes too long.

use crate::worker::protocol::{Hello, Reply, Request, VERSION, line};
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::Sender;

/// A line longer than this is no answer.
const MAX_LINE: u64 = 1 << 20;

/// What a process says, or that it says no more.
#[derive(Debug)]
pub(super) enum Said {
    Hello(Hello),
    Reply(Reply),
    /// A line that is no answer.
    Rubbish(String),
    Ended,
}

/// What the process with this number and this generation says: one that was replaced says nothing that counts.
pub(super) type Heard = (usize, u32, Said);

/// A running worker.
pub(super) struct Process {
    child: Child,
    stdin: Option<ChildStdin>,
}

impl Process {
    /// Starts `command`; what it says comes as of the worker `number` in its `generation`.
    pub(super) fn start(
        command: &[String],
        (number, generation): (usize, u32),
        heard: Sender<Heard>,
    ) -> std::io::Result<Process> {
        let (program, args) = command.split_first().ok_or(std::io::ErrorKind::InvalidInput)?;
        let mut child = Command::new(program)
            .args(args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()?;
        let stdin = child.stdin.take();
        let stdout = child.stdout.take();
        let name = format!("worker {number}");
        std::thread::Builder::new().name(name).spawn(move || {
            let mut reader = BufReader::new(
                stdout.into_iter().fold(Box::new(std::io::empty()) as Box<dyn Read + Send>, |_, out| Box::new(out)),
            );
            let mut is_first = true;
            while let Some(said) = listen(&mut reader, &mut is_first) {
                if heard.send((number, generation, said)).is_err() {
                    return;
                }
            }
            heard.send((number, generation, Said::Ended)).ok();
        })?;
        Ok(Process { child, stdin })
    }

    /// Sends a request. A process that is gone is heard to have ended.
    pub(super) fn send(&mut self, request: &Request) {
        if let Some(stdin) = &mut self.stdin {
            stdin.write_all(line(request).as_bytes()).and_then(|()| stdin.flush()).ok();
        }
    }

    /// Ends the process where it has not ended yet; how it ended.
    pub(super) fn end(&mut self) -> Option<ExitStatus> {
        self.child.kill().ok();
        self.child.wait().ok()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.end();
    }
}

/// The next thing that a process says; nothing at the end of its output.
fn listen(reader: &mut impl BufRead, is_first: &mut bool) -> Option<Said> {
    let mut bytes = Vec::new();
    let read = reader.by_ref().take(MAX_LINE).read_until(b'\n', &mut bytes);
    if read.is_err() || bytes.is_empty() {
        return None;
    }
    let rubbish = || Said::Rubbish(String::from_utf8_lossy(&bytes[..bytes.len().min(200)]).trim().to_string());
    if std::mem::replace(is_first, false) {
        let hello = serde_json::from_slice::<Hello>(&bytes).ok().filter(|hello| hello.version == VERSION);
        return Some(hello.map_or_else(rubbish, Said::Hello));
    }
    Some(serde_json::from_slice(&bytes).map_or_else(|_| rubbish(), Said::Reply))
}
