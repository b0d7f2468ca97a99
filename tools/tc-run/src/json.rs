//! Results as one JSON document, for scripts: `{"tc-run": 1, "device": …, "results": […]}`.

use crate::against::{self, Against, Peer};
use crate::table::{Row, exactly, verdict};
use serde_json::{Map, Value, json};
use tc::run::{Checked, Evaluated};
use tc::runtime::{Array, KernelReport, Timing, array};
use tc::support::render;

/// The version of the document.
const VERSION: u32 = 1;

/// The document.
pub(crate) fn document(rows: &[Row], device: &str, peer: &Peer) -> Value {
    let against = against::compare(rows, peer);
    let results: Vec<Value> = rows.iter().zip(&against).map(|(row, against)| result(row, against)).collect();
    json!({"tc-run": VERSION, "device": device, "results": results})
}

fn result(row: &Row, against: &Against) -> Value {
    let params: Map<String, Value> = row.point.iter().map(|(name, value)| (name.clone(), json!(value))).collect();
    let mut result = json!({
        "func": row.func,
        "schedule": row.schedule,
        "params": params,
        "ok": row.ok,
        "timing": row.timing.as_ref().map(Timing::to_json),
        "diagnostics": row.diagnostics.iter().map(|one| render::json(one, &row.sources)).collect::<Vec<_>>(),
    });
    if let Some(clocks) = &row.clocks {
        result["clocks"] = clocks.to_json();
    }
    if row.timing.is_some() {
        result["over_first"] = json!(against.first);
        result["over_previous"] = json!(against.previous);
        result["peer_us"] = json!(against.peer_us);
        result["over_peer"] = json!(against.peer);
        result["bound_us"] = json!(row.bound_us);
    }
    if !row.kernels.is_empty() {
        result["kernels"] = row.kernels.iter().map(kernel).collect();
    }
    if let Some(checked) = &row.checked {
        result["check"] = check(checked);
    }
    if let Some(evaluated) = &row.evaluated {
        result["arguments"] = arguments(evaluated);
    }
    result
}

/// What the device does not know is null.
fn kernel(kernel: &KernelReport) -> Value {
    json!({
        "name": kernel.name,
        "registers": kernel.registers,
        "spill_bytes": kernel.local_bytes,
        "static_shared": kernel.static_shared,
        "dynamic_shared": kernel.dynamic_shared,
        "blocks_per_sm": kernel.blocks_per_sm,
    })
}

fn check(checked: &Checked) -> Value {
    json!({
        "cells": checked.cells,
        "inputs": checked.inputs,
        "sampled": checked.sampled,
        "in_tf32": checked.in_tf32,
        "exactly": exactly(checked.field),
        // An error that is no number has none in JSON either.
        "max_abs_err": checked.max_abs_err,
        "max_rel_err": checked.max_rel_err,
        "races": checked.races.map(|races| verdict(Some(races), "race")),
        "bounds": checked.bounds.map(|bounds| verdict(Some(bounds), "violated")),
        "seconds": checked.time.as_secs_f64(),
    })
}

fn arguments(evaluated: &Evaluated) -> Value {
    let of = |argument: &tc::run::Argument| {
        let mut value = summary(&argument.array);
        value["name"] = json!(argument.name);
        value["given"] = json!(argument.given);
        value["input"] = json!(argument.is_input);
        value["output"] = json!(argument.is_output);
        value
    };
    evaluated.arguments.iter().map(of).collect()
}

fn summary(array: &Array) -> Value {
    let values = array.to_f64s();
    let finite = || values.iter().copied().filter(|value| value.is_finite());
    let mean = values.iter().sum::<f64>() / values.len().max(1) as f64;
    json!({
        "type": array::describe(array.dtype(), array.shape()),
        "min": finite().reduce(f64::min),
        "max": finite().reduce(f64::max),
        "mean": mean,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use tc::runtime::L2;
    use tc::support::{Diagnostic, Diagnostics, Location, Sources};

    #[test]
    fn a_document_holds_what_scripts_ask_for() {
        let row = |ok: bool| Row {
            sizes: String::new(),
            bound_us: None,
            case: "f @s".into(),
            func: "f".into(),
            schedule: Some("s".into()),
            point: vec![("block".into(), 64)],
            ok,
            checked: None,
            kernels: vec![KernelReport { name: "f".into(), registers: Some(40), ..KernelReport::default() }],
            timing: Timing::from_samples(vec![2.0], 7, L2::Kept).filter(|_| ok),
            clocks: None,
            evaluated: None,
            diagnostics: if ok { Diagnostics::new() } else { Diagnostic::error("c", Location::None, "m").into() },
            sources: Sources::new(),
        };
        let document = document(&[row(true), row(false)], "cuda:0 GPU", &Peer::new());
        assert_eq!((&document["tc-run"], &document["device"]), (&json!(1), &json!("cuda:0 GPU")));
        let [good, bad] = [&document["results"][0], &document["results"][1]];
        assert_eq!(
            (&good["func"], &good["schedule"], &good["params"]["block"]),
            (&json!("f"), &json!("s"), &json!(64))
        );
        assert_eq!((&good["timing"]["median_us"], &good["ok"]), (&json!(2.0), &json!(true)));
        assert_eq!((&good["kernels"][0]["registers"], &good["kernels"][0]["spill_bytes"]), (&json!(40), &Value::Null));
        assert_eq!((&bad["timing"], &bad["diagnostics"][0]["message"]), (&Value::Null, &json!("m")));
    }
}
