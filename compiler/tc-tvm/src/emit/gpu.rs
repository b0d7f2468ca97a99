//! What threads exchange, and the hardware's approximations.

use super::func::Writer;
use tc_dialects::arith;
use tc_dialects::tir::{self, LoopKind};
use tc_ir::walk::ancestors;
use tc_ir::{AttrData, Op, Opcode, Region, Scalar, Value, keys};

/// All lanes of a warp.
const ALL_LANES: u32 = u32::MAX;
const WARP: i64 = 32;

impl Writer<'_> {
    pub(crate) fn barrier(&mut self, op: Op) {
        match self.func.word_of(op, keys::SCOPE) {
            Some("warp") => self.line("T.tvm_storage_sync(\"warp\")"),
            Some("shared") => self.line("T.tvm_storage_sync(\"shared\")"),
            Some(scope) => {
                let text = format!("TVM has no counterpart of `gpu.barrier({scope})`");
                self.refuse(op, text);
            }
            None => drop(self.no_counterpart(op)),
        }
    }

    /// `T.ptx.ex2.approx.ftz.f32(cell, x)`: the instruction writes to a cell.
    pub(crate) fn approximation(&mut self, op: Op, name: &str, modifiers: &[&str]) {
        let func = self.func;
        let Some(result) = func.result(op) else { return };
        if func.value_scalar(result).is_some_and(|scalar| scalar.lanes > 1) {
            self.refuse(op, format!("TVM has no counterpart of `{}` of vectors", func.op_name(op)));
            return;
        }
        let value = self.text(func.operand(op, 0));
        let cell = self.cell(op, result);
        self.line(&format!("T.ptx.{name}.{}({cell}[0], {value})", modifiers.join(".")));
        self.read_cell(op, result, &cell);
    }

    pub(crate) fn shuffle(&mut self, op: Op) {
        let func = self.func;
        let Some(result) = func.result(op) else { return };
        let function = match func.word_of(op, keys::MODE) {
            Some("idx") => "tvm_warp_shuffle",
            Some("down") => "tvm_warp_shuffle_down",
            Some("up") => "tvm_warp_shuffle_up",
            Some("xor") => "tvm_warp_shuffle_xor",
            _ => return drop(self.no_counterpart(op)),
        };
        let (value, lane) = (self.text(func.operand(op, 0)), self.text(func.operand(op, 1)));
        let width = func.int_of(op, keys::WIDTH).unwrap_or(WARP);
        let call = format!("T.{function}(T.uint32({ALL_LANES}), {value}, {lane}, {width}, {WARP})");
        // It is not moved, so that all lanes come to it where they did.
        if func.n_uses(result) == 0 {
            self.line(&format!("T.evaluate({call})"));
        } else {
            self.bind(op, result, &call);
        }
    }

    /// A reduction across threads, with a combiner of one operator, whose identity is known.
    pub(crate) fn all_reduce(&mut self, op: Op) {
        let func = self.func;
        let results: Vec<Value> = func.results(op).collect();
        let region = func.op_regions(op)[0];
        let Some(threads) = self.reduced_threads(op) else { return drop(self.no_counterpart(op)) };
        let Some((combined, identities)) = self.combiner(region, results.len()) else {
            let text = "TVM wants the identity of a combiner, and that of this one is not known".to_string();
            self.refuse(op, text);
            results.into_iter().for_each(|result| drop(self.declare(result, "")));
            return;
        };
        let values = self.texts(func.operands(op));
        let cells: Vec<String> = results.iter().map(|&result| self.cell(op, result)).collect();
        let outs: Vec<String> = cells.iter().map(|cell| format!("{cell}[0]")).collect();
        let reducer = format!("T.comm_reducer({combined}, [{}])", identities.join(", "));
        self.open(&format!("with T.attr({reducer}, \"reduce_scope\", T.reinterpret(\"handle\", T.uint64(0))):"));
        let (n, outs, threads) = (results.len(), outs.join(", "), threads.join(", "));
        self.line(&format!("T.tvm_thread_allreduce(T.uint32({n}), {values}, T.bool(True), {outs}, {threads})"));
        self.close();
        for (&result, cell) in results.iter().zip(&cells) {
            self.read_cell(op, result, cell);
        }
    }

    /// The variables of the launch loops around `op` that the reduction goes over.
    fn reduced_threads(&mut self, op: Op) -> Option<Vec<String>> {
        let func = self.func;
        let AttrData::List(axes) = func.attr_data(func.attr_of(op, keys::AXES)?) else { return None };
        let mut names = Vec::new();
        for &axis in axes {
            let wanted = match func.attr_data(axis) {
                AttrData::Word(name) => func.text(*name),
                AttrData::Str(text) => text,
                _ => return None,
            };
            let launch = ancestors(func, op).find(|&outer| {
                matches!(tir::loop_kind(func, outer), Some(LoopKind::Launch(at)) if at.name() == wanted)
                    && func.opcode(outer) == tir::FOR
            })?;
            let var = *func.region_args(func.op_regions(launch)[0]).first()?;
            names.push(self.text(var));
        }
        Some(names)
    }

    /// The combiner as a lambda, and its identities, if each result is one operator of the two values of it.
    fn combiner(&mut self, region: Region, n: usize) -> Option<(String, Vec<String>)> {
        let func = self.func;
        let (args, yielded) = (func.region_args(region), func.yielded(region));
        if args.len() != 2 * n || yielded.len() != n {
            return None;
        }
        let names: Vec<String> =
            (0..n).map(|nth| format!("x{nth}")).chain((0..n).map(|nth| format!("y{nth}"))).collect();
        let (mut parts, mut identities) = (Vec::new(), Vec::new());
        for (nth, &value) in yielded.iter().enumerate() {
            let op = func.def_op(value)?;
            let operands = func.operands(op);
            let both = operands == [args[nth], args[n + nth]] || operands == [args[n + nth], args[nth]];
            if !both {
                return None;
            }
            let scalar = func.value_scalar(value)?;
            let (x, y) = (&names[nth], &names[n + nth]);
            parts.push(match func.opcode(op) {
                arith::ADD => format!("{x} + {y}"),
                arith::MUL => format!("{x} * {y}"),
                arith::MIN => format!("T.min({x}, {y})"),
                arith::MAX => format!("T.max({x}, {y})"),
                _ => return None,
            });
            identities.push(self.identity(func.opcode(op), scalar)?);
        }
        let all = parts.join(", ");
        let all = if n == 1 { all } else { format!("({all})") };
        Some((format!("lambda {}: {all}", names.join(", ")), identities))
    }

    fn identity(&self, opcode: Opcode, scalar: Scalar) -> Option<String> {
        let name = self.type_name(scalar)?;
        let range = scalar.elem.int_range();
        let text = match (opcode, range) {
            (arith::ADD, _) => "0".to_string(),
            (arith::MUL, _) => "1".to_string(),
            (arith::MIN, Some((_, high))) => high.to_string(),
            (arith::MAX, Some((low, _))) => low.to_string(),
            (arith::MIN, None) => "\"inf\"".to_string(),
            (arith::MAX, None) => "\"-inf\"".to_string(),
            _ => return None,
        };
        (scalar.lanes == 1).then(|| format!("T.{name}({text})"))
    }
}
