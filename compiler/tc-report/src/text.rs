//! The text of a module for someone who looks on: it is there even where the module is broken.

use std::panic::{AssertUnwindSafe, catch_unwind};
use tc_ir::Module;
use tc_ir::print::{PrintOptions, print_func};

/// Writes a module as text, in the form that the caller wants.
pub type Print<'p> = Box<dyn Fn(&Module) -> String + 'p>;

/// The text of `module`; where `print` panics at it, that of each item as far as it can be printed.
///
/// A pass that failed may leave what no printer was made for, and a look at it must not become a second failure.
pub fn text_of(print: &Print<'_>, module: &Module) -> String {
    catch_unwind(AssertUnwindSafe(|| print(module))).unwrap_or_else(|_| {
        let items = module.items.iter().map(|item| {
            let generic = PrintOptions { generic: true, ..PrintOptions::default() };
            let forms = [PrintOptions::default(), generic];
            let printed = forms.iter().find_map(|form| catch_unwind(AssertUnwindSafe(|| print_func(item, form))).ok());
            printed.unwrap_or_else(|| "// this item is broken, and cannot be printed\n".to_string())
        });
        items.collect::<Vec<_>>().join("\n")
    })
}
