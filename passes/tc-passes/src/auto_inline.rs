//! Inlines simple stages of an operator.
//!
//! # Input form
//!
//! Any. The pass reads operators together with their schedules.
//!
//! # Output form
//!
//! The same, with fewer stages in the operators.
//!
//! # Example
//!
//! ```tir
//! te.func @f(A: f32[16, 8], b: f32[8]) -> f32[16, 8] {
//!   compute Sum[i: 16, j: 8] = A[i, j] + b[j]
//!   compute C[i: 16, j: 8] = max(Sum[i, j], 0.0)
//!   return C
//! }
//! ->
//! te.func @f(A: f32[16, 8], b: f32[8]) -> f32[16, 8] {
//!   compute C[i: 16, j: 8] = max(A[i, j] + b[j], 0.0)
//!   return C
//! }
//! ```
//!
//! # Algorithm
//!
//! 1. Collect the stages that a schedule for the operator names; they stay.
//! 2. Classify each other stage that has no reduction, gives one tensor, starts at 0, and is read but no result:
//!    *elementwise* if each index of each read is the axis of the same dimension, and all axes occur; *broadcast* if
//!    the indices of each read are some of the axes in their order, or literals; *injective* otherwise.
//! 3. Inline the stages of the requested kinds, in the order of the text, so that a chain of them ends up in its last
//!    reader.
//!
//! # Limits
//!
//! A stage is computed once for each read of it. A stage that would make the operator too large stays, and so do stages
//! that are computed together.
//!
//! # Remarks
//!
//! `not-inlined`: a stage that stays, and why.
//!
//! # References
//!
//! TVM 0.16, `src/te/schedule/auto_inline_elem_wise.cc`, which uses the tags of operators; this pass uses the reads.

use crate::analysis::inlining::{into_reads, obstacle};
use indexmap::IndexSet;
use tc_dialects::{sched, te};
use tc_ir::walk::{all_ops, ops_under};
use tc_ir::{AttrData, Func, Module, Op, Value};
use tc_pass::{ModulePass, PassCx, PassInfo, PassKind};
use tc_support::Diagnostic;

tc_pass::options! {
    /// What `auto-inline` can be told.
    pub struct Options {
        /// Stages whose reads are all of the element that is computed.
        elementwise: bool = true,
        /// Stages whose reads leave out axes.
        broadcast: bool = true,
        /// All other stages that reduce nothing.
        injective: bool = false,
    }
}

/// The row.
pub const INFO: PassInfo = PassInfo {
    name: "auto-inline",
    page: tc_support::page!("auto_inline.rs"),
    anchor: PassInfo::MODULE,
    options: Options::INFO,
    requires: &[],
    establishes: &[],
    preserves: &[],
    make: |raw| Options::read(raw).map(|options| PassKind::Module(Box::new(AutoInline { options }))),
};

/// The pass.
pub struct AutoInline {
    /// What it was given.
    pub options: Options,
}

/// How a stage reads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    Elementwise,
    Broadcast,
    Injective,
}

impl ModulePass for AutoInline {
    fn run(&self, module: &mut Module, cx: &mut PassCx) -> bool {
        let named = named_stages(module);
        let mut changed = false;
        for func in module.items.iter_mut().filter(|item| item.header.opcode == te::FUNC) {
            changed |= self.operator(func, &named, cx);
        }
        changed
    }
}

impl AutoInline {
    fn operator(&self, func: &mut Func, named: &IndexSet<(String, String)>, cx: &mut PassCx) -> bool {
        let stages: Vec<Op> = func.ops(func.body()).filter(|&op| func.opcode(op) == te::COMPUTE).collect();
        let mut changed = false;
        for op in stages {
            let is_named = func
                .results(op)
                .any(|tensor| named.contains(&(func.symbol().to_string(), func.value_text(tensor).to_string())));
            let keeps = if is_named { Some("a schedule names it") } else { obstacle(func, op) };
            if let Some(reason) = keeps.or_else(|| self.leaves(kind(func, op))) {
                // An obstacle is reported of the stage.
                let reason =
                    if obstacle(func, op) == Some(reason) { format!("it {reason}") } else { reason.to_string() };
                cx.missed(|| stays(func, op, &reason));
                continue;
            }
            if into_reads(func, op) {
                cx.count("stages inlined", 1);
                changed = true;
            } else {
                cx.missed(|| stays(func, op, "the operator would grow too large"));
            }
        }
        changed
    }

    /// Why stages of this kind are left.
    fn leaves(&self, kind: Kind) -> Option<&'static str> {
        let (takes, reason) = match kind {
            Kind::Elementwise => (self.options.elementwise, "it is elementwise, and `elementwise` is off"),
            Kind::Broadcast => (self.options.broadcast, "its reads leave out axes, and `broadcast` is off"),
            Kind::Injective => (self.options.injective, "its reads have indices of their own, and `injective` is off"),
        };
        (!takes).then_some(reason)
    }
}

/// Says that the stage `op` is not put into its reads.
fn stays(func: &Func, op: Op, reason: &str) -> Diagnostic {
    let name = func.results(op).next().map_or("", |tensor| func.value_text(tensor));
    Diagnostic::remark("not-inlined", func.op_location(op), format!("`{name}` stays a stage: {reason}"))
}

/// The stages that schedules name, each after its operator.
fn named_stages(module: &Module) -> IndexSet<(String, String)> {
    let mut found = IndexSet::new();
    for schedule in module.items.iter().filter(|item| item.header.opcode == sched::SCHEDULE) {
        let stages = all_ops(schedule).filter(|&op| schedule.opcode(op) == sched::STAGE_OP);
        let names = stages.filter_map(|op| match schedule.attr_data(schedule.attr_named(op, "name")?) {
            AttrData::Str(name) => Some(name.to_string()),
            _ => None,
        });
        for name in names {
            let targets = schedule.header.targets.iter();
            found.extend(targets.map(|target| (target.clone(), name.clone())));
        }
    }
    found
}

/// How the stage `op` reads. One that reads nothing is elementwise.
fn kind(func: &Func, op: Op) -> Kind {
    let body = func.op_regions(op)[0];
    let axes = func.region_args(body);
    let mut kind = Kind::Elementwise;
    for read in ops_under(func, body).filter(|&inner| func.opcode(inner) == te::READ) {
        let indices = &func.operands(read)[1..];
        if indices == axes {
            continue;
        }
        if !is_some_of(func, indices, axes) {
            return Kind::Injective;
        }
        kind = Kind::Broadcast;
    }
    kind
}

/// Are the indices some of the axes in their order, or literals?
fn is_some_of(func: &Func, indices: &[Value], axes: &[Value]) -> bool {
    let mut rest = axes.iter();
    indices.iter().all(|index| func.constant(*index).is_some() || rest.any(|axis| axis == index))
}
