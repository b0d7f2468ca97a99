//! Puts the blocks of an intrinsic in the place of a nest.
//!
//! A block is copied in with stand-ins for the parameters and the result, and what takes a stand-in is then made anew on
//! the buffer behind it.

use super::find::Nest;
use super::fit::Fit;
use super::matching::{Matched, NestRole};
use super::tile::Tile;
use crate::analysis::region::build_region;
use tc_arith::Expr;
use tc_dialects::algebra::{self, Algebra};
use tc_dialects::te::Intrinsic;
use tc_dialects::{arith, tir};
use tc_ir::clone::Importer;
use tc_ir::opdef::Infer;
use tc_ir::walk::ops_under;
use tc_ir::{AttrData, Builder, Def, Elem, Func, Op, Region, Rewriter, TypeData, Value, keys};

/// What is put in the place of a nest.
pub(super) struct Replacement {
    pub(super) nest: Nest,
    pub(super) matched: Matched,
    pub(super) fit: Fit,
    /// Knows the bases and symbols.
    pub(super) algebra: Algebra,
}

/// A parameter or the result, where it lies, and what stands for it in a block that was copied.
struct Standin<'t> {
    value: Value,
    tile: &'t Tile,
    extents: Vec<i64>,
    /// Knows where the tile starts.
    algebra: &'t Algebra,
}

impl Standin<'_> {
    /// Where the tile starts, in each dimension of the buffer, computed at the builder's place.
    fn base(&self, b: &mut Builder<'_>) -> Vec<Value> {
        self.tile.base.iter().map(|&base| build(b, self.algebra, base)).collect()
    }
}

/// Puts the blocks of `intrinsic` that fit in the place of the nest of `plan`.
pub(super) fn substitute(func: &mut Func, intrinsic: &Intrinsic<'_>, plan: &Replacement) {
    let root = plan.nest.root;
    for &(buffer, align) in &plan.fit.aligned {
        set_align(func, buffer, align);
    }
    let step = plan.matched.step;
    let blocks: Vec<Region> = match (step, intrinsic.body) {
        (NestRole::Whole | NestRole::Both, Some(body)) => vec![body],
        (NestRole::Whole | NestRole::Both, None) => intrinsic.init.into_iter().chain(intrinsic.update).collect(),
        (NestRole::First, _) => intrinsic.init.into_iter().collect(),
        (NestRole::Further, _) => intrinsic.update.into_iter().collect(),
    };
    // An intrinsic without a first step of its own leaves it as it is.
    let first_stays =
        intrinsic.body.is_none() && intrinsic.init.is_none() && matches!(step, NestRole::First | NestRole::Both);
    if first_stays {
        let mut rw = Rewriter::new(func);
        let attrs = rw.func().op_attrs(root);
        let attrs = rw.func_mut().without_entry(attrs, keys::TENSORIZE);
        rw.set_attrs(root, attrs);
        if let Some(further) = plan.nest.further {
            rw.erase(further);
        }
    }
    for block in blocks {
        let after = first_stays.then(|| func.next_op(root)).flatten();
        copy_block(func, intrinsic, plan, block, first_stays, after);
    }
    if !first_stays {
        Rewriter::new(func).erase(root);
    }
}

/// A buffer that is made starts at a multiple of `align` bytes from now on; so does an argument.
fn set_align(func: &mut Func, buffer: Value, align: i64) {
    let attr = func.int_attr(align);
    match func.def(buffer) {
        Def::Result(op, _) => Rewriter::new(func).set_attr(op, keys::ALIGN, attr),
        Def::Arg(region, idx) => {
            let nth = idx.checked_sub(func.header.symbols.len()).filter(|_| region == func.body());
            let Some(nth) = nth.filter(|&nth| nth < func.header.params.len()) else { return };
            let attrs = func.header.params[nth].attrs;
            func.header.params[nth].attrs = func.with_entry(attrs, keys::ALIGN, attr);
        }
    }
}

/// Copies `block` to stand before the nest, or after it.
fn copy_block(
    func: &mut Func,
    intrinsic: &Intrinsic<'_>,
    plan: &Replacement,
    block: Region,
    behind: bool,
    before: Option<Op>,
) {
    let root = plan.nest.root;
    let locs = func.op_locs(root);
    let region = func.region_of(root).expect("the nest stands in the function");
    let mut b = match (behind, before) {
        (true, Some(next)) => Builder::before(func, next),
        (true, None) => Builder::at_end(func, region),
        (false, _) => Builder::before(func, root),
    };
    b.locs = locs;
    let mut importer = Importer::new(intrinsic.func);
    let symbols = intrinsic.func.region_args(intrinsic.func.body()).to_vec();
    for (&symbol, &stride) in symbols.iter().zip(&plan.fit.symbols) {
        let value = build(&mut b, &plan.algebra, stride);
        importer.values.insert(symbol, value);
    }
    let mut standins = Vec::new();
    let mut makers = Vec::new();
    for (&place, tile) in &plan.matched.tiles {
        let ty = importer.ty(b.func, intrinsic.func.value_type(place));
        let maker = tir::Alloc::build(&mut b, &[], &[ty]);
        let value = b.func.result(maker).expect("an alloc has one result");
        importer.values.insert(place, value);
        makers.push(maker);
        let extents = intrinsic.extents(place).unwrap_or_default();
        standins.push(Standin { value, tile, extents, algebra: &plan.algebra });
    }
    let copied: Vec<Op> = intrinsic.func.ops(block).map(|op| importer.op(&mut b, op)).collect();
    let mut inner = Vec::new();
    for &op in &copied {
        inner.push(op);
        inner.extend(
            func.op_regions(op).to_vec().into_iter().flat_map(|region| ops_under(func, region).collect::<Vec<_>>()),
        );
    }
    for op in inner {
        settle_op(func, op, &standins);
    }
    let mut rw = Rewriter::new(func);
    makers.into_iter().for_each(|maker| rw.erase(maker));
}

fn build(b: &mut Builder<'_>, algebra: &Algebra, expr: Expr) -> Value {
    algebra::build_index(b, algebra, expr)
}

/// Makes `op` anew where it takes a stand-in, and tells the types of what is made from one.
fn settle_op(func: &mut Func, op: Op, standins: &[Standin<'_>]) {
    let standin = |value: Value| standins.iter().find(|standin| standin.value == value);
    let opcode = func.opcode(op);
    let operands = func.operands(op).to_vec();
    if let Some(standin) = operands.first().and_then(|&first| standin(first))
        && matches!(opcode, tir::LOAD | tir::STORE | tir::REF | tir::REGION)
    {
        return on_buffer(func, op, standin);
    }
    for (nth, &operand) in operands.iter().enumerate() {
        if let Some(standin) = standin(operand) {
            let mut b = Builder::before(func, op);
            let base = standin.base(&mut b);
            let whole = region(&mut b, standin, &base, &standin.extents);
            Rewriter::new(func).set_operand(op, nth, whole);
        }
    }
    // What refers into a reference lies where that does.
    let operands_now = func.operands(op).to_vec();
    if matches!(func.row(op).infer, Infer::By(_))
        && let Some(result) = func.result(op)
        && let Ok(ty) = func.infer_type(opcode, &operands_now, func.op_attrs(op))
        && matches!(func.type_data(ty), TypeData::Ref { .. })
    {
        Rewriter::new(func).set_type(result, ty);
    }
}

/// Makes the access or reference `op`, whose first operand is a stand-in, on the buffer behind it.
fn on_buffer(func: &mut Func, op: Op, standin: &Standin<'_>) {
    let opcode = func.opcode(op);
    let operands = func.operands(op).to_vec();
    let rank = standin.extents.len();
    let n_indices = if opcode == tir::STORE { operands.len() - 2 } else { operands.len() - 1 };
    let indices = &operands[1..1 + n_indices];
    let mut b = Builder::before(func, op);
    let base = standin.base(&mut b);
    let mut places = base.clone();
    for (&dim, &index) in standin.tile.dims.iter().zip(indices) {
        places[dim] = sum(&mut b, base[dim], index);
    }
    if opcode == tir::REGION || n_indices < rank {
        let mut lengths = standin.extents.clone();
        lengths[..n_indices].fill(1);
        if let Some(AttrData::List(list)) = b.func.attr_named(op, "lengths").map(|attr| b.func.attr_data(attr)) {
            lengths = list.iter().map(|&attr| b.func.as_int(attr).unwrap_or(1)).collect();
        }
        let made = region(&mut b, standin, &places, &lengths);
        return Rewriter::new(func).replace_op(op, &[made]);
    }
    let mut anew = vec![standin.tile.buffer];
    anew.extend(places);
    anew.extend_from_slice(&operands[1 + n_indices..]);
    if opcode == tir::REF {
        let made = b.value(tir::REF, &anew, &[]);
        return Rewriter::new(func).replace_op(op, &[made]);
    }
    Rewriter::new(func).set_operands(op, &anew);
}

/// A reference to `lengths` elements of the buffer behind `standin`, from `starts` on.
fn region(b: &mut Builder<'_>, standin: &Standin<'_>, starts: &[Value], lengths: &[i64]) -> Value {
    let mut all = vec![1; starts.len()];
    for (&dim, &length) in standin.tile.dims.iter().zip(lengths) {
        all[dim] = length;
    }
    build_region(b, standin.tile.buffer, starts, &all)
}

/// `base + index`, folded where one of them is 0 or both are numbers.
fn sum(b: &mut Builder<'_>, base: Value, index: Value) -> Value {
    match (b.func.const_int(base), b.func.const_int(index)) {
        (Some(0), _) if b.func.value_type(index) == b.func.value_type(base) => index,
        (_, Some(0)) => base,
        (Some(x), Some(y)) if x.checked_add(y).is_some() => b.index(x + y),
        _ => {
            let lanes = b.func.value_scalar(index).map_or(1, |scalar| scalar.lanes);
            let base = if lanes == 1 { base } else { broadcast(b, base, lanes) };
            let index = alike(b, index, lanes);
            b.value(arith::ADD, &[base, index], &[])
        }
    }
}

/// `value` in each of `lanes` lanes.
fn broadcast(b: &mut Builder<'_>, value: Value, lanes: u16) -> Value {
    let n = b.func.int_attr(i64::from(lanes));
    b.value(arith::BROADCAST, &[value], &[(keys::LANES, n)])
}

/// `index` as an `index`, where it is another integer.
fn alike(b: &mut Builder<'_>, index: Value, lanes: u16) -> Value {
    let ty = b.func.scalar_ty(tc_ir::Scalar { elem: Elem::Index, lanes });
    if b.func.value_type(index) == ty {
        return index;
    }
    let op = arith::Cast::build(b, index, &[], &[ty]);
    b.func.result(op).expect("a cast has one result")
}
