//! What a primitive is given: the graph, the directive, and what its operands stand for.
//!
//! The checks that primitives share live here, so that all say the same: the line, the stage, the axis, and what would
//! have been legal.

use crate::diagnostic::ScheduleDiagnostic;
use crate::graph::{Attach, Axis, AxisId, Graph, Kind, Source, StageId, Tensor, TensorRef};
use crate::operator::Operator;
use crate::remedy::{LEAVE_OUT, NONE};
use crate::scope::Scope;
use tc_ir::attrs::AttrData;
use tc_ir::{Func, Loc, Name, Op, Type, Value, keys};
use tc_support::{Diagnostic, Location, suggest};

/// What a value of a schedule stands for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Item {
    /// Nothing yet.
    Unset,
    /// What a directive in error would have given: no further errors about it.
    Poison,
    /// A name that the branch taken does not bind.
    Undefined,
    Tensor(TensorRef),
    Axis(AxisId),
    Int(i64),
}

/// Why a directive was not applied.
pub(crate) enum Refused {
    /// An operand is missing because of an error that was reported.
    Silently,
    With(ScheduleDiagnostic),
}

impl From<ScheduleDiagnostic> for Refused {
    fn from(error: ScheduleDiagnostic) -> Refused {
        Refused::With(error)
    }
}

impl From<Diagnostic> for Refused {
    fn from(diagnostic: Diagnostic) -> Refused {
        Refused::With(diagnostic.into())
    }
}

pub(crate) type Done<T> = Result<T, Refused>;

/// A directive on its way into the graph.
pub(crate) struct Cx<'a> {
    pub(crate) operator: &'a Operator<'a>,
    pub(crate) graph: &'a mut Graph,
    pub(crate) sched: &'a Func,
    /// The directive.
    pub(crate) at: Op,
    /// Its name.
    pub(crate) by: &'static str,
    pub(crate) env: &'a [Item],
}

impl Cx<'_> {
    /// Where the directive stands.
    pub(crate) fn loc(&self) -> Loc {
        self.sched.op_locs(self.at).source
    }

    pub(crate) fn location(&self, loc: Loc) -> Location {
        self.sched.location(loc)
    }

    pub(crate) fn error(&self, code: &'static str, text: impl Into<String>) -> ScheduleDiagnostic {
        ScheduleDiagnostic::error(code, self.location(self.loc()), text)
    }

    /// Refuses operands or attributes of the wrong kind.
    pub(crate) fn mistyped(&self, text: impl Into<String>) -> ScheduleDiagnostic {
        self.error("schedule-type", text).fix_its(NONE)
    }

    /// Refuses a number.
    pub(crate) fn wrong_number(&self, text: impl Into<String>) -> ScheduleDiagnostic {
        self.error("factor", text).fix_its(NONE)
    }

    /// Refuses to say twice how something is.
    pub(crate) fn said_twice(&self, text: impl Into<String>) -> ScheduleDiagnostic {
        self.error("said-twice", text).help("leave out one of the two").fix_its(LEAVE_OUT)
    }

    /// The operand at parameter `param` of the row.
    pub(crate) fn param(&self, param: usize) -> Option<Value> {
        self.sched.param_operands(self.at, param).first().copied()
    }

    /// Operand `nth`, which the row has.
    pub(crate) fn operand(&self, nth: usize) -> Value {
        self.sched.operand(self.at, nth)
    }

    fn item(&self, value: Value) -> Done<Item> {
        match self.env[value.as_u32() as usize] {
            Item::Poison => Err(Refused::Silently),
            Item::Undefined | Item::Unset => {
                let name = suggest::shorten(self.sched.value_text(value));
                let what = if name.is_empty() { "a name here".to_string() } else { format!("`{name}`") };
                let text = format!("{what} is bound in a branch that these parameters do not take");
                Err(self.error("undefined-name", text).help("bind it in the other branch too").into())
            }
            item => Ok(item),
        }
    }

    fn takes(&self, what: &str) -> Refused {
        self.mistyped(format!("`{}` takes {what} here", self.by)).into()
    }

    pub(crate) fn tensor(&self, value: Value) -> Done<TensorRef> {
        match self.item(value)? {
            Item::Tensor(tensor) => Ok(tensor),
            _ => Err(self.takes("a stage")),
        }
    }

    pub(crate) fn stage(&self, value: Value) -> Done<StageId> {
        self.tensor(value).map(|tensor| tensor.stage)
    }

    /// A stage that must be computed.
    pub(crate) fn computed(&self, value: Value) -> Done<StageId> {
        let stage = self.stage(value)?;
        self.check_computed(stage)?;
        Ok(stage)
    }

    pub(crate) fn axis(&self, value: Value) -> Done<AxisId> {
        match self.item(value)? {
            Item::Axis(axis) => Ok(axis),
            _ => Err(self.takes("an axis")),
        }
    }

    pub(crate) fn int(&self, value: Value) -> Done<i64> {
        match self.item(value)? {
            Item::Int(int) => Ok(int),
            _ => Err(self.takes("an integer")),
        }
    }

    /// A number that must be at least 1, such as a factor.
    pub(crate) fn positive(&self, value: Value, what: &str) -> Done<i64> {
        let int = self.int(value)?;
        if int >= 1 {
            return Ok(int);
        }
        Err(self.wrong_number(format!("the {what} of `{}` must be at least 1, not {int}", self.by)).into())
    }

    /// The word or string attribute `key`.
    pub(crate) fn word(&self, key: Name) -> &str {
        self.sched.word_of(self.at, key).unwrap_or("")
    }

    /// An attribute that is a number or a truth value.
    pub(crate) fn flag(&self, key: &str) -> Option<bool> {
        match self.sched.attr_data(self.sched.attr_named(self.at, key)?) {
            AttrData::Bool(value) => Some(*value),
            AttrData::Unit => Some(true),
            AttrData::Int(value, _) => Some(*value != 0),
            _ => None,
        }
    }

    /// Does `value` stand for a stage?
    pub(crate) fn is_stage(&self, value: Value) -> bool {
        matches!(self.env[value.as_u32() as usize], Item::Tensor(_))
    }

    /// The author's names of the results.
    pub(crate) fn result_name(&self, nth: usize) -> Option<&str> {
        let value = self.sched.results(self.at).nth(nth)?;
        let name = self.sched.value_text(value);
        (!name.is_empty() && name != "_").then_some(name)
    }

    /// `axis` for a message: `B.i`.
    pub(crate) fn show(&self, axis: AxisId) -> String {
        show_axis(self.graph, axis)
    }

    /// An axis that must be a leaf of its stage.
    pub(crate) fn leaf(&self, value: Value) -> Done<AxisId> {
        let axis = self.axis(value)?;
        self.check_leaf(axis)?;
        Ok(axis)
    }

    /// Refuses an axis that a directive made others of.
    pub(crate) fn check_leaf(&self, axis: AxisId) -> Done<()> {
        let data = &self.graph[axis];
        if let Some(consumed) = &data.consumed {
            let name = |&into: &AxisId| match &self.graph[into] {
                other if other.stage == data.stage => other.name.to_string(),
                _ => self.show(into),
            };
            let became: Vec<String> = consumed.into.iter().map(name).collect();
            let became: Vec<&str> = became.iter().map(String::as_str).collect();
            let text = format!(
                "`{}` is no loop any more: `{}` made {} of it",
                self.show(axis),
                consumed.by,
                code_list(&became)
            );
            let place = self.location(consumed.loc);
            let error = self.error("axis-consumed", text).label(place, format!("`{}` takes it here", consumed.by));
            return Err(error.help(format!("use {}", one_of(&became))).into());
        }
        if self.graph.leaf_position(axis).is_none() {
            let stage = &self.graph[data.stage];
            if stage.is_arg() {
                let text = format!("`{}` is an argument: it is not computed, so it has no loops", stage.name);
                let help = format!("`cache_read({}, …)` makes a stage that copies it", stage.name);
                return Err(self.error("not-computed", text).fact(help).into());
            }
            let text = format!("`{}` is no loop of `{}`", self.show(axis), stage.name);
            return Err(self.error("axis-consumed", text).help(self.loops_of(data.stage)).into());
        }
        Ok(())
    }

    /// `the loops of `B` are `i`, `j``.
    pub(crate) fn loops_of(&self, stage: StageId) -> String {
        loops_of(self.graph, stage)
    }

    /// Refuses to take the loop of `axis` apart once a directive has said how it runs.
    pub(crate) fn check_plain(&self, axis: AxisId) -> Done<()> {
        let data = &self.graph[axis];
        if data.is_plain() {
            return Ok(());
        }
        let text = format!(
            "`{}` takes `{}`, of whose loop a directive has spoken; nothing would consume that directive",
            self.by,
            self.show(axis)
        );
        let place = self.location(data.kind_loc);
        let error = self.error("directive-unused", text).label(place, "this directive would be lost");
        Err(error.help(format!("write `{}` first", self.by)).fix_its(LEAVE_OUT).into())
    }

    /// Refuses a loop of which a directive has said how it runs.
    pub(crate) fn check_unsaid(&self, axis: AxisId) -> Done<()> {
        let data = &self.graph[axis];
        if data.kind == Kind::Serial {
            return Ok(());
        }
        let text = format!("how `{}` runs was said before", self.show(axis));
        Err(self.said_twice(text).label(self.location(data.kind_loc), "here").into())
    }

    /// Says how the loop of `axis` runs.
    pub(crate) fn set_kind(&mut self, axis: AxisId, kind: Kind) {
        let loc = self.loc();
        let data = &mut self.graph[axis];
        (data.kind, data.kind_loc) = (kind, loc);
        let stage = data.stage;
        self.touch(stage);
    }

    /// Refuses a stage that is an argument.
    pub(crate) fn check_computed(&self, stage: StageId) -> Done<()> {
        let data = &self.graph[stage];
        if !data.is_arg() {
            return Ok(());
        }
        let text = format!("`{}` is an argument of the operator: nothing computes it", data.name);
        let computed: Vec<&str> = self
            .graph
            .order
            .iter()
            .map(|&stage| &self.graph[stage])
            .filter(|stage| !stage.is_arg())
            .map(|stage| &*stage.name)
            .collect();
        Err(self.error("not-computed", text).fact(format!("the stages are {}", code_list(&computed))).into())
    }

    /// Puts `axis` out of use: `into` are made of it.
    pub(crate) fn consume(&mut self, axis: AxisId, into: Vec<AxisId>) {
        let (loc, by) = (self.loc(), self.by);
        self.graph[axis].consumed = Some(crate::graph::Consumed { loc, by, into });
    }

    /// A new axis of the stage of `like`, named by result `nth` or else after `like`.
    pub(crate) fn derived_axis(&mut self, like: AxisId, nth: usize, suffix: &str) -> AxisId {
        let Axis { stage, reduce, .. } = self.graph[like];
        let name = match self.result_name(nth) {
            Some(name) => name.to_string(),
            None => format!("{}_{suffix}", self.graph[like].name),
        };
        let loc = self.loc();
        self.graph.add_axis(stage, &name, reduce, None, loc)
    }

    /// A stage made by this directive, named by its result; without axes, and not in the order yet.
    pub(crate) fn new_stage(&mut self, source: Source, loc: Loc, elems: &[Type], fallback: &str) -> StageId {
        let name = self.result_name(0).unwrap_or(fallback).to_string();
        let tensors = elems.iter().enumerate().map(|(nth, &elem)| {
            let name = if nth == 0 { name.clone() } else { format!("{name}_{nth}") };
            Tensor { name: name.into(), elem }
        });
        let tensors: Vec<Tensor> = tensors.collect();
        let made_by = self.loc();
        let stage = self.graph.add_stage(&name, source, tensors, loc);
        self.graph[stage].made_by = made_by;
        stage
    }

    /// The same in `scope`, for what `of` holds.
    pub(crate) fn new_cache(&mut self, of: StageId, scope: Scope, source: Source, elems: &[Type]) -> StageId {
        let data = &self.graph[of];
        let (fallback, loc) = (format!("{}_{}", data.name, scope.name().replace('.', "_")), data.loc);
        let stage = self.new_stage(source, loc, elems, &fallback);
        self.graph[stage].scope = Some(scope);
        stage
    }

    /// Says where `stage` is computed.
    pub(crate) fn attach(&mut self, stage: StageId, attach: Attach) {
        let loc = self.loc();
        let data = &mut self.graph[stage];
        (data.attach, data.attach_loc) = (attach, loc);
    }

    /// Notes that the directive speaks of the loops or the buffer of `stage`.
    pub(crate) fn touch(&mut self, stage: StageId) {
        let (loc, by) = (self.loc(), self.by);
        self.graph.touch(stage, loc, by);
    }

    /// The same of `axis`, where it says something of its loop besides how it runs.
    pub(crate) fn touch_loop(&mut self, axis: AxisId) {
        let loc = self.loc();
        let data = &mut self.graph[axis];
        if data.kind_loc == Loc::NONE {
            data.kind_loc = loc;
        }
        let stage = data.stage;
        self.touch(stage);
    }

    /// The scope that the directive names.
    pub(crate) fn scope(&self) -> Done<Scope> {
        let word = self.word(keys::SCOPE);
        Scope::parse(word).ok_or_else(|| {
            let mut error = self.error("scope", format!("there is no scope `{}`", suggest::shorten(word)));
            error.diagnostic.help = suggest::did_you_mean(word, Scope::ALL.map(Scope::name));
            error.into()
        })
    }
}

/// `axis` for a message: `B.i`.
pub(crate) fn show_axis(graph: &Graph, axis: AxisId) -> String {
    let data = &graph[axis];
    format!("{}.{}", graph[data.stage].name, data.name)
}

pub(crate) fn loops_of(graph: &Graph, stage: StageId) -> String {
    let data = &graph[stage];
    let names = graph.names(&data.leaves);
    match names[..] {
        [] => format!("`{}` has no loops", data.name),
        _ => format!("the loops of `{}` are {}", data.name, code_list(&names)),
    }
}

/// `` `a`, `b` and `c` ``
pub(crate) fn code_list(names: &[&str]) -> String {
    listed(names, "and")
}

/// `` `a`, `b` or `c` ``
pub(crate) fn one_of(names: &[&str]) -> String {
    listed(names, "or")
}

fn listed(names: &[&str], join: &str) -> String {
    // A hostile graph has thousands; a message does not.
    const MAX: usize = 24;
    let quoted: Vec<String> = names.iter().take(MAX).map(|name| format!("`{}`", suggest::shorten(name))).collect();
    let more = names.len().saturating_sub(MAX);
    match quoted.split_last() {
        None => "nothing".to_string(),
        Some((last, [])) => last.clone(),
        Some(_) if more > 0 => format!("{} and {more} more", quoted.join(", ")),
        Some((last, rest)) => format!("{} {join} {last}", rest.join(", ")),
    }
}
