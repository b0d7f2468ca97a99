//! Inputs from a seed, the same on every machine.

use crate::cell::{self, Cell};
use crate::define::Signature;
use crate::tensor::Tensor;
use tc_ir::Elem;
use tc_ir::types::ElemKind;
use tc_support::float_format::FloatFormat;
use tc_support::parallel;

/// So many cells are drawn by one task.
const CHUNK: u64 = 1 << 16;

/// The step from a state to the next.
const GAMMA: u64 = 0x9e37_79b9_7f4a_7c15;

/// SplitMix64 (Steele, Lea and Flood, "Fast Splittable Pseudorandom Number Generators", OOPSLA 2014).
#[derive(Clone, Debug)]
pub(crate) struct SplitMix {
    state: u64,
}

impl SplitMix {
    pub(crate) fn new(seed: u64) -> SplitMix {
        SplitMix { state: seed }
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(GAMMA);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// The generator after `n` numbers.
    pub(crate) fn after(&self, n: u64) -> SplitMix {
        SplitMix { state: self.state.wrapping_add(GAMMA.wrapping_mul(n)) }
    }

    /// A number below `n`, which is not 0.
    pub(crate) fn below(&mut self, n: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(n)) >> 64) as u64
    }
}

/// What inputs are made of.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Fill {
    /// Integers up to a magnitude, each there with a chance of `keep` in 65536 and 0 otherwise.
    Integers { max: u32, keep: u32 },
    /// Reals uniform in [-0.5, 0.5), integers up to 8.
    Reals,
}

/// The magnitude and the density of integers whose sums of `n_terms` products a type of `mantissa` bits holds
/// exactly: `n * max^2 <= 2^mantissa`, and where that leaves nothing, ones that are rare enough.
pub(crate) fn exact_integers(n_terms: u64, mantissa: u32) -> Fill {
    let room = (1u64 << mantissa.min(40)) / n_terms.max(1);
    if room >= 1 {
        let max = (room as f64).sqrt() as u32;
        return Fill::Integers { max: max.clamp(1, 8), keep: 1 << 16 };
    }
    // A product is there where both factors are; a quarter of the room is left for chance.
    let density = ((1u64 << mantissa) as f64 / n_terms as f64 / 4.0).sqrt();
    Fill::Integers { max: 1, keep: ((density * 65536.0) as u32).max(1) }
}

/// The bits of the significand of a float type, the leading one included.
pub(crate) fn mantissa(elem: Elem) -> u32 {
    elem.format().map_or(53, FloatFormat::significand_bits)
}

/// Fills an array. Arguments of one call take the same `seed` and each a `stream` of its own.
pub(crate) fn fill(signature: &Signature, seed: u64, stream: u64, how: Fill) -> Tensor {
    let mut mixer = SplitMix::new(seed ^ stream.wrapping_mul(0xd1b5_4a32_d192_ed03));
    let random = SplitMix::new(mixer.next());
    let elem = signature.elem;
    let n: u64 = signature.shape.iter().product();
    let chunk = |start: u64| {
        let mut random = random.after(start);
        let mut bytes = Vec::with_capacity(CHUNK.min(n - start) as usize * elem.bytes() as usize);
        for _ in start..n.min(start + CHUNK) {
            cell::encode(elem, draw(&mut random, elem, how), &mut bytes);
        }
        bytes
    };
    let chunks: Vec<Vec<u8>> = parallel::map_range(n.div_ceil(CHUNK), |nth| chunk(nth * CHUNK));
    Tensor { elem, shape: signature.shape.clone(), data: chunks.concat() }
}

/// The next cell; it takes one number.
fn draw(random: &mut SplitMix, elem: Elem, how: Fill) -> Cell {
    match how {
        Fill::Reals if elem.is_float() => {
            // As many bits as the type holds, so that the value is exact and lies in the range.
            let bits = mantissa(elem).min(53);
            let steps = random.next() >> (64 - bits);
            let half = 1u64 << (bits - 1);
            cell::of_float(elem, (steps as f64 - half as f64) / (2.0 * half as f64))
        }
        Fill::Reals => integer(random, elem, 8, 1 << 16),
        Fill::Integers { max, keep } => integer(random, elem, max, keep),
    }
}

fn integer(random: &mut SplitMix, elem: Elem, max: u32, keep: u32) -> u64 {
    let bits = random.next();
    // A type of few bits holds no greater integers without gaps.
    let max = if elem.is_float() { max.min(1 << mantissa(elem).min(20)) } else { max };
    let value = match elem.kind() {
        ElemKind::Bool => return bits >> 63,
        ElemKind::Unsigned => (bits >> 32) % (u64::from(max) + 1),
        ElemKind::Signed | ElemKind::Float => (bits >> 32) % (2 * u64::from(max) + 1),
    };
    if (bits & 0xffff) as u32 >= keep {
        return 0;
    }
    match elem.kind() {
        ElemKind::Unsigned => value,
        ElemKind::Float => cell::of_float(elem, value as f64 - f64::from(max)),
        _ => cell::of_int(i128::from(value) - i128::from(max)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(elem: Elem, how: Fill) -> Vec<f64> {
        fill(&Signature { name: "A".into(), elem, shape: vec![1000] }, 7, 1, how).to_f64s()
    }

    #[test]
    fn small_integers_are_small_and_both_signs_occur() {
        for elem in [Elem::F8E4M3, Elem::F16, Elem::F32, Elem::I8, Elem::I64] {
            let values = filled(elem, Fill::Integers { max: 4, keep: 1 << 16 });
            assert!(values.iter().all(|value| value.fract() == 0.0 && value.abs() <= 4.0), "{}", elem.name());
            assert!(values.contains(&-4.0) && values.contains(&4.0), "{}", elem.name());
        }
        assert!(
            filled(Elem::U8, Fill::Integers { max: 4, keep: 1 << 16 }).iter().all(|value| (0.0..=4.0).contains(value))
        );
    }

    #[test]
    fn reals_lie_in_their_range_and_differ() {
        for elem in [Elem::F8E5M2, Elem::BF16, Elem::F32, Elem::F64] {
            let values = filled(elem, Fill::Reals);
            assert!(values.iter().all(|value| (-0.5..0.5).contains(value)), "{}", elem.name());
            assert!(values.iter().any(|value| value.fract() != 0.0), "{}", elem.name());
        }
        assert_eq!(filled(Elem::F32, Fill::Reals), filled(Elem::F32, Fill::Reals));
    }

    #[test]
    fn long_sums_get_small_or_rare_terms() {
        assert_eq!(exact_integers(32, 24), Fill::Integers { max: 8, keep: 1 << 16 });
        assert_eq!(exact_integers(256, 11), Fill::Integers { max: 2, keep: 1 << 16 });
        let Fill::Integers { max: 1, keep } = exact_integers(1 << 20, 11) else { panic!("ones") };
        assert!(keep < 4096, "{keep}");
    }
}
