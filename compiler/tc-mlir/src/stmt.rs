//! Statements: loops, conditionals, barriers, and the ops that make values.

use crate::arith::Made;
use crate::kernel::Kernel;
use crate::{access, arith, bulk, copies, index, types, wgmma};
use std::rc::Rc;
use tc_dialects::tir::{self, Coordinate, LoopKind};
use tc_dialects::{gpu, mbarrier, mma, tma, wgmma as products, wmma};
use tc_ir::{Elem, Op, Opcode, Region, Scalar, Value, keys};
use tc_kernel::warpgroup::is_told_uniform;

/// Writes an op.
type Write = fn(&mut Kernel<'_>, Op);

/// What is written beside arithmetic. Buffers are declared at the head; references and what regions yield stand where they
/// are used.
static STATEMENTS: &[(Opcode, Write)] = &[
    (tir::FOR, |k, op| k.loop_of(op)),
    (tir::IF, |k, op| k.branch(op)),
    (tir::LOAD, |k, op| k.load(op)),
    (tir::STORE, access::store),
    (tir::ATOMIC_RMW, access::update),
    (tir::ALLOC, |_, _| {}),
    (tir::VIEW, |k, op| k.view(op)),
    (tir::REF, |_, _| {}),
    (tir::REGION, |_, _| {}),
    (tir::YIELD, |_, _| {}),
    (gpu::BARRIER, |k, op| k.barrier(op)),
    (gpu::GRIDDEPCONTROL, |k, op| k.overlap_launches(op)),
    (gpu::SHUFFLE, |k, op| k.exchange(op)),
    (gpu::COPY_ASYNC, copies::copy),
    (gpu::COMMIT_GROUP, copies::commit),
    (gpu::WAIT_GROUP, copies::wait),
    (mma::SYNC, crate::mma::write),
    (mma::LDMATRIX, crate::mma::write),
    (gpu::SETMAXNREG, bulk::set_registers),
    // The head of the kernel declares it.
    (tma::MAP, |_, _| {}),
    (tma::LOAD, bulk::load),
    (tma::STORE, bulk::store),
    (tma::REDUCE, bulk::store),
    (tma::COMMIT_STORES, bulk::commit),
    (tma::WAIT_STORES, bulk::wait_for_stores),
    (tma::FENCE, bulk::fence),
    (mbarrier::INIT, bulk::init),
    (mbarrier::FENCE_INIT, bulk::fence_init),
    (mbarrier::ARRIVE, bulk::arrive),
    (mbarrier::ARRIVE_EXPECT_TX, bulk::arrive_expect_tx),
    (mbarrier::WAIT, bulk::wait),
    (products::FENCE, wgmma::fence),
    (products::MMA, wgmma::product),
    (products::COMMIT, wgmma::commit),
    (products::WAIT, wgmma::wait),
    (wmma::FILL, crate::wmma::write),
    (wmma::LOAD, crate::wmma::write),
    (wmma::STORE, crate::wmma::write),
    (wmma::MMA, crate::wmma::write),
];

fn writer(opcode: Opcode) -> Option<Write> {
    STATEMENTS.iter().find(|(known, _)| *known == opcode).map(|&(_, write)| write)
}

/// Is there a row for `opcode`?
pub(crate) fn has_row(opcode: Opcode) -> bool {
    writer(opcode).is_some()
}

impl Kernel<'_> {
    /// Writes the ops of `region`. What it yields is left to the op around it.
    pub(crate) fn region(&mut self, region: Region) {
        let func = self.func;
        for op in func.ops(region) {
            if self.is_statement(op) {
                self.at(op);
                self.statement(op);
            }
        }
    }

    fn statement(&mut self, op: Op) {
        match writer(self.func.opcode(op)) {
            Some(write) => write(self, op),
            None => self.arithmetic(op),
        }
    }

    fn arithmetic(&mut self, op: Op) {
        let func = self.func;
        // A size as the kernel takes it is one of its parameters.
        let is_named = func.result(op).is_some_and(|value| self.name_of(value).is_some());
        if is_named || crate::kernel::is_made_where_used(func, op) {
            return;
        }
        self.stepped(op);
        if func.result(op).is_none_or(|value| self.is_number(value)) {
            let made = arith::arith(self, op);
            self.make(op, made);
        }
    }

    fn loop_of(&mut self, op: Op) {
        match tir::loop_kind(self.func, op) {
            Some(LoopKind::Launch(coordinate)) => self.launch(op, coordinate),
            _ => self.for_loop(op),
        }
    }

    fn load(&mut self, op: Op) {
        let made = access::load(self, op);
        self.make(op, made);
    }

    fn barrier(&mut self, op: Op) {
        match self.func.word_of(op, keys::SCOPE) {
            Some("warp") => {
                let all = self.int(-1, "i32");
                self.line(format!("nvvm.bar.warp.sync {all} : i32"));
            }
            Some("warpgroup") => wgmma::barrier(self),
            Some("cluster") => {
                self.line("nvvm.cluster.arrive");
                self.line("nvvm.cluster.wait");
            }
            _ => self.line("gpu.barrier"),
        }
    }

    fn overlap_launches(&mut self, op: Op) {
        let action = self.func.word_of(op, keys::ACTION).unwrap_or("wait").to_string();
        self.line(format!("nvvm.griddepcontrol {action}"));
    }

    fn exchange(&mut self, op: Op) {
        let made = self.shuffle(op);
        self.make(op, made);
    }

    /// Gives the result of `op` what was made for it.
    fn make(&mut self, op: Op, made: Made) {
        let Some(result) = self.func.result(op) else {
            self.stray("an op without a value");
            return;
        };
        match made {
            Made::Op(text) => self.define(result, &text),
            Made::Is(name) => self.bind(result, name),
        }
    }

    /// A loop over a launch coordinate: its variable is the coordinate.
    fn launch(&mut self, op: Op, coordinate: Coordinate) {
        let func = self.func;
        let body = func.op_regions(op)[0];
        if let Some(&var) = func.region_args(body).first().filter(|&&var| self.is_live(var)) {
            let elem = func.value_scalar(var).map_or(Elem::I32, |scalar| scalar.elem);
            let (of, dim) = (coordinate.level().word(), ["x", "y", "z"][coordinate.dim()]);
            let mut index = self.temp(format!("gpu.{of}_id {dim}"));
            if is_told_uniform(func, self.facts, op, coordinate) {
                let number = self.temp(format!("arith.index_cast {index} : index to i32"));
                let (all, none, last) = (self.int(-1, "i32"), self.int(0, "i32"), self.int(31, "i32"));
                let first = self.temp(format!("nvvm.shfl.sync idx {all}, {number}, {none}, {last} : i32 -> i32"));
                index = self.temp(format!("arith.index_cast {first} : i32 to index"));
            }
            let ty = types::number(elem);
            match func.const_int(func.operand(op, 0)) {
                Some(0) | None => {
                    self.define(var, &format!("arith.index_cast {index} : index to {ty}"));
                    self.set_index(var, index);
                }
                Some(start) => {
                    let number = self.temp(format!("arith.index_cast {index} : index to {ty}"));
                    let start = self.int(start.into(), ty);
                    self.define(var, &format!("arith.addi {start}, {number}{} : {ty}", arith::flags(elem)));
                }
            }
        }
        self.region(body);
    }

    fn types_of(&mut self, values: &[Value]) -> String {
        let scalars: Vec<Scalar> = values.iter().filter_map(|&value| self.func.value_scalar(value)).collect();
        let shown: Vec<String> = scalars.into_iter().map(types::value).collect();
        shown.join(", ")
    }

    /// Declares names for `results`, and gives the text that stands before the op that makes them: `%r = `.
    fn results_of(&mut self, results: &[Value]) -> String {
        match results {
            [] => String::new(),
            &[one] => format!("{} = ", self.declare_or_number(one)),
            &[first, ..] => {
                let text = self.func.value_text(first).to_string();
                let group = if text.is_empty() {
                    self.temporary()
                } else {
                    format!("%{}", self.names.declare(&text, "v")).into()
                };
                for (nth, &result) in results.iter().enumerate() {
                    self.bind(result, format!("{group}#{nth}").into());
                }
                format!("{group}:{} = ", results.len())
            }
        }
    }

    fn for_loop(&mut self, op: Op) {
        let func = self.func;
        let body = func.op_regions(op)[0];
        let Some((&var, carried)) = func.region_args(body).split_first() else { return };
        let results: Vec<Value> = func.results(op).collect();
        let kept: Vec<usize> =
            (0..carried.len()).filter(|&nth| self.is_live(results[nth]) || func.n_uses(carried[nth]) > 0).collect();
        let pick = |values: &[Value]| kept.iter().filter_map(|&nth| values.get(nth).copied()).collect::<Vec<Value>>();
        let (inits, carried, results) = (pick(&func.operands(op)[2..]), pick(carried), pick(&results));
        let scalar = func.value_scalar(var).unwrap_or(Scalar::of(Elem::I32));
        let is_wide = index::counts_wide(func, op);
        let ty = if is_wide { "index" } else { types::number(scalar.elem) };
        let [lo, hi] = [0, 1].map(|nth| func.operand(op, nth));
        let [lo, hi] = [lo, hi].map(|bound| if is_wide { self.index(bound) } else { self.value(bound) });
        let step = self.int(1, ty);
        let inits: Vec<Rc<str>> = inits.into_iter().map(|init| self.value(init)).collect();
        let location = self.out.location.clone();
        let before = self.results_of(&results);
        let mark = self.enter();
        let is_number = self.is_number(var);
        let name = match is_wide {
            true if is_number => self.temporary(),
            true => format!("%{}", self.names.declare(func.value_text(var), "i")).into(),
            false => self.declare(var, "i"),
        };
        let unsigned = if !is_wide && arith::is_unsigned(scalar.elem) { "unsigned " } else { "" };
        let mut head = format!("{before}scf.for {unsigned}{name} = {lo} to {hi} step {step}");
        if !carried.is_empty() {
            let mut args = Vec::new();
            for (&arg, init) in carried.iter().zip(&inits) {
                args.push(format!("{} = {init}", self.declare(arg, "acc")));
            }
            head.push_str(&format!(" iter_args({}) -> ({})", args.join(", "), self.types_of(&carried)));
        }
        self.out.open(&format!("{head} : {ty} {{"));
        if is_wide {
            if is_number {
                self.define(var, &format!("arith.index_cast {name} : index to {}", types::number(scalar.elem)));
            }
            self.set_index(var, name);
        }
        self.region(body);
        self.yields(&pick(func.yielded(body)));
        self.leave(mark);
        let end = match self.unrolled.how(op) {
            Some(factor) => {
                self.uses.unrolled.insert(factor);
                format!("}} {{llvm.loop_annotation = {}}}", crate::module::unrolling(factor))
            }
            None => "}".to_string(),
        };
        self.out.close(&end, &location);
        self.out.location = location;
    }

    fn yields(&mut self, values: &[Value]) {
        if values.is_empty() {
            return;
        }
        let names: Vec<Rc<str>> = values.iter().map(|&value| self.value(value)).collect();
        let types = self.types_of(values);
        self.line(format!("scf.yield {} : {types}", names.join(", ")));
    }

    /// A conditional. What an arm computes is not computed unless the arm is taken.
    fn branch(&mut self, op: Op) {
        let func = self.func;
        let all: Vec<Value> = func.results(op).collect();
        let kept: Vec<usize> = (0..all.len()).filter(|&nth| self.is_live(all[nth])).collect();
        let results: Vec<Value> = kept.iter().map(|&nth| all[nth]).collect();
        let condition = self.value(func.operand(op, 0));
        let location = self.out.location.clone();
        let before = self.results_of(&results);
        let types = if results.is_empty() { String::new() } else { format!(" -> ({})", self.types_of(&results)) };
        self.out.open(&format!("{before}scf.if {condition}{types} {{"));
        for (nth, &region) in func.op_regions(op).iter().enumerate() {
            let is_empty = func.ops(region).all(|op| !self.is_statement(op));
            if nth > 0 {
                if is_empty && results.is_empty() {
                    break;
                }
                self.out.between("} else {");
            }
            let mark = self.enter();
            self.region(region);
            let yielded: Vec<Value> = kept.iter().filter_map(|&nth| func.yielded(region).get(nth).copied()).collect();
            self.yields(&yielded);
            self.leave(mark);
        }
        self.out.close("}", &location);
        self.out.location = location;
    }
}
