//! What matrix products, the copies that feed them and arithmetic ask of a target, by the name of the op or its dialect.
//!
//! The shapes are those of the language: `wmma` of 16x16x16, 32x8x16 and 8x32x16 (16x16x8 for tf32), `mma.sync` of
//! m16n8 with the k that fills 32 bytes. Which target has what is from the PTX ISA 8.8, sections 9.7.14 ("Warp Level
//! Matrix Multiply-Accumulate Instructions", target notes of each), 9.7.9.25 (`cp.async`), 9.7.9.27 (`cp.async.bulk.tensor`),
//! 9.7.13.15 (`mbarrier`), 9.7.15 (`wgmma`) and 9.7.19.5 (`setmaxnreg`).

use crate::target::{Feature, Target};
use tc_support::{DType, Elem};

/// One op on elements of one type, and what it needs.
struct Row {
    op: &'static str,
    elem: Option<DType>,
    needs: Feature,
}

const fn row(op: &'static str, elem: DType, needs: Feature) -> Row {
    Row { op, elem: Some(elem), needs }
}

const fn any(op: &'static str, needs: Feature) -> Row {
    Row { op, elem: None, needs }
}

/// What a type needs to be computed in, apart from products of tiles.
const ARITHMETIC: &str = "arith";

/// The table. A row without an element type is for all that no row before it names.
static TABLE: &[Row] = &[
    row("wmma.mma", DType::I8, Feature::WmmaInt8),
    row("wmma.mma", DType::U8, Feature::WmmaInt8),
    row("wmma.mma", DType::BF16, Feature::Bf16),
    row("wmma.mma", DType::TF32, Feature::Tf32),
    row("wmma.mma", DType::F32, Feature::Tf32),
    any("wmma.mma", Feature::Wmma),
    row("mma.sync", DType::F16, Feature::MmaM16N8K16),
    row("mma.sync", DType::BF16, Feature::Bf16),
    row("mma.sync", DType::F32, Feature::Tf32),
    row("mma.sync", DType::TF32, Feature::Tf32),
    any("mma.sync", Feature::MmaM16N8K32),
    any("mma.ldmatrix", Feature::Ldmatrix),
    any("gpu.copy_async", Feature::CpAsync),
    any("gpu.commit_group", Feature::CpAsync),
    any("gpu.wait_group", Feature::CpAsync),
    any("tma.map", Feature::Tma),
    any("tma.load", Feature::Tma),
    any("tma.store", Feature::Tma),
    any("tma.reduce", Feature::Tma),
    any("tma.commit_group", Feature::Tma),
    any("tma.wait_group", Feature::Tma),
    any("tma.fence", Feature::Tma),
    any("mbarrier.init", Feature::Mbarrier),
    any("mbarrier.arrive", Feature::Mbarrier),
    any("mbarrier.wait", Feature::Mbarrier),
    // Bulk copies alone have a use for these.
    any("mbarrier.fence_init", Feature::Tma),
    any("mbarrier.arrive_expect_tx", Feature::Tma),
    any("wgmma.mma", Feature::Wgmma),
    any("wgmma.fence", Feature::Wgmma),
    any("wgmma.commit_group", Feature::Wgmma),
    any("wgmma.wait_group", Feature::Wgmma),
    any("gpu.setmaxnreg", Feature::SetMaxNReg),
    any("gpu.griddepcontrol", Feature::GridDepControl),
    any("arith.tanh.approx", Feature::TanhApprox),
    row(ARITHMETIC, DType::BF16, Feature::Bf16),
];

/// What the op called `op` needs, where its factors (for a tile that is moved: its elements) are of type `elem`;
/// `None` where every target has it. Tiles of `wmma` that are filled, loaded or stored need what their product does.
pub fn needs(op: &str, elem: Option<DType>) -> Option<Feature> {
    let op = match op {
        "wmma.fill" | "wmma.load" | "wmma.store" => "wmma.mma",
        other => other,
    };
    TABLE.iter().find(|row| row.op == op && (row.elem.is_none() || row.elem == elem)).map(|row| row.needs)
}

impl Target {
    /// Does it compute in `elem`: sums, differences, products and both at once, the lesser and the greater?
    pub fn computes_in(&self, elem: Elem) -> bool {
        !elem.is_for_products() && needs(ARITHMETIC, Some(elem.dtype())).is_none_or(|feature| self.has(feature))
    }
}

/// Does the op called `op` take a whole warp, all of whose threads do it together?
pub fn takes_warp(op: &str) -> bool {
    op.starts_with("wmma.") || op.starts_with("mma.")
}

/// The threads of a warpgroup.
pub const WARPGROUP: u64 = 128;

/// Does the op called `op` take whole warpgroups, all of whose threads do it together?
pub fn takes_warpgroup(op: &str) -> bool {
    op.starts_with("wgmma.") || op == "gpu.setmaxnreg"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_op_has_its_first_target() {
        let first = |op, elem| {
            let feature = needs(op, elem).expect("a matrix op");
            Target::first_with(feature).expect("a target has it").name
        };
        assert_eq!(first("wmma.mma", Some(DType::F16)), "sm_70");
        assert_eq!(first("wmma.fill", Some(DType::I32)), "sm_70");
        assert_eq!(first("wmma.load", Some(DType::U8)), "sm_75");
        assert_eq!(first("wmma.mma", Some(DType::BF16)), "sm_80");
        assert_eq!(first("wmma.load", Some(DType::TF32)), "sm_80");
        for elem in [DType::F16, DType::BF16, DType::F32, DType::I8, DType::U8] {
            assert_eq!(first("mma.sync", Some(elem)), "sm_80");
        }
        assert_eq!(first("mma.ldmatrix", Some(DType::F16)), "sm_75");
        assert_eq!(first("gpu.copy_async", None), "sm_80");
        assert_eq!((first("mbarrier.wait", None), first("tma.load", None)), ("sm_80", "sm_90"));
        assert_eq!((first("wgmma.mma", Some(DType::F16)), first("gpu.setmaxnreg", None)), ("sm_90a", "sm_90a"));
        assert_eq!(needs("gpu.barrier", None), None);
    }

    #[test]
    fn a_target_computes_in_the_types_that_it_has_instructions_for() {
        let first = |elem| Target::all().iter().find(|target| target.computes_in(elem)).map(|target| target.name);
        assert_eq!([Elem::F16, Elem::BF16, Elem::I8].map(first), [Some("sm_70"), Some("sm_80"), Some("sm_70")]);
        assert_eq!([Elem::TF32, Elem::F8E4M3].map(first), [None, None]);
    }
}
