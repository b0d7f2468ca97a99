//! Files of text, with everything that can be wrong with them.

use std::io::Read;
use std::path::Path;
use tc_support::{Diagnostic, Location, Pos, Sources, Span};

/// Why a file was not loaded.
#[derive(Debug)]
pub enum LoadError {
    /// It cannot be opened or read: the caller named a wrong one.
    Io(std::io::Error),
    /// Its text is at fault. The sources hold it as far as it can be shown.
    Text(Box<Diagnostic>, Sources),
}

/// Reads the file at `path`.
pub fn load(path: &Path) -> Result<String, LoadError> {
    let mut bytes = Vec::new();
    std::fs::File::open(path).and_then(|mut file| file.read_to_end(&mut bytes)).map_err(LoadError::Io)?;
    decode(&path.to_string_lossy(), bytes)
}

/// Takes `bytes` for text; what is not UTF-8 is refused at its place. `name` is what messages call it.
pub fn decode(name: &str, bytes: Vec<u8>) -> Result<String, LoadError> {
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        let byte = error.as_bytes()[at];
        let shown = String::from_utf8_lossy(error.as_bytes()).into_owned();
        let mut sources = Sources::new();
        let location = match sources.add(name, shown) {
            Ok(file) => {
                let start = Pos(sources.file(file).start().0 + at as u32);
                // What could not be read is shown as one replacement character.
                let width = char::REPLACEMENT_CHARACTER.len_utf8() as u32;
                Location::Span(Span::new(start, Pos(start.0 + width)))
            }
            Err(_) => Location::None,
        };
        let message = format!("the text is not UTF-8: byte 0x{byte:02x} at offset {at}");
        LoadError::Text(Box::new(Diagnostic::error("not-utf8", location, message)), sources)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_utf8_is_refused_at_its_place() {
        let Err(LoadError::Text(found, sources)) = decode("f.tir", b"one\ntwo \xff three".to_vec()) else {
            panic!("accepted");
        };
        let shown = tc_support::render::one(&found, &sources, false);
        assert!(shown.contains("f.tir:2:5") && shown.contains("byte 0xff at offset 8"), "{shown}");
    }

    #[test]
    fn a_file_that_is_not_there_is_the_callers_fault() {
        assert!(matches!(load(Path::new("/no/such/file.tir")), Err(LoadError::Io(_))));
        assert!(matches!(load(&std::env::temp_dir()), Err(LoadError::Io(_))));
    }
}
