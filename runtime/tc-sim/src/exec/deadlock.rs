//! Blocks of which no thread goes on: who waits for which phase, what that lacks, and where the others are.
//!
//! The threads of a group go through a branch one side after the other. A side that waits for what the other would do
//! later waits for ever here, and need not on a GPU; then it is not known whether the program stops.

use super::block::{BlockState, Launch};
use super::group::{Event, Group};
use super::mbarrier::Waiting;
use crate::code::{BarrierScope, Instr, Kernel, NO_SITE, Pc};
use crate::diagnostic::DiagnosticKind;
use crate::warp::{BarrierOp, BulkWay};
use tc_support::{Diagnostic, counted};

/// Can an instruction bring a phase of a barrier nearer to its end?
fn advances(instr: &Instr) -> bool {
    match instr {
        Instr::Mbarrier(instr) => matches!(instr.op, BarrierOp::Arrive(_)),
        Instr::BulkCopy(copy) => matches!(copy.way, BulkWay::Load(Some(_))),
        _ => false,
    }
}

/// Can lanes advance a phase that wait for the branch or the loop at `at` to end, while others wait at `pc` inside it?
fn can_advance(kernel: &Kernel, at: Pc, pc: Pc) -> bool {
    let code = &kernel.code;
    let mut next = match code[at as usize] {
        Instr::If { otherwise, .. } => match code.get(otherwise as usize) {
            // The lanes of the second side wait for the first, or the other way round.
            Some(Instr::Else { .. }) if pc < otherwise => otherwise + 1,
            Some(Instr::Else { end }) => *end,
            _ => otherwise,
        },
        Instr::LoopVarying { end, .. } => end,
        _ => at,
    };
    while let Some(instr) = code.get(next as usize) {
        next = match *instr {
            _ if advances(instr) => return true,
            Instr::Else { end: to } | Instr::Jump { to } if to > next => to,
            // A loop around both leads back to what stands before.
            Instr::NextUniform { body, .. } | Instr::NextVarying { body, .. }
                if body <= at && code[body as usize..next as usize].iter().any(advances) =>
            {
                return true;
            }
            _ => next + 1,
        };
    }
    false
}

impl Group {
    /// Could lanes of this group that it keeps waiting advance a phase?
    fn keeps_others(&self, kernel: &Kernel) -> bool {
        let mut saved = self.saved.len();
        // From the innermost branch or loop on; `inner` are the lanes inside of it.
        let mut inner = self.mask.clone();
        for frame in self.frames.iter().rev() {
            saved -= if frame.is_branch { 2 * self.words } else { self.words };
            let outer = &self.saved[saved..saved + self.words];
            let aside = outer.iter().zip(&inner).any(|(outer, inner)| outer & !inner != 0);
            if aside && can_advance(kernel, frame.at, self.pc) {
                return true;
            }
            inner.copy_from_slice(outer);
        }
        false
    }
}

impl BlockState {
    pub(super) fn report_deadlock(&mut self, launch: &Launch<'_>, groups: &[Group], events: &[Option<Event>]) {
        let kernel = launch.kernel;
        let waits = events.iter().enumerate().filter_map(|(group, event)| match event {
            Some(Event::Wait(waiting)) => Some((group, *waiting)),
            _ => None,
        });
        let mut waits: Vec<(usize, Waiting)> = waits.collect();
        // A phase that has come half the way is nearer to the cause than one that waits for its first arrival.
        waits.sort_by_key(|(_, waiting)| self.barriers[waiting.barrier].arrived == 0);
        let Some(&(_, first)) = waits.first() else { return };
        let unknown = waits.iter().any(|&(group, _)| groups[group].keeps_others(kernel));
        let kind = if unknown { DiagnosticKind::Limit } else { DiagnosticKind::Deadlock };
        let lacks: Vec<String> = waits.iter().map(|&(_, waiting)| self.lacks(waiting, kernel)).collect();
        let elsewhere = elsewhere(kernel, groups, events, &self.blocks);
        let site = if unknown { NO_SITE } else { first.site };
        self.find(launch, kind, (site, NO_SITE), |blocks| {
            let who = |waiting: &Waiting| kernel.who(blocks[0], u64::from(waiting.thread));
            let code = if unknown { "unknown" } else { kind.code() };
            let text = format!("deadlock: {} waits for {}", who(&first), lacks[0]);
            let mut diagnostic = Diagnostic::error(code, kernel.at(first.site), text);
            // Groups that wait for the same at one place are one label, and what the error is about is none.
            let mut told = vec![(first.site, &lacks[0])];
            for ((_, waiting), lacks) in waits.iter().zip(&lacks).skip(1) {
                if told.contains(&(waiting.site, lacks)) {
                    continue;
                }
                told.push((waiting.site, lacks));
                diagnostic = diagnostic.label(kernel.at(waiting.site), format!("{} waits for {lacks}", who(waiting)));
            }
            for note in elsewhere {
                diagnostic = diagnostic.note(note);
            }
            if unknown {
                diagnostic = diagnostic
                    .note("other threads of a warpgroup that waits could still arrive, on the other side of a branch")
                    .note(
                        "the simulator runs the two sides of a branch one after the other: whether it stops is unknown",
                    )
                    .help("give threads that wait for one another warpgroups of their own");
            }
            (None, diagnostic)
        });
    }

    /// "phase 1 (parity 1) of `full[0]`, which lacks 1 arrival of 2 and 512 bytes of 1024".
    fn lacks(&self, waiting: Waiting, kernel: &Kernel) -> String {
        let barrier = &self.barriers[waiting.barrier];
        let name = kernel.barrier_name(waiting.barrier);
        let mut missing = Vec::new();
        if barrier.arrived < barrier.count {
            missing.push(format!("{} of {}", counted(barrier.count - barrier.arrived, "arrival"), barrier.count));
        }
        if barrier.delivered < barrier.announced {
            let bytes = barrier.announced - barrier.delivered;
            missing.push(format!("{} of {}", counted(bytes, "byte"), barrier.announced));
        }
        format!(
            "phase {} of `{name}` (parity {}), which lacks {}",
            barrier.phase,
            waiting.parity,
            missing.join(" and ")
        )
    }
}

/// What the threads do that wait for no phase: a sentence for those that follow one another.
fn elsewhere(kernel: &Kernel, groups: &[Group], events: &[Option<Event>], blocks: &[u64]) -> Vec<String> {
    let does = |event: &Option<Event>| match event {
        Some(Event::Done) => Some("have come to the end of the program"),
        Some(Event::Barrier(BarrierScope::Cluster, _)) => Some("wait at a barrier of the cluster"),
        Some(Event::Barrier(..)) => Some("wait at a barrier of the block"),
        _ => None,
    };
    let all: Vec<(&Group, Option<&str>)> = groups.iter().zip(events.iter().map(does)).collect();
    let same = all.chunk_by(|(one, does), (next, also)| (one.slot0, does) == (next.slot0, also));
    let sentence = |chunk: &[(&Group, Option<&str>)]| {
        let (Some((first, does)), Some((last, _))) = (chunk.first(), chunk.last()) else { return None };
        let [from, to] = [first, last].map(|group| u64::from(group.thread0) % kernel.threads());
        let to = (to + last.n as u64 - 1).min(kernel.threads() - 1);
        let of = match kernel.is_clustered() {
            true => format!(" of block {}", blocks[first.slot0]),
            false => String::new(),
        };
        does.map(|does| format!("threads {from} to {to}{of} {does}"))
    };
    same.filter_map(sentence).collect()
}
