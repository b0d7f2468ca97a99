//! x
fn main() {
    let deep = "init { f(a, [".repeat(80);
    for rest in [")", "=", "1 ", "]", "} ]", ", ,", "a ", "else", ": "] {
        let t = format!("tir.func @f() {{\n{deep} = {}\n}}\n", rest.repeat(1_000_000));
        let s = std::time::Instant::now();
        let d = tc_syntax::parse(&t, tc_support::Pos(1), &mut |_, _| ());
        println!("{rest:?} {:?} {}", s.elapsed(), d.len());
    }
}
