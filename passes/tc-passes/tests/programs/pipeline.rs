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
    let pipeline = parse_pipeline(&pipeline, &table(), &registry, &mut sources).unwrap_or_else(|found| panic!("{found:#?}"));
    for planned in &pipeline.passes {
        let name = planned.info.name;
        let before = module.clone();
        let mut cx = PassCx::default();
        let changed = match &planned.pass {
            PassKind::Func(opcode, pass) => {
                let mut changed = false;
                for func in module.items.iter_mut().filter(|item| item.header.opcode == *opcode) {
                    planned.info.requires.iter().for_each(|form| assert!(form.holds(func), "{name}: {:#?}", form.check(func)));
                    changed |= pass.run(func, &mut cx);
                    planned.info.establishes.iter().for_each(|form| assert!(form.holds(func), "{name}: {:#?}", form.check(func)));
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
            let report = report.unwrap_or_else(|diagnostic| panic!("{schedule}, {name}: {diagnostic:#?}\n{}", show(&module)));
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

#[test]
fn depthwise_keeps_its_meaning_through_every_pass() {
    let text = include_str!("../../../../examples/depthwise2d.tir");
    for schedule in ["naive", "v1", "v2", "v3", "v4"] {
        let module = parse(text);
        let Some(idx) = (0..module.items.len()).find(|&idx| module.items[idx].symbol() == schedule) else {
            panic!("no schedule {schedule}");
        };
        let operator = module.items[idx].header.targets[0].clone();
        agrees_all_the_way(text, &operator, schedule);
    }
}
