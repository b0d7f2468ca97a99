//! The nest that an intrinsic is to stand for.

use crate::analysis::launch::loop_var;
use tc_dialects::algebra::const_extent;
use tc_dialects::arith;
use tc_dialects::tir::{self, LoopKind};
use tc_ir::opdef::Role;
use tc_ir::walk::all_ops;
use tc_ir::{AttrData, Func, Op, Region, Value, effects, keys};
use tc_support::Location;

/// A loop of a nest.
#[derive(Clone, Copy, Debug)]
pub(super) struct Loop {
    pub(super) op: Op,
    pub(super) var: Value,
    pub(super) lo: i64,
    pub(super) extent: i64,
}

/// Loops around one store.
#[derive(Clone, Debug)]
pub(super) struct Chain {
    /// From the outermost inwards.
    pub(super) loops: Vec<Loop>,
    pub(super) store: Op,
}

/// A loop that does one thing: perfect loops around one store; or around the first step of a reduction and then its
/// further ones.
#[derive(Clone, Debug)]
pub(super) struct Nest {
    /// The outermost loop.
    pub(super) root: Op,
    /// The loops around the first step too.
    pub(super) shared: Vec<Loop>,
    /// The first step, where it stands beside the further ones.
    pub(super) first: Option<Chain>,
    /// What is left: of a reduction whose first step stands beside, the further ones.
    pub(super) main: Chain,
    /// The op beside the first step that holds the further ones.
    pub(super) further: Option<Op>,
}

impl Nest {
    /// All loops around the store of the main chain, outermost first.
    pub(super) fn loops(&self) -> impl Iterator<Item = Loop> + Clone + '_ {
        self.shared.iter().chain(&self.main.loops).copied()
    }

    /// All loops around the first step.
    pub(super) fn first_loops(&self) -> impl Iterator<Item = Loop> + Clone + '_ {
        self.shared.iter().chain(self.first.iter().flat_map(|first| &first.loops)).copied()
    }
}

/// Why a loop is no nest that an intrinsic can stand for.
#[derive(Clone, Debug)]
pub(super) struct Obstacle {
    pub(super) at: Location,
    pub(super) text: String,
    pub(super) label: &'static str,
    pub(super) help: &'static str,
}

/// The name of the intrinsic that `op` is marked with.
pub(super) fn mark(func: &Func, op: Op) -> Option<&str> {
    if func.opcode(op) != tir::FOR {
        return None;
    }
    match func.attr_data(func.attr_of(op, keys::TENSORIZE)?) {
        AttrData::Symbol(name) => Some(name),
        _ => Some(""),
    }
}

/// The marked loops of `func`, in the order of the text.
pub(super) fn marked(func: &Func) -> Vec<Op> {
    all_ops(func).filter(|&op| mark(func, op).is_some()).collect()
}

/// The statements of `region`: what does more than to compute and to read.
pub(super) fn statements(func: &Func, region: Region) -> Vec<Op> {
    let plain = |op: Op| func.row(op).terminator || effects::only_reads(func, op);
    // An empty loop is a statement too: it is there for nothing, and should not be taken for a part of what is beside it.
    func.ops(region).filter(|&op| !plain(op) || func.opcode(op) == tir::FOR).collect()
}

/// The nest from the loop `root` inwards.
pub(super) fn nest(func: &Func, root: Op) -> Result<Nest, Obstacle> {
    let mut shared = Vec::new();
    let mut at = root;
    loop {
        shared.push(one_loop(func, at)?);
        let inside = statements(func, func.op_regions(at)[0]);
        match inside[..] {
            [one] if func.opcode(one) == tir::FOR => at = one,
            [first, further] if func.opcode(further) == tir::FOR => {
                let first = chain(func, first)?;
                let main = chain(func, further)?;
                return Ok(Nest { root, shared, first: Some(first), main, further: Some(further) });
            }
            [] | [_] => {
                let main = Chain { loops: Vec::new(), store: the_store(func, at, &inside)? };
                return Ok(Nest { root, shared, first: None, main, further: None });
            }
            _ => return Err(too_much(func, inside[1])),
        }
    }
}

/// The loops from `op`, a statement, inwards to one store.
fn chain(func: &Func, op: Op) -> Result<Chain, Obstacle> {
    let mut loops = Vec::new();
    let (mut at, mut around) = (op, op);
    while func.opcode(at) == tir::FOR {
        loops.push(one_loop(func, at)?);
        let inside = statements(func, func.op_regions(at)[0]);
        around = at;
        match inside[..] {
            [one] => at = one,
            [] => return Err(nothing(func, at)),
            _ => return Err(too_much(func, inside[1])),
        }
    }
    Ok(Chain { loops, store: the_store(func, around, &[at])? })
}

/// The one store that `inside`, the statements of the loop `around`, comes to.
fn the_store(func: &Func, around: Op, inside: &[Op]) -> Result<Op, Obstacle> {
    let &[op] = inside else { return Err(nothing(func, around)) };
    let at = func.op_location(op);
    if func.role(op) == Role::Store {
        return Ok(op);
    }
    let (text, label, help) = match func.opcode(op) {
        tir::IF => (
            format!("a condition{} stands inside, so not all of it is always done", shown(func, op)),
            "the condition",
            "let the factors divide the extents, or `pad` the axis; what is left out on purpose is a `select` in the operator",
        ),
        tir::ALLOC => {
            let name = func.result(op).map_or("", |value| func.value_text(value));
            (
                format!("the buffer `{name}` is made inside"),
                "made here",
                "attach the stage of that buffer to a loop further out",
            )
        }
        _ => (
            format!("`{}` stands inside, where one store is to be", func.op_name(op)),
            "stands here",
            "mark a loop that does nothing but to store elements of one buffer",
        ),
    };
    Err(Obstacle { at, text, label, help })
}

/// The condition of `op` for a message, where it compares what has a name or is a number: ``, `r < 37`,``.
fn shown(func: &Func, op: Op) -> String {
    let mut def = func.def_op(func.operand(op, 0));
    while let Some(op) = def.filter(|&op| func.opcode(op) == arith::LIKELY) {
        def = func.def_op(func.operand(op, 0));
    }
    let compared = def.filter(|&op| func.opcode(op) == arith::CMP);
    let text = |value: Value| match func.const_int(value) {
        Some(number) => Some(number.to_string()),
        None => Some(func.value_text(value)).filter(|name| !name.is_empty()).map(str::to_string),
    };
    let sign = |op: Op| match func.word_of(op, keys::PREDICATE)? {
        "lt" => Some("<"),
        "le" => Some("<="),
        _ => None,
    };
    let of = |op: Op| Some((text(func.operand(op, 0)), sign(op)?, text(func.operand(op, 1))));
    match compared.and_then(of) {
        Some((None, _, None)) | None => String::new(),
        Some((lhs, sign, rhs)) => {
            let [lhs, rhs] = [lhs, rhs].map(|side| side.unwrap_or_else(|| "…".to_string()));
            format!(", `{lhs} {sign} {rhs}`,")
        }
    }
}

fn nothing(func: &Func, around: Op) -> Obstacle {
    Obstacle {
        at: func.op_location(around),
        text: "nothing is stored inside".to_string(),
        label: "this loop does nothing",
        help: "mark a loop that stores elements of one buffer",
    }
}

fn too_much(func: &Func, second: Op) -> Obstacle {
    Obstacle {
        at: func.op_location(second),
        text: "more than one thing is done inside".to_string(),
        label: "the second one",
        help: "mark an inner loop, or attach what is computed beside it elsewhere",
    }
}

fn one_loop(func: &Func, op: Op) -> Result<Loop, Obstacle> {
    let var = loop_var(func, op);
    let (at, name) = (func.op_location(op), func.value_text(var));
    match tir::loop_kind(func, op) {
        Some(LoopKind::Launch(coordinate)) => {
            return Err(Obstacle {
                at,
                text: format!(
                    "the loop `{name}` is bound to {}, and a warp does the whole together",
                    coordinate.name()
                ),
                label: "bound here",
                help: "bind an axis outside of the loop that is marked",
            });
        }
        Some(LoopKind::Vthread) => {
            return Err(Obstacle {
                at,
                text: format!("the loop `{name}` is bound to a virtual thread"),
                label: "bound here",
                help: "bind an axis outside of the loop that is marked",
            });
        }
        _ => {}
    }
    if func.n_results(op) > 0 {
        return Err(Obstacle {
            at,
            text: format!("the loop `{name}` carries values from one iteration to the next"),
            label: "carries values",
            help: "keep what is carried in a buffer",
        });
    }
    let lo = func.const_int(func.operand(op, 0));
    match (lo, const_extent(func, op)) {
        (Some(lo), Some(extent)) => Ok(Loop { op, var, lo, extent }),
        _ => Err(Obstacle {
            at,
            text: format!("how often the loop `{name}` runs is not constant"),
            label: "not constant",
            help: "split the axis by a constant factor, and mark the inner loop",
        }),
    }
}
