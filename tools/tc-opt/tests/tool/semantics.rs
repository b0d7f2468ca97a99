//! The pipeline `cuda` keeps the meaning of every hand-written schedule of the examples, around every pass, at full size.

fn agrees(file: &str, func: &str, schedule: &str) {
    let file = format!("{}/../../examples/{file}", env!("CARGO_MANIFEST_DIR"));
    let pipeline = format!("--pass-pipeline=module(cuda{{schedule={schedule} func={func}}})");
    let args = ["tc-opt", &file, &pipeline, "--verify-each=semantics", "-o", "/dev/null"].map(Into::into);
    let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
    let mut stdin = std::io::empty();
    let io = tc_opt::Io::plain(&mut stdin, &mut stdout, &mut stderr);
    let status = tc_opt::run(args, io);
    let text = String::from_utf8(stderr).expect("UTF-8");
    assert_eq!(status, 0, "{text}");
    for pass in ["schedule", "thread-sync", "split-host-device", "narrow-index"] {
        let told = format!("`{pass}`: `@{func}` agreed on ");
        assert!(text.contains(&told), "{pass} was not compared:\n{text}");
    }
    assert!(!text.contains("could not be compared"), "{text}");
}

macro_rules! schedules {
    ($($test:ident $file:literal $func:literal $schedule:literal;)*) => {
        $(#[test]
        fn $test() {
            agrees($file, $func, $schedule);
        })*
    };
}

schedules! {
    conv1d_naive "conv1d.tir" "conv1d_naive" "naive";
    conv1d_v1 "conv1d.tir" "conv1d" "v1";
    conv1d_v2 "conv1d.tir" "conv1d" "v2";
    conv1d_v3 "conv1d.tir" "conv1d" "v3";
    conv1d_v4 "conv1d.tir" "conv1d" "v4";
    conv1d_v5 "conv1d.tir" "conv1d" "v5";
    depthwise2d_naive "depthwise2d.tir" "depthwise2d" "naive";
    depthwise2d_v1 "depthwise2d.tir" "depthwise2d" "v1";
    depthwise2d_v2 "depthwise2d.tir" "depthwise2d" "v2";
    depthwise2d_v3 "depthwise2d.tir" "depthwise2d" "v3";
    depthwise2d_v4 "depthwise2d.tir" "depthwise2d" "v4";
}
