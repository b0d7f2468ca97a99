//! Every hand-written schedule of the examples as CUDA: it compiles for three generations of GPUs, and the same input
//! gives the same bytes.

use tc::Compiler;
use tc::runtime::nvrtc;
use tc::target::Target;

const EXAMPLES: &[(&str, &str, &[&str])] = &[
    ("conv1d.tir", include_str!("../../../examples/conv1d.tir"), &["naive", "v1", "v2", "v3", "v4", "v5"]),
    ("depthwise2d.tir", include_str!("../../../examples/depthwise2d.tir"), &["naive", "v1", "v2", "v3", "v4"]),
];

#[test]
fn every_schedule_compiles_for_three_targets_and_is_emitted_alike_twice() {
    let mut n_compiled = 0;
    for name in ["sm_70", "sm_80", "sm_90"] {
        let target = Target::parse(name).expect("one of the targets");
        let compiler = Compiler { target, ..Compiler::new() };
        for &(file, text, schedules) in EXAMPLES {
            for schedule in schedules {
                let pipeline = format!("cuda{{schedule={schedule}}}");
                let emit = || compiler.compile(file, text, &pipeline).unwrap_or_else(|why| panic!("{schedule}: {why}"));
                let source = emit().source;
                assert_eq!(source, emit().source, "{file} {schedule} for {name}");
                let compiled = nvrtc::compile(&source, file, &target, &nvrtc::Options::default());
                assert!(compiled.is_ok(), "{file} {schedule} for {name}: {:?}\n{source}", compiled.err());
                n_compiled += 1;
            }
        }
    }
    assert_eq!(n_compiled, 33);
}
