//! How each row prints in a context: looked up once, asked of every op.

use crate::func::Func;
use crate::opdef::{Context, Infer, OpDef, Opcode, ParamKind, Results, Role};
use crate::registry::Registry;

/// How an op of a row prints.
#[derive(Clone, Copy)]
pub(super) struct Style {
    /// The row.
    pub(super) row: &'static OpDef,
    /// The sugar; [`Role::Plain`] where the parser would take it for another row.
    pub(super) role: Role,
    /// What it is called by.
    pub(super) call: &'static str,
    /// Does it read memory?
    pub(super) reads: bool,
    /// May no read move past it?
    pub(super) blocks: bool,
    /// Is a call of it an expression: one result, whose type follows, and no effect beyond reading?
    pub(super) is_expr: bool,
    /// Do its operands come first, by position, none of them optional or a list?
    pub(super) is_simple: bool,
    /// Is there a parameter that takes any number of values?
    pub(super) has_values: bool,
    /// From which operand on free literals take the type of the others.
    pub(super) group: Option<usize>,
    /// Is the result wider than the operands (`ramp`, `broadcast`)?
    pub(super) widens: bool,
    /// Is the result a truth value, whatever the operands are?
    pub(super) is_predicate: bool,
}

impl Style {
    fn new(registry: &Registry, context: Context, opcode: Opcode, row: &'static OpDef) -> Style {
        let (mut reads, mut writes) = (false, false);
        for param in row.params {
            if let ParamKind::Place(access) = param.kind {
                reads |= access.reads();
                writes |= access.writes();
            }
        }
        let effect = &row.effect;
        let blocks = writes || effect.synchronises || effect.unknown || effect.convergent;
        let by_short = row.short.filter(|short| registry.by_short(context, short) == Some(opcode));
        let widens = matches!(row.infer, Infer::By(_)) && row.params.last().is_some_and(|param| param.name == "lanes");
        Style {
            row,
            role: if is_sugar(registry, context, opcode, row.role) { row.role } else { Role::Plain },
            call: by_short.unwrap_or(row.name),
            reads,
            blocks,
            is_expr: row.results == Results::Count(1)
                && !matches!(row.infer, Infer::Written)
                && row.regions.is_empty()
                && !blocks
                && !effect.allocates
                && !row.terminator,
            is_simple: row.params.iter().all(|param| {
                let is_plain = !param.keyed && !param.optional && param.kind != ParamKind::List;
                !param.kind.is_operand() || is_plain
            }) && (row.params.is_sorted_by_key(|param| !param.kind.is_operand())),
            has_values: row.params.iter().any(|param| param.kind == ParamKind::Values),
            group: match row.infer {
                Infer::Same(from) => Some(from),
                Infer::Predicate => Some(0),
                Infer::By(_) if widens => Some(0),
                Infer::By(_) | Infer::All(_) | Infer::Written => None,
            },
            widens,
            is_predicate: matches!(row.infer, Infer::Predicate),
        }
    }
}

/// Does the parser take the sugar of `role` for the row `opcode`?
fn is_sugar(registry: &Registry, context: Context, opcode: Opcode, role: Role) -> bool {
    let found = match role {
        // Whether an operator is that of the row depends on the types of its operands; see `Body::is_own`.
        Role::Plain | Role::OwnBinary(_) | Role::OwnUnary(_) => return true,
        // Which of the two reads a place is depends on the place; see `Body::is_load`.
        Role::Load => return true,
        Role::Constant | Role::Binary(_) | Role::Compare | Role::Unary(_) | Role::Cast | Role::Store | Role::Yield => {
            registry.by_role(Context::Any, role)
        }
        Role::If => registry.by_role(context, role),
        // A block goes by its short name.
        Role::Block => {
            return registry.row(opcode).short.is_some_and(|short| registry.by_short(context, short) == Some(opcode));
        }
        Role::Stage | Role::Axis | Role::Undefined if context != Context::Sched => None,
        Role::Compute | Role::Reduce if context != Context::Te => None,
        _ => registry.by_role(context, role).or_else(|| registry.by_role(Context::Tir, role)),
    };
    found == Some(opcode)
}

/// The styles of all rows in one context.
pub(super) struct Styles {
    pub(super) context: Context,
    /// By the dialect's number, then by the row's index.
    dialects: Vec<Vec<Style>>,
    unknown: Style,
    /// The rows behind `A[i]`: of operators, and of programs.
    pub(super) read: Option<Opcode>,
    pub(super) load: Option<Opcode>,
}

impl Styles {
    /// The styles of the rows of `registry` in `context`.
    pub(super) fn new(registry: &Registry, context: Context) -> Styles {
        let mut dialects: Vec<Vec<Style>> = Vec::new();
        for dialect in registry.dialects() {
            // A dialect that is registered has one.
            let Some(number) = dialect.number else { continue };
            let at = usize::from(number);
            if dialects.len() <= at {
                dialects.resize(at + 1, Vec::new());
            }
            dialects[at] = (dialect.rows.iter().zip(0..))
                .map(|(row, idx)| Style::new(registry, context, Opcode::new(number, idx), row))
                .collect();
        }
        Styles {
            context,
            dialects,
            unknown: Style::new(registry, context, Opcode::UNKNOWN, &OpDef::UNKNOWN),
            read: registry.by_role(Context::Te, Role::Load),
            load: registry.by_role(Context::Any, Role::Load),
        }
    }

    /// The style of `opcode`.
    pub(super) fn of(&self, opcode: Opcode) -> &Style {
        let rows = self.dialects.get(usize::from(opcode.dialect()));
        rows.and_then(|rows| rows.get(usize::from(opcode.row()))).unwrap_or(&self.unknown)
    }

    /// Are these the styles for `func`?
    pub(super) fn fit(&self, func: &Func) -> bool {
        self.context == func.context()
    }
}
