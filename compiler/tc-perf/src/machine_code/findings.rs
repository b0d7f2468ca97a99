//! What of machine code is slow, or not what the program says.

use super::flow::Flow;
use super::listing::{Instruction, Listing};
use super::messages::Message;
use super::products::Agreement;
use super::{KernelCode, MEMBAR};
use std::collections::BTreeMap;
use tc_dialects::threads::is_cluster_barrier;
use tc_dialects::tir::{self, LoopKind, loop_kind};
use tc_dialects::{gpu, mbarrier, tma};
use tc_ir::walk::{all_ops, ancestors};
use tc_ir::{Func, Op};
use tc_support::{Diagnostic, Location, Severity, Sources, counted};

/// Something that was found.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Finding {
    /// What it is.
    pub kind: FindingKind,
    /// The kernel.
    pub kernel: String,
    /// The line of the text that the instruction was made of, where it is known.
    pub location: Location,
    /// The address of the instruction that it is about, or of the first of several, and the instruction.
    pub at: Option<(u64, String)>,
    /// The addresses of the first and the last instruction of the loop that it is in.
    pub in_loop: Option<(u64, u64)>,
    /// How many instructions.
    pub count: u64,
    /// What is wrong.
    pub message: String,
    /// What helps.
    pub help: String,
}

/// A kind of finding.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum FindingKind {
    /// Each product of a warpgroup waits for the one before.
    SerialisedProducts,
    /// The assembler added a wait or a fence of products.
    InjectedSync,
    /// `setmaxnreg` has no effect.
    RegistersNotHandedOver,
    /// Another message of the assembler about lost speed.
    Message,
    /// Registers do not last in a loop.
    SpillInLoop,
    /// An array of a thread lies in memory and is accessed in a loop.
    ArrayInLoop,
    /// A memory barrier in a loop that the program does not ask for.
    BarrierInLoop,
    /// There are more or fewer products than the program has.
    ProductCount,
}

impl FindingKind {
    /// Its code, as of diagnostics.
    pub fn code(self) -> &'static str {
        match self {
            FindingKind::SerialisedProducts => "serialised-products",
            FindingKind::InjectedSync => "injected-sync",
            FindingKind::RegistersNotHandedOver => "registers-not-handed-over",
            FindingKind::Message => "assembler-message",
            FindingKind::SpillInLoop => "spill-in-loop",
            FindingKind::ArrayInLoop => "array-in-loop",
            FindingKind::BarrierInLoop => "barrier-in-loop",
            FindingKind::ProductCount => "product-count",
        }
    }

    /// How bad it is. An array that data or a thread indexes lies in memory because the program says so.
    pub fn severity(self) -> Severity {
        if self == FindingKind::ArrayInLoop { Severity::Remark } else { Severity::Warning }
    }
}

impl Finding {
    /// It as a diagnostic.
    pub fn diagnostic(&self) -> Diagnostic {
        let make = if self.kind.severity() == Severity::Remark { Diagnostic::remark } else { Diagnostic::warning };
        let found = make(self.kind.code(), self.location.clone(), self.message.clone()).help(&self.help);
        match &self.at {
            Some((address, text)) => found.note(format!("at {address:#06x} of `@{}`: `{text}`", self.kernel)),
            None => found,
        }
    }
}

type Read<'r, 'l> = Option<&'r (&'l Listing, Flow)>;

/// Finds what the machine code itself shows.
pub(super) fn find(func: &Func, code: &mut KernelCode, read: Read<'_, '_>, sources: &Sources) {
    if let Some((listing, flow)) = read {
        let widest = asked(func);
        let by_loop = |what: &dyn Fn(&Instruction) -> bool| {
            let mut found: BTreeMap<usize, Vec<&Instruction>> = BTreeMap::new();
            for (one, inner) in listing.instructions.iter().zip(&flow.inner).filter(|(one, _)| what(one)) {
                inner.iter().for_each(|&inner| found.entry(inner).or_default().push(one));
            }
            found
        };
        let has_products = |of| {
            listing
                .instructions
                .iter()
                .zip(&flow.inner)
                .any(|(one, &inner)| inner == Some(of) && one.product().is_some())
        };
        let mut add = |kind, of: usize, all: &[&Instruction], message: String, help: &str| {
            let [first, last] =
                [flow.loops[of].first, flow.loops[of].last].map(|nth| listing.instructions[nth].address);
            code.findings.push(Finding {
                in_loop: Some((first, last)),
                count: all.len() as u64,
                ..finding(kind, func.symbol(), all.first().copied(), sources, message, help)
            });
        };
        let spilled = code.spilled;
        for (of, all) in by_loop(&Instruction::is_local) {
            let place = if has_products(of) { "the loop with the products" } else { "a loop" };
            let n = counted(all.len(), "access");
            let (kind, what, help) = match spilled {
                Some((0, 0)) => (
                    FindingKind::ArrayInLoop,
                    "an array of a thread is not in registers".to_string(),
                    "registers have no numbers at run time: unroll the loops that index the array",
                ),
                Some((stores, loads)) => (
                    FindingKind::SpillInLoop,
                    format!("registers do not last (spilled in all: {stores} bytes stored, {loads} loaded)"),
                    SPILL_HELP,
                ),
                None => {
                    (FindingKind::SpillInLoop, "registers do not last, or an array is not in them".into(), SPILL_HELP)
                }
            };
            add(kind, of, &all, format!("`@{}` has {n} to local memory in {place}: {what}", func.symbol()), help);
        }
        let is_stray = |one: &Instruction| one.base() == MEMBAR && BarrierScope::of(one) > widest;
        for (of, all) in by_loop(&is_stray) {
            let scope = all.iter().filter_map(|one| BarrierScope::of(one)).max().unwrap_or(BarrierScope::System);
            let asks = match widest {
                None => "no loop of the program asks for one".to_string(),
                Some(widest) => format!("the program asks for {} at most in a loop", widest.phrase()),
            };
            let n = counted(all.len(), "memory barrier");
            let message = format!("`@{}` has {n} of {} in a loop, and {asks}", func.symbol(), scope.phrase());
            let help = "this is the compiler's to repair: it writes PTX that orders more than the program says";
            add(FindingKind::BarrierInLoop, of, &all, message, help);
        }
    }
    for product in code.products.iter().filter(|product| product.agreement == Agreement::Unequal) {
        let n = |n: Option<u64>| n.unwrap_or(0);
        let message = format!(
            "`@{}` has {} of {} in its machine code, and {} in its program",
            func.symbol(),
            counted(n(product.machine), "product"),
            product.shape,
            n(product.program)
        );
        let is_it = |one: &&Instruction| one.product() == Some(&product.shape);
        let first = read.and_then(|(listing, _)| listing.instructions.iter().find(is_it));
        let help =
            "fewer: their sums may not be used; more: a compiler may have copied code that conditions stand around";
        let found = finding(FindingKind::ProductCount, func.symbol(), first, sources, message, help);
        code.findings.push(Finding { count: n(product.machine), ..found });
    }
}

const SPILL_HELP: &str = "let a thread hold less: smaller tiles, less unrolling, or more threads with a part each";

fn finding(
    kind: FindingKind,
    kernel: &str,
    at: Option<&Instruction>,
    sources: &Sources,
    message: String,
    help: &str,
) -> Finding {
    let shown = |one: &Instruction| format!("{} {}", one.opcode, one.operands).trim().to_string();
    Finding {
        kind,
        kernel: kernel.to_string(),
        location: at.map_or(Location::None, |one| one.location(sources)),
        at: at.map(|one| (one.address, shown(one))),
        in_loop: None,
        count: 1,
        message,
        help: help.to_string(),
    }
}

impl Message<'_> {
    /// Is it about `func`? One that names no function is about the kernels that it can be about.
    pub(super) fn is_of(&self, func: &Func, kernels: &[&Func]) -> bool {
        let splits = |func: &Func| all_ops(func).any(|op| func.opcode(op) == gpu::SETMAXNREG);
        match self.kernel {
            Some(name) => name == func.symbol(),
            None if self.kind == FindingKind::RegistersNotHandedOver => splits(func),
            None => kernels.first().is_some_and(|first| std::ptr::eq(*first, func)),
        }
    }
}

/// Adds what the assembler said.
pub(super) fn of_message(message: &Message<'_>, code: &mut KernelCode, read: Read<'_, '_>, sources: &Sources) {
    let kernel = code.kernel.clone();
    let what = match message.kind {
        FindingKind::SerialisedProducts => "lets each product wait for the one before",
        FindingKind::InjectedSync => "adds a wait or a fence between products",
        FindingKind::RegistersNotHandedOver => "does not let warps hand registers to one another",
        _ => "tells of lost speed",
    };
    let at = read.and_then(|(listing, flow)| {
        let at = if message.kind == FindingKind::InjectedSync { added_wait(listing) } else { None };
        let is_product = |&nth: &usize| listing.instructions[nth].product().is_some();
        // That of the innermost loop is done most often.
        let products = || (0..listing.instructions.len()).filter(is_product);
        let depth = |&nth: &usize| flow.around(flow.inner[nth]).count();
        at.or_else(|| products().max_by_key(|nth| (depth(nth), std::cmp::Reverse(*nth))))
            .map(|nth| (listing, flow, nth))
    });
    let is_of_products = matches!(message.kind, FindingKind::SerialisedProducts | FindingKind::InjectedSync);
    let at = at.filter(|_| is_of_products);
    let text = format!("the assembler {what} in `@{kernel}` ({}): {}", message.number, message.text);
    let one = at.map(|(listing, _, nth)| &listing.instructions[nth]);
    let in_loop = at.and_then(|(listing, flow, nth)| {
        let of = &flow.loops[flow.inner[nth]?];
        Some((listing.instructions[of.first].address, listing.instructions[of.last].address))
    });
    let found = finding(message.kind, &kernel, one, sources, text, message.help);
    code.findings.push(Finding { in_loop, ..found });
}

/// The first wait for products that no group was closed for: the last product before a wait of the program has `gsb0`.
fn added_wait(listing: &Listing) -> Option<usize> {
    let mut is_closed = true;
    listing.instructions.iter().position(|one| {
        if one.product().is_some() {
            is_closed = one.operands.contains("gsb0");
        }
        !is_closed && one.opcode.starts_with("WARPGROUP.DEPBAR")
    })
}

/// Whom a memory barrier orders memory for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum BarrierScope {
    Block,
    Device,
    System,
}

impl BarrierScope {
    /// That of an instruction. One that orders all of memory with all other barriers (`SC`) no op asks for.
    fn of(one: &Instruction) -> Option<BarrierScope> {
        let has = |part: &str| one.opcode.split('.').any(|other| other == part);
        Some(match () {
            () if has("SC") => BarrierScope::System,
            () if has("CTA") => BarrierScope::Block,
            () if has("GPU") => BarrierScope::Device,
            () => BarrierScope::System,
        })
    }

    fn phrase(self) -> &'static str {
        match self {
            BarrierScope::Block => "the block",
            BarrierScope::Device => "the device",
            BarrierScope::System => "the system",
        }
    }
}

/// The widest memory barrier that an op in a loop of the program becomes.
fn asked(func: &Func) -> Option<BarrierScope> {
    let is_loop = |op: Op| func.opcode(op) == tir::FOR && !matches!(loop_kind(func, op), Some(LoopKind::Launch(_)));
    let scope = |op| match func.opcode(op) {
        // A fence of the copy engine, which comes with one of the block.
        tma::FENCE | mbarrier::FENCE_INIT => Some(BarrierScope::Block),
        _ if is_cluster_barrier(func, op) => Some(BarrierScope::Device),
        _ => None,
    };
    all_ops(func).filter(|&op| ancestors(func, op).any(is_loop)).filter_map(scope).max()
}
