//! Arrays of the runtime as tensors of the simulator, and back: the bytes are the same.

use tc_ir::Elem;
use tc_runtime::{Array, DType};
use tc_sim::{Signature, Tensor};
use tc_support::{Diagnostic, Location};

/// The type that memory holds where the language says `elem`: an `index` is stored as an `i64`.
pub fn dtype_of(elem: Elem) -> DType {
    match elem {
        Elem::Bool => DType::Bool,
        Elem::Index | Elem::I64 => DType::I64,
        Elem::I8 => DType::I8,
        Elem::I16 => DType::I16,
        Elem::I32 => DType::I32,
        Elem::U8 => DType::U8,
        Elem::U16 => DType::U16,
        Elem::U32 => DType::U32,
        Elem::U64 => DType::U64,
        Elem::F16 => DType::F16,
        Elem::BF16 => DType::BF16,
        Elem::F32 => DType::F32,
        Elem::F64 => DType::F64,
        Elem::F8E4M3 => DType::F8E4M3,
        Elem::F8E5M2 => DType::F8E5M2,
        Elem::TF32 => DType::TF32,
    }
}

/// The element type of an array of `dtype`.
pub fn elem_of(dtype: DType) -> Elem {
    let of = |elem: &&Elem| **elem != Elem::Index && dtype_of(**elem) == dtype;
    *Elem::ALL.iter().find(of).expect("every type of the runtime is one of the language")
}

/// `array` as an argument of the type that `signature` says; refused where it has another.
pub fn to_tensor(array: &Array, signature: &Signature) -> Result<Tensor, Box<Diagnostic>> {
    if array.dtype() != dtype_of(signature.elem) || array.shape() != signature.shape {
        let have = tc_runtime::array::describe(array.dtype(), array.shape());
        let text = format!("`{}` must be `{}`, not `{have}`", signature.name, describe(signature));
        return Err(Box::new(Diagnostic::error("bad-argument", Location::None, text)));
    }
    Tensor::new(signature.elem, signature.shape.clone(), array.bytes().to_vec()).map_err(Box::new)
}

/// `tensor` as an array.
pub fn to_array(tensor: &Tensor) -> Result<Array, Box<Diagnostic>> {
    reshaped(tensor, dtype_of(tensor.elem), &tensor.shape)
}

/// The elements of `tensor` as an array of another shape: buffers of kernels have one dimension.
pub fn reshaped(tensor: &Tensor, dtype: DType, shape: &[u64]) -> Result<Array, Box<Diagnostic>> {
    Array::from_bytes(dtype, shape, tensor.data.clone()).map_err(Box::new)
}

/// `f32[16, 4]`
pub fn describe(signature: &Signature) -> String {
    tc_runtime::array::describe(dtype_of(signature.elem), &signature.shape)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_element_type_goes_over_and_comes_back() {
        for &elem in Elem::ALL {
            let dtype = dtype_of(elem);
            assert_eq!(dtype.bytes(), u64::from(elem.bytes()), "{dtype}");
            assert_eq!(elem_of(dtype), if elem == Elem::Index { Elem::I64 } else { elem });
            let tensor = Tensor::from_f64s(elem, &[3], &[0.0, 1.0, 1.0]).expect("small");
            let array = to_array(&tensor).expect("the same bytes");
            assert_eq!(array.to_f64s(), [0.0, 1.0, 1.0]);
            let signature = Signature { name: "A".into(), elem, shape: vec![3] };
            assert_eq!(to_tensor(&array, &signature), Ok(tensor));
        }
    }

    #[test]
    fn another_shape_or_type_is_refused() {
        let array = Array::zeros(DType::F32, &[2, 3]).expect("small");
        let refused = |elem, shape: &[u64]| {
            let signature = Signature { name: "A".into(), elem, shape: shape.to_vec() };
            to_tensor(&array, &signature).expect_err("another type").message
        };
        assert_eq!(refused(Elem::F32, &[3, 2]), "`A` must be `f32[3, 2]`, not `f32[2, 3]`");
        assert_eq!(refused(Elem::F16, &[2, 3]), "`A` must be `f16[2, 3]`, not `f32[2, 3]`");
    }
}
