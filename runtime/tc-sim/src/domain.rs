//! What registers and buffers hold.

use crate::cell::{Cell, float_of, number_of};
use crate::field::Number;
use tc_ir::Elem;

/// What floats are, and what runs beside each of them.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) enum Domain {
    /// Numbers, and nothing beside them.
    #[default]
    Numbers,
    /// Numbers, and beside each its [magnitude](crate::magnitude).
    Magnitudes,
    /// Elements of a [field](crate::field), and beside each its range.
    Field,
}

impl Domain {
    /// Does something run beside a float?
    pub(crate) fn has_companions(self) -> bool {
        self != Domain::Numbers
    }

    /// Numbers, with their magnitudes if those are wanted.
    pub(crate) fn numbers(magnitudes: bool) -> Domain {
        if magnitudes { Domain::Magnitudes } else { Domain::Numbers }
    }

    /// What an input of the domain of numbers is in this one, with what runs beside it.
    pub(crate) fn input(self, elem: Elem, cell: Cell) -> (Cell, Cell) {
        match self {
            Domain::Field if elem.is_float() => encoded(Number::exact(float_of(elem, cell))),
            Domain::Field => (cell, 0),
            Domain::Numbers | Domain::Magnitudes => (cell, number_of(elem, cell).abs().to_bits()),
        }
    }

    /// The same for a literal of the program.
    pub(crate) fn literal(self, elem: Elem, cell: Cell) -> (Cell, Cell) {
        match self {
            Domain::Field if elem.is_float() => encoded(Number::literal(elem, cell)),
            _ => self.input(elem, cell),
        }
    }
}

fn encoded(number: Number) -> (Cell, Cell) {
    (number.value.encode(), number.range.encode())
}
