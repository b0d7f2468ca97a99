//! Arrays of the runtime as tensors of the simulator, and back: the bytes are the same.

use tc_runtime::{Array, DType};
use tc_sim::{Signature, Tensor};
use tc_support::{Diagnostic, Location};

/// `array` as an argument of the type that `signature` says; refused where it has another.
pub fn to_tensor(array: &Array, signature: &Signature) -> Result<Tensor, Box<Diagnostic>> {
    if array.dtype() != signature.elem.dtype() || array.shape() != signature.shape {
        let have = tc_runtime::array::describe(array.dtype(), array.shape());
        let text = format!("`{}` must be `{}`, not `{have}`", signature.name, describe(signature));
        return Err(Box::new(Diagnostic::error("bad-argument", Location::None, text)));
    }
    Tensor::new(signature.elem, signature.shape.clone(), array.bytes().to_vec()).map_err(Box::new)
}

/// `tensor` as an array.
pub fn to_array(tensor: &Tensor) -> Result<Array, Box<Diagnostic>> {
    reshaped(tensor, tensor.elem.dtype(), &tensor.shape)
}

/// The elements of `tensor` as an array of another shape: buffers of kernels have one dimension.
pub fn reshaped(tensor: &Tensor, dtype: DType, shape: &[u64]) -> Result<Array, Box<Diagnostic>> {
    Array::from_bytes(dtype, shape, tensor.data.clone()).map_err(Box::new)
}

/// `f32[16, 4]`
pub fn describe(signature: &Signature) -> String {
    tc_runtime::array::describe(signature.elem.dtype(), &signature.shape)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tc_ir::Elem;

    #[test]
    fn every_element_type_goes_over_and_comes_back() {
        for &elem in Elem::ALL {
            let dtype = elem.dtype();
            assert_eq!(dtype.bytes(), u64::from(elem.bytes()), "{dtype}");
            assert_eq!(dtype.elem(), if elem == Elem::Index { Elem::I64 } else { elem });
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
