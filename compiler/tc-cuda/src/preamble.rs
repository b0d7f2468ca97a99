//! What stands before the kernels: only the headers, structs and functions that they use.

use crate::ptx::Ptx;
use crate::{bulk, types, wgmma};
use std::collections::BTreeSet;
use std::fmt::Write;
use tc_ir::{Elem, Scalar};
use tc_kernel::access::alignment;
use tc_kernel::ptx::bulk::Bulk;
use tc_kernel::ptx::wgmma::Warpgroup;

/// A function that the emitted text declares.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Helper {
    /// To an 8-bit float from an f32; what does not fit becomes infinite, or NaN where there is no infinity.
    ToF8(Elem),
    /// The same from an f64, rounded once.
    F64ToF8(Elem),
    /// `a * b + c` of bf16, rounded once, where there is no instruction: the product is exact in f64, and the sum, rounded
    /// to odd, is as good as exact (Boldo and Melquiond 2008).
    Fma(Elem),
    /// The number of the own lane within its warp.
    Lane,
    /// The lanes of the own warp that there are in a block of so many threads.
    Lanes,
    /// A shuffle that gives the own value where the other lane is not there.
    Shuffle(ShuffleMode),
    /// Rounds the elements of a tf32 fragment.
    RoundTf32,
    /// An f32 as tf32 holds it, rounded to nearest even: the last 13 of its bits are 0.
    ToTf32,
    /// The same from an f64. It is rounded to odd first, to 24 bits, so that it counts as rounded once.
    F64ToTf32,
    /// An instruction that makes a float of one.
    Instruction(&'static str),
    /// An instruction of tiles, or of copies.
    Ptx(Ptx),
    /// One of a barrier in shared memory, or of a bulk copy.
    Bulk(Bulk),
    /// One of a warpgroup.
    Warpgroup(Warpgroup),
}

/// Which lane a shuffle reads from.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum ShuffleMode {
    Down,
    Up,
    Xor,
    Idx,
}

impl ShuffleMode {
    /// The mode called `word`.
    pub(crate) fn parse(word: &str) -> Option<ShuffleMode> {
        [ShuffleMode::Down, ShuffleMode::Up, ShuffleMode::Xor, ShuffleMode::Idx]
            .into_iter()
            .find(|mode| mode.word() == word)
    }

    fn word(self) -> &'static str {
        match self {
            ShuffleMode::Down => "down",
            ShuffleMode::Up => "up",
            ShuffleMode::Xor => "xor",
            ShuffleMode::Idx => "idx",
        }
    }

    /// CUDA's function.
    pub(crate) fn intrinsic(self) -> &'static str {
        match self {
            ShuffleMode::Down => "__shfl_down_sync",
            ShuffleMode::Up => "__shfl_up_sync",
            ShuffleMode::Xor => "__shfl_xor_sync",
            ShuffleMode::Idx => "__shfl_sync",
        }
    }

    /// The lane that is read, of those of the warp.
    fn source(self) -> &'static str {
        match self {
            ShuffleMode::Down => "tc_lane() + lane",
            ShuffleMode::Up => "tc_lane() - lane",
            ShuffleMode::Xor => "tc_lane() ^ lane",
            ShuffleMode::Idx => "(tc_lane() & -width) + lane",
        }
    }
}

impl Helper {
    /// The name by which it is called.
    pub(crate) fn name(self) -> String {
        match self {
            Helper::ToF8(elem) => format!("tc_to_{}", elem.name()),
            Helper::F64ToF8(elem) => format!("tc_f64_to_{}", elem.name()),
            Helper::Fma(elem) => format!("tc_{}_fma", elem.name()),
            Helper::Lane => "tc_lane".into(),
            Helper::Lanes => "tc_lanes".into(),
            Helper::Shuffle(mode) => format!("tc_shuffle_{}", mode.word()),
            Helper::RoundTf32 => "tc_round_tf32".into(),
            Helper::ToTf32 => "tc_to_tf32".into(),
            Helper::F64ToTf32 => "tc_f64_to_tf32".into(),
            Helper::Instruction(name) => format!("tc_{}", name.replace('.', "_")),
            Helper::Ptx(ptx) => ptx.name(),
            Helper::Bulk(bulk) => bulk.name(),
            Helper::Warpgroup(warpgroup) => warpgroup.name(),
        }
    }

    /// The instruction saturates, and takes one step; the header's way without it computes by doubles. From half a step beyond the
    /// greatest number on, the next code is the infinity, or the NaN where there is none.
    fn f32_to_f8(self, elem: Elem) -> Option<String> {
        let beyond = match elem {
            // A tie goes to the even code: 448 has one, 57344 has not.
            Elem::F8E4M3 => "> 464.0f",
            Elem::F8E5M2 => ">= 61440.0f",
            _ => return None,
        };
        let (ty, kind, name) = (types::number(elem)?, types::float8_kind(elem), self.name());
        Some(format!(
            "static __device__ __forceinline__ {ty} {name}(float x) {{\n  {ty} result;\n  result.__x = __nv_cvt_float_to_fp8(x, __NV_SATFINITE, {kind}) + (fabsf(x) {beyond});\n  return result;\n}}\n"
        ))
    }

    fn text(self) -> String {
        match self {
            Helper::ToF8(elem) => self.f32_to_f8(elem).unwrap_or_default(),
            Helper::F64ToF8(elem) => {
                let (ty, kind) = (types::number(elem).unwrap_or("int"), types::float8_kind(elem));
                format!(
                    "static __device__ inline {ty} {}(double x) {{\n  {ty} result;\n  result.__x = __nv_cvt_double_to_fp8(x, __NV_NOSAT, {kind});\n  return result;\n}}\n",
                    self.name()
                )
            }
            Helper::Fma(elem) => self.fma(elem).unwrap_or_default(),
            Helper::Lane => {
                "static __device__ inline int tc_lane() {\n  return ((threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x) & 31;\n}\n"
                    .into()
            }
            Helper::Lanes => {
                "static __device__ inline unsigned int tc_lanes(int n) {\n  const int first = ((threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x) & ~31;\n  return n - first < 32 ? (1u << (n - first)) - 1u : 0xffffffffu;\n}\n"
                    .into()
            }
            Helper::RoundTf32 => {
                "template <typename F>\nstatic __device__ __forceinline__ void tc_round_tf32(F& fragment) {\n  #pragma unroll\n  for (int i = 0; i < fragment.num_elements; ++i) {\n    fragment.x[i] = nvcuda::wmma::__float_to_tf32(fragment.x[i]);\n  }\n}\n"
                    .into()
            }
            Helper::ToTf32 => {
                "static __device__ __forceinline__ float tc_to_tf32(float x) {\n  const unsigned int bits = __float_as_uint(x);\n  const unsigned int rounded = (bits + 0xfffu + (bits >> 13 & 1u)) & 0xffffe000u;\n  return (bits & 0x7f800000u) == 0x7f800000u ? x : __uint_as_float(rounded);\n}\n"
                    .into()
            }
            Helper::F64ToTf32 => {
                "static __device__ inline float tc_f64_to_tf32(double x) {\n  const float cut = __double2float_rz(x);\n  return tc_to_tf32(__uint_as_float(__float_as_uint(cut) | (unsigned int)((double)cut != x)));\n}\n"
                    .into()
            }
            Helper::Instruction(name) => format!(
                "static __device__ __forceinline__ float {}(float x) {{\n  float result;\n  asm(\"{name} %0, %1;\" : \"=f\"(result) : \"f\"(x));\n  return result;\n}}\n",
                self.name()
            ),
            Helper::Ptx(ptx) => ptx.text(|elem| types::number(elem).unwrap_or("int")),
            Helper::Bulk(of) => bulk::text(of),
            Helper::Warpgroup(of) => wgmma::text(of, |elem| types::number(elem).unwrap_or("int")),
            Helper::Shuffle(mode) => {
                let (name, intrinsic, source) = (self.name(), mode.intrinsic(), mode.source());
                format!(
                    "template <typename T>\nstatic __device__ inline T {name}(unsigned int lanes, T value, int lane, int width) {{\n  const int from = {source};\n  const T other = {intrinsic}(lanes, value, lane, width);\n  return from < 32 && (lanes >> from & 1u) != 0u ? other : value;\n}}\n"
                )
            }
        }
    }

    /// The text of [`Helper::Fma`].
    fn fma(self, elem: Elem) -> Option<String> {
        let (name, ty) = (self.name(), types::number(elem)?);
        let (wide, narrow) = (types::half_conversion(elem, Elem::F32)?, types::half_conversion(Elem::F64, elem)?);
        // What a sum rounds away is told by Knuth's TwoSum.
        Some(format!(
            "static __device__ inline {ty} {name}({ty} a, {ty} b, {ty} c) {{
  const double product = (double){wide}(a) * (double){wide}(b);
  const double addend = (double){wide}(c);
  const double sum = product + addend;
  const double seen = sum - product;
  const double error = (product - (sum - seen)) + (addend - seen);
  long long bits = __double_as_longlong(sum);
  if ((bits & 1) == 0 && (error > 0.0 || error < 0.0)) {{
    bits += (error > 0.0) == (sum > 0.0) ? 1 : -1;
  }}
  return {narrow}(__longlong_as_double(bits));
}}
"
        ))
    }
}

/// What the kernels use.
#[derive(Default)]
pub(crate) struct Needs {
    elems: BTreeSet<Elem>,
    structs: BTreeSet<Scalar>,
    helpers: BTreeSet<Helper>,
    fragments: bool,
    maps: bool,
}

/// A tensor map, as the driver makes it.
const TENSOR_MAP: &str = "tc_tensor_map";

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

    /// The name of the type of a tensor map, which is then declared.
    pub(crate) fn tensor_map(&mut self) -> &'static str {
        self.maps = true;
        TENSOR_MAP
    }

    /// Fragments are used.
    pub(crate) fn fragments(&mut self) {
        self.fragments = true;
    }

    /// The name of `helper`, which is then declared.
    pub(crate) fn helper(&mut self, helper: Helper) -> String {
        match helper {
            Helper::ToF8(elem) | Helper::F64ToF8(elem) | Helper::Fma(elem) => self.elem(elem),
            Helper::F64ToTf32 => {
                self.helper(Helper::ToTf32);
            }
            Helper::Shuffle(_) => {
                self.helper(Helper::Lane);
            }
            Helper::Ptx(ptx) => {
                if let Ptx::Mma { factors, sums, .. } = ptx {
                    self.elem(factors);
                    self.elem(sums);
                }
                if let Some(part) = ptx.part() {
                    self.helper(Helper::Ptx(part));
                }
            }
            Helper::Bulk(Bulk::Load { .. }) => {
                self.tensor_map();
            }
            Helper::Warpgroup(Warpgroup::Hold(elem)) => self.elem(elem),
            Helper::Warpgroup(Warpgroup::Mma(product)) => product.in_registers().for_each(|elem| self.elem(elem)),
            _ => {}
        }
        self.helpers.insert(helper);
        helper.name()
    }

    /// Writes all of it.
    pub(crate) fn write(&self, out: &mut String) {
        let start = out.len();
        let mut headers: Vec<&str> =
            Elem::ALL.iter().filter(|elem| self.elems.contains(elem)).filter_map(|&elem| types::header(elem)).collect();
        headers.dedup();
        for header in headers {
            let _ = writeln!(out, "#include <{header}>");
        }
        if self.fragments {
            out.push_str("#include <mma.h>\n");
        }
        if out.len() > start {
            out.push('\n');
        }
        for &scalar in &self.structs {
            let Some(number) = types::number(scalar.elem) else { continue };
            let align = alignment(scalar);
            let _ = writeln!(out, "struct __align__({align}) {scalar} {{ {number} lane[{}]; }};", scalar.lanes);
        }
        if !self.structs.is_empty() {
            out.push('\n');
        }
        if self.maps {
            let _ = writeln!(out, "struct __align__(64) {TENSOR_MAP} {{ unsigned long long opaque[16]; }};\n");
        }
        for helper in &self.helpers {
            out.push_str(&helper.text());
            out.push('\n');
        }
    }
}
