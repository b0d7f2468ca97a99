//! Loops that a schedule marked.

use super::find::{self, Nest, Obstacle};
use super::fit;
use super::library::Shelves;
use super::matching::{Difference, NestRole, unify};
use super::site::Site;
use super::substitute::{Replacement, substitute};
use crate::analysis::launch::loop_var;
use tc_dialects::intrinsics::wgmma;
use tc_dialects::te::Intrinsic;
use tc_ir::walk::{is_inside, ops_under};
use tc_ir::{Elem, Func, Op};
use tc_pass::PassCx;
use tc_support::{Diagnostic, counted, suggest};

/// Puts the intrinsics that marks name in the place of the loops that carry them; returns whether there were any.
pub(super) fn run(func: &mut Func, shelves: &Shelves, cx: &mut PassCx) -> bool {
    let marked = find::marked(func);
    let mut changed = false;
    for (nth, &root) in marked.iter().enumerate() {
        if let Some(&outer) = marked[..nth].iter().find(|&&outer| is_inside(func, root, outer)) {
            cx.report(inside_another(func, root, outer));
            continue;
        }
        // What stood in another marked loop went away with it.
        if func.region_of(root).is_none() {
            continue;
        }
        match replace(func, root, shelves) {
            Ok(step) => {
                cx.count(counter(step), 1);
                changed = true;
            }
            Err(found) => cx.report(at_directive(func, root, *found)),
        }
    }
    changed
}

/// `found`, at the directive that marked the loop `root` where one did: what it was found at is a label.
fn at_directive(func: &Func, root: Op, mut found: Diagnostic) -> Diagnostic {
    let directive = func.op_locs(root).directive;
    if directive.is_none() {
        return found;
    }
    let place = std::mem::replace(&mut found.location, func.location(directive));
    let is_shown = found.labels.iter().any(|label| label.location == place);
    if is_shown { found } else { found.label(place, "what the loop computes") }
}

/// The counter of loops that `step` of an intrinsic stood for.
pub(super) fn counter(step: NestRole) -> &'static str {
    match step {
        NestRole::Whole => "copies tensorized",
        NestRole::First => "first steps tensorized",
        NestRole::Further | NestRole::Both => "reductions tensorized",
    }
}

fn inside_another(func: &Func, root: Op, outer: Op) -> Diagnostic {
    let name = |op| func.value_text(loop_var(func, op));
    let text = format!("the loop `{}` is marked inside of `{}`, which is marked too", name(root), name(outer));
    Diagnostic::error("tensorize", func.op_location(root), text)
        .label(func.op_location(outer), "the outer mark")
        .help("one intrinsic stands for a whole loop: mark one of the two")
}

fn replace(func: &mut Func, root: Op, shelves: &Shelves) -> Result<NestRole, Box<Diagnostic>> {
    let symbol = find::mark(func, root).unwrap_or_default().to_string();
    let name = func.value_text(loop_var(func, root)).to_string();
    let Some(item) = shelves.find(&symbol) else { return replace_by_family(func, root, &symbol, shelves) };
    let Some(intrinsic) = Intrinsic::of(item) else {
        let text = format!("`@{symbol}` is no intrinsic that loops can be compared with");
        return Err(Box::new(
            Diagnostic::error("tensorize", func.op_location(root), text)
                .label(item.location(item.header.loc), "the intrinsic")
                .help("give it one `compute` of constant extents, and a block that stands for it"),
        ));
    };
    let nest = find::nest(func, root).map_err(|found| Box::new(obstacle(func, root, &symbol, found)))?;
    let plan = plan(func, nest, &intrinsic, &name)?;
    let step = plan.matched.step;
    substitute(func, &intrinsic, &plan);
    Ok(step)
}

/// Puts the one intrinsic of the family `symbol` that computes the same in the place of the loop `root`.
fn replace_by_family(func: &mut Func, root: Op, symbol: &str, shelves: &Shelves) -> Result<NestRole, Box<Diagnostic>> {
    let name = func.value_text(loop_var(func, root)).to_string();
    let nest = find::nest(func, root).map_err(|found| Box::new(obstacle(func, root, symbol, found)))?;
    let mut extents: Vec<i64> = nest.loops().map(|around| around.extent).collect();
    extents.sort_unstable();
    extents.dedup();
    let mut family = shelves.family(symbol, &extents, &elems_under(func, root));
    if family.is_empty() {
        // The first step of a sum does not say what is summed.
        family = shelves.family(symbol, &extents, Elem::ALL);
    }
    let intrinsics: Vec<Intrinsic<'_>> = family.iter().filter_map(Intrinsic::of).collect();
    if intrinsics.is_empty() {
        return Err(Box::new(unknown(func, root, symbol, shelves)));
    }
    let mut closest: Option<(u32, Box<Diagnostic>)> = None;
    for intrinsic in &intrinsics {
        let steps = match unify(&mut Site::new(func, &nest), intrinsic, true) {
            Ok(_) => u32::MAX,
            Err(found) => found.steps,
        };
        // Those that differ sooner are not told.
        if closest.as_ref().is_some_and(|(best, _)| *best >= steps) && steps != u32::MAX {
            continue;
        }
        match plan(func, nest.clone(), intrinsic, &name) {
            Ok(plan) => {
                let step = plan.matched.step;
                substitute(func, intrinsic, &plan);
                return Ok(step);
            }
            Err(wrong) => closest = Some((steps, wrong)),
        }
    }
    let (_, mut wrong) = closest.expect("one of several is the closest");
    wrong.notes.push(format!(
        "`@{symbol}` is a family of {}; this one is the closest",
        counted(intrinsics.len(), "intrinsic")
    ));
    Err(wrong)
}

/// The types of the elements of what is accessed under `root`.
fn elems_under(func: &Func, root: Op) -> Vec<Elem> {
    let mut all: Vec<Elem> = Vec::new();
    for op in ops_under(func, func.op_regions(root)[0]) {
        let accessed = func.operands(op).iter().filter_map(|&value| func.as_shaped(func.value_type(value)));
        for (elem, ..) in accessed {
            if let Some(elem) = func.as_scalar(elem).map(|scalar| scalar.elem)
                && !all.contains(&elem)
            {
                all.push(elem);
            }
        }
    }
    all
}

/// What puts `intrinsic` in the place of `nest`, the loop `name`.
fn plan(func: &Func, nest: Nest, intrinsic: &Intrinsic<'_>, name: &str) -> Result<Replacement, Box<Diagnostic>> {
    let (matched, fit, algebra) = {
        let mut site = Site::new(func, &nest);
        let matched = unify(&mut site, intrinsic, true).map_err(|found| Box::new(differs(name, intrinsic, found)))?;
        if matched.step == NestRole::Further && intrinsic.update.is_none() {
            return Err(Box::new(no_update(func, nest.root, name, intrinsic)));
        }
        if matched.step == NestRole::First && intrinsic.body.is_some() {
            return Err(Box::new(no_update(func, nest.root, name, intrinsic)));
        }
        let fit = fit::fit(&mut site, intrinsic, &matched).map_err(|found| Box::new(found.told(name, intrinsic)))?;
        (matched, fit, site.algebra)
    };
    Ok(Replacement { nest, matched, fit, algebra })
}

fn unknown(func: &Func, root: Op, symbol: &str, shelves: &Shelves) -> Diagnostic {
    let text = format!("there is no intrinsic `@{}`", suggest::shorten(symbol));
    let names = shelves.names();
    let near = wgmma::correction(symbol).or_else(|| suggest::did_you_mean(symbol, names.iter().copied()));
    let help = "write it as a `te.intrin` in the file, or take one of docs/intrinsics.md".to_string();
    Diagnostic::error("tensorize", func.op_location(root), text).help(near.unwrap_or(help))
}

fn obstacle(func: &Func, root: Op, symbol: &str, found: Obstacle) -> Diagnostic {
    let name = func.value_text(loop_var(func, root));
    let text = format!("`@{symbol}` cannot stand for the loop `{name}`: {}", found.text);
    Diagnostic::error("tensorize", func.op_location(root), text).label(found.at, found.label).help(found.help)
}

fn differs(name: &str, intrinsic: &Intrinsic<'_>, found: Difference) -> Diagnostic {
    let symbol = intrinsic.func.symbol();
    let text = format!("the loop `{name}` is not what `@{symbol}` computes: {}", found.text);
    let diagnostic = Diagnostic::error("tensorize", found.ours.0.clone(), text)
        .label(found.ours.0, format!("here `{}`", found.ours.1))
        .label(found.theirs.0, format!("there `{}`", found.theirs.1));
    let map = if found.map.is_empty() { "no axis was matched yet".to_string() } else { format!("with {}", found.map) };
    diagnostic.note(map).help("mark the loops that an intrinsic computes, or write an intrinsic of what they compute")
}

fn no_update(func: &Func, root: Op, name: &str, intrinsic: &Intrinsic<'_>) -> Diagnostic {
    let symbol = intrinsic.func.symbol();
    let text = format!("the loop `{name}` is one step of the reduction that `@{symbol}` does as a whole");
    Diagnostic::error("tensorize", func.op_location(root), text)
        .label(intrinsic.func.location(intrinsic.func.header.loc), format!("`@{symbol}`"))
        .help("give the intrinsic an `init` and an `update`, or mark a loop that holds all of the reduction")
}
