//! Arrays filled from a seed, the same on every machine.
//!
//! Element `i` is a function of seed, stream and `i` alone (SplitMix64: Steele, Lea and Flood, "Fast Splittable
//! Pseudorandom Number Generators", OOPSLA 2014), so that any single cell can be known without the ones before it.

use crate::array::Array;
use crate::element::{self, Element};
use tc_support::float_format::FloatFormat;
use tc_support::{DType, parallel};

/// Elements that one core fills at a time.
const CHUNK: usize = 1 << 14;

/// What to fill with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fill {
    /// Integers from `-max` to `max`, from 0 where the type has no sign; truth values are 0 or 1.
    ///
    /// Up to 8 every element type holds them exactly, so that sums of their products stay exact in the wider types
    /// and results can be compared bit for bit, whatever the order of the additions.
    SmallIntegers {
        /// The greatest magnitude.
        max: u8,
    },
    /// Reals uniform in [-0.5, 0.5), on the grid that the type holds exactly; integers from -8 to 8 for integer types.
    Uniform,
}

impl Fill {
    /// The small integers that are used where nothing else is asked for.
    pub const SMALL: Fill = Fill::SmallIntegers { max: 4 };
}

/// Fills `array`. Arguments of one call take the same `seed` and each a `stream` of its own.
pub fn fill(array: &mut Array, seed: u64, stream: u64, how: Fill) {
    let dtype = array.dtype();
    let size = dtype.bytes() as usize;
    parallel::for_each_chunk(array.bytes_mut(), CHUNK * size, |nth, chunk| {
        for (idx, cell) in (nth * CHUNK..).zip(chunk.chunks_exact_mut(size)) {
            let value = value_at(dtype, seed, stream, idx as u64, how);
            cell.copy_from_slice(&element::encode(dtype, value).to_le_bytes()[..size]);
        }
    });
}

/// What [`fill`] puts at position `idx`.
pub fn value_at(dtype: DType, seed: u64, stream: u64, idx: u64, how: Fill) -> Element {
    let bits = random_bits(seed, stream, idx);
    match how {
        Fill::Uniform if dtype.is_float() => {
            // An integer of p bits scaled by 2^-p is exact where the significand has p bits.
            let p = dtype.elem().format().map_or(53, FloatFormat::significand_bits);
            let steps = (bits >> (64 - p)) as f64;
            Element::Float((steps - f64::powi(2.0, p as i32 - 1)) / f64::powi(2.0, p as i32))
        }
        Fill::Uniform => small_integer(dtype, bits, 8),
        Fill::SmallIntegers { max } => small_integer(dtype, bits, max),
    }
}

fn small_integer(dtype: DType, bits: u64, max: u8) -> Element {
    // The upper half of a product by the count is uniform but for one part in 2^32 (Lemire 2019).
    let below = |count: u64| i128::from(((bits >> 32) * count) >> 32);
    let max = u64::from(max);
    if dtype == DType::Bool {
        Element::Int(below(2))
    } else if dtype.is_float() || dtype.is_signed() {
        Element::Int(below(2 * max + 1) - i128::from(max))
    } else {
        Element::Int(below(max + 1))
    }
}

fn random_bits(seed: u64, stream: u64, idx: u64) -> u64 {
    const GAMMA: u64 = 0x9e37_79b9_7f4a_7c15;
    let start = mix(seed ^ mix(stream.wrapping_add(GAMMA)));
    mix(start.wrapping_add(idx.wrapping_add(1).wrapping_mul(GAMMA)))
}

fn mix(mut bits: u64) -> u64 {
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_type_holds_what_it_is_given() {
        for dtype in DType::ALL {
            for how in [Fill::Uniform, Fill::SMALL, Fill::SmallIntegers { max: 8 }] {
                let mut array = Array::zeros(dtype, &[4096]).expect("small");
                fill(&mut array, 7, 0, how);
                let values = array.to_f64s();
                for (idx, &value) in values.iter().enumerate() {
                    assert_eq!(value, value_at(dtype, 7, 0, idx as u64, how).to_f64(), "{dtype} is not exact");
                    let bound = if how == Fill::Uniform && dtype.is_float() { 0.5 } else { 8.0 };
                    assert!((-bound..=bound).contains(&value) && (bound == 8.0 || value < 0.5), "{dtype}: {value}");
                }
                let mean = values.iter().sum::<f64>() / 4096.0;
                let (low, high) = values.iter().fold((f64::MAX, f64::MIN), |(a, b), &x| (a.min(x), b.max(x)));
                // The mean of 4096 uniform draws has a standard deviation of 0.005 widths: an eighth is no accident.
                assert!(
                    (mean - (low + high) / 2.0).abs() < (high - low) / 8.0,
                    "{dtype}: mean {mean} in {low}..{high}"
                );
                assert!(high > low);
            }
        }
    }

    #[test]
    fn seeds_and_streams_differ_and_repeat() {
        let draw = |seed, stream| {
            let mut array = Array::zeros(DType::F32, &[64]).expect("small");
            fill(&mut array, seed, stream, Fill::Uniform);
            array
        };
        assert_eq!(draw(1, 2), draw(1, 2));
        assert_ne!(draw(1, 2), draw(2, 1));
        assert_ne!(draw(1, 2), draw(1, 3));
        // The first output of SplitMix64 from 0, as its authors' program prints it.
        assert_eq!(mix(0x9e37_79b9_7f4a_7c15), 0xe220_a839_7b1d_cdaf);
        // A seed names the same numbers in every version.
        assert_eq!(random_bits(1, 2, 3), 15_762_792_775_298_711_209);
    }
}
