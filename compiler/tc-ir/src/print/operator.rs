//! Statements of operators: computes and reductions.

use super::Body;
use super::form::Form;
use super::generic::Commas;
use crate::entity::{Op, Value};
use crate::names::keys;

impl Body<'_> {
    /// `compute B[i: n] = e`, `compute B[i: n] = sum[r: m](e, where = c, init = e0)`
    pub(super) fn compute(&mut self, op: Op, form: Form) {
        let func = self.func;
        self.out.push_str("compute ");
        let mut list = Commas::default();
        for result in func.results(op) {
            list.next(&mut self.out);
            self.names.give(func, result);
            self.name(result);
        }
        let body = func.op_regions(op)[0];
        let mark = self.names.mark();
        self.axes(func.region_args(body), func.operands(op));
        self.out.push_str(" = ");
        let value = func.yielded(body)[0];
        match func.def_op(value) {
            Some(reduce) if form == Form::Reduction => self.reduction(reduce),
            _ => self.expr(value, 0, None),
        }
        self.names.restore(mark);
        self.attributes(op, &[]);
        self.loc(op);
        self.out.push('\n');
    }

    /// `[i: n, j: lo..hi]`
    fn axes(&mut self, axes: &[Value], bounds: &[Value]) {
        let func = self.func;
        self.out.push('[');
        let mut list = Commas::default();
        for (&axis, pair) in axes.iter().zip(bounds.chunks_exact(2)) {
            list.next(&mut self.out);
            self.names.give(func, axis);
            self.name(axis);
            self.out.push_str(": ");
            if !(self.is_literal(pair[0]) && func.const_int(pair[0]) == Some(0)) {
                self.expr(pair[0], 0, Some(func.index_ty()));
                self.out.push_str("..");
            }
            self.expr(pair[1], 0, Some(func.index_ty()));
        }
        self.out.push(']');
    }

    fn reduction(&mut self, op: Op) {
        let func = self.func;
        let body = func.op_regions(op)[0];
        let axes = func.region_args(body);
        let (bounds, inits) = func.operands(op).split_at(2 * axes.len());
        self.out.push_str(func.word_of(op, keys::COMBINER).unwrap_or(""));
        let mark = self.names.mark();
        self.axes(axes, bounds);
        self.out.push('(');
        let (values, condition) = func.yielded(body).split_at(func.n_results(op));
        let mut list = Commas::default();
        for &value in values {
            list.next(&mut self.out);
            self.expr(value, 0, None);
        }
        for &condition in condition {
            self.out.push_str(", where = ");
            self.expr(condition, 0, Some(func.bool_ty()));
        }
        let expected = self.common_type(&values[..1], None);
        match inits {
            [] => {}
            &[init] => {
                self.out.push_str(", init = ");
                self.expr(init, 0, expected);
            }
            inits => {
                self.out.push_str(", init = [");
                let mut list = Commas::default();
                for &init in inits {
                    list.next(&mut self.out);
                    self.expr(init, 0, expected);
                }
                self.out.push(']');
            }
        }
        self.names.restore(mark);
        self.out.push(')');
    }
}
