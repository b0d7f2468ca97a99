//! The fix-its that diagnostics of several primitives have, and sets of them.

use super::Proposals;
use crate::directive::Item;
use crate::primitives::bind::remedies::wider_split;
use crate::primitives::compute_at::remedies::{other_loop, root_instead};
use crate::primitives::compute_root::root_at_end;
use crate::primitives::set_scope::other_scope;
use crate::remedy::Change;
use crate::written;
use tc_support::{Fix, FixEdit, Location, Pos, Span, suggest};

/// Who proposes changes against a diagnostic; called for the directive in question, and for those that its labels name.
pub(crate) type FixIts = &'static [fn(&mut Proposals<'_>)];

/// Nothing but another text helps.
pub(crate) const NONE: FixIts = &[];
pub(crate) const LEAVE_OUT: FixIts = &[leave_out];
pub(crate) const OTHER_AXIS: FixIts = &[other_axis];
pub(crate) const OTHER_AXIS_OR_LEAVE_OUT: FixIts = &[other_axis, leave_out_this];
/// Of a stage that is computed where it cannot be.
pub(crate) const OTHER_LOOP_OR_ROOT: FixIts = &[other_axis, root_instead];
/// Of a stage whose buffer is of no use where it lies.
pub(crate) const ELSEWHERE: FixIts = &[other_loop, other_scope];
pub(crate) const ELSEWHERE_OR_ROOT: FixIts = &[other_loop, other_scope, root_at_end];
/// Of loops that are bound to one coordinate and differ in extent.
pub(crate) const OTHER_EXTENT: FixIts = &[|proposals| proposals.other_axes(), wider_split];
pub(crate) const OTHER_STAGE: FixIts = &[other_stage];
pub(crate) const OTHER_NAME_OF_AXIS: FixIts = &[other_name_of_axis];

/// The directive in question with another axis.
fn other_axis(proposals: &mut Proposals<'_>) {
    if proposals.is_first() {
        proposals.other_axes();
    }
}

/// The schedule without the directive.
pub(crate) fn leave_out(proposals: &mut Proposals<'_>) {
    let sched = proposals.sched;
    let which = match proposals.places.first() {
        Some(&first) if first == proposals.op => "this",
        Some(&first) if sched.opcode(first) == sched.opcode(proposals.op) => "the other",
        _ => "the",
    };
    let text = format!("leave out {which} {}", written::directive(sched, proposals.op));
    let fix = Fix::new(text, FixEdit::Remove { at: proposals.here() });
    proposals.push(Change::LeaveOut, fix);
}

/// The schedule without the directive in question.
fn leave_out_this(proposals: &mut Proposals<'_>) {
    if proposals.is_first() {
        leave_out(proposals);
    }
}

/// The stages of the operator with a name near to the one that is not there.
fn other_stage(proposals: &mut Proposals<'_>) {
    let graph = proposals.graph;
    let wanted = proposals.sched.word_of(proposals.op, tc_ir::keys::NAME).unwrap_or("");
    if let Some(near) = suggest::nearest(wanted, graph.tensor_names())
        && let Some(tensor) = graph.tensor_named(near)
    {
        // The name of an axis may follow behind a dot.
        let at = match proposals.here() {
            Location::Span(Span { start, .. }) => Span::new(start, Pos(start.0 + wanted.len() as u32)).into(),
            other => other,
        };
        let fix = Fix::new(format!("did you mean `{near}`?"), FixEdit::Replace { at, text: near.to_string() });
        proposals.push(Change::Results(vec![Item::Tensor(tensor)]), fix);
    }
}

/// The axes of the stage with a name near to the one that is not there, or one that a directive made under it.
fn other_name_of_axis(proposals: &mut Proposals<'_>) {
    let graph = proposals.graph;
    let wanted = proposals.sched.word_of(proposals.op, tc_ir::keys::NAME).unwrap_or("");
    let Some(stage) = proposals.stage(0) else { return };
    let data = &graph[stage];
    if let Some(&made) = data.leaves.iter().find(|&&leaf| &*graph[leaf].name == wanted) {
        let text = format!("`{wanted}` is made by a directive: write it without `{}.`", data.name);
        let fix = Fix::new(text, FixEdit::Replace { at: proposals.here(), text: wanted.to_string() });
        return proposals.push(Change::Results(vec![Item::Axis(made)]), fix);
    }
    let near = suggest::nearest(wanted, data.roots().map(|root| &*graph[root].name));
    if let Some(root) = near.and_then(|near| data.roots().find(|&root| &*graph[root].name == near)) {
        let axis = written::axis(graph, root);
        let fix = Fix::new(format!("did you mean `{axis}`?"), FixEdit::Replace { at: proposals.here(), text: axis });
        proposals.push(Change::Results(vec![Item::Axis(root)]), fix);
    }
}
