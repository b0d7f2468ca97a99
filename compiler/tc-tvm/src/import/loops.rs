//! Loops and launches.

use super::annotations::string;
use super::state::{Bound, Reader};
use ruff_python_ast::{Expr, ExprCall, Stmt, StmtFor, StmtWith, WithItem};
use ruff_text_size::{Ranged, TextRange};
use tc_dialects::tir::{self, Coordinate};
use tc_ir::{Attr, Name, Op, Value, keys};

/// A loop of the text: its variable, its bounds, its attributes.
struct Loop<'a> {
    name: &'a str,
    low: Option<&'a Expr>,
    high: &'a Expr,
}

impl<'a> Reader<'a> {
    pub(crate) fn for_loop(&mut self, node: &'a StmtFor) {
        if !node.orelse.is_empty() {
            return self.refuse(node.range, "tc has no `else` of loops");
        }
        let Expr::Call(call) = &*node.iter else {
            return self.refuse(node.iter.range(), "a loop goes over `range(…)` or a function of `T`");
        };
        let function = match &*call.func {
            Expr::Name(name) if name.id.as_str() == "range" => "serial".to_string(),
            _ => self.called(call).unwrap_or_default(),
        };
        let names: Vec<&'a Expr> = match &*node.target {
            Expr::Tuple(tuple) => tuple.elts.iter().collect(),
            one => vec![one],
        };
        let mut targets = Vec::new();
        for name in names {
            let Expr::Name(name) = name else { return self.refuse(name.range(), "a loop has names for its variables") };
            targets.push(name.id.as_str());
        }
        let loops = match (function.as_str(), &targets[..]) {
            ("grid", _) => self.grid(call, &targets),
            ("serial" | "unroll" | "unrolled" | "vectorized" | "thread_binding", &[name]) => {
                self.one(call, name).map(|one| vec![one])
            }
            (name, _) => return self.refuse_frame(node.iter.range(), name),
        };
        let Some(loops) = loops else { return };
        let Some(attrs) = self.loop_attrs(&function, call) else { return };
        let (region, mark) = (self.region, self.enter());
        for one in loops {
            let Some((low, high)) = self.bounds(call.range(), &one) else {
                self.bind(one.name, Bound::Missing);
                continue;
            };
            self.open_loop(node.range, one.name, low, high, &attrs);
        }
        self.block(&node.body);
        self.leave(mark);
        self.region = region;
    }

    /// `range(low, high)`
    fn one(&mut self, call: &'a ExprCall, name: &'a str) -> Option<Loop<'a>> {
        if let Some(step) = call.arguments.find_argument_value("step", 2)
            && super::scan::literal_int(step) != Some(1)
        {
            self.refuse(step.range(), "loops go in steps of 1");
            return None;
        }
        let start = call.arguments.find_keyword("start").map(|keyword| &keyword.value);
        let stop = call.arguments.find_keyword("stop").map(|keyword| &keyword.value);
        match (&call.arguments.args[..], start, stop) {
            ([high], None, None) => Some(Loop { name, low: None, high }),
            ([low, high, ..], None, None) => Some(Loop { name, low: Some(low), high }),
            ([low], None, Some(high)) => Some(Loop { name, low: Some(low), high }),
            ([], low, Some(high)) => Some(Loop { name, low, high }),
            _ => {
                self.error(call.range(), "arguments", "a loop has a first and a last value");
                None
            }
        }
    }

    fn grid(&mut self, call: &'a ExprCall, names: &[&'a str]) -> Option<Vec<Loop<'a>>> {
        let args = &call.arguments.args[..];
        if args.len() != names.len() {
            self.error(call.range(), "arguments", "a grid has an extent for each variable");
            return None;
        }
        let loops = names.iter().zip(args).map(|(&name, arg)| match arg {
            Expr::Tuple(tuple) => match &tuple.elts[..] {
                [low, high] => Loop { name, low: Some(low), high },
                _ => Loop { name, low: None, high: arg },
            },
            high => Loop { name, low: None, high },
        });
        Some(loops.collect())
    }

    fn bounds(&mut self, range: TextRange, one: &Loop<'a>) -> Option<(Value, Value)> {
        let low = match one.low {
            Some(low) => self.index(low)?,
            None => self.builder(range).index(0),
        };
        Some((low, self.index(one.high)?))
    }

    fn loop_attrs(&mut self, function: &str, call: &'a ExprCall) -> Option<Vec<(Name, Attr)>> {
        let mut attrs = match function {
            "unroll" | "unrolled" => vec![(keys::KIND, self.func.word_attr("unroll"))],
            "vectorized" => vec![(keys::KIND, self.func.word_attr("vectorize"))],
            "thread_binding" => {
                let tag = call.arguments.find_argument_value("thread", 2).and_then(string);
                self.axis_attrs(call.range(), &tag.unwrap_or_default())?
            }
            _ => Vec::new(),
        };
        if let Some(keyword) = call.arguments.find_keyword("annotations") {
            attrs.extend(self.annotations(&keyword.value)?);
        }
        Some(attrs)
    }

    /// What makes a loop one over the launch coordinate `tag`.
    fn axis_attrs(&mut self, range: TextRange, tag: &str) -> Option<Vec<(Name, Attr)>> {
        let axis = match tag {
            "vthread" | "vthread.x" | "vthread.y" | "vthread.z" | "cthread" => "vthread",
            tag => match Coordinate::parse(tag) {
                Some(coordinate) => coordinate.name(),
                None => {
                    self.refuse(range, format!("tc has no launch coordinate `{}`", tc_support::suggest::shorten(tag)));
                    return None;
                }
            },
        };
        let (kind, axis) = (self.func.word_attr("bind"), self.func.str_attr(axis));
        Some(vec![(keys::KIND, kind), (keys::AXIS, axis)])
    }

    /// Makes a loop; what follows goes into it.
    fn open_loop(&mut self, range: TextRange, name: &'a str, low: Value, high: Value, attrs: &[(Name, Attr)]) -> Op {
        let op = self.op(range, tir::FOR, &[low, high], attrs, &[], 1);
        self.region = self.func.op_regions(op)[0];
        let index = self.func.index_ty();
        let var = self.func.push_arg(self.region, index, Some(name));
        self.bind(name, Bound::Value(var));
        op
    }

    /// `bx = T.launch_thread("blockIdx.x", 8)`: what follows in this block goes into it.
    pub(crate) fn launch(&mut self, call: &'a ExprCall, target: Option<&'a str>) {
        let [thread, extent] = &call.arguments.args[..] else {
            return self.error(call.range(), "arguments", "`T.launch_thread` takes a coordinate and an extent");
        };
        let (tag, own) = match thread {
            Expr::Name(name) => match self.lookup(name.id.as_str()) {
                Some(Bound::Thread(tag)) => (Some(tag.clone()), Some(name.id.as_str())),
                _ => (None, None),
            },
            other => (string(other), None),
        };
        let Some(tag) = tag else {
            return self.refuse(thread.range(), "a launch coordinate is named by a string");
        };
        let Some(attrs) = self.axis_attrs(thread.range(), &tag) else { return };
        let Some(high) = self.index(extent) else { return };
        let low = self.builder(call.range()).index(0);
        // A coordinate without a name prints by what it is.
        let name = target.or(own).unwrap_or("thread");
        self.open_loop(call.range(), name, low, high, &attrs);
    }

    pub(crate) fn with(&mut self, node: &'a StmtWith) {
        let (region, mark) = (self.region, self.enter());
        let outer = self.reducer;
        if node.items.iter().all(|item| self.with_item(item)) {
            self.with_body(&node.body);
        }
        self.reducer = outer;
        self.leave(mark);
        self.region = region;
    }

    fn with_body(&mut self, body: &'a [Stmt]) {
        self.block(body);
    }

    /// Opens what the statements of the block stand in.
    fn with_item(&mut self, item: &'a WithItem) -> bool {
        let target = match item.optional_vars.as_deref() {
            Some(Expr::Name(name)) => Some(name.id.as_str()),
            _ => None,
        };
        let Expr::Call(call) = &item.context_expr else {
            self.refuse(item.range, "a block is opened by a function of `T`");
            return false;
        };
        let function = self.called(call).unwrap_or_default();
        match (function.as_str(), target) {
            ("launch_thread", target) => {
                self.launch(call, target);
                true
            }
            ("attr", _) => self.attr_frame(call),
            (name @ ("decl_buffer" | "allocate" | "alloc_buffer"), Some(target)) => {
                let range = item.range;
                let done = match name {
                    "decl_buffer" => self.declare_view(range, target, call),
                    "allocate" => self.allocate(range, target, call),
                    _ => self.alloc(range, target, call, "global"),
                };
                done.is_some()
            }
            (name, _) => {
                self.refuse_frame(call.range(), name);
                false
            }
        }
    }

    /// `T.attr(T.comm_reducer(…), "reduce_scope", …)`, `T.attr(x, "thread_extent", n)`.
    fn attr_frame(&mut self, call: &'a ExprCall) -> bool {
        let key = call.arguments.args.get(1).and_then(string).unwrap_or_default();
        match (key.as_str(), call.arguments.args.first()) {
            ("reduce_scope", Some(reducer)) => {
                self.reducer = Some(reducer);
                true
            }
            _ => {
                let key = tc_support::suggest::shorten(&key);
                self.refuse(call.range(), format!("tc has no counterpart of the attribute `{key}`"));
                false
            }
        }
    }
}
