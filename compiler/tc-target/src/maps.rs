//! Tensor maps: how the engine of bulk copies sees a buffer. The launcher makes them and hands them to kernels.
//!
//! Limits are from the CUDA driver API 13.0, `cuTensorMapEncodeTiled`. Extents, boxes and strides are in the order of the
//! buffer, outermost first; the driver takes them innermost first.

use crate::manifest::{KernelManifest, wrong};
use tc_support::{DType, Diagnostic, counted};

/// The most dimensions of a map.
pub const MAX_RANK: usize = 5;

/// The most elements of a side of a box, those that steps leave out counted.
pub const MAX_BOX: u64 = 256;

/// The most that the elements of a box lie apart.
pub const MAX_STEP: u64 = 8;

/// Addresses, rows of a box and strides of a tensor are multiples of so many bytes.
pub const GRAIN: u64 = 16;

/// The greatest extent of a tensor. The driver takes 2^32, of which the coordinates of a copy, with a sign in 32 bits (PTX ISA
/// 8.8, `cp.async.bulk.tensor`), reach half. This one is the greatest of them that is at a multiple of [`GRAIN`] bytes for
/// every type: a copy from elsewhere along a row is an illegal instruction, even outside of the tensor.
pub const MAX_EXTENT: u64 = i32::MAX as u64 / GRAIN * GRAIN;

/// What the strides of a tensor stay below.
const STRIDES_BELOW: u64 = 1 << 40;

/// The bytes that the second-level cache fetches at a time where nothing else is said.
pub const DEFAULT_PROMOTION: u64 = 128;

/// A dense, row-major tensor in global memory, and the box of it that one copy brings.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TensorMap {
    /// Its name.
    pub name: String,
    /// The buffer that it is of, from its first byte on: a parameter or a temporary.
    pub buffer: String,
    /// The type of its elements.
    pub dtype: DType,
    /// The extents of the tensor, outermost first.
    pub extents: Vec<u64>,
    /// The extents of a box.
    pub sides: Vec<u64>,
    /// How far an element of the box is from the next, in each dimension.
    pub steps: Vec<u64>,
    /// The bytes of a row of the box whose pieces are mixed in shared memory: 32, 64 or 128, or 0 where none are.
    pub swizzle: u64,
    /// The bytes that the second-level cache fetches at a time: 0, 64, 128 or 256.
    pub promotion: u64,
}

impl TensorMap {
    /// The bytes from an element to the next along each dimension but the innermost one, outermost first; `None` where
    /// they do not fit.
    pub fn strides(&self) -> Option<Vec<u64>> {
        let mut stride = self.dtype.bytes();
        let mut strides = Vec::with_capacity(self.extents.len());
        for &extent in self.extents.iter().skip(1).rev() {
            stride = stride.checked_mul(extent)?;
            strides.push(stride);
        }
        strides.reverse();
        Some(strides)
    }

    /// The elements of the tensor that each side of a box spans, those that steps leave out counted.
    pub fn spans(&self) -> Vec<u64> {
        let span = |(&side, &step): (&u64, &u64)| side.saturating_sub(1).saturating_mul(step).saturating_add(1);
        self.sides.iter().zip(&self.steps).map(span).collect()
    }

    /// What is wrong with it, whatever the sizes: ranks, the box, the numbers of bytes.
    fn check(&self) -> Result<(), Diagnostic> {
        let name = &self.name;
        let rank = self.extents.len();
        if !(1..=MAX_RANK).contains(&rank) || self.sides.len() != rank || self.steps.len() != rank {
            let message = format!(
                "the map `{name}` has {}, {} of a box and {}, and needs 1 to {MAX_RANK} of each",
                counted(rank, "extent"),
                self.sides.len(),
                counted(self.steps.len(), "step")
            );
            return Err(wrong(message));
        }
        if let Some(step) = self.steps.iter().find(|&&step| !(1..=MAX_STEP).contains(&step)) {
            return Err(wrong(format!("a step of the box of map `{name}` is {step}, and must be 1 to {MAX_STEP}")));
        }
        if self.steps[rank - 1] != 1 {
            let step = self.steps[rank - 1];
            return Err(wrong(format!("the step of map `{name}` along rows is {step}, and must be 1")));
        }
        if let Some(side) = self.sides.iter().find(|&&side| !(1..=MAX_BOX).contains(&side)) {
            return Err(wrong(format!("a side of the box of map `{name}` is {side}, and must be 1 to {MAX_BOX}")));
        }
        if let Some(span) = self.spans().into_iter().find(|&span| span > MAX_BOX) {
            return Err(wrong(format!("a side of the box of map `{name}` spans {span}, and must span 1 to {MAX_BOX}")));
        }
        let row = self.sides[rank - 1] * self.dtype.bytes();
        if !row.is_multiple_of(GRAIN) {
            return Err(wrong(format!("a row of the box of map `{name}` takes {row} bytes, no multiple of {GRAIN}")));
        }
        if !matches!(self.swizzle, 0 | 32 | 64 | 128) {
            let message = format!("the swizzle of map `{name}` is {}, and must be 0, 32, 64 or 128", self.swizzle);
            return Err(wrong(message));
        }
        if self.swizzle > 0 && row > self.swizzle {
            let message = format!(
                "a row of the box of map `{name}` takes {row} bytes, more than its swizzle of {}",
                self.swizzle
            );
            return Err(wrong(message));
        }
        if !matches!(self.promotion, 0 | 64 | 128 | 256) {
            let message = format!("the promotion of map `{name}` is {}, and must be 0, 64, 128 or 256", self.promotion);
            return Err(wrong(message));
        }
        Ok(())
    }

    /// Is there nothing in the tensor? Then no map can be made, and none is needed.
    pub fn is_empty(&self) -> bool {
        self.extents.contains(&0)
    }

    /// What is wrong with the tensor, whose extents may follow from sizes.
    fn check_tensor(&self, buffer_bytes: u64) -> Result<(), Diagnostic> {
        let name = &self.name;
        if let Some(extent) = self.extents.iter().find(|&&extent| extent > MAX_EXTENT) {
            return Err(wrong(format!("an extent of map `{name}` is {extent}, and the most is {MAX_EXTENT}")));
        }
        let bytes = self.dtype.bytes_of(&self.extents);
        if bytes.is_none_or(|bytes| bytes > buffer_bytes) {
            let message = format!("the map `{name}` is of more than the {buffer_bytes} bytes of `{}`", self.buffer);
            return Err(wrong(message));
        }
        let strides = self.strides().unwrap_or_default();
        match strides.iter().find(|&&stride| !stride.is_multiple_of(GRAIN) || stride >= STRIDES_BELOW) {
            None => Ok(()),
            Some(stride) => {
                let message = format!(
                    "a stride of map `{name}` is {}, and must be a multiple of {GRAIN} below 2^40",
                    counted(*stride, "byte")
                );
                let help =
                    "pad the rows of the buffer; a program says which sizes it takes by a fact: `where n % 8 == 0`";
                Err(wrong(message).help(help))
            }
        }
    }
}

impl KernelManifest {
    /// The tensor map called `name`.
    pub fn map(&self, name: &str) -> Option<&TensorMap> {
        self.maps.iter().find(|map| map.name == name)
    }

    /// Checks that maps are of buffers, and that the engine of copies takes them.
    pub(crate) fn check_maps(&self) -> Result<(), Diagnostic> {
        for map in &self.maps {
            map.check()?;
            let Some(buffer) = self.buffer(&map.buffer) else {
                return Err(wrong(format!("the map `{}` is of `{}`, which is no buffer", map.name, map.buffer)));
            };
            if buffer.dtype.bytes() != map.dtype.bytes() {
                let message =
                    format!("the map `{}` is of `{}`, and its buffer of `{}`", map.name, map.dtype, buffer.dtype);
                return Err(wrong(message));
            }
            if !buffer.alignment.is_multiple_of(GRAIN) {
                let message =
                    format!("the buffer of map `{}` is aligned to {}, not {GRAIN}", map.name, buffer.alignment);
                return Err(wrong(message));
            }
        }
        self.check_tensors()
    }

    /// Checks the tensors of the maps that these sizes need.
    pub(crate) fn check_tensors(&self) -> Result<(), Diagnostic> {
        for map in self.maps.iter().filter(|map| !map.is_empty() && self.is_needed(&map.name)) {
            // What it is of is checked with the rest.
            let Some(buffer) = self.buffer(&map.buffer) else { continue };
            map.check_tensor(buffer.bytes)?;
        }
        Ok(())
    }

    /// Does a kernel that is launched take `name`?
    pub fn is_needed(&self, name: &str) -> bool {
        self.kernels.iter().any(|kernel| !kernel.is_empty() && kernel.args.iter().any(|arg| arg == name))
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::manifest::tests::example;

    /// The kernels of the example, the first of which takes a map of the temporary.
    pub(crate) fn mapped() -> KernelManifest {
        let mut manifest = example();
        manifest.temporaries[0].shape = vec![2, 16416];
        manifest.temporaries[0].bytes = 2 * 16416 * 4;
        manifest.maps.push(TensorMap {
            name: "MT".into(),
            buffer: "T".into(),
            dtype: DType::F32,
            extents: vec![2, 16416],
            sides: vec![2, 32],
            steps: vec![1, 1],
            swizzle: 128,
            promotion: DEFAULT_PROMOTION,
        });
        manifest.kernels[1].args.push("MT".into());
        manifest
    }

    #[test]
    fn strides_are_of_all_but_the_innermost_dimension() {
        let mut map = mapped().maps.remove(0);
        assert_eq!(map.strides(), Some(vec![65664]));
        map.extents = vec![3, 5, 8];
        assert_eq!(map.strides(), Some(vec![160, 32]));
        map.extents = vec![3, 1 << 40, 1 << 40];
        assert_eq!(map.strides(), None);
    }

    #[test]
    fn what_the_engine_does_not_take_is_named() {
        assert_eq!(mapped().validate(), Ok(()));
        let message = |change: fn(&mut TensorMap)| {
            let mut manifest = mapped();
            change(&mut manifest.maps[0]);
            manifest.validate().expect_err("changed for the worse").message
        };
        assert_eq!(
            message(|map| map.extents = vec![1; 6]),
            "the map `MT` has 6 extents, 2 of a box and 2 steps, and needs 1 to 5 of each"
        );
        assert_eq!(message(|map| map.steps[0] = 9), "a step of the box of map `MT` is 9, and must be 1 to 8");
        assert_eq!(message(|map| map.steps[1] = 2), "the step of map `MT` along rows is 2, and must be 1");
        assert_eq!(
            message(|map| (map.steps[0], map.sides[0]) = (2, 129)),
            "a side of the box of map `MT` spans 257, and must span 1 to 256"
        );
        assert_eq!(message(|map| map.sides[0] = 257), "a side of the box of map `MT` is 257, and must be 1 to 256");
        assert_eq!(message(|map| map.sides[0] = 0), "a side of the box of map `MT` is 0, and must be 1 to 256");
        assert_eq!(message(|map| map.sides[1] = 33), "a row of the box of map `MT` takes 132 bytes, no multiple of 16");
        assert_eq!(
            message(|map| map.sides[1] = 64),
            "a row of the box of map `MT` takes 256 bytes, more than its swizzle of 128"
        );
        assert_eq!(message(|map| map.swizzle = 48), "the swizzle of map `MT` is 48, and must be 0, 32, 64 or 128");
        assert_eq!(
            message(|map| map.promotion = 512),
            "the promotion of map `MT` is 512, and must be 0, 64, 128 or 256"
        );
        assert_eq!(
            message(|map| map.extents[1] = 16415),
            "a stride of map `MT` is 65660 bytes, and must be a multiple of 16 below 2^40"
        );
        assert_eq!(message(|map| map.extents[0] = 3), "the map `MT` is of more than the 131328 bytes of `T`");
        assert_eq!(message(|map| map.buffer = "n".into()), "the map `MT` is of `n`, which is no buffer");
        assert_eq!(
            message(|map| (map.dtype, map.sides[1]) = (DType::F64, 16)),
            "the map `MT` is of `f64`, and its buffer of `f32`"
        );
        assert_eq!(message(|map| map.name = "T".into()), "two parameters or temporaries are named `T`");
    }
}
