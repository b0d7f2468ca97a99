//! References: the parts of buffers that ops name.
//!
//! A reference is no value of a running program. Whoever takes one computes with the indices that it was made from, which
//! [liveness](super::liveness) keeps until then.

use super::Result;
use super::body::Compiler;
use super::kernel::Val;
use super::sizes::eval_attr;
use crate::code::{Access, NO_REG};
use crate::warp::Region;
use tc_dialects::tir;
use tc_ir::{AttrData, Elem, Func, Op, Opcode, Value};

/// Does an op of this kind make a reference?
pub(super) fn makes_reference(opcode: Opcode) -> bool {
    matches!(opcode, tir::REF | tir::REGION)
}

impl Compiler<'_, '_> {
    /// The part of a buffer that `place`, a reference or a whole buffer, stands for.
    pub(super) fn region_of(&mut self, place: Value, user: Op, is_store: bool) -> Result<Region> {
        let func = self.func();
        let def = func.def_op(place).filter(|&def| makes_reference(func.opcode(def)));
        let (buffer, indices) = match def.and_then(|def| func.operands(def).split_first()) {
            Some((&buffer, indices)) => (buffer, indices),
            None => (place, &[][..]),
        };
        let buf = self.buffer(buffer, user)?;
        let mut starts = self.vals(indices, user)?;
        let shape = self.k.kernel.buffers[buf as usize].shape.clone();
        let mut lengths = match def {
            Some(def) if func.opcode(def) == tir::REGION => self.lengths(def)?,
            _ => vec![1; starts.len()],
        };
        let is_index = |start: &Val| start.ty.lanes == 1 && start.ty.elem.is_int();
        if starts.len() > shape.len() || lengths.len() != starts.len() || !starts.iter().all(is_index) {
            return Err(self.unsupported(user, "this reference"));
        }
        // The dimensions that an element reference leaves out are there as a whole.
        lengths.extend_from_slice(&shape[starts.len()..]);
        starts.resize(shape.len(), self.k.constant(Elem::Index, 0));
        self.k.mark_accessed(buf, is_store);
        let indices = starts.iter().map(|start| start.reg).collect();
        let site = self.site(user, is_store);
        let access =
            Access { buf, indices, index_lanes: 1, value: NO_REG, mag: NO_REG, aligned: 0, site, poison: None };
        Ok(Region { access, lengths })
    }

    fn lengths(&mut self, def: Op) -> Result<Vec<u64>> {
        let func: &Func = self.func();
        let list = func.attr_named(def, "lengths").map(|attr| func.attr_data(attr));
        let sizes = &self.frame().sizes;
        let lengths = match list {
            Some(AttrData::List(list)) => list
                .iter()
                .map(|&length| eval_attr(func, length, sizes).and_then(|length| u64::try_from(length).ok()))
                .collect(),
            _ => None,
        };
        lengths.ok_or_else(|| self.unsupported(def, "a reference whose lengths are not known"))
    }
}
