//! Schedules that choose among others by sizes: which of these serve the sizes at hand.

mod programs;

use crate::operator::{Define, Operator};
use crate::value::{NoValue, eval_or_why};
use crate::{Options, definable, prepare};
use std::collections::BTreeSet;
use tc_arith::Expr;
use tc_dialects::algebra::{Algebra, Computation, attr_expr};
use tc_dialects::sched;
use tc_ir::attrs::{AttrData, BinOp, UnOp};
use tc_ir::clone::Importer;
use tc_ir::opdef::Role;
use tc_ir::{Attr, Elem, Func, Module, Name, Op};
use tc_support::{Diagnostic, Diagnostics, Location, suggest};

/// So many schedules may be chosen from: each becomes a program.
const MAX_ALTERNATIVES: usize = 64;

/// How deep a condition may be: the manifest holds it, and those before it.
const MAX_DEPTH: u32 = 32;

/// A schedule that serves some sizes.
pub struct Alternative<'m> {
    /// The schedule.
    pub schedule: &'m Func,
    /// The values of its parameters.
    pub values: Vec<Define>,
    /// The operator, which says of its sizes for which of them the schedule is taken.
    pub operator: Func,
    /// Where it is named.
    pub location: Location,
    /// The condition, over the sizes of the function that chooses; nothing where it is taken for all sizes that are left.
    when: Option<Computation>,
}

/// Does `schedule` choose among others?
pub fn is_dispatch(schedule: &Func) -> bool {
    schedule.ops(schedule.body()).any(|op| schedule.opcode(op) == sched::DISPATCH)
}

/// The program of `te` under `schedule`, which may choose among others of `module`; after a function that chooses come the
/// programs that it chooses from, under names that are added to those `taken`.
pub fn programs(
    te: &Func,
    schedule: Option<&Func>,
    module: &Module,
    options: &Options,
    taken: &mut BTreeSet<String>,
) -> Result<Vec<Func>, Diagnostics> {
    let Some(chooser) = schedule.filter(|schedule| is_dispatch(schedule)) else {
        return Ok(vec![crate::lower(te, schedule, Some(module), options)?]);
    };
    let (known, alternatives) = choice(module, te, chooser, options)?;
    match (&alternatives[..], known.header) {
        ([only], _) if only.when.is_none() => Ok(vec![programs::program(module, only, &only.operator, options)?]),
        (_, Some(header)) => programs::programs(module, te, (header, &alternatives), options, taken),
        (_, None) => {
            let text = "no size is open, and several schedules are left";
            Err(Diagnostic::bug("dispatch", chooser.location(chooser.header.loc), text).into())
        }
    }
}

/// The schedules that `schedule` chooses from for `te`: one where the sizes have values, and where some are open all that
/// may be taken, in order.
pub fn alternatives<'m>(
    module: &'m Module,
    te: &Func,
    schedule: &Func,
    options: &Options,
) -> Result<Vec<Alternative<'m>>, Diagnostics> {
    choice(module, te, schedule, options).map(|(_, alternatives)| alternatives)
}

fn choice<'m>(
    module: &'m Module,
    te: &Func,
    schedule: &Func,
    options: &Options,
) -> Result<(Known, Vec<Alternative<'m>>), Diagnostics> {
    let operator = prepare(te, Some(schedule), options)?;
    let directives = directives(schedule)?;
    let mut known = Known::of(&operator, module, options)?;
    let mut chosen: Vec<Alternative<'m>> = Vec::new();
    // What is known of the sizes where the conditions so far do not hold.
    let mut rest = te.clone();
    let mut is_done = false;
    for op in directives {
        let location = schedule.op_location(op);
        let when = match schedule.attr_named(op, "when") {
            Some(attr) => known.condition(&operator, schedule, op, attr)?,
            None => Condition::Holds,
        };
        let target = target(module, te, schedule, op)?;
        let values = values(te, target, schedule, op)?;
        // What is not taken is right all the same.
        if is_done || matches!(when, Condition::Fails) {
            continue;
        }
        let mut operator = rest.clone();
        let when = match when {
            Condition::Open(attr, computation) => {
                let holds = Importer::new(schedule).attr(&mut operator, attr);
                operator.header.facts.push(holds);
                let fails = Importer::new(schedule).attr(&mut rest, attr);
                let fails = negated(&mut rest, fails);
                rest.header.facts.push(fails);
                Some(computation)
            }
            Condition::Holds | Condition::Fails => None,
        };
        is_done = when.is_none();
        chosen.push(Alternative { schedule: target, values, operator, location, when });
    }
    if is_done {
        return Ok((known, chosen));
    }
    let fixed = te.header.symbols.iter().zip(te.region_args(te.body()));
    let fixed =
        fixed.filter_map(|(symbol, &value)| Some(format!("{} = {}", te.text(symbol.name), operator.int(value)?)));
    let fixed: Vec<String> = fixed.collect();
    let text = match chosen.is_empty() && !fixed.is_empty() {
        true => format!("no `dispatch` of `@{}` takes {}", schedule.symbol(), fixed.join(", ")),
        false => format!("`@{}` takes no schedule where none of its conditions holds", schedule.symbol()),
    };
    let help = "add a last `dispatch(@…)` without `when`";
    Err(Diagnostic::error("dispatch", schedule.location(schedule.header.loc), text).help(help).into())
}

/// The directives of a schedule that chooses, all of which do.
fn directives(schedule: &Func) -> Result<Vec<Op>, Diagnostic> {
    let wrong = |at: Location, text: String| Diagnostic::error("dispatch", at, text);
    // Stages and axes are what directives name.
    let is_named = |op: &Op| matches!(schedule.role(*op), Role::Stage | Role::Axis | Role::Constant);
    let ops: Vec<Op> =
        schedule.ops(schedule.body()).filter(|op| !schedule.row(*op).terminator && !is_named(op)).collect();
    let first = ops.iter().find(|&&op| schedule.opcode(op) == sched::DISPATCH);
    if let Some(&stray) = ops.iter().find(|&&op| schedule.opcode(op) != sched::DISPATCH) {
        let name = schedule.row(stray).short.unwrap_or(schedule.op_name(stray));
        let text = format!("a schedule that chooses among others does nothing else, and this one has a `{name}`");
        let mut wrong = wrong(schedule.op_location(stray), text);
        if let Some(&first) = first {
            wrong = wrong.label(schedule.op_location(first), "it chooses here");
        }
        return Err(wrong.help("put it into the schedules that are chosen"));
    }
    if !schedule.params().is_empty() {
        let text = format!("`@{}` chooses among schedules, and has parameters", schedule.symbol());
        let help = "leave parameters to the schedules that are chosen, and give them values by `params = {…}`";
        return Err(wrong(schedule.location(schedule.header.loc), text).help(help));
    }
    let all = ops.iter().position(|&op| schedule.attr_named(op, "when").is_none());
    if let Some(&[all, next, ..]) = all.map(|at| &ops[at..]) {
        let text = "no size comes here: the `dispatch` before it takes all".to_string();
        let label = "it has no condition";
        return Err(wrong(schedule.op_location(next), text).label(schedule.op_location(all), label));
    }
    if let Some(&more) = ops.get(MAX_ALTERNATIVES) {
        let text = format!("a schedule chooses among at most {MAX_ALTERNATIVES} others");
        return Err(wrong(schedule.op_location(more), text));
    }
    Ok(ops)
}

/// What is known of a condition.
enum Condition {
    Holds,
    Fails,
    /// It depends on open sizes, and is computed so.
    Open(Attr, Computation),
}

/// What is known of the sizes where no condition so far holds.
struct Known {
    /// The function that will choose, with the operator's header and plain loops; nothing where all sizes have values.
    header: Option<Func>,
    algebra: Algebra,
    /// What each size is.
    sizes: Vec<(String, Expr)>,
}

impl Known {
    fn of(operator: &Operator<'_>, module: &Module, options: &Options) -> Result<Known, Diagnostics> {
        let te = operator.te;
        let is_open = !operator.symbols.list.is_empty();
        let header = is_open.then(|| crate::lower(te, None, Some(module), options)).transpose()?;
        let mut algebra = header.as_ref().map_or_else(Algebra::new, Algebra::of_func);
        let mut sizes = Vec::new();
        for (symbol, &value) in te.header.symbols.iter().zip(te.region_args(te.body())) {
            let name = te.text(symbol.name).to_string();
            let open = header.as_ref().and_then(|header| {
                let at = header.header.symbols.iter().position(|symbol| header.text(symbol.name) == name)?;
                Some((header, header.region_args(header.body())[at]))
            });
            let expr = match (open, operator.int(value)) {
                (_, Some(value)) => algebra.analyzer.pool.int(value),
                (Some((header, value)), None) => algebra.expr(header, value),
                (None, None) => continue,
            };
            sizes.push((name, expr));
        }
        Ok(Known { header, algebra, sizes })
    }

    /// What is known of `attr`, the condition of `op`; afterwards, that it does not hold.
    fn condition(
        &mut self,
        operator: &Operator<'_>,
        schedule: &Func,
        op: Op,
        attr: Attr,
    ) -> Result<Condition, Diagnostic> {
        let shown = suggest::shorten(&schedule.show_attr(attr));
        let wrong = |text: String| Diagnostic::error("dispatch", schedule.op_location(op), text);
        let names = || self.sizes.iter().map(|(name, _)| name.as_str());
        if let Some(name) = words(schedule, attr).into_iter().find(|name| names().all(|size| size != *name)) {
            let mut wrong = wrong(format!("`@{}` has no size `{}`", operator.te.symbol(), suggest::shorten(name)));
            wrong.help = suggest::did_you_mean(name, names());
            return Err(wrong);
        }
        let pool = &mut self.algebra.analyzer.pool;
        let of_name = |name: Name| {
            let found = self.sizes.iter().find(|(size, _)| size == schedule.text(name));
            found.map(|&(_, expr)| expr)
        };
        let expr = attr_expr(schedule, attr, pool, &of_name).map_err(|why| match why {
            NoValue::Overflow(_) => wrong(format!("`{shown}` overflows")),
            NoValue::Zero(_) => wrong(format!("`{shown}` divides by zero")),
            NoValue::Name(_) | NoValue::Other(_) => {
                let help = "write it over sizes by `+ - * / %`, `min`, `max`, comparisons, `&&` and `||`";
                wrong(format!("`{shown}` is no condition on sizes")).help(help)
            }
        })?;
        let written = pool.truth_of(expr);
        let expr = self.algebra.analyzer.simplify(written);
        let pool = &mut self.algebra.analyzer.pool;
        if pool.may_fail(expr) {
            let help = "divide by a number, or by what is above 0 in any case";
            return Err(wrong(format!("`{shown}` may divide by zero")).help(help));
        }
        if pool.depth(expr) > MAX_DEPTH {
            let text = format!("`{shown}` is more than {MAX_DEPTH} operations deep");
            return Err(wrong(text).help("choose by fewer, or by several `dispatch`"));
        }
        let fails = pool.not(expr);
        if self.algebra.analyzer.can_prove(expr) {
            return Ok(Condition::Holds);
        }
        if self.algebra.analyzer.can_prove(fails) {
            return Ok(Condition::Fails);
        }
        // As the author wrote it, where no size in it has a value.
        let is_fixed = |name: &str| {
            self.sizes.iter().any(|(size, expr)| size == name && self.algebra.analyzer.pool.as_const(*expr).is_some())
        };
        let computed = if words(schedule, attr).into_iter().any(is_fixed) { expr } else { written };
        let Some(computation) = self.algebra.computation(computed, Elem::Bool) else {
            let help = "give the sizes ranges in which its parts fit 64 bits";
            return Err(wrong(format!("`{shown}` may not fit 64 bits")).help(help));
        };
        self.algebra.analyzer.constrain(fails);
        Ok(Condition::Open(attr, computation))
    }
}

/// The names in `attr`.
fn words(func: &Func, attr: Attr) -> Vec<&str> {
    let (mut found, mut worklist) = (Vec::new(), vec![attr]);
    while let Some(attr) = worklist.pop() {
        match func.attr_data(attr) {
            AttrData::Word(name) => found.push(func.text(*name)),
            AttrData::Unary(_, arg) => worklist.push(*arg),
            AttrData::Binary(_, lhs, rhs) => worklist.extend([*lhs, *rhs]),
            AttrData::Call(_, args) => worklist.extend(args.iter().copied()),
            _ => {}
        }
    }
    found
}

/// The schedule that `op` takes.
fn target<'m>(module: &'m Module, te: &Func, schedule: &Func, op: Op) -> Result<&'m Func, Diagnostic> {
    let wrong = |text: String| Diagnostic::error("dispatch", schedule.op_location(op), text);
    let Some(AttrData::Symbol(name)) = schedule.attr_named(op, "schedule").map(|attr| schedule.attr_data(attr)) else {
        return Err(wrong("`dispatch` takes a schedule, as in `@small`".to_string()));
    };
    let all = || module.schedules_for(te.symbol()).map(|idx| &module.items[idx]);
    let Some(target) = all().find(|other| other.symbol() == &**name) else {
        let text = format!("`@{}` has no schedule `@{}`", te.symbol(), suggest::shorten(name));
        let mut wrong = wrong(text);
        let names: Vec<&str> = all().filter(|other| !is_dispatch(other)).map(Func::symbol).collect();
        wrong.help = suggest::did_you_mean(name, names);
        return Err(wrong);
    };
    if is_dispatch(target) {
        let text = format!("`@{}` chooses among schedules itself", target.symbol());
        let help = "name the schedules that it chooses from";
        let at = target.location(target.header.loc);
        return Err(wrong(text).label(at, "it is declared here").help(help));
    }
    Ok(target)
}

/// The values that `op` gives to parameters of `target`.
fn values(te: &Func, target: &Func, schedule: &Func, op: Op) -> Result<Vec<Define>, Diagnostic> {
    let wrong = |text: String| Diagnostic::error("dispatch", schedule.op_location(op), text);
    let Some(attr) = schedule.attr_named(op, "params") else { return Ok(Vec::new()) };
    let AttrData::Dict(dict) = schedule.attr_data(attr) else {
        return Err(wrong(format!("`params` is `{}`, not a list of values", schedule.show_attr(attr)))
            .help("write `params = {name = value, …}`"));
    };
    let params: Vec<&str> = target.params().iter().map(|&param| target.value_text(param)).collect();
    let sizes = definable(te, None);
    let mut values = Vec::new();
    for &(name, value) in schedule.entries(*dict) {
        let name = schedule.text(name);
        if !params.contains(&name) {
            let shown = suggest::shorten(name);
            let text = format!("`@{}` has no parameter `{shown}`", target.symbol());
            let mut wrong = wrong(text);
            wrong.help = match sizes.contains(&name) {
                true => Some(format!("`{shown}` is a size: `when` chooses by it")),
                false => suggest::did_you_mean(name, params.iter().copied()),
            };
            return Err(wrong);
        }
        if sizes.contains(&name) {
            let text = format!("`{name}` is a size of `@{}` and a parameter of `@{}`", te.symbol(), target.symbol());
            return Err(wrong(text).help("rename the parameter"));
        }
        let Ok(value) = eval_or_why(schedule, value, &|_| None) else {
            let shown = schedule.show_attr(value);
            return Err(wrong(format!("the value of `{name}` is `{shown}`, not an integer or a truth value")));
        };
        values.push((name.to_string(), value));
    }
    Ok(values)
}

/// `!condition`, as people write it.
fn negated(func: &mut Func, condition: Attr) -> Attr {
    let data = match func.attr_data(condition) {
        &AttrData::Binary(op, lhs, rhs) => match turned(op) {
            Some(op) => AttrData::Binary(op, lhs, rhs),
            None => AttrData::Unary(UnOp::Not, condition),
        },
        _ => AttrData::Unary(UnOp::Not, condition),
    };
    func.attr(data)
}

/// The comparison that holds where `op` does not.
fn turned(op: BinOp) -> Option<BinOp> {
    Some(match op {
        BinOp::Lt => BinOp::Ge,
        BinOp::Le => BinOp::Gt,
        BinOp::Gt => BinOp::Le,
        BinOp::Ge => BinOp::Lt,
        BinOp::Eq => BinOp::Ne,
        BinOp::Ne => BinOp::Eq,
        _ => return None,
    })
}
