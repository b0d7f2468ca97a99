//! Ops that a warp does as a whole: where each element of their matrices is.
//!
//! While a tile holds numbers it stands as it lies in memory, so that a factor may stand transposed; of a fragment it is
//! the matrix that is kept, since no op sees its inside. Sums are matrices in both.

use super::Result;
use super::body::Compiler;
use crate::code::{Instr, Space};
use crate::warp::{Memory, Operand, WarpInstr, WarpOp};
use tc_dialects::fragment::{Family, Layout, PRODUCTS, Tile, Use, element, is_product, mma_k, per_lane, tile};
use tc_dialects::{mma, wgmma, wmma};
use tc_ir::{Name, Op, Opcode, Value, keys};

/// Elements of a tile that the simulator follows: the sums of a warpgroup are the most.
const MAX_TILE: i64 = 1 << 14;

/// The threads of a warp.
const WARP: usize = 32;

/// A tile that an op names, ready to be addressed by row and column.
pub(super) struct Stood {
    tile: Tile,
    operand: Operand,
    /// Cells from one row to the next, and from one column to the next.
    steps: [usize; 2],
}

impl Stood {
    /// Rows and columns as it stands.
    fn extents(&self) -> (usize, usize) {
        let (rows, cols) = self.tile.fragment.map_or(self.tile.image, |fragment| fragment.extents());
        (rows as usize, cols as usize)
    }

    /// The operand whose elements are those at `places`, by row and column as the tile stands.
    fn holding(mut self, places: impl Iterator<Item = (usize, usize)>) -> Operand {
        let [row, col] = self.steps;
        self.operand.at = places.map(|(i, j)| (i * row + j * col) as u32).collect();
        self.operand.size = self.operand.at.len();
        self.operand
    }

    /// Row by row, rows and columns exchanged if `turned`; and their extents then.
    pub(super) fn by_rows(self, turned: bool) -> (Operand, usize, usize) {
        let (rows, cols) = self.extents();
        let (rows, cols) = if turned { (cols, rows) } else { (rows, cols) };
        let places = (0..rows * cols).map(|nth| (nth / cols, nth % cols));
        (self.holding(places.map(|(i, j)| if turned { (j, i) } else { (i, j) })), rows, cols)
    }
}

impl Compiler<'_, '_> {
    pub(super) fn warp_op(&mut self, op: Op, opcode: Opcode) -> Result<()> {
        let (warp_op, name) = match opcode {
            wmma::FILL => (self.fill(op)?, "wmma.fill"),
            wmma::LOAD => (self.load_tile(op)?, "wmma.load"),
            wmma::STORE => (self.store_tile(op)?, "wmma.store"),
            wmma::MMA => (self.product(op)?, "wmma.mma"),
            wgmma::MMA => return self.group_product(op),
            mma::LDMATRIX => (self.load_matrix(op)?, "mma.ldmatrix"),
            _ => (self.product(op)?, "mma.sync"),
        };
        let site = self.site(op, false);
        // Those of `wmma` are never divided among loops over threads.
        let is_divided = opcode.dialect() == mma::SYNC.dialect();
        let width = if self.k.kernel.warpgroups.lone && is_divided { 1 } else { WARP };
        self.k.emit(Instr::Warp(Box::new(WarpInstr { op: warp_op, name, width, site })));
        Ok(())
    }

    fn fill(&mut self, op: Op) -> Result<WarpOp> {
        let (tile, _, _) = self.stood(op, 0, true)?.by_rows(false);
        let value = self.operand(op, 1)?;
        Ok(WarpOp::Fill { tile, value: value.reg, mag: value.mag })
    }

    fn load_tile(&mut self, op: Op) -> Result<WarpOp> {
        let layout = self.layout(op, keys::LAYOUT);
        let stood = self.stood(op, 0, true)?;
        let turned = is_turned(&stood.tile, layout);
        let (tile, rows, cols) = stood.by_rows(turned);
        let from = self.memory(op, 1, (rows, cols), false)?;
        Ok(WarpOp::Load { tile, from })
    }

    fn store_tile(&mut self, op: Op) -> Result<WarpOp> {
        let layout = self.layout(op, keys::LAYOUT);
        let stood = self.stood(op, 1, false)?;
        let turned = is_turned(&stood.tile, layout);
        let (tile, rows, cols) = stood.by_rows(turned);
        let to = self.memory(op, 0, (rows, cols), true)?;
        Ok(WarpOp::Store { to, tile })
    }

    fn memory(&mut self, op: Op, nth: usize, (rows, cols): (usize, usize), is_store: bool) -> Result<Memory> {
        let place = self.place(op, nth)?;
        let region = self.region_of(place, op, is_store)?;
        let decl = &self.k.kernel.buffers[region.access.buf as usize];
        if decl.lanes != 1 || !matches!(decl.space, Space::Global(_) | Space::Shared(_)) {
            return Err(self.unsupported(op, "a tile in this memory"));
        }
        let stride = self.operand(op, 2)?.reg;
        Ok(Memory { region, stride, rows, cols })
    }

    fn product(&mut self, op: Op) -> Result<WarpOp> {
        if let Some(shape) = self.held_shape(op) {
            let [m, n, k] = shape;
            let sum = self.held(op, 0, Use::Accumulator, n)?;
            let (a, b) = (self.held(op, 1, Use::A, k)?, self.held(op, 2, Use::B, n)?);
            let shape = [m, n, k].map(|extent| extent as usize);
            return self.product_of((sum, a, b), shape, op);
        }
        let (a_layout, b_layout) = (self.layout(op, keys::A_LAYOUT), self.layout(op, keys::B_LAYOUT));
        let turned =
            |stood: &Stood, layout: Layout| stood.tile.fragment.is_none() && matches!(layout, Layout::ColMajor);
        let (sum, m, n) = self.stood(op, 0, true)?.by_rows(false);
        let a = self.stood(op, 1, false)?;
        let a_turned = turned(&a, a_layout);
        let (a, a_rows, k) = a.by_rows(a_turned);
        let b = self.stood(op, 2, false)?;
        let b_turned = turned(&b, b_layout);
        let (b, b_rows, b_cols) = b.by_rows(b_turned);
        if (a_rows, b_rows, b_cols) != (m, k, n) {
            return Err(self.unsupported(op, "a product of tiles that do not fit"));
        }
        self.product_of((sum, a, b), [m, n, k], op)
    }

    fn product_of(&mut self, (sum, a, b): (Operand, Operand, Operand), shape: [usize; 3], op: Op) -> Result<WarpOp> {
        let elem = |operand: &Operand| self.k.kernel.buffers[operand.region.access.buf as usize].elem;
        let (factors, total) = (elem(&a), elem(&sum));
        if !is_product(factors, total) || elem(&b) != factors {
            return Err(self.unsupported(op, "a product of such elements"));
        }
        Ok(WarpOp::Product { sum, a, b, shape, factors, total })
    }

    /// The extents m, n, k of a product of what lanes hold.
    fn held_shape(&self, op: Op) -> Option<[i64; 3]> {
        let func = self.func();
        let of = |nth: usize| mma::held(func, func.operands(op).get(nth).copied()?);
        let ((sum_elem, sums), (elem, n_a), (_, n_b)) = (of(0)?, of(1)?, of(2)?);
        let k = mma_k(elem.bytes());
        let fits =
            |&[m, n, shape_k]: &[i64; 3]| shape_k == k && [m * n, m * k, k * n].map(per_lane) == [sums, n_a, n_b];
        let known = PRODUCTS.iter().filter(|product| product.family == Family::Mma && product.factors == elem);
        known.filter(|product| product.sums.contains(&sum_elem)).flat_map(|product| product.shapes).copied().find(fits)
    }

    /// What the lanes hold of a matrix of `cols` columns.
    fn held(&mut self, op: Op, nth: usize, part: Use, cols: i64) -> Result<Operand> {
        let mut operand = self.stretch(op, (nth, WARP), part == Use::Accumulator)?;
        let bytes = self.k.kernel.buffers[operand.region.access.buf as usize].elem.bytes();
        let n = operand.held.as_ref().map_or(0, |held| held.len()) as i64;
        let places = (0..32 * n).map(|nth| element(part, bytes, nth / n, nth % n));
        operand.at = places.map(|(row, col)| (row * cols + col) as u32).collect();
        Ok(operand)
    }

    /// A stretch of the elements that each lane has of its own.
    pub(super) fn stretch(&mut self, op: Op, (nth, threads): (usize, usize), is_store: bool) -> Result<Operand> {
        let place = self.place(op, nth)?;
        let region = self.region_of(place, op, is_store)?;
        let decl = &self.k.kernel.buffers[region.access.buf as usize];
        let n = region.lengths.iter().try_fold(1u64, |n, &length| n.checked_mul(length)).unwrap_or(u64::MAX);
        if decl.lanes != 1 || !matches!(decl.space, Space::Local(_)) || n > MAX_TILE as u64 {
            return Err(self.unsupported(op, "a stretch of this buffer"));
        }
        let place = |nth: u64| {
            let index = crate::tensor::unravel(nth, &region.lengths);
            index.iter().zip(&decl.strides).map(|(&idx, &stride)| idx * stride as u64).sum::<u64>() as u32
        };
        let held: Box<[u32]> = (0..n).map(place).collect();
        let size = threads * held.len();
        Ok(Operand { region, size, at: (0..size as u32).collect(), held: Some(held) })
    }

    /// The tile that operand number `nth` names.
    pub(super) fn stood(&mut self, op: Op, nth: usize, is_store: bool) -> Result<Stood> {
        let place = self.place(op, nth)?;
        let Some(tile) = tile(self.func(), place) else { return Err(self.unsupported(op, "this tile")) };
        let region = self.region_of(place, op, is_store)?;
        let decl = &self.k.kernel.buffers[region.access.buf as usize];
        let (rows, cols) = tile.image;
        let fits = rows > 0 && cols > 0 && rows.checked_mul(cols).is_some_and(|n| n <= MAX_TILE);
        let steps = match (tile.fragment, &decl.strides[..]) {
            (Some(fragment), _) => Some([fragment.extents().1 as usize, 1]),
            (None, &[.., row, col]) => Some([row as usize, col as usize]),
            _ => None,
        };
        let Some(steps) = steps.filter(|_| fits && matches!(decl.space, Space::Warp(_))) else {
            return Err(self.unsupported(op, "this tile"));
        };
        let operand = Operand { region, size: 0, at: Box::default(), held: None };
        Ok(Stood { tile, operand, steps })
    }

    fn load_matrix(&mut self, op: Op) -> Result<WarpOp> {
        let func = self.func();
        let transposed = mma::transposed(func, op);
        let place = self.place(op, 0)?;
        let tile = match mma::held(func, place) {
            Some(_) => self.stretch(op, (0, WARP), true)?,
            None => {
                let turned = self.layout(op, keys::LAYOUT) == Layout::ColMajor;
                let stood = self.stood(op, 0, true)?;
                let (part, bytes) = (stood.tile.part, stood.tile.elem.bytes());
                let (rows, cols) = stood.extents();
                let n = per_lane((rows * cols) as i64);
                let places: Vec<(usize, usize)> = (0..32 * n)
                    .map(|nth| element(part, bytes, nth / n, nth % n))
                    .map(|(row, col)| if turned { (col as usize, row as usize) } else { (row as usize, col as usize) })
                    .collect();
                if places.iter().any(|&(i, j)| i >= rows || j >= cols) {
                    return Err(self.unsupported(op, "a tile of these extents"));
                }
                stood.holding(places.into_iter())
            }
        };
        let bytes = self.k.kernel.buffers[tile.region.access.buf as usize].elem.bytes() as usize;
        let Some(&row) = func.operands(op).get(1) else { return Err(self.unsupported(op, "this load")) };
        let row = self.region_of(row, op, false)?;
        let decl = &self.k.kernel.buffers[row.access.buf as usize];
        let row_len = 16 / bytes.max(1);
        let is_row = row.lengths.last() == Some(&(row_len as u64)) && decl.strides.last() == Some(&1);
        let is_shared = matches!(decl.space, Space::Shared(_)) && decl.lanes == 1;
        if !is_row || !is_shared || !matches!(tile.size * bytes, 128 | 256 | 512) {
            return Err(self.unsupported(op, "a load of such rows"));
        }
        Ok(WarpOp::LoadMatrix { tile, row, row_len, transposed })
    }

    pub(super) fn place(&self, op: Op, nth: usize) -> Result<Value> {
        let place = self.func().operands(op).get(nth);
        place.copied().ok_or_else(|| self.error(op, "unsupported", "an operand is missing"))
    }

    fn layout(&self, op: Op, key: Name) -> Layout {
        self.func().word_of(op, key).and_then(Layout::parse).unwrap_or_default()
    }
}

/// Are rows and columns of memory exchanged in the tile? The image of a factor is what memory holds.
fn is_turned(tile: &Tile, layout: Layout) -> bool {
    let is_matrix = tile.fragment.is_some() || tile.part == Use::Accumulator;
    is_matrix && layout == Layout::ColMajor
}
