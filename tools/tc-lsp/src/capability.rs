//! What the server can do: a line for each capability. A file holds its handler, and says what the client is told of it.

use crate::documents::{Snapshot, World};
use crate::server::Outbox;
use crate::{actions, commands, completion, definition, folding, format, hints, hover, lens, rename, symbols, tokens};
use lsp_server::{ErrorCode, RequestId};
use lsp_types::request::Request;
use lsp_types::{PositionEncodingKind, ServerCapabilities, TextDocumentSyncCapability, TextDocumentSyncKind, Uri};
use serde_json::Value;
use std::sync::Arc;
use tc::Compiler;
use tc::support::Cancel;

/// The methods, and the capabilities that announce them.
const METHODS: &[Method] = &[
    Method::of::<symbols::DocumentSymbols>(),
    Method::of::<folding::Folding>(),
    Method::of::<tokens::Tokens>(),
    Method::of::<definition::Definitions>(),
    Method::of::<definition::Places>(),
    Method::of::<definition::Highlights>(),
    Method::of::<rename::Prepare>(),
    Method::of::<rename::Renames>(),
    Method::of::<completion::Completions>(),
    Method::of::<format::Formats>(),
    Method::of::<format::RangeFormats>(),
    Method::of::<lens::Lenses>(),
    Method::of::<hover::Hovers>(),
    Method::of::<actions::Actions>(),
    Method::of::<hints::Hints>(),
    Method::of::<commands::Commands>(),
];

/// Where a request waits for its turn. Those of one lane are answered in order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Lane {
    /// What the text alone answers.
    Text,
    /// What takes schedules and passes.
    Facts,
    /// What a user starts and waits for.
    Task,
}

impl Lane {
    /// All of them.
    pub(crate) const ALL: [Lane; 3] = [Lane::Text, Lane::Facts, Lane::Task];
}

/// Why a request has no answer.
#[derive(Debug)]
pub(crate) struct Refusal {
    pub(crate) code: ErrorCode,
    pub(crate) message: String,
}

impl Refusal {
    /// The call is wrong.
    pub(crate) fn params(message: impl Into<String>) -> Refusal {
        Refusal { code: ErrorCode::InvalidParams, message: message.into() }
    }

    /// The call is right, and there is nothing that it can be done to.
    pub(crate) fn failed(message: impl Into<String>) -> Refusal {
        Refusal { code: ErrorCode::RequestFailed, message: message.into() }
    }

    /// There is a newer version.
    pub(crate) fn outdated() -> Refusal {
        Refusal { code: ErrorCode::ContentModified, message: "the text has changed".to_string() }
    }
}

/// What a handler is given.
pub(crate) struct Cx<'c> {
    /// The number of the request.
    pub(crate) id: &'c RequestId,
    pub(crate) world: &'c World,
    /// Asked for when the client gives the request up.
    pub(crate) cancel: &'c Cancel,
    pub(crate) outbox: &'c Outbox,
}

impl Cx<'_> {
    /// An open text.
    pub(crate) fn document(&self, uri: &Uri) -> Result<&Arc<Snapshot>, Refusal> {
        let open = self.world.documents.get(uri);
        open.ok_or_else(|| Refusal::params(format!("`{}` is not open", uri.as_str())))
    }

    pub(crate) fn compiler(&self) -> &Compiler {
        &self.world.compiler
    }
}

/// A capability.
pub(crate) trait Handler {
    /// The request that it answers.
    type Request: Request;
    /// Where the request waits.
    const LANE: Lane = Lane::Text;

    /// Tells the client of it.
    fn announce(_capabilities: &mut ServerCapabilities) {}

    /// Answers a request.
    fn handle(
        cx: &Cx<'_>,
        params: <Self::Request as Request>::Params,
    ) -> Result<<Self::Request as Request>::Result, Refusal>;
}

/// A method of the protocol.
pub(crate) struct Method {
    pub(crate) name: &'static str,
    pub(crate) lane: Lane,
    pub(crate) run: fn(&Cx<'_>, Value) -> Result<Value, Refusal>,
    announce: fn(&mut ServerCapabilities),
}

impl Method {
    const fn of<H: Handler>() -> Method {
        Method { name: H::Request::METHOD, lane: H::LANE, run: run::<H>, announce: H::announce }
    }

    /// The method called `name`.
    pub(crate) fn find(name: &str) -> Option<&'static Method> {
        METHODS.iter().find(|method| method.name == name)
    }
}

fn run<H: Handler>(cx: &Cx<'_>, params: Value) -> Result<Value, Refusal> {
    let params = serde_json::from_value(params).map_err(|error| Refusal::params(error.to_string()))?;
    let answer = H::handle(cx, params)?;
    serde_json::to_value(answer).map_err(|error| Refusal { code: ErrorCode::InternalError, message: error.to_string() })
}

/// What a client is told at first.
pub(crate) fn capabilities() -> ServerCapabilities {
    let mut all = ServerCapabilities {
        position_encoding: Some(PositionEncodingKind::UTF16),
        text_document_sync: Some(TextDocumentSyncCapability::Kind(TextDocumentSyncKind::INCREMENTAL)),
        ..ServerCapabilities::default()
    };
    METHODS.iter().for_each(|method| (method.announce)(&mut all));
    all
}
