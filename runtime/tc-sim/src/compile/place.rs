//! Buffers, and accesses to them.

use super::Result;
use super::body::{Binding, Compiler};
use super::kernel::Val;
use super::sizes::{Sizes, eval_attr, eval_shape};
use crate::code::{Access, BufDecl, BufId, Instr, Space, Window};
use tc_dialects::fragment::{Family, Fragment};
use tc_dialects::mbarrier;
use tc_dialects::scope::{Memory, Owner, Scope, scope_text};
use tc_dialects::update::UpdateKind;
use tc_ir::{AttrData, Elem, Func, Op, Scalar, Value, keys};
use tc_support::Location;

/// Which kind of space a scope is.
pub(super) fn space_of(scope: &str) -> Option<Space> {
    let scope = Scope::parse(scope)?;
    Some(match (scope.memory(), scope.owner()) {
        (Memory::Global, _) => Space::Global(0),
        // What threads hold together is one buffer of the block, until a pass gives each its part.
        (Memory::Shared, _) | (Memory::Registers, Owner::Block) => Space::Shared(0),
        (Memory::Registers, Owner::Warp) => Space::Warp(0),
        (Memory::Registers, _) => Space::Local(0),
    })
}

/// The declaration of `buffer`, whose scope is `global` unless its type says another.
pub(super) fn declare(
    func: &Func,
    buffer: Value,
    sizes: &Sizes,
    location: Location,
) -> std::result::Result<BufDecl, String> {
    let (ty, name) = (func.value_type(buffer), func.value_text(buffer));
    let Some((elem, shape, scope)) = func.as_shaped(ty) else {
        return Err(format!("`{}` is no buffer", func.show_type(ty)));
    };
    let scope = scope_text(func, scope);
    let threads = Scope::parse(scope).map_or(1, |scope| if scope.is_per_warp() { scope.threads() as usize } else { 1 });
    let space = space_of(scope).ok_or_else(|| format!("memory `{scope}` cannot be executed yet by the simulator"))?;
    // Of a barrier the memory is known, and nothing else is kept there.
    let barrier = mbarrier::is_barrier_type(func, elem).then_some(Scalar::of(Elem::U64));
    let number = func.as_scalar(elem).or(barrier).or_else(|| numbers(Fragment::of(func, elem)?, space));
    let Some(Scalar { elem, lanes }) = number else {
        return Err(format!("a buffer of `{}` cannot be executed yet by the simulator", func.show_type(elem)));
    };
    let shape = eval_shape(func, shape, sizes)?;
    let strides = eval_strides(func, buffer, sizes, &shape)?;
    // Elements that lie apart take the space between them along, as `storage-flatten` counts it.
    let mut reach = shape.iter().zip(&strides).map(|(&extent, &stride)| extent.checked_mul(stride as u64));
    let most = reach.try_fold(1, |most: u64, n| Some(most.max(n?)));
    let n_elements = if shape.contains(&0) { Some(0) } else { most };
    let cells = n_elements
        .and_then(|n| n.checked_mul(u64::from(lanes)))
        .filter(|&n| n < 1 << 40 && usize::try_from(n).is_ok())
        .ok_or_else(|| format!("`{name}` is too large for the simulator"))?;
    let name = if name.is_empty() { "a buffer".to_string() } else { name.to_string() };
    Ok(BufDecl { name, elem, lanes, shape, strides, cells: cells as usize, space, threads, window: None, location })
}

/// The numbers of a fragment, which are kept as one element is.
fn numbers(fragment: Fragment, space: Space) -> Option<Scalar> {
    let (rows, cols) = fragment.extents();
    let lanes = u16::try_from(rows.checked_mul(cols)?).ok().filter(|&lanes| lanes > 0 && rows > 0)?;
    matches!(space, Space::Warp(_)).then_some(Scalar { elem: fragment.elem, lanes })
}

/// How far apart neighbours lie in each dimension: as the buffer says, else row-major.
fn eval_strides(func: &Func, buffer: Value, sizes: &Sizes, shape: &[u64]) -> std::result::Result<Vec<i64>, String> {
    if let Some(attr) = func.buffer_attr(buffer, keys::STRIDES)
        && let AttrData::List(list) = func.attr_data(attr)
    {
        let known = list.iter().map(|&stride| eval_attr(func, stride, sizes).filter(|&stride| stride >= 0));
        let strides: Option<Vec<i64>> = known.collect();
        return strides
            .filter(|strides| strides.len() == shape.len())
            .ok_or_else(|| format!("the strides {} have no value for the simulator", func.show_attr(attr)));
    }
    let mut strides = vec![1i64; shape.len()];
    for dim in (1..shape.len()).rev() {
        strides[dim - 1] = strides[dim].saturating_mul(i64::try_from(shape[dim]).unwrap_or(i64::MAX));
    }
    Ok(strides)
}

impl Compiler<'_, '_> {
    /// The buffer behind a place.
    pub(super) fn buffer(&mut self, place: Value, user: Op) -> Result<BufId> {
        match self.frame().binding(place) {
            Binding::Buffer(buf) => Ok(buf),
            Binding::Global(decl) => Ok(self.k.global(decl, &self.declarations.list[decl])),
            _ => Err(self.unsupported(user, &format!("the place `{}`", self.func().value_text(place)))),
        }
    }

    /// A buffer as a function called with it declares it.
    pub(super) fn seen_as(&mut self, callee: &Func, param: Value, buf: BufId, sizes: &Sizes, op: Op) -> Result<BufId> {
        let own = &self.k.kernel.buffers[buf as usize];
        let location = own.location.clone();
        let (space, elem, cells, window) = (own.space, own.elem, own.cells, own.window);
        let name = callee.value_text(param);
        let mut decl = declare(callee, param, sizes, location).map_err(|text| self.error(op, "unsupported", text))?;
        if decl.elem != elem || decl.cells > cells {
            let text = format!("argument `{name}` of `@{}` does not fit its parameter", callee.symbol());
            return Err(self.error(op, "arguments", text));
        }
        (decl.space, decl.window) = (space, window);
        self.k.kernel.buffers.push(decl);
        Ok(self.k.kernel.buffers.len() as BufId - 1)
    }

    pub(super) fn alloc(&mut self, op: Op) -> Result<()> {
        let func = self.func();
        let Some(result) = func.results(op).next() else { return Err(self.unsupported(op, "this alloc")) };
        let location = func.op_location(op);
        let sizes = self.frame().sizes.clone();
        let decl = declare(func, result, &sizes, location).map_err(|text| self.error(op, "unsupported", text))?;
        let buf = match decl.space {
            Space::Global(_) => {
                let decl_id = self.declarations.add(decl);
                self.k.global(decl_id, &self.declarations.list[decl_id])
            }
            _ => {
                let family = Scope::of(func, result).and_then(Scope::tiles).map(|(family, _)| family);
                let is_divided = family.is_some_and(|family| family != Family::Wmma);
                let threads = if self.k.kernel.warpgroups.lone && is_divided { 1 } else { decl.threads };
                let buf = self.k.on_chip(BufDecl { threads, ..decl });
                self.k.emit(Instr::Alloc { buf });
                buf
            }
        };
        self.frame().bind(result, Binding::Buffer(buf));
        Ok(())
    }

    /// A buffer inside another one: it lies where that does, from a byte on.
    pub(super) fn view(&mut self, op: Op) -> Result<()> {
        let func = self.func();
        let (Some(result), &[base, offset]) = (func.result(op), func.operands(op)) else {
            return Err(self.unsupported(op, "this view"));
        };
        let base = self.buffer(base, op)?;
        let sizes = self.frame().sizes.clone();
        let location = func.op_location(op);
        let mut decl = declare(func, result, &sizes, location).map_err(|text| self.error(op, "unsupported", text))?;
        let own = &self.k.kernel.buffers[base as usize];
        match own.space {
            Space::Global(_) => return Err(self.unsupported(op, "a view of global memory")),
            Space::Warp(_) => return Err(self.unsupported(op, "a view of a tile")),
            _ => {}
        }
        let start = func.const_int(offset).and_then(|offset| usize::try_from(offset).ok());
        let start_byte = start.and_then(|start| start.checked_add(own.window.map_or(0, |window| window.start_byte)));
        let fits = |end: usize| end <= own.window.map_or(0, |window| window.start_byte) + own.bytes();
        let Some(start_byte) = start_byte.filter(|start| start.checked_add(decl.bytes()).is_some_and(fits)) else {
            return Err(self.error(op, "unsupported", "a view that is not inside its base cannot be executed"));
        };
        decl.space = own.space;
        decl.window = Some(Window { start_byte, start: 0, cell_bytes: 0, n_cells: 0 });
        self.k.kernel.buffers.push(decl);
        let buf = self.k.kernel.buffers.len() as BufId - 1;
        self.frame().bind(result, Binding::Buffer(buf));
        Ok(())
    }

    pub(super) fn load(&mut self, op: Op) -> Result<()> {
        let func = self.func();
        let Some((&place, indices)) = func.operands(op).split_first() else {
            return Err(self.unsupported(op, "this load"));
        };
        let buf = self.buffer(place, op)?;
        let indices = self.vals(indices, op)?;
        let value = self.k.value(self.result_type(op)?, true, false);
        let access = self.access(op, buf, &indices, value, false)?;
        self.k.emit(Instr::Load(Box::new(access)));
        self.bind_result(op, value);
        Ok(())
    }

    pub(super) fn store(&mut self, op: Op) -> Result<()> {
        let func = self.func();
        let operands = func.operands(op);
        let (Some((&place, rest)), Some(&value)) = (operands.split_first(), operands.last()) else {
            return Err(self.unsupported(op, "this store"));
        };
        let buf = self.buffer(place, op)?;
        let indices = self.vals(&rest[..rest.len() - 1], op)?;
        let value = self.val(value, op)?;
        let access = self.access(op, buf, &indices, value, true)?;
        self.k.emit(Instr::Store(Box::new(access)));
        Ok(())
    }

    /// An atomic update of one element.
    pub(super) fn update(&mut self, op: Op) -> Result<()> {
        let func = self.func();
        let (Some(kind), &[place, value]) = (UpdateKind::of(func, op), func.operands(op)) else {
            return Err(self.unsupported(op, "this update"));
        };
        let region = self.region_of(place, op, true)?;
        let value = self.val(value, op)?;
        let decl = &self.k.kernel.buffers[region.access.buf as usize];
        let is_one = region.lengths.iter().all(|&length| length == 1) && decl.lanes == 1;
        let is_fit = is_one && (value.ty.lanes, value.ty.elem) == (1, decl.elem);
        if !is_fit || !matches!(decl.space, Space::Global(_) | Space::Shared(_)) {
            return Err(self.unsupported(op, "this update"));
        }
        self.k.mark_updated(region.access.buf, region.access.site, kind);
        let access = Box::new(Access { value: value.reg, mag: value.mag, ..region.access });
        self.k.emit(Instr::Update { access, kind });
        Ok(())
    }

    pub(super) fn access(&mut self, op: Op, buf: BufId, indices: &[Val], value: Val, is_store: bool) -> Result<Access> {
        let decl = &self.k.kernel.buffers[buf as usize];
        let index_lanes = indices.last().map_or(1, |index| index.ty.lanes);
        let lanes = decl.lanes.max(index_lanes);
        if indices.len() != decl.shape.len() || value.ty.lanes != lanes || value.ty.elem != decl.elem {
            return Err(self.unsupported(op, &format!("this access to `{}`", self.k.kernel.buffers[buf as usize].name)));
        }
        self.k.mark_accessed(buf, is_store);
        let aligned = self.func().int_of(op, keys::ALIGNED).and_then(|n| u32::try_from(n).ok()).unwrap_or(0);
        Ok(Access {
            buf,
            indices: indices.iter().map(|index| index.reg).collect(),
            index_lanes,
            value: value.reg,
            mag: value.mag,
            aligned,
            site: self.site(op, is_store),
            poison: None,
        })
    }
}
