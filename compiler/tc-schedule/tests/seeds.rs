//! The schedules of the example files: programs, bounds, parameters, traces.

mod common;

use common::{lower, pair, parse, show, wrong};
use tc_dialects::tir::Coordinate;
use tc_schedule::{Options, Point, Scope, Size, Space, infer_bounds};

const CONV1D: &str = include_str!("../../../filecheck-tests/parse/examples/002_conv1d.tir");
const DEPTHWISE: &str = include_str!("../../../filecheck-tests/parse/examples/003_depthwise2d.tir");
const NCHW: &str = include_str!("../../../filecheck-tests/parse/examples/001_depthwise_nchw.tir");
const HWCN: &str = include_str!("../../../filecheck-tests/parse/examples/000_conv2d_hwcn.tir");
const TENSORCORE: &str = include_str!("../../../filecheck-tests/parse/examples/004_tensorcore.tir");

#[test]
fn v5_is_the_program_of_the_design() {
    let module = parse(CONV1D);
    let program = lower(&module, "conv1d", "v5").expect("the schedule is legal");
    let expected = "tir.func @conv1d(A: f32[16384], W: f32[32], B: f32[16415]) attributes {noalias} {
  for bx in 0..513 bind(blockIdx.x) {
    for ty in 0..8 bind(threadIdx.y) {
      for tx in 0..4 bind(threadIdx.x) {
        let i = bx * 32 + ty * 4 + tx
        alloc BL: f32[1] in local
        BL[0] = 0.0
        for ro in 0..4 {
          alloc WS: f32[8] in shared
          for ax0 in 0..8 {
            WS[ax0] = W[ro * 8 + ax0]
          }
          for ri in 0..8 unroll {
            if likely(i < 16415) {
              let k = i - ro * 8 - ri
              BL[0] = BL[0] + if_then_else(0 <= k && k < 16384, A[k], 0.0) * WS[ri]
            }
          }
        }
        if likely(i < 16415) {
          B[i] = BL[0]
        }
      }
    }
  }
}
";
    assert_eq!(show(&program), expected);
}

#[test]
fn every_schedule_of_the_examples_lowers() {
    for text in [CONV1D, DEPTHWISE, NCHW, HWCN, TENSORCORE] {
        let module = parse(text);
        for item in module.items.iter().filter(|item| item.header.opcode == tc_dialects::te::FuncItem::OPCODE) {
            for at in module.schedules_for(item.symbol()) {
                let name = module.items[at].symbol();
                let lowered = lower(&module, item.symbol(), name);
                assert!(lowered.is_ok(), "{name}: {:?}", lowered.err().iter().flat_map(|found| found.iter()).next());
            }
        }
    }
}

#[test]
fn every_point_of_the_tensor_core_schedule_holds_whole_tiles() {
    let module = parse(TENSORCORE);
    let (operator, schedule) = pair(&module, "conv_tensorcore", "tensorcore");
    let space = Space::of(operator, schedule, &[]).expect("the parameters are right");
    for point in space.points(u64::MAX) {
        let point = point.expect("a point");
        let bounds = space.bounds(&point).expect("the schedule is legal there");
        for stage in bounds.stages.iter().flatten().filter(|stage| stage.scope.is_tile()) {
            assert_eq!(stage.shape[stage.shape.len() - 2..], [Size::Int(16), Size::Int(16)]);
        }
    }
}

#[test]
fn the_conv1d_schedules_compute_the_operator() {
    // The shapes of the example, reduced so that a debug build runs them quickly.
    let small = CONV1D.replace("16384", "100").replace("16415", "131");
    let module = parse(&small);
    for name in ["v1", "v2", "v3", "v4", "v5", "autotvm"] {
        let program = lower(&module, "conv1d", name).expect("the schedule is legal");
        assert_eq!(wrong(&module, "conv1d", program), None, "{name}");
    }
    let program = lower(&module, "conv1d_naive", "naive").expect("the schedule is legal");
    assert_eq!(wrong(&module, "conv1d_naive", program), None);
}

#[test]
fn bounds_are_known_before_there_is_a_program() {
    let module = parse(CONV1D);
    for (name, threads, weights) in [("v4", 32, 4), ("v5", 8 * 4, 8)] {
        let (te, sched) = pair(&module, "conv1d", name);
        let bounds = infer_bounds(te, Some(sched), &Options::default()).expect("the schedule is legal");
        let stage = |name: &str| bounds.graph.tensor_named(name).expect("the stage is there").stage;
        let (bl, ws) = (bounds.stage(stage("BL")).expect("computed"), bounds.stage(stage("WS")).expect("computed"));
        assert_eq!((bl.scope, &bl.shape[..]), (Scope::Local, &[Size::Int(1)][..]));
        assert_eq!((ws.scope, &ws.shape[..], ws.bytes), (Scope::Shared, &[Size::Int(weights)][..], 4 * weights));
        let nest = stage("B");
        assert_eq!(bounds.launch_extent(nest, Coordinate::BlockX), 513);
        let of = |coordinate| bounds.launch_extent(nest, coordinate).int().expect("a number");
        assert_eq!(of(Coordinate::ThreadX) * of(Coordinate::ThreadY), threads);
        assert_eq!(bounds.shared_bytes(nest), 4 * weights);
        // Who demands the weights, and which: the accumulator's loop, from `ro * factor` on.
        assert_eq!(ws.demands.len(), 1);
        assert_eq!(ws.demands[0].consumer, stage("BL"));
        assert_eq!(bounds.show(ws.ranges[0].min), format!("ro * {weights}"));
    }
}

#[test]
fn limits_of_the_target_are_told_early() {
    let text = "te.func @f(A: f32[4096, 64]) -> f32[4096, 64] {
  compute B[i: 4096, j: 64] = A[i, j] + 1.0
  return B
}
schedule @s for @f {
  AS = cache_read(A, shared)
  bx, tx = split(B.i, factor = 2048)
  bind(bx, blockIdx.x)
  bind(tx, threadIdx.x)
  compute_at(AS, bx)
}";
    let module = parse(text);
    let (te, sched) = pair(&module, "f", "s");
    let bounds = infer_bounds(te, Some(sched), &Options::default()).expect("the schedule is legal");
    let target = tc_target::Target::parse("sm_90").expect("there is such a target");
    let over: Vec<String> = bounds.limits(&target).iter().map(|over| over.to_string()).collect();
    assert_eq!(over, ["threads 2048 > 1024", "shared 524288 > 232448", "block 2048 > 1024"]);
}

#[test]
fn parameters_span_a_space_in_the_order_of_the_text() {
    let module = parse(DEPTHWISE);
    let (te, sched) = pair(&module, "depthwise2d", "autotvm");
    let space = Space::of(te, sched, &[]).expect("the parameters are right");
    let all: Result<Vec<Point>, _> = space.points(u64::MAX).collect();
    let all: Vec<Vec<i64>> = all.expect("all can be listed").into_iter().map(|point| point.values).collect();
    assert_eq!(all.len(), 2880);
    assert_eq!(all[0], [1, 1, 0, 1, 0, 0, 0]);
    assert_eq!(all[1], [1, 1, 0, 1, 0, 0, 16]);
    assert_eq!(all[2879], [16, 32, 2, 7, 1, 1, 512]);
}

#[test]
fn every_point_of_a_space_lowers_or_says_why() {
    let module = parse(CONV1D);
    let (te, sched) = pair(&module, "conv1d", "autotvm");
    let space = Space::of(te, sched, &[]).expect("the parameters are right");
    let (mut n_points, mut n_lowered) = (0, 0);
    for point in space.points(u64::MAX) {
        n_points += 1;
        let defines = space.defines(&point.expect("it can be evaluated"));
        let options = Options { defines, ..Options::default() };
        match tc_schedule::lower(te, Some(sched), Some(&module), &options) {
            Ok(program) => {
                n_lowered += 1;
                assert!(tc_ir::verify::verify(&program).is_empty());
            }
            Err(found) => panic!("{:?}: {:?}", options.defines, found.iter().next()),
        }
    }
    // 39 pairs of `block` and `lanes`, 6 steps, 3 ways to cache, 2 ways to unroll.
    assert_eq!((n_points, n_lowered), (39 * 6 * 3 * 2, 39 * 6 * 3 * 2));
}

#[test]
fn a_parameter_chooses_directives_and_its_value_is_checked() {
    let module = parse(CONV1D);
    let (te, sched) = pair(&module, "conv1d", "autotvm");
    let with = |defines: &[(&str, i64)]| {
        let defines = defines.iter().map(|&(name, value)| (name.to_string(), value)).collect();
        tc_schedule::lower(te, Some(sched), Some(&module), &Options { defines, ..Options::default() })
            .map(|program| show(&program))
    };
    let bare = with(&[("use_local", 0), ("step", 8)]).expect("a point of the space");
    assert!(!bare.contains("alloc"), "{bare}");
    let code = |defines: &[(&str, i64)]| with(defines).expect_err("refused").iter().next().expect("a diagnostic").code;
    assert_eq!(code(&[("block", 33)]), "parameter-value");
    assert_eq!(code(&[("blok", 32)]), "unknown-define");
    assert_eq!(code(&[("use_local", 0), ("use_shared", 1)]), "parameter-none");
}

#[test]
fn a_trace_shows_the_program_after_each_directive() {
    let module = parse(CONV1D);
    let (te, sched) = pair(&module, "conv1d", "v4");
    let steps = tc_schedule::trace(te, sched, Some(&module), &Options::default()).expect("the schedule is legal");
    let directives: Vec<&str> = steps.iter().filter_map(|step| sched.row(step.directive).short).collect();
    let expected = ["cache_write", "cache_read", "split", "bind", "bind", "compute_at", "split", "compute_at"];
    assert_eq!(directives, expected);
    let programs: Vec<String> = steps
        .iter()
        .map(|step| show(step.program.as_ref().unwrap_or_else(|found| panic!("{:?}", found.iter().next()))))
        .collect();
    // Before it is attached, the cache holds the whole tensor.
    assert!(programs[4].contains("alloc BL: f32[16415] in local"), "{}", programs[4]);
    assert!(programs[5].contains("alloc BL: f32[1] in local"), "{}", programs[5]);
    assert_eq!(programs.last(), lower(&module, "conv1d", "v4").ok().map(|program| show(&program)).as_ref());
}
