//! Which box of a tensor loops copy, and that a buffer takes its elements in their order.

use crate::analysis::launch::loop_var;
use tc_arith::{Expr, Var};
use tc_dialects::algebra::{Algebra, const_extent};
use tc_dialects::tma::MAX_STEP;
use tc_ir::{Func, Op, Value};

/// A copy by loops.
#[derive(Clone, Copy)]
pub(super) struct Access<'a> {
    /// The loops that copy.
    pub(super) loops: &'a [Op],
    pub(super) buffer: Value,
    /// The extents of the buffer.
    pub(super) extents: &'a [i64],
    pub(super) tensor: Value,
    /// All of the buffer is copied.
    pub(super) is_whole: bool,
}

/// The box that is copied, in each dimension of the tensor.
pub(super) struct Place {
    pub(super) starts: Vec<Expr>,
    pub(super) sides: Vec<i64>,
    /// How far an element of the box is from the next.
    pub(super) steps: Vec<i64>,
    /// The dimension of the tensor that is the buffer's first one: its elements are copied one by one.
    pub(super) apart: Option<usize>,
    /// Where what is copied lies in each dimension of the buffer, and how long it is.
    pub(super) offsets: Vec<Expr>,
    pub(super) lengths: Vec<i64>,
}

const NO_BOX: &str = "a bulk copy brings a box: each index is a loop's, or a multiple of it, plus where the box starts";

impl Access<'_> {
    /// The box whose elements are at `at` in the tensor and at `to` in the buffer; the text and the help where it is none.
    pub(super) fn place(
        &self,
        func: &Func,
        algebra: &mut Algebra,
        to: &[Value],
        at: &[Value],
    ) -> Result<Place, (String, &'static str)> {
        let vars: Vec<Var> = self.loops.iter().map(|&op| Algebra::var(loop_var(func, op))).collect();
        let to: Vec<Expr> = to.iter().map(|&index| algebra.expr(func, index)).collect();
        let (mut starts, mut sides, mut steps) = (Vec::new(), Vec::new(), Vec::new());
        let mut of_dims: Vec<Option<usize>> = Vec::new();
        for (dim, &index) in at.iter().enumerate() {
            let no_box = || (self.strays(func, dim), NO_BOX);
            let mut index = algebra.expr(func, index);
            // Of a dimension with one element only that is copied; the loop's variable has no part in its index any more.
            if to.len() == at.len() && self.is_single(func, dim) && algebra.analyzer.pool.as_const(index) == Some(0) {
                index = to[dim];
            }
            let form = algebra.analyzer.linear(index, &vars).ok_or_else(no_box)?;
            let coeffs: Option<Vec<i64>> =
                form.coeffs.iter().map(|&coeff| algebra.analyzer.pool.as_const(coeff)).collect();
            let coeffs = coeffs.ok_or_else(no_box)?;
            let moving: Vec<usize> = (0..vars.len()).filter(|&nth| coeffs[nth] != 0).collect();
            let (side, step) = match moving[..] {
                [] => (1, 1),
                [nth] if !of_dims.contains(&Some(nth)) && (1..=MAX_STEP).contains(&coeffs[nth]) => {
                    (self.extent_of(func, nth).ok_or_else(no_box)?, coeffs[nth])
                }
                _ => return Err(no_box()),
            };
            starts.push(algebra.analyzer.simplify(form.constant));
            sides.push(side);
            steps.push(step);
            of_dims.push(moving.first().copied());
        }
        let first: Vec<(Var, Expr)> = vars.iter().map(|&var| (var, algebra.analyzer.pool.int(0))).collect();
        let at_first = |&index: &Expr| {
            let index = algebra.analyzer.pool.subst(index, &first);
            algebra.analyzer.simplify(index)
        };
        let offsets: Vec<Expr> = to.iter().map(at_first).collect();
        let lengths = self.lengths(&sides).filter(|lengths| !self.is_whole || *lengths == self.extents);
        let same_rows = sides.last() == self.extents.last();
        let of_vars: Vec<Option<Var>> = of_dims.iter().map(|of| of.map(|nth| vars[nth])).collect();
        if let Some(lengths) = lengths
            && same_rows
        {
            if self.follows(algebra, (&to, &offsets), &sides, &of_vars) {
                return Ok(Place { starts, sides, steps, apart: None, offsets, lengths });
            }
            if let Some(dim) = self.apart(algebra, (&to, &offsets), &sides, &of_vars) {
                return Ok(Place { starts, sides, steps, apart: Some(dim), offsets, lengths });
            }
        }
        // In equally many dimensions, the first one that differs says more.
        let differs = |&dim: &usize| match of_dims[dim] {
            Some(nth) => to[dim] != algebra.analyzer.pool.var(vars[nth]) || sides[dim] != self.extents[dim],
            None => self.extents[dim] != 1,
        };
        let dim = if to.len() == at.len() { (0..at.len()).find(differs) } else { None };
        let text = match dim {
            Some(dim) => self.strays(func, dim),
            None => {
                let [name, tensor] = [self.buffer, self.tensor].map(|value| func.value_text(value));
                format!("`{name}` does not take the elements of a box of `{tensor}` in their order")
            }
        };
        Err((text, NO_BOX))
    }

    fn strays(&self, func: &Func, dim: usize) -> String {
        let [name, tensor] = [self.buffer, self.tensor].map(|value| func.value_text(value));
        format!("dimension {dim} of `{name}` does not follow that of `{tensor}` element by element")
    }

    /// Has dimension `dim` of the tensor one element?
    fn is_single(&self, func: &Func, dim: usize) -> bool {
        let shape = func.as_shaped(func.value_type(self.tensor)).map(|(_, shape, _)| shape);
        shape.and_then(|shape| func.as_int(*shape.get(dim)?)) == Some(1)
    }

    /// The extent of a loop that starts from 0.
    fn extent_of(&self, func: &Func, nth: usize) -> Option<i64> {
        let op = self.loops[nth];
        const_extent(func, op).filter(|_| func.const_int(func.operand(op, 0)) == Some(0))
    }

    /// How many elements of each dimension of the buffer are copied, of all that `sides` say.
    fn lengths(&self, sides: &[i64]) -> Option<Vec<i64>> {
        let mut left = sides.iter().try_fold(1i64, |product, &side| product.checked_mul(side))?;
        let mut lengths = vec![1; self.extents.len()];
        for (length, &extent) in lengths.iter_mut().zip(self.extents).rev() {
            *length = left.min(extent);
            if left % *length != 0 {
                return None;
            }
            left /= *length;
        }
        (left == 1).then_some(lengths)
    }

    /// The dimension of the tensor that is the buffer's first one, if the rest of the buffer takes the rest of the box row by
    /// row.
    fn apart(
        &self,
        algebra: &mut Algebra,
        (to, offsets): (&[Expr], &[Expr]),
        sides: &[i64],
        of_dims: &[Option<Var>],
    ) -> Option<usize> {
        let &[first, ref rest @ ..] = to else { return None };
        let is_first = |of: &Option<Var>| of.is_some_and(|var| algebra.analyzer.pool.var(var) == first);
        let dim = of_dims.iter().position(is_first).filter(|&dim| (1..sides.len() - 1).contains(&dim))?;
        let (mut sides, mut of_dims) = (sides.to_vec(), of_dims.to_vec());
        if sides[dim] != self.extents[0] {
            return None;
        }
        (sides[dim], of_dims[dim]) = (1, None);
        let one = Access { extents: &self.extents[1..], ..*self };
        one.follows(algebra, (rest, &offsets[1..]), &sides, &of_dims).then_some(dim)
    }

    /// Is the position in the buffer, row by row, that in the box, beyond where it starts?
    fn follows(
        &self,
        algebra: &mut Algebra,
        (to, offsets): (&[Expr], &[Expr]),
        sides: &[i64],
        of_dims: &[Option<Var>],
    ) -> bool {
        let pool = &mut algebra.analyzer.pool;
        let zero = pool.int(0);
        let in_box: Vec<Expr> = of_dims.iter().map(|of| of.map_or(zero, |var| pool.var(var))).collect();
        let there = flat(algebra, to, self.extents);
        let (start, here) = (flat(algebra, offsets, self.extents), flat(algebra, &in_box, sides));
        let here = algebra.analyzer.pool.add(start, here);
        algebra.analyzer.can_prove_equal(there, here)
    }
}

/// The position of indices among extents, row by row.
pub(super) fn flat(algebra: &mut Algebra, indices: &[Expr], extents: &[i64]) -> Expr {
    let pool = &mut algebra.analyzer.pool;
    let mut sum = pool.int(0);
    for (&index, &extent) in indices.iter().zip(extents) {
        let extent = pool.int(extent);
        sum = pool.mul(sum, extent);
        sum = pool.add(sum, index);
    }
    sum
}
