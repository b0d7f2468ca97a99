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
    if let Some(map) = manifest.map(name) {
        let sides: Vec<String> = map.sides.iter().map(u64::to_string).collect();
        return format!("{name}: a map of {} by boxes of {} {}", map.buffer, sides.join(" \u{d7} "), map.dtype);
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

/// Shared memory, threads, registers and local memory of a block beside what the target allows.
fn budget(html: &mut Html, kernel: &Kernel, emitted: &Emitted, target: &Target) {
    let threads = kernel.threads().unwrap_or(u64::MAX);
    let shared = kernel.static_shared.saturating_add(kernel.dynamic_shared);
    let known = match &emitted.assembled {
        Ok(all) => all.iter().find(|one| one.kernel == kernel.name).ok_or("the assembler did not tell of this kernel"),
        Err(why) => Err(why.as_str()),
    };
    html.raw("<div class=budget><h4><code>").text(&kernel.name).raw("</code> on ").text(target.name).raw("</h4>\n");
    html.raw("<div class=columns><div><table class=limits><thead><tr><th>a block takes<th class=num>of<th class=share></tr></thead><tbody>");
    row(html, "threads", threads, target.max_threads_per_block);
    row(html, "bytes of shared memory", shared, target.max_shared_per_block);
    if let Ok(known) = known {
        row(html, "registers of a thread", known.registers, target.registers_per_thread);
        row(html, "bytes of local memory of a thread", known.local_bytes, target.local_per_thread);
    }
    html.raw("</tbody></table>\n");
    occupancy::write(html, threads, shared, known.map(|known| known.registers), target);
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

#[cfg(test)]
mod tests {
    use super::*;
    use tc_target::{Access, Buffer, DType, Resources};

    /// The section on a kernel of 256 threads, of which an assembler told `assembled`.
    fn section(assembled: Result<Vec<Resources>, String>) -> String {
        let buffer = Buffer::new("A", DType::F32, [1024], Access::ReadWrite).expect("small");
        let kernel = Kernel {
            name: "f_kernel".into(),
            args: vec!["A".into()],
            grid: [4, 1, 1],
            block: [256, 1, 1],
            cluster: [1; 3],
            overlaps: false,
            static_shared: 1024,
            dynamic_shared: 0,
            when: None,
        };
        let manifest = KernelManifest {
            function: "f".into(),
            target: "sm_90".into(),
            params: vec![Param::Buffer(buffer)],
            kernels: vec![kernel],
            temporaries: Vec::new(),
            maps: Vec::new(),
            sizes: Vec::new(),
            formulas: Vec::new(),
            facts: Vec::new(),
        };
        let (text, manifests, machine_code) = (String::new(), vec![manifest], Default::default());
        let (language, speed, held) = ("CUDA C++", Vec::new(), Vec::new());
        let emitted = Emitted { language, text, manifests, assembled, speed, machine_code, held };
        let mut html = Html::default();
        write(&mut html, Some(&emitted), &Target::parse("sm_90").expect("known"));
        html.page("a test")
    }

    #[test]
    fn known_registers_give_one_occupancy() {
        let page = section(Ok(vec![
            Resources { kernel: "other".into(), registers: 255, local_bytes: 0 },
            Resources { kernel: "f_kernel".into(), registers: 72, local_bytes: 128 },
        ]));
        // 72 registers of 256 threads are 18432 of 65536.
        assert!(page.contains("With 72 registers a thread: <b>38 %</b>"), "{page}");
        assert!(page.contains("3 blocks, held back by registers."), "{page}");
        assert!(page.contains("<tr><td>128 bytes of local memory of a thread</td>"), "{page}");
        assert_eq!(page.matches("<tr class=here>").count(), 1, "{page}");
        assert!(!page.contains("for an assembler to say"), "{page}");
    }

    #[test]
    fn without_an_assembler_the_page_says_why_and_keeps_the_table() {
        for (assembled, why) in [
            (Err("no <NVRTC> found".to_string()), "no &lt;NVRTC&gt; found"),
            (Ok(Vec::new()), "did not tell of this kernel"),
        ] {
            let page = section(assembled);
            assert!(page.contains("is for an assembler to say: ") && page.contains(why), "{page}");
            assert!(page.contains("<td>65 to 80</td>") && !page.contains("<tr class=here>"), "{page}");
            assert!(!page.contains("class=exact>"), "{page}");
        }
    }
}
