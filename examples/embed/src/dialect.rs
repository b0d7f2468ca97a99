//! Makes computations of `einsum.contract`: `einsum.contract(T, spec = "ik->i")` becomes
//! `compute R[i: 64] = sum[k: 8](T[i, k])`.

use crate::spec::Sum;
use tc::dialects::{arith, te, tir};
use tc::ir::opdef::{Context, Infer, Results};
use tc::ir::{Attrs, Builder, Elem, Func, Op, Rewriter, Type, TypeData, Value, keys, rewrite};
use tc::pass::{FuncPass, PassCx, PassInfo, PassKind};

tc::ir::dialect! {
    /// The rows of `einsum`.
    dialect "einsum";

    /// Multiplies tensors as `spec` says and sums over the indices that its result lacks.
    Contract "contract" (tensors: values, spec: str key)
    { context: Context::Te, results: Results::Count(1), infer: Infer::By(infer) }
}

fn read(func: &Func, tensors: &[Value], attrs: Attrs) -> Result<Sum, String> {
    let spec = func.find_name("spec").and_then(|key| func.as_word(func.entry(attrs, key)?));
    let extent = |&extent| func.as_int(extent).map_or(0, |extent| extent as u64);
    let shape = |&tensor: &Value| Some(func.as_shaped(func.value_type(tensor))?.1.iter().map(extent).collect());
    let shapes = tensors.iter().map(shape).collect::<Option<Vec<Vec<u64>>>>().ok_or("its operands are tensors")?;
    Sum::read(spec.ok_or("it lacks a `spec`")?, &shapes).map_err(|(_, message, _)| message)
}

fn infer(func: &mut Func, tensors: &[Value], attrs: Attrs) -> Result<Type, String> {
    let sum = read(func, tensors, attrs)?;
    let shape: Vec<u64> = sum.output.iter().map(|&letter| sum.extent(letter)).collect();
    Ok(tensor(func, &shape))
}

pub(crate) fn tensor(func: &mut Func, shape: &[u64]) -> Type {
    let elem = func.elem_ty(Elem::F32);
    let shape = shape.iter().map(|&extent| func.int_attr(extent as i64)).collect();
    func.ty(TypeData::Shaped { elem, shape, scope: None })
}

pub(crate) static LOWER_EINSUM: PassInfo = PassInfo {
    name: "lower-einsum",
    page: tc::support::page!("dialect.rs"),
    anchor: "te.func",
    make: |_| Ok(PassKind::Func(te::FUNC, Box::new(LowerEinsum))),
    ..PassInfo::BASE
};

struct LowerEinsum;

impl FuncPass for LowerEinsum {
    fn run(&self, func: &mut Func, _: &mut PassCx) -> bool {
        rewrite::rewrite_ops(func, |rewriter, op| {
            if let Some(contract) = Contract::of(rewriter.func(), op) {
                lower(rewriter, contract);
            }
        })
    }
}

fn lower(rewriter: &mut Rewriter<'_>, contract: Contract) {
    let func = rewriter.func();
    let tensors = contract.tensors(func).to_vec();
    let sum = read(func, &tensors, func.op_attrs(contract.0)).expect("its type was inferred from it");
    let result = func.result(contract.0).expect("its row has one");
    let (ty, name) = (func.value_type(result), func.value_text(result).to_string());
    let b = &mut rewriter.before(contract.0);
    let bounds = bounds(b, &sum, &sum.output);
    let compute = te::Compute::build(b, &bounds, &[], &[ty]);
    let computed = inside(b, compute, &sum.output, &|b, axes| match &sum.summed[..] {
        [] => product(b, &sum, &tensors, axes),
        summed => {
            let args = self::bounds(b, &sum, summed);
            let (n_axes, combiner) = (b.func.int_attr(summed.len() as i64), b.func.word_attr("sum"));
            let elem = b.func.elem_ty(Elem::F32);
            let reduce = te::Reduce::build(b, &args, &[(keys::N_AXES, n_axes), (keys::COMBINER, combiner)], &[elem]);
            inside(b, reduce, summed, &|b, inner| product(b, &sum, &tensors, &[axes, inner].concat()))
        }
    });
    b.name(computed, &name);
    rewriter.replace_op(contract.0, &[computed]);
}

/// The low and high ends of axes in turn.
fn bounds(b: &mut Builder<'_>, sum: &Sum, axes: &[char]) -> Vec<Value> {
    axes.iter().flat_map(|&letter| [b.index(0), b.index(sum.extent(letter) as i64)]).collect()
}

type Vars = [(char, Value)];

/// Makes the body of `op`, with an argument for each axis; gives the result of `op`.
fn inside(b: &mut Builder<'_>, op: Op, axes: &[char], f: &dyn Fn(&mut Builder<'_>, &Vars) -> Value) -> Value {
    let (body, index) = (b.func.op_regions(op)[0], b.func.index_ty());
    let vars: Vec<_> = axes.iter().map(|&axis| (axis, b.arg(body, index, Some(&axis.to_string())))).collect();
    b.within(body, |b| {
        let value = f(b, &vars);
        tir::Yield::build(b, &[value], &[], &[]);
    });
    b.func.result(op).expect("its row has one")
}

fn product(b: &mut Builder<'_>, sum: &Sum, tensors: &[Value], vars: &Vars) -> Value {
    let var = |letter: &char| vars.iter().find(|(other, _)| other == letter).expect("each letter is an axis").1;
    let factors = tensors.iter().zip(&sum.inputs).map(|(&tensor, letters)| {
        let read = te::Read::build(b, tensor, &letters.iter().map(var).collect::<Vec<_>>(), &[], &[]);
        b.func.result(read).expect("its row has one")
    });
    factors
        .collect::<Vec<_>>()
        .into_iter()
        .reduce(|so_far, factor| b.value(arith::MUL, &[so_far, factor], &[]))
        .expect("there is one")
}
