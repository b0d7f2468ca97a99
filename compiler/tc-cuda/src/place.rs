//! Places that ops are given by reference: `&A[i]`, `&A[i : 8]`, or a whole buffer.
//!
//! A reference has no variable of its own; it stands where it is used, as a position in the buffer behind it.

use crate::expr::{self, Expr, prec};
use crate::kernel::Kernel;
use tc_ir::Value;
use tc_ir::attrs::BinOp;
use tc_kernel::place::{buffer_of, references};

impl Kernel<'_> {
    /// The position of `place` in the buffer behind it; `None` for its start.
    fn position(&mut self, place: Value) -> Option<Expr> {
        let func = self.func;
        let mut sum: Option<Expr> = None;
        for op in references(func, place) {
            // Buffers have one dimension; a reference to all of one has no index.
            let Some(&index) = func.operands(op).get(1) else { continue };
            if self.bare_int(index) == Some(0) {
                continue;
            }
            let index = self.lane(index, 0);
            sum = Some(match sum {
                Some(sum) => expr::binary(BinOp::Add, index, sum),
                None => index,
            });
        }
        sum
    }

    /// The element that `place` refers to: `AF[i]`.
    pub(crate) fn element_at(&mut self, place: Value) -> Expr {
        let index = self.position(place).unwrap_or_else(|| Expr::name("0"));
        self.element(buffer_of(self.func, place), index)
    }

    /// The address of `place`: `&AS[i]`, or the buffer where it starts there.
    pub(crate) fn address(&mut self, place: Value) -> Expr {
        let buffer = buffer_of(self.func, place);
        match self.position(place) {
            Some(index) => {
                let element = self.element(buffer, index);
                Expr::new(format!("&{}", element.text), prec::UNARY)
            }
            None => Expr::name(&self.buffer(buffer)),
        }
    }
}
