//! Loops, branches, calls, barriers.

use super::Result;
use super::body::{Binding, Compiler, Frame};
use super::kernel::Val;
use super::sizes::bind_symbols;
use crate::cell;
use crate::code::{BarrierScope, Instr, IntOp, Pc};
use tc_dialects::tir::{self, LoopKind, loop_kind};
use tc_ir::walk::ancestors;
use tc_ir::{AttrData, Elem, Func, Module, Op, Region, Scalar, keys};
use tc_support::counted;

/// How deep calls within a kernel may go.
const MAX_CALLS: usize = 32;

/// Does the loop `op`, of a launch, begin one inside of a loop of the host?
fn launches_again(func: &Func, op: Op) -> bool {
    let mut loops = ancestors(func, op).filter(|&outer| func.opcode(outer) == tir::FOR).peekable();
    loops.peek().is_some() && !loops.any(|outer| matches!(loop_kind(func, outer), Some(LoopKind::Launch(_))))
}

impl<'m> Compiler<'m, '_> {
    pub(super) fn for_loop(&mut self, op: Op) -> Result<()> {
        let func = self.func();
        let (lo, hi) = (self.operand(op, 0)?, self.operand(op, 1)?);
        let body = func.op_regions(op)[0];
        if let Some(LoopKind::Launch(coordinate)) = loop_kind(func, op) {
            // Launches in a loop of the host follow one another: what one did is done before the next.
            if self.k.kernel.threaded && launches_again(func, op) {
                let site = self.site(op, false);
                self.k.emit(Instr::Barrier { scope: BarrierScope::Global, site });
            }
            let coordinate = self.k.coordinate(coordinate);
            let iv = self.shifted(op, coordinate, lo)?;
            if let Some(&arg) = func.region_args(body).first() {
                self.frame().bind(arg, Binding::Value(iv));
            }
            self.region(body)?;
            self.k.release(iv);
            return Ok(());
        }
        if loop_kind(func, op).is_none() {
            return Err(self.unsupported(op, "this kind of loop"));
        }
        let inits = self.vals(&func.operands(op)[2..], op)?;
        let carried = self.carry(&inits);
        let iv = self.k.value(lo.ty, lo.varying || hi.varying, false);
        let args = func.region_args(body);
        for (&arg, val) in args.iter().zip(std::iter::once(iv).chain(carried.iter().copied())) {
            self.frame().bind(arg, Binding::Value(Val { owned: false, ..val }));
        }
        let enter = self.enter_loop(op, iv, lo, hi);
        self.region(body)?;
        let yielded = self.yielded(body)?;
        self.assign(&carried, &yielded);
        self.end_region(body);
        self.leave_loop(enter, iv, hi);
        self.k.release(iv);
        for (result, val) in func.results(op).zip(carried) {
            self.frame().bind(result, Binding::Value(val));
        }
        Ok(())
    }

    /// Registers for what a loop carries, filled with where it starts.
    fn carry(&mut self, inits: &[Val]) -> Vec<Val> {
        let mut carried = Vec::with_capacity(inits.len());
        for &init in inits {
            let val = self.k.value(init.ty, true, self.k.is_te);
            self.copy(val, init);
            carried.push(val);
        }
        carried
    }

    /// Copies all at once: what is copied may be one of the targets.
    pub(super) fn assign(&mut self, targets: &[Val], values: &[Val]) {
        let clashes = |value: &Val| targets.iter().any(|target| target.reg == value.reg);
        if targets.len() > 1 && values.iter().any(clashes) {
            let mut temps = Vec::with_capacity(values.len());
            for &value in values {
                let temp = self.k.value(value.ty, true, self.k.is_te);
                self.copy(temp, value);
                temps.push(temp);
            }
            for (&target, &temp) in targets.iter().zip(&temps) {
                self.copy(target, temp);
            }
            temps.into_iter().for_each(|temp| self.k.release(temp));
            return;
        }
        for (&target, &value) in targets.iter().zip(values) {
            if target.reg != value.reg {
                self.copy(target, value);
            }
        }
    }

    /// `coordinate + lo`, in the type of `lo`.
    fn shifted(&mut self, op: Op, coordinate: Val, lo: Val) -> Result<Val> {
        let coordinate = Val { ty: lo.ty, ..coordinate };
        if self.func().const_int(self.func().operands(op)[0]) == Some(0) {
            return Ok(coordinate);
        }
        let site = self.site(op, false);
        let iv = self.fresh(lo.ty, &[coordinate, lo]);
        self.k.emit(Instr::Int { op: IntOp::Add, elem: lo.ty.elem, dst: iv.reg, a: coordinate.reg, b: lo.reg, site });
        Ok(iv)
    }

    /// Opens a loop that runs in order.
    pub(super) fn enter_loop(&mut self, op: Op, iv: Val, lo: Val, hi: Val) -> Pc {
        let site = self.site(op, false);
        let (iv_reg, lo, hi) = (iv.reg, lo.reg, hi.reg);
        self.k.emit(match iv.varying {
            true => Instr::LoopVarying { iv: iv_reg, lo, hi, end: 0, site },
            false => Instr::LoopUniform { iv: iv_reg, lo, hi, end: 0, site },
        })
    }

    pub(super) fn leave_loop(&mut self, enter: Pc, iv: Val, hi: Val) {
        let (body, hi) = (enter + 1, hi.reg);
        let site = match self.k.kernel.code[enter as usize] {
            Instr::LoopVarying { site, .. } | Instr::LoopUniform { site, .. } => site,
            _ => crate::code::NO_SITE,
        };
        self.k.emit(match iv.varying {
            true => Instr::NextVarying { iv: iv.reg, hi, body, site },
            false => Instr::NextUniform { iv: iv.reg, hi, body, site },
        });
        self.k.land(enter);
    }

    pub(super) fn branch(&mut self, op: Op) -> Result<()> {
        let func = self.func();
        let cond = self.operand(op, 0)?;
        let mut results = Vec::new();
        for result in func.results(op) {
            let Some(ty) = func.value_scalar(result) else {
                return Err(self.unsupported(op, "a branch that yields no number"));
            };
            results.push(self.k.value(ty, true, self.k.is_te));
        }
        if cond.poison {
            let site = self.site(op, false);
            self.k.emit(Instr::PoisonUse { cond: cond.reg, site });
        }
        let regions = func.op_regions(op);
        let otherwise = regions.get(1).copied().filter(|&region| func.first_op(region).is_some());
        let site = self.site(op, false);
        let enter = self.k.emit(match cond.varying {
            true => Instr::If { cond: cond.reg, otherwise: 0, site },
            false => Instr::JumpIfNot { cond: cond.reg, to: 0 },
        });
        self.arm(regions[0], &results)?;
        match otherwise {
            Some(region) => {
                let turn = if cond.varying {
                    // The jump of an empty first arm lands on the `else` itself.
                    self.k.land(enter);
                    self.k.emit(Instr::Else { end: 0 })
                } else {
                    let jump = self.k.emit(Instr::Jump { to: 0 });
                    self.k.land(enter);
                    jump
                };
                self.arm(region, &results)?;
                self.k.land(turn);
            }
            None => self.k.land(enter),
        }
        if cond.varying {
            self.k.emit(Instr::EndIf);
        }
        for (result, val) in func.results(op).zip(results) {
            self.frame().bind(result, Binding::Value(val));
        }
        Ok(())
    }

    fn arm(&mut self, region: Region, results: &[Val]) -> Result<()> {
        self.region(region)?;
        let yielded = self.yielded(region)?;
        self.assign(results, &yielded);
        self.end_region(region);
        Ok(())
    }

    /// A call within a kernel: the body of the function called takes its place.
    pub(super) fn call(&mut self, op: Op) -> Result<()> {
        let func = self.func();
        let callee = callee_of(self.module, func, op).ok_or_else(|| self.unknown_callee(op))?;
        if self.frames.len() > MAX_CALLS || self.frames.iter().any(|frame| std::ptr::eq(frame.func, callee)) {
            return Err(self.error(op, "recursion", format!("`@{}` calls itself", callee.symbol())));
        }
        if func.n_results(op) > 0 {
            return Err(self.unsupported(op, "a call with results"));
        }
        let frame = self.frame_for(callee, op)?;
        self.frames.push(frame);
        let done = self.region(callee.body());
        self.frames.pop();
        done
    }

    fn unknown_callee(&self, op: Op) -> Box<tc_support::Diagnostic> {
        self.error(op, "callee", "the function that is called is not there, or is no program")
    }

    /// The frame of a function called by `op`, its parameters bound to the arguments.
    fn frame_for(&mut self, callee: &'m Func, op: Op) -> Result<Frame<'m>> {
        let func = self.func();
        let sizes = bind_symbols(callee, &self.frame().sizes.clone())?;
        let mut frame = Frame::new(callee, sizes)?;
        bind_sizes(&mut frame);
        if callee.params().len() != func.operands(op).len() {
            let text = format!(
                "`@{}` takes {}, not {}",
                callee.symbol(),
                counted(callee.params().len(), "argument"),
                func.operands(op).len()
            );
            return Err(self.error(op, "arguments", text));
        }
        for (&param, &arg) in callee.params().iter().zip(func.operands(op)) {
            let binding = match callee.as_shaped(callee.value_type(param)) {
                Some(_) => {
                    let buf = self.buffer(arg, op)?;
                    Binding::Buffer(self.seen_as(callee, param, buf, &frame.sizes, op)?)
                }
                None => Binding::Value(Val { owned: false, ..self.val(arg, op)? }),
            };
            frame.bind(param, binding);
        }
        Ok(frame)
    }

    pub(super) fn barrier(&mut self, op: Op) -> Result<()> {
        let func = self.func();
        let scope = match func.word_of(op, keys::SCOPE) {
            Some("warp") => BarrierScope::Warp,
            Some("warpgroup") if self.k.kernel.threaded && !self.k.kernel.threads().is_multiple_of(128) => {
                let text = format!(
                    "a barrier of a warpgroup waits for 128 threads, and the block has {}, which no warpgroups make up",
                    self.k.kernel.threads()
                );
                let help = "bind loops of extent 128 to threadIdx.x, and the others to .y and .z";
                return Err(Box::new(self.error(op, "whole-warps", text).help(help)));
            }
            Some("warpgroup") => BarrierScope::Warpgroup,
            Some("shared") => BarrierScope::Shared,
            Some("global") => BarrierScope::Global,
            Some("cluster") => BarrierScope::Cluster,
            _ => return Err(self.unsupported(op, "a barrier over this scope")),
        };
        // In a phased program every op is a barrier.
        if self.k.kernel.threaded {
            let site = self.site(op, false);
            self.k.emit(Instr::Barrier { scope, site });
        }
        Ok(())
    }
}

/// The program that `op` calls.
pub(super) fn callee_of<'m>(module: &'m Module, func: &Func, op: Op) -> Option<&'m Func> {
    let AttrData::Symbol(name) = func.attr_data(func.attr_of(op, keys::CALLEE)?) else { return None };
    module.function(name).filter(|callee| callee.header.opcode == tir::FUNC)
}

/// Binds the symbols of a function to their values.
pub(super) fn bind_sizes(frame: &mut Frame<'_>) {
    let func = frame.func;
    for (&value, symbol) in func.region_args(func.body()).iter().zip(&func.header.symbols) {
        if let Some(&size) = frame.sizes.get(func.text(symbol.name)) {
            let elem = func.value_scalar(value).map_or(Elem::Index, |Scalar { elem, .. }| elem);
            frame.bind(value, Binding::Known(elem, cell::of_int(size.into())));
        }
    }
}
