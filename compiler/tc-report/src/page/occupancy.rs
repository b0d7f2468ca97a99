//! Occupancy by registers of a thread, as a table and as a curve: only an assembler knows how many a kernel takes, and
//! where none was asked, the page says why.

use crate::html::Html;
use tc_target::Target;
use tc_target::occupancy::{Occupancy, Usage, by_registers, occupancy};

/// The size of the curve, in units of its own.
const WIDTH: f64 = 420.0;
const HEIGHT: f64 = 150.0;
const LEFT: f64 = 44.0;
const TOP: f64 = 10.0;

/// Writes the table, closes the column that it stands in, and writes the curve beside it. `known` are the registers of a
/// thread, or why they are not known.
pub(super) fn write(html: &mut Html, threads: u64, shared: u64, known: Result<u64, &str>, target: &Target) {
    let (known, why) = (known.ok(), known.err());
    let ranges = by_registers(target, threads, shared);
    let exact = known.map(|registers| (registers, occupancy(target, &Usage { threads, registers, shared })));
    if let Some((registers, found)) = &exact {
        html.raw("<p class=exact>").text(format_args!("With {registers} registers a thread: ")).raw("<b>");
        html.text(percent(found)).raw("</b> of the warps of a multiprocessor, ");
        html.text(format_args!("{}, held back by {}.", blocks(found), limits(found))).raw("</p>\n");
    }
    html.raw("<table class=curve><thead><tr><th>registers of a thread<th class=num>blocks<th class=num>warps");
    html.raw("<th class=num>occupancy<th>runs out of</tr></thead><tbody>\n");
    for (range, found) in &ranges {
        let here = exact.as_ref().is_some_and(|(registers, _)| range.contains(registers));
        html.raw(if here { "<tr class=here><td>" } else { "<tr><td>" });
        html.text(format_args!("{} to {}", range.start(), range.end())).raw("</td>");
        html.number(found.blocks).number(format_args!("{} of {}", found.warps, found.max_warps));
        html.number(percent(found)).cell(limits(found)).raw("</tr>\n");
    }
    html.raw("</tbody></table>");
    if let Some(why) = why {
        html.raw("<p class=note>How many registers a kernel takes is for an assembler to say: ").text(why);
        html.raw(". Find your number in the table.</p>");
    }
    html.raw("</div>\n<figure>");
    curve(
        html,
        &ranges.iter().map(|(range, found)| (*range.start(), *range.end(), found.share())).collect::<Vec<_>>(),
        known,
    );
    html.raw("<figcaption>Occupancy by registers of a thread</figcaption></figure>");
}

fn curve(html: &mut Html, ranges: &[(u64, u64, f64)], known: Option<u64>) {
    let most = ranges.last().map_or(1, |range| range.1) as f64;
    let x = |registers: f64| LEFT + (WIDTH - LEFT - 10.0) * registers / most;
    let y = |share: f64| TOP + HEIGHT * (1.0 - share);
    html.raw("<svg class=plot viewBox=\"0 0 420 196\" role=img aria-label=\"occupancy by registers of a thread\">\n");
    for nth in 0..=4 {
        let share = f64::from(nth) / 4.0;
        html.raw("<line class=grid x1=\"").text(LEFT).raw("\" x2=\"").text(WIDTH - 10.0).raw("\" y1=\"");
        html.text(y(share)).raw("\" y2=\"").text(y(share)).raw("\"/><text class=y x=\"").text(LEFT - 6.0);
        html.raw("\" y=\"")
            .text(y(share) + 4.0)
            .raw("\">")
            .text(format_args!("{:.0} %", 100.0 * share))
            .raw("</text>\n");
    }
    for registers in [32, 64, 96, 128, 160, 192, 224, 255] {
        html.raw("<text class=x x=\"").text(format_args!("{:.1}", x(f64::from(registers)))).raw("\" y=\"");
        html.text(TOP + HEIGHT + 18.0).raw("\">").text(registers).raw("</text>\n");
    }
    html.raw("<path class=line d=\"");
    for (nth, (start, end, share)) in ranges.iter().enumerate() {
        let step = if nth == 0 { "M" } else { "L" };
        let (from, to) = (x((*start - 1) as f64), x(*end as f64));
        html.text(format_args!("{step}{from:.1} {:.1} L{to:.1} {:.1} ", y(*share), y(*share)));
    }
    html.raw("\"/>\n");
    if let Some(registers) = known {
        let share = ranges.iter().find(|range| registers <= range.1).map_or(0.0, |range| range.2);
        html.raw("<line class=mark x1=\"").text(x(registers as f64)).raw("\" x2=\"").text(x(registers as f64));
        html.raw("\" y1=\"").text(TOP).raw("\" y2=\"").text(TOP + HEIGHT).raw("\"/><circle class=mark r=4 cx=\"");
        html.text(x(registers as f64)).raw("\" cy=\"").text(y(share)).raw("\"/>\n");
    }
    html.raw("</svg>");
}

fn percent(found: &Occupancy) -> String {
    format!("{:.0} %", 100.0 * found.share())
}

fn blocks(found: &Occupancy) -> String {
    format!("{} block{}", found.blocks, if found.blocks == 1 { "" } else { "s" })
}

fn limits(found: &Occupancy) -> String {
    found.limits.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}
