//! What is known of a kernel before it is written: the extents of its launch, its shared memory, what it does to
//! each buffer.

use crate::access::{alignment, element};
use crate::{bulk, matrix, sizes};
use tc_dialects::algebra::is_launch;
use tc_dialects::fragment::Fragment;
use tc_dialects::gpu;
use tc_dialects::mbarrier::BARRIER_BYTES;
use tc_dialects::scope::Scope;
use tc_dialects::tir::{self, Coordinate, LoopKind};
use tc_ir::effects::{accesses, root_buffer, summary};
use tc_ir::walk::all_ops;
use tc_ir::{Func, Op, TypeData, Value, keys};
use tc_support::{Diagnostic, Diagnostics};
use tc_target::{Formula, Target};

/// The alignment that buffers in shared memory and parameters have where none is declared.
pub const DEFAULT_ALIGNMENT: u64 = 16;

/// Facts about one kernel.
pub struct Facts {
    /// Blocks by x, y, z; 1 where they follow from sizes.
    pub grid: [u64; 3],
    /// How blocks by x, y, z follow from sizes, where they do.
    pub formulas: [Option<Formula>; 3],
    /// Threads of a block by x, y, z.
    pub block: [u64; 3],
    /// Blocks of a cluster, along x.
    pub cluster: u64,
    /// It waits by itself for the kernels before it.
    pub overlaps: bool,
    /// Bytes of shared memory declared with a fixed size, with the gaps that alignment needs.
    pub static_shared: u64,
    /// Bytes of dynamic shared memory.
    pub dynamic_shared: u64,
    read: Vec<bool>,
    written: Vec<bool>,
    aligned: Vec<u64>,
    unrolled: Vec<bool>,
}

impl Facts {
    /// Facts about `func`; what `target` does not allow is found.
    pub fn new(func: &Func, target: &Target, found: &mut Diagnostics) -> Facts {
        let n_values = func.n_value_ids();
        let mut facts = Facts {
            grid: [1; 3],
            formulas: [const { None }; 3],
            block: [1; 3],
            cluster: 1,
            overlaps: false,
            static_shared: 0,
            dynamic_shared: 0,
            read: vec![false; n_values],
            written: vec![false; n_values],
            aligned: vec![0; n_values],
            unrolled: matrix::register_loops(func),
        };
        all_ops(func).for_each(|op| facts.accesses(func, op));
        let mut extents: Extents = [None; 6];
        let mut dynamic: Option<Op> = None;
        for op in all_ops(func) {
            if func.opcode(op) == tir::FOR
                && let Some(LoopKind::Launch(coordinate)) = tir::loop_kind(func, op)
            {
                launch(func, op, coordinate, (&mut extents, &mut facts.formulas), found);
                let cluster = tir::cluster_of(func, op).and_then(|size| u64::try_from(size).ok());
                facts.cluster = cluster.unwrap_or(facts.cluster);
            }
            if func.opcode(op) == tir::ALLOC {
                facts.alloc(func, op, target, &mut dynamic, found);
            }
        }
        facts.overlaps = overlaps(func, found);
        // Dynamic shared memory follows the static one, at its own alignment, and what is between counts as static.
        if let Some(buffer) = dynamic.and_then(|op| func.result(op)) {
            let align = facts.shared_alignment(func, buffer);
            facts.static_shared = facts.static_shared.div_ceil(align).saturating_mul(align);
        }
        for (coordinate, extent) in Coordinate::ALL.into_iter().zip(extents) {
            let Some((extent, op)) = extent else { continue };
            let (extents, most) = if coordinate.is_thread() {
                (&mut facts.block, target.max_block[coordinate.dim()])
            } else {
                (&mut facts.grid, target.max_grid[coordinate.dim()])
            };
            extents[coordinate.dim()] = extent;
            if extent > most {
                let text =
                    format!("an extent of {extent} along `{}`, where `{target}` allows {most}", coordinate.name());
                found.push(Diagnostic::error("over-limit", func.op_location(op), text));
            }
        }
        facts.threads(func, target, &extents, found);
        facts
    }

    /// Threads of a block.
    pub fn n_threads(&self) -> u64 {
        self.block.iter().fold(1u64, |product, &extent| product.saturating_mul(extent))
    }

    /// Is the buffer behind `place` read?
    pub fn is_read(&self, func: &Func, place: Value) -> bool {
        self.read[root_buffer(func, place).as_u32() as usize]
    }

    /// Is the buffer behind `place` written?
    pub fn is_written(&self, func: &Func, place: Value) -> bool {
        self.written[root_buffer(func, place).as_u32() as usize]
    }

    /// The alignment in bytes that accesses to the buffer behind `place` count on; 0 if none do.
    pub fn alignment(&self, func: &Func, place: Value) -> u64 {
        self.aligned[root_buffer(func, place).as_u32() as usize]
    }

    /// Does the variable of the loop `op` pick registers? Those have no addresses, so that the loop must be unrolled.
    pub fn picks_registers(&self, op: Op) -> bool {
        self.unrolled[op.as_u32() as usize]
    }

    /// The alignment of the buffer `buffer` in shared memory.
    pub fn shared_alignment(&self, func: &Func, buffer: Value) -> u64 {
        alignment_of(func, buffer).max(self.alignment(func, buffer))
    }

    fn accesses(&mut self, func: &Func, op: Op) {
        for (place, access) in accesses(func, op) {
            let root = root_buffer(func, place).as_u32() as usize;
            self.read[root] |= access.reads();
            self.written[root] |= access.writes();
            let aligned = func.int_of(op, keys::ALIGNED).and_then(|bytes| u64::try_from(bytes).ok()).unwrap_or(0);
            let aligned = aligned.min(DEFAULT_ALIGNMENT).max(matrix::alignment(func, op, place));
            self.aligned[root] = self.aligned[root].max(aligned);
        }
    }

    fn alloc(&mut self, func: &Func, op: Op, target: &Target, dynamic: &mut Option<Op>, found: &mut Diagnostics) {
        let Some(buffer) = func.result(op) else { return };
        let Some(bytes) = buffer_bytes(func, buffer) else { return };
        let shared = Scope::of(func, buffer).filter(|scope| scope.is_shared());
        match shared.map(Scope::is_sized_by_launch) {
            Some(false) => {
                let align = self.shared_alignment(func, buffer);
                let before = self.static_shared;
                self.static_shared = before.div_ceil(align).saturating_mul(align).saturating_add(bytes);
                let most = target.static_shared_per_block;
                if before <= most && self.static_shared > most {
                    let text = format!(
                        "with `{}` the kernel has {} bytes of shared memory of fixed size, where `{target}` allows {most}",
                        func.value_text(buffer),
                        self.static_shared
                    );
                    let help = "make the buffers smaller, or put one into the scope `shared.dyn`";
                    found.push(Diagnostic::error("over-limit", func.op_location(op), text).help(help));
                }
            }
            Some(true) => {
                if let Some(first) = *dynamic {
                    let text = "a kernel has one buffer in `shared.dyn`, and this is another";
                    found.push(
                        Diagnostic::error("dynamic-shared", func.op_location(op), text)
                            .label(func.op_location(first), "the first one")
                            .help(
                                "run the pass `merge-shared-memory`, or make views into one buffer of the size of all",
                            ),
                    );
                }
                *dynamic = Some(op);
                self.dynamic_shared = self.dynamic_shared.saturating_add(bytes);
                let most = target.max_shared_per_block;
                if self.dynamic_shared > most {
                    let text =
                        format!("{} bytes of shared memory, where `{target}` allows {most}", self.dynamic_shared);
                    found.push(Diagnostic::error("over-limit", func.op_location(op), text));
                }
            }
            None => {}
        }
    }

    fn threads(&self, func: &Func, target: &Target, extents: &Extents, found: &mut Diagnostics) {
        let most = target.max_threads_per_block;
        if self.n_threads() > most {
            let innermost = extents.iter().flatten().next_back().map(|(_, op)| func.op_location(*op));
            let [x, y, z] = self.block;
            let text = format!("a block has {x} x {y} x {z} threads, where `{target}` allows {most} in all");
            found.push(Diagnostic::error("over-limit", innermost.unwrap_or_default(), text));
        }
        let all = self.static_shared.saturating_add(self.dynamic_shared);
        if self.dynamic_shared <= target.max_shared_per_block
            && self.static_shared <= target.static_shared_per_block
            && all > target.max_shared_per_block
        {
            let text = format!(
                "the kernel has {all} bytes of shared memory, where `{target}` allows {}",
                target.max_shared_per_block
            );
            found.push(Diagnostic::error("over-limit", func.location(func.header.loc), text));
        }
    }
}

/// Does the kernel wait for those before it? Then it does nothing else before.
fn overlaps(func: &Func, found: &mut Diagnostics) -> bool {
    let is_wait = |op: Op| func.opcode(op) == gpu::GRIDDEPCONTROL && func.word_of(op, keys::ACTION) == Some("wait");
    let Some(wait) = all_ops(func).find(|&op| is_wait(op)) else { return false };
    let does_nothing = |op: Op| is_launch(func, op) || func.opcode(op) == tir::ALLOC || summary(func, op).is_pure();
    if let Some(first) = all_ops(func).take_while(|&op| op != wait).find(|&op| !does_nothing(op)) {
        let text = format!("`{}` stands before the kernel waits for those launched before it", func.op_name(first));
        let help = "let `gpu.griddepcontrol(action = wait)` be the first that each thread does";
        let diagnostic = Diagnostic::error("griddepcontrol", func.op_location(first), text);
        found.push(diagnostic.label(func.op_location(wait), "it waits here").help(help));
    }
    true
}

/// The extent of each coordinate of the launch, and the loop that says so.
type Extents = [Option<(u64, Op)>; 6];

/// Notes the extent of the launch loop `op`.
fn launch(
    func: &Func,
    op: Op,
    coordinate: Coordinate,
    (extents, formulas): (&mut Extents, &mut [Option<Formula>; 3]),
    found: &mut Diagnostics,
) {
    let (lo, hi) = (func.const_int(func.operand(op, 0)), func.const_int(func.operand(op, 1)));
    if lo.is_none() {
        // Emitters add a start that is a number; any other would have to be handed to the kernel.
        let text = format!("the launch loop over `{}` does not start at a number", coordinate.name());
        let help = "loop from 0 on, and add the start where the variable is used";
        found.push(Diagnostic::error("no-emitter", func.op_location(op), text).help(help));
        return;
    }
    let slot = &mut extents[coordinate.index()];
    let (Some(lo), Some(hi)) = (lo, hi) else {
        let formula = sizes::extent(func, op).filter(|_| !coordinate.is_thread());
        let Some(formula) = formula else {
            let text = format!("the extent of the launch along `{}` is not constant", coordinate.name());
            let help = "loop up to a number, and leave out what is beyond by an `if`";
            found.push(Diagnostic::error("no-emitter", func.op_location(op), text).help(help));
            return;
        };
        let known = &mut formulas[coordinate.dim()];
        match (slot, &known) {
            (None, None) => *known = Some(formula),
            (None, Some(other)) if *other == formula => {}
            _ => {
                let text = format!("two loops over `{}` have different extents", coordinate.name());
                found.push(Diagnostic::error("launch-extent", func.op_location(op), text));
            }
        }
        return;
    };
    let extent = i128::from(hi) - i128::from(lo);
    let Ok(extent) = u64::try_from(extent.max(0)) else { return };
    if extent == 0 {
        let text = format!("nothing is launched: `{}` runs from {lo} to {hi}", coordinate.name());
        found.push(Diagnostic::error("empty-launch", func.op_location(op), text));
    }
    if !coordinate.is_thread() && formulas[coordinate.dim()].is_some() {
        let text = format!("two loops over `{}` have different extents", coordinate.name());
        found.push(Diagnostic::error("launch-extent", func.op_location(op), text));
    }
    match slot {
        Some((other, first)) if *other != extent => {
            let text = format!("two loops over `{}` have extents {other} and {extent}", coordinate.name());
            found.push(
                Diagnostic::error("launch-extent", func.op_location(op), text)
                    .label(func.op_location(*first), format!("this one has {other}")),
            );
        }
        Some(_) => {}
        None => *slot = Some((extent, op)),
    }
}

/// The scope of the buffer `value`; parameters are `global`.
pub fn scope_name(func: &Func, value: Value) -> &str {
    match func.type_data(func.value_type(value)) {
        TypeData::Shaped { scope: Some(scope), .. } => func.text(*scope),
        _ => "global",
    }
}

/// The type of the fragments in the buffer `value`, if it is one of fragments.
pub fn fragment_of(func: &Func, value: Value) -> Option<Fragment> {
    let (elem, _, _) = func.as_shaped(func.value_type(value))?;
    Fragment::of(func, elem)
}

/// The number of elements of the buffer `value`, if its extents are constant.
pub fn n_elements(func: &Func, value: Value) -> Option<u64> {
    let (_, shape, _) = func.as_shaped(func.value_type(value))?;
    shape.iter().try_fold(1u64, |product, &extent| {
        product.checked_mul(func.as_int(extent).and_then(|extent| u64::try_from(extent).ok())?)
    })
}

/// The bytes of the buffer `value`, if its extents are constant.
pub fn buffer_bytes(func: &Func, value: Value) -> Option<u64> {
    let bytes = match element(func, func.value_type(value)) {
        Some(elem) => elem.bytes(),
        None if bulk::is_barriers(func, value) => BARRIER_BYTES,
        None => return None,
    };
    n_elements(func, value)?.checked_mul(bytes.into())
}

/// The alignment of a buffer in shared memory, or of a parameter.
pub fn alignment_of(func: &Func, value: Value) -> u64 {
    let least = if bulk::is_barriers(func, value) { BARRIER_BYTES.into() } else { DEFAULT_ALIGNMENT };
    declared_alignment(func, value).max(least)
}

/// The alignment that the buffer `value` declares, or that of its elements.
pub fn declared_alignment(func: &Func, value: Value) -> u64 {
    let declared = func.buffer_attr(value, keys::ALIGN).and_then(|attr| func.as_int(attr));
    let declared = declared.and_then(|bytes| u64::try_from(bytes).ok()).unwrap_or(1);
    let elem = element(func, func.value_type(value)).map_or(1, alignment);
    declared.max(elem.into())
}
