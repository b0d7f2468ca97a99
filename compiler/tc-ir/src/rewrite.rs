//! The rewriter: every edit of ops that are there.
//!
//! It keeps use counts right and records whether anything changed. Replacing a value is done in two steps: the
//! replacement is noted at once, and operands are brought up to date when the walk reaches them or when the
//! rewriter is finished. How many operands are still to be found is counted, and users of a value stand behind its
//! definition: finishing costs the way from there to the last of them, not the length of the function.

use crate::builder::Builder;
use crate::entity::{Attr, Attrs, Name, Op, Region, Type, Value};
use crate::func::{Def, Func, Locs};
use crate::opdef::Opcode;
use crate::paged::Paged;
use crate::walk::OpRange;
use cranelift_entity::packed_option::PackedOption;
use smallvec::SmallVec;
use std::mem::take;

/// Of more replaced values it is not remembered where their users begin.
const MAX_STARTS: usize = 64;

/// Edits a function. Dropping it brings all operands up to date.
pub struct Rewriter<'f> {
    func: &'f mut Func,
    replaced: Paged<Value, PackedOption<Value>>,
    /// The replacements that operands have still to follow, of each operand as many as lie between its value and what
    /// stands for that now.
    behind: usize,
    /// From these ops on, in their regions and those below, stand the operands that are behind; one that was moved away
    /// may stand elsewhere.
    starts: SmallVec<[Op; 4]>,
    changed: bool,
}

impl Drop for Rewriter<'_> {
    fn drop(&mut self) {
        for start in take(&mut self.starts) {
            self.refresh_from(Some(start));
        }
        self.refresh_from(self.func.first_op(self.func.body()));
        debug_assert!(self.is_up_to_date(), "an operand was not found");
    }
}

impl<'f> Rewriter<'f> {
    /// Starts to edit `func`.
    pub fn new(func: &'f mut Func) -> Rewriter<'f> {
        Rewriter { func, replaced: Paged::default(), behind: 0, starts: SmallVec::new(), changed: false }
    }

    /// The function as it stands.
    pub fn func(&self) -> &Func {
        self.func
    }

    /// The function, to intern names, types and attributes.
    pub fn func_mut(&mut self) -> &mut Func {
        self.func
    }

    /// Has anything been changed?
    pub fn changed(&self) -> bool {
        self.changed
    }

    /// Records a change made through a [`Builder`].
    pub fn set_changed(&mut self) {
        self.changed = true;
    }

    /// What stands for `value` now.
    pub fn current(&self, value: Value) -> Value {
        self.follow(value).0
    }

    /// What stands for `value` now, and by how many replacements.
    fn follow(&self, mut value: Value) -> (Value, usize) {
        let mut steps = 0;
        while let Some(next) = self.replaced.get(value).expand() {
            value = next;
            steps += 1;
        }
        (value, steps)
    }

    /// What stands for operand `idx` of `op` now; the operand is about to go.
    fn give_up(&mut self, op: Op, idx: usize) -> Value {
        let (value, steps) = self.follow(self.func.operand(op, idx));
        self.behind = self.behind.saturating_sub(steps);
        value
    }

    /// Brings the operands of `op` up to date. A walk does so before it shows an op.
    pub fn refresh(&mut self, op: Op) {
        if self.behind == 0 {
            return;
        }
        for idx in 0..self.func.operands(op).len() {
            let (value, steps) = self.follow(self.func.operand(op, idx));
            if steps > 0 {
                self.func.put_operand(op, idx, value);
                self.behind = self.behind.saturating_sub(steps);
            }
        }
    }

    /// Brings operands up to date from `start` on to the end of its region and in all below, until none is behind.
    fn refresh_from(&mut self, start: Option<Op>) {
        let mut worklist: SmallVec<[Op; 16]> = start.into_iter().collect();
        while let Some(op) = worklist.pop() {
            if self.behind == 0 {
                return;
            }
            self.refresh(op);
            worklist.extend(self.func.next_op(op));
            let firsts = self.func.op_regions(op).iter().rev().filter_map(|&region| self.func.first_op(region));
            worklist.extend(firsts);
        }
    }

    /// Is every operand what it was replaced by?
    fn is_up_to_date(&self) -> bool {
        let is_old = |value: Value| self.replaced.get(value).is_some();
        crate::walk::all_ops(self.func).all(|op| !self.func.operands(op).iter().any(|&value| is_old(value)))
    }

    /// Remembers where users of `value` begin.
    fn remember(&mut self, value: Value) {
        let start = match self.func.def(value) {
            Def::Result(op, _) => self.func.next_op(op),
            Def::Arg(region, _) => self.func.first_op(region),
        };
        if let Some(start) = start.filter(|&op| self.starts.len() < MAX_STARTS && !self.starts.contains(&op)) {
            self.starts.push(start);
        }
    }

    /// Lets what begins at `op`, which leaves its place, begin behind it.
    fn begin_behind(&mut self, op: Op) {
        if let Some(nth) = self.starts.iter().position(|&start| start == op) {
            match self.func.next_op(op) {
                Some(next) if !self.starts.contains(&next) => self.starts[nth] = next,
                _ => drop(self.starts.swap_remove(nth)),
            }
        }
    }

    /// Tells that every op that stands in the function was refreshed after the last replacement: a walk in the order of
    /// the text that refreshes each op, and replaces only results of the op it is at, has seen all users.
    pub fn settle(&mut self) {
        self.behind = 0;
        self.starts.clear();
    }

    /// A builder that makes ops before `op`, with its locations.
    pub fn before(&mut self, op: Op) -> Builder<'_> {
        Builder::before(self.func, op)
    }

    /// A builder that makes ops after `op`, with its locations.
    pub fn after(&mut self, op: Op) -> Builder<'_> {
        Builder::after(self.func, op)
    }

    /// A builder that makes ops at the start of `region`.
    pub fn at_start(&mut self, region: Region) -> Builder<'_> {
        Builder::at_start(self.func, region)
    }

    /// A builder that makes ops at the end of `region`.
    pub fn at_end(&mut self, region: Region) -> Builder<'_> {
        Builder::at_end(self.func, region)
    }

    /// Lets `new` stand for `old` everywhere. A named value that takes the place of another keeps its own name;
    /// an unnamed result of an op takes over the name, so that the author's names survive.
    pub fn replace_value(&mut self, old: Value, new: Value) {
        let (old, new) = (self.current(old), self.current(new));
        if old == new {
            return;
        }
        let n_uses = take(&mut self.func.values[old].n_uses);
        self.func.values[new].n_uses += n_uses;
        if n_uses > 0 {
            self.remember(old);
            self.behind += n_uses as usize;
        }
        if self.func.value_name(new).is_none() && self.func.constant(new).is_none() {
            self.func.set_value_name(new, self.func.value_name(old));
        }
        self.replaced.set(old, Some(new).into());
        self.changed = true;
    }

    /// Lets `values` stand for the results of `op` and takes `op` out.
    pub fn replace_op(&mut self, op: Op, values: &[Value]) {
        debug_assert_eq!(self.func.n_results(op), values.len());
        for (old, &new) in self.func.results(op).zip(values) {
            self.replace_value(old, new);
        }
        self.erase(op);
    }

    /// Takes out `op` and all in its regions. Its results must be without uses.
    pub fn erase(&mut self, op: Op) {
        debug_assert!(
            self.func.results(op).all(|value| self.func.n_uses(value) == 0 || self.replaced.get(value).is_some()),
            "erased an op that is used"
        );
        self.begin_behind(op);
        self.func.unlink(op);
        self.drop_operands(op);
        if !self.func.op_regions(op).is_empty() {
            self.drop_regions(op);
        }
        self.changed = true;
    }

    fn drop_operands(&mut self, op: Op) {
        for idx in 0..self.func.operands(op).len() {
            let value = self.give_up(op, idx);
            self.func.values[value].n_uses -= 1;
        }
        self.func.put_operands(op, &[]);
    }

    /// Lets the ops under `op` use nothing any more.
    fn drop_regions(&mut self, op: Op) {
        let mut worklist = self.func.op_regions(op).to_vec();
        while let Some(region) = worklist.pop() {
            let mut at = self.func.first_op(region);
            while let Some(inner) = at {
                self.drop_operands(inner);
                worklist.extend_from_slice(self.func.op_regions(inner));
                at = self.func.next_op(inner);
            }
        }
    }

    /// Sets operand `idx` of `op`.
    pub fn set_operand(&mut self, op: Op, idx: usize, value: Value) {
        let (old, new) = (self.give_up(op, idx), self.current(value));
        let func = &mut *self.func;
        func.put_operand(op, idx, new);
        if old != new {
            func.values[old].n_uses -= 1;
            func.values[new].n_uses += 1;
            self.changed = true;
        }
    }

    /// Sets all operands of `op`. The set of given keyed parameters stays.
    pub fn set_operands(&mut self, op: Op, operands: &[Value]) {
        for idx in 0..self.func.operands(op).len() {
            let value = self.give_up(op, idx);
            self.func.values[value].n_uses -= 1;
        }
        let operands: Vec<Value> = operands.iter().map(|&value| self.current(value)).collect();
        for &value in &operands {
            self.func.values[value].n_uses += 1;
        }
        self.func.put_operands(op, &operands);
        self.changed = true;
    }

    /// Sets the attribute `key` of `op`.
    ///
    /// What the row declares stands in front, in its order, as in text in the generic form.
    pub fn set_attr(&mut self, op: Op, key: Name, value: Attr) {
        let attrs = self.func.op_attrs(op);
        let params = self.func.row(op).params;
        let mut entries = self.func.entries(attrs).to_vec();
        let place = |key: Name| params.iter().position(|param| param.name == self.func.text(key));
        let attrs = match place(key) {
            Some(nth) if entries.iter().all(|(name, _)| *name != key) => {
                let is_later = |&(name, _): &(Name, Attr)| place(name).is_none_or(|other| other > nth);
                let at = entries.iter().position(is_later).unwrap_or(entries.len());
                entries.insert(at, (key, value));
                self.func.dict(&entries)
            }
            _ => self.func.with_entry(attrs, key, value),
        };
        self.set_attrs(op, attrs);
    }

    /// Sets all attributes of `op`.
    pub fn set_attrs(&mut self, op: Op, attrs: Attrs) {
        if self.func.ops[op].attrs != attrs {
            self.func.step();
            self.func.uncheck(op);
            self.func.ops[op].attrs = attrs;
            self.changed = true;
        }
    }

    /// Sets the opcode of `op`; the new row must take the same operands.
    pub fn set_opcode(&mut self, op: Op, opcode: Opcode) {
        if self.func.ops[op].opcode != opcode {
            self.func.step();
            self.func.uncheck(op);
            self.func.ops[op].opcode = opcode;
            self.changed = true;
        }
    }

    /// Sets the locations of `op`.
    pub fn set_locs(&mut self, op: Op, locs: Locs) {
        if self.func.ops[op].locs != locs {
            self.func.step();
            self.func.ops[op].locs = locs;
        }
    }

    /// Sets the type of `value`.
    pub fn set_type(&mut self, value: Value, ty: Type) {
        if self.func.values[value].ty != ty {
            self.func.set_value_type(value, ty);
            self.changed = true;
        }
    }

    /// Moves `op` to stand before `place`.
    pub fn move_before(&mut self, op: Op, place: Op) {
        self.begin_behind(op);
        self.relink_before(op, place);
    }

    fn relink_before(&mut self, op: Op, place: Op) {
        let region = self.func.region_of(place).expect("an op that was taken out is no place to move to");
        self.func.unlink(op);
        self.func.link(op, region, Some(place));
        self.changed = true;
    }

    /// Moves `op` to the end of `region`.
    pub fn move_to_end(&mut self, op: Op, region: Region) {
        self.begin_behind(op);
        self.func.unlink(op);
        self.func.link(op, region, None);
        self.changed = true;
    }

    /// Moves all ops of `region` to stand before `place`, in their order.
    pub fn splice_before(&mut self, region: Region, place: Op) {
        // What begins in the region goes with it.
        while let Some(op) = self.func.first_op(region) {
            self.relink_before(op, place);
        }
    }

    /// Takes argument `idx` out of `region`. It must be without uses.
    pub fn remove_arg(&mut self, region: Region, idx: usize) {
        let value = self.func.region_args(region)[idx];
        debug_assert!(
            self.func.n_uses(value) == 0 || self.replaced.get(value).is_some(),
            "removed an argument that is used"
        );
        let func = &mut *self.func;
        func.step();
        func.regions[region].args.remove(idx, &mut func.value_lists);
        self.changed = true;
    }
}

/// Shows every op of `func` to `visit`, an op before those in its regions, each with its operands up to date.
/// `visit` may take out the op it is shown and build around it; ops built before the shown op are not shown.
/// Returns whether anything changed.
pub fn rewrite_ops(func: &mut Func, visit: impl FnMut(&mut Rewriter<'_>, Op)) -> bool {
    rewrite_range(func, OpRange::whole(func), visit)
}

/// [`rewrite_ops`] of a part of the function.
pub fn rewrite_range(func: &mut Func, part: OpRange, mut visit: impl FnMut(&mut Rewriter<'_>, Op)) -> bool {
    let mut rw = Rewriter::new(func);
    let mut worklist: Vec<Op> = part.first(rw.func).into_iter().collect();
    while let Some(op) = worklist.pop() {
        worklist.extend(part.next(rw.func, op));
        rw.refresh(op);
        visit(&mut rw, op);
        if rw.func.region_of(op).is_some() {
            let firsts: Vec<Op> =
                rw.func.op_regions(op).iter().rev().filter_map(|&region| rw.func.first_op(region)).collect();
            worklist.extend(firsts);
        }
    }
    rw.changed
}
