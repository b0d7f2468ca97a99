//! What the lint of machine code says, as text and as JSON.

use crate::access::place;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use tc_perf::{Agreement, Finding, KernelCode, LoopCode, MachineCode, ProductCount};
use tc_support::{Sources, counted};

/// The lint as text, without its findings, which are diagnostics.
pub fn text(code: &MachineCode, sources: &Sources) -> String {
    let mut out = String::new();
    for (nth, kernel) in code.kernels.iter().enumerate() {
        if nth > 0 {
            out.push('\n');
        }
        let _ = writeln!(out, "@{}", kernel.kernel);
        for (what, text) in lines(kernel) {
            let _ = writeln!(out, "  {what:<13}{text}");
        }
        loops(&mut out, kernel, sources);
        let n = match (kernel.findings.len(), kernel.instructions) {
            (0, Some(_)) => "none".to_string(),
            (0, None) => "none in what was looked at".to_string(),
            (n, _) => counted(n, "finding"),
        };
        let _ = writeln!(out, "  {:<13}{n}", "findings");
    }
    for why in code.not_looked_at() {
        let _ = writeln!(out, "not looked at: {why}");
    }
    out
}

/// What is said of a kernel before its loops: of what, and what.
pub(crate) fn lines(kernel: &KernelCode) -> Vec<(&'static str, String)> {
    let mut all = Vec::new();
    let registers = match &kernel.resources {
        Some(known) => {
            format!("{} of a thread, {} of local memory", known.registers, counted(known.local_bytes, "byte"))
        }
        None => "not known".to_string(),
    };
    let spilled = match kernel.spilled {
        Some((0, 0)) => "; no spill".to_string(),
        Some((stores, loads)) => format!("; spilled: {stores} bytes stored, {loads} loaded"),
        None => String::new(),
    };
    all.push(("registers", registers + &spilled));
    let Some(instructions) = kernel.instructions else { return all };
    let is_plain = |one: &&LoopCode| !is_shown(one);
    let (n, plain) = (kernel.loops.len(), kernel.loops.iter().filter(is_plain).count());
    let rest = match plain {
        0 => String::new(),
        _ => format!(", {plain} of them without products, local memory and memory barriers"),
    };
    all.push(("instructions", format!("{instructions}, {}{rest}", counted(n, "loop"))));
    for product in &kernel.products {
        all.push(("products", of_products(product)));
    }
    let outermost = kernel.loops.iter().filter(|one| one.depth == 0);
    let [local, barriers] =
        outermost.fold([0, 0], |[local, barriers], one| [local + one.local, barriers + one.barriers]);
    all.push(("local memory", format!("{} in loops", counted(local, "access"))));
    all.push(("barriers", format!("{} of memory in loops, {} outside", barriers, kernel.barriers_outside)));
    all
}

fn of_products(product: &ProductCount) -> String {
    let n = |n: Option<u64>| n.map_or("?".to_string(), |n| n.to_string());
    let why = match &product.agreement {
        Agreement::Unknown(why) => format!("not known: {why}"),
        known => known.name().to_string(),
    };
    format!(
        "{}: {} in the machine code, {} in the program: {why}",
        product.shape,
        n(product.machine),
        n(product.program)
    )
}

/// Does it have something in it that the lint looks for?
pub(crate) fn is_shown(one: &LoopCode) -> bool {
    one.local > 0 || one.barriers > 0 || !one.products.is_empty()
}

/// `4 of 64x128x16`.
pub(crate) fn shapes(products: &BTreeMap<String, u64>) -> String {
    products.iter().map(|(shape, n)| format!("{n} of {shape}")).collect::<Vec<_>>().join(", ")
}

fn loops(out: &mut String, kernel: &KernelCode, sources: &Sources) {
    for one in kernel.loops.iter().filter(|one| is_shown(one)) {
        let mut parts = vec![counted(one.instructions, "instruction")];
        parts.extend((!one.products.is_empty()).then(|| format!("products: {}", shapes(&one.products))));
        parts.extend((one.local > 0).then(|| format!("local memory: {}", one.local)));
        parts.extend((one.barriers > 0).then(|| format!("memory barriers: {}", one.barriers)));
        let at = place(&one.location, sources);
        parts.extend((!at.is_empty()).then(|| format!("from {at}")));
        let indent = "  ".repeat(one.depth);
        let _ = writeln!(out, "  {indent}loop {:#06x} to {:#06x}: {}", one.first, one.last, parts.join("; "));
    }
}

/// The lint as JSON: `{"lint": […], "unknown": […]}`, one object for each kernel.
pub fn document(code: &MachineCode, sources: &Sources) -> Value {
    let product = |one: &ProductCount| {
        let why = if let Agreement::Unknown(why) = &one.agreement { Some(why) } else { None };
        json!({"shape": one.shape, "machine": one.machine, "program": one.program, "agreement": one.agreement.name(), "why": why})
    };
    let of_loop = |one: &LoopCode| {
        json!({
            "first": one.first, "last": one.last, "depth": one.depth, "instructions": one.instructions,
            "products": one.products, "local": one.local, "barriers": one.barriers, "location": place(&one.location, sources),
        })
    };
    let finding = |one: &Finding| {
        json!({
            "kind": one.kind.code(), "severity": format!("{:?}", one.kind.severity()).to_lowercase(),
            "location": place(&one.location, sources), "address": one.at.as_ref().map(|(address, _)| address),
            "instruction": one.at.as_ref().map(|(_, text)| text), "loop": one.in_loop.map(|(first, last)| [first, last]),
            "count": one.count, "message": one.message, "help": one.help,
        })
    };
    let kernel = |one: &KernelCode| {
        json!({
            "kernel": one.kernel, "registers": one.resources.as_ref().map(|known| known.registers),
            "local_bytes": one.resources.as_ref().map(|known| known.local_bytes),
            "spilled_bytes": one.spilled.map(|(stores, loads)| json!({"stored": stores, "loaded": loads})),
            "instructions": one.instructions, "barriers_outside": one.barriers_outside,
            "loops": one.loops.iter().map(of_loop).collect::<Vec<_>>(),
            "products": one.products.iter().map(product).collect::<Vec<_>>(),
            "findings": one.findings.iter().map(finding).collect::<Vec<_>>(), "unknown": one.unknown,
        })
    };
    json!({"lint": code.kernels.iter().map(kernel).collect::<Vec<_>>(), "unknown": code.unknown})
}
