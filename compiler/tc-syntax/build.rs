//! Generates the parser from the grammar.

fn main() {
    if let Err(error) = lalrpop::Configuration::new().emit_rerun_directives(true).use_cargo_dir_conventions().process()
    {
        println!("cargo::error=the grammar is refused: {error}");
    }
}
