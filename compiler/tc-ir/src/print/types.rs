//! Types and attributes as text.

use crate::attrs::{AttrData, BinOp, UnOp};
use crate::entity::{Attr, Attrs, Name, Type};
use crate::func::Func;
use crate::types::{Elem, TypeData, TypeParam};
use std::fmt::Write;

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
        TypeData::Scalar(scalar) => {
            let _ = write!(out, "{scalar}");
        }
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
            out.push_str(func.text(*path));
            if !params.is_empty() {
                out.push('<');
                for (nth, param) in params.iter().enumerate() {
                    if nth > 0 {
                        out.push_str(", ");
                    }
                    match param {
                        TypeParam::Type(ty) => write_type(out, func, *ty),
                        TypeParam::Int(value) => {
                            let _ = write!(out, "{value}");
                        }
                        TypeParam::Str(text) => write_str(out, text),
                    }
                }
                out.push('>');
            }
        }
    }
}

/// Writes the scope of a buffer type, if it has one.
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
        out.push_str(func.text(key));
        if *func.attr_data(value) != AttrData::Unit {
            out.push_str(" = ");
            write_attr(out, func, value);
        }
    }
    out.push('}');
}

/// Precedence of prefix operators: tighter than every infix one.
const UNARY: u8 = 10;

fn write_prec(out: &mut String, func: &Func, attr: Attr, outer: u8) {
    match func.attr_data(attr) {
        AttrData::Unit => {}
        AttrData::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
        AttrData::Int(value, elem) => write_int(out, *value, *elem),
        AttrData::Float(bits, elem) => write_float(out, f64::from_bits(*bits), elem.unwrap_or(Elem::F64), *elem),
        AttrData::Str(text) => write_str(out, text),
        AttrData::Symbol(name) => write_symbol(out, name),
        AttrData::Type(ty) => write_type(out, func, *ty),
        AttrData::Word(name) => out.push_str(func.text(*name)),
        AttrData::List(list) => write_list(out, func, '[', list, ']'),
        AttrData::Dict(attrs) => write_dict(out, func, *attrs),
        AttrData::Unary(op, arg) => {
            if outer > UNARY {
                out.push('(');
            }
            out.push_str(match op {
                UnOp::Neg => "-",
                UnOp::Not => "!",
            });
            write_prec(out, func, *arg, UNARY);
            if outer > UNARY {
                out.push(')');
            }
        }
        AttrData::Binary(op, lhs, rhs) => {
            let own = op.precedence();
            if own < outer {
                out.push('(');
            }
            // Comparisons do not chain; everything else associates to the left.
            write_prec(out, func, *lhs, if op.is_comparison() { own + 1 } else { own });
            let _ = write!(out, " {} ", BinOp::text(*op));
            write_prec(out, func, *rhs, own + 1);
            if own < outer {
                out.push(')');
            }
        }
        AttrData::Call(name, args) => {
            out.push_str(func.text(*name));
            write_list(out, func, '(', args, ')');
        }
    }
}

/// Writes an integer literal, with its type where `elem` asks for it.
pub fn write_int(out: &mut String, value: i128, elem: Option<Elem>) {
    let _ = write!(out, "{value}");
    if let Some(elem) = elem {
        out.push_str(elem.name());
    }
}

/// Writes the shortest literal that reads back as `value`, a number of type `elem`; its type follows if
/// `suffix` asks for it.
pub fn write_float(out: &mut String, value: f64, elem: Elem, suffix: Option<Elem>) {
    let start = out.len();
    if value.is_nan() {
        out.push_str("nan");
    } else if value.is_infinite() {
        out.push_str(if value > 0.0 { "inf" } else { "-inf" });
    } else if elem == Elem::F64 {
        let _ = write!(out, "{value:?}");
    } else {
        // Narrower types are read by way of f64 and rounded once, so f32's shortest digits do for all of them.
        let _ = write!(out, "{:?}", value as f32);
    }
    // Rust writes 1e20 for what the grammar wants with digits on both sides of a point or an exponent: both do.
    debug_assert!(out.len() > start);
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
