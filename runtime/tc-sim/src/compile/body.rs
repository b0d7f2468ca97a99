//! Ops of a region, one after another.

use super::Result;
use super::kernel::{KernelBuilder, Val};
use super::liveness::Liveness;
use super::sizes::Sizes;
use crate::cell;
use crate::code::{BufDecl, BufId, NO_REG, Site};
use crate::limits::MAX_CODE;
use std::collections::BTreeMap;
use tc_dialects::threads::{Meeting, meeting};
use tc_dialects::{arith, gpu, mbarrier, te, tir, tma, wgmma};
use tc_ir::{AttrData, Elem, Func, Module, Op, Opcode, Region, Scalar, Value, keys};
use tc_support::Diagnostic;

/// What a value of the function stands for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Binding {
    Unset,
    /// A number in a register of the kernel in the making.
    Value(Val),
    /// A buffer of the kernel in the making.
    Buffer(BufId),
    /// A number that was known before compiling.
    Known(Elem, u64),
    /// A number or a vector that an earlier part of the program computes; the first of its slots.
    Host(usize, Scalar),
    /// A buffer that is one in all; the number of its declaration.
    Global(usize),
    /// An on-chip buffer made at the top of the function: each kernel makes its own.
    Deferred(Op),
}

/// A function being compiled.
pub(crate) struct Frame<'m> {
    pub(crate) func: &'m Func,
    pub(crate) bindings: Vec<Binding>,
    pub(crate) liveness: Liveness,
    pub(crate) sizes: Sizes,
    /// Expressions over sizes that were asked for.
    pub(crate) known: BTreeMap<Value, Option<i128>>,
}

impl<'m> Frame<'m> {
    pub(crate) fn new(func: &'m Func, sizes: Sizes) -> Result<Frame<'m>> {
        Ok(Frame { liveness: Liveness::new(func)?, ..Frame::of_sizes(func, sizes) })
    }

    /// A frame in which expressions of sizes are asked for, and nothing is compiled.
    pub(crate) fn of_sizes(func: &'m Func, sizes: Sizes) -> Frame<'m> {
        let (bindings, liveness) = (vec![Binding::Unset; func.n_value_ids()], Liveness::default());
        Frame { func, bindings, liveness, sizes, known: BTreeMap::new() }
    }

    pub(crate) fn binding(&self, value: Value) -> Binding {
        self.bindings[value.as_u32() as usize]
    }

    pub(crate) fn bind(&mut self, value: Value, binding: Binding) {
        self.bindings[value.as_u32() as usize] = binding;
    }
}

/// Buffers that are one in all, as their users declare them.
#[derive(Clone, Default, Debug)]
pub(crate) struct Declarations {
    pub(crate) list: Vec<BufDecl>,
    /// Buffers there are; several declarations may name one.
    pub(crate) n_globals: usize,
}

/// Compiles ops into one kernel.
pub(crate) struct Compiler<'m, 'p> {
    pub(crate) module: &'m Module,
    pub(crate) k: KernelBuilder,
    /// The function, and those called within it.
    pub(crate) frames: Vec<Frame<'m>>,
    pub(crate) declarations: &'p mut Declarations,
}

impl<'m> Compiler<'m, '_> {
    pub(crate) fn frame(&mut self) -> &mut Frame<'m> {
        self.frames.last_mut().expect("a compiler has a function")
    }

    pub(crate) fn func(&self) -> &'m Func {
        self.frames.last().expect("a compiler has a function").func
    }

    pub(crate) fn site(&mut self, op: Op, is_store: bool) -> Site {
        let location = self.func().op_location(op);
        self.k.site(location, is_store)
    }

    pub(crate) fn error(&self, op: Op, code: &'static str, text: impl Into<String>) -> Box<Diagnostic> {
        Box::new(Diagnostic::error(code, self.func().op_location(op), text))
    }

    pub(crate) fn unsupported(&self, op: Op, what: &str) -> Box<Diagnostic> {
        self.error(op, "unsupported", format!("{what} cannot be executed yet by the simulator"))
    }

    /// The register of a number.
    pub(crate) fn val(&mut self, value: Value, user: Op) -> Result<Val> {
        let func = self.func();
        match self.frame().binding(value) {
            Binding::Value(val) => Ok(val),
            Binding::Known(elem, cell) => Ok(self.k.constant(elem, cell)),
            Binding::Host(slot, ty) => Ok(self.k.host_value(slot, ty)),
            _ => match func.def_op(value) {
                Some(op) if func.opcode(op) == arith::CONSTANT => self.literal(op),
                _ => {
                    let text = format!("`{}` is no number here", func.value_text(value));
                    Err(self.error(user, "unsupported", text))
                }
            },
        }
    }

    pub(crate) fn vals(&mut self, values: &[Value], user: Op) -> Result<Vec<Val>> {
        values.iter().map(|&value| self.val(value, user)).collect()
    }

    /// The operand number `idx` of `op`.
    pub(crate) fn operand(&mut self, op: Op, idx: usize) -> Result<Val> {
        match self.func().operands(op).get(idx) {
            Some(&value) => self.val(value, op),
            None => Err(self.error(op, "unsupported", "an operand is missing")),
        }
    }

    fn literal(&mut self, op: Op) -> Result<Val> {
        let func = self.func();
        let result = func.results(op).next();
        let scalar = result.and_then(|result| func.value_scalar(result));
        let (Some(attr), Some(Scalar { elem, lanes: 1 })) = (func.attr_of(op, keys::VALUE), scalar) else {
            return Err(self.unsupported(op, "this literal"));
        };
        let cell = match func.attr_data(attr) {
            AttrData::Bool(value) => u64::from(*value),
            AttrData::Int(value, _) if elem.is_float() => cell::of_float(elem, *value as f64),
            AttrData::Int(value, _) => cell::of_int(*value),
            AttrData::Float(bits, _) => cell::of_float(elem, f64::from_bits(*bits)),
            _ => return Err(self.unsupported(op, "this literal")),
        };
        Ok(self.k.constant(elem, cell))
    }

    /// Gives the one result of `op` its place.
    pub(crate) fn bind_result(&mut self, op: Op, val: Val) {
        if let Some(result) = self.func().results(op).next() {
            self.frame().bind(result, Binding::Value(val));
        }
    }

    /// The type of the one result of `op`.
    pub(crate) fn result_type(&self, op: Op) -> Result<Scalar> {
        let func = self.func();
        func.results(op)
            .next()
            .and_then(|result| func.value_scalar(result))
            .ok_or_else(|| self.unsupported(op, &format!("`{}`", func.op_name(op))))
    }

    /// All ops of a region but its terminator.
    pub(crate) fn region(&mut self, region: Region) -> Result<()> {
        let func = self.func();
        for op in func.ops(region) {
            if func.row(op).terminator {
                break;
            }
            self.op(op)?;
            self.free_dead(op);
        }
        Ok(())
    }

    /// What the region hands on; its registers live until [`Compiler::end_region`].
    pub(crate) fn yielded(&mut self, region: Region) -> Result<Vec<Val>> {
        let func = self.func();
        match func.terminator(region) {
            Some(end) => self.vals(func.yielded(region), end),
            None => Ok(Vec::new()),
        }
    }

    pub(crate) fn end_region(&mut self, region: Region) {
        if let Some(end) = self.func().terminator(region) {
            self.free_dead(end);
        }
    }

    /// Registers of values that `op` was the last to use are free.
    pub(crate) fn free_dead(&mut self, op: Op) {
        let frame = self.frames.last_mut().expect("a compiler has a function");
        for &value in frame.liveness.dies_at(op) {
            if let Binding::Value(val) = &mut frame.bindings[value.as_u32() as usize] {
                self.k.release(*val);
                val.owned = false;
            }
        }
    }

    pub(crate) fn op(&mut self, op: Op) -> Result<()> {
        let func = self.func();
        if self.k.kernel.code.len() > MAX_CODE {
            return Err(self.error(op, "limit", "the program is too large for the simulator"));
        }
        let opcode = func.opcode(op);
        if opcode.dialect() == arith::ADD.dialect() {
            return self.arithmetic(op, opcode);
        }
        match opcode {
            tir::FOR => self.for_loop(op),
            tir::IF => self.branch(op),
            tir::LOAD => self.load(op),
            tir::STORE => self.store(op),
            tir::ATOMIC_RMW => self.update(op),
            tir::ALLOC => self.alloc(op),
            tir::VIEW => self.view(op),
            tir::CALL => self.call(op),
            gpu::BARRIER => self.barrier(op),
            gpu::SHUFFLE => self.shuffle(op),
            gpu::ALL_REDUCE => self.all_reduce(op),
            // Whoever takes a reference computes it.
            tir::REF | tir::REGION => Ok(()),
            // Kernels run one after another.
            gpu::GRIDDEPCONTROL => Ok(()),
            gpu::COPY_ASYNC => self.copy_async(op),
            gpu::COMMIT_GROUP => self.commit_group(),
            gpu::WAIT_GROUP => self.wait_group(op),
            tma::MAP => self.tensor_map(op),
            tma::LOAD | tma::STORE | tma::REDUCE => self.bulk_copy(op),
            tma::COMMIT_STORES | tma::WAIT_STORES | tma::FENCE => self.bulk_step(op, opcode),
            mbarrier::INIT | mbarrier::FENCE_INIT | mbarrier::ARRIVE | mbarrier::ARRIVE_EXPECT_TX | mbarrier::WAIT => {
                self.mbarrier(op, opcode)
            }
            wgmma::FENCE | wgmma::COMMIT | wgmma::WAIT | gpu::SETMAXNREG => self.meet(op, opcode),
            _ if matches!(meeting(func, op), Some(Meeting::Tiles(_))) => self.warp_op(op, opcode),
            te::READ => self.read(op),
            te::REDUCE => self.reduce(op),
            Opcode::UNKNOWN => Err(self.unsupported(op, &format!("the unknown op `{}`", func.op_name(op)))),
            _ => Err(self.unsupported(op, &format!("`{}`", func.op_name(op)))),
        }
    }

    /// A value's register where it may be poison, else none.
    pub(crate) fn poison_of(val: Val) -> u32 {
        if val.poison { val.reg } else { NO_REG }
    }
}
