//! Places that ops are given by reference: `&A[i]`, `&A[i : 8]`, or a whole buffer.
//!
//! A reference has no variable of its own; it stands where it is used, as a position in the buffer behind it.

use crate::expr::{self, Expr, prec};
use crate::kernel::Kernel;
use tc_ir::Value;
use tc_ir::attrs::BinOp;
use tc_kernel::access::numbers_apart;
use tc_kernel::place::{buffer_of, references};

impl Kernel<'_> {
    /// The position of `place` in the buffer behind it; `None` for its start.
    fn position(&mut self, place: Value) -> Option<Expr> {
        // Buffers have one dimension; a reference to all of one has no index.
        let indices = self.indices(place);
        self.sum(&indices)
    }

    /// The indices of `place`, whose sum is its position.
    fn indices(&self, place: Value) -> Vec<Value> {
        let all = references(self.func, place).into_iter();
        all.filter_map(|op| self.func.operands(op).get(1).copied()).collect()
    }

    /// The sum of `indices`; `None` for 0.
    fn sum(&mut self, indices: &[Value]) -> Option<Expr> {
        let mut sum: Option<Expr> = None;
        for &index in indices {
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
        let position = self.position(place);
        self.address_of(place, position)
    }

    /// The address that `place` has but for a number of elements that are added to it, and that number: `&AS[i]` and 16 of
    /// `&AS[i + 16]`. Places that differ by such a number alone have one address.
    pub(crate) fn address_apart(&mut self, place: Value) -> (Expr, i64) {
        let mut indices = self.indices(place);
        let is_known = |base| self.name_of(base).is_some();
        let ahead = numbers_apart(self.func, &mut indices, is_known, |index| self.bare_int(index));
        let position = self.sum(&indices);
        (self.address_of(place, position), ahead)
    }

    fn address_of(&mut self, place: Value, position: Option<Expr>) -> Expr {
        let buffer = buffer_of(self.func, place);
        match position {
            Some(index) => {
                let element = self.element(buffer, index);
                Expr::new(format!("&{}", element.text), prec::UNARY)
            }
            None => Expr::name(&self.buffer(buffer)),
        }
    }
}
