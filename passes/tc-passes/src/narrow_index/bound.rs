//! What 32 bits are proved to hold.

use super::index_lanes;
use rustc_hash::{FxHashMap, FxHashSet};
use tc_arith::{BinaryOp, Interval};
use tc_dialects::algebra::{Algebra, const_extent};
use tc_dialects::arith;
use tc_dialects::tir::{self, Coordinate, LoopKind};
use tc_ir::{Func, Op, Opcode, Region, Scalar, Value};
use tc_target::Target;

/// The values that are not proved to lie in 32 bits.
#[derive(Default)]
pub(super) struct Wide(FxHashSet<Value>);

impl Wide {
    pub(super) fn contains(&self, value: Value) -> bool {
        self.0.contains(&value)
    }

    pub(super) fn insert(&mut self, value: Value) {
        self.0.insert(value);
    }
}

/// The values of type `index` that may leave 32 bits, by what is known where they are defined.
pub(super) fn wide_values(func: &Func, target: &Target) -> Wide {
    let mut wide = Wide::default();
    // Callers may give any number.
    func.params().iter().filter(|&&param| index_lanes(func, param).is_some()).for_each(|&param| wide.insert(param));
    walk(func, target, &mut |_, value, is_narrow| {
        if !is_narrow {
            wide.insert(value);
        }
    });
    wide
}

/// Shows each value of type `index` that an op gives, with the algebra where it is defined, and whether 32 bits hold it.
pub(super) fn walk(func: &Func, target: &Target, see: &mut dyn FnMut(&mut Bounds<'_>, Value, bool)) {
    let (algebra, vectors) = (Algebra::of_func(func), FxHashMap::default());
    let mut bounds = Bounds { func, target, algebra, vectors };
    bounds.region(func.body(), see);
}

/// What values can be, in a walk over a function.
pub(super) struct Bounds<'a> {
    func: &'a Func,
    target: &'a Target,
    pub(super) algebra: Algebra,
    /// The bounds of vectors, which the algebra does not see into.
    vectors: FxHashMap<Value, Interval>,
}

impl Bounds<'_> {
    fn region(&mut self, region: Region, see: &mut dyn FnMut(&mut Self, Value, bool)) {
        let func = self.func;
        for op in func.ops(region) {
            for value in func.results(op) {
                self.value(value, see);
            }
            for &inner in func.op_regions(op) {
                let mark = self.algebra.analyzer.mark();
                if func.opcode(op) == tir::FOR {
                    self.algebra.enter_region(func, inner);
                    self.launch(op);
                }
                for &arg in func.region_args(inner) {
                    self.value(arg, see);
                }
                self.region(inner, see);
                self.algebra.analyzer.rollback(mark);
            }
        }
    }

    /// Of a launch coordinate, however open its extent is, the device allows so many values.
    fn launch(&mut self, op: Op) {
        let Some(LoopKind::Launch(coordinate)) = tir::loop_kind(self.func, op) else { return };
        // A constant extent says more, also where no device allows it.
        if const_extent(self.func, op).is_some() {
            return;
        }
        let limit = limit_of(self.target, coordinate);
        let start = self.func.operand(op, 0);
        let iv = self.func.region_args(self.func.op_regions(op)[0])[0];
        let (start, iv) = (self.algebra.expr(self.func, start), self.algebra.expr(self.func, iv));
        let pool = &mut self.algebra.analyzer.pool;
        let limit = pool.int(limit);
        let end = pool.add(start, limit);
        let within = pool.lt(iv, end);
        self.algebra.analyzer.constrain(within);
    }

    fn value(&mut self, value: Value, see: &mut dyn FnMut(&mut Self, Value, bool)) {
        let Some(lanes) = index_lanes(self.func, value) else { return };
        let fits = if lanes == 1 {
            let expr = self.algebra.expr(self.func, value);
            // Most values are small by their operands' ranges alone.
            is_narrow(self.algebra.analyzer.quick_bounds(expr)) || is_narrow(self.algebra.analyzer.bounds(expr))
        } else {
            let bounds = self.of_vector(value);
            self.vectors.insert(value, bounds);
            is_narrow(bounds)
        };
        let fits = fits && self.shifts_within(value);
        see(self, value, fits);
    }

    /// Is `value` no shift, or one by a count that 32 bits allow?
    fn shifts_within(&mut self, value: Value) -> bool {
        let shift = self.func.def_op(value).filter(|&op| self.func.role(op).is_shift());
        shift.is_none_or(|op| {
            let count = self.of(self.func.operand(op, 1));
            count.all_at_least(0) && count.all_at_most(31)
        })
    }

    /// The bounds of `value`, or of all lanes of it.
    pub(super) fn of(&mut self, value: Value) -> Interval {
        match self.func.value_scalar(value) {
            Some(Scalar { lanes: 1, .. }) => {
                let expr = self.algebra.expr(self.func, value);
                self.algebra.analyzer.bounds(expr)
            }
            // Operands stand before their users.
            Some(_) => self.vectors.get(&value).copied().unwrap_or_default(),
            None => Interval::default(),
        }
    }

    fn of_vector(&mut self, value: Value) -> Interval {
        let func = self.func;
        let Some(op) = func.def_op(value) else { return Interval::default() };
        let mut of = |nth: usize| self.of(func.operand(op, nth));
        match func.opcode(op) {
            arith::BROADCAST => of(0),
            arith::RAMP => {
                let steps = func.value_scalar(value).map_or(0, |scalar| i64::from(scalar.lanes) - 1);
                of(0) + Interval::apply(BinaryOp::Mul, of(1), Interval::new(0, steps))
            }
            arith::SELECT => of(1).union(of(2)),
            arith::NEG => Interval::apply(BinaryOp::Sub, Interval::point(0), of(0)),
            opcode => match binary(opcode) {
                Some(binary) => Interval::apply(binary, of(0), of(1)),
                None => Interval::default(),
            },
        }
    }
}

fn limit_of(target: &Target, coordinate: Coordinate) -> i64 {
    let limits = if coordinate.is_thread() { target.max_block } else { target.max_grid };
    i64::try_from(limits[coordinate.dim()]).unwrap_or(i64::MAX)
}

/// Do 32 bits hold all of it?
fn is_narrow(interval: Interval) -> bool {
    interval.min().is_some_and(|min| min >= i64::from(i32::MIN))
        && interval.max().is_some_and(|max| max <= i64::from(i32::MAX))
}

fn binary(opcode: Opcode) -> Option<BinaryOp> {
    Some(match opcode {
        arith::ADD => BinaryOp::Add,
        arith::SUB => BinaryOp::Sub,
        arith::MUL => BinaryOp::Mul,
        arith::DIV => BinaryOp::FloorDiv,
        arith::MOD => BinaryOp::FloorMod,
        arith::TDIV => BinaryOp::TruncDiv,
        arith::TMOD => BinaryOp::TruncMod,
        arith::MIN => BinaryOp::Min,
        arith::MAX => BinaryOp::Max,
        _ => return None,
    })
}
