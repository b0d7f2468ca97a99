//! What a program may hold at each stage of the pipeline.
//!
//! [`SCHEDULED`] is what `schedule` makes; [`FLAT`] is established by `storage-flatten`, [`HOISTED`] by `hoist-alloc`,
//! [`THREADED`] by `thread-sync`, and [`DEVICE`] is what an emitter of kernels accepts. [`MULTI_DIMENSIONAL`] is the
//! other side of [`FLAT`]: what must run before buffers are flattened.

use crate::tir::{self, LoopKind};
use crate::{arith, fragment, sched, te, tma};
use tc_ir::form::{AskOp, Form, Ops, Rule};
use tc_ir::types::ElemKind;
use tc_ir::verify::{has_flag, is_threaded};
use tc_ir::walk::ancestors;
use tc_ir::{AttrData, Func, Op, Opcode, TypeData, Value, keys};
use tc_support::counted;

/// A program of loops: no operators and no directives in it.
pub static SCHEDULED: Form = Form {
    name: "scheduled",
    summary: "A program of loops, in which nothing of an operator or a schedule is left.",
    rules: &[NO_OPERATORS],
};

/// A program whose buffers are still addressed by several indices, or never were.
pub static MULTI_DIMENSIONAL: Form = Form {
    name: "multi-dimensional",
    summary: "A program of loops that is not divided into host and kernels yet, and so has its buffers' shapes.",
    rules: &[NO_OPERATORS, NO_DEVICE],
};

/// A program whose buffers all have one dimension.
pub static FLAT: Form = Form {
    name: "flat",
    summary: "A program whose buffers all have one dimension, compact, with references to elements and stretches only.",
    rules: &[NO_OPERATORS, ONE_DIMENSION, FLAT_REFERENCES, NO_MARKS, NO_SWIZZLE],
};

/// A program whose on-chip buffers stand at the head of their kernel.
pub static HOISTED: Form = Form {
    name: "hoisted",
    summary: "A program whose on-chip buffers stand at the head of their launch nest and whose others at the top.",
    rules: &[NO_OPERATORS, ALLOCS_AT_HEAD],
};

/// A program in which only barriers order threads.
pub static THREADED: Form = Form {
    name: "threaded",
    summary: "A program whose threads are independent and ordered by barriers only.",
    rules: &[NO_OPERATORS, IS_THREADED],
};

/// What an emitter of kernels accepts.
pub static DEVICE: Form = Form {
    name: "device",
    summary: "A program that can be written down for a GPU as it stands.",
    rules: &[
        NO_OPERATORS,
        ONE_DIMENSION,
        FLAT_REFERENCES.by("`storage-flatten`"),
        NO_MARKS.by("`tensorize-to-wmma`"),
        NO_SWIZZLE.by("`storage-flatten`"),
        NO_TILES.by("`infer-fragment` and `distribute-fragments`"),
        KNOWN_OPS,
        NO_INDEX.by("`narrow-index` after `split-host-device`"),
        NO_LIKELY.by("`lower-intrin`"),
        NO_LANES.by("`vectorize-loop`"),
        NO_VIRTUAL_THREADS.by("`inject-virtual-thread`"),
        STATIC_ALLOCS,
        NO_STAGES.by("`inject-async-copy` and `software-pipeline`"),
        NO_FLOOR_DIVISION.by("`lower-intrin`"),
    ],
};

/// All forms, in the order in which a pipeline passes through them.
pub static ALL: &[&Form] = &[&SCHEDULED, &MULTI_DIMENSIONAL, &FLAT, &HOISTED, &THREADED, &DEVICE];

const fn op_rule(name: &'static str, summary: &'static str, ask: AskOp) -> Rule {
    Rule { name, summary, op: Some(ask), of: Ops::Any, func: None, passes: None }
}

/// A rule that only ops with these opcodes can break.
const fn rule_of(only: &'static [Opcode], name: &'static str, summary: &'static str, ask: AskOp) -> Rule {
    Rule { of: Ops::Rows(only), ..op_rule(name, summary, ask) }
}

const fn func_rule(name: &'static str, summary: &'static str, ask: fn(&Func) -> Option<String>) -> Rule {
    Rule { name, summary, op: None, of: Ops::Any, func: Some(ask), passes: None }
}

const NO_OPERATORS: Rule = Rule {
    of: Ops::Dialects(&[te::FUNC.dialect(), sched::SCHEDULE.dialect()]),
    ..op_rule("no-operators", "Nothing of an operator or a schedule is left.", |func, op| {
        Some(format!("`{}` is not part of a program", func.op_name(op)))
    })
};

const NO_DEVICE: Rule = func_rule("no-device", "The function is no kernel on its own.", |func| {
    is_device(func).then(|| format!("`@{}` is a kernel already", func.symbol()))
});

/// Ops that may give something else than numbers.
const NOT_NUMBERS: Ops = Ops::Others(&[arith::CONSTANT.dialect()]);

const ONE_DIMENSION: Rule = Rule {
    name: "one-dimension",
    summary: "Every buffer has one dimension and no strides.",
    op: Some(|func, op| func.results(op).find_map(|value| many_dimensions(func, value))),
    of: NOT_NUMBERS,
    func: Some(|func| func.params().iter().find_map(|&value| many_dimensions(func, value))),
    passes: Some("`storage-flatten`"),
};

const FLAT_REFERENCES: Rule = Rule {
    of: NOT_NUMBERS,
    ..op_rule("flat-references", "References are to elements, or to a stretch of a buffer.", |func, op| {
        let ty = func.value_type(func.result(op)?);
        match func.type_data(ty) {
            TypeData::Ref { shape, .. } if shape.len() > 1 && tma::map_of(func, func.result(op)?).is_none() => {
                Some(format!("the reference `{}` has {}", func.show_type(ty), counted(shape.len(), "dimension")))
            }
            _ => None,
        }
    })
};

const ALLOCS_AT_HEAD: Rule = rule_of(
    &[tir::ALLOC],
    "allocs-at-head",
    "A buffer is made at the head of its launch nest, a global one at the top, or in a branch of the host.",
    |func, op| {
        let outermost = ancestors(func, op).last();
        let name = func.value_text(func.result(op)?);
        if is_global(func, func.result(op)?) {
            // A branch of the host makes what it alone needs.
            let in_loop = tir::choices(func, op).is_none();
            return in_loop.then(|| format!("`{name}` is in global memory and made inside a loop"));
        }
        let launch = ancestors(func, op).filter(|&outer| crate::algebra::is_launch(func, outer)).last();
        let at_head = match launch {
            Some(launch) => func.region_of(op) == func.op_regions(launch).first().copied(),
            None => outermost.is_none(),
        };
        (!at_head).then(|| format!("`{name}` is made inside a loop"))
    },
);

const IS_THREADED: Rule = func_rule("threaded", "`thread-sync` has run.", |func| {
    (!is_threaded(func)).then(|| format!("the threads of `@{}` are not synchronised yet", func.symbol()))
});

const KNOWN_OPS: Rule = rule_of(
    &[Opcode::UNKNOWN, tir::CALL],
    "known-ops",
    "Every op has a row, and calls are those of kernels by the host.",
    |func, op| {
        if func.opcode(op) == Opcode::UNKNOWN {
            return Some(format!("the effect of `{}` is not known", func.op_name(op)));
        }
        is_device(func).then(|| "a kernel cannot call a function".to_string())
    },
);

const NO_INDEX: Rule = op_rule("no-index", "Integers of a kernel have a width.", |func, op| {
    if !is_device(func) {
        return None;
    }
    let arguments = func.op_regions(op).iter().flat_map(|&region| func.region_args(region).iter().copied());
    func.results(op)
        .chain(arguments)
        .find(|&value| func.value_scalar(value).is_some_and(|scalar| scalar.elem == tc_ir::Elem::Index))
        .map(|_| format!("the `index` that `{}` makes has no width in a kernel", func.op_name(op)))
});

const NO_LIKELY: Rule = rule_of(&[arith::LIKELY], "no-likely", "No hint of `likely` is left.", |func, _| {
    is_device(func).then(|| "a hint `likely` is left over".to_string())
});

const NO_LANES: Rule = rule_of(&[tir::FOR], "no-lanes", "No loop waits to become lanes of vectors.", |func, op| {
    left_to_run(func, op, LoopKind::Vectorize, "vectorize")
});

const NO_VIRTUAL_THREADS: Rule = rule_of(
    &[tir::FOR],
    "no-virtual-threads",
    "No loop waits for its virtual threads to be interleaved.",
    |func, op| left_to_run(func, op, LoopKind::Vthread, "bind(vthread)"),
);

fn left_to_run(func: &Func, op: Op, kind: LoopKind, directive: &str) -> Option<String> {
    let is_left = is_device(func) && tir::loop_kind(func, op) == Some(kind);
    is_left.then(|| format!("the directive `{directive}` of this loop was not carried out"))
}

const STATIC_ALLOCS: Rule = rule_of(
    &[tir::ALLOC],
    "static-allocs",
    "On-chip buffers have a constant size; a kernel makes no global ones.",
    |func, op| {
        if !is_device(func) {
            return None;
        }
        let value = func.result(op)?;
        let (_, shape, _) = func.as_shaped(func.value_type(value))?;
        let name = func.value_text(value);
        if is_global(func, value) {
            return Some(format!("a kernel cannot make `{name}` in global memory"));
        }
        shape
            .iter()
            .any(|&dim| !matches!(func.attr_data(dim), AttrData::Int(..)))
            .then(|| format!("the size of `{name}` is not constant"))
    },
);

const NO_STAGES: Rule =
    rule_of(&[tir::ALLOC], "no-stages", "No buffer waits for copies that were to run ahead.", |func, op| {
        if !is_device(func) {
            return None;
        }
        let name = func.value_text(func.result(op)?);
        if func.attr_of(op, keys::ASYNC).is_some() {
            return Some(format!("the asynchronous copies to `{name}` were not made"));
        }
        let stages = func.int_of(op, keys::STAGES)?;
        Some(format!("the {stages} stages of `{name}` were not carried out"))
    });

const NO_MARKS: Rule =
    rule_of(&[tir::FOR], "no-marks", "No loop waits for an intrinsic to take its place.", |func, op| {
        let mark = func.attr_of(op, keys::TENSORIZE)?;
        Some(format!("the directive `tensorize` of this loop, with `{}`, was not carried out", func.show_attr(mark)))
    });

const NO_SWIZZLE: Rule =
    rule_of(&[tir::ALLOC], "no-swizzle", "No buffer waits for its positions to be mixed.", |func, op| {
        func.attr_of(op, keys::SWIZZLE)?;
        Some(format!("the swizzle of `{}` was not carried out", func.value_text(func.result(op)?)))
    });

const NO_TILES: Rule =
    rule_of(&[tir::ALLOC], "no-tiles", "A tile of a warp is a fragment, or lies in registers.", |func, op| {
        if !is_device(func) {
            return None;
        }
        let value = func.result(op)?;
        let (elem, _, scope) = func.as_shaped(func.value_type(value))?;
        fragment::scope_use(func.text(scope?)).filter(|_| fragment::Fragment::of(func, elem).is_none())?;
        Some(format!("the tiles of `{}` are still made of numbers", func.value_text(value)))
    });

const NO_FLOOR_DIVISION: Rule = rule_of(
    &[arith::DIV, arith::MOD],
    "no-floor-division",
    "Integers are divided by `tdiv` and `tmod`.",
    |func, op| {
        if !is_device(func) {
            return None;
        }
        let scalar = func.value_scalar(func.operand(op, 0))?;
        (scalar.elem.kind() != ElemKind::Float).then(|| "a division that rounds down is left over".to_string())
    },
);

/// Is `func` a kernel?
pub fn is_device(func: &Func) -> bool {
    has_flag(func, func.header.attrs, keys::DEVICE)
}

/// Does the buffer `value` lie in global memory?
pub fn is_global(func: &Func, value: Value) -> bool {
    func.as_shaped(func.value_type(value)).is_some_and(|(_, _, scope)| scope.is_none_or(|scope| scope == keys::GLOBAL))
}

fn many_dimensions(func: &Func, value: Value) -> Option<String> {
    let ty = func.value_type(value);
    let (_, shape, _) = func.as_shaped(ty)?;
    let name = func.value_text(value);
    // A tensor map is no memory, and knows the dimensions of its tensor.
    if shape.len() != 1 && !tma::is_map(func, value) {
        return Some(format!("the buffer `{name}: {}` has {}", func.show_type(ty), counted(shape.len(), "dimension")));
    }
    func.buffer_attr(value, keys::STRIDES).map(|_| format!("the buffer `{name}` has strides"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scope::Scope;
    use tc_ir::{Builder, Elem};

    /// `for tx in 0..4 bind(threadIdx.x) { alloc X: f32[shape] in scope }`
    fn program(scope: Scope, shape: &[i64]) -> Func {
        let mut func = Func::new(crate::shared_registry(), tir::FUNC, "f");
        let shape = shape.iter().map(|&extent| func.int_attr(extent)).collect();
        let elem = func.elem_ty(Elem::F32);
        let scope = Some(scope.name_in(&mut func));
        let ty = func.ty(TypeData::Shaped { elem, shape, scope });
        let body = func.body();
        let mut b = Builder::at_end(&mut func, body);
        let (lo, hi) = (b.index(0), b.index(4));
        let (bind, axis) = (b.func.word_attr("bind"), b.func.str_attr("threadIdx.x"));
        let launch = tir::For::build(&mut b, lo, hi, &[], &[(keys::KIND, bind), (keys::AXIS, axis)], &[]);
        let region = b.func.op_regions(launch)[0];
        let index = b.func.index_ty();
        b.arg(region, index, Some("tx"));
        b.within(region, |b| tir::Alloc::build(b, &[], &[ty]));
        func
    }

    #[test]
    fn forms_tell_dimensions_places_and_threads() {
        let func = program(Scope::Shared, &[4, 4]);
        assert!(SCHEDULED.holds(&func) && MULTI_DIMENSIONAL.holds(&func) && HOISTED.holds(&func));
        assert!(!FLAT.holds(&func) && !THREADED.holds(&func));
        assert!(FLAT.holds(&program(Scope::Shared, &[16])));
        // A global buffer has no place inside a loop.
        assert!(!HOISTED.holds(&program(Scope::Global, &[16])));
    }

    #[test]
    fn a_kernel_holds_no_index() {
        let mut func = program(Scope::Local, &[16]);
        assert!(DEVICE.holds(&func), "the rules on integers are for kernels only");
        let unit = func.attr(AttrData::Unit);
        func.header.attrs = func.with_entry(func.header.attrs, keys::DEVICE, unit);
        let found = DEVICE.check(&func);
        assert!(found.iter().all(|diagnostic| diagnostic.message.contains("`index`")) && found.len() == 3, "{found:?}");
    }
}
