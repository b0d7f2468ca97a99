//! The top of a program: launch nests, what stands between them, calls of kernels.

use super::Result;
use super::body::{Binding, Compiler, Declarations, Frame};
use super::bulk::bind_map;
use super::control::{bind_sizes, callee_of};
use super::kernel::KernelBuilder;
use super::place::declare;
use super::sizes::{Sizes, bind_symbols};
use crate::cell::Cell;
use crate::code::{Instr, Kernel, NO_REG, Site, Space, Warpgroups};
use crate::domain::Domain;
use crate::limits::{MAX_BLOCKS, MAX_THREADS};
use std::collections::BTreeMap;
use tc_dialects::arith::{self, Predicate};
use tc_dialects::threads::{begins_bulk_copy, is_by_mbarrier, is_warpgroup_barrier};
use tc_dialects::tir::{self, Coordinate, LoopKind, loop_kind};
use tc_dialects::{gpu, tma, wgmma};
use tc_ir::attrs::{AttrData, BinOp};
use tc_ir::opdef::Role;
use tc_ir::verify::is_threaded;
use tc_ir::walk::ops_under;
use tc_ir::{Elem, Func, Module, Op, Value};
use tc_support::{Diagnostic, counted};

/// Lanes that a group of small blocks is filled up to.
const GROUP_LANES: u64 = 128;

/// How deep an expression over sizes may be.
const MAX_EXPR_DEPTH: usize = 100;

/// How deep functions that launch may call each other.
const MAX_CALLS: usize = 32;

/// A buffer that is one in all.
#[derive(Clone, Debug)]
pub(crate) struct GlobalInfo {
    /// The parameter it is, if it is one.
    pub(crate) param: Option<usize>,
    /// Its first declaration.
    pub(crate) decl: usize,
    pub(crate) read: bool,
    pub(crate) written: bool,
    /// It is updated atomically.
    pub(crate) updated: bool,
}

/// A program, ready to be run with any arguments whose scalars are those it was compiled with.
#[derive(Clone, Debug)]
pub(crate) struct Program {
    pub(crate) kernels: Vec<Kernel>,
    pub(crate) declarations: Declarations,
    pub(crate) globals: Vec<GlobalInfo>,
    pub(crate) n_host: usize,
}

/// What a program is compiled for.
#[derive(Clone, Copy)]
pub(crate) struct Request<'a> {
    pub(crate) sizes: &'a Sizes,
    /// The cells of scalar parameters, by their number.
    pub(crate) scalars: &'a BTreeMap<usize, Cell>,
    pub(crate) domain: Domain,
}

/// Compiles a program.
pub(crate) fn compile(module: &Module, func: &Func, request: Request<'_>) -> Result<Program> {
    let mut top = Top {
        module,
        request,
        declarations: Declarations::default(),
        params: BTreeMap::new(),
        kernels: Vec::new(),
        n_host: 0,
        n_sites: 0,
        calls: Vec::new(),
    };
    let sizes = bind_symbols(func, request.sizes)?;
    let mut frame = Frame::new(func, sizes)?;
    bind_sizes(&mut frame);
    for (nth, &param) in func.params().iter().enumerate() {
        let ty = func.value_type(param);
        if func.as_shaped(ty).is_some() {
            let at = func.location(func.header.loc);
            let decl = declare(func, param, &frame.sizes, at.clone())
                .map_err(|text| Box::new(Diagnostic::error("unsupported", at.clone(), text)))?;
            if !matches!(decl.space, Space::Global(_)) {
                let text = format!("parameter `{}` does not lie in global memory", func.value_text(param));
                return Err(Box::new(Diagnostic::error("unsupported", at, text)));
            }
            let decl = top.declarations.add(decl);
            top.params.insert(top.declarations.n_globals - 1, nth);
            frame.bind(param, Binding::Global(decl));
        } else if let (Some(scalar), Some(&cell)) = (func.as_scalar(ty), request.scalars.get(&nth)) {
            frame.bind(param, Binding::Known(scalar.elem, cell));
        }
    }
    top.function(frame)?;
    Ok(top.finish())
}

impl Declarations {
    /// Adds a buffer that is one in all; its place in the list.
    pub(crate) fn add(&mut self, mut decl: crate::code::BufDecl) -> usize {
        decl.space = Space::Global(self.n_globals);
        self.n_globals += 1;
        self.list.push(decl);
        self.list.len() - 1
    }
}

struct Top<'m, 'a> {
    module: &'m Module,
    request: Request<'a>,
    declarations: Declarations,
    params: BTreeMap<usize, usize>,
    kernels: Vec<Kernel>,
    n_host: usize,
    n_sites: Site,
    calls: Vec<&'m Func>,
}

impl<'m> Top<'m, '_> {
    fn function(&mut self, mut frame: Frame<'m>) -> Result<()> {
        let func = frame.func;
        if self.calls.len() > MAX_CALLS || self.calls.iter().any(|&caller| std::ptr::eq(caller, func)) {
            let text = format!("`@{}` calls itself", func.symbol());
            return Err(Box::new(Diagnostic::error("recursion", func.location(func.header.loc), text)));
        }
        self.calls.push(func);
        let mut pending: Vec<Op> = Vec::new();
        let mut worklist = vec![func.first_op(func.body())];
        while let Some(at) = worklist.pop() {
            let Some(op) = at else { continue };
            worklist.push(func.next_op(op));
            match func.opcode(op) {
                arith::CONSTANT => {}
                tir::IF if self.is_choice(func, op) => {
                    frame = self.host_part(frame, &mut pending)?;
                    let Some(condition) = known_int(&mut frame, func.operand(op, 0), 0) else {
                        pending.push(op);
                        continue;
                    };
                    let taken = func.op_regions(op).get(usize::from(condition == 0));
                    worklist.extend(taken.map(|&region| func.first_op(region)));
                }
                _ if func.role(op) == Role::Yield => {}
                tir::ALLOC => self.alloc(&mut frame, op)?,
                tir::VIEW => view(&mut frame, op),
                tma::MAP => bind_map(&mut frame, op, &mut self.declarations)?,
                tir::CALL if callee_of(self.module, func, op).is_some_and(launches) => {
                    frame = self.host_part(frame, &mut pending)?;
                    frame = self.launching_call(frame, op)?;
                }
                _ if is_nest(func, op) => {
                    frame = self.host_part(frame, &mut pending)?;
                    let (grid, block) = extents(&mut frame, op)?;
                    let kernel = self.new_kernel(func, op, grid, block);
                    frame = self.kernel(frame, kernel, &[op])?;
                }
                _ => pending.push(op),
            }
        }
        self.host_part(frame, &mut pending)?;
        self.calls.pop();
        Ok(())
    }

    /// Does the host choose by `op` what it launches?
    fn is_choice(&self, func: &Func, op: Op) -> bool {
        let launching = |op| func.opcode(op) == tir::CALL && callee_of(self.module, func, op).is_some_and(launches);
        func.n_results(op) == 0 && func.op_regions(op).iter().any(|&region| ops_under(func, region).any(launching))
    }

    fn alloc(&mut self, frame: &mut Frame<'m>, op: Op) -> Result<()> {
        let func = frame.func;
        let Some(result) = func.results(op).next() else { return Ok(()) };
        let at = func.op_location(op);
        let decl = declare(func, result, &frame.sizes, at.clone())
            .map_err(|text| Box::new(Diagnostic::error("unsupported", at, text)))?;
        let binding = match decl.space {
            Space::Global(_) => Binding::Global(self.declarations.add(decl)),
            _ => Binding::Deferred(op),
        };
        frame.bind(result, binding);
        Ok(())
    }

    /// What stands between launches: one thread does it.
    fn host_part(&mut self, frame: Frame<'m>, pending: &mut Vec<Op>) -> Result<Frame<'m>> {
        let ops = std::mem::take(pending);
        let Some(&first) = ops.first() else { return Ok(frame) };
        // One thread does this part, so what it calls must launch nothing.
        let regions = ops.iter().flat_map(|&op| frame.func.op_regions(op));
        let inside = regions.flat_map(|&region| ops_under(frame.func, region));
        let mut calls = inside.filter(|&op| frame.func.opcode(op) == tir::CALL);
        if let Some(call) = calls.find(|&op| callee_of(self.module, frame.func, op).is_some_and(launches)) {
            let text =
                "a launch inside a loop of the host, or under a condition that has no value before it".to_string();
            return Err(Box::new(Diagnostic::error("unsupported", frame.func.op_location(call), text)));
        }
        let mut kernel = self.new_kernel(frame.func, first, [1; 3], [1; 3]);
        kernel.threaded = false;
        self.kernel(frame, kernel, &ops)
    }

    fn new_kernel(&self, func: &Func, op: Op, grid: [u64; 3], block: [u64; 3]) -> Kernel {
        let (threads, blocks): (u64, u64) = (block.iter().product(), grid.iter().product());
        let mut warpgroups = self.warpgroups(func, op, 0);
        // Until their barriers are there, the threads of a nest go in step.
        warpgroups.clocked |= (warpgroups.stores || warpgroups.by_warpgroups || warpgroups.fenced) && is_threaded(func);
        let threaded = is_threaded(func) || warpgroups.clocked;
        // Until a pass has bound its threads to threadIdx.x, one stands for all of a warpgroup.
        warpgroups.lone = !threaded && block[0] == 1;
        let cluster = if warpgroups.clocked { cluster_size(func, op, grid) } else { 1 };
        let fits = if threaded && (threads > 32 || warpgroups.clocked) { 1 } else { GROUP_LANES / threads.max(1) };
        Kernel {
            grid,
            block,
            // Small launches are better spread over the cores. With clocks, the blocks of a cluster run side by side.
            batch: if warpgroups.clocked { cluster as u32 } else { fits.min(blocks / 64).max(1) as u32 },
            threaded,
            warpgroups,
            site_base: self.n_sites,
            location: func.op_location(op),
            ..Kernel::default()
        }
    }

    /// What `op`, and what it holds and calls, has of warpgroups.
    fn warpgroups(&self, func: &Func, op: Op, depth: usize) -> Warpgroups {
        let inside = func.op_regions(op).iter().flat_map(|&region| ops_under(func, region));
        let mut found = Warpgroups::default();
        for op in std::iter::once(op).chain(inside) {
            found.stores |= tma::writes_tensor(func, op) && tma::is_async(func, op);
            let has_barrier = tma::load_barrier(func, op).is_some();
            found.clocked |= is_by_mbarrier(func, op) || begins_bulk_copy(func, op) && has_barrier;
            found.by_warpgroups |= is_warpgroup_barrier(func, op);
            found.fenced |= func.opcode(op) == tma::FENCE;
            found.ordered |= matches!(func.opcode(op), wgmma::FENCE | wgmma::COMMIT | wgmma::WAIT);
            found.together |= func.opcode(op).dialect() == wgmma::MMA.dialect()
                || func.opcode(op) == gpu::SETMAXNREG
                || is_warpgroup_barrier(func, op);
            if func.opcode(op) == tir::CALL
                && depth < MAX_CALLS
                && let Some(callee) = callee_of(self.module, func, op)
            {
                for op in callee.ops(callee.body()) {
                    let of_callee = self.warpgroups(callee, op, depth + 1);
                    found.clocked |= of_callee.clocked;
                    found.ordered |= of_callee.ordered;
                    found.stores |= of_callee.stores;
                    found.by_warpgroups |= of_callee.by_warpgroups;
                    found.fenced |= of_callee.fenced;
                    found.together |= of_callee.together;
                }
            }
        }
        found
    }

    /// Compiles ops of the function's top into one kernel.
    fn kernel(&mut self, frame: Frame<'m>, kernel: Kernel, ops: &[Op]) -> Result<Frame<'m>> {
        let func = frame.func;
        let k = KernelBuilder::new(kernel, self.request.domain, false);
        let mut compiler =
            Compiler { module: self.module, k, frames: vec![frame], declarations: &mut self.declarations };
        let deferred: Vec<(Value, Op)> = func
            .ops(func.body())
            .flat_map(|op| func.results(op))
            .filter_map(|value| match compiler.frame().binding(value) {
                Binding::Deferred(op) => Some((value, op)),
                _ => None,
            })
            .collect();
        for &(_, op) in &deferred {
            match func.opcode(op) {
                tir::VIEW => compiler.view(op)?,
                _ => compiler.alloc(op)?,
            }
        }
        let mut exports = Vec::new();
        for &op in ops {
            compiler.op(op)?;
            for result in func.results(op) {
                if let Binding::Value(val) = compiler.frame().binding(result) {
                    exports.push((result, val));
                }
            }
        }
        compiler.k.emit(Instr::End);
        compiler.k.settle_windows();
        let Compiler { k, mut frames, .. } = compiler;
        let mut frame = frames.pop().expect("a compiler has a function");
        let mut kernel = k.kernel;
        for (value, val) in exports {
            kernel.exports.push(val.reg);
            frame.bind(value, Binding::Host(self.n_host, val.ty));
            self.n_host += usize::from(val.ty.lanes.max(1));
            if self.request.domain == Domain::Field && val.mag != NO_REG {
                kernel.exports.push(val.mag);
                self.n_host += usize::from(val.ty.lanes.max(1));
            }
        }
        for (value, op) in deferred {
            frame.bind(value, Binding::Deferred(op));
        }
        self.n_sites += kernel.sites.len() as Site;
        self.kernels.push(kernel);
        Ok(frame)
    }

    /// A call of a function that launches: its kernels come next.
    fn launching_call(&mut self, mut frame: Frame<'m>, op: Op) -> Result<Frame<'m>> {
        let func = frame.func;
        let Some(callee) = callee_of(self.module, func, op) else { return Ok(frame) };
        let refuse = |text: String| Box::new(Diagnostic::error("arguments", func.op_location(op), text));
        if callee.params().len() != func.operands(op).len() || func.n_results(op) > 0 {
            let n = callee.params().len();
            return Err(refuse(format!("`@{}` takes {} and has no results", callee.symbol(), counted(n, "argument"))));
        }
        let sizes = bind_symbols(callee, &frame.sizes)?;
        let mut inner = Frame::new(callee, sizes)?;
        bind_sizes(&mut inner);
        for (&param, &arg) in callee.params().iter().zip(func.operands(op)) {
            let binding = match frame.binding(arg) {
                Binding::Global(decl) => {
                    let own = &self.declarations.list[decl];
                    let name = callee.value_text(param);
                    let mut seen = declare(callee, param, &inner.sizes, own.location.clone()).map_err(&refuse)?;
                    if seen.elem != own.elem || seen.cells > own.cells {
                        return Err(refuse(format!(
                            "argument `{name}` of `@{}` does not fit its parameter",
                            callee.symbol()
                        )));
                    }
                    seen.space = own.space;
                    self.declarations.list.push(seen);
                    Binding::Global(self.declarations.list.len() - 1)
                }
                // The extents of launches are known before the program runs, what the host computes of sizes included.
                other @ (Binding::Unset | Binding::Host(..)) => {
                    let def = func.def_op(arg).filter(|&def| func.opcode(def) == arith::CONSTANT);
                    match (known_int(&mut frame, arg, 0).zip(callee.value_scalar(param)), def) {
                        (Some((value, scalar)), _) if scalar.elem.is_int() => {
                            Binding::Known(scalar.elem, crate::cell::of_int(value))
                        }
                        (_, Some(def)) => self.literal(func, def),
                        _ => other,
                    }
                }
                other => other,
            };
            inner.bind(param, binding);
        }
        self.function(inner)?;
        Ok(frame)
    }

    fn literal(&self, func: &Func, op: Op) -> Binding {
        let elem = func.results(op).next().and_then(|value| func.value_scalar(value)).map_or(Elem::F32, |ty| ty.elem);
        match func.attr_of(op, tc_ir::keys::VALUE).map(|attr| func.attr_data(attr)) {
            Some(AttrData::Float(bits, _)) => Binding::Known(elem, crate::cell::of_float(elem, f64::from_bits(*bits))),
            Some(AttrData::Bool(value)) => Binding::Known(elem, u64::from(*value)),
            _ => Binding::Unset,
        }
    }

    fn finish(self) -> Program {
        let mut globals: Vec<GlobalInfo> = Vec::new();
        for (decl, entry) in self.declarations.list.iter().enumerate() {
            let Space::Global(idx) = entry.space else { continue };
            if idx == globals.len() {
                globals.push(GlobalInfo {
                    param: self.params.get(&idx).copied(),
                    decl,
                    read: false,
                    written: false,
                    updated: false,
                });
            }
        }
        let mut kernels = self.kernels;
        for kernel in &mut kernels {
            kernel.reads.resize(globals.len(), false);
            kernel.writes.resize(globals.len(), false);
            kernel.updates.resize(globals.len(), false);
            for (idx, global) in globals.iter_mut().enumerate() {
                global.read |= kernel.reads[idx];
                global.written |= kernel.writes[idx];
                global.updated |= kernel.updates[idx];
            }
        }
        Program { kernels, declarations: self.declarations, globals, n_host: self.n_host }
    }
}

/// A view of a buffer that each kernel makes is made by each kernel too.
fn view(frame: &mut Frame<'_>, op: Op) {
    let func = frame.func;
    if let Some(result) = func.result(op) {
        let binding = match frame.binding(func.operand(op, 0)) {
            Binding::Deferred(_) => Binding::Deferred(op),
            other => other,
        };
        frame.bind(result, binding);
    }
}

/// Does `op` name a coordinate of a launch, or hold an op that does?
fn is_nest(func: &Func, op: Op) -> bool {
    let names =
        |op: Op| matches!(func.opcode(op), tir::FOR) && matches!(loop_kind(func, op), Some(LoopKind::Launch(_)));
    names(op) || func.op_regions(op).iter().any(|&region| ops_under(func, region).any(names))
}

/// Does the function launch anything? A kernel without bound axes does not.
fn launches(func: &Func) -> bool {
    let mut worklist = vec![func.first_op(func.body())];
    while let Some(at) = worklist.pop() {
        let Some(op) = at else { continue };
        if is_nest(func, op) || func.opcode(op) == tir::CALL {
            return true;
        }
        worklist.push(func.next_op(op));
        if func.opcode(op) == tir::IF {
            worklist.extend(func.op_regions(op).iter().map(|&region| func.first_op(region)));
        }
    }
    false
}

/// The blocks of a cluster of the launch that `nest` stands for; 1 where clusters do not divide the grid.
fn cluster_size(func: &Func, nest: Op, grid: [u64; 3]) -> u64 {
    let inner = func.op_regions(nest).iter().flat_map(|&region| ops_under(func, region));
    let size = std::iter::once(nest).chain(inner).find_map(|op| tir::cluster_of(func, op));
    size.and_then(|size| u64::try_from(size).ok()).filter(|&size| size > 0 && grid[0].is_multiple_of(size)).unwrap_or(1)
}

/// The extents of the launch that `nest` stands for: blocks, then threads.
fn extents(frame: &mut Frame<'_>, nest: Op) -> Result<([u64; 3], [u64; 3])> {
    let func = frame.func;
    let mut found: [Option<(u64, Op)>; 6] = [None; 6];
    let inner: Vec<Op> = func.op_regions(nest).iter().flat_map(|&region| ops_under(func, region)).collect();
    for op in std::iter::once(nest).chain(inner) {
        if func.opcode(op) != tir::FOR {
            continue;
        }
        let Some(LoopKind::Launch(coordinate)) = loop_kind(func, op) else { continue };
        let extent = loop_extent(frame, op)?;
        match found[coordinate.index()] {
            Some((other, first)) if other != extent => {
                let text =
                    format!("loops bound to `{}` have different extents, {other} and {extent}", coordinate.name());
                return Err(Box::new(
                    Diagnostic::error("launch-extent", func.op_location(op), text)
                        .label(func.op_location(first), format!("this one has {other}"))
                        .help("guard the smaller one"),
                ));
            }
            Some(_) => {}
            None => found[coordinate.index()] = Some((extent, op)),
        }
    }
    let dims = |of_threads: bool| {
        let mut dims = [1; 3];
        for coordinate in Coordinate::ALL.into_iter().filter(|coordinate| coordinate.is_thread() == of_threads) {
            dims[coordinate.dim()] = found[coordinate.index()].map_or(1, |(extent, _)| extent);
        }
        dims
    };
    let (grid, block) = (dims(false), dims(true));
    let product = |dims: [u64; 3]| dims.iter().try_fold(1u64, |product, &extent| product.checked_mul(extent));
    for (dims, limit, what) in [(grid, MAX_BLOCKS, "blocks"), (block, MAX_THREADS, "threads of a block")] {
        if product(dims).is_none_or(|n| n > limit) {
            let text =
                format!("a launch of {} × {} × {} {what} is more than the simulator runs", dims[0], dims[1], dims[2]);
            return Err(Box::new(Diagnostic::error("limit", func.op_location(nest), text)));
        }
    }
    Ok((grid, block))
}

fn loop_extent(frame: &mut Frame<'_>, op: Op) -> Result<u64> {
    let func = frame.func;
    let (lo, hi) = (func.operands(op)[0], func.operands(op)[1]);
    let ends = known_int(frame, lo, 0).zip(known_int(frame, hi, 0));
    let Some((lo, hi)) = ends else {
        let text = "the extent of a launch coordinate must be known before the launch".to_string();
        return Err(Box::new(Diagnostic::error("launch-extent", func.op_location(op), text)));
    };
    Ok(u64::try_from(hi.saturating_sub(lo)).unwrap_or(0))
}

/// The value of an expression of integers and truth values, 0 and 1, over literals, sizes and scalar arguments.
pub(crate) fn known_int(frame: &mut Frame<'_>, value: Value, depth: usize) -> Option<i128> {
    if let Some(&known) = frame.known.get(&value) {
        return known;
    }
    let found = compute_known(frame, value, depth);
    frame.known.insert(value, found);
    found
}

/// The values of expressions of sizes; `None` where the sizes are none that the function takes.
pub(crate) fn known_at(func: &Func, sizes: &Sizes, values: &[Value]) -> Option<Vec<Option<i128>>> {
    let mut frame = Frame::of_sizes(func, bind_symbols(func, sizes).ok()?);
    bind_sizes(&mut frame);
    Some(values.iter().map(|&value| known_int(&mut frame, value, 0)).collect())
}

fn compute_known(frame: &mut Frame<'_>, value: Value, depth: usize) -> Option<i128> {
    let func = frame.func;
    if let Binding::Known(elem, cell) = frame.binding(value) {
        return elem.is_int().then(|| crate::cell::int_of(elem, cell));
    }
    if let Some(attr) = func.constant(value) {
        return match func.attr_data(attr) {
            AttrData::Int(value, _) => Some(*value),
            AttrData::Bool(value) => Some(i128::from(*value)),
            _ => None,
        };
    }
    let op = func.def_op(value)?;
    if depth > MAX_EXPR_DEPTH || func.opcode(op).dialect() != arith::ADD.dialect() {
        return None;
    }
    let elem = func.value_scalar(value).filter(|scalar| scalar.lanes == 1)?.elem;
    let mut args = Vec::with_capacity(2);
    for &operand in func.operands(op) {
        args.push(known_int(frame, operand, depth + 1)?);
    }
    if let (Some(predicate), &[lhs, rhs]) = (Predicate::of(func, op), &args[..]) {
        return Some(i128::from(arith::eval::int_cmp(predicate, lhs, rhs)));
    }
    match (func.role(op), func.opcode(op), &args[..]) {
        (Role::Binary(BinOp::AndAnd), _, &[lhs, rhs]) => Some(lhs.min(rhs)),
        (Role::Binary(BinOp::OrOr), _, &[lhs, rhs]) => Some(lhs.max(rhs)),
        (Role::Binary(op), _, &[lhs, rhs]) => arith::eval::int_binary(op, lhs, rhs, elem),
        (_, arith::SELECT, &[condition, yes, no]) => Some(if condition != 0 { yes } else { no }),
        (_, opcode @ (arith::TDIV | arith::TMOD), &[lhs, rhs]) => arith::eval::int_trunc(opcode, lhs, rhs, elem),
        (_, arith::MIN, &[lhs, rhs]) => Some(lhs.min(rhs)),
        (_, arith::MAX, &[lhs, rhs]) => Some(lhs.max(rhs)),
        (_, arith::NEG, &[value]) => elem.fit(-value),
        (_, arith::CAST, &[value]) => elem.fit(value),
        _ => None,
    }
}
