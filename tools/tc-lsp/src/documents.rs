//! The open texts. A [`Snapshot`] is one version of one of them; what is known of it is found once and shared by all who ask.

use crate::analysis::{Analysis, index_of};
use crate::facts::{FactCache, Facts};
use crate::index::Index;
use crate::lines::LineIndex;
use crate::settings::Settings;
use lsp_types::{Position, Range, TextDocumentContentChangeEvent, TextEdit, Uri, WorkspaceEdit};
use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};
use tc::Compiler;
use tc::support::Cancel;
use tc::syntax::tree::TextRange;

/// Texts with more bytes are not looked into: a client that sends one gets a diagnostic that says so.
pub(crate) const MAX_TEXT: usize = 16 << 20;

/// One version of an open text.
pub(crate) struct Snapshot {
    pub(crate) uri: Uri,
    pub(crate) version: i32,
    pub(crate) text: String,
    pub(crate) lines: LineIndex,
    /// Asked for when there is a newer version.
    pub(crate) cancel: Cancel,
    index: OnceLock<Arc<Index>>,
    analysis: OnceLock<Analysis>,
    facts: OnceLock<Facts>,
    /// What is known of schedules, of earlier versions too.
    pub(crate) cache: Arc<FactCache>,
}

impl Snapshot {
    fn new(uri: Uri, version: i32, text: String, cache: Arc<FactCache>) -> Snapshot {
        let lines = LineIndex::new(&text);
        let (index, analysis, facts) = (OnceLock::new(), OnceLock::new(), OnceLock::new());
        Snapshot { uri, version, text, lines, cancel: Cancel::new(), index, analysis, facts, cache }
    }

    /// What messages call it.
    pub(crate) fn name(&self) -> &str {
        self.uri.as_str().rsplit('/').next().unwrap_or_default()
    }

    /// What its names stand for. It takes a part of the time of an analysis, and most of what one asks while one types needs
    /// no more.
    pub(crate) fn index(&self, compiler: &Compiler) -> &Arc<Index> {
        self.index.get_or_init(|| Arc::new(index_of(&self.text, compiler)))
    }

    /// What its text says.
    pub(crate) fn analysis(&self, compiler: &Compiler) -> &Analysis {
        let new = || Analysis::new(self.name(), &self.text, compiler, self.index(compiler).clone());
        self.analysis.get_or_init(new)
    }

    /// The schedules of the text.
    pub(crate) fn facts(&self, compiler: &Compiler) -> &Facts {
        self.facts.get_or_init(|| Facts::new(self, self.analysis(compiler)))
    }

    /// The byte offset of a position.
    pub(crate) fn offset(&self, position: Position) -> u32 {
        self.lines.offset(&self.text, position)
    }

    /// Edits of this text, as the protocol has them.
    pub(crate) fn edit(&self, edits: Vec<TextEdit>) -> WorkspaceEdit {
        #[expect(clippy::mutable_key_type, reason = "the protocol's type has such keys, and nothing changes this one")]
        let changes = [(self.uri.clone(), edits)].into_iter().collect();
        WorkspaceEdit { changes: Some(changes), ..WorkspaceEdit::default() }
    }

    /// The range of the protocol.
    pub(crate) fn range(&self, range: TextRange) -> Range {
        self.lines.range(&self.text, range)
    }
}

/// The open texts, by their addresses.
#[derive(Clone, Default)]
pub(crate) struct Documents {
    all: BTreeMap<String, Arc<Snapshot>>,
}

impl Documents {
    /// The newest version of a text.
    pub(crate) fn get(&self, uri: &Uri) -> Option<&Arc<Snapshot>> {
        self.all.get(uri.as_str())
    }

    /// All texts.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Arc<Snapshot>> {
        self.all.values()
    }

    /// Takes in a text. One that is open gets a new version.
    pub(crate) fn open(&mut self, uri: Uri, version: i32, text: String) -> Arc<Snapshot> {
        let cache = match self.get(&uri) {
            Some(old) => {
                old.cancel.cancel();
                old.cache.clone()
            }
            None => Arc::default(),
        };
        let snapshot = Arc::new(Snapshot::new(uri, version, text, cache));
        self.all.insert(snapshot.uri.as_str().to_string(), snapshot.clone());
        snapshot
    }

    /// Changes a text; nothing is done to one that is not open.
    pub(crate) fn change(
        &mut self,
        uri: &Uri,
        version: i32,
        changes: Vec<TextDocumentContentChangeEvent>,
    ) -> Option<Arc<Snapshot>> {
        let mut text = self.get(uri)?.text.clone();
        for change in changes {
            match change.range {
                None => text = change.text,
                Some(range) => {
                    // Each change is about the text that those before it left.
                    let at = LineIndex::new(&text).text_range(&text, range);
                    text.replace_range(at.start as usize..at.end as usize, &change.text);
                }
            }
        }
        Some(self.open(uri.clone(), version, text))
    }

    /// Looks at all texts anew, where settings changed.
    pub(crate) fn renew(&mut self) {
        let all: Vec<Arc<Snapshot>> = self.iter().cloned().collect();
        for old in all {
            self.open(old.uri.clone(), old.version, old.text.clone());
        }
    }

    /// Forgets a text. Was it open?
    pub(crate) fn close(&mut self, uri: &Uri) -> bool {
        self.all.remove(uri.as_str()).inspect(|old| old.cancel.cancel()).is_some()
    }
}

/// What a request can see: the texts as they were when it came, and how the server is set up.
#[derive(Clone)]
pub(crate) struct World {
    pub(crate) documents: Documents,
    pub(crate) settings: Arc<Settings>,
    pub(crate) compiler: Arc<Compiler>,
}
