//! The targets: what each generation of GPU has and allows.
//!
//! Limits are from the CUDA C++ Programming Guide 12.9, section 17.2 "Features and Technical Specifications" (tables
//! "Feature Support per Compute Capability" and "Technical Specifications per Compute Capability"). Instructions are
//! from the "Target ISA Notes" of the PTX ISA 8.8, sections 9.7.9 (data movement and conversion), 9.7.13 (parallel
//! synchronization), 9.7.14 (`wmma`, `mma`, `ldmatrix`) and 9.7.15 (`wgmma`).

use std::fmt;
use tc_support::{Diagnostic, Location};

/// Something that a target may have.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Feature {
    /// Matrix products of f16 fragments by a whole warp (`wmma`).
    Wmma,
    /// Matrix products of 8-bit integer fragments by a whole warp.
    WmmaInt8,
    /// `mma.m16n8k8` on f16.
    MmaM16N8K8,
    /// `mma.m16n8k16` on f16.
    MmaM16N8K16,
    /// `mma.m16n8k32` on 8-bit integers.
    MmaM16N8K32,
    /// Loads of 8x8 tiles from shared memory into fragments (`ldmatrix`).
    Ldmatrix,
    /// Stores of 8x8 tiles from fragments into shared memory (`stmatrix`).
    Stmatrix,
    /// Arithmetic and matrix products on bf16.
    Bf16,
    /// Matrix products on tf32.
    Tf32,
    /// Matrix products on f64.
    MmaF64,
    /// Copies from global to shared memory that run on their own (`cp.async`).
    CpAsync,
    /// Barriers in shared memory (`mbarrier`).
    Mbarrier,
    /// Reductions of integers over a warp in one instruction (`redux.sync`).
    Redux,
    /// Conversions to and matrix products on 8-bit floats.
    Fp8,
    /// Blocks that launch together and read one another's shared memory.
    Cluster,
    /// Bulk copies of tensor tiles by tensor map (`cp.async.bulk.tensor`).
    Tma,
    /// Asynchronous matrix products by four warps (`wgmma`).
    Wgmma,
    /// An instruction for the hyperbolic tangent (`tanh.approx`).
    TanhApprox,
    /// Kernels that are launched while another still runs (`griddepcontrol`).
    GridDepControl,
    /// Registers that move between warps at run time (`setmaxnreg`).
    SetMaxNReg,
}

impl Feature {
    /// All features, in the order in which targets got them.
    pub const ALL: [Feature; 20] = [
        Feature::Wmma,
        Feature::WmmaInt8,
        Feature::MmaM16N8K8,
        Feature::Ldmatrix,
        Feature::TanhApprox,
        Feature::MmaM16N8K16,
        Feature::MmaM16N8K32,
        Feature::Bf16,
        Feature::Tf32,
        Feature::MmaF64,
        Feature::CpAsync,
        Feature::Mbarrier,
        Feature::Redux,
        Feature::Fp8,
        Feature::Stmatrix,
        Feature::Cluster,
        Feature::Tma,
        Feature::Wgmma,
        Feature::GridDepControl,
        Feature::SetMaxNReg,
    ];

    /// The name, in the spelling of the instruction where there is one.
    pub fn name(self) -> &'static str {
        match self {
            Feature::Wmma => "wmma",
            Feature::WmmaInt8 => "wmma.int8",
            Feature::MmaM16N8K8 => "mma.m16n8k8",
            Feature::MmaM16N8K16 => "mma.m16n8k16",
            Feature::MmaM16N8K32 => "mma.m16n8k32",
            Feature::Ldmatrix => "ldmatrix",
            Feature::Stmatrix => "stmatrix",
            Feature::Bf16 => "bf16",
            Feature::Tf32 => "tf32",
            Feature::MmaF64 => "mma.f64",
            Feature::CpAsync => "cp.async",
            Feature::Mbarrier => "mbarrier",
            Feature::Redux => "redux",
            Feature::Fp8 => "fp8",
            Feature::Cluster => "cluster",
            Feature::Tma => "tma",
            Feature::Wgmma => "wgmma",
            Feature::TanhApprox => "tanh.approx",
            Feature::GridDepControl => "griddepcontrol",
            Feature::SetMaxNReg => "setmaxnreg",
        }
    }

    /// The first compute capability, as major * 10 + minor, that has it, and whether only the
    /// architecture-specific target (`sm_90a`) may use it.
    fn since(self) -> (u32, bool) {
        match self {
            Feature::Wmma => (70, false),
            Feature::WmmaInt8 => (72, false),
            Feature::MmaM16N8K8 | Feature::Ldmatrix | Feature::TanhApprox => (75, false),
            Feature::MmaM16N8K16
            | Feature::MmaM16N8K32
            | Feature::Bf16
            | Feature::Tf32
            | Feature::MmaF64
            | Feature::CpAsync
            | Feature::Mbarrier
            | Feature::Redux => (80, false),
            Feature::Fp8 => (89, false),
            Feature::Stmatrix | Feature::Cluster | Feature::Tma | Feature::GridDepControl => (90, false),
            Feature::Wgmma | Feature::SetMaxNReg => (90, true),
        }
    }
}

impl fmt::Display for Feature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// One kind of GPU: its limits and what it has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Target {
    /// The name of its machine code, `sm_90a`.
    pub name: &'static str,
    /// The name of its virtual architecture, `compute_90a`, for which PTX is made.
    pub compute: &'static str,
    /// Compute capability, major and minor.
    pub capability: (u32, u32),
    /// May use what only this architecture has; such code runs on no other, newer ones included.
    pub arch_specific: bool,
    /// Greatest extents of a grid in blocks, by x, y, z.
    pub max_grid: [u64; 3],
    /// Greatest extents of a block in threads, by x, y, z.
    pub max_block: [u64; 3],
    /// Most threads in a block.
    pub max_threads_per_block: u64,
    /// Most blocks in a cluster that every GPU of the kind can launch; 1 where there are no clusters.
    pub max_cluster: u64,
    /// Threads in a warp.
    pub warp_size: u64,
    /// Bytes of shared memory that a block may declare statically, or use without asking.
    pub static_shared_per_block: u64,
    /// Bytes of shared memory that a block may use when the kernel opts in.
    pub max_shared_per_block: u64,
    /// Bytes of shared memory of a multiprocessor.
    pub shared_per_sm: u64,
    /// Bytes of shared memory that the system takes for itself in each block.
    pub reserved_shared_per_block: u64,
    /// Most registers of 32 bits in a block, which is also what a multiprocessor has.
    pub registers_per_block: u64,
    /// Most registers of 32 bits of a thread.
    pub registers_per_thread: u64,
    /// Bytes of local memory that a thread may have: what its registers do not hold, or cannot.
    pub local_per_thread: u64,
    /// Most threads at once on a multiprocessor.
    pub threads_per_sm: u64,
    /// Most blocks at once on a multiprocessor.
    pub blocks_per_sm: u64,
    /// The oldest version of PTX, times ten, that has all that is written for the target.
    pub ptx_version: u32,
}

/// What all targets have in common.
const BASE: Target = Target {
    name: "",
    compute: "",
    capability: (0, 0),
    arch_specific: false,
    max_grid: [(1 << 31) - 1, 65535, 65535],
    max_block: [1024, 1024, 64],
    max_threads_per_block: 1024,
    max_cluster: 1,
    warp_size: 32,
    static_shared_per_block: 48 << 10,
    max_shared_per_block: 0,
    shared_per_sm: 0,
    reserved_shared_per_block: 1 << 10,
    registers_per_block: 65536,
    registers_per_thread: 255,
    local_per_thread: 512 << 10,
    threads_per_sm: 0,
    blocks_per_sm: 0,
    ptx_version: 0,
};

/// The targets, oldest first.
static TARGETS: [Target; 7] = [
    Target {
        name: "sm_70",
        compute: "compute_70",
        capability: (7, 0),
        max_shared_per_block: 96 << 10,
        shared_per_sm: 96 << 10,
        reserved_shared_per_block: 0,
        threads_per_sm: 2048,
        blocks_per_sm: 32,
        ptx_version: 65,
        ..BASE
    },
    Target {
        name: "sm_75",
        compute: "compute_75",
        capability: (7, 5),
        max_shared_per_block: 64 << 10,
        shared_per_sm: 64 << 10,
        reserved_shared_per_block: 0,
        threads_per_sm: 1024,
        blocks_per_sm: 16,
        ptx_version: 65,
        ..BASE
    },
    Target {
        name: "sm_80",
        compute: "compute_80",
        capability: (8, 0),
        max_shared_per_block: 163 << 10,
        shared_per_sm: 164 << 10,
        threads_per_sm: 2048,
        blocks_per_sm: 32,
        ptx_version: 71,
        ..BASE
    },
    Target {
        name: "sm_86",
        compute: "compute_86",
        capability: (8, 6),
        max_shared_per_block: 99 << 10,
        shared_per_sm: 100 << 10,
        threads_per_sm: 1536,
        blocks_per_sm: 16,
        ptx_version: 71,
        ..BASE
    },
    Target {
        name: "sm_89",
        compute: "compute_89",
        capability: (8, 9),
        max_shared_per_block: 99 << 10,
        shared_per_sm: 100 << 10,
        threads_per_sm: 1536,
        blocks_per_sm: 24,
        ptx_version: 78,
        ..BASE
    },
    Target { name: "sm_90", compute: "compute_90", ..HOPPER },
    Target { name: "sm_90a", compute: "compute_90a", arch_specific: true, ptx_version: 80, ..HOPPER },
];

const HOPPER: Target = Target {
    capability: (9, 0),
    max_cluster: 8,
    max_shared_per_block: 227 << 10,
    shared_per_sm: 228 << 10,
    threads_per_sm: 2048,
    blocks_per_sm: 32,
    ptx_version: 78,
    ..BASE
};

impl Default for Target {
    /// The one that is called [`Target::DEFAULT`].
    fn default() -> Target {
        Target::parse(Target::DEFAULT).expect("the default target is one of the targets")
    }
}

impl Target {
    /// The name of the target that is meant where none is named.
    pub const DEFAULT: &'static str = "sm_80";

    /// All targets, oldest first.
    pub fn all() -> &'static [Target] {
        &TARGETS
    }

    /// The target with this name.
    pub fn parse(name: &str) -> Result<Target, Diagnostic> {
        if let Some(target) = TARGETS.iter().find(|target| target.name == name) {
            return Ok(*target);
        }
        let shown = tc_support::suggest::shorten(name);
        let wrong = Diagnostic::error("unknown-target", Location::None, format!("unknown target `{shown}`"));
        Err(match same_but_spelling(name) {
            Some(target) => wrong.help(format!("did you mean `{}`?", target.name)),
            None => {
                let names: Vec<String> = TARGETS.iter().map(|target| format!("`{}`", target.name)).collect();
                wrong.help(format!("there is {}", names.join(", ")))
            }
        })
    }

    /// The best target for a GPU of compute capability `major.minor`: the newest whose code it can run.
    pub fn for_device(major: u32, minor: u32) -> Result<Target, Diagnostic> {
        TARGETS.iter().rev().find(|target| target.runs_on(major, minor)).copied().ok_or_else(|| {
            let least = TARGETS[0].name;
            Diagnostic::error(
                "unsupported-device",
                Location::None,
                format!("a GPU of compute capability {major}.{minor} is too old"),
            )
            .help(format!("the oldest target is `{least}`"))
        })
    }

    /// Does PTX for this target run on a GPU of compute capability `major.minor`?
    pub fn runs_on(&self, major: u32, minor: u32) -> bool {
        if self.arch_specific { (major, minor) == self.capability } else { (major, minor) >= self.capability }
    }

    /// Does this target have `feature`?
    pub fn has(&self, feature: Feature) -> bool {
        let (since, arch_specific) = feature.since();
        self.capability.0 * 10 + self.capability.1 >= since && (self.arch_specific || !arch_specific)
    }

    /// The oldest target that has `feature`.
    pub fn first_with(feature: Feature) -> Option<&'static Target> {
        TARGETS.iter().find(|target| target.has(feature))
    }

    /// All features that this target has.
    pub fn features(&self) -> impl Iterator<Item = Feature> + '_ {
        Feature::ALL.into_iter().filter(|&feature| self.has(feature))
    }

    /// Bytes of shared memory above which a kernel has to opt in before it is launched.
    pub fn opt_in_above(&self) -> u64 {
        self.static_shared_per_block
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

/// The target that `name` spells in another common way: `sm90`, `SM_90`, `compute_90`, `9.0`.
///
/// Edit distance would be wrong here: `sm_100` is two edits from `sm_70` and another machine altogether.
fn same_but_spelling(name: &str) -> Option<&'static Target> {
    if name.len() > 32 {
        return None;
    }
    let plain: String = name.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_ascii_lowercase();
    let number = plain.trim_start_matches("compute").trim_start_matches("sm");
    TARGETS.iter().find(|target| target.name.trim_start_matches("sm_") == number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_is_found_by_its_name_only() {
        for target in Target::all() {
            assert_eq!(Target::parse(target.name).as_ref(), Ok(target));
            assert_eq!(target.compute.trim_start_matches("compute_"), target.name.trim_start_matches("sm_"));
        }
        for near in ["sm90", "SM_90", "compute_90", "9.0", "90"] {
            let wrong = Target::parse(near).expect_err("not a name");
            assert_eq!(wrong.help.as_deref(), Some("did you mean `sm_90`?"), "{near}");
        }
        let wrong = Target::parse("sm_100").expect_err("not a target");
        assert_eq!(wrong.message, "unknown target `sm_100`");
        assert!(wrong.help.expect("a list").starts_with("there is `sm_70`, "));
        assert!(Target::parse(&"9".repeat(1 << 20)).expect_err("not a name").message.len() < 200);
    }

    #[test]
    fn limits_are_those_of_the_guide() {
        let dynamic = |name| Target::parse(name).expect("known").max_shared_per_block;
        assert_eq!(dynamic("sm_70"), 98304);
        assert_eq!(dynamic("sm_75"), 65536);
        assert_eq!(dynamic("sm_80"), 166912);
        assert_eq!(dynamic("sm_86"), 101376);
        assert_eq!(dynamic("sm_89"), 101376);
        assert_eq!(dynamic("sm_90a"), 232448);
        for target in Target::all() {
            assert!(target.max_shared_per_block + target.reserved_shared_per_block <= target.shared_per_sm);
            assert!(target.threads_per_sm % target.warp_size == 0 && target.threads_per_sm >= 1024);
        }
    }

    #[test]
    fn features_arrive_and_stay() {
        let has = |name, feature| Target::parse(name).expect("known").has(feature);
        assert!(has("sm_70", Feature::Wmma) && !has("sm_70", Feature::Ldmatrix));
        assert!(has("sm_75", Feature::Ldmatrix) && !has("sm_75", Feature::CpAsync));
        assert!(has("sm_80", Feature::Bf16) && !has("sm_86", Feature::Fp8));
        assert!(has("sm_90", Feature::Tma) && !has("sm_90", Feature::Wgmma) && has("sm_90a", Feature::Wgmma));
        for pair in Target::all().windows(2) {
            assert!(pair[0].features().all(|feature| pair[1].has(feature)));
        }
    }

    #[test]
    fn a_device_gets_the_newest_target_it_can_run() {
        let best = |major, minor| Target::for_device(major, minor).map(|target| target.name);
        assert_eq!(best(9, 0), Ok("sm_90a"));
        assert_eq!(best(8, 7), Ok("sm_86"));
        assert_eq!(best(12, 0), Ok("sm_90"));
        assert_eq!(best(7, 2), Ok("sm_70"));
        assert_eq!(best(6, 1).expect_err("too old").code, "unsupported-device");
    }
}
