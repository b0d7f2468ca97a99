//! Literals as NVIDIA's compiler reads them: bit for bit those of the program.

use crate::support::{compile, emit, one_kernel};
use std::collections::BTreeSet;
use std::fmt::Write;

/// Numbers that are easy to get wrong, and others drawn from all exponents.
fn bits_of_f32() -> Vec<u32> {
    let mut all: Vec<u32> = [0.1f32, 1.0 / 3.0, 1e-45, 3e38, 1.1754944e-38, 16777217.0, 0.3, 1e22, 8.5e-39, -0.7]
        .iter()
        .map(|value| value.to_bits())
        .collect();
    let mut state = 0x2545_f491_4f6c_dd1du64;
    for _ in 0..400 {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        all.push((state >> 32) as u32);
    }
    // Products by powers of two need not be products in PTX, and NaNs lose their payload on purpose.
    all.retain(|&bits| f32::from_bits(bits).is_finite() && bits & 0x7f_ffff != 0);
    all
}

/// The numbers that open with `prefix` in the products of `ptx`.
fn factors(ptx: &str, op: &str, prefix: &str) -> BTreeSet<u64> {
    let products = ptx.lines().filter(|line| line.contains(op));
    products
        .filter_map(|line| line.split(prefix).nth(1))
        .filter_map(|text| u64::from_str_radix(text.trim_end_matches([';', ' ']), 16).ok())
        .collect()
}

#[test]
fn f32_literals_are_exact() {
    let mut body = String::new();
    let bits = bits_of_f32();
    for (nth, &bits) in bits.iter().enumerate() {
        let _ = writeln!(body, "    A[tx + {nth}] = A[tx + {nth}] * {:?}", f32::from_bits(bits));
    }
    let ptx = compile(&emit(&one_kernel("A: f32[1024]", "A", &body)).source, "sm_90");
    let found = factors(&ptx, "mul.rn.f32", "0f");
    let want: BTreeSet<u64> = bits.into_iter().map(u64::from).collect();
    assert_eq!(found.symmetric_difference(&want).count(), 0, "{ptx}");
}

#[test]
fn f64_literals_are_exact() {
    let mut body = String::new();
    let mut want = BTreeSet::new();
    for (nth, bits) in bits_of_f32().into_iter().enumerate() {
        // An f64 with digits that no f32 has.
        let value = f64::from(f32::from_bits(bits)) * (1.0 / 3.0);
        want.insert(value.to_bits());
        let _ = writeln!(body, "    A[tx + {nth}] = A[tx + {nth}] * {value:?}");
    }
    let ptx = compile(&emit(&one_kernel("A: f64[1024]", "A", &body)).source, "sm_90");
    let found = factors(&ptx, "mul.rn.f64", "0d");
    assert_eq!(found.symmetric_difference(&want).count(), 0, "{ptx}");
}

#[test]
fn what_has_no_literal_is_made_of_bits() {
    let body = "    A[tx] = A[tx] * inf\n    A[tx + 1] = A[tx + 1] * -inf\n    A[tx + 2] = A[tx + 2] + nan";
    let ptx = compile(&emit(&one_kernel("A: f32[64]", "A", body)).source, "sm_80");
    assert_eq!(factors(&ptx, "mul.rn.f32", "0f"), BTreeSet::from([0x7f80_0000, 0xff80_0000]));
    assert_eq!(factors(&ptx, "add.rn.f32", "0f"), BTreeSet::from([0x7fc0_0000]));
    let least = "    A[tx] = A[tx] & -2147483648\n    B[tx] = B[tx] & -9223372036854775808";
    let ptx = compile(&emit(&one_kernel("A: i32[64], B: i64[64]", "A, B", least)).source, "sm_80");
    assert!(ptx.contains("-2147483648;") && ptx.contains("-9223372036854775808;"), "{ptx}");
}

#[test]
fn integers_of_64_bits_are_computed_in_64_bits() {
    let body = "    A[tx] = abs(A[tx])\n    A[tx + 1] = min(A[tx + 1], 5)\n    A[tx + 2] = max(A[tx + 2], B[tx])";
    let ptx = compile(&emit(&one_kernel("A: i64[64], B: i64[64]", "A, B", body)).source, "sm_80");
    assert!(ptx.contains("abs.s64") && ptx.contains("min.s64") && ptx.contains("max.s64"), "{ptx}");
}
