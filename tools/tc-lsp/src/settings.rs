//! What a client sets, at first or later.

use serde::Deserialize;
use serde_json::Value;
use tc::Compiler;
use tc::target::Target;

/// The settings. Unknown ones are ignored, as clients send those of others too.
#[derive(Clone, PartialEq, Eq, Deserialize, Debug)]
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
#[derive(Clone, Copy, PartialEq, Eq, Deserialize, Debug)]
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
    /// Reads what a client sent: the settings, or an object that holds them under `tc`. The error says what is wrong.
    pub(crate) fn read(sent: &Value) -> Result<Settings, String> {
        let own = sent.get("tc").unwrap_or(sent);
        if own.is_null() {
            return Ok(Settings::default());
        }
        let settings: Settings = serde_json::from_value(own.clone()).map_err(|error| format!("settings: {error}"))?;
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
