//! What one version of a text says: its diagnostics, the items that could be read, what its names stand for.

use crate::documents::MAX_TEXT;
use crate::index::{DefIdx, DefKind, Index, ItemIdx};
use std::sync::Arc;
use tc::Compiler;
use tc::ir::walk::all_ops;
use tc::ir::{Func, Loc, Module, Value};
use tc::support::{Diagnostic, Diagnostics, Location, Pos};
use tc::syntax::lexemes::{Lexeme, lexemes};

/// What a text says.
pub(crate) struct Analysis {
    pub(crate) index: Arc<Index>,
    /// The items without errors; those that could not be read are not there.
    pub(crate) module: Module,
    /// Errors and warnings of the text alone.
    pub(crate) found: Diagnostics,
}

impl Analysis {
    /// Reads `text`, which messages call `name`, and whose names are those of `index`.
    pub(crate) fn new(name: &str, text: &str, compiler: &Compiler, index: Arc<Index>) -> Analysis {
        if text.len() > MAX_TEXT {
            let message =
                format!("this text has more than {} MiB: the language server does not look into it", MAX_TEXT >> 20);
            let found = Diagnostic::warning("too-large", Location::None, message).into();
            return Analysis { index, module: compiler.module(), found };
        }
        let (module, found) = match compiler.parse_partial(name, text) {
            Ok(read) => (read.module, read.found),
            Err(failure) => (compiler.module(), failure.diagnostics),
        };
        Analysis { index, module, found }
    }

    /// The position of a byte of the text in the sources of the module.
    fn pos(&self, offset: u32) -> Pos {
        let base = self.module.sources.files().next().map_or(1, |file| file.start().0);
        Pos(base.saturating_add(offset))
    }

    /// The byte of the text at a position of the module's sources.
    pub(crate) fn offset(&self, pos: Pos) -> Option<u32> {
        let file = self.module.sources.files().next()?;
        let offset = pos.0.checked_sub(file.start().0)?;
        (offset as usize <= file.text.len()).then_some(offset)
    }

    /// The function of an item, where it could be read.
    pub(crate) fn func(&self, item: ItemIdx) -> Option<&Func> {
        let at = Loc::pos(self.pos(self.index.items.get(item)?.range.start));
        self.module.items.iter().find(|func| func.header.loc == at)
    }

    /// The value that a definition makes, with its function.
    pub(crate) fn value(&self, def: DefIdx, text: &str) -> Option<(&Func, Value)> {
        let definition = self.index.defs.get(def)?;
        let func = self.func(definition.item)?;
        let name = definition.name.of(text);
        let is_it = |value: &Value| func.value_text(*value) == name;
        let args = || func.region_args(func.body()).iter().copied();
        if matches!(definition.kind, DefKind::Size | DefKind::Param)
            && let Some(value) = args().find(is_it)
        {
            return Some((func, value));
        }
        let (start, end) = (self.pos(definition.whole.start), self.pos(definition.whole.end));
        let is_inside = |loc: Loc| (Loc::pos(start)..=Loc::pos(end)).contains(&loc);
        let of_op = |op| {
            let regions = func.op_regions(op).iter().flat_map(|&region| func.region_args(region).iter().copied());
            func.results(op).chain(regions).find(is_it)
        };
        all_ops(func).filter(|&op| is_inside(func.op_locs(op).source)).find_map(of_op).map(|value| (func, value))
    }
}

/// The index of a text, unless it is too large.
pub(crate) fn index_of(text: &str, compiler: &Compiler) -> Index {
    if text.len() > MAX_TEXT {
        return Index::default();
    }
    // A defect here was told on stderr; the text has no names then, and all else works.
    tc::on_big_stack(|| Index::new(text, &compiler.registry)).unwrap_or_default()
}

/// The lexemes of a text, unless it is too large.
pub(crate) fn lexemes_of(text: &str) -> Vec<Lexeme> {
    if text.len() > MAX_TEXT { Vec::new() } else { lexemes(text) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    /// The texts of the examples and of the library.
    fn texts() -> Vec<String> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let folders =
            ["examples", "examples/hopper", "dialects/tc-dialects/schedules", "dialects/tc-dialects/intrinsics"];
        let files = folders.iter().flat_map(|folder| std::fs::read_dir(root.join(folder)).expect("a folder"));
        let paths = files.map(|entry| entry.expect("readable").path());
        let texts = paths.filter(|path| path.extension().is_some_and(|extension| extension == "tir"));
        texts.map(|path| std::fs::read_to_string(path).expect("a text")).collect()
    }

    /// The index is made of syntax alone: what it takes for stages and axes must be what the rows make.
    #[test]
    fn definitions_of_schedules_are_what_the_compiler_makes() {
        let compiler = Compiler::new();
        let (mut n_right, mut n_unknown) = (0, 0);
        for text in texts() {
            let index = Arc::new(index_of(&text, &compiler));
            let analysis = Analysis::new("example.tir", &text, &compiler, index);
            for (def, definition) in analysis.index.defs.iter().enumerate() {
                let expected = match definition.kind {
                    DefKind::Stage => "stage",
                    DefKind::SplitAxis => "axis",
                    _ => continue,
                };
                let found = analysis.value(def, &text).map(|(func, value)| func.show_type(func.value_type(value)));
                match found.as_deref() {
                    // What a function gives back is not known until its call is gone.
                    None | Some("unknown") => n_unknown += 1,
                    Some(shown) => {
                        let text = definition.whole.of(&text);
                        assert_eq!(shown.trim_start_matches("sched."), expected, "`{text}`");
                        n_right += 1;
                    }
                }
            }
        }
        // A name that branches bind is a result of the branch, and a second name is no value of its own.
        assert!(n_right > 800 && n_unknown < n_right / 4, "{n_right} right, {n_unknown} unknown");
    }
}
