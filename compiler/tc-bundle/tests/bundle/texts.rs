//! The texts: they compile without a warning under several standards, do not clash, and do not change from run to run.

use crate::harness::{Made, Run, STRICT, code, done, folder};
use std::path::Path;
use std::process::Command;
use tc::bundles::{Link, Options, VERSION, write};

fn example(path: &str) -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples").join(path))
        .expect("an example")
}

/// Bundles with all that there is: open sizes, temporaries, maps, clusters, several targets, several functions.
fn all() -> Vec<Made> {
    let add = example("add.tir");
    let open = "cuda{schedule=threads symbolic=true}";
    let clustered = "cuda{schedule=persistent param=\"m=512 n=512 k=128\"}";
    vec![
        Made::new("one", vec![code(&add, "sm_80", open, 1), code(&add, "sm_90a", open, 2)], Link::Embedded),
        Made::new("two", vec![code(&example("softmax.tir"), "sm_70", "cuda{schedule=staged}", 1)], Link::Embedded),
        Made::new("three", vec![code(&example("hopper/clustered.tir"), "sm_90a", clustered, 1)], Link::Files),
        Made::new("four", vec![code(&add, "sm_80", "cuda{schedule=four}", 1)], Link::Files),
    ]
}

#[test]
fn sources_are_c_and_cpp_without_a_warning() {
    for made in all() {
        let source = made.folder.join(format!("{}.c", made.name));
        let languages =
            [("cc", "-std=c99", "c"), ("cc", "-std=c11", "c"), ("cc", "-std=gnu17", "c"), ("c++", "-std=c++17", "c++")];
        for (compiler, standard, language) in languages {
            for level in ["-O0", "-O2", "-O3"] {
                let mut cc = Command::new(compiler);
                cc.args(STRICT).args(["-Wshadow", "-Wconversion", "-Wno-sign-conversion"]);
                cc.args([standard, level, "-x", language, "-c", "-o", "/dev/null"]).arg(&source);
                done(&mut cc);
            }
        }
        let mut syntax = Command::new("c++");
        done(
            syntax
                .args(["-fsyntax-only", "-std=c++17", "-Wall", "-Werror", "-x", "c++"])
                .arg(made.folder.join(format!("{}.h", made.name))),
        );
    }
}

#[test]
fn bundles_share_a_program() {
    let bundles = all();
    let folder = folder("shared");
    let mut text = String::new();
    for made in &bundles {
        text += &format!("#include \"{}/{}.h\"\n", made.folder.display(), made.name);
    }
    text += "int main(void) {\n  return one_load() + two_load() + three_load() + four_load();\n}\n";
    std::fs::write(folder.join("main.c"), text).expect("a file");
    let mut cc = Command::new("cc");
    cc.args(STRICT).arg("-std=c11").arg(folder.join("main.c"));
    cc.args(bundles.iter().map(|made| made.folder.join(format!("{}.c", made.name))));
    done(cc.arg("-o").arg(folder.join("main")).args(["-ldl", "-lpthread"]));
}

/// Names that are words of C, of the bundle's own, and of no language.
const NAMES: &str = "
tir.func @int(stream: f32[8], bytes: f32[8], bundle_x: i32, float: i32, tc_plan: f32[8]) {
  for tx in 0..8 bind(threadIdx.x) {
    stream[tx] = bytes[tx] + cast<f32>(bundle_x + float) + tc_plan[tx]
  }
}
tir.func @bundle_y(A: f32[8]) {
  for tx in 0..8 bind(threadIdx.x) {
    A[tx] = 0.0
  }
}
";

#[test]
fn names_of_authors_are_kept_where_c_allows() {
    let made = Made::new("k", vec![code(NAMES, "sm_80", "cuda", 1)], Link::Embedded);
    let header = std::fs::read_to_string(made.folder.join("k.h")).expect("a header");
    let declared = "k_status k_int(void *stream, float *stream_1, const float *bytes_1, int32_t bundle_x, int32_t float_, \
                    const float *tc_plan_);";
    assert!(header.contains(declared), "{header}");
    let body = "
int main(void) {
  k_status status = k_int(NULL, AT(256), AT(512), 1, 2, AT(1024));
  if (status == K_OK) status = k_bundle_y(NULL, AT(256));
  return (int)status;
}
";
    let (_, log) = Run::on(&made, "8.0").run(&made.program(body));
    assert!(log[1].starts_with("launch int_kernel ") && log[2].starts_with("launch bundle_y_kernel "), "{log:?}");
}

#[test]
fn a_bundle_is_the_same_each_time() {
    let options = Options { name: "k".into(), link: Link::Embedded, rust: false };
    let add = example("add.tir");
    let make = || {
        let pipeline = "cuda{schedule=threads symbolic=true}";
        [code(&add, "sm_80", pipeline, 1), code(&add, "sm_90", pipeline, 2)]
    };
    let [first, second] = make();
    let files = write(&make(), &options).expect("a bundle");
    assert_eq!(write(&[second, first], &options), Ok(files.clone()), "whatever the order of the targets");
    let names: Vec<&str> = files.iter().map(|file| file.name.as_str()).collect();
    assert_eq!(names, ["k.json", "k.sm_80.cubin", "k.sm_90.cubin", "k.h", "k.c"]);
    let document = String::from_utf8(files[0].bytes.clone()).expect("UTF-8");
    assert!(document.contains(&format!("\"bundle\": {VERSION},")), "{document}");
}
