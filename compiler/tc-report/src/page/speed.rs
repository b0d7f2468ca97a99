//! How fast the kernels are, told without a GPU: units, accesses, and the kernel below the roof that its machine sets.

use super::Emitted;
use crate::access::{place, short};
use crate::html::Html;
use tc_perf::{AccessReport, KernelReport};
use tc_support::Sources;
use tc_target::{Machine, Unit};

pub(super) fn write(html: &mut Html, emitted: Option<&Emitted>, sources: &Sources) {
    let Some(emitted) = emitted.filter(|emitted| !emitted.speed.is_empty()) else { return };
    html.raw(
        "<section class=kernels><h2>Speed</h2><p class=note>Told without a GPU: <code>--access</code> prints it.</p>\n",
    );
    for kernel in &emitted.speed {
        html.raw("<h3><code>@").text(&kernel.name).raw("</code> on ").text(kernel.machine.name).raw("</h3>\n");
        html.raw("<div class=columns><div>");
        times(html, kernel);
        html.raw("</div>\n<figure>");
        roofline(html, kernel);
        html.raw("<figcaption>Operations a second by operations a byte of memory</figcaption></figure></div>\n");
        accesses(html, kernel, sources);
    }
    html.raw("</section>\n");
}

fn times(html: &mut Html, kernel: &KernelReport) {
    let time = &kernel.time;
    html.raw("<p class=exact><b>")
        .text(short(time.estimate_us))
        .raw(" us</b> estimated, by ")
        .text(time.limiter.name());
    html.raw("; at least ").text(short(time.bound_us)).raw(" us, by ").text(time.bound_by.name()).raw("</p>\n");
    html.raw("<table class=limits><thead><tr><th>busy<th class=num>us<th class=share></tr></thead><tbody>");
    for (unit, us) in &time.units {
        let share = 100.0 * us / time.estimate_us;
        html.raw("<tr>").cell(unit.name()).number(short(*us)).raw("<td class=share><span class=bar style=\"width:");
        html.text(format_args!("{:.1}", share.min(100.0))).raw("%\"></span><span>");
        html.text(format_args!("{share:.0} %")).raw("</span></td></tr>");
    }
    html.raw("</tbody></table>");
}

fn accesses(html: &mut Html, kernel: &KernelReport, sources: &Sources) {
    html.raw(
        "<div class=scroll><table><thead><tr><th>access<th>buffer<th>memory<th class=num>bytes<th class=num>requests",
    );
    html.raw("<th class=num>lanes<th class=num>sectors<th class=num>wavefronts<th>schedule</tr></thead><tbody>\n");
    let pair = |(is, least): (f64, f64)| match is {
        0.0 => String::new(),
        _ => format!("{is:.1} of {least:.1}"),
    };
    for access in &kernel.accesses {
        html.raw(if is_poor(access) { "<tr class=failed>" } else { "<tr>" });
        html.cell(place(&access.location, sources));
        html.raw("<td><code>").text(access.direction.name()).raw(" ").text(&access.buffer).raw("</code></td>");
        html.cell(access.place_name()).number(access.bytes).number(short(access.requests.round()));
        html.number(format_args!("{:.1}", access.lanes)).number(pair(access.sectors)).number(pair(access.wavefronts));
        html.cell(access.directive.as_ref().map_or(String::new(), |at| place(at, sources))).raw("</tr>\n");
    }
    html.raw("</tbody></table></div>\n");
}

/// Does it take twice as much of memory as its bytes would?
fn is_poor(access: &AccessReport) -> bool {
    access.excess() >= 2.0
}

/// The size of the picture, in units of its own, and the decades that it shows.
const WIDTH: f64 = 420.0;
const HEIGHT: f64 = 160.0;
const LEFT: f64 = 52.0;
const TOP: f64 = 10.0;
const INTENSITY: (f64, f64) = (-2.0, 4.0);
const DECADES: f64 = 6.0;

/// Operations in a microsecond at most, of a unit.
fn peak(machine: &Machine, unit: Unit) -> f64 {
    2.0 * machine.per_clock(unit) * machine.sms as f64 * machine.cycles_per_us()
}

fn roofline(html: &mut Html, kernel: &KernelReport) {
    let machine = &kernel.machine;
    let tensor = kernel.instructions.iter().any(|&(unit, n)| unit == Unit::Tensor && n > 0.0);
    let roof = peak(machine, if tensor { Unit::Tensor } else { Unit::F32 });
    let top = roof.log10().ceil();
    let x =
        |log: f64| LEFT + (WIDTH - LEFT - 10.0) * ((log - INTENSITY.0) / (INTENSITY.1 - INTENSITY.0)).clamp(0.0, 1.0);
    let y = |log: f64| TOP + HEIGHT * ((top - log) / DECADES).clamp(0.0, 1.0);
    html.raw("<svg class=plot viewBox=\"0 0 420 206\" role=img aria-label=\"roofline of the kernel\">\n");
    for nth in 0..=DECADES as i32 {
        let log = top - f64::from(nth);
        html.raw("<line class=grid x1=\"").text(LEFT).raw("\" x2=\"").text(WIDTH - 10.0).raw("\" y1=\"");
        html.text(y(log)).raw("\" y2=\"").text(y(log)).raw("\"/><text class=y x=\"").text(LEFT - 6.0).raw("\" y=\"");
        html.text(y(log) + 4.0).raw("\">").text(short(10f64.powf(log + 6.0))).raw("</text>\n");
    }
    for log in INTENSITY.0 as i32..=INTENSITY.1 as i32 {
        html.raw("<text class=x x=\"").text(format_args!("{:.1}", x(log.into()))).raw("\" y=\"");
        html.text(TOP + HEIGHT + 18.0).raw("\">").text(short(10f64.powi(log))).raw("</text>\n");
    }
    // A slope for the memory of the device and one for L2, up to the roof.
    let bytes = [machine.dram_gb_s * 1e3, machine.l2_per_clock * machine.sms as f64 * machine.cycles_per_us()];
    for rate in bytes {
        let low = (rate * 10f64.powf(INTENSITY.0)).log10();
        let ridge = (roof / rate).log10();
        html.raw("<path class=line d=\"M").text(format_args!("{:.1} {:.1}", x(INTENSITY.0), y(low)));
        html.text(format_args!(
            " L{:.1} {:.1} L{:.1} {:.1}",
            x(ridge),
            y(roof.log10()),
            x(INTENSITY.1),
            y(roof.log10())
        ));
        html.raw("\"/>\n");
    }
    if kernel.flops > 0.0 && kernel.time.estimate_us > 0.0 {
        let rate = (kernel.flops / kernel.time.estimate_us).log10();
        html.raw("<circle class=mark r=4 cx=\"").text(format_args!("{:.1}", x(kernel.intensity().max(1e-9).log10())));
        html.raw("\" cy=\"").text(format_args!("{:.1}", y(rate))).raw("\"/>\n");
    }
    html.raw("</svg>");
}
