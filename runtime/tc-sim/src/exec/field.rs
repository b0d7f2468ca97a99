//! Instructions on elements of the field, and what they do not decide.

use super::block::{BlockState, Launch};
use super::group::{Group, for_lanes};
use crate::cell::Cell;
use crate::code::{NO_REG, NO_SITE, Reg, Site};
use crate::diagnostic::DiagnosticKind;
use crate::field::{Doubt, FieldInstr, FieldOp};
use std::mem;
use tc_support::Diagnostic;

impl Group {
    /// Computes in the lanes that take part.
    pub(super) fn field(&mut self, instr: &FieldInstr, launch: &Launch<'_>, block: &mut BlockState) {
        let mut values = mem::take(&mut self.regs[instr.dst as usize]);
        let mut ranges = match instr.range {
            NO_REG => Vec::new(),
            reg => mem::take(&mut self.regs[reg as usize]),
        };
        let at = |reg: Reg, place: usize| match self.regs.get(reg as usize).map(|cells| &cells[..]) {
            None | Some([]) => 0,
            Some(&[cell]) => cell,
            Some(cells) => cells[place],
        };
        let n_comps = self.comps_of(&values);
        let mut doubt = Doubt::None;
        let mut compute = |place: usize| {
            let outcome = instr.compute(instr.args.map(|reg| at(reg, place)), instr.ranges.map(|reg| at(reg, place)));
            values[place] = outcome.value;
            if let Some(range) = ranges.get_mut(place) {
                *range = outcome.range;
            }
            if outcome.doubt != Doubt::None {
                doubt = outcome.doubt;
            }
        };
        match n_comps {
            0 => compute(0),
            n_comps => {
                for comp in 0..n_comps {
                    for_lanes(&self.mask, |lane| compute(comp * self.n + lane));
                }
            }
        }
        self.regs[instr.dst as usize] = values;
        if instr.range != NO_REG {
            self.regs[instr.range as usize] = ranges;
        }
        if doubt != Doubt::None {
            self.report_doubt(doubt, describe(instr.op), instr.site, launch, block);
        }
    }

    /// The components of a value, or 0 if it is uniform.
    fn comps_of(&self, cells: &[Cell]) -> usize {
        if cells.len() == 1 && self.n != 1 { 0 } else { cells.len() / self.n }
    }

    pub(super) fn report_doubt(
        &self,
        doubt: Doubt,
        what: &str,
        site: Site,
        launch: &Launch<'_>,
        block: &mut BlockState,
    ) {
        let kind = if doubt == Doubt::Choice { DiagnosticKind::UndecidedChoice } else { DiagnosticKind::Undecided };
        block.find(launch, kind, (site, NO_SITE), |_| {
            let text = format!("{what} is not decided in exact arithmetic");
            (None, Diagnostic::error(kind.code(), launch.kernel.at(site), text))
        });
    }
}

fn describe(op: FieldOp) -> &'static str {
    use crate::code::{FloatOp, UnaryOp};
    use tc_dialects::arith::{self, functions::Exact};
    match op {
        FieldOp::Binary(FloatOp::Min | FloatOp::Max) => "which of two numbers is greater",
        FieldOp::Binary(FloatOp::Div) => "a quotient",
        FieldOp::Binary(_) | FieldOp::Fma => "what comes of infinity, or of a power,",
        FieldOp::Unary(UnaryOp::Abs) => "the sign of a number",
        FieldOp::Unary(UnaryOp::Function(function)) => match function.exact {
            Exact::Whole => "the integer next to a number",
            Exact::By(term, _) if !term.names(arith::EXP) => "a quotient",
            _ => "an exponential of what comes of an exponential",
        },
        FieldOp::Unary(_) => "an exponential of what comes of an exponential",
        FieldOp::Cmp(_) => "a comparison",
        FieldOp::Cast { .. } => "the integer part of a number",
    }
}
