//! What is proposed for loops that cannot be bound as they are.

use crate::directive::Item;
use crate::graph::{AxisId, Graph, Kind, Relation};
use crate::remedy::{Change, Proposals};
use crate::written;
use tc_dialects::sched;
use tc_dialects::tir::Coordinate;
use tc_ir::Op;
use tc_support::{Fix, FixEdit};

/// Other coordinates of the same kind.
pub(super) fn other_coordinate(proposals: &mut Proposals<'_>) {
    if !proposals.is_first() {
        return;
    }
    let Some(axis) = proposals.axis(0) else { return };
    let word = proposals.sched.attr_named(proposals.op, "thread").and_then(|attr| proposals.sched.as_word(attr));
    let Some(coordinate) = word.and_then(Coordinate::parse) else { return };
    for other in Coordinate::ALL.into_iter().filter(|other| other.is_thread() == coordinate.is_thread()) {
        if other != coordinate {
            let call = format!("bind({}, {})", written::axis(proposals.graph, axis), other.name());
            proposals.instead(call, move |graph| graph[axis].kind = Kind::Launch(other));
        }
    }
}

/// The split that made a loop too short for the launch, with the launch's extent.
pub(crate) fn wider_split(proposals: &mut Proposals<'_>) {
    let (Some(graph), schedule) = (proposals.last, proposals.sched) else { return };
    let Some(axis) = proposals.axis(0) else { return };
    // The other one that is bound to the same coordinate has the extent.
    let mine = |op: &Op| *op != proposals.op && schedule.opcode(*op) == sched::BIND;
    if !proposals.places.iter().any(mine) || axis.idx() >= graph.axes.len() {
        return;
    }
    let made = graph[axis].made_by;
    let split = tc_ir::walk::all_ops(schedule)
        .find(|&op| schedule.op_locs(op).source == made && schedule.opcode(op) == sched::SPLIT);
    let Some(split) = split else { return };
    let Some(&factor) = schedule.operands(split).get(1) else { return };
    let key = if schedule.param_operands(split, 1).is_empty() { "nparts" } else { "factor" };
    for extent in bound_extents(graph, axis) {
        let text = format!("split by `{key} = {extent}` where `{}` is made", graph[axis].name);
        let edit = FixEdit::SetArgument { at: schedule.op_location(split), key, text: extent.to_string() };
        proposals.push_at(split, Change::Operands(vec![(factor, Item::Int(extent))]), Fix::new(text, edit));
    }
}

/// The factors by which other loops were split that are bound as `axis` is.
fn bound_extents(graph: &Graph, axis: AxisId) -> Vec<i64> {
    let kind = graph[axis].kind;
    let mut extents = Vec::new();
    for stage in &graph.stages {
        for relation in &stage.relations {
            if let Relation::Split { outer, inner, factor, nparts, .. } = *relation {
                let given = if nparts { outer } else { inner };
                if given != axis && graph[given].kind == kind && !extents.contains(&factor) {
                    extents.push(factor);
                }
            }
        }
    }
    extents
}
