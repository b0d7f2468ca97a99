//! How many blocks and threads a kernel has: what its attributes say, or the launches of it that the text holds.

use super::module::name;
use super::state::{Reader, attribute};
use melior::ir::operation::{OperationLike, OperationResult, WalkOrder, WalkResult};
use melior::ir::{OperationRef, Value as MlirValue};
use tc_dialects::arith as ops;
use tc_dialects::tir::{self, Coordinate, LoopKind};
use tc_ir::{Func, Region, Value, keys};
use tc_support::Diagnostic;

/// The launch of a kernel.
#[derive(Default)]
pub(crate) struct Launch {
    /// The extent along each coordinate, by [`Coordinate::index`]; `None` where it follows from sizes.
    extents: [Option<i64>; 6],
    /// The variables of the loops, and what they start at.
    vars: [Option<(Value, i64)>; 6],
}

/// What launches of a kernel say: blocks by x, y, z, and threads.
#[derive(Clone, Copy, Default)]
pub(crate) struct Launched {
    grid: Option<[i64; 3]>,
    block: Option<[i64; 3]>,
    /// Two launches differ.
    differs: bool,
}

/// What the launches of `@module::@kernel` below `top` say, where they say numbers.
pub(crate) fn launched<'c: 'a, 'a>(top: OperationRef<'c, 'a>, module: &str, kernel: &str) -> Launched {
    let wanted = format!("@{module}::@{kernel}");
    let mut all = Launched::default();
    top.walk(WalkOrder::PreOrder, |op| {
        if name(op) == "gpu.launch_func" && attribute(op, "kernel").is_some_and(|of| of == wanted) {
            let (grid, block) = (extents(op, 0), extents(op, 3));
            all.differs |= all.grid.is_some() && all.grid != grid || all.block.is_some() && all.block != block;
            (all.grid, all.block) = (all.grid.or(grid), all.block.or(block));
        }
        WalkResult::Advance
    });
    all
}

/// The three numbers from operand `first` on, after those that the launch waits for.
fn extents(op: OperationRef<'_, '_>, first: usize) -> Option<[i64; 3]> {
    let sizes = attribute(op, "operandSegmentSizes")?;
    let n_waited: usize = sizes.split(": ").nth(1)?.split(',').next()?.trim().parse().ok()?;
    let mut found = [1; 3];
    for (nth, extent) in found.iter_mut().enumerate() {
        *extent = constant(op.operand(n_waited + first + nth).ok()?)?;
    }
    Some(found)
}

/// The integer that `value` is.
pub(crate) fn constant(value: MlirValue<'_, '_>) -> Option<i64> {
    let op = OperationResult::try_from(value).ok()?;
    let owner = op.owner();
    (name(owner) == "arith.constant").then(|| super::state::integer(owner, "value"))?
}

/// `array<i32: 32, 1, 1>`
fn array(op: OperationRef<'_, '_>, name: &str) -> Option<[i64; 3]> {
    let text = attribute(op, name)?;
    let numbers = text.split_once(": ")?.1.trim_end_matches('>');
    let numbers: Vec<i64> = numbers.split(',').map(|number| number.trim().parse().ok()).collect::<Option<_>>()?;
    numbers.try_into().ok()
}

impl Reader<'_> {
    /// Makes the loops over the blocks and threads of the kernel `op`; what follows goes into them.
    pub(crate) fn open_launch(&mut self, op: OperationRef<'_, '_>, launched: Launched) {
        if launched.differs {
            let text = "launches of this kernel have different numbers of blocks or threads";
            return self.refuse(op, text, "make a copy of the kernel for each, or set `known_grid_size`");
        }
        let grid = array(op, "known_grid_size").or(launched.grid);
        let block = array(op, "known_block_size").or(launched.block);
        let (Some(grid), Some(block)) = (grid, block) else {
            let (name, what) =
                if grid.is_none() { ("known_grid_size", "blocks") } else { ("known_block_size", "threads") };
            let text = format!("how many {what} the kernel has is not known");
            let help =
                format!("add `{name} = array<i32: x, y, z>` to its attributes, or a `gpu.launch_func` of constants");
            return self.error(op, |at| Diagnostic::error("launch-extent", at, text).help(help));
        };
        for coordinate in Coordinate::ALL {
            let of = if coordinate.is_thread() { block } else { grid };
            let extent = of[coordinate.dim()];
            self.launch.extents[coordinate.index()] = Some(extent);
            // The first of each is there even if it has one thread, so that there is a launch.
            if extent != 1 || coordinate.dim() == 0 {
                self.open_coordinate(op, coordinate, extent);
            }
        }
    }

    fn open_coordinate(&mut self, op: OperationRef<'_, '_>, coordinate: Coordinate, extent: i64) {
        let low = self.builder(op).index(0);
        let high = self.builder(op).index(extent);
        let kind = self.word(keys::KIND, "bind");
        let axis = self.func.str_attr(coordinate.name());
        let made = self.make(op, tir::FOR, &[low, high], &[kind, (keys::AXIS, axis)], &[], 1);
        self.region = self.func.op_regions(made)[0];
        let letter = if coordinate.is_thread() { 't' } else { 'b' };
        let name = format!("{letter}{}", ["x", "y", "z"][coordinate.dim()]);
        let index = self.func.index_ty();
        let var = self.func.push_arg(self.region, index, Some(&name));
        self.launch.vars[coordinate.index()] = Some((var, 0));
    }

    /// The coordinate of this thread or its block.
    pub(crate) fn coordinate(&mut self, at: OperationRef<'_, '_>, coordinate: Coordinate) -> Value {
        match self.launch.vars[coordinate.index()] {
            Some((var, 0)) => var,
            Some((var, start)) => {
                let elem = self.scalar(var).elem;
                let start = self.builder(at).int(start, elem);
                self.infer(at, ops::SUB, &[var, start], &[]).unwrap_or(var)
            }
            None => self.builder(at).index(0),
        }
    }

    /// How many there are along `coordinate`, if that is a number.
    pub(crate) fn extent(&self, coordinate: Coordinate) -> Option<i64> {
        self.launch.extents[coordinate.index()]
    }
}

impl Launch {
    /// The launch that the loops of `func` are, and where what each thread does goes; `None` where they are no single nest.
    pub(crate) fn of(func: &Func) -> Option<(Launch, Region)> {
        let mut launch = Launch { extents: [Some(1); 6], vars: [None; 6] };
        let mut region = func.body();
        loop {
            let mut loops = func.ops(region).filter(|&op| func.opcode(op) == tir::FOR);
            let Some(op) = loops.next() else { return Some((launch, region)) };
            let Some(LoopKind::Launch(coordinate)) = tir::loop_kind(func, op).filter(|_| loops.next().is_none()) else {
                return None;
            };
            region = *func.op_regions(op).first()?;
            let bound = |nth| func.const_int(func.operand(op, nth));
            let extent = bound(1).zip(bound(0)).and_then(|(high, low)| high.checked_sub(low));
            launch.extents[coordinate.index()] = extent;
            let var = func.region_args(region).first().copied();
            launch.vars[coordinate.index()] = var.zip(bound(0));
        }
    }
}
