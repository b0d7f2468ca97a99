//! A profile as text and as JSON.

use super::join::{Beside, Estimated, Profiled, Told};
use serde_json::{Value, json};
use std::fmt::Write as _;
use tc::support::counted;

/// Reasons to wait that are shown.
const STALLS: usize = 4;
/// Lines with a smaller part of the samples are counted and not shown; JSON has all.
const LEAST_PART: f64 = 0.005;

pub(super) fn text(cases: &[Profiled]) -> String {
    let mut out = String::new();
    for (nth, kernel) in cases.iter().flat_map(|case| case.kernels.iter().map(move |kernel| (case, kernel))).enumerate()
    {
        if nth > 0 {
            out.push('\n');
        }
        head(&mut out, &kernel.0.case, kernel.1);
        lines(&mut out, kernel.1);
    }
    out
}

fn head(out: &mut String, case: &str, kernel: &Beside) {
    let of = &kernel.counted;
    let _ = writeln!(out, "{case}: @{} on {}", of.name, of.device);
    let _ = writeln!(out, "  {:<20}{:>14}{:>14}", "", "counted", "estimated");
    let estimated = |of: fn(&Estimated) -> f64| kernel.estimated.as_ref().map(of);
    let rows = [
        ("time, us", Some(of.time_us), estimated(|of| of.time_us)),
        ("at least, us", None, estimated(|of| of.bound_us)),
        ("DRAM, bytes", Some(of.dram), estimated(|of| of.dram)),
        ("global, sectors", Some(of.sectors), estimated(|of| of.sectors)),
        ("shared, wavefronts", Some(of.wavefronts), estimated(|of| of.wavefronts)),
        ("warp instructions", Some(of.instructions), None),
        ("registers", Some(of.registers), estimated(|of| of.registers as f64)),
        ("warps at once", Some(of.warps), estimated(|of| of.warps)),
    ];
    for (what, counted, estimated) in rows {
        let [counted, estimated] = [counted, estimated].map(|value| value.map_or(String::new(), number));
        let _ = writeln!(out, "{}", format!("  {what:<20}{counted:>14}{estimated:>14}").trim_end());
    }
    let stalls: Vec<String> =
        of.stalls.iter().take(STALLS).map(|(reason, part)| format!("{reason} {:.0} %", part * 100.0)).collect();
    if !stalls.is_empty() {
        let _ = writeln!(out, "  {:<20}{}", "warps wait for", stalls.join(", "));
    }
}

/// Lines at which something was counted.
fn lines(out: &mut String, kernel: &Beside) {
    if kernel.lines.is_empty() {
        return;
    }
    let _ = writeln!(
        out,
        "  {:>7}  {:>12}  {:>20}  {:>20}  line",
        "samples", "instructions", "sectors (estimated)", "wavefronts (est.)"
    );
    let (shown, rest): (Vec<&Told>, Vec<&Told>) = kernel.lines.iter().partition(|line| line.part >= LEAST_PART);
    for line in shown {
        let both = |counted: f64, estimated: f64| match (counted, estimated) {
            (0.0, 0.0) => String::new(),
            _ => format!("{} ({})", number(counted), number(estimated)),
        };
        let (counted, (sectors, wavefronts)) = (&line.counted, line.estimated);
        let _ = writeln!(
            out,
            "  {:>5.1} %  {:>12}  {:>20}  {:>20}  {}:{}: {}",
            line.part * 100.0,
            number(counted.instructions),
            both(counted.sectors.0, sectors),
            both(counted.wavefronts.0, wavefronts),
            line.file,
            line.line,
            line.text
        );
    }
    if !rest.is_empty() {
        let _ = writeln!(out, "  {} with less than 0.5 % of the samples each", counted(rest.len(), "line"));
    }
}

/// A whole number with commas, or one with digits.
fn number(value: f64) -> String {
    if value.fract() != 0.0 && value.abs() < 1000.0 {
        return format!("{value:.2}");
    }
    let digits = format!("{:.0}", value.abs());
    let mut out = String::new();
    for (nth, digit) in digits.chars().enumerate() {
        if nth > 0 && (digits.len() - nth).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

pub(super) fn json(cases: &[Profiled]) -> Value {
    let kernel = |kernel: &Beside| {
        let totals = &kernel.counted;
        let lines = kernel.lines.iter().map(|line| {
            let of = &line.counted;
            json!({
                "file": line.file, "line": line.line, "text": line.text, "samples": of.samples, "instructions": of.instructions,
                "sectors": of.sectors.0, "sectors_ideal": of.sectors.1, "sectors_estimated": line.estimated.0,
                "wavefronts": of.wavefronts.0, "wavefronts_ideal": of.wavefronts.1, "wavefronts_estimated": line.estimated.1,
            })
        });
        let stalls: serde_json::Map<String, Value> =
            totals.stalls.iter().map(|(reason, part)| (reason.clone(), json!(part))).collect();
        json!({
            "name": totals.name, "device": totals.device, "stalls": stalls, "lines": lines.collect::<Vec<_>>(),
            "counted": {
                "time_us": totals.time_us, "dram_bytes": totals.dram, "sectors": totals.sectors,
                "wavefronts": totals.wavefronts, "instructions": totals.instructions, "registers": totals.registers,
                "warps": totals.warps,
            },
            "estimated": kernel.estimated.as_ref().map(|of| json!({
                "time_us": of.time_us, "bound_us": of.bound_us, "dram_bytes": of.dram, "sectors": of.sectors,
                "wavefronts": of.wavefronts, "registers": of.registers, "warps": of.warps,
            })),
        })
    };
    let results = cases
        .iter()
        .map(|case| json!({"case": case.case, "kernels": case.kernels.iter().map(kernel).collect::<Vec<_>>()}));
    json!({"tc-run-profile": 1, "results": results.collect::<Vec<_>>()})
}
