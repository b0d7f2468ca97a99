//! The lint of machine code on stored excerpts: of `nvdisasm`, of an assembler's messages.

use tc_ir::Module;
use tc_perf::{Agreement, Finding, FindingKind, MachineCode, Told, machine_code};
use tc_support::{Location, Severity};
use tc_target::Target;

/// A kernel that waits in a loop, orders memory and meets, as `nvdisasm` 13.2 prints it; of no text of ours.
const WAIT: &str = include_str!("machine_code/wait.nvdisasm");
/// A tile of products without a loop around them, of the program below.
const TILE: &str = include_str!("machine_code/tile.nvdisasm");
/// `-v` of a kernel that keeps all in registers.
const FINE: &str = "Function properties for k\n  0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n";

/// A kernel with products, and a loop around `body`.
fn program(body: &str) -> String {
    format!(
        "tir 1
tir.func @f(A: f32[4096]) attributes {{noalias}} {{
  @k(A)
}}
tir.func @k(A: f32[4096]) attributes {{noalias, threaded, device}} {{
  for tx in 0i32..128i32 bind(threadIdx.x) {{
    alloc AS: f16[4096] in shared attributes {{align = 1024}}
    alloc BS: f16[4096] in shared attributes {{align = 1024}}
    alloc CF: f32[32] in local
    {body}
    A[tx] = CF[0]
  }}
}}"
    )
}

const PRODUCT: &str = "wgmma.mma(&CF[0i32 : 32], &AS[kt * 16], &BS[kt * 16], b_layout = col_major, a_descriptor = [16, 1024, 128], b_descriptor = [16, 1024, 128])";

fn lint(body: &str, log: &str, listing: &str) -> MachineCode {
    let mut module = Module::new(std::sync::Arc::new(tc_dialects::registry()));
    let file = module.sources.add("some/k.tir", program(body)).expect("small");
    let found = tc_syntax::parse_file(&mut module, file, &tc_syntax::ParseOptions::default());
    assert!(!found.has_errors(), "{}", tc_support::render::text(&found, &module.sources, false));
    let target = Target::parse("sm_90a").expect("known");
    let told = Told { log: Ok(log), listing: Ok(listing.to_string()), resources: Ok(Vec::new()) };
    machine_code(&module, &target, &told)
        .unwrap_or_else(|found| panic!("{}", tc_support::render::text(&found, &module.sources, false)))
}

/// A kind, how many instructions, and their loop.
type Shown = (FindingKind, u64, Option<(u64, u64)>);

fn kinds(code: &MachineCode) -> Vec<Shown> {
    code.kernels[0].findings.iter().map(|one| (one.kind, one.count, one.in_loop)).collect()
}

fn only(code: &MachineCode) -> &Finding {
    let [one] = &code.kernels[0].findings[..] else { panic!("{:#?}", code.kernels[0].findings) };
    one
}

#[test]
fn a_memory_barrier_in_a_loop_is_found_unless_the_program_asks_for_it() {
    let of_block = WAIT.replace("MEMBAR.SC.GPU", "NOP");
    let found = lint("", FINE, WAIT);
    assert_eq!(kinds(&found), [(FindingKind::BarrierInLoop, 3, Some((0x60, 0x1a0)))]);
    assert_eq!(found.kernels[0].loops.len(), 2);
    // The program fences for the copy engine in a loop, which is of the block; not so `membar.gl`.
    let fences = "for i in 0i32..9i32 { tma.fence() }";
    assert_eq!(kinds(&lint(fences, FINE, &of_block)), []);
    let one = lint(fences, FINE, WAIT);
    assert_eq!(only(&one).at.as_ref().map(|(at, _)| *at), Some(0xe0));
    assert!(only(&one).message.ends_with("the program asks for the block at most in a loop"), "{one:?}");
    // Outside of a loop it asks for none in one.
    assert_eq!(kinds(&lint("tma.fence()", FINE, &of_block)).len(), 1);
}

#[test]
fn local_memory_in_a_loop_is_a_spill_or_an_array() {
    let code = WAIT.replace("MEMBAR.SC.GPU", "LDL R2, [R1]").replace("MEMBAR.ALL.CTA", "STL [R1], R2");
    let spilt = FINE.replace("0 bytes spill stores", "8 bytes spill stores");
    for (log, kind, severity) in [
        (spilt.as_str(), FindingKind::SpillInLoop, Severity::Warning),
        (FINE, FindingKind::ArrayInLoop, Severity::Remark),
        ("", FindingKind::SpillInLoop, Severity::Warning),
    ] {
        let found = lint("", log, &code);
        assert_eq!(kinds(&found), [(kind, 3, Some((0x60, 0x1a0)))], "{log}");
        assert_eq!(only(&found).diagnostic().severity, severity, "{log}");
    }
    let outside = WAIT.replace("ULEA UR4, UR5, UR4, 0x18", "STL [R1], R2").replace("MEMBAR", "NOP");
    assert_eq!(kinds(&lint("", &spilt, &outside)), []);
}

#[test]
fn products_are_compared_with_those_of_the_program() {
    let agreement = |body: &str, code: &str| {
        let found = lint(body, FINE, code);
        let [one] = &found.kernels[0].products[..] else { panic!("{:#?}", found.kernels[0].products) };
        let n_found = found.kernels[0].findings.iter().filter(|one| one.kind == FindingKind::ProductCount).count();
        assert_eq!(n_found == 1, one.agreement == Agreement::Unequal);
        assert_eq!(one.shape, "64x64x16");
        (one.machine, one.program, one.agreement.name())
    };
    let within = |head: &str| format!("for kt in {head} {{ {PRODUCT} }}");
    assert_eq!(agreement(&within("0i32..4i32 unroll"), TILE), (Some(4), Some(4), "equal"));
    assert_eq!(agreement(&within("0i32..4i32"), TILE), (Some(4), Some(4), "equal"));
    assert_eq!(agreement(&within("0i32..16i32"), TILE), (Some(4), Some(1), "unknown"));
    assert_eq!(agreement(&within("0i32..5i32 unroll"), TILE), (Some(4), Some(5), "unknown"));
    let one = PRODUCT.replace("kt", "0i32");
    assert_eq!(agreement(&one, TILE), (Some(4), Some(1), "unequal"));
    assert_eq!(agreement(&one, WAIT), (Some(0), Some(1), "unequal"));
    assert_eq!(agreement("", TILE), (Some(4), Some(0), "unequal"));
    // A group without products is one without operands.
    let first = TILE.lines().find(|line| line.contains("HGMMA")).expect("there are products");
    let (before, after) = first.split_once("HGMMA").expect("that is one");
    let end = after.find(';').map_or("", |at| &after[at..]);
    let empty = TILE.replacen(first, &format!("{before}HGMMA.64x8x16.F16 RZ, gdesc[URZ], RZ, !UPT, gsb0 {end}"), 1);
    assert_eq!(agreement(&within("0i32..3i32 unroll"), &empty), (Some(3), Some(3), "equal"));
}

#[test]
fn messages_of_products_stand_at_a_product() {
    let log = include_str!("machine_code/messages.log").replace("product_kernel", "k");
    let found = lint(&format!("for kt in 0i32..4i32 unroll {{ {PRODUCT} }}"), &log, TILE);
    let kinds: Vec<_> = kinds(&found).into_iter().map(|(kind, ..)| kind).collect();
    let expected =
        [FindingKind::InjectedSync, FindingKind::InjectedSync, FindingKind::SerialisedProducts, FindingKind::Message];
    assert_eq!(kinds, expected);
    let first = &found.kernels[0].findings[0];
    assert!(first.at.as_ref().is_some_and(|(_, text)| text.starts_with("HGMMA.64x64x16.F32")), "{first:?}");
    let Location::Span(span) = first.location else { panic!("{first:?}") };
    // The listing has it at the store behind the loop. The first file begins at 1.
    let text = program(&format!("for kt in 0i32..4i32 unroll {{ {PRODUCT} }}"));
    assert!(text[span.start.0 as usize - 1..].starts_with("A[tx] = "), "{first:?}");
    // A wait that no group was closed for is the assembler's own.
    let own = TILE.replace(", gsb0 ;", " ;");
    let found = lint(&format!("for kt in 0i32..4i32 unroll {{ {PRODUCT} }}"), &log, &own);
    assert!(found.kernels[0].findings[0].at.as_ref().is_some_and(|(_, text)| text.starts_with("WARPGROUP.DEPBAR")));
}

#[test]
fn what_is_not_known_is_never_clean() {
    let other = lint("", FINE, &WAIT.replace(".text.k", ".text.other"));
    assert_eq!(other.not_looked_at(), ["`@k`: the machine code has no kernel of this name"]);
    let unclear = lint("", FINE, &WAIT.replace("BRA `(.L_x_2)", "BRX R4 -0xf0"));
    assert_eq!(unclear.not_looked_at(), ["`@k`: loops are not all known: where `BRX` at 0x160 goes is not known"]);
    let cut: Vec<&str> = WAIT.lines().collect();
    for n in 0..cut.len() {
        lint("", FINE, &cut[..n].join("\n"));
    }
}
