//! What machine code says of its kernels against what `ptxas` says of them, for every target.

use std::collections::BTreeMap;
use std::process::Command;
use tc_runtime::nvrtc::{Options, Output, available, compile};
use tc_runtime::{cubin, ptxas};
use tc_support::Diagnostic;
use tc_target::{Resources, Target};

/// A kernel of few registers, one that holds many at once, one of as many whose launch bounds leave it at most 64, and one whose array is
/// indexed by what is not known.
const SOURCE: &str = r#"
extern "C" __global__ void few(float* y) { y[threadIdx.x] = 1.0f; }
template <int N> static __device__ __forceinline__ void held(const volatile float* x, volatile float* y) {
  float v[N];
  #pragma unroll
  for (int i = 0; i < N; ++i) v[i] = x[i * 32];
  __syncthreads();
  #pragma unroll
  for (int i = 0; i < N; ++i) y[(N - 1 - i) * 32] = v[i];
}
extern "C" __global__ void many(const volatile float* x, volatile float* y) { held<150>(x, y); }
extern "C" __global__ void __launch_bounds__(1024, 2) spilt(const volatile float* x, volatile float* y) { held<150>(x, y); }
extern "C" __global__ void array(const int* at, int* y) {
  int v[300];
  for (int i = 0; i < 300; ++i) v[at[i]] = i;
  y[threadIdx.x] = v[at[threadIdx.x]];
}
"#;

fn shown(wrong: Diagnostic) -> String {
    tc_support::render::one(&wrong, &tc_support::Sources::new(), false)
}

fn by_name(found: Vec<Resources>) -> BTreeMap<String, (u64, u64)> {
    found.into_iter().map(|one| (one.kernel, (one.registers, one.local_bytes))).collect()
}

/// The number before `unit` in `line`.
fn number(line: &str, unit: &str) -> Option<u64> {
    line.split_once(unit)?.0.split_whitespace().next_back()?.parse().ok()
}

/// What `ptxas -v`, from the toolkit of the compiler that is used for `target`, says of the kernels of `ptx`.
fn told(ptx: &str, target: &Target) -> BTreeMap<String, (u64, u64)> {
    let (_, nvrtc) = available(target, None).map_err(shown).expect("scripts/install-nvrtc has run");
    let assembler = nvrtc.parent().and_then(|lib| lib.parent()).expect("it lies in `lib`").join("bin/ptxas");
    let path = std::env::temp_dir().join(format!("tc-resources-{}-{}.ptx", target.name, std::process::id()));
    std::fs::write(&path, ptx).expect("a temporary file");
    let done = Command::new(assembler).args(["-v", "-arch", target.name, "-o", "/dev/null"]).arg(&path).output();
    std::fs::remove_file(&path).ok();
    let done = done.expect("scripts/install-nvrtc puts ptxas beside NVRTC");
    let text = String::from_utf8_lossy(&done.stderr).into_owned() + &String::from_utf8_lossy(&done.stdout);
    assert!(done.status.success(), "{text}");
    let (mut found, mut name) = (BTreeMap::<String, (u64, u64)>::new(), String::new());
    for line in text.lines() {
        if let Some((_, rest)) = line.split_once("entry function '") {
            name = rest.split('\'').next().expect("a name").to_string();
        }
        let of = found.entry(name.clone()).or_default();
        of.0 = number(line, " registers").unwrap_or(of.0);
        of.1 = number(line, " bytes stack frame").unwrap_or(of.1);
    }
    found.retain(|_, of| of.0 > 0);
    found
}

#[test]
fn machine_code_says_what_ptxas_says() {
    for target in Target::all() {
        let make = |output| compile(SOURCE, "k.cu", target, &Options { output, ..Options::default() });
        let code = make(Output::Cubin).map_err(shown).unwrap().code;
        let found = by_name(cubin::resources(&code).map_err(shown).unwrap());
        let ptx = make(Output::Ptx).map_err(shown).unwrap().text();
        assert_eq!(found, told(&ptx, target), "{target}");
        assert_eq!(found.len(), 4, "{target}: {found:?}");
        assert!(found["many"].0 > 150 && found["many"].1 == 0, "{target}: {found:?}");
        assert!(found["spilt"].0 <= 64 && found["spilt"].1 > 0, "{target}: {found:?}");
        assert!(found["array"].1 >= 1200, "{target}: {found:?}");
        // The assembler alone, which may be of another version, takes the same PTX.
        let assembled = ptxas::assemble(&ptx, target).map_err(shown).unwrap();
        assert!(assembled.log.contains(" bytes spill stores"), "{target}: {}", assembled.log);
        let names: Vec<String> =
            by_name(cubin::resources(&assembled.code).map_err(shown).unwrap()).into_keys().collect();
        assert_eq!(names, ["array", "few", "many", "spilt"], "{target}");
    }
}

#[test]
fn what_no_assembler_takes_is_refused_with_what_each_said() {
    let target = Target::parse("sm_80").expect("known");
    let wrong = ptxas::assemble(".version 9.0\n.target sm_80\nnonsense\n", &target).expect_err("no PTX");
    assert_eq!((wrong.code, wrong.message.as_str()), ("ptxas", "no assembler took the PTX"));
    assert!(!wrong.notes.is_empty() && wrong.help.is_some(), "{wrong:?}");
}
