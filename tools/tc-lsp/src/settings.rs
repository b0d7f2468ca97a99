//! What a client sets, at first or later.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use tc::Compiler;
use tc::target::Target;

/// The settings. Unknown ones are ignored, as clients send those of others too.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, Debug)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Settings {
    /// The target that schedules are judged for.
    pub(crate) target: String,
    /// Which inlay hints are shown.
    pub(crate) hints: Hints,
    /// The client shows texts that commands give back; it is not asked to open files with them.
    pub(crate) virtual_documents: bool,
}

/// Which inlay hints are shown.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize, Debug)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Hints {
    /// Extents of axes that directives make.
    pub(crate) extents: bool,
    /// Bytes of buffers.
    pub(crate) bytes: bool,
    /// Barriers that the compiler derives, which takes the whole pipeline.
    pub(crate) barriers: bool,
    /// Conflicts of banks of shared memory, which take the whole pipeline.
    pub(crate) conflicts: bool,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings { target: Compiler::DEFAULT_TARGET.to_string(), hints: Hints::default(), virtual_documents: false }
    }
}

impl Default for Hints {
    fn default() -> Hints {
        Hints { extents: true, bytes: true, barriers: true, conflicts: true }
    }
}

impl Settings {
    /// These settings with what a client sent, an object that may hold its part of them under `tc`. What is not sent stays:
    /// some clients send an empty object after each start. The error says what is wrong.
    pub(crate) fn with(&self, sent: &Value) -> Result<Settings, String> {
        let wrong = |error: serde_json::Error| format!("settings: {error}");
        let mut all = serde_json::to_value(self).map_err(wrong)?;
        merge(&mut all, sent.get("tc").unwrap_or(sent));
        let settings: Settings = serde_json::from_value(all).map_err(wrong)?;
        settings.compiler()?;
        Ok(settings)
    }

    /// The compiler that is set up so.
    pub(crate) fn compiler(&self) -> Result<Compiler, String> {
        let mut compiler = Compiler::new();
        let known = || Target::all().iter().map(|target| target.name).collect::<Vec<_>>().join(", ");
        compiler.target = Target::parse(&self.target)
            .map_err(|_| format!("settings: there is no target `{}`; known are {}", self.target, known()))?;
        Ok(compiler)
    }
}

/// Puts what `sent` holds into `all`, as far as that has a place for it.
fn merge(all: &mut Value, sent: &Value) {
    match (all, sent) {
        (Value::Object(all), Value::Object(sent)) => {
            for (key, value) in all {
                if let Some(new) = sent.get(key) {
                    merge(value, new);
                }
            }
        }
        // A client sends null for what its user did not set; an object has parts.
        (Value::Object(_), _) | (_, Value::Null) => {}
        (value, new) => *value = new.clone(),
    }
}
