//! Loops that a tensor intrinsic stands for are plain ones.

use super::{Intrinsic, stands_for};
use crate::check::Check;
use crate::diagnostic::ScheduleDiagnostic;
use crate::directive::{one_of, show_axis};
use crate::graph::{Attach, AxisId, Kind, StageId};
use tc_support::suggest;

/// From the loop `axis` of `stage` inwards nothing is bound, copied or a vector, and no stage is computed.
pub(super) fn plain_inside(part: &Intrinsic, check: &mut Check<'_>, stage: StageId, axis: AxisId) {
    let graph = check.graph;
    if let Some(leaf) = stands_for(graph, axis).find(|&leaf| graph[leaf].kind != Kind::Serial) {
        not_serial(part, check, stage, leaf);
    }
    let inside = |at: AxisId| stands_for(graph, axis).any(|leaf| leaf == at);
    let attached = |&&other: &&StageId| matches!(graph[other].attach, Attach::At(at) if inside(graph.leaf_of(at)));
    if let Some(&other) = graph.order.iter().find(attached) {
        computed_inside(part, check, (stage, axis), other);
    }
}

/// A loop of another kind, inside the one that is tensorized.
fn not_serial(part: &Intrinsic, check: &mut Check<'_>, stage: StageId, leaf: AxisId) {
    let graph = check.graph;
    let intrinsic = suggest::shorten(&part.name);
    let (how, why) = match graph[leaf].kind {
        Kind::Launch(coordinate) => (format!("bound to `{}`", coordinate.name()), "a thread"),
        Kind::Vthread => ("bound to virtual threads".to_string(), "a virtual thread"),
        Kind::Unroll => ("unrolled".to_string(), "an unrolled loop"),
        Kind::Vectorize | Kind::Serial => ("a vector".to_string(), "a vector"),
    };
    let shown = show_axis(graph, leaf);
    let text = format!("`@{intrinsic}` stands for the loop `{shown}`, which is {how}: {why} may not be inside it");
    let error = ScheduleDiagnostic::error("tensorize-inside", check.location(part.loc), text);
    let error = error.label(check.location(graph[leaf].kind_loc), format!("`{shown}` is {how} here"));
    let inner = graph[stage].leaves.iter().skip_while(|&&other| other != leaf).skip(1);
    let free = graph.names(inner);
    let help = match free[..] {
        [] => "leave out one of the two directives".to_string(),
        _ => format!("leave out one of the two, or tensorize a loop inside it: {}", one_of(&free)),
    };
    check.found.push(error.help(help));
}

/// A stage that is computed inside the loop that is tensorized.
fn computed_inside(part: &Intrinsic, check: &mut Check<'_>, (stage, axis): (StageId, AxisId), other: StageId) {
    let graph = check.graph;
    let name = &graph[other].name;
    let text = format!(
        "`@{}` stands for the loops of `{}` from `{}` inwards, and `{name}` is computed inside them",
        suggest::shorten(&part.name),
        graph[stage].name,
        graph[axis].name
    );
    let error = ScheduleDiagnostic::error("tensorize-inside", check.location(part.loc), text);
    let error = error.label(check.location(graph[other].attach_loc), format!("`{name}` is attached here"));
    let free = graph.names(graph[stage].leaves.iter().take_while(|&&leaf| leaf != axis));
    let help = match free[..] {
        [] => format!("compute `{name}` further outside"),
        _ => format!("compute `{name}` at a loop outside: {}", one_of(&free)),
    };
    check.found.push(error.help(help));
}
