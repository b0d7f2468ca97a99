//! What follows from a row and is asked of every op: told once, so that walks over all ops of a function need not read rows.

use crate::effects::{self, Summary};
use crate::entity::Name;
use crate::names;
use crate::opdef::{Access, OpDef, ParamKind, Results, Verify};
use crate::text_order;

/// A row, and what follows from it and is asked of every op.
#[derive(Clone, Copy)]
pub(crate) struct RowFacts {
    pub(crate) row: &'static OpDef,
    /// What an op of the row does apart from its regions.
    pub(crate) effects: Summary,
    /// It fails only where its second operand is zero.
    pub(crate) divides: bool,
    /// How many operands it takes, where that is one number and all of them go by position.
    pub(crate) n_operands: Option<u8>,
    /// See [`effects::of_first_place`].
    pub(crate) first_place: Option<Access>,
    /// What [`text_order`] asks of its effects.
    pub(crate) text: u8,
    /// It must carry attributes.
    pub(crate) needs_attrs: bool,
    /// The only attribute it declares, where any value will do and all functions know the name.
    pub(crate) only_attr: Option<Name>,
    /// See [`OpDef::terminator`].
    pub(crate) terminator: bool,
    /// See [`OpDef::verify_alone`].
    pub(crate) verify_alone: Option<Verify>,
    /// See [`OpDef::verify`].
    pub(crate) verify: Option<Verify>,
    /// How many operands, results and regions it has.
    pub(crate) arity: Arity,
}

/// How many operands, results and regions an op of a row has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Arity {
    /// The operands that are always there.
    n_fixed: u16,
    /// The bits of [`Func::keyed_mask`](crate::Func::keyed_mask) each of which stands for one operand more.
    single: u16,
    /// The bits that must be set.
    required: u16,
    /// There may be any number of operands more.
    variadic: bool,
    /// How many results, where that is one number.
    n_results: Option<u8>,
    /// The least and the largest number of regions.
    n_regions: (u8, u8),
}

impl Arity {
    fn of(row: &OpDef) -> Arity {
        let (mut n_fixed, mut single, mut required, mut variadic) = (0, 0, 0, false);
        let mut bit = 1u16;
        for param in row.params.iter().filter(|param| param.kind.is_operand()) {
            let is_masked = param.keyed || param.optional;
            variadic |= param.kind.is_variadic();
            if is_masked && !param.kind.is_variadic() {
                single |= bit;
            }
            if param.keyed && !param.optional {
                required |= bit;
            }
            n_fixed += u16::from(!is_masked && !param.kind.is_variadic());
            if is_masked {
                bit = bit.wrapping_shl(1);
            }
        }
        let n_results = if let Results::Count(n) = row.results { Some(n) } else { None };
        let n_least = row.regions.iter().filter(|region| !region.optional).count();
        Arity { n_fixed, single, required, variadic, n_results, n_regions: (n_least as u8, row.regions.len() as u8) }
    }

    /// Has an op whose given keyed parameters are `keyed` as many operands, results and regions as its row declares?
    #[inline]
    pub(crate) fn fits(&self, n_operands: usize, keyed: u16, n_results: usize, n_regions: usize) -> bool {
        let given = keyed & self.single;
        let n_least = usize::from(self.n_fixed) + if given == 0 { 0 } else { given.count_ones() as usize };
        (n_operands == n_least || (self.variadic && n_operands > n_least))
            && keyed & self.required == self.required
            && self.n_results.is_none_or(|n| usize::from(n) == n_results)
            && usize::from(self.n_regions.0) <= n_regions
            && n_regions <= usize::from(self.n_regions.1)
    }
}

impl RowFacts {
    /// Those of an op without a row.
    pub(crate) const UNKNOWN: RowFacts = RowFacts {
        row: &OpDef::UNKNOWN,
        effects: Summary::UNKNOWN,
        divides: false,
        n_operands: Some(0),
        first_place: None,
        text: text_order::ACTS,
        needs_attrs: false,
        only_attr: None,
        terminator: false,
        verify_alone: None,
        verify: None,
        arity: Arity { n_fixed: 0, single: 0, required: 0, variadic: false, n_results: None, n_regions: (0, 0) },
    };

    /// Those of `row`.
    pub(crate) fn of(row: &'static OpDef) -> RowFacts {
        let mut operands = row.params.iter().filter(|param| param.kind.is_operand());
        let is_plain = operands.clone().all(|param| !param.keyed && !param.optional && !param.kind.is_variadic());
        let own = effects::of_row(row);
        RowFacts {
            row,
            effects: own,
            divides: row.effect.divides,
            n_operands: if is_plain { u8::try_from(operands.by_ref().count()).ok() } else { None },
            first_place: effects::of_first_place(row),
            text: text_order::flags(own),
            only_attr: only_attr(row),
            needs_attrs: row.params.iter().any(|param| !param.kind.is_operand() && !param.optional),
            terminator: row.terminator,
            verify_alone: row.verify_alone,
            verify: row.verify,
            arity: Arity::of(row),
        }
    }
}

/// See [`RowFacts::only_attr`].
fn only_attr(row: &OpDef) -> Option<Name> {
    let mut attrs = row.params.iter().filter(|param| !param.kind.is_operand());
    let only = attrs.next().filter(|only| only.kind == ParamKind::Any)?;
    names::known(only.name).filter(|_| attrs.next().is_none())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_op_without_a_row_is_known_as_its_row_says() {
        let told = |facts: RowFacts| {
            let RowFacts { effects, divides, n_operands, first_place, text, needs_attrs, terminator, arity, .. } =
                facts;
            ((effects, divides, n_operands, first_place), (text, needs_attrs, terminator, arity))
        };
        assert_eq!(told(RowFacts::UNKNOWN), told(RowFacts::of(&OpDef::UNKNOWN)));
        assert_eq!(RowFacts::UNKNOWN.verify.is_some(), OpDef::UNKNOWN.verify.is_some());
    }
}
