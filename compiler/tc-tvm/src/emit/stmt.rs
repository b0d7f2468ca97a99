//! Statements: loops, conditionals, bindings, and the table of what there is besides.

use super::func::Writer;
use crate::table;
use tc_dialects::tir::{self, LoopKind};
use tc_dialects::{arith, gpu};
use tc_ir::{Func, Name, Op, Opcode, Region, Role, Value, keys};

/// Writes an op as a statement.
type Write = for<'w, 'f> fn(&'w mut Writer<'f>, Op);

/// What is written beside expressions. References are written where they are used.
static STATEMENTS: &[(Opcode, Write)] = &[
    (tir::FOR, |w, op| w.for_loop(op)),
    (tir::STORE, |w, op| w.store(op)),
    (tir::ALLOC, |w, op| w.alloc(op)),
    (tir::VIEW, |w, op| w.view(op)),
    (tir::REF, |_, _| {}),
    (tir::REGION, |_, _| {}),
    (tir::YIELD, |_, _| {}),
    (gpu::BARRIER, |w, op| w.barrier(op)),
    (gpu::ALL_REDUCE, |w, op| w.all_reduce(op)),
    (gpu::SHUFFLE, |w, op| w.shuffle(op)),
];

/// Keys of a loop that its kind says.
const KIND_KEYS: &[Name] = &[keys::KIND, keys::AXIS];

/// Pragmas that TVM knows by names of its own.
pub(crate) const PRAGMAS: &[(&str, &str)] = &[
    ("auto_unroll_max_step", "pragma_auto_unroll_max_step"),
    ("unroll_explicit", "pragma_unroll_explicit"),
    ("loop_partition_hint", "pragma_loop_partition_hint"),
];

/// Is `op` written as an expression, apart from conditionals?
pub(crate) fn is_expression(func: &Func, op: Op) -> bool {
    let opcode = func.opcode(op);
    let is_plain = matches!(
        opcode,
        arith::CONSTANT
            | arith::CMP
            | arith::NEG
            | arith::NOT
            | arith::CAST
            | arith::RAMP
            | arith::BROADCAST
            | tir::LOAD
    );
    is_plain || table::call_of(opcode).is_some() || matches!(func.role(op), Role::Binary(_))
}

impl Writer<'_> {
    /// The statements of `region`, which stands in a block of its own. What it yields is left to the op around it.
    pub(crate) fn block(&mut self, region: Region) {
        self.block_with(region, |_| {}, |_| {});
    }

    /// The same, with what stands before and after them.
    pub(crate) fn block_with(&mut self, region: Region, before: impl FnOnce(&mut Self), after: impl FnOnce(&mut Self)) {
        let mark = self.names.enter();
        let length = self.length();
        before(self);
        let func = self.func;
        for op in func.ops(region) {
            if !self.nest.is_inline(op) {
                self.statement(op);
            }
        }
        after(self);
        if self.length() == length {
            self.line("T.evaluate(0)");
        }
        self.close();
        self.names.leave(mark);
    }

    fn statement(&mut self, op: Op) {
        let func = self.func;
        let opcode = func.opcode(op);
        if let Some((_, write)) = STATEMENTS.iter().find(|(known, _)| *known == opcode) {
            return write(self, op);
        }
        if let Some((_, name, modifiers)) = table::APPROXIMATIONS.iter().find(|(known, ..)| *known == opcode) {
            return self.approximation(op, name, modifiers);
        }
        match opcode {
            tir::IF if self.nest.is_choice(op) => self.define(op),
            tir::IF => self.conditional(op),
            _ if is_expression(func, op) => self.define(op),
            _ => {
                self.no_counterpart(op);
                let results: Vec<Value> = func.results(op).collect();
                results.into_iter().for_each(|result| drop(self.declare(result, "")));
            }
        }
    }

    /// `i: T.let[T.int32] = …`
    fn define(&mut self, op: Op) {
        let func = self.func;
        let Some(result) = func.result(op).filter(|&result| func.n_uses(result) > 0) else { return };
        let n_found = self.found.len();
        let value = self.computed(op).text;
        if self.found.len() > n_found {
            // What is wrong with the value was told.
            self.declare(result, "");
            return;
        }
        self.bind(op, result, &value);
    }

    /// Binds `result` of `op` to the expression `value`.
    pub(crate) fn bind(&mut self, op: Op, result: Value, value: &str) {
        let Some(scalar) = self.func.value_scalar(result) else {
            self.no_counterpart(op);
            return;
        };
        let Some(ty) = self.type_name(scalar) else {
            self.lacks_type(op, scalar);
            self.declare(result, "");
            return;
        };
        let name = self.declare(result, "");
        self.line(&format!("{name}: T.let[T.{ty}] = {value}"));
    }

    fn for_loop(&mut self, op: Op) {
        let func = self.func;
        let body = func.op_regions(op)[0];
        let Some((&var, _)) = func.region_args(body).split_first() else { return };
        let Some(head) = self.loop_head(op) else { return };
        let carried = self.enter_carry(op);
        let mark = self.names.enter();
        let name = self.declare(var, "i");
        self.open(&format!("for {name} in {head}:"));
        let inner = carried.clone();
        self.block_with(body, |w| w.read_carried(op, &inner), |w| w.hand_on(body, &inner));
        self.names.leave(mark);
        self.leave_carry(op, &carried);
    }

    /// `range(4)`, `T.thread_binding(0, 8, thread="threadIdx.x")`
    fn loop_head(&mut self, op: Op) -> Option<String> {
        let func = self.func;
        let (low, high) = (func.operand(op, 0), func.operand(op, 1));
        let bounds = match func.const_int(low) {
            Some(0) => self.text(high),
            _ => format!("{}, {}", self.text(low), self.text(high)),
        };
        let (function, mut extra) = match tir::loop_kind(func, op) {
            Some(LoopKind::Serial) => ("T.serial", Vec::new()),
            Some(LoopKind::Unroll(_)) => ("T.unroll", Vec::new()),
            Some(LoopKind::Vectorize) => ("T.vectorized", Vec::new()),
            Some(LoopKind::Launch(coordinate)) => {
                ("T.thread_binding", vec![format!("thread=\"{}\"", coordinate.name())])
            }
            Some(LoopKind::Vthread) => ("T.thread_binding", vec!["thread=\"vthread\"".to_string()]),
            None => {
                self.no_counterpart(op);
                return None;
            }
        };
        let annotations = self.loop_annotations(op);
        if !annotations.is_empty() {
            extra.push(format!("annotations={{{}}}", annotations.join(", ")));
        }
        if function == "T.serial" && extra.is_empty() {
            return Some(format!("range({bounds})"));
        }
        extra.insert(0, bounds);
        Some(format!("{function}({})", extra.join(", ")))
    }

    fn loop_annotations(&self, op: Op) -> Vec<String> {
        let func = self.func;
        let of_kind = |key: Name| KIND_KEYS.contains(&key);
        let entries = func.entries(func.op_attrs(op)).iter().filter(|(key, _)| !of_kind(*key));
        let pragma = |key: Name| PRAGMAS.iter().find(|(ours, _)| *ours == func.text(key));
        let texts = entries.map(|&(key, value)| match (pragma(key), func.attr_data(value)) {
            (Some((_, theirs)), tc_ir::AttrData::Int(number, _)) => format!("\"{theirs}\": {number}"),
            (Some((_, theirs)), tc_ir::AttrData::Bool(value)) => {
                format!("\"{theirs}\": {}", if *value { "True" } else { "False" })
            }
            (Some((_, theirs)), tc_ir::AttrData::Unit) => format!("\"{theirs}\": True"),
            _ => self.annotation(key, value),
        });
        texts.collect()
    }

    fn conditional(&mut self, op: Op) {
        let func = self.func;
        let results: Vec<Value> = func.results(op).collect();
        let cells: Vec<String> = results.iter().map(|&result| self.cell(op, result)).collect();
        let condition = self.text(func.operand(op, 0));
        for (nth, &region) in func.op_regions(op).iter().enumerate() {
            let is_empty = func.ops(region).all(|inner| self.nest.is_inline(inner) || func.role(inner) == Role::Yield);
            if nth > 0 && is_empty && results.is_empty() {
                break;
            }
            self.open(&if nth == 0 { format!("if {condition}:") } else { "else:".to_string() });
            self.block_with(region, |_| {}, |w| w.store_cells(region, &cells));
        }
        for (&result, cell) in results.iter().zip(&cells) {
            self.read_cell(op, result, cell);
        }
    }
}
