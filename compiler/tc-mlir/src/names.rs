//! Names of SSA values.

use tc_kernel::names::MAX_LENGTH;

/// `name` as a name of an SSA value, without its `%`; `fallback` where there is none. Names that constants have are the
/// constants'.
pub(crate) fn safe(name: &str, fallback: &str) -> String {
    let mut out: String = name
        .chars()
        .take(MAX_LENGTH)
        .map(|c| if c.is_ascii_alphanumeric() || matches!(c, '_' | '$' | '.') { c } else { '_' })
        .collect();
    if out.is_empty() {
        out.push_str(fallback);
    }
    if out.starts_with(|first: char| first.is_ascii_digit()) {
        out.insert(0, 'v');
    }
    if is_constant(&out) {
        out.push('_');
    }
    out
}

/// Is it a name that [`Constants`](crate::constants::Constants) gives: `c5_i32`, `cst`, `cst_1`?
pub(crate) fn is_constant(name: &str) -> bool {
    let number = |rest: &str| {
        let (digits, ty) = rest.split_once('_').unwrap_or((rest, ""));
        !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()) && (ty.is_empty() || ty.starts_with('i'))
    };
    let nth = |rest: &str| rest.strip_prefix('_').is_some_and(|nth| nth.bytes().all(|byte| byte.is_ascii_digit()));
    name.strip_prefix('c').is_some_and(number)
        || name.strip_prefix("cst").is_some_and(|rest| rest.is_empty() || nth(rest))
        || matches!(name, "true" | "false")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stay_as_they_are_where_mlir_and_the_constants_let_them() {
        for (name, want) in [
            ("x", "x"),
            ("n$1", "n$1"),
            ("float", "float"),
            ("c0", "c0_"),
            ("c5_i32", "c5_i32_"),
            ("cst", "cst_"),
            ("cst_1", "cst_1_"),
            ("cost", "cost"),
            ("c0_row", "c0_row"),
            ("true", "true_"),
            ("4th", "v4th"),
            ("ünder", "_nder"),
            ("", "v"),
        ] {
            assert_eq!(safe(name, "v"), want);
        }
        assert_eq!(safe(&"x".repeat(1 << 20), "v").len(), MAX_LENGTH);
    }
}
