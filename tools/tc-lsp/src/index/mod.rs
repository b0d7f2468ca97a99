//! What the names of a text stand for: definitions, their uses, and what rows are named, with the place of each.
//!
//! It is made of syntax trees alone, so that a text with errors has one too. [`walk`] goes through the tree of each item, [`exprs`]
//! through its expressions;
//! [`resolve`] then finds what items name of each other: symbols, and the stages and axes of operators in schedules.

mod exprs;
mod resolve;
mod walk;

use std::sync::Arc;
use tc::ir::opdef::SymbolTable;
use tc::ir::{Opcode, Registry};
use tc::syntax::tree::TextRange;

/// The number of an item in an [`Index`].
pub(crate) type ItemIdx = usize;
/// The number of a definition in an [`Index`].
pub(crate) type DefIdx = usize;

/// What a definition makes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum DefKind {
    /// An item: an operator, a schedule, a program, ….
    Item,
    /// A size of an item.
    Size,
    /// A parameter of an item, or of a region.
    Param,
    /// What an operator computes.
    Tensor,
    /// An axis of what an operator computes, or of a reduction.
    Axis,
    /// A buffer that a program allocates.
    Buffer,
    /// The variable of a loop.
    Loop,
    /// A value.
    Value,
    /// A stage that a directive makes, or another name of one.
    Stage,
    /// An axis that a directive makes.
    SplitAxis,
}

/// A definition of a name.
#[derive(Clone, Debug)]
pub(crate) struct Definition {
    /// The name, without the `@` of a symbol.
    pub(crate) name: TextRange,
    /// All of what defines it: a statement, a parameter.
    pub(crate) whole: TextRange,
    pub(crate) kind: DefKind,
    pub(crate) item: ItemIdx,
    /// Where it can be seen.
    pub(crate) scope: TextRange,
    /// The type as it is written.
    pub(crate) ty: Option<TextRange>,
    /// The extent as it is written: `n`, `low..high`.
    pub(crate) extent: Option<TextRange>,
    /// The definition that it belongs to: the stage of an axis, what a stage of a schedule is made of.
    pub(crate) of: Option<DefIdx>,
}

/// What stands at a place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum What {
    /// A name is defined.
    Definition(DefIdx),
    /// A name is used.
    Use(DefIdx),
    /// The row of an op or a directive.
    Row(Opcode),
    /// The word that opens an item.
    ItemKeyword,
    /// The key of an argument or an attribute.
    Key,
    /// A word that is no name: a storage scope, a launch coordinate.
    Word,
    /// A type of a dialect.
    Type,
    /// The symbol of an item that is not of this text.
    Elsewhere,
}

/// A place with a meaning.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mention {
    pub(crate) range: TextRange,
    pub(crate) what: What,
}

/// A call, with its name and its arguments.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CallSite {
    pub(crate) range: TextRange,
}

/// An item.
#[derive(Clone, Debug)]
pub(crate) struct IndexItem {
    pub(crate) range: TextRange,
    pub(crate) keyword: TextRange,
    pub(crate) block: TextRange,
    /// The symbol table it lives in; none where the word that opens it is unknown.
    pub(crate) table: Option<SymbolTable>,
    pub(crate) def: DefIdx,
    /// The items that a schedule is for, of those in the text.
    pub(crate) targets: Vec<ItemIdx>,
    /// The items that it names.
    pub(crate) names: Vec<ItemIdx>,
    /// The definitions of the item, itself first.
    pub(crate) defs: std::ops::Range<DefIdx>,
}

/// A block that can be folded, or a run of lines.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fold {
    pub(crate) range: TextRange,
}

/// What the names of a text stand for.
#[derive(Clone, Default, Debug)]
pub(crate) struct Index {
    pub(crate) items: Vec<IndexItem>,
    pub(crate) defs: Vec<Definition>,
    /// In the order of the text; they do not overlap.
    pub(crate) mentions: Vec<Mention>,
    /// Calls, in the order in which they begin.
    pub(crate) calls: Vec<CallSite>,
    /// Blocks, in the order in which they begin.
    pub(crate) folds: Vec<Fold>,
    /// The axes of stages: of what an operator computes, and the loops around what a program stores. In order.
    axes: Vec<(DefIdx, DefIdx)>,
}

impl Index {
    /// The index of `text`.
    pub(crate) fn new(text: &str, registry: &Arc<Registry>) -> Index {
        let mut walk = walk::Walk::new(text, registry);
        tc::syntax::parse_partial(text, tc::support::Pos(1), &mut |tree, item| walk.item(tree, item));
        let (mut index, pending) = walk.finish();
        index.axes.sort_unstable();
        index.axes.dedup();
        resolve::resolve(&mut index, text, pending);
        index.mentions.retain(|mention| !mention.range.is_empty());
        index.mentions.sort_by_key(|mention| (mention.range.start, mention.range.end));
        index.mentions.dedup_by_key(|mention| mention.range.start);
        index.calls.sort_by_key(|call| (call.range.start, call.range.end));
        index.folds.sort_by_key(|fold| (fold.range.start, fold.range.end));
        index
    }

    /// What stands at `offset`, or ends there.
    pub(crate) fn at(&self, offset: u32) -> Option<Mention> {
        let next = self.mentions.partition_point(|mention| mention.range.start <= offset);
        let before = next.checked_sub(1).map(|last| self.mentions[last]);
        let here = before.filter(|mention| offset <= mention.range.end);
        // The name of a symbol begins behind its `@`.
        let is_symbol = |mention: &Mention| match mention.what {
            What::Definition(def) | What::Use(def) => self.defs[def].kind == DefKind::Item,
            What::Elsewhere => true,
            _ => false,
        };
        let symbol = || self.mentions.get(next).copied().filter(|mention| mention.range.start == offset + 1);
        here.or_else(|| symbol().filter(is_symbol))
    }

    /// What stands at `offset`, also where that is a part of a statement that does not parse: then a word is what it would
    /// stand for.
    pub(crate) fn at_word(&self, text: &str, offset: u32) -> Option<Mention> {
        if let Some(mention) = self.at(offset) {
            return Some(mention);
        }
        let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let before = text.get(..offset as usize)?;
        let start = before.rfind(|c| !is_part(c)).map_or(0, |at| at + 1);
        let rest = text.get(start..)?;
        let length = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
        let range = TextRange::new(start as u32, (start + length) as u32);
        let word = range.of(text);
        let is_it = |&def: &DefIdx| !word.is_empty() && self.defs[def].name.of(text) == word;
        let stages = self.item_at(offset).into_iter().flat_map(|item| self.stages_of(item));
        let def = self.visible(offset).chain(stages).find(is_it)?;
        Some(Mention { range, what: What::Use(def) })
    }

    /// The stages of the operators that the schedule `item` is for.
    pub(crate) fn stages_of(&self, item: ItemIdx) -> impl Iterator<Item = DefIdx> + '_ {
        let is_stage =
            |def: &DefIdx| matches!(self.defs[*def].kind, DefKind::Tensor | DefKind::Param | DefKind::Buffer);
        let targets = self.items[item].targets.iter();
        targets.flat_map(move |&target| self.items[target].defs.clone().filter(is_stage))
    }

    /// The definition at `offset`: the name is defined there, or used.
    pub(crate) fn def_at(&self, offset: u32) -> Option<(DefIdx, TextRange)> {
        let mention = self.at(offset)?;
        match mention.what {
            What::Definition(def) | What::Use(def) => Some((def, mention.range)),
            _ => None,
        }
    }

    /// The places of `def`: where it is defined, and where it is used.
    pub(crate) fn places(&self, def: DefIdx) -> impl Iterator<Item = Mention> + '_ {
        let of = move |mention: &&Mention| matches!(mention.what, What::Definition(at) | What::Use(at) if at == def);
        self.mentions.iter().filter(of).copied()
    }

    /// The item around `offset`.
    pub(crate) fn item_at(&self, offset: u32) -> Option<ItemIdx> {
        let next = self.items.partition_point(|item| item.range.start <= offset);
        let idx = next.checked_sub(1)?;
        (offset <= self.items[idx].range.end).then_some(idx)
    }

    /// The definitions that can be seen at `offset` inside of its item.
    pub(crate) fn visible(&self, offset: u32) -> impl Iterator<Item = DefIdx> + '_ {
        let defs = self.item_at(offset).map_or(0..0, |item| self.items[item].defs.clone());
        let seen = move |&def: &DefIdx| {
            let Definition { kind, scope, .. } = &self.defs[def];
            *kind != DefKind::Item && scope.start <= offset && offset <= scope.end
        };
        defs.filter(seen)
    }

    /// The stage of the operator that `def` is, or that directives made it of.
    fn root_stage(&self, def: DefIdx) -> DefIdx {
        let mut stage = def;
        // A stage is made of one that stands before it; the bound is for texts that say otherwise.
        for _ in 0..64 {
            let Definition { kind, of, .. } = self.defs[stage];
            match of {
                Some(of) if matches!(kind, DefKind::Stage | DefKind::Tensor) => stage = of,
                _ => break,
            }
        }
        stage
    }

    /// The axes of the stage `def`, which directives may have made of another.
    pub(crate) fn axes_of(&self, def: DefIdx) -> impl Iterator<Item = DefIdx> + '_ {
        let stage = self.root_stage(def);
        let first = self.axes.partition_point(|&(of, _)| of < stage);
        self.axes[first..].iter().take_while(move |&&(of, _)| of == stage).map(|&(_, axis)| axis)
    }

    /// The call that begins at `offset`, the longest.
    pub(crate) fn call_at(&self, offset: u32) -> Option<CallSite> {
        let end = self.calls.partition_point(|call| call.range.start <= offset);
        let call = *self.calls.get(end.checked_sub(1)?)?;
        (call.range.start == offset).then_some(call)
    }
}
