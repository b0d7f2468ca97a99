//! The pipeline `cuda`, line by line: what comes out of each is verified, in form, and means the same to the simulator.

use crate::parse;
use tc_dialects::forms;
use tc_ir::opdef::SymbolTable;
use tc_ir::{Module, verify::verify};
use tc_pass::{PassCx, PassKind, PassTable, parse_pipeline};
use tc_passes::table::{PASSES, PIPELINES};
use tc_sim::{CheckOptions, agree};
use tc_support::Sources;

fn table() -> PassTable {
    let mut table = PassTable::new();
    PASSES.iter().for_each(|info| table.add_pass(info).expect("names differ"));
    PIPELINES.iter().for_each(|info| table.add_pipeline(info).expect("names differ"));
    table
}

/// Runs `cuda` for one schedule, comparing after each pass; gives the text at the end.
#[track_caller]
fn agrees_all_the_way(text: &str, operator: &str, schedule: &str) -> String {
    let mut module = parse(text);
    let mut sources = Sources::new();
    let pipeline = format!("cuda{{schedule={schedule} func={operator}}}");
    let registry = module.registry.clone();
    let pipeline =
        parse_pipeline(&pipeline, &table(), &registry, &mut sources).unwrap_or_else(|found| panic!("{found:#?}"));
    for planned in &pipeline.passes {
        let name = planned.info.name;
        let before = module.clone();
        let mut cx = PassCx::default();
        let changed = match &planned.pass {
            PassKind::Func(opcode, pass) => {
                let mut changed = false;
                for func in module.items.iter_mut().filter(|item| item.header.opcode == *opcode) {
                    planned
                        .info
                        .requires
                        .iter()
                        .for_each(|form| assert!(form.holds(func), "{name}: {:#?}", form.check(func)));
                    changed |= pass.run(func, &mut cx);
                    planned
                        .info
                        .establishes
                        .iter()
                        .for_each(|form| assert!(form.holds(func), "{name}: {:#?}", form.check(func)));
                }
                changed
            }
            PassKind::Module(pass) => pass.run(&mut module, &mut cx),
        };
        assert!(cx.diagnostics.is_empty(), "{schedule}, {name}: {:#?}", cx.diagnostics);
        for func in &module.items {
            assert!(verify(func).is_empty(), "{schedule}, {name}: {:#?}\n{func}", verify(func));
        }
        if changed {
            let report = agree(&before, &module, operator, &CheckOptions::default());
            let report =
                report.unwrap_or_else(|diagnostic| panic!("{schedule}, {name}: {diagnostic:#?}\n{}", show(&module)));
            assert!(report.agrees(), "{schedule}, {name}: {report}\n{}\n{}", show(&before), show(&module));
            assert!(report.cells > 0, "{schedule}, {name}: nothing was compared");
        }
    }
    for func in module.items.iter().filter(|item| Module::table_of(item) == SymbolTable::Functions) {
        if forms::is_device(func) {
            assert!(forms::DEVICE.holds(func), "{schedule}: {:#?}\n{func}", forms::DEVICE.check(func));
        }
    }
    show(&module)
}

fn show(module: &Module) -> String {
    module.items.iter().map(|func| func.to_string()).collect::<Vec<_>>().join("\n")
}

fn conv1d() -> String {
    let text = include_str!("../../../../examples/conv1d.tir");
    text.replace("16415", "331").replace("16384", "300")
}

#[test]
fn conv1d_keeps_its_meaning_through_every_pass() {
    for schedule in ["v1", "v2", "v3", "v4", "v5"] {
        let text = agrees_all_the_way(&conv1d(), "conv1d", schedule);
        assert!(text.contains("tir.func @conv1d_kernel("), "{text}");
        assert!(!text.contains("index") && !text.contains("likely"), "{text}");
    }
    agrees_all_the_way(&conv1d(), "conv1d_naive", "naive");
}

#[test]
fn the_shared_copy_of_conv1d_is_fenced_twice() {
    let text = agrees_all_the_way(&conv1d(), "conv1d", "v4");
    assert_eq!(text.matches("gpu.barrier(shared)").count(), 2, "{text}");
    let text = agrees_all_the_way(&conv1d(), "conv1d", "v3");
    assert_eq!(text.matches("gpu.barrier").count(), 0, "{text}");
}

/// The example with one image of two channels and a window of 3.
fn depthwise() -> String {
    let smaller = [
        ("f32[3, 4, 16, 32]", "f32[1, 2, 16, 32]"),
        ("b: 3, c: 4", "b: 1, c: 2"),
        ("f32[4, 1, 7, 7]", "f32[2, 1, 3, 3]"),
        ("ry: 7, rx: 7", "ry: 3, rx: 3"),
        ("h: 22, w: 38", "h: 18, w: 34"),
        ("h >= 3 && h < 19 && w >= 3 && w < 35", "h >= 1 && h < 17 && w >= 1 && w < 33"),
        ("A[b, c, h - 3, w - 3]", "A[b, c, h - 1, w - 1]"),
    ];
    let text = include_str!("../../../../examples/depthwise2d.tir").to_string();
    smaller.into_iter().fold(text, |text, (from, to)| {
        assert!(text.contains(from), "the example has no `{from}` any more");
        text.replace(from, to)
    })
}

#[test]
fn depthwise_keeps_its_meaning_through_every_pass() {
    for schedule in ["naive", "v1", "v2", "v3", "v4"] {
        let text = agrees_all_the_way(&depthwise(), "depthwise2d", schedule);
        assert!(text.contains("tir.func @depthwise2d_kernel("), "{text}");
        // Every thread keeps to its own cell.
        assert!(!text.contains("gpu.barrier"), "{text}");
    }
}
