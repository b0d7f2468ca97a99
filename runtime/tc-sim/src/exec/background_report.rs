//! What is reported of what goes on in the background: products of warpgroups, and bulk copies.

use super::access::At;
use super::block::{BlockState, Launch, WARPGROUP};
use super::group::Group;
use crate::code::{NO_SITE, Site};
use crate::diagnostic::DiagnosticKind;
use crate::race::Conflict;
use tc_support::Diagnostic;
use tc_target::maps::GRAIN;

const WAIT_FOR_PRODUCTS: &str = "wait for it before: `wgmma.commit_group()`, then `wgmma.wait_group(pending = 0)`";

impl Group {
    /// "thread 3", or "warpgroup 1" where it accesses by a product.
    fn actor(&self, at: At<'_>, lane: usize, writes: bool, launch: &Launch<'_>, blocks: &[u64]) -> String {
        if at.background && !writes {
            return format!("a product of warpgroup {}", self.thread_of(lane) as usize / WARPGROUP);
        }
        self.who(lane, launch, blocks)
    }

    /// An access that nothing orders with what goes on in the background, or such one with an access of a thread.
    pub(super) fn report_background(
        &self,
        (at, lane): (At<'_>, usize),
        conflict: Conflict,
        writes: bool,
        launch: &Launch<'_>,
        block: &mut BlockState,
    ) {
        let Some(clocks) = &block.clocks else { return };
        let Conflict { other, other_wrote, .. } = conflict;
        let kernel = launch.kernel;
        let is_thread = clocks.is_thread(other.thread);
        let warpgroup = clocks.warpgroup_of(other.thread);
        let stores = clocks.stores_of(other.thread);
        let kind = match (is_thread, warpgroup) {
            (true, _) => DiagnosticKind::Race,
            (_, Some(_)) => DiagnosticKind::ProductOutstanding,
            _ => DiagnosticKind::CopyOutstanding,
        };
        let site = at.access.site;
        block.find(launch, kind, (site, other.site), |blocks| {
            let (who, place) = (self.actor(at, lane, writes, launch, blocks), self.place(at, lane));
            let does = match (writes, at.background) {
                (false, _) => "reads",
                (true, false) => "writes",
                (true, true) => "begins a bulk copy to",
            };
            let (text, label, help) = match warpgroup {
                _ if is_thread => {
                    let (verb, other) =
                        (if other_wrote { "writes" } else { "reads" }, kernel.who(blocks[0], u64::from(other.thread)));
                    (
                        format!("race on `{place}`: {other} {verb}, {who} {does} it"),
                        format!("{other} {verb} `{}` here", at.decl.name),
                        "order the two: an arrival after the first, and a wait for its phase before the second",
                    )
                }
                Some(warpgroup) => (
                    format!("{who} {does} `{place}` while a product of warpgroup {warpgroup} may still read it"),
                    "the product begins here".to_string(),
                    "let the warpgroup arrive after `wgmma.wait_group(pending = 0)`, and wait for that arrival",
                ),
                None if let Some(thread) = stores => {
                    let (may, help) = match other_wrote {
                        true => ("write", "wait in that thread, then at a barrier: `tma.wait_group(pending = 0)`"),
                        false => (
                            "read",
                            "wait in that thread, then at a barrier: `tma.wait_group(pending = 0, read = true)`",
                        ),
                    };
                    (
                        format!("{who} {does} `{place}` while a bulk copy of thread {thread} may still {may} it"),
                        "the copy begins here".to_string(),
                        help,
                    )
                }
                None => (
                    format!("{who} {does} `{place}` and has not waited for the bulk copy to it"),
                    "the copy begins here".to_string(),
                    "wait for the phase at which it reports: `mbarrier.wait(&full[i], parity)`",
                ),
            };
            let diagnostic = Diagnostic::error(kind.code(), kernel.at(site), text).label(kernel.at(other.site), label);
            (Some(at.decl.name.clone()), diagnostic.help(help))
        });
    }

    /// A bulk copy to a tensor begins before what it copies is written for certain, or, for want of a fence, seen by it.
    pub(super) fn report_store_source(
        &self,
        (at, lane): (At<'_>, usize),
        conflict: Conflict,
        is_fence: bool,
        launch: &Launch<'_>,
        block: &mut BlockState,
    ) {
        let Some(clocks) = &block.clocks else { return };
        let (kernel, other, site) = (launch.kernel, conflict.other, at.access.site);
        let is_thread = clocks.is_thread(other.thread);
        let kind = match (is_thread, is_fence) {
            (true, true) => DiagnosticKind::MissingFence,
            (true, false) => DiagnosticKind::Race,
            (false, _) => DiagnosticKind::CopyOutstanding,
        };
        block.find(launch, kind, (site, other.site), |blocks| {
            let place = self.place(at, lane);
            let writer = match is_thread {
                true => kernel.who(blocks[0], u64::from(other.thread)),
                false => "another bulk copy".to_string(),
            };
            let (text, help) = match is_fence {
                true => (
                    format!("a bulk copy reads `{place}`, which {writer} wrote, and no `tma.fence` stands between"),
                    "let those who write come to `tma.fence()` before the barrier",
                ),
                false => (
                    format!("race on `{place}`: {writer} writes, a bulk copy reads it"),
                    "let a barrier stand between the two, and `tma.fence()` before it",
                ),
            };
            let label = format!("`{}` is written here", at.decl.name);
            let diagnostic = Diagnostic::error(kind.code(), kernel.at(site), text).label(kernel.at(other.site), label);
            (Some(at.decl.name.clone()), diagnostic.help(help))
        });
    }

    /// An access to what the outstanding product at `product` has to do with: it `adds to` it, or `reads` it.
    pub(super) fn report_product(
        &self,
        (at, lane): (At<'_>, usize),
        (product, writes, has): (Site, bool, &str),
        launch: &Launch<'_>,
        block: &mut BlockState,
    ) {
        let site = at.access.site;
        let kernel = launch.kernel;
        block.find(launch, DiagnosticKind::ProductOutstanding, (site, product), |blocks| {
            let who = self.who(lane, launch, blocks);
            let verb = if writes { "writes" } else { "reads" };
            let index = match at.spelled {
                true => self.place(at, lane),
                false if at.access.indices.len() == at.decl.shape.len() => self.place(at, lane),
                false => at.decl.name.clone(),
            };
            let text = format!("{who} {verb} `{index}` while an outstanding product {has} it");
            let code = DiagnosticKind::ProductOutstanding.code();
            let diagnostic = Diagnostic::error(code, kernel.at(site), text)
                .label(kernel.at(product), "the product begins here")
                .help(WAIT_FOR_PRODUCTS);
            (Some(at.decl.name.clone()), diagnostic)
        });
    }

    /// A thread writes a cell of shared memory: what an outstanding product reads may not change.
    pub(super) fn note_writer_of(
        &self,
        at: At<'_>,
        lane: usize,
        (idx, first, n): (usize, usize, usize),
        launch: &Launch<'_>,
        block: &mut BlockState,
    ) {
        let shared = &mut block.shared[idx];
        let place = self.slot_of(lane) * shared.n + first;
        if !at.background && !shared.by_bulk.is_empty() {
            shared.by_bulk[place..place + n].fill(false);
        }
        if shared.product_reads.is_empty() {
            return;
        }
        if let Some(product) = (place..place + n).find_map(|place| shared.product_reading(place)) {
            self.report_product((at, lane), (product, true, "reads"), launch, block);
        }
    }

    /// Registers of a product, sums or its left factor, that threads wrote after the last fence, or before any.
    pub(super) fn report_missing_fence(
        &self,
        (at, site): (At<'_>, Site),
        (crew, is_factor): (usize, bool),
        launch: &Launch<'_>,
        block: &mut BlockState,
    ) {
        let kernel = launch.kernel;
        block.find(launch, DiagnosticKind::MissingFence, (site, NO_SITE), |_| {
            let warpgroup = self.warpgroup_number(crew);
            let text = format!(
                "a product of warpgroup {warpgroup} {} `{}`, and no `wgmma.fence` stands between what threads did \
                 with it and the product",
                if is_factor { "reads" } else { "adds to" },
                at.decl.name
            );
            let diagnostic = Diagnostic::error(DiagnosticKind::MissingFence.code(), kernel.at(site), text);
            (Some(at.decl.name.clone()), diagnostic.help("write `wgmma.fence()` before the first product"))
        });
    }

    /// A product whose sums are in part those of an outstanding one.
    pub(super) fn report_other_sums(
        &self,
        (at, site): (At<'_>, Site),
        (crew, other): (usize, Site),
        launch: &Launch<'_>,
        block: &mut BlockState,
    ) {
        let kernel = launch.kernel;
        block.find(launch, DiagnosticKind::ProductOutstanding, (site, other), |_| {
            let warpgroup = self.warpgroup_number(crew);
            let text = format!(
                "a product of warpgroup {warpgroup} adds to a part of `{}` while an outstanding one adds to another",
                at.decl.name
            );
            let code = DiagnosticKind::ProductOutstanding.code();
            let diagnostic =
                Diagnostic::error(code, kernel.at(site), text).label(kernel.at(other), "the other begins here");
            (Some(at.decl.name.clone()), diagnostic.help(WAIT_FOR_PRODUCTS))
        });
    }

    pub(super) fn report_product_not_awaited(
        &self,
        product: Site,
        crew: usize,
        launch: &Launch<'_>,
        block: &mut BlockState,
    ) {
        block.find(launch, DiagnosticKind::NotAwaited, (product, NO_SITE), |_| {
            let text = format!("warpgroup {} ends and has not waited for this product", self.warpgroup_number(crew));
            let diagnostic = Diagnostic::error(DiagnosticKind::NotAwaited.code(), launch.kernel.at(product), text);
            (None, diagnostic.note("nothing can read its sums").help(WAIT_FOR_PRODUCTS))
        });
    }

    /// A descriptor that leads out of the buffer of its factor.
    pub(super) fn report_factor_out_of_bounds(
        &self,
        (at, lane): (At<'_>, usize),
        byte: i64,
        launch: &Launch<'_>,
        block: &mut BlockState,
    ) {
        let site = at.access.site;
        block.find(launch, DiagnosticKind::OutOfBounds, (site, NO_SITE), |blocks| {
            let who = self.actor(At { background: true, ..at }, lane, false, launch, blocks);
            let text = format!("{who} reads byte {byte} of `{}`, out of bounds", at.decl.name);
            let note = format!("its descriptor counts from `{}`", self.place(at, lane));
            let diagnostic =
                Diagnostic::error(DiagnosticKind::OutOfBounds.code(), launch.kernel.at(site), text).note(note);
            (Some(at.decl.name.clone()), diagnostic.label(at.decl.location.clone(), "the buffer"))
        });
    }

    /// A factor that threads wrote by plain stores.
    pub(super) fn report_generic_write(
        &self,
        (at, lane): (At<'_>, usize),
        launch: &Launch<'_>,
        block: &mut BlockState,
    ) {
        let site = at.access.site;
        block.find(launch, DiagnosticKind::MissingFence, (site, site), |_| {
            let text = format!(
                "generic writes are not seen by the async proxy: a product reads `{}`, which threads wrote, with no fence and barrier between",
                self.place(at, lane)
            );
            let diagnostic = Diagnostic::error(DiagnosticKind::MissingFence.code(), launch.kernel.at(site), text);
            let help =
                "put `tma.fence()` and then a barrier between the stores and the product; or copy it with `tma.load`";
            (Some(at.decl.name.clone()), diagnostic.help(help))
        });
    }

    /// A bulk copy of a box that starts at element `column` of its rows, where the engine of copies starts none.
    pub(super) fn report_box_start(
        &self,
        (at, lane): (At<'_>, usize),
        (site, column): (Site, i64),
        launch: &Launch<'_>,
        block: &mut BlockState,
    ) {
        block.find(launch, DiagnosticKind::Misaligned, (site, NO_SITE), |blocks| {
            let who = self.who(lane, launch, blocks);
            let text = format!(
                "{who} begins a bulk copy of a box that starts at element {column} of the rows of `{}`, at no multiple of \
                 {GRAIN} bytes",
                at.decl.name
            );
            let diagnostic = Diagnostic::error(DiagnosticKind::Misaligned.code(), launch.kernel.at(site), text);
            let note = "the hardware ends a kernel that does so, even where the box is outside of the tensor";
            let help = "copy from such multiples, and take elements of the box from where they are wanted";
            (Some(at.decl.name.clone()), diagnostic.note(note).help(help))
        });
    }

    /// A bulk copy of a block that some of its threads do not come to.
    pub(super) fn report_partial_block(
        &self,
        site: Site,
        [there, absent]: [usize; 2],
        launch: &Launch<'_>,
        block: &mut BlockState,
    ) {
        let kernel = launch.kernel;
        let branch = self.frames.last().map_or(NO_SITE, |frame| frame.site);
        block.find(launch, DiagnosticKind::DivergentBarrier, (site, branch), |blocks| {
            let [there, absent] = [there, absent].map(|lane| self.who(lane, launch, blocks));
            let text = format!("a bulk copy in divergent code: {there} comes to `tma.load`, and {absent} does not");
            let mut diagnostic = Diagnostic::error(DiagnosticKind::DivergentBarrier.code(), kernel.at(site), text);
            if branch != NO_SITE {
                diagnostic = diagnostic.label(kernel.at(branch), "the others go another way here");
            }
            let help = "all threads of a block come to a copy without a barrier; move it out of the branch";
            (None, diagnostic.help(help))
        });
    }

    /// Threads of a block that come to a bulk copy with different operands.
    pub(super) fn report_copies_differ(
        &self,
        site: Site,
        [lane, other]: [usize; 2],
        launch: &Launch<'_>,
        block: &mut BlockState,
    ) {
        block.find(launch, DiagnosticKind::DivergentWarp, (site, site), |blocks| {
            let [one, other] = [lane, other].map(|lane| self.who(lane, launch, blocks));
            let text = format!("{one} and {other} of its block come to `tma.load` with different places");
            let diagnostic = Diagnostic::error(DiagnosticKind::DivergentWarp.code(), launch.kernel.at(site), text);
            (None, diagnostic.help("what a block copies as a whole must not depend on which of its threads it is"))
        });
    }
}
