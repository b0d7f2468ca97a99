//! Items: their headers and bodies, and a whole file of them.

use super::decode;
use super::scope::Scopes;
use super::state::{Lower, Sugar};
use crate::tree::{Item, Param, Tree};
use rustc_hash::FxHashSet;
use std::sync::Arc;
use tc_ir::attrs::AttrData;
use tc_ir::func::{ParamDecl, ResultDecl, SymbolDecl};
use tc_ir::opdef::{Context, Role, SymbolTable};
use tc_ir::{Func, Loc, Module, Registry, Type, TypeData, keys};
use tc_support::{Diagnostic, Diagnostics, FileId, Pos, Sources, suggest};

/// How text is read.
#[derive(Clone, Copy, Default, Debug)]
pub struct ParseOptions {
    /// Keep ops that no dialect declares, as they come, with unknown effects; otherwise they are errors.
    pub allow_unknown_ops: bool,
}

/// Reads a text into a module of its own. `name` is what messages call it.
pub fn parse_module(name: &str, text: &str, registry: &Arc<Registry>, options: &ParseOptions) -> (Module, Diagnostics) {
    let mut module = Module::new(registry.clone());
    match module.sources.add(name, text) {
        Ok(file) => {
            let found = parse_file(&mut module, file, options);
            (module, found)
        }
        Err(_) => {
            let text = format!("`{name}` is too large: all files together may have 2 GiB");
            (module, Diagnostic::error("too-large", tc_support::Location::None, text).into())
        }
    }
}

/// Reads a file of `module.sources` and adds its items to the module. Items with errors are left out; all errors
/// are reported, in the order of the text.
pub fn parse_file(module: &mut Module, file: FileId, options: &ParseOptions) -> Diagnostics {
    let sources: Sources = module.sources.clone();
    let file = sources.file(file);
    let registry = module.registry.clone();
    let mut found = Diagnostics::new();
    let items = &mut module.items;
    let syntax = crate::parse::parse(&file.text, file.start(), &mut |tree, item| {
        let (func, diagnostics) = lower_item(tree, item, &file.text, file.start(), &registry, options);
        found.append(diagnostics);
        items.extend(func);
    });
    let mut all: Vec<Diagnostic> = syntax.into_iter().chain(found).collect();
    all.sort_by_key(|diagnostic| match &diagnostic.location {
        tc_support::Location::Span(span) => span.start,
        _ => Pos(u32::MAX),
    });
    all.into_iter().collect()
}

fn lower_item(
    tree: &Tree,
    item: &Item,
    source: &str,
    base: Pos,
    registry: &Arc<Registry>,
    options: &ParseOptions,
) -> (Option<Func>, Diagnostics) {
    let keyword = item.kind.of(source);
    let Some((row, opcode)) = registry.item(keyword) else {
        let text = format!("a file holds no `{}`", suggest::shorten(keyword));
        let mut diagnostic = Diagnostic::error("unknown-item", tree.span(item.kind), text);
        diagnostic.help = suggest::did_you_mean(keyword, registry.item_keywords());
        return (None, diagnostic.into());
    };
    let symbol = match decode::symbol(item.name.of(source)) {
        Ok(symbol) => symbol,
        Err(reason) => return (None, Diagnostic::error("symbol", tree.span(item.name), reason).into()),
    };
    let func = Func::new(registry.clone(), opcode, symbol);
    let region = func.body();
    let mut lower = Lower {
        tree,
        source,
        options,
        base,
        func,
        context: row.context,
        sugar: Sugar::new(registry, row.context),
        scopes: Scopes::default(),
        missing: FxHashSet::default(),
        directive: Loc::NONE,
        region,
        mixing: false,
        found: Diagnostics::new(),
    };
    lower.scopes.open();
    lower.header(item);
    if !lower.found.has_errors() {
        let expected: Vec<Type> = lower.scalar_results();
        lower.block(item.block, &expected);
        if !lower.found.has_errors() {
            lower.check_return(item);
        }
    }
    let Lower { mut func, found, .. } = lower;
    func.shrink();
    let keep = !found.has_errors();
    (keep.then_some(func), found)
}

impl<'a> Lower<'a> {
    /// The results of a combiner, and of its identity, which are numbers: those that it declares, or else the values so
    /// far, the first half of what it takes. The results of an operator are tensors, and expected of nothing.
    pub(super) fn scalar_results(&self) -> Vec<Type> {
        let func = &self.func;
        let mut results: Vec<Type> = func.header.results.iter().map(|result| result.ty).collect();
        if results.is_empty() && self.context == Context::Te {
            let params = func.params();
            results.extend(params[..params.len() / 2].iter().map(|&param| func.value_type(param)));
        }
        if results.iter().all(|&ty| func.as_scalar(ty).is_some()) { results } else { Vec::new() }
    }

    fn header(&mut self, item: &Item) {
        self.func.header.loc = self.loc(item.range);
        for &target in &self.tree[item.targets] {
            match decode::symbol(self.text(target)) {
                Ok(name) => self.func.header.targets.push(name),
                Err(reason) => self.error(target, "symbol", reason),
            }
        }
        self.targets(item);
        self.symbols(item);
        for &param in item.params.map_or(&[][..], |params| &self.tree[params]) {
            self.param(param);
        }
        for &result in &self.tree[item.results] {
            self.result(result);
        }
        for &fact in &self.tree[item.facts] {
            if let Some(fact) = self.attr_expr(fact) {
                self.func.header.facts.push(fact);
            }
        }
        if let Some(tail) = item.tail {
            let tail = self.tree[tail];
            self.func.header.attrs = self.attr_list(tail.attrs);
            if let Some(loc) = tail.loc {
                self.func.header.loc = self.written_loc(self.tree[loc]);
            }
            if let Some(directive) = tail.directive {
                self.error(self.tree[directive], "location", "an item has one location");
            }
        }
    }

    /// A schedule says what it is for; nothing else does.
    fn targets(&mut self, item: &Item) {
        let of_schedule = Module::table_of(&self.func) == SymbolTable::Schedules;
        match self.tree[item.targets].first() {
            None if of_schedule => self.error_with(
                item.name,
                "schedule-target",
                "a schedule is for an operator".to_string(),
                Some(
                    "write `schedule @s for @f { … }`, or `schedule.func @s(…) { … }` for what schedules call"
                        .to_string(),
                ),
            ),
            Some(&target) if self.is_schedule_function() => self.error_with(
                target,
                "schedule-target",
                "a `schedule.func` is for no operator of its own".to_string(),
                Some("leave out `for …`: the stages come in as parameters, `(C: stage)`".to_string()),
            ),
            _ => {}
        }
    }

    /// Is the item directives that schedules call?
    fn is_schedule_function(&self) -> bool {
        Module::table_of(&self.func) == SymbolTable::ScheduleFunctions
    }

    /// An operator ends by returning its results, in sugar or in the generic form.
    fn check_return(&mut self, item: &Item) {
        let is_operator = self.func.item_row().item.is_some_and(|row| row.keyword == "te.func");
        let end = self.func.terminator(self.func.body());
        if is_operator && end.is_none_or(|end| self.func.role(end) != Role::Return) {
            let end = self.tree[item.block].range;
            let brace = crate::tree::TextRange::new(end.end.saturating_sub(1), end.end);
            let help = Some("write `return B`".to_string());
            self.error_with(brace, "no-return", "an operator returns its results".to_string(), help);
        }
    }

    fn symbols(&mut self, item: &Item) {
        let index = self.func.index_ty();
        for &symbol in &self.tree[item.symbols] {
            let range = symbol.bounds.and_then(|(low, high)| Some((self.attr_expr(low)?, self.attr_expr(high)?)));
            let default = symbol.default.and_then(|default| self.attr_expr(default));
            let name = self.func.name(self.text(symbol.name));
            self.func.header.symbols.push(SymbolDecl { name, range, default });
            let body = self.func.body();
            let value = self.func.push_arg(body, index, None);
            self.bind(symbol.name, value);
        }
    }

    fn param(&mut self, param: Param) {
        let attrs = self.attr_list(param.attrs);
        let (mut choices, mut scope, mut default) = (None, None, None);
        let of_function = self.is_schedule_function();
        if let Some(value) = param.default {
            if !of_function {
                let help = "a parameter of a schedule has choices, of which the first is the default: `rows: i32 in [128, 64]`";
                let text = "only a parameter of a `schedule.func` has a default".to_string();
                return self.error_with(self.tree[value].range, "parameter-default", text, Some(help.to_string()));
            }
            default = self.attr_expr(value);
        }
        if let Some(within) = param.within {
            if of_function {
                let help = "leave it out, or give a default: `rows: i32 = 128`; the schedule that calls has choices";
                let text = "a parameter of a `schedule.func` has no choices".to_string();
                return self.error_with(self.tree[within].range, "parameter-default", text, Some(help.to_string()));
            }
            if self.context == Context::Sched {
                choices = self.attr_expr(within);
            } else {
                scope = Some(self.func.name(self.text(self.tree[within].range)));
            }
        } else if self.context == Context::Tir {
            scope = Some(keys::GLOBAL);
        }
        let Some(ty) = param.ty else {
            let text = self.text(param.name);
            return self.error_with(
                param.range,
                "type",
                format!("parameter `{}` has no type", suggest::shorten(text)),
                Some("write `A: f32[16]`".to_string()),
            );
        };
        let range = self.tree[ty].range;
        let Some(ty) = self.declared_type(ty, scope) else { return };
        self.check_dims(range, ty);
        self.func.header.params.push(ParamDecl { attrs, choices, default });
        let body = self.func.body();
        let value = self.func.push_arg(body, ty, None);
        self.bind(param.name, value);
    }

    fn result(&mut self, result: Param) {
        let attrs = self.attr_list(result.attrs);
        let scope = result.within.map(|within| self.func.name(self.text(self.tree[within].range)));
        let Some(ty) = result.ty else {
            return self.error(result.range, "type", "a result has a type");
        };
        let range = self.tree[ty].range;
        let Some(ty) = self.declared_type(ty, scope) else { return };
        self.check_dims(range, ty);
        let text = self.text(result.name);
        let name = (!text.is_empty()).then(|| self.func.name(text));
        self.func.header.results.push(ResultDecl { name, ty, attrs });
    }

    /// The extents of a type in a header speak of the item's sizes, and of nothing else.
    fn check_dims(&mut self, range: crate::tree::TextRange, ty: Type) {
        let TypeData::Shaped { shape, .. } = self.func.type_data(ty) else { return };
        let mut worklist: Vec<_> = shape.to_vec();
        while let Some(attr) = worklist.pop() {
            match self.func.attr_data(attr).clone() {
                AttrData::Int(value, None) if value >= 0 => {}
                AttrData::Int(value, _) => self.error(range, "extent", format!("an extent cannot be {value}")),
                AttrData::Word(name) => {
                    let text = self.func.text(name).to_string();
                    if self.lookup(&text).is_none() {
                        let mut help = suggest::did_you_mean(&text, self.visible_names());
                        if self.visible_names().next().is_none() {
                            help = Some(format!("declare it: `@{}<{text} = 1024>`", self.func.symbol()));
                        }
                        self.error_with(
                            range,
                            "extent",
                            format!("no size is called `{}`", suggest::shorten(&text)),
                            help,
                        );
                    }
                }
                AttrData::Unary(_, arg) => worklist.push(arg),
                AttrData::Binary(_, lhs, rhs) => worklist.extend([rhs, lhs]),
                AttrData::Call(_, args) => worklist.extend(args.iter().rev()),
                _ => self.error(range, "extent", "an extent is an integer or an expression over sizes"),
            }
        }
    }
}
