//! Maps of a buffer's indices.

use crate::value::eval_op;
use rustc_hash::FxHashMap;
use tc_ir::{Func, Op, Value};
use tc_support::Diagnostic;

/// How many elements a buffer may have whose map is checked.
const MAX_ELEMENTS: usize = 1 << 20;

/// A map from the indices of a buffer to those of the one that stands for it.
#[derive(Clone, Debug)]
pub struct Layout {
    /// The directive, whose region is the map.
    pub(super) directive: Op,
    /// The parameters that the map uses, and their values.
    pub(super) params: Vec<(Value, i64)>,
}

impl Layout {
    /// The map of the directive `at`; `number` is what values of the schedule stand for.
    pub fn read(sched: &Func, at: Op, number: &dyn Fn(Value) -> Option<i64>) -> Result<Layout, Diagnostic> {
        let region = sched.op_regions(at)[0];
        let mut params = Vec::new();
        for op in sched.ops(region) {
            if !sched.op_regions(op).is_empty() {
                let text = "a map of indices is straight arithmetic, without conditionals".to_string();
                return Err(Diagnostic::error("layout-map", sched.op_location(op), text));
            }
            for &operand in sched.operands(op) {
                let inside = sched.region_args(region).contains(&operand)
                    || sched.def_op(operand).is_some_and(|def| sched.region_of(def) == Some(region));
                if inside || params.iter().any(|&(known, _)| known == operand) {
                    continue;
                }
                match number(operand) {
                    Some(value) => params.push((operand, value)),
                    None => {
                        let text = format!("`{}` is no number", sched.value_text(operand));
                        return Err(Diagnostic::error("layout-map", sched.op_location(op), text));
                    }
                }
            }
        }
        Ok(Layout { directive: at, params })
    }

    /// The parameters that the map uses, and their values.
    pub fn params(&self) -> &[(Value, i64)] {
        &self.params
    }

    /// The extents of the buffer that stands for one of `shape`, the buffer of `name`. Refuses a map that has no value
    /// somewhere, gives a negative index, or maps two elements to one place.
    pub fn extents(&self, sched: &Func, name: &str, shape: &[i64]) -> Result<Vec<i64>, Diagnostic> {
        let error = |text: String| Diagnostic::error("layout-map", sched.op_location(self.directive), text);
        let n_elems = shape.iter().try_fold(1usize, |product, &extent| {
            product.checked_mul(usize::try_from(extent).ok()?).filter(|&product| product <= MAX_ELEMENTS)
        });
        let Some(n_elems) = n_elems else {
            let text = format!("`{name}` has more than {MAX_ELEMENTS} elements, too many to try its map on");
            return Err(error(text).help("map the layout of a buffer that is computed at a loop"));
        };
        let region = sched.op_regions(self.directive)[0];
        let rank = sched.yielded(region).len();
        let mut extents = vec![1i64; rank];
        let mut places: Vec<i64> = Vec::with_capacity(n_elems * rank);
        let mut index = vec![0i64; shape.len()];
        for _ in 0..n_elems {
            let Some(place) = self.place(sched, &index) else {
                return Err(error(format!("the map has no value at {index:?}: it overflows or divides by zero")));
            };
            if let Some(&negative) = place.iter().find(|&&at| at < 0) {
                return Err(error(format!("the map gives the index {negative} at {index:?}")));
            }
            for (extent, &at) in extents.iter_mut().zip(&place) {
                *extent = (*extent).max(at.saturating_add(1));
            }
            places.extend(place);
            step(&mut index, shape);
        }
        self.check_one_to_one(sched, name, shape, &extents, &places)?;
        Ok(extents)
    }

    /// The place of the element at `index`.
    fn place(&self, sched: &Func, index: &[i64]) -> Option<Vec<i64>> {
        let region = sched.op_regions(self.directive)[0];
        let mut known: FxHashMap<Value, i64> = self.params.iter().copied().collect();
        known.extend(sched.region_args(region).iter().copied().zip(index.iter().copied()));
        for op in sched.ops(region) {
            if let Some(result) = sched.result(op) {
                let args: Option<Vec<i64>> = sched.operands(op).iter().map(|value| known.get(value).copied()).collect();
                known.insert(result, eval_op(sched, op, &args?)?);
            }
        }
        sched.yielded(region).iter().map(|value| known.get(value).copied()).collect()
    }

    fn check_one_to_one(
        &self,
        sched: &Func,
        name: &str,
        shape: &[i64],
        extents: &[i64],
        places: &[i64],
    ) -> Result<(), Diagnostic> {
        let error = |text: String| Diagnostic::error("layout-map", sched.op_location(self.directive), text);
        let size = extents.iter().try_fold(1usize, |product, &extent| {
            product.checked_mul(usize::try_from(extent).ok()?).filter(|&product| product <= 16 * MAX_ELEMENTS)
        });
        let Some(size) = size else {
            return Err(error(format!(
                "the map spreads `{name}` over {extents:?}, more than {} places",
                16 * MAX_ELEMENTS
            )));
        };
        let mut taken = vec![u32::MAX; size];
        for (nth, place) in places.chunks(extents.len()).enumerate() {
            let flat =
                place.iter().zip(extents).fold(0usize, |flat, (&at, &extent)| flat * extent as usize + at as usize);
            let before = std::mem::replace(&mut taken[flat], nth as u32);
            if before != u32::MAX {
                let (a, b) = (unflatten(before as usize, shape), unflatten(nth, shape));
                let text = format!("the map puts the elements {a:?} and {b:?} of `{name}` at one place, {place:?}");
                return Err(error(text));
            }
        }
        Ok(())
    }
}

/// The next index in row-major order.
fn step(index: &mut [i64], shape: &[i64]) {
    for (at, &extent) in index.iter_mut().zip(shape).rev() {
        *at += 1;
        if *at < extent {
            return;
        }
        *at = 0;
    }
}

/// The index of element number `nth` in row-major order.
fn unflatten(mut nth: usize, shape: &[i64]) -> Vec<i64> {
    let mut index = vec![0; shape.len()];
    for (at, &extent) in index.iter_mut().zip(shape).rev() {
        *at = (nth % extent as usize) as i64;
        nth /= extent as usize;
    }
    index
}
