//! Sizes that a program leaves open: what they may be, and what of a manifest follows from them.
//!
//! A manifest always says how to launch for one set of sizes. Where the program was made for all sizes, it also has
//! formulas: [`KernelManifest::set_sizes`] takes other sizes and evaluates them, which is all that a launch needs.

use crate::manifest::{Buffer, Kernel, KernelManifest, Param, wrong};
use std::fmt;
use tc_arith::{BinaryOp, EvalError};
use tc_support::DType;
use tc_support::Diagnostic;
use tc_support::suggest::{did_you_mean, shorten};

/// How deep a formula may be.
pub const MAX_FORMULA_DEPTH: usize = 64;

/// The operators of formulas, and their names in the JSON form.
pub const FORMULA_OPS: [(BinaryOp, &str); 20] = [
    (BinaryOp::Add, "add"),
    (BinaryOp::Sub, "sub"),
    (BinaryOp::Mul, "mul"),
    (BinaryOp::FloorDiv, "div"),
    (BinaryOp::FloorMod, "mod"),
    (BinaryOp::TruncDiv, "tdiv"),
    (BinaryOp::TruncMod, "tmod"),
    (BinaryOp::Min, "min"),
    (BinaryOp::Max, "max"),
    (BinaryOp::Eq, "eq"),
    (BinaryOp::Ne, "ne"),
    (BinaryOp::Lt, "lt"),
    (BinaryOp::Le, "le"),
    (BinaryOp::And, "and"),
    (BinaryOp::Or, "or"),
    (BinaryOp::Shl, "shl"),
    (BinaryOp::Shr, "shr"),
    (BinaryOp::BitAnd, "bitand"),
    (BinaryOp::BitOr, "bitor"),
    (BinaryOp::BitXor, "bitxor"),
];

/// The name of an operator in the JSON form.
pub(crate) fn formula_op_name(op: BinaryOp) -> &'static str {
    FORMULA_OPS.iter().find(|(known, _)| *known == op).map_or("", |&(_, name)| name)
}

/// A number that follows from sizes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Formula {
    /// A number.
    Int(i64),
    /// A size, by its name.
    Size(String),
    /// An operator on two numbers.
    Op(BinaryOp, Box<(Formula, Formula)>),
}

impl Formula {
    /// `lhs op rhs`.
    pub fn op(op: BinaryOp, lhs: Formula, rhs: Formula) -> Formula {
        Formula::Op(op, Box::new((lhs, rhs)))
    }

    /// The number, with sizes as `sizes` says; `None` where a size is unknown, on overflow and division by zero, and for
    /// formulas deeper than [`MAX_FORMULA_DEPTH`]. `&&` and `||` stop early.
    pub fn eval(&self, sizes: &dyn Fn(&str) -> Option<i64>) -> Option<i64> {
        self.eval_at(sizes, MAX_FORMULA_DEPTH).ok()
    }

    fn eval_at(&self, sizes: &dyn Fn(&str) -> Option<i64>, depth: usize) -> Result<i64, EvalError> {
        let depth = depth.checked_sub(1).ok_or(EvalError::Unknown)?;
        match self {
            Formula::Int(int) => Ok(*int),
            Formula::Size(name) => sizes(name).ok_or(EvalError::Unknown),
            Formula::Op(op, args) => op.eval(args.0.eval_at(sizes, depth), || args.1.eval_at(sizes, depth)),
        }
    }

    fn write(&self, f: &mut fmt::Formatter<'_>, around: u8) -> fmt::Result {
        match self {
            Formula::Int(int) => write!(f, "{int}"),
            Formula::Size(name) => f.write_str(name),
            Formula::Op(op, args) => {
                let Some((text, binds)) = sign(*op) else {
                    write!(f, "{}(", formula_op_name(*op))?;
                    args.0.write(f, 0)?;
                    f.write_str(", ")?;
                    args.1.write(f, 0)?;
                    return f.write_str(")");
                };
                let (open, close) = if around > binds { ("(", ")") } else { ("", "") };
                f.write_str(open)?;
                args.0.write(f, binds)?;
                write!(f, " {text} ")?;
                args.1.write(f, binds + 1)?;
                f.write_str(close)
            }
        }
    }
}

/// The sign of an infix operator, and how tightly it binds.
fn sign(op: BinaryOp) -> Option<(&'static str, u8)> {
    Some(match op {
        BinaryOp::Or => ("||", 1),
        BinaryOp::And => ("&&", 2),
        BinaryOp::Eq => ("==", 3),
        BinaryOp::Ne => ("!=", 3),
        BinaryOp::Lt => ("<", 3),
        BinaryOp::Le => ("<=", 3),
        BinaryOp::Add => ("+", 4),
        BinaryOp::Sub => ("-", 4),
        BinaryOp::Mul => ("*", 5),
        BinaryOp::FloorDiv => ("/", 5),
        BinaryOp::FloorMod => ("%", 5),
        _ => return None,
    })
}

impl fmt::Display for Formula {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write(f, 0)
    }
}

/// A size that the program leaves open.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OpenSize {
    /// Its name.
    pub name: String,
    /// The type under which kernels take it.
    pub dtype: DType,
    /// The least that it may be.
    pub low: i64,
    /// The greatest that it may be, where there is one.
    pub high: Option<i64>,
    /// What it is: what the manifest's numbers are for.
    pub value: i64,
}

/// A number of the manifest that follows from sizes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Slot {
    /// The blocks of a kernel, by its number, along a dimension.
    Grid {
        /// The kernel.
        kernel: usize,
        /// The dimension: x, y, z.
        dim: usize,
    },
    /// An extent of a buffer, by its name. Its bytes follow.
    Shape {
        /// The buffer.
        buffer: String,
        /// The dimension.
        dim: usize,
    },
    /// An extent of a tensor map, by its name.
    Map {
        /// The map.
        map: String,
        /// The dimension.
        dim: usize,
    },
}

/// A number of the manifest, and how it follows from sizes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Follows {
    /// The number.
    pub slot: Slot,
    /// How it follows.
    pub formula: Formula,
}

impl KernelManifest {
    /// The size called `name`.
    pub fn size(&self, name: &str) -> Option<&OpenSize> {
        self.sizes.iter().find(|size| size.name == name)
    }

    /// The formula of a number, if it has one.
    pub fn formula(&self, slot: &Slot) -> Option<&Formula> {
        self.formulas.iter().find(|follows| follows.slot == *slot).map(|follows| &follows.formula)
    }

    /// Makes the manifest one for other sizes; those not given keep what they are. A size that the manifest does not
    /// have, or that is outside its range, facts that do not hold, and an extent that does not fit are errors.
    pub fn set_sizes(&mut self, sizes: &[(String, i64)]) -> Result<(), Diagnostic> {
        for (name, value) in sizes {
            let Some(size) = self.sizes.iter_mut().find(|size| size.name == *name) else {
                let message = format!("`{}` has no size `{}`", self.function, shorten(name));
                let names: Vec<&str> = self.sizes.iter().map(|size| &*size.name).collect();
                let mut diagnostic = wrong(message);
                diagnostic.help = did_you_mean(name, names);
                return Err(diagnostic);
            };
            size.value = *value;
        }
        self.evaluate()
    }

    /// Sets all numbers that follow from sizes.
    pub(crate) fn evaluate(&mut self) -> Result<(), Diagnostic> {
        for size in &self.sizes {
            if size.value < size.low || size.high.is_some_and(|high| size.value > high) {
                let high = size.high.map_or(String::new(), |high| format!(", and at most {high}"));
                let message =
                    format!("the size `{}` is {}, and must be at least {}{high}", size.name, size.value, size.low);
                return Err(wrong(message));
            }
        }
        for fact in &self.facts {
            // A fact without a value does not hold either.
            match fact.eval(&|name| self.size(name).map(|size| size.value)) {
                Some(value) if value != 0 => {}
                Some(_) => return Err(wrong(format!("`{fact}` does not hold{}", self.with_sizes()))),
                None => return Err(wrong(format!("`{fact}` has no value{}", self.with_sizes()))),
            }
        }
        let mut left_out = Vec::with_capacity(self.kernels.len());
        for kernel in &self.kernels {
            let Some(when) = &kernel.when else {
                left_out.push(false);
                continue;
            };
            let value = when.eval(&|name| self.size(name).map(|size| size.value));
            let no_value = || {
                let with = self.with_sizes();
                wrong(format!("whether `{}` is launched is `{when}`, which is no number{with}", kernel.name))
            };
            left_out.push(value.ok_or_else(no_value)? == 0);
        }
        // What only kernels take that are left out is not made.
        let is_taken = |name: &str| {
            let launched = self.kernels.iter().zip(&left_out).filter(|(_, left_out)| !**left_out);
            let mut args = launched.flat_map(|(kernel, _)| &kernel.args);
            args.any(|arg| arg == name || self.map(arg).is_some_and(|map| map.buffer == name))
        };
        let untaken = |names: Vec<&String>| -> Vec<String> {
            if !left_out.contains(&true) {
                return Vec::new();
            }
            names.into_iter().filter(|name| !is_taken(name)).cloned().collect()
        };
        let unmade = untaken(self.temporaries.iter().map(|temporary| &temporary.name).collect());
        let unneeded = untaken(self.maps.iter().map(|map| &map.name).collect());
        let formulas = std::mem::take(&mut self.formulas);
        let followed = formulas.iter().try_for_each(|follows| match &follows.slot {
            Slot::Shape { buffer, dim } if unmade.contains(buffer) => {
                if let Some(buffer) = self.buffer_mut(buffer) {
                    buffer.shape[*dim] = 0;
                }
                Ok(())
            }
            Slot::Map { map, dim } if unneeded.contains(map) => {
                if let Some(extent) = self.map_extent(map, *dim) {
                    *extent = 0;
                }
                Ok(())
            }
            // Where it is not launched, its formulas need no value.
            &Slot::Grid { kernel, dim } if left_out.get(kernel) == Some(&true) => {
                self.kernels[kernel].grid[dim] = 0;
                Ok(())
            }
            _ => self.follow(follows),
        });
        self.formulas = formulas;
        followed?;
        let bytes = |buffer: &Buffer| {
            let bytes = buffer.dtype.bytes_of(&buffer.shape);
            bytes.ok_or_else(|| wrong(format!("the size of buffer `{}` does not fit 63 bits", buffer.name)))
        };
        let open: Vec<String> = self
            .formulas
            .iter()
            .filter_map(|follows| match &follows.slot {
                Slot::Shape { buffer, .. } => Some(buffer.clone()),
                Slot::Grid { .. } | Slot::Map { .. } => None,
            })
            .collect();
        for name in open {
            if let Some(buffer) = self.buffer_mut(&name) {
                buffer.bytes = bytes(buffer)?;
            }
        }
        self.check_tensors()
    }

    /// Makes formulas of the extents of grids that are 0 for some sizes, so that they come back.
    pub fn keep_grids(&mut self) {
        for kernel in 0..self.kernels.len() {
            let Kernel { grid, when: Some(_), .. } = self.kernels[kernel] else { continue };
            for (dim, extent) in grid.into_iter().enumerate() {
                let slot = Slot::Grid { kernel, dim };
                if self.formula(&slot).is_none() {
                    let formula = Formula::Int(i64::try_from(extent).unwrap_or(i64::MAX));
                    self.formulas.push(Follows { slot, formula });
                }
            }
        }
    }

    /// Sets a number that follows from sizes.
    fn follow(&mut self, follows: &Follows) -> Result<(), Diagnostic> {
        let value = follows.formula.eval(&|name| self.size(name).map(|size| size.value));
        let extent = value.and_then(|value| u64::try_from(value).ok());
        let Some((extent, place)) = extent.zip(self.place(&follows.slot)) else {
            return Err(self.no_extent(follows, value));
        };
        *place = extent;
        Ok(())
    }

    /// ` with n = 3, m = 4`, or nothing.
    fn with_sizes(&self) -> String {
        let have: Vec<String> = self.sizes.iter().map(|size| format!("{} = {}", size.name, size.value)).collect();
        if have.is_empty() { String::new() } else { format!(" with {}", have.join(", ")) }
    }

    /// What is reported of a number that follows from sizes and is none that can be launched.
    fn no_extent(&self, follows: &Follows, value: Option<i64>) -> Diagnostic {
        let what = match &follows.slot {
            Slot::Grid { kernel, dim } => {
                let name = self.kernels.get(*kernel).map_or("", |kernel| kernel.name.as_str());
                format!("extent {dim} of the grid of `{name}`")
            }
            Slot::Shape { buffer: name, dim } | Slot::Map { map: name, dim } => format!("extent {dim} of `{name}`"),
        };
        let (formula, with) = (&follows.formula, self.with_sizes());
        let message = match value {
            Some(value) => format!("{what} is `{formula}`, which is {value}{with}"),
            None => format!("{what} is `{formula}`, which is no number{with}"),
        };
        wrong(message).help(
            "choose sizes for which it is 0 or more; a program says which it takes by the range of a size, \
             `<n: 4..1024>`, or by a fact, `where n >= 4`",
        )
    }

    fn buffer_mut(&mut self, name: &str) -> Option<&mut Buffer> {
        let params = self.params.iter_mut().filter_map(|param| match param {
            Param::Buffer(buffer) => Some(buffer),
            Param::Scalar(_) => None,
        });
        params.chain(&mut self.temporaries).find(|buffer| buffer.name == name)
    }

    fn place(&mut self, slot: &Slot) -> Option<&mut u64> {
        match slot {
            Slot::Grid { kernel, dim } => self.kernels.get_mut(*kernel)?.grid.get_mut(*dim),
            Slot::Shape { buffer, dim } => self.buffer_mut(buffer)?.shape.get_mut(*dim),
            Slot::Map { map, dim } => self.map_extent(map, *dim),
        }
    }

    /// The extent of the map `map` along the dimension `dim`.
    fn map_extent(&mut self, map: &str, dim: usize) -> Option<&mut u64> {
        self.maps.iter_mut().find(|known| known.name == map)?.extents.get_mut(dim)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::manifest::tests::example;

    /// `(n + 31) / 32`
    fn blocks() -> Formula {
        let sum = Formula::op(BinaryOp::Add, Formula::Size("n".into()), Formula::Int(31));
        Formula::op(BinaryOp::FloorDiv, sum, Formula::Int(32))
    }

    pub(crate) fn open() -> KernelManifest {
        let mut manifest = example();
        manifest.params.remove(1);
        manifest.sizes =
            vec![OpenSize { name: "n".into(), dtype: DType::I32, low: 1, high: Some(1 << 20), value: 16384 }];
        manifest.formulas = vec![
            Follows { slot: Slot::Shape { buffer: "A".into(), dim: 0 }, formula: Formula::Size("n".into()) },
            Follows { slot: Slot::Grid { kernel: 0, dim: 0 }, formula: blocks() },
        ];
        manifest.facts = vec![Formula::op(BinaryOp::Le, Formula::Int(1), Formula::Size("n".into()))];
        manifest.set_sizes(&[]).expect("the sizes fit");
        manifest
    }

    #[test]
    fn formulas_follow_the_sizes() {
        let mut manifest = open();
        assert_eq!(manifest.validate(), Ok(()));
        assert_eq!(manifest.kernels[0].grid, [512, 1, 1]);
        manifest.set_sizes(&[("n".into(), 33)]).expect("it fits");
        assert_eq!(manifest.kernels[0].grid, [2, 1, 1]);
        let a = manifest.buffer("A").expect("there");
        assert_eq!((&a.shape[..], a.bytes), (&[33][..], 132));
        assert_eq!(blocks().to_string(), "(n + 31) / 32");
    }

    #[test]
    fn sizes_that_do_not_fit_are_refused() {
        let refused = |name: &str, value: i64| {
            let wrong = open().set_sizes(&[(name.to_string(), value)]).expect_err("refused");
            (wrong.message, wrong.help)
        };
        assert_eq!(refused("n", 0).0, "the size `n` is 0, and must be at least 1, and at most 1048576");
        let help = Some("did you mean `n`?".to_string());
        assert_eq!(refused("m", 3), ("`conv1d` has no size `m`".to_string(), help));
        let mut manifest = open();
        manifest.formulas[1].formula = Formula::op(
            BinaryOp::FloorDiv,
            Formula::Size("n".into()),
            Formula::Op(BinaryOp::Sub, Box::new((Formula::Size("n".into()), Formula::Size("n".into())))),
        );
        assert_eq!(
            manifest.set_sizes(&[]).expect_err("refused").message,
            "extent 0 of the grid of `conv1d_0` is `n / (n - n)`, which is no number with n = 16384"
        );
        let mut manifest = open();
        manifest.formulas[0].formula = Formula::op(BinaryOp::Sub, Formula::Size("n".into()), Formula::Int(3));
        let refused = manifest.set_sizes(&[("n".into(), 1)]).expect_err("refused");
        assert_eq!(refused.message, "extent 0 of `A` is `n - 3`, which is -2 with n = 1");
        assert!(refused.help.is_some_and(|help| help.contains("`where n >= 4`")));
    }

    #[test]
    fn division_rounds_down() {
        let at = |op: BinaryOp, a: i64, b: i64| Formula::op(op, Formula::Int(a), Formula::Int(b)).eval(&|_| None);
        assert_eq!((at(BinaryOp::FloorDiv, -7, 2), at(BinaryOp::FloorMod, -7, 2)), (Some(-4), Some(1)));
        assert_eq!((at(BinaryOp::FloorDiv, 7, -2), at(BinaryOp::FloorMod, 7, -2)), (Some(-4), Some(-1)));
        assert_eq!((at(BinaryOp::FloorDiv, 1, 0), at(BinaryOp::FloorDiv, i64::MIN, -1)), (None, None));
    }
}
