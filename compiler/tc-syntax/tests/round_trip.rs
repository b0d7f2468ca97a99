//! The law of text on generated programs: what prints reads back, verifies, and prints the same again, pretty and
//! generic; and the generic text read back prints the same pretty text.

use tc_dialects::{arith, gpu, tir};
use tc_ir::print::{PrintOptions, print_module};
use tc_ir::{Attrs, Builder, Elem, Func, Module, Region, Scalar, Type, TypeData, Value, keys};
use tc_support::render;
use tc_syntax::{ParseOptions, parse_module};

const N_PROGRAMS: u64 = 1500;
const ELEMS: [Elem; 6] = [Elem::Index, Elem::I32, Elem::F32, Elem::F16, Elem::U8, Elem::F64];
/// Good names, names that clash, and names that the language has other uses for.
const NAMES: [&str; 12] = ["i", "x", "x", "acc", "for", "f32", "x$1", "a b", "_", "inf", "$2", "y"];

/// Marsaglia's xorshift (2003).
struct Rng(u64);

impl Rng {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }

    fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    fn pick<T: Copy>(&mut self, list: &[T]) -> T {
        list[self.below(list.len())]
    }
}

/// Makes programs that verify. Nothing says that they would run.
struct Generator {
    rng: Rng,
    scope: Vec<Value>,
    /// Buffers with their element types and ranks.
    buffers: Vec<(Value, Elem, usize)>,
    /// How many statements may still be made.
    budget: usize,
}

impl Generator {
    fn maybe_name(&mut self, b: &mut Builder<'_>, value: Value, percent: usize) -> Value {
        if self.rng.chance(percent) {
            let name = self.rng.pick(&NAMES);
            b.name(value, name);
        }
        value
    }

    fn literal(&mut self, b: &mut Builder<'_>, elem: Elem) -> Value {
        let value = match elem {
            Elem::Bool => b.bool(self.rng.chance(50)),
            elem if elem.is_float() => {
                let corners = [0.0, -0.0, 1.0, 0.1, -2.5, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, 1e30];
                b.float(elem.round(self.rng.pick(&corners)), elem)
            }
            Elem::U8 => b.int(self.rng.below(256) as i64, elem),
            elem => b.int(self.rng.below(20) as i64 - 5, elem),
        };
        self.maybe_name(b, value, 6)
    }

    fn visible(&mut self, b: &Builder<'_>, elem: Elem) -> Option<Value> {
        let fits = |value: &Value| b.func.value_scalar(*value) == Some(Scalar::of(elem));
        let found: Vec<Value> = self.scope.iter().copied().filter(fits).collect();
        (!found.is_empty()).then(|| self.rng.pick(&found))
    }

    fn value(&mut self, b: &mut Builder<'_>, elem: Elem, depth: usize) -> Value {
        if depth == 0 || self.rng.chance(25) {
            if self.rng.chance(60)
                && let Some(value) = self.visible(b, elem)
            {
                return value;
            }
            return self.literal(b, elem);
        }
        let value = if elem == Elem::Bool { self.truth(b, depth - 1) } else { self.number(b, elem, depth - 1) };
        self.scope.push(value);
        self.maybe_name(b, value, 12)
    }

    fn two(&mut self, b: &mut Builder<'_>, elem: Elem, depth: usize) -> [Value; 2] {
        [self.value(b, elem, depth), self.value(b, elem, depth)]
    }

    fn truth(&mut self, b: &mut Builder<'_>, depth: usize) -> Value {
        match self.rng.below(6) {
            0 => {
                let value = self.value(b, Elem::Bool, depth);
                b.value(arith::NOT, &[value], &[])
            }
            1 => {
                let both = self.two(b, Elem::Bool, depth);
                b.value(self.rng.pick(&[arith::AND, arith::OR]), &both, &[])
            }
            2 => {
                let value = self.value(b, Elem::Bool, depth);
                b.value(arith::LIKELY, &[value], &[])
            }
            3 => self.choice(b, Elem::Bool, depth),
            _ => {
                let elem = self.rng.pick(&ELEMS);
                let both = self.two(b, elem, depth);
                let word = b.func.word_attr(self.rng.pick(&["eq", "ne", "lt", "le", "gt", "ge"]));
                b.value(arith::CMP, &both, &[(keys::PREDICATE, word)])
            }
        }
    }

    fn number(&mut self, b: &mut Builder<'_>, elem: Elem, depth: usize) -> Value {
        match self.rng.below(12) {
            0 => {
                let value = self.value(b, elem, depth);
                b.value(arith::NEG, &[value], &[])
            }
            1 => {
                let from = self.rng.pick(&ELEMS);
                let value = self.value(b, from, depth);
                let ty = b.func.elem_ty(elem);
                let op = arith::Cast::build(b, value, &[], &[ty]);
                b.func.result(op).expect("a cast has one result")
            }
            2 => {
                let condition = self.value(b, Elem::Bool, depth);
                let [on_true, on_false] = self.two(b, elem, depth);
                b.value(arith::SELECT, &[condition, on_true, on_false], &[])
            }
            3 => self.choice(b, elem, depth),
            4 => {
                let both = self.two(b, elem, depth);
                b.value(self.rng.pick(&[arith::MIN, arith::MAX]), &both, &[])
            }
            5 => {
                let value = self.value(b, elem, depth);
                b.value(arith::ABS, &[value], &[])
            }
            6 | 7 => self.load(b, elem, depth),
            _ => {
                let mut ops = vec![arith::ADD, arith::SUB, arith::MUL, arith::DIV, arith::MOD];
                if elem.is_int() {
                    let of_ints = [arith::BITAND, arith::BITOR, arith::BITXOR, arith::SHL, arith::SHR, arith::TDIV];
                    ops.extend(of_ints);
                }
                let both = self.two(b, elem, depth);
                b.value(self.rng.pick(&ops), &both, &[])
            }
        }
    }

    fn load(&mut self, b: &mut Builder<'_>, elem: Elem, depth: usize) -> Value {
        let fitting: Vec<_> = self.buffers.iter().copied().filter(|buffer| buffer.1 == elem).collect();
        if fitting.is_empty() {
            return self.literal(b, elem);
        }
        let (buffer, _, rank) = self.rng.pick(&fitting);
        let mut operands = vec![buffer];
        for _ in 0..rank {
            let index = if self.rng.chance(70) { Elem::Index } else { Elem::I32 };
            operands.push(self.value(b, index, depth));
        }
        b.value(tir::LOAD, &operands, &[])
    }

    fn choice(&mut self, b: &mut Builder<'_>, elem: Elem, depth: usize) -> Value {
        let condition = self.value(b, Elem::Bool, depth);
        let ty = b.func.elem_ty(elem);
        let op = tir::If::build(b, condition, &[], &[ty]);
        for nth in 0..2 {
            let region = b.func.op_regions(op)[nth];
            self.inside(b, region, |generator, b| {
                let value = generator.value(b, elem, depth);
                tir::Yield::build(b, &[value], &[], &[]);
            });
        }
        b.func.result(op).expect("it was made with one result")
    }

    /// Builds in `region`; what is made there is out of scope afterwards.
    fn inside(&mut self, b: &mut Builder<'_>, region: Region, build: impl FnOnce(&mut Generator, &mut Builder<'_>)) {
        let marks = (self.scope.len(), self.buffers.len());
        b.within(region, |b| build(self, b));
        self.scope.truncate(marks.0);
        self.buffers.truncate(marks.1);
    }

    fn block(&mut self, b: &mut Builder<'_>, depth: usize) {
        for _ in 0..self.rng.below(5) + 1 {
            if self.budget == 0 {
                return;
            }
            self.budget -= 1;
            self.statement(b, depth);
        }
    }

    fn statement(&mut self, b: &mut Builder<'_>, depth: usize) {
        let size = self.rng.below(7);
        match self.rng.below(10) {
            0 if depth > 0 => self.for_loop(b, depth, size),
            1 | 2 if depth > 0 => self.branch(b, depth, size),
            3 => {
                let scope = b.func.word_attr("shared");
                gpu::Barrier::build(b, &[(keys::SCOPE, scope)], &[]);
            }
            4 => {
                let (elem, rank) = (self.rng.pick(&ELEMS), self.rng.below(3));
                let four = b.func.int_attr(4);
                let shared = b.func.name("shared");
                let ty = buffer_type(b.func, elem, vec![four; rank], shared);
                let op = tir::Alloc::build(b, &[], &[ty]);
                let buffer = b.func.result(op).expect("an alloc has one result");
                self.maybe_name(b, buffer, 80);
                self.buffers.push((buffer, elem, rank));
            }
            5 => {
                let elem = self.rng.pick(&ELEMS);
                let value = self.value(b, elem, size + 1);
                self.scope.push(value);
            }
            _ => {
                let (buffer, elem, rank) = self.rng.pick(&self.buffers.clone());
                let indices: Vec<Value> = (0..rank).map(|_| self.value(b, Elem::Index, size)).collect();
                let value = self.value(b, elem, size);
                tir::Store::build(b, buffer, &indices, value, &[], &[]);
            }
        }
    }

    fn yields(&mut self, b: &mut Builder<'_>, types: &[Type]) {
        if types.is_empty() {
            return;
        }
        let elems: Vec<Elem> = types.iter().filter_map(|&ty| Some(b.func.as_scalar(ty)?.elem)).collect();
        let values: Vec<Value> = elems.into_iter().map(|elem| self.value(b, elem, 2)).collect();
        tir::Yield::build(b, &values, &[], &[]);
    }

    fn results(&mut self, b: &mut Builder<'_>, op: tc_ir::Op, percent: usize) {
        let results: Vec<Value> = b.func.results(op).collect();
        for result in results {
            self.maybe_name(b, result, percent);
            self.scope.push(result);
        }
    }

    fn for_loop(&mut self, b: &mut Builder<'_>, depth: usize, size: usize) {
        let elem = if self.rng.chance(70) { Elem::Index } else { Elem::I32 };
        let [lo, hi] = self.two(b, elem, size);
        let carried: Vec<Elem> = (0..self.rng.below(3)).map(|_| self.rng.pick(&ELEMS)).collect();
        let inits: Vec<Value> = carried.into_iter().map(|elem| self.value(b, elem, 2)).collect();
        let types: Vec<Type> = inits.iter().map(|&value| b.func.value_type(value)).collect();
        let op = tir::For::build(b, lo, hi, &inits, &[], &types);
        let region = b.func.op_regions(op)[0];
        let bound = b.func.elem_ty(elem);
        let mut args = vec![b.arg(region, bound, None)];
        args.extend(types.iter().map(|&ty| b.func.push_arg(region, ty, None)));
        for &arg in &args {
            self.maybe_name(b, arg, 85);
        }
        self.inside(b, region, |generator, b| {
            generator.scope.extend(args);
            generator.block(b, depth - 1);
            generator.yields(b, &types);
        });
        self.results(b, op, 60);
    }

    fn branch(&mut self, b: &mut Builder<'_>, depth: usize, size: usize) {
        let condition = self.value(b, Elem::Bool, size);
        let elems: Vec<Elem> = (0..self.rng.below(3)).map(|_| self.rng.pick(&ELEMS)).collect();
        let types: Vec<Type> = elems.iter().map(|&elem| b.func.elem_ty(elem)).collect();
        let op = tir::If::build(b, condition, &[], &types);
        for nth in 0..2 {
            let region = b.func.op_regions(op)[nth];
            self.inside(b, region, |generator, b| {
                if generator.rng.chance(60) {
                    generator.block(b, depth - 1);
                }
                generator.yields(b, &types);
            });
        }
        self.results(b, op, 50);
    }
}

fn buffer_type(func: &mut Func, elem: Elem, shape: Vec<tc_ir::Attr>, scope: tc_ir::Name) -> Type {
    let elem = func.elem_ty(elem);
    func.ty(TypeData::Shaped { elem, shape: shape.into(), scope: Some(scope) })
}

fn generate(seed: u64) -> Module {
    let registry = tc_dialects::shared_registry();
    let mut func = Func::new(registry.clone(), tir::FUNC, "f");
    let body = func.body();
    let rng = Rng(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
    let mut generator = Generator { rng, scope: Vec::new(), buffers: Vec::new(), budget: 12 };
    let param = |func: &mut Func, ty: Type, name: &str| {
        func.header.params.push(tc_ir::func::ParamDecl { attrs: Attrs::EMPTY, choices: None, default: None });
        func.push_arg(body, ty, Some(name))
    };
    for (nth, (&elem, name)) in ELEMS.iter().zip(["A", "B", "C", "D", "E", "x"]).enumerate() {
        let (rank, four) = (1 + nth % 2, func.int_attr(4));
        let ty = buffer_type(&mut func, elem, vec![four; rank], keys::GLOBAL);
        let buffer = param(&mut func, ty, name);
        generator.buffers.push((buffer, elem, rank));
    }
    for (elem, name) in [(Elem::Index, "n"), (Elem::I32, "m"), (Elem::F32, "s")] {
        let ty = func.elem_ty(elem);
        let value = param(&mut func, ty, name);
        generator.scope.push(value);
    }
    generator.block(&mut Builder::at_end(&mut func, body), 3);
    let mut module = Module::new(registry);
    module.items.push(func);
    module
}

/// Reads a text that was printed; it must be right.
#[track_caller]
fn read(seed: u64, text: &str) -> Module {
    let registry = tc_dialects::shared_registry();
    let (module, mut found) = parse_module("printed.tir", text, &registry, &ParseOptions::default());
    module.items.iter().for_each(|item| found.append(tc_ir::verify::verify(item)));
    assert!(found.is_empty(), "seed {seed}\n{text}\n{}", render::text(&found, &module.sources, false));
    module
}

#[test]
fn what_prints_reads_back_and_prints_the_same() {
    for seed in 1..=N_PROGRAMS {
        let module = generate(seed);
        let found = tc_ir::verify::verify(&module.items[0]);
        assert!(found.is_empty(), "seed {seed} made a program that does not verify: {found:?}");
        let pretty = print_module(&module, &PrintOptions::default());
        for generic in [false, true] {
            // A small depth cuts expressions into `let`s, which then have to be found again.
            let max_inline_depth = if seed % 3 == 0 { 8 } else { 64 };
            let options = PrintOptions { generic, max_inline_depth, ..PrintOptions::default() };
            let first = print_module(&module, &options);
            let again = read(seed, &first);
            assert_eq!(print_module(&again, &options), first, "seed {seed}, generic {generic}");
            if generic {
                assert_eq!(print_module(&again, &PrintOptions::default()), pretty, "seed {seed}, by way of generic");
            }
        }
    }
}
