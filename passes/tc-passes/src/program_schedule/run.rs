//! Runs a schedule over a program: takes the branches that parameters choose, applies the directives.

use super::cx::{Cx, Refused};
use super::dependences::Serial;
use super::instances::violation;
use super::primitives::{self, Directive, explained};
use super::{Item, Program};
use crate::analysis::launch::coordinate;
use rustc_hash::FxHashMap;
use tc_dialects::sched;
use tc_ir::opdef::Role;
use tc_ir::walk::all_ops;
use tc_ir::{Func, Op, Region, Rewriter, Value, effects, verify};
use tc_schedule::{Point, eval_number};
use tc_support::{Diagnostic, Diagnostics, Fault};

/// How many directives a schedule may run.
const MAX_DIRECTIVES: usize = 10_000;

/// Is called after each directive with the program as it stands.
type Observer<'o> = &'o mut dyn FnMut(&Func, Op);

/// The program `func` under `sched` at a point of its space. All diagnostics are reported, not just the first.
pub(crate) fn schedule(func: &Func, sched: &Func, point: &Point) -> Result<Func, Diagnostics> {
    Run::new(func, sched, point)?.end(None)
}

/// The program after each directive, with the directive.
pub(crate) fn trace(func: &Func, sched: &Func, point: &Point) -> Result<Vec<(Op, Func)>, Diagnostics> {
    let mut steps = Vec::new();
    Run::new(func, sched, point)?.end(Some(&mut |func, op| steps.push((op, func.clone()))))?;
    Ok(steps)
}

struct Run<'a> {
    program: Program,
    sched: &'a Func,
    env: Vec<Item>,
    found: Diagnostics,
    /// The conditionals whose branch is being run.
    entered: Vec<Op>,
    /// How many ops the program had.
    n_ops: usize,
}

impl<'a> Run<'a> {
    fn new(func: &Func, sched: &'a Func, point: &Point) -> Result<Run<'a>, Diagnostics> {
        let mut env = vec![Item::Unset; sched.n_value_ids()];
        for (&param, &value) in sched.params().iter().zip(&point.values) {
            env[param.as_u32() as usize] = Item::Int(value);
        }
        if let Some(found) = not_serial(func) {
            let text = format!("`@{}` cannot be scheduled: {}", func.symbol(), found.message);
            let at = sched.location(sched.header.loc);
            let mut error = Diagnostic::error("program-threads", at, text).label(found.location.clone(), "here");
            error.labels.extend(found.labels);
            let help = "schedule a program whose launch loops mean the same if they run in order, as before `bind`";
            error.notes = found.notes;
            return Err(error.help(found.help.as_deref().unwrap_or(help)).into());
        }
        let program = Program { func: func.clone(), consumed: FxHashMap::default() };
        Ok(Run { program, sched, env, found: Diagnostics::new(), entered: Vec::new(), n_ops: func.n_op_ids() })
    }

    fn end(mut self, observe: Option<Observer<'_>>) -> Result<Func, Diagnostics> {
        self.body(observe);
        if self.found.has_errors() {
            return Err(self.found);
        }
        erase_unused(&mut self.program.func, self.n_ops);
        let broken = verify::verify(&self.program.func);
        if broken.has_errors() {
            let of_ours = |found: Diagnostic| Diagnostic { fault: Fault::Bug, ..found };
            return Err(broken.into_iter().map(of_ours).collect());
        }
        match not_serial(&self.program.func) {
            Some(found) => Err(found.into()),
            None => Ok(self.program.func),
        }
    }

    /// Runs the body with a stack of its own: branches may be deep.
    fn body(&mut self, mut observe: Option<Observer<'_>>) {
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
            n_directives += usize::from(primitives::find(self.sched.opcode(op)).is_some());
            if n_directives > MAX_DIRECTIVES {
                let text = format!("a schedule of a program runs at most {MAX_DIRECTIVES} directives");
                self.found.push(Diagnostic::error("schedule-size", self.sched.op_location(op), text));
                return;
            }
            let is_directive = self.step(op);
            if is_directive && let Some(observe) = &mut observe {
                observe(&self.program.func, op);
            }
        }
    }

    /// The branch of `op` to run next; `None` when it has been run, its results being set.
    fn branch(&mut self, op: Op) -> Option<Region> {
        let Item::Int(value) = self.item(self.sched.operand(op, 0)) else {
            self.set_results(op, &[]);
            return None;
        };
        let region = self.sched.op_regions(op).get(usize::from(value == 0)).copied();
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

    /// Runs one op; was it a directive that changed the program?
    fn step(&mut self, op: Op) -> bool {
        let sched = self.sched;
        let info = primitives::find(sched.opcode(op));
        let mut cx =
            Cx { program: &mut self.program, sched, at: op, by: info.map_or("", |info| info.name), env: &self.env };
        let is_numbered = matches!(sched.opcode(op), sched::DATA_AXIS | sched::REDUCE_AXIS);
        let done = match (sched.role(op), info) {
            (Role::Stage, _) => cx.named_buffer().map(|buffer| vec![Item::Buffer(buffer)]),
            (role, _) if role == Role::Axis || is_numbered => match self.env[sched.operand(op, 0).as_u32() as usize] {
                Item::Buffer(buffer) if is_numbered => {
                    cx.nth_loop(buffer, sched.opcode(op) == sched::REDUCE_AXIS).map(|op| vec![Item::Loop(op)])
                }
                Item::Buffer(buffer) => cx.named_loop(buffer).map(|op| vec![Item::Loop(op)]),
                Item::Undefined => Ok(vec![Item::Undefined]),
                _ => Err(Refused::Silently),
            },
            (Role::Undefined, _) => Ok(vec![Item::Undefined]),
            (Role::Yield, _) => Ok(Vec::new()),
            (_, Some(Directive { apply, .. })) => apply(&mut cx),
            (_, None) => self.number(op).map(|value| vec![Item::Int(value)]),
        };
        match done {
            Ok(items) => self.set_results(op, &items),
            Err(refused) => {
                if let Refused::With(error) = refused {
                    self.found.push(*error);
                }
                self.set_results(op, &[]);
                return false;
            }
        }
        info.is_some()
    }

    /// An op over numbers: the parameters' arithmetic.
    fn number(&self, op: Op) -> Result<i64, Refused> {
        let sched = self.sched;
        let items: Vec<Item> = sched.operands(op).iter().map(|&value| self.item(value)).collect();
        let ints: Option<Vec<i64>> =
            items.iter().map(|item| if let Item::Int(int) = item { Some(*int) } else { None }).collect();
        if let Some(value) = ints.and_then(|ints| eval_number(sched, op, &ints)) {
            return Ok(value);
        }
        if items.contains(&Item::Poison) {
            return Err(Refused::Silently);
        }
        let name = sched.row(op).short.unwrap_or(sched.op_name(op));
        let at = sched.op_location(op);
        if tc_schedule::primitives().iter().any(|info| info.opcode == sched.opcode(op)) {
            let text = format!("`{name}` is a directive for operators, and this schedule is for a program");
            let all: Vec<&str> = primitives::directives().iter().map(|info| info.name).collect();
            return Err(Diagnostic::error("program-directive", at, text)
                .help(format!("for programs there are {}", all.join(", ")))
                .into());
        }
        let text = format!("`{name}` has no value here: it overflows, divides by zero, or is no arithmetic");
        Err(Diagnostic::error("schedule-number", at, text).into())
    }
}

/// Takes out what directives computed and nothing uses: of the ops from number `first` on.
fn erase_unused(func: &mut Func, first: usize) {
    let made: Vec<Op> = all_ops(func).filter(|op| op.as_u32() as usize >= first).collect();
    let mut rw = Rewriter::new(func);
    for op in made.into_iter().rev() {
        let func = rw.func();
        let is_unused = func.n_results(op) > 0 && func.results(op).all(|value| func.n_uses(value) == 0);
        if is_unused && effects::summary(func, op).is_pure() {
            rw.erase(op);
        }
    }
}

/// What keeps the launch loops of `func` from meaning the same as loops that run in order.
fn not_serial(func: &Func) -> Option<Diagnostic> {
    if let Some(found) = violation(func) {
        let error = Diagnostic::error("launch-buffers", func.asked_location(found.at), found.text);
        return Some(error.label(func.op_location(found.at), found.label).help(found.help));
    }
    let mut launches = all_ops(func).filter(|&op| coordinate(func, op).is_some());
    let (op, obstacle) = launches.find_map(|op| Some((op, Serial::around(func, op).carried_by(op)?)))?;
    let name = tc_support::suggest::shorten(func.value_text(super::nest::var(func, op))).to_string();
    let text = format!("the iterations of the launch loop `{name}` depend on one another, or may");
    let error = Diagnostic::error("dependence", func.asked_location(op), text).label(func.op_location(op), "this loop");
    Some(explained(func, error, &obstacle))
}
