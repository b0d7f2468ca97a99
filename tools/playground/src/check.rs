//! A case on the simulator.

use crate::request::{Answer, NAME, Request};
use crate::shown::diagnostics;
use serde_json::{Value, json};
use tc::run::{CheckOptions, Checked, Machine, Verdict};

/// Builds the case, runs it, compares it with its definition.
pub(crate) fn check(request: &Request) -> Answer {
    let module = request.compiler.load(NAME, request.text("text"))?.module;
    let case = request.case(&module)?;
    let options = CheckOptions {
        seed: request.number("seed").unwrap_or(0),
        defines: request.defines()?,
        limits: request.limits(),
        n_cases: 1,
        ..CheckOptions::default()
    };
    let checked = tc::check(&request.compiler, &module, &case, &mut Machine::Simulator, &options)?;
    Ok(told(&case.name(&module), &checked))
}

fn told(name: &str, checked: &Checked) -> Value {
    let verdict = |verdict: Option<Verdict>| match verdict {
        None => "not seen".to_string(),
        Some(Verdict::Clean) => "none".to_string(),
        Some(Verdict::SameValue(n)) => format!("{n}, of equal values"),
        Some(Verdict::Found(n)) => n.to_string(),
    };
    let point: Vec<String> = checked.point.iter().map(|(name, value)| format!("{name}={value}")).collect();
    json!({
        "ok": checked.ok,
        "name": name,
        "point": point.join(" "),
        "cells": checked.cells,
        "inputs": checked.inputs,
        "sampled": checked.sampled,
        "max_abs_err": checked.max_abs_err,
        "max_rel_err": checked.max_rel_err,
        "exact": checked.field.map(|field| format!("{field:?}").to_lowercase()),
        "races": verdict(checked.races),
        "bounds": verdict(checked.bounds),
        "diagnostics": diagnostics(&checked.diagnostics, &checked.sources),
    })
}
