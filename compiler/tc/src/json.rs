//! What the compiler answers, as JSON text.

use tc_support::{Diagnostics, Sources, render};
use tc_target::KernelManifest;

/// Diagnostics as a JSON array; each is an object with `severity`, `fault`, `code`, `message`, `location`, `labels`, `notes`,
/// `help`, `fixes` and `pass`.
pub fn diagnostics_json(diagnostics: &Diagnostics, sources: &Sources) -> String {
    array(diagnostics.iter().map(|one| render::json(one, sources).to_string()))
}

/// Kernel manifests as a JSON array; [`KernelManifest::from_json`] reads each.
pub fn manifest_json(manifests: &[KernelManifest]) -> String {
    array(manifests.iter().map(|one| one.to_json().to_string()))
}

fn array(items: impl Iterator<Item = String>) -> String {
    format!("[{}]", items.collect::<Vec<_>>().join(",\n"))
}
