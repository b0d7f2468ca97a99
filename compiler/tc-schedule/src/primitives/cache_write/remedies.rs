//! What is proposed for a cache that comes too late.

use crate::remedy::{Change, Proposals};
use crate::written;
use tc_ir::Op;
use tc_ir::opdef::Role;
use tc_support::{Fix, FixEdit};

/// The directive before the one that came too early.
pub(super) fn hoist(proposals: &mut Proposals<'_>) {
    let sched = proposals.sched;
    let is_directive = |op: &&Op| !matches!(sched.role(**op), Role::Stage | Role::Axis);
    let mut directives = proposals.places.iter().filter(is_directive);
    if directives.next() != Some(&proposals.op) {
        return;
    }
    if let Some(&before) = directives.next() {
        let text = format!("write it before that {}", written::directive(sched, before));
        let edit = FixEdit::Move { at: proposals.here(), before: sched.op_location(before) };
        proposals.push(Change::Hoist { before }, Fix::new(text, edit));
    }
}
