//! Why each stage computes what it does: who reads it, which loops ran while its region was inferred, what the rules
//! made of that, and the guards that follow.
//!
//! Plain data, names and expressions as text: for people, and for tools that show it to them.

use crate::bounds::{Bounds, Demand, Range, Taken};
use crate::directive::show_axis;
use crate::graph::{Attach, AxisId, Graph, Kind, Relation, StageId};
use crate::operator::Operator;
use crate::size::Size;
use crate::statements::{End, Guard, Statements};
use std::fmt;
use tc_arith::{Expr, SymInterval};
use tc_ir::{Func, Loc};
use tc_support::Location;

/// A number, or the text of an expression over sizes that stay open.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Extent {
    /// A number.
    Int(i64),
    /// An expression.
    Text(String),
}

impl fmt::Display for Extent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Extent::Int(int) => write!(f, "{int}"),
            Extent::Text(text) => f.write_str(text),
        }
    }
}

/// Why a stage computes what it does.
#[derive(Clone, PartialEq, Debug)]
pub struct StageWhy {
    /// The stage.
    pub name: String,
    /// Where its buffers lie.
    pub scope: &'static str,
    /// Where it is computed: the loop and its stage; nothing for the root.
    pub at: Option<(String, String)>,
    /// The directive that said so, or made the stage; else the operator's text.
    pub location: Location,
    /// The extents of its buffers.
    pub shape: Vec<Extent>,
    /// The bytes of its buffers, padding included.
    pub bytes: i64,
    /// Who reads it.
    pub reads: Vec<ReadWhy>,
    /// What is computed, by root axis.
    pub dims: Vec<DimWhy>,
    /// Its loops, outermost first.
    pub loops: Vec<LoopWhy>,
    /// The conditions around what it computes.
    pub guards: Vec<GuardWhy>,
}

/// A read of a stage.
#[derive(Clone, PartialEq, Debug)]
pub struct ReadWhy {
    /// Who reads.
    pub consumer: String,
    /// Where the operator says so.
    pub location: Location,
    /// What is read, by dimension: least and greatest; nothing where an end is not known.
    pub ends: Vec<Option<(String, String)>>,
    /// The loops around the read, innermost first, `B.i`, and how they were taken.
    pub loops: Vec<(String, Taken)>,
}

/// The values of an axis that are computed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DimWhy {
    /// The axis.
    pub axis: String,
    /// Its declared range: the first value and how many there are.
    pub declared: (i64, Extent),
    /// The first value that is computed.
    pub min: String,
    /// How many are.
    pub extent: Extent,
    /// The rule that gave it.
    pub rule: Rule,
}

/// How a range came about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Rule {
    /// The stage is a result of the operator: all of it.
    Result,
    /// An axis of a reduction runs over all of its range.
    Reduction,
    /// Where it is read is not known: all of it.
    Unknown,
    /// The reads reach both ends of the tensor, or past them: all of it.
    Cut,
    /// What the reads ask for, all alike.
    Read,
    /// From the least that one of the reads asks for to the greatest.
    Hull,
    /// What the reads ask for varies in size: room for the greatest.
    Greatest,
    /// Data say where each element is read, and no one element for all: all that they may say.
    Data,
}

impl Rule {
    /// What the rule says.
    pub fn text(self) -> &'static str {
        match self {
            Rule::Result => "a result of the operator is computed whole",
            Rule::Reduction => "a reduction runs over its whole axis",
            Rule::Unknown => "what is read of it is not known, so all of it",
            Rule::Cut => "the reads reach both ends of the tensor or pass them: all of it",
            Rule::Read => "as it is read",
            Rule::Hull => "the hull of the reads",
            Rule::Greatest => "what is read varies in size: room for the greatest",
            Rule::Data => {
                "data say where it is read, and differ within what is computed at once: all that they may say"
            }
        }
    }

    /// A word for it.
    pub fn name(self) -> &'static str {
        match self {
            Rule::Result => "result",
            Rule::Reduction => "reduction",
            Rule::Unknown => "unknown",
            Rule::Cut => "cut",
            Rule::Read => "read",
            Rule::Hull => "hull",
            Rule::Greatest => "greatest",
            Rule::Data => "data",
        }
    }
}

/// A loop of a stage.
#[derive(Clone, PartialEq, Debug)]
pub struct LoopWhy {
    /// Its name.
    pub name: String,
    /// How many iterations it has.
    pub extent: Extent,
    /// How it came about: `the inner part of i, split by 32`.
    pub made: String,
    /// The directive that made it, if one did.
    pub location: Location,
}

/// A condition around what a stage computes.
#[derive(Clone, PartialEq, Debug)]
pub struct GuardWhy {
    /// `i < 16415`
    pub condition: String,
    /// The directive that made it necessary.
    pub location: Location,
}

/// Explains the stages of `bounds`, results first; `statements` have the guards that follow.
pub(crate) fn explain(
    operator: &Operator<'_>,
    sched: Option<&Func>,
    bounds: &mut Bounds,
    statements: &Statements,
) -> Vec<StageWhy> {
    let order: Vec<StageId> = bounds.graph.order.iter().rev().copied().collect();
    let mut explained = Vec::new();
    for stage in order {
        let Some(known) = bounds.stage(stage).cloned() else { continue };
        let mut explainer = Explainer { operator, sched, bounds };
        let dims = explainer.dims(stage, &known.ranges, &known.demands);
        let reads = known.demands.iter().map(|demand| explainer.read(demand)).collect();
        let (at, location) = explainer.place(stage);
        explained.push(StageWhy {
            name: explainer.graph()[stage].name.to_string(),
            scope: known.scope.name(),
            at,
            location,
            shape: known.shape.iter().map(|&extent| explainer.show(extent)).collect(),
            bytes: known.bytes,
            reads,
            dims,
            loops: explainer.loops(stage),
            guards: explainer.guards(statements, stage),
        });
    }
    explained
}

struct Explainer<'a> {
    operator: &'a Operator<'a>,
    sched: Option<&'a Func>,
    bounds: &'a mut Bounds,
}

impl Explainer<'_> {
    fn graph(&self) -> &Graph {
        &self.bounds.graph
    }

    fn show(&self, size: Size) -> Extent {
        match size {
            Size::Int(int) => Extent::Int(int),
            Size::Expr(expr) => Extent::Text(self.bounds.show(expr)),
        }
    }

    fn directive(&self, loc: Loc) -> Location {
        self.sched.map_or(Location::None, |sched| sched.location(loc))
    }

    fn place(&self, stage: StageId) -> (Option<(String, String)>, Location) {
        let (graph, data) = (self.graph(), &self.graph()[stage]);
        let at = match data.attach {
            Attach::At(axis) => {
                let leaf = graph.leaf_of(axis);
                Some((graph[leaf].name.to_string(), graph[graph[leaf].stage].name.to_string()))
            }
            _ => None,
        };
        let location = match data.placed_by() {
            Some(loc) => self.directive(loc),
            None => self.operator.te.location(data.loc),
        };
        (at, location)
    }

    fn read(&self, demand: &Demand) -> ReadWhy {
        let show = |ends: &SymInterval| Some((self.bounds.show(ends.min?), self.bounds.show(ends.max?)));
        ReadWhy {
            consumer: self.graph()[demand.consumer].name.to_string(),
            location: self.operator.te.location(demand.loc),
            ends: demand.ends.iter().map(show).collect(),
            loops: demand.loops.iter().map(|&(leaf, taken)| (show_axis(self.graph(), leaf), taken)).collect(),
        }
    }

    fn dims(&mut self, stage: StageId, ranges: &[Range], demands: &[Demand]) -> Vec<DimWhy> {
        let roots: Vec<AxisId> = self.graph()[stage].roots().collect();
        let n_data = self.graph()[stage].data.len();
        let mut dims = Vec::with_capacity(roots.len());
        for (nth, (axis, &range)) in roots.into_iter().zip(ranges).enumerate() {
            let declared = self.graph()[axis].domain.unwrap_or((0, Size::Int(1)));
            let rule = if nth >= n_data {
                Rule::Reduction
            } else if self.graph()[stage].output {
                Rule::Result
            } else if demands.iter().any(|demand| demand.scattered.contains(&nth)) {
                Rule::Data
            } else {
                self.rule(range, declared, demands.iter().map(|demand| demand.ends.get(nth).copied()))
            };
            let axis = self.graph()[axis].name.to_string();
            let (min, extent) = (self.bounds.show(range.min), self.show(range.extent));
            dims.push(DimWhy { axis, declared: (declared.0, self.show(declared.1)), min, extent, rule });
        }
        dims
    }

    fn rule(
        &mut self,
        range: Range,
        (low, extent): (i64, Size),
        ends: impl Iterator<Item = Option<SymInterval>>,
    ) -> Rule {
        let known: Option<Vec<(Expr, Expr)>> = ends.map(|ends| ends.and_then(|ends| ends.min.zip(ends.max))).collect();
        let Some(known) = known.filter(|known| !known.is_empty()) else { return Rule::Unknown };
        let last = match extent {
            Size::Int(extent) => self.bounds.analyzer.pool.int(extent.saturating_sub(1)),
            Size::Expr(_) => extent.last(&mut self.bounds.analyzer),
        };
        let pool = &self.bounds.analyzer.pool;
        let whole = range.extent == extent && pool.as_const(range.min) == Some(low);
        let exact = known.iter().all(|&(min, max)| pool.as_const(min) == Some(0) && max == last);
        let alike = known.iter().all(|ends| *ends == known[0]);
        let (min, max) = known[0];
        let az = &mut self.bounds.analyzer;
        let width = az.pool.sub(max, min);
        let width = az.simplify(width);
        let width = az.pool.as_const(width);
        match (whole, exact, alike) {
            (true, false, _) => Rule::Cut,
            (_, _, true) if width.is_none() => Rule::Greatest,
            (_, _, true) => Rule::Read,
            _ => Rule::Hull,
        }
    }

    fn loops(&self, stage: StageId) -> Vec<LoopWhy> {
        let (graph, data) = (self.graph(), &self.graph()[stage]);
        let of = |&leaf: &AxisId| {
            let made = data.relations.iter().find_map(|relation| self.made(relation, leaf));
            let bound = match graph[leaf].kind {
                Kind::Launch(coordinate) => format!(", bound to {}", coordinate.name()),
                Kind::Vthread => ", bound to vthread".to_string(),
                _ => String::new(),
            };
            let said: String =
                graph[leaf].parts.iter().filter_map(|part| part.explain()).map(|text| format!(", {text}")).collect();
            LoopWhy {
                name: graph[leaf].name.to_string(),
                extent: self.show(self.bounds.extents[leaf.idx()]),
                made: made.unwrap_or_else(|| "the axis itself".to_string()) + &bound + &said,
                location: self.directive(graph[leaf].made_by),
            }
        };
        data.leaves.iter().map(of).collect()
    }

    /// How `axis` came of others, if `relation` says so.
    fn made(&self, relation: &Relation, axis: AxisId) -> Option<String> {
        let name = |axis: AxisId| &self.graph()[axis].name;
        let extent = |axis: AxisId| self.show(self.bounds.extents[axis.idx()]);
        match *relation {
            Relation::Split { parent, outer, inner, factor, nparts, .. } if outer == axis || inner == axis => {
                let (part, how) = (if outer == axis { "outer" } else { "inner" }, if nparts { "into" } else { "by" });
                let parts = if nparts { " parts" } else { "" };
                Some(format!("the {part} part of `{}` ({}), split {how} {factor}{parts}", name(parent), extent(parent)))
            }
            Relation::Fuse { outer, inner, fused } if fused == axis => {
                let (a, b) = (extent(outer), extent(inner));
                Some(format!("`{}` and `{}` fused, {a} x {b}", name(outer), name(inner)))
            }
            _ => None,
        }
    }

    fn guards(&self, statements: &Statements, stage: StageId) -> Vec<GuardWhy> {
        let Some(of_stage) = &statements.stages[stage.idx()] else { return Vec::new() };
        let of = |guard: &Guard| {
            let op = match guard.end {
                End::Low => ">=",
                End::High => "<",
            };
            let condition = format!("{} {op} {}", self.bounds.show(guard.value), self.show(guard.bound));
            GuardWhy { condition, location: self.directive(guard.loc) }
        };
        of_stage.update.guards.iter().map(of).collect()
    }
}
