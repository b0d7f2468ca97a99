//! Buffers in scopes of tiles: which there are, and how ops name parts of them.

use super::invariant::arguments;
use super::launch::loop_var;
use rustc_hash::FxHashSet;
use tc_dialects::algebra::{Algebra, const_extent};
use tc_dialects::fragment::{Family, Fragment, Use as Part, scope_use};
use tc_dialects::tir::{self, LoopKind};
use tc_dialects::{mma, wgmma, wmma};
use tc_ir::uses::{Use, Uses};
use tc_ir::walk::all_ops;
use tc_ir::{AttrData, Builder, Elem, Func, Op, Rewriter, Value, effects, keys};
use tc_pass::PassCx;
use tc_support::Diagnostic;

/// A buffer of numbers in a scope of tiles.
pub(crate) struct Tiles {
    /// The op that makes it.
    pub(crate) alloc: Op,
    /// The buffer.
    pub(crate) buffer: Value,
    /// The family of its scope.
    pub(crate) family: Family,
    /// What its tiles are in a product.
    pub(crate) part: Part,
    /// The type of an element.
    pub(crate) elem: Elem,
    /// Its extents.
    pub(crate) extents: Vec<i64>,
    /// The places in it that ops take.
    pub(crate) references: Vec<Reference>,
    /// The loads and stores of single elements.
    pub(crate) elements: Vec<Op>,
}

/// A region of a buffer of tiles that an op takes.
pub(crate) struct Reference {
    /// The op that makes the reference; `None` where the buffer is taken whole.
    pub(crate) maker: Option<Op>,
    /// The matrix ops that take it.
    pub(crate) users: Vec<Use>,
    /// Where it starts in each dimension; `None` for 0.
    pub(crate) starts: Vec<Option<Value>>,
    /// How far it reaches in each dimension.
    pub(crate) lengths: Vec<i64>,
}

impl Reference {
    /// The op to point at.
    pub(crate) fn at(&self) -> Option<Op> {
        self.users.first().map(|user| user.op).or(self.maker)
    }
}

impl Tiles {
    /// The number of dimensions before those of a tile.
    pub(crate) fn n_leading(&self) -> usize {
        self.extents.len() - n_dims(self.part)
    }

    /// The extents of the last two dimensions; numbers for rows have one column.
    pub(crate) fn last_two(&self) -> [i64; 2] {
        let n = self.n_leading();
        [self.extents[n], self.extents.get(n + 1).copied().unwrap_or(1)]
    }
}

/// The dimensions of a tile.
fn n_dims(part: Part) -> usize {
    if part == Part::Rows { 1 } else { 2 }
}

/// The buffers of tiles of `family` whose elements are numbers, in the order of the text; or what keeps them from being
/// understood.
pub(crate) fn collect(func: &Func, family: Family) -> Result<Vec<Tiles>, Vec<Diagnostic>> {
    let (mut list, mut found) = (Vec::new(), Vec::new());
    for &param in func.params() {
        if is_of(func, param, family) {
            let text = format!("`{}` is a parameter, and lies in a scope of tiles", func.value_text(param));
            let help = "a warp holds tiles while it runs: allocate them, and load them from a parameter in memory";
            found.push(Diagnostic::error("scope", func.location(func.header.loc), text).help(help));
        }
    }
    let makers: Vec<Op> = all_ops(func).filter(|&op| func.opcode(op) == tir::ALLOC).collect();
    let wanted = makers.into_iter().filter(|&op| func.result(op).is_some_and(|value| is_of(func, value, family)));
    let mut uses = None;
    for alloc in wanted {
        let uses = uses.get_or_insert_with(|| Uses::of(func));
        match tiles(func, uses, alloc) {
            Ok(tiles) => list.push(tiles),
            Err(diagnostic) => found.push(diagnostic),
        }
    }
    if found.is_empty() { Ok(list) } else { Err(found) }
}

/// Is `value` a buffer of numbers in a scope of `family`?
fn is_of(func: &Func, value: Value, family: Family) -> bool {
    let Some((elem, _, Some(scope))) = func.as_shaped(func.value_type(value)) else { return false };
    scope_use(func.text(scope)).is_some_and(|(of, _)| of == family) && Fragment::of(func, elem).is_none()
}

fn tiles(func: &Func, uses: &Uses, alloc: Op) -> Result<Tiles, Diagnostic> {
    let error =
        |text: String, help: &str| Err(Diagnostic::error("tile", func.op_location(alloc), text).help(help.to_string()));
    let Some(buffer) = func.result(alloc) else { return error("an alloc makes one buffer".to_string(), "") };
    let (ty, name) = (func.value_type(buffer), func.value_text(buffer));
    let shaped = func.as_shaped(ty);
    let used = shaped.and_then(|(.., scope)| scope_use(func.text(scope?)));
    let scalar = shaped.and_then(|(elem, ..)| func.as_scalar(elem)).filter(|scalar| scalar.lanes == 1);
    let (Some((_, shape, _)), Some((family, part)), Some(scalar)) = (shaped, used, scalar) else {
        let text = format!("`{name}` is a buffer of tiles, whose elements are numbers, not `{}`", func.show_type(ty));
        return error(text, "let the elements be numbers, and vectorize the loops over them");
    };
    let extents: Option<Vec<i64>> = shape.iter().map(|&dim| func.as_int(dim)).collect();
    let Some(extents) = extents.filter(|extents| extents.len() >= n_dims(part)) else {
        let (which, help) = match part {
            Part::Rows => ("last extent is that", "give it one dimension or more, with constant extents"),
            _ => ("last two extents are those", "give it two dimensions or more, with constant extents"),
        };
        let text = format!("`{name}: {}` holds no tiles: its {which} of a tile", func.show_type(ty));
        return error(text, help);
    };
    let mut tiles =
        Tiles { alloc, buffer, family, part, elem: scalar.elem, extents, references: Vec::new(), elements: Vec::new() };
    for user in uses.of_value(buffer) {
        visit(func, uses, user, &mut tiles)?;
    }
    Ok(tiles)
}

fn visit(func: &Func, uses: &Uses, user: &Use, tiles: &mut Tiles) -> Result<(), Diagnostic> {
    let op = user.op;
    match func.opcode(op) {
        tir::LOAD | tir::STORE => tiles.elements.push(op),
        _ if tiles.part == Part::Rows => return Err(escape(func, tiles, op)),
        tir::REF | tir::REGION => {
            let Some(place) = func.result(op) else { return Ok(()) };
            let (starts, lengths) = region(func, op, &tiles.extents).ok_or_else(|| escape(func, tiles, op))?;
            let users = uses.of_value(place).to_vec();
            if let Some(stray) = users.iter().find(|user| !is_matrix_op(func, user.op)) {
                return Err(escape(func, tiles, stray.op));
            }
            tiles.references.push(Reference { maker: Some(op), users, starts, lengths });
        }
        _ if is_matrix_op(func, op) => tiles.references.push(Reference {
            maker: None,
            users: vec![*user],
            starts: vec![None; tiles.extents.len()],
            lengths: tiles.extents.clone(),
        }),
        _ => return Err(escape(func, tiles, op)),
    }
    Ok(())
}

fn is_matrix_op(func: &Func, op: Op) -> bool {
    let dialect = func.opcode(op).dialect();
    [wmma::MMA, mma::SYNC, wgmma::MMA].iter().any(|opcode| dialect == opcode.dialect())
}

/// Where the region starts that `op` refers to, and its lengths.
fn region(func: &Func, op: Op, extents: &[i64]) -> Option<(Vec<Option<Value>>, Vec<i64>)> {
    let given = &func.operands(op)[1..];
    let mut starts: Vec<Option<Value>> = given.iter().map(|&start| Some(start)).collect();
    let mut lengths = vec![1; given.len()];
    if func.opcode(op) == tir::REGION {
        let AttrData::List(list) = func.attr_data(func.attr_named(op, "lengths")?) else { return None };
        lengths = list.iter().map(|&length| func.as_int(length)).collect::<Option<_>>()?;
    }
    lengths.extend_from_slice(extents.get(starts.len()..)?);
    starts.resize(extents.len(), None);
    (lengths.len() == extents.len()).then_some((starts, lengths))
}

fn escape(func: &Func, tiles: &Tiles, op: Op) -> Diagnostic {
    let name = func.value_text(tiles.buffer);
    let (op_name, takers) = (func.op_name(op), if tiles.part == Part::Rows { "" } else { "matrix ops, " });
    let text = format!("`{op_name}` takes tiles of `{name}`, and only {takers}loads and stores do");
    Diagnostic::error("tile", func.op_location(op), text)
        .label(func.op_location(tiles.alloc), "a buffer of tiles")
        .help("copy the tile to a buffer in memory, and take that")
}

/// Knows the ranges of all loops, so that the numbers of tiles come out simple.
pub(crate) fn algebra(func: &Func) -> Algebra {
    let mut algebra = Algebra::of_func(func);
    for op in all_ops(func).filter(|&op| func.opcode(op) == tir::FOR) {
        algebra.enter_loop(func, op);
    }
    algebra
}

/// Where a tile starts, in the order of the ops around it, as a number of `unit`s; `None` where it is not known to start
/// at a multiple of that.
pub(crate) fn start_in_units(
    algebra: &mut Algebra,
    func: &Func,
    start: Option<Value>,
    unit: i64,
) -> Option<tc_arith::Expr> {
    let Some(start) = start else { return Some(algebra.analyzer.pool.int(0)) };
    let expr = algebra.expr(func, start);
    in_units(algebra, expr, unit)
}

/// `expr / unit`, if it is a multiple of that.
pub(crate) fn in_units(algebra: &mut Algebra, expr: tc_arith::Expr, unit: i64) -> Option<tc_arith::Expr> {
    let expr = algebra.analyzer.simplify(expr);
    let set = algebra.analyzer.modular(expr);
    if set.coeff() % unit != 0 || set.base() % unit != 0 {
        return None;
    }
    let unit = algebra.analyzer.pool.int(unit);
    let quotient = algebra.analyzer.pool.floor_div(expr, unit);
    Some(algebra.analyzer.simplify(quotient))
}

/// `value` as an `index`.
pub(crate) fn as_index(b: &mut Builder<'_>, value: Option<Value>) -> Value {
    let Some(value) = value else { return b.index(0) };
    let ty = b.func.index_ty();
    if b.func.value_type(value) == ty {
        return value;
    }
    let op = tc_dialects::arith::Cast::build(b, value, &[], &[ty]);
    b.func.result(op).unwrap_or(value)
}

/// Takes out what computed old indices, and what that was computed from, where nothing else uses it.
pub(crate) fn erase_unused(func: &mut Func, values: Vec<Value>) {
    let mut worklist = values;
    let mut rw = Rewriter::new(func);
    while let Some(value) = worklist.pop() {
        let func = rw.func();
        let Some(def) = func.def_op(rw.current(value)).filter(|&def| func.region_of(def).is_some()) else { continue };
        let unused = func.results(def).all(|result| func.n_uses(result) == 0 && func.value_name(result).is_none());
        if unused && func.op_regions(def).is_empty() && effects::summary(func, def).is_pure() {
            worklist.extend_from_slice(func.operands(def));
            rw.erase(def);
        }
    }
}

/// Gives the kind `unroll` to the serial loops of constant extent whose variables tell which element of one of `buffers`
/// is meant: registers have no addresses. Gives their number.
pub(crate) fn unroll_loops_over(func: &mut Func, buffers: &FxHashSet<Value>, cx: &mut PassCx) -> u64 {
    let mut vars: FxHashSet<Value> = FxHashSet::default();
    let mut seen: FxHashSet<Value> = FxHashSet::default();
    for op in all_ops(func) {
        let operands = func.operands(op);
        let indices = match func.opcode(op) {
            tir::REF | tir::REGION | tir::LOAD => 1..operands.len(),
            tir::STORE => 1..operands.len() - 1,
            _ => continue,
        };
        if buffers.contains(&operands[0]) {
            for &index in &operands[indices] {
                if seen.insert(index) {
                    vars.extend(arguments(func, index));
                }
            }
        }
    }
    let chooses = |func: &Func, op: Op| {
        func.opcode(op) == tir::FOR
            && tir::loop_kind(func, op) == Some(LoopKind::Serial)
            && vars.contains(&loop_var(func, op))
    };
    if cx.wants_missed() {
        let open = all_ops(func).filter(|&op| chooses(func, op) && const_extent(func, op).is_none());
        open.for_each(|op| cx.report(not_unrolled(func, op)));
    }
    let is_wanted = |func: &Func, op: Op| chooses(func, op) && const_extent(func, op).is_some();
    let loops: Vec<Op> = all_ops(func).filter(|&op| is_wanted(func, op)).collect();
    let unroll = func.word_attr("unroll");
    let mut rw = Rewriter::new(func);
    for &op in &loops {
        rw.set_attr(op, keys::KIND, unroll);
    }
    loops.len() as u64
}

/// What is reported of a loop that chooses a register and has to stay.
fn not_unrolled(func: &Func, op: Op) -> Diagnostic {
    let var = func.value_text(loop_var(func, op));
    let text = format!("the loop `{var}` chooses a fragment, and is not unrolled: its bounds are not constant");
    Diagnostic::remark("not-unrolled", func.op_location(op), text)
        .note("registers have no addresses, so what the loop chooses from has to lie in memory")
        .help("give the loop constant bounds")
}
