//! Reductions along the rows of a tile, into numbers for rows: `M[i] = max(M[i], S[i, j])` for each `j`.
//!
//! A thread combines what it holds of a row, the four threads of a group hand one another their parts, and each of them
//! combines the total with the number that was there before.

use super::axes::{Access, Axis};
use super::find::Buffer;
use super::layout::LANES_OF_GROUP;
use super::nests::Nests;
use crate::analysis::exchange::{WARP, shuffle};
use crate::analysis::launch::loop_var;
use crate::analysis::tiles::erase_unused;
use tc_arith::Expr;
use tc_dialects::algebra::{Algebra, build_index, const_extent};
use tc_dialects::fragment::Use;
use tc_dialects::scope::Scope;
use tc_dialects::{arith, te, tir};
use tc_ir::walk::{ancestors, is_inside};
use tc_ir::{Attr, Builder, Def, Elem, Func, Op, Opcode, Rewriter, TypeData, Value};
use tc_support::Diagnostic;

/// A reduction along rows.
pub(super) struct RowReduction {
    /// The outermost loop over columns.
    columns: Op,
    /// Reads and writes the number of the row.
    load: Op,
    store: Op,
    /// How two parts are combined, and what it leaves alone.
    combine: Opcode,
    identity: Attr,
    elem: Elem,
    buffer: usize,
    axes: Vec<Axis>,
    /// The indices before that of the row.
    leading: Vec<Expr>,
}

impl RowReduction {
    /// The accesses to the number of the row.
    pub(super) fn accesses(&self) -> [Op; 2] {
        [self.load, self.store]
    }
}

/// The word of the combiners of operators for an op that combines two numbers, in any order.
fn combiner(opcode: Opcode) -> Option<&'static str> {
    [(arith::ADD, "sum"), (arith::MUL, "prod"), (arith::MIN, "min"), (arith::MAX, "max")]
        .into_iter()
        .find_map(|(op, word)| (op == opcode).then_some(word))
}

/// All of them. A number for a row that a loop over columns writes otherwise is refused.
pub(super) fn find(
    func: &mut Func,
    buffers: &[Buffer],
    nests: &mut Nests,
) -> Result<Vec<RowReduction>, Vec<Diagnostic>> {
    let (mut list, mut refused) = (Vec::new(), Vec::new());
    for nth in 0..nests.accesses.len() {
        let access = &nests.accesses[nth];
        let is_row = buffers[access.buffer].tiles.part == Use::Rows;
        if !is_row || func.opcode(access.op) != tir::STORE {
            continue;
        }
        let Some(columns) = columns_around(func, nests, access) else { continue };
        match reduction(func, buffers, nests, nth, columns) {
            Ok(reduction) => list.push(reduction),
            Err(diagnostic) => refused.push(diagnostic),
        }
    }
    if refused.is_empty() { Ok(list) } else { Err(refused) }
}

/// The outermost loop over columns around an access.
fn columns_around(func: &Func, nests: &Nests, access: &Access) -> Option<Op> {
    let is_columns = |op: &Op| nests.roles.get(op).is_some_and(|role| !role.is_group);
    ancestors(func, access.op).filter(is_columns).last()
}

fn reduction(
    func: &mut Func,
    buffers: &[Buffer],
    nests: &mut Nests,
    nth: usize,
    columns: Op,
) -> Result<RowReduction, Diagnostic> {
    let (store, buffer, axes) = {
        let access = &nests.accesses[nth];
        (access.op, access.buffer, access.axes.clone())
    };
    let name = func.value_text(buffers[buffer].tiles.buffer).to_string();
    let refuse = |func: &Func, at: Op, text: String, help: &str| {
        Err(Diagnostic::error("element", func.op_location(at), text)
            .label(func.op_location(columns), "the loop over columns")
            .help(help.to_string()))
    };
    let Some((combine, word, load)) = combined(func, &mut nests.algebra, store, columns) else {
        let text = format!("the number that `{name}` has for a row is written anew for each of its columns");
        let help =
            "reduce along the row, as in `M[i] = max(M[i], S[i, j])`; or write it outside of the loop over columns";
        return refuse(func, store, text, help);
    };
    let row = axes[0].loop_op;
    let others =
        nests.accesses.iter().filter(|access| access.buffer == buffer && access.op != load && access.op != store);
    if let Some(other) = others.map(|access| access.op).find(|&op| is_inside(func, op, columns)) {
        let text = format!("`{name}` is accessed while its rows are reduced: what is there is a part of the sum");
        return refuse(func, other, text, "take it from another loop over columns, after this one");
    }
    let between: Vec<Op> = ancestors(func, columns).take_while(|&op| op != row).collect();
    let all_come = |&op: &Op| func.opcode(op) == tir::FOR && const_extent(func, op).is_some();
    if !is_inside(func, columns, row) || !between.iter().all(all_come) {
        let text = format!("the rows of `{name}` are reduced where not all threads of a row come");
        let help =
            "let the loop over rows stand around the loop over columns, with loops of constant extents alone between";
        return refuse(func, store, text, help);
    }
    let elem = buffers[buffer].tiles.elem;
    let identity = te::identity_of(word, elem).expect("each of these words combines");
    let n = buffers[buffer].tiles.n_leading();
    let indices = func.operands(store)[1..=n].to_vec();
    let leading: Vec<Expr> = indices.into_iter().map(|index| nests.algebra.expr(func, index)).collect();
    let pool = &nests.algebra.analyzer.pool;
    let mut vars = leading.iter().copied().chain(axes.iter().map(|axis| axis.base)).flat_map(|expr| pool.vars(expr));
    if vars.any(|var| is_made_in(func, Algebra::value(var), columns)) {
        let text = format!("which number of `{name}` is meant changes within the loop over columns");
        return refuse(func, store, text, "let the loop over columns be the inner one, for one number of each row");
    }
    let identity = func.attr(identity);
    Ok(RowReduction { columns, load, store, combine, identity, elem, buffer, axes, leading })
}

/// How the element that `store` writes is combined with what is there, the word for it, and the load of that, inside of `columns`.
fn combined(func: &Func, algebra: &mut Algebra, store: Op, columns: Op) -> Option<(Opcode, &'static str, Op)> {
    let operands = func.operands(store);
    let (&value, place) = operands.split_last()?;
    let last = func.def_op(value)?;
    // A sum may be written with differences and products that are added.
    let combine = match func.opcode(last) {
        arith::SUB | arith::FMA => arith::ADD,
        opcode => opcode,
    };
    let word = combiner(combine)?;
    let mut worklist = vec![value];
    while let Some(part) = worklist.pop() {
        let Some(op) = func.def_op(part).filter(|&op| func.n_uses(part) == 1 && is_inside(func, op, columns)) else {
            continue;
        };
        let terms = func.operands(op);
        match func.opcode(op) {
            tir::LOAD => {
                let mut is_same =
                    |(&one, &other): (&Value, &Value)| algebra.expr(func, one) == algebra.expr(func, other);
                if terms[0] == place[0] && terms[1..].iter().zip(&place[1..]).all(&mut is_same) {
                    return Some((combine, word, op));
                }
            }
            opcode if opcode == combine => worklist.extend_from_slice(terms),
            arith::SUB if combine == arith::ADD => worklist.push(terms[0]),
            arith::FMA if combine == arith::ADD => worklist.push(terms[2]),
            _ => {}
        }
    }
    None
}

/// Is `value` made by something inside of `columns`, or a variable of a loop there?
fn is_made_in(func: &Func, value: Value, columns: Op) -> bool {
    let maker = match func.def(value) {
        Def::Arg(region, _) => func.region_parent(region),
        _ => func.def_op(value),
    };
    maker.is_some_and(|op| op == columns || is_inside(func, op, columns))
}

/// Lets each thread combine its own columns, and the threads of a row their parts after the loop. Puts the new accesses in
/// the place of the old ones.
pub(super) fn emit(func: &mut Func, buffers: &[Buffer], nests: &mut Nests, reductions: &[RowReduction]) {
    for reduction in reductions {
        let part = part_of_thread(func, reduction);
        let mut old = Vec::new();
        for op in [reduction.load, reduction.store] {
            let operands = func.operands(op).to_vec();
            let n_indices = buffers[reduction.buffer].tiles.extents.len();
            old.extend_from_slice(&operands[1..=n_indices]);
            let zero = Builder::before(func, op).index(0);
            let new: Vec<Value> = [part, zero].into_iter().chain(operands[1 + n_indices..].iter().copied()).collect();
            Rewriter::new(func).set_operands(op, &new);
        }
        erase_unused(func, old);
        nests.accesses.retain(|access| access.op != reduction.load && access.op != reduction.store);
        let made = join(func, buffers, nests, reduction, part);
        let (buffer, axes) = (reduction.buffer, &reduction.axes);
        nests.accesses.extend(made.map(|op| Access { op, buffer, axes: axes.clone() }));
    }
}

/// Makes the element in which a thread combines its own columns.
fn part_of_thread(func: &mut Func, reduction: &RowReduction) -> Value {
    let mut b = Builder::before(func, reduction.columns);
    let elem = b.func.elem_ty(reduction.elem);
    let (one, scope) = (b.func.int_attr(1), Scope::Local.name_in(b.func));
    let ty = b.func.ty(TypeData::Shaped { elem, shape: [one].into(), scope: Some(scope) });
    let alloc = tir::Alloc::build(&mut b, &[], &[ty]);
    let part = b.func.result(alloc).expect("the row has one result");
    b.name(part, "part");
    let identity = b.constant(reduction.identity, elem);
    let zero = b.index(0);
    tir::Store::build(&mut b, part, &[zero], identity, &[], &[]);
    part
}

/// After the loop over columns, combines the parts of a row's threads and the number before; gives the two accesses.
fn join(func: &mut Func, buffers: &[Buffer], nests: &mut Nests, reduction: &RowReduction, part: Value) -> [Op; 2] {
    let mut exprs = reduction.leading.clone();
    for axis in &reduction.axes {
        let var = loop_var(func, axis.loop_op);
        let pool = &mut nests.algebra.analyzer.pool;
        let var = pool.var(Algebra::var(var));
        exprs.push(axis.index(pool, var));
    }
    let mut b = Builder::after(func, reduction.columns);
    let zero = b.index(0);
    let mut total = b.value(tir::LOAD, &[part, zero], &[]);
    let mut bit = LANES_OF_GROUP / 2;
    while bit > 0 {
        let lane = b.index(bit);
        let other = shuffle(&mut b, total, lane, "xor", WARP);
        total = b.value(reduction.combine, &[total, other], &[]);
        bit /= 2;
    }
    let buffer = buffers[reduction.buffer].tiles.buffer;
    let indices: Vec<Value> = exprs.into_iter().map(|expr| build_index(&mut b, &nests.algebra, expr)).collect();
    let place: Vec<Value> = std::iter::once(buffer).chain(indices.iter().copied()).collect();
    let before = b.value(tir::LOAD, &place, &[]);
    let after = b.value(reduction.combine, &[before, total], &[]);
    let store = tir::Store::build(&mut b, buffer, &indices, after, &[], &[]);
    let load = b.func.def_op(before).expect("a load was made");
    [load, store]
}
