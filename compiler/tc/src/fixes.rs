//! Fixes of diagnostics as changes of the text.
//!
//! A [`Fix`] says what becomes of a statement, and where that begins. Here the text is at hand: it is parsed, and the ends of
//! what the fix speaks of are found in its tree.

use tc_support::source::SourceFile;
use tc_support::{Fix, FixEdit, Location, Pos, Sources, Span};
use tc_syntax::parse_partial;
use tc_syntax::tree::{Block, Else, ExprId, ExprKind, Id, Item, Stmt, StmtKind, TextRange, Tree, Value};

/// A piece of a file that becomes another text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TextChange {
    /// The piece; empty where something is put in.
    pub span: Span,
    /// What it becomes.
    pub text: String,
}

/// The changes that `fix` means, in the order of its edits; nothing where it speaks of a text that is not in `sources`, or of
/// what is not there.
pub fn text_changes(fix: &Fix, sources: &Sources) -> Option<Vec<TextChange>> {
    let mut changes = Vec::new();
    for edit in &fix.edits {
        match edit {
            FixEdit::Replace { at, text } => {
                let found = Site::find(at, sources)?;
                changes.push(found.change(found.replaced(at), text.clone()));
            }
            FixEdit::SetArgument { at, key, text } => {
                let found = Site::find(at, sources)?;
                let value = found.arguments.iter().find(|(name, _)| name.of(&found.file.text) == *key)?.1;
                changes.push(found.change(value, text.clone()));
            }
            FixEdit::Remove { at } => {
                let found = Site::find(at, sources)?;
                changes.push(found.change(found.lines(found.statement?), String::new()));
            }
            FixEdit::InsertBefore { at, text } => {
                let found = Site::find(at, sources)?;
                changes.push(found.before(found.statement?, text));
            }
            FixEdit::InsertAtEnd { at, text } => changes.push(Site::find(at, sources)?.at_end(text)),
            FixEdit::Move { at, before } => {
                let found = Site::find(at, sources)?;
                let statement = found.statement?;
                let target = Site::find(before, sources)?;
                changes.push(target.before(target.statement?, statement.of(&found.file.text)));
                changes.push(found.change(found.lines(statement), String::new()));
            }
        }
    }
    Some(changes)
}

/// What is found at a place of a file.
struct Site {
    file: std::sync::Arc<SourceFile>,
    offset: u32,
    /// The innermost statement around the place.
    statement: Option<TextRange>,
    /// The call that begins there.
    call: Option<TextRange>,
    /// Its arguments with keys: the key and the value.
    arguments: Vec<(TextRange, TextRange)>,
    /// The block of the item, the last statement in it, and the `return` that ends it.
    block: TextRange,
    last: Option<TextRange>,
    end: Option<TextRange>,
}

impl Site {
    fn find(at: &Location, sources: &Sources) -> Option<Site> {
        let Location::Span(span) = at else { return None };
        let file = sources.file_of(span.start)?.clone();
        let offset = span.start.0 - file.start().0;
        let mut site = None;
        parse_partial(&file.text, file.start(), &mut |tree, item| {
            if item.range.start <= offset && offset < item.range.end {
                site = Some(Site::of_item(tree, item, (&file, offset)));
            }
        });
        site
    }

    fn of_item(tree: &Tree, item: &Item, (file, offset): (&std::sync::Arc<SourceFile>, u32)) -> Site {
        let block = tree[item.block];
        let mut site = Site {
            file: file.clone(),
            offset,
            statement: None,
            call: None,
            arguments: Vec::new(),
            block: block.range,
            last: tree[block.stmts].iter().map(|stmt| stmt.range).rfind(|range| !range.is_empty()),
            end: block.end.map(|end| tree[end].range),
        };
        site.look(tree, item.block);
        site
    }

    /// Looks for the statement in a block, and in the blocks inside of it.
    fn look(&mut self, tree: &Tree, block: Id<Block>) {
        let mut blocks = vec![block];
        while let Some(block) = blocks.pop() {
            let around = |stmt: &&Stmt| stmt.range.start <= self.offset && self.offset < stmt.range.end;
            let Some(&stmt) = tree[tree[block].stmts].iter().find(around) else { continue };
            self.statement = Some(stmt.range);
            match stmt.kind {
                StmtKind::Call(value) | StmtKind::Assign { value, .. } => self.take_call(tree, value),
                StmtKind::Op(op) => {
                    self.take_call(tree, tree[op].call);
                    blocks.extend(tree[tree[op].regions].iter().map(|region| region.block));
                }
                StmtKind::PathBlock { block, .. } => blocks.push(block),
                StmtKind::For(id) => blocks.push(tree[id].block),
                StmtKind::If { branch, .. } => {
                    let mut next = Some(branch);
                    while let Some(id) = next.take() {
                        blocks.push(tree[id].then);
                        match tree[id].otherwise {
                            Else::None => {}
                            Else::Block(block) => blocks.push(block),
                            Else::If(id) => next = Some(id),
                        }
                    }
                }
                StmtKind::Compute { .. } | StmtKind::Store { .. } | StmtKind::Let { .. } | StmtKind::Alloc { .. } => {}
            }
        }
    }

    fn take_call(&mut self, tree: &Tree, expr: ExprId) {
        let ExprKind::Call { args, .. } = tree[expr].kind else { return };
        if tree[expr].range.start != self.offset {
            return;
        }
        self.call = Some(tree[expr].range);
        let keyed = tree[args].iter().filter_map(|arg| match (arg.key, arg.value) {
            (Some(key), Value::Expr(value)) => Some((tree[key], tree[value].range)),
            _ => None,
        });
        self.arguments = keyed.collect();
    }

    /// The range that a place means.
    fn replaced(&self, at: &Location) -> TextRange {
        if let Location::Span(span) = at
            && span.end > span.start
        {
            return TextRange::new(self.offset, self.offset + (span.end.0 - span.start.0));
        }
        if let Some(call) = self.call {
            return call;
        }
        let rest = self.file.text.get(self.offset as usize..).unwrap_or("");
        let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '$');
        let length = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
        TextRange::new(self.offset, self.offset + length as u32)
    }

    fn change(&self, range: TextRange, text: String) -> TextChange {
        let at = |offset: u32| Pos(self.file.start().0 + offset);
        TextChange { span: Span::new(at(range.start), at(range.end)), text }
    }

    /// The lines of a statement, if nothing else stands on them.
    fn lines(&self, range: TextRange) -> TextRange {
        let text = &self.file.text;
        let (before, after) = (&text[..range.start as usize], &text[range.end as usize..]);
        let start = before.rfind('\n').map_or(0, |at| at + 1);
        let end = after.find('\n').map_or(after.len(), |at| at + 1);
        let is_alone = before[start..].trim().is_empty() && after[..end].trim().is_empty();
        if is_alone { TextRange::new(start as u32, range.end + end as u32) } else { range }
    }

    /// The white space before what begins at `start`, if it is the first of its line.
    fn indent(&self, start: u32) -> &str {
        let before = &self.file.text[..start as usize];
        let line = &before[before.rfind('\n').map_or(0, |at| at + 1)..];
        &line[..line.len() - line.trim_start().len()]
    }

    fn before(&self, statement: TextRange, text: &str) -> TextChange {
        let text = format!("{text}\n{}", self.indent(statement.start));
        self.change(TextRange::new(statement.start, statement.start), text)
    }

    fn at_end(&self, text: &str) -> TextChange {
        if let Some(end) = self.end {
            return self.before(end, text);
        }
        match self.last {
            Some(last) => {
                let text = format!("\n{}{text}", self.indent(last.start));
                self.change(TextRange::new(last.end, last.end), text)
            }
            None => {
                let inside = self.block.start + 1;
                self.change(TextRange::new(inside, inside), format!("\n  {text}"))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "schedule @s for @f {\n  x, y = split(B.i, factor = 8)\n  bind(x, blockIdx.x)\n  if a {\n    unroll(y)\n  }\n}\n";

    /// The text after a fix, whose edits are at the words that they name.
    fn fixed(edit: impl Fn(&dyn Fn(&str) -> Location) -> FixEdit) -> String {
        let mut sources = Sources::new();
        let file = sources.add("f.tir", TEXT).expect("small");
        let base = sources.file(file).start().0;
        let at = |word: &str| Span::at(Pos(base + TEXT.find(word).expect("there") as u32)).into();
        let mut changes = text_changes(&Fix::new("", edit(&at)), &sources).expect("found");
        changes.sort_by_key(|change| std::cmp::Reverse(change.span.start));
        let mut text = TEXT.to_string();
        for change in changes {
            let range = (change.span.start.0 - base) as usize..(change.span.end.0 - base) as usize;
            text.replace_range(range, &change.text);
        }
        text
    }

    #[test]
    fn edits_find_the_ends_of_statements() {
        let text = || "z()".to_string();
        let lines = |text: String| text.lines().map(str::trim).collect::<Vec<_>>().join("|");
        let head = "schedule @s for @f {|x, y = split(B.i, factor = 8)|";
        assert_eq!(
            lines(fixed(|at| FixEdit::Replace { at: at("bind"), text: text() })),
            format!("{head}z()|if a {{|unroll(y)|}}|}}")
        );
        let near = fixed(|at| FixEdit::Replace { at: at("B.i"), text: "C.j".to_string() });
        assert!(near.contains("split(C.j, factor = 8)"), "{near}");
        let set = fixed(|at| FixEdit::SetArgument { at: at("split"), key: "factor", text: "16".to_string() });
        assert!(set.contains("factor = 16)"), "{set}");
        assert_eq!(fixed(|at| FixEdit::Remove { at: at("bind") }), TEXT.replace("  bind(x, blockIdx.x)\n", ""));
        assert_eq!(fixed(|at| FixEdit::Remove { at: at("unroll") }), TEXT.replace("    unroll(y)\n", ""));
        let before = fixed(|at| FixEdit::InsertBefore { at: at("unroll"), text: text() });
        assert!(before.contains("\n    z()\n    unroll(y)\n"), "{before}");
        assert!(fixed(|at| FixEdit::InsertAtEnd { at: at("bind"), text: text() }).ends_with("  }\n  z()\n}\n"));
        let moved = fixed(|at| FixEdit::Move { at: at("bind"), before: at("split") });
        assert!(moved.contains("{\n  bind(x, blockIdx.x)\n  x, y = split(B.i, factor = 8)\n  if"), "{moved}");
    }

    #[test]
    fn a_fix_of_another_text_changes_nothing() {
        let fix = |at| Fix::new("", FixEdit::Remove { at });
        assert_eq!(text_changes(&fix(Location::None), &Sources::new()), None);
        assert_eq!(text_changes(&fix(Span::at(Pos(7)).into()), &Sources::new()), None);
    }
}
