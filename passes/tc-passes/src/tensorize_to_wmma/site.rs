//! What is known where a nest stands, and of what an intrinsic computes: both as forms of the index algebra.

use super::find::{Loop, Nest};
use super::show;
use tc_arith::{Expr, Var};
use tc_dialects::algebra::Algebra;
use tc_dialects::te::{Axis, Intrinsic};
use tc_ir::walk::is_inside;
use tc_ir::{Def, Func, Value};

/// A nest, and what is known of the values around it and in it.
pub(super) struct Site<'f> {
    pub(super) func: &'f Func,
    pub(super) nest: &'f Nest,
    pub(super) algebra: Algebra,
}

/// An index as `coeffs[0] * loop 0 + … + base`.
pub(super) struct Index {
    /// One for each loop asked for; 0 for one that runs once.
    pub(super) coeffs: Vec<i64>,
    /// Free of the loops.
    pub(super) base: Expr,
}

impl<'f> Site<'f> {
    pub(super) fn new(func: &'f Func, nest: &'f Nest) -> Site<'f> {
        let mut algebra = Algebra::of_func(func);
        algebra.enter_place(func, nest.root);
        let first = nest.first.iter().flat_map(|first| first.loops.iter().copied());
        for each in nest.loops().chain(first).collect::<Vec<_>>() {
            algebra.enter_loop(func, each.op);
        }
        Site { func, nest, algebra }
    }

    /// `index` in terms of `loops`; the reason where it is no such form.
    pub(super) fn index(&mut self, index: Value, loops: &[Loop]) -> Result<Index, String> {
        let expr = self.algebra.expr(self.func, index);
        let once: Vec<(Var, Expr)> = loops
            .iter()
            .filter(|each| each.extent == 1)
            .map(|each| (Algebra::var(each.var), self.algebra.analyzer.pool.int(each.lo)))
            .collect();
        let expr = self.algebra.analyzer.pool.subst(expr, &once);
        let many: Vec<&Loop> = loops.iter().filter(|each| each.extent != 1).collect();
        let vars: Vec<Var> = many.iter().map(|each| Algebra::var(each.var)).collect();
        let not_linear = || "is no sum of multiples of the loops' variables".to_string();
        let form = self.algebra.analyzer.linear(expr, &vars).ok_or_else(not_linear)?;
        let mut base = form.constant;
        let mut coeffs = vec![0; loops.len()];
        for (each, coeff) in many.iter().zip(form.coeffs) {
            let coeff = self.algebra.analyzer.pool.as_const(coeff).ok_or_else(not_linear)?;
            let start = each.lo.checked_mul(coeff).ok_or_else(not_linear)?;
            let start = self.algebra.analyzer.pool.int(start);
            base = self.algebra.analyzer.pool.add(base, start);
            if let Some(nth) = loops.iter().position(|other| other.op == each.op) {
                coeffs[nth] = coeff;
            }
        }
        let base = self.algebra.analyzer.simplify(base);
        if let Some(inner) = self.algebra.analyzer.pool.vars(base).into_iter().find(|&var| self.is_inner(var)) {
            let inner = show::value(self.func, Algebra::value(inner));
            return Err(format!("depends on `{inner}`, which is computed inside of the loop"));
        }
        Ok(Index { coeffs, base })
    }

    /// Is the value of `var` made inside the nest?
    fn is_inner(&self, var: Var) -> bool {
        let root = self.nest.root;
        match self.func.def(Algebra::value(var)) {
            Def::Arg(region, _) => {
                self.func.region_parent(region).is_some_and(|op| op == root || is_inside(self.func, op, root))
            }
            Def::Result(op, _) => is_inside(self.func, op, root),
        }
    }
}

/// An intrinsic, and its indices as forms over its axes.
pub(super) struct Theirs<'i> {
    pub(super) intrinsic: &'i Intrinsic<'i>,
    algebra: Algebra,
}

impl<'i> Theirs<'i> {
    pub(super) fn new(intrinsic: &'i Intrinsic<'i>) -> Theirs<'i> {
        let mut algebra = Algebra::of_func(intrinsic.func);
        for axis in intrinsic.all_axes() {
            let var = algebra.declare(intrinsic.func, axis.value);
            algebra.analyzer.bind_range(var, Some(0), Some(axis.extent - 1));
        }
        Theirs { intrinsic, algebra }
    }

    /// `index` as coefficients of `axes` and a constant.
    pub(super) fn index(&mut self, index: Value, axes: &[Axis]) -> Option<(Vec<i64>, i64)> {
        let expr = self.algebra.expr(self.intrinsic.func, index);
        let zero = self.algebra.analyzer.pool.int(0);
        let once: Vec<(Var, Expr)> =
            axes.iter().filter(|axis| axis.extent == 1).map(|axis| (Algebra::var(axis.value), zero)).collect();
        let expr = self.algebra.analyzer.pool.subst(expr, &once);
        let vars: Vec<Var> = axes.iter().map(|axis| Algebra::var(axis.value)).collect();
        let form = self.algebra.analyzer.linear_const(expr, &vars)?;
        Some((form.coeffs, form.constant))
    }
}
