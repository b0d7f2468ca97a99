//! Bulk copies by tensor maps, and barriers in shared memory: calls of small functions around one line of PTX each.
//!
//! A map is a parameter of the kernel, `const __grid_constant__`, so that it has an address that the engine of copies
//! reads. The copy names the innermost coordinate first, as PTX does. All lines are `volatile` and clobber memory: they
//! write what the compiler does not see, or say when it is written.
//!
//! Arrivals and waits have the semantics that PTX gives them where nothing is said, release and acquire within the block:
//! wider ones order all of global memory at each step of a ring.

use crate::expr::{self, Expr, prec};
use crate::kernel::Kernel;
use crate::preamble::Helper;
use tc_dialects::update::UpdateKind;
use tc_dialects::{mbarrier, tma};
use tc_ir::attrs::BinOp;
use tc_ir::{Elem, Op, Value, keys};
use tc_kernel::bulk::{coordinates, fits_word};
use tc_target::Feature;
use tc_target::maps::MAX_EXTENT;

/// A function of one instruction of a barrier, or of one that begins a bulk copy.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Bulk {
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
    /// `mbarrier.try_wait` until the phase is over; `mbarrier.test_wait` where that does not suspend the thread.
    Wait { suspends: bool },
    /// A coordinate of 64 bits as one of 32. One that they do not hold stays outside of its tensor, which is no longer than
    /// [`MAX_EXTENT`], and so does its box.
    Coordinate,
    /// The same of one without a sign.
    UnsignedCoordinate,
    /// `setmaxnreg`
    SetMaxNReg { increase: bool },
    /// `griddepcontrol`
    GridDepControl { wait: bool },
}

/// So many coordinates: as parameters, as operands of PTX from number `first` on, and as what these are given.
fn coordinates_of(rank: u8, first: u8) -> [String; 3] {
    let list = |each: &dyn Fn(u8) -> String| (0..rank).map(each).collect::<Vec<String>>().join(", ");
    [
        list(&|dim| format!("int x{dim}")),
        list(&|dim| format!("%{}", dim + first)),
        list(&|dim| format!("\"r\"(x{dim})")),
    ]
}

/// What `griddepcontrol` does.
fn action_of(wait: bool) -> &'static str {
    if wait { "wait" } else { "launch_dependents" }
}

/// The address of `what` in shared memory, as PTX takes it.
fn shared(what: &str) -> String {
    format!("\"r\"((unsigned int)__cvta_generic_to_shared({what}))")
}

impl Bulk {
    /// The name of the function.
    pub(crate) fn name(self) -> String {
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
            Bulk::GridDepControl { wait } => format!("tc_griddepcontrol_{}", action_of(wait)),
            Bulk::SetMaxNReg { increase } => format!("tc_setmaxnreg_{}", if increase { "inc" } else { "dec" }),
        }
    }

    /// The function.
    pub(crate) fn text(self) -> String {
        let barrier = "unsigned long long* barrier";
        let function = |params: &str, body: &str| {
            format!("static __device__ __forceinline__ void {}({params}) {{\n{body}}}\n", self.name())
        };
        match self {
            Bulk::Load { rank, multicast } => {
                let first = if multicast { 4 } else { 3 };
                let [params, slots, values] = coordinates_of(rank, first);
                let (mask, to_all, blocks, value) = match multicast {
                    true => ("unsigned short blocks, ", ".multicast::cluster", ", %3", "\"h\"(blocks), "),
                    false => ("", "", "", ""),
                };
                function(
                    &format!("void* to, const tc_tensor_map* map, {barrier}, {mask}{params}"),
                    &format!(
                        "  asm volatile(\"cp.async.bulk.tensor.{rank}d.shared::cluster.global.tile.mbarrier::complete_tx::bytes{to_all} [%0], [%1, {{{slots}}}], [%2]{blocks};\"\n    :: {}, \"l\"(map), {}, {value}{values}\n    : \"memory\");\n",
                        shared("to"),
                        shared("barrier"),
                    ),
                )
            }
            Bulk::Store { rank } | Bulk::Reduce { rank, .. } => {
                let (reduce, kind) = match self {
                    Bulk::Reduce { kind, .. } => (".reduce", format!(".{}", kind.name())),
                    _ => ("", String::new()),
                };
                let [params, slots, values] = coordinates_of(rank, 2);
                function(
                    &format!("const tc_tensor_map* map, const void* from, {params}"),
                    &format!(
                        "  asm volatile(\"cp{reduce}.async.bulk.tensor.{rank}d.global.shared::cta{kind}.tile.bulk_group [%0, {{{slots}}}], [%1];\"\n    :: \"l\"(map), {}, {values}\n    : \"memory\");\n",
                        shared("from")
                    ),
                )
            }
            Bulk::CommitStores => function("", "  asm volatile(\"cp.async.bulk.commit_group;\" ::: \"memory\");\n"),
            Bulk::WaitStores { read } => {
                let read = if read { ".read" } else { "" };
                let body =
                    format!("  asm volatile(\"cp.async.bulk.wait_group{read} %0;\" :: \"n\"(pending) : \"memory\");\n");
                format!("template <int pending>\n{}", function("", &body))
            }
            Bulk::FenceStores => function("", "  asm volatile(\"fence.proxy.async.shared::cta;\" ::: \"memory\");\n"),
            Bulk::Init => function(
                &format!("{barrier}, int count"),
                &format!(
                    "  asm volatile(\"mbarrier.init.shared::cta.b64 [%0], %1;\" :: {}, \"r\"(count) : \"memory\");\n",
                    shared("barrier")
                ),
            ),
            Bulk::FenceInit => function(
                "",
                "  asm volatile(\"fence.mbarrier_init.release.cluster;\" ::: \"memory\");\n  asm volatile(\"fence.proxy.async.shared::cta;\" ::: \"memory\");\n",
            ),
            Bulk::Arrive => function(
                barrier,
                &format!(
                    "  asm volatile(\"mbarrier.arrive.shared::cta.b64 _, [%0];\" :: {} : \"memory\");\n",
                    shared("barrier")
                ),
            ),
            Bulk::ArriveRemote => function(
                &format!("{barrier}, unsigned int block"),
                &format!(
                    "  asm volatile(\"{{\\n.reg .b32 at;\\nmapa.shared::cluster.u32 at, %0, %1;\\nmbarrier.arrive.shared::cluster.b64 _, [at];\\n}}\"\n    :: {}, \"r\"(block) : \"memory\");\n",
                    shared("barrier")
                ),
            ),
            Bulk::ClusterBarrier => function(
                "",
                "  asm volatile(\"barrier.cluster.arrive.release;\\nbarrier.cluster.wait.acquire;\" ::: \"memory\");\n",
            ),
            Bulk::ArriveExpectTx => function(
                &format!("{barrier}, int bytes"),
                &format!(
                    "  asm volatile(\"mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;\" :: {}, \"r\"(bytes) : \"memory\");\n",
                    shared("barrier")
                ),
            ),
            Bulk::Wait { suspends } => {
                let kind = if suspends { "try_wait" } else { "test_wait" };
                function(
                    &format!("{barrier}, int parity"),
                    &format!(
                        "  unsigned int done;\n  do {{\n    asm volatile(\"{{\\n.reg .pred p;\\nmbarrier.{kind}.parity.shared::cta.b64 p, [%1], %2;\\nselp.u32 %0, 1, 0, p;\\n}}\"\n      : \"=r\"(done)\n      : {}, \"r\"(parity)\n      : \"memory\");\n  }} while (done == 0);\n",
                        shared("barrier")
                    ),
                )
            }
            Bulk::Coordinate => {
                let least = i32::MIN;
                format!(
                    "static __device__ __forceinline__ int {}(long long at) {{\n  return (int)(at < {least}LL ? {least}LL : at > {MAX_EXTENT}LL ? {MAX_EXTENT}LL : at);\n}}\n",
                    self.name()
                )
            }
            Bulk::UnsignedCoordinate => format!(
                "static __device__ __forceinline__ int {}(unsigned long long at) {{\n  return (int)(at > {MAX_EXTENT}ULL ? {MAX_EXTENT}ULL : at);\n}}\n",
                self.name()
            ),
            Bulk::GridDepControl { wait } => {
                function("", &format!("  asm volatile(\"griddepcontrol.{};\" ::: \"memory\");\n", action_of(wait)))
            }
            Bulk::SetMaxNReg { increase } => {
                let action = if increase { "inc" } else { "dec" };
                format!(
                    "template <int count>\n{}",
                    function(
                        "",
                        &format!("  asm volatile(\"setmaxnreg.{action}.sync.aligned.u32 %0;\" :: \"n\"(count));\n")
                    )
                )
            }
        }
    }
}

impl Kernel<'_> {
    /// Begins the bulk copy `op`.
    pub(crate) fn bulk_load(&mut self, op: Op) {
        let func = self.func;
        let (Some(map), Some(barrier), Some(coordinates)) =
            (tma::map_of(func, func.operand(op, 1)), tma::load_barrier(func, op), coordinates(func, op))
        else {
            self.stray("a bulk copy without a map or a barrier");
            return;
        };
        let Some(map) = func.result(map) else { return };
        let map = self.buffer(map);
        let rank = u8::try_from(coordinates.len()).unwrap_or(0);
        let mut args =
            vec![self.address(func.operand(op, 0)), Expr::new(format!("&{map}"), prec::UNARY), self.address(barrier)];
        let multicast = tma::is_multicast(func, op);
        if multicast {
            args.push(Expr::name(&((1u32 << self.facts.cluster) - 1).to_string()));
        }
        args.extend(coordinates.iter().rev().map(|terms| self.coordinate_of(op, terms)));
        let function = self.needs.helper(Helper::Bulk(Bulk::Load { rank, multicast }));
        self.call(op, &function, &args);
    }

    /// Begins the bulk copy `op` to a tensor, or the update of one.
    pub(crate) fn bulk_store(&mut self, op: Op) {
        let func = self.func;
        let [shared, boxed] = tma::sides(func, op);
        let (Some(map), Some(coordinates)) =
            (tma::map_of(func, boxed).and_then(|map| func.result(map)), coordinates(func, op))
        else {
            self.stray("a bulk copy without a map");
            return;
        };
        let map = self.buffer(map);
        let rank = u8::try_from(coordinates.len()).unwrap_or(0);
        let mut args = vec![Expr::new(format!("&{map}"), prec::UNARY), self.address(shared)];
        args.extend(coordinates.iter().rev().map(|terms| self.coordinate_of(op, terms)));
        let function = match UpdateKind::of(func, op) {
            Some(kind) => Bulk::Reduce { rank, kind },
            None => Bulk::Store { rank },
        };
        let function = self.needs.helper(Helper::Bulk(function));
        self.call(op, &function, &args);
    }

    /// Waits for groups of bulk copies to tensors.
    pub(crate) fn wait_for_stores(&mut self, op: Op) {
        let pending = self.func.int_of(op, keys::PENDING).unwrap_or(0);
        let read = tma::is_of_reads(self.func, op);
        let function = self.needs.helper(Helper::Bulk(Bulk::WaitStores { read }));
        self.call(op, &format!("{function}<{pending}>"), &[]);
    }

    /// An instruction without operands.
    pub(crate) fn bulk_call(&mut self, op: Op, function: Bulk) {
        let function = self.needs.helper(Helper::Bulk(function));
        self.call(op, &function, &[]);
    }

    /// The sum of `terms`, as 32 bits: a coordinate of the copy `op`.
    fn coordinate_of(&mut self, op: Op, terms: &[Value]) -> Expr {
        let fits = fits_word(self.func, op, terms);
        let mut sum: Option<Expr> = None;
        for &term in terms {
            if self.bare_int(term) == Some(0) {
                continue;
            }
            let elem = self.func.value_scalar(term).map(|scalar| scalar.elem);
            let of = match elem {
                Some(Elem::I64 | Elem::U64) if fits => Some("int"),
                Some(Elem::I64) => None,
                // Alone: of a sum it is known that 64 bits are enough.
                Some(Elem::U64) if terms.len() == 1 => None,
                _ => (!fits).then_some("long long"),
            };
            let term = self.lane(term, 0);
            let term = match of {
                Some(of) => expr::cast(of, term),
                None => term,
            };
            sum = Some(match sum {
                Some(sum) => expr::binary(BinOp::Add, term, sum),
                None => term,
            });
        }
        let sum = sum.unwrap_or_else(|| Expr::name("0"));
        if fits {
            return sum;
        }
        let is_unsigned = |&term: &Value| self.func.value_scalar(term).is_some_and(|scalar| scalar.elem == Elem::U64);
        let clamp = match terms {
            [term] if is_unsigned(term) => Bulk::UnsignedCoordinate,
            _ => Bulk::Coordinate,
        };
        let function = self.needs.helper(Helper::Bulk(clamp));
        expr::call(&function, &[sum])
    }

    /// A barrier, and a number that the op `op` says by `key`.
    pub(crate) fn barrier_call(&mut self, op: Op, function: Bulk, key: Option<tc_ir::Name>) {
        let func = self.func;
        let mut args = Vec::new();
        for (nth, &operand) in func.operands(op).iter().enumerate() {
            args.push(if nth == 0 { self.address(operand) } else { self.lane(operand, 0) });
        }
        args.extend(key.and_then(|key| func.int_of(op, key)).map(|number| Expr::name(&number.to_string())));
        let function = self.needs.helper(Helper::Bulk(function));
        self.call(op, &function, &args);
    }

    /// Arrives at a barrier of this block, or of another one.
    pub(crate) fn arrive_at_barrier(&mut self, op: Op) {
        let is_remote = mbarrier::block_of(self.func, op).is_some();
        self.barrier_call(op, if is_remote { Bulk::ArriveRemote } else { Bulk::Arrive }, None);
    }

    /// Waits at a barrier.
    pub(crate) fn wait_at_barrier(&mut self, op: Op) {
        let suspends = self.target.has(Feature::Tma);
        self.barrier_call(op, Bulk::Wait { suspends }, None);
    }

    /// Waits for the kernels before, or lets the next one be launched.
    pub(crate) fn overlap_launches(&mut self, op: Op) {
        let wait = self.func.word_of(op, keys::ACTION) == Some("wait");
        self.bulk_call(op, Bulk::GridDepControl { wait });
    }

    /// Sets how many registers the threads have.
    pub(crate) fn set_registers(&mut self, op: Op) {
        let count = self.func.int_of(op, keys::COUNT).unwrap_or(0);
        let increase = self.func.word_of(op, keys::ACTION) == Some("increase");
        let function = self.needs.helper(Helper::Bulk(Bulk::SetMaxNReg { increase }));
        self.call(op, &format!("{function}<{count}>"), &[]);
    }
}
