//! Schedules: directives, stages and axes by name, branches that open no scope.

use crate::support::*;
use tc_dialects::{arith, sched};
use tc_ir::builder::OpSpec;
use tc_ir::func::ParamDecl;
use tc_ir::{AttrData, Attrs, Builder, Elem, Func, Op, Value};

fn schedule(symbol: &str) -> Func {
    let mut func = item(sched::SCHEDULE, symbol);
    func.header.targets.push("conv1d".to_string());
    func
}

fn named(b: &mut Builder<'_>, opcode: tc_ir::Opcode, operands: &[Value], name: &str) -> Value {
    let attr = b.func.str_attr(name);
    let key = b.func.name("name");
    b.value(opcode, operands, &[(key, attr)])
}

fn stage(b: &mut Builder<'_>, name: &str) -> Value {
    named(b, sched::STAGE_OP, &[], name)
}

fn axis(b: &mut Builder<'_>, stage: Value, name: &str) -> Value {
    named(b, sched::AXIS_OP, &[stage], name)
}

/// `outer, inner = split(axis, factor = factor)`; an empty name is none.
fn split(b: &mut Builder<'_>, axis: Value, factor: Value, names: [&str; 2]) -> [Value; 2] {
    let spec = OpSpec {
        opcode: sched::SPLIT,
        operands: &[axis, factor],
        keyed: 0b01,
        attrs: Attrs::EMPTY,
        results: &[sched::axis_type(b.func); 2],
        n_regions: 0,
    };
    let op = b.op(spec);
    let values: Vec<Value> = b.func.results(op).collect();
    for (&value, name) in values.iter().zip(names).filter(|(_, name)| !name.is_empty()) {
        b.name(value, name);
    }
    [values[0], values[1]]
}

fn cache_write(b: &mut Builder<'_>, stage: Value, scope: &str) -> Value {
    let scope = word(b, "scope", scope);
    let op = sched::CacheWrite::build(b, stage, &[scope], &[]);
    one(b, op)
}

fn bind(b: &mut Builder<'_>, axis: Value, thread: &str) {
    let thread = word(b, "thread", thread);
    sched::Bind::build(b, axis, &[thread], &[]);
}

#[test]
fn directives() {
    let mut func = schedule("v4");
    let b = &mut body(&mut func);
    let out = stage(b, "B");
    let bl = cache_write(b, out, "local");
    b.name(bl, "BL");
    let w = stage(b, "W");
    let scope = word(b, "scope", "shared");
    // Given readers, and none.
    for readers in [&[bl][..], &[]] {
        let spec = OpSpec {
            opcode: sched::CACHE_READ,
            operands: &[&[w], readers].concat(),
            keyed: u16::from(!readers.is_empty()),
            attrs: b.func.dict(&[scope]),
            results: &[sched::stage_type(b.func)],
            n_regions: 0,
        };
        let op = b.op(spec);
        let ws = one(b, op);
        b.name(ws, "WS");
    }
    let i = axis(b, out, "i");
    let n32 = b.index(32);
    let [bx, _] = split(b, i, n32, ["bx", ""]);
    bind(b, bx, "blockIdx.x");
    let (r, r_again) = (axis(b, bl, "r"), axis(b, bl, "r"));
    sched::Reorder::build(b, &[r, r_again], &[], &[]);
    let intrin = b.func.attr(AttrData::Symbol("gemm".into()));
    let key = b.func.name("intrin");
    sched::Tensorize::build(b, r, &[(key, intrin)], &[]);
    let yes = b.func.attr(AttrData::Bool(true));
    let explicit = b.func.name("unroll_explicit");
    let n16 = b.index(16);
    sched::Pragma::build(b, r, n16, &[(explicit, yes)], &[]);
    let op = sched::TransformLayout::build(b, bl, &[], &[]);
    let map = region(b, op, 0);
    let (first, second) = (index_arg(b, map, "i"), index_arg(b, map, "j"));
    b.within(map, |b| {
        let n8 = b.index(8);
        let high = bin(b, arith::DIV, second, n8);
        yields(b, &[high, first]);
    });
    let expected = "\
schedule @v4 for @conv1d {
  BL = cache_write(B, local)
  WS = cache_read(W, shared, [BL])
  WS$1 = cache_read(W, shared)
  bx, _ = split(B.i, factor = 32)
  bind(bx, blockIdx.x)
  reorder(BL.r, BL.r)
  tensorize(BL.r, @gemm)
  pragma(BL.r, auto_unroll_max_step = 16, unroll_explicit = true)
  transform_layout(BL) (i, j) {
    yield j / 8, i
  }
}
";
    assert_eq!(pretty(&func), expected);
    let expected = "\
schedule @v4 for @conv1d {
  $1 = sched.stage(name = \"B\") : sched.stage
  BL = sched.cache_write($1, scope = local) : sched.stage
  $2 = sched.stage(name = \"W\") : sched.stage
  WS = sched.cache_read($2, shared, [BL]) : sched.stage
  WS$1 = sched.cache_read($2, scope = shared) : sched.stage
  $3 = sched.axis($1, name = \"i\") : sched.axis
  $4 = arith.constant(value = 32) : index
  bx, _ = sched.split($3, factor = $4) : sched.axis, sched.axis
  sched.bind(bx, thread = blockIdx.x)
  $5 = sched.axis(BL, name = \"r\") : sched.axis
  $6 = sched.axis(BL, name = \"r\") : sched.axis
  sched.reorder($5, $6)
  sched.tensorize($5, intrin = @gemm)
  $7 = arith.constant(value = 16) : index
  sched.pragma($5, auto_unroll_max_step = $7, unroll_explicit = true)
  sched.transform_layout(BL) (i: index, j: index) {
    $8 = arith.constant(value = 8) : index
    $9 = arith.div(j, $8) : index
    tir.yield($9, i)
  }
}
";
    assert_eq!(generic(&func), expected);
}

#[test]
fn stages_and_axes_without_a_plain_name() {
    let mut func = schedule("s");
    let b = &mut body(&mut func);
    let (odd, reserved) = (stage(b, "a b"), stage(b, "for"));
    let (x, y) = (axis(b, odd, "i"), axis(b, reserved, "for"));
    sched::Reorder::build(b, &[x, y], &[], &[]);
    let out = stage(b, "B");
    let unnamed = cache_write(b, out, "local");
    let (z, w) = (axis(b, unnamed, "i"), axis(b, out, "no axis"));
    sched::Reorder::build(b, &[z, w], &[], &[]);
    // A value that goes by a stage's name, a second name of a stage, and of an axis.
    let taken = cache_write(b, out, "local");
    b.name(taken, "B");
    let acc = stage(b, "B");
    b.name(acc, "acc");
    let outer = axis(b, acc, "i");
    b.name(outer, "outer");
    sched::Reorder::build(b, &[outer], &[], &[]);
    let expected = [
        "reorder(sched.axis(sched.stage(\"a b\"), \"i\"), sched.axis(sched.stage(\"for\"), \"for\"))",
        "$1 = cache_write(B, local)",
        "reorder(sched.axis($1, \"i\"), sched.axis(B, \"no axis\"))",
        "B$1 = cache_write(B, local)",
        "acc = B",
        "outer = acc.i",
        "reorder(outer)",
    ];
    assert_eq!(lines(&pretty(&func)), expected);
}

/// A conditional with one result, a stage; what the branches build they hand on.
fn choice(
    b: &mut Builder<'_>,
    condition: Value,
    name: &str,
    then: impl FnOnce(&mut Builder<'_>) -> Value,
    otherwise: impl FnOnce(&mut Builder<'_>) -> Value,
) -> Value {
    let ty = sched::stage_type(b.func);
    let op: Op = sched::If::build(b, condition, &[], &[ty]);
    let (first, second) = (region(b, op, 0), region(b, op, 1));
    b.within(first, |b| {
        let value = then(b);
        yields(b, &[value]);
    });
    b.within(second, |b| {
        let value = otherwise(b);
        yields(b, &[value]);
    });
    let result = one(b, op);
    b.name(result, name)
}

fn undefined(b: &mut Builder<'_>) -> Value {
    let ty = sched::stage_type(b.func);
    let op = sched::Undefined::build(b, &[], &[ty]);
    one(b, op)
}

/// A parameter with its choices.
fn choices(func: &mut Func, name: &str, elem: Elem, of: &[i64]) -> Value {
    let list = of.iter().map(|&value| func.int_attr(value)).collect();
    let choices = Some(func.attr(AttrData::List(list)));
    func.header.params.push(ParamDecl { attrs: Attrs::EMPTY, choices, default: None });
    let (ty, body) = (func.elem_ty(elem), func.body());
    func.push_arg(body, ty, Some(name))
}

#[test]
fn branches_bind_names_for_what_follows() {
    let mut func = schedule("space");
    func.header.targets.push("conv2d".to_string());
    let p = choices(&mut func, "p", Elem::I32, &[8, 16]);
    let q = choices(&mut func, "q", Elem::I32, &[1, 2]);
    let b = &mut body(&mut func);
    let is = |b: &mut Builder<'_>, value: i64| {
        let value = b.int(value, Elem::I32);
        cmp(b, "eq", p, value)
    };
    let first = is(b, 8);
    let acc = choice(
        b,
        first,
        "acc",
        |b| {
            let out = stage(b, "B");
            let value = cache_write(b, out, "local");
            b.name(value, "acc")
        },
        |b| {
            let second = is(b, 16);
            choice(
                b,
                second,
                "acc",
                |b| stage(b, "B"),
                |b| {
                    let named = stage(b, "C");
                    b.name(named, "acc")
                },
            )
        },
    );
    let third = is(b, 1);
    choice(
        b,
        third,
        "WS",
        |b| {
            let value = cache_write(b, acc, "shared");
            b.name(value, "WS")
        },
        undefined,
    );
    // A name of its own in a branch, handed on under another one.
    let fourth = is(b, 2);
    let late = choice(b, fourth, "late", undefined, |b| {
        let value = cache_write(b, acc, "shared");
        b.name(value, "early")
    });
    sched::Inline::build(b, late, &[], &[]);
    let (r, factor) = (axis(b, acc, "r"), mul(b, p, q));
    split(b, r, factor, ["ro", ""]);
    let expected = "\
schedule @space for @conv1d, @conv2d (p: i32 in [8, 16], q: i32 in [1, 2]) {
  if p == 8 {
    acc = cache_write(B, local)
  } else if p == 16 {
    acc = B
  } else {
    acc = C
  }
  if p == 1 {
    WS = cache_write(acc, shared)
  }
  if p == 2 {
  } else {
    early = cache_write(acc, shared)
    late = early
  }
  inline(late)
  ro, _ = split(acc.r, factor = p * q)
}
";
    assert_eq!(pretty(&func), expected);
}
