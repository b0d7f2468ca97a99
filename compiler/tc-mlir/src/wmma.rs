//! Fragments of `wmma`: the registers that hold them, and the ops of `nvvm.wmma`.
//!
//! A buffer of fragments is an array of registers in private memory, those of a fragment side by side. How many there
//! are, and of which type, PTX says for each use, shape and element type ("Matrix Fragments for WMMA").

use crate::kernel::Kernel;
use crate::memory::Memory;
use crate::types;
use std::rc::Rc;
use tc_dialects::fragment::{Fragment, Layout, Use, ptx_name};
use tc_dialects::wmma;
use tc_ir::{Elem, Op, Scalar, Value, keys};
use tc_kernel::facts::{fragment_of, n_elements};
use tc_kernel::place::buffer_of;
use tc_kernel::wmma::layout;

/// The registers of a fragment.
#[derive(Clone, Copy)]
struct Registers {
    n: u16,
    ty: &'static str,
}

/// The registers that hold `fragment`: f16 two to a register, factors of other types by 32 bits, and all of sums.
fn registers(fragment: Fragment) -> Registers {
    let (rows, cols) = fragment.extents();
    let of = types::register(fragment.elem);
    // Numbers that are held by each of the 32 threads.
    let numbers = rows * cols / 32;
    let (ty, n) = match fragment.part {
        Use::Accumulator | Use::Rows => (of.packed, numbers / i64::from(of.n)),
        // Of f16 factors each number is held more than once.
        _ if of.factor == of.packed => (of.factor, 8),
        _ => (of.factor, numbers / i64::from(of.n)),
    };
    Registers { n: u16::try_from(n).unwrap_or(1).max(1), ty }
}

fn nvvm_layout(layout: Layout) -> &'static str {
    match layout {
        Layout::RowMajor => "#nvvm.mma_layout<row>",
        Layout::ColMajor => "#nvvm.mma_layout<col>",
    }
}

/// `m = …, n = …, k = …`, as the ops want them.
fn shape(fragment: Fragment) -> String {
    let [m, n, k] = fragment.shape;
    format!("k = {k} : i32, m = {m} : i32, n = {n} : i32")
}

/// A register, with its type.
pub(crate) fn list(registers: &[Rc<str>]) -> String {
    registers.join(", ")
}

/// `!llvm.struct<(ty, …)>`, which ops of several results give.
pub(crate) fn structure(ty: &str, n: usize) -> String {
    format!("!llvm.struct<({})>", vec![ty; n].join(", "))
}

impl Kernel<'_> {
    /// Declares the buffer `buffer` of fragments.
    pub(crate) fn fragments(&mut self, buffer: Value) {
        let Some(fragment) = fragment_of(self.func, buffer) else {
            self.stray("a buffer of something other than fragments");
            return;
        };
        let Registers { n, ty } = registers(fragment);
        let count = n_elements(self.func, buffer).unwrap_or(1).max(1) * u64::from(n);
        let memref = format!("memref<{count}x{ty}, #private>");
        let name = self.declare(buffer, "fragment");
        self.top.op(&format!("{name} = memref.alloca() {{alignment = 4 : i64}} : {memref}"));
        // As many numbers to an element as there are registers: positions count registers.
        let elem = Scalar { elem: fragment.elem, lanes: n };
        self.keep(buffer, Memory::plain(name, memref, elem, "#private"));
    }

    /// The fragment that `place` refers to.
    fn fragment(&mut self, place: Value) -> Option<Fragment> {
        let fragment = fragment_of(self.func, buffer_of(self.func, place));
        if fragment.is_none() {
            self.stray("an op on something other than fragments");
        }
        fragment
    }

    /// The registers of the fragment at `place`, read.
    fn read(&mut self, place: Value, fragment: Fragment) -> Vec<Rc<str>> {
        let Registers { n, .. } = registers(fragment);
        let (memory, start) = self.position(place);
        let mut read = Vec::new();
        for nth in 0..n {
            let at = self.register(&start, nth);
            read.push(self.temp(format!("memref.load {}[{at}] : {}", memory.name, memory.ty)));
        }
        read
    }

    /// Writes `values` into the registers of the fragment at `place`.
    fn write_registers(&mut self, place: Value, values: &[Rc<str>]) {
        let (memory, start) = self.position(place);
        for (nth, value) in (0u16..).zip(values) {
            let at = self.register(&start, nth);
            self.line(format!("memref.store {value}, {}[{at}] : {}", memory.name, memory.ty));
        }
    }

    /// The position `nth` after `start`.
    pub(crate) fn register(&mut self, start: &Rc<str>, nth: u16) -> Rc<str> {
        if nth == 0 {
            return start.clone();
        }
        let nth = self.int(nth.into(), "index");
        self.temp(format!("arith.addi {start}, {nth} : index"))
    }

    /// The `n` fields of `value`, of the type `ty` each; an op with one result gives it as it is.
    pub(crate) fn fields(&mut self, value: &Rc<str>, ty: &str, n: usize) -> Vec<Rc<str>> {
        if n == 1 {
            return vec![value.clone()];
        }
        let whole = structure(ty, n);
        (0..n).map(|nth| self.temp(format!("llvm.extractvalue {value}[{nth}] : {whole}"))).collect()
    }

    /// The number `value` as an i32.
    pub(crate) fn word(&mut self, value: Value) -> Rc<str> {
        if let Some(constant) = self.func.const_int(value) {
            return self.int(constant.into(), "i32");
        }
        let elem = self.func.value_scalar(value).map_or(Elem::I32, |scalar| scalar.elem);
        let number = self.lane(value, 0);
        match types::number(elem) {
            "i32" => number,
            "i64" => self.temp(format!("arith.trunci {number} : i64 to i32")),
            "index" => self.temp(format!("arith.index_cast {number} : index to i32")),
            narrow => self.temp(format!("arith.extsi {number} : {narrow} to i32")),
        }
    }

    /// The f32 `value`, rounded to tf32 as the tensor cores take it: they would cut its lower bits off.
    pub(crate) fn tf32(&mut self, value: &str) -> Rc<str> {
        self.temp(format!("nvvm.convert.float.to.tf32 {value} {{rnd = #nvvm.fp_rnd_mode<rna>}}"))
    }

    /// One register that holds the number `value` as often as it has room for it.
    fn filled(&mut self, fragment: Fragment, value: Rc<str>) -> Rc<str> {
        let (elem, of) = (fragment.elem, types::register(fragment.elem));
        if !elem.is_stored() {
            return self.tf32(&value);
        }
        if of.n == 1 {
            return value;
        }
        let (number, ty) = (types::number(elem), registers(fragment).ty);
        let packed = self.temp(format!("vector.broadcast {value} : {number} to {}", of.packed));
        if ty == of.packed {
            return packed;
        }
        self.temp(format!("llvm.bitcast {packed} : {} to {ty}", of.packed))
    }
}

/// Writes the op `op` of `wmma`.
pub(crate) fn write(kernel: &mut Kernel<'_>, op: Op) {
    let func = kernel.func;
    let (first, second) = (func.operand(op, 0), func.operand(op, 1));
    match func.opcode(op) {
        wmma::FILL => {
            let Some(fragment) = kernel.fragment(first) else { return };
            let value = kernel.lane(second, 0);
            let value = kernel.filled(fragment, value);
            let values = vec![value; registers(fragment).n.into()];
            kernel.write_registers(first, &values);
        }
        wmma::LOAD => load(kernel, op),
        wmma::STORE => {
            let Some(fragment) = kernel.fragment(second) else { return };
            let values = kernel.read(second, fragment);
            let (to, pointer) = kernel.pointer(first);
            let stride = kernel.word(func.operand(op, 2));
            let order = nvvm_layout(layout(func, op, keys::LAYOUT));
            let types = vec![registers(fragment).ty; values.len()].join(", ");
            kernel.line(format!(
                "nvvm.wmma.store {to}, {stride}, {} {{eltype = #nvvm.mma_type<{}>, layout = {order}, {}}} : {pointer}, {types}",
                list(&values),
                ptx_name(fragment.elem),
                shape(fragment)
            ));
        }
        _ => product(kernel, op),
    }
}

fn load(kernel: &mut Kernel<'_>, op: Op) {
    let func = kernel.func;
    let (to, from) = (func.operand(op, 0), func.operand(op, 1));
    let Some(fragment) = kernel.fragment(to) else { return };
    let Registers { n, ty } = registers(fragment);
    let (from, pointer) = kernel.pointer(from);
    let stride = kernel.word(func.operand(op, 2));
    let part = match fragment.part {
        Use::A => "a",
        Use::B => "b",
        Use::Accumulator | Use::Rows => "c",
    };
    // The layout of a factor is part of its type, which the product reads as well.
    let order = nvvm_layout(fragment.layout.unwrap_or_else(|| layout(func, op, keys::LAYOUT)));
    let loaded = kernel.temp(format!(
        "nvvm.wmma.load {from}, {stride} {{eltype = #nvvm.mma_type<{}>, frag = #nvvm.mma_frag<{part}>, layout = {order}, {}}} : ({pointer}) -> {}",
        ptx_name(fragment.elem),
        shape(fragment),
        structure(ty, n.into())
    ));
    let mut values = kernel.fields(&loaded, ty, n.into());
    if !fragment.elem.is_stored() {
        for value in &mut values {
            let number = kernel.temp(format!("arith.bitcast {value} : i32 to f32"));
            *value = kernel.tf32(&number);
        }
    }
    kernel.write_registers(to, &values);
}

fn product(kernel: &mut Kernel<'_>, op: Op) {
    let func = kernel.func;
    let places = [0, 1, 2].map(|nth| func.operand(op, nth));
    let [Some(sum), Some(a), Some(b)] = places.map(|place| kernel.fragment(place)) else { return };
    let [sums, left, right] =
        [(places[0], sum), (places[1], a), (places[2], b)].map(|(place, of)| kernel.read(place, of));
    let order = |fragment: Fragment| nvvm_layout(fragment.layout.unwrap_or_default());
    let types: Vec<&str> = [(&left, a), (&right, b), (&sums, sum)]
        .iter()
        .flat_map(|(values, fragment)| vec![registers(*fragment).ty; values.len()])
        .collect();
    let Registers { n, ty } = registers(sum);
    let made = kernel.temp(format!(
        "nvvm.wmma.mma {}, {}, {} {{eltypeA = #nvvm.mma_type<{}>, eltypeB = #nvvm.mma_type<{}>, layoutA = {}, layoutB = {}, {}}} : ({}) -> {}",
        list(&left),
        list(&right),
        list(&sums),
        ptx_name(a.elem),
        ptx_name(sum.elem),
        order(a),
        order(b),
        shape(sum),
        types.join(", "),
        structure(ty, n.into())
    ));
    let values = kernel.fields(&made, ty, n.into());
    kernel.write_registers(places[0], &values);
}
