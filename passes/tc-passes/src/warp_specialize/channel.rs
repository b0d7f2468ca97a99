//! The barriers of a ring, and which slot and phase an iteration uses.

use tc_dialects::{arith, mbarrier, tir};
use tc_ir::builder::OperandSegment;
use tc_ir::{Builder, TypeData, Value, keys};

/// The barriers of a ring.
#[derive(Clone, Copy)]
pub(super) struct Channel {
    /// A slot is filled.
    pub(super) full: Value,
    /// A slot is read.
    pub(super) empty: Value,
    /// The slots.
    n: i64,
}

/// The slot of an iteration, and the round that it is in.
#[derive(Clone, Copy)]
pub(super) struct Turn {
    pub(super) slot: Value,
    round: Value,
}

impl Channel {
    /// Makes the barriers where `b` stands.
    pub(super) fn alloc(b: &mut Builder<'_>, n: i64) -> Channel {
        let path = b.func.name(mbarrier::TYPE_NAME);
        let elem = b.func.ty(TypeData::Opaque { path, params: [].into() });
        let extent = b.func.int_attr(n);
        let scope = Some(b.func.name("shared"));
        let ty = b.func.ty(TypeData::Shaped { elem, shape: [extent].into(), scope });
        let mut make = |name: &str| {
            let op = tir::Alloc::build(b, &[], &[ty]);
            let value = b.func.result(op).expect("the row has one result");
            b.name(value, name)
        };
        Channel { full: make("full"), empty: make("empty"), n }
    }

    /// Makes the barriers ready: one arrival fills a slot, `readers` free it.
    pub(super) fn init(self, b: &mut Builder<'_>, readers: i64) {
        let (zero, end) = (b.index(0), b.index(self.n));
        let loop_op = tir::For::build(b, zero, end, &[], &[], &[]);
        let region = b.func.op_regions(loop_op)[0];
        let ty = b.func.index_ty();
        let slot = b.arg(region, ty, Some("s"));
        b.within(region, |b| {
            for (barriers, count) in [(self.full, 1), (self.empty, readers)] {
                let place = one(b, barriers, slot);
                let count = b.func.int_attr(count);
                mbarrier::Init::build(b, place, &[(keys::COUNT, count)], &[]);
            }
        });
        mbarrier::FenceInit::build(b, &[], &[]);
    }

    /// The slot and the round of iteration number `iteration`.
    pub(super) fn turn(self, b: &mut Builder<'_>, iteration: Value) -> Turn {
        let n = b.index(self.n);
        let slot = b.value(arith::MOD, &[iteration, n], &[]);
        let round = b.value(arith::DIV, &[iteration, n], &[]);
        Turn { slot, round }
    }

    /// Waits until the slot is full.
    pub(super) fn wait_full(self, b: &mut Builder<'_>, turn: Turn) {
        let two = b.index(2);
        let parity = b.value(arith::MOD, &[turn.round, two], &[]);
        let place = one(b, self.full, turn.slot);
        mbarrier::Wait::build(b, place, parity, &[], &[]);
    }

    /// Waits until the slot is empty: in its first round it is.
    pub(super) fn wait_empty(self, b: &mut Builder<'_>, turn: Turn) {
        let (one_more, two) = (b.index(1), b.index(2));
        let round = b.value(arith::ADD, &[turn.round, one_more], &[]);
        let parity = b.value(arith::MOD, &[round, two], &[]);
        let place = one(b, self.empty, turn.slot);
        mbarrier::Wait::build(b, place, parity, &[], &[]);
    }

    /// Says that the slot was read; to block number `block` of the cluster, if there are several.
    pub(super) fn release(self, b: &mut Builder<'_>, turn: Turn, block: Option<Value>) {
        let place = one(b, self.empty, turn.slot);
        let operands = [OperandSegment::One(place), OperandSegment::Many(block.as_slice())];
        b.build_segments(mbarrier::ARRIVE, &operands, &[], &[]);
    }

    /// Announces the bytes that fill the slot; gives the barrier at which they are reported.
    pub(super) fn expect(self, b: &mut Builder<'_>, turn: Turn, bytes: i64) -> Value {
        let place = one(b, self.full, turn.slot);
        let bytes = b.func.int_attr(bytes);
        mbarrier::ArriveExpectTx::build(b, place, &[(keys::BYTES, bytes)], &[]);
        place
    }
}

/// One of the barriers.
fn one(b: &mut Builder<'_>, barriers: Value, slot: Value) -> Value {
    b.value(tir::REF, &[barriers, slot], &[])
}
