//! Building the prologue, the steady state and the epilogue.

use super::divide::Division;
use super::registers::erase_unused;
use super::registers::{CopyHalf, Registers};
use crate::analysis::versions::shift;
use tc_dialects::{arith, tir};
use tc_ir::clone::{ValueMap, clone_op};
use tc_ir::walk::ops_under;
use tc_ir::{AttrData, Builder, Elem, Func, Op, Region, Rewriter, TypeData, Value, keys};

/// Puts the pipelined loop in the place of the loop.
pub(super) fn emit(func: &mut Func, division: &Division, registers: Option<&Registers>, peel: bool) {
    let loop_op = division.loop_op;
    make_versions(func, division);
    let registers = registers.map(|registers| registers.allocate(func, division));
    let (lo, hi) = (func.operand(loop_op, 0), func.operand(loop_op, 1));
    let carried = func.operands(loop_op)[2..].to_vec();
    let elem = func.value_scalar(lo).map_or(Elem::Index, |scalar| scalar.elem);
    let is_async = division.is_async();
    let mut pipeline = Pipeline { division, registers, lo, hi, elem, guard: !peel || is_async };
    if is_async {
        pipeline.prologue_of_groups(func);
    } else {
        pipeline.prologue(func);
    }
    let results = if is_async {
        pipeline.steady_state_of_groups(func, &carried)
    } else if peel {
        let mut b = Builder::before(func, loop_op);
        let end = pipeline.bound(&mut b, hi, -pipeline.ahead(), lo, arith::MAX);
        let carried = pipeline.part(func, (lo, end), &carried, true);
        pipeline.part(func, (end, hi), &carried, false)
    } else {
        pipeline.part(func, (lo, hi), &carried, true)
    };
    Rewriter::new(func).replace_op(loop_op, &results);
}

/// Moves the allocs of the body before the loop, those of staged buffers with room for all versions.
fn make_versions(func: &mut Func, division: &Division) {
    let body = func.op_regions(division.loop_op)[0];
    let allocs: Vec<Op> = ops_under(func, body).filter(|&op| func.opcode(op) == tir::ALLOC).collect();
    for &op in &allocs {
        Rewriter::new(func).move_before(op, division.loop_op);
    }
    for staged in &division.buffers {
        let attrs = func.op_attrs(staged.alloc);
        let attrs = func.without_entry(attrs, keys::STAGES);
        Rewriter::new(func).set_attrs(staged.alloc, attrs);
        let shaped = func.as_shaped(func.value_type(staged.buffer)).map(|(elem, _, scope)| (elem, scope));
        let Some((elem, scope)) = shaped.filter(|_| staged.versions > 1) else { continue };
        let size = i128::from(staged.distance) * i128::from(staged.versions);
        let extent = func.attr(AttrData::Int(size, None));
        let ty = func.ty(TypeData::Shaped { elem, shape: [extent].into(), scope });
        Rewriter::new(func).set_type(staged.buffer, ty);
    }
}

/// Which version an iteration is in, of the buffers that have so many of them.
pub(super) type Versions = Vec<(i64, Value)>;

/// A loop on its way to being pipelined.
pub(super) struct Pipeline<'d> {
    pub(super) division: &'d Division,
    registers: Option<super::registers::Allocated<'d>>,
    pub(super) lo: Value,
    pub(super) hi: Value,
    pub(super) elem: Elem,
    /// The steady state runs to the end, and produces what there is to produce.
    guard: bool,
}

impl Pipeline<'_> {
    /// How many iterations the producer is ahead.
    pub(super) fn ahead(&self) -> i64 {
        self.division.stages - 1
    }

    /// `min(from + steps, limit)`, or `max`, as a literal where it is one.
    fn bound(&self, b: &mut Builder<'_>, from: Value, steps: i64, limit: Value, opcode: tc_ir::Opcode) -> Value {
        if let (Some(start), Some(end)) = (b.func.const_int(from), b.func.const_int(limit)) {
            let moved = start.saturating_add(steps);
            return b.int(if opcode == arith::MIN { moved.min(end) } else { moved.max(end) }, self.elem);
        }
        let moved = self.moved(b, from, steps);
        b.value(opcode, &[moved, limit], &[])
    }

    /// `from + steps`.
    pub(super) fn moved(&self, b: &mut Builder<'_>, from: Value, steps: i64) -> Value {
        let magnitude = b.int(steps.saturating_abs(), self.elem);
        b.value(if steps < 0 { arith::SUB } else { arith::ADD }, &[from, magnitude], &[])
    }

    /// How far the iteration is from the first one.
    pub(super) fn distance(&self, b: &mut Builder<'_>, iteration: Value) -> Value {
        match b.func.const_int(self.lo) {
            Some(0) => iteration,
            _ => b.value(arith::SUB, &[iteration, self.lo], &[]),
        }
    }

    /// The versions that the iteration is in.
    pub(super) fn versions(&self, b: &mut Builder<'_>, iteration: Value) -> Versions {
        let distance = self.distance(b, iteration);
        let counts = self.division.version_counts().into_iter();
        let version = |n: i64| {
            let count = b.int(n, self.elem);
            (n, b.value(arith::MOD, &[distance, count], &[]))
        };
        counts.map(version).collect()
    }

    /// The versions of an iteration that is less than all their numbers from the first one.
    pub(super) fn unwrapped(&self, b: &mut Builder<'_>, iteration: Value) -> Versions {
        let distance = self.distance(b, iteration);
        self.division.version_counts().into_iter().map(|n| (n, distance)).collect()
    }

    /// The versions of the iteration which is `nth`, less than all their numbers, from the first one.
    pub(super) fn exactly(&self, b: &mut Builder<'_>, nth: i64) -> Versions {
        let version = b.int(nth, self.elem);
        self.division.version_counts().into_iter().map(|n| (n, version)).collect()
    }

    /// The producer of the first iterations.
    fn prologue(&self, func: &mut Func) {
        let loop_op = self.division.loop_op;
        let mut b = Builder::before(func, loop_op);
        let constant = b.func.const_int(self.lo).zip(b.func.const_int(self.hi)).is_some();
        if self.ahead() == 1 && !constant {
            let region = self.condition(&mut b, self.lo);
            return b.within(region, |b| {
                let versions = self.exactly(b, 0);
                self.produce(b, &self.division.producer, self.lo, &versions, None);
            });
        }
        let end = self.bound(&mut b, self.lo, self.ahead(), self.hi, arith::MIN);
        self.serial_loop(&mut b, (self.lo, end), &[], |b, args| {
            let versions = self.unwrapped(b, args[0]);
            self.produce(b, &self.division.producer, args[0], &versions, None);
            Vec::new()
        });
    }

    /// The loop over a part of the iterations, which consumes and, if `produces`, fills what later ones consume.
    fn part(&mut self, func: &mut Func, range: (Value, Value), carried: &[Value], produces: bool) -> Vec<Value> {
        let mut b = Builder::before(func, self.division.loop_op);
        self.serial_loop(&mut b, range, carried, |b, args| {
            if !produces {
                return self.consume(b, args);
            }
            let later = self.moved(b, args[0], self.ahead());
            let versions = self.versions(b, later);
            let produce = |b: &mut Builder<'_>, part| {
                self.guarded(b, later, |b| self.produce(b, &self.division.producer, later, &versions, part));
            };
            if self.registers.is_none() {
                produce(b, None);
                return self.consume(b, args);
            }
            produce(b, Some(CopyHalf::Load));
            let values = self.consume(b, args);
            produce(b, Some(CopyHalf::Store));
            values
        })
    }

    /// `if iteration < hi`.
    fn condition(&self, b: &mut Builder<'_>, iteration: Value) -> Region {
        let word = b.func.word_attr("lt");
        let condition = b.value(arith::CMP, &[iteration, self.hi], &[(keys::PREDICATE, word)]);
        let branch = tir::If::build(b, condition, &[], &[]);
        b.func.op_regions(branch)[0]
    }

    pub(super) fn guarded(&self, b: &mut Builder<'_>, iteration: Value, build: impl FnOnce(&mut Builder<'_>)) {
        if !self.guard || self.is_one(b.func, iteration) {
            return build(b);
        }
        let region = self.condition(b, iteration);
        b.within(region, build);
    }

    /// Is `iteration` known to be one of the loop's?
    fn is_one(&self, func: &Func, iteration: Value) -> bool {
        func.const_int(iteration).zip(func.const_int(self.hi)).is_some_and(|(iteration, hi)| iteration < hi)
    }

    /// `ops`, which fill the buffers of `iteration`, or a part of them.
    pub(super) fn produce(
        &self,
        b: &mut Builder<'_>,
        ops: &[Op],
        iteration: Value,
        versions: &Versions,
        part: Option<CopyHalf>,
    ) {
        let old = b.func.region_args(b.func.op_regions(self.division.loop_op)[0])[0];
        let mut map = ValueMap::default();
        map.insert(old, iteration);
        let starts = self.starts(b, versions);
        let (mut nth, mut replaced) = (0, Vec::new());
        for &op in ops {
            let copy = clone_op(b, op, &mut map);
            if let (Some(part), Some(registers), true) = (part, &self.registers, self.division.writers.contains(&op)) {
                replaced.extend(registers.redirect(b.func, copy, part, &mut nth));
            }
            shift(b.func, copy, &starts);
        }
        // Not before: what is copied next may use it.
        replaced.into_iter().for_each(|value| erase_unused(b.func, value));
    }

    /// The rest of an iteration; gives what it carries on.
    pub(super) fn consume(&self, b: &mut Builder<'_>, args: &[Value]) -> Vec<Value> {
        let body = b.func.op_regions(self.division.loop_op)[0];
        let mut map: ValueMap = b.func.region_args(body).iter().copied().zip(args.iter().copied()).collect();
        let versions = self.versions(b, args[0]);
        let starts = self.starts(b, &versions);
        for &op in &self.division.consumer {
            let copy = clone_op(b, op, &mut map);
            shift(b.func, copy, &starts);
        }
        b.func.yielded(body).iter().map(|value| *map.get(value).unwrap_or(value)).collect()
    }

    /// The first element of the version of each buffer that has several.
    fn starts(&self, b: &mut Builder<'_>, versions: &Versions) -> Vec<(Value, Value)> {
        let start = |staged: &super::divide::Staged| {
            let &(_, version) = versions.iter().find(|&&(n, _)| n == staged.versions)?;
            let distance = b.int(staged.distance, self.elem);
            Some((staged.buffer, b.value(arith::MUL, &[version, distance], &[])))
        };
        self.division.buffers.iter().filter_map(start).collect()
    }

    /// Builds a serial loop like the one that is divided, over another range.
    pub(super) fn serial_loop(
        &self,
        b: &mut Builder<'_>,
        (lo, hi): (Value, Value),
        carried: &[Value],
        fill: impl FnOnce(&mut Builder<'_>, &[Value]) -> Vec<Value>,
    ) -> Vec<Value> {
        let like = self.division.loop_op;
        let types: Vec<_> = carried.iter().map(|&value| b.func.value_type(value)).collect();
        let op = tir::For::build(b, lo, hi, carried, &[], &types);
        let attrs = b.func.op_attrs(like);
        Rewriter::new(b.func).set_attrs(op, attrs);
        let region = b.func.op_regions(op)[0];
        let old = b.func.region_args(b.func.op_regions(like)[0])[..=carried.len()].to_vec();
        for old in old {
            let (ty, name) = (b.func.value_type(old), b.func.value_name(old));
            let new = b.arg(region, ty, None);
            b.func.set_value_name(new, name);
        }
        b.within(region, |b| {
            let args = b.func.region_args(region).to_vec();
            let values = fill(b, &args);
            if !values.is_empty() {
                tir::Yield::build(b, &values, &[], &[]);
            }
        });
        b.func.results(op).collect()
    }
}
