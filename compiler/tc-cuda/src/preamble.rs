//! What stands before the kernels: only the headers, structs and functions that they use.

use crate::types;
use std::collections::BTreeSet;
use std::fmt::Write;
use tc_ir::{Elem, Scalar};

/// A function that the emitted text declares.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Helper {
    /// The remainder of the quotient that is rounded down.
    FloorMod,
    /// To an 8-bit float from an f32; what does not fit becomes infinite, or NaN where there is no infinity.
    ToF8(Elem),
    /// The same from an f64, rounded once.
    F64ToF8(Elem),
}

impl Helper {
    /// The name by which it is called.
    pub(crate) fn name(self) -> String {
        match self {
            Helper::FloorMod => "tc_floormod".into(),
            Helper::ToF8(elem) => format!("tc_to_{}", elem.name()),
            Helper::F64ToF8(elem) => format!("tc_f64_to_{}", elem.name()),
        }
    }

    fn text(self) -> String {
        let to_f8 = |elem: Elem, from: &str| {
            let ty = types::number(elem).expect("8-bit floats have a type");
            let kind = if elem == Elem::F8E4M3 { "__NV_E4M3" } else { "__NV_E5M2" };
            format!(
                "static __device__ inline {ty} {}({from} x) {{\n  {ty} result;\n  result.__x = __nv_cvt_{from}_to_fp8(x, __NV_NOSAT, {kind});\n  return result;\n}}\n",
                self.name()
            )
        };
        match self {
            Helper::FloorMod => {
                "static __device__ inline double tc_floormod(double a, double b) {\n  return a - floor(a / b) * b;\n}\n"
                    .into()
            }
            Helper::ToF8(elem) => to_f8(elem, "float"),
            Helper::F64ToF8(elem) => to_f8(elem, "double"),
        }
    }
}

/// What the kernels use.
#[derive(Default)]
pub(crate) struct Needs {
    elems: BTreeSet<Elem>,
    structs: BTreeSet<Scalar>,
    helpers: BTreeSet<Helper>,
}

impl Needs {
    /// The name of the type `scalar`, which is then declared.
    pub(crate) fn type_name(&mut self, scalar: Scalar) -> String {
        self.elems.insert(scalar.elem);
        // `accepts` refuses what has no type.
        let Some(number) = types::number(scalar.elem) else { return format!("/* {scalar} */ int") };
        if scalar.lanes == 1 {
            return number.to_string();
        }
        match types::built_in(scalar) {
            Some(built_in) => built_in.name,
            None => {
                self.structs.insert(scalar);
                scalar.to_string()
            }
        }
    }

    /// The type `elem` is used without being named.
    pub(crate) fn elem(&mut self, elem: Elem) {
        self.elems.insert(elem);
    }

    /// The name of `helper`, which is then declared.
    pub(crate) fn helper(&mut self, helper: Helper) -> String {
        if let Helper::ToF8(elem) | Helper::F64ToF8(elem) = helper {
            self.elems.insert(elem);
        }
        self.helpers.insert(helper);
        helper.name()
    }

    /// Writes all of it.
    pub(crate) fn write(&self, out: &mut String) {
        let headers: [(&[Elem], &str); 3] = [
            (&[Elem::F16], "cuda_fp16.h"),
            (&[Elem::BF16], "cuda_bf16.h"),
            (&[Elem::F8E4M3, Elem::F8E5M2], "cuda_fp8.h"),
        ];
        let start = out.len();
        for (elems, header) in headers {
            if elems.iter().any(|elem| self.elems.contains(elem)) {
                let _ = writeln!(out, "#include <{header}>");
            }
        }
        if out.len() > start {
            out.push('\n');
        }
        for &scalar in &self.structs {
            let Some(number) = types::number(scalar.elem) else { continue };
            let align = types::alignment(scalar);
            let _ = writeln!(out, "struct __align__({align}) {scalar} {{ {number} lane[{}]; }};", scalar.lanes);
        }
        if !self.structs.is_empty() {
            out.push('\n');
        }
        for helper in &self.helpers {
            out.push_str(&helper.text());
            out.push('\n');
        }
    }
}
