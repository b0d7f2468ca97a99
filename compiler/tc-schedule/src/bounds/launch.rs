//! Launches: the extents of the coordinates of each nest, and what a target allows.

use super::{Bounds, Launch};
use crate::diagnostic::{ScheduleDiagnostic, ScheduleDiagnostics};
use crate::directive::show_axis;
use crate::graph::{Attach, AxisId, Graph, Kind, Source, StageId};
use crate::operator::Operator;
use crate::remedy::{ELSEWHERE, ELSEWHERE_OR_ROOT, LEAVE_OUT, OTHER_EXTENT};
use crate::scope::Scope;
use crate::size::Size;
use tc_arith::Analyzer;
use tc_dialects::tir::Coordinate;
use tc_ir::{Func, Loc};
use tc_support::{Location, counted};
use tc_target::Target;

/// Finds the extent of each coordinate of each nest: the greatest of the loops that are bound to it.
pub(super) fn infer(
    operator: &Operator<'_>,
    sched: Option<&Func>,
    bounds: &mut Bounds,
) -> Result<(), ScheduleDiagnostics> {
    let mut found = ScheduleDiagnostics::default();
    let mut launches: Vec<(Launch, AxisId)> = Vec::new();
    for &stage in &bounds.graph.order {
        if bounds.stage(stage).is_none() {
            continue;
        }
        let nest = bounds.graph.nest_of(stage);
        for &leaf in &bounds.graph[stage].leaves {
            let Kind::Launch(coordinate) = bounds.graph[leaf].kind else { continue };
            let extent = bounds.extents[leaf.idx()];
            if extent == 0 && bounds.graph[leaf].reduce {
                found.push(no_threads(operator, sched, bounds, leaf));
            }
            match launches.iter_mut().find(|(launch, _)| launch.nest == nest && launch.coordinate == coordinate) {
                Some((launch, by)) if launch.extent.may_be_below(extent) => {
                    launch.extent = greater(&mut bounds.analyzer, launch.extent, extent);
                    *by = leaf;
                }
                Some(_) => {}
                None => launches.push((Launch { nest, coordinate, extent }, leaf)),
            }
        }
    }
    for &stage in &bounds.graph.order {
        if bounds.stage(stage).is_none() {
            continue;
        }
        let nest = bounds.graph.nest_of(stage);
        for &leaf in &bounds.graph[stage].leaves {
            let launch = launches
                .iter()
                .find(|(launch, _)| launch.nest == nest && bounds.graph[leaf].kind == Kind::Launch(launch.coordinate));
            if let Some(&(launch, by)) = launch
                && bounds.extents[leaf.idx()].may_be_below(launch.extent)
                && launch.coordinate.is_thread()
                && let Some(inner) = met_inside(bounds, leaf)
            {
                found.push(disagree(operator, sched, bounds, (leaf, by), inner));
            }
        }
    }
    for &stage in &bounds.graph.order {
        if let Some((launch, by)) =
            launches.iter().find(|(launch, _)| is_shared_reduction(operator, bounds, stage, launch))
        {
            found.push(shared_reduction(operator, sched, bounds, stage, (launch, *by)));
        }
    }
    for &stage in &bounds.graph.order {
        for (launch, by) in &launches {
            if let Some(leaf) = shorter_elsewhere(bounds, stage, launch) {
                found.push(borrowed(sched, bounds, stage, (leaf, launch, *by)));
            }
        }
        if let Some((launch, by)) = launches.iter().find(|(launch, _)| is_blocks_own(bounds, stage, launch)) {
            found.push(blocks_share(sched, bounds, stage, (launch, *by)));
        }
    }
    super::warps::check(sched, bounds, &launches, &mut found);
    let mut launches: Vec<Launch> = launches.into_iter().map(|(launch, _)| launch).collect();
    let place = |nest: StageId| bounds.graph.order.iter().position(|&stage| stage == nest);
    launches.sort_by_key(|launch| (place(launch.nest), launch.coordinate.index()));
    bounds.launches = launches;
    found.or(())
}

/// Refuses to bind the loop of a reduction over nothing: its result is what it starts from, which no thread would store.
fn no_threads(operator: &Operator<'_>, sched: Option<&Func>, bounds: &Bounds, leaf: AxisId) -> ScheduleDiagnostic {
    let graph = &bounds.graph;
    let shown = show_axis(graph, leaf);
    let text = format!("`{shown}` has no iterations, so no thread would store what the reduction starts from");
    let place =
        sched.map_or(operator.te.location(graph[graph[leaf].stage].loc), |sched| sched.location(graph[leaf].kind_loc));
    ScheduleDiagnostic::error("bind-extents", place, text)
        .help("bind it at sizes at which it has some")
        .fix_its(LEAVE_OUT)
}

/// The greater of two extents.
fn greater(az: &mut Analyzer, a: Size, b: Size) -> Size {
    if let (Size::Int(_), Size::Int(_)) = (a, b) {
        return b;
    }
    let (a, b) = (a.expr(&mut az.pool), b.expr(&mut az.pool));
    let greater = az.pool.max(a, b);
    Size::simplified(az, greater)
}

/// A stage in shared or global memory that is filled inside the loop of `leaf`, or one that is reduced by threads there: all threads
/// must meet there, so the loop cannot be guarded.
fn met_inside(bounds: &Bounds, leaf: AxisId) -> Option<StageId> {
    let graph = &bounds.graph;
    graph.order.iter().copied().find(|&stage| {
        let Some(data) = bounds.stage(stage) else { return false };
        let inside = || graph.path(stage).contains(&leaf);
        let is_common = data.scope.is_shared() || data.scope == Scope::Global;
        let filled = is_common && matches!(graph[stage].attach, Attach::At(_));
        let reduced = graph.reduced_by_threads(stage).next().is_some();
        (filled && inside()) || (reduced && (graph[stage].leaves.contains(&leaf) || inside()))
    })
}

/// Do all threads of a coordinate run the whole reduction of `stage`, each adding to the same buffer?
fn is_shared_reduction(operator: &Operator<'_>, bounds: &Bounds, stage: StageId, launch: &Launch) -> bool {
    let graph = &bounds.graph;
    let Some(data) = bounds.stage(stage) else { return false };
    let bound = |leaf: &AxisId| graph[*leaf].kind == Kind::Launch(launch.coordinate);
    launch.extent.is_several()
        && launch.nest == graph.nest_of(stage)
        && data.scope.rank() <= u8::from(launch.coordinate.is_thread())
        && operator.reduction(graph[stage].source).is_some()
        && !graph[stage].leaves.iter().any(bound)
        && !graph.path(stage).iter().any(bound)
}

fn shared_reduction(
    operator: &Operator<'_>,
    sched: Option<&Func>,
    bounds: &Bounds,
    stage: StageId,
    (launch, by): (&Launch, AxisId),
) -> ScheduleDiagnostic {
    let graph = &bounds.graph;
    let (data, name) = (&graph[stage], launch.coordinate.name());
    let scope = graph.scope_of(stage);
    let location = |loc: Loc| sched.map_or(Location::None, |sched| sched.location(loc));
    let place = data.spoken_of_by().map_or(operator.te.location(data.loc), location);
    let text = format!(
        "each of the {} of `{name}` runs the whole reduction of `{}`, and all add to the same buffer in {} memory",
        bounds.show_size(launch.extent),
        data.name,
        scope.name()
    );
    let own = graph.names(data.leaves.iter().filter(|&&leaf| !graph[leaf].reduce));
    let help = match own[..] {
        [] => format!("let `{}` lie in local memory", data.name),
        _ => format!("bind {} to `{name}`, or let `{}` lie in local memory", crate::directive::one_of(&own), data.name),
    };
    ScheduleDiagnostic::error("reduction-shared", place, text)
        .fix_its(ELSEWHERE)
        .label(location(graph[by].kind_loc), format!("`{name}` is bound here"))
        .help(help)
}

/// Is `stage` computed inside a kernel, into memory that its blocks share? Each of them writes all of it, and nothing
/// orders what one writes and another reads, or writes again.
fn is_blocks_own(bounds: &Bounds, stage: StageId, launch: &Launch) -> bool {
    let graph = &bounds.graph;
    let Some(data) = bounds.stage(stage) else { return false };
    launch.extent.is_several()
        && !launch.coordinate.is_thread()
        && launch.nest == graph.nest_of(stage)
        && data.scope == Scope::Global
        && matches!(graph[stage].attach, Attach::At(_))
}

fn blocks_share(
    sched: Option<&Func>,
    bounds: &Bounds,
    stage: StageId,
    (launch, by): (&Launch, AxisId),
) -> ScheduleDiagnostic {
    let graph = &bounds.graph;
    let (data, name) = (&graph[stage], launch.coordinate.name());
    let location = |loc: Loc| sched.map_or(Location::None, |sched| sched.location(loc));
    let text = format!(
        "`{}` is computed inside a kernel and lies in global memory, which its {} blocks of `{name}` share; nothing orders \
         what they write and read there",
        data.name,
        bounds.show_size(launch.extent)
    );
    let help = format!("compute it inside the loop that is bound to `{name}`, in shared memory, or at the root");
    ScheduleDiagnostic::error("global-in-kernel", location(data.attach_loc), text)
        .fix_its(ELSEWHERE_OR_ROOT)
        .label(location(graph[by].kind_loc), format!("`{name}` is bound here"))
        .help(help)
}

/// A loop of fewer threads than the launch has, whose number chooses the part of `stage` that is computed outside of it.
fn shorter_elsewhere(bounds: &Bounds, stage: StageId, launch: &Launch) -> Option<AxisId> {
    let graph = &bounds.graph;
    if launch.nest != graph.nest_of(stage) {
        return None;
    }
    let mins = bounds.stage(stage)?.ranges.iter().map(|range| range.min);
    let mut counters = mins.flat_map(|min| bounds.vars.counters(&bounds.analyzer.pool, min));
    counters.find(|&leaf| {
        graph[leaf].kind == Kind::Launch(launch.coordinate)
            && bounds.extents[leaf.idx()].may_be_below(launch.extent)
            && !graph.path(stage).contains(&leaf)
    })
}

fn borrowed(
    sched: Option<&Func>,
    bounds: &Bounds,
    stage: StageId,
    (leaf, launch, by): (AxisId, &Launch, AxisId),
) -> ScheduleDiagnostic {
    let graph = &bounds.graph;
    let location = |loc: Loc| sched.map_or(Location::None, |sched| sched.location(loc));
    let (name, owner) = (&graph[stage].name, &graph[graph[leaf].stage].name);
    let text = format!(
        "`{name}` is computed outside the loop `{}` of `{owner}`, which chooses the part of each thread and has {} \
         where the launch has {}",
        graph[leaf].name,
        counted(bounds.show_size(bounds.extents[leaf.idx()]), "thread"),
        bounds.show_size(launch.extent)
    );
    ScheduleDiagnostic::error("bind-extents", location(graph[stage].attach_loc), text)
        .fix_its(OTHER_EXTENT)
        .label(
            location(graph[leaf].kind_loc),
            format!("bound to {} here", bounds.show_size(bounds.extents[leaf.idx()])),
        )
        .label(location(graph[by].kind_loc), format!("bound to {} here", bounds.show_size(launch.extent)))
        .help(format!("compute it at `{}` or further inside", graph[leaf].name))
}

fn disagree(
    operator: &Operator<'_>,
    sched: Option<&Func>,
    bounds: &Bounds,
    (leaf, by): (AxisId, AxisId),
    inner: StageId,
) -> ScheduleDiagnostic {
    let graph = &bounds.graph;
    let location = |loc: Loc| sched.map_or(Location::None, |sched| sched.location(loc));
    let name = match graph[leaf].kind {
        Kind::Launch(coordinate) => coordinate.name(),
        _ => "",
    };
    let [small, large] = [leaf, by].map(|leaf| bounds.show_size(bounds.extents[leaf.idx()]));
    let (mine, other) = (crate::directive::show_axis(graph, leaf), crate::directive::show_axis(graph, by));
    let text = format!(
        "`{name}` has {} in `{mine}` and {large} in `{other}`, and `{}`, for which all threads meet, stands inside the smaller loop",
        counted(&small, "thread"),
        graph[inner].name
    );
    let mut error =
        ScheduleDiagnostic::error("bind-extents", location(graph[leaf].kind_loc), text).fix_its(OTHER_EXTENT);
    if is_axis_of_rfactor(graph, leaf) {
        error = error.label(location(graph[leaf].made_by), format!("`rfactor` gives it the extent {small} here"));
    }
    error
        .label(location(graph[by].kind_loc), format!("bound to {large} here"))
        .label(operator.te.location(graph[graph[leaf].stage].loc), format!("`{}`", graph[graph[leaf].stage].name))
        .help(format!("split by {large} in both, or compute `{}` further outside", graph[inner].name))
}

/// Did `rfactor` make the axis, so that no factor of a later split decides its extent?
fn is_axis_of_rfactor(graph: &Graph, axis: AxisId) -> bool {
    let stage = &graph[graph[axis].stage];
    match stage.source {
        Source::Merge { .. } => stage.reduce.contains(&axis),
        Source::Partial(_) => stage.roots().any(|root| root == axis),
        _ => false,
    }
}

/// A limit of the target that a program would break.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OverLimit {
    /// What there is too much of: `threads`, `shared`, `grid` or `block`.
    pub what: &'static str,
    /// How much the program needs.
    pub needed: i64,
    /// How much there is.
    pub limit: i64,
}

impl std::fmt::Display for OverLimit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {} > {}", self.what, self.needed, self.limit)
    }
}

impl Bounds {
    /// The limits of `target` that the program would break, found before there is a program.
    pub fn limits(&self, target: &Target) -> Vec<OverLimit> {
        let mut over = Vec::new();
        let signed = |limit: u64| i64::try_from(limit).unwrap_or(i64::MAX);
        let mut nests: Vec<StageId> = self.launches.iter().map(|launch| launch.nest).collect();
        nests.dedup();
        for nest in nests {
            let mut check = |what: &'static str, needed: i64, limit: i64| {
                if needed > limit {
                    over.push(OverLimit { what, needed, limit });
                }
            };
            let threads = Coordinate::ALL.into_iter().filter(|coordinate| coordinate.is_thread());
            let threads = threads
                .filter_map(|coordinate| self.launch_extent(nest, coordinate).int())
                .fold(1, i64::saturating_mul);
            check("threads", threads, signed(target.max_threads_per_block));
            check("shared", self.shared_bytes(nest), signed(target.max_shared_per_block));
            for launch in self.launches.iter().filter(|launch| launch.nest == nest) {
                let (what, limits) =
                    if launch.coordinate.is_thread() { ("block", target.max_block) } else { ("grid", target.max_grid) };
                // A grid whose extent stays open is left to the launch.
                if let Some(extent) = launch.extent.int() {
                    check(what, extent, signed(limits[launch.coordinate.dim()]));
                }
            }
        }
        over
    }
}
