//! Fragments as `nvcuda::wmma` of `mma.h` has them.
//!
//! Every op of `wmma` is one call. Elements of tf32 fragments are f32 in memory and rounded once they are loaded, for
//! the tensor cores would cut their lower bits off.

use crate::expr::Expr;
use crate::kernel::Kernel;
use crate::preamble::{Helper, Needs};
use crate::types;
use tc_dialects::fragment::{Fragment, Layout, Tile, Use, tile};
use tc_dialects::wmma;
use tc_ir::{Elem, Op, keys};
use tc_kernel::wmma::layout;

/// `nvcuda::wmma::fragment<…>`
pub(crate) fn fragment_type(fragment: Fragment, needs: &mut Needs) -> String {
    needs.fragments();
    let Fragment { part, shape: [m, n, k], elem, layout } = fragment;
    let elem = match elem {
        Elem::TF32 => "nvcuda::wmma::precision::tf32",
        _ => {
            needs.elem(elem);
            types::number(elem).unwrap_or("int")
        }
    };
    let layout = layout.map_or(String::new(), |layout| format!(", nvcuda::wmma::{}", layout.name()));
    format!("nvcuda::wmma::fragment<nvcuda::wmma::{}, {m}, {n}, {k}, {elem}{layout}>", part.name())
}

impl Kernel<'_> {
    /// The call that stands for the op `op` of `wmma`.
    pub(crate) fn wmma(&mut self, op: Op) {
        let func = self.func;
        let order = match layout(func, op, keys::LAYOUT) {
            Layout::RowMajor => "nvcuda::wmma::mem_row_major",
            Layout::ColMajor => "nvcuda::wmma::mem_col_major",
        };
        let (first, second) = (func.operand(op, 0), func.operand(op, 1));
        let is_tf32 = |tile: Option<Tile>| tile.is_some_and(|tile| tile.elem == Elem::TF32);
        match func.opcode(op) {
            wmma::FILL => {
                let to = self.element_at(first);
                let mut value = self.lane(second, 0);
                if is_tf32(tile(func, first)) {
                    value = crate::expr::call("nvcuda::wmma::__float_to_tf32", &[value]);
                }
                self.call(op, "nvcuda::wmma::fill_fragment", &[to, value]);
            }
            wmma::LOAD => {
                let (to, from) = (self.element_at(first), self.address(second));
                let stride = self.lane(func.operand(op, 2), 0);
                let of = tile(func, first);
                let mut args = vec![to.clone(), from, stride];
                // The layout of a factor is part of its type.
                if of.is_some_and(|tile| tile.part == Use::Accumulator) {
                    args.push(Expr::name(order));
                }
                self.call(op, "nvcuda::wmma::load_matrix_sync", &args);
                if is_tf32(of) {
                    let round = self.needs.helper(Helper::RoundTf32);
                    self.call(op, &round, &[to]);
                }
            }
            wmma::STORE => {
                let (to, from) = (self.address(first), self.element_at(second));
                let stride = self.lane(func.operand(op, 2), 0);
                self.call(op, "nvcuda::wmma::store_matrix_sync", &[to, from, stride, Expr::name(order)]);
            }
            _ => {
                let [sum, a, b] = [0, 1, 2].map(|nth| self.element_at(func.operand(op, nth)));
                self.call(op, "nvcuda::wmma::mma_sync", &[sum.clone(), a, b, sum]);
            }
        }
    }

    /// `function(args);`
    pub(crate) fn call(&mut self, op: Op, function: &str, args: &[Expr]) {
        let call = crate::expr::call(function, args);
        self.at(op);
        self.out.line(&format!("{};", call.text));
    }
}
