//! How far two arrays are apart.

use crate::array::{Array, describe};
use crate::element::Element;
use tc_support::{Diagnostic, Location};

/// How far an array is from the one that was expected.
///
/// Equal values, two NaNs among them, have no error. A NaN or an infinity that meets something else has an infinite one.
#[derive(Clone, PartialEq, Debug)]
pub struct Comparison {
    /// Elements compared.
    pub n_elements: usize,
    /// Elements whose values differ.
    pub n_different: usize,
    /// The greatest |actual - expected|.
    pub max_abs: f64,
    /// The greatest |actual - expected| / |expected|; infinite where only `expected` is 0.
    pub max_rel: f64,
    /// The greatest |actual - expected| over the greatest finite |expected|: the error seen from the whole array.
    pub max_scaled: f64,
    /// The index of the element with the greatest absolute error, if any differs.
    pub worst: Option<Vec<u64>>,
    /// The two values there, actual and expected.
    pub worst_values: Option<(f64, f64)>,
}

impl Comparison {
    /// Are all values equal?
    pub fn is_exact(&self) -> bool {
        self.n_different == 0
    }

    /// Does every element satisfy `max_abs <= abs` or is the array within `rel` of its own scale?
    pub fn within(&self, abs: f64, rel: f64) -> bool {
        self.max_abs <= abs || self.max_scaled <= rel
    }
}

/// Compares two arrays of one shape; element types may differ, so that a reference can be wider.
pub fn compare(actual: &Array, expected: &Array) -> Result<Comparison, Diagnostic> {
    if actual.shape() != expected.shape() {
        let (actual, expected) =
            (describe(actual.dtype(), actual.shape()), describe(expected.dtype(), expected.shape()));
        let message = format!("arrays of different shapes cannot be compared: `{actual}` and `{expected}`");
        return Err(Diagnostic::error("shape-mismatch", Location::None, message));
    }
    let (mut n_different, mut worst_idx) = (0, None);
    let (mut max_abs, mut max_rel, mut scale) = (0.0f64, 0.0f64, 0.0f64);
    for (idx, (have, want)) in actual.elements().zip(expected.elements()).enumerate() {
        let magnitude = want.to_f64().abs();
        if magnitude.is_finite() {
            scale = scale.max(magnitude);
        }
        let error = distance(have, want);
        if error == 0.0 {
            continue;
        }
        n_different += 1;
        max_rel = max_rel.max(if error.is_finite() { error / magnitude } else { f64::INFINITY });
        if worst_idx.is_none() || error > max_abs {
            (max_abs, worst_idx) = (error, Some(idx));
        }
    }
    Ok(Comparison {
        n_elements: actual.len(),
        n_different,
        max_abs,
        max_rel,
        max_scaled: if max_abs == 0.0 { 0.0 } else { max_abs / scale },
        worst: worst_idx.map(|idx| unravel(idx as u64, actual.shape())),
        worst_values: worst_idx.map(|idx| (actual.get(idx).to_f64(), expected.get(idx).to_f64())),
    })
}

fn distance(have: Element, want: Element) -> f64 {
    match (have, want) {
        (Element::Int(have), Element::Int(want)) => (have - want).unsigned_abs() as f64,
        _ => {
            let (have, want) = (have.to_f64(), want.to_f64());
            if have == want || (have.is_nan() && want.is_nan()) {
                return 0.0;
            }
            let error = (have - want).abs();
            // The difference of two doubles may vanish only where they are equal, thanks to subnormals.
            if error.is_nan() { f64::INFINITY } else { error }
        }
    }
}

fn unravel(mut idx: u64, shape: &[u64]) -> Vec<u64> {
    let mut index = vec![0; shape.len()];
    for (place, &extent) in index.iter_mut().zip(shape).rev() {
        *place = idx % extent;
        idx /= extent;
    }
    index
}

#[cfg(test)]
mod tests {
    use super::*;
    use tc_target::DType;

    fn array(values: &[f64]) -> Array {
        Array::from_f64s(DType::F32, &[2, 2], values).expect("four values")
    }

    #[test]
    fn the_worst_element_is_named() {
        let found = compare(&array(&[1.0, 2.0, 3.5, 8.0]), &array(&[1.0, 2.5, 3.0, 4.0])).expect("one shape");
        assert_eq!((found.n_elements, found.n_different), (4, 3));
        assert_eq!((found.max_abs, found.max_rel, found.max_scaled), (4.0, 1.0, 1.0));
        assert_eq!((found.worst, found.worst_values), (Some(vec![1, 1]), Some((8.0, 4.0))));
    }

    #[test]
    fn what_is_no_number_is_far_from_any() {
        let nan = f64::NAN;
        let found = compare(&array(&[nan, 1.0, 0.0, -0.0]), &array(&[nan, 1.0, -0.0, 0.0])).expect("one shape");
        assert!(found.is_exact());
        let found = compare(&array(&[nan, 1.0, 0.0, 0.0]), &array(&[0.0, 1.0, 0.0, 0.0])).expect("one shape");
        assert_eq!((found.n_different, found.max_abs, found.max_scaled), (1, f64::INFINITY, f64::INFINITY));
        assert!(!found.within(1e30, 1e30));
        let inf = f64::INFINITY;
        assert!(compare(&array(&[inf; 4]), &array(&[inf; 4])).expect("one shape").is_exact());
        let found = compare(&array(&[-inf; 4]), &array(&[inf; 4])).expect("one shape");
        assert_eq!(found.max_rel, f64::INFINITY);
    }

    #[test]
    fn wide_integers_are_not_blurred() {
        let of = |value| Array::from_bytes(DType::U64, &[], u64::to_le_bytes(value).to_vec()).expect("eight bytes");
        let found = compare(&of(u64::MAX), &of(u64::MAX - 1)).expect("one shape");
        assert_eq!((found.n_different, found.max_abs, found.worst), (1, 1.0, Some(vec![])));
    }

    #[test]
    fn shapes_must_agree() {
        let other = Array::zeros(DType::F32, &[4]).expect("small");
        assert_eq!(compare(&array(&[0.0; 4]), &other).expect_err("another shape").code, "shape-mismatch");
    }
}
