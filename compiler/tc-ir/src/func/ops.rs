//! Ops: rows, operands, results, regions and attributes.

use super::data::MANY;
use super::{Func, Locs, OpData};
use crate::entity::{Attr, Attrs, Name, Op, Region, Value};
use crate::names::keys;
use crate::opdef::{OpDef, Opcode, ParamKind, Role};
use crate::types::TypeData;
use cranelift_entity::EntityRef;

impl Func {
    /// The row number of `op`.
    #[inline]
    pub fn opcode(&self, op: Op) -> Opcode {
        self.ops[op].opcode
    }

    /// The row of `op`.
    #[inline]
    pub fn row(&self, op: Op) -> &'static OpDef {
        self.registry.row(self.ops[op].opcode)
    }

    /// The sugar that `op` stands behind.
    #[inline]
    pub fn role(&self, op: Op) -> Role {
        self.row(op).role
    }

    /// The op behind an operator over `value`, if it is of a type of a dialect that has one.
    pub fn operator(&self, value: Value, role: Role) -> Option<Opcode> {
        let TypeData::Opaque { path, .. } = self.type_data(self.value_type(value)) else { return None };
        self.registry.operator(self.text(*path), role)
    }

    /// The dotted name of `op`, that of an unknown op included.
    pub fn op_name(&self, op: Op) -> &str {
        if self.opcode(op) == Opcode::UNKNOWN
            && let Some(name) = self.attr_of(op, keys::OP_NAME)
            && let Some(word) = self.as_word(name)
        {
            return word;
        }
        self.row(op).name
    }

    /// The operands of `op`.
    #[inline]
    pub fn operands(&self, op: Op) -> &[Value] {
        self.operands_of(&self.ops[op])
    }

    /// The operands of the op that `data` is of.
    #[inline]
    pub(crate) fn operands_of(&self, data: &OpData) -> &[Value] {
        &self.operands[data.operand_range(&self.operands)]
    }

    /// Sets operand `idx` of `op`; use counts are the caller's to keep.
    pub(crate) fn put_operand(&mut self, op: Op, idx: usize, value: Value) {
        self.step();
        self.uncheck(op);
        let range = self.ops[op].operand_range(&self.operands);
        self.operands[range][idx] = value;
    }

    /// Sets all operands of `op`; use counts are the caller's to keep.
    pub(crate) fn put_operands(&mut self, op: Op, operands: &[Value]) {
        self.step();
        self.uncheck(op);
        let old = self.ops[op].operand_range(&self.operands);
        let data = &mut self.ops[op];
        if operands.len() <= old.len() && data.n_operands != MANY {
            // What fits is written over the old ones.
            data.n_operands = operands.len() as u16;
            self.operands[old.start..old.start + operands.len()].copy_from_slice(operands);
            return;
        }
        data.operands = u32::try_from(self.operands.len()).expect("there is no memory for so many operands");
        data.n_operands = u16::try_from(operands.len()).unwrap_or(MANY);
        if data.n_operands == MANY {
            self.operands.push(Value::new(operands.len()));
        }
        self.operands.extend_from_slice(operands);
    }

    /// The first operand of `op`. Panics if it has none.
    #[inline]
    pub fn operand(&self, op: Op, idx: usize) -> Value {
        self.operands(op)[idx]
    }

    /// The bit set of given keyed operand parameters, in the order of the row.
    pub fn keyed_mask(&self, op: Op) -> u16 {
        self.ops[op].keyed
    }

    /// The operands at parameter number `param` of the row: none for an attribute or an optional operand that
    /// was left out.
    pub fn param_operands(&self, op: Op, param: usize) -> &[Value] {
        let row = self.row(op);
        let operands = self.operands(op);
        let (mut start, mut len) = (0, 0);
        self.for_each_param(op, row, |idx, at, n| {
            if idx == param {
                (start, len) = (at, n);
            }
        });
        operands.get(start..start + len).unwrap_or(&[])
    }

    /// Calls `visit` with the index, the first operand and the number of operands of each operand parameter:
    /// those by position first, then those by key.
    pub(crate) fn for_each_param(&self, op: Op, row: &OpDef, mut visit: impl FnMut(usize, usize, usize)) {
        let data = &self.ops[op];
        let total = self.operands(op).len();
        if self.registry.facts(data.opcode).n_operands.is_some() {
            let operands = row.params.iter().enumerate().filter(|(_, param)| param.kind.is_operand());
            return operands.enumerate().for_each(|(at, (idx, _))| visit(idx, at, 1));
        }
        let mut n_keyed = 0;
        let given = |n: &mut u32| {
            let bit = data.keyed >> *n & 1 == 1;
            *n += 1;
            bit
        };
        // Everything but the variadic parameter is one operand or none; the variadic one takes the rest.
        let mut n_fixed = 0;
        for param in row.params.iter().filter(|param| param.kind.is_operand()) {
            let present = if param.keyed || param.optional { given(&mut n_keyed) } else { true };
            n_fixed += usize::from(present && !param.kind.is_variadic());
        }
        let rest = total.saturating_sub(n_fixed);
        let mut at = 0;
        for keyed in [false, true] {
            let mut bit = 0;
            for (idx, param) in row.params.iter().enumerate().filter(|(_, param)| param.kind.is_operand()) {
                let present = if param.keyed || param.optional { given(&mut bit) } else { true };
                if param.keyed != keyed {
                    continue;
                }
                let len = if param.kind.is_variadic() { rest } else { usize::from(present) };
                visit(idx, at, len);
                at += len;
            }
        }
    }

    /// Is the optional or keyed operand parameter number `param` given? (An empty list can be.)
    pub fn param_given(&self, op: Op, param: usize) -> bool {
        let row = self.row(op);
        let mut bit = 0;
        for (idx, def) in row.params.iter().enumerate().filter(|(_, def)| def.kind.is_operand()) {
            let masked = def.keyed || def.optional;
            if idx == param {
                return !masked || self.ops[op].keyed >> bit & 1 == 1;
            }
            bit += u32::from(masked);
        }
        false
    }

    /// The results of `op`.
    #[inline]
    pub fn results(&self, op: Op) -> impl ExactSizeIterator<Item = Value> + DoubleEndedIterator + Clone + use<> {
        self.ops[op].results()
    }

    /// The number of results of `op`.
    #[inline]
    pub fn n_results(&self, op: Op) -> usize {
        usize::from(self.ops[op].n_results)
    }

    /// The one result of `op`, if it has just one.
    #[inline]
    pub fn result(&self, op: Op) -> Option<Value> {
        let data = &self.ops[op];
        if data.n_results == 1 { data.first_result.expand() } else { None }
    }

    /// The regions of `op`.
    #[inline]
    pub fn op_regions(&self, op: Op) -> &[Region] {
        self.ops[op].regions.as_slice(&self.region_lists)
    }

    /// The attributes of `op`.
    #[inline]
    pub fn op_attrs(&self, op: Op) -> Attrs {
        self.ops[op].attrs
    }

    /// The attribute `key` of `op`.
    #[inline]
    pub fn attr_of(&self, op: Op, key: Name) -> Option<Attr> {
        self.entry(self.ops[op].attrs, key)
    }

    /// The attribute called `key` of `op`.
    pub fn attr_named(&self, op: Op, key: &str) -> Option<Attr> {
        self.entries(self.ops[op].attrs).iter().find(|(name, _)| self.text(*name) == key).map(|(_, attr)| *attr)
    }

    /// The word at `key` of `op`.
    pub fn word_of(&self, op: Op, key: Name) -> Option<&str> {
        self.as_word(self.attr_of(op, key)?)
    }

    /// The integer at `key` of `op`.
    pub fn int_of(&self, op: Op, key: Name) -> Option<i64> {
        self.as_int(self.attr_of(op, key)?)
    }

    /// Where `op` comes from.
    #[inline]
    pub fn op_locs(&self, op: Op) -> Locs {
        self.ops[op].locs
    }

    /// The number of ops ever made here, those taken out included; ids are below it.
    pub fn n_op_ids(&self) -> usize {
        self.ops.len()
    }

    /// Is parameter `idx` of the row of `op` one that takes a place?
    pub fn takes_place(&self, op: Op, param: usize) -> bool {
        matches!(self.row(op).params.get(param).map(|param| param.kind), Some(ParamKind::Place(_)))
    }
}
