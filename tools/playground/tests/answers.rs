//! What the module answers, asked without a browser.

use serde_json::{Value, json};

const REVERSE: &str = include_str!("../examples/missing_barrier.tir");

fn ask(request: &Value) -> Value {
    serde_json::from_str(&tc_playground::answer(&request.to_string())).expect("an answer is JSON")
}

fn demo() -> String {
    let readme = include_str!("../../../README.md");
    readme.split("```").nth(1).expect("the demo").to_string()
}

#[test]
fn options_are_those_of_the_compiler() {
    let options = ask(&json!({ "call": "options" }));
    let has = |list: &str, name: &str| options[list].as_array().is_some_and(|all| all.iter().any(|one| one == name));
    assert!(has("targets", "sm_90a") && has("pipelines", "cuda"), "{options}");
    assert_eq!(options["target"], "sm_80");
}

#[test]
fn a_text_tells_its_items_and_cases() {
    let seen = ask(&json!({ "call": "look", "text": demo() }));
    assert_eq!(seen["items"][0]["name"], "blur");
    assert_eq!(seen["items"][1]["keyword"], "schedule");
    assert_eq!(
        seen["cases"],
        json!([{ "name": "blur @threads", "func": "blur", "schedule": "threads", "pipeline": "cuda{func=blur schedule=threads}" }])
    );
}

#[test]
fn passes_have_texts_and_differences_that_agree() {
    let request = json!({ "call": "run", "text": demo(), "pipeline": "cuda{schedule=threads}", "emit": "cuda" });
    let answer = ask(&request);
    assert_eq!(answer["ok"], true, "{answer}");
    let steps = answer["steps"].as_array().expect("steps");
    let mut before: Vec<&str> = Vec::new();
    for step in steps {
        let Some(text) = step["text"].as_str() else {
            assert!(step["parts"].is_null());
            continue;
        };
        let lines: Vec<&str> = text.lines().collect();
        for part in step["parts"].as_array().into_iter().flatten() {
            let number = |at: usize| part[at].as_u64().expect("a number") as usize;
            let (old, new) = (&before[number(1)..][..number(2)], &lines[number(3)..][..number(4)]);
            assert_eq!(old == new, part[0] == true, "{part}");
        }
        before = lines;
    }
    assert!(steps.len() > 20 && steps[1]["name"] == "schedule");
    let cuda = answer["emitted"]["text"].as_str().expect("CUDA");
    assert!(cuda.contains("__global__") && answer["emitted"]["manifests"][0]["kernels"][0]["grid"] == json!([8, 1, 1]));
    let mlir = ask(&json!({ "call": "run", "text": demo(), "pipeline": "cuda", "emit": "mlir" }));
    assert!(mlir["emitted"]["text"].as_str().is_some_and(|text| text.contains("gpu.module")), "{mlir}");
}

#[test]
fn a_pass_that_fails_is_told_with_what_came_before() {
    let text = "tir.func @f(A: f32[8]) {\n  A[9] = 1.0\n}\n";
    let answer = ask(&json!({ "call": "run", "text": text, "pipeline": "tir.func(simplify,check-bounds,cse)" }));
    assert_eq!(answer["ok"], false);
    let failed: Vec<bool> =
        answer["steps"].as_array().expect("steps").iter().map(|step| step["failed"] == true).collect();
    assert_eq!(failed, [false, false, true, false], "{answer}");
    assert_eq!(answer["diagnostics"][0]["location"]["line"], 2);
}

#[test]
fn a_case_is_checked_and_a_race_is_found() {
    let good = ask(&json!({ "call": "check", "text": demo(), "func": "blur", "schedule": "threads" }));
    assert_eq!((&good["ok"], &good["races"], &good["cells"]), (&json!(true), &json!("none"), &json!(1022)), "{good}");
    let bad = ask(&json!({ "call": "check", "text": REVERSE }));
    assert_eq!((&bad["ok"], &bad["name"]), (&json!(false), &json!("reversed")));
    assert!(bad["diagnostics"][0]["text"].as_str().is_some_and(|text| text.contains("race on `S[")), "{bad}");
}

#[test]
fn a_block_is_watched_thread_by_thread() {
    let answer = ask(&json!({ "call": "block", "text": REVERSE, "block": 1 }));
    let accesses = answer["accesses"].as_array().expect("accesses");
    assert_eq!((accesses.len(), &answer["block"]), (64, &json!([32, 1, 1])), "{answer}");
    assert!(accesses.iter().all(|access| !access["race"].is_null()), "{answer}");
    let line = |answer: &Value, access: &Value| {
        let text = answer["program"].as_str().expect("the program");
        text.lines().nth(access["line"].as_u64().expect("a line") as usize - 1).unwrap_or("").to_string()
    };
    assert!(accesses.iter().all(|access| line(&answer, access).contains("S[")), "{answer}");
    let scheduled = ask(&json!({ "call": "block", "text": demo(), "buffer": "B", "block": 7 }));
    let accesses = scheduled["accesses"].as_array().expect("accesses");
    assert!(
        accesses.len() > 100 && accesses.iter().all(|access| line(&scheduled, access).contains("B[")),
        "{scheduled}"
    );
}

#[test]
fn a_report_is_a_page() {
    let answer = ask(&json!({ "call": "report", "text": demo(), "pipeline": "cuda{schedule=threads}" }));
    let html = answer["html"].as_str().expect("a page");
    assert!(html.starts_with("<!doctype html>") && html.contains("class=plot") && html.contains("blur_kernel"));
}

#[test]
fn whatever_is_asked_has_an_answer() {
    for request in ["", "{", "null", "[]", "{}", "{\"call\":\"run\"}", "{\"call\":7}", "\u{0}"] {
        let answer: Value = serde_json::from_str(&tc_playground::answer(request)).expect("an answer is JSON");
        assert!(answer["ok"].is_boolean(), "{request}: {answer}");
    }
    for call in ["look", "run", "check", "block", "report", "none"] {
        for text in ["", "te.func", "tir.func @f(A: f32[8]) {}", "schedule @s for @f {}", &"(".repeat(3000)] {
            let answer = ask(&json!({ "call": call, "text": text, "pipeline": "cuda", "func": "g", "defines": "x" }));
            assert!(answer["ok"].is_boolean() && answer["diagnostics"].is_array(), "{call} of {text}: {answer}");
        }
    }
    assert!(ask(&json!({ "call": "look", "target": "sm_1" }))["diagnostics"][0]["text"].is_string());
}

#[test]
fn the_step_limit_ends_a_run() {
    let text = "tir.func @f(A: f32[8]) {\n  for i in 0..1000000000000 {\n    A[0] = A[0] + 1.0\n  }\n}\n";
    let answer = ask(&json!({ "call": "check", "text": text, "steps": 1_000_000 }));
    assert_eq!(answer["ok"], false);
    assert!(answer["diagnostics"][0]["text"].as_str().is_some_and(|text| text.contains("more than 1000000 steps")));
}
