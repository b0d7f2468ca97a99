//! Arrays that go into a program and come out of it.

use crate::cell::{self, Cell};
use tc_ir::Elem;
use tc_support::{Diagnostic, Location};

/// An array: little-endian elements in row-major order. A `bool` is one byte, an `index` eight. A buffer of
/// vectors (`f32x4[8]`) has the lanes as its last dimension (`[8, 4]`).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Tensor {
    /// The type of an element.
    pub elem: Elem,
    /// The extents.
    pub shape: Vec<u64>,
    /// The elements.
    pub data: Vec<u8>,
}

impl Tensor {
    /// The array with these bytes; refused where their number does not fit the shape.
    pub fn new(elem: Elem, shape: Vec<u64>, data: Vec<u8>) -> Result<Tensor, Diagnostic> {
        let n_bytes = n_elements(&shape).and_then(|n| n.checked_mul(u64::from(elem.bytes())));
        if n_bytes != Some(data.len() as u64) {
            let text = format!("an array of shape {shape:?} of `{}` does not have {} bytes", elem.name(), data.len());
            return Err(Diagnostic::error("bad-array", Location::None, text));
        }
        Ok(Tensor { elem, shape, data })
    }

    /// The array of `f64`s rounded to `elem`; integers are truncated.
    pub fn from_f64s(elem: Elem, shape: &[u64], values: &[f64]) -> Result<Tensor, Diagnostic> {
        let mut data = Vec::with_capacity(values.len() * elem.bytes() as usize);
        for &value in values {
            let cell = if elem.is_float() { cell::of_float(elem, value) } else { cell::of_int(value as i128) };
            cell::encode(elem, cell, &mut data);
        }
        Tensor::new(elem, shape.to_vec(), data)
    }

    /// The elements as `f64`s.
    pub fn to_f64s(&self) -> Vec<f64> {
        self.cells().map(|cell| cell::number_of(self.elem, cell)).collect()
    }

    /// The number of elements.
    pub fn len(&self) -> usize {
        self.data.len() / self.elem.bytes() as usize
    }

    /// Is there no element?
    pub fn is_empty(&self) -> bool {
        self.data.is_empty()
    }

    pub(crate) fn cells(&self) -> impl Iterator<Item = Cell> + '_ {
        self.data.chunks_exact(self.elem.bytes() as usize).map(|bytes| cell::decode(self.elem, bytes))
    }

    pub(crate) fn cell(&self, idx: usize) -> Cell {
        let n_bytes = self.elem.bytes() as usize;
        cell::decode(self.elem, &self.data[idx * n_bytes..][..n_bytes])
    }

    pub(crate) fn from_cells(elem: Elem, shape: Vec<u64>, cells: impl Iterator<Item = Cell>) -> Tensor {
        let mut data = Vec::with_capacity(cells.size_hint().0 * elem.bytes() as usize);
        cells.for_each(|cell| cell::encode(elem, cell, &mut data));
        Tensor { elem, shape, data }
    }
}

/// The number of elements of a shape, if it fits.
pub(crate) fn n_elements(shape: &[u64]) -> Option<u64> {
    shape.iter().try_fold(1u64, |product, &extent| product.checked_mul(extent))
}

/// The coordinates of element `flat` of `shape`.
pub(crate) fn unravel(mut flat: u64, shape: &[u64]) -> Vec<u64> {
    let mut index = vec![0; shape.len()];
    for (place, &extent) in index.iter_mut().zip(shape).rev() {
        *place = flat % extent.max(1);
        flat /= extent.max(1);
    }
    index
}

/// `[1, 2, 3]` as an index is written.
pub(crate) fn show_index(index: &[u64]) -> String {
    let parts: Vec<String> = index.iter().map(u64::to_string).collect();
    format!("[{}]", parts.join(", "))
}
