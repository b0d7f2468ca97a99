//! Functions around one line of PTX each: bulk copies by tensor maps, arrivals and waits, products of warpgroups. They have the names
//! that CUDA C++ has for them, and the lines are `tc-kernel`'s.
//!
//! LLVM inlines them all. Sums, and a left factor in registers, are handed over as arrays in private memory, which become registers
//! once their positions are constants, as for other products.
//!
//! Lines have side effects and clobber memory. MLIR text cannot tell that they are convergent; for NVPTX, jump threading and loop
//! unswitching leave them alone (docs/mlir.md). What a whole warp does together and `nvvm` has ops for, which are convergent, is
//! written by these: fences and waits for products, `setmaxnreg`, barriers.

use crate::kernel::Kernel;
use crate::types;
use crate::wmma::structure;
use std::fmt::Write;
use std::rc::Rc;
use tc_ir::Elem;
use tc_kernel::ptx::bulk::{Bulk, Operand};
use tc_kernel::ptx::wgmma::{LEFT_WORDS, Left, Product, Warpgroup};

/// A function that the module declares.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Function {
    /// An instruction of a barrier, or one that begins a bulk copy.
    Bulk(Bulk),
    /// The descriptor of a factor.
    Descriptor,
    /// Lets LLVM take so many words of sums, or of a factor, of this type for changed.
    Hold(Elem, u16),
    /// `wgmma.mma_async`
    Mma(Product),
}

/// A word of 32 bits that a thread holds of a tile.
#[derive(Clone, Copy)]
struct Word {
    /// What is loaded and stored: a number, or a vector of those that stand in the word.
    memory: &'static str,
    /// What the line takes.
    register: &'static str,
    /// The constraint of the line.
    constraint: &'static str,
}

impl Word {
    /// How elements of type `elem` are handed over as sums.
    fn of_sums(elem: Elem) -> Word {
        match types::word(elem) {
            "f32" => Word { memory: "f32", register: "f32", constraint: "f" },
            memory => Word { memory, register: "i32", constraint: "r" },
        }
    }

    /// The same as factors.
    fn of_factors(elem: Elem) -> Word {
        Word { memory: types::word(elem), register: "i32", constraint: "r" }
    }
}

/// The type of an operand, and its constraint in a line.
fn operand_type(operand: Operand) -> (&'static str, &'static str) {
    match operand {
        Operand::To | Operand::From | Operand::Barrier => ("!llvm.ptr<3>", "r"),
        Operand::Map => ("!llvm.ptr", "l"),
        Operand::Blocks => (types::BLOCKS, "h"),
        _ => ("i32", "r"),
    }
}

/// The line `ptx` as a string of MLIR's, with operands as LLVM names them.
fn quoted(ptx: &str) -> String {
    format!("\"{}\"", ptx.replace('%', "$").replace('\n', "\\0A"))
}

/// The body of a function, as it grows.
#[derive(Default)]
struct Body {
    text: String,
    n_values: usize,
}

impl Body {
    fn line(&mut self, line: &str) {
        let _ = writeln!(self.text, "      {line}");
    }

    /// Writes `%N = text`, and gives the name.
    fn value(&mut self, text: &str) -> String {
        let name = format!("%{}", self.n_values);
        self.n_values += 1;
        self.line(&format!("{name} = {text}"));
        name
    }

    fn place(&mut self, array: &str, nth: usize, word: Word) -> String {
        if nth == 0 {
            return array.to_string();
        }
        self.value(&format!("llvm.getelementptr {array}[{nth}] : (!llvm.ptr) -> !llvm.ptr, {}", word.memory))
    }

    /// Word `nth` of `array`, in a register.
    fn take(&mut self, array: &str, nth: usize, word: Word) -> String {
        let place = self.place(array, nth, word);
        let Word { memory, register, .. } = word;
        let value = self.value(&format!("llvm.load {place} {{alignment = 4 : i64}} : !llvm.ptr -> {memory}"));
        if memory == register {
            return value;
        }
        self.value(&format!("llvm.bitcast {value} : {memory} to {register}"))
    }

    /// Puts a register into word `nth` of `array`.
    fn put(&mut self, array: &str, nth: usize, word: Word, value: &str) {
        let Word { memory, register, .. } = word;
        let value = match memory == register {
            true => value.to_string(),
            false => self.value(&format!("llvm.bitcast {value} : {register} to {memory}")),
        };
        let place = self.place(array, nth, word);
        self.line(&format!("llvm.store {value}, {place} {{alignment = 4 : i64}} : {memory}, !llvm.ptr"));
    }
}

impl Function {
    /// The name.
    pub(crate) fn name(self) -> String {
        match self {
            Function::Bulk(bulk) => bulk.name(),
            Function::Descriptor => Warpgroup::Descriptor.name(),
            Function::Hold(elem, words) => format!("{}_{}_{words}", Warpgroup::Hold(elem).name(), elem.name()),
            Function::Mma(product) => Warpgroup::Mma(product).name(),
        }
    }

    /// The types of what it is given.
    fn params(self) -> Vec<(String, &'static str)> {
        let named = |name: &str, ty| (name.to_string(), ty);
        match self {
            Function::Bulk(bulk) => {
                bulk.operands().into_iter().map(|operand| (operand.name(), operand_type(operand).0)).collect()
            }
            Function::Descriptor => vec![named("base", "!llvm.ptr<3>"), named("ahead", "i32"), named("rest", "i64")],
            Function::Hold(..) => vec![named("array", "!llvm.ptr")],
            Function::Mma(Product { left, .. }) => {
                let a = if left == Left::Registers { "!llvm.ptr" } else { "i64" };
                vec![named("sums", "!llvm.ptr"), named("a", a), named("b", "i64")]
            }
        }
    }

    /// The type of what it gives.
    fn result(self) -> Option<&'static str> {
        (self == Function::Descriptor).then_some("i64")
    }

    /// The types as a call tells them.
    fn signature(self) -> String {
        let params: Vec<&str> = self.params().into_iter().map(|(_, ty)| ty).collect();
        format!("({}) -> {}", params.join(", "), self.result().unwrap_or("()"))
    }

    /// The function.
    pub(crate) fn text(self) -> String {
        let params: Vec<String> = self.params().into_iter().map(|(name, ty)| format!("%{name}: {ty}")).collect();
        let result = self.result().map_or(String::new(), |ty| format!(" -> {ty}"));
        let body = match self {
            Function::Bulk(bulk) => of_bulk(bulk),
            Function::Descriptor => descriptor(),
            Function::Hold(elem, words) => hold(Word::of_sums(elem), words.into()),
            Function::Mma(product) => of_product(product),
        };
        format!(
            "    llvm.func internal @{}({}){result} attributes {{always_inline}} {{\n{body}    }}\n",
            self.name(),
            params.join(", ")
        )
    }
}

/// The body of the function of a barrier or a bulk copy.
fn of_bulk(bulk: Bulk) -> String {
    let mut body = Body::default();
    let mut inputs = Vec::new();
    for operand in bulk.operands() {
        let name = format!("%{}", operand.name());
        let (ty, constraint) = operand_type(operand);
        // Addresses in shared memory are words to the line.
        inputs.push(match ty {
            "!llvm.ptr<3>" => (body.value(&format!("llvm.ptrtoint {name} : {ty} to i32")), "i32", constraint),
            ty => (name, ty, constraint),
        });
    }
    let list = |of: &dyn Fn(&(String, &'static str, &'static str)) -> String| {
        inputs.iter().map(of).collect::<Vec<String>>().join(", ")
    };
    let (values, types) = (list(&|input| input.0.clone()), list(&|input| input.1.to_string()));
    let mut constraints: String = inputs.iter().map(|input| format!("{},", input.2)).collect();
    constraints.push_str("~{memory}");
    for line in bulk.lines().iter().map(|line| quoted(line)) {
        if !matches!(bulk, Bulk::Wait { .. }) {
            body.line(&format!(
                "llvm.inline_asm has_side_effects {line}, \"{constraints}\" {values} : ({types}) -> ()"
            ));
            continue;
        }
        let none = body.value("llvm.mlir.constant(0 : i32) : i32");
        body.line("llvm.br ^again");
        body.text.push_str("    ^again:\n");
        let done = body.value(&format!(
            "llvm.inline_asm has_side_effects {line}, \"=r,{constraints}\" {values} : ({types}) -> i32"
        ));
        let goes_on = body.value(&format!("llvm.icmp \"eq\" {done}, {none} : i32"));
        body.line(&format!("llvm.cond_br {goes_on}, ^again, ^over"));
        body.text.push_str("    ^over:\n");
    }
    body.line("llvm.return");
    body.text
}

/// The address is that of a base and so many bytes ahead of it: the base is common to the places of a buffer that products read one
/// after another, and the bytes are a literal. A product then costs two instructions. The base may lie before the buffer, so the
/// sum is cut to the 14 bits of an address.
fn descriptor() -> String {
    let mut body = Body::default();
    let four = body.value("llvm.mlir.constant(4 : i32) : i32");
    let mask = body.value(&format!("llvm.mlir.constant({} : i32) : i32", 0x3fff));
    let address = body.value("llvm.ptrtoint %base : !llvm.ptr<3> to i32");
    let start = body.value(&format!("llvm.lshr {address}, {four} : i32"));
    let ahead = body.value(&format!("llvm.lshr %ahead, {four} : i32"));
    let sum = body.value(&format!("llvm.add {start}, {ahead} : i32"));
    let cut = body.value(&format!("llvm.and {sum}, {mask} : i32"));
    let wide = body.value(&format!("llvm.zext {cut} : i32 to i64"));
    let all = body.value(&format!("llvm.or {wide}, %rest : i64"));
    body.line(&format!("llvm.return {all} : i64"));
    body.text
}

/// The body of a function that holds an array.
fn hold(word: Word, words: usize) -> String {
    let mut body = Body::default();
    for nth in 0..words {
        let value = body.take("%array", nth, word);
        let Word { register: ty, constraint, .. } = word;
        let held =
            body.value(&format!("llvm.inline_asm has_side_effects \"\", \"={constraint},0\" {value} : ({ty}) -> {ty}"));
        body.put("%array", nth, word, &held);
    }
    body.line("llvm.return");
    body.text
}

/// The body of the function of a product. What the line reads and writes is an operand twice, the second time behind all others: so
/// the numbers of the others are those that they have in C++.
fn of_product(product: Product) -> String {
    let mut body = Body::default();
    let n = product.sum_words();
    let of_sums = Word::of_sums(product.sums);
    let before: Vec<String> = (0..n).map(|nth| body.take("%sums", nth, of_sums)).collect();
    let (left, left_type, left_constraint) = match product.left {
        Left::Memory { .. } => (vec!["%a".to_string()], "i64", "l"),
        Left::Registers => {
            let word = Word::of_factors(product.factors);
            ((0..LEFT_WORDS).map(|nth| body.take("%a", nth, word)).collect(), word.register, word.constraint)
        }
    };
    let slots: Vec<String> = (0..n).map(|nth| format!("%{nth}")).collect();
    let line = format!("{}{}{{{}}}{}", product.before(), product.instruction(), slots.join(", "), product.after());
    let mut constraints = vec![format!("={}", of_sums.constraint); n];
    constraints.extend(left.iter().map(|_| left_constraint.to_string()));
    constraints.push("l".into());
    constraints.extend((0..n).map(|nth| nth.to_string()));
    constraints.push("~{memory}".into());
    let mut types = vec![left_type; left.len()];
    types.push("i64");
    types.extend(vec![of_sums.register; n]);
    let mut inputs = left;
    inputs.push("%b".into());
    inputs.extend(before);
    let whole = structure(of_sums.register, n);
    let result = if n == 1 { of_sums.register } else { &whole };
    let made = body.value(&format!(
        "llvm.inline_asm has_side_effects {}, \"{}\" {} : ({}) -> {result}",
        quoted(&line),
        constraints.join(","),
        inputs.join(", "),
        types.join(", ")
    ));
    for nth in 0..n {
        let value = match n {
            1 => made.clone(),
            _ => body.value(&format!("llvm.extractvalue {made}[{nth}] : {whole}")),
        };
        body.put("%sums", nth, of_sums, &value);
    }
    body.line("llvm.return");
    body.text
}

impl Kernel<'_> {
    /// Calls `function`, which the module then declares.
    pub(crate) fn call(&mut self, function: Function, args: &[Rc<str>]) {
        let text = self.call_text(function, args);
        self.line(text);
    }

    /// The same of one that gives something.
    pub(crate) fn call_of(&mut self, function: Function, args: &[Rc<str>]) -> Rc<str> {
        let text = self.call_text(function, args);
        self.temp(text)
    }

    fn call_text(&mut self, function: Function, args: &[Rc<str>]) -> String {
        self.uses.functions.insert(function);
        format!("llvm.call @{}({}) : {}", function.name(), args.join(", "), function.signature())
    }

    /// An integer of an op as a word.
    pub(crate) fn word_of(&mut self, value: tc_ir::Value) -> Rc<str> {
        if let Some(constant) = self.func.const_int(value) {
            return self.int(constant.into(), "i32");
        }
        let elem = self.elem_of(value);
        let number = self.lane(value, 0);
        match types::number(elem) {
            "index" => self.temp(format!("arith.index_cast {number} : index to i32")),
            _ => self.as_word(&number, elem),
        }
    }

    /// The type of the integer `value`, of a size the one that the kernel takes it in.
    pub(crate) fn elem_of(&self, value: tc_ir::Value) -> Elem {
        match self.func.value_scalar(value).map_or(Elem::I32, |scalar| scalar.elem) {
            Elem::Index => tc_kernel::sizes::elem(self.func, value),
            elem => elem,
        }
    }
}
