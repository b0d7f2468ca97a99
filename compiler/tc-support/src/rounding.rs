//! Rounding to odd: how a number reaches a narrow float through a wider one without being rounded twice.
//!
//! A number that a format does not hold lies between two that it does. Rounded to odd it becomes the one whose last bit
//! is set, and so it keeps to its side of every tie of a format with at least two bits less: rounded on from there it
//! comes out as if it had been rounded once (Boldo and Melquiond 2008, "Emulation of FMA and correctly rounded sums:
//! proved algorithms using rounding to odd").

/// `value` as an f32, rounded to odd.
pub fn to_odd(value: f64) -> f32 {
    let near = value as f32;
    if f64::from(near) == value || near.is_nan() {
        return near;
    }
    let towards_zero = near.to_bits() - u32::from(f64::from(near).abs() > value.abs());
    f32::from_bits(towards_zero | 1)
}

/// The integer `value` as an f64, rounded to odd.
pub fn int_to_odd(value: i128) -> f64 {
    let near = value as f64;
    // Beyond 2^127 the way back saturates; an f64 holds 2^127.
    if near as i128 == value {
        return near;
    }
    let towards_zero = near.to_bits() - u64::from(near.abs() as u128 > value.unsigned_abs());
    f64::from_bits(towards_zero | 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_keeps_to_its_side_of_a_tie() {
        for (value, sign) in [(1.0, 1.0), (-1.0, -1.0)] {
            let tie = value * (1.0 + f64::powi(2.0, -8));
            assert_eq!(f64::from(to_odd(tie)), tie);
            let (above, below) = (f64::from(to_odd(tie + sign * 1e-12)), f64::from(to_odd(tie - sign * 1e-12)));
            assert!(above.abs() > tie.abs() && below.abs() < tie.abs(), "{above} {below}");
        }
        assert_eq!(to_odd(f64::INFINITY), f32::INFINITY);
        assert_eq!(to_odd(1e300), f32::MAX);
        assert!(to_odd(f64::NAN).is_nan());
    }

    #[test]
    fn so_does_an_integer() {
        let tie = (1i128 << 62) + (1i128 << 54);
        assert_eq!(int_to_odd(tie) as i128, tie);
        assert!(int_to_odd(tie + 1) > tie as f64 && int_to_odd(tie - 1) < tie as f64);
        assert!(int_to_odd(-tie - 1) < -tie as f64 && int_to_odd(1 - tie) > -tie as f64);
        assert_eq!(int_to_odd(i128::from(u64::MAX)), f64::from_bits((2f64.powi(64)).to_bits() - 1));
    }
}
