//! Floating-point formats: one description of how bits hold a number, and one conversion for all of them.

/// How the bits of a float hold a number: a sign, an exponent, a fraction, from the highest bit to the lowest.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FloatFormat {
    /// The bits of the exponent.
    pub exponent_bits: u32,
    /// The bits of the fraction, without the leading one of the significand.
    pub fraction_bits: u32,
    /// What is subtracted from the stored exponent.
    pub bias: i32,
    /// The codes that are no finite numbers.
    pub specials: Specials,
    /// How a GPU converts to the format.
    pub conversion: Conversion,
    /// Bits below the fraction that memory holds and arithmetic does not.
    pub padding: u32,
}

/// The codes of a format that are no finite numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Specials {
    /// The greatest exponent is an infinity (no fraction) or a NaN (any other), as IEEE 754 has it.
    InfinityAndNans,
    /// All ones are a NaN; there is no infinity.
    OneNan,
}

/// How a GPU converts a wider float to a format; to nearest in any case.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Conversion {
    /// Ties go to the even code, and what is too great becomes an infinity: `cvt.rn`.
    TiesToEven,
    /// Ties go away from zero: `cvt.rna`.
    TiesAway,
    /// Ties go to the even code, what is too great becomes the greatest number, and every NaN is one: `cvt.rn.satfinite`.
    Saturating,
}

/// IEEE binary16.
pub const BINARY16: FloatFormat = FloatFormat::ieee(5, 10);
/// The upper half of a binary32.
pub const BFLOAT16: FloatFormat = FloatFormat::ieee(8, 7);
/// IEEE binary32.
pub const BINARY32: FloatFormat = FloatFormat::ieee(8, 23);
/// IEEE binary64.
pub const BINARY64: FloatFormat = FloatFormat::ieee(11, 52);
/// E4M3 of "OCP 8-bit Floating Point Specification (OFP8)", revision 1.0, section 5.
pub const E4M3: FloatFormat =
    FloatFormat { specials: Specials::OneNan, conversion: Conversion::Saturating, ..FloatFormat::ieee(4, 3) };
/// E5M2 of the same specification.
pub const E5M2: FloatFormat = FloatFormat { conversion: Conversion::Saturating, ..FloatFormat::ieee(5, 2) };
/// The format of 19 bits that tensor cores read from a binary32.
pub const TENSOR_FLOAT: FloatFormat =
    FloatFormat { padding: 13, conversion: Conversion::TiesAway, ..FloatFormat::ieee(8, 10) };

impl FloatFormat {
    /// A format with the bias, infinities and NaNs of IEEE 754.
    pub const fn ieee(exponent_bits: u32, fraction_bits: u32) -> FloatFormat {
        FloatFormat {
            exponent_bits,
            fraction_bits,
            bias: (1 << (exponent_bits - 1)) - 1,
            specials: Specials::InfinityAndNans,
            conversion: Conversion::TiesToEven,
            padding: 0,
        }
    }

    /// The bits that one number occupies.
    #[inline]
    pub const fn bits(&self) -> u32 {
        1 + self.exponent_bits + self.fraction_bits + self.padding
    }

    /// The bits of the significand, the leading one included.
    #[inline]
    pub const fn significand_bits(&self) -> u32 {
        self.fraction_bits + 1
    }

    /// Is there an infinity?
    #[inline]
    pub const fn has_infinity(&self) -> bool {
        matches!(self.specials, Specials::InfinityAndNans)
    }

    /// The greatest finite number.
    pub fn max_finite(&self) -> f64 {
        self.decode(self.max_finite_code() << self.padding)
    }

    /// Is each finite number of `other` one of this format?
    pub fn holds(&self, other: &FloatFormat) -> bool {
        let least = |format: &FloatFormat| 1 - format.bias - format.fraction_bits as i32;
        other.fraction_bits <= self.fraction_bits
            && least(other) >= least(self)
            && other.max_finite() <= self.max_finite()
    }

    /// The number that `bits` hold. A signalling NaN becomes a quiet one.
    #[inline]
    pub fn decode(&self, bits: u64) -> f64 {
        // What memory holds below the fraction counts.
        let fraction_bits = self.fraction_bits + self.padding;
        if fraction_bits == 52 {
            return f64::from_bits(bits);
        }
        let sign = (bits >> (self.bits() - 1) & 1) << 63;
        let magnitude = bits & ((1 << (self.bits() - 1)) - 1);
        let (exponent, fraction) = (magnitude >> fraction_bits, magnitude & ((1 << fraction_bits) - 1));
        let wide_fraction = fraction << (52 - fraction_bits);
        let value = match self.specials {
            Specials::InfinityAndNans if exponent == (1 << self.exponent_bits) - 1 => {
                const QUIET: u64 = 1 << 51;
                INFINITY | wide_fraction | if fraction == 0 { 0 } else { QUIET }
            }
            Specials::OneNan if magnitude >> self.padding > self.max_finite_code() => f64::NAN.to_bits(),
            _ if exponent == 0 => {
                let unit = power_of_two(1 - self.bias - fraction_bits as i32);
                (fraction as f64 * f64::from_bits(unit)).to_bits()
            }
            _ => power_of_two(exponent as i32 - self.bias) | wide_fraction,
        };
        f64::from_bits(sign | value)
    }

    /// The bits of the number nearest to `value`; of two, of the one with an even code. What is too great becomes an
    /// infinity, or a NaN where there is none; so does an infinity.
    #[inline]
    pub fn encode(&self, value: f64) -> u64 {
        self.encode_by(Conversion::TiesToEven, value)
    }

    /// The bits that a GPU's conversion of `value` gives.
    #[inline]
    pub fn convert(&self, value: f64) -> u64 {
        self.encode_by(self.conversion, value)
    }

    /// `value`, rounded to a number of this format as [`FloatFormat::encode`] does.
    #[inline]
    pub fn round(&self, value: f64) -> f64 {
        let rounded = self.decode(self.encode(value));
        // That there is no number says nothing of a sign.
        if rounded.is_nan() && !value.is_nan() { f64::NAN } else { rounded }
    }

    #[inline]
    fn encode_by(&self, conversion: Conversion, value: f64) -> u64 {
        // What a binary32 holds has been rounded to one.
        let value = if self.padding > 0 { f64::from(value as f32) } else { value };
        let (bits, fraction_bits) = (value.to_bits(), self.fraction_bits + self.padding);
        if fraction_bits == 52 {
            return bits;
        }
        let sign = (bits >> 63) << (self.bits() - 1);
        let magnitude = bits & !SIGN;
        if magnitude > INFINITY {
            let all_ones = (1 << self.exponent_bits) - 1;
            let quiet = magnitude & FRACTION | 1 << 51;
            return match (conversion, self.specials) {
                (Conversion::Saturating, _) => (1 << (self.bits() - 1)) - 1,
                (_, Specials::OneNan) => sign | ((1 << (self.bits() - 1)) - 1),
                (_, Specials::InfinityAndNans) => sign | all_ones << fraction_bits | quiet >> (52 - fraction_bits),
            };
        }
        let code = self.round_code(conversion == Conversion::TiesAway, magnitude);
        let greatest = self.max_finite_code();
        let code = match conversion {
            _ if code <= greatest => code,
            Conversion::Saturating => greatest,
            // The code after the greatest number is the infinity, or the one NaN.
            Conversion::TiesToEven | Conversion::TiesAway => greatest + 1,
        };
        sign | code << self.padding
    }

    /// The code of the number nearest to the finite or infinite double with these bits, as if exponents had no end.
    #[inline]
    fn round_code(&self, ties_away: bool, magnitude: u64) -> u64 {
        let stored = (magnitude >> 52) as i32;
        let exponent = stored.max(1) - 1023;
        let significand = magnitude & FRACTION | u64::from(stored != 0) << 52;
        let least = 1 - self.bias;
        let below_least = least.saturating_sub(exponent).max(0) as u32;
        let shift = (52 - self.fraction_bits + below_least).min(63);
        let (kept, rest) = (significand >> shift, significand & ((1 << shift) - 1));
        let tie = 1u64 << (shift - 1);
        let up = rest > tie || rest == tie && (ties_away || kept & 1 == 1);
        // A carry runs over into the exponent, where it belongs.
        (((exponent.max(least) - least) as u64) << self.fraction_bits) + kept + u64::from(up)
    }

    #[inline]
    const fn max_finite_code(&self) -> u64 {
        match self.specials {
            Specials::InfinityAndNans => (((1 << self.exponent_bits) - 1) << self.fraction_bits) - 1,
            Specials::OneNan => (1 << (self.exponent_bits + self.fraction_bits)) - 2,
        }
    }
}

const SIGN: u64 = 1 << 63;
const INFINITY: u64 = 0x7ff << 52;
const FRACTION: u64 = (1 << 52) - 1;

/// The bits of the double 2^`exponent`.
#[inline]
const fn power_of_two(exponent: i32) -> u64 {
    ((exponent + 1023) as u64) << 52
}

#[cfg(test)]
mod tests {
    use super::*;
    use half::{bf16, f16};

    /// Numbers that matter to a format: all that it holds, the ties between neighbours, and what lies next to either.
    fn hard_numbers(format: &FloatFormat) -> Vec<f64> {
        let finite = (0..1u64 << format.bits().min(16)).map(|code| format.decode(code << (format.bits().max(16) - 16)));
        let mut numbers = vec![f64::NAN, f64::INFINITY, 0.0, 1e300, 1e-300, 5e-324, f64::MAX];
        for value in finite.filter(|value| value.is_finite()) {
            let ulp = 2f64.powi((value.abs().log2().floor() as i32).max(1 - format.bias) - format.fraction_bits as i32);
            let tie = value + ulp / 2.0;
            numbers.extend([value, tie, tie.next_up(), tie.next_down(), value.next_up()]);
        }
        numbers.iter().flat_map(|&value| [value, -value]).collect()
    }

    #[test]
    fn sixteen_bits_are_those_of_the_crate_half() {
        for code in 0..=u16::MAX {
            assert_eq!(BINARY16.decode(code.into()).to_bits(), f16::from_bits(code).to_f64().to_bits(), "{code:#x}");
            assert_eq!(BFLOAT16.decode(code.into()).to_bits(), bf16::from_bits(code).to_f64().to_bits(), "{code:#x}");
        }
        for format in [BINARY16, BFLOAT16] {
            for value in hard_numbers(&format) {
                // `half` goes by a rounded f32, where ties are lost.
                let odd = crate::rounding::to_odd(value);
                let (half, brain) = (f16::from_f32(odd).to_bits(), bf16::from_f32(odd).to_bits());
                assert_eq!(BINARY16.encode(value), u64::from(half), "{value:e}");
                assert_eq!(BFLOAT16.encode(value), u64::from(brain), "{value:e}");
            }
        }
    }

    #[test]
    fn thirty_two_bits_are_those_of_rust() {
        for value in hard_numbers(&BINARY16).into_iter().chain(hard_numbers(&BFLOAT16)).chain(hard_numbers(&BINARY32)) {
            let bits = (value as f32).to_bits();
            assert_eq!(BINARY32.encode(value), u64::from(bits), "{value:e}");
            assert_eq!(BINARY32.decode(bits.into()).to_bits(), f64::from(value as f32).to_bits(), "{value:e}");
            assert_eq!(BINARY64.round(value).to_bits(), value.to_bits());
        }
    }

    /// The number nearest to `value` among all that a format of 8 bits holds, by looking at each.
    fn nearest(format: &FloatFormat, value: f64) -> f64 {
        let ulps = |code: u64| (format.decode(code) - value.abs()).abs();
        // Beyond the greatest number the next would be one step on.
        let greatest = format.max_finite_code();
        let step = format.decode(greatest) - format.decode(greatest - 1);
        if value.abs() >= format.max_finite() + step / 2.0 {
            // Of the greatest codes, that of E4M3 is even and that of E5M2 odd.
            let is_tie = value.abs() == format.max_finite() + step / 2.0;
            if !is_tie || greatest % 2 == 1 {
                return if format.has_infinity() { f64::INFINITY.copysign(value) } else { f64::NAN };
            }
        }
        let best = (0..=greatest)
            .min_by(|&a, &b| ulps(a).total_cmp(&ulps(b)).then((a % 2).cmp(&(b % 2))))
            .expect("a format has numbers");
        format.decode(best).copysign(value)
    }

    #[test]
    fn eight_bits_round_to_the_nearest_of_all_their_numbers() {
        for format in [E4M3, E5M2] {
            for value in hard_numbers(&format) {
                let (rounded, expected) = (format.round(value), nearest(&format, value));
                assert!(value.is_nan() && rounded.is_nan() || rounded.to_bits() == expected.to_bits(), "{value:e}");
            }
            for code in 0..=255 {
                let value = format.decode(code);
                if !value.is_nan() {
                    assert_eq!(format.encode(value), code, "{value}");
                }
                if value.is_finite() {
                    assert_eq!(format.convert(value), code, "{value}");
                }
            }
        }
        assert_eq!((E4M3.max_finite(), E5M2.max_finite()), (448.0, 57344.0));
        assert_eq!((E4M3.decode(0x01), E5M2.decode(0x01)), (f64::powi(2.0, -9), f64::powi(2.0, -16)));
        assert!(E4M3.decode(0x7f).is_nan() && E5M2.decode(0x7c).is_infinite());
        // 17 lies between 16 and 18 in E4M3, 19 between 18 and 20.
        assert_eq!((E4M3.round(17.0), E4M3.round(19.0)), (16.0, 20.0));
        assert!(E4M3.round(1000.0).is_nan() && E5M2.round(61440.0) == f64::INFINITY);
    }

    #[test]
    fn gpus_convert_in_ways_of_their_own() {
        assert_eq!(E4M3.decode(E4M3.convert(1e9)), 448.0);
        assert_eq!(E5M2.decode(E5M2.convert(f64::NEG_INFINITY)), -57344.0);
        assert_eq!((E5M2.convert(-f64::NAN), E4M3.convert(f64::NAN)), (0x7f, 0x7f));
        // 1 + 2^-11 is half way between two tf32: away from zero, where the language goes to the even one.
        let tie = 1.0 + f64::powi(2.0, -11);
        assert_eq!(TENSOR_FLOAT.decode(TENSOR_FLOAT.convert(-tie)), -1.0 - f64::powi(2.0, -10));
        assert_eq!(TENSOR_FLOAT.round(tie), 1.0);
        assert_eq!(BINARY16.convert(tie), 0x3c00);
    }

    #[test]
    fn tf32_is_nearest_and_ties_go_away_from_zero() {
        let to_tf32 = |value: f32| TENSOR_FLOAT.decode(TENSOR_FLOAT.convert(value.into())) as f32;
        let ulp = 2f32.powi(-10);
        for (value, want) in [
            (1.0, 1.0),
            (1.0 + ulp / 2.0, 1.0 + ulp),
            (-(1.0 + ulp / 2.0), -(1.0 + ulp)),
            (1.0 + ulp * 0.4999, 1.0),
            (1.0 + ulp * 1.5, 1.0 + 2.0 * ulp),
            (2.0 - ulp / 4.0, 2.0),
            (0.0, 0.0),
            (f32::MAX, f32::INFINITY),
            (f32::NEG_INFINITY, f32::NEG_INFINITY),
        ] {
            assert_eq!(to_tf32(value), want, "{value}");
        }
        assert!(to_tf32(f32::NAN).is_nan());
        assert_eq!(to_tf32(f32::from_bits(0x1fff)), f32::from_bits(0x2000), "a subnormal");
    }

    #[test]
    fn tf32_is_a_binary32_without_its_last_bits() {
        for value in hard_numbers(&BINARY16).into_iter().chain(hard_numbers(&TENSOR_FLOAT)) {
            let narrow = value as f32;
            let half = 0xfff + (narrow.to_bits() >> 13 & 1);
            let expected =
                if narrow.is_finite() { narrow.to_bits().wrapping_add(half) & !0x1fff } else { narrow.to_bits() };
            assert_eq!(TENSOR_FLOAT.encode(value), u64::from(expected), "{value:e}");
        }
        // What was never rounded is read as it is.
        assert_eq!(TENSOR_FLOAT.decode((0.1f32).to_bits().into()), f64::from(0.1f32));
    }

    #[test]
    fn formats_hold_one_another() {
        for narrow in [E4M3, E5M2] {
            assert!([BINARY16, BFLOAT16, TENSOR_FLOAT, BINARY32, BINARY64].iter().all(|wide| wide.holds(&narrow)));
        }
        assert!(BINARY32.holds(&TENSOR_FLOAT) && BINARY32.holds(&BINARY16) && BINARY64.holds(&BINARY32));
        assert!(!BINARY16.holds(&BFLOAT16) && !BFLOAT16.holds(&BINARY16) && !E4M3.holds(&E5M2) && !E5M2.holds(&E4M3));
    }
}
