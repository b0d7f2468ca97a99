//! Building exchanges between the lanes of a warp.

use tc_dialects::gpu;
use tc_ir::{Builder, Value, keys};

/// The lanes of a warp.
pub(crate) const WARP: i64 = 32;

/// What another lane has: by `mode` and `lane`, within groups of `width` lanes.
pub(crate) fn shuffle(b: &mut Builder<'_>, value: Value, lane: Value, mode: &str, width: i64) -> Value {
    let mode = b.func.word_attr(mode);
    let mut attrs = vec![(keys::MODE, mode)];
    if width != WARP {
        attrs.push((keys::WIDTH, b.func.int_attr(width)));
    }
    b.value(gpu::SHUFFLE, &[value, lane], &attrs)
}
