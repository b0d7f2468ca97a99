//! `tc-tune import`: logs of AutoTVM as records, where the names of its entities are those of parameters.
//!
//! A line of a log (version 0.2) is `{"input": [target, task, args, kwargs], "config": {"entity": [[name, kind, value], …]},
//! "result": [costs in seconds, error number, …], "version": 0.2}`. An entity of the kind `ot` is a value; `sp` is the sizes
//! of a split: the inner one, or of more than two each but the first as `NAME_1`, `NAME_2` and so on. What an order (`re`) or an
//! annotation (`an`) stands for has no value here: it is passed over where no parameter has its name, and the line with it where
//! one has.

use crate::records::{self, Record, Time, Trial, Verdict};
use crate::task::{Identity, Values};
use serde_json::Value;

/// What AutoTVM's error numbers mean (`MeasureErrorNo`).
const ERRORS: [&str; 9] = [
    "no-error",
    "instantiation",
    "compile-host",
    "compile-device",
    "runtime-device",
    "wrong-answer",
    "build-timeout",
    "run-timeout",
    "unknown-error",
];

/// The record of a line of a log, for a task whose parameters are `names`; or why there is none.
pub(crate) fn record(
    line: &str,
    nth: usize,
    task: &Identity,
    names: &[String],
    device: &str,
) -> Result<Record, String> {
    let value: Value = serde_json::from_str(line).map_err(|error| error.to_string())?;
    match value["version"].as_f64() {
        Some(version) if (version - 0.2).abs() < 1e-9 => {}
        Some(version) => return Err(format!("it is of version {version}, and version 0.2 is read")),
        None => return Err("it is no line of AutoTVM's log".to_string()),
    }
    let entities = value["config"]["entity"].as_array().ok_or("it has no `config.entity`")?;
    let mut point = Values::new();
    for entity in entities {
        let (name, kind) = (entity[0].as_str().unwrap_or_default(), entity[1].as_str().unwrap_or_default());
        for (name, value) in values(name, kind, &entity[2])? {
            if names.contains(&name) {
                let number = value.ok_or_else(|| format!("the entity `{name}` of kind `{kind}` has no value here"))?;
                point.insert(name, number);
            }
        }
    }
    if let Some(missing) = names.iter().find(|name| !point.contains_key(*name)) {
        return Err(format!("no entity is called `{missing}`, as a parameter is"));
    }
    Ok(Record {
        version: records::VERSION,
        task: task.clone(),
        device: device.to_string(),
        compiler: format!("tvm {}", value["tvm_version"].as_str().unwrap_or("unknown")),
        point,
        trial: Trial {
            nth,
            batch: nth,
            attempt: 0,
            searcher: "autotvm".to_string(),
            seed: 0,
            trials: nth + 1,
            batch_size: 1,
            estimate: 0,
            start: None,
        },
        result: result(&value["result"])?,
        copied: false,
    })
}

/// The parameters that an entity may stand for, each with its value, if it has one.
fn values(name: &str, kind: &str, value: &Value) -> Result<Vec<(String, Option<i64>)>, String> {
    let number = |value: &Value| value.as_i64().or_else(|| value.as_bool().map(i64::from));
    Ok(match (kind, value) {
        ("ot", value) => vec![(name.to_string(), number(value))],
        ("sp", Value::Array(sizes)) if sizes.len() == 2 => vec![(name.to_string(), number(&sizes[1]))],
        ("sp", Value::Array(sizes)) => {
            sizes.iter().enumerate().skip(1).map(|(nth, size)| (format!("{name}_{nth}"), number(size))).collect()
        }
        ("re" | "an", _) => vec![(name.to_string(), None)],
        _ => return Err(format!("the entity `{name}` is of the kind `{kind}`, which version 0.2 has not")),
    })
}

fn result(result: &Value) -> Result<records::Result, String> {
    let error = result[1].as_u64().ok_or("it has no error number")?;
    if error != 0 {
        let name = usize::try_from(error).ok().and_then(|error| ERRORS.get(error)).copied().unwrap_or("unknown-error");
        let verdict = match name {
            "wrong-answer" => Verdict::Wrong,
            "run-timeout" => Verdict::Hung,
            "runtime-device" => Verdict::Faulted,
            _ => Verdict::Rejected,
        };
        return Ok(records::Result::failed(verdict, &format!("autotvm-{name}"), "AutoTVM recorded an error"));
    }
    let costs: Option<Vec<f64>> = result[0].as_array().map(|costs| costs.iter().filter_map(Value::as_f64).collect());
    let mut costs = costs.filter(|costs| !costs.is_empty()).ok_or("it has no costs")?;
    costs.sort_by(f64::total_cmp);
    let us = |nth: usize| costs[nth] * 1e6;
    let n = costs.len();
    let median = (us((n - 1) / 2) + us(n / 2)) / 2.0;
    // So few repeats have no narrower interval than from the least to the greatest.
    let time = Time { median, low: us(0), high: us(n - 1), n };
    Ok(records::Result {
        verdict: Verdict::Ok,
        reason: None,
        message: None,
        time_us: Some(time),
        ..records::Result::failed(Verdict::Ok, "", "")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task() -> Identity {
        Identity {
            operator: "f".to_string(),
            operator_hash: String::new(),
            schedule: "s".to_string(),
            schedule_hash: String::new(),
            sizes: Values::new(),
            target: "sm_90a".to_string(),
        }
    }

    fn read(line: &str, names: &[&str]) -> Result<Record, String> {
        let names: Vec<String> = names.iter().map(|name| name.to_string()).collect();
        record(line, 3, &task(), &names, "GPU")
    }

    const LINE: &str = r#"{"input": ["cuda -keys=cuda,gpu", "conv", [["TENSOR", [8], "float32"]], {}], "config": {"index": 5, "code_hash": null, "entity": [["block", "ot", 64], ["local", "ot", true], ["tile_f", "sp", [-1, 2, 8, 4]], ["tile_r", "sp", [-1, 16]], ["order", "re", [0, 2, 1]]]}, "result": [[3e-06, 1e-06, 2e-06], 0, 1.5, 1700000000.0], "version": 0.2, "tvm_version": "0.16.0"}"#;

    #[test]
    fn values_and_splits_become_parameters() {
        let record = read(LINE, &["block", "local", "tile_f_1", "tile_f_2", "tile_f_3", "tile_r"]).expect("a record");
        let values: Vec<i64> = record.point.values().copied().collect();
        assert_eq!(values, [64, 1, 2, 8, 4, 16], "{:?}", record.point);
        let time = record.result.time_us.expect("a time");
        assert!((time.median - 2.0).abs() < 1e-9 && (time.high - 3.0).abs() < 1e-9);
        assert_eq!(record.compiler, "tvm 0.16.0");
    }

    #[test]
    fn what_has_no_parameter_or_no_value_is_told() {
        assert!(read(LINE, &["block", "other"]).expect_err("no").contains("no entity is called `other`"));
        assert!(read(LINE, &["order"]).expect_err("no").contains("has no value here"));
        assert!(read(&LINE.replace("0.2,", "0.1,"), &[]).expect_err("no").contains("version 0.1"));
        assert!(read("{}", &[]).is_err() && read("[", &[]).is_err());
        let failed = read(&LINE.replace("[[3e-06, 1e-06, 2e-06], 0,", "[[1e9], 4,"), &["block"]).expect("a record");
        assert_eq!((failed.result.verdict, failed.result.median()), (Verdict::Faulted, None));
    }
}
