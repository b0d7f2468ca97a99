//! From the elements of a pipeline string to passes that are ready to run.

use super::syntax::{self, Element, SyntaxError};
use super::{Pipeline, Planned, SOURCE_NAME};
use crate::manager::{disown, panicked};
use crate::options::OptionError;
use crate::pass::{PassInfo, PassKind};
use crate::table::{PassTable, PipelineInfo};
use std::any::Any;
use std::io::Read as _;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::{Path, PathBuf};
use tc_ir::{Opcode, Registry};
use tc_support::suggest::{did_you_mean, nearest, shorten};
use tc_support::{Diagnostic, Diagnostics, FileId, Location, Pos, Sources, Span};

/// Errors of a pipeline beyond this number are not told.
const MAX_ERRORS: usize = 20;

/// How deep files and named pipelines may stand in one another.
const MAX_EXPANSIONS: usize = 8;

/// How many passes a pipeline may come to, its files and named pipelines counted.
const MAX_PASSES: usize = 100_000;

/// How large a file of a pipeline may be, in bytes.
const MAX_FILE: u64 = 16 << 20;

/// Reads a pipeline string. The text becomes a file of `sources`, which the errors point into.
///
/// All errors are the caller's fault, not that of a file that the pipeline will run on.
pub fn parse_pipeline(
    text: &str,
    table: &PassTable,
    registry: &Registry,
    sources: &mut Sources,
) -> Result<Pipeline, Diagnostics> {
    let mut resolver =
        Resolver { table, registry, sources, pipeline: Pipeline::default(), found: Diagnostics::new(), n_elements: 0 };
    resolver.source(Text { name: SOURCE_NAME, text, folder: None, standing: None }, Anchor::Module, 0);
    if resolver.found.is_empty() { Ok(resolver.pipeline) } else { Err(resolver.found) }
}

/// What a pass runs on.
#[derive(Clone, Copy)]
enum Anchor {
    Module,
    Item(Opcode, &'static str),
}

impl Anchor {
    fn keyword(self) -> &'static str {
        match self {
            Anchor::Module => PassInfo::MODULE,
            Anchor::Item(_, keyword) => keyword,
        }
    }
}

/// A piece of pipeline text and where it comes from.
struct Text<'t> {
    name: &'t str,
    text: &'t str,
    /// The folder that paths in it start from.
    folder: Option<&'t Path>,
    /// What its passes stand for in the user's string, if it is not the user's own.
    standing: Option<Span>,
}

/// Where elements come from.
#[derive(Clone, Copy)]
struct Origin<'t> {
    /// The position of the text's first byte.
    base: u32,
    folder: Option<&'t Path>,
    standing: Option<Span>,
    depth: usize,
}

impl Origin<'_> {
    fn span(&self, at: &Range<usize>) -> Span {
        // Sources hold less than 2 GiB, so places in them fit.
        Span::new(Pos(self.base + at.start as u32), Pos(self.base + at.end as u32))
    }

    /// Where a pass at `at` stands in the user's string.
    fn standing(&self, at: &Range<usize>) -> Span {
        self.standing.unwrap_or_else(|| self.span(at))
    }
}

struct Resolver<'r> {
    table: &'r PassTable,
    registry: &'r Registry,
    sources: &'r mut Sources,
    pipeline: Pipeline,
    found: Diagnostics,
    n_elements: usize,
}

impl Resolver<'_> {
    fn error(&mut self, diagnostic: Diagnostic) {
        if self.found.len() < MAX_ERRORS {
            self.found.push(diagnostic);
        }
    }

    fn source(&mut self, source: Text<'_>, anchor: Anchor, depth: usize) {
        let Ok(file) = self.sources.add(source.name, source.text) else {
            let message = format!("the text of `{}` is too large", shorten(source.name));
            return self.error(Diagnostic::error("pipeline-file", Location::None, message));
        };
        let origin = Origin { base: self.base(file), folder: source.folder, standing: source.standing, depth };
        match syntax::parse(source.text) {
            Ok(elements) => self.elements(&elements, anchor, origin),
            Err(error) => self.syntax_error(error, origin),
        }
    }

    fn base(&self, file: FileId) -> u32 {
        self.sources.file(file).start().0
    }

    fn syntax_error(&mut self, error: SyntaxError, origin: Origin<'_>) {
        let mut diagnostic = Diagnostic::error("pipeline-syntax", origin.span(&error.at), error.message);
        if let Some((at, text)) = error.label {
            diagnostic = diagnostic.label(origin.span(&at), text);
        }
        diagnostic.help = error.help;
        self.error(diagnostic);
    }

    fn elements(&mut self, elements: &[Element], anchor: Anchor, origin: Origin<'_>) {
        for element in elements {
            self.n_elements += 1;
            if self.n_elements > MAX_PASSES {
                let message = format!("the pipeline has more than {MAX_PASSES} passes");
                return self.error(Diagnostic::error("pipeline-size", origin.span(&element.at), message));
            }
            if self.found.len() >= MAX_ERRORS {
                return;
            }
            self.element(element, anchor, origin);
        }
    }

    fn element(&mut self, element: &Element, anchor: Anchor, origin: Origin<'_>) {
        if element.is_file {
            return self.file(element, anchor, origin);
        }
        if let Some(children) = &element.children {
            if let Some(inner) = self.anchor(element, anchor, origin) {
                self.elements(children, inner, origin);
            }
            return;
        }
        if let Some(info) = self.table.pass(&element.name) {
            return self.pass(element, info, anchor, origin);
        }
        if let Some(info) = self.table.pipeline(&element.name) {
            return self.named(element, info, anchor, origin);
        }
        let at = origin.span(&element.at);
        let message = format!("unknown pass `{}`", shorten(&element.name));
        let mut diagnostic = Diagnostic::error("unknown-pass", at, message);
        diagnostic.help = if self.find_anchor(&element.name).is_some() {
            Some(format!("`{0}` is an anchor: put passes in parentheses, `{0}(…)`", element.name))
        } else {
            let near = nearest(&element.name, self.table.names()).map(|near| format!("did you mean `{near}`?"));
            Some(near.unwrap_or_else(|| "the passes are listed by `tc-opt --list-passes`".to_string()))
        };
        self.error(diagnostic);
    }

    fn find_anchor(&self, name: &str) -> Option<Anchor> {
        if name == PassInfo::MODULE || name == "builtin.module" {
            return Some(Anchor::Module);
        }
        self.registry.item(name).map(|(item, opcode)| Anchor::Item(opcode, item.keyword))
    }

    /// What `element`, which has parentheses, runs its passes on.
    fn anchor(&mut self, element: &Element, outer: Anchor, origin: Origin<'_>) -> Option<Anchor> {
        let name = &element.name;
        let at = origin.span(&element.at);
        let Some(inner) = self.find_anchor(name) else {
            let known = self.table.pass(name).is_some() || self.table.pipeline(name).is_some();
            let (message, help) = if known {
                let help = format!("write `{name}`, with options in braces: `{name}{{…}}`");
                (format!("`{name}` is a pass, so no passes can stand inside it"), Some(help))
            } else {
                let anchors = [PassInfo::MODULE].into_iter().chain(self.registry.item_keywords());
                (format!("unknown anchor `{}`", shorten(name)), did_you_mean(name, anchors))
            };
            let mut diagnostic = Diagnostic::error("unknown-anchor", at, message);
            diagnostic.help = help;
            self.error(diagnostic);
            return None;
        };
        if let Some(braces) = &element.options_at {
            let message = format!("the anchor `{name}` takes no options");
            let help = "options stand behind the pass that they are for";
            self.error(Diagnostic::error("unknown-option", origin.span(braces), message).help(help));
        }
        if let Anchor::Item(_, keyword) = outer {
            let message = format!("`{name}` cannot stand inside `{keyword}`: a function holds no others");
            self.error(Diagnostic::error("wrong-anchor", at, message));
            return None;
        }
        Some(inner)
    }

    fn pass(&mut self, element: &Element, info: &'static PassInfo, anchor: Anchor, origin: Origin<'_>) {
        let at = origin.span(&element.at);
        let made = match catch_unwind(AssertUnwindSafe(|| self.table.make(info, &element.options))) {
            Err(payload) if self.table.is_foreign(info) => return self.error(panicked_early(info, &*payload, at)),
            Err(payload) => resume_unwind(payload),
            Ok(made) => made,
        };
        let pass = match made {
            Ok(pass) => pass,
            Err(error) => return self.option_error(error, info.name, origin),
        };
        match (&pass, anchor) {
            (PassKind::Module(_), Anchor::Item(_, keyword)) => {
                let message = format!("`{}` runs on the module, not on each `{keyword}`", info.name);
                let help = format!("put it outside of `{keyword}(…)`");
                return self.error(Diagnostic::error("wrong-anchor", at, message).help(help));
            }
            (PassKind::Func(wanted, _), Anchor::Item(opcode, keyword)) if *wanted != opcode => {
                let message = format!("`{}` runs on `{}`, not on `{keyword}`", info.name, info.anchor);
                let help = format!("write `{}({})`", info.anchor, info.name);
                return self.error(Diagnostic::error("wrong-anchor", at, message).help(help));
            }
            _ => {}
        }
        let span = origin.standing(&element.at);
        self.pipeline.passes.push(Planned { info, pass, options: element.options.clone(), span });
    }

    fn option_error(&mut self, error: OptionError, name: &str, origin: Origin<'_>) {
        let message = format!("{} of `{name}`", error.message);
        let mut diagnostic = Diagnostic::error("bad-option", origin.span(&error.at), message);
        diagnostic.help = error.help;
        self.error(diagnostic);
    }

    fn named(&mut self, element: &Element, info: &'static PipelineInfo, anchor: Anchor, origin: Origin<'_>) {
        let at = origin.span(&element.at);
        if let Anchor::Item(..) = anchor {
            let message =
                format!("the pipeline `{}` runs on the module, not on each `{}`", info.name, anchor.keyword());
            return self.error(Diagnostic::error("wrong-anchor", at, message));
        }
        if origin.depth == MAX_EXPANSIONS {
            return self.error(too_deep(at));
        }
        let steps = match (info.steps)(&element.options) {
            Ok(steps) => steps,
            Err(error) => return self.option_error(error, info.name, origin),
        };
        let n_before = self.found.len();
        let standing = Some(origin.standing(&element.at));
        // Lines between two places are read as one text.
        for lines in steps.chunk_by(|a, b| a.place.is_none() && b.place.is_none()) {
            let texts: Vec<&str> = lines.iter().flat_map(|step| self.table.texts(info, step)).collect();
            let name = match lines[0].place {
                Some(place) => format!("<{place} of {}>", info.name),
                None => format!("<pipeline {}>", info.name),
            };
            let text = texts.join(",\n");
            if !text.trim().is_empty() {
                let source = Text { name: &name, text: &text, folder: origin.folder, standing };
                self.source(source, Anchor::Module, origin.depth + 1);
            }
        }
        for diagnostic in self.found.iter_mut().skip(n_before) {
            diagnostic.labels.push(tc_support::diag::Label { location: at.into(), text: "named here".to_string() });
        }
    }

    fn file(&mut self, element: &Element, anchor: Anchor, origin: Origin<'_>) {
        let at = origin.span(&element.at);
        if origin.depth == MAX_EXPANSIONS {
            return self.error(too_deep(at));
        }
        let path = origin.folder.map_or_else(|| PathBuf::from(&element.name), |folder| folder.join(&element.name));
        let text = match read_limited(&path) {
            Ok(text) => text,
            Err(why) => {
                let message = format!("cannot read the pipeline file `{}`: {why}", shorten(&element.name));
                return self.error(Diagnostic::error("pipeline-file", at, message));
            }
        };
        let name = path.to_string_lossy();
        let source = Text { name: &name, text: &text, folder: path.parent(), standing: origin.standing };
        self.source(source, anchor, origin.depth + 1);
    }
}

/// A pass of somebody else's panicked while its options were read.
fn panicked_early(info: &PassInfo, payload: &(dyn Any + Send), at: Span) -> Diagnostic {
    let mut found = panicked(info.name, payload, at.into());
    disown(info, &mut found);
    found
}

fn too_deep(at: Span) -> Diagnostic {
    let message = format!("files and named pipelines stand in one another more than {MAX_EXPANSIONS} deep");
    Diagnostic::error("pipeline-size", at, message).help("does one of them name itself?")
}

fn read_limited(path: &Path) -> Result<String, String> {
    let file = std::fs::File::open(path).map_err(|error| error.to_string())?;
    let mut bytes = Vec::new();
    file.take(MAX_FILE + 1).read_to_end(&mut bytes).map_err(|error| error.to_string())?;
    if bytes.len() as u64 > MAX_FILE {
        return Err(format!("it is larger than {MAX_FILE} bytes"));
    }
    String::from_utf8(bytes).map_err(|error| error.utf8_error().to_string())
}
