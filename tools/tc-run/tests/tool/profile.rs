//! `--profile` without a GPU: an `ncu` of the tests writes the pages that Nsight Compute would.

use crate::tool::{Ran, run};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

const PROGRAM: &str = "\
tir.func @copy(A: f32[1024], B: f32[1024]) attributes {noalias} {
  for b in 0..32 bind(blockIdx.x) {
    for t in 0..32 bind(threadIdx.x) {
      B[b * 32 + t] = A[t * 32 + b]
    }
  }
}
";

const RAW: &str = "\
\"ID\",\"Kernel Name\",\"gpu__time_duration.sum\",\"smsp__inst_executed.sum\",\"dram__bytes_read.sum\",\"dram__bytes_write.sum\",\
\"l1tex__data_pipe_lsu_wavefronts_mem_shared.sum\",\"memory_l2_theoretical_sectors_global\",\"launch__registers_per_thread\",\
\"sm__warps_active.avg.per_cycle_active\",\"device__attribute_display_name\",\
\"smsp__average_warps_issue_stalled_long_scoreboard_per_issue_active.ratio\",\"smsp__average_warps_issue_stalled_selected_per_issue_active.ratio\"
\"\",\"\",\"ns\",\"inst\",\"byte\",\"byte\",\"\",\"sectors\",\"register/thread\",\"warp\",\"\",\"inst\",\"inst\"
\"0\",\"copy_kernel\",\"2,304\",\"320\",\"4,096\",\"0\",\"0\",\"1,152\",\"16\",\"1.50\",\"NVIDIA H200\",\"3.0\",\"1.0\"
";

/// A file of the host's headers, the line of the statement with one of its instructions, and a line that costs little.
const SOURCE: &str = "\
==WARNING== Unable to open source file /tmp/a.cu.
\"File Path\",\"/tmp/a.cu\"
\"Function Name\",\"copy_kernel\"
\"Line No\",\"Source\",\"Address\",\"Source\",\"# Samples\",\"Instructions Executed\",\"L1 Wavefronts Shared\",\"L1 Wavefronts Shared Ideal\",\"L2 Theoretical Sectors Global\",\"L2 Theoretical Sectors Global Ideal\"
\"5\",\"<Unable to open source file>\",\"-\",\"-\",\"7\",\"32\",\"0\",\"0\",\"0\",\"0\"
\"File Path\",\"FILE\"
\"Function Name\",\"copy_kernel\"
\"Line No\",\"Source\",\"Address\",\"Source\",\"# Samples\",\"Instructions Executed\",\"L1 Wavefronts Shared\",\"L1 Wavefronts Shared Ideal\",\"L2 Theoretical Sectors Global\",\"L2 Theoretical Sectors Global Ideal\"
\"3\",\"\",\"-\",\"-\",\"0\",\"32\",\"0\",\"0\",\"0\",\"0\"
\"4\",\"B[b * 32 + t] = A[t * 32 + b]\",\"-\",\"-\",\"93\",\"256\",\"0\",\"0\",\"1,152\",\"256\"
\"\",\"\",\"0x10\",\"LDG.E R2, desc[UR4][R2.64]\",\"90\",\"32\",\"0\",\"0\",\"1,024\",\"128\"
";

/// A folder with a program, and an `ncu` that answers with these pages, or ends as it is told.
struct Bench(PathBuf);

impl Bench {
    fn new(name: &str, raw: &str, script: &str) -> Bench {
        let folder = std::env::temp_dir().join(format!("tc-run-profile-test-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        std::fs::write(folder.join("f.tir"), PROGRAM).expect("written");
        std::fs::write(folder.join("raw.csv"), raw).expect("written");
        std::fs::write(folder.join("source.csv"), SOURCE.replace("FILE", &folder.join("f.tir").display().to_string()))
            .expect("written");
        let ncu = folder.join("ncu");
        std::fs::write(&ncu, script.replace("FOLDER", &folder.display().to_string())).expect("written");
        std::fs::set_permissions(&ncu, std::fs::Permissions::from_mode(0o755)).expect("it runs");
        Bench(folder)
    }

    fn run(&self, more: &[&str]) -> Ran {
        let (file, ncu) = (self.0.join("f.tir").display().to_string(), self.0.join("ncu").display().to_string());
        let args = [file.as_str(), "--profile", "--device=cuda", "--target=sm_90a", "--ncu", ncu.as_str()];
        run(&[&args[..], more].concat(), "")
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.0).ok();
    }
}

/// Writes a report where it is told to, and the pages.
const NCU: &str = "#!/bin/sh
case \"$*\" in
  *--import*source*) cat 'FOLDER/source.csv' ;;
  *--import*) cat 'FOLDER/raw.csv' ;;
  *) echo \"$@\" >'FOLDER/called'; while [ \"$1\" != --export ]; do shift; done; touch \"$2\" ;;
esac
";

#[test]
fn counters_stand_beside_the_estimate_line_by_line() {
    let bench = Bench::new("join", RAW, NCU);
    let ran = bench.run(&[]);
    assert_eq!(ran.status, 0, "{}{}", ran.stdout, ran.stderr);
    let has = |text: &str| assert!(ran.stdout.contains(text), "{text}\n{}", ran.stdout);
    has("copy: @copy_kernel on NVIDIA H200\n");
    has("  time, us                      2.30");
    // 32 rows of 32 sectors, and 32 of 4, in both ways of counting.
    has("  global, sectors              1,152         1,152\n");
    has("  registers                       16");
    has("  warps wait for      long scoreboard 75 %\n");
    has("  93.0 %           256         1,152 (1,152)");
    has("f.tir:4: B[b * 32 + t] = A[t * 32 + b]\n");
    has("  1 line with less than 0.5 % of the samples each\n");
    // The other process launches the same case.
    let called = std::fs::read_to_string(bench.0.join("called")).expect("it was called");
    for word in ["--clock-control none", "--profiled", "--func=@copy", "--device=cuda:0", "--target=sm_90a"] {
        assert!(called.contains(word), "{word}\n{called}");
    }
    let ran = bench.run(&["--json"]);
    let value: serde_json::Value = serde_json::from_str(&ran.stdout).expect("JSON");
    let kernel = &value["results"][0]["kernels"][0];
    assert_eq!((&kernel["counted"]["sectors"], &kernel["estimated"]["sectors"]), (&1152.0.into(), &1152.0.into()));
    assert_eq!(kernel["lines"].as_array().map(Vec::len), Some(2));
}

#[test]
fn what_keeps_ncu_from_counting_is_told() {
    let refused = |name: &str, raw: &str, script: &str| {
        let ran = Bench::new(name, raw, script).run(&[]);
        assert_eq!(ran.status, 2, "{}{}", ran.stdout, ran.stderr);
        ran.stderr
    };
    let told = refused("fails", RAW, "#!/bin/sh\necho '==ERROR== ERR_NVGPUCTRPERM - no permission' >&2\nexit 9\n");
    assert!(told.contains("ncu ended with exit status: 9 in profiling") && told.contains("run as root"), "{told}");
    let told = refused("silent", RAW, "#!/bin/sh\nexit 0\n");
    assert!(told.contains("ncu ended with exit status: 0 in profiling"), "{told}");
    let told = refused("foreign", "\"a\",\"b\"\n\"\",\"\"\n\"1\",\"2\"\n", NCU);
    assert!(told.contains("ncu tells no times"), "{told}");
    let bench = Bench::new("gone", RAW, NCU);
    std::fs::remove_file(bench.0.join("ncu")).expect("there");
    let ran = bench.run(&[]);
    assert!(ran.status == 2 && ran.stderr.contains("cannot be started"), "{}", ran.stderr);
    let ran = run(&["-", "--profile", "--device=cuda"], PROGRAM);
    assert!(ran.status == 2 && ran.stderr.contains("not the standard input"), "{}", ran.stderr);
    let ran = run(&["-", "--profile"], PROGRAM);
    assert!(ran.status == 2 && ran.stderr.contains("wants `--device=cuda`"), "{}", ran.stderr);
    let ran = run(&["-", "--bench", "--rotate"], PROGRAM);
    assert!(ran.status == 2 && ran.stderr.contains("want `--device=cuda`"), "{}", ran.stderr);
}
