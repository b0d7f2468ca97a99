//! One nest: what it takes from outside, its kernel, and the call in its place.

use indexmap::IndexSet;
use tc_dialects::{forms, tir, tma};
use tc_ir::clone::Importer;
use tc_ir::effects;
use tc_ir::func::{ParamDecl, SymbolDecl};
use tc_ir::paged::Paged;
use tc_ir::walk::{is_inside, ops_under};
use tc_ir::{Attr, AttrData, Attrs, Builder, Def, Func, Locs, Name, Op, Rewriter, TypeData, Value, keys};
use tc_support::Diagnostic;

/// What a nest takes from outside.
pub(super) struct Inputs {
    /// The parameters of the kernel.
    args: Vec<Value>,
    /// Ops that are computed again in the kernel, in order.
    again: Vec<Op>,
}

/// Collects what `nest` takes from outside; `positions` are those of ops in the text.
pub(super) fn inputs(func: &Func, nest: Op, positions: &Paged<Op, usize>) -> Result<Inputs, Diagnostic> {
    let mut outside: IndexSet<Value> = IndexSet::new();
    let mut again: IndexSet<Op> = IndexSet::new();
    let inner = func.op_regions(nest).iter().flat_map(|&region| ops_under(func, region));
    let mut worklist: Vec<Value> =
        std::iter::once(nest).chain(inner).flat_map(|op| func.operands(op).iter().copied()).collect();
    worklist.retain(|&value| !defined_in(func, value, nest));
    while let Some(value) = worklist.pop() {
        match func.def_op(value) {
            // A tensor map is made by the launcher, and the kernel declares it.
            Some(op) if is_cheap(func, op) || func.opcode(op) == tma::MAP => {
                if again.insert(op) {
                    worklist.extend_from_slice(func.operands(op));
                }
            }
            _ => drop(outside.insert(value)),
        }
    }
    let n_symbols = func.header.symbols.len();
    let mut args = Vec::new();
    for value in outside {
        let is_symbol = matches!(func.def(value), Def::Arg(region, idx) if region == func.body() && idx < n_symbols);
        if is_symbol {
            continue;
        }
        let fits = match func.type_data(func.value_type(value)) {
            TypeData::Scalar(scalar) => scalar.lanes == 1,
            TypeData::Shaped { .. } if !forms::is_global(func, value) => return Err(on_chip(func, nest, value)),
            TypeData::Shaped { .. } => true,
            _ => false,
        };
        if !fits {
            let ty = func.show_type(func.value_type(value));
            let text = format!("a kernel cannot be given `{}: {ty}`", func.value_text(value));
            let help = "make it inside the launch nest";
            return Err(Diagnostic::error("kernel-argument", func.op_location(nest), text).help(help));
        }
        args.push(value);
    }
    // Parameters in the order of the function's, then what it makes, in order. Numbers of values grow so.
    let is_param = |value: &Value| matches!(func.def(*value), Def::Arg(region, _) if region == func.body());
    args.sort_by_key(|value| (!is_param(value), value.as_u32()));
    let mut again: Vec<Op> = again.into_iter().collect();
    again.sort_unstable_by_key(|&op| positions.get(op));
    Ok(Inputs { args, again })
}

fn on_chip(func: &Func, nest: Op, value: Value) -> Diagnostic {
    let text = format!("`{}` lies on the chip and is made outside the kernel that uses it", func.value_text(value));
    let at = func.def_op(value).unwrap_or(nest);
    Diagnostic::error("kernel-argument", func.op_location(at), text)
        .label(func.op_location(nest), "this nest becomes the kernel")
        .help("run `hoist-alloc` before")
}

fn defined_in(func: &Func, value: Value, nest: Op) -> bool {
    match func.def(value) {
        Def::Result(op, _) => is_inside(func, op, nest),
        Def::Arg(region, _) => {
            func.region_parent(region).is_some_and(|parent| parent == nest || is_inside(func, parent, nest))
        }
    }
}

/// Arithmetic, which is not worth a parameter. The host has come by it, so a kernel that computes it again does not fail
/// where the program would not.
fn is_cheap(func: &Func, op: Op) -> bool {
    let number = func.result(op).is_some_and(|value| func.value_scalar(value).is_some());
    number && func.op_regions(op).is_empty() && effects::summary(func, op).is_pure()
}

/// The kernel of `nest`.
pub(super) fn kernel(host: &Func, nest: Op, inputs: &Inputs, symbol: &str) -> Func {
    let mut kernel = Func::new(host.registry().clone(), host.header.opcode, symbol);
    let mut importer = Importer::new(host);
    kernel.header.loc = importer.loc(&mut kernel, host.header.loc);
    let body = kernel.body();
    for (nth, decl) in host.header.symbols.iter().enumerate() {
        let value = host.region_args(host.body())[nth];
        let symbol = SymbolDecl {
            name: importer.name(&mut kernel, decl.name),
            range: decl.range.map(|(low, high)| (importer.attr(&mut kernel, low), importer.attr(&mut kernel, high))),
            default: decl.default.map(|default| importer.attr(&mut kernel, default)),
        };
        kernel.header.symbols.push(symbol);
        argument(&mut kernel, &mut importer, value);
    }
    kernel.header.facts = host.header.facts.iter().map(|&fact| importer.attr(&mut kernel, fact)).collect();
    for &value in &inputs.args {
        let param = param_attrs(host, value);
        let attrs = importer.dict(&mut kernel, param);
        kernel.header.params.push(ParamDecl { attrs, choices: None, default: None });
        argument(&mut kernel, &mut importer, value);
    }
    // What says what memory and threads are like holds of the kernel too.
    let kept = [keys::NOALIAS, keys::TARGET, keys::THREADED].into_iter();
    let found = kept.filter_map(|key| host.entry(host.header.attrs, key).map(|attr| (key, attr)));
    let mut entries: Vec<(Name, Attr)> = found.map(|(key, attr)| (key, importer.attr(&mut kernel, attr))).collect();
    entries.push((keys::DEVICE, kernel.attr(AttrData::Unit)));
    kernel.header.attrs = kernel.dict(&entries);
    let mut b = Builder::at_end(&mut kernel, body);
    for &op in inputs.again.iter().chain([&nest]) {
        let directive = host.op_locs(op).directive;
        b.locs = Locs { source: b.locs.source, directive: importer.loc(b.func, directive) };
        importer.op(&mut b, op);
    }
    kernel
}

/// What a parameter of the kernel says of its buffer: what the host's parameter or alloc said.
fn param_attrs(host: &Func, value: Value) -> Attrs {
    match host.def(value) {
        Def::Arg(region, idx) if region == host.body() => {
            idx.checked_sub(host.header.symbols.len()).map_or(Attrs::EMPTY, |nth| host.header.params[nth].attrs)
        }
        Def::Result(op, _) if host.opcode(op) == tir::ALLOC => host.op_attrs(op),
        _ => Attrs::EMPTY,
    }
}

fn argument(kernel: &mut Func, importer: &mut Importer<'_>, value: Value) {
    let ty = importer.ty(kernel, importer.src().value_type(value));
    let body = kernel.body();
    let new = kernel.push_arg(body, ty, None);
    let name = importer.src().value_name(value).map(|name| importer.name(kernel, name));
    kernel.set_value_name(new, name);
    importer.values.insert(value, new);
}

/// Puts the call of `symbol` in the place of `nest`.
pub(super) fn call(host: &mut Func, nest: Op, inputs: &Inputs, symbol: &str) {
    let callee = host.attr(AttrData::Symbol(symbol.into()));
    let mut rw = Rewriter::new(host);
    tir::Call::build(&mut rw.before(nest), &inputs.args, &[(keys::CALLEE, callee)], &[]);
    rw.erase(nest);
}
