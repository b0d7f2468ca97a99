//! XORs bits of the positions in a stage's buffer by higher bits, so that the rows of a tile fall into different banks.
//!
//! # Arguments
//!
//! `swizzle(STAGE, bits = b, base = m, shift = s)`: the bits `m` to `m + b - 1` of an element's position in the buffer
//! are XORed by the bits `m + s` to `m + s + b - 1`. Positions count elements. Aligned groups of `2^m` elements stay
//! contiguous, so vectors and rows of that length stay whole; the buffer does not grow.
//!
//! Shared memory has 32 banks of 4 bytes, and `ldmatrix` reads eight rows of 16 bytes at once, which is fast if they
//! are in different banks. In a tile of 16 x 16 `f16`, with consecutive rows of 32 bytes, the left halves of eight rows
//! occupy four different units of 16 bytes modulo 128, each twice. With `bits = 1, base = 3, shift = 3` units of 8
//! elements stay whole, and every second group of four rows exchanges its left and right halves: eight different units.
//! For tiles with rows of 64 bytes use `bits = 2, base = 3, shift = 3`, with rows of 128 bytes
//! `bits = 3, base = 3, shift = 3`.
//!
//! # Legality
//!
//! - The stage is computed, and is no result of the operator.
//! - `bits` is 1 to 5, `base` is 0 to 10, `shift` is at least `bits` and at most 10.
//! - At the end of the schedule the stage is in shared memory.
//!
//! Indices in the program stay unchanged; the pass `storage-flatten` computes the swizzled positions.
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

use super::{Primitive, StagePart};
use crate::check::Check;
use crate::diagnostic::ScheduleDiagnostic;
use crate::directive::{Cx, Done, Item};
use crate::graph::StageId;
use crate::remedy::LEAVE_OUT;
use std::ops::RangeInclusive;
use tc_dialects::sched::Swizzle;
use tc_ir::attrs::AttrData;
use tc_ir::{Attr, Func, Loc, Name, keys};

/// Eight banks of 16 bytes take three bits, 32 banks of 4 bytes take five.
const BITS: RangeInclusive<i64> = 1..=5;
const BASE: RangeInclusive<i64> = 0..=10;
/// A swizzled buffer starts at a multiple of `2^(base + shift + bits)` elements, which costs memory.
const MAX_SHIFT: i64 = 10;

/// Which bits of a position in a buffer, counted in elements, are changed: `bits` of them from bit `base` on are XORed by
/// as many that stand `shift` bits above. What is below `base` stays where it is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct XorBits {
    bits: i64,
    base: i64,
    shift: i64,
    /// The directive.
    loc: Loc,
}

impl Primitive for Swizzle {
    type Legal = (StageId, XorBits);

    fn legality(cx: &Cx<'_>) -> Done<(StageId, XorBits)> {
        let stage = cx.computed(cx.operand(0))?;
        let data = &cx.graph[stage];
        if data.output {
            let text = format!("`{}` is a result of the operator, whose layout the caller chooses", data.name);
            return Err(cx.error("layout-output", text).fix_its(LEAVE_OUT).into());
        }
        if let Some(XorBits { loc, .. }) = data.parts.get() {
            let text = format!("how `{}` is swizzled was said before", data.name);
            return Err(cx.said_twice(text).label(cx.location(*loc), "here").into());
        }
        let (Some(bits), Some(base), Some(shift)) = (cx.param(1), cx.param(2), cx.param(3)) else {
            return Err(cx.mistyped("`swizzle` takes `bits = …`, `base = …` and `shift = …`").into());
        };
        let bits = within(cx, "bits", cx.int(bits)?, BITS)?;
        let base = within(cx, "base", cx.int(base)?, BASE)?;
        // A bit that changes may not decide how another changes: then the way back would not be the same XOR.
        let shift = within(cx, "shift", cx.int(shift)?, bits..=MAX_SHIFT)?;
        Ok((stage, XorBits { bits, base, shift, loc: cx.loc() }))
    }

    fn edit(cx: &mut Cx<'_>, (stage, xor): (StageId, XorBits)) -> Vec<Item> {
        cx.graph[stage].parts.set(xor);
        cx.touch(stage);
        Vec::new()
    }
}

impl StagePart for XorBits {
    fn orders_elements(&self) -> bool {
        true
    }

    fn holds_of_copy(&self) -> bool {
        true
    }

    fn attrs(&self, func: &mut Func, _: Option<&[i64]>) -> Vec<(Name, Attr)> {
        let list = [self.bits, self.base, self.shift].map(|number| func.int_attr(number));
        vec![(keys::SWIZZLE, func.attr(AttrData::List(list.into())))]
    }

    /// Only shared memory has banks.
    fn check(&self, check: &mut Check<'_>, stage: StageId) {
        let scope = check.graph.scope_of(stage);
        if check.is_whole() && !scope.is_shared() {
            let name = &check.graph[stage].name;
            let text = format!("`{name}` lies in {} memory, and only shared memory has banks", scope.name());
            let error = ScheduleDiagnostic::error("swizzle-scope", check.location(self.loc), text);
            check.found.push(error.help(format!("leave it out, or `set_scope({name}, shared)`")));
        }
    }
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
    Err(cx.wrong_number(text).help(help).into())
}
