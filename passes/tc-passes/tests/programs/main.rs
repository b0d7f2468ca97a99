//! Passes over programs, from text to text.

mod checks;
mod guards;
mod loops;
mod pipeline;
mod pipelined;
mod random;
mod reductions;
mod split;
mod storage;
mod sync;
mod tensors;

use tc_ir::Module;
use tc_pass::{PassCx, PassInfo, PassKind, RawOption};
use tc_support::Diagnostics;

/// Reads a module, which must be right.
pub fn parse(text: &str) -> Module {
    let registry = tc_dialects::shared_registry();
    let (module, found) = tc_syntax::parse_module("test.tir", text, &registry, &Default::default());
    assert!(found.is_empty(), "{text}\n{found:#?}");
    module
}

/// The pass called `name`.
pub fn pass_info(name: &str) -> &'static PassInfo {
    tc_passes::table::PASSES.iter().find(|info| info.name == name).expect("a pass of the table")
}

/// `key=value key=value`, as a pipeline string gives them.
fn options(text: &str) -> Vec<RawOption> {
    let option = |text: &str| {
        let (key, value) = text.split_once('=').unwrap_or((text, "true"));
        RawOption { key: key.to_string(), value: value.to_string(), key_at: 0..0, value_at: 0..0 }
    };
    text.split_whitespace().map(option).collect()
}

/// Runs one pass over `module` and verifies what it leaves.
pub fn run_on(module: &mut Module, pass: &str, cx: &mut PassCx) {
    let (name, text) = pass.split_once(' ').unwrap_or((pass, ""));
    let info = pass_info(name);
    match (info.make)(&options(text)).expect("options that the pass takes") {
        PassKind::Func(opcode, pass) => {
            for func in module.items.iter_mut().filter(|item| item.header.opcode == opcode) {
                for form in info.requires {
                    assert!(form.holds(func), "{name} needs {}: {:#?}", form.name, form.check(func));
                }
                pass.run(func, cx);
                for form in info.establishes.iter().filter(|_| !cx.diagnostics.has_errors()) {
                    assert!(form.holds(func), "{name} promises {}: {:#?}\n{func}", form.name, form.check(func));
                }
            }
        }
        PassKind::Module(pass) => {
            pass.run(module, cx);
        }
    }
    for func in &module.items {
        let found = tc_ir::verify::verify(func);
        assert!(found.is_empty(), "{name} broke `@{}`: {found:#?}\n{func}", func.symbol());
    }
}

/// The text of `module`, which must read back as the same.
pub fn text(module: &Module) -> String {
    let print = |module: &Module| {
        let items: Vec<String> = module.items.iter().map(|func| func.to_string()).collect();
        items.join("\n")
    };
    let first = print(module);
    assert_eq!(print(&parse(&first)), first, "the text does not read back as itself");
    first
}

/// Runs passes (separated by commas) over `before`: the text afterwards, and the diagnostics.
pub fn run(passes: &str, before: &str) -> (String, Diagnostics) {
    let mut module = parse(before);
    let mut cx = PassCx::default();
    for pass in passes.split(',') {
        run_on(&mut module, pass.trim(), &mut cx);
    }
    (text(&module), cx.diagnostics)
}

/// `passes` make `after` of `before`, without a diagnostic.
#[track_caller]
pub fn becomes(passes: &str, before: &str, after: &str) {
    let (have, found) = run(passes, before);
    assert!(found.is_empty(), "{found:#?}");
    let want = text(&parse(after));
    assert_eq!(have, want, "\n--- have\n{have}\n--- want\n{want}");
}

/// `passes` refuse `before` with a message that holds `message`, and leave it as it is.
#[track_caller]
pub fn refuses(passes: &str, before: &str, message: &str) {
    let (have, found) = run(passes, before);
    let said = found.iter().any(|diagnostic| diagnostic.is_error() && diagnostic.message.contains(message));
    assert!(said, "no `{message}` in {found:#?}");
    assert_eq!(have, text(&parse(before)), "a refusal changed the program");
}
