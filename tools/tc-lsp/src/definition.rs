//! Definitions and uses of a name: across operators, schedules, programs and intrinsics of the text.

use crate::capability::{Cx, Handler, Refusal};
use crate::documents::Snapshot;
use crate::index::{Mention, What};
use lsp_types::request::{DocumentHighlightRequest, GotoDefinition, References};
use lsp_types::{
    DocumentHighlight, DocumentHighlightKind, DocumentHighlightParams, GotoDefinitionParams, GotoDefinitionResponse,
    Location, OneOf, ReferenceParams, ServerCapabilities, TextDocumentPositionParams,
};
use std::sync::Arc;

/// `textDocument/definition`.
pub(crate) struct Definitions;

impl Handler for Definitions {
    type Request = GotoDefinition;

    fn announce(capabilities: &mut ServerCapabilities) {
        capabilities.definition_provider = Some(OneOf::Left(true));
    }

    fn handle(cx: &Cx<'_>, params: GotoDefinitionParams) -> Result<Option<GotoDefinitionResponse>, Refusal> {
        let at = params.text_document_position_params;
        let snapshot = cx.document(&at.text_document.uri)?;
        let index = snapshot.index(cx.compiler());
        let found = index.at_word(&snapshot.text, snapshot.offset(at.position));
        let Some(What::Definition(def) | What::Use(def)) = found.map(|mention| mention.what) else { return Ok(None) };
        let range = snapshot.range(index.defs[def].name);
        Ok(Some(GotoDefinitionResponse::Scalar(Location { uri: snapshot.uri.clone(), range })))
    }
}

/// `textDocument/references`.
pub(crate) struct Places;

impl Handler for Places {
    type Request = References;

    fn announce(capabilities: &mut ServerCapabilities) {
        capabilities.references_provider = Some(OneOf::Left(true));
    }

    fn handle(cx: &Cx<'_>, params: ReferenceParams) -> Result<Option<Vec<Location>>, Refusal> {
        let (snapshot, mut places) = places(cx, &params.text_document_position)?;
        if !params.context.include_declaration {
            places.retain(|mention| matches!(mention.what, What::Use(_)));
        }
        let location = |mention: Mention| Location { uri: snapshot.uri.clone(), range: snapshot.range(mention.range) };
        Ok(Some(places.into_iter().map(location).collect()))
    }
}

/// `textDocument/documentHighlight`.
pub(crate) struct Highlights;

impl Handler for Highlights {
    type Request = DocumentHighlightRequest;

    fn announce(capabilities: &mut ServerCapabilities) {
        capabilities.document_highlight_provider = Some(OneOf::Left(true));
    }

    fn handle(cx: &Cx<'_>, params: DocumentHighlightParams) -> Result<Option<Vec<DocumentHighlight>>, Refusal> {
        let (snapshot, places) = places(cx, &params.text_document_position_params)?;
        let highlight = |mention: Mention| {
            let defines = matches!(mention.what, What::Definition(_));
            let kind = if defines { DocumentHighlightKind::WRITE } else { DocumentHighlightKind::READ };
            DocumentHighlight { range: snapshot.range(mention.range), kind: Some(kind) }
        };
        Ok(Some(places.into_iter().map(highlight).collect()))
    }
}

/// The places of the name at a position.
fn places<'c>(cx: &Cx<'c>, at: &TextDocumentPositionParams) -> Result<(&'c Arc<Snapshot>, Vec<Mention>), Refusal> {
    let open = cx.world.documents.get(&at.text_document.uri);
    let snapshot = open.ok_or_else(|| Refusal::params("the text is not open"))?;
    let index = snapshot.index(cx.compiler());
    let found = index.def_at(snapshot.offset(at.position));
    Ok((snapshot, found.map_or(Vec::new(), |(def, _)| index.places(def).collect())))
}
