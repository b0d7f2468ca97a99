//! Inputs: files, and the standard input as `-`.

use std::ffi::OsStr;
use std::io::Read;
use std::path::Path;
use tc::LoadError;

/// What `file` is called in messages.
pub fn file_name(file: &OsStr) -> String {
    if file == "-" { "<stdin>".to_string() } else { file.to_string_lossy().into_owned() }
}

/// The text of `file`; `-` is `stdin`.
pub fn load(file: &OsStr, stdin: &mut dyn Read) -> Result<String, LoadError> {
    if file != "-" {
        return tc::load(Path::new(file));
    }
    let mut bytes = Vec::new();
    stdin.read_to_end(&mut bytes).map_err(LoadError::Io)?;
    tc::decode(&file_name(file), bytes)
}
