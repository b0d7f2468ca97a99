//! Intrinsics of `wgmma`, whose name is all that there is to say of one: `wgmma_m64n128k16_f16_f32_row_col`.

use crate::fragment::{Family, Product, mma_k, product};
use tc_ir::Elem;

/// What messages call the file that the text would be in.
pub const FILE: &str = "intrinsics/wgmma.tir";

/// What a name says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Named {
    n: i64,
    factors: Elem,
    sums: Elem,
    left: Left,
    /// Does the right factor stand n x k?
    turned: bool,
}

/// How the left factor lies.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Left {
    /// In shared memory, m x k.
    Row,
    /// In shared memory, k x m.
    Col,
    /// In registers.
    Registers,
}

impl Left {
    const ALL: [Left; 3] = [Left::Row, Left::Col, Left::Registers];

    const fn word(self) -> &'static str {
        match self {
            Left::Row => "row",
            Left::Col => "col",
            Left::Registers => "reg",
        }
    }
}

impl Named {
    fn parse(name: &str) -> Option<Named> {
        let mut parts = name.strip_prefix("wgmma_m64n")?.split('_');
        let (n, k) = parts.next()?.split_once('k')?;
        let number = |text: &str| (text.len() <= 3 && !text.starts_with('0')).then(|| text.parse().ok()).flatten();
        let (n, k): (i64, i64) = (number(n)?, number(k)?);
        let (factors, sums) = (Elem::parse(parts.next()?)?, Elem::parse(parts.next()?)?);
        let (left, turned) = match [parts.next(), parts.next(), parts.next()] {
            [None, None, None] => (Left::Row, false),
            // The layouts that need no words have no second name.
            [Some(a), Some(b), None] => {
                let left = Left::ALL.into_iter().find(|left| left.word() == a)?;
                let turned = match b {
                    "row" => false,
                    "col" => true,
                    _ => return None,
                };
                (left, turned)
            }
            _ => return None,
        };
        let named = Named { n, factors, sums, left, turned };
        let known = named.product()?;
        let along_k = left != Left::Col && turned;
        let fits = known.sums.contains(&sums) && known.has_width(n) && k == mma_k(named.memory().bytes());
        (fits && (along_k || factors.bits() == 16) && name == named.name()).then_some(named)
    }

    /// The type of the factors in memory.
    fn memory(self) -> Elem {
        self.factors.in_memory()
    }

    fn product(self) -> Option<&'static Product> {
        // f32 in memory is multiplied as tf32, and called so.
        (self.factors != Elem::F32).then(|| product(Family::Wgmma, self.memory())).flatten()
    }

    fn name(self) -> String {
        let Named { n, factors, sums, left, turned } = self;
        let layouts = match (left, turned) {
            (Left::Row, false) => String::new(),
            (left, turned) => format!("_{}_{}", left.word(), if turned { "col" } else { "row" }),
        };
        format!("wgmma_m64n{n}k{}_{}_{}{layouts}", mma_k(self.memory().bytes()), factors.name(), sums.name())
    }
}

/// The text of the intrinsic called `name`, if it is one of `wgmma`.
pub fn text(name: &str) -> Option<String> {
    let named = Named::parse(name)?;
    let Named { n, factors, sums, left, turned } = named;
    let (memory, k) = (named.memory(), mma_k(named.memory().bytes()));
    let (from, to) = (memory.name(), sums.name());
    let strides = "in shared attributes {strides = [sa, 1]}";
    let (sizes, a, a_at, a_layout) = match left {
        Left::Row => ("sa, sb", format!("64, {k}] {strides}"), "A[i, k]", ""),
        Left::Col => ("sa, sb", format!("{k}, 64] {strides}"), "A[k, i]", ", a_layout = col_major"),
        Left::Registers => ("sb", format!("64, {k}] in wgmma.matrix_a"), "A[i, k]", ""),
    };
    let [b, b_at, b_layout] = if turned {
        [format!("{n}, {k}"), "B[j, k]".to_string(), ", b_layout = col_major".to_string()]
    } else {
        [format!("{k}, {n}"), "B[k, j]".to_string(), String::new()]
    };
    let cast = |place: String| if memory == sums { place } else { format!("cast<{to}>({place})") };
    let attributes = if factors != memory { " attributes {numerics = \"tf32\"}" } else { "" };
    Some(format!(
        "te.intrin @{name}<{sizes}>(A: {from}[{a},
    B: {from}[{b}] in shared attributes {{strides = [sb, 1]}})
    -> (C: {to}[64, {n}] in wgmma.accumulator){attributes} {{
  compute C[i: 64, j: {n}] = sum[k: {k}]({} * {})
  update {{
    wgmma.mma(C, A, B{a_layout}{b_layout})
  }}
}}
",
        cast(a_at.to_string()),
        cast(b_at),
    ))
}

/// What the names of all products begin with.
pub const FAMILY: &str = "wgmma";

/// The products that have as many columns as one of `extents` and whose factors, in memory, and sums are of `elems`.
pub fn family(extents: &[i64], elems: &[Elem]) -> Vec<String> {
    let mut names = Vec::new();
    for &factors in Elem::ALL.iter().filter(|elem| elems.contains(&elem.in_memory())) {
        for &sums in elems {
            for &n in extents {
                for (left, turned) in Left::ALL.into_iter().flat_map(|left| [(left, false), (left, true)]) {
                    let name = Named { n, factors, sums, left, turned }.name();
                    names.extend(Named::parse(&name).is_some().then_some(name));
                }
            }
        }
    }
    names
}

/// What helps where no product of `wgmma` is called `name`: what there is instead, if the name says enough.
pub fn correction(name: &str) -> Option<String> {
    let mut parts = name.strip_prefix("wgmma_m64n")?.split('_');
    let n: i64 = parts.next()?.split_once('k')?.0.parse().ok()?;
    let (factors, sums) = (Elem::parse(parts.next()?)?, Elem::parse(parts.next()?)?);
    let words: Vec<&str> = parts.collect();
    let left_of = |word: &str| Left::ALL.into_iter().find(|left| left.word() == word).unwrap_or(Left::Row);
    let (left, turned) = match words[..] {
        [] => (Left::Row, false),
        [a, b] => (left_of(a), b == "col"),
        _ => (Left::Row, true),
    };
    let given = Named { n, factors, sums, left, turned };
    let known = given.product()?;
    if !known.sums.contains(&sums) {
        let list: Vec<String> = known.sums.iter().map(|sum| format!("`{}`", sum.name())).collect();
        return Some(format!("products of `{}` are summed in {}", factors.name(), list.join(" or ")));
    }
    if !known.has_width(n) {
        let widths =
            if known.sums.contains(&Elem::I32) { "8, 16, 24, 32, or a multiple of 16" } else { "a multiple of 8" };
        return Some(format!("a product of `{}` has {widths} up to 256 columns, not {n}", factors.name()));
    }
    if factors.bits() != 16 && (left == Left::Col || !turned) {
        let left = if left == Left::Col { Left::Row } else { left };
        let name = Named { left, turned: true, ..given }.name();
        return Some(format!("both factors of `{}` lie along k: there is only `{name}`", factors.name()));
    }
    Some(format!("did you mean `{}`?", given.name()))
}

/// A few of the names, for lists and suggestions.
pub const EXAMPLES: &[&str] = &[
    "wgmma_m64n128k16_f16_f32",
    "wgmma_m64n128k16_f16_f32_row_col",
    "wgmma_m64n256k16_f16_f32",
    "wgmma_m64n256k16_f16_f32_row_col",
    "wgmma_m64n128k16_bf16_f32",
    "wgmma_m64n128k16_bf16_f32_row_col",
    "wgmma_m64n128k16_f16_f32_reg_row",
    "wgmma_m64n128k8_tf32_f32_row_col",
    "wgmma_m64n128k32_i8_i32_row_col",
    "wgmma_m64n128k32_f8e4m3_f32_row_col",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_says_all() {
        assert!(EXAMPLES.iter().all(|name| text(name).is_some()));
        let turned = text("wgmma_m64n8k32_i8_i32_row_col").expect("one of the library");
        assert!(turned.contains("B: i8[8, 32] in shared") && turned.contains("cast<i32>(B[j, k])"), "{turned}");
        let tf32 = text("wgmma_m64n16k8_tf32_f32_row_col").expect("one of the library");
        let held = text("wgmma_m64n64k16_f16_f32_reg_row").expect("one of the library");
        assert!(held.contains("<sb>(A: f16[64, 16] in wgmma.matrix_a,"), "{held}");
        assert!(tf32.contains("A: f32[64, 8]") && tf32.contains("numerics") && !tf32.contains("cast"), "{tf32}");
    }

    #[test]
    fn a_family_is_what_has_the_types_and_the_columns() {
        let names = family(&[64, 128, 16], &[Elem::F16, Elem::F32]);
        assert!(names.contains(&"wgmma_m64n128k16_f16_f32_row_col".to_string()), "{names:?}");
        // Three widths; two types of sums, three places of the left factor, two of the right one; f32 as tf32, along k.
        assert_eq!(names.len(), 3 * (2 * 6 + 2));
        assert!(names.iter().all(|name| text(name).is_some()));
        assert_eq!(family(&[128], &[Elem::I8, Elem::I32]).len(), 2);
        assert_eq!(family(&[100], &[Elem::F16, Elem::F32]), Vec::<String>::new());
    }

    #[test]
    fn a_name_that_is_near_leads_to_one_that_there_is() {
        let told = |name: &str| correction(name).unwrap_or_default();
        assert_eq!(told("wgmma_m64n128k16_f16_f32_row_row"), "did you mean `wgmma_m64n128k16_f16_f32`?");
        assert_eq!(told("wgmma_m64n128k8_f16_f32_row_col"), "did you mean `wgmma_m64n128k16_f16_f32_row_col`?");
        assert_eq!(
            told("wgmma_m64n128k32_i8_i32_row_row"),
            "both factors of `i8` lie along k: there is only `wgmma_m64n128k32_i8_i32_row_col`"
        );
        assert_eq!(
            told("wgmma_m64n64k8_tf32_f32"),
            "both factors of `tf32` lie along k: there is only `wgmma_m64n64k8_tf32_f32_row_col`"
        );
        assert_eq!(told("wgmma_m64n64k16_bf16_f16"), "products of `bf16` are summed in `f32`");
        assert_eq!(
            told("wgmma_m64n40k32_i8_i32_row_col"),
            "a product of `i8` has 8, 16, 24, 32, or a multiple of 16 up to 256 columns, not 40"
        );
        for name in ["wgmma_m64n128k16_f32_f32", "wgmma_m64nk_f16_f32", "wgmma_", "wmma", ""] {
            assert_eq!(correction(name), None, "{name}");
        }
        // What is proposed is there.
        for name in ["wgmma_m64n8k8_i8_i32", "wgmma_m64n256k1_f8e4m3_f16_col_row", "wgmma_m64n24k_bf16_f32_x_y_z"] {
            let proposed = told(name).split('`').rfind(|part| part.starts_with("wgmma")).map(String::from);
            assert!(proposed.is_some_and(|proposed| text(&proposed).is_some()), "{name}: {}", told(name));
        }
    }

    #[test]
    fn what_the_hardware_lacks_has_no_name() {
        for name in [
            "wgmma_m64n4k16_f16_f32",
            "wgmma_m64n264k16_f16_f32",
            "wgmma_m64n128k8_f16_f32",
            "wgmma_m64n128k16_f32_f32",
            "wgmma_m64n128k16_bf16_f16",
            "wgmma_m64n128k16_f16_f32_row_row",
            "wgmma_m64n128k16_f16_f32_row",
            "wgmma_m64n0128k16_f16_f32",
            "wgmma_m64n128k32_i8_i32",
            "wgmma_m64n40k32_i8_i32_row_col",
            "wgmma_m64n128k8_tf32_f32",
            "wgmma_m64n99999999999999999999k16_f16_f32",
            "wgmma_",
            "",
        ] {
            assert_eq!(text(name), None, "{name}");
        }
    }
}
