//! Blocks: phased or threaded, one after another on a core, side by side on several.

use super::bulk_store::StoreGroups;
use super::group::{Event, Group};
use super::mbarrier::{InFlight, Waiting};
use crate::cell::Cell;
use crate::clock::{ALL, Actor, CellHistory, Clocks, LEVELS, Moment, OF_SHARED, SHARED};
use crate::code::{BarrierScope, Kernel, NO_SITE, Site, Warpgroups};
use crate::diagnostic::{DiagnosticKind, SimDiagnostics};
use crate::domain::Domain;
use crate::limits::Limits;
use crate::mbarrier::Mbarrier;
use crate::memory::{CellMap, Follow, Global, Shared};
use crate::race::{CellShadow, Conflict, Now, WriterSets};
use crate::watch::Log;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use tc_dialects::update::UpdateClass;
use tc_support::{Diagnostic, parallel};

/// Threads of a warp.
pub(crate) const WARP: usize = 32;

/// Threads of a warpgroup.
pub(crate) const WARPGROUP: usize = 128;

/// Lanes of a group that evaluates an operator.
const CELL_LANES: usize = 256;

/// Parts that a launch is cut into; fixed, so that what is found does not depend on the number of cores.
const N_PARTS: usize = 64;

/// What it takes to follow one cell.
const SHADOW_BYTES: u64 = 128;

/// Steps between two looks at the common count.
const STEPS_BETWEEN_LOOKS: u64 = 1 << 18;

/// The cells of a stage that are asked for.
#[derive(Clone, Debug)]
pub(crate) enum Cells {
    /// All of them, row-major, from the axes' low ends on.
    Dense { lows: Vec<i64>, extents: Vec<u64> },
    /// Those with these numbers among them.
    Some { flat: Vec<u64>, lows: Vec<i64>, extents: Vec<u64> },
}

impl Cells {
    fn len(&self) -> u64 {
        match self {
            Cells::Dense { extents, .. } => extents.iter().fold(1, |product, &extent| product.saturating_mul(extent)),
            Cells::Some { flat, .. } => flat.len() as u64,
        }
    }
}

/// One launch of a kernel.
#[derive(Clone, Copy)]
pub(crate) struct Launch<'r> {
    pub(crate) kernel: &'r Kernel,
    pub(crate) globals: &'r [Arc<Global>],
    pub(crate) host: &'r [Cell],
    /// Set for a stage of an operator: its cells take the place of threads.
    pub(crate) cells: Option<&'r Cells>,
    pub(crate) domain: Domain,
    pub(crate) limits: Limits,
    /// The steps of the whole run so far.
    pub(crate) steps: &'r AtomicU64,
    pub(crate) parallel: bool,
    /// Warps are run last to first between barriers.
    pub(crate) descending: bool,
    /// The blocks to run; all of them if not given.
    pub(crate) blocks: Option<&'r [u64]>,
    /// Who wants to know what a block does.
    pub(crate) watch: Option<&'r Log>,
}

/// What a launch gave.
#[derive(Default)]
pub(crate) struct Outcome {
    pub(crate) diagnostics: SimDiagnostics,
    /// Blocks raced with each other: what exactly was found may depend on who came first.
    pub(crate) blocks_raced: bool,
    pub(crate) aborted: bool,
    /// The values of the kernel's exports.
    pub(crate) exports: Vec<Cell>,
}

/// A global buffer, a block by its place in the group, a cell.
type SourceCell = (usize, usize, usize);

/// A buffer, a block by its place in the group, a cell.
type Accessed = (usize, usize, usize);

/// A thread, its op, and the barriers that its warp alone has passed.
pub(super) type Accessor = (u32, Site, u32);

/// What the groups of a block share.
pub(crate) struct BlockState {
    pub(crate) warps: usize,
    /// The blocks that run side by side; of an operator, the first cell.
    pub(crate) blocks: Vec<u64>,
    pub(crate) shared: Vec<Shared>,
    sets: WriterSets,
    /// Cells of global buffers that this block accessed, in threaded programs.
    global_map: CellMap,
    global_shadow: Vec<CellShadow>,
    /// What takes their place where barriers in shared memory order threads.
    global_history: Vec<CellHistory>,
    pub(super) clocks: Option<Clocks>,
    /// The barriers in shared memory.
    pub(super) barriers: Vec<Mbarrier>,
    /// The last use of a barrier of a block of the cluster by a thread of another: its clock, and the op.
    pub(super) reached: BTreeMap<(usize, u32), (u32, Site)>,
    /// Bulk copies that have not come to their barriers yet.
    pub(super) in_flight: Vec<InFlight>,
    /// The bulk copies to tensors of each thread.
    pub(super) bulk_stores: Vec<StoreGroups>,
    /// Who writes global memory in the place of a thread, and its count: such a copy.
    pub(super) engine: Option<(Actor, u32)>,
    /// Cells of global buffers that asynchronous copies read, of those that the kernel writes: the copy, and how many.
    sources: BTreeMap<SourceCell, (Site, u32)>,
    /// Barriers of the block passed plus one, by block: those that order shared memory, and those that order all.
    epochs: Vec<[u32; 2]>,
    /// What threads lay out for one another. There are two tables, used in turn: a warp may come to the next meeting
    /// before another has taken what it wants from this one, but not further.
    pub(crate) offers: [Vec<Cell>; 2],
    pub(crate) diagnostics: SimDiagnostics,
    pub(crate) steps: u64,
    flushed: u64,
    /// The cells that one store wrote.
    pub(crate) duplicates: CellMap,
    pub(crate) blocks_raced: bool,
    aborted: bool,
}

impl BlockState {
    fn new(launch: &Launch<'_>, warps: usize, batch: usize) -> BlockState {
        let kernel = launch.kernel;
        let follow = match (kernel.threaded, kernel.warpgroups.clocked) {
            (_, true) => Follow::Clocks,
            (true, false) => Follow::Epochs,
            (false, false) => Follow::Nothing,
        };
        let shared = kernel
            .shared
            .iter()
            .map(|&buf| Shared::new(kernel.buffers[buf as usize].cells, batch, launch.domain.has_companions(), follow));
        let Warpgroups { clocked, stores, .. } = kernel.warpgroups;
        // With clocks, the blocks that run side by side are those of a cluster.
        let (n_threads, n_barriers) = (kernel.threads() as usize * batch, kernel.n_barriers() * batch);
        let clocks = clocked.then(|| Clocks::new(n_threads, n_barriers, stores));
        let barriers = clocks.iter().flat_map(|clocks| vec![Mbarrier::new(clocks); n_barriers]).collect();
        BlockState {
            warps,
            blocks: Vec::new(),
            shared: shared.collect(),
            sets: WriterSets::new(kernel.threads() as usize),
            global_map: CellMap::default(),
            global_shadow: Vec::new(),
            global_history: Vec::new(),
            clocks,
            barriers,
            reached: BTreeMap::new(),
            in_flight: Vec::new(),
            bulk_stores: vec![StoreGroups::default(); if clocked && stores { n_threads } else { 0 }],
            engine: None,
            sources: BTreeMap::new(),
            epochs: vec![[1, 1]; batch],
            offers: [(); 2].map(|()| vec![0; kernel.offered * kernel.threads() as usize * batch]),
            diagnostics: SimDiagnostics::default(),
            steps: 0,
            flushed: 0,
            duplicates: CellMap::default(),
            blocks_raced: false,
            aborted: false,
        }
    }

    fn reset(&mut self) {
        self.shared.iter_mut().for_each(Shared::reset);
        self.sets.reset();
        self.global_map.clear();
        self.global_shadow.clear();
        self.global_history.clear();
        self.reached.clear();
        self.in_flight.clear();
        self.bulk_stores.fill(StoreGroups::default());
        if let Some(clocks) = &mut self.clocks {
            clocks.reset();
            self.barriers.fill(Mbarrier::new(clocks));
        }
        self.sources.clear();
        self.epochs.fill([1, 1]);
    }

    /// A copy reads a cell until it is waited for.
    pub(super) fn begin_reading(&mut self, cell: SourceCell, copy: Site) {
        self.sources.entry(cell).or_insert((copy, 0)).1 += 1;
    }

    pub(super) fn end_reading(&mut self, cell: SourceCell) {
        if let Some(entry) = self.sources.get_mut(&cell) {
            entry.1 -= 1;
            if entry.1 == 0 {
                self.sources.remove(&cell);
            }
        }
    }

    /// The copy that still reads a cell of a global buffer.
    pub(super) fn copied_from(&self, idx: usize, slot: usize, cell: usize) -> Option<Site> {
        if self.sources.is_empty() { None } else { self.sources.get(&(idx, slot, cell)).map(|entry| entry.0) }
    }

    /// How many barriers of the block were passed.
    pub(super) fn barriers_passed(&self, slot: usize) -> u32 {
        self.epochs.get(slot).map_or(0, |passed| passed[0].saturating_sub(1))
    }

    pub(crate) fn pass_barrier(&mut self, slot: usize, scope: BarrierScope) {
        self.epochs[slot][0] += 1;
        if scope >= BarrierScope::Global {
            self.epochs[slot][1] += 1;
        }
        if let Some(clocks) = &mut self.clocks {
            let levels = if scope >= BarrierScope::Global { LEVELS } else { OF_SHARED };
            let (n, batch) = (clocks.n_threads() as u32, self.epochs.len() as u32);
            let threads = match scope {
                BarrierScope::Cluster => 0..n,
                _ => slot as u32 * (n / batch)..(slot as u32 + 1) * (n / batch),
            };
            clocks.meet(threads, levels);
        }
    }

    /// A barrier that these threads of a warp or a warpgroup pass.
    pub(super) fn pass_crew_barrier(&mut self, threads: &[u32]) {
        if let Some(clocks) = &mut self.clocks {
            clocks.meet(threads.iter().copied(), LEVELS);
        }
    }

    /// Adds to the common count of steps, and ends the run where it is over the limit.
    pub(crate) fn over_limit(&mut self, launch: &Launch<'_>, site: Site) -> bool {
        if self.steps - self.flushed < STEPS_BETWEEN_LOOKS {
            return false;
        }
        self.flush(launch, site)
    }

    fn flush(&mut self, launch: &Launch<'_>, site: Site) -> bool {
        let fresh = self.steps - self.flushed;
        self.flushed = self.steps;
        let limit = launch.limits.steps;
        if launch.steps.fetch_add(fresh, Relaxed).saturating_add(fresh) <= limit {
            return false;
        }
        self.aborted = true;
        let at = if site == NO_SITE { launch.kernel.location.clone() } else { launch.kernel.at(site) };
        self.diagnostics.add(DiagnosticKind::Limit, (NO_SITE, NO_SITE), launch.limits.diagnostics, || {
            let text = format!("the program needs more than {limit} steps");
            (None, Diagnostic::error("limit", at, text).help("raise `--step-limit`, or run it at a smaller size"))
        });
        true
    }

    /// What a read of a shared cell conflicts with.
    pub(crate) fn shared_read(&mut self, (idx, slot, cell): Accessed, who: Accessor, found: Cell) -> Option<Conflict> {
        let now = self.now(0, slot, who);
        let shared = &mut self.shared[idx];
        match &self.clocks {
            Some(clocks) => shared.history[slot * shared.n + cell].read(clocks.moment(SHARED, who.0, who.1), found),
            None => shared.shadow[slot * shared.n + cell].read(now, found, &self.sets),
        }
    }

    /// What a write of a shared cell conflicts with.
    pub(crate) fn shared_write(
        &mut self,
        (idx, slot, cell): Accessed,
        who: Accessor,
        (old, new): (Option<Cell>, Cell),
    ) -> Option<Conflict> {
        let now = self.now(0, slot, who);
        let shared = &mut self.shared[idx];
        match &self.clocks {
            Some(clocks) => shared.history[slot * shared.n + cell].write(clocks.moment(SHARED, who.0, who.1), old, new),
            None => shared.shadow[slot * shared.n + cell].write(now, old, new, &mut self.sets),
        }
    }

    /// An asynchronous copy of a thread is there.
    pub(crate) fn shared_land(&mut self, (idx, slot, cell): Accessed, who: Accessor, value: Cell) {
        let now = self.now(0, slot, who);
        let shared = &mut self.shared[idx];
        match &self.clocks {
            // Accesses until now were found to be to what an outstanding copy writes.
            Some(clocks) => {
                shared.history[slot * shared.n + cell].write(clocks.moment(SHARED, who.0, who.1), None, value);
            }
            None => shared.shadow[slot * shared.n + cell].land(now, value, &mut self.sets),
        }
    }

    fn now(&self, level: usize, slot: usize, (thread, site, warp_epoch): Accessor) -> Now {
        Now { thread, site, epoch: self.epochs[slot][level], warp_epoch }
    }

    /// The number of what is kept of a cell of a global buffer, as far as this block is concerned. `None` where there are
    /// too many.
    fn global_entry(&mut self, (idx, slot, cell): Accessed, site: Site, launch: &Launch<'_>) -> Option<usize> {
        let key = (idx as u64) << 52 | (slot as u64) << 40 | cell as u64;
        let n = self.global_shadow.len().max(self.global_history.len());
        if n as u64 * SHADOW_BYTES > launch.limits.memory / 4 {
            self.diagnostics.add(DiagnosticKind::Limit, (site, NO_SITE), launch.limits.diagnostics, || {
                let text = "a block accesses more cells of global memory than races can be looked for in";
                let diagnostic = Diagnostic::error("limit", launch.kernel.at(site), text);
                (None, diagnostic.help("raise `--memory-limit`, or run it at a smaller size"))
            });
            return None;
        }
        let at = self.global_map.get_or_insert(key, n as u32) as usize;
        match (at == n, &self.clocks) {
            (true, Some(_)) => self.global_history.push(CellHistory::default()),
            (true, None) => self.global_shadow.push(CellShadow::default()),
            (false, _) => {}
        }
        Some(at)
    }

    /// What a read of a cell of a global buffer conflicts with in this block.
    pub(crate) fn global_read(
        &mut self,
        cell: Accessed,
        who: Accessor,
        found: Cell,
        launch: &Launch<'_>,
    ) -> Option<Conflict> {
        let at = self.global_entry(cell, who.1, launch)?;
        let now = self.now(1, cell.1, who);
        match &self.clocks {
            Some(clocks) => self.global_history[at].read(clocks.moment(ALL, who.0, who.1), found),
            None => self.global_shadow[at].read(now, found, &self.sets),
        }
    }

    /// What an atomic update of a shared cell conflicts with.
    pub(crate) fn shared_update(
        &mut self,
        (idx, slot, cell): Accessed,
        who: Accessor,
        class: UpdateClass,
    ) -> Option<Conflict> {
        let now = self.now(0, slot, who);
        let shared = &mut self.shared[idx];
        match &self.clocks {
            Some(clocks) => shared.history[slot * shared.n + cell].update(clocks.moment(SHARED, who.0, who.1), class),
            None => shared.shadow[slot * shared.n + cell].update(now, class),
        }
    }

    /// What an atomic update of a cell of a global buffer conflicts with in this block.
    pub(crate) fn global_update(
        &mut self,
        cell: Accessed,
        who: Accessor,
        class: UpdateClass,
        launch: &Launch<'_>,
    ) -> Option<Conflict> {
        let at = self.global_entry(cell, who.1, launch)?;
        let now = self.now(1, cell.1, who);
        match &self.clocks {
            Some(clocks) => self.global_history[at].update(moment_of(clocks, self.engine, who), class),
            None => self.global_shadow[at].update(now, class),
        }
    }

    /// What a write of a cell of a global buffer conflicts with in this block.
    pub(crate) fn global_write(
        &mut self,
        cell: Accessed,
        who: Accessor,
        (old, new): (Option<Cell>, Cell),
        launch: &Launch<'_>,
    ) -> Option<Conflict> {
        let at = self.global_entry(cell, who.1, launch)?;
        let now = self.now(1, cell.1, who);
        match &self.clocks {
            Some(clocks) => {
                let now = moment_of(clocks, self.engine, who);
                self.global_history[at].write(now, old, new)
            }
            None => self.global_shadow[at].write(now, old, new, &mut self.sets),
        }
    }
}

/// Now, for an access to global memory by a thread, or by the copy that it begins.
fn moment_of(clocks: &Clocks, engine: Option<(Actor, u32)>, (thread, site, _): Accessor) -> Moment<'_> {
    let by_thread = clocks.moment(ALL, thread, site);
    match engine {
        Some((actor, clock)) => Moment { actor, clock, ..by_thread },
        None => by_thread,
    }
}

/// Runs a launch.
pub(crate) fn launch(launch: &Launch<'_>) -> Outcome {
    if launch.kernel.threads() == 0 || launch.kernel.blocks() == 0 {
        return Outcome::default();
    }
    let n_blocks = match (launch.cells, launch.blocks) {
        (Some(cells), _) => cells.len(),
        (None, Some(list)) => list.len() as u64,
        (None, None) => launch.kernel.blocks(),
    };
    let batch = if launch.cells.is_some() { CELL_LANES as u64 } else { u64::from(launch.kernel.batch) };
    let n_batches = n_blocks.div_ceil(batch);
    let per_part = n_batches.div_ceil(N_PARTS as u64).max(1);
    let parts: Vec<(u64, u64)> = (0..n_batches.div_ceil(per_part))
        .map(|part| (part * per_part * batch, ((part + 1) * per_part * batch).min(n_blocks)))
        .collect();
    let run = |&(from, to): &(u64, u64)| Worker::new(launch).run(launch, from, to);
    let is_ordered = launch.kernel.updates_globals();
    let parts: Vec<Outcome> = if launch.parallel && !is_ordered && launch.cells.is_none_or(|cells| cells.len() > 512) {
        parallel::map(&parts, run)
    } else {
        parts.iter().map(run).collect()
    };
    let mut outcome = Outcome::default();
    for part in parts {
        outcome.diagnostics.merge(part.diagnostics, launch.limits.diagnostics);
        outcome.blocks_raced |= part.blocks_raced;
        outcome.aborted |= part.aborted;
        outcome.exports = part.exports;
    }
    outcome
}

/// A core's share of a launch: the groups of one batch of blocks, used for one batch after another.
struct Worker {
    block: BlockState,
    groups: Vec<Group>,
}

impl Worker {
    fn new(launch: &Launch<'_>) -> Worker {
        let kernel = launch.kernel;
        let threads = kernel.threads() as usize;
        let batch = kernel.batch as usize;
        let width = group_width(kernel);
        let warps = if kernel.threaded && launch.cells.is_none() { threads.div_ceil(width) } else { 1 };
        let groups = if launch.cells.is_some() {
            vec![Group::new(launch, 0, CELL_LANES, 1)]
        } else if kernel.is_clustered() {
            let of_block = |slot: usize| {
                (0..warps).map(move |warp| {
                    let group = Group::new(launch, (slot * threads + warp * width) as u32, width, 1);
                    Group { slot0: slot, ..group }
                })
            };
            (0..batch).flat_map(of_block).collect()
        } else if warps > 1 {
            (0..warps).map(|warp| Group::new(launch, (warp * width) as u32, width, 1)).collect()
        } else {
            vec![Group::new(launch, 0, threads, batch)]
        };
        Worker { block: BlockState::new(launch, warps, batch), groups }
    }

    fn run(mut self, launch: &Launch<'_>, from: u64, to: u64) -> Outcome {
        let batch = if launch.cells.is_some() { CELL_LANES as u64 } else { u64::from(launch.kernel.batch) };
        let mut at = from;
        while at < to && !self.block.aborted {
            let n = batch.min(to - at);
            self.block.blocks.clear();
            match launch.blocks {
                _ if launch.cells.is_some() => self.block.blocks.push(at),
                Some(list) => self.block.blocks.extend_from_slice(&list[at as usize..(at + n) as usize]),
                None => self.block.blocks.extend(at..at + n),
            }
            self.batch(launch, n as usize);
            if !self.block.aborted {
                self.block.flush(launch, NO_SITE);
            }
            at += n;
        }
        let exports = self.groups[0].exports(launch.kernel);
        let BlockState { diagnostics, blocks_raced, aborted, .. } = self.block;
        Outcome { diagnostics, blocks_raced, aborted, exports }
    }

    /// Runs one batch of blocks, or of cells.
    fn batch(&mut self, launch: &Launch<'_>, n: usize) {
        self.block.reset();
        let threads = launch.kernel.threads() as usize;
        let width = group_width(launch.kernel);
        let by_warps = self.block.warps > 1 || launch.kernel.is_clustered();
        for (nth, group) in self.groups.iter_mut().enumerate() {
            let warp = nth % self.block.warps;
            let n_active = match launch.cells {
                Some(_) => n,
                None if by_warps => (threads - warp * width).min(width),
                None => threads * n,
            };
            group.start(launch, &self.block.blocks, n_active);
        }
        if self.block.warps == 1 && !launch.kernel.warpgroups.clocked {
            self.groups[0].run(launch, &mut self.block);
            return;
        }
        self.warps(launch);
    }

    /// Runs the warps of a block, or of a cluster, each from barrier to barrier. One that waits for a phase is left until
    /// the others have come further.
    fn warps(&mut self, launch: &Launch<'_>) {
        let n_warps = self.groups.len();
        let mut events: Vec<Option<Event>> = vec![None; n_warps];
        loop {
            let mut moved = false;
            for nth in 0..n_warps {
                let warp = if launch.descending { n_warps - 1 - nth } else { nth };
                if matches!(events[warp], Some(Event::Done | Event::Barrier(..))) {
                    continue;
                }
                let group = &mut self.groups[warp];
                let before = self.block.steps;
                let event = group.run(launch, &mut self.block);
                if event == Event::Abort {
                    return;
                }
                // To come to the same wait again is one instruction.
                moved |= !matches!(event, Event::Wait(_)) || self.block.steps - before > group.n as u64;
                events[warp] = Some(event);
                self.block.land(launch);
            }
            moved |= self.pass_barriers(launch, &mut events);
            if let Some(Event::Wait(Waiting { site, .. })) = events.iter().flatten().find(|event| event.is_wait()) {
                if moved {
                    if self.block.over_limit(launch, *site) {
                        return;
                    }
                    continue;
                }
                return self.block.report_deadlock(launch, &self.groups, &events);
            }
            if events.iter().all(|event| *event == Some(Event::Done)) {
                return self.block.end_of_barriers(launch);
            }
        }
    }

    /// Lets the warps of a block go on that have all come to a barrier, and those of a cluster. Did any?
    fn pass_barriers(&mut self, launch: &Launch<'_>, events: &mut [Option<Event>]) -> bool {
        let mut passed = false;
        // Those that have just passed a barrier go on first.
        let stopped = |events: &[Option<Event>]| {
            events.iter().all(|event| matches!(event, Some(Event::Done | Event::Barrier(..))))
        };
        let per_block = self.block.warps;
        let is_whole = |event: &Option<Event>| matches!(event, Some(Event::Barrier(BarrierScope::Cluster, _)));
        for slot in 0..events.len() / per_block {
            let of_block = slot * per_block..(slot + 1) * per_block;
            let here = &events[of_block.clone()];
            // A warp that waits for a phase may still come to the barrier.
            if !stopped(here)
                || here.iter().any(is_whole) && here.iter().all(|event| is_whole(event) || *event == Some(Event::Done))
            {
                continue;
            }
            passed |= self.meet(launch, events, of_block);
        }
        if events.iter().any(is_whole) && stopped(events) {
            passed |= self.meet(launch, events, 0..events.len());
        }
        passed
    }

    /// The warps `warps`, which have stopped, meet where one of them waits, if one does.
    fn meet(&mut self, launch: &Launch<'_>, events: &mut [Option<Event>], warps: std::ops::Range<usize>) -> bool {
        let here = &mut events[warps.clone()];
        let waiting = here.iter().position(|event| matches!(event, Some(Event::Barrier(..))));
        let Some(waiting) = waiting else { return false };
        let Some(Event::Barrier(scope, site)) = here[waiting] else { return false };
        if let Some(other) = here.iter().position(|event| *event != Some(Event::Barrier(scope, site))) {
            let elsewhere = match here[other] {
                Some(Event::Barrier(_, site)) => Some(site),
                _ => None,
            };
            let threads = [waiting, other].map(|warp| self.groups[warps.start + warp].thread0 as usize);
            self.block.report_warps_apart(launch, (scope, site), threads, elsewhere);
        }
        let scopes = here.iter().filter_map(|event| match event {
            Some(Event::Barrier(scope, _)) => Some(*scope),
            _ => None,
        });
        let scope = scopes.max().unwrap_or(scope);
        let slots = warps.start / self.block.warps..warps.end / self.block.warps;
        match scope {
            // All blocks of the cluster know the same then.
            BarrierScope::Cluster => self.block.pass_barrier(slots.start, scope),
            _ => slots.for_each(|slot| self.block.pass_barrier(slot, scope)),
        }
        here.iter_mut().filter(|event| **event != Some(Event::Done)).for_each(|event| *event = None);
        true
    }
}

/// How many threads of a threaded block a group has.
fn group_width(kernel: &Kernel) -> usize {
    if kernel.warpgroups.together { WARPGROUP } else { WARP }
}
