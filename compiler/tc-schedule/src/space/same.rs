//! Two schedules of one operator, structure with structure.
//!
//! Names do not count, nor do the numbers that stages and axes have: a stage is known by its place in the walk from the
//! results along the reads, an axis by how it was made of root axes. What a directive says that the graph's stages,
//! loops and attachments do not show, such as a pragma, is compared directive by directive.

use super::member::Directive;
use crate::apply::Applied;
use crate::directive::Item;
use crate::graph::{Attach, AxisId, Graph, Kind, Relation, Source, StageId};
use crate::primitives::{self, Compared};
use crate::scope::Scope;
use crate::written;
use rustc_hash::FxHashMap;
use std::fmt::Write as _;
use tc_ir::walk::ops_under;
use tc_ir::{Func, Loc, Op, Value};

/// How an axis was made; numbers are those of [`Forms`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Form {
    Root { stage: u32, nth: u32 },
    Outer { of: u32, factor: i64, nparts: bool },
    Inner { of: u32, factor: i64, nparts: bool },
    Fused { outer: u32, inner: u32 },
}

/// The forms of both graphs that are compared.
#[derive(Default)]
struct Forms {
    known: FxHashMap<Form, u32>,
}

impl Forms {
    fn number(&mut self, form: Form) -> u32 {
        let next = self.known.len() as u32;
        *self.known.entry(form).or_insert(next)
    }
}

/// A graph without the numbers that its stages and axes happen to have.
struct Canon {
    /// The stages that the results need, in the order of the walk.
    stages: Vec<StageId>,
    /// By stage, its place in that order.
    place: Vec<Option<u32>>,
    /// By axis.
    forms: Vec<Option<u32>>,
}

impl Canon {
    fn new(graph: &Graph, forms: &mut Forms) -> Canon {
        let mut canon =
            Canon { stages: Vec::new(), place: vec![None; graph.stages.len()], forms: vec![None; graph.axes.len()] };
        let mut worklist: Vec<StageId> = graph.outputs.iter().rev().map(|output| output.stage).collect();
        while let Some(stage) = worklist.pop() {
            if canon.place[stage.idx()].is_some() {
                continue;
            }
            canon.place[stage.idx()] = Some(canon.stages.len() as u32);
            canon.axes(graph, stage, forms);
            canon.stages.push(stage);
            worklist.extend(graph[stage].reads.iter().rev().map(|read| read.from.stage));
        }
        canon
    }

    fn axes(&mut self, graph: &Graph, stage: StageId, forms: &mut Forms) {
        let place = self.stages.len() as u32;
        for (nth, root) in graph[stage].roots().enumerate() {
            self.forms[root.idx()] = Some(forms.number(Form::Root { stage: place, nth: nth as u32 }));
        }
        for relation in &graph[stage].relations {
            match *relation {
                Relation::Split { parent, outer, inner, factor, nparts, .. } => {
                    let Some(of) = self.forms[parent.idx()] else { continue };
                    self.forms[outer.idx()] = Some(forms.number(Form::Outer { of, factor, nparts }));
                    self.forms[inner.idx()] = Some(forms.number(Form::Inner { of, factor, nparts }));
                }
                Relation::Fuse { outer, inner, fused } => {
                    let (Some(outer), Some(inner)) = (self.forms[outer.idx()], self.forms[inner.idx()]) else {
                        continue;
                    };
                    self.forms[fused.idx()] = Some(forms.number(Form::Fused { outer, inner }));
                }
            }
        }
    }

    /// All that is compared of a stage.
    fn shape(&self, graph: &Graph, stage: StageId) -> Shape {
        let data = &graph[stage];
        Shape {
            source: data.source,
            reads: data.reads.iter().map(|read| (self.place[read.from.stage.idx()], read.from.result)).collect(),
            scope: graph.scope_of(stage),
            attach: match data.attach {
                Attach::Root => Where::Root,
                Attach::Inline => Where::Inline,
                Attach::At(axis) => Where::At(self.forms[graph.leaf_of(axis).idx()]),
            },
            leaves: data.leaves.iter().map(|leaf| (self.forms[leaf.idx()], graph[*leaf].kind)).collect(),
        }
    }
}

#[derive(PartialEq, Eq)]
enum Where {
    Root,
    Inline,
    At(Option<u32>),
}

#[derive(PartialEq, Eq)]
struct Shape {
    source: Source,
    reads: Vec<(Option<u32>, u32)>,
    scope: Scope,
    attach: Where,
    leaves: Vec<(Option<u32>, Kind)>,
}

/// Do two graphs of one operator have the same stages, loops and attachments?
pub(super) fn same(a: &Graph, b: &Graph) -> bool {
    let mut forms = Forms::default();
    let (canon_a, canon_b) = (Canon::new(a, &mut forms), Canon::new(b, &mut forms));
    canon_a.stages.len() == canon_b.stages.len()
        && canon_a.stages.iter().zip(&canon_b.stages).all(|(&x, &y)| canon_a.shape(a, x) == canon_b.shape(b, y))
}

/// A directive in a form that another schedule's can be compared with.
pub(super) struct Spoken {
    /// What it says, without names.
    pub(super) key: String,
    /// Does the graph show all that it says?
    pub(super) shown: bool,
    pub(super) directive: Directive,
}

/// What the directives that were applied say, in order.
pub(super) fn spoken(sched: &Func, applied: &Applied) -> Vec<Spoken> {
    let writer = Writer { sched, applied, names: Names::new(&applied.graph) };
    applied.directives.iter().map(|&op| writer.directive(op)).collect()
}

/// Numbers for stages and axes that do not depend on what a schedule calls them, nor on what else it says: a stage of
/// the operator is known by the operator's name for it, a cache by what it copies and where to, an axis by how it was
/// made.
struct Names {
    stages: Vec<u64>,
    axes: Vec<Option<u64>>,
}

impl Names {
    fn new(graph: &Graph) -> Names {
        let mut forms = Forms::default();
        let canon = Canon::new(graph, &mut forms);
        let stages = stage_numbers(graph);
        // The numbers of forms depend on the graph; a hash of how each was made does not.
        let mut by_number: Vec<(u32, Form)> = forms.known.iter().map(|(&form, &number)| (number, form)).collect();
        by_number.sort_unstable_by_key(|&(number, _)| number);
        let mut hashes: Vec<u64> = Vec::with_capacity(by_number.len());
        for (_, form) in by_number {
            let of = |number: u32| hashes[number as usize];
            let hash = match form {
                Form::Root { stage, nth } => mix([1, stages[canon.stages[stage as usize].idx()], nth.into()]),
                Form::Outer { of: parent, factor, nparts } => mix([2 + u64::from(nparts), of(parent), factor as u64]),
                Form::Inner { of: parent, factor, nparts } => mix([4 + u64::from(nparts), of(parent), factor as u64]),
                Form::Fused { outer, inner } => mix([6, of(outer), of(inner)]),
            };
            hashes.push(hash);
        }
        let axes = canon.forms.iter().map(|form| form.map(|number| hashes[number as usize])).collect();
        Names { stages, axes }
    }
}

fn stage_numbers(graph: &Graph) -> Vec<u64> {
    let mut numbers = vec![0; graph.stages.len()];
    // Producers stand first.
    for &stage in &graph.order {
        let data = &graph[stage];
        numbers[stage.idx()] = if data.made_by == Loc::NONE {
            data.name.bytes().fold(7, |hash, byte| mix([8, hash, byte.into()]))
        } else {
            let what = match data.source {
                Source::Copy => data.reads.iter().fold(1, |hash, read| mix([9, hash, numbers[read.from.stage.idx()]])),
                // It computes what a stage of the operator did, whatever serves its reads.
                source => format!("{source:?}").bytes().fold(2, |hash, byte| mix([9, hash, byte.into()])),
            };
            mix([10, what, data.scope.map_or(0, |scope| scope.rank().into())])
        };
    }
    numbers
}

fn mix(parts: [u64; 3]) -> u64 {
    parts.into_iter().fold(0, |hash: u64, part| super::count::SplitMix(hash.rotate_left(17) ^ part).next())
}

struct Writer<'a> {
    sched: &'a Func,
    applied: &'a Applied,
    names: Names,
}

impl Writer<'_> {
    fn directive(&self, op: Op) -> Spoken {
        let sched = self.sched;
        let row = sched.row(op);
        let name = row.short.unwrap_or(row.name).to_string();
        let mut key = name.clone();
        for nth in 0..row.params.len() {
            let keys: Vec<String> = sched.param_operands(op, nth).iter().map(|&value| self.key(value)).collect();
            let _ = write!(key, "|{}", keys.join(","));
        }
        for &(word, attr) in sched.entries(sched.op_attrs(op)) {
            let _ = write!(key, "|{}={}", sched.text(word), sched.show_attr(attr));
        }
        self.regions(op, &mut key);
        let loc = sched.op_locs(op).source;
        let text = written::call(sched, op, &|value| self.show(value));
        let shown = primitives::find(sched.opcode(op)).is_some_and(|info| info.compared == Compared::Graph);
        Spoken { key, shown, directive: Directive { name, text, location: sched.location(loc), loc, op } }
    }

    /// Adds what stands in the regions of a directive: ops by their rows, values by where they are made.
    fn regions(&self, op: Op, key: &mut String) {
        let sched = self.sched;
        let mut numbers: FxHashMap<Value, usize> = FxHashMap::default();
        for &region in sched.op_regions(op) {
            for &arg in sched.region_args(region) {
                let next = numbers.len();
                numbers.insert(arg, next);
            }
            for inner in ops_under(sched, region) {
                let _ = write!(key, "|{}", sched.op_name(inner));
                for value in sched.operands(inner) {
                    match numbers.get(value) {
                        Some(number) => drop(write!(key, " ${number}")),
                        None => drop(write!(key, " {}", self.key(*value))),
                    }
                }
                for &(name, attr) in sched.entries(sched.op_attrs(inner)) {
                    let _ = write!(key, " {}={}", sched.text(name), sched.show_attr(attr));
                }
                for result in sched.results(inner) {
                    let next = numbers.len();
                    numbers.insert(result, next);
                }
            }
            key.push(';');
        }
    }

    fn item(&self, value: Value) -> Item {
        self.applied.env.get(value.as_u32() as usize).copied().unwrap_or(Item::Unset)
    }

    fn key(&self, value: Value) -> String {
        match self.item(value) {
            Item::Int(int) => int.to_string(),
            Item::Tensor(tensor) => format!("t{:x}.{}", self.names.stages[tensor.stage.idx()], tensor.result),
            Item::Axis(axis) => self.axis_key(axis),
            _ => "?".to_string(),
        }
    }

    fn axis_key(&self, axis: AxisId) -> String {
        match self.names.axes[axis.idx()] {
            Some(hash) => format!("a{hash:x}"),
            None => "a?".to_string(),
        }
    }

    /// `Conv.i`, `tx`, `32`
    fn show(&self, value: Value) -> String {
        let graph = &self.applied.graph;
        match self.item(value) {
            Item::Int(int) => int.to_string(),
            Item::Tensor(tensor) => graph[tensor.stage].tensors[tensor.result as usize].name.to_string(),
            Item::Axis(axis) => written::axis(graph, axis),
            _ => self.sched.value_text(value).to_string(),
        }
    }
}
