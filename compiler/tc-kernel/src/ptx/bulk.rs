//! Bulk copies by tensor maps, and barriers in shared memory.
//!
//! The copy names the innermost coordinate first, as PTX does. Lines write what a compiler does not see, or say when it is
//! written: they are volatile, and all but `setmaxnreg` clobber memory.
//!
//! Arrivals and waits have the semantics that PTX gives them where nothing is said, release and acquire within the block:
//! wider ones order all of global memory at each step of a ring.

use tc_dialects::update::UpdateKind;

/// A function of one instruction of a barrier, or of one that begins a bulk copy.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[allow(missing_docs, reason = "the fields are told with their variant")]
pub enum Bulk {
    /// `cp.async.bulk.tensor` of a box of so many dimensions, to all blocks of a cluster if it is `multicast`.
    Load { rank: u8, multicast: bool },
    /// `cp.async.bulk.tensor` to a box of so many dimensions.
    Store { rank: u8 },
    /// `cp.reduce.async.bulk.tensor` to a box of so many dimensions.
    Reduce { rank: u8, kind: UpdateKind },
    /// `cp.async.bulk.commit_group`
    CommitStores,
    /// `cp.async.bulk.wait_group`
    WaitStores { read: bool },
    /// `fence.proxy.async`
    FenceStores,
    /// `mbarrier.init`
    Init,
    /// Fences that let the engine of copies see barriers that were made ready.
    FenceInit,
    /// `mbarrier.arrive`
    Arrive,
    /// The same at the barrier of another block of the cluster.
    ArriveRemote,
    /// `barrier.cluster`
    ClusterBarrier,
    /// `mbarrier.arrive.expect_tx`
    ArriveExpectTx,
    /// `mbarrier.try_wait` until the phase is over; `mbarrier.test_wait` where that does not suspend the thread. The line tells in
    /// `%0` whether it is.
    Wait { suspends: bool },
    /// A coordinate of 64 bits as one of 32: no instruction. One that they do not hold stays outside of its tensor, which is no
    /// longer than [`MAX_EXTENT`](tc_target::maps::MAX_EXTENT), and so does its box.
    Coordinate,
    /// The same of one without a sign.
    UnsignedCoordinate,
    /// `setmaxnreg`
    SetMaxNReg { increase: bool },
    /// `griddepcontrol`
    GridDepControl { wait: bool },
}

/// What an operand is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Operand {
    /// The address in shared memory of what is written.
    To,
    /// The address in shared memory of what is read.
    From,
    /// The address of a barrier in shared memory.
    Barrier,
    /// The address of a tensor map.
    Map,
    /// The blocks of a cluster, a bit each, in 16 bits.
    Blocks,
    /// The number of a block of a cluster.
    Block,
    /// How many arrivals, in 32 bits.
    Count,
    /// How many bytes, in 32 bits.
    Bytes,
    /// The parity of a phase, in 32 bits.
    Parity,
    /// A coordinate, in 32 bits: that of such a number, the innermost first.
    Coordinate(u8),
    /// How many groups may be outstanding: a literal.
    Pending,
    /// How many registers: a literal.
    Registers,
}

impl Operand {
    /// What it is called.
    pub fn name(self) -> String {
        match self {
            Operand::To => "to".into(),
            Operand::From => "from".into(),
            Operand::Barrier => "barrier".into(),
            Operand::Map => "map".into(),
            Operand::Blocks => "blocks".into(),
            Operand::Block => "block".into(),
            Operand::Count | Operand::Registers => "count".into(),
            Operand::Bytes => "bytes".into(),
            Operand::Parity => "parity".into(),
            Operand::Coordinate(dim) => format!("x{dim}"),
            Operand::Pending => "pending".into(),
        }
    }
}

impl Bulk {
    /// The name of the function.
    pub fn name(self) -> String {
        match self {
            Bulk::Load { rank, multicast: false } => format!("tc_tma_load_{rank}d"),
            Bulk::Load { rank, multicast: true } => format!("tc_tma_load_{rank}d_multicast"),
            Bulk::Store { rank } => format!("tc_tma_store_{rank}d"),
            Bulk::Reduce { rank, kind } => format!("tc_tma_reduce_{}_{rank}d", kind.name()),
            Bulk::CommitStores => "tc_tma_commit_group".into(),
            Bulk::WaitStores { read } => format!("tc_tma_wait_group{}", if read { "_read" } else { "" }),
            Bulk::FenceStores => "tc_tma_fence".into(),
            Bulk::Init => "tc_mbarrier_init".into(),
            Bulk::FenceInit => "tc_mbarrier_fence_init".into(),
            Bulk::Arrive => "tc_mbarrier_arrive".into(),
            Bulk::ArriveRemote => "tc_mbarrier_arrive_remote".into(),
            Bulk::ClusterBarrier => "tc_cluster_barrier".into(),
            Bulk::ArriveExpectTx => "tc_mbarrier_arrive_expect_tx".into(),
            Bulk::Wait { .. } => "tc_mbarrier_wait".into(),
            Bulk::Coordinate => "tc_tma_coordinate".into(),
            Bulk::UnsignedCoordinate => "tc_tma_unsigned_coordinate".into(),
            Bulk::GridDepControl { wait } => format!("tc_griddepcontrol_{}", action(wait)),
            Bulk::SetMaxNReg { increase } => format!("tc_setmaxnreg_{}", change(increase)),
        }
    }

    /// What the function is given, and the lines read, in the order of their numbers.
    pub fn operands(self) -> Vec<Operand> {
        let with_coordinates = |first: &[Operand], rank: u8| {
            first.iter().copied().chain((0..rank).map(Operand::Coordinate)).collect::<Vec<Operand>>()
        };
        match self {
            Bulk::Load { rank, multicast: false } => {
                with_coordinates(&[Operand::To, Operand::Map, Operand::Barrier], rank)
            }
            Bulk::Load { rank, multicast: true } => {
                with_coordinates(&[Operand::To, Operand::Map, Operand::Barrier, Operand::Blocks], rank)
            }
            Bulk::Store { rank } | Bulk::Reduce { rank, .. } => with_coordinates(&[Operand::Map, Operand::From], rank),
            Bulk::WaitStores { .. } => vec![Operand::Pending],
            Bulk::Init => vec![Operand::Barrier, Operand::Count],
            Bulk::Arrive => vec![Operand::Barrier],
            Bulk::ArriveRemote => vec![Operand::Barrier, Operand::Block],
            Bulk::ArriveExpectTx => vec![Operand::Barrier, Operand::Bytes],
            Bulk::Wait { .. } => vec![Operand::Barrier, Operand::Parity],
            Bulk::SetMaxNReg { .. } => vec![Operand::Registers],
            _ => Vec::new(),
        }
    }

    /// The lines, which follow each other; none for a coordinate. That of a wait has its result as operand 0, and its other operands
    /// after it.
    pub fn lines(self) -> Vec<String> {
        let slots = |rank: u8, first: u8| {
            let all: Vec<String> = (first..first + rank).map(|nth| format!("%{nth}")).collect();
            all.join(", ")
        };
        let line = match self {
            Bulk::Load { rank, multicast } => {
                let (to_all, blocks, first) = if multicast { (".multicast::cluster", ", %3", 4) } else { ("", "", 3) };
                format!(
                    "cp.async.bulk.tensor.{rank}d.shared::cluster.global.tile.mbarrier::complete_tx::bytes{to_all} [%0], [%1, {{{}}}], [%2]{blocks};",
                    slots(rank, first)
                )
            }
            Bulk::Store { rank } => {
                format!(
                    "cp.async.bulk.tensor.{rank}d.global.shared::cta.tile.bulk_group [%0, {{{}}}], [%1];",
                    slots(rank, 2)
                )
            }
            Bulk::Reduce { rank, kind } => format!(
                "cp.reduce.async.bulk.tensor.{rank}d.global.shared::cta.{}.tile.bulk_group [%0, {{{}}}], [%1];",
                kind.name(),
                slots(rank, 2)
            ),
            Bulk::CommitStores => "cp.async.bulk.commit_group;".into(),
            Bulk::WaitStores { read } => {
                format!("cp.async.bulk.wait_group{} %0;", if read { ".read" } else { "" })
            }
            Bulk::FenceStores => FENCE.into(),
            Bulk::Init => "mbarrier.init.shared::cta.b64 [%0], %1;".into(),
            Bulk::FenceInit => return vec!["fence.mbarrier_init.release.cluster;".into(), FENCE.into()],
            Bulk::Arrive => "mbarrier.arrive.shared::cta.b64 _, [%0];".into(),
            Bulk::ArriveRemote => {
                "{\n.reg .b32 at;\nmapa.shared::cluster.u32 at, %0, %1;\nmbarrier.arrive.shared::cluster.b64 _, [at];\n}"
                    .into()
            }
            Bulk::ClusterBarrier => "barrier.cluster.arrive.release;\nbarrier.cluster.wait.acquire;".into(),
            Bulk::ArriveExpectTx => "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;".into(),
            Bulk::Wait { suspends } => {
                let kind = if suspends { "try_wait" } else { "test_wait" };
                format!(
                    "{{\n.reg .pred p;\nmbarrier.{kind}.parity.shared::cta.b64 p, [%1], %2;\nselp.u32 %0, 1, 0, p;\n}}"
                )
            }
            Bulk::Coordinate | Bulk::UnsignedCoordinate => return Vec::new(),
            Bulk::SetMaxNReg { increase } => format!("setmaxnreg.{}.sync.aligned.u32 %0;", change(increase)),
            Bulk::GridDepControl { wait } => format!("griddepcontrol.{};", action(wait)),
        };
        vec![line]
    }
}

/// Orders what threads did in shared memory before what the engine of copies does.
const FENCE: &str = "fence.proxy.async.shared::cta;";

/// What `griddepcontrol` does.
fn action(wait: bool) -> &'static str {
    if wait { "wait" } else { "launch_dependents" }
}

/// What `setmaxnreg` does.
fn change(increase: bool) -> &'static str {
    if increase { "inc" } else { "dec" }
}
