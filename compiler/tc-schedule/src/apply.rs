//! Runs a schedule: evaluates its parameters' expressions, takes the branches they choose, applies its directives.

use crate::diagnostic::{ScheduleDiagnostic, ScheduleDiagnostics};
use crate::directive::{Cx, Item, Refused, code_list};
use crate::graph::{AxisId, Graph, TensorRef};
use crate::operator::{Define, Operator};
use crate::params::Point;
use crate::primitives::{self, PrimitiveInfo};
use crate::remedy::{Change, LEAVE_OUT, NONE, OTHER_NAME_OF_AXIS, OTHER_STAGE, Patch};
use crate::space::Domain;
use crate::value::eval_op;
use tc_dialects::sched;
use tc_ir::func::Def;
use tc_ir::opdef::Role;
use tc_ir::{Func, Op, Region, Value, keys};
use tc_support::{Diagnostics, suggest};

/// How many directives a schedule may run.
const MAX_DIRECTIVES: usize = 100_000;

/// Is called after each directive with the graph as it stands.
pub(crate) type Observer<'o> = &'o mut dyn FnMut(&Graph, Op);

/// The graph of `operator` under `schedule`, all directives applied. All diagnostics are reported, not just the first.
pub(crate) fn apply(
    operator: &Operator<'_>,
    schedule: Option<&Func>,
    defines: &[Define],
    observe: Option<Observer<'_>>,
) -> Result<Graph, ScheduleDiagnostics> {
    let Some(sched) = schedule else { return Ok(operator.graph()?) };
    let point = Domain::of(operator, sched, defines)?.first()?;
    apply_at(operator, sched, &point, observe).map(|applied| applied.graph)
}

/// What applying a schedule gave.
pub(crate) struct Applied {
    pub(crate) graph: Graph,
    /// What each value of the schedule stands for.
    pub(crate) env: Vec<Item>,
    /// The directives that were applied, in order.
    pub(crate) directives: Vec<Op>,
}

/// The same at a point of the schedule's space.
pub(crate) fn apply_at(
    operator: &Operator<'_>,
    sched: &Func,
    point: &Point,
    observe: Option<Observer<'_>>,
) -> Result<Applied, ScheduleDiagnostics> {
    let mut run = Run::new(operator, sched, point)?;
    run.observe = observe;
    run.body();
    run.end()
}

/// The same with a change to the schedule.
pub(crate) fn apply_changed(
    operator: &Operator<'_>,
    sched: &Func,
    point: &Point,
    patch: &Patch,
) -> Result<Applied, ScheduleDiagnostics> {
    let mut run = Run::new(operator, sched, point)?;
    run.patch = Some(patch);
    run.body();
    if let Change::AtEnd(edit) = &patch.change {
        edit(&mut run.graph);
    }
    run.end()
}

/// What stands before each of the directives `at`: the graph, and what values stand for. Directives that are in error
/// do not end the run.
pub(crate) fn before(operator: &Operator<'_>, sched: &Func, point: &Point, at: &[Op]) -> Vec<(Op, Graph, Vec<Item>)> {
    let Ok(mut run) = Run::new(operator, sched, point) else { return Vec::new() };
    run.watched = at;
    run.body();
    let mut seen = run.seen;
    // A directive that was not reached is looked at with all others applied.
    let missing = at.iter().filter(|op| !seen.iter().any(|(other, _, _)| other == *op));
    let missing: Vec<Op> = missing.copied().collect();
    seen.extend(missing.into_iter().map(|op| (op, run.graph.clone(), run.env.clone())));
    seen
}

struct Run<'a, 'o> {
    operator: &'a Operator<'a>,
    graph: Graph,
    sched: &'a Func,
    env: Vec<Item>,
    found: ScheduleDiagnostics,
    observe: Option<Observer<'o>>,
    /// The conditionals whose branch is being run.
    entered: Vec<Op>,
    directives: Vec<Op>,
    /// What is changed of the schedule.
    patch: Option<&'a Patch>,
    /// The directives before which the state is kept, and what was.
    watched: &'a [Op],
    seen: Vec<(Op, Graph, Vec<Item>)>,
}

impl<'a, 'o> Run<'a, 'o> {
    fn new(operator: &'a Operator<'a>, sched: &'a Func, point: &Point) -> Result<Run<'a, 'o>, Diagnostics> {
        let mut env = vec![Item::Unset; sched.n_value_ids()];
        for (&param, &value) in sched.params().iter().zip(&point.values) {
            env[param.as_u32() as usize] = Item::Int(value);
        }
        Ok(Run {
            operator,
            graph: operator.graph()?,
            sched,
            env,
            found: ScheduleDiagnostics::default(),
            observe: None,
            entered: Vec::new(),
            directives: Vec::new(),
            patch: None,
            watched: &[],
            seen: Vec::new(),
        })
    }

    fn end(self) -> Result<Applied, ScheduleDiagnostics> {
        let Run { graph, env, directives, found, .. } = self;
        found.or(Applied { graph, env, directives })
    }
}

impl Run<'_, '_> {
    /// Runs the body with a stack of its own: branches may be deep.
    fn body(&mut self) {
        let mut worklist: Vec<Option<Op>> = vec![self.sched.first_op(self.sched.body())];
        let mut n_directives = 0;
        while let Some(at) = worklist.pop() {
            let Some(op) = at else { continue };
            if self.sched.opcode(op) == sched::If::OPCODE {
                worklist.push(Some(op));
                if let Some(region) = self.branch(op) {
                    // The conditional comes up again when its branch is done, and then hands on what that yields.
                    self.entered.push(op);
                    worklist.push(self.sched.first_op(region));
                } else {
                    worklist.pop();
                    worklist.push(self.sched.next_op(op));
                }
                continue;
            }
            worklist.push(self.sched.next_op(op));
            n_directives += 1;
            if n_directives > MAX_DIRECTIVES {
                let text = format!("a schedule runs at most {MAX_DIRECTIVES} directives");
                self.found
                    .push(ScheduleDiagnostic::error("schedule-size", self.sched.op_location(op), text).fix_its(NONE));
                return;
            }
            self.step(op);
        }
    }

    /// The branch of `op` to run next; `None` when it has been run, its results being set.
    fn branch(&mut self, op: Op) -> Option<Region> {
        let condition = self.sched.operand(op, 0);
        let taken = match self.item(condition) {
            Item::Int(value) => usize::from(value == 0),
            _ => {
                self.set_results(op, &[]);
                return None;
            }
        };
        let region = self.sched.op_regions(op).get(taken).copied();
        // Branches nest, so the one that was entered last is the first to end.
        let done = self.entered.pop_if(|last| *last == op).is_some();
        match region {
            Some(region) if !done && self.sched.first_op(region).is_some() => Some(region),
            Some(region) => {
                let items: Vec<Item> = self.sched.yielded(region).iter().map(|&value| self.item(value)).collect();
                self.set_results(op, &items);
                None
            }
            None => {
                self.set_results(op, &vec![Item::Undefined; self.sched.n_results(op)]);
                None
            }
        }
    }

    fn item(&self, value: Value) -> Item {
        self.env[value.as_u32() as usize]
    }

    /// Sets what the results of `op` stand for; those without an item are in error.
    fn set_results(&mut self, op: Op, items: &[Item]) {
        for (nth, value) in self.sched.results(op).enumerate() {
            self.env[value.as_u32() as usize] = items.get(nth).copied().unwrap_or(Item::Poison);
        }
    }

    fn step(&mut self, op: Op) {
        if self.watched.contains(&op) {
            self.seen.push((op, self.graph.clone(), self.env.clone()));
        }
        match self.patch {
            Some(patch) => self.step_changed(op, patch),
            None => self.step_as_written(op),
        }
    }

    fn step_changed(&mut self, op: Op, patch: &Patch) {
        match &patch.change {
            // Moved here, with the stages that it names.
            Change::Hoist { before } if *before == op => {
                for &value in self.sched.operands(patch.at) {
                    if let Def::Result(def, _) = self.sched.def(value) {
                        self.step_as_written(def);
                    }
                }
                self.step_as_written(patch.at);
                self.step_as_written(op);
            }
            _ if patch.at != op => self.step_as_written(op),
            Change::Hoist { .. } => {}
            Change::LeaveOut => self.set_results(op, &vec![Item::Undefined; self.sched.n_results(op)]),
            Change::Results(items) => self.set_results(op, items),
            Change::Instead(edit) => {
                edit(&mut self.graph);
                self.set_results(op, &vec![Item::Undefined; self.sched.n_results(op)]);
            }
            Change::Before(edit) => {
                edit(&mut self.graph);
                self.step_as_written(op);
            }
            Change::Operands(operands) => {
                let env = self.env.clone();
                for &(value, item) in operands {
                    self.env[value.as_u32() as usize] = item;
                }
                self.step_as_written(op);
                // Others that use the same values mean what is written.
                for &(value, _) in operands {
                    self.env[value.as_u32() as usize] = env[value.as_u32() as usize];
                }
            }
            Change::AtEnd(_) => self.step_as_written(op),
        }
    }

    fn step_as_written(&mut self, op: Op) {
        let sched = self.sched;
        match sched.role(op) {
            Role::Stage => match self.stage(op) {
                Ok(tensor) => self.set_results(op, &[Item::Tensor(tensor)]),
                Err(error) => self.refuse(op, error),
            },
            _ if is_axis(sched, op) => match self.item(sched.operand(op, 0)) {
                Item::Tensor(tensor) => match self.axis_of(op, tensor) {
                    Ok(axis) => self.set_results(op, &[Item::Axis(axis)]),
                    Err(error) => self.refuse(op, error),
                },
                Item::Undefined => self.set_results(op, &[Item::Undefined]),
                _ => self.set_results(op, &[]),
            },
            Role::Undefined => self.set_results(op, &[Item::Undefined]),
            Role::Yield => {}
            Role::Call => {
                let text = "the calls of a schedule are put in place before it runs (`calls::inline_calls`)";
                let error = ScheduleDiagnostic::error("schedule-call", sched.op_location(op), text);
                self.refuse(op, error.fix_its(NONE));
            }
            _ => match primitives::find(sched.opcode(op)) {
                Some(primitive) => self.directive(op, primitive),
                None => self.number(op),
            },
        }
    }

    fn directive(&mut self, op: Op, primitive: &PrimitiveInfo) {
        let mut cx = Cx {
            operator: self.operator,
            graph: &mut self.graph,
            sched: self.sched,
            at: op,
            by: primitive.name,
            env: &self.env,
        };
        match (primitive.apply)(&mut cx) {
            Ok(results) => {
                self.set_results(op, &results);
                self.directives.push(op);
                if let Some(observe) = &mut self.observe {
                    observe(&self.graph, op);
                }
            }
            Err(Refused::Silently) => self.set_results(op, &[]),
            Err(Refused::With(error)) => self.refuse(op, error),
        }
    }

    fn refuse(&mut self, op: Op, error: ScheduleDiagnostic) {
        self.found.push(error);
        self.set_results(op, &[]);
    }

    /// An op over numbers: the parameters' arithmetic.
    fn number(&mut self, op: Op) {
        let sched = self.sched;
        let items: Vec<Item> = sched.operands(op).iter().map(|&value| self.item(value)).collect();
        let ints: Option<Vec<i64>> =
            items.iter().map(|item| if let Item::Int(int) = item { Some(*int) } else { None }).collect();
        match ints.and_then(|ints| eval_op(sched, op, &ints)) {
            Some(value) => self.set_results(op, &[Item::Int(value)]),
            None if items.contains(&Item::Poison) => self.set_results(op, &[]),
            None if sched.row(op).effect.unknown => {
                let name = sched.row(op).short.unwrap_or(sched.op_name(op));
                let text = format!("`{name}` is a directive for programs, and this schedule is for an operator");
                let error =
                    ScheduleDiagnostic::error("operator-directive", sched.op_location(op), text).fix_its(LEAVE_OUT);
                self.refuse(
                    op,
                    error.fact("an operator's stages have no statements: `compute_at` says where they are computed"),
                );
            }
            None => {
                let text = format!(
                    "`{}` has no value here: it overflows, divides by zero, or is no arithmetic",
                    sched.op_name(op)
                );
                self.refuse(
                    op,
                    ScheduleDiagnostic::error("schedule-number", sched.op_location(op), text).fix_its(NONE),
                );
            }
        }
    }

    fn stage(&self, op: Op) -> Result<TensorRef, ScheduleDiagnostic> {
        let sched = self.sched;
        let name = sched.word_of(op, keys::NAME).unwrap_or("");
        self.graph.tensor_named(name).ok_or_else(|| {
            let text = format!("`@{}` has no stage `{}`", self.operator.te.symbol(), suggest::shorten(name));
            let mut error =
                ScheduleDiagnostic::error("unknown-stage", sched.op_location(op), text).fix_its(OTHER_STAGE);
            error.diagnostic.help = suggest::did_you_mean(name, self.graph.tensor_names());
            error
        })
    }

    /// The axis that `op` names, by its name or by its number.
    fn axis_of(&self, op: Op, tensor: TensorRef) -> Result<AxisId, ScheduleDiagnostic> {
        if self.sched.role(op) == Role::Axis { self.axis(op, tensor) } else { self.nth_axis(op, tensor) }
    }

    /// The axis that `axis(B, 0)` or `reduce_axis(B, 0)` names.
    fn nth_axis(&self, op: Op, tensor: TensorRef) -> Result<AxisId, ScheduleDiagnostic> {
        let (sched, stage) = (self.sched, &self.graph[tensor.stage]);
        let reduce = sched.opcode(op) == sched::REDUCE_AXIS;
        let all: Vec<AxisId> = stage.roots().filter(|&axis| self.graph[axis].reduce == reduce).collect();
        let nth = sched.attr_named(op, "nth").and_then(|attr| sched.as_int(attr));
        let from_first = |nth: i64| if nth < 0 { nth + all.len() as i64 } else { nth };
        let found = nth.and_then(|nth| all.get(usize::try_from(from_first(nth)).ok()?).copied());
        found.ok_or_else(|| {
            let what = if reduce { "reduction axis" } else { "data axis" };
            let names: Vec<&str> = all.iter().map(|&axis| &*self.graph[axis].name).collect();
            let text = format!("`{}` has no {what} number {}", stage.name, nth.unwrap_or_default());
            let error = ScheduleDiagnostic::error("unknown-axis", sched.op_location(op), text).fix_its(NONE);
            let note = match names[..] {
                [] => format!("`{}` has none", stage.name),
                _ => format!("it has {}, counted from 0, or from -1, the last", code_list(&names)),
            };
            error.note(note)
        })
    }

    fn axis(&self, op: Op, tensor: TensorRef) -> Result<AxisId, ScheduleDiagnostic> {
        let sched = self.sched;
        let name = sched.word_of(op, keys::NAME).unwrap_or("");
        let stage = &self.graph[tensor.stage];
        let named = |&axis: &AxisId| &*self.graph[axis].name == name;
        if let Some(axis) = stage.roots().find(named) {
            return Ok(axis);
        }
        // An axis that went elsewhere, such as the reduction that `cache_write` took: whoever uses it is told where.
        let went = (0..self.graph.axes.len() as u32).map(AxisId).find(|axis| {
            let data = &self.graph[*axis];
            data.stage == tensor.stage && data.domain.is_some() && named(axis)
        });
        if let Some(axis) = went {
            return Ok(axis);
        }
        let text = format!("`{}` has no axis `{}`", stage.name, suggest::shorten(name));
        let mut error =
            ScheduleDiagnostic::error("unknown-axis", sched.op_location(op), text).fix_its(OTHER_NAME_OF_AXIS);
        let roots: Vec<&str> = stage.roots().map(|axis| &*self.graph[axis].name).collect();
        let made = stage.leaves.iter().copied().find(named);
        error.diagnostic.help = match made {
            Some(_) => {
                Some(format!("`{}` is made by a directive: write it without `{}.`", suggest::shorten(name), stage.name))
            }
            None => suggest::nearest(name, roots.iter().copied())
                .map(|near| format!("did you mean `{}.{near}`?", stage.name)),
        };
        let note = match roots[..] {
            [] => format!("`{}` has no axes", stage.name),
            _ => format!("the axes of `{}` are {}", stage.name, code_list(&roots)),
        };
        Err(error.note(note))
    }
}

/// Does `op` name an axis of a stage?
fn is_axis(sched: &Func, op: Op) -> bool {
    sched.role(op) == Role::Axis || [sched::DATA_AXIS, sched::REDUCE_AXIS].contains(&sched.opcode(op))
}
