//! What a call refers to: a program that takes what it is given.

use super::FUNC;
use tc_ir::attrs::AttrData;
use tc_ir::symbols::Symbols;
use tc_ir::{Func, Op, Type, TypeData, keys};
use tc_support::{Diagnostic, Diagnostics, counted, suggest};

/// A call names a program of the module, and gives each of its parameters a value of the parameter's type. Extents over
/// sizes may be written in many ways and are compared where both are integers.
pub(super) fn verify(symbols: &Symbols<'_>, func: &Func, op: Option<Op>, found: &mut Diagnostics) {
    let Some(op) = op else { return };
    let Some(AttrData::Symbol(name)) = func.attr_of(op, keys::CALLEE).map(|attr| func.attr_data(attr)) else { return };
    let shown = suggest::shorten(name);
    let error = |code, text: String| Diagnostic::error(code, func.op_location(op), text);
    let callee = match symbols.function(name) {
        Some(callee) if callee.header.opcode == FUNC => callee,
        Some(other) => {
            let text = format!("a call names a program, and `@{shown}` is a `{}`", other.item_row().name);
            let wrong = error("unknown-symbol", text).label(other.location(other.header.loc), "it is declared here");
            return found.push(wrong.help("call a `tir.func`"));
        }
        None => {
            let programs = symbols.functions().filter(|item| item.header.opcode == FUNC).map(Func::symbol);
            let mut wrong = error("unknown-symbol", format!("no program `@{shown}` is declared"));
            wrong.help = Symbols::near(name, programs.filter(|other| *other != func.symbol()));
            return found.push(wrong);
        }
    };
    let at = || callee.location(callee.header.loc);
    let (args, params) = (func.operands(op), callee.params());
    if args.len() != params.len() {
        let takes = parameters(callee);
        let n = args.len();
        let text = format!("`@{shown}` takes {}, not {n}", counted(params.len(), "argument"));
        return found.push(error("arguments", text).label(at(), "it is declared here").help(takes));
    }
    if func.n_results(op) != callee.header.results.len() {
        let text =
            format!("`@{shown}` has {}, not {}", counted(callee.header.results.len(), "result"), func.n_results(op));
        return found.push(error("arguments", text).label(at(), "it is declared here"));
    }
    for (&arg, &param) in args.iter().zip(params) {
        let (have, want) = (func.value_type(arg), callee.value_type(param));
        if !fits(func, have, callee, want) {
            let (have, want, name) = (func.show_type(have), callee.show_type(want), callee.value_text(param));
            let text = format!("the parameter `{name}` of `@{shown}` is `{want}`, not `{have}`");
            found.push(error("arguments", text).label(at(), "it is declared here"));
        }
    }
}

/// `` `@f` takes `A: f32[8]`, `n: index` ``
fn parameters(callee: &Func) -> String {
    let show = |&param: &_| format!("`{}: {}`", callee.value_text(param), callee.show_type(callee.value_type(param)));
    let all: Vec<String> = callee.params().iter().map(show).collect();
    let all = if all.is_empty() { "nothing".to_string() } else { all.join(", ") };
    format!("`@{}` takes {all}", suggest::shorten(callee.symbol()))
}

/// May a value of type `have`, of `func`, be given where `callee` wants `want`?
fn fits(func: &Func, have: Type, callee: &Func, want: Type) -> bool {
    let element = |func: &Func, ty: Type| func.show_type(ty);
    match (func.type_data(have), callee.type_data(want)) {
        // Nothing says what an op that no dialect declares gives.
        (TypeData::Opaque { .. }, _) => true,
        (
            TypeData::Shaped { elem: have, shape: extents, .. } | TypeData::Ref { elem: have, shape: extents, .. },
            TypeData::Shaped { elem: want, shape: wanted, .. },
        ) => {
            let differs =
                |(&a, &b): (&_, &_)| func.as_int(a).zip(callee.as_int(b)).is_some_and(|(have, want)| have != want);
            element(func, *have) == element(callee, *want)
                && extents.len() == wanted.len()
                && !extents.iter().zip(wanted.iter()).any(differs)
        }
        _ => element(func, have) == element(callee, want),
    }
}
