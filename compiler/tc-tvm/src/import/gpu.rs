//! What threads exchange, and instructions that write to a cell.

use super::annotations::{Plain, plain, string};
use super::state::{Bound, Place, Reader};
use crate::table;
use ruff_python_ast::{Expr, ExprCall};
use ruff_text_size::{Ranged, TextRange};
use tc_dialects::gpu;
use tc_dialects::scope::Scope;
use tc_dialects::tir::{self, LoopKind};
use tc_ir::{Attr, AttrData, Def, Region, Type, Value, keys};

impl<'a> Reader<'a> {
    /// A call for its effect.
    pub(crate) fn effect(&mut self, call: &'a ExprCall) {
        let range = call.range();
        let Some(name) = self.called(call) else {
            return self.refuse(range, "calls are of functions of `T`");
        };
        match name.as_str() {
            "tvm_storage_sync" => self.sync(call),
            "tvm_thread_allreduce" => drop(self.all_reduce(call)),
            name if name.starts_with("tvm_warp_shuffle") => drop(self.call(call)),
            name => match name.strip_prefix("ptx.") {
                Some(instruction) => drop(self.instruction(call, instruction)),
                None => self.refuse_frame(range, name),
            },
        }
    }

    /// `T.tvm_storage_sync("shared")`: the program says where its threads wait.
    fn sync(&mut self, call: &'a ExprCall) {
        let scope = call.arguments.args.first().and_then(string).unwrap_or_default();
        let scope = match scope.as_str() {
            name if Scope::parse(name).is_some_and(Scope::is_shared) => "shared",
            "warp" => "warp",
            other => {
                let other = tc_support::suggest::shorten(other);
                return self.refuse(call.range(), format!("tc has no barrier over `{other}`"));
            }
        };
        let word = self.func.word_attr(scope);
        self.op(call.range(), gpu::BARRIER, &[], &[(keys::SCOPE, word)], &[], 0);
        let unit = self.func.attr(AttrData::Unit);
        let attrs = self.func.header.attrs;
        self.func.header.attrs = self.func.with_entry(attrs, keys::THREADED, unit);
    }

    /// `T.ptx.ex2.approx.ftz.f32(cell, x)`, `T.ptx.ex2(cell, x, "approx", "ftz", "f32", "")`
    fn instruction(&mut self, call: &'a ExprCall, path: &str) -> Option<()> {
        let args = &call.arguments.args[..];
        let mut words: Vec<String> = path.split('.').map(str::to_string).collect();
        let (operands, rest) = args.split_at(args.len().min(2));
        words.extend(rest.iter().filter_map(string).filter(|word| !word.is_empty()));
        let known = table::APPROXIMATIONS.iter().find(|(_, name, modifiers)| {
            words.first().is_some_and(|word| word == name) && words[1..].iter().eq(modifiers.iter())
        });
        let (Some(&(opcode, ..)), [cell, value]) = (known, operands) else {
            self.refuse(
                call.range(),
                format!("tc has no counterpart of `T.ptx.{}`", tc_support::suggest::shorten(path)),
            );
            return None;
        };
        let f32_ty = self.func.elem_ty(tc_ir::Elem::F32);
        let value = self.value(value, Some(f32_ty))?;
        let result = self.infer(call.range(), opcode, &[value], &[])?;
        let (buffer, indices) = self.cell_of(cell)?;
        self.store_value(call.range(), buffer, &indices, result);
        Some(())
    }

    /// The element that an instruction writes to.
    fn cell_of(&mut self, expr: &'a Expr) -> Option<(Value, Vec<Value>)> {
        match expr {
            Expr::Subscript(subscript) => self.element_of(subscript),
            Expr::Name(name) => match self.lookup(name.id.as_str()).cloned() {
                Some(Bound::Buffer(place @ Place { view: None, .. })) if self.has_one_element(&place) => {
                    let zero = self.builder(expr.range()).index(0);
                    Some((place.base, vec![zero]))
                }
                Some(Bound::Missing) => None,
                _ => {
                    self.error(expr.range(), "place", format!("`{}` is no element of a buffer", name.id));
                    None
                }
            },
            _ => {
                self.error(expr.range(), "place", "this writes to an element of a buffer");
                None
            }
        }
    }

    /// `T.tvm_thread_allreduce(T.uint32(n), values…, T.bool(True), cells…, threads…)`, in the frame of its combiner.
    fn all_reduce(&mut self, call: &'a ExprCall) -> Option<()> {
        let range = call.range();
        let args = &call.arguments.args[..];
        let n = match args.first().and_then(|n| plain(n, &self.words.tir)) {
            Some(Plain::Int(n)) => usize::try_from(n).ok(),
            _ => None,
        };
        let Some(n) = n.filter(|&n| n > 0 && args.len() > 2 * n + 2) else {
            self.error(range, "arguments", "a reduction takes values, a condition, cells and threads");
            return None;
        };
        let (values, rest) = args[1..].split_at(n);
        let (condition, rest) = (&rest[0], &rest[1..]);
        let (cells, threads) = rest.split_at(n);
        if !matches!(plain(condition, &self.words.tir), Some(Plain::Bool(true) | Plain::Int(1))) {
            self.refuse(condition.range(), "all threads take part in a reduction");
            return None;
        }
        let values: Vec<Value> = values.iter().map(|value| self.value(value, None)).collect::<Option<_>>()?;
        let axes: Vec<Attr> = threads.iter().map(|thread| self.axis_of(thread)).collect::<Option<_>>()?;
        let types: Vec<Type> = values.iter().map(|&value| self.func.value_type(value)).collect();
        let axes = self.func.attr(AttrData::List(axes.into()));
        let op = self.op(range, gpu::ALL_REDUCE, &values, &[(keys::AXES, axes)], &types, 1);
        let region = self.func.op_regions(op)[0];
        self.combiner(range, region, &types)?;
        let results: Vec<Value> = self.func.results(op).collect();
        for (cell, result) in cells.iter().zip(results) {
            let (buffer, indices) = self.cell_of(cell)?;
            self.store_value(range, buffer, &indices, result);
        }
        Some(())
    }

    /// The launch coordinate whose loop has the variable `thread`.
    fn axis_of(&mut self, thread: &'a Expr) -> Option<Attr> {
        let bound = match thread {
            Expr::Name(name) => self.lookup(name.id.as_str()).cloned(),
            _ => None,
        };
        let axis = match bound {
            Some(Bound::Value(value)) => self.launched(value),
            _ => None,
        };
        match axis {
            Some(name) => Some(self.func.word_attr(name)),
            None => {
                self.refuse(thread.range(), "a reduction goes over variables of loops over threads");
                None
            }
        }
    }

    fn launched(&self, value: Value) -> Option<&'static str> {
        let Def::Arg(region, 0) = self.func.def(value) else { return None };
        let op = self.func.region_parent(region).filter(|&op| self.func.opcode(op) == tir::FOR)?;
        match tir::loop_kind(&self.func, op)? {
            LoopKind::Launch(coordinate) => Some(coordinate.name()),
            _ => None,
        }
    }

    /// `T.comm_reducer(lambda x, y: x + y, [T.float32(0)])`
    fn combiner(&mut self, range: TextRange, region: Region, types: &[Type]) -> Option<()> {
        let lambda = match self.reducer {
            Some(Expr::Call(call)) if self.called(call).as_deref() == Some("comm_reducer") => {
                call.arguments.args.first()
            }
            _ => None,
        };
        let Some(Expr::Lambda(lambda)) = lambda else {
            self.refuse(range, "a reduction stands in `with T.attr(T.comm_reducer(…), \"reduce_scope\", …)`");
            return None;
        };
        let params: Vec<&'a str> = lambda
            .parameters
            .iter()
            .flat_map(|params| params.args.iter())
            .map(|param| param.parameter.name.as_str())
            .collect();
        let body: Vec<&'a Expr> = match &*lambda.body {
            Expr::Tuple(tuple) => tuple.elts.iter().collect(),
            one => vec![one],
        };
        if params.len() != 2 * types.len() || body.len() != types.len() {
            self.error(lambda.range, "arguments", "a combiner takes two sets of values and gives one");
            return None;
        }
        self.inside(region, |reader| {
            for (nth, &name) in params.iter().enumerate() {
                let value = reader.func.push_arg(region, types[nth % types.len()], None);
                reader.bind(name, Bound::Value(value));
            }
            let mut values = Vec::new();
            for (expr, &ty) in body.into_iter().zip(types) {
                values.push(reader.value(expr, Some(ty))?);
            }
            reader.op(range, tir::YIELD, &values, &[], &[], 0);
            Some(())
        })
    }
}
