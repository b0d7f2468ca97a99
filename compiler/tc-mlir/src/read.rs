//! The tables of the emitter read the other way: which row writes an op of MLIR, on numbers of which type.
//!
//! A row that is one op or one function of LLVM's says both what is written and what that means. Rows that are written in a
//! way of their own become other ops, which are read as what those are; a test has their list.

use crate::arith::{self, Spelling};
use crate::types;
use tc_ir::{Elem, Opcode};
use tc_kernel::arithmetic::Row;

/// An op of MLIR, as rows spell it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Spelled<'t> {
    /// The op of this name; may a sum that leaves its range be taken as one that does not happen?
    Op(&'t str, bool),
    /// A call of the function of LLVM's of this name.
    Function(&'t str),
}

/// The types that MLIR's type `number` may stand for, the likeliest first.
pub(crate) fn elems(number: &str) -> impl Iterator<Item = Elem> + '_ {
    // Unsigned arithmetic of indices is that of 64 bits.
    let wide = (number == "index").then_some(Elem::U64);
    Elem::ALL.iter().copied().filter(move |&elem| types::number(elem) == number && !elem.is_float8()).chain(wide)
}

/// The op that is spelled so, and the type of its operands.
pub(crate) fn arithmetic(spelled: Spelled<'_>, number: &str) -> Option<(Opcode, Elem)> {
    let found = |stands_for: Option<Elem>| {
        elems(number).find_map(|elem| {
            let row = arith::rows().iter().find(|row| writes(row, stands_for.unwrap_or(elem), elem, spelled))?;
            Some((row.opcode(), elem))
        })
    };
    // What the emitter writes of f32 only, MLIR has of halves as well.
    found(None).or_else(|| elems(number).any(Elem::is_half).then(|| found(Some(Elem::F32)))?)
}

/// Does `row`, as it is for `of`, spell an op on numbers of type `elem` so?
fn writes(row: &Row<Spelling>, of: Elem, elem: Elem, spelled: Spelled<'_>) -> bool {
    let signed = |name: &str| name.replace('?', if arith::is_unsigned(elem) { "u" } else { "s" });
    match (row.of(of), spelled) {
        (Spelling::Plain(name) | Spelling::Wide(name), Spelled::Op(op, _)) => signed(name) == op,
        // An unsigned sum wraps; one that does not leave its range is a signed one. Indices are numbers.
        (Spelling::Exact(name), Spelled::Op(op, is_exact)) => {
            name == op && (elem == Elem::Index || arith::flags(elem).is_empty() != is_exact || is_narrow(elem))
        }
        (Spelling::Intrinsic(name) | Spelling::Native(name) | Spelling::Lanes(name), Spelled::Op(op, _)) => name == op,
        (Spelling::Called(name), Spelled::Function(function)) => {
            function.strip_prefix(name).and_then(|rest| rest.strip_prefix('.')) == Some(types::number(elem))
        }
        (Spelling::Suffixed(name), Spelled::Function(function)) => arith::suffixed(name, elem) == function,
        (Spelling::Named(name), Spelled::Function(function)) => name == function,
        _ => false,
    }
}

/// Integers that wrap whether they have a sign or not.
fn is_narrow(elem: Elem) -> bool {
    elem.is_int() && elem.bits() < 32
}

#[cfg(test)]
mod tests {
    use super::*;
    use tc_dialects::arith as ops;

    #[test]
    fn rows_are_read_as_they_are_written() {
        let op = |name, number| arithmetic(Spelled::Op(name, false), number);
        assert_eq!(op("arith.addf", "f32"), Some((ops::ADD, Elem::F32)));
        assert_eq!(op("arith.addi", "i32"), Some((ops::ADD, Elem::U32)));
        assert_eq!(arithmetic(Spelled::Op("arith.addi", true), "i32"), Some((ops::ADD, Elem::I32)));
        assert_eq!(op("arith.addi", "i8"), Some((ops::ADD, Elem::I8)));
        assert_eq!(op("arith.muli", "index"), Some((ops::MUL, Elem::Index)));
        assert_eq!(op("arith.remui", "index"), Some((ops::TMOD, Elem::U64)));
        assert_eq!(op("arith.andi", "i1"), Some((ops::AND, Elem::Bool)));
        assert_eq!(op("math.exp", "f16"), Some((ops::EXP, Elem::F16)));
        assert_eq!(op("arith.addf", "i32"), None);
        let function = |name, number| arithmetic(Spelled::Function(name), number);
        assert_eq!(function("llvm.nvvm.sqrt.rn.d", "f64"), Some((ops::SQRT, Elem::F64)));
        assert_eq!(function("llvm.fabs.f32", "f32"), Some((ops::ABS, Elem::F32)));
        assert_eq!(function("llvm.nvvm.rcp.approx.ftz.f", "f32"), Some((ops::RCP_APPROX, Elem::F32)));
    }

    /// Each row on each type comes back as itself, but for those that are written in a way of their own.
    #[test]
    fn every_row_is_read_or_named() {
        let mut own = Vec::new();
        for row in arith::rows() {
            for &elem in Elem::ALL {
                let number = types::number(elem);
                let signed = |name: &str| name.replace('?', if arith::is_unsigned(elem) { "u" } else { "s" });
                let name;
                let spelled = match row.of(elem) {
                    Spelling::No => continue,
                    Spelling::By(_) => {
                        own.push(row.opcode());
                        continue;
                    }
                    Spelling::Exact(name) => Spelled::Op(name, !arith::flags(elem).is_empty()),
                    Spelling::Plain(text) | Spelling::Wide(text) => {
                        name = signed(text);
                        Spelled::Op(&name, false)
                    }
                    Spelling::Intrinsic(name) | Spelling::Native(name) | Spelling::Lanes(name) => {
                        Spelled::Op(name, false)
                    }
                    Spelling::Called(text) => {
                        name = format!("{text}.{number}");
                        Spelled::Function(&name)
                    }
                    Spelling::Suffixed(text) => {
                        name = arith::suffixed(text, elem);
                        Spelled::Function(&name)
                    }
                    Spelling::Named(name) => Spelled::Function(name),
                };
                let (opcode, of) = arithmetic(spelled, number).unwrap_or_else(|| panic!("{spelled:?} of {number}"));
                assert_eq!(opcode, row.opcode(), "{spelled:?} of {number}");
                assert_eq!(types::number(of), number, "{spelled:?}");
            }
        }
        own.dedup();
        let named =
            [ops::NEG, ops::ABS, ops::NOT, ops::SELECT, ops::CMP, ops::CAST, ops::CONSTANT, ops::RAMP, ops::BROADCAST];
        assert_eq!(own, named);
    }
}
