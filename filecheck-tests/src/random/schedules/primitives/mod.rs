//! How each primitive is drawn: a file under its name, and a line of the table for each phase that it is drawn in.

mod bind;
mod bulk_copy;
mod cache_read;
mod cache_write;
mod cluster;
mod compute_at;
mod compute_root;
mod double_buffer;
mod fuse;
mod inline;
mod pad;
mod pipeline;
mod pragma;
mod reorder;
mod rfactor;
mod set_scope;
mod set_store_predicate;
mod split;
mod storage_align;
mod swizzle;
mod tensorize;
mod tile;
mod transform_layout;
mod unroll;
mod vectorize;

use super::{Maker, Site};

/// When primitives are drawn. They come in this order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Phase {
    /// Of each stage the first that applies: stages are made, or inlined.
    Stages,
    /// Of each argument and stage.
    Copies,
    /// Of each stage: how far its axes run.
    Paddings,
    /// Of each stage, consumers first, the first that applies: where it is computed.
    Places,
    /// Of a stage that stands: whether something else than threads computes it. Then no more is said of it.
    Engines,
    /// All: which loops run on blocks and threads.
    Launches,
    /// A few times, one for a loop: what loops there are. Is called for by [`Phase::Launches`].
    Shapes,
    /// All: the loops inside all others.
    Innermost,
    /// One, or none, for each loop of which nothing was said: how it runs.
    Runs,
    /// All: when a stage stores.
    Stores,
    /// All: where the buffer lies.
    Scopes,
    /// One, or none: how elements lie in the buffer.
    Buffers,
    /// All, once every stage has its loops.
    Ends,
}

impl Phase {
    /// Where one is drawn: of how many, by share. What no line has is a share of nothing, or of the last line.
    fn shares(self) -> usize {
        match self {
            Phase::Shapes => 8,
            Phase::Runs => 40,
            Phase::Buffers => 10,
            _ => 1,
        }
    }
}

/// Draws a directive; was it one that applies?
type Draw = fn(&mut Maker<'_>, Site) -> bool;

type Refusal = (&'static str, &'static str);

/// A line of the table.
struct Row {
    primitive: &'static str,
    phase: Phase,
    share: usize,
    draw: Draw,
    /// The pass that carries out what is drawn, and the code with which it refuses to.
    by: &'static [Refusal],
}

macro_rules! table {
    ($($primitive:ident::$draw:ident at $phase:ident, $share:literal $(by $pass:literal $code:literal)*;)*) => {
        const TABLE: &[Row] = &[$(Row {
            primitive: stringify!($primitive),
            phase: Phase::$phase,
            share: $share,
            draw: $primitive::$draw,
            by: &[$(($pass, $code)),*],
        }),*];
    };
}

// Where one is drawn its share stands last. A line is added at the end of its phase, so that what was drawn before is drawn
// again from the same seed.
table! {
    inline::draw at Stages, 1;
    rfactor::draw at Stages, 1;
    cache_write::draw at Stages, 1;
    cache_read::draw at Copies, 1;
    pad::draw at Paddings, 1;
    compute_at::draw at Places, 1;
    compute_root::draw at Places, 1;
    bulk_copy::draw at Engines, 1 by "inject-bulk-copy" "bulk-copy" by "inject-bulk-copy" "pieces" by "inject-bulk-sync" "bulk-copy" by "warp-specialize" "roles";
    bind::draw at Launches, 1;
    split::draw at Shapes, 4;
    fuse::draw at Shapes, 1;
    tile::draw at Shapes, 1;
    reorder::draw at Shapes, 2;
    tensorize::draw at Innermost, 1 by "tensorize-to-wmma" "tensorize";
    vectorize::lanes at Innermost, 1;
    unroll::draw at Runs, 4;
    bind::vthread at Runs, 3;
    vectorize::draw at Runs, 1;
    pragma::draw at Runs, 6;
    set_store_predicate::draw at Stores, 1;
    cluster::draw at Stores, 1 by "verify-gpu-limits" "cluster" by "warp-specialize" "cluster";
    set_scope::draw at Scopes, 1;
    storage_align::draw at Buffers, 1;
    transform_layout::draw at Buffers, 1;
    double_buffer::draw at Buffers, 1 by "software-pipeline" "stages";
    swizzle::draw at Buffers, 1 by "storage-flatten" "swizzle";
    pipeline::draw at Ends, 1 by "software-pipeline" "stages";
}

fn rows(phase: Phase) -> impl Iterator<Item = &'static Row> {
    TABLE.iter().filter(move |row| row.phase == phase)
}

/// The primitives whose directives `pass` refuses to carry out with `code`.
pub(super) fn asking(pass: &str, code: &str) -> impl Iterator<Item = &'static str> {
    TABLE.iter().filter(move |row| row.by.contains(&(pass, code))).map(|row| row.primitive)
}

impl Maker<'_> {
    /// Draws at `phase` until one applies; did any?
    pub(super) fn first_of(&mut self, phase: Phase, site: Site) -> bool {
        rows(phase).any(|row| (row.draw)(self, site))
    }

    pub(super) fn all_of(&mut self, phase: Phase, site: Site) {
        for row in rows(phase) {
            (row.draw)(self, site);
        }
    }

    /// Draws one of `phase` by the shares. Where the loops are made, the last stands in for one that does not apply.
    pub(super) fn one_of(&mut self, phase: Phase, site: Site) {
        let mut nth = self.rng.below(phase.shares());
        let is_it = |row: &&Row| {
            let is_it = nth < row.share;
            nth -= if is_it { 0 } else { row.share };
            is_it
        };
        let drawn = rows(phase).find(is_it);
        let applies = drawn.is_some_and(|row| (row.draw)(self, Site { nth, ..site }));
        if !applies
            && phase == Phase::Shapes
            && let Some(row) = rows(phase).last()
        {
            (row.draw)(self, site);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_primitive_is_drawn_by_the_file_under_its_name() {
        let mut known: Vec<&str> = tc::schedule::primitives().iter().map(|info| info.name).collect();
        // What chooses among schedules is no part of one: `choice` draws it.
        known.retain(|name| *name != "dispatch");
        let mut drawn: Vec<&str> = TABLE.iter().map(|row| row.primitive).collect();
        known.sort_unstable();
        drawn.sort_unstable();
        drawn.dedup();
        assert_eq!(drawn, known);
    }

    #[test]
    fn shares_do_not_exceed_what_there_is() {
        for phase in [Phase::Shapes, Phase::Runs, Phase::Buffers] {
            assert!(rows(phase).map(|row| row.share).sum::<usize>() <= phase.shares(), "{phase:?}");
        }
    }
}
