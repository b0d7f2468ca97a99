//! FileCheck in process.

use crate::Outcome;
use clap::Parser;
use litcheck_filecheck::litcheck::diagnostics::{FileName, SourceLanguage, SourceManager};
use litcheck_filecheck::{Config, Options, Test};

/// Checks `input` against the directives in `text`, the file `name`; `flags` are FileCheck's.
pub fn check(name: &str, text: &str, input: &str, flags: &[String]) -> Outcome {
    let options = Options::try_parse_from(flags).map_err(|error| format!("bad FileCheck command: {error}"))?;
    let config = Config { options, ..Config::default() };
    let checks =
        config.source_manager.load(SourceLanguage::Unknown, FileName::from(name.to_string()), text.to_string());
    let output =
        config.source_manager.load(SourceLanguage::Unknown, FileName::from("<output>".to_string()), input.to_string());
    match Test::new(checks, &config).verify(output) {
        Ok(_) => Ok(()),
        Err(report) => Err(format!("{report:?}\nthe output was:\n{input}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_accepts_what_is_there_and_refuses_what_is_not() {
        let text = "// CHECK: for i in 0..[[N:[0-9]+]]\n// CHECK-NEXT: A[[[N]]]\n// CHECK-NOT: foo\n";
        assert_eq!(check("f", text, "x\nfor i in 0..8 {\n  A[8]\n", &[]), Ok(()));
        assert!(check("f", text, "for i in 0..8 {\n  A[9]\n", &[]).is_err());
        assert!(check("f", text, "for i in 0..8 {\n  A[8]\nfoo\n", &[]).is_err());
        let prefix = ["--check-prefix=B".to_string()];
        assert!(check("f", "// B: x", "y", &prefix).is_err());
        assert_eq!(check("f", "// B: x", "x", &prefix), Ok(()));
    }
}
