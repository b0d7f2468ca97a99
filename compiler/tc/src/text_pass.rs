//! A pass as a function from text to text: for bindings, and for tools that are written in another language.
//!
//! The function gets the text of the module and gives it back changed. Text is the contract between passes anyway, it needs
//! no view of the IR, and it may be made by any program. It costs a print and a parse, and items that the function changed
//! point into its text afterwards; those that it left as they were keep their locations.
//!
//! ```
//! use tc::pass::PassInfo;
//!
//! static NARROW: PassInfo = PassInfo { name: "narrow", page: "Makes the buffers f16.\n", ..PassInfo::BASE };
//!
//! let mut compiler = tc::Compiler::new();
//! let narrow = tc::text_pass::text_pass("narrow", |call| Ok(Some(call.text.replace("f32", "f16"))));
//! compiler.passes.add_pass_with(&NARROW, narrow).expect("the name is free");
//! let shown = tc::testing::with(&compiler).after("narrow", "tir.func @f(A: f32[8]) {\n}\n");
//! assert_eq!(shown, "tir 1\n\ntir.func @f(A: f16[8]) {\n}\n");
//! ```

use std::ops::Range;
use std::sync::Arc;
use tc_ir::Module;
use tc_pass::{MakePass, ModulePass, PassCx, PassKind};
use tc_support::{Diagnostic, Diagnostics, Fault, Location, Pos, Span};
use tc_syntax::ParseOptions;

/// A call of the function of a text pass.
pub struct TextCall<'t> {
    /// The text of the module.
    pub text: &'t str,
    start: Pos,
    found: Diagnostics,
}

impl TextCall<'_> {
    /// The place of some bytes of the text; they are drawn into it where they are outside.
    pub fn span(&self, bytes: Range<usize>) -> Span {
        let end = bytes.end.min(self.text.len());
        // A text of the sources has less than 2 GiB.
        let at = |byte: usize| Pos(self.start.0 + byte as u32);
        Span::new(at(bytes.start.min(end)), at(end))
    }

    /// Reports a diagnostic. An error fails the pass.
    pub fn report(&mut self, found: Diagnostic) {
        self.found.push(found);
    }
}

/// What makes a pass of a function that is given the module as text. It gives the new text, nothing where it leaves the
/// module as it is, or says why it failed. `name` is that of the pass.
pub fn text_pass(
    name: &'static str,
    run: impl Fn(&mut TextCall<'_>) -> Result<Option<String>, String> + Send + Sync + 'static,
) -> MakePass {
    let run: Arc<TextFn> = Arc::new(run);
    Arc::new(move |options| {
        tc_pass::options::check_keys(options, &[])?;
        Ok(PassKind::Module(Box::new(TextPass { name, run: run.clone() })))
    })
}

type TextFn = dyn Fn(&mut TextCall<'_>) -> Result<Option<String>, String> + Send + Sync;

struct TextPass {
    name: &'static str,
    run: Arc<TextFn>,
}

impl ModulePass for TextPass {
    fn run(&self, module: &mut Module, cx: &mut PassCx) -> bool {
        let text = module.to_string();
        let Some((_, start)) = add(module, &format!("<before {}>", self.name), &text, cx) else { return false };
        let mut call = TextCall { text: &text, start, found: Diagnostics::new() };
        let given = (self.run)(&mut call);
        call.found.into_iter().for_each(|found| cx.report(found));
        match given {
            Ok(Some(new)) if new != text => self.take(module, &new, cx),
            Ok(_) => false,
            Err(why) => {
                let message = format!("`{}` failed: {why}", self.name);
                cx.report(theirs(Diagnostic::error("text-pass", Location::None, message)));
                false
            }
        }
    }
}

impl TextPass {
    /// Puts the items of `text` in the place of those that read otherwise.
    fn take(&self, module: &mut Module, text: &str, cx: &mut PassCx) -> bool {
        let name = format!("<after {}>", self.name);
        let Some((file, _)) = add(module, &name, text, cx) else { return false };
        let mut read = Module { sources: module.sources.clone(), ..Module::new(module.registry.clone()) };
        let mut found = tc_syntax::parse_file(&mut read, file, &ParseOptions::default());
        if !found.has_errors() {
            found.append(tc_ir::symbols::verify_module(&read));
        }
        if found.has_errors() {
            // What it gave is no program.
            found.into_iter().filter(Diagnostic::is_error).for_each(|one| cx.report(theirs(one)));
            return false;
        }
        let mut old: Vec<(String, tc_ir::Func)> =
            std::mem::take(&mut module.items).into_iter().map(|item| (item.to_string(), item)).collect();
        for item in read.items {
            let text = item.to_string();
            let same = old.iter().position(|(known, _)| *known == text);
            module.items.push(same.map_or(item, |at| old.remove(at).1));
        }
        true
    }
}

/// Makes `text` a file of the module: its number, and where it begins.
fn add(module: &mut Module, name: &str, text: &str, cx: &mut PassCx) -> Option<(tc_support::FileId, Pos)> {
    match module.sources.add(name, text) {
        Ok(file) => Some((file, module.sources.file(file).start())),
        Err(_) => {
            cx.report(Diagnostic::error("text-pass", Location::None, format!("the text of `{name}` is too large")));
            None
        }
    }
}

/// The diagnostic is the fault of whoever wrote the pass.
fn theirs(found: Diagnostic) -> Diagnostic {
    Diagnostic { fault: Fault::ForeignPass, ..found }
}
