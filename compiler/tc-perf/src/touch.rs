//! Which ops of a kernel access memory, and at which addresses the lanes of a warp do.

use crate::lanes::{Lanes, MOST_ELEMENTS, WARP};
use crate::literal::is_literal;
use crate::memory::Addresses;
use crate::repeat;
use crate::unroll::Unrolled;
use crate::walk::Way;
use tc_dialects::fragment::{tile, transfer};
use tc_dialects::gpu;
use tc_dialects::scope::{Memory, Scope};
use tc_dialects::threads::{begins_copy, takes_a_row};
use tc_dialects::tir::{self, place_type};
use tc_ir::effects::{accesses, root_buffer};
use tc_ir::{Func, Op, Value};
use tc_kernel::access::{self, Form};

/// What an access does.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Direction {
    /// It reads.
    Load,
    /// It writes.
    Store,
}

impl Direction {
    /// The word in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Direction::Load => "load",
            Direction::Store => "store",
        }
    }
}

/// An access of a kernel to memory.
#[derive(Clone, Debug)]
pub(crate) struct Touch {
    pub(crate) op: Op,
    pub(crate) place: Value,
    pub(crate) root: Value,
    pub(crate) memory: Memory,
    pub(crate) direction: Direction,
    shape: Shape,
    /// The share of its executions that access memory: others find the value in a register.
    pub(crate) share: f64,
    /// The variable of a loop along which so many accesses that are unrolled together are neighbours.
    neighbours: Option<(Value, u64)>,
}

/// How the lanes of a warp share an access.
#[derive(Clone, Copy, Debug)]
enum Shape {
    /// Each lane has so many accesses of so many bytes, a distance apart; the index is that of the load or store.
    Own { index: Option<Value>, count: i64, bytes: i64, apart: i64 },
    /// All lanes together move a tile of so many rows of so many bytes; the operand is the distance of rows, in elements.
    Tile { rows: i64, row_bytes: i64, stride: Value, elem: i64 },
}

impl Touch {
    /// The accesses of `op` to memory.
    pub(crate) fn all(func: &Func, op: Op, unrolled: &Unrolled) -> Vec<Touch> {
        accesses(func, op)
            .into_iter()
            .flat_map(|(place, access)| {
                let directions = [(access.reads(), Direction::Load), (access.writes(), Direction::Store)];
                let of = |(_, direction)| Touch::of(func, op, place, direction, unrolled);
                directions.into_iter().filter(|(does, _)| *does).filter_map(of).collect::<Vec<_>>()
            })
            .collect()
    }

    fn of(func: &Func, op: Op, place: Value, direction: Direction, unrolled: &Unrolled) -> Option<Touch> {
        let root = root_buffer(func, place);
        // Parameters have no scope, and lie in global memory.
        let memory = Scope::of(func, place).map_or(Memory::Global, Scope::memory);
        let index = access::index(func, op).filter(|_| matches!(func.opcode(op), tir::LOAD | tir::STORE));
        let is_in_registers = index.is_none_or(|index| is_literal(func, op, index, unrolled));
        let shape = (memory != Memory::Registers || !is_in_registers).then(|| Shape::of(func, op, place)).flatten()?;
        let (mut share, mut neighbours) = (1.0, None);
        if let Shape::Own { index: Some(index), count: 1, .. } = shape {
            if direction == Direction::Load {
                share = repeat::share(func, op, index, unrolled);
            }
            // How global memory is aligned, that compiler does not know.
            if memory == Memory::Shared {
                neighbours = repeat::neighbours(func, op, index, unrolled);
            }
        }
        Some(Touch { op, place, root, memory, direction, shape, share, neighbours })
    }

    /// How many accesses that are unrolled together become one, of a vector.
    pub(crate) fn joined(&self, way: &Way<'_>, mask: u32) -> u64 {
        let Some(((var, n), Shape::Own { index: Some(index), bytes, .. })) = self.neighbours.map(|at| (at, self.shape))
        else {
            return 1;
        };
        let (index, var) = (way.value(index), way.value(var));
        let start = |lane: usize| index.at(lane)?.checked_sub(var.at(lane)?);
        let fits = |width: u64| {
            let mut lanes = (0..WARP).filter(|&lane| mask >> lane & 1 != 0);
            n.is_multiple_of(width)
                && bytes * width as i64 <= CHUNK
                && lanes.all(|lane| start(lane).is_some_and(|start| start % width as i64 == 0))
        };
        [8, 4, 2].into_iter().find(|&width| fits(width)).unwrap_or(1)
    }

    /// The position and the bytes of an element, where each lane accesses one of the buffer by a position.
    pub(crate) fn element(&self) -> Option<(Value, i64)> {
        match self.shape {
            Shape::Own { index: Some(index), count: 1, bytes, .. } if self.place == self.root => Some((index, bytes)),
            _ => None,
        }
    }

    /// The bytes that a lane accesses at a time, and how often it does.
    pub(crate) fn width(&self) -> (i64, i64) {
        match self.shape {
            Shape::Own { count, bytes, .. } => (bytes, count),
            Shape::Tile { rows, row_bytes, .. } => (CHUNK, (rows * row_bytes / CHUNK / WARP as i64).max(1)),
        }
    }

    /// How often its address is another one, at most: an access that stays where it is leaves the loop, as its value stays in
    /// a register.
    pub(crate) fn moves(&self, way: &Way<'_>) -> f64 {
        let func = way.func;
        let own = if let Shape::Own { index: Some(index), .. } = self.shape { Some(index) } else { None };
        let mut most = own.map_or(0.0, |index| way.computed(index));
        let mut place = self.place;
        while let Some(op) =
            func.def_op(place).filter(|&op| matches!(func.opcode(op), tir::REF | tir::REGION | tir::VIEW))
        {
            most = func.operands(op)[1..].iter().fold(most, |most, &index| most.max(way.computed(index)));
            place = func.operand(op, 0);
        }
        if most > 0.0 { most } else { 1.0 }
    }

    /// The addresses of each of its accesses in the lanes `mask`, counted from the start of the buffer behind it; `None`
    /// where they depend on data.
    pub(crate) fn addresses(&self, func: &Func, mask: u32, of: impl Fn(Value) -> Lanes) -> Option<Vec<Addresses>> {
        let start = start(func, self.place, &of)?;
        let active = |lane: usize| mask >> lane & 1 != 0;
        match self.shape {
            Shape::Own { index, count, bytes: _, apart } => {
                let scale = elem_bytes(func, self.place);
                let index = index.map_or(Lanes::Same(0), of);
                if index == Lanes::Unknown {
                    return None;
                }
                let at = |nth: i64, lane: usize| {
                    let index = if let Lanes::Vector(elements) = &index {
                        elements.get(nth as usize).map(|values| values[lane])
                    } else {
                        index.at(lane)
                    };
                    let first = start.at(lane)?.checked_add(index?.checked_mul(scale)?)?;
                    first.checked_add(nth.checked_mul(apart)?)
                };
                let one = |nth| std::array::from_fn(|lane| if active(lane) { at(nth, lane) } else { None });
                Some((0..count.min(MOST_ELEMENTS as i64)).map(one).collect())
            }
            Shape::Tile { rows, row_bytes, stride, elem } => {
                let first = (0..WARP).find(|&lane| active(lane))?;
                let (start, stride) = (start.at(first)?, of(stride).at(first)?.checked_mul(elem)?);
                let chunks = rows * row_bytes / CHUNK;
                let at = |chunk: i64| {
                    let row = (chunk * CHUNK / row_bytes).checked_mul(stride)?;
                    start.checked_add(row)?.checked_add(chunk * CHUNK % row_bytes)
                };
                let one = |nth: i64| {
                    std::array::from_fn(|lane| {
                        let chunk = nth * WARP as i64 + lane as i64;
                        Some(chunk).filter(|&chunk| chunk < chunks).and_then(at)
                    })
                };
                Some((0..self.width().1).map(one).collect())
            }
        }
    }
}

/// Bytes that a lane moves at a time of a tile, or of a vector.
const CHUNK: i64 = 16;

impl Shape {
    fn of(func: &Func, op: Op, place: Value) -> Option<Shape> {
        let bytes = elem_bytes(func, place);
        let own = |index, count, bytes, apart| Shape::Own { index, count, bytes, apart };
        if let Some(transfer) = transfer(func, op) {
            let tile = tile(func, func.operand(op, transfer.held))?;
            let (rows, cols) = tile.image;
            let elem = i64::from(tile.elem.bytes());
            return Some(Shape::Tile { rows, row_bytes: cols * elem, stride: func.operand(op, transfer.stride), elem });
        }
        Some(match func.opcode(op) {
            tir::LOAD | tir::STORE => match access::form(func, op) {
                Form::Element => own(access::index(func, op), 1, bytes, 0),
                Form::Pieces { base, lanes, whole } => {
                    let all = func.value_scalar(access::index(func, op)?)?.lanes;
                    let piece = bytes * i64::from(lanes);
                    own(Some(base), if whole { 1 } else { i64::from(all / lanes) }, piece, piece)
                }
                Form::Lanes => {
                    let index = access::index(func, op)?;
                    own(Some(index), func.value_scalar(index)?.lanes.into(), bytes, 0)
                }
            },
            _ if begins_copy(func, op) => own(None, 1, gpu::copied_bytes(func, op)?, 0),
            _ if takes_a_row(func, op) => own(None, 1, CHUNK, 0),
            _ => own(None, 1, bytes, 0),
        })
    }
}

/// Bytes of an element of the buffer that `place` is of.
fn elem_bytes(func: &Func, place: Value) -> i64 {
    let elem = place_type(func, place).and_then(|(elem, _, _)| func.as_scalar(elem));
    elem.map_or(1, |scalar| i64::from(scalar.bytes()))
}

/// Where `place` starts in the buffer behind it, in bytes.
fn start(func: &Func, mut place: Value, of: &impl Fn(Value) -> Lanes) -> Option<Lanes> {
    let mut sum = [0i64; WARP];
    while let Some(op) = func.def_op(place) {
        let operands = func.operands(op);
        let (index, scale) = match func.opcode(op) {
            tir::REF | tir::REGION => (operands.last().filter(|_| operands.len() > 1), elem_bytes(func, operands[0])),
            tir::VIEW => (operands.get(1), 1),
            _ => break,
        };
        if let Some(&index) = index {
            let index = of(index);
            for (lane, sum) in sum.iter_mut().enumerate() {
                *sum = sum.checked_add(index.at(lane)?.checked_mul(scale)?)?;
            }
        }
        place = operands[0];
    }
    Some(Lanes::Each(Box::new(sum)))
}
