//! Values as text, for messages: the reader sees the expression, whatever names and order the ops have.

use tc_dialects::{arith, te, tir};
use tc_ir::opdef::Role;
use tc_ir::{Func, Op, Value, keys};

/// Deeper than this, and beyond this many letters, a message tells no more.
const MAX_DEPTH: u32 = 12;
const MAX_LETTERS: usize = 160;

/// `value` as text.
pub(super) fn value(func: &Func, value: Value) -> String {
    let mut out = String::new();
    write(func, value, 0, 0, &mut out);
    if out.len() > MAX_LETTERS {
        let end = (0..=MAX_LETTERS).rev().find(|&at| out.is_char_boundary(at)).unwrap_or(0);
        out.truncate(end);
        out.push('…');
    }
    out
}

/// `buffer[indices]` as text.
pub(super) fn place(func: &Func, buffer: Value, indices: &[Value]) -> String {
    let mut out = func.value_text(buffer).to_string();
    list(func, '[', indices, ']', 0, &mut out);
    out
}

fn list(func: &Func, open: char, values: &[Value], close: char, depth: u32, out: &mut String) {
    out.push(open);
    for (nth, &value) in values.iter().enumerate() {
        if nth > 0 {
            out.push_str(", ");
        }
        write(func, value, 0, depth + 1, out);
    }
    out.push(close);
}

fn write(func: &Func, value: Value, outer: u8, depth: u32, out: &mut String) {
    let name = func.value_text(value);
    let Some(op) = func.def_op(value).filter(|_| depth < MAX_DEPTH && out.len() <= MAX_LETTERS) else {
        return out.push_str(if name.is_empty() { "…" } else { name });
    };
    let operands = func.operands(op);
    match func.role(op) {
        Role::Constant => {
            out.push_str(&func.attr_of(op, keys::VALUE).map_or_else(String::new, |attr| func.show_attr(attr)));
        }
        Role::Load if !operands.is_empty() => {
            out.push_str(func.value_text(operands[0]));
            list(func, '[', &operands[1..], ']', depth, out);
        }
        Role::Binary(binary) => infix(func, operands, binary.text(), binary.precedence(), (outer, depth), out),
        Role::Compare => {
            let sign = arith::Predicate::of(func, op).map_or("==", |predicate| match predicate {
                arith::Predicate::Eq => "==",
                arith::Predicate::Ne => "!=",
                arith::Predicate::Lt => "<",
                arith::Predicate::Le => "<=",
                arith::Predicate::Gt => ">",
                arith::Predicate::Ge => ">=",
            });
            infix(func, operands, sign, 3, (outer, depth), out);
        }
        Role::Cast => {
            out.push_str(&format!("cast<{}>", func.show_type(func.value_type(value))));
            list(func, '(', operands, ')', depth, out);
        }
        Role::If => {
            out.push_str("if_then_else");
            let mut parts = operands.to_vec();
            parts.extend(func.op_regions(op).iter().filter_map(|&region| func.yielded(region).first()));
            list(func, '(', &parts, ')', depth, out);
        }
        _ if func.opcode(op) == te::REDUCE => {
            out.push_str(func.word_of(op, keys::COMBINER).unwrap_or("reduce"));
            let args = func.op_regions(op).first().map_or(&[][..], |&region| func.yielded(region));
            list(func, '(', args, ')', depth, out);
        }
        _ if matches!(func.opcode(op), tir::ALLOC) => out.push_str(name),
        _ => {
            out.push_str(func.row(op).short.unwrap_or_else(|| func.op_name(op)));
            list(func, '(', operands, ')', depth, out);
        }
    }
}

fn infix(func: &Func, operands: &[Value], sign: &str, level: u8, at: (u8, u32), out: &mut String) {
    let &[lhs, rhs] = operands else { return out.push('…') };
    let (outer, depth) = at;
    let wraps = level < outer;
    if wraps {
        out.push('(');
    }
    write(func, lhs, level, depth + 1, out);
    out.push_str(&format!(" {sign} "));
    write(func, rhs, level + 1, depth + 1, out);
    if wraps {
        out.push(')');
    }
}

/// The text of what `op`, a store, puts where.
pub(super) fn store(func: &Func, op: Op) -> String {
    match func.operands(op) {
        [buffer, indices @ .., stored] => format!("{} = {}", place(func, *buffer, indices), value(func, *stored)),
        _ => func.op_name(op).to_string(),
    }
}
