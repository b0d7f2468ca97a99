//! What an assembler made of the kernels, and what the lint found in it.

use super::{Emitted, found};
use crate::access::place;
use crate::html::Html;
use crate::machine_code::{is_shown, lines, shapes};
use tc_perf::KernelCode;
use tc_support::{Diagnostic, Sources};

pub(super) fn write(html: &mut Html, emitted: Option<&Emitted>, sources: &Sources) {
    let Some(code) = emitted.map(|emitted| &emitted.machine_code) else { return };
    let unknown = code.not_looked_at();
    if code.kernels.is_empty() && unknown.is_empty() {
        return;
    }
    html.raw(
        "<section class=kernels><h2>Machine code</h2><p class=note>What is looked for: products that wait for one ",
    );
    html.raw("another, local memory and memory barriers in loops, and other products than the program has. ");
    html.raw("<code>--lint</code> prints it.</p>\n");
    for why in &unknown {
        html.raw("<p class=exact>Not looked at: ").text(why).raw(".</p>\n");
    }
    for kernel in &code.kernels {
        html.raw("<h3><code>@").text(&kernel.kernel).raw("</code></h3>\n<table class=limits><tbody>");
        for (what, text) in lines(kernel) {
            html.raw("<tr>").cell(what).cell(text).raw("</tr>");
        }
        html.raw("</tbody></table>\n");
        loops(html, kernel, sources);
        let all: Vec<Diagnostic> = kernel.findings.iter().map(tc_perf::Finding::diagnostic).collect();
        if all.is_empty() && kernel.instructions.is_some() {
            html.raw("<p>Nothing was found.</p>\n");
        }
        found::write(html, "Findings", &all.iter().collect::<Vec<_>>(), sources);
    }
    html.raw("</section>\n");
}

fn loops(html: &mut Html, kernel: &KernelCode, sources: &Sources) {
    if !kernel.loops.iter().any(is_shown) {
        return;
    }
    html.raw("<div class=scroll><table><thead><tr><th>loop<th class=num>depth<th class=num>instructions<th>products");
    html.raw("<th class=num>local memory<th class=num>memory barriers<th>from</tr></thead><tbody>\n");
    for one in kernel.loops.iter().filter(|one| is_shown(one)) {
        html.raw("<tr><td><code>").text(format_args!("{:#06x} to {:#06x}", one.first, one.last)).raw("</code></td>");
        html.number(one.depth).number(one.instructions).cell(shapes(&one.products)).number(one.local);
        html.number(one.barriers).cell(place(&one.location, sources)).raw("</tr>\n");
    }
    html.raw("</tbody></table></div>\n");
}

#[cfg(test)]
mod tests {
    use super::*;
    use tc_perf::MachineCode;

    fn section(machine_code: MachineCode) -> String {
        let emitted = Emitted {
            language: "CUDA C++",
            text: String::new(),
            manifests: Vec::new(),
            assembled: Ok(Vec::new()),
            speed: Vec::new(),
            held: Vec::new(),
            machine_code,
        };
        let mut html = Html::default();
        write(&mut html, Some(&emitted), &Sources::new());
        html.page("a test")
    }

    #[test]
    fn what_was_not_looked_at_is_not_clean() {
        let unknown = vec!["no <nvdisasm> found".to_string()];
        let page = section(MachineCode { unknown, ..MachineCode::default() });
        assert!(
            page.contains("Not looked at: no &lt;nvdisasm&gt; found.") && !page.contains("Nothing was found"),
            "{page}"
        );
        assert!(!section(MachineCode::default()).contains("Machine code"));
    }
}
