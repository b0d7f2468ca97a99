//! What items name of each other.

use super::walk::{Pending, PendingKind};
use super::{DefIdx, DefKind, Index, ItemIdx, Mention, What};
use rustc_hash::FxHashMap;
use tc::ir::opdef::SymbolTable;
use tc::syntax::tree::TextRange;

/// Finds what `pending` uses stand for.
pub(super) fn resolve(index: &mut Index, text: &str, pending: Vec<Pending>) {
    let mut tables = Tables::default();
    for (idx, item) in index.items.iter().enumerate() {
        let name = index.defs[item.def].name.of(text);
        tables.symbols.entry(name).or_default().push(idx);
        for def in item.defs.clone() {
            if matches!(index.defs[def].kind, DefKind::Tensor | DefKind::Param | DefKind::Buffer) {
                tables.stages.entry((idx, index.defs[def].name.of(text))).or_insert(def);
            }
        }
    }
    // What schedules are for comes before what they name of it.
    let (targets, others): (Vec<Pending>, Vec<Pending>) =
        pending.into_iter().partition(|one| matches!(one.kind, PendingKind::Target));
    for one in targets.into_iter().chain(others) {
        match one.kind {
            PendingKind::Path { head, makes } => path(index, &tables, text, &one, (head, makes)),
            _ => symbol(index, &tables, text, &one),
        }
    }
}

/// Names to what they stand for.
#[derive(Default)]
struct Tables<'s> {
    symbols: FxHashMap<&'s str, Vec<ItemIdx>>,
    stages: FxHashMap<(ItemIdx, &'s str), DefIdx>,
}

fn symbol(index: &mut Index, tables: &Tables<'_>, text: &str, one: &Pending) {
    use SymbolTable::{Functions, Intrinsics, ScheduleFunctions, Schedules};
    let of_schedule =
        matches!(index.items[one.item].table, Some(SymbolTable::Schedules | SymbolTable::ScheduleFunctions));
    let order: &[SymbolTable] = match one.kind {
        PendingKind::Target | PendingKind::Combiner => &[Functions],
        PendingKind::Callee if of_schedule => &[ScheduleFunctions],
        PendingKind::Symbol if of_schedule => &[Intrinsics, Schedules, Functions],
        _ => &[Functions, Intrinsics],
    };
    let named = tables.symbols.get(one.range.of(text)).map_or(&[][..], Vec::as_slice);
    let own = &index.items[one.item].targets;
    let found = order.iter().find_map(|&table| {
        let mut of_table = named.iter().copied().filter(|&idx| index.items[idx].table == Some(table));
        if table != Schedules {
            return of_table.next();
        }
        // Schedules of different operators may have one name.
        of_table.find(|&idx| index.items[idx].targets.iter().any(|target| own.contains(target)))
    });
    match found {
        Some(item) => {
            if matches!(one.kind, PendingKind::Target) {
                index.items[one.item].targets.push(item);
            }
            if !index.items[one.item].names.contains(&item) {
                index.items[one.item].names.push(item);
            }
            use_of(index, one.range, index.items[item].def);
        }
        // `sum` and its like are words, not symbols.
        None if matches!(one.kind, PendingKind::Combiner) => mention(index, one.range, What::Word),
        None => mention(index, one.range, What::Elsewhere),
    }
}

/// A stage, or a stage and its axis.
fn path(
    index: &mut Index,
    tables: &Tables<'_>,
    text: &str,
    one: &Pending,
    (head, makes): (Option<DefIdx>, Option<DefIdx>),
) {
    let whole = one.range.of(text);
    let (name, axis) = whole.split_once('.').map_or((whole, None), |(name, axis)| (name, Some(axis)));
    let targets = &index.items[one.item].targets;
    let stage = head.or_else(|| targets.iter().find_map(|&target| tables.stages.get(&(target, name)).copied()));
    let head_range = TextRange::new(one.range.start, one.range.start + name.len() as u32);
    let Some(stage) = stage else {
        if axis.is_some() || makes.is_none() {
            mention(index, one.range, What::Word);
        }
        return;
    };
    use_of(index, head_range, stage);
    if let Some(made) = makes.filter(|_| axis.is_none()) {
        index.defs[made].of = Some(stage);
    }
    let Some(axis) = axis else { return };
    let axis_range = TextRange::new(head_range.end + 1, one.range.end);
    let found = index.axes_of(stage).find(|&def| index.defs[def].name.of(text) == axis);
    match found {
        Some(def) => use_of(index, axis_range, def),
        None => mention(index, axis_range, What::Word),
    }
}

fn use_of(index: &mut Index, range: TextRange, def: DefIdx) {
    mention(index, range, What::Use(def));
}

fn mention(index: &mut Index, range: TextRange, what: What) {
    index.mentions.push(Mention { range, what });
}
