//! What products of tiles in registers, the loads that fill them and asynchronous copies ask of a program, whoever
//! writes them.

use crate::place::{buffer_of, references};
use tc_dialects::fragment::register_tiles;
use tc_dialects::gpu;
use tc_dialects::threads::{CopyStep, copy_step};
use tc_dialects::tir::place_type;
use tc_ir::{Func, Op, Value};

/// What is wrong with `op`, beyond what its row asks for: the message, and the help.
pub fn unwritable_op(func: &Func, op: Op) -> Option<(String, &'static str)> {
    for &place in register_tiles(func, op) {
        if let Some(diagnostic) = misaligned(func, place, 4) {
            return Some((diagnostic, "tiles are taken by words of 32 bits: let each start at a multiple of one"));
        }
    }
    let n_tiles = register_tiles(func, op).len();
    let (places, bytes) = match copy_step(func, op) {
        Some(CopyStep::Begin) => (&func.operands(op)[..2], gpu::copied_bytes(func, op)?),
        // What fills tiles reads rows of 16 bytes.
        _ if n_tiles > 0 => (&func.operands(op)[n_tiles..], 16),
        _ => return None,
    };
    let diagnostic = places.iter().find_map(|&place| misaligned(func, place, bytes))?;
    Some((diagnostic, "let it start at a multiple of its own length"))
}

/// Says so where `place` certainly starts at no multiple of `bytes`: at a literal position.
fn misaligned(func: &Func, place: Value, bytes: i64) -> Option<String> {
    let (elem, _, _) = place_type(func, place)?;
    let size = i128::from(func.as_scalar(elem)?.bytes());
    let mut at = 0i128;
    for op in references(func, place) {
        if let Some(&index) = func.operands(op).get(1) {
            at += i128::from(func.const_int(index)?);
        }
    }
    let name = func.value_text(buffer_of(func, place));
    (at * size % i128::from(bytes) != 0).then(|| format!("byte {} of `{name}` is at no multiple of {bytes}", at * size))
}
