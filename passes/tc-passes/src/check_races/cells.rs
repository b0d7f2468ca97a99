//! Who touched which cell since the last barrier.

use super::lanes::Base;
use rustc_hash::FxHashMap;
use tc_dialects::update::UpdateClass;
use tc_ir::{Op, Value};

/// At most this many cells are noted between two barriers.
const MAX_CELLS: usize = 1 << 20;

/// One access of one thread.
#[derive(Clone, Copy, Debug)]
pub(super) struct Touch {
    pub(super) op: Op,
    pub(super) thread: u32,
    pub(super) writes: bool,
    /// It is an atomic update, which does not conflict with others of its class.
    pub(super) update: Option<UpdateClass>,
    /// Which execution of the op it is: the threads of one execution write at the same time, which is another question.
    pub(super) execution: u64,
    /// It is not sure that it is executed.
    pub(super) maybe: bool,
    /// All threads write one value.
    pub(super) by_all: bool,
}

impl Touch {
    /// Does the order of the two matter, where they touch one cell?
    fn conflicts(&self, other: &Touch) -> bool {
        (self.writes || other.writes) && (self.update.is_none() || self.update != other.update)
    }
}

/// Two threads touch one cell, with no barrier between.
#[derive(Clone, Copy, Debug)]
pub(super) struct AccessPair {
    pub(super) first: Touch,
    pub(super) second: Touch,
    /// The buffer, as the place of the second access.
    pub(super) root: Value,
    /// The element in memory, counted from its base in units of its buffer.
    pub(super) cell: i64,
}

impl AccessPair {
    /// Do both come about for certain?
    pub(super) fn is_certain(&self) -> bool {
        !self.first.maybe && !self.second.maybe
    }
}

/// The first access of a cell, and the first one of another thread.
#[derive(Clone, Copy, Default)]
struct Pair([Option<Touch>; 2]);

impl Pair {
    fn add(&mut self, touch: Touch) {
        match &mut self.0 {
            [first @ None, _] => *first = Some(touch),
            [Some(first), second @ None] if first.thread != touch.thread => *second = Some(touch),
            // What is certain tells more.
            [Some(first), _] if first.thread == touch.thread && first.maybe => *first = touch,
            _ => {}
        }
    }

    /// One of another thread, a certain one rather.
    fn other(&self, touch: &Touch) -> Option<Touch> {
        let others = || self.0.iter().flatten().filter(|other| other.thread != touch.thread).copied();
        others().find(|other| !other.maybe).or_else(|| others().next())
    }
}

/// What is known of one cell.
#[derive(Clone, Copy, Default)]
struct Cell {
    writes: Pair,
    reads: Pair,
    updates: Pair,
}

/// What is known of one buffer since the last barrier for its memory.
#[derive(Default)]
struct Buffer {
    cells: FxHashMap<(u32, i64), Cell>,
    /// The bases of the accesses, with an access each, a write if there is one; `None` where the cell is not known.
    bases: Vec<(Option<Base>, Touch)>,
}

/// The accesses since the last barrier, of shared or of global memory.
#[derive(Default)]
pub(super) struct Cells {
    buffers: FxHashMap<Value, Buffer>,
    n_cells: usize,
    /// The first two that access one cell, a pair that is certain rather.
    pub(super) conflict: Option<AccessPair>,
    /// Two that may access one cell, or not.
    pub(super) unclear: Option<(Touch, Touch, Value)>,
}

impl Cells {
    /// A barrier: what comes now follows all that came.
    pub(super) fn clear(&mut self) {
        self.buffers.clear();
        self.n_cells = 0;
    }

    /// Is there no room for more?
    pub(super) fn is_full(&self) -> bool {
        self.n_cells >= MAX_CELLS
    }

    /// Notes an access of `root` from `base` on, or one whose cell is not known. Cells are then noted by `touch`.
    pub(super) fn enter(&mut self, root: Value, base: Option<&Base>, touch: Touch) -> u32 {
        let buffer = self.buffers.entry(root).or_default();
        for (other, before) in &buffer.bases {
            let is_told = base.is_some() && other.as_ref() == base;
            if !is_told && touch.conflicts(before) && self.unclear.is_none() {
                self.unclear = Some((*before, touch, root));
            }
        }
        let known = buffer.bases.iter().position(|(other, _)| other.as_ref() == base);
        let nth = known.unwrap_or_else(|| {
            buffer.bases.push((base.cloned(), touch));
            buffer.bases.len() - 1
        });
        let known = &mut buffer.bases[nth].1;
        if touch.writes && !known.writes {
            *known = Touch { update: None, ..touch };
        } else if known.update != touch.update {
            // Updates beside other accesses conflict with all.
            known.update = None;
        }
        nth as u32
    }

    /// Notes that `cell` is touched, from the base that [`Cells::enter`] gave the number of.
    pub(super) fn touch(&mut self, root: Value, base: u32, cell: i64, touch: Touch) {
        let n_cells = &mut self.n_cells;
        let known = self.buffers.entry(root).or_default().cells.entry((base, cell)).or_insert_with(|| {
            *n_cells += 1;
            Cell::default()
        });
        let updates = known.updates.other(&touch).filter(|other| touch.conflicts(other));
        let before = if touch.update.is_some() {
            known.writes.other(&touch).or(known.reads.other(&touch)).or(updates)
        } else if touch.writes {
            let reads = known.reads.other(&touch);
            let is_joint = |other: &Touch| other.execution == touch.execution;
            known.writes.other(&touch).filter(|other| !is_joint(other)).or(reads).or(updates)
        } else {
            // What all write alike, the thread has written itself.
            known.writes.other(&touch).filter(|other| !other.by_all).or(updates)
        };
        if let Some(first) = before {
            let pair = AccessPair { first, second: touch, root, cell };
            if self.conflict.is_none_or(|known| !known.is_certain() && pair.is_certain()) {
                self.conflict = Some(pair);
            }
        }
        let list = match touch {
            Touch { update: Some(_), .. } => &mut known.updates,
            Touch { writes: true, .. } => &mut known.writes,
            _ => &mut known.reads,
        };
        list.add(touch);
    }
}
