//! Launches that are like one before: the arrays have the types, shapes and strides of arrays that were accepted, so that what
//! was found out about those holds for them, and only their addresses are new.

use crate::dlpack::{DataType, Device, DlTensor};
use smallvec::SmallVec;
use std::borrow::Borrow;
use std::sync::{Arc, PoisonError, RwLock};
use tc::runtime::{Plan, Resident};

/// Launches that are remembered for one kernel.
const MAX_LAUNCHES: usize = 8;

/// Addresses, in the order of the parameters.
pub(crate) type Addresses = SmallVec<[u64; 16]>;

/// The arrays of a launch that went through, and what it took.
pub(crate) struct Launch {
    arrays: Box<[Array]>,
    pub(crate) resident: Arc<Resident>,
    pub(crate) plan: Arc<Plan>,
}

/// What an array was, but for where it was.
struct Array {
    device: Device,
    dtype: DataType,
    ndim: i32,
    /// Extents, and strides where there were any.
    numbers: Box<[i64]>,
    n_bytes: u64,
    is_written: bool,
}

impl Array {
    fn new(tensor: &DlTensor, is_written: bool) -> Array {
        let (shape, strides) = tensor.numbers();
        let n = shape.iter().fold(1u64, |n, &extent| n.saturating_mul(extent.unsigned_abs()));
        Array {
            device: tensor.device,
            dtype: tensor.dtype,
            ndim: tensor.ndim,
            numbers: shape.iter().chain(strides).copied().collect(),
            n_bytes: n.saturating_mul(u64::from(tensor.dtype.bits / 8)),
            is_written,
        }
    }

    fn is_like(&self, tensor: &DlTensor) -> bool {
        if (self.device, self.dtype, self.ndim) != (tensor.device, tensor.dtype, tensor.ndim) {
            return false;
        }
        let (shape, strides) = tensor.numbers();
        if self.numbers.len() != shape.len() + strides.len() {
            return false;
        }
        // Number by number: they are few, and a call that compares memory costs more.
        let (extents, steps) = self.numbers.split_at(shape.len());
        extents.iter().zip(shape).all(|(one, other)| one == other)
            && steps.iter().zip(strides).all(|(one, other)| one == other)
    }
}

impl Launch {
    /// The addresses of `tensors`, where they are like the arrays of this launch and no array that is written meets another.
    fn addresses(&self, tensors: &[impl Borrow<DlTensor>]) -> Option<Addresses> {
        let is_like = self.arrays.len() == tensors.len()
            && self.arrays.iter().zip(tensors).all(|(array, tensor)| array.is_like(tensor.borrow()));
        if !is_like {
            return None;
        }
        let addresses: Addresses = tensors.iter().map(|tensor| tensor.borrow().address()).collect();
        let ranges =
            || self.arrays.iter().zip(&addresses).map(|(array, &low)| (low, low.saturating_add(array.n_bytes)));
        for (idx, (low, high)) in ranges().enumerate().filter(|(idx, _)| self.arrays[*idx].is_written) {
            if ranges().enumerate().any(|(other, (from, to))| other != idx && low.max(from) < high.min(to)) {
                return None;
            }
        }
        Some(addresses)
    }
}

/// The launches of one kernel that are remembered, the newest first.
#[derive(Default)]
pub(crate) struct Launches(RwLock<Vec<Arc<Launch>>>);

impl Launches {
    /// A launch before with arrays like `tensors`, and their addresses.
    pub(crate) fn like(&self, tensors: &[impl Borrow<DlTensor>]) -> Option<(Arc<Launch>, Addresses)> {
        let known = self.0.read().unwrap_or_else(PoisonError::into_inner);
        known.iter().find_map(|launch| Some((launch.clone(), launch.addresses(tensors)?)))
    }

    /// Remembers a launch that went through. `is_written` tells of a parameter whether kernels write it.
    pub(crate) fn add(
        &self,
        tensors: &[impl Borrow<DlTensor>],
        is_written: impl Fn(usize) -> bool,
        (resident, plan): (Arc<Resident>, Arc<Plan>),
    ) {
        let arrays =
            tensors.iter().enumerate().map(|(idx, tensor)| Array::new(tensor.borrow(), is_written(idx))).collect();
        let mut known = self.0.write().unwrap_or_else(PoisonError::into_inner);
        known.truncate(MAX_LAUNCHES - 1);
        known.insert(0, Arc::new(Launch { arrays, resident, plan }));
    }
}
