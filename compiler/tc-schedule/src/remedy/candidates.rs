//! What might be changed, by what was found and by the directive it is about.

use super::{Candidate, Change, Edit, Patch, Remedy};
use crate::directive::Item;
use crate::graph::{Attach, AxisId, Graph, Kind, StageId};
use crate::scope::Scope;
use crate::written;
use tc_dialects::sched;
use tc_dialects::tir::Coordinate;
use tc_ir::opdef::Role;
use tc_ir::{Op, Value};
use tc_support::{Diagnostic, suggest};

/// What stood before a directive.
type State = (Op, Graph, Vec<Item>);

/// The axes of at most so many loops are proposed.
const MAX_AXES: usize = 12;

struct Proposing<'a> {
    remedy: &'a Remedy<'a>,
    op: Op,
    graph: &'a Graph,
    env: &'a [Item],
    list: Vec<Candidate>,
}

impl Remedy<'_> {
    /// Changes that might answer `one`, which stands at the ops `places`; the likely ones first.
    pub(super) fn candidates(
        &self,
        one: &Diagnostic,
        places: &[Op],
        states: &[State],
        last: Option<&Graph>,
    ) -> Vec<Candidate> {
        let mut list = Vec::new();
        for &op in places {
            let Some((_, graph, env)) = states.iter().find(|(at, _, _)| *at == op) else { continue };
            let mut proposing = Proposing { remedy: self, op, graph, env, list: Vec::new() };
            proposing.by_finding(one, places, last);
            list.append(&mut proposing.list);
        }
        list
    }
}

impl Proposing<'_> {
    fn by_finding(&mut self, one: &Diagnostic, places: &[Op], last: Option<&Graph>) {
        let is_first = places.first() == Some(&self.op);
        match one.code {
            "unknown-stage" => self.other_stage(),
            "unknown-axis" => self.other_axis(),
            "not-adjacent" => self.order_first(),
            "axis-twice" => self.once(),
            "cache-late" => self.hoist(places),
            "said-twice" | "directive-unused" | "inline-results" | "inline-output" | "scope-output"
            | "align-output" | "stages-loop" | "stages-output" | "layout-output" => {
                self.leave_out(places.first());
            }
            "bound-twice" if is_first => self.other_coordinate(),
            "inline-reduction" => {
                self.attach_instead();
                self.leave_out(places.first());
            }
            "factor" | "schedule-type" | "schedule-number" | "schedule-size" | "inline-size" => {}
            "bind-extents" => {
                self.operand_axes();
                self.wider_split(places, last);
            }
            "attach-outside" if is_first => {
                self.operand_axes();
                self.root_instead();
            }
            "scope-root" | "reduction-shared" | "global-in-kernel" => self.operand_axes_or_attach(one, last),
            "no-reader" => self.readers(),
            _ if is_first => {
                self.operand_axes();
                if matches!(one.code, "scope-too-narrow" | "attach-output") {
                    self.leave_out(places.first());
                }
            }
            _ => {}
        }
    }

    fn name(&self) -> &'static str {
        let row = self.remedy.sched.row(self.op);
        row.short.unwrap_or(row.name)
    }

    fn item(&self, value: Value) -> Item {
        self.env.get(value.as_u32() as usize).copied().unwrap_or(Item::Unset)
    }

    fn stage(&self, nth: usize) -> Option<StageId> {
        match self.item(*self.remedy.sched.operands(self.op).get(nth)?) {
            Item::Tensor(tensor) => Some(tensor.stage),
            _ => None,
        }
    }

    fn axis(&self, nth: usize) -> Option<AxisId> {
        match self.item(*self.remedy.sched.operands(self.op).get(nth)?) {
            Item::Axis(axis) => Some(axis),
            _ => None,
        }
    }

    fn push(&mut self, change: Change, text: String) {
        self.list.push(Candidate { patch: Patch { at: self.op, change }, text });
    }

    fn leave_out(&mut self, first: Option<&Op>) {
        let sched = self.remedy.sched;
        let which = match first {
            Some(&first) if first == self.op => "this",
            Some(&first) if sched.opcode(first) == sched.opcode(self.op) => "the other",
            _ => "the",
        };
        let text = format!("leave out {which} {}", written::directive(sched, self.op));
        self.push(Change::LeaveOut, text);
    }

    /// The stages of the operator with a name near to the one that is not there.
    fn other_stage(&mut self) {
        let sched = self.remedy.sched;
        let wanted = sched.word_of(self.op, tc_ir::keys::NAME).unwrap_or("");
        let near = suggest::nearest(wanted, self.graph.tensor_names()).map(str::to_string);
        if let Some(near) = near
            && let Some(tensor) = self.graph.tensor_named(&near)
        {
            self.push(Change::Results(vec![Item::Tensor(tensor)]), format!("did you mean `{near}`?"));
        }
    }

    /// The axes of the stage with a name near to the one that is not there, or one that a directive made under it.
    fn other_axis(&mut self) {
        let sched = self.remedy.sched;
        let wanted = sched.word_of(self.op, tc_ir::keys::NAME).unwrap_or("");
        let Some(stage) = self.stage(0) else { return };
        let data = &self.graph[stage];
        if let Some(&made) = data.leaves.iter().find(|&&leaf| &*self.graph[leaf].name == wanted) {
            let text = format!("`{wanted}` is made by a directive: write it without `{}.`", data.name);
            self.push(Change::Results(vec![Item::Axis(made)]), text);
            return;
        }
        let roots: Vec<AxisId> = data.roots().collect();
        let near = suggest::nearest(wanted, roots.iter().map(|&root| &*self.graph[root].name));
        if let Some(root) = near.and_then(|near| roots.iter().find(|&&root| &*self.graph[root].name == near)) {
            let text = format!("did you mean `{}`?", written::axis(self.graph, *root));
            self.push(Change::Results(vec![Item::Axis(*root)]), text);
        }
    }

    /// The call with another axis in the place of the last one that is an operand.
    fn operand_axes(&mut self) {
        let remedy = self.remedy;
        let operands = remedy.sched.operands(self.op);
        let is_axis = |value: &&Value| matches!(self.item(**value), Item::Axis(_));
        let mut values = operands.iter().filter(is_axis);
        let (Some(&value), None) = (values.next_back(), values.next()) else { return };
        let Item::Axis(axis) = self.item(value) else { return };
        let others = if self.name() == "compute_at" { self.loops_of_readers(axis) } else { self.loops_like(axis) };
        for other in others.into_iter().filter(|&other| other != axis).take(MAX_AXES) {
            let text = self.call_with(value, &written::axis(self.graph, other));
            self.push(Change::Operands(vec![(value, Item::Axis(other))]), text);
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

    /// The loops of the stages that read the stage of a `compute_at`: those of the stage it names first, then from the
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
    fn call_with(&self, value: Value, text: &str) -> String {
        let show = |operand: Value| if operand == value { text.to_string() } else { self.shown(operand) };
        format!("`{}`", written::call(self.remedy.sched, self.op, &show))
    }

    fn shown(&self, value: Value) -> String {
        match self.item(value) {
            Item::Axis(axis) => written::axis(self.graph, axis),
            Item::Tensor(tensor) => self.graph[tensor.stage].tensors[tensor.result as usize].name.to_string(),
            Item::Int(int) => int.to_string(),
            _ => self.remedy.sched.value_text(value).to_string(),
        }
    }

    /// `fuse` of loops that are not adjacent: in the order in which they stand, or after a `reorder`.
    fn order_first(&mut self) {
        let operands: Vec<Value> = self.remedy.sched.operands(self.op).to_vec();
        let axes: Vec<AxisId> = (0..operands.len()).filter_map(|nth| self.axis(nth)).collect();
        let Some(&first) = axes.first() else { return };
        let stage = self.graph[first].stage;
        let leaves = &self.graph[stage].leaves;
        let position = |axis: &AxisId| leaves.iter().position(|leaf| leaf == axis);
        let mut sorted = axes.clone();
        sorted.sort_by_key(position);
        if axes.len() != operands.len() || sorted.windows(2).any(|pair| pair[0] == pair[1]) {
            return;
        }
        if sorted != axes {
            let text = format!("`fuse({})`", written::axes(self.graph, &sorted));
            let items = operands.iter().copied().zip(sorted.iter().map(|&axis| Item::Axis(axis))).collect();
            self.push(Change::Operands(items), text);
        }
        let (Some(low), Some(high)) = (position(&sorted[0]), sorted.last().and_then(position)) else { return };
        let between = leaves[low..=high].iter().copied().filter(|leaf| !axes.contains(leaf));
        let span: Vec<AxisId> = axes.iter().copied().chain(between).collect();
        let mut order = leaves.clone();
        order.splice(low..=high, span.iter().copied());
        let text = format!("`reorder({})` before it", written::axes(self.graph, &span));
        self.push(Change::Before(Edit::Order(stage, order)), text);
    }

    /// A list that names an axis twice, without the second time.
    fn once(&mut self) {
        if self.name() != "reorder" {
            return;
        }
        let n = self.remedy.sched.operands(self.op).len();
        let mut axes: Vec<AxisId> = Vec::new();
        for nth in 0..n {
            match self.axis(nth) {
                Some(axis) if axes.contains(&axis) => {}
                Some(axis) => axes.push(axis),
                None => return,
            }
        }
        let Some(&first) = axes.first() else { return };
        let stage = self.graph[first].stage;
        let mut next = axes.iter();
        let order: Option<Vec<AxisId>> = self.graph[stage]
            .leaves
            .iter()
            .map(|leaf| if axes.contains(leaf) { next.next().copied() } else { Some(*leaf) })
            .collect();
        let text = if axes.len() == 1 {
            "leave it out".to_string()
        } else {
            format!("`reorder({})`", written::axes(self.graph, &axes))
        };
        if let Some(order) = order {
            self.push(Change::Instead(Edit::Order(stage, order)), text);
        }
    }

    /// The directive before the one that came too early.
    fn hoist(&mut self, places: &[Op]) {
        let sched = self.remedy.sched;
        let is_directive = |op: &&Op| !matches!(sched.role(**op), Role::Stage | Role::Axis);
        let mut directives = places.iter().filter(is_directive);
        if directives.next() != Some(&self.op) {
            return;
        }
        if let Some(&before) = directives.next() {
            let text = format!("write it before that {}", written::directive(sched, before));
            self.push(Change::Hoist { before }, text);
        }
    }

    fn other_coordinate(&mut self) {
        let Some(axis) = self.axis(0) else { return };
        let word = self.remedy.sched.attr_named(self.op, "thread").and_then(|attr| self.remedy.sched.as_word(attr));
        let Some(coordinate) = word.and_then(Coordinate::parse) else { return };
        for other in Coordinate::ALL.into_iter().filter(|other| other.is_thread() == coordinate.is_thread()) {
            if other != coordinate {
                let text = format!("`bind({}, {})`", written::axis(self.graph, axis), other.name());
                self.push(Change::Instead(Edit::Kind(axis, Kind::Launch(other))), text);
            }
        }
    }

    /// `compute_at` in the place of an `inline`.
    fn attach_instead(&mut self) {
        let Some(stage) = self.stage(0) else { return };
        for axis in self.reader_leaves(stage, self.graph) {
            let text =
                format!("`compute_at({}, {})`", written::stage(self.graph, stage), written::axis(self.graph, axis));
            self.push(Change::Instead(Edit::Attach(stage, axis)), text);
        }
    }

    /// `compute_root` in the place of a `compute_at`.
    fn root_instead(&mut self) {
        if let Some(stage) = self.stage(0)
            && self.name() == "compute_at"
        {
            let text = format!("`compute_root({})`", written::stage(self.graph, stage));
            self.push(Change::Instead(Edit::Root(stage)), text);
        }
    }

    /// The loops of the stages that read `stage`, from the inside out.
    fn reader_leaves(&self, stage: StageId, graph: &Graph) -> Vec<AxisId> {
        let readers = graph.consumers(stage).filter(|&reader| graph[reader].attach != Attach::Inline);
        readers.flat_map(|reader| graph[reader].leaves.iter().rev().copied()).take(MAX_AXES).collect()
    }

    /// A stage that lies where it is of no use: attached at another loop, or lying in global memory, or bound.
    fn operand_axes_or_attach(&mut self, one: &Diagnostic, last: Option<&Graph>) {
        if self.name() == "compute_at" {
            self.operand_axes();
        }
        let Some(graph) = last else { return };
        // The stage is the one that the directive makes, or the first that it names.
        let made = graph.order.iter().copied().find(|&stage| {
            graph[stage].made_by != tc_ir::Loc::NONE
                && self.remedy.sched.location(graph[stage].made_by) == one.location
                && self.remedy.sched.opcode(self.op) != sched::If::OPCODE
        });
        let Some(stage) = made.or_else(|| self.stage(0)).or_else(|| self.axis(0).map(|axis| graph[axis].stage)) else {
            return;
        };
        if graph[stage].output || graph[stage].is_arg() {
            return;
        }
        if self.name() != "compute_at" {
            for axis in self.reader_leaves(stage, graph) {
                let text = format!(
                    "`compute_at({}, {})` at the end",
                    written::stage(graph, stage),
                    written::axis(graph, axis)
                );
                self.push(Change::AtEnd(Edit::Attach(stage, axis)), text);
            }
        }
        for scope in [Scope::Local, Scope::Shared, Scope::Global] {
            if graph.scope_of(stage) != scope {
                let text = format!("`set_scope({}, {})`", written::stage(graph, stage), scope.name());
                self.push(Change::AtEnd(Edit::Scope(stage, scope)), text);
            }
        }
        if one.code == "global-in-kernel" {
            let text = format!("`compute_root({})`", written::stage(graph, stage));
            self.push(Change::AtEnd(Edit::Root(stage)), text);
        }
    }

    /// The split that made a loop too short for the launch, with the launch's extent.
    fn wider_split(&mut self, places: &[Op], last: Option<&Graph>) {
        let (Some(graph), remedy) = (last, self.remedy) else { return };
        let Some(axis) = self.axis(0) else { return };
        // The other one that is bound to the same coordinate has the extent.
        let mine = |op: &Op| *op != self.op && remedy.sched.opcode(*op) == sched::Bind::OPCODE;
        if !places.iter().any(mine) || axis.idx() >= graph.axes.len() {
            return;
        }
        let made = graph[axis].made_by;
        let split = tc_ir::walk::all_ops(remedy.sched)
            .find(|&op| remedy.sched.op_locs(op).source == made && remedy.sched.opcode(op) == sched::Split::OPCODE);
        let Some(split) = split else { return };
        let Some(&factor) = remedy.sched.operands(split).get(1) else { return };
        let key = if remedy.sched.param_operands(split, 1).is_empty() { "nparts" } else { "factor" };
        for extent in self.bound_extents(graph, axis) {
            let text = format!("split by `{key} = {extent}` where `{}` is made", graph[axis].name);
            let patch = Patch { at: split, change: Change::Operands(vec![(factor, Item::Int(extent))]) };
            self.list.push(Candidate { patch, text });
        }
    }

    /// The factors by which other loops were split that are bound as `axis` is.
    fn bound_extents(&self, graph: &Graph, axis: AxisId) -> Vec<i64> {
        let kind = graph[axis].kind;
        let mut extents = Vec::new();
        for stage in &graph.stages {
            for relation in &stage.relations {
                if let crate::graph::Relation::Split { outer, inner, factor, nparts, .. } = *relation {
                    let given = if nparts { outer } else { inner };
                    if given != axis && graph[given].kind == kind && !extents.contains(&factor) {
                        extents.push(factor);
                    }
                }
            }
        }
        extents
    }

    /// `cache_read` for those that read the tensor.
    fn readers(&mut self) {
        let remedy = self.remedy;
        let Some(Item::Tensor(tensor)) = remedy.sched.operands(self.op).first().map(|&value| self.item(value)) else {
            return;
        };
        let [reader] = remedy.sched.param_operands(self.op, 2) else { return };
        let reads = |&stage: &StageId| self.graph[stage].reads.iter().any(|read| read.from == tensor);
        let all: Vec<StageId> = self.graph.order.iter().copied().filter(reads).take(MAX_AXES).collect();
        for stage in all {
            let item = Item::Tensor(crate::graph::TensorRef { stage, result: 0 });
            let text = self.call_with(*reader, &written::stage(self.graph, stage));
            self.push(Change::Operands(vec![(*reader, item)]), text);
        }
    }
}
