//! The rewriter: every edit of ops that are there.
//!
//! It keeps use counts right and records whether anything changed. Replacing a value is done in two steps: the
//! replacement is noted at once, and operands are brought up to date when the walk reaches them or when the
//! rewriter is finished; so a replacement costs nothing that grows with the function.

use crate::builder::Builder;
use crate::entity::{Attr, Attrs, Name, Op, Region, Type, Value};
use crate::func::{Func, Locs};
use crate::opdef::Opcode;
use cranelift_entity::SecondaryMap;
use cranelift_entity::packed_option::PackedOption;

/// Edits a function. Dropping it brings all operands up to date.
pub struct Rewriter<'f> {
    func: &'f mut Func,
    replaced: SecondaryMap<Value, PackedOption<Value>>,
    /// Are operands out of date, for all that the rewriter knows?
    pending: bool,
    changed: bool,
}

impl Drop for Rewriter<'_> {
    fn drop(&mut self) {
        if !self.pending {
            return;
        }
        let mut pending = vec![self.func.body()];
        while let Some(region) = pending.pop() {
            let mut at = self.func.first_op(region);
            while let Some(op) = at {
                self.refresh(op);
                pending.extend_from_slice(self.func.op_regions(op));
                at = self.func.next_op(op);
            }
        }
    }
}

impl<'f> Rewriter<'f> {
    /// Starts to edit `func`.
    pub fn new(func: &'f mut Func) -> Rewriter<'f> {
        Rewriter { func, replaced: SecondaryMap::new(), pending: false, changed: false }
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
    pub fn current(&self, mut value: Value) -> Value {
        while let Some(next) = self.replaced[value].expand() {
            value = next;
        }
        value
    }

    /// Brings the operands of `op` up to date. A walk does so before it shows an op.
    pub fn refresh(&mut self, op: Op) {
        if !self.pending {
            return;
        }
        for idx in 0..self.func.operands(op).len() {
            let value = self.func.operand(op, idx);
            let current = self.current(value);
            if current != value {
                self.func.put_operand(op, idx, current);
            }
        }
    }

    /// Tells that every op that stands in the function was refreshed after the last replacement: a walk in the order of
    /// the text that refreshes each op, and replaces only results of the op it is at, has seen all users.
    pub fn settle(&mut self) {
        self.pending = false;
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
        let n_uses = std::mem::take(&mut self.func.values[old].n_uses);
        self.func.values[new].n_uses += n_uses;
        if self.func.value_name(new).is_none() && self.func.constant(new).is_none() {
            let name = self.func.values[old].name;
            self.func.values[new].name = name;
        }
        self.replaced[old] = Some(new).into();
        self.pending = true;
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
            self.func.results(op).all(|value| self.func.n_uses(value) == 0 || self.replaced[value].is_some()),
            "erased an op that is used"
        );
        self.func.unlink(op);
        self.drop_operands(op);
        if !self.func.op_regions(op).is_empty() {
            self.drop_regions(op);
        }
        self.changed = true;
    }

    fn drop_operands(&mut self, op: Op) {
        for idx in 0..self.func.operands(op).len() {
            let value = self.current(self.func.operand(op, idx));
            self.func.values[value].n_uses -= 1;
        }
        self.func.put_operands(op, &[]);
    }

    /// Lets the ops under `op` use nothing any more.
    fn drop_regions(&mut self, op: Op) {
        let mut pending = self.func.op_regions(op).to_vec();
        while let Some(region) = pending.pop() {
            let mut at = self.func.first_op(region);
            while let Some(inner) = at {
                self.drop_operands(inner);
                pending.extend_from_slice(self.func.op_regions(inner));
                at = self.func.next_op(inner);
            }
        }
    }

    /// Sets operand `idx` of `op`.
    pub fn set_operand(&mut self, op: Op, idx: usize, value: Value) {
        let (old, new) = (self.current(self.func.operand(op, idx)), self.current(value));
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
            let value = self.current(self.func.operand(op, idx));
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
        self.changed |= self.func.ops[op].attrs != attrs;
        self.func.ops[op].attrs = attrs;
    }

    /// Sets the opcode of `op`; the new row must take the same operands.
    pub fn set_opcode(&mut self, op: Op, opcode: Opcode) {
        self.changed |= self.func.ops[op].opcode != opcode;
        self.func.ops[op].opcode = opcode;
    }

    /// Sets the locations of `op`.
    pub fn set_locs(&mut self, op: Op, locs: Locs) {
        self.func.ops[op].locs = locs;
    }

    /// Sets the type of `value`.
    pub fn set_type(&mut self, value: Value, ty: Type) {
        self.changed |= self.func.values[value].ty != ty;
        self.func.values[value].ty = ty;
    }

    /// Moves `op` to stand before `place`.
    pub fn move_before(&mut self, op: Op, place: Op) {
        let region = self.func.region_of(place).expect("an op that was taken out is no place to move to");
        self.func.unlink(op);
        self.func.link(op, region, Some(place));
        self.changed = true;
    }

    /// Moves `op` to the end of `region`.
    pub fn move_to_end(&mut self, op: Op, region: Region) {
        self.func.unlink(op);
        self.func.link(op, region, None);
        self.changed = true;
    }

    /// Moves all ops of `region` to stand before `place`, in their order.
    pub fn splice_before(&mut self, region: Region, place: Op) {
        while let Some(op) = self.func.first_op(region) {
            self.move_before(op, place);
        }
    }

    /// Takes argument `idx` out of `region`. It must be without uses.
    pub fn remove_arg(&mut self, region: Region, idx: usize) {
        let value = self.func.region_args(region)[idx];
        debug_assert!(
            self.func.n_uses(value) == 0 || self.replaced[value].is_some(),
            "removed an argument that is used"
        );
        let func = &mut *self.func;
        func.regions[region].args.remove(idx, &mut func.value_lists);
        self.changed = true;
    }
}

/// Shows every op of `func` to `visit`, an op before those in its regions, each with its operands up to date.
/// `visit` may take out the op it is shown and build around it; ops built before the shown op are not shown.
/// Returns whether anything changed.
pub fn rewrite_ops(func: &mut Func, mut visit: impl FnMut(&mut Rewriter<'_>, Op)) -> bool {
    let mut rw = Rewriter::new(func);
    let mut pending: Vec<Op> = rw.func.first_op(rw.func.body()).into_iter().collect();
    while let Some(op) = pending.pop() {
        pending.extend(rw.func.next_op(op));
        rw.refresh(op);
        visit(&mut rw, op);
        if rw.func.region_of(op).is_some() {
            let firsts: Vec<Op> =
                rw.func.op_regions(op).iter().rev().filter_map(|&region| rw.func.first_op(region)).collect();
            pending.extend(firsts);
        }
    }
    rw.changed
}
