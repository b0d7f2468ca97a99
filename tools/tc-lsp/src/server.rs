//! The main loop. It reads what the client sends, keeps the texts, and hands work to the lanes; it never works itself.
//!
//! Answers come back to the loop, which alone knows which requests the client still waits for and which versions are the
//! newest: what is outdated ends here.

use crate::capability::{Lane, Method, Refusal, capabilities};
use crate::diagnostics;
use crate::documents::{Documents, Snapshot, World};
use crate::lanes::{Ask, Lanes};
use crate::settings::Settings;
use crossbeam_channel::{Receiver, Sender, select, unbounded};
use lsp_server::{Connection, ErrorCode, Message, Notification, Request, RequestId, Response};
use lsp_types::notification as note;
use lsp_types::notification::Notification as _;
use lsp_types::{
    CancelParams, ClientCapabilities, Diagnostic, DidChangeConfigurationParams, DidChangeTextDocumentParams,
    DidCloseTextDocumentParams, DidOpenTextDocumentParams, LogMessageParams, MessageType, NumberOrString,
    PublishDiagnosticsParams, Uri,
};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tc::Compiler;
use tc::support::Cancel;

/// A text that changes twice within `FAST` is looked at when it has not changed for `QUIET`; one that changes once, at once.
const QUIET: Duration = Duration::from_millis(40);
const FAST: Duration = Duration::from_millis(200);

/// What the lanes send back to the loop.
pub(crate) enum Event {
    /// The answer to a request.
    Answer(RequestId, Result<Value, Refusal>),
    /// What is wrong with a version of a text.
    Publish(Arc<Snapshot>, Vec<Diagnostic>),
    /// A message to the client.
    Send(Message),
    /// A request to the client.
    Ask(&'static str, Value),
}

/// What the client understands.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Client {
    /// `window/showDocument`.
    pub(crate) shows_documents: bool,
    /// Progress of work.
    pub(crate) shows_progress: bool,
    /// Code lenses.
    pub(crate) shows_lenses: bool,
}

/// Where work sends what comes of it.
#[derive(Clone)]
pub(crate) struct Outbox {
    pub(crate) events: Sender<Event>,
    pub(crate) client: Client,
}

impl Outbox {
    /// Sends an event. The loop may have ended, and then it is lost.
    pub(crate) fn send(&self, event: Event) {
        let _ = self.events.send(event);
    }

    /// Sends a notification.
    pub(crate) fn notify<N: note::Notification>(&self, params: N::Params) {
        let method = N::METHOD.to_string();
        self.send(Event::Send(Notification::new(method, params).into()));
    }

    /// Writes to the client's log.
    pub(crate) fn log(&self, message: impl Into<String>) {
        self.notify::<note::LogMessage>(LogMessageParams { typ: MessageType::WARNING, message: message.into() });
    }
}

/// How far a client is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// It has not said `initialize` yet.
    New,
    Running,
    /// It has said `shutdown`.
    Ending,
}

/// What comes next.
enum Flow {
    Continue,
    /// The process ends; was that agreed on?
    End(bool),
}

/// The server.
pub(crate) struct Server {
    connection: Connection,
    phase: Phase,
    documents: Documents,
    settings: Arc<Settings>,
    compiler: Arc<Compiler>,
    lanes: Lanes,
    outbox: Outbox,
    /// What the client waits for.
    waiting: BTreeMap<RequestId, Cancel>,
    /// Texts that changed, and when they are looked at.
    changed: BTreeMap<String, (Uri, Instant)>,
    last_change: Option<Instant>,
    next_ask: i32,
}

/// Serves the client at the other end of `connection`. Was `exit` preceded by `shutdown`?
pub(crate) fn serve(connection: Connection) -> bool {
    let (sender, events) = unbounded();
    let outbox = Outbox { events: sender, client: Client::default() };
    let lanes = Lanes::start();
    let mut server = Server {
        connection,
        phase: Phase::New,
        documents: Documents::default(),
        settings: Arc::default(),
        compiler: Arc::new(Compiler::new()),
        lanes,
        outbox,
        waiting: BTreeMap::new(),
        changed: BTreeMap::new(),
        last_change: None,
        next_ask: 0,
    };
    let agreed = server.run(&events);
    server.stop();
    agreed
}

impl Server {
    fn run(&mut self, events: &Receiver<Event>) -> bool {
        let messages = self.connection.receiver.clone();
        loop {
            let due = self.changed.values().map(|(_, at)| *at).min();
            let wait = due.map_or(Duration::from_secs(3600), |at| at.saturating_duration_since(Instant::now()));
            select! {
                recv(messages) -> message => match message {
                    Ok(message) => match self.message(message) {
                        Flow::Continue => {}
                        Flow::End(agreed) => return agreed,
                    },
                    // The client is gone.
                    Err(_) => return false,
                },
                recv(events) -> event => {
                    if let Ok(event) = event {
                        self.event(event);
                    }
                }
                default(wait) => {}
            }
            self.look_at_changed();
        }
    }

    /// Ends all work.
    fn stop(&mut self) {
        self.waiting.values().for_each(Cancel::cancel);
        self.documents.iter().for_each(|snapshot| snapshot.cancel.cancel());
        self.lanes.stop();
    }

    fn message(&mut self, message: Message) -> Flow {
        match message {
            Message::Request(request) => self.request(request),
            Message::Notification(notification) => return self.notification(notification),
            // The server asks only for what it can do without.
            Message::Response(_) => {}
        }
        Flow::Continue
    }

    // Requests.

    fn request(&mut self, request: Request) {
        let Request { id, method, params } = request;
        match (method.as_str(), self.phase) {
            ("initialize", Phase::New) => self.initialize(id, &params),
            ("initialize", _) => self.refuse(id, ErrorCode::InvalidRequest, "the server is initialized already"),
            (_, Phase::New) => self.refuse(id, ErrorCode::ServerNotInitialized, "the server waits for `initialize`"),
            (_, Phase::Ending) => self.refuse(id, ErrorCode::InvalidRequest, "the server was told to shut down"),
            ("shutdown", Phase::Running) => {
                self.phase = Phase::Ending;
                self.waiting.values().for_each(Cancel::cancel);
                self.respond(Response::new_ok(id, Value::Null));
            }
            (method, Phase::Running) => match Method::find(method) {
                Some(method) => self.start(id, method, params),
                None => self.refuse(id, ErrorCode::MethodNotFound, &format!("there is no method `{method}`")),
            },
        }
    }

    fn initialize(&mut self, id: RequestId, params: &Value) {
        self.phase = Phase::Running;
        let client = params.get("capabilities").cloned().unwrap_or_default();
        let client: ClientCapabilities = serde_json::from_value(client).unwrap_or_default();
        let window = client.window.unwrap_or_default();
        let of_text = client.text_document.unwrap_or_default();
        self.outbox.client = Client {
            shows_documents: window.show_document.is_some_and(|shows| shows.support),
            shows_progress: window.work_done_progress == Some(true),
            shows_lenses: of_text.code_lens.is_some(),
        };
        if let Some(options) = params.get("initializationOptions") {
            self.set(options);
        }
        let server = json!({"name": "tc-opt", "version": env!("CARGO_PKG_VERSION")});
        self.respond(Response::new_ok(id, json!({"capabilities": capabilities(), "serverInfo": server})));
    }

    fn start(&mut self, id: RequestId, method: &'static Method, params: Value) {
        if self.waiting.contains_key(&id) {
            return self.refuse(id, ErrorCode::InvalidRequest, "a request of this number is not answered yet");
        }
        let cancel = Cancel::new();
        let ask = Ask {
            id: id.clone(),
            method,
            params,
            world: self.world(),
            cancel: cancel.clone(),
            outbox: self.outbox.clone(),
        };
        match self.lanes.answer(ask) {
            Ok(()) => drop(self.waiting.insert(id, cancel)),
            Err(refusal) => self.respond(refused(id, refusal)),
        }
    }

    fn world(&self) -> World {
        World { documents: self.documents.clone(), settings: self.settings.clone(), compiler: self.compiler.clone() }
    }

    fn refuse(&self, id: RequestId, code: ErrorCode, message: &str) {
        self.respond(Response::new_err(id, code as i32, message.to_string()));
    }

    fn respond(&self, response: Response) {
        self.send(response.into());
    }

    /// A client that is gone hears nothing, and the loop ends with the next message that does not come.
    fn send(&self, message: Message) {
        let _ = self.connection.sender.send(message);
    }

    // Notifications.

    fn notification(&mut self, notification: Notification) -> Flow {
        let Notification { method, params } = notification;
        if method == note::Exit::METHOD {
            return Flow::End(self.phase == Phase::Ending);
        }
        if self.phase != Phase::Running {
            return Flow::Continue;
        }
        match method.as_str() {
            note::DidOpenTextDocument::METHOD => self.with(params, |server, params: DidOpenTextDocumentParams| {
                let text = params.text_document;
                let snapshot = server.documents.open(text.uri, text.version, text.text);
                server.look_at(&snapshot);
            }),
            note::DidChangeTextDocument::METHOD => self.with(params, Server::change),
            note::DidCloseTextDocument::METHOD => self.with(params, |server, params: DidCloseTextDocumentParams| {
                let uri = params.text_document.uri;
                if server.documents.close(&uri) {
                    server.changed.remove(uri.as_str());
                    server.publish(&uri, None, Vec::new());
                }
            }),
            note::Cancel::METHOD => self.with(params, |server, params: CancelParams| {
                let id = match params.id {
                    NumberOrString::Number(number) => RequestId::from(number),
                    NumberOrString::String(text) => RequestId::from(text),
                };
                if let Some(cancel) = server.waiting.remove(&id) {
                    cancel.cancel();
                    server.refuse(id, ErrorCode::RequestCanceled, "the request was cancelled");
                }
            }),
            note::DidChangeConfiguration::METHOD => {
                self.with(params, |server, params: DidChangeConfigurationParams| server.set(&params.settings));
            }
            // What is not known needs no answer.
            _ => {}
        }
        Flow::Continue
    }

    /// Reads `params`, and logs what is wrong with them.
    fn with<P: DeserializeOwned>(&mut self, params: Value, act: impl FnOnce(&mut Server, P)) {
        match serde_json::from_value(params) {
            Ok(params) => act(self, params),
            Err(error) => self.outbox.log(format!("a notification that cannot be read: {error}")),
        }
    }

    fn change(&mut self, params: DidChangeTextDocumentParams) {
        let uri = params.text_document.uri;
        if self.documents.change(&uri, params.text_document.version, params.content_changes).is_none() {
            return self.outbox.log(format!("`{}` changed and is not open", uri.as_str()));
        }
        let (key, now) = (uri.as_str().to_string(), Instant::now());
        // Who types fast is waited for.
        let is_fast = self.last_change.is_some_and(|last| now < last + FAST);
        self.last_change = Some(now);
        self.changed.insert(key, (uri, if is_fast { now + QUIET } else { now }));
    }

    fn set(&mut self, sent: &Value) {
        let settings = match self.settings.with(sent) {
            Ok(settings) => settings,
            Err(wrong) => return self.outbox.log(wrong),
        };
        if settings == *self.settings {
            return;
        }
        match settings.compiler() {
            Ok(compiler) => {
                self.compiler = Arc::new(compiler);
                self.settings = Arc::new(settings);
                self.documents.renew();
                let all: Vec<Arc<Snapshot>> = self.documents.iter().cloned().collect();
                all.iter().for_each(|snapshot| self.look_at(snapshot));
            }
            Err(wrong) => self.outbox.log(wrong),
        }
    }

    // Diagnostics.

    fn look_at_changed(&mut self) {
        let now = Instant::now();
        let due: Vec<Uri> = self.changed.values().filter(|(_, at)| *at <= now).map(|(uri, _)| uri.clone()).collect();
        for uri in due {
            self.changed.remove(uri.as_str());
            if let Some(snapshot) = self.documents.get(&uri).cloned() {
                self.look_at(&snapshot);
            }
        }
    }

    fn look_at(&self, snapshot: &Arc<Snapshot>) {
        let (snapshot, world, outbox) = (snapshot.clone(), self.world(), self.outbox.clone());
        let key = snapshot.uri.as_str().to_string();
        self.lanes.background(Lane::Facts, key, Box::new(move || diagnostics::publish(&snapshot, &world, &outbox)));
    }

    fn publish(&self, uri: &Uri, version: Option<i32>, diagnostics: Vec<Diagnostic>) {
        let params = PublishDiagnosticsParams { uri: uri.clone(), diagnostics, version };
        self.send(Notification::new(note::PublishDiagnostics::METHOD.to_string(), params).into());
    }

    // What the lanes send.

    fn event(&mut self, event: Event) {
        match event {
            Event::Answer(id, answer) => {
                // The client may have given it up.
                if self.waiting.remove(&id).is_none() {
                    return;
                }
                self.respond(match answer {
                    Ok(value) => Response::new_ok(id, value),
                    Err(refusal) => refused(id, refusal),
                });
            }
            Event::Publish(snapshot, diagnostics) => {
                let newest = self.documents.get(&snapshot.uri);
                if newest.is_some_and(|newest| Arc::ptr_eq(newest, &snapshot)) {
                    self.publish(&snapshot.uri, Some(snapshot.version), diagnostics);
                }
            }
            Event::Send(message) => self.send(message),
            Event::Ask(method, params) => {
                self.next_ask += 1;
                let id = RequestId::from(format!("tc-{}", self.next_ask));
                self.send(Request::new(id, method.to_string(), params).into());
            }
        }
    }
}

fn refused(id: RequestId, refusal: Refusal) -> Response {
    Response::new_err(id, refusal.code as i32, refusal.message)
}
