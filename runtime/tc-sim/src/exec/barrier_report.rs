//! What is reported of barriers in shared memory.

use super::block::{BlockState, Launch};
use super::group::Group;
use crate::code::{NO_SITE, Site};
use crate::diagnostic::DiagnosticKind;
use crate::mbarrier::Doing;
use crate::warp::BarrierInstr;
use tc_support::{Diagnostic, counted};

const MAKE_READY: &str = "let one thread call `mbarrier.init`, and put `gpu.barrier(shared)` between that and its use";

const MAKE_READY_FOR_CLUSTER: &str = "put `gpu.barrier(cluster)` between `mbarrier.init` and its use by other blocks";

impl BlockState {
    /// Reports a barrier that is used as it may not be; `text` gets its name and who uses it.
    fn report_mbarrier(
        &mut self,
        (kind, number): (DiagnosticKind, usize),
        ((site, thread), other): (Doing, Option<(Doing, &str)>),
        launch: &Launch<'_>,
        text: impl FnOnce(&str, &str) -> String,
        help: &str,
    ) {
        let kernel = launch.kernel;
        let other_site = other.map_or(NO_SITE, |((site, _), _)| site);
        self.find(launch, kind, (site, other_site), |blocks| {
            let (name, who) = (kernel.barrier_name(number), kernel.who(blocks[0], u64::from(thread)));
            let mut diagnostic = Diagnostic::error(kind.code(), kernel.at(site), text(&name, &who));
            if let Some(((site, thread), label)) = other {
                let who = kernel.who(blocks[0], u64::from(thread));
                diagnostic = diagnostic.label(kernel.at(site), format!("{who} {label}"));
            }
            (Some(name), diagnostic.help(help.to_string()))
        });
    }

    pub(super) fn report_not_ready(&mut self, (number, op): (usize, &str), by: Doing, launch: &Launch<'_>) {
        let text = |name: &str, who: &str| format!("{who} comes to `{op}` of `{name}`, which no thread has made ready");
        self.report_mbarrier((DiagnosticKind::Mbarrier, number), (by, None), launch, text, MAKE_READY);
    }

    /// A thread uses a barrier, and nothing orders that after it was made ready.
    pub(super) fn report_unordered_use(
        &mut self,
        (number, op): (usize, &str),
        by: Doing,
        other: Doing,
        launch: &Launch<'_>,
    ) {
        let text =
            |name: &str, who: &str| format!("race on `{name}`: nothing orders `{op}` of {who} with `mbarrier.init`");
        let block_of = |(_, thread): Doing| u64::from(thread) / launch.kernel.threads().max(1);
        let help = if block_of(by) == block_of(other) { MAKE_READY } else { MAKE_READY_FOR_CLUSTER };
        let other = Some((other, "comes to it here"));
        self.report_mbarrier((DiagnosticKind::Race, number), (by, other), launch, text, help);
    }

    pub(super) fn report_init_again(&mut self, number: usize, by: Doing, before: Doing, launch: &Launch<'_>) {
        let text = |name: &str, who: &str| format!("{who} makes `{name}` ready again while it is in use");
        let other = Some((before, "made it ready here"));
        let help = "make a barrier ready once, before its first use";
        self.report_mbarrier((DiagnosticKind::Mbarrier, number), (by, other), launch, text, help);
    }

    pub(super) fn report_not_fenced(&mut self, number: usize, by: Doing, made: Doing, launch: &Launch<'_>) {
        let text = |name: &str, who: &str| {
            format!(
                "a bulk copy of {who} reports at `{name}`, and no `mbarrier.fence_init` follows its `mbarrier.init`"
            )
        };
        let other = Some((made, "makes it ready here"));
        let help = "write `mbarrier.fence_init()` after the barriers are made ready, in the thread that does so";
        self.report_mbarrier((DiagnosticKind::MissingFence, number), (by, other), launch, text, help);
    }

    /// An arrival in a phase that has all of its arrivals, and lacks bytes.
    pub(super) fn report_arrival(&mut self, number: usize, by: Doing, launch: &Launch<'_>) {
        let barrier = &self.barriers[number];
        let (count, phase) = (barrier.count, barrier.phase);
        let text = |name: &str, who: &str| {
            let count = counted(count, "arrival");
            format!("too many arrivals: {who} arrives at `{name}`, whose phase {phase} has had its {count}")
        };
        let help =
            "let as many threads arrive in a phase as `mbarrier.init` says, and wait for a phase before the next";
        self.report_mbarrier((DiagnosticKind::Mbarrier, number), (by, None), launch, text, help);
    }

    /// A phase is complete before a thread has waited for the one before it.
    pub(super) fn report_ahead(&mut self, number: usize, by: Doing, launch: &Launch<'_>) {
        let barrier = &self.barriers[number];
        let (count, done) = (barrier.count, barrier.phase.saturating_sub(1));
        let text = |name: &str, who: &str| {
            format!(
                "too many arrivals: {who} completes phase {done} of `{name}`, and no thread has waited for the phase \
                 before"
            )
        };
        let help =
            format!("it is ready for {}, and more threads arrive, or a wait is missing", counted(count, "arrival"));
        self.report_mbarrier((DiagnosticKind::Mbarrier, number), (by, None), launch, text, &help);
    }

    /// Copies brought more bytes than were announced.
    pub(super) fn report_surplus(&mut self, number: usize, surplus: u64, by: Doing, launch: &Launch<'_>) {
        let done = self.barriers[number].phase.saturating_sub(1);
        let text = |name: &str, _: &str| {
            format!(
                "bulk copies bring {} more to phase {done} of `{name}` than were announced",
                counted(surplus, "byte")
            )
        };
        let help = "announce the bytes of all copies of the phase: `mbarrier.arrive_expect_tx(&full[i], bytes = n)`";
        self.report_mbarrier((DiagnosticKind::Mbarrier, number), (by, None), launch, text, help);
    }

    /// A phase at the end of the program that has not had what was announced, or more.
    pub(super) fn report_bytes_at_end(
        &mut self,
        number: usize,
        (announced, delivered): (u64, u64),
        by: Doing,
        launch: &Launch<'_>,
    ) {
        let phase = self.barriers[number].phase;
        let text = |name: &str, _: &str| {
            format!(
                "the block ends, and for phase {phase} of `{name}` {} were announced, and {delivered} have come",
                counted(announced, "byte")
            )
        };
        let help = "announce the bytes of all copies of a phase, in that phase";
        self.report_mbarrier((DiagnosticKind::Mbarrier, number), (by, None), launch, text, help);
    }

    /// A bulk copy that may go on when its block has ended.
    pub(super) fn report_copy_not_awaited(&mut self, number: usize, by: Doing, launch: &Launch<'_>) {
        let text = |name: &str, _: &str| {
            format!("the block ends, and no thread has waited for this bulk copy, which reports at `{name}`")
        };
        let help = "wait for its phase before the end: its shared memory may be another block's by then";
        self.report_mbarrier((DiagnosticKind::CopyOutstanding, number), (by, None), launch, text, help);
    }

    /// A bulk copy to a tensor that may still read the shared memory of a block that has ended.
    pub(super) fn report_store_not_awaited(&mut self, site: Site, thread: u32, launch: &Launch<'_>) {
        let (kernel, kind) = (launch.kernel, DiagnosticKind::CopyOutstanding);
        self.find(launch, kind, (site, NO_SITE), |blocks| {
            let who = kernel.who(blocks[0], u64::from(thread));
            let text = format!("{who} ends, and has not waited until this bulk copy has read what it copies");
            let help = "wait before the end: `tma.commit_group()`, then `tma.wait_group(pending = 0, read = true)`";
            (None, Diagnostic::error(kind.code(), kernel.at(site), text).help(help))
        });
    }

    /// A block that the cluster has not.
    pub(super) fn report_block_of_cluster(
        &mut self,
        instr: &BarrierInstr,
        (thread, rank): (u32, i64),
        launch: &Launch<'_>,
    ) {
        let kernel = launch.kernel;
        self.find(launch, DiagnosticKind::Mbarrier, (instr.site, NO_SITE), |blocks| {
            let who = kernel.who(blocks[0], u64::from(thread));
            let text =
                format!("{who} comes to `{}` of block {rank} of its cluster, which has {}", instr.name, blocks.len());
            let diagnostic = Diagnostic::error(DiagnosticKind::Mbarrier.code(), kernel.at(instr.site), text);
            (None, diagnostic.help("blocks of a cluster are numbered from 0, along blockIdx.x"))
        });
    }

    /// A block of a cluster ends, as far as its threads know before another has arrived at its barrier.
    pub(super) fn report_block_ended(&mut self, slot: usize, (site, thread): Doing, launch: &Launch<'_>) {
        let kernel = launch.kernel;
        self.find(launch, DiagnosticKind::Mbarrier, (site, NO_SITE), |blocks| {
            let who = kernel.who(blocks[0], u64::from(thread));
            let text = format!("{who} arrives at a barrier of block {}, which may have ended before", blocks[slot]);
            let diagnostic = Diagnostic::error(DiagnosticKind::Mbarrier.code(), kernel.at(site), text);
            (None, diagnostic.help("let all threads of the cluster pass a `gpu.barrier(cluster)` before they end"))
        });
    }

    pub(super) fn report_parity(&mut self, instr: &BarrierInstr, (thread, parity): (u32, i64), launch: &Launch<'_>) {
        let kernel = launch.kernel;
        self.find(launch, DiagnosticKind::Mbarrier, (instr.site, NO_SITE), |blocks| {
            let who = kernel.who(blocks[0], u64::from(thread));
            let text = format!("{who} waits for parity {parity}, and a parity is 0 or 1");
            let diagnostic = Diagnostic::error(DiagnosticKind::Mbarrier.code(), kernel.at(instr.site), text);
            (None, diagnostic.help("take the phase modulo 2"))
        });
    }
}

impl Group {
    /// Threads of one group that wait for different phases by one op.
    pub(super) fn report_waits_apart(
        &self,
        instr: &BarrierInstr,
        [lane, other]: [usize; 2],
        launch: &Launch<'_>,
        block: &mut BlockState,
    ) {
        block.find(launch, DiagnosticKind::DivergentWarp, (instr.site, instr.site), |blocks| {
            let [one, other] = [lane, other].map(|lane| self.who(lane, launch, blocks));
            let text = format!("{one} and {other} of its warpgroup wait for different phases by one `{}`", instr.name);
            let code = DiagnosticKind::DivergentWarp.code();
            let diagnostic = Diagnostic::error(code, launch.kernel.at(instr.site), text);
            (None, diagnostic.help("let the threads that wait by one op wait for one barrier and one parity"))
        });
    }
}
