//! How many blocks and threads a kernel has: what its attributes say, or the launches of it that the text holds.

use super::module::name;
use super::state::{Reader, attribute};
use melior::ir::block::BlockLike;
use melior::ir::operation::{OperationLike, OperationResult};
use melior::ir::{BlockRef, OperationRef, RegionLike, Value as MlirValue};
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
    let mut all = Launched::default();
    for launch in launches_of(top, module).into_iter().filter(|launch| launch.kernel == kernel) {
        let (grid, block) = (extents(launch.op, 0), extents(launch.op, 3));
        all.differs |= all.grid.is_some() && all.grid != grid || all.block.is_some() && all.block != block;
        (all.grid, all.block) = (all.grid.or(grid), all.block.or(block));
    }
    all
}

/// A launch of a kernel.
pub(crate) struct LaunchOp<'c, 'a> {
    pub(crate) op: OperationRef<'c, 'a>,
    /// The kernel, by its symbol in its module.
    pub(crate) kernel: String,
    /// What the kernel is given: which operand of the launch it is, and the value.
    pub(crate) operands: Vec<(usize, MlirValue<'c, 'a>)>,
    /// Blocks and threads, where they are literals.
    pub(crate) extents: Option<[[u64; 3]; 2]>,
}

/// The launches of kernels of `@module` below `top`.
pub(crate) fn launches_of<'c: 'a, 'a>(top: OperationRef<'c, 'a>, module: &str) -> Vec<LaunchOp<'c, 'a>> {
    let start = format!("@{module}::@");
    let mut found = Vec::new();
    let mut worklist = vec![top];
    while let Some(around) = worklist.pop() {
        for op in around.regions().filter_map(|region| region.first_block()).flat_map(ops_of_blocks) {
            worklist.push(op);
            let kernel = if name(op) == "gpu.launch_func" { attribute(op, "kernel") } else { None };
            let Some(kernel) = kernel.and_then(|kernel| kernel.strip_prefix(&start).map(str::to_string)) else {
                continue;
            };
            let (first, n) = operands(op).unwrap_or((0, 0));
            let operands = (first..first + n).filter_map(|nth| Some((nth, op.operand(nth).ok()?))).collect();
            let natural = |extents: [i64; 3]| extents.map(|extent| u64::try_from(extent).unwrap_or(0));
            let extents = extents(op, 0).zip(extents(op, 3)).map(|(grid, block)| [natural(grid), natural(block)]);
            found.push(LaunchOp { op, kernel, operands, extents });
        }
    }
    found
}

/// The ops of `block` and those that follow it in its region.
fn ops_of_blocks<'c, 'a>(block: BlockRef<'c, 'a>) -> impl Iterator<Item = OperationRef<'c, 'a>> {
    let blocks = std::iter::successors(Some(block), |block| block.next_in_region());
    blocks.flat_map(|block| std::iter::successors(block.first_operation(), |op| op.next_in_block()))
}

/// Where the operands of the kernel start among those of a launch, and how many they are.
fn operands(op: OperationRef<'_, '_>) -> Option<(usize, usize)> {
    let sizes = attribute(op, "operandSegmentSizes")?;
    let sizes = sizes.split_once(": ")?.1.trim_end_matches('>');
    let sizes: Vec<usize> = sizes.split(',').map(|size| size.trim().parse().ok()).collect::<Option<_>>()?;
    // Tokens, grid, block, cluster, dynamic shared memory, operands, and one more.
    let nth = sizes.len().checked_sub(2)?;
    Some((sizes[..nth].iter().sum(), sizes[nth]))
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
            return self.refuse(op, text, "make a copy of the kernel for each");
        }
        let (Some(grid), Some(block)) = (
            self.launch_extents(op, ("known_grid_size", "blocks"), launched.grid),
            self.launch_extents(op, ("known_block_size", "threads"), launched.block),
        ) else {
            return;
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

    /// How many blocks or threads there are: what the attribute `name` says, or a launch, or both alike.
    fn launch_extents(
        &mut self,
        op: OperationRef<'_, '_>,
        (name, what): (&str, &str),
        launched: Option<[i64; 3]>,
    ) -> Option<[i64; 3]> {
        let known = array(op, name);
        let wrong = |text: String, help: String| move |at| Diagnostic::error("launch-extent", at, text).help(help);
        let Some(extents) = known.or(launched) else {
            let text = format!("how many {what} the kernel has is not known");
            let help =
                format!("add `{name} = array<i32: x, y, z>` to its attributes, or a `gpu.launch_func` of constants");
            self.error(op, wrong(text, help));
            return None;
        };
        if launched.is_some_and(|launched| launched != extents) {
            let text = format!("a launch of this kernel has other numbers of {what} than `{name}` says");
            self.error(op, wrong(text, format!("leave `{name}` out, or write what is launched")));
            return None;
        }
        if let Some(extent) = extents.iter().find(|&&extent| extent < 1) {
            let text = format!("the kernel has {extent} {what} along a dimension");
            self.error(op, wrong(text, "write at least 1 along each".to_string()));
            return None;
        }
        Some(extents)
    }

    /// Is the launch of this kernel, read from its head, the one that the attributes of `op` say?
    pub(crate) fn is_launched_so(&self, op: OperationRef<'_, '_>) -> bool {
        let sizes = [array(op, "known_grid_size"), array(op, "known_block_size")];
        Coordinate::ALL.into_iter().all(|coordinate| {
            let known = sizes[usize::from(coordinate.is_thread())].map(|sizes| sizes[coordinate.dim()]);
            known.zip(self.extent(coordinate)).is_none_or(|(known, extent)| known == extent)
        })
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
