//! How the kernels are launched, and what they take of what the target has.

use super::{Emitted, occupancy};
use crate::html::Html;
use tc_target::{Kernel, KernelManifest, Param, Slot, Target};

pub(super) fn write(html: &mut Html, emitted: Option<&Emitted>, target: &Target) {
    let Some(emitted) = emitted.filter(|emitted| !emitted.manifests.is_empty()) else { return };
    html.raw("<section class=kernels><h2>Kernels</h2>\n");
    for manifest in &emitted.manifests {
        html.raw("<h3><code>@").text(&manifest.function).raw("</code></h3>\n");
        launches(html, manifest);
        sizes(html, manifest);
        for (nth, kernel) in manifest.kernels.iter().enumerate() {
            // A kernel that is launched twice takes the same both times.
            if manifest.kernels[..nth].iter().any(|other| other.name == kernel.name && other.block == kernel.block) {
                continue;
            }
            budget(html, kernel, emitted, target);
        }
    }
    html.raw("</section>\n");
}

fn launches(html: &mut Html, manifest: &KernelManifest) {
    html.raw("<div class=scroll><table><thead><tr><th class=num>#<th>kernel<th>grid<th>block<th class=num>threads");
    html.raw("<th class=num>shared (bytes)<th>takes</tr></thead><tbody>\n");
    for (nth, kernel) in manifest.kernels.iter().enumerate() {
        let grid = [0, 1, 2].map(|dim| match manifest.formula(&Slot::Grid { kernel: nth, dim }) {
            Some(formula) => formula.to_string(),
            None => kernel.grid[dim].to_string(),
        });
        html.raw("<tr>").number(nth + 1).raw("<td><code>").text(&kernel.name).raw("</code></td><td><code>");
        html.text(grid.join(" \u{d7} ")).raw("</code></td><td><code>");
        html.text(kernel.block.map(|extent| extent.to_string()).join(" \u{d7} ")).raw("</code>");
        if kernel.cluster != [1, 1, 1] {
            html.text(format_args!(
                ", clusters of {}",
                kernel.cluster.map(|extent| extent.to_string()).join(" \u{d7} ")
            ));
        }
        html.raw("</td>").number(kernel.threads().unwrap_or(u64::MAX));
        html.raw("<td class=num>").text(kernel.static_shared);
        if kernel.dynamic_shared > 0 {
            html.text(format_args!(" + {} dynamic", kernel.dynamic_shared));
        }
        html.raw("</td><td>");
        for (nth, name) in kernel.args.iter().enumerate() {
            html.raw(if nth > 0 { ", <code>" } else { "<code>" }).text(describe(manifest, name)).raw("</code>");
        }
        html.raw("</td></tr>\n");
    }
    html.raw("</tbody></table></div>\n");
}

/// What a kernel takes, with its type: `A: f32[64, 64] read`.
fn describe(manifest: &KernelManifest, name: &str) -> String {
    if let Some(buffer) = manifest.buffer(name) {
        let slot = |dim| manifest.formula(&Slot::Shape { buffer: name.to_string(), dim });
        let extent = |(dim, extent): (usize, &u64)| slot(dim).map_or(extent.to_string(), |formula| formula.to_string());
        let shape: Vec<String> = buffer.shape.iter().enumerate().map(extent).collect();
        let is_param = manifest.params.iter().any(|param| param.name() == name);
        let kind = if is_param { "" } else { "temporary, " };
        return format!("{name}: {}[{}] {kind}{}", buffer.dtype, shape.join(", "), buffer.access.name());
    }
    match manifest.params.iter().find(|param| param.name() == name) {
        Some(Param::Scalar(scalar)) => format!("{name}: {}", scalar.dtype),
        _ => match manifest.sizes.iter().find(|size| size.name == name) {
            Some(size) => format!("{name}: {}, a size", size.dtype),
            None => name.to_string(),
        },
    }
}

fn sizes(html: &mut Html, manifest: &KernelManifest) {
    if manifest.sizes.is_empty() {
        return;
    }
    html.raw("<p>Open sizes: ");
    for (nth, size) in manifest.sizes.iter().enumerate() {
        html.raw(if nth > 0 { ", <code>" } else { "<code>" }).text(&size.name).raw("</code>");
        html.text(format_args!(" from {}", size.low));
        if let Some(high) = size.high {
            html.text(format_args!(" to {high}"));
        }
        html.text(format_args!(" (numbers here are for {})", size.value));
    }
    html.raw(".</p>\n");
}

/// Shared memory, threads and registers of a block beside what the target allows.
fn budget(html: &mut Html, kernel: &Kernel, emitted: &Emitted, target: &Target) {
    let threads = kernel.threads().unwrap_or(u64::MAX);
    let shared = kernel.static_shared.saturating_add(kernel.dynamic_shared);
    let known = emitted.registers.iter().find(|(name, _)| *name == kernel.name).map(|&(_, n)| n);
    html.raw("<div class=budget><h4><code>").text(&kernel.name).raw("</code> on ").text(target.name).raw("</h4>\n");
    html.raw("<div class=columns><div><table class=limits><thead><tr><th>a block takes<th class=num>of<th class=share></tr></thead><tbody>");
    row(html, "threads", threads, target.max_threads_per_block);
    row(html, "bytes of shared memory", shared, target.max_shared_per_block);
    if let Some(registers) = known {
        row(html, "registers of a thread", registers, target.registers_per_thread);
    }
    html.raw("</tbody></table>\n");
    occupancy::write(html, threads, shared, known, target);
    html.raw("</div>\n</div>\n");
}

fn row(html: &mut Html, what: &'static str, n: u64, most: u64) {
    let share = if most == 0 { 0.0 } else { 100.0 * n as f64 / most as f64 };
    html.raw(if n > most { "<tr class=failed><td>" } else { "<tr><td>" }).text(n).raw(" ").raw(what).raw("</td>");
    html.number(most)
        .raw("<td class=share><span class=bar style=\"width:")
        .text(format_args!("{:.1}", share.min(100.0)));
    html.raw("%\"></span><span>").text(format_args!("{share:.0} %")).raw("</span></td></tr>");
}
