//! The schedules of the example files.

use tc_ir::print::{PrintOptions, print_func};

#[test]
fn show() {
    let path = std::env::var("TIR").unwrap();
    let text = std::fs::read_to_string(path).unwrap();
    let registry = tc_dialects::shared_registry();
    let (module, found) = tc_syntax::parse_module("x.tir", &text, &registry, &Default::default());
    for d in found.iter() { eprintln!("{d:?}"); }
    let only = std::env::var("ONLY").ok();
    let trace = std::env::var("TRACE").is_ok();
    for item in &module.items {
        if item.header.opcode != tc_dialects::te::FuncItem::OPCODE { continue; }
        for at in module.schedules_for(item.symbol()) {
            let sched = &module.items[at];
            if only.as_deref().is_some_and(|only| only != sched.symbol()) { continue; }
            println!("// ---- {} {}", item.symbol(), sched.symbol());
            if trace {
                for step in tc_schedule::trace(item, sched, Some(&module), &Default::default()).unwrap() {
                    match step.program { Ok(p) => println!("{}", print_func(&p, &PrintOptions::default())), Err(e) => println!("{:?}", e.iter().map(|d| d.message.clone()).collect::<Vec<_>>()) }
                }
            }
            match tc_schedule::lower(item, Some(sched), Some(&module), &Default::default()) {
                Ok(program) => {
                    println!("{}", print_func(&program, &PrintOptions::default()));
                    let found = tc_ir::verify::verify(&program);
                    for d in found.iter() { println!("VERIFY {d:?}"); }
                }
                Err(found) => for d in found.iter() { println!("ERR {}: {}\n    help {:?} notes {:?}", d.code, d.message, d.help, d.notes); }
            }
        }
    }
}
