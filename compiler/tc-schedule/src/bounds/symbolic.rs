//! What sizes that stay open ask for: regions without a number, and what must be a number all the same.

use super::infer::Inference;
use super::{Bounds, Range};
use crate::body::Vars;
use crate::diagnostic::{ScheduleDiagnostic, ScheduleDiagnostics};
use crate::directive::code_list;
use crate::graph::{AxisId, Kind, StageId};
use crate::operator::Operator;
use crate::scope::Scope;
use crate::size::Size;
use tc_arith::{Analyzer, BinaryOp, Expr, Node, Pool};
use tc_ir::Func;
use tc_support::Location;

/// The greatest extent of a region that is `width + 1` wide, where it is less than what is declared. One that follows from
/// sizes alone is exact. `ends` are the first and the last of the region.
pub(super) fn greatest(az: &mut Analyzer, width: Expr, ends: (Expr, Expr), declared: Size) -> Option<Size> {
    let open = az.pool.vars(width).into_iter().all(Vars::is_size);
    if open && az.bounds(width).all_at_least(-1) {
        let (one, declared) = (az.pool.int(1), declared.expr(&mut az.pool));
        let extent = az.pool.add(width, one);
        let extent = az.simplify(extent);
        let fits = az.pool.le(extent, declared);
        if az.can_prove(fits) {
            return Some(Size::Expr(extent));
        }
    }
    let plain = az.bounds(width).max();
    let clamped = clamped_width(az, ends);
    let width = plain.into_iter().chain(clamped).min()?;
    let most = width.checked_add(1)?;
    let is_less = match declared {
        Size::Int(declared) => most < declared,
        Size::Expr(_) => declared.most(az).is_none_or(|declared| most < declared),
    };
    is_less.then_some(Size::Int(most))
}

/// How many clamps of one end are looked at.
const MAX_CLAMPS: usize = 4;

/// What `max - min` comes to at most where the ends are clamped: `min(a, m) - max(b, n)` is at most `a - b`.
fn clamped_width(az: &mut Analyzer, (min, max): (Expr, Expr)) -> Option<i64> {
    let (lows, highs) = (clamps(&az.pool, BinaryOp::Max, min), clamps(&az.pool, BinaryOp::Min, max));
    let mut least: Option<i64> = None;
    for &low in &lows {
        for &high in &highs {
            let width = az.pool.sub(high, low);
            let width = az.simplify(width);
            least = least.into_iter().chain(az.bounds(width).max()).min();
        }
    }
    least
}

/// The operands of nested `min` or `max`; of anything else, itself.
fn clamps(pool: &Pool, op: BinaryOp, end: Expr) -> Vec<Expr> {
    let (mut pending, mut found) = (vec![end], Vec::new());
    while let Some(at) = pending.pop() {
        match pool.node(at) {
            Node::Binary(of, a, b) if of == op && found.len() + pending.len() < MAX_CLAMPS => pending.extend([b, a]),
            _ => found.push(at),
        }
    }
    found
}

/// Is `max` at least the last of `extent` values?
pub(super) fn reaches_end(az: &mut Analyzer, max: Expr, extent: Size) -> bool {
    let last = extent.last(az);
    let more = az.pool.sub(max, last);
    let more = az.simplify(more);
    az.bounds(more).all_at_least(0)
}

/// `n`, or `n`, `m`.
fn sizes(operator: &Operator<'_>, bounds: &Bounds, size: Size) -> String {
    let names = operator.names_in(&bounds.analyzer.pool, size);
    code_list(&names.iter().map(String::as_str).collect::<Vec<_>>())
}

/// Refuses threads and copied loops whose number stays open.
pub(super) fn check(operator: &Operator<'_>, sched: Option<&Func>, bounds: &Bounds) -> Result<(), ScheduleDiagnostics> {
    let mut found = ScheduleDiagnostics::default();
    if operator.symbols.list.is_empty() {
        return Ok(());
    }
    let graph = &bounds.graph;
    for &stage in graph.order.iter().filter(|&&stage| bounds.stage(stage).is_some()) {
        for &leaf in &graph[stage].leaves {
            let extent = bounds.extents[leaf.idx()];
            if extent.int().is_none()
                && let Some(what) = wants_number(graph[leaf].kind)
            {
                found.push(not_a_number(operator, sched, bounds, leaf, what));
            }
        }
    }
    found.or(())
}

/// What the iterations of a loop of this kind are, if it must be known how many there are.
fn wants_number(kind: Kind) -> Option<(&'static str, &'static str)> {
    match kind {
        Kind::Launch(coordinate) if coordinate.is_thread() => Some((coordinate.name(), "threads")),
        Kind::Vthread => Some(("vthread", "virtual threads")),
        Kind::Unroll => Some(("unroll", "copies")),
        Kind::Vectorize => Some(("vectorize", "lanes")),
        Kind::Launch(_) | Kind::Serial => None,
    }
}

fn not_a_number(
    operator: &Operator<'_>,
    sched: Option<&Func>,
    bounds: &Bounds,
    leaf: AxisId,
    (by, what): (&str, &str),
) -> ScheduleDiagnostic {
    let graph = &bounds.graph;
    let (axis, extent) = (&graph[leaf], bounds.extents[leaf.idx()]);
    let location = sched.map_or(Location::None, |sched| sched.location(axis.kind_loc));
    let text = format!(
        "`{}` runs `{}` times, and the number of {what} of `{by}` must be known when the program is made",
        crate::directive::show_axis(graph, leaf),
        extent.show(&bounds.analyzer.pool),
    );
    let names = sizes(operator, bounds, extent);
    let help = format!("split `{}` by a factor and take the inner part, or give {names} a value", axis.name);
    ScheduleDiagnostic::error("size-open", location, text).fact(help)
}

impl Inference<'_> {
    /// The extents of the buffers of `stage`: what it computes; on the chip the most that it may compute.
    pub(super) fn shape(&mut self, stage: StageId, ranges: &[Range]) -> Result<Vec<Size>, ScheduleDiagnostic> {
        let n_data = self.bounds.graph[stage].data.len();
        let mut shape: Vec<Size> = ranges[..n_data].iter().map(|range| range.extent).collect();
        if shape.iter().all(|extent| extent.int().is_some()) {
            return Ok(shape);
        }
        let scope = self.bounds.graph.scope_of(stage);
        let data = &self.bounds.graph[stage];
        let wants_number = data.parts.iter().any(|part| part.wants_known_size().is_some());
        for extent in &mut shape {
            if scope == Scope::Global && !wants_number {
                continue;
            }
            *extent = match extent.most(&mut self.bounds.analyzer) {
                Some(most) if scope != Scope::Global => Size::Int(most),
                _ if extent.int().is_some() => continue,
                _ => return Err(self.open_buffer(stage, *extent, scope)),
            };
        }
        Ok(shape)
    }

    fn open_buffer(&self, stage: StageId, extent: Size, scope: Scope) -> ScheduleDiagnostic {
        let data = &self.bounds.graph[stage];
        let names = sizes(self.operator, &self.bounds, extent);
        let (name, extent) = (&data.name, extent.show(&self.bounds.analyzer.pool));
        let location = data.spoken_of_by().map_or(self.operator.te.location(data.loc), |loc| self.location(loc));
        let by = data.parts.iter().find_map(|part| part.wants_known_size());
        if let (Scope::Global, Some(by)) = (scope, by) {
            let text =
                format!("the size of `{name}` depends on {names}, and `{by}` makes a buffer of a size that is known");
            return ScheduleDiagnostic::error("size-open", location, text).fact(format!("give {names} a value"));
        }
        let text = format!(
            "the size of `{name}` in {} memory depends on {names}: a dimension is `{extent}`, which has no upper end",
            scope.name()
        );
        let help = format!(
            "compute it at a loop inside a split by a factor, so that it holds a part, or give {names} a range or a value"
        );
        ScheduleDiagnostic::error("size-open", location, text).fact(help)
    }
}
