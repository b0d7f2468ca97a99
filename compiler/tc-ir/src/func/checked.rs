//! Which ops are still as they were when the verifier found nothing wrong with the function.

use super::Func;
use crate::entity::Op;
use cranelift_entity::{EntityRef, EntitySet};

/// The ops whose numbers are below `below`, but for those that were edited since.
#[derive(Default, Debug)]
pub(super) struct Checked {
    below: usize,
    edited: EntitySet<Op>,
    /// The hash of the header then, if nothing else was edited since.
    header: Option<u64>,
    /// Room for the next walk, all zeros.
    zeros: Vec<u32>,
}

/// So many zeros are kept: a check of a larger function takes longer than to make them.
const MAX_ZEROS: usize = 1 << 16;

impl Clone for Checked {
    fn clone(&self) -> Checked {
        Checked { below: self.below, edited: self.edited.clone(), header: self.header, zeros: Vec::new() }
    }
}

impl Checked {
    /// Something is edited.
    #[inline]
    pub(super) fn edit(&mut self) {
        self.header = None;
    }
}

impl Func {
    /// Are the opcode, operands, results, attributes and number of regions of `op`, and the types of values, as they were when
    /// the verifier found nothing wrong with the function?
    #[inline]
    pub(crate) fn is_checked(&self, op: Op) -> bool {
        op.index() < self.checked.below && !self.checked.edited.contains(op)
    }

    /// Is the function as it was when the verifier found nothing wrong with it?
    pub(crate) fn is_all_checked(&self) -> bool {
        self.checked.header.is_some_and(|header| header == self.header_hash())
    }

    /// Room for a walk of the verifier, all zeros.
    pub(crate) fn take_zeros(&mut self) -> Vec<u32> {
        std::mem::take(&mut self.checked.zeros)
    }

    /// Takes the function for checked, and keeps the room that a walk leaves behind: all zeros.
    pub(crate) fn note_checked(&mut self, zeros: Vec<u32>) {
        debug_assert!(zeros.iter().all(|&n| n == 0), "the room of a walk is left as it was");
        if zeros.len() <= MAX_ZEROS {
            self.checked.zeros = zeros;
        }
        self.checked.header = Some(self.header_hash());
        self.checked.below = self.ops.len();
        self.checked.edited.clear();
    }

    /// Takes `op` for not checked.
    #[inline]
    pub(crate) fn uncheck(&mut self, op: Op) {
        if op.index() < self.checked.below {
            self.checked.edited.insert(op);
        }
    }

    /// Takes no op for checked.
    pub(crate) fn uncheck_all(&mut self) {
        self.checked.below = 0;
    }
}
