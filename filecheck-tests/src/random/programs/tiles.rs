//! Kernels on tensor cores: a product of tiles by fragments, or by what each lane holds.

use super::draw::Draw;

impl Draw<'_> {
    /// A program on tensor cores.
    pub(super) fn tensor_cores(&mut self) {
        let tiles = self.choices.between(1, 3);
        let head = format!("tir.func @f(A: f16[{0}], B: f16[{0}], C: f32[256]) attributes {{noalias}}", tiles * 256);
        self.block(&head, |draw| draw.tiles(("A", "B", "C"), tiles));
    }

    /// Multiplies tiles of `a` by tiles of `b`, 16 by 16 each, and writes one to `c`.
    fn tiles(&mut self, (a, b, c): (&str, &str, &str), tiles: i64) {
        let staged = self.choices.chance(50);
        let lanes = self.choices.chance(40);
        let start = self.choices.pick(&["0.0", "1.0", "(-2.0)"]);
        self.made(if lanes { "tiles in registers" } else { "fragments" });
        if lanes {
            return self.registers((a, b, c), tiles, start);
        }
        let (fa, fb, fc) = (self.name("F"), self.name("F"), self.name("F"));
        let tx = self.name("tx");
        self.line(format!("alloc {fa}: wmma.fragment<matrix_a, 16, 16, 16, f16, row_major>[1] in wmma.matrix_a"));
        self.line(format!("alloc {fb}: wmma.fragment<matrix_b, 16, 16, 16, f16, row_major>[1] in wmma.matrix_b"));
        self.line(format!("alloc {fc}: wmma.fragment<accumulator, 16, 16, 16, f32>[1] in wmma.accumulator"));
        self.block(&format!("for {tx} in 0..32 bind(threadIdx.x)"), |draw| {
            draw.line(format!("wmma.fill(&{fc}[0], {start})"));
            let k = draw.name("k");
            draw.block(&format!("for {k} in 0..{tiles}"), |draw| {
                let (mut from, mut at) = (a.to_string(), format!("{k} * 256"));
                if staged {
                    let (tile, e) = (draw.name("S"), draw.name("e"));
                    draw.line(format!("alloc {tile}: f16[256] in shared attributes {{align = 32}}"));
                    draw.block(&format!("for {e} in 0..8"), |draw| {
                        draw.line(format!("{tile}[{e} * 32 + {tx}] = {a}[{k} * 256 + {e} * 32 + {tx}]"));
                    });
                    (from, at) = (tile, "0".to_string());
                }
                draw.line(format!("wmma.load(&{fa}[0], &{from}[{at}], stride = 16, layout = row_major)"));
                draw.line(format!("wmma.load(&{fb}[0], &{b}[{k} * 256], stride = 16, layout = row_major)"));
                draw.line(format!("wmma.mma(&{fc}[0], &{fa}[0], &{fb}[0])"));
            });
            draw.line(format!("wmma.store(&{c}[0], &{fc}[0], stride = 16, layout = row_major)"));
        });
    }

    fn registers(&mut self, (a, b, c): (&str, &str, &str), tiles: i64, start: &str) {
        let tx = self.name("tx");
        let (sa, sb) = (self.name("S"), self.name("S"));
        let (ra, rb, rc) = (self.name("R"), self.name("R"), self.name("R"));
        let asynchronous = self.choices.chance(50);
        self.block(&format!("for {tx} in 0..32 bind(threadIdx.x)"), |draw| {
            draw.line(format!("alloc {sa}: f16[256] in shared attributes {{align = 32}}"));
            draw.line(format!("alloc {sb}: f16[256] in shared attributes {{align = 32}}"));
            for (name, elem) in [(&ra, "f16"), (&rb, "f16"), (&rc, "f32")] {
                draw.line(format!("alloc {name}: {elem}[8] in local"));
            }
            let (e, k) = (draw.name("e"), draw.name("k"));
            draw.block(&format!("for {e} in 0..8"), |draw| draw.line(format!("{rc}[{e}] = {start}")));
            draw.block(&format!("for {k} in 0..{tiles}"), |draw| {
                for (to, from) in [(&sa, a), (&sb, b)] {
                    let at = format!("{k} * 256 + {tx} * 8");
                    if asynchronous {
                        draw.line(format!("gpu.copy_async(&{to}[{tx} * 8 : 8], &{from}[{at} : 8])"));
                    } else {
                        let v = draw.name("e");
                        draw.block(&format!("for {v} in 0..8 vectorize"), |draw| {
                            draw.line(format!("{to}[{tx} * 8 + {v}] = {from}[{at} + {v}]"));
                        });
                    }
                }
                if asynchronous {
                    draw.line("gpu.commit_group()");
                    draw.line("gpu.wait_group(pending = 0)");
                }
                let row = format!("{tx} % 16 * 16 + {tx} / 16 * 8 : 8");
                draw.line(format!("mma.ldmatrix(&{ra}[0 : 8], &{sa}[{row}])"));
                draw.line(format!("mma.ldmatrix(&{rb}[0 : 8], &{sb}[{row}], transposed = true)"));
                draw.line(format!("mma.sync(&{rc}[0 : 8], &{ra}[0 : 8], &{rb}[0 : 8])"));
            });
            let e = draw.name("e");
            draw.block(&format!("for {e} in 0..8"), |draw| {
                let row = format!("({tx} / 4 + {e} / 2 % 2 * 8) * 16");
                draw.line(format!("{c}[{row} + {tx} % 4 * 2 + {e} % 2 + {e} / 4 * 8] = {rc}[{e}]"));
            });
        });
    }
}
