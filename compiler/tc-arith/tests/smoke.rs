//! smoke
use tc_arith::*;
#[test]
fn smoke() {
    let mut az = Analyzer::new();
    let p = &mut az.pool;
    let bx = p.named_var(Var(0), "bx");
    let ty = p.named_var(Var(1), "ty");
    let tx = p.named_var(Var(2), "tx");
    let ro = p.named_var(Var(3), "ro");
    let ri = p.named_var(Var(4), "ri");
    az.bind_range(Var(0), Some(0), Some(512));
    az.bind_range(Var(1), Some(0), Some(7));
    az.bind_range(Var(2), Some(0), Some(3));
    az.bind_range(Var(3), Some(0), Some(3));
    az.bind_range(Var(4), Some(0), Some(7));
    macro_rules! c { ($e:expr) => { az.pool.int($e) } }
    let c32 = c!(32); let c4 = c!(4); let c8 = c!(8); let c16k = c!(16384); let lim = c!(16415); let zero = c!(0); let c128=c!(128);
    let p = &mut az.pool;
    let a = p.mul(bx, c32); let b = p.mul(ty, c4); let ab = p.add(a, b); let i = p.add(ab, tx);
    let k = p.mul(ro, c8); let r = p.add(k, ri); let d = p.sub(i, r);
    let g = p.lt(i, lim);
    let d8 = p.sub(i, k);
    let l1 = p.lt(d8, c16k); let l0 = p.le(zero, d8); let both = p.and(l0, l1);
    let q = p.floor_div(i, c32); let m = p.floor_mod(i, c32); let qm0 = p.mul(q, c32); let qm = p.add(qm0, m);
    let x1 = p.floor_div(i, c128); let x2 = p.floor_mod(i, c128);
    let x3 = p.floor_div(d, c4);
    let min = p.min(i, c16k);
    let sel = p.select(g, min, zero);
    for e in [i, d, g, both, q, m, qm, x1, x2, x3, min, sel] {
        let before = az.pool.display(e).to_string();
        let t = std::time::Instant::now();
        let s = az.simplify(e);
        let t = t.elapsed();
        let (b, m) = (az.bounds(s), az.modular(s)); println!("{before}   ->   {}   {b} {m} {t:?}", az.pool.display(s));
    }
}
