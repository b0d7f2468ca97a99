//! The header of the C interface, made by cbindgen from the crate `tc-capi`.

use cbindgen::{
    Builder, Config, DocumentationLength, DocumentationStyle, EnumConfig, ExportConfig, Language, RenameRule, Style,
};
use std::path::Path;

/// Where it lies.
pub const PATH: &str = "compiler/tc-capi/include/tc.h";

const HEAD: &str = "\
/* The C interface of tc, a compiler of tensor programs. Made by `cargo xtask gen`; do not edit.
 *
 * Every call returns a TcStatus, and writes what it gives to where its last arguments point. Handles are numbers: what
 * is freed, made up or of another kind is refused. Structs begin with their size, which the caller sets. Strings are
 * UTF-8 with a length. docs/embedding.md shows a first program and tells which threads may do what. */";

/// Its text.
pub fn text(root: &Path) -> Result<String, String> {
    let config = Config {
        language: Language::C,
        cpp_compat: true,
        header: Some(HEAD.to_string()),
        include_guard: Some("TC_H".to_string()),
        style: Style::Type,
        usize_is_size_t: true,
        documentation_length: DocumentationLength::Full,
        documentation_style: DocumentationStyle::C99,
        no_includes: true,
        sys_includes: ["stddef.h", "stdint.h"].map(String::from).to_vec(),
        line_length: 110,
        enumeration: EnumConfig { rename_variants: RenameRule::QualifiedScreamingSnakeCase, ..EnumConfig::default() },
        export: ExportConfig {
            include: ["TcEmit", "TcVia", "TcSeverity", "TcFault"].map(String::from).to_vec(),
            ..ExportConfig::default()
        },
        ..Config::default()
    };
    // From here cbindgen follows the modules.
    let builder = Builder::new().with_config(config).with_src(root.join("compiler/tc-capi/src/lib.rs"));
    let bindings = builder.generate().map_err(|error| format!("{PATH}: {error}"))?;
    let mut text = Vec::new();
    bindings.write(&mut text);
    let text = String::from_utf8(text).map_err(|error| format!("{PATH}: {error}"))?;
    Ok(text.replace("# Safety", "What the caller sees to:"))
}
