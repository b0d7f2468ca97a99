//! The kernel manifest: what an emitter says about the kernels of one host function, and all that a runtime needs
//! to launch them. It travels as JSON beside the CUDA or PTX text.
//!
//! A host function has parameters, temporaries that the host allocates in global memory for the time of a call, and
//! kernels that run one after the other. Each kernel names the parameters, temporaries, sizes and tensor maps that it
//! takes, in the order of its own parameter list.

use crate::maps::TensorMap;
use crate::sizes::{Follows, Formula, OpenSize, Slot};
use crate::target::Target;
use std::collections::BTreeSet;
use tc_support::{DType, Diagnostic, Diagnostics, Location};

/// The version of the JSON form that this crate writes where a kernel may be launched while the one before it runs; it
/// reads all.
pub const VERSION: u64 = 4;

/// The version that it writes where a kernel takes a tensor map, and none overlaps another.
pub const VERSION_WITHOUT_OVERLAPS: u64 = 3;

/// The version that it writes where a kernel is launched for some sizes only, and none takes a map.
pub const VERSION_WITHOUT_MAPS: u64 = 2;

/// The version that it writes where all kernels are always launched: what reads no newer one launches them right.
pub const VERSION_WITHOUT_CHOICES: u64 = 1;

/// What the kernels of one host function need to be launched.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct KernelManifest {
    /// The name of the host function.
    pub function: String,
    /// The name of the target that the kernels were made for.
    pub target: String,
    /// What the caller passes, in order.
    pub params: Vec<Param>,
    /// Buffers in global memory that live for one call.
    pub temporaries: Vec<Buffer>,
    /// How bulk copies of the kernels see buffers: made by the launcher, and passed by value.
    pub maps: Vec<TensorMap>,
    /// The kernels, in the order of their launches.
    pub kernels: Vec<Kernel>,
    /// The sizes that the program leaves open, with the values that all numbers here are for.
    pub sizes: Vec<OpenSize>,
    /// The numbers here that follow from sizes.
    pub formulas: Vec<Follows>,
    /// What holds of the sizes: each is not 0.
    pub facts: Vec<Formula>,
}

/// What a kernel does to a buffer.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Access {
    /// Reads it only.
    Read,
    /// Writes all of it before it reads any of it.
    Write,
    /// Reads what the caller put there, and writes.
    ReadWrite,
}

impl Access {
    /// All ways of access.
    pub const ALL: [Access; 3] = [Access::Read, Access::Write, Access::ReadWrite];

    /// The name in the JSON form.
    pub fn name(self) -> &'static str {
        match self {
            Access::Read => "read",
            Access::Write => "write",
            Access::ReadWrite => "read-write",
        }
    }

    /// Is what the caller put there of any meaning?
    pub fn reads(self) -> bool {
        self != Access::Write
    }

    /// May the contents change?
    pub fn writes(self) -> bool {
        self != Access::Read
    }
}

/// A dense buffer in global memory, row-major.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Buffer {
    /// Its name.
    pub name: String,
    /// The type of its elements.
    pub dtype: DType,
    /// Its extents, outermost first; none for a single element.
    pub shape: Vec<u64>,
    /// The bytes it occupies: those of its elements, or more for a padded temporary.
    pub bytes: u64,
    /// Its first byte lies at a multiple of this, which is a power of two.
    pub alignment: u64,
    /// What the kernels do to it.
    pub access: Access,
}

impl Buffer {
    /// A buffer without padding, aligned to 16 bytes as arguments are unless said otherwise.
    pub fn new(
        name: impl Into<String>,
        dtype: DType,
        shape: impl Into<Vec<u64>>,
        access: Access,
    ) -> Result<Buffer, Diagnostic> {
        let (name, shape) = (name.into(), shape.into());
        let bytes =
            dtype.bytes_of(&shape).ok_or_else(|| wrong(format!("the size of buffer `{name}` does not fit 63 bits")))?;
        Ok(Buffer { name, dtype, shape, bytes, alignment: 16, access })
    }
}

/// A single value passed to the kernels, such as a size.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Scalar {
    /// Its name.
    pub name: String,
    /// Its type.
    pub dtype: DType,
}

/// What the caller passes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Param {
    /// The address of a buffer.
    Buffer(Buffer),
    /// A value.
    Scalar(Scalar),
}

impl Param {
    /// Its name.
    pub fn name(&self) -> &str {
        match self {
            Param::Buffer(buffer) => &buffer.name,
            Param::Scalar(scalar) => &scalar.name,
        }
    }

    /// The type of its elements.
    pub fn dtype(&self) -> DType {
        match self {
            Param::Buffer(buffer) => buffer.dtype,
            Param::Scalar(scalar) => scalar.dtype,
        }
    }
}

/// One kernel and one launch of it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Kernel {
    /// The name of the `extern "C"` function.
    pub name: String,
    /// What it takes: names of parameters, temporaries, sizes and tensor maps, in its own order.
    pub args: Vec<String>,
    /// Blocks by x, y, z.
    pub grid: [u64; 3],
    /// Threads of a block by x, y, z.
    pub block: [u64; 3],
    /// Blocks of a cluster by x, y, z; all 1 where there is none.
    pub cluster: [u64; 3],
    /// It waits by itself for the kernels before it, so that it may be launched while they run (programmatic stream
    /// serialization). A runtime may launch it as any other.
    pub overlaps: bool,
    /// Bytes of `extern __shared__` memory of a block.
    pub dynamic_shared: u64,
    /// Bytes of shared memory that the kernel declares with a fixed size.
    pub static_shared: u64,
    /// It is launched for sizes for which this is not 0; without it, always. For others its grid is 0.
    pub when: Option<Formula>,
}

impl Kernel {
    /// Threads in a block, or `None` if they do not fit.
    pub fn threads(&self) -> Option<u64> {
        self.block.iter().try_fold(1u64, |product, &extent| product.checked_mul(extent))
    }

    /// Is there nothing to launch?
    pub fn is_empty(&self) -> bool {
        self.grid.contains(&0)
    }
}

impl KernelManifest {
    /// The temporary or the buffer among the parameters that has this name.
    pub fn buffer(&self, name: &str) -> Option<&Buffer> {
        self.params.iter().filter_map(as_buffer).chain(&self.temporaries).find(|buffer| buffer.name == name)
    }

    /// Checks what must hold on any target: names are distinct, kernels take what exists, sizes are possible.
    pub fn validate(&self) -> Result<(), Diagnostic> {
        let mut names = BTreeSet::new();
        for buffer in self.params.iter().filter_map(as_buffer).chain(&self.temporaries) {
            check_buffer(buffer)?;
        }
        for param in &self.params {
            if let Param::Buffer(buffer) = param
                && buffer.dtype.bytes_of(&buffer.shape) != Some(buffer.bytes)
            {
                return Err(wrong(format!("parameter `{}` must occupy just the bytes of its elements", buffer.name)));
            }
            add_name(&mut names, param.name())?;
        }
        for temporary in &self.temporaries {
            add_name(&mut names, &temporary.name)?;
        }
        for size in &self.sizes {
            if !matches!(size.dtype, DType::I32 | DType::I64) {
                return Err(wrong(format!("the size `{}` is no `i32` and no `i64`", size.name)));
            }
            if size.dtype == DType::I32 && size.high.is_none_or(|high| high > i32::MAX.into()) {
                return Err(wrong(format!("the size `{}` may not fit an `i32`", size.name)));
            }
            add_name(&mut names, &size.name)?;
        }
        for map in &self.maps {
            add_name(&mut names, &map.name)?;
        }
        for (idx, kernel) in self.kernels.iter().enumerate() {
            if kernel.name.is_empty() || !kernel.name.bytes().all(|byte| byte.is_ascii_graphic()) {
                return Err(wrong(format!("`{}` is no name of a kernel", kernel.name)));
            }
            if let Some(missing) = kernel.args.iter().find(|arg| !names.contains(arg.as_str())) {
                let wrong = wrong(format!("kernel `{}` takes `{missing}`, which does not exist", kernel.name));
                return Err(match tc_support::suggest::did_you_mean(missing, names.iter().copied()) {
                    Some(help) => wrong.help(help),
                    None => wrong,
                });
            }
            // A grid that follows from sizes may be empty for some: then there is nothing to launch.
            let is_open =
                |dim: usize| kernel.when.is_some() || self.formula(&Slot::Grid { kernel: idx, dim }).is_some();
            let mut grid = kernel.grid.into_iter().enumerate();
            let extents = [kernel.block, kernel.cluster];
            if extents.iter().flatten().any(|&extent| extent == 0)
                || grid.any(|(dim, extent)| extent == 0 && !is_open(dim))
            {
                return Err(wrong(format!("kernel `{}` has an extent of 0", kernel.name)));
            }
        }
        self.check_maps()
    }

    /// What `target` does not allow, kernel by kernel; no diagnostics if every launch is possible.
    pub fn check_limits(&self, target: &Target) -> Diagnostics {
        self.kernels.iter().flat_map(|kernel| check_kernel(kernel, target)).collect()
    }
}

/// A manifest that is wrong in itself.
pub(crate) fn wrong(message: impl Into<String>) -> Diagnostic {
    Diagnostic::error("bad-manifest", Location::None, message)
}

fn add_name<'a>(names: &mut BTreeSet<&'a str>, name: &'a str) -> Result<(), Diagnostic> {
    if name.is_empty() {
        return Err(wrong("a parameter or temporary has no name"));
    }
    if names.insert(name) { Ok(()) } else { Err(wrong(format!("two parameters or temporaries are named `{name}`"))) }
}

fn as_buffer(param: &Param) -> Option<&Buffer> {
    match param {
        Param::Buffer(buffer) => Some(buffer),
        Param::Scalar(_) => None,
    }
}

fn check_buffer(buffer: &Buffer) -> Result<(), Diagnostic> {
    let name = &buffer.name;
    let least = buffer.dtype.bytes_of(&buffer.shape);
    if least.is_none_or(|least| buffer.bytes < least) || i64::try_from(buffer.bytes).is_err() {
        return Err(wrong(format!("{} bytes are not enough for the elements of buffer `{name}`", buffer.bytes)));
    }
    if !buffer.alignment.is_power_of_two() {
        return Err(wrong(format!("the alignment of buffer `{name}` is {}, not a power of two", buffer.alignment)));
    }
    Ok(())
}

fn check_kernel(kernel: &Kernel, target: &Target) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    let mut over = |what: &str, have: u64, most: u64| {
        if have > most {
            let message = format!("kernel `{}` has {what} of {have}, and `{target}` allows {most}", kernel.name);
            found.push(Diagnostic::error("over-limit", Location::None, message));
        }
    };
    for (idx, axis) in ["x", "y", "z"].into_iter().enumerate() {
        over(&format!("a `blockIdx.{axis}` extent"), kernel.grid[idx], target.max_grid[idx]);
        over(&format!("a `threadIdx.{axis}` extent"), kernel.block[idx], target.max_block[idx]);
    }
    over("a number of threads per block", kernel.threads().unwrap_or(u64::MAX), target.max_threads_per_block);
    over("a number of bytes of static shared memory", kernel.static_shared, target.static_shared_per_block);
    let shared = kernel.static_shared.saturating_add(kernel.dynamic_shared);
    over("a number of bytes of shared memory", shared, target.max_shared_per_block);
    let cluster = kernel.cluster.iter().fold(1u64, |product, &extent| product.saturating_mul(extent));
    over("a number of blocks per cluster", cluster, target.max_cluster);
    for (idx, axis) in ["x", "y", "z"].into_iter().enumerate() {
        if kernel.cluster[idx] != 0 && !kernel.grid[idx].is_multiple_of(kernel.cluster[idx]) {
            let message = format!(
                "the grid of kernel `{}` has {} blocks along {axis}, which clusters of {} do not divide",
                kernel.name, kernel.grid[idx], kernel.cluster[idx]
            );
            found.push(Diagnostic::error("over-limit", Location::None, message));
        }
    }
    found
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Two kernels, a scalar, and a temporary between them.
    pub(crate) fn example() -> KernelManifest {
        let buffer = |name, shape: &[u64], access| Buffer::new(name, DType::F32, shape, access).expect("small");
        let kernel = |name: &str, args: &[&str]| Kernel {
            name: name.into(),
            args: args.iter().map(|&arg| arg.into()).collect(),
            grid: [513, 1, 1],
            block: [4, 8, 1],
            cluster: [1, 1, 1],
            overlaps: false,
            dynamic_shared: 0,
            static_shared: 32,
            when: None,
        };
        KernelManifest {
            function: "conv1d".into(),
            target: "sm_90a".into(),
            params: vec![
                Param::Buffer(buffer("A", &[16384], Access::Read)),
                Param::Scalar(Scalar { name: "n".into(), dtype: DType::I32 }),
                Param::Buffer(buffer("B", &[16415], Access::Write)),
            ],
            temporaries: vec![buffer("T", &[2, 16415], Access::ReadWrite)],
            maps: Vec::new(),
            kernels: vec![kernel("conv1d_0", &["A", "n", "T"]), kernel("conv1d_1", &["T", "B"])],
            sizes: Vec::new(),
            formulas: Vec::new(),
            facts: Vec::new(),
        }
    }

    #[test]
    fn what_cannot_be_launched_is_named() {
        let message = |change: fn(&mut KernelManifest)| {
            let mut manifest = example();
            change(&mut manifest);
            manifest.validate().expect_err("changed for the worse").message
        };
        assert_eq!(example().validate(), Ok(()));
        assert_eq!(
            message(|manifest| manifest.temporaries[0].name = "A".into()),
            "two parameters or temporaries are named `A`"
        );
        assert_eq!(
            message(|manifest| manifest.kernels[1].args[0] = "U".into()),
            "kernel `conv1d_1` takes `U`, which does not exist"
        );
        assert_eq!(message(|manifest| manifest.kernels[0].grid[2] = 0), "kernel `conv1d_0` has an extent of 0");
        assert_eq!(
            message(|manifest| manifest.temporaries[0].bytes = 7),
            "7 bytes are not enough for the elements of buffer `T`"
        );
        assert_eq!(
            message(|manifest| manifest.temporaries[0].shape = vec![1 << 40, 1 << 40]),
            "131320 bytes are not enough for the elements of buffer `T`"
        );
        assert_eq!(
            message(|manifest| manifest.temporaries[0].alignment = 24),
            "the alignment of buffer `T` is 24, not a power of two"
        );
        assert!(Buffer::new("X", DType::F32, [u64::MAX, 2], Access::Read).is_err());
    }

    #[test]
    fn limits_of_the_target_hold_for_every_kernel() {
        let target = Target::parse("sm_75").expect("known");
        assert!(example().check_limits(&target).is_empty());
        let mut manifest = example();
        manifest.kernels[0].block = [1024, 2, 1];
        manifest.kernels[0].dynamic_shared = 65536;
        manifest.kernels[1].cluster = [2, 1, 1];
        let found: Vec<String> =
            manifest.check_limits(&target).into_iter().map(|diagnostic| diagnostic.message).collect();
        assert_eq!(
            found,
            [
                "kernel `conv1d_0` has a number of threads per block of 2048, and `sm_75` allows 1024",
                "kernel `conv1d_0` has a number of bytes of shared memory of 65568, and `sm_75` allows 65536",
                "kernel `conv1d_1` has a number of blocks per cluster of 2, and `sm_75` allows 1",
                "the grid of kernel `conv1d_1` has 513 blocks along x, which clusters of 2 do not divide",
            ]
        );
        manifest.kernels[0].block = [u64::MAX, u64::MAX, u64::MAX];
        assert!(manifest.check_limits(&target).has_errors());
    }
}
