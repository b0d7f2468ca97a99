//! The one shape of all ops: `a, b = dialect.op(operands, key = value) : type, type (param: type) { … }`.

use super::Body;
use super::style::Style;
use super::types::{scope_of, write_attr, write_str, write_type};
use super::words::{as_path, is_key, is_path};
use crate::attrs::AttrData;
use crate::entity::{Attr, Name, Op, Region, Type, Value};
use crate::func::Func;
use crate::names::keys;
use crate::opdef::{Context, Infer, Opcode, Param, ParamKind, Results, Role};
use crate::types::TypeData;

/// Where the operands of a parameter stand among those of the op.
type Given = (usize, usize);

impl Body<'_> {
    /// Writes `op` up to its regions.
    pub(super) fn generic_head(&mut self, op: Op) {
        let func = self.func;
        let style = self.style(op);
        self.results(op);
        if func.opcode(op) == Opcode::UNKNOWN {
            self.path(func.op_name(op));
        } else {
            self.out.push_str(if self.options.generic { style.row.name } else { style.call });
        }
        self.arguments(op, style, None);
        self.result_types(op, style);
    }

    /// Writes `text` as a path.
    pub(super) fn path(&mut self, text: &str) {
        if is_path(text) { self.out.push_str(text) } else { self.out.push_str(&as_path(text)) }
    }

    /// Writes the names of the results of `op`, and `=`.
    pub(super) fn results(&mut self, op: Op) {
        let func = self.func;
        if func.n_results(op) == 0 {
            return;
        }
        for (nth, result) in func.results(op).enumerate() {
            if nth > 0 {
                self.out.push_str(", ");
            }
            if self.is_discarded(result) {
                self.out.push('_');
            } else {
                self.names.give(func, result);
                self.name(result);
            }
        }
        self.out.push_str(" = ");
    }

    /// Schedules discard what they do not use.
    fn is_discarded(&self, result: Value) -> bool {
        let func = self.func;
        self.context() == Context::Sched
            && func.n_uses(result) == 0
            && func.value_name(result).is_none()
            && !self.names.shares(result)
    }

    /// Writes the types of the results of `op`, where the parser cannot tell them.
    pub(super) fn result_types(&mut self, op: Op, style: &Style) {
        let func = self.func;
        let inferred = !matches!(style.row.infer, Infer::Written) || style.row.results == Results::Count(0);
        if func.n_results(op) == 0 || !self.options.generic && (inferred || self.is_untyped(op, style)) {
            return;
        }
        for (nth, result) in func.results(op).enumerate() {
            self.out.push_str(if nth > 0 { ", " } else { " : " });
            let ty = func.value_type(result);
            write_type(&mut self.out, func, ty);
            self.scope(ty);
        }
    }

    /// Was it never said what the results of this call, or of this unknown op, are?
    fn is_untyped(&self, op: Op, style: &Style) -> bool {
        let func = self.func;
        (style.role == Role::Call || func.opcode(op) == Opcode::UNKNOWN)
            && func.results(op).all(|result| match func.type_data(func.value_type(result)) {
                TypeData::Opaque { path, params } => params.is_empty() && func.text(*path) == "unknown",
                _ => false,
            })
    }

    /// Writes the scope of a buffer of type `ty`.
    pub(super) fn scope(&mut self, ty: Type) {
        if let Some(scope) = scope_of(self.func, ty) {
            self.out.push_str(" in ");
            self.path(self.func.text(scope));
        }
    }

    /// Writes `(a: index, b: f32) ` for the arguments of `region`, if it has any.
    pub(super) fn region_args(&mut self, region: Region) {
        let func = self.func;
        let args = func.region_args(region);
        if args.is_empty() {
            return;
        }
        self.out.push('(');
        for (nth, &arg) in args.iter().enumerate() {
            if nth > 0 {
                self.out.push_str(", ");
            }
            self.names.give(func, arg);
            self.name(arg);
            let ty = func.value_type(arg);
            // The maps of schedules are over indices, which need not be said.
            if !self.options.generic && self.context() == Context::Sched && ty == func.index_ty() {
                continue;
            }
            self.out.push_str(": ");
            write_type(&mut self.out, func, ty);
            self.scope(ty);
        }
        self.out.push_str(") ");
    }

    /// Writes the arguments of `op` in parentheses.
    pub(super) fn arguments(&mut self, op: Op, style: &Style, expected: Option<Type>) {
        let func = self.func;
        let group = if self.options.generic { None } else { self.group_type(op, style, expected) };
        let attrs = func.entries(func.op_attrs(op));
        self.out.push('(');
        let mut list = Commas::default();
        if func.opcode(op) == Opcode::UNKNOWN {
            self.loose_arguments(op, keys::OP_NAME, &mut list);
            return self.out.push(')');
        }
        if style.is_simple {
            let mut params = style.row.params.iter().map(|param| param.kind);
            for (nth, &value) in func.operands(op).iter().enumerate() {
                // Behind a parameter that takes any number of values only their types tell places from others.
                let kind = params.next().unwrap_or(ParamKind::Value);
                list.next(&mut self.out);
                self.operand(style, kind, nth, value, group);
            }
            if !attrs.is_empty() && self.declared_attrs(attrs, style, &mut list) < attrs.len() {
                self.undeclared(attrs, style, &mut list);
            }
        } else {
            self.declared(op, style, group, &mut list);
            self.undeclared(attrs, style, &mut list);
        }
        self.out.push(')');
    }

    /// Those of `attrs` that a row declares whose operands come first; returns how many. They are few, so that a look at each
    /// costs less than to find the name.
    fn declared_attrs(&mut self, attrs: &[(Name, Attr)], style: &Style, list: &mut Commas) -> usize {
        let func = self.func;
        let mut by_position = !self.options.generic || style.has_values;
        let mut n_written = 0;
        for param in style.row.params.iter().filter(|param| !param.kind.is_operand()) {
            let Some(&(_, attr)) = attrs.iter().find(|(key, _)| func.text(*key) == param.name) else {
                by_position &= param.keyed;
                continue;
            };
            n_written += 1;
            list.next(&mut self.out);
            if param.keyed || !by_position {
                self.out.push_str(param.name);
                self.out.push_str(" = ");
            }
            self.attr_argument(param.kind, attr);
        }
        n_written
    }

    /// The arguments that the row declares: by position first, then by key.
    fn declared(&mut self, op: Op, style: &Style, group: Option<Type>, list: &mut Commas) {
        let func = self.func;
        let params = style.row.params;
        let mut given = std::mem::take(&mut self.given);
        given.clear();
        given.resize(params.len(), (0, 0));
        func.for_each_param(op, style.row, |idx, at, n| given[idx] = (at, n));
        let n_by_position = self.by_position(op, params, &given);
        let mut nth = 0;
        for (idx, param) in params.iter().enumerate().take(n_by_position).filter(|(_, param)| !param.keyed) {
            let (at, n) = given[idx];
            if !param.kind.is_operand() {
                if let Some(attr) = func.attr_named(op, param.name).filter(|_| self.is_positional(params, idx, &given))
                {
                    list.next(&mut self.out);
                    self.attr_argument(param.kind, attr);
                }
            } else if param.kind == ParamKind::List {
                if func.param_given(op, idx) {
                    list.next(&mut self.out);
                    self.operand_list(&func.operands(op)[at..at + n]);
                }
            } else {
                for &value in func.operands(op).get(at..at + n).unwrap_or(&[]) {
                    list.next(&mut self.out);
                    self.operand(style, param.kind, nth, value, group);
                    nth += 1;
                }
            }
        }
        for (idx, param) in params.iter().enumerate() {
            let by_position = !param.keyed
                && (param.kind.is_operand() || idx < n_by_position && self.is_positional(params, idx, &given));
            if !by_position {
                self.keyed(op, param, idx, given[idx], list);
            }
        }
        self.given = given;
    }

    /// How many parameters, from the first on, can be given by position: up to one that is left out.
    fn by_position(&self, op: Op, params: &[Param], given: &[Given]) -> usize {
        let left_out = |(idx, param): (usize, &Param)| {
            !param.keyed
                && match param.kind {
                    ParamKind::Values => false,
                    ParamKind::List => !self.func.param_given(op, idx),
                    kind if kind.is_operand() => given[idx].1 == 0,
                    _ => self.func.attr_named(op, param.name).is_none(),
                }
        };
        params.iter().enumerate().position(left_out).unwrap_or(params.len())
    }

    /// Does the attribute parameter `idx` print by position? In the generic form attributes go by their keys, where
    /// the parser would not take the operands that follow, or those before, for the attribute.
    fn is_positional(&self, params: &[Param], idx: usize, given: &[Given]) -> bool {
        if !self.options.generic {
            return true;
        }
        let among_values = params[..idx].iter().any(|param| !param.keyed && param.kind == ParamKind::Values);
        let more = params.iter().zip(given).skip(idx + 1);
        among_values || more.filter(|(param, _)| !param.keyed && param.kind.is_operand()).any(|(_, &(_, n))| n > 0)
    }

    fn keyed(&mut self, op: Op, param: &Param, idx: usize, (at, n): Given, list: &mut Commas) {
        let func = self.func;
        if param.kind.is_operand() {
            if !func.param_given(op, idx) {
                return;
            }
            list.next(&mut self.out);
            self.out.push_str(param.name);
            self.out.push_str(" = ");
            match func.operands(op).get(at..at + n) {
                Some(&[value]) if !param.kind.is_variadic() => self.free_operand(value),
                values => self.operand_list(values.unwrap_or(&[])),
            }
        } else if let Some(attr) = func.attr_named(op, param.name) {
            list.next(&mut self.out);
            self.out.push_str(param.name);
            self.out.push_str(" = ");
            self.attr_argument(param.kind, attr);
        }
    }

    fn operand_list(&mut self, values: &[Value]) {
        self.out.push('[');
        let mut list = Commas::default();
        for &value in values {
            list.next(&mut self.out);
            self.free_operand(value);
        }
        self.out.push(']');
    }

    /// An operand of which nothing is expected.
    fn free_operand(&mut self, value: Value) {
        if self.options.generic { self.name(value) } else { self.expr(value, 0, None) }
    }

    /// The arguments of an op of which no row says what stands where, but for the attribute `name`. The parser keeps
    /// what can only be an attribute, but came by position, under a key that says where it stood.
    pub(super) fn loose_arguments(&mut self, op: Op, name: Name, list: &mut Commas) {
        let func = self.func;
        let mut keyed: Vec<(Name, Attr)> =
            func.entries(func.op_attrs(op)).iter().copied().filter(|(key, _)| *key != name).collect();
        let named = if self.context() == Context::Sched { named_operands(func, op) } else { Vec::new() };
        let (positional, by_name) = func.operands(op).split_at(func.operands(op).len() - named.len());
        keyed.retain(|(key, _)| named.is_empty() || *key != keys::NAMED);
        let mut operands = positional.iter();
        for nth in 0.. {
            let placed = keyed.iter().position(|&(key, attr)| {
                let at = func.text(key).strip_prefix("arg.p").and_then(|at| at.parse::<usize>().ok());
                at == Some(nth)
                    && matches!(func.attr_data(attr), AttrData::List(_) | AttrData::Str(_) | AttrData::Symbol(_))
            });
            if let Some(idx) = placed {
                let (_, attr) = keyed.remove(idx);
                list.next(&mut self.out);
                self.attr_value(attr);
            } else if let Some(&operand) = operands.next() {
                list.next(&mut self.out);
                self.free_operand(operand);
            } else {
                break;
            }
        }
        for (&value, name) in by_name.iter().zip(named) {
            list.next(&mut self.out);
            self.key(name);
            self.out.push_str(" = ");
            self.free_operand(value);
        }
        for (key, attr) in keyed {
            list.next(&mut self.out);
            self.key(func.text(key));
            self.out.push_str(" = ");
            self.attr_value(attr);
        }
    }

    /// Those of `attrs` that the row does not declare.
    fn undeclared(&mut self, attrs: &[(Name, Attr)], style: &Style, list: &mut Commas) {
        let func = self.func;
        for &(key, attr) in attrs {
            let text = func.text(key);
            if style.row.params.iter().any(|param| !param.kind.is_operand() && param.name == text) {
                continue;
            }
            list.next(&mut self.out);
            self.key(text);
            self.out.push_str(" = ");
            self.attr_value(attr);
        }
    }

    /// Writes `text` as a key.
    pub(super) fn key(&mut self, text: &str) {
        if is_key(text) { self.out.push_str(text) } else { self.out.push_str(&as_path(text)) }
    }

    fn attr_value(&mut self, attr: Attr) {
        match self.func.attr_data(attr) {
            // Among arguments a word alone would be an operand.
            AttrData::Unit => self.out.push_str("true"),
            _ => write_attr(&mut self.out, self.func, attr),
        }
    }

    fn attr_argument(&mut self, kind: ParamKind, attr: Attr) {
        let func = self.func;
        match (kind, func.as_word(attr)) {
            (ParamKind::Word, Some(text)) if is_path(text) => self.out.push_str(text),
            (ParamKind::Word | ParamKind::Str, Some(text)) => write_str(&mut self.out, text),
            _ => self.attr_value(attr),
        }
    }
}

/// Puts commas between the entries of a list.
#[derive(Default)]
pub(super) struct Commas {
    begun: bool,
}

impl Commas {
    /// Before each entry.
    pub(super) fn next(&mut self, out: &mut String) {
        if self.begun {
            out.push_str(", ");
        }
        self.begun = true;
    }
}

/// The names of the last operands of a call in a schedule, where it gives them by name.
fn named_operands(func: &Func, op: Op) -> Vec<&str> {
    let Some(AttrData::List(list)) = func.attr_of(op, keys::NAMED).map(|attr| func.attr_data(attr)) else {
        return Vec::new();
    };
    let name = |&name: &Attr| match func.attr_data(name) {
        AttrData::Str(text) if is_key(text) => Some(&**text),
        _ => None,
    };
    let names: Option<Vec<&str>> = list.iter().map(name).collect();
    names.filter(|names| names.len() <= func.operands(op).len()).unwrap_or_default()
}
