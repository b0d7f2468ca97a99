//! What is reported of a diagnostic: who, what, where, and the other line involved.

use super::access::At;
use super::block::{BlockState, Launch};
use super::group::{Group, for_lanes};
use crate::cell;
use crate::code::{BarrierScope, Instr, IntOp, NO_SITE, Reg, Site};
use crate::diagnostic::DiagnosticKind;
use crate::lanes;
use crate::memory::Record;
use crate::race::Conflict;
use tc_ir::Elem;
use tc_support::Diagnostic;

/// An access that was made before.
struct Side {
    site: Site,
    block: u64,
    thread: u32,
    writes: bool,
}

/// The access at hand against an earlier one.
struct Clash {
    other: Side,
    writes: bool,
    same: bool,
    why: &'static str,
}

impl BlockState {
    pub(super) fn find(
        &mut self,
        launch: &Launch<'_>,
        kind: DiagnosticKind,
        sites: (Site, Site),
        build: impl FnOnce(&[u64]) -> (Option<String>, Diagnostic),
    ) {
        // Texts are made for the first diagnostic at its lines only: there may be millions.
        let blocks = &self.blocks;
        self.diagnostics.add(kind, sites, launch.limits.diagnostics, || build(blocks));
    }

    /// Warps of one block that did not meet at one barrier.
    pub(crate) fn report_warps_apart(
        &mut self,
        launch: &Launch<'_>,
        (scope, site): (BarrierScope, Site),
        threads: [usize; 2],
        elsewhere: Option<Site>,
    ) {
        let kernel = launch.kernel;
        self.find(launch, DiagnosticKind::DivergentBarrier, (site, elsewhere.unwrap_or(NO_SITE)), |blocks| {
            let [here, there] = threads.map(|thread| kernel.who(blocks[0], thread as u64));
            let what = meeting(scope);
            let text = format!("{what} in divergent code: {here} waits here, and {there} does not come");
            let mut diagnostic = Diagnostic::error(DiagnosticKind::DivergentBarrier.code(), kernel.at(site), text);
            diagnostic = match elsewhere {
                Some(other) => diagnostic.label(kernel.at(other), format!("{there} waits at this barrier")),
                None => diagnostic.note(format!("{there} has come to the end of the program")),
            };
            (None, diagnostic.help(same_meetings(scope)))
        });
    }
}

impl Group {
    pub(super) fn who(&self, lane: usize, launch: &Launch<'_>, blocks: &[u64]) -> String {
        let lane = self.speaker.unwrap_or(lane);
        let of = blocks.get(self.own_slot(lane)).copied().unwrap_or(0);
        if launch.cells.is_some() {
            return self.cell_of(lane, launch);
        }
        launch.kernel.who(of, u64::from(self.thread_in_block(lane, launch)))
    }

    /// "cell [1, 2]", of a stage of an operator.
    fn cell_of(&self, lane: usize, launch: &Launch<'_>) -> String {
        let axes = launch.kernel.preloads.iter().filter_map(|&(reg, preload)| match preload {
            crate::code::Preload::Axis(axis) => Some((axis, reg)),
            _ => None,
        });
        let mut axes: Vec<(usize, Reg)> = axes.collect();
        axes.sort_unstable();
        let index: Vec<String> =
            axes.iter().map(|&(_, reg)| (self.regs[reg as usize][lane] as i64).to_string()).collect();
        format!("cell [{}]", index.join(", "))
    }

    /// `WS[3, 4]`, as the lane indexes it.
    pub(super) fn place(&self, at: At<'_>, lane: usize) -> String {
        if at.spelled {
            return at.decl.element(self.addrs[lane] / usize::from(at.decl.lanes.max(1)));
        }
        let index: Vec<String> =
            (0..at.access.indices.len()).map(|dim| self.index(at, dim, lane).to_string()).collect();
        format!("{}[{}]", at.decl.name, index.join(", "))
    }

    pub(crate) fn report_out_of_bounds(&self, at: At<'_>, lane: usize, launch: &Launch<'_>, block: &mut BlockState) {
        let site = at.access.site;
        let is_store = launch.kernel.is_store(site);
        block.find(launch, DiagnosticKind::OutOfBounds, (site, NO_SITE), |blocks| {
            let who = self.who(lane, launch, blocks);
            let verb = if is_store { "writes" } else { "reads" };
            let shape: Vec<String> = at.decl.shape.iter().map(u64::to_string).collect();
            let text = format!("{who} {verb} `{}` out of bounds", self.place(at, lane));
            let note = format!("`{}` has shape [{}]", at.decl.name, shape.join(", "));
            let diagnostic =
                Diagnostic::error(DiagnosticKind::OutOfBounds.code(), launch.kernel.at(site), text).note(note);
            (Some(at.decl.name.clone()), diagnostic.label(at.decl.location.clone(), "the buffer"))
        });
    }

    /// A diagnostic about one access: a read of what no thread wrote.
    pub(crate) fn report_access(
        &self,
        kind: DiagnosticKind,
        at: At<'_>,
        lane: usize,
        launch: &Launch<'_>,
        block: &mut BlockState,
    ) {
        let site = at.access.site;
        block.find(launch, kind, (site, NO_SITE), |blocks| {
            let who = self.who(lane, launch, blocks);
            let is_update = launch.kernel.update_sites.contains_key(&site);
            let verb = if is_update { "updates" } else { "reads" };
            let text = format!("{who} {verb} `{}`, which no thread wrote", self.place(at, lane));
            let mut diagnostic = Diagnostic::error(kind.code(), launch.kernel.at(site), text);
            if is_update {
                diagnostic = diagnostic
                    .help("store what the updates begin with in an earlier kernel, or before a barrier of the block");
            }
            (Some(at.decl.name.clone()), diagnostic.label(at.decl.location.clone(), "the buffer is made here"))
        });
    }

    pub(crate) fn report_misaligned(
        &self,
        at: At<'_>,
        lane: usize,
        byte: usize,
        launch: &Launch<'_>,
        block: &mut BlockState,
    ) {
        let site = at.access.site;
        block.find(launch, DiagnosticKind::Misaligned, (site, NO_SITE), |blocks| {
            let who = self.who(lane, launch, blocks);
            let aligned = at.access.aligned;
            let text =
                format!("{who} accesses `{}` at byte {byte}, which is no multiple of {aligned}", self.place(at, lane));
            let diagnostic = Diagnostic::error(DiagnosticKind::Misaligned.code(), launch.kernel.at(site), text);
            (Some(at.decl.name.clone()), diagnostic.note(format!("the access says `aligned = {aligned}`")))
        });
    }

    pub(crate) fn report_gap(&self, at: At<'_>, lane: usize, launch: &Launch<'_>, block: &mut BlockState) {
        let site = at.access.site;
        block.find(launch, DiagnosticKind::Misaligned, (site, site), |blocks| {
            let who = self.who(lane, launch, blocks);
            let text = format!("{who} accesses `{}` with gaps, and the access says `aligned`", self.place(at, lane));
            let diagnostic = Diagnostic::error(DiagnosticKind::Misaligned.code(), launch.kernel.at(site), text);
            (Some(at.decl.name.clone()), diagnostic.note("the lanes of an aligned access lie one after another"))
        });
    }

    /// Two threads of a block that no barrier orders.
    pub(crate) fn report_conflict(
        &self,
        at: At<'_>,
        lane: usize,
        conflict: Conflict,
        writes: bool,
        launch: &Launch<'_>,
        block: &mut BlockState,
    ) {
        if block.clocks.as_ref().is_some_and(|clocks| !clocks.is_thread(conflict.other.thread)) {
            return self.report_background((at, lane), conflict, writes, launch, block);
        }
        let Conflict { other, other_wrote, benign } = conflict;
        let of = block.blocks[self.slot_of(lane)];
        let other = Side { site: other.site, block: of, thread: other.thread, writes: other_wrote };
        let why = match block.clocks {
            Some(_) => "no barrier stands between the two: neither one of the block, nor an arrival and a wait",
            None => "no barrier stands between the two",
        };
        self.report_race(at, lane, Clash { other, writes, same: benign, why }, launch, block);
    }

    /// Two blocks that access one cell.
    pub(crate) fn report_blocks(
        &self,
        at: At<'_>,
        lane: usize,
        other: Record,
        (other_wrote, same): (bool, bool),
        launch: &Launch<'_>,
        block: &mut BlockState,
    ) {
        block.blocks_raced = true;
        let kernel = launch.kernel;
        let site = other.site() + kernel.site_base;
        let other = Side { site, block: other.block(), thread: other.thread(), writes: other_wrote };
        let writes = kernel.is_store(at.access.site);
        let why = "nothing orders the blocks of a launch";
        self.report_race(at, lane, Clash { other, writes, same, why }, launch, block);
    }

    /// Two threads that one op makes write one cell.
    pub(crate) fn report_one_op(
        &self,
        at: At<'_>,
        [first, lane]: [usize; 2],
        same: bool,
        launch: &Launch<'_>,
        block: &mut BlockState,
    ) {
        let of = block.blocks[self.slot_of(first)];
        let other = Side { site: at.access.site, block: of, thread: self.thread_in_block(first, launch), writes: true };
        let clash = Clash { other, writes: true, same, why: "one op makes both do so" };
        self.report_race(at, lane, clash, launch, block);
    }

    fn report_race(&self, at: At<'_>, lane: usize, clash: Clash, launch: &Launch<'_>, block: &mut BlockState) {
        let Clash { other, writes, same, why } = clash;
        self.watch_race(at, lane, (other.block, other.thread, other.site, same), launch, block);
        let kind = if same { DiagnosticKind::SameValueRace } else { DiagnosticKind::Race };
        let site = at.access.site;
        block.find(launch, kind, (site, other.site), |blocks| {
            let kernel = launch.kernel;
            let who = self.who(lane, launch, blocks);
            let other_who = kernel.who(other.block, u64::from(other.thread));
            let verb = |site: Site, writes: bool| kernel.verb(site, writes);
            let place = self.place(at, lane);
            let what = if same { "harmless race on" } else { "race on" };
            let text = format!(
                "{what} `{place}`: {other_who} {}, {who} {}",
                verb(other.site, other.writes),
                verb(site, writes)
            );
            let diagnostic = Diagnostic::error(kind.code(), kernel.at(site), text)
                .label(
                    kernel.at(other.site),
                    format!("{other_who} {} `{}` here", verb(other.site, other.writes), at.decl.name),
                )
                .note(if same { format!("{why}; every order gives the same values") } else { why.to_string() });
            (Some(at.decl.name.clone()), diagnostic)
        });
    }

    pub(crate) fn report_overwrite(
        &self,
        at: At<'_>,
        lane: usize,
        other: Record,
        launch: &Launch<'_>,
        block: &mut BlockState,
    ) {
        let site = at.access.site;
        let kernel = launch.kernel;
        let other_site = other.site() + kernel.site_base;
        block.find(launch, DiagnosticKind::DoubleWrite, (site, other_site), |blocks| {
            let who = self.who(lane, launch, blocks);
            let other_who = kernel.who(other.block(), u64::from(other.thread()));
            let text =
                format!("{who} overwrites `{}`, which {other_who} wrote and no thread read", self.place(at, lane));
            let diagnostic = Diagnostic::error(DiagnosticKind::DoubleWrite.code(), kernel.at(site), text);
            (Some(at.decl.name.clone()), diagnostic.label(kernel.at(other_site), "written here first"))
        });
    }

    /// A barrier that not all threads of the block reach.
    pub(crate) fn report_divergent(
        &self,
        (scope, site): (BarrierScope, Site),
        there: usize,
        absent: usize,
        launch: &Launch<'_>,
        block: &mut BlockState,
    ) {
        let branch = self.frames.last().map_or(NO_SITE, |frame| frame.site);
        let kernel = launch.kernel;
        block.find(launch, DiagnosticKind::DivergentBarrier, (site, branch), |blocks| {
            let (here, absent) = (self.who(there, launch, blocks), self.who(absent, launch, blocks));
            let text = format!("{} in divergent code: {here} is here, and {absent} is not", meeting(scope));
            let diagnostic = Diagnostic::error(DiagnosticKind::DivergentBarrier.code(), kernel.at(site), text)
                .label(kernel.at(branch), format!("{absent} goes another way here"))
                .help(same_meetings(scope));
            (None, diagnostic)
        });
    }

    /// Lane `there` shuffles, and lane `absent` of its warp does not.
    pub(crate) fn report_shuffle(
        &self,
        site: Site,
        there: usize,
        absent: usize,
        launch: &Launch<'_>,
        block: &mut BlockState,
    ) {
        let branch = self.frames.last().map_or(NO_SITE, |frame| frame.site);
        let kernel = launch.kernel;
        block.find(launch, DiagnosticKind::DivergentShuffle, (site, branch), |blocks| {
            let (here, absent) = (self.who(there, launch, blocks), self.who(absent, launch, blocks));
            let text = format!("shuffle in divergent code: {here} is here, and {absent} of its warp is not");
            let diagnostic = Diagnostic::error(DiagnosticKind::DivergentShuffle.code(), kernel.at(site), text)
                .label(kernel.at(branch), format!("{absent} goes another way here"))
                .help("all threads of a warp must reach the same shuffles; move it out of the branch");
            (None, diagnostic)
        });
    }

    /// Lane `lane` asks for lane number `asked` of a group of `width`.
    pub(crate) fn report_lane(
        &self,
        site: Site,
        lane: usize,
        (asked, width): (i64, u32),
        launch: &Launch<'_>,
        block: &mut BlockState,
    ) {
        block.find(launch, DiagnosticKind::Arithmetic, (site, NO_SITE), |blocks| {
            let who = self.who(lane, launch, blocks);
            let text =
                format!("a shuffle by {asked} within groups of {width} lanes, outside 0 to {}, in {who}", width - 1);
            (None, Diagnostic::error(DiagnosticKind::Arithmetic.code(), launch.kernel.at(site), text))
        });
    }

    /// Looks for the lanes in which `instr` really failed: those that take part and hold no poison.
    pub(crate) fn report_arithmetic(&self, instr: &Instr, launch: &Launch<'_>, block: &mut BlockState) {
        let cell = |reg: Reg, lane: usize| {
            let cells = &self.regs[reg as usize];
            if cells.len() == 1 { cells[0] } else { cells[lane] }
        };
        let (site, n_comps, srcs) = match *instr {
            Instr::Int { dst, a, b, site, .. } => (site, self.comps(dst), [a, b]),
            Instr::Unary { dst, a, site, .. } | Instr::Cast { dst, a, site, .. } => (site, self.comps(dst), [a, a]),
            Instr::Ramp { base, stride, lanes, site, .. } => (site, usize::from(lanes), [base, stride]),
            _ => return,
        };
        let fails = |comp: usize, lane: usize| {
            let at = comp * self.n + lane;
            match *instr {
                Instr::Int { op, elem, a, b, .. } => lanes::int_one(op, elem, cell(a, at), cell(b, at)).is_none(),
                Instr::Unary { op, elem, a, .. } => lanes::unary_int(op, elem, cell(a, at)).is_none(),
                Instr::Cast { from, to, a, .. } => lanes::cast_one(from, to, cell(a, at)).is_none(),
                Instr::Ramp { elem, base, stride, .. } => {
                    lanes::ramp_one(elem, cell(base, lane), cell(stride, lane), comp).is_none()
                }
                _ => false,
            }
        };
        let is_poison = |reg: Reg, lane: usize| {
            self.poison[reg as usize].get(lane / 64).is_some_and(|bits| bits >> (lane % 64) & 1 == 1)
        };
        for comp in 0..n_comps {
            for_lanes(&self.mask, |lane| {
                if srcs.iter().any(|&src| is_poison(src, lane)) || !fails(comp, lane) {
                    return;
                }
                block.find(launch, DiagnosticKind::Arithmetic, (site, NO_SITE), |blocks| {
                    let who = self.who(lane, launch, blocks);
                    let at = comp * self.n + lane;
                    let what = describe(instr, |reg| cell(reg, if self.comps(reg) > 1 { at } else { lane }));
                    let text = format!("{what}, in {who}");
                    (None, Diagnostic::error(DiagnosticKind::Arithmetic.code(), launch.kernel.at(site), text))
                });
            });
        }
    }

    fn comps(&self, reg: Reg) -> usize {
        (self.regs[reg as usize].len() / self.n).max(1)
    }

    /// Is what a branch depends on poison?
    pub(crate) fn poison_use(&self, cond: Reg, site: Site, launch: &Launch<'_>, block: &mut BlockState) {
        let bits = &self.poison[cond as usize];
        // A register that cannot hold poison has no bits.
        let used: Vec<u64> = bits.iter().zip(&self.mask).map(|(bits, mask)| bits & mask).collect();
        for_lanes(&used, |lane| {
            let culprit = self.culprits[lane];
            block.find(launch, DiagnosticKind::Poison, (culprit, site), |blocks| {
                let who = self.who(lane, launch, blocks);
                let kernel = launch.kernel;
                let text = format!("{who} uses what is read out of range");
                let diagnostic = Diagnostic::error(DiagnosticKind::Poison.code(), kernel.at(culprit), text);
                (None, diagnostic.label(kernel.at(site), "used here"))
            });
        });
    }
}

/// What threads meet at.
fn meeting(scope: BarrierScope) -> &'static str {
    if scope == BarrierScope::Reduction { "reduction across threads" } else { "barrier" }
}

fn same_meetings(scope: BarrierScope) -> &'static str {
    if scope == BarrierScope::Reduction {
        "all threads of a block must reach the same reductions; move it out of the branch"
    } else {
        "all threads of a block must reach the same barriers; move it out of the branch"
    }
}

fn describe(instr: &Instr, cell_of: impl Fn(Reg) -> u64) -> String {
    let show = |elem: Elem, reg: Reg| cell::show(elem, cell_of(reg));
    match *instr {
        Instr::Int { op, elem, a, b, .. } => {
            let (lhs, rhs) = (show(elem, a), show(elem, b));
            let name = elem.name();
            match op {
                IntOp::Div | IntOp::Mod | IntOp::TruncDiv | IntOp::TruncMod if cell_of(b) == 0 => {
                    format!("division of {lhs} by zero")
                }
                IntOp::Shl | IntOp::Shr if cell_of(b) >= u64::from(elem.bits()) => {
                    format!("shift of an `{name}` by {rhs}, outside 0 to {}", elem.bits() - 1)
                }
                _ => {
                    let sign = match op {
                        IntOp::Add => "+",
                        IntOp::Sub => "-",
                        IntOp::Mul => "*",
                        IntOp::Shl => "<<",
                        _ => "/",
                    };
                    format!("overflow: {lhs} {sign} {rhs} does not fit `{name}`")
                }
            }
        }
        Instr::Unary { elem, a, .. } => {
            format!("overflow: the negative of {} does not fit `{}`", show(elem, a), elem.name())
        }
        Instr::Cast { from, to, a, .. } => format!("{} does not fit `{}`", show(from, a), to.name()),
        Instr::Ramp { elem, base, stride, .. } => {
            format!("overflow: `ramp({}, {}, …)` does not fit `{}`", show(elem, base), show(elem, stride), elem.name())
        }
        _ => "the op failed".to_string(),
    }
}
