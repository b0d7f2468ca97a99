//! A schedule for every sum, by the shape of what comes out.

use crate::spec::Sum;
use tc::ir::{Func, Loc, walk};
use tc::{Compiler, Failure};

/// The schedule of `@einsum`, written as text and read by `compiler`: tiles of 16 x 16 threads where the result is a
/// matrix or a batch of them, a block of threads where it is one number, else a thread an element.
pub(crate) fn choose(compiler: &Compiler, sum: &Sum, loc: Loc) -> Result<Func, Failure> {
    let axes = |letters: &[char]| letters.iter().map(|letter| format!("R.{letter}")).collect::<Vec<_>>().join(", ");
    let (all, summed) = (axes(&sum.output), axes(&sum.summed));
    let lines = match &sum.output[..] {
        [batch @ .., y, x] if sum.extent(*y) >= 16 && sum.extent(*x) >= 16 => {
            let tile = format!("by, bx, ty, tx = tile(R.{y}, R.{x}, 16, 16)\nbind(by, blockIdx.y)");
            let batch = if batch.is_empty() { "" } else { &format!("z = fuse({})\nbind(z, blockIdx.z)", axes(batch)) };
            format!("{tile}\nbind(bx, blockIdx.x)\nbind(ty, threadIdx.y)\nbind(tx, threadIdx.x)\n{batch}")
        }
        [one] if sum.extent(*one) == 1 && !summed.is_empty() => {
            format!("k = fuse({summed})\nko, t = split(k, factor = 128)\nbind({all}, blockIdx.x)\nbind(t, threadIdx.x)")
        }
        _ => format!("all = fuse({all})\nb, t = split(all, factor = 128)\nbind(b, blockIdx.x)\nbind(t, threadIdx.x)"),
    };
    let text = format!("schedule @default for @einsum {{\n{lines}\n}}\n");
    let mut schedule = compiler.parse_part("schedule", &text)?.module.items.remove(0);
    // What is wrong with it is shown in the string that it was chosen for.
    walk::all_ops(&schedule.clone()).for_each(|op| schedule.set_source_loc(op, loc));
    schedule.header.loc = loc;
    Ok(schedule)
}
