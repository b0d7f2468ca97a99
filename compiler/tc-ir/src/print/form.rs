//! The form that an op prints in: the sugar it stands behind, if all of it can be said so.

use super::Body;
use super::style::Style;
use super::words::{is_path, is_taken, is_word};
use crate::attrs::{AttrData, BinOp, UnOp};
use crate::effects;
use crate::entity::{Op, Region, Value};
use crate::func::Func;
use crate::names::keys;
use crate::opdef::{Context, Infer, Opcode, Role};
use crate::types::{ElemKind, Scalar, TypeData};
use crate::walk::ops_under;
use smallvec::SmallVec;

/// What an op prints as.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) enum Form {
    /// A statement of the one shape of all ops.
    #[default]
    Statement,
    /// Nothing.
    Hidden,

    // Expressions.
    Literal,
    /// `a + b`, `a < b`
    Infix(BinOp),
    /// `a && b` that evaluates `b` only if need be.
    Lazy(BinOp),
    /// `if_then_else(c, a, b)`
    Choose,
    Unary(UnOp),
    Cast,
    Load,
    RefElement,
    RefRegion,
    Stage,
    Axis,
    Call,

    // Statements with a shape of their own.
    For,
    If,
    Store,
    Alloc,
    SymbolCall,
    Compute,
    /// A compute whose body is a reduction.
    Reduction,
    Block,
    /// `yield a, b`, `return a, b`
    End,
    /// The end of a branch of a schedule: a second name for what goes by another one.
    Exports,
}

impl Form {
    /// Is it an expression?
    pub(super) fn is_expr(self) -> bool {
        use Form::*;
        matches!(
            self,
            Literal
                | Infix(_)
                | Lazy(_)
                | Choose
                | Unary(_)
                | Cast
                | Load
                | RefElement
                | RefRegion
                | Stage
                | Axis
                | Call
        )
    }

    /// The operator between two operands, if it is one.
    pub(super) fn infix(self) -> Option<BinOp> {
        match self {
            Form::Infix(op) | Form::Lazy(op) => Some(op),
            _ => None,
        }
    }
}

/// What [`Body::classify`] finds.
pub(super) struct Shape {
    pub(super) form: Form,
    /// How deep the expressions in its regions go.
    pub(super) height: u8,
    /// Does it read memory?
    pub(super) reads: bool,
}

impl From<Form> for Shape {
    fn from(form: Form) -> Shape {
        Shape { form, height: 0, reads: false }
    }
}

impl Body<'_> {
    /// Is `op` what the operator of `role` stands for between its operands, with the type that follows?
    fn is_own(&self, op: Op, role: Role) -> bool {
        let func = self.func;
        let of = |&operand: &Value| func.operator(operand, role);
        let follows = match func.row(op).infer {
            Infer::Same(from) => func.operands(op).get(from).is_some_and(|&operand| {
                func.result(op).is_some_and(|result| func.value_type(result) == func.value_type(operand))
            }),
            Infer::By(_) => true,
            Infer::Predicate | Infer::All(_) | Infer::Written => false,
        };
        follows && func.operands(op).iter().find_map(of) == Some(func.opcode(op))
    }

    /// What `op` prints as.
    pub(super) fn classify(&mut self, op: Op) -> Shape {
        let func = self.func;
        let style = self.style(op);
        let n_attrs = func.entries(func.op_attrs(op)).len();
        let (n_operands, n_results) = (func.operands(op).len(), func.n_results(op));
        let form = match style.role {
            Role::Constant if n_attrs == 1 && is_literal(func, op) => Form::Literal,
            // What the text would evaluate only where it is needed is a call, which evaluates both.
            Role::Binary(BinOp::AndAnd | BinOp::OrOr) if self.reads_as_lazy(op) => Form::Statement,
            Role::Binary(infix) if (n_attrs, n_operands, n_results) == (0, 2, 1) => Form::Infix(infix),
            Role::OwnBinary(infix) if (n_attrs, n_operands, n_results) == (0, 2, 1) && self.is_own(op, style.role) => {
                Form::Infix(infix)
            }
            Role::OwnUnary(prefix) if (n_attrs, n_operands, n_results) == (0, 1, 1) && self.is_own(op, style.role) => {
                Form::Unary(prefix)
            }
            Role::Compare if (n_attrs, n_operands, n_results) == (1, 2, 1) => match comparison(func, op) {
                Some(infix) => Form::Infix(infix),
                None => Form::Statement,
            },
            Role::Unary(prefix) if (n_attrs, n_operands, n_results) == (0, 1, 1) => Form::Unary(prefix),
            Role::Cast if (n_attrs, n_operands, n_results) == (0, 1, 1) && result_scalar(func, op).is_some() => {
                Form::Cast
            }
            Role::Load if n_attrs == 0 && n_operands > 0 && n_results == 1 && self.is_load(op) => {
                return Shape { form: Form::Load, height: 0, reads: style.reads };
            }
            Role::RefElement if n_attrs == 0 && n_operands > 0 && n_results == 1 => Form::RefElement,
            Role::RefRegion if n_attrs == 1 && n_results == 1 && has_lengths(func, op) => Form::RefRegion,
            Role::Stage if n_attrs == 1 && n_results == 1 && name_of(func, op).is_some_and(is_stage) => Form::Stage,
            Role::Axis if (n_attrs, n_operands, n_results) == (1, 1, 1) && name_of(func, op).is_some_and(is_axis) => {
                Form::Axis
            }
            Role::If => return self.classify_if(op, n_attrs),
            Role::For if self.is_loop(op) => Form::For,
            Role::Store if n_operands >= 2 && n_results == 0 && self.in_program(op) => Form::Store,
            Role::Alloc if n_operands == 0 && self.is_alloc(op) => Form::Alloc,
            Role::Call if is_symbol_call(func, op) => Form::SymbolCall,
            Role::Compute => self.classify_compute(op),
            Role::Block => match func.op_regions(op) {
                [body] if n_attrs + n_operands + n_results == 0 && func.region_args(*body).is_empty() => Form::Block,
                _ => Form::Statement,
            },
            Role::Yield | Role::Return if n_attrs + n_results == 0 && func.next_op(op).is_none() => {
                self.end_form(op, style.role)
            }
            Role::Undefined if self.only_yielded(op) => Form::Hidden,
            _ => Form::Statement,
        };
        if form == Form::Statement && style.is_expr && n_results == 1 && self.is_call(op, style, n_attrs) {
            return Shape { form: Form::Call, height: 0, reads: style.reads };
        }
        form.into()
    }

    /// Can all of `op` be said by a call, without attributes that its row does not declare?
    fn is_call(&self, op: Op, style: &Style, n_attrs: usize) -> bool {
        if n_attrs == 0 {
            return true;
        }
        let declared = style.row.params.iter().filter(|param| !param.kind.is_operand());
        n_attrs == declared.filter(|param| self.func.attr_named(op, param.name).is_some()).count()
    }

    /// Is `op` what the parser makes of `A[i]`? An operator reads tensors, and in what it computes everything; in what
    /// stands for an intrinsic its operands are buffers.
    fn is_load(&self, op: Op) -> bool {
        let func = self.func;
        let opcode = func.opcode(op);
        let reads = self.context() == Context::Te && {
            let scope = func.as_shaped(func.value_type(func.operand(op, 0))).and_then(|(_, _, scope)| scope);
            self.is_within(op, Role::Compute) || (scope.is_none() && !self.is_within(op, Role::Block))
        };
        Some(opcode) == if reads { self.styles.read } else { self.styles.load }
    }

    fn is_within(&self, op: Op, role: Role) -> bool {
        crate::walk::ancestors(self.func, op).any(|outer| self.func.role(outer) == role)
    }

    /// May statements of programs stand where `op` does?
    fn in_program(&self, op: Op) -> bool {
        self.context() == Context::Tir || self.is_within(op, Role::Block)
    }

    fn is_loop(&self, op: Op) -> bool {
        let func = self.func;
        let [body] = func.op_regions(op) else { return false };
        let n_carried = func.n_results(op);
        func.operands(op).len() == n_carried + 2
            && func.region_args(*body).len() == n_carried + 1
            && self.in_program(op)
    }

    fn is_alloc(&self, op: Op) -> bool {
        let func = self.func;
        let ty = func.result(op).map(|result| func.type_data(func.value_type(result)));
        matches!(ty, Some(TypeData::Shaped { scope: Some(scope), .. }) if is_path(func.text(*scope)))
            && self.in_program(op)
    }

    fn end_form(&self, op: Op, role: Role) -> Form {
        let parent = self.func.parent_op(op);
        let of_branch =
            self.context() == Context::Sched && parent.is_some_and(|parent| self.style(parent).role == Role::If);
        match role {
            Role::Yield if of_branch => Form::Exports,
            Role::Yield if self.func.operands(op).is_empty() => Form::Hidden,
            _ => Form::End,
        }
    }

    fn only_yielded(&self, op: Op) -> bool {
        let func = self.func;
        let Some((result, region)) = func.result(op).zip(func.region_of(op)) else { return false };
        let n_yielded = func.yielded(region).iter().filter(|&&value| value == result).count();
        func.value_name(result).is_none() && func.n_uses(result) == n_yielded
    }

    fn classify_if(&mut self, op: Op, n_attrs: usize) -> Shape {
        let func = self.func;
        let (n_results, regions) = (func.n_results(op), func.op_regions(op));
        let hands_on =
            |&region: &Region| func.terminator(region).is_some_and(|end| self.style(end).role == Role::Yield);
        let well_formed = func.operands(op).len() == 1
            && (1..=2).contains(&regions.len())
            && regions
                .iter()
                .all(|&region| func.region_args(region).is_empty() && func.yielded(region).len() == n_results);
        if !well_formed || n_results > 0 && !(regions.len() == 2 && regions.iter().all(hands_on)) {
            return Form::Statement.into();
        }
        // What a branch of a schedule names is a result too; only a number in the midst of an expression is none.
        let in_expr = self.context() != Context::Sched
            || func.result(op).is_some_and(|result| {
                func.value_name(result).is_none() && func.n_uses(result) == 1 && result_scalar(func, op).is_some()
            });
        if n_results != 1 || n_attrs != 0 || !in_expr {
            return if n_attrs != 0 && self.context() == Context::Sched {
                Form::Statement.into()
            } else {
                Form::If.into()
            };
        }
        self.choice(op).unwrap_or(Form::If.into())
    }

    /// A conditional whose arms are expressions.
    fn choice(&mut self, op: Op) -> Option<Shape> {
        let func = self.func;
        let &[then, otherwise] = func.op_regions(op) else { return None };
        let limit = self.inline_limit();
        if self.level >= limit {
            return None;
        }
        self.level += 1;
        let arms = self.analyse_whole(then).and_then(|first| Some((first, self.analyse_whole(otherwise)?)));
        self.level -= 1;
        let (first, second) = arms?;
        let height = first.height.max(second.height);
        let form = match (self.truth(func.yielded(then)[0]), self.truth(func.yielded(otherwise)[0])) {
            // What may be evaluated anyway would be read as an op that evaluates both.
            (_, Some(false)) if self.is_not_speculatable(then) => Form::Lazy(BinOp::AndAnd),
            (Some(true), _) if self.is_not_speculatable(otherwise) => Form::Lazy(BinOp::OrOr),
            _ => Form::Choose,
        };
        (height <= limit).then_some(Shape { form, height, reads: first.reads || second.reads })
    }

    /// Would the right side of `op`, a conjunction or disjunction that evaluates both, be read as evaluated only where it is
    /// needed: does it hold what may not be evaluated anyway, as far as that may print inside of it?
    fn reads_as_lazy(&self, op: Op) -> bool {
        let func = self.func;
        let mut worklist: SmallVec<[Value; 8]> = func.operands(op).get(1).copied().into_iter().collect();
        while let Some(value) = worklist.pop() {
            let printed = func.def_op(value).filter(|_| func.value_name(value).is_none() && func.n_uses(value) == 1);
            let Some(def) = printed else { continue };
            if !effects::summary(func, def).speculatable {
                return true;
            }
            let inner = func.op_regions(def).iter().flat_map(|&region| ops_under(func, region));
            inner.for_each(|inner| worklist.extend_from_slice(func.operands(inner)));
            worklist.extend_from_slice(func.operands(def));
        }
        false
    }

    /// Does `region` hold what may not be evaluated where the program would not?
    fn is_not_speculatable(&self, region: Region) -> bool {
        self.func.ops(region).any(|op| !effects::summary(self.func, op).speculatable)
    }

    /// The truth value that prints for `value`.
    fn truth(&self, value: Value) -> Option<bool> {
        self.inline_op(value)?;
        match self.func.attr_data(self.func.constant(value)?) {
            AttrData::Bool(value) => Some(*value),
            _ => None,
        }
    }

    fn classify_compute(&mut self, op: Op) -> Form {
        let func = self.func;
        let &[body] = func.op_regions(op) else { return Form::Statement };
        let n_results = func.n_results(op);
        let yielded = func.yielded(body);
        if n_results == 0 || yielded.len() != n_results || func.operands(op).len() != 2 * func.region_args(body).len() {
            return Form::Statement;
        }
        let Some(end) = func.terminator(body).filter(|&end| self.style(end).role == Role::Yield) else {
            return Form::Statement;
        };
        let reduce = func
            .def_op(yielded[0])
            .filter(|&op| self.style(op).role == Role::Reduce && func.region_of(op) == Some(body));
        if let Some(reduce) = reduce
            && !self.is_reduction(reduce, yielded)
        {
            return Form::Statement;
        }
        self.analyse(body);
        let is_tree = func.ops(body).all(|inner| {
            let state = self.state(inner);
            inner == end || Some(inner) == reduce || state.is_inline() || state.form == Form::Hidden
        });
        match reduce {
            _ if !is_tree => Form::Statement,
            Some(_) => Form::Reduction,
            None if n_results == 1 => Form::Compute,
            None => Form::Statement,
        }
    }

    /// Can the te.reduce `op`, of which `yielded` is what the compute yields, be written `sum[r: n](…)`?
    fn is_reduction(&mut self, op: Op, yielded: &[Value]) -> bool {
        let func = self.func;
        let &[body] = func.op_regions(op) else { return false };
        let n_results = func.n_results(op);
        let n_axes = func.region_args(body).len();
        let n_inits = func.operands(op).len().checked_sub(2 * n_axes);
        let known = [keys::N_AXES, keys::COMBINER, keys::HAS_WHERE];
        let plain = yielded.len() == n_results
            && func.results(op).zip(yielded).all(|(result, &value)| {
                result == value && func.n_uses(result) == 1 && func.value_name(result).is_none()
            })
            && func.int_of(op, keys::N_AXES) == i64::try_from(n_axes).ok()
            && n_inits.is_some_and(|n| n == 0 || n == n_results)
            && func.word_of(op, keys::COMBINER).is_some_and(is_path)
            && func.entries(func.op_attrs(op)).iter().all(|(key, _)| known.contains(key));
        let n_yielded = n_results + usize::from(func.attr_of(op, keys::HAS_WHERE).is_some());
        plain && n_axes > 0 && func.yielded(body).len() == n_yielded && self.analyse_whole(body).is_some()
    }
}

fn result_scalar(func: &Func, op: Op) -> Option<Scalar> {
    func.value_scalar(func.result(op)?)
}

/// Is it a literal that reads back as what it is?
fn is_literal(func: &Func, op: Op) -> bool {
    let Some(Scalar { elem, lanes: 1 }) = result_scalar(func, op) else { return false };
    let Some(value) = func.attr_of(op, keys::VALUE) else { return false };
    match (func.attr_data(value), elem.kind()) {
        (AttrData::Bool(_), ElemKind::Bool) | (AttrData::Float(..), ElemKind::Float) => true,
        (AttrData::Int(value, _), ElemKind::Signed | ElemKind::Unsigned) => {
            elem.int_range().is_some_and(|(min, max)| (min..=max).contains(value))
        }
        _ => false,
    }
}

fn comparison(func: &Func, op: Op) -> Option<BinOp> {
    Some(match func.word_of(op, keys::PREDICATE)? {
        "eq" => BinOp::Eq,
        "ne" => BinOp::Ne,
        "lt" => BinOp::Lt,
        "le" => BinOp::Le,
        "gt" => BinOp::Gt,
        "ge" => BinOp::Ge,
        _ => return None,
    })
}

/// The list of lengths of a reference to a region.
pub(super) fn lengths(func: &Func, op: Op) -> Option<&[crate::Attr]> {
    match func.attr_data(func.attr_named(op, "lengths")?) {
        AttrData::List(list) => Some(list),
        _ => None,
    }
}

fn has_lengths(func: &Func, op: Op) -> bool {
    let n_starts = func.operands(op).len().saturating_sub(1);
    n_starts > 0 && lengths(func, op).is_some_and(|lengths| lengths.len() == n_starts)
}

/// The name that a stage or an axis goes by.
pub(super) fn name_of(func: &Func, op: Op) -> Option<&str> {
    func.word_of(op, keys::NAME)
}

fn is_stage(text: &str) -> bool {
    is_word(text) && !is_taken(text) && text != "_"
}

fn is_axis(text: &str) -> bool {
    text.split('.').all(is_word)
}

fn is_symbol_call(func: &Func, op: Op) -> bool {
    let callee = func.attr_of(op, keys::CALLEE).map(|attr| func.attr_data(attr));
    func.op_regions(op).is_empty() && func.opcode(op) != Opcode::UNKNOWN && matches!(callee, Some(AttrData::Symbol(_)))
}
