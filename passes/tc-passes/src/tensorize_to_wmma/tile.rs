//! Where a tile lies in a buffer.

use tc_arith::Expr;
use tc_dialects::algebra::Algebra;
use tc_dialects::scope::{Memory, Scope, scope_text};
use tc_dialects::te::Intrinsic;
use tc_ir::{Func, Op, Value, keys};

/// The part of a buffer that a parameter or the result of an intrinsic is.
#[derive(Clone, Debug)]
pub(super) struct Tile {
    pub(super) buffer: Value,
    /// The dimension of the buffer that each dimension of the tile runs along.
    pub(super) dims: Vec<usize>,
    /// Where it starts, in each dimension of the buffer.
    pub(super) base: Vec<Expr>,
    /// An access to it.
    pub(super) at: Op,
}

impl Tile {
    /// Are the two the same elements, in the same order?
    pub(super) fn is_same(&self, other: &Tile, algebra: &mut Algebra) -> bool {
        self.buffer == other.buffer
            && self.dims == other.dims
            && self.base.iter().zip(&other.base).all(|(&a, &b)| algebra.analyzer.can_prove_equal(a, b))
    }
}

/// The scope of the buffer `buffer`, `global` where none is written.
pub(super) fn scope_of(func: &Func, buffer: Value) -> Option<&str> {
    let (_, _, scope) = func.as_shaped(func.value_type(buffer))?;
    Some(scope_text(func, scope))
}

/// Does a buffer in `have` fit what is declared in the scope `declared`? Where none is declared any memory does that all
/// threads of a warp see; what is declared in `shared` may lie in the shared memory that is asked for at launch.
pub(super) fn scope_fits(declared: Option<&str>, have: &str) -> bool {
    let memory = |scope: &str| Scope::parse(scope).map(Scope::memory);
    match declared {
        None => matches!(memory(have), Some(Memory::Global | Memory::Shared)),
        Some(declared) if declared == Scope::Shared.name() => memory(have) == Some(Memory::Shared),
        Some(declared) => declared == have,
    }
}

/// Is `buffer` a buffer of the elements, and, if `scopes`, in the scope that `tensor` is declared with?
pub(super) fn same_kind(
    func: &Func,
    buffer: Value,
    intrinsic: &Intrinsic<'_>,
    tensor: Value,
    scopes: bool,
) -> Result<(), String> {
    let (name, tensor_name) = (func.value_text(buffer), intrinsic.func.value_text(tensor));
    let Some((elem, ..)) = func.as_shaped(func.value_type(buffer)) else {
        return Err(format!("`{name}` is a reference into a buffer, and no buffer"));
    };
    let Some((want, ..)) = intrinsic.func.as_shaped(intrinsic.func.value_type(tensor)) else {
        return Err(format!("`{tensor_name}` is no tensor"));
    };
    if func.as_scalar(elem).is_none() || func.as_scalar(elem) != intrinsic.func.as_scalar(want) {
        let (have, want) = (func.show_type(elem), intrinsic.func.show_type(want));
        return Err(format!("`{name}` holds `{have}` here, and `{tensor_name}` holds `{want}` there"));
    }
    let have = scope_of(func, buffer).unwrap_or("global");
    let declared = intrinsic.scope(tensor);
    if scopes && !scope_fits(declared, have) {
        let want = declared.unwrap_or("global or shared");
        return Err(format!("`{name}` is in `{have}` here, and `{tensor_name}` in `{want}` there"));
    }
    Ok(())
}

/// Along which dimensions of a buffer a tile runs, told by which indices the loops and the axes move: the last ones, or
/// those that move; the others are leading ones, of extent 1.
pub(super) fn dims(ours: &[bool], theirs: &[bool]) -> Option<Vec<usize>> {
    let leading = ours.len().checked_sub(theirs.len())?;
    if ours[leading..] == *theirs && !ours[..leading].contains(&true) {
        return Some((leading..ours.len()).collect());
    }
    let moving: Vec<usize> = (0..ours.len()).filter(|&dim| ours[dim]).collect();
    (moving.len() == theirs.len() && !theirs.contains(&false)).then_some(moving)
}

/// The distance of neighbours in each dimension of `buffer`, in elements; `None` where they cannot be told.
pub(super) fn strides(func: &Func, algebra: &mut Algebra, buffer: Value) -> Option<Vec<Expr>> {
    let (_, shape, _) = func.as_shaped(func.value_type(buffer))?;
    if let Some(attr) = func.buffer_attr(buffer, keys::STRIDES) {
        let tc_ir::AttrData::List(list) = func.attr_data(attr) else { return None };
        return (list.len() == shape.len()).then(|| list.iter().map(|&stride| algebra.attr(func, stride)).collect())?;
    }
    let mut strides = vec![algebra.analyzer.pool.int(1); shape.len()];
    let mut size = algebra.analyzer.pool.int(1);
    for (dim, &extent) in shape.iter().enumerate().rev() {
        strides[dim] = size;
        let extent = algebra.attr(func, extent)?;
        size = algebra.analyzer.pool.mul(extent, size);
    }
    Some(strides)
}

/// Is `buffer` one of tiles?
pub(super) fn is_tiles(func: &Func, buffer: Value) -> bool {
    scope_of(func, buffer).and_then(Scope::parse).is_some_and(Scope::is_tile)
}
