//! The JSON of a bundle: which files there are, and the manifests. docs/manifest.md says what its fields mean.

use crate::{Link, Options, TargetCode, cubin_name};
use serde_json::{Value, json};
use tc_target::KernelManifest;

/// The version of the document, which its field `bundle` holds. It grows with each change that an older reader would
/// misread; each manifest in it has a version of its own.
pub const VERSION: u64 = 1;

/// The text of the document.
pub(crate) fn text(codes: &[&TargetCode], options: &Options) -> String {
    format!("{:#}\n", value(codes, options))
}

fn value(codes: &[&TargetCode], options: &Options) -> Value {
    let link = match options.link {
        Link::Embedded => "embedded",
        Link::Files => "files",
    };
    let targets = codes.iter().map(|code| {
        json!({
            "target": code.target.name,
            "cubin": cubin_name(options, &code.target),
            "bytes": code.cubin.len(),
            "manifests": code.manifests.iter().map(KernelManifest::to_json).collect::<Vec<_>>(),
        })
    });
    json!({
        "bundle": VERSION,
        "name": options.name,
        "link": link,
        "header": format!("{}.h", options.name),
        "source": format!("{}.c", options.name),
        "targets": targets.collect::<Vec<_>>(),
    })
}
