//! The schedules of the example files.

use tc_ir::print::{PrintOptions, print_func};

#[test]
fn show() {
    let path = std::env::var("TIR").unwrap();
    let text = std::fs::read_to_string(path).unwrap();
    let registry = tc_dialects::shared_registry();
    let (module, found) = tc_syntax::parse_module("x.tir", &text, &registry, &Default::default());
    for d in found.iter() {
        eprintln!("{d:?}");
    }
    let only = std::env::var("ONLY").ok();
    let trace = std::env::var("TRACE").is_ok();
    for item in &module.items {
        if item.header.opcode != tc_dialects::te::FuncItem::OPCODE {
            continue;
        }
        for at in module.schedules_for(item.symbol()) {
            let sched = &module.items[at];
            if only.as_deref().is_some_and(|only| only != sched.symbol()) {
                continue;
            }
            println!("// ---- {} {}", item.symbol(), sched.symbol());
            if trace {
                for step in tc_schedule::trace(item, sched, Some(&module), &Default::default()).unwrap() {
                    match step.program {
                        Ok(p) => println!("{}", print_func(&p, &PrintOptions::default())),
                        Err(e) => println!("{:?}", e.iter().map(|d| d.message.clone()).collect::<Vec<_>>()),
                    }
                }
            }
            match tc_schedule::lower(item, Some(sched), Some(&module), &Default::default()) {
                Ok(program) => {
                    println!("{}", print_func(&program, &PrintOptions::default()));
                    let found = tc_ir::verify::verify(&program);
                    for d in found.iter() {
                        println!("VERIFY {d:?}");
                    }
                }
                Err(found) => {
                    for d in found.iter() {
                        println!("ERR {}: {}\n    help {:?} notes {:?}", d.code, d.message, d.help, d.notes);
                    }
                }
            }
        }
    }
}

#[test]
fn speed() {
    let text = std::fs::read_to_string("/work/shared/language-examples/002_conv1d.tir").unwrap();
    let registry = tc_dialects::shared_registry();
    let (module, _) = tc_syntax::parse_module("x.tir", &text, &registry, &Default::default());
    let te = module.function("conv1d").unwrap();
    let v5 = module.items.iter().find(|i| i.symbol() == "v5").unwrap();
    let n = 2000;
    for _ in 0..3 {
        let t = std::time::Instant::now();
        for _ in 0..n {
            std::hint::black_box(tc_schedule::infer_bounds(te, Some(v5), &Default::default()).unwrap());
        }
        println!("bounds {:?}", t.elapsed() / n);
        let t = std::time::Instant::now();
        for _ in 0..n {
            std::hint::black_box(tc_schedule::lower(te, Some(v5), None, &Default::default()).unwrap());
        }
        println!("lower {:?}", t.elapsed() / n);
    }
}
