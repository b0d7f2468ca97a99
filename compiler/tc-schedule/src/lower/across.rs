//! Reductions across threads.
//!
//! Each thread reduces what its own iterations give, in a variable of its own; `gpu.all_reduce` combines these. All
//! threads of the block meet there, so no guard stands around it: guards stand around what is added and around the store.

use super::Emitter;
use super::combine::Combiner;
use crate::body::Vars;
use crate::graph::{AxisId, Kind, StageId};
use crate::scope::Scope;
use crate::size::Size;
use crate::statements::Statement;
use tc_dialects::{arith, gpu, tir};
use tc_ir::attrs::AttrData;
use tc_ir::builder::OpSpec;
use tc_ir::{Attr, Type, Value, keys};
use tc_support::Diagnostic;

impl<'a> Emitter<'a> {
    /// Writes the nest of `stage`, some axes of whose reduction are bound to threads.
    pub(super) fn across_threads(
        &mut self,
        stage: StageId,
        init: &'a Statement,
        update: &'a Statement,
    ) -> Result<(), Diagnostic> {
        let depth = self.open.len();
        let graph = self.graph();
        let leaves = &graph[stage].leaves;
        let is_thread = |leaf: &AxisId| matches!(graph[*leaf].kind, Kind::Launch(_));
        let n_common = leaves.iter().position(|&leaf| graph[leaf].reduce).unwrap_or(leaves.len());
        let n_outer = leaves[n_common..].iter().take_while(|leaf| is_thread(leaf)).count();
        let (outer, inner) = leaves.split_at(n_common + n_outer);
        for &leaf in outer {
            self.enter_leaf(stage, leaf)?;
        }
        // A loop over threads is not iterated, so it may as well stand outside of those that are: what threads do together
        // then has their numbers. Where a stage is attached at it, it stands where the schedule has it too.
        let later: Vec<AxisId> = inner.iter().copied().filter(is_thread).collect();
        let twice = later.iter().any(|leaf| self.attached.contains_key(leaf));
        for &leaf in &later {
            self.open_loop(stage, leaf);
        }
        let within = self.open.len();
        let reduce = self.operator.reduction(graph[stage].source).expect("a stage with such an axis reduces");
        let combiner = Combiner::of(self.operator.te, reduce, self.module)?;
        let parts = self.part_buffers(stage)?;
        let identity = self.identity(stage, &combiner)?;
        let zero = [self.builder().index(0)];
        for (&part, value) in parts.iter().zip(identity) {
            self.store_at(part, &zero, value);
        }
        for &leaf in inner.iter().filter(|leaf| twice || !is_thread(leaf)) {
            self.enter_leaf(stage, leaf)?;
        }
        self.parts = Some((stage, parts.clone()));
        let done = self.statement(stage, update, false);
        self.parts = None;
        done?;
        self.close(within);
        let zero = [self.builder().index(0)];
        let mine: Vec<Value> = parts.iter().map(|&part| self.load_at(part, &zero)).collect();
        let reduced = self.all_reduce(stage, &combiner, &mine)?;
        for leaf in later {
            if !self.values.contains_key(&Vars::counter(leaf)) {
                self.open_loop(stage, leaf);
            }
        }
        self.write_back(stage, init, &combiner, reduced)?;
        self.close(depth);
        Ok(())
    }

    /// A variable of each thread for each result of `stage`.
    fn part_buffers(&mut self, stage: StageId) -> Result<Vec<Value>, Diagnostic> {
        let graph = self.graph();
        let tensors = graph[stage].tensors.iter();
        tensors
            .map(|tensor| {
                let scope = Scope::Local.name_in(&mut self.func);
                let ty = self.buffer_type(tensor.elem, &[Size::Int(1)], scope)?;
                let mut builder = self.builder();
                let op = tir::Alloc::build(&mut builder, &[], &[ty]);
                let part = builder.func.result(op).expect("an alloc has one result");
                builder.name(part, &format!("{}_part", tensor.name));
                Ok(part)
            })
            .collect()
    }

    /// What the values of all threads that reduce together come to.
    fn all_reduce(
        &mut self,
        stage: StageId,
        combiner: &Combiner<'_>,
        mine: &[Value],
    ) -> Result<Vec<Value>, Diagnostic> {
        let graph = self.graph();
        let mut axes: Vec<_> = graph
            .reduced_by_threads(stage)
            .filter_map(|leaf| if let Kind::Launch(coordinate) = graph[leaf].kind { Some(coordinate) } else { None })
            .collect();
        axes.sort();
        let axes: Vec<Attr> = axes.into_iter().map(|axis| self.func.word_attr(axis.name())).collect();
        let axes = self.func.attr(AttrData::List(axes.into()));
        let attrs = self.func.dict(&[(keys::AXES, axes)]);
        let types: Vec<Type> = mine.iter().map(|&value| self.func.value_type(value)).collect();
        let spec =
            OpSpec { opcode: gpu::AllReduce::OPCODE, operands: mine, keyed: 0, attrs, results: &types, n_regions: 1 };
        let op = self.builder().op(spec);
        let region = self.func.op_regions(op)[0];
        let mut args = Vec::with_capacity(2 * types.len());
        for _ in 0..2 {
            args.extend(types.iter().map(|&ty| self.func.push_arg(region, ty, None)));
        }
        self.open_region(region);
        let (so_far, new) = args.split_at(types.len());
        let values = combiner.combine(self, so_far, new)?;
        tir::Yield::build(&mut self.builder(), &values, &[], &[]);
        self.open.pop();
        let results: Vec<Value> = self.func.results(op).collect();
        for (&value, tensor) in results.iter().zip(&graph[stage].tensors) {
            self.builder().name(value, &format!("{}_all", tensor.name));
        }
        Ok(results)
    }

    /// Stores the result: each thread to a buffer of its own, or the first of those that reduced together.
    fn write_back(
        &mut self,
        stage: StageId,
        init: &'a Statement,
        combiner: &Combiner<'_>,
        reduced: Vec<Value>,
    ) -> Result<(), Diagnostic> {
        let depth = self.open.len();
        let graph = self.graph();
        let locs = self.open_statement(stage, init);
        let shared = self.bounds.stage(stage).is_some_and(|bounds| bounds.scope.rank() <= 1);
        if !self.open_store(stage)? && shared {
            let threads: Vec<AxisId> = graph.reduced_by_threads(stage).collect();
            let mut first: Option<Value> = None;
            for leaf in threads {
                let Some(&counter) = self.values.get(&Vars::counter(leaf)) else { continue };
                let zero = self.builder().index(0);
                let is_first = self.compare("eq", &[counter, zero]);
                first = Some(match first {
                    Some(others) => self.builder().value(arith::AND, &[others, is_first], &[]),
                    None => is_first,
                });
            }
            if let Some(first) = first {
                self.open_if(first);
            }
        }
        let target = self.target_of(stage, &init.place);
        let values = match &init.block {
            Some(block) => {
                let start = self.block(block)?;
                self.locs = locs;
                combiner.combine(self, &start, &reduced)?
            }
            None => reduced,
        };
        self.store(stage, &values, &init.place, target);
        self.locals.clear();
        self.close(depth);
        Ok(())
    }
}
