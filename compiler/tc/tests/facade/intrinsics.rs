//! The library of tensor intrinsics: each is well formed, named in its page, and its blocks compute on the simulator what
//! it says it computes.

use std::fmt::Write;
use tc::dialects::intrinsics::FILES;
use tc::dialects::te::Intrinsic;
use tc::ir::{Func, keys};
use tc::sim::CheckOptions;
use tc::{Compiler, SemanticsCheck};

/// All intrinsics of the library.
fn library() -> Vec<Func> {
    let compiler = Compiler::new();
    let parse = |(name, text): &(&str, &str)| match compiler.parse(name, text) {
        Ok(parsed) => parsed.module.items,
        Err(failure) => panic!("{name} is not well formed: {:?}", failure.diagnostics),
    };
    FILES.iter().flat_map(parse).collect()
}

#[test]
fn each_is_one_that_loops_can_be_compared_with_and_stands_in_its_page() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/intrinsics.md");
    let page = std::fs::read_to_string(page).expect("the page is there");
    let mut names = Vec::new();
    for item in library() {
        let name = item.symbol().to_string();
        assert!(Intrinsic::of(&item).is_some(), "@{name}");
        assert!(page.contains(&format!("| `@{name}` |")), "docs/intrinsics.md does not name @{name}");
        assert_eq!(name.contains("tf32"), item.entry(item.header.attrs, keys::NUMERICS).is_some(), "@{name}");
        names.push(name);
    }
    let n_names = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), n_names, "two intrinsics have one name");
}

/// The buffer that a tile called `tile` is moved from or to, and the loops that do it.
struct Moved<'a> {
    to: &'a str,
    from: &'a str,
    rows: i64,
    cols: i64,
}

fn copy(out: &mut String, moved: &Moved<'_>, mark: Option<&str>) {
    let mark = mark.map_or(String::new(), |name| format!(" attributes {{tensorize = @{name}}}"));
    let Moved { to, from, rows, cols } = moved;
    let _ = write!(
        out,
        "    for i in 0..{rows}{mark} {{\n      for j in 0..{cols} {{\n        {to}[i, j] = {from}[i, j]\n      }}\n    }}\n"
    );
}

/// A program that loads two tiles from shared memory, multiplies them by the intrinsic `product`, and stores the sum; what
/// of the library can do a step is marked.
fn program(library: &[Func], product: &Func) -> (String, Vec<String>) {
    let intrinsic = Intrinsic::of(product).expect("the library is well formed");
    let name = product.symbol();
    let is_wmma = name.starts_with("wmma");
    let family = if is_wmma { "wmma" } else { "mma" };
    let parts: Vec<&str> = name.split('_').collect();
    let (shape, elem, sums) = (parts[1], parts[2], parts[3]);
    let (left, right) = (parts.get(4).copied().unwrap_or("row"), parts.get(5).copied().unwrap_or("row"));
    let params = product.params();
    let extents = |value| <[i64; 2]>::try_from(intrinsic.extents(value).expect("constant")).expect("two dimensions");
    let ([ar, ac], [br, bc], [m, n]) = (extents(params[0]), extents(params[1]), extents(intrinsic.result));
    let memory = if elem == "tf32" { "f32" } else { elem };
    let has = |wanted: &str| library.iter().any(|item| item.symbol() == wanted);
    let load = |side: &str, layout: &str, [rows, cols]: [i64; 2]| {
        let turned = if layout == "col" { "_col" } else { "" };
        let trans = if (side == "a") == (layout == "col") { "_trans" } else { "" };
        if is_wmma {
            format!("wmma_load_{side}_{shape}_{elem}{turned}")
        } else {
            format!("ldmatrix_{side}_{rows}x{cols}_{memory}{trans}")
        }
    };
    let (load_a, load_b) = (load("a", left, [ar, ac]), load("b", right, [br, bc]));
    let turned = is_wmma && (left, right) == ("col", "col");
    let store = format!("wmma_store_{shape}_{sums}{}", if turned { "_col" } else { "" });
    let (cr, cc) = if turned { (n, m) } else { (m, n) };
    // Rows that are padded to a multiple of 16 bytes, and by 16 more.
    let [a_row, b_row] = [ac, bc].map(|cols| (cols + 15) / 16 * 16 + 16);
    let mut out = String::new();
    let _ = write!(
        out,
        "tir.func @f(A: {memory}[{ar}, {ac}], B: {memory}[{br}, {bc}], C: {sums}[{cr}, {cc}], D: f32[32]) attributes {{noalias}} {{
  for tx in 0..32 bind(threadIdx.x) {{
    D[tx] = 0.0
  }}
  for ty in 0..1 bind(threadIdx.y) {{
    for tx in 0..32 bind(threadIdx.x) {{
      D[tx] = 1.0
    }}
    alloc AS: {memory}[{ar}, {ac}] in shared attributes {{strides = [{a_row}, 1]}}
    alloc BS: {memory}[{br}, {bc}] in shared attributes {{strides = [{b_row}, 1]}}
    alloc AF: {memory}[{ar}, {ac}] in {family}.matrix_a
    alloc BF: {memory}[{br}, {bc}] in {family}.matrix_b
    alloc CF: {sums}[{m}, {n}] in {family}.accumulator
"
    );
    copy(&mut out, &Moved { to: "AS", from: "A", rows: ar, cols: ac }, None);
    copy(&mut out, &Moved { to: "BS", from: "B", rows: br, cols: bc }, None);
    let mut used = vec![name.to_string()];
    for (load, to, from, [rows, cols]) in [(&load_a, "AF", "AS", [ar, ac]), (&load_b, "BF", "BS", [br, bc])] {
        let mark = has(load).then_some(load.as_str());
        copy(&mut out, &Moved { to, from, rows, cols }, mark);
        used.extend(mark.map(str::to_string));
    }
    let zero = match sums {
        "i32" => "0i32",
        "f16" => "0.0f16",
        _ => "0.0",
    };
    let a = if left == "row" { "AF[i, k]" } else { "AF[k, i]" };
    let b = if right == "row" { "BF[k, j]" } else { "BF[j, k]" };
    let cast = |value: &str| if memory == sums { value.to_string() } else { format!("cast<{sums}>({value})") };
    let k = if left == "row" { ac } else { ar };
    let _ = write!(
        out,
        "    for i in 0..{m} attributes {{tensorize = @{name}}} {{
      for j in 0..{n} {{
        CF[i, j] = {zero}
        for k in 0..{k} {{
          CF[i, j] = CF[i, j] + {} * {}
        }}
      }}
    }}
",
        cast(a),
        cast(b)
    );
    if turned {
        let _ = write!(
            out,
            "    for i in 0..{cr} attributes {{tensorize = @{store}}} {{
      for j in 0..{cc} {{
        C[i, j] = CF[j, i]
      }}
    }}
"
        );
    } else {
        let mark = is_wmma.then_some(store.as_str());
        copy(&mut out, &Moved { to: "C", from: "CF", rows: m, cols: n }, mark);
    }
    used.extend(is_wmma.then_some(store));
    out.push_str("  }\n}\n");
    (out, used)
}

#[test]
fn blocks_compute_what_they_say() {
    let library = library();
    let products = library.iter().filter(|item| Intrinsic::of(item).is_some_and(|each| each.reduction.is_some()));
    let mut used = Vec::new();
    let compiler = Compiler::new();
    for product in products {
        let (text, names) = program(&library, product);
        let name = product.symbol();
        let mut module = match compiler.parse(name, &text) {
            Ok(parsed) => parsed.module,
            Err(failure) => panic!("{name}: {:?}\n{text}", failure.diagnostics),
        };
        let Ok(pipeline) = compiler.pipeline("tensorize-to-wmma", &mut module) else { panic!("{name}") };
        let mut manager = compiler.manager();
        manager.instrument(SemanticsCheck::new(CheckOptions::default()));
        let report = manager.run(&pipeline, &mut module);
        assert!(report.is_ok(), "{name}: {:#?}\n{module}", report.diagnostics);
        let compared = report.diagnostics.iter().any(|found| found.message.contains("agreed on"));
        assert!(compared, "{name} was not compared: {:#?}", report.diagnostics);
        let text = module.to_string();
        assert!(!text.contains("tensorize ="), "{name}: {text}");
        used.extend(names);
    }
    for item in &library {
        assert!(used.iter().any(|name| name == item.symbol()), "@{} was not run", item.symbol());
    }
}
