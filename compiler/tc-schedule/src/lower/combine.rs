//! Combiners: what a reduction starts from, and how it takes a value in.

use super::Emitter;
use tc_dialects::{arith, te};
use tc_ir::attrs::AttrData;
use tc_ir::clone::Importer;
use tc_ir::opdef::Role;
use tc_ir::{Elem, Func, Module, Op, Opcode, Region, Type, Value, keys};
use tc_support::{Diagnostic, counted, suggest};

/// How a reduction combines.
pub(super) enum Combiner<'a> {
    /// By an op of two operands.
    Op(Opcode),
    /// As a `te.combiner` says.
    User(&'a Func),
}

impl<'a> Combiner<'a> {
    /// The combiner of `reduce`.
    pub(super) fn of(te: &Func, reduce: te::Reduce, module: Option<&'a Module>) -> Result<Combiner<'a>, Diagnostic> {
        let word = te.word_of(reduce.0, keys::COMBINER).unwrap_or("");
        let opcode = match word {
            "sum" => arith::ADD,
            "prod" => arith::MUL,
            "min" => arith::MIN,
            "max" => arith::MAX,
            _ => {
                let found = module.and_then(|module| module.function(word));
                let found = found.filter(|func| func.header.opcode == te::CombinerItem::OPCODE);
                if let Some(misfit) = found.and_then(|combiner| te::misfit(te, reduce.0, combiner)) {
                    return Err(misfit);
                }
                return found.map(Combiner::User).ok_or_else(|| {
                    let text = format!("there is no combiner `{}`", suggest::shorten(word));
                    let known = module.into_iter().flat_map(|module| &module.items);
                    let known = known.filter(|func| func.header.opcode == te::CombinerItem::OPCODE).map(Func::symbol);
                    let names: Vec<&str> = ["sum", "prod", "min", "max"].into_iter().chain(known).collect();
                    let mut diagnostic = Diagnostic::error("combiner", te.op_location(reduce.0), text);
                    diagnostic.help = suggest::did_you_mean(word, names.iter().copied());
                    diagnostic
                });
            }
        };
        Ok(Combiner::Op(opcode))
    }

    /// Writes what the reduction starts from. `elems` are types of the operator's function.
    pub(super) fn identity(&self, emitter: &mut Emitter<'_>, elems: &[Type]) -> Result<Vec<Value>, Diagnostic> {
        match *self {
            Combiner::Op(opcode) => {
                let te = emitter.operator.te;
                let elem = elems.first().and_then(|&ty| te.as_scalar(ty)).filter(|scalar| scalar.lanes == 1);
                let Some(elem) = elem.map(|scalar| scalar.elem) else {
                    let text = "a reduction over vectors is not supported yet";
                    return Err(Diagnostic::error("not-supported", te.location(te.header.loc), text));
                };
                let mut builder = emitter.builder();
                let attr = builder.func.attr(identity_of(opcode, elem));
                let ty = builder.func.elem_ty(elem);
                Ok(vec![builder.constant(attr, ty)])
            }
            Combiner::User(combiner) => {
                let block = combiner.ops(combiner.body()).find(|&op| combiner.opcode(op) == te::Identity::OPCODE);
                let region = block.and_then(|op| combiner.op_regions(op).first().copied());
                let region = region.ok_or_else(|| missing(combiner, "identity"))?;
                expand(emitter, combiner, region, &[])
            }
        }
    }

    /// Writes what the values so far and the new ones come to.
    pub(super) fn combine(
        &self,
        emitter: &mut Emitter<'_>,
        so_far: &[Value],
        new: &[Value],
    ) -> Result<Vec<Value>, Diagnostic> {
        match *self {
            Combiner::Op(opcode) => Ok(vec![emitter.builder().value(opcode, &[so_far[0], new[0]], &[])]),
            Combiner::User(combiner) => {
                let args: Vec<Value> = so_far.iter().chain(new).copied().collect();
                expand(emitter, combiner, combiner.body(), &args)
            }
        }
    }
}

fn missing(combiner: &Func, what: &str) -> Diagnostic {
    let text = format!("the combiner `@{}` has no `{what}`", combiner.symbol());
    Diagnostic::error("combiner", combiner.location(combiner.header.loc), text)
}

/// Copies what `region` of the combiner computes, its parameters being `args`.
fn expand(
    emitter: &mut Emitter<'_>,
    combiner: &Func,
    region: Region,
    args: &[Value],
) -> Result<Vec<Value>, Diagnostic> {
    let mut importer = Importer::new(combiner);
    if !args.is_empty() {
        if combiner.params().len() != args.len() {
            let text = format!(
                "the combiner `@{}` takes {}, not {}",
                combiner.symbol(),
                counted(combiner.params().len(), "value"),
                args.len()
            );
            return Err(Diagnostic::error("combiner", combiner.location(combiner.header.loc), text));
        }
        importer.values.extend(combiner.params().iter().copied().zip(args.iter().copied()));
    }
    let Some(end) = combiner.terminator(region) else { return Err(missing(combiner, "yield")) };
    let ops: Vec<Op> = combiner.ops(region).filter(|&op| op != end && combiner.role(op) != Role::Block).collect();
    let mut builder = emitter.builder();
    for op in ops {
        if combiner.operands(op).iter().any(|operand| !importer.values.contains_key(operand)) {
            return Err(missing(combiner, "value that its identity uses"));
        }
        importer.op(&mut builder, op);
    }
    let values = combiner.operands(end).iter().map(|value| importer.values.get(value).copied());
    values.collect::<Option<Vec<Value>>>().ok_or_else(|| missing(combiner, "value that it yields"))
}

/// What combining by `opcode` leaves alone.
fn identity_of(opcode: Opcode, elem: Elem) -> AttrData {
    let word = match opcode {
        arith::ADD => "sum",
        arith::MUL => "prod",
        arith::MIN => "min",
        _ => "max",
    };
    te::identity_of(word, elem).expect("each of these words combines")
}
