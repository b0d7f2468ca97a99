//! Loops that carry more than they did.

use tc_dialects::tir;
use tc_ir::{Builder, Func, Op, Rewriter, Value};

/// Makes the loop `old` anew so that it carries more, behind what it carries: each of `more` begins with the value that is given,
/// and has that name. [`hand_on`] says what they are after an iteration. Gives the new loop.
pub(crate) fn carry_more(func: &mut Func, old: Op, more: &[(Value, &str)]) -> Op {
    let mut b = Builder::before(func, old);
    let mut inits = b.func.operands(old)[2..].to_vec();
    inits.extend(more.iter().map(|&(init, _)| init));
    let types: Vec<_> = inits.iter().map(|&value| b.func.value_type(value)).collect();
    let (lo, hi, attrs) = (b.func.operand(old, 0), b.func.operand(old, 1), b.func.op_attrs(old));
    let new = tir::For::build(&mut b, lo, hi, &inits, &[], &types);
    let (region, body) = (b.func.op_regions(new)[0], b.func.op_regions(old)[0]);
    let old_args = b.func.region_args(body).to_vec();
    let mut args = Vec::with_capacity(old_args.len());
    for &arg in &old_args {
        let (ty, name) = (b.func.value_type(arg), b.func.value_name(arg));
        let new = b.arg(region, ty, None);
        b.func.set_value_name(new, name);
        args.push(new);
    }
    for &(init, name) in more {
        let ty = b.func.value_type(init);
        b.arg(region, ty, Some(name));
    }
    let results: Vec<Value> = func.results(new).collect();
    // Users of the arguments are found while they stand behind them: a search through all of the function is not needed.
    let mut rw = Rewriter::new(func);
    old_args.into_iter().zip(args).for_each(|(old, new)| rw.replace_value(old, new));
    drop(rw);
    let mut rw = Rewriter::new(func);
    rw.set_attrs(new, attrs);
    for op in rw.func().ops(body).collect::<Vec<Op>>() {
        rw.move_to_end(op, region);
    }
    rw.replace_op(old, &results[..results.len() - more.len()]);
    new
}

/// Adds `values` to what an iteration of `loop_op` hands on.
pub(crate) fn hand_on(func: &mut Func, loop_op: Op, values: &[Value]) {
    let region = func.op_regions(loop_op)[0];
    match func.terminator(region) {
        Some(end) => {
            let mut all = func.operands(end).to_vec();
            all.extend_from_slice(values);
            Rewriter::new(func).set_operands(end, &all);
        }
        None => {
            tir::Yield::build(&mut Builder::at_end(func, region), values, &[], &[]);
        }
    }
}
