//! Changes that are proposed, and what those who propose them are given.

use super::{Candidate, Change, Edit, Patch};
use crate::directive::Item;
use crate::graph::{Attach, AxisId, Graph, Kind, StageId};
use crate::{primitives, written};
use tc_dialects::sched;
use tc_ir::{Func, Loc, Op, Value};
use tc_support::{Fix, FixEdit, Location};

/// The axes of at most so many loops are proposed.
pub(crate) const MAX_AXES: usize = 12;

/// The diagnostic, as far as a proposal asks.
#[derive(Clone, Copy)]
pub(super) struct About<'a> {
    pub(super) places: &'a [Op],
    pub(super) location: &'a Location,
    pub(super) last: Option<&'a Graph>,
}

/// Changes against a diagnostic, at one of the ops that it names.
pub(crate) struct Proposals<'a> {
    pub(crate) sched: &'a Func,
    /// The op.
    pub(crate) op: Op,
    /// What stands before it: the graph, and what values stand for.
    pub(crate) graph: &'a Graph,
    env: &'a [Item],
    /// All ops that the diagnostic names, the one in question first.
    pub(crate) places: &'a [Op],
    /// Where the diagnostic stands.
    location: &'a Location,
    /// The graph with the whole schedule applied, if it can be.
    pub(crate) last: Option<&'a Graph>,
    pub(super) list: Vec<Candidate>,
}

impl<'a> Proposals<'a> {
    pub(super) fn new(
        sched: &'a Func,
        op: Op,
        (graph, env): (&'a Graph, &'a [Item]),
        About { places, location, last }: About<'a>,
    ) -> Proposals<'a> {
        Proposals { sched, op, graph, env, places, location, last, list: Vec::new() }
    }

    /// Is the op the one in question?
    pub(crate) fn is_first(&self) -> bool {
        self.places.first() == Some(&self.op)
    }

    /// Does it say where a stage is computed?
    pub(crate) fn attaches(&self) -> bool {
        primitives::find(self.sched.opcode(self.op)).is_some_and(|info| info.attaches)
    }

    pub(crate) fn item(&self, value: Value) -> Item {
        self.env.get(value.as_u32() as usize).copied().unwrap_or(Item::Unset)
    }

    fn operand(&self, nth: usize) -> Option<Item> {
        self.sched.operands(self.op).get(nth).map(|&value| self.item(value))
    }

    /// The stage that operand `nth` is.
    pub(crate) fn stage(&self, nth: usize) -> Option<StageId> {
        if let Some(Item::Tensor(tensor)) = self.operand(nth) { Some(tensor.stage) } else { None }
    }

    /// The axis that operand `nth` is.
    pub(crate) fn axis(&self, nth: usize) -> Option<AxisId> {
        if let Some(Item::Axis(axis)) = self.operand(nth) { Some(axis) } else { None }
    }

    /// Proposes a change at the op, as `fix` tells it.
    pub(crate) fn push(&mut self, change: Change, fix: Fix) {
        self.push_at(self.op, change, fix);
    }

    pub(crate) fn push_at(&mut self, at: Op, change: Change, fix: Fix) {
        self.list.push(Candidate { patch: Patch { at, change }, fix });
    }

    /// Where the op stands.
    pub(crate) fn here(&self) -> Location {
        self.sched.op_location(self.op)
    }

    /// Proposes that the op is written as `call`, which `change` makes of it.
    pub(crate) fn rewritten(&mut self, call: String, change: Change) {
        let fix = Fix::new(format!("`{call}`"), FixEdit::Replace { at: self.here(), text: call });
        self.push(change, fix);
    }

    /// Proposes the directive `call` in the place of the op.
    pub(crate) fn instead(&mut self, call: String, edit: impl Fn(&mut Graph) + 'static) {
        let edit: Edit = Box::new(edit);
        self.rewritten(call, Change::Instead(edit));
    }

    /// Proposes the directive `call` at the end, as `title` tells it.
    pub(crate) fn at_end(&mut self, title: String, call: String, edit: impl Fn(&mut Graph) + 'static) {
        let edit: Edit = Box::new(edit);
        let fix = Fix::new(title, FixEdit::InsertAtEnd { at: self.here(), text: call });
        self.push(Change::AtEnd(edit), fix);
    }

    /// Proposes the call with another axis in the place of the last one, if that is the only one.
    pub(crate) fn other_axes(&mut self) {
        let operands = self.sched.operands(self.op);
        let is_axis = |value: &&Value| matches!(self.item(**value), Item::Axis(_));
        let mut values = operands.iter().filter(is_axis);
        let (Some(&value), None) = (values.next_back(), values.next()) else { return };
        let Item::Axis(axis) = self.item(value) else { return };
        let others = if self.attaches() { self.loops_of_readers(axis) } else { self.loops_like(axis) };
        for other in others.into_iter().filter(|&other| other != axis).take(MAX_AXES) {
            let call = self.call_with(value, &written::axis(self.graph, other));
            self.rewritten(call, Change::Operands(vec![(value, Item::Axis(other))]));
        }
    }

    /// The loops that directives made of `axis`, inner parts first; where there are none, the others of its stage, those
    /// of its kind first.
    fn loops_like(&self, axis: AxisId) -> Vec<AxisId> {
        let data = &self.graph[axis];
        let (mut made, mut pending) = (Vec::new(), vec![axis]);
        while let Some(at) = pending.pop() {
            match &self.graph[at].consumed {
                Some(consumed) => pending.extend(consumed.into.iter().copied()),
                None if at != axis && self.graph.leaf_position(at).is_some() => made.push(at),
                None => {}
            }
        }
        if !made.is_empty() {
            return made;
        }
        let leaves = self.graph[data.stage].leaves.iter().copied();
        let mut like: Vec<AxisId> = leaves.filter(|&leaf| self.graph[leaf].kind == Kind::Serial).rev().collect();
        like.sort_by_key(|&leaf| self.graph[leaf].reduce != data.reduce);
        like
    }

    /// The loops of the stages that read the stage that the directive attaches: those of the stage it names first, then from the
    /// inside out.
    fn loops_of_readers(&self, axis: AxisId) -> Vec<AxisId> {
        let Some(stage) = self.stage(0) else { return Vec::new() };
        let owner = self.graph[axis].stage;
        let depends = |&reader: &StageId| reader != stage && self.graph.depends_on(reader, stage);
        let mut readers: Vec<StageId> = self.graph.order.iter().copied().filter(depends).collect();
        let inlined = |reader: &StageId| self.graph[*reader].attach == Attach::Inline;
        readers.retain(|reader| !inlined(reader));
        readers.sort_by_key(|&reader| (reader != owner, !self.graph.reads(reader, stage)));
        readers.into_iter().flat_map(|reader| self.graph[reader].leaves.iter().rev().copied()).collect()
    }

    /// The call with `text` in the place of the operand `value`.
    pub(crate) fn call_with(&self, value: Value, text: &str) -> String {
        let show = |operand: Value| if operand == value { text.to_string() } else { self.shown(operand) };
        written::call(self.sched, self.op, &show)
    }

    fn shown(&self, value: Value) -> String {
        match self.item(value) {
            Item::Axis(axis) => written::axis(self.graph, axis),
            Item::Tensor(tensor) => self.graph[tensor.stage].tensors[tensor.result as usize].name.to_string(),
            Item::Int(int) => int.to_string(),
            _ => self.sched.value_text(value).to_string(),
        }
    }

    /// The stage that the op makes, or else the first that it names, and the graph at the end of the schedule; unless
    /// nothing computes it, or the caller has its buffer.
    pub(crate) fn stage_at_end(&self) -> Option<(StageId, &'a Graph)> {
        let graph = self.last?;
        let made = graph.order.iter().copied().find(|&stage| {
            graph[stage].made_by != Loc::NONE
                && self.sched.location(graph[stage].made_by) == *self.location
                && self.sched.opcode(self.op) != sched::If::OPCODE
        });
        let named = || self.stage(0).or_else(|| self.axis(0).map(|axis| graph[axis].stage));
        let stage = made.or_else(named)?;
        (!graph[stage].output && !graph[stage].is_arg()).then_some((stage, graph))
    }
}

/// The loops of the stages that read `stage`, from the inside out.
pub(crate) fn loops_of_readers(graph: &Graph, stage: StageId) -> Vec<AxisId> {
    let readers = graph.consumers(stage).filter(|&reader| graph[reader].attach != Attach::Inline);
    readers.flat_map(|reader| graph[reader].leaves.iter().rev().copied()).take(MAX_AXES).collect()
}
