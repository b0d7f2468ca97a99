//! scratch
mod common;
use tc_ir::print::{PrintOptions, print_func};
#[test]
fn corpus() {
    for kind in ["in", "ref"] {
        let mut files = vec![];
        for dir in std::fs::read_dir(format!("/tmp/corpus/{kind}")).unwrap() {
            for f in std::fs::read_dir(dir.unwrap().path()).unwrap() {
                files.push(f.unwrap().path());
            }
        }
        files.sort();
        for file in files {
            let text = std::fs::read_to_string(&file).unwrap();
            let registry = tc_dialects::shared_registry();
            let (module, found) = tc_syntax::parse_module("x.tir", &text, &registry, &Default::default());
            let mut all: Vec<_> = found.iter().cloned().collect();
            let mut out = String::new();
            if !found.has_errors() {
                let te = module.items.iter().find(|i| i.header.opcode == tc_dialects::te::FuncItem::OPCODE).unwrap();
                let sched = &module.items[module.schedules_for(te.symbol()).next().unwrap()];
                for d in tc_ir::verify::verify(sched).iter() {
                    all.push(d.clone());
                }
                if all.is_empty() {
                    match tc_schedule::lower(te, Some(sched), Some(&module), &Default::default()) {
                        Ok(p) => {
                            out = print_func(&p, &PrintOptions::default());
                            for d in tc_ir::verify::verify(&p).iter() {
                                println!("VERIFY {d:?}");
                            }
                            if let Some(w) = common::wrong(&module, te.symbol(), p) {
                                println!("WRONG {file:?} {w}");
                            }
                        }
                        Err(f) => all.extend(f.into_iter()),
                    }
                }
            }
            if kind == "in" {
                let o = file.to_str().unwrap().replace("/in/", "/out/").replace(".tir", "");
                std::fs::create_dir_all(std::path::Path::new(&o).parent().unwrap()).unwrap();
                std::fs::write(&o, &out).unwrap();
                println!("// {}\n{}\n{out}", file.display(), text.split("schedule @s").nth(1).unwrap());
                for d in &all {
                    println!("UNEXPECTED {}", d.message);
                }
            } else {
                println!("// {}", file.display());
                for d in &all {
                    let line = match &d.location {
                        tc_support::Location::Span(s) => {
                            module.sources.line_col(s.start).map(|x| x.1.line).unwrap_or(0)
                        }
                        _ => 0,
                    };
                    let lines: Vec<&str> = text.lines().collect();
                    let want = if line >= 2 { lines[line as usize - 2] } else { "" };
                    let ok = want.contains(&format!("{{{{{}", ""))
                        && want.split("{{").nth(1).is_some_and(|w| d.message.contains(w.trim_end_matches("}}")));
                    println!(
                        "   {} {line}: [{}] {}\n        labels {:?} notes {:?} help {:?}",
                        if ok { "ok" } else { "BAD" },
                        d.code,
                        d.message,
                        d.labels.iter().map(|l| &l.text).collect::<Vec<_>>(),
                        d.notes,
                        d.help
                    );
                }
                let n = text.matches("expected-error").count();
                if n != all.len() {
                    println!("   BAD count {} of {n}", all.len());
                }
            }
        }
    }
}
