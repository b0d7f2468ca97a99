//! Buffers that threads hold together in their registers: a picture of who holds what.

use super::Emitted;
use crate::html::Html;
use tc_dialects::distribution::Distribution;
use tc_ir::walk::all_ops;
use tc_ir::{Func, Module};

/// What a picture shows of a buffer at most.
const ROWS: i64 = 16;
const COLUMNS: i64 = 32;

/// The size of an element in a picture.
const WIDTH: i64 = 26;
const HEIGHT: i64 = 15;
const LEFT: i64 = 34;
const TOP: i64 = 16;

/// How many colours threads have; neighbours have different ones.
const COLOURS: i64 = 8;

/// Buffers of one kernel that lie alike in registers.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HeldBuffers {
    /// The kernel.
    pub kernel: String,
    /// The buffers, with their element types.
    pub buffers: Vec<(String, String)>,
    /// How they lie.
    pub distribution: Distribution,
}

/// The buffers of all programs of `module` that passes divided among threads.
pub fn held_buffers(module: &Module) -> Vec<HeldBuffers> {
    let mut found = Vec::new();
    for func in &module.items {
        let from = found.len();
        for op in all_ops(func) {
            let Some(distribution) = Distribution::of_alloc(func, op).filter(|of| of.check().is_ok()) else { continue };
            let Some(buffer) = buffer(func, op) else { continue };
            let known = found[from..].iter_mut().find(|held: &&mut HeldBuffers| held.distribution == distribution);
            match known {
                Some(held) => held.buffers.push(buffer),
                None => {
                    found.push(HeldBuffers { kernel: func.symbol().to_string(), buffers: vec![buffer], distribution })
                }
            }
        }
    }
    found
}

fn buffer(func: &Func, op: tc_ir::Op) -> Option<(String, String)> {
    let buffer = func.result(op)?;
    let (elem, ..) = func.as_shaped(func.value_type(buffer))?;
    Some((func.value_text(buffer).to_string(), func.show_type(elem)))
}

pub(super) fn write(html: &mut Html, emitted: Option<&Emitted>) {
    let Some(emitted) = emitted.filter(|emitted| !emitted.held.is_empty()) else { return };
    html.raw("<section class=kernels><h2>Registers</h2><p class=note>Which thread holds which element, ");
    html.raw("<code>thread.register</code>, as the attribute <code>distribution</code> says.</p>\n");
    for held in &emitted.held {
        html.raw("<h3><code>@").text(&held.kernel).raw("</code>: ");
        for (nth, (name, elem)) in held.buffers.iter().enumerate() {
            html.raw(if nth == 0 { "<code>" } else { ", <code>" }).text(name).raw("</code> of ").text(elem);
        }
        html.raw("</h3>\n<figure>");
        picture(html, &held.distribution);
        let (threads, registers) = (held.distribution.n_threads(), held.distribution.n_registers());
        html.raw("<figcaption>").text(extents(&held.distribution)).raw(" elements in ").text(registers);
        html.raw(" registers of ").text(threads).raw(" threads");
        if held.distribution.n_copies() > 1 {
            html.raw("; ").text(held.distribution.n_copies()).raw(" threads hold each");
        }
        html.raw("</figcaption></figure>\n");
    }
    html.raw("</section>\n");
}

fn extents(distribution: &Distribution) -> String {
    distribution.extents().iter().map(i64::to_string).collect::<Vec<String>>().join(" x ")
}

/// The first rows and columns; of one dimension, lines of elements that follow each other.
fn picture(html: &mut Html, distribution: &Distribution) {
    let extents = distribution.extents();
    let (rows, columns) = match extents[..] {
        [rows, columns] => (rows, columns),
        _ => {
            let n = extents.iter().product::<i64>();
            ((n + COLUMNS - 1) / COLUMNS, n.min(COLUMNS))
        }
    };
    let (shown_rows, shown_columns) = (rows.min(ROWS), columns.min(COLUMNS));
    let (width, height) = (LEFT + shown_columns * WIDTH + 4, TOP + shown_rows * HEIGHT + 4);
    html.raw("<svg class=\"plot held\" viewBox=\"0 0 ").text(width).raw(" ").text(height);
    html.raw("\" style=\"max-width:").text(width).raw("px\" role=img aria-label=\"who holds which element\">\n");
    for column in (0..shown_columns).step_by(4) {
        html.raw("<text class=x x=\"").text(LEFT + column * WIDTH + WIDTH / 2).raw("\" y=\"12\">").text(column);
        html.raw("</text>\n");
    }
    for row in 0..shown_rows {
        let label = if extents.len() == 2 { row } else { row * COLUMNS };
        html.raw("<text class=y x=\"").text(LEFT - 5).raw("\" y=\"").text(TOP + row * HEIGHT + 11).raw("\">");
        html.text(label).raw("</text>\n");
        for column in 0..shown_columns {
            let index = match extents.len() {
                2 => vec![row, column],
                _ => unravel(row * COLUMNS + column, &extents),
            };
            if index.iter().zip(&extents).any(|(at, extent)| at >= extent) {
                continue;
            }
            let (thread, register) = distribution.place(&index);
            let (x, y) = (LEFT + column * WIDTH, TOP + row * HEIGHT);
            html.raw("<rect class=h").text(thread % COLOURS).raw(" x=\"").text(x).raw("\" y=\"").text(y);
            html.raw("\" width=\"").text(WIDTH - 1).raw("\" height=\"").text(HEIGHT - 1).raw("\"><title>element ");
            html.text(index.iter().map(i64::to_string).collect::<Vec<String>>().join(", "));
            html.raw(": threads ").text(holders(distribution, thread)).raw(", register ").text(register);
            html.raw("</title></rect><text class=x x=\"").text(x + WIDTH / 2).raw("\" y=\"").text(y + 11).raw("\">");
            html.text(thread).raw(".").text(register).raw("</text>\n");
        }
    }
    html.raw("</svg>");
}

fn holders(distribution: &Distribution, first: i64) -> String {
    let copies = distribution.copies();
    let shown: Vec<String> = copies.iter().take(8).map(|at| (first + at).to_string()).collect();
    shown.join(", ") + if copies.len() > 8 { ", …" } else { "" }
}

/// The index of element number `nth`, in row-major order.
fn unravel(nth: i64, extents: &[i64]) -> Vec<i64> {
    let mut rest = nth;
    let mut index: Vec<i64> = extents
        .iter()
        .rev()
        .map(|&extent| {
            let at = rest % extent.max(1);
            rest /= extent.max(1);
            at
        })
        .collect();
    index.reverse();
    // What is left is beyond the last element.
    if let Some(first) = index.first_mut() {
        *first += rest * extents[0];
    }
    index
}

#[cfg(test)]
mod tests {
    use super::*;
    use tc_dialects::distribution::{Digit, Holder};

    #[test]
    fn a_picture_tells_all_threads_that_hold_an_element() {
        let [thread, register, copy] = [Holder::Thread, Holder::Register, Holder::Copy];
        let rows = vec![Digit::new(8, thread, 4), Digit::new(2, register, 1), Digit::new(4, copy, 1)];
        let mut html = Html::default();
        picture(&mut html, &Distribution::new(vec![rows]));
        let page = html.page("held");
        assert!(page.contains("element 9: threads 4, 5, 6, 7, register 1</title>"), "{page}");
        assert_eq!(page.matches("<rect").count(), 16);
    }

    #[test]
    fn a_picture_shows_the_first_rows_and_columns() {
        let [thread, register] = [Holder::Thread, Holder::Register];
        let row = vec![Digit::new(64, thread, 1)];
        let columns = vec![Digit::new(2, register, 1), Digit::new(64, register, 2)];
        let mut html = Html::default();
        picture(&mut html, &Distribution::new(vec![row, columns]));
        let page = html.page("held");
        assert_eq!(page.matches("<rect").count() as i64, ROWS * COLUMNS);
        assert!(page.contains("element 15, 31: threads 15, register 31</title>"));
    }
}
