//! Buffers that keep their own bytes.

use super::live_range::overlap;
use super::{Buffer, LiveRange};
use tc_ir::{Func, Op};
use tc_pass::PassCx;
use tc_support::Diagnostic;

/// Why the buffers of a nest are left as they are.
pub(super) enum Apart {
    /// The size of what this alloc makes is not constant.
    OpenSize(Op),
    /// From this alloc on: they are so many bytes, and so many may be of fixed size.
    Fits(Op, u64, u64),
}

impl Apart {
    /// What is reported of it.
    pub(super) fn remark(&self, func: &Func) -> Diagnostic {
        match *self {
            Apart::OpenSize(alloc) => {
                let name = func.result(alloc).map_or("", |buffer| func.value_text(buffer));
                let text =
                    format!("the shared buffers of this kernel stay apart: the size of `{name}` is not constant");
                Diagnostic::remark("not-merged", func.op_location(alloc), text)
                    .help("give the sizes that it depends on numbers, or a bound")
            }
            Apart::Fits(alloc, bytes, most) => {
                let text =
                    format!("the buffers in `shared` stay apart: their {bytes} bytes fit into {most} of fixed size");
                Diagnostic::remark("not-merged", func.op_location(alloc), text)
                    .help("`merge-shared-memory{merge-static}` merges them all the same")
            }
        }
    }
}

/// Tells of each buffer in the pool that shares its bytes with no other which ones keep it from that.
pub(super) fn tell(func: &Func, buffers: &[Buffer], live_ranges: &[LiveRange], offsets: &[u64], cx: &mut PassCx) {
    let stretch = |nth: usize| (offsets[nth], offsets[nth].saturating_add(buffers[nth].bytes));
    for nth in 0..buffers.len() {
        let others = || (0..buffers.len()).filter(|&other| other != nth);
        let shares = others().any(|other| stretch(other).0 < stretch(nth).1 && stretch(nth).0 < stretch(other).1);
        let together: Vec<String> = others()
            .filter(|&other| overlap(live_ranges[nth], live_ranges[other]))
            .map(|other| format!("`{}`", func.value_text(buffers[other].value)))
            .collect();
        if shares || together.is_empty() {
            continue;
        }
        let (name, bytes) = (func.value_text(buffers[nth].value), buffers[nth].bytes);
        let text = format!("`{name}` has {bytes} bytes of its own: it is in use together with {}", together.join(", "));
        let found = Diagnostic::remark("not-merged", func.op_location(buffers[nth].alloc), text)
            .note("a buffer that is touched in a loop, or where threads part, is in use for all of that");
        cx.report(found.help("fill one when the other has been read for the last time"));
    }
}
