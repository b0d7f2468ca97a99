//! Statements: loops, conditionals, stores, barriers, declared values.

use crate::expr::{self, Expr, prec};
use crate::kernel::Kernel;
use crate::literals;
use std::rc::Rc;
use tc_dialects::algebra::const_extent;
use tc_dialects::tir::{self, Coordinate, LoopKind};
use tc_dialects::update::UpdateKind;
use tc_dialects::{gpu, mbarrier, mma, tma, wgmma, wmma};
use tc_ir::attrs::BinOp;
use tc_ir::types::ElemKind;
use tc_ir::walk::ops_under;
use tc_ir::{Elem, Op, Opcode, Region, Scalar, Value, keys};
use tc_kernel::access::{self, Form};
use tc_kernel::ptx::bulk::Bulk;
use tc_kernel::warpgroup::is_told_uniform;

/// Writes an op as a statement.
type Write = fn(&mut Kernel<'_>, Op);

/// So many iterations are copied without being asked for.
const FEW: i64 = 16;

/// What is written beside arithmetic. References and what regions yield are written where they are used.
static STATEMENTS: &[(Opcode, Write)] = &[
    (tir::FOR, |k, op| k.loop_of(op)),
    (tir::IF, |k, op| k.conditional_of(op)),
    (tir::LOAD, |k, op| k.define(op)),
    (tir::STORE, |k, op| k.store(op)),
    (tir::ATOMIC_RMW, |k, op| k.update(op)),
    (tir::ALLOC, |k, op| k.alloc(op)),
    (tir::VIEW, |k, op| k.view(op)),
    (tir::REF, |_, _| {}),
    (tir::REGION, |_, _| {}),
    (tir::YIELD, |_, _| {}),
    (gpu::BARRIER, |k, op| k.barrier(op)),
    (gpu::SHUFFLE, |k, op| k.exchange(op)),
    (gpu::COPY_ASYNC, |k, op| k.ptx_call(op)),
    (gpu::COMMIT_GROUP, |k, op| k.ptx_call(op)),
    (gpu::WAIT_GROUP, |k, op| k.ptx_call(op)),
    (mma::SYNC, |k, op| k.ptx_call(op)),
    (mma::LDMATRIX, |k, op| k.ptx_call(op)),
    (gpu::SETMAXNREG, |k, op| k.set_registers(op)),
    (gpu::GRIDDEPCONTROL, |k, op| k.overlap_launches(op)),
    // The head of the kernel declares it.
    (tma::MAP, |_, _| {}),
    (tma::LOAD, |k, op| k.bulk_load(op)),
    (tma::STORE, |k, op| k.bulk_store(op)),
    (tma::REDUCE, |k, op| k.bulk_store(op)),
    (tma::COMMIT_STORES, |k, op| k.bulk_call(op, Bulk::CommitStores)),
    (tma::WAIT_STORES, |k, op| k.wait_for_stores(op)),
    (tma::FENCE, |k, op| k.bulk_call(op, Bulk::FenceStores)),
    (mbarrier::INIT, |k, op| k.barrier_call(op, Bulk::Init, Some(keys::COUNT))),
    (mbarrier::FENCE_INIT, |k, op| k.bulk_call(op, Bulk::FenceInit)),
    (mbarrier::ARRIVE, |k, op| k.arrive_at_barrier(op)),
    (mbarrier::ARRIVE_EXPECT_TX, |k, op| k.barrier_call(op, Bulk::ArriveExpectTx, Some(keys::BYTES))),
    (mbarrier::WAIT, |k, op| k.wait_at_barrier(op)),
    (wgmma::FENCE, |k, op| k.warpgroup_fence(op)),
    (wgmma::MMA, |k, op| k.warpgroup_product(op)),
    (wgmma::COMMIT, |k, op| k.warpgroup_commit(op)),
    (wgmma::WAIT, |k, op| k.warpgroup_wait(op)),
    (wmma::FILL, |k, op| k.fill_fragment(op)),
    (wmma::LOAD, |k, op| k.load_fragment(op)),
    (wmma::STORE, |k, op| k.store_fragment(op)),
    (wmma::MMA, |k, op| k.multiply_fragments(op)),
];

fn writer(opcode: Opcode) -> Option<Write> {
    STATEMENTS.iter().find(|(known, _)| *known == opcode).map(|&(_, write)| write)
}

/// Is there a row for `opcode`?
pub(crate) fn has_row(opcode: Opcode) -> bool {
    writer(opcode).is_some()
}

impl Kernel<'_> {
    /// Writes the statements of `region`. What it yields is left to the op around it.
    pub(crate) fn region(&mut self, region: Region) {
        let func = self.func;
        for op in func.ops(region) {
            if self.placement.is_statement(func, op) {
                self.statement(op);
            }
        }
    }

    /// The statements of `region`, in a block of names of its own.
    fn block(&mut self, region: Region, rest: impl FnOnce(&mut Self)) {
        let mark = self.names.enter();
        self.region(region);
        rest(self);
        self.names.leave(mark);
    }

    fn statement(&mut self, op: Op) {
        match writer(self.func.opcode(op)) {
            Some(write) => write(self, op),
            None => self.define(op),
        }
    }

    fn loop_of(&mut self, op: Op) {
        match tir::loop_kind(self.func, op) {
            Some(LoopKind::Launch(coordinate)) => self.launch(op, coordinate),
            kind => self.for_loop(op, kind),
        }
    }

    fn conditional_of(&mut self, op: Op) {
        if self.placement.is_expression(self.func, op) && self.func.n_results(op) > 0 {
            self.define(op);
        } else {
            self.branch(op);
        }
    }

    fn barrier(&mut self, op: Op) {
        self.at(op);
        match self.func.word_of(op, keys::SCOPE) {
            Some("warp") => self.out.line("__syncwarp();"),
            Some("warpgroup") => self.warpgroup_barrier(op),
            Some("cluster") => self.bulk_call(op, Bulk::ClusterBarrier),
            // It orders memory of the whole block, global memory included.
            _ => self.out.line("__syncthreads();"),
        }
    }

    fn exchange(&mut self, op: Op) {
        if self.func.result(op).is_none_or(|value| self.placement.is_live(value)) {
            return self.define(op);
        }
        let call = self.shuffle(op);
        self.at(op);
        self.out.line(&format!("{};", call.text));
    }

    /// `const int i = …;`
    fn define(&mut self, op: Op) {
        let func = self.func;
        let Some((result, scalar)) = func.result(op).and_then(|value| Some((value, func.value_scalar(value)?))) else {
            self.stray("an op without a value");
            return;
        };
        // A size as the kernel takes it is one of its parameters.
        if self.name_of(result).is_some() {
            return;
        }
        let value = if func.opcode(op) == tir::LOAD
            && let Form::Pieces { base, lanes, whole: false } = access::form(func, op)
        {
            self.load_pieces(op, base, lanes, scalar)
        } else {
            self.computed(op)
        };
        self.at(op);
        self.constant(result, scalar, value);
    }

    fn constant(&mut self, result: Value, scalar: Scalar, value: Expr) {
        let ty = self.needs.type_name(scalar);
        let name = self.declare_or_number(result);
        self.out.line(&format!("const {ty} {name} = {};", value.text));
    }

    /// Reads neighbours in vectors of `lanes` each.
    fn load_pieces(&mut self, op: Op, base: Value, lanes: u16, scalar: Scalar) -> Expr {
        let piece = Scalar { elem: scalar.elem, lanes };
        let ty = self.needs.type_name(piece);
        let mut all = Vec::new();
        for first in (0..usize::from(scalar.lanes)).step_by(usize::from(lanes)) {
            let value = self.piece(self.func.operand(op, 0), base, first, piece);
            let name = self.names.temporary();
            self.at(op);
            self.out.line(&format!("const {ty} {name} = {};", value.text));
            all.extend(
                (0..usize::from(lanes))
                    .map(|lane| Expr::new(format!("{name}{}", crate::types::member(piece, lane)), prec::POSTFIX)),
            );
        }
        self.vector_of(scalar, &all)
    }

    /// An atomic update. CUDA has those of integers of 64 bits without a sign; bits, and sums that wrap, are the same.
    fn update(&mut self, op: Op) {
        let func = self.func;
        let (&[place, value], Some(kind)) = (func.operands(op), UpdateKind::of(func, op)) else {
            self.stray("an update without a kind");
            return;
        };
        let by_order = matches!(kind, UpdateKind::Min | UpdateKind::Max);
        let is_wide = func.value_scalar(value).is_some_and(|scalar| scalar.elem == Elem::I64);
        let (mut place, mut value) = (self.address(place), self.lane(value, 0));
        if is_wide && !by_order {
            place = expr::cast("unsigned long long*", place);
            value = expr::cast("unsigned long long", value);
        }
        let function = match kind {
            UpdateKind::Add => "atomicAdd",
            UpdateKind::Min => "atomicMin",
            UpdateKind::Max => "atomicMax",
            UpdateKind::And => "atomicAnd",
            UpdateKind::Or => "atomicOr",
            UpdateKind::Xor => "atomicXor",
        };
        self.call(op, function, &[place, value]);
    }

    fn store(&mut self, op: Op) {
        let func = self.func;
        let (Some(index), Some(&value)) = (access::index(func, op), func.operands(op).last()) else {
            self.stray("a store without an index");
            return;
        };
        let buffer = func.operand(op, 0);
        let lanes = func.value_scalar(value).map_or(1, |scalar| usize::from(scalar.lanes));
        match access::form(func, op) {
            Form::Element => {
                let index = self.lane(index, 0);
                let place = self.element(buffer, index);
                let value = self.value(value);
                self.assign(op, place, value);
            }
            Form::Pieces { base, whole: true, .. } => {
                let scalar = func.value_scalar(value).unwrap_or(Scalar::of(Elem::F32));
                let place = self.piece(buffer, base, 0, scalar);
                let value = self.value(value);
                self.assign(op, place, value);
            }
            Form::Pieces { base, lanes: of_piece, .. } => {
                let elem = func.value_scalar(value).map_or(Elem::F32, |scalar| scalar.elem);
                let piece = Scalar { elem, lanes: of_piece };
                for first in (0..lanes).step_by(usize::from(of_piece)) {
                    let place = self.piece(buffer, base, first, piece);
                    let parts: Vec<Expr> =
                        (first..first + usize::from(of_piece)).map(|lane| self.lane(value, lane)).collect();
                    let part = self.vector_of(piece, &parts);
                    self.assign(op, place, part);
                }
            }
            Form::Lanes => {
                for lane in 0..lanes {
                    let index = self.lane(index, lane);
                    let place = self.element(buffer, index);
                    let value = self.lane(value, lane);
                    self.assign(op, place, value);
                }
            }
        }
    }

    fn assign(&mut self, op: Op, place: Expr, value: Expr) {
        self.at(op);
        self.out.line(&format!("{} = {};", place.text, value.text));
    }

    /// A loop over a launch coordinate: its variable is the coordinate.
    fn launch(&mut self, op: Op, coordinate: Coordinate) {
        let func = self.func;
        let body = func.op_regions(op)[0];
        // The last statement of a region needs no block: nothing follows that its names could meet.
        let mut after = std::iter::successors(func.next_op(op), |&op| func.next_op(op));
        let is_last = !after.any(|op| self.placement.is_statement(func, op));
        let mark = self.names.enter();
        if !is_last {
            self.out.open("{");
        }
        self.coordinate(op, coordinate, body);
        self.region(body);
        if !is_last {
            self.out.close();
        }
        self.names.leave(mark);
    }

    fn coordinate(&mut self, op: Op, coordinate: Coordinate, body: Region) {
        let func = self.func;
        let Some(&var) = func.region_args(body).first() else { return };
        if !self.placement.is_live(var) {
            return;
        }
        let Some(scalar) = func.value_scalar(var) else { return };
        let ty = self.needs.type_name(scalar);
        let own = if is_told_uniform(func, self.facts, op, coordinate) {
            Expr::new(format!("__shfl_sync(0xffffffffu, {}, 0)", coordinate.name()), prec::POSTFIX)
        } else {
            Expr::name(coordinate.name())
        };
        let value = match func.const_int(func.operand(op, 0)) {
            Some(0) | None => own.text,
            Some(start) => {
                let start = literals::int(start.into(), scalar.elem);
                expr::binary(BinOp::Add, start, expr::cast(&ty, own)).text
            }
        };
        self.at(op);
        let name = self.declare(var, coordinate.short_name());
        self.out.line(&format!("const {ty} {name} = {value};"));
    }

    fn for_loop(&mut self, op: Op, kind: Option<LoopKind>) {
        let func = self.func;
        let body = func.op_regions(op)[0];
        let Some((&var, carried)) = func.region_args(body).split_first() else { return };
        let inits = &func.operands(op)[2..];
        let results: Vec<Value> = func.results(op).collect();
        let mut kept = Vec::new();
        for (nth, (&arg, &init)) in carried.iter().zip(inits).enumerate() {
            if self.placement.is_live(results[nth]) || func.n_uses(arg) > 0 {
                let init = self.value(init);
                self.carry(op, arg, results[nth], init);
                kept.push(nth);
            }
        }
        let scalar = func.value_scalar(var).unwrap_or(Scalar::of(Elem::I32));
        let lo = self.lane(func.operand(op, 0), 0);
        let hi = self.lane(func.operand(op, 1), 0);
        match kind {
            Some(LoopKind::Unroll(None)) => self.out.line("#pragma unroll"),
            Some(LoopKind::Unroll(Some(factor))) => {
                self.out.line(&format!("#pragma unroll {}", factor.clamp(1, i32::MAX.into())));
            }
            _ if self.facts.picks_registers(op) => self.out.line("#pragma unroll"),
            // Nvcc would copy such a loop for each of its few iterations. A producer has few registers; loops around those over
            // products hold sums in most of them, and had them elsewhere in each copy.
            _ if const_extent(func, op).is_some_and(|extent| extent <= FEW)
                && (tma::fills_slots(func, op) || wgmma::holds_steps(func, op)) =>
            {
                self.out.line("#pragma unroll 1");
            }
            _ => {}
        }
        let mark = self.names.enter();
        let ty = self.needs.type_name(scalar);
        self.at(op);
        let name = self.declare(var, "i");
        // NVRTC warns of a number below none.
        let never = scalar.elem.kind() == ElemKind::Unsigned && self.bare_int(func.operand(op, 1)) == Some(0);
        let goes_on = if never { Expr::name("false") } else { expr::binary(BinOp::Lt, Expr::name(&name), hi) };
        self.out.open(&format!("for ({ty} {name} = {}; {}; ++{name}) {{", lo.text, goes_on.text));
        self.region(body);
        self.hand_on(op, body, carried, &kept);
        self.out.close();
        self.names.leave(mark);
        for nth in kept {
            self.result(op, carried[nth], results[nth]);
        }
    }

    /// Declares the variable that goes round a loop.
    fn carry(&mut self, op: Op, arg: Value, result: Value, init: Expr) {
        let func = self.func;
        let Some(scalar) = func.value_scalar(arg) else { return };
        let ty = self.needs.type_name(scalar);
        let named = if func.value_name(arg).is_some() { arg } else { result };
        let name = self.declare_or_number(named);
        self.bind(arg, name.clone());
        let unread = if func.n_uses(arg) == 0 && !self.placement.is_live(result) { "[[maybe_unused]] " } else { "" };
        self.at(op);
        self.out.line(&format!("{unread}{ty} {name} = {};", init.text));
    }

    /// After a loop, its result is the variable that went round.
    fn result(&mut self, op: Op, arg: Value, result: Value) {
        let func = self.func;
        let Some(name) = self.name_of(arg) else { return };
        let renamed = func.value_name(result).is_some() && func.value_name(result) != func.value_name(arg);
        if renamed && func.value_name(arg).is_some() && self.placement.is_live(result) {
            let scalar = func.value_scalar(result).unwrap_or(Scalar::of(Elem::I32));
            self.at(op);
            self.constant(result, scalar, Expr::name(&name));
        } else {
            self.bind(result, name);
        }
    }

    /// Assigns what a loop's body yields to the variables that go round, as if at once.
    fn hand_on(&mut self, op: Op, body: Region, carried: &[Value], kept: &[usize]) {
        let func = self.func;
        let yielded = func.yielded(body);
        let moves: Vec<(Value, Value)> =
            kept.iter().map(|&nth| (carried[nth], yielded[nth])).filter(|(arg, value)| arg != value).collect();
        let mut assignments: Vec<(Rc<str>, Expr)> = Vec::new();
        for (nth, &(arg, value)) in moves.iter().enumerate() {
            let earlier: Vec<Value> = moves[..nth].iter().map(|(arg, _)| *arg).collect();
            let Some(name) = self.name_of(arg) else { continue };
            let mut next = self.value(value);
            if !earlier.is_empty() && self.mentions(value, &earlier) {
                // It is computed from a variable that an assignment before it changes.
                let scalar = func.value_scalar(value).unwrap_or(Scalar::of(Elem::I32));
                let ty = self.needs.type_name(scalar);
                let saved = self.names.temporary();
                self.at(op);
                self.out.line(&format!("const {ty} {saved} = {};", next.text));
                next = Expr::name(&saved);
            }
            assignments.push((name, next));
        }
        for (name, value) in assignments {
            self.at(op);
            self.out.line(&format!("{name} = {};", value.text));
        }
    }

    /// Is one of `args` printed where `value` is?
    fn mentions(&self, value: Value, args: &[Value]) -> bool {
        let func = self.func;
        let mut worklist = vec![value];
        while let Some(value) = worklist.pop() {
            if args.contains(&value) {
                return true;
            }
            if self.name_of(value).is_some() {
                continue;
            }
            if let Some(op) = func.def_op(value) {
                worklist.extend(func.operands(op));
                let inner = func.op_regions(op).iter().flat_map(|&region| ops_under(func, region));
                worklist.extend(inner.flat_map(|op| func.operands(op)));
            }
        }
        false
    }

    /// A conditional as a statement; its results are variables that both branches assign.
    fn branch(&mut self, op: Op) {
        let func = self.func;
        let results: Vec<Value> = func.results(op).collect();
        let kept: Vec<usize> = (0..results.len()).filter(|&nth| self.placement.is_live(results[nth])).collect();
        let condition = self.lane(func.operand(op, 0), 0);
        for &nth in &kept {
            let Some(scalar) = func.value_scalar(results[nth]) else { continue };
            let ty = self.needs.type_name(scalar);
            let name = self.declare_or_number(results[nth]);
            self.at(op);
            self.out.line(&format!("{ty} {name};"));
        }
        self.at(op);
        self.out.open(&format!("if ({}) {{", condition.text));
        self.branches(op, &results, &kept);
    }

    /// What follows the condition of `op`.
    fn branches(&mut self, op: Op, results: &[Value], kept: &[usize]) {
        let func = self.func;
        let mut at = op;
        loop {
            let regions = func.op_regions(at);
            self.arm(op, regions[0], results, kept);
            let Some(&otherwise) = regions.get(1) else { break };
            let mut rest = func.ops(otherwise).filter(|&op| self.placement.is_statement(func, op));
            let (first, second) = (rest.next(), rest.next());
            if first.is_none() && kept.is_empty() {
                break;
            }
            match first {
                Some(inner)
                    if second.is_none()
                        && kept.is_empty()
                        && func.opcode(inner) == tir::IF
                        && func.results(inner).all(|value| !self.placement.is_live(value)) =>
                {
                    let condition = self.lane(func.operand(inner, 0), 0);
                    self.out.between(&format!("}} else if ({}) {{", condition.text));
                    at = inner;
                }
                _ => {
                    self.out.between("} else {");
                    self.arm(op, otherwise, results, kept);
                    break;
                }
            }
        }
        self.out.close();
    }

    fn arm(&mut self, op: Op, region: Region, results: &[Value], kept: &[usize]) {
        let func = self.func;
        self.block(region, |this| {
            for &nth in kept {
                let (Some(name), Some(&value)) = (this.name_of(results[nth]), func.yielded(region).get(nth)) else {
                    continue;
                };
                let value = this.value(value);
                this.at(func.terminator(region).unwrap_or(op));
                this.out.line(&format!("{name} = {};", value.text));
            }
        });
    }
}
