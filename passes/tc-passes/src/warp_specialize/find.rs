//! The ring of a nest: its buffers, the loop that goes round it, and what stays outside of the roles.

use super::around;
use super::cluster::{self, Cluster};
use super::refuse;
use crate::analysis::launch::{Nest, coordinate, loop_var};
use indexmap::IndexSet;
use tc_dialects::algebra::is_launch;
use tc_dialects::tir::Coordinate;
use tc_dialects::{tir, tma, wgmma};
use tc_ir::effects::{root_buffer, summary};
use tc_ir::uses::{Use, Uses};
use tc_ir::walk::ops_under;
use tc_ir::{Func, Op, Region, Value, keys};
use tc_support::{Diagnostic, counted};

/// The threads of a warp.
const WARP: i64 = 32;

/// A buffer that becomes a ring.
pub(super) struct Slots {
    pub(super) alloc: Op,
    pub(super) buffer: Value,
    /// The elements from one slot to the next.
    pub(super) distance: i64,
}

/// What is to be divided.
pub(super) struct Ring {
    pub(super) loads: Vec<Op>,
    pub(super) slots: Vec<Slots>,
    /// How many there are.
    pub(super) n: i64,
    /// The bytes that the loads of one iteration bring.
    pub(super) bytes: i64,
    /// The loop whose iterations use a slot each, and the loops in order around it, outermost first; conditions between.
    pub(super) around: Vec<Op>,
    /// How many of these loops, from the outermost on, tell how often one inside of them runs: they carry the number of iterations.
    pub(super) n_counted: usize,
    /// The region that holds the loads.
    pub(super) body: Region,
    /// The region that becomes the consumers'.
    pub(super) home: Region,
    /// The loop over threadIdx.y that is there, and how far it runs.
    pub(super) rows: Option<Op>,
    pub(super) n_rows: i64,
    /// The loop over threadIdx.x around `home`, and how many threads it numbers.
    pub(super) lanes: Option<Op>,
    pub(super) n_lanes: i64,
    /// Only products of warpgroups read the ring.
    pub(super) by_products: bool,
    /// The blocks that share copies, if there are several.
    pub(super) cluster: Option<Cluster>,
}

impl Ring {
    /// The blocks that read what one brings.
    pub(super) fn n_blocks(&self) -> i64 {
        self.cluster.as_ref().map_or(1, |cluster| cluster.n)
    }

    /// The loops around the loads, outermost first.
    pub(super) fn loops(&self, func: &Func) -> Vec<Op> {
        self.around.iter().copied().filter(|&op| func.opcode(op) == tir::FOR).collect()
    }
}

pub(super) type Found<T> = Result<T, Box<Diagnostic>>;

pub(super) fn error(func: &Func, at: Op, text: String, help: &str) -> Box<Diagnostic> {
    Box::new(Diagnostic::error("roles", func.asked_location(at), text).help(help.to_string()))
}

/// `found`, with what `text` says of `op`, unless it was found there.
pub(super) fn labelled(func: &Func, found: Diagnostic, op: Op, text: &str) -> Box<Diagnostic> {
    let place = func.asked_location(op);
    Box::new(if found.location == place { found } else { found.label(place, text) })
}

/// The ring that `loads`, all of the nest's, fill.
pub(super) fn find(func: &Func, nest: &Nest, loads: &[Op]) -> Found<Ring> {
    let body = func.region_of(loads[0]).expect("a load stands in a region");
    if let Some(&stray) = loads.iter().find(|&&load| func.region_of(load) != Some(body)) {
        let text = "bulk copies of one kernel stand in two places, and one producer makes them in one loop".to_string();
        let found = error(func, stray, text, "compute the copies at one loop");
        return Err(labelled(func, *found, loads[0], "the others are here"));
    }
    let home = home(func, nest);
    let (around, n_counted) = around::find(func, nest, loads[0], home)?;
    let (slots, n) = slots(func, loads, body)?;
    let (rows, n_rows, lanes, n_lanes) = threads(func, nest, loads[0], home)?;
    let bytes = loads.iter().try_fold(0i64, |sum, &load| sum.checked_add(tma::load_bytes(func, load)?));
    let bytes = bytes.filter(|&bytes| bytes <= tc_dialects::mbarrier::MAX_COUNT).ok_or_else(|| {
        let text = "the bytes of one slot are more than a barrier counts".to_string();
        error(func, loads[0], text, "copy smaller tiles")
    })?;
    let buffers: IndexSet<Value> = slots.iter().map(|slots| slots.buffer).collect();
    let by_products = refuse::check(func, nest, (loads, body), &buffers)?;
    if by_products && n_lanes != wgmma::WARPGROUP {
        let text = format!("warpgroups are numbered by threadIdx.y here, and threadIdx.x numbers {n_lanes}");
        return Err(error(func, loads[0], text, "bind loops of extent 128 to threadIdx.x"));
    }
    let cluster = cluster::find(func, nest, (loads, &around), by_products)?;
    let loads = loads.to_vec();
    Ok(Ring {
        loads,
        slots,
        n,
        bytes,
        around,
        n_counted,
        body,
        home,
        rows,
        n_rows,
        lanes,
        n_lanes,
        by_products,
        cluster,
    })
}

/// The body of the innermost launch loop that holds all of the nest.
fn home(func: &Func, nest: &Nest) -> Region {
    let mut at = nest.op;
    loop {
        let body = func.op_regions(at)[0];
        let statements: Vec<Op> = func.ops(body).filter(|&op| !is_plain(func, op)).collect();
        match statements[..] {
            [only] if is_launch(func, only) => at = only,
            _ => return body,
        }
    }
}

/// Does `op` compute, or end its region, and no more?
pub(super) fn is_plain(func: &Func, op: Op) -> bool {
    func.row(op).terminator || summary(func, op).is_pure()
}

/// The buffers that the loads fill, and the number of slots.
fn slots(func: &Func, loads: &[Op], body: Region) -> Found<(Vec<Slots>, i64)> {
    let mut buffers: IndexSet<Value> = IndexSet::new();
    buffers.extend(loads.iter().map(|&load| root_buffer(func, func.operand(load, 0))));
    let (mut slots, mut n) = (Vec::new(), None);
    let uses = Uses::of(func);
    for buffer in buffers {
        let name = func.value_text(buffer);
        let Some(alloc) = func.def_op(buffer).filter(|&op| func.opcode(op) == tir::ALLOC) else {
            let text = format!("`{name}` is filled by bulk copies, and is no buffer that the kernel makes");
            return Err(error(func, loads[0], text, "make it in the loop that copies"));
        };
        if func.region_of(alloc) != Some(body) {
            let text = format!("`{name}` is filled by bulk copies of a loop, and made outside of it");
            return Err(error(func, alloc, text, "make it in the body of the loop that copies"));
        }
        let own = func.int_of(alloc, keys::STAGES).unwrap_or(1);
        let &mut known = n.get_or_insert(own);
        if own != known {
            let text = format!("`{name}` has {}, and another buffer of the loop {known}", counted(own, "stage"));
            return Err(error(func, alloc, text, "give all buffers of a loop the same number of stages"));
        }
        let whole = |user: &&Use| {
            user.idx != 0 || !matches!(func.opcode(user.op), tir::LOAD | tir::STORE | tir::REF | tir::REGION)
        };
        if let Some(user) = uses.of_value(buffer).iter().find(whole) {
            let text = format!("`{}` takes `{name}` as a whole, so it cannot have slots", func.op_name(user.op));
            return Err(error(func, user.op, text, "access its elements"));
        }
        let Some(distance) = distance(func, alloc, buffer) else {
            let text = format!("the size of `{name}` is not constant, so it cannot have slots");
            return Err(error(func, alloc, text, "give it constant extents"));
        };
        slots.push(Slots { alloc, buffer, distance });
    }
    Ok((slots, n.unwrap_or(1)))
}

/// How many elements apart slots lie: each is as aligned as the buffer was.
fn distance(func: &Func, alloc: Op, buffer: Value) -> Option<i64> {
    let (elem, shape, _) = func.as_shaped(func.value_type(buffer))?;
    let extent = shape.iter().try_fold(1i64, |product, &dim| product.checked_mul(func.as_int(dim)?))?;
    let width = func.as_scalar(elem).map(|scalar| i64::from(scalar.bytes()))?;
    let step = (func.int_of(alloc, keys::ALIGN).unwrap_or(1) / width.max(1)).max(1);
    extent.checked_add(step - 1).map(|padded| padded / step * step)
}

type Threads = (Option<Op>, i64, Option<Op>, i64);

/// The loops over threads, and how far they run.
fn threads(func: &Func, nest: &Nest, load: Op, home: Region) -> Found<Threads> {
    let outside = |op: Op| !ops_under(func, home).any(|inner| inner == op);
    let first_of = |of: Coordinate| nest.loops.iter().map(|&(op, _)| op).find(|&op| coordinate(func, op) == Some(of));
    let strays = nest.loops.iter().filter(|&&(_, of)| of.is_thread() && of != Coordinate::ThreadX);
    let stray = strays.map(|&(op, _)| op).find(|&op| coordinate(func, op) != Some(Coordinate::ThreadY) || !outside(op));
    if let Some(stray) = stray {
        let text = format!(
            "`{}` numbers threads by {}, and the warps of a producer are told from others by a loop over threadIdx.y that \
             holds all of the kernel",
            func.value_text(loop_var(func, stray)),
            coordinate(func, stray).map_or("", Coordinate::name)
        );
        let found = error(
            func,
            stray,
            text,
            "bind one loop over groups of warps to threadIdx.y, and what is inside to threadIdx.x",
        );
        return Err(labelled(func, *found, load, "the bulk copy"));
    }
    let (Some(n_rows), Some(n_lanes)) = (nest.extent(Coordinate::ThreadY), nest.extent(Coordinate::ThreadX)) else {
        let text = "the number of threads of a kernel with bulk copies is a constant".to_string();
        return Err(error(func, nest.op, text, "bind loops of constant extents"));
    };
    if n_lanes % WARP != 0 {
        let text =
            format!("a producer gets warps of its own, and threadIdx.x numbers {n_lanes}, which are no whole warps");
        return Err(error(func, load, text, "bind loops of a multiple of 32 iterations to threadIdx.x"));
    }
    let lanes = first_of(Coordinate::ThreadX).filter(|&op| outside(op));
    Ok((first_of(Coordinate::ThreadY), n_rows, lanes, n_lanes))
}
