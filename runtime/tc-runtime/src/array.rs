//! Arrays on the host: an element type, a shape, and bytes in row-major order.

use crate::element::{self, Element};
use tc_support::{Diagnostic, Location};
use tc_target::DType;

/// An array on the host, row-major, little-endian. A scalar is an array of rank 0.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Array {
    dtype: DType,
    shape: Vec<u64>,
    bytes: Vec<u8>,
}

impl Array {
    /// An array of zeros.
    pub fn zeros(dtype: DType, shape: &[u64]) -> Result<Array, Diagnostic> {
        let n_bytes = n_bytes(dtype, shape)?;
        let mut bytes = Vec::new();
        bytes.try_reserve_exact(n_bytes).map_err(|_| too_large(dtype, shape))?;
        bytes.resize(n_bytes, 0);
        Ok(Array { dtype, shape: shape.to_vec(), bytes })
    }

    /// An array of just these bytes.
    pub fn from_bytes(dtype: DType, shape: &[u64], bytes: Vec<u8>) -> Result<Array, Diagnostic> {
        let expected = n_bytes(dtype, shape)?;
        if bytes.len() != expected {
            let message = format!("{} needs {expected} bytes, and is given {}", describe(dtype, shape), bytes.len());
            return Err(Diagnostic::error("bad-array", Location::None, message));
        }
        Ok(Array { dtype, shape: shape.to_vec(), bytes })
    }

    /// An array of these values, each rounded to `dtype`.
    pub fn from_f64s(dtype: DType, shape: &[u64], values: &[f64]) -> Result<Array, Diagnostic> {
        let mut array = Array::zeros(dtype, shape)?;
        if values.len() != array.len() {
            let message =
                format!("{} has {} elements, and is given {}", describe(dtype, shape), array.len(), values.len());
            return Err(Diagnostic::error("bad-array", Location::None, message));
        }
        for (idx, &value) in values.iter().enumerate() {
            array.set(idx, Element::Float(value));
        }
        Ok(array)
    }

    /// An array of rank 0.
    pub fn scalar(dtype: DType, value: Element) -> Array {
        let bytes = element::encode(dtype, value).to_le_bytes()[..dtype.bytes() as usize].to_vec();
        Array { dtype, shape: Vec::new(), bytes }
    }

    /// The type of the elements.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// The extents, outermost first.
    pub fn shape(&self) -> &[u64] {
        &self.shape
    }

    /// The number of elements.
    pub fn len(&self) -> usize {
        self.bytes.len() / self.dtype.bytes() as usize
    }

    /// Are there no elements?
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// The bytes of all elements.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The bytes of all elements, to be changed.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.bytes
    }

    /// The element at position `idx` in row-major order.
    ///
    /// # Panics
    /// If there are not that many elements, as a slice does.
    pub fn get(&self, idx: usize) -> Element {
        let size = self.dtype.bytes() as usize;
        element::decode(self.dtype, &self.bytes[idx * size..][..size])
    }

    /// Sets the element at position `idx`, rounded to the element type.
    ///
    /// # Panics
    /// If there are not that many elements, as a slice does.
    pub fn set(&mut self, idx: usize, value: Element) {
        let size = self.dtype.bytes() as usize;
        self.bytes[idx * size..][..size].copy_from_slice(&element::encode(self.dtype, value).to_le_bytes()[..size]);
    }

    /// All elements in row-major order.
    pub fn elements(&self) -> impl Iterator<Item = Element> + '_ {
        self.bytes.chunks_exact(self.dtype.bytes() as usize).map(|bytes| element::decode(self.dtype, bytes))
    }

    /// All elements as doubles, in row-major order.
    pub fn to_f64s(&self) -> Vec<f64> {
        self.elements().map(Element::to_f64).collect()
    }
}

/// The type as the language writes it: `f32[3, 4]`.
pub fn describe(dtype: DType, shape: &[u64]) -> String {
    if shape.is_empty() {
        return dtype.to_string();
    }
    let extents: Vec<String> = shape.iter().map(u64::to_string).collect();
    format!("{dtype}[{}]", extents.join(", "))
}

fn n_bytes(dtype: DType, shape: &[u64]) -> Result<usize, Diagnostic> {
    dtype.bytes_of(shape).and_then(|bytes| usize::try_from(bytes).ok()).ok_or_else(|| too_large(dtype, shape))
}

fn too_large(dtype: DType, shape: &[u64]) -> Diagnostic {
    let message = format!("`{}` does not fit this machine's memory", describe(dtype, shape));
    Diagnostic::error("array-too-large", Location::None, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_are_where_row_major_order_puts_them() {
        let mut array = Array::from_f64s(DType::BF16, &[2, 2], &[1.0, -2.0, 0.5, 3.0]).expect("small");
        array.set(2, Element::Int(7));
        assert_eq!(array.to_f64s(), [1.0, -2.0, 7.0, 3.0]);
        assert_eq!(array.bytes()[2..4], 0xc000u16.to_le_bytes());
        assert_eq!(Array::scalar(DType::I64, Element::Int(-5)).get(0), Element::Int(-5));
    }

    #[test]
    fn sizes_that_cannot_be_are_refused() {
        assert_eq!(Array::zeros(DType::F32, &[u64::MAX, 2]).expect_err("too large").code, "array-too-large");
        assert_eq!(Array::zeros(DType::F64, &[1 << 58]).expect_err("too large").code, "array-too-large");
        let wrong = Array::from_bytes(DType::F32, &[2, 3], vec![0; 23]).expect_err("a byte is missing");
        assert_eq!(wrong.message, "f32[2, 3] needs 24 bytes, and is given 23");
        assert!(Array::from_f64s(DType::F32, &[2], &[0.0]).is_err());
        assert_eq!(Array::zeros(DType::I8, &[0, 5]).expect("empty").len(), 0);
    }
}
