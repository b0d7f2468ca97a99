//! Fragments as `nvcuda::wmma` of `mma.h` has them.
//!
//! Every op of `wmma` is one call. Elements of tf32 fragments are f32 in memory and rounded once they are loaded, for
//! the tensor cores would cut their lower bits off.

use crate::expr::Expr;
use crate::kernel::Kernel;
use crate::preamble::{Helper, Needs};
use crate::types;
use tc_dialects::fragment::{Fragment, Layout, Tile, Use, tile};
use tc_ir::{Func, Op, keys};
use tc_kernel::wmma::layout;

/// `nvcuda::wmma::fragment<…>`
pub(crate) fn fragment_type(fragment: Fragment, needs: &mut Needs) -> String {
    needs.fragments();
    let Fragment { part, shape: [m, n, k], elem, layout } = fragment;
    let elem = match types::fragment(elem) {
        Some(name) => name,
        None => {
            needs.elem(elem);
            types::number(elem).unwrap_or("int")
        }
    };
    let layout = layout.map_or(String::new(), |layout| format!(", nvcuda::wmma::{}", layout.name()));
    format!("nvcuda::wmma::fragment<nvcuda::wmma::{}, {m}, {n}, {k}, {elem}{layout}>", part.name())
}

/// Is it a tile of numbers that memory holds with more bits?
fn is_rounded(tile: Option<Tile>) -> bool {
    tile.is_some_and(|tile| !tile.elem.is_stored())
}

/// The order of what `op` loads or stores in memory.
fn order(func: &Func, op: Op) -> Expr {
    Expr::name(match layout(func, op, keys::LAYOUT) {
        Layout::RowMajor => "nvcuda::wmma::mem_row_major",
        Layout::ColMajor => "nvcuda::wmma::mem_col_major",
    })
}

impl Kernel<'_> {
    /// Fills the fragment of `op` with a number.
    pub(crate) fn fill_fragment(&mut self, op: Op) {
        let (fragment, value) = (self.func.operand(op, 0), self.func.operand(op, 1));
        let to = self.element_at(fragment);
        let mut value = self.lane(value, 0);
        if is_rounded(tile(self.func, fragment)) {
            value = crate::expr::call("nvcuda::wmma::__float_to_tf32", &[value]);
        }
        self.call(op, "nvcuda::wmma::fill_fragment", &[to, value]);
    }

    /// Loads the fragment of `op`.
    pub(crate) fn load_fragment(&mut self, op: Op) {
        let func = self.func;
        let fragment = func.operand(op, 0);
        let (to, from) = (self.element_at(fragment), self.address(func.operand(op, 1)));
        let stride = self.lane(func.operand(op, 2), 0);
        let of = tile(func, fragment);
        let mut args = vec![to.clone(), from, stride];
        // The layout of a factor is part of its type.
        if of.is_some_and(|tile| tile.part == Use::Accumulator) {
            args.push(order(func, op));
        }
        self.call(op, "nvcuda::wmma::load_matrix_sync", &args);
        if is_rounded(of) {
            let round = self.needs.helper(Helper::RoundTf32);
            self.call(op, &round, &[to]);
        }
    }

    /// Stores the fragment of `op`.
    pub(crate) fn store_fragment(&mut self, op: Op) {
        let func = self.func;
        let (to, from) = (self.address(func.operand(op, 0)), self.element_at(func.operand(op, 1)));
        let stride = self.lane(func.operand(op, 2), 0);
        self.call(op, "nvcuda::wmma::store_matrix_sync", &[to, from, stride, order(func, op)]);
    }

    /// Multiplies the fragments of `op`.
    pub(crate) fn multiply_fragments(&mut self, op: Op) {
        let [sum, a, b] = [0, 1, 2].map(|nth| self.element_at(self.func.operand(op, nth)));
        self.call(op, "nvcuda::wmma::mma_sync", &[sum.clone(), a, b, sum]);
    }

    /// `function(args);`
    pub(crate) fn call(&mut self, op: Op, function: &str, args: &[Expr]) {
        let call = crate::expr::call(function, args);
        self.at(op);
        self.out.line(&format!("{};", call.text));
    }
}
