//! Stores the elements of a stage's buffer at positions of which some bits are XORed by others, so that the rows of a tile
//! fall into different banks.
//!
//! # Arguments
//!
//! `swizzle(STAGE, bits = b, base = m, shift = s)`: the bits `m` to `m + b - 1` of an element's position in the buffer
//! are XORed by the bits `m + s` to `m + s + b - 1`. Positions count elements. The `2^m` elements that a position shares with
//! those beside it stay together, so vectors and rows of so many elements stay whole; no element is added.
//!
//! Shared memory has 32 banks of 4 bytes, and `ldmatrix` reads eight rows of 16 bytes at once, which are fast where
//! they lie in different banks. In a tile of 16 x 16 `f16`, rows of 32 bytes one after another, the left halves of eight rows
//! lie in four different places of 16 bytes modulo 128, each taken twice. With `bits = 1, base = 3, shift = 3` units of 8
//! elements stay whole, and of every second group of four rows left and right half are exchanged: eight places. Tiles with
//! rows of 64 bytes take `bits = 2, base = 3, shift = 3`, those with rows of 128 bytes `bits = 3, base = 3, shift = 3`.
//!
//! # Legality
//!
//! - The stage is computed, and is no result of the operator.
//! - `bits` is 1 to 5, `base` is 0 to 10, `shift` is at least `bits` and at most 10.
//! - When the whole schedule is read, the stage lies in shared memory.
//!
//! Indices in the program stay as they are; the pass `storage-flatten`, which makes positions of them, changes these.
//!
//! # Rewrite
//!
//! ```tir
//! alloc T: f16[16, 16] in shared
//! -> swizzle(T, bits = 1, base = 3, shift = 3)
//! alloc T: f16[16, 16] in shared attributes {swizzle = [1, 3, 3]}
//! ```
//!
//! # Known elsewhere as
//!
//! `Swizzle<B, M, S>` (CuTe), `#ttg.swizzled_shared` (Triton).

use crate::directive::{Cx, Done};
use crate::graph::{StageId, Swizzle};
use std::ops::RangeInclusive;

/// Eight banks of 16 bytes take three bits, 32 banks of 4 bytes take five.
const BITS: RangeInclusive<i64> = 1..=5;
const BASE: RangeInclusive<i64> = 0..=10;
/// A swizzled buffer starts at a multiple of `2^(base + shift + bits)` elements, which costs memory.
const MAX_SHIFT: i64 = 10;

pub(super) fn apply(cx: &mut Cx<'_>) -> Done<()> {
    let (stage, swizzle) = legality(cx)?;
    cx.graph[stage].swizzle = Some((swizzle, cx.loc()));
    cx.touch(stage);
    Ok(())
}

fn legality(cx: &Cx<'_>) -> Done<(StageId, Swizzle)> {
    let stage = cx.stage(cx.sched.operand(cx.at, 0))?;
    cx.check_computed(stage)?;
    let data = &cx.graph[stage];
    if data.output {
        let text = format!("`{}` is a result of the operator, whose layout the caller chooses", data.name);
        return Err(cx.error("layout-output", text).into());
    }
    if let Some((_, loc)) = data.swizzle {
        let text = format!("how `{}` is swizzled was said before", data.name);
        let diagnostic = cx.error("said-twice", text).label(cx.location(loc), "here");
        return Err(diagnostic.help("leave out one of the two").into());
    }
    let (Some(bits), Some(base), Some(shift)) = (cx.param(1), cx.param(2), cx.param(3)) else {
        let text = "`swizzle` takes `bits = …`, `base = …` and `shift = …`";
        return Err(cx.error("schedule-type", text).into());
    };
    let bits = within(cx, "bits", cx.int(bits)?, BITS)?;
    let base = within(cx, "base", cx.int(base)?, BASE)?;
    // A bit that changes may not decide how another changes: then the way back would not be the same XOR.
    let shift = within(cx, "shift", cx.int(shift)?, bits..=MAX_SHIFT)?;
    Ok((stage, Swizzle { bits, base, shift }))
}

fn within(cx: &Cx<'_>, what: &str, value: i64, range: RangeInclusive<i64>) -> Done<i64> {
    if range.contains(&value) {
        return Ok(value);
    }
    let (low, high) = (range.start(), range.end());
    let text = format!("`{what}` of `swizzle` is {low} to {high} here, not {value}");
    let help = match what {
        "shift" => "the bits that are XORed by stand above those that change: `shift` is at least `bits`",
        _ => "for tiles of 16 x 16 `f16` take `bits = 1, base = 3, shift = 3`",
    };
    Err(cx.error("factor", text).help(help).into())
}
