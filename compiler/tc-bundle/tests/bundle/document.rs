//! The document of a bundle has the fields that docs/manifest.md says, and its manifests are read back.

use crate::harness::{Made, code};
use serde_json::Value;
use tc::bundles::Link;
use tc::target::KernelManifest;

const PAGE: &str = include_str!("../../../../docs/manifest.md");
const ADD: &str = include_str!("../../../../examples/add.tir");

fn fields(head: &str) -> Vec<String> {
    let rows = PAGE.lines().skip_while(|line| !line.starts_with(&format!("| {head} |"))).skip(2);
    let rows = rows.take_while(|line| line.starts_with("| "));
    let mut names: Vec<String> = rows.filter_map(|row| Some(row.split('`').nth(1)?.to_string())).collect();
    names.sort();
    names
}

#[test]
fn the_document_has_the_fields_of_its_page() {
    let pipeline = "cuda{schedule=threads symbolic=true}";
    let made = Made::new("k", vec![code(ADD, "sm_80", pipeline, 1), code(ADD, "sm_90", pipeline, 2)], Link::Files);
    let text = std::fs::read_to_string(made.folder.join("k.json")).expect("a document");
    let document: Value = serde_json::from_str(&text).expect("JSON");
    let keys = |value: &Value| value.as_object().expect("an object").keys().cloned().collect::<Vec<String>>();
    assert_eq!(keys(&document), fields("field of a bundle"));
    assert_eq!((&document["name"], &document["link"]), (&Value::from("k"), &Value::from("files")));
    let targets = document["targets"].as_array().expect("a list");
    assert_eq!(targets.len(), 2);
    for (target, code) in targets.iter().zip(&made.codes) {
        assert_eq!(keys(target), fields("field of a target"));
        let file = made.folder.join(target["cubin"].as_str().expect("a name"));
        assert_eq!(std::fs::read(file).expect("a file"), code.cubin);
        assert_eq!(target["bytes"], code.cubin.len());
        assert_eq!(KernelManifest::from_json(&target["manifests"][0]).as_ref(), Ok(&code.manifests[0]));
    }
}
