//! The kernels of a text.

use super::header;
use super::scan;
use super::state::attribute;
use super::text::Text;
use crate::lower::complaints::{At, Complaints, One};
use crate::lower::registry;
use melior::ir::block::BlockLike;
use melior::ir::operation::OperationLike;
use melior::ir::{Module as MlirModule, OperationRef, RegionLike};
use tc_ir::{Func, Module};
use tc_support::{Diagnostic, Diagnostics, FileId, Location};
use tc_syntax::{ParseOptions, parse_module};

/// Errors of MLIR that are told; what follows is mostly of the same cause.
const MAX_ERRORS: usize = 3;

/// Reads the file `file` of `module`'s sources, and adds what it holds to the module.
pub(super) fn import(module: &mut Module, file: FileId) -> Diagnostics {
    let source = module.sources.file(file).clone();
    let text = Text::new(&source.text, source.start());
    if let Some(found) = scan::unreadable(&source.text, &text) {
        return found.into();
    }
    let context = registry::context();
    let complaints = Complaints::of(&context);
    let parsed = MlirModule::parse(&context, &source.text);
    let said = complaints.take();
    let mut found = Diagnostics::new();
    for one in said.iter().filter(|one| one.is_error).take(MAX_ERRORS) {
        found.push(refused(one, &text));
    }
    let Some(parsed) = parsed.filter(|_| !found.has_errors()) else {
        if !found.has_errors() {
            found.push(Diagnostic::error(
                "syntax",
                Location::None,
                "MLIR does not read this text, and does not say why",
            ));
        }
        return found;
    };
    let mut items = Items { module, text: &text, found, any: false, top: parsed.as_operation() };
    items.module(parsed.as_operation());
    if !items.any && !items.found.has_errors() {
        let message = "there is no kernel here: a `gpu.func` of a `gpu.module` becomes a program";
        let help = "outline kernels first: `mlir-opt --gpu-kernel-outlining`";
        items.found.push(Diagnostic::error("no-program", text.location(&super::text::At::Here(0)), message).help(help));
    }
    items.found
}

/// Reads the kernels of the `gpu.module` `op`, which is in `top`, into a module of their own. What is wrong has the places
/// that the ops have.
pub fn import_operation(
    top: OperationRef<'_, '_>,
    op: OperationRef<'_, '_>,
    registry: &std::sync::Arc<tc_ir::Registry>,
) -> (Module, Diagnostics) {
    let mut module = Module::new(registry.clone());
    let text = Text::elsewhere();
    let mut items = Items { module: &mut module, text: &text, found: Diagnostics::new(), any: false, top };
    items.kernels(op);
    let found = items.found;
    (module, found)
}

/// What MLIR says of the text, at its place.
fn refused(one: &One, text: &Text<'_>) -> Diagnostic {
    let location = match &one.at {
        At::Nowhere => Location::None,
        At::Named(location) => location.clone(),
        At::Line(line, col) => text.location(&super::text::At::Here(text.byte(*line, *col))),
    };
    let message = format!("MLIR refuses this text: {}", one.message.lines().next().unwrap_or("it does not say why"));
    let diagnostic = Diagnostic::error("syntax", location, message);
    let diagnostic = one.notes.iter().take(MAX_ERRORS).fold(diagnostic, |diagnostic, note| diagnostic.note(note));
    if one.message.contains("not found") || one.message.contains("unregistered") {
        let help = "lower other dialects first, to `arith`, `math`, `scf`, `memref`, `vector`, `gpu`, `nvvm`";
        return diagnostic.help(help);
    }
    diagnostic
}

struct Items<'m, 't, 'c, 'a> {
    module: &'m mut Module,
    text: &'t Text<'t>,
    found: Diagnostics,
    /// Was there a kernel?
    any: bool,
    top: OperationRef<'c, 'a>,
}

/// The name of an op.
pub(crate) fn name(op: OperationRef<'_, '_>) -> String {
    op.name().as_string_ref().as_str().unwrap_or("").to_string()
}

/// The ops of the first block of the first region of `op`.
pub(crate) fn ops<'c, 'a>(op: OperationRef<'c, 'a>) -> impl Iterator<Item = OperationRef<'c, 'a>> {
    let first = op.region(0).ok().and_then(|region| region.first_block()).and_then(|block| block.first_operation());
    std::iter::successors(first, |op| op.next_in_block())
}

impl<'c: 'a, 'a> Items<'_, '_, 'c, 'a> {
    fn module(&mut self, module: OperationRef<'c, 'a>) {
        for op in ops(module) {
            match name(op).as_str() {
                "builtin.module" => self.module(op),
                "gpu.module" => self.kernels(op),
                "func.func" => self.left_out(op),
                _ => {}
            }
        }
    }

    /// A function of the host, which launches kernels as it likes.
    fn left_out(&mut self, op: OperationRef<'_, '_>) {
        let name = symbol(op);
        let text = format!("`@{name}` is a function of the host, and is left out");
        let location = self.text.location(&self.text.at_op(op));
        let help = "only kernels become programs; the host launches them as before";
        self.found.push(Diagnostic::warning("host-code", location, text).help(help));
    }

    fn kernels(&mut self, module: OperationRef<'c, 'a>) {
        for text in texts(module, "tc.hosts") {
            if let Some(host) = self.parse(module, &text) {
                self.module.items.push(host);
            }
        }
        for op in ops(module) {
            match name(op).as_str() {
                "gpu.func" if op.has_attribute("gpu.kernel") => {
                    self.any = true;
                    let (func, found) = self.kernel(module, op);
                    self.found.append(found);
                    self.module.items.extend(func);
                }
                "gpu.func" | "func.func" | "llvm.func" => {
                    let text = format!("`@{}` is a function that kernels call", symbol(op));
                    let help = "put its body in the place of its calls first: `mlir-opt --inline`";
                    self.refuse(op, text, help);
                }
                // Dynamic shared memory is found where it is used.
                "gpu.module_end" | "memref.global" => {}
                other => self.refuse(op, format!("`{other}` in a `gpu.module` has no counterpart"), HELP),
            }
        }
    }

    fn refuse(&mut self, op: OperationRef<'_, '_>, text: String, help: &str) {
        let location = self.text.location(&self.text.at_op(op));
        self.found.push(Diagnostic::error("no-counterpart", location, text).help(help));
    }

    fn kernel(&mut self, module: OperationRef<'c, 'a>, op: OperationRef<'c, 'a>) -> (Option<Func>, Diagnostics) {
        let skeleton = match attribute(op, "tc.kernel") {
            Some(_) => {
                let texts = texts(op, "tc.kernel");
                let [text] = &texts[..] else {
                    self.refuse(op, "`tc.kernel` is one string".to_string(), "leave the attribute out");
                    return (None, Diagnostics::new());
                };
                match self.parse(op, text) {
                    Some(skeleton) => Some(skeleton),
                    None => return (None, Diagnostics::new()),
                }
            }
            None => None,
        };
        let launched = super::launch::launched(self.top, &symbol(module), &symbol(op));
        header::read(self.text, &self.module.registry, op, skeleton, launched)
    }

    /// The function that an attribute of ours holds.
    fn parse(&mut self, op: OperationRef<'_, '_>, text: &str) -> Option<Func> {
        let (mut module, found) = parse_module("attribute", text, &self.module.registry, &ParseOptions::default());
        let at = self.text.at_op(op);
        match module.items.pop() {
            Some(mut func) if !found.has_errors() && module.items.is_empty() => {
                // Places in the attribute are places in no file.
                let loc = self.text.loc(&at, &mut func);
                func.header.loc = loc;
                let all: Vec<tc_ir::Op> = tc_ir::walk::all_ops(&func).collect();
                all.into_iter().for_each(|op| func.set_source_loc(op, loc));
                Some(func)
            }
            _ => {
                let why = found.iter().next().map_or(String::new(), |first| format!(": {}", first.message));
                let location = self.text.location(&at);
                let text = format!("an attribute `tc.…` holds no function of tc{why}");
                let help = "leave the attributes out; the kernel is then read as one of somebody else's";
                self.found.push(Diagnostic::error("attribute", location, text).help(help));
                None
            }
        }
    }
}

/// The help where something of a whole kernel is missing.
const HELP: &str = "docs/mlir.md, \"Programs from MLIR\", lists what is read";

/// The symbol of `op`.
pub(crate) fn symbol(op: OperationRef<'_, '_>) -> String {
    let text = op.attribute("sym_name").ok().and_then(|name| {
        melior::ir::attribute::StringAttribute::try_from(name).ok().map(|name| name.value().to_string())
    });
    text.unwrap_or_default()
}

/// The strings of the attribute `name` of `op`: one, or a list.
pub(crate) fn texts(op: OperationRef<'_, '_>, name: &str) -> Vec<String> {
    use melior::ir::attribute::{ArrayAttribute, StringAttribute};
    let Ok(attribute) = op.attribute(name) else { return Vec::new() };
    if let Ok(list) = ArrayAttribute::try_from(attribute) {
        let strings = (0..list.len()).filter_map(|nth| StringAttribute::try_from(list.element(nth).ok()?).ok());
        return strings.map(|text| text.value().to_string()).collect();
    }
    StringAttribute::try_from(attribute).map(|text| text.value().to_string()).into_iter().collect()
}
