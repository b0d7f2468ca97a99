//! One block watched: what each of its threads does to one buffer, in the order of the run, and which accesses race.
//!
//! The block runs as in any run; what comes before its launch is run as a whole. Accesses that a warp or the copy engine
//! makes as a whole are those of the threads on whose behalf they are made.

use crate::Result;
use crate::agree::Params;
use crate::cell::{self, Cell};
use crate::check::{CheckOptions, Round};
use crate::code::{BufDecl, Kernel, Site, Space};
use crate::compile::function::{Request, compile};
use crate::diagnostic::SimDiagnostics;
use crate::domain::Domain;
use crate::run::{Arg, How, check_memory, once, program_named};
use crate::tolerance::{Tolerance, with_callees};
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use tc_ir::{Elem, Module};
use tc_support::{Diagnostic, Location, counted, suggest};

/// Accesses that are kept, at the most.
const MOST: usize = 1 << 16;
/// Races whose two accesses are looked for, at the most.
const MOST_RACES: usize = 1 << 10;

/// What is watched.
#[derive(Clone, Copy, Debug)]
pub struct Subject<'a> {
    /// The launch, counted from 0.
    pub launch: usize,
    /// The block, by its number in the grid, whose first coordinate runs fastest.
    pub block: u64,
    /// The buffer, as the program calls it; the first of the launch if there is no such name.
    pub buffer: Option<&'a str>,
}

/// What was seen.
#[derive(Clone, Debug)]
pub struct Watched {
    /// How many launches the program has.
    pub launches: usize,
    /// The extents of the grid.
    pub grid: [u64; 3],
    /// The extents of a block.
    pub block: [u64; 3],
    /// Threads run from barrier to barrier; otherwise each op is done by all before the next.
    pub threaded: bool,
    /// The buffers that the launch may access.
    pub buffers: Vec<WatchedBuffer>,
    /// Which of them was watched.
    pub watched: usize,
    /// The accesses, in the order of the run.
    pub accesses: Vec<WatchedAccess>,
    /// How many more there were.
    pub dropped: u64,
    /// What was found, in all buffers, until the end of the block.
    pub diagnostics: SimDiagnostics,
}

/// A buffer of a launch.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WatchedBuffer {
    /// Its name.
    pub name: String,
    /// `global`, `shared`, `warp` or `local`.
    pub memory: &'static str,
    /// The type of an element.
    pub elem: Elem,
    /// The extents.
    pub shape: Vec<u64>,
}

/// What an access does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AccessKind {
    /// It reads.
    Read,
    /// It writes.
    Write,
    /// It updates atomically.
    Update,
}

impl AccessKind {
    /// `read`, `write` or `update`.
    pub fn name(self) -> &'static str {
        match self {
            AccessKind::Read => "read",
            AccessKind::Write => "write",
            AccessKind::Update => "update",
        }
    }
}

/// One access of a thread to a cell.
#[derive(Clone, PartialEq, Debug)]
pub struct WatchedAccess {
    /// The thread, by its number in the block.
    pub thread: u32,
    /// Barriers that the block had passed.
    pub barriers: u32,
    /// What it does.
    pub kind: AccessKind,
    /// The cell, counted as the buffer lies in memory.
    pub cell: usize,
    /// The cell as an element: `WS[3, 4]`.
    pub place: String,
    /// The value that was read or written.
    pub value: String,
    /// The line.
    pub location: Location,
    /// An access that nothing orders with this one.
    pub race: Option<Rival>,
}

/// The other access of a race.
#[derive(Clone, PartialEq, Debug)]
pub struct Rival {
    /// Its thread, by its number in the block.
    pub thread: u32,
    /// Its line.
    pub location: Location,
    /// Every order gives the same values.
    pub same: bool,
}

/// Runs `@name` of `module` up to the end of the block that `subject` names, on integers that `options.seed` chooses.
pub fn watch(module: &Module, name: &str, options: &CheckOptions, subject: Subject<'_>) -> Result<Watched> {
    let func = program_named(module, name)?;
    let params = Params::of(module, func, options)?;
    let funcs = with_callees(module, func);
    let tolerance = Tolerance::of(&funcs, &funcs, params.n_terms);
    let one = CheckOptions { integer_inputs: 1, real_inputs: 0, ..options.clone() };
    let round = Round::all(&one, tolerance).remove(0);
    let args = params.args(&round);
    let scalars = scalars_of(&args, &params);
    let program = compile(module, func, Request { sizes: &options.sizes, scalars: &scalars, domain: Domain::Numbers })?;
    let run_options = crate::RunOptions { serial: true, ..options.run_options(&round) };
    check_memory(&program, &run_options, Domain::Numbers)?;
    let at = func.location(func.header.loc);
    let kernel = program.kernels.get(subject.launch).ok_or_else(|| {
        let n = counted(program.kernels.len(), "launch");
        let text = format!("`@{name}` has {n}, so there is none with number {}", subject.launch);
        Box::new(Diagnostic::error("watch", at.clone(), text))
    })?;
    let watched = chosen(kernel, subject).map_err(|text| Box::new(Diagnostic::error("watch", at, text)))?;
    let log = Log { launch: subject.launch, block: subject.block, buffer: watched, seen: Mutex::default() };
    let how = How { domain: Domain::Numbers, sampling: None, serial: true, watch: Some(&log) };
    let done = once(&program, &args, &run_options, how)?;
    let seen = log.seen.into_inner().unwrap_or_else(PoisonError::into_inner);
    let decl = &kernel.buffers[watched];
    Ok(Watched {
        launches: program.kernels.len(),
        grid: kernel.grid,
        block: kernel.block,
        threaded: kernel.threaded,
        buffers: kernel.buffers.iter().map(described).collect(),
        watched,
        dropped: seen.dropped,
        accesses: seen.list.iter().map(|one| one.told(kernel, decl)).collect(),
        diagnostics: done.diagnostics,
    })
}

fn scalars_of(args: &[Arg], params: &Params) -> BTreeMap<usize, Cell> {
    let scalar = |(nth, (arg, param)): (usize, (&Arg, &crate::agree::Param))| match (arg, &param.scalar) {
        (Arg::Input(tensor), Some(_)) => Some((nth, tensor.cell(0))),
        _ => None,
    };
    args.iter().zip(&params.list).enumerate().filter_map(scalar).collect()
}

/// The number of the buffer that is watched, or why there is none.
fn chosen(kernel: &Kernel, subject: Subject<'_>) -> std::result::Result<usize, String> {
    if subject.block >= kernel.blocks() {
        return Err(format!(
            "the launch has {} blocks, so there is none with number {}",
            kernel.blocks(),
            subject.block
        ));
    }
    let Some(name) = subject.buffer else {
        // Races are in what threads share.
        let is_shared = |decl: &BufDecl| matches!(decl.space, Space::Shared(_));
        let first = kernel.buffers.iter().position(is_shared);
        return first
            .or((!kernel.buffers.is_empty()).then_some(0))
            .ok_or_else(|| "the launch has no buffer".to_string());
    };
    kernel.buffers.iter().position(|decl| decl.name == name).ok_or_else(|| {
        let names: Vec<&str> = kernel.buffers.iter().map(|decl| decl.name.as_str()).collect();
        let help = suggest::did_you_mean(name, names.iter().copied()).map_or(String::new(), |help| format!("; {help}"));
        format!("the launch has no buffer `{}`{help}", suggest::shorten(name))
    })
}

fn described(decl: &BufDecl) -> WatchedBuffer {
    let memory = match decl.space {
        Space::Global(_) => "global",
        Space::Shared(_) => "shared",
        Space::Warp(_) => "warp",
        Space::Local(_) => "local",
    };
    let lanes = (decl.lanes > 1).then_some(u64::from(decl.lanes));
    let shape = decl.shape.iter().copied().chain(lanes).collect();
    WatchedBuffer { name: decl.name.clone(), memory, elem: decl.elem, shape }
}

/// What a run writes down of one block and one buffer.
#[derive(Debug)]
pub(crate) struct Log {
    pub(crate) launch: usize,
    pub(crate) block: u64,
    buffer: usize,
    seen: Mutex<Seen>,
}

#[derive(Default, Debug)]
struct Seen {
    list: Vec<Entry>,
    dropped: u64,
    races: usize,
}

/// An access as the run sees it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry {
    pub(crate) thread: u32,
    pub(crate) site: Site,
    pub(crate) barriers: u32,
    pub(crate) kind: AccessKind,
    pub(crate) cell: usize,
    pub(crate) value: Cell,
    rival: Option<(u32, Site, bool)>,
}

impl Entry {
    /// An access whose value and rival are not known yet.
    pub(crate) fn new((thread, site): (u32, Site), barriers: u32, kind: AccessKind, cell: usize) -> Entry {
        Entry { thread, site, barriers, kind, cell, value: 0, rival: None }
    }

    fn told(&self, kernel: &Kernel, decl: &BufDecl) -> WatchedAccess {
        let lanes = usize::from(decl.lanes).max(1);
        let lane = if lanes > 1 { format!(" lane {}", self.cell % lanes) } else { String::new() };
        let rival = self.rival.map(|(thread, site, same)| Rival { thread, location: kernel.at(site), same });
        WatchedAccess {
            thread: self.thread,
            barriers: self.barriers,
            kind: self.kind,
            cell: self.cell,
            place: format!("{}{lane}", decl.element(self.cell / lanes)),
            value: cell::show(decl.elem, self.value),
            location: kernel.at(self.site),
            race: rival,
        }
    }
}

impl Log {
    /// Is this buffer of the launch watched?
    pub(crate) fn is_of(&self, buffer: usize) -> bool {
        self.buffer == buffer
    }

    /// How many accesses are written down.
    pub(crate) fn len(&self) -> usize {
        self.with(|seen| seen.list.len())
    }

    pub(crate) fn add(&self, entry: Entry) {
        self.with(|seen| {
            if seen.list.len() < MOST {
                seen.list.push(entry);
            } else {
                seen.dropped += 1;
            }
        });
    }

    /// Tells the values of the accesses from number `first` on.
    pub(crate) fn fill(&self, first: usize, mut value: impl FnMut(&Entry) -> Cell) {
        self.with(|seen| seen.list.iter_mut().skip(first).for_each(|entry| entry.value = value(entry)));
    }

    /// The last access of `thread` at `site` races with an earlier one of `other`.
    pub(crate) fn race(&self, (thread, site): (u32, Site), (other, other_site): (u32, Site), same: bool) {
        self.with(|seen| {
            if seen.races >= MOST_RACES {
                return;
            }
            seen.races += 1;
            let of = |entry: &Entry, by: (u32, Site)| (entry.thread, entry.site) == by;
            let Some(at) = seen.list.iter().rposition(|entry| of(entry, (thread, site))) else { return };
            seen.list[at].rival = Some((other, other_site, same));
            let cell = seen.list[at].cell;
            let before = seen.list[..at].iter().rposition(|entry| entry.cell == cell && of(entry, (other, other_site)));
            // Two threads that one op makes write stand in any order.
            let before = before
                .or_else(|| seen.list.iter().rposition(|entry| entry.cell == cell && of(entry, (other, other_site))));
            if let Some(before) = before.filter(|&before| before != at) {
                seen.list[before].rival = Some((thread, site, same));
            }
        });
    }

    fn with<R>(&self, run: impl FnOnce(&mut Seen) -> R) -> R {
        run(&mut self.seen.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
