//! What a function of one float means: its value, how errors come through it, and what it is in exact arithmetic.
//!
//! The rows are in [`super::FUNCTIONS`], beside those of the ops. The simulator, its exact domain and the passes ask them, so
//! that none of these names a function.

use super::FUNCTIONS;
use tc_ir::Opcode;

/// A function of one float.
#[derive(Debug)]
pub struct Function {
    /// Its op.
    pub opcode: Opcode,
    /// Its value at a number, not yet rounded to a type.
    pub value: fn(f64) -> f64,
    /// The magnitude of its result: how large the terms were that it came from. See [`Through`].
    pub magnitude: fn(Through) -> f64,
    /// What it is where sums may be taken in any order.
    pub exact: Exact,
}

impl PartialEq for Function {
    fn eq(&self, other: &Function) -> bool {
        self.opcode == other.opcode
    }
}

impl Eq for Function {}

/// The function of the row `opcode`.
pub fn of(opcode: Opcode) -> Option<&'static Function> {
    FUNCTIONS.iter().find(|function| function.opcode == opcode)
}

/// What a function is applied to, and what comes of it.
#[derive(Clone, Copy, Debug)]
pub struct Through {
    /// The argument.
    pub x: f64,
    /// Its magnitude, at least `|x|`.
    pub m: f64,
    /// The absolute value of the result.
    pub y: f64,
}

/// A function in exact arithmetic.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Exact {
    /// The exponential: of a sum it is the product of the exponentials.
    Exp,
    /// The natural logarithm.
    Log,
    /// The square root.
    Sqrt,
    /// An integer part, by its value.
    Whole,
    /// What other functions define, and the range of it.
    By(&'static Term, Shape),
    /// The same for the same argument, of which nothing else is known.
    Opaque(Shape),
}

/// What is known of the range of a function.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Shape {
    /// It never falls; it is defined from `from` on, and at least `least`.
    Rising {
        /// The least number that it is defined on.
        from: f64,
        /// The least number that it gives.
        least: f64,
    },
    /// It changes by no more than its argument does, and stays between -1 and 1.
    Wave,
    /// What follows from the term.
    OfTerm,
}

impl Shape {
    /// Rising everywhere, to anything.
    pub const RISING: Shape = Shape::Rising { from: f64::NEG_INFINITY, least: f64::NEG_INFINITY };
}

/// An expression of the argument.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Term {
    /// The argument.
    X,
    /// A number.
    Number(f64),
    /// A sum.
    Add(&'static Term, &'static Term),
    /// A product.
    Mul(&'static Term, &'static Term),
    /// A quotient.
    Div(&'static Term, &'static Term),
    /// A function of a term.
    Of(Opcode, &'static Term),
}

impl Term {
    /// Does the function `opcode` occur in it?
    pub fn names(&self, opcode: Opcode) -> bool {
        match self {
            Term::X | Term::Number(_) => false,
            Term::Add(a, b) | Term::Mul(a, b) | Term::Div(a, b) => a.names(opcode) || b.names(opcode),
            Term::Of(of, a) => *of == opcode || a.names(opcode),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(term: &Term, x: f64) -> f64 {
        match *term {
            Term::X => x,
            Term::Number(number) => number,
            Term::Add(a, b) => value(a, x) + value(b, x),
            Term::Mul(a, b) => value(a, x) * value(b, x),
            Term::Div(a, b) => value(a, x) / value(b, x),
            Term::Of(opcode, a) => (of(opcode).expect("a term is made of functions of one float").value)(value(a, x)),
        }
    }

    #[test]
    fn definitions_have_the_values_of_what_they_define() {
        let mut n_defined = 0;
        for function in FUNCTIONS {
            let Exact::By(term, _) = function.exact else { continue };
            n_defined += 1;
            for x in [-3.5, -1.0, -0.25, 0.5, 1.0, 2.0, 9.75] {
                let (is, should_be) = (value(term, x), (function.value)(x));
                let both_none = is.is_nan() && should_be.is_nan();
                // The base of logarithms is that of operators, in f32.
                let close = (is - should_be).abs() <= 1e-6 * should_be.abs();
                assert!(both_none || close, "{:?} at {x}: {is}, not {should_be}", function.opcode);
            }
        }
        assert!(n_defined > 4);
    }

    #[test]
    fn ranges_have_the_shape_that_rows_say() {
        for function in FUNCTIONS {
            let (Exact::By(_, shape) | Exact::Opaque(shape)) = function.exact else { continue };
            let points: Vec<f64> = (-400..400).map(|nth| f64::from(nth) / 40.0).collect();
            for pair in points.windows(2) {
                let [low, high] = [pair[0], pair[1]].map(function.value);
                match shape {
                    Shape::Rising { from, .. } if pair[0] < from => {}
                    Shape::Rising { least, .. } => {
                        assert!(low <= high && low >= least, "{:?} at {}", function.opcode, pair[0]);
                    }
                    Shape::Wave => assert!((high - low).abs() <= pair[1] - pair[0] && low.abs() <= 1.0),
                    Shape::OfTerm => {}
                }
            }
        }
    }
}
