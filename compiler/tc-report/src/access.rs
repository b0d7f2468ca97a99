//! What a kernel's accesses and instructions say of its speed, as text and as JSON.

use serde_json::{Value, json};
use std::fmt::Write as _;
use tc_perf::{AccessReport, KernelReport, Limiter};
use tc_support::{Location, Sources, counted};

/// Where something stands: `conv1d.tir:21:5`; empty where it has no place.
pub(crate) fn place(location: &Location, sources: &Sources) -> String {
    match location {
        Location::None => String::new(),
        Location::Point { file, at } => format!("{file}:{}:{}", at.line, at.col),
        Location::Span(span) => {
            let found = sources.line_col(span.start);
            found.map_or(String::new(), |(file, at)| format!("{}:{}:{}", file.name, at.line, at.col))
        }
    }
}

/// A number with three digits and a letter for thousands: `1.30 M`.
pub(crate) fn short(value: f64) -> String {
    let (value, letter) = match value.abs() {
        v if v >= 1e16 => return format!("{value:.2e}"),
        v if v >= 1e12 => (value / 1e12, " T"),
        v if v >= 1e9 => (value / 1e9, " G"),
        v if v >= 1e6 => (value / 1e6, " M"),
        v if v >= 1e4 => (value / 1e3, " k"),
        _ => (value, ""),
    };
    if letter.is_empty() && value.fract() == 0.0 {
        return format!("{value:.0}");
    }
    match value.abs() {
        v if v >= 100.0 => format!("{value:.0}{letter}"),
        v if v >= 10.0 => format!("{value:.1}{letter}"),
        v if v < 0.1 => format!("{value:.4}"),
        _ => format!("{value:.2}{letter}"),
    }
}

/// A number of `unit`: `1.30 MB`, `0 B`.
fn of(value: f64, unit: &str) -> String {
    let number = short(value);
    if number.ends_with(|last: char| last.is_alphabetic()) {
        format!("{number}{unit}")
    } else {
        format!("{number} {unit}")
    }
}

/// The reports as text.
pub fn text(kernels: &[KernelReport], sources: &Sources) -> String {
    let mut out = String::new();
    for (nth, kernel) in kernels.iter().enumerate() {
        if nth > 0 {
            out.push('\n');
        }
        head(&mut out, kernel);
        accesses(&mut out, kernel, sources);
    }
    out
}

fn head(out: &mut String, kernel: &KernelReport) {
    let KernelReport { name, machine, grid, block, time, .. } = kernel;
    let by = |extents: &[u64; 3]| extents.map(|extent| extent.to_string()).join(" x ");
    let open = if kernel.open { ", as far as sizes are known" } else { "" };
    let _ = writeln!(out, "@{name} on {} ({} blocks of {} threads{open})", machine.name, by(grid), by(block));
    let line = |out: &mut String, what: &str, text: String| {
        let _ = writeln!(out, "  {what:<12}{text}");
    };
    line(out, "time", format!("{} us estimated, by {}", short(time.estimate_us), time.limiter.name()));
    line(out, "bound", format!("{} us at least, by {}", short(time.bound_us), time.bound_by.name()));
    let (registers, is_exact) = kernel.registers;
    let about = if is_exact { "" } else { "about " };
    let limits: Vec<String> = time.occupancy.limits.iter().map(ToString::to_string).collect();
    line(
        out,
        "occupancy",
        format!(
            "{} of {} warps at most, by {}, with {about}{registers} registers and {} bytes of shared memory; {}",
            time.occupancy.warps,
            time.occupancy.max_warps,
            limits.join(" and "),
            kernel.shared,
            counted(short(time.waves), "wave")
        ),
    );
    let barriers = if kernel.barriers > 0.0 {
        format!(", {} a block", counted(short(kernel.barriers), "barrier"))
    } else {
        String::new()
    };
    line(out, "chain", format!("{} cycles of one warp{barriers}", short(time.chain)));
    line(out, "work", format!("{}, {} a byte of memory", of(kernel.flops, "FLOP"), short(kernel.intensity())));
    let moved = time.traffic;
    line(
        out,
        "bytes",
        format!(
            "{} by L1, {} by shared memory, {} by L2, {} of memory",
            of(moved.l1, "B"),
            of(moved.shared, "B"),
            of(moved.l2, "B"),
            of(moved.dram, "B")
        ),
    );
    let units: Vec<String> = time
        .units
        .iter()
        .filter(|(_, us)| *us >= 0.005 * time.estimate_us)
        .map(|(unit, us)| format!("{} {:.0} %", unit.name(), 100.0 * us / time.estimate_us))
        .collect();
    line(out, "busy", if units.is_empty() { "nothing".to_string() } else { units.join(", ") });
}

fn accesses(out: &mut String, kernel: &KernelReport, sources: &Sources) {
    if kernel.accesses.is_empty() {
        return;
    }
    let mut rows = vec![
        ["access", "memory", "bytes", "requests", "lanes", "sectors", "wavefronts", "", "schedule"].map(String::from),
    ];
    rows.extend(kernel.accesses.iter().map(|access| row(access, sources)));
    let width = |nth: usize| rows.iter().map(|row| row[nth].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..9).map(width).collect();
    for row in &rows {
        let mut line = String::from(" ");
        for (nth, (cell, width)) in row.iter().zip(&widths).enumerate() {
            let _ =
                if (2..7).contains(&nth) { write!(line, " {cell:>width$} ") } else { write!(line, " {cell:<width$} ") };
        }
        let _ = writeln!(out, "{}", line.trim_end());
    }
}

fn row(access: &AccessReport, sources: &Sources) -> [String; 9] {
    let what = format!("{} {} {}", place(&access.location, sources), access.direction.name(), access.buffer);
    let pair = |(is, least): (f64, f64)| {
        if is == 0.0 { String::new() } else { format!("{} of {}", tenths(is), tenths(least)) }
    };
    let note = match access.excess() {
        _ if access.requests == 0.0 => "not seen".to_string(),
        _ if access.unknown => "depends on data".to_string(),
        times if times >= 1.5 => format!("{}x", tenths(times)),
        _ => String::new(),
    };
    [
        what.trim_start().to_string(),
        access.place_name().to_string(),
        access.bytes.to_string(),
        short(access.requests.round()),
        tenths(access.lanes),
        pair(access.sectors),
        pair(access.wavefronts),
        note,
        access.directive.as_ref().map_or(String::new(), |at| place(at, sources)),
    ]
}

/// With one digit after the point, where that is not 0.
fn tenths(value: f64) -> String {
    let text = format!("{value:.1}");
    text.strip_suffix(".0").map_or(text.clone(), str::to_string)
}

/// The reports as JSON: `{"access": […]}`, one object for each launch.
pub fn document(kernels: &[KernelReport], sources: &Sources) -> Value {
    let kernel = |kernel: &KernelReport| {
        let KernelReport { name, machine, grid, block, shared, registers, flops, barriers, time, .. } = kernel;
        let us = |(by, us): &(Limiter, f64)| (by.name().to_string(), json!(us));
        let instructions = kernel.instructions.iter().map(|(unit, n)| (unit.name().to_string(), json!(n)));
        json!({
            "kernel": name, "machine": machine.name, "grid": grid, "block": block, "shared": shared,
            "registers": registers.0, "registers_known": registers.1, "open_sizes": kernel.open,
            "estimate_us": time.estimate_us, "limiter": time.limiter.name(),
            "bound_us": time.bound_us, "bound_by": time.bound_by.name(),
            "units_us": time.units.iter().map(us).collect::<serde_json::Map<_, _>>(),
            "occupancy": time.occupancy.share(), "blocks_per_multiprocessor": time.occupancy.blocks,
            "limits": time.occupancy.limits.iter().map(ToString::to_string).collect::<Vec<_>>(),
            "waves": time.waves, "chain_cycles": time.chain, "flops": flops, "barriers": barriers,
            "flops_per_byte": kernel.intensity(), "instructions": instructions.collect::<serde_json::Map<_, _>>(),
            "bytes": {"l1": time.traffic.l1, "shared": time.traffic.shared, "l2": time.traffic.l2, "memory": time.traffic.dram},
            "accesses": kernel.accesses.iter().map(|one| access(one, sources)).collect::<Vec<_>>(),
        })
    };
    json!({"access": kernels.iter().map(kernel).collect::<Vec<_>>()})
}

fn access(access: &AccessReport, sources: &Sources) -> Value {
    json!({
        "location": place(&access.location, sources),
        "directive": access.directive.as_ref().map(|at| place(at, sources)),
        "buffer": access.buffer, "memory": access.place_name(), "direction": access.direction.name(),
        "bytes": access.bytes, "requests": access.requests, "lanes": access.lanes,
        "sectors": access.sectors.0, "least_sectors": access.sectors.1,
        "wavefronts": access.wavefronts.0, "least_wavefronts": access.wavefronts.1,
        "depends_on_data": access.unknown,
    })
}
