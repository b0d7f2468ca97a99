//! Building references to parts of buffers.

use tc_dialects::tir;
use tc_ir::{Attr, AttrData, Builder, Func, Value};

/// A list of integers.
pub(crate) fn int_list(func: &mut Func, numbers: &[i64]) -> Attr {
    let list = numbers.iter().map(|&number| func.int_attr(number)).collect();
    func.attr(AttrData::List(list))
}

/// A reference to `lengths` elements of `buffer`, in each dimension, from `starts` on.
pub(crate) fn build_region(b: &mut Builder<'_>, buffer: Value, starts: &[Value], lengths: &[i64]) -> Value {
    let list = int_list(b.func, lengths);
    let key = b.func.name("lengths");
    let operands: Vec<Value> = std::iter::once(buffer).chain(starts.iter().copied()).collect();
    b.value(tir::REGION, &operands, &[(key, list)])
}
