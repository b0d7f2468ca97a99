//! Types, attributes, literals and locations as text.

use super::words::{as_path, is_key, is_path, push_u64};
use crate::attrs::{AttrData, BinOp};
use crate::entity::{Attr, Attrs, Loc, Name, Type};
use crate::func::Func;
use crate::types::{Elem, Scalar, TypeData, TypeParam};
use std::fmt::Write;
use tc_support::{Pos, Sources};

impl Func {
    /// `ty` as text, without the scope of a buffer.
    pub fn show_type(&self, ty: Type) -> String {
        let mut out = String::new();
        write_type(&mut out, self, ty);
        out
    }

    /// `attr` as text.
    pub fn show_attr(&self, attr: Attr) -> String {
        let mut out = String::new();
        write_attr(&mut out, self, attr);
        out
    }
}

/// Writes `ty` without the scope of a buffer.
pub fn write_type(out: &mut String, func: &Func, ty: Type) {
    match func.type_data(ty) {
        TypeData::Scalar(scalar) => write_scalar(out, *scalar),
        TypeData::Shaped { elem, shape, .. } => {
            write_type(out, func, *elem);
            write_list(out, func, '[', shape, ']');
        }
        TypeData::Ref { elem, shape, .. } => {
            out.push_str("ref<");
            write_type(out, func, *elem);
            if !shape.is_empty() {
                write_list(out, func, '[', shape, ']');
            }
            out.push('>');
        }
        TypeData::Opaque { path, params } => {
            write_path(out, func.text(*path));
            if !params.is_empty() {
                out.push('<');
                for (nth, param) in params.iter().enumerate() {
                    if nth > 0 {
                        out.push_str(", ");
                    }
                    match param {
                        TypeParam::Type(ty) => write_type(out, func, *ty),
                        TypeParam::Int(value) => write_int(out, i128::from(*value), None),
                        TypeParam::Str(text) => write_str(out, text),
                    }
                }
                out.push('>');
            }
        }
    }
}

/// Writes a type in the header of an item: one of the item's own dialect by its short name, `stage` in a schedule.
pub(super) fn write_own_type(out: &mut String, func: &Func, ty: Type) {
    let short = || {
        let TypeData::Opaque { path, params } = func.type_data(ty) else { return None };
        let path = func.text(*path);
        let own = func.registry().dialect(func.header.opcode)?;
        let is_own = params.is_empty() && own.types.contains(&path);
        path.strip_prefix(own.name)?.strip_prefix('.').filter(|_| is_own)
    };
    match short() {
        Some(name) => out.push_str(name),
        None => write_type(out, func, ty),
    }
}

fn write_scalar(out: &mut String, scalar: Scalar) {
    out.push_str(scalar.elem.name());
    if scalar.lanes != 1 {
        out.push('x');
        push_u64(out, u64::from(scalar.lanes));
    }
}

fn write_path(out: &mut String, text: &str) {
    if is_path(text) { out.push_str(text) } else { out.push_str(&as_path(text)) }
}

/// The scope of a buffer type, if it has one.
pub fn scope_of(func: &Func, ty: Type) -> Option<Name> {
    match func.type_data(ty) {
        TypeData::Shaped { scope, .. } | TypeData::Ref { scope, .. } => *scope,
        _ => None,
    }
}

fn write_list(out: &mut String, func: &Func, open: char, list: &[Attr], close: char) {
    out.push(open);
    for (nth, &attr) in list.iter().enumerate() {
        if nth > 0 {
            out.push_str(", ");
        }
        write_attr(out, func, attr);
    }
    out.push(close);
}

/// Writes `attr`.
pub fn write_attr(out: &mut String, func: &Func, attr: Attr) {
    write_prec(out, func, attr, 0);
}

/// Writes `{a = 1, b}`.
pub fn write_dict(out: &mut String, func: &Func, attrs: Attrs) {
    write_entries(out, func, func.entries(attrs).iter().copied());
}

/// Writes `{a = 1, b}` for some entries.
pub fn write_entries(out: &mut String, func: &Func, entries: impl Iterator<Item = (Name, Attr)>) {
    out.push('{');
    for (nth, (key, value)) in entries.enumerate() {
        if nth > 0 {
            out.push_str(", ");
        }
        let text = func.text(key);
        if is_key(text) {
            out.push_str(text)
        } else {
            out.push_str(&as_path(text))
        }
        if *func.attr_data(value) != AttrData::Unit {
            out.push_str(" = ");
            write_attr(out, func, value);
        }
    }
    out.push('}');
}

/// How tightly the operand of a prefix operator binds.
pub(super) const PREFIX: u8 = 10;

/// Writes `attr`; operators that bind more loosely than `outer` are put in parentheses.
pub(super) fn write_prec(out: &mut String, func: &Func, attr: Attr, outer: u8) {
    match func.attr_data(attr) {
        AttrData::Unit => out.push_str("true"),
        AttrData::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
        AttrData::Int(value, elem) => write_int(out, *value, *elem),
        AttrData::Float(bits, elem) => write_float(out, f64::from_bits(*bits), elem.unwrap_or(Elem::F64), *elem),
        AttrData::Str(text) => write_str(out, text),
        AttrData::Symbol(name) => write_symbol(out, name),
        // Among values the grammar has no types of dialects.
        AttrData::Type(ty) if matches!(func.type_data(*ty), TypeData::Opaque { params, .. } if !params.is_empty()) => {
            write_str(out, &func.show_type(*ty));
        }
        AttrData::Type(ty) => write_type(out, func, *ty),
        // A word that would be read as something else, or as nothing, is no word but a string.
        AttrData::Word(name) if is_path(func.text(*name)) => out.push_str(func.text(*name)),
        AttrData::Word(name) => write_str(out, func.text(*name)),
        AttrData::List(list) => write_list(out, func, '[', list, ']'),
        AttrData::Dict(attrs) => write_dict(out, func, *attrs),
        AttrData::Unary(op, arg) => {
            out.push_str(op.text());
            write_prec(out, func, *arg, PREFIX);
        }
        AttrData::Binary(..) => write_chain(out, func, attr, outer),
        AttrData::Call(name, args) => {
            write_path(out, func.text(*name));
            write_list(out, func, '(', args, ')');
        }
    }
}

/// Writes operators that lean to the left, however many there are.
fn write_chain(out: &mut String, func: &Func, attr: Attr, outer: u8) {
    let (mut at, mut need) = (attr, outer);
    let mut links: Vec<(BinOp, Attr, bool)> = Vec::new();
    while let AttrData::Binary(op, lhs, rhs) = func.attr_data(at) {
        let parens = op.precedence() < need;
        if parens {
            out.push('(');
        }
        links.push((*op, *rhs, parens));
        // Comparisons do not chain; everything else associates to the left.
        need = op.precedence() + u8::from(op.is_comparison());
        at = *lhs;
    }
    write_prec(out, func, at, need);
    for (op, rhs, parens) in links.into_iter().rev() {
        out.push(' ');
        out.push_str(op.text());
        out.push(' ');
        write_prec(out, func, rhs, op.precedence() + 1);
        if parens {
            out.push(')');
        }
    }
}

/// Writes an integer literal, with its type where `elem` asks for it.
pub fn write_int(out: &mut String, value: i128, elem: Option<Elem>) {
    match u64::try_from(value.unsigned_abs()) {
        Ok(digits) => {
            if value < 0 {
                out.push('-');
            }
            push_u64(out, digits);
        }
        Err(_) => {
            let _ = write!(out, "{value}");
        }
    }
    if let Some(elem) = elem {
        out.push_str(elem.name());
    }
}

/// Writes the shortest literal that reads back as `value`, a number of type `elem`; its type follows if
/// `suffix` asks for it.
pub fn write_float(out: &mut String, value: f64, elem: Elem, suffix: Option<Elem>) {
    // Narrower types are read by way of f64 and rounded once, so f32's shortest digits do for all of them.
    let single = value as f32;
    if value.is_nan() {
        out.push_str("nan");
    } else if value.is_infinite() || elem != Elem::F64 && single.is_infinite() {
        out.push_str(if value > 0.0 { "inf" } else { "-inf" });
    } else if value.abs() < 1e7 && value.fract() == 0.0 {
        // Most floats of a program are small and whole.
        if value.is_sign_negative() {
            out.push('-');
        }
        push_u64(out, value.abs() as u64);
        out.push_str(".0");
    } else if elem == Elem::F64 {
        let _ = write!(out, "{value:?}");
    } else {
        let _ = write!(out, "{single:?}");
    }
    if let Some(elem) = suffix {
        out.push_str(elem.name());
    }
}

/// Writes a quoted string.
pub fn write_str(out: &mut String, text: &str) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            c if c.is_control() => {
                let _ = write!(out, "\\u{{{:x}}}", c as u32);
            }
            c => out.push(c),
        }
    }
    out.push('"');
}

/// Writes `@name`, quoted where it is no identifier.
pub fn write_symbol(out: &mut String, name: &str) {
    out.push('@');
    let mut chars = name.chars();
    let plain = chars.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
        && chars.all(|c| c.is_ascii_alphanumeric() || c == '_');
    if plain { out.push_str(name) } else { write_str(out, name) }
}

/// Writes ` #12:5`, or ` #"f.tir":12:5` where the file is not the first of `sources`; nothing where `loc` is none.
pub(super) fn write_loc(out: &mut String, func: &Func, sources: &Sources, loc: Loc) {
    let Some((file, at)) = func.file_line_col(loc, sources) else { return };
    // Position 1 is the first byte of the first file.
    let own = sources.file_of(Pos(1)).map(|file| file.name.as_str());
    out.push_str(" #");
    if let Some(file) = file.as_deref()
        && own != Some(file)
    {
        write_str(out, file);
        out.push(':');
    }
    push_u64(out, u64::from(at.line));
    out.push(':');
    push_u64(out, u64::from(at.col));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn float(value: f64, elem: Elem) -> String {
        let mut out = String::new();
        write_float(&mut out, value, elem, None);
        out
    }

    #[test]
    fn floats_are_the_shortest_that_read_back() {
        let values = [0.0, -0.0, 1.0, -7.0, 9_999_999.0, 1e7, 12_345_678.0, 0.1, 1e-30, 3.0e38, 5e-324, f64::MAX];
        for value in values {
            assert_eq!(float(value, Elem::F64), format!("{value:?}"));
            assert_eq!(float(value, Elem::F64).parse(), Ok(value));
            let single = value as f32;
            if single.is_finite() {
                assert_eq!(float(single.into(), Elem::F32), format!("{single:?}"));
            }
        }
        assert_eq!(float(0.1f32.into(), Elem::F32), "0.1");
        assert_eq!(float(1e300, Elem::F32), "inf");
        assert_eq!(float(f64::NEG_INFINITY, Elem::F64), "-inf");
        assert_eq!(float(f64::NAN, Elem::F16), "nan");
    }

    #[test]
    fn symbols_that_are_no_names_are_quoted() {
        for (name, text) in
            [("f", "@f"), ("for", "@for"), ("f$1", "@\"f$1\""), ("", "@\"\""), ("a\"b\u{1}", "@\"a\\\"b\\u{1}\"")]
        {
            let mut out = String::new();
            write_symbol(&mut out, name);
            assert_eq!(out, text);
        }
    }
}
