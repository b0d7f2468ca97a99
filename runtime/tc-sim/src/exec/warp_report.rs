//! What is reported of ops that a warp does as a whole, of parts of buffers, and of asynchronous copies.

use super::access::At;
use super::block::{BlockState, Launch, WARP};
use super::group::Group;
use crate::code::{NO_SITE, Site};
use crate::diagnostic::DiagnosticKind;
use crate::tensor::show_index;
use crate::warp::WarpInstr;
use tc_support::{Diagnostic, counted};

/// What so many threads that do something together are called.
fn crew_name(width: usize) -> &'static str {
    if width > WARP { "warpgroup" } else { "warp" }
}

impl Group {
    /// A warp that comes to an op with `n` of its threads, of which there are `there`.
    pub(super) fn report_partial_warp(
        &self,
        instr: &WarpInstr,
        first: usize,
        [n, there]: [usize; 2],
        launch: &Launch<'_>,
        block: &mut BlockState,
    ) {
        let kernel = launch.kernel;
        let branch = self.frames.last().filter(|_| n < there).map_or(NO_SITE, |frame| frame.site);
        block.find(launch, DiagnosticKind::DivergentWarp, (instr.site, branch), |_| {
            let width = instr.width;
            let (number, crew) = (self.thread_of(first) as usize / width, crew_name(width));
            let text = format!("{crew} {number} comes to `{}` with {n} of {width} threads", instr.name);
            let mut diagnostic = Diagnostic::error(DiagnosticKind::DivergentWarp.code(), kernel.at(instr.site), text);
            if n < there {
                diagnostic = diagnostic.label(kernel.at(branch), "the others go another way here").help(format!(
                    "all threads of a {crew} must reach what it does as a whole; move it out of the branch"
                ));
            }
            if there < width {
                diagnostic =
                    diagnostic.note(format!("the block has {}", counted(kernel.threads(), "thread"))).help(format!(
                        "launch a multiple of {width} threads a block, for example with a loop `bind(threadIdx.x)` of \
                         {width}"
                    ));
            }
            (None, diagnostic)
        });
    }

    /// Two threads of a warp that come to an op of the warp with different operands.
    pub(super) fn report_not_uniform(
        &self,
        instr: &WarpInstr,
        what: &str,
        [lane, other]: [usize; 2],
        launch: &Launch<'_>,
        block: &mut BlockState,
    ) {
        block.find(launch, DiagnosticKind::DivergentWarp, (instr.site, instr.site), |blocks| {
            let (one, other) = (self.who(lane, launch, blocks), self.who(other, launch, blocks));
            let crew = crew_name(instr.width);
            let text = format!("{one} and {other} of its {crew} come to `{}` with a different {what}", instr.name);
            let diagnostic =
                Diagnostic::error(DiagnosticKind::DivergentWarp.code(), launch.kernel.at(instr.site), text);
            let help = format!("what a {crew} does as a whole must not depend on which of its threads it is");
            (None, diagnostic.help(help))
        });
    }

    /// A part of a buffer that does not lie in it.
    pub(super) fn report_region_out_of_bounds(
        &self,
        at: At<'_>,
        lengths: &[u64],
        lane: usize,
        launch: &Launch<'_>,
        block: &mut BlockState,
    ) {
        let is_element = lengths.iter().all(|&length| length == 1);
        if is_element {
            return self.report_out_of_bounds(at, lane, launch, block);
        }
        self.report_part(at, lane, &format!("{} from", counted(show_index(lengths), "element")), launch, block);
    }

    /// A tile of memory that reaches out of its buffer.
    pub(super) fn report_reach(
        &self,
        at: At<'_>,
        (lane, stride): (usize, i64),
        [rows, cols]: [usize; 2],
        launch: &Launch<'_>,
        block: &mut BlockState,
    ) {
        let what = format!("a tile of {rows} x {cols}, with a stride of {stride}, from");
        self.report_part(at, lane, &what, launch, block);
    }

    fn report_part(&self, at: At<'_>, lane: usize, what: &str, launch: &Launch<'_>, block: &mut BlockState) {
        let site = at.access.site;
        let is_store = launch.kernel.is_store(site);
        block.find(launch, DiagnosticKind::OutOfBounds, (site, NO_SITE), |blocks| {
            let who = self.who(lane, launch, blocks);
            let verb = if is_store { "writes" } else { "reads" };
            let text = format!("{who} {verb} {what} `{}` on, out of bounds", self.place(at, lane));
            let note = format!("`{}` has shape {}", at.decl.name, show_index(&at.decl.shape));
            let diagnostic =
                Diagnostic::error(DiagnosticKind::OutOfBounds.code(), launch.kernel.at(site), text).note(note);
            (Some(at.decl.name.clone()), diagnostic.label(at.decl.location.clone(), "the buffer"))
        });
    }

    /// A place that an op needs to be aligned to a number of bytes; `what` says so.
    pub(super) fn report_unaligned(
        &self,
        at: At<'_>,
        lane: usize,
        (byte, multiple): (usize, usize),
        what: &str,
        launch: &Launch<'_>,
        block: &mut BlockState,
    ) {
        let site = at.access.site;
        block.find(launch, DiagnosticKind::Misaligned, (site, NO_SITE), |blocks| {
            let who = self.who(lane, launch, blocks);
            let place = self.place(at, lane);
            let text = format!("{who} accesses `{place}` at byte {byte}, which is no multiple of {multiple}");
            let diagnostic = Diagnostic::error(DiagnosticKind::Misaligned.code(), launch.kernel.at(site), text);
            (Some(at.decl.name.clone()), diagnostic.note(what.to_string()))
        });
    }

    /// Rows of a tile in memory that start at odd places.
    pub(super) fn report_stride(
        &self,
        instr: &WarpInstr,
        (stride, bytes): (i64, u64),
        launch: &Launch<'_>,
        block: &mut BlockState,
    ) {
        block.find(launch, DiagnosticKind::Misaligned, (instr.site, NO_SITE), |_| {
            let text = format!(
                "the stride of `{}` is {}, {}, no multiple of 16",
                instr.name,
                counted(stride, "element"),
                counted(bytes, "byte")
            );
            let diagnostic = Diagnostic::error(DiagnosticKind::Misaligned.code(), launch.kernel.at(instr.site), text);
            (None, diagnostic.help("pad the rows of the tile in memory to a multiple of 16 bytes"))
        });
    }

    /// A cell that the outstanding asynchronous copy at `copy` writes.
    pub(super) fn report_outstanding(
        &self,
        at: At<'_>,
        lane: usize,
        (copy, writes): (Site, bool),
        launch: &Launch<'_>,
        block: &mut BlockState,
    ) {
        let verb = if writes { "writes" } else { "reads" };
        self.report_copy(at, lane, (copy, verb, "to"), launch, block);
    }

    /// A cell that the asynchronous copy at `copy` still reads is written.
    pub(super) fn report_source_changed(
        &self,
        at: At<'_>,
        lane: usize,
        copy: Site,
        launch: &Launch<'_>,
        block: &mut BlockState,
    ) {
        self.report_copy(at, lane, (copy, "writes", "from"), launch, block);
    }

    fn report_copy(
        &self,
        at: At<'_>,
        lane: usize,
        (copy, verb, way): (Site, &str, &str),
        launch: &Launch<'_>,
        block: &mut BlockState,
    ) {
        let site = at.access.site;
        let kernel = launch.kernel;
        block.find(launch, DiagnosticKind::CopyOutstanding, (site, copy), |blocks| {
            let (who, place) = (self.who(lane, launch, blocks), self.place(at, lane));
            let text = format!("{who} {verb} `{place}` while an asynchronous copy {way} it is outstanding");
            let diagnostic = Diagnostic::error(DiagnosticKind::CopyOutstanding.code(), kernel.at(site), text)
                .label(kernel.at(copy), "the copy begins here")
                .help("wait for its group before: `gpu.commit_group()`, then `gpu.wait_group(pending = 0)`");
            (Some(at.decl.name.clone()), diagnostic)
        });
    }

    /// A copy that its thread never waits for.
    pub(super) fn report_not_awaited(&self, (copy, lane): (Site, usize), launch: &Launch<'_>, block: &mut BlockState) {
        block.find(launch, DiagnosticKind::NotAwaited, (copy, NO_SITE), |blocks| {
            let who = self.who(lane, launch, blocks);
            let text = format!("{who} ends and has not waited for this asynchronous copy");
            let diagnostic = Diagnostic::error(DiagnosticKind::NotAwaited.code(), launch.kernel.at(copy), text);
            (None, diagnostic.note("nothing can read what it copies"))
        });
    }
}
