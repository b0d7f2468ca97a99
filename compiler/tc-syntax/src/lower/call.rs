//! Calls: arguments go to the parameters that the op's row declares.

use super::decode;
use super::infer::operand_group;
use super::state::Lower;
use crate::tree::{self, Arg, ExprId, ExprKind, List, TextRange, Value as TreeValue};
use tc_ir::attrs::AttrData;
use tc_ir::builder::OpSpec;
use tc_ir::opdef::{Context, Infer, OpDef, ParamKind, Results, Role};
use tc_ir::{Attr, Attrs, Name, Op, Opcode, Type, TypeData, Value, keys};
use tc_support::{Diagnostic, counted, suggest};

/// The type of what comes out of something that declares no types.
pub(super) const UNKNOWN_TYPE: &str = "unknown";

/// The arguments of a call, sorted.
#[derive(Default)]
pub(super) struct Arguments {
    operands: Vec<Value>,
    keyed: u16,
    attrs: Vec<(Name, Attr)>,
}

/// The arguments of a call without a row: operands, then attributes.
type Loose = (Vec<Value>, Vec<(Name, Attr)>);

/// What a statement says of the op's results.
#[derive(Clone, Copy, Default)]
pub(super) struct Written<'t> {
    /// How many names it gives.
    pub(super) n_names: usize,
    /// The types after the colon.
    pub(super) types: Option<&'t [Type]>,
    /// The number of regions.
    pub(super) n_regions: usize,
}

impl<'a> Lower<'a> {
    /// The opcode that a call by `name` means here.
    pub(super) fn resolve(&self, name: &str) -> Option<Opcode> {
        let registry = self.func.registry();
        // A short name may have a dot too: `exp2.approx`.
        let by_short = registry.by_short(self.call_context(), name);
        by_short.or_else(|| registry.by_name(name).filter(|_| name.contains('.')))
    }

    /// Inside an intrinsic's program the short names of programs hold.
    fn call_context(&self) -> tc_ir::opdef::Context {
        self.context
    }

    /// The row of the op that `call` calls, if its name is known.
    pub(super) fn called_row(&self, call: ExprId) -> Option<&'static OpDef> {
        let name = self.text(self.tree.name(call));
        self.resolve(name).map(|opcode| self.func.registry().row(opcode))
    }

    /// A call in an expression: it has one result, whose type follows.
    pub(super) fn call_value(&mut self, call: ExprId, expected: Option<Type>) -> Option<Value> {
        let ExprKind::Call { symbol, args, .. } = self.tree[call].kind else { return None };
        if !symbol && self.text(self.tree.name(call)) == "if_then_else" {
            return self.if_then_else(call, args, expected);
        }
        let op = self.call(call, expected, Written { n_names: 1, ..Written::default() })?;
        let result = self.func.result(op);
        if result.is_none() {
            let name = self.func.op_name(op).to_string();
            let text =
                format!("`{}` has {}, not one", suggest::shorten(&name), counted(self.func.n_results(op), "result"));
            self.error(self.tree[call].range, "results", text);
        }
        result
    }

    /// Makes the op that a call means.
    pub(super) fn call(&mut self, call: ExprId, expected: Option<Type>, written: Written<'_>) -> Option<Op> {
        let ExprKind::Call { symbol, args, .. } = self.tree[call].kind else {
            self.error(self.tree[call].range, "call", "expected a call");
            return None;
        };
        let name_range = self.tree.name(call);
        let name = self.text(name_range);
        if symbol {
            return self.symbol_call(call, name_range, args, written);
        }
        let Some(opcode) = self.resolve(name) else {
            if self.options.allow_unknown_ops {
                return self.unknown_op(call, name, args, written);
            }
            let registry = self.func.registry();
            let near = if name.contains('.') {
                suggest::nearest(name, registry.names())
            } else {
                suggest::nearest(name, registry.short_names(self.context).chain(["if_then_else"]))
            };
            let near = near.map(str::to_string);
            let text = format!("unknown op `{}`", suggest::shorten(name));
            let error = Diagnostic::error("unknown-op", self.tree.span(name_range), text);
            self.report(self.with_near(error, name_range, near));
            return None;
        };
        let row = self.func.registry().row(opcode);
        if row.item.is_some() {
            self.error(name_range, "unknown-op", format!("`{}` stands at the top of a file", row.name));
            return None;
        }
        let arguments = self.arguments(call, row, args, expected)?;
        let attrs = self.func.dict(&arguments.attrs);
        let inferred;
        let results: &[Type] = match written.types {
            Some(types) => types,
            None if row.results == Results::Count(0) => &[],
            None if row.results == Results::Many && matches!(row.infer, Infer::Written) && written.n_names == 0 => &[],
            None => match self.func.infer_types(opcode, &arguments.operands, attrs) {
                Ok(types) => {
                    inferred = types;
                    &inferred
                }
                Err(reason) => {
                    self.error(self.tree[call].range, "type", reason);
                    return None;
                }
            },
        };
        if let Results::Count(n) = row.results
            && results.len() != usize::from(n)
        {
            let text = format!("`{}` has {}, not {}", row.name, counted(n, "result"), results.len());
            self.error(self.tree[call].range, "results", text);
            return None;
        }
        let n_least = row.regions.iter().filter(|region| !region.optional).count();
        if written.n_regions < n_least || written.n_regions > row.regions.len() {
            let text =
                format!("`{}` takes {}, not {}", row.name, counted(row.regions.len(), "region"), written.n_regions);
            self.error(self.tree[call].range, "regions", text);
            return None;
        }
        let loc = self.expr_loc(call);
        let results = results.to_vec();
        Some(self.emit(
            loc,
            OpSpec {
                opcode,
                operands: &arguments.operands,
                keyed: arguments.keyed,
                attrs,
                results: &results,
                n_regions: written.n_regions,
            },
        ))
    }

    fn arguments(
        &mut self,
        call: ExprId,
        row: &'static OpDef,
        args: List<Arg>,
        expected: Option<Type>,
    ) -> Option<Arguments> {
        let mut result = Arguments::default();
        let mut keyed_operands: Vec<(usize, Vec<Value>)> = Vec::new();
        let mut given: Vec<usize> = Vec::with_capacity(row.params.len());
        let positional: Vec<TreeValue> =
            self.tree[args].iter().filter(|arg| arg.key.is_none()).map(|arg| arg.value).collect();
        let group = self.group_type(row, args, expected);
        let n_required = |from: usize| {
            row.params[from..].iter().filter(|p| !p.keyed && !p.optional && !p.kind.is_variadic()).count()
        };
        let mut next = 0;
        let mut nth_operand = 0;
        for (idx, param) in row.params.iter().enumerate().filter(|(_, param)| !param.keyed) {
            let left = positional.len() - next;
            if param.kind == ParamKind::Values {
                let take = left.saturating_sub(n_required(idx + 1));
                for &value in &positional[next..next + take] {
                    let operand = self.operand(param.kind, nth_operand, value, group)?;
                    result.operands.push(operand);
                    nth_operand += 1;
                }
                next += take;
                given.push(idx);
                continue;
            }
            // What follows by position is wanted more than what may be left out.
            if left == 0 || (param.optional && left <= n_required(idx + 1)) {
                continue;
            }
            let value = positional[next];
            next += 1;
            given.push(idx);
            if param.kind == ParamKind::List {
                let list = self.operand_list(value)?;
                result.operands.extend(list);
            } else if param.kind.is_operand() {
                let operand = self.operand(param.kind, nth_operand, value, group)?;
                result.operands.push(operand);
                nth_operand += 1;
            } else {
                let attr = self.attr_argument(param.kind, value)?;
                let key = self.func.name(param.name);
                result.attrs.push((key, attr));
            }
        }
        if next < positional.len() {
            let text = format!("`{}` takes {}, not {}", shown(row), counted(next, "argument"), positional.len());
            self.error(self.value_range(positional[next]), "arguments", text);
            return None;
        }
        if let Some((from, _)) = group
            && self.mixing
            && row.short.is_some()
            && let Some(operands) = result.operands.get_mut(from..)
        {
            self.mix(call, operands);
        }
        for &arg in &self.tree[args] {
            let Some(key) = arg.key else { continue };
            let key_range = self.tree[key];
            let key_text = self.text(key_range);
            match row.param_idx(key_text) {
                Some(idx) if row.params[idx].keyed || !row.params[idx].kind.is_operand() => {
                    if given.contains(&idx) {
                        self.error(key_range, "arguments", format!("`{key_text}` is given twice"));
                        return None;
                    }
                    given.push(idx);
                    let param = &row.params[idx];
                    if param.kind == ParamKind::List {
                        let list = self.operand_list(arg.value)?;
                        keyed_operands.push((idx, list));
                    } else if param.kind.is_operand() {
                        let operand = self.keyed_operand(param.kind, arg.value)?;
                        keyed_operands.push((idx, vec![operand]));
                    } else {
                        let attr = self.attr_argument(param.kind, arg.value)?;
                        let key = self.func.name(param.name);
                        result.attrs.push((key, attr));
                    }
                }
                _ if row.open_attrs
                    || key_text.contains('.')
                    || row.context == tc_ir::opdef::Context::Any && row.role == Role::Call =>
                {
                    let attr = self.attr_value(arg.value)?;
                    let key = self.func.name(key_text);
                    result.attrs.push((key, attr));
                }
                _ => {
                    let keys = row
                        .params
                        .iter()
                        .filter(|param| param.keyed || !param.kind.is_operand())
                        .map(|param| param.name);
                    let help = suggest::did_you_mean(key_text, keys);
                    let text = format!("`{}` has no argument `{}`", shown(row), suggest::shorten(key_text));
                    self.error_with(key_range, "arguments", text, help);
                    return None;
                }
            }
        }
        keyed_operands.sort_by_key(|(idx, _)| *idx);
        let mut bit = 0;
        for (idx, param) in row.params.iter().enumerate().filter(|(_, param)| param.kind.is_operand()) {
            if param.keyed || param.optional {
                result.keyed |= u16::from(given.contains(&idx)) << bit;
                bit += 1;
            }
        }
        result.operands.extend(keyed_operands.into_iter().flat_map(|(_, values)| values));
        let missing = row
            .params
            .iter()
            .enumerate()
            .find(|(idx, param)| !param.optional && !param.kind.is_variadic() && !given.contains(idx));
        if let Some((_, param)) = missing {
            let how = if param.keyed { format!("`{} = …`", param.name) } else { format!("`{}`", param.name) };
            self.error(self.tree[call].range, "arguments", format!("`{}` lacks its argument {how}", shown(row)));
            return None;
        }
        Some(result)
    }

    /// The type that free literals among the operands of `row` take.
    fn group_type(&mut self, row: &OpDef, args: List<Arg>, expected: Option<Type>) -> Option<(usize, Option<Type>)> {
        let from = operand_group(row)?;
        let exprs: Vec<ExprId> = self.positional(args).skip(from).collect();
        let expected = match row.infer {
            Infer::Same(_) => expected,
            Infer::Predicate => None,
            _ => self.scalar_of(expected),
        };
        // A lone operand cannot take its type from a sibling, so the search is only for several.
        let ty = if exprs.len() > 1 && exprs.iter().any(|&expr| self.may_be_free(expr)) {
            let last_is_attr = row.params.last().is_some_and(|param| param.name == "lanes");
            let operands = if last_is_attr { &exprs[..exprs.len() - 1] } else { &exprs[..] };
            self.common_type(operands, expected)
        } else {
            expected
        };
        Some((from, ty))
    }

    fn operand(
        &mut self,
        kind: ParamKind,
        nth: usize,
        value: TreeValue,
        group: Option<(usize, Option<Type>)>,
    ) -> Option<Value> {
        let expr = self.value_expr(value)?;
        if matches!(kind, ParamKind::Place(_)) {
            return self.place_operand(expr);
        }
        let expected = match group {
            Some((from, ty)) if nth >= from => ty,
            // What stands before the group is a condition.
            Some(_) => Some(self.func.bool_ty()),
            None => None,
        };
        self.expr(expr, expected)
    }

    /// Inside brackets `index` and other integers mix, also as operands of `min` and the like: where one is `index`,
    /// the others are made so.
    fn mix(&mut self, call: ExprId, operands: &mut [Value]) {
        let index = self.func.index_ty();
        if !operands.iter().any(|&value| self.func.value_type(value) == index) {
            return;
        }
        let loc = self.expr_loc(call);
        for value in operands {
            let is_int = self.func.value_scalar(*value).is_some_and(|scalar| scalar.elem.is_int() && scalar.lanes == 1);
            if is_int && self.func.value_type(*value) != index {
                *value = self.emit_value(loc, self.sugar.cast, &[*value], Attrs::EMPTY, index);
            }
        }
    }

    fn keyed_operand(&mut self, kind: ParamKind, value: TreeValue) -> Option<Value> {
        let expr = self.value_expr(value)?;
        if matches!(kind, ParamKind::Place(_)) { self.place_operand(expr) } else { self.expr(expr, None) }
    }

    fn operand_list(&mut self, value: TreeValue) -> Option<Vec<Value>> {
        let range = self.value_range(value);
        let TreeValue::Expr(expr) = value else {
            self.error(range, "arguments", "expected a list, such as `[a, b]`");
            return None;
        };
        let ExprKind::List(list) = self.tree[expr].kind else {
            self.error(range, "arguments", "expected a list, such as `[a, b]`");
            return None;
        };
        let mut values = Vec::with_capacity(list.len());
        for &value in &self.tree[list] {
            let expr = self.value_expr(value)?;
            values.push(self.expr(expr, None)?);
        }
        Some(values)
    }

    fn value_expr(&mut self, value: TreeValue) -> Option<ExprId> {
        match value {
            TreeValue::Expr(expr) => Some(expr),
            _ => {
                self.error(self.value_range(value), "arguments", "expected a value");
                None
            }
        }
    }

    pub(super) fn value_range(&self, value: TreeValue) -> TextRange {
        match value {
            TreeValue::Expr(expr) => self.tree[expr].range,
            TreeValue::Type(ty) => self.tree[ty].range,
            TreeValue::Dict(dict) => self.tree[dict].range,
        }
    }

    fn attr_argument(&mut self, kind: ParamKind, value: TreeValue) -> Option<Attr> {
        let range = self.value_range(value);
        let attr = self.attr_value(value)?;
        let data = self.func.attr_data(attr);
        let (fits, want) = match kind {
            ParamKind::Word => (matches!(data, AttrData::Word(_) | AttrData::Str(_)), "a word"),
            ParamKind::Int => (matches!(data, AttrData::Int(..)), "an integer"),
            ParamKind::Str => (matches!(data, AttrData::Str(_) | AttrData::Word(_)), "a string"),
            ParamKind::Symbol => (matches!(data, AttrData::Symbol(_)), "a symbol, such as `@f`"),
            _ => (true, ""),
        };
        if !fits {
            self.error(range, "arguments", format!("expected {want}"));
            return None;
        }
        Some(attr)
    }

    /// `@f(a, b, key = value)`.
    fn symbol_call(
        &mut self,
        call: ExprId,
        name_range: TextRange,
        args: List<Arg>,
        written: Written<'_>,
    ) -> Option<Op> {
        let callee = match decode::symbol(self.text(name_range)) {
            Ok(name) => name,
            Err(reason) => {
                self.error(name_range, "symbol", reason);
                return None;
            }
        };
        let opcode = self.opcode_for(Role::Call, name_range)?;
        let (operands, mut entries) =
            if self.context == Context::Sched { self.schedule_arguments(args)? } else { self.loose_arguments(args)? };
        let symbol = self.func.attr(AttrData::Symbol(callee.into()));
        entries.insert(0, (keys::CALLEE, symbol));
        let attrs = self.func.dict(&entries);
        let unknown = vec![self.unknown_type(); written.n_names];
        let results = written.types.unwrap_or(&unknown).to_vec();
        let loc = self.expr_loc(call);
        Some(self.emit(
            loc,
            OpSpec { opcode, operands: &operands, keyed: 0, attrs, results: &results, n_regions: written.n_regions },
        ))
    }

    /// The type of what comes out of something that declares no types.
    fn unknown_type(&mut self) -> Type {
        let path = self.func.name(UNKNOWN_TYPE);
        self.func.ty(TypeData::Opaque { path, params: [].into() })
    }

    /// An op without a row: positional is operand, keyed is attribute.
    fn unknown_op(&mut self, call: ExprId, name: &str, args: List<Arg>, written: Written<'_>) -> Option<Op> {
        let mut entries = Vec::new();
        let word = self.func.word_attr(name);
        entries.push((keys::OP_NAME, word));
        let (operands, more) = self.loose_arguments(args)?;
        entries.extend(more);
        let attrs = self.func.dict(&entries);
        let unknown = vec![self.unknown_type(); written.n_names];
        let results = written.types.unwrap_or(&unknown).to_vec();
        let loc = self.expr_loc(call);
        Some(self.emit(
            loc,
            OpSpec {
                opcode: Opcode::UNKNOWN,
                operands: &operands,
                keyed: 0,
                attrs,
                results: &results,
                n_regions: written.n_regions,
            },
        ))
    }

    fn loose_arguments(&mut self, args: List<Arg>) -> Option<Loose> {
        let (mut operands, mut entries): Loose = (Vec::new(), Vec::new());
        for &arg in &self.tree[args] {
            match (arg.key, arg.value) {
                (None, TreeValue::Expr(expr)) if self.is_attr_only(expr) => {
                    // A list, a string or a symbol by position is an attribute named by its place.
                    let attr = self.attr_expr(expr)?;
                    let key = self.func.name(&format!("arg.p{}", operands.len() + entries.len()));
                    entries.push((key, attr));
                }
                (None, value) => {
                    let expr = self.value_expr(value)?;
                    operands.push(self.expr(expr, None)?);
                }
                (Some(key), value) => {
                    let range = self.tree[key];
                    let attr = self.attr_value(value)?;
                    let key = self.func.name(self.text(range));
                    if entries.iter().any(|(name, _)| *name == key) {
                        self.error(
                            range,
                            "arguments",
                            format!("`{}` is given twice", suggest::shorten(self.text(range))),
                        );
                        return None;
                    }
                    entries.push((key, attr));
                }
            }
        }
        Some((operands, entries))
    }

    /// The arguments of a call of a schedule function: values all, of which the last may be given by name. The attribute
    /// `named` holds these names.
    fn schedule_arguments(&mut self, args: List<Arg>) -> Option<Loose> {
        let (mut operands, mut named): (Vec<Value>, Vec<Attr>) = (Vec::new(), Vec::new());
        for &arg in &self.tree[args] {
            let TreeValue::Expr(expr) = arg.value else {
                let range = self.value_range(arg.value);
                self.error(range, "arguments", "a schedule function takes stages, axes and numbers".to_string());
                return None;
            };
            match arg.key {
                Some(key) => {
                    let text = self.text(self.tree[key]);
                    let attr = self.func.attr(AttrData::Str(text.into()));
                    if named.contains(&attr) {
                        let text = format!("`{}` is given twice", suggest::shorten(text));
                        self.error(self.tree[key], "arguments", text);
                        return None;
                    }
                    named.push(attr);
                }
                None if !named.is_empty() => {
                    let text = "an argument by position stands behind one by name".to_string();
                    let help = Some("write those by position first: `@f(C, A, rows = 128)`".to_string());
                    self.error_with(self.tree[expr].range, "arguments", text, help);
                    return None;
                }
                None => {}
            }
            operands.push(self.expr(expr, None)?);
        }
        let mut entries = Vec::new();
        if !named.is_empty() {
            entries.push((keys::NAMED, self.func.attr(AttrData::List(named.into()))));
        }
        Some((operands, entries))
    }

    fn is_attr_only(&self, expr: ExprId) -> bool {
        matches!(self.tree[expr].kind, ExprKind::List(_) | ExprKind::Str | ExprKind::Sym)
    }

    /// A type after a colon, with its scope.
    pub(super) fn result_type(&mut self, ty: tree::ResultType) -> Option<Type> {
        let scope = ty.scope.map(|scope| self.func.name(self.text(self.tree[scope])));
        self.declared_type(ty.ty, scope)
    }
}

/// The name that the author of a call wrote.
fn shown(row: &OpDef) -> &str {
    row.short.unwrap_or(row.name)
}
