//! Generates the two parsers from the grammar.

use std::error::Error;
use std::path::PathBuf;

fn main() {
    if let Err(error) = generate() {
        println!("cargo::error=the grammar is refused: {error}");
    }
}

fn generate() -> Result<(), Box<dyn Error>> {
    let out = PathBuf::from(std::env::var("OUT_DIR")?);
    for (folder, features) in [("plain", vec![]), ("recovering", vec!["recovery".to_string()])] {
        lalrpop::Configuration::new()
            .emit_rerun_directives(true)
            .set_out_dir(out.join(folder))
            .set_features(features)
            .process_file("src/grammar.lalrpop")?;
    }
    Ok(())
}
