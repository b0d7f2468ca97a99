//! Tensor maps: what the driver makes of what a manifest says.

use super::error::driver_error;
use cudarc::driver::sys;
use std::ffi::c_void;
use sys::CUtensorMapDataType as DataType;
use sys::CUtensorMapL2promotion as Promotion;
use sys::CUtensorMapSwizzle as Swizzle;
use tc_support::{Diagnostic, Location, counted};
use tc_target::maps::{GRAIN, MAX_RANK};
use tc_target::{DType, TensorMap};

/// What the driver is told, innermost dimension first.
#[derive(Debug)]
struct Encoding {
    data: DataType,
    rank: u32,
    dims: [u64; MAX_RANK],
    /// Bytes, of all dimensions but the innermost one.
    strides: [u64; MAX_RANK],
    sides: [u32; MAX_RANK],
    steps: [u32; MAX_RANK],
    swizzle: Swizzle,
    promotion: Promotion,
}

/// A map without a tensor, for a kernel that copies nothing by it.
pub(super) const NO_MAP: sys::CUtensorMap = sys::CUtensorMap { opaque: [0; 16] };

/// The map `map` of a buffer at `address`.
pub(super) fn make(map: &TensorMap, address: u64) -> Result<sys::CUtensorMap, Diagnostic> {
    // The driver makes no map of an empty tensor, and no box of it is copied.
    if map.is_empty() {
        return Ok(NO_MAP);
    }
    let encoding = Encoding::new(map, address)?;
    let mut made = NO_MAP;
    // SAFETY: the map is aligned as its type says and valid for a write, and each list has as many numbers as the greatest
    // rank. The driver reads no memory at the address, which it only writes down.
    let result = unsafe {
        sys::cuTensorMapEncodeTiled(
            &mut made,
            encoding.data,
            encoding.rank,
            address as *mut c_void,
            encoding.dims.as_ptr(),
            encoding.strides.as_ptr(),
            encoding.sides.as_ptr(),
            encoding.steps.as_ptr(),
            sys::CUtensorMapInterleave::CU_TENSOR_MAP_INTERLEAVE_NONE,
            encoding.swizzle,
            encoding.promotion,
            // What of a box lies outside of the tensor is zero.
            sys::CUtensorMapFloatOOBfill::CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE,
        )
        .result()
    };
    let failed = |error| driver_error(&format!("the tensor map `{}` cannot be made", map.name), error);
    result.map_err(failed)?;
    Ok(made)
}

impl Encoding {
    /// What the driver is told of `map`; a tensor that lies where the engine of copies cannot read it is refused.
    fn new(map: &TensorMap, address: u64) -> Result<Encoding, Diagnostic> {
        let refuse = |text: String| Diagnostic::error("tensor-map", Location::None, text);
        if !address.is_multiple_of(GRAIN) {
            let text = format!(
                "the buffer `{}` lies at {address:#x}, and bulk copies want a multiple of {GRAIN} bytes",
                map.buffer
            );
            return Err(refuse(text).help("align the buffer: bulk copies read whole pieces of that size"));
        }
        let no_fit = || refuse(format!("the tensor map `{}` does not fit the driver's numbers", map.name));
        let strides = map.strides().ok_or_else(no_fit)?;
        if let Some(&stride) = strides.iter().find(|stride| !stride.is_multiple_of(GRAIN)) {
            let text = format!(
                "rows of `{}` are {} apart, and bulk copies want a multiple of {GRAIN}",
                map.buffer,
                counted(stride, "byte")
            );
            return Err(refuse(text).help("pad the rows of the buffer, or choose other sizes"));
        }
        let rank = map.extents.len();
        if !(1..=MAX_RANK).contains(&rank) || map.sides.len() != rank || map.steps.len() != rank {
            return Err(no_fit());
        }
        let mut encoding = Encoding {
            data: data_type(map.dtype),
            rank: rank as u32,
            dims: [1; MAX_RANK],
            strides: [GRAIN; MAX_RANK],
            sides: [1; MAX_RANK],
            steps: [1; MAX_RANK],
            swizzle: match map.swizzle {
                32 => Swizzle::CU_TENSOR_MAP_SWIZZLE_32B,
                64 => Swizzle::CU_TENSOR_MAP_SWIZZLE_64B,
                128 => Swizzle::CU_TENSOR_MAP_SWIZZLE_128B,
                _ => Swizzle::CU_TENSOR_MAP_SWIZZLE_NONE,
            },
            promotion: match map.promotion {
                64 => Promotion::CU_TENSOR_MAP_L2_PROMOTION_L2_64B,
                128 => Promotion::CU_TENSOR_MAP_L2_PROMOTION_L2_128B,
                256 => Promotion::CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
                _ => Promotion::CU_TENSOR_MAP_L2_PROMOTION_NONE,
            },
        };
        let dims = map.extents.iter().zip(map.spans()).zip(&map.steps);
        for (nth, ((&extent, span), &step)) in dims.rev().enumerate() {
            encoding.dims[nth] = extent;
            encoding.sides[nth] = u32::try_from(span).map_err(|_| no_fit())?;
            encoding.steps[nth] = u32::try_from(step).map_err(|_| no_fit())?;
        }
        for (nth, &stride) in strides.iter().rev().enumerate() {
            encoding.strides[nth] = stride;
        }
        Ok(encoding)
    }
}

/// What the driver is told of numbers of type `dtype`. Copies move them as they are, and zero is 0 in every type; updates
/// compute with them.
fn data_type(dtype: DType) -> DataType {
    let exponent = dtype.elem().format().map(|format| format.exponent_bits);
    match (dtype.bytes(), exponent, dtype.is_signed()) {
        (8, None, true) => DataType::CU_TENSOR_MAP_DATA_TYPE_INT64,
        (8, ..) => DataType::CU_TENSOR_MAP_DATA_TYPE_UINT64,
        (4, Some(_), _) => DataType::CU_TENSOR_MAP_DATA_TYPE_FLOAT32,
        (4, None, true) => DataType::CU_TENSOR_MAP_DATA_TYPE_INT32,
        (4, ..) => DataType::CU_TENSOR_MAP_DATA_TYPE_UINT32,
        (2, Some(5), _) => DataType::CU_TENSOR_MAP_DATA_TYPE_FLOAT16,
        (2, Some(_), _) => DataType::CU_TENSOR_MAP_DATA_TYPE_BFLOAT16,
        (2, ..) => DataType::CU_TENSOR_MAP_DATA_TYPE_UINT16,
        _ => DataType::CU_TENSOR_MAP_DATA_TYPE_UINT8,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map() -> TensorMap {
        TensorMap {
            name: "MA".into(),
            buffer: "A".into(),
            dtype: DType::I16,
            extents: vec![3, 256, 512],
            sides: vec![1, 64, 64],
            steps: vec![1, 2, 1],
            swizzle: 128,
            promotion: 128,
        }
    }

    #[test]
    fn the_driver_is_told_innermost_first() {
        let encoding = Encoding::new(&map(), 0x1000).expect("it can be made");
        assert_eq!(encoding.rank, 3);
        assert_eq!(encoding.dims[..3], [512, 256, 3]);
        assert_eq!(encoding.strides[..2], [1024, 512 * 512]);
        assert_eq!(encoding.sides[..3], [64, 127, 1]);
        assert_eq!(encoding.steps[..3], [1, 2, 1]);
        assert_eq!(encoding.data, DataType::CU_TENSOR_MAP_DATA_TYPE_UINT16);
        assert_eq!(encoding.swizzle, Swizzle::CU_TENSOR_MAP_SWIZZLE_128B);
        let of = |dtype| data_type(dtype) as u32;
        assert_eq!([DType::F32, DType::BF16, DType::U32, DType::I8, DType::F64].map(of), [7, 9, 2, 0, 4]);
    }

    #[test]
    fn what_the_engine_cannot_read_is_refused() {
        let refused = |map: &TensorMap, address| Encoding::new(map, address).expect_err("refused").message;
        assert_eq!(
            refused(&map(), 0x1008),
            "the buffer `A` lies at 0x1008, and bulk copies want a multiple of 16 bytes"
        );
        let narrow = TensorMap { extents: vec![3, 256, 12], ..map() };
        assert_eq!(refused(&narrow, 0x1000), "rows of `A` are 24 bytes apart, and bulk copies want a multiple of 16");
        let flat = TensorMap { sides: vec![64], ..map() };
        assert_eq!(refused(&flat, 0x1000), "the tensor map `MA` does not fit the driver's numbers");
    }
}
