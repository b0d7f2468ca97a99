//! What reading a kernel carries along; making ops.

use super::bits::Bits;
use super::text::{At, Text};
use super::types::{self, Known as KnownType};
use melior::ir::operation::{OperationLike, OperationResult};
use melior::ir::{OperationRef, Value as MlirValue, ValueLike};
use rustc_hash::FxHashMap;
use tc_dialects::arith as ops;
use tc_ir::builder::OpSpec;
use tc_ir::{Attr, Attrs, Builder, Elem, Func, Name, Op, Opcode, Region, Scalar, Type, Value, keys};
use tc_support::{Diagnostic, Diagnostics};

/// How deep regions may be.
const MAX_DEPTH: u32 = 256;

/// What a value of MLIR stands for.
#[derive(Clone, Debug)]
pub(crate) enum Known {
    /// A number or a vector. An `index` may be a number of any type.
    Value(Value),
    /// A buffer, or a part of one of bytes.
    Buffer(Value),
    /// A vector of these numbers.
    Lanes(Vec<Value>),
    /// Bits of a number, as an integer.
    Bits(Bits),
    /// A buffer as LLVM has it, or its address.
    Descriptor(Value),
    /// The address of an element.
    Pointer(Value, Value),
    /// A number rounded to tf32, as a product takes it.
    Tf32(Value),
    /// What an instruction gives, by number.
    Registers(usize),
    /// One register of that.
    Register(usize, usize),
    /// The dynamic shared memory, before it is known how much there is.
    Dynamic,
    /// Something that no program can read: what it is, and help.
    Unreadable(&'static str, &'static str),
    /// Its definition failed.
    Missing,
}

/// A kernel on its way.
pub(crate) struct Reader<'t> {
    pub(crate) text: &'t Text<'t>,
    pub(crate) func: Func,
    /// Where ops are made.
    pub(crate) region: Region,
    /// How many threads and blocks there are, and their coordinates.
    pub(crate) launch: super::launch::Launch,
    /// The buffer in dynamic shared memory.
    pub(crate) dynamic: Option<Value>,
    /// Instructions whose registers are on their way to memory.
    pub(crate) instructions: Vec<super::fragments::Instruction>,
    /// Ops without a result that were made: what was read before may have changed after.
    pub(crate) n_effects: u64,
    pub(crate) found: Diagnostics,
    /// It carries its head: it is a kernel that our emitter wrote.
    pub(crate) is_ours: bool,
    known: FxHashMap<usize, Known>,
    depth: u32,
}

fn id(value: MlirValue<'_, '_>) -> usize {
    value.to_raw().ptr as usize
}

impl<'t> Reader<'t> {
    /// A reader that makes ops in `region` of `func`.
    pub(crate) fn new(text: &'t Text<'t>, func: Func, region: Region) -> Reader<'t> {
        Reader {
            text,
            func,
            region,
            launch: super::launch::Launch::default(),
            dynamic: None,
            instructions: Vec::new(),
            n_effects: 0,
            found: Diagnostics::new(),
            is_ours: false,
            known: FxHashMap::default(),
            depth: 0,
        }
    }

    /// `value` stands for `known` from here on.
    pub(crate) fn bind(&mut self, value: MlirValue<'_, '_>, known: Known) {
        self.known.insert(id(value), known);
    }

    /// The `nth` result of `op` stands for `known`, which it gives its name to.
    pub(crate) fn give(&mut self, op: OperationRef<'_, '_>, known: Known) {
        if matches!(known, Known::Missing) {
            self.lost(op);
        }
        if let Known::Value(value) | Known::Buffer(value) = known
            && let Some(name) = self.text.name_of(op)
        {
            self.name(value, name);
        }
        if let Ok(result) = op.result(0) {
            self.bind(result.into(), known);
        }
    }

    /// Nothing comes of `op`. Where nothing was said of why, that is said: an op is not left out in silence.
    pub(crate) fn lost(&mut self, op: OperationRef<'_, '_>) {
        if !self.found.has_errors() {
            let text = format!("`{}` has no counterpart as it stands here", super::module::name(op));
            self.refuse(op, text, super::walk::OTHERWISE);
        }
    }

    /// The same, of a number.
    pub(crate) fn give_value(&mut self, op: OperationRef<'_, '_>, value: Option<Value>) {
        let known = value.map_or(Known::Missing, Known::Value);
        self.give(op, known);
    }

    /// What `value` stands for.
    pub(crate) fn lookup(&self, value: MlirValue<'_, '_>) -> Known {
        self.known.get(&id(value)).cloned().unwrap_or(Known::Missing)
    }

    /// What operand `nth` of `op` stands for.
    pub(crate) fn operand(&self, op: OperationRef<'_, '_>, nth: usize) -> Known {
        op.operand(nth).map_or(Known::Missing, |value| self.lookup(value))
    }

    /// The number or vector that operand `nth` of `op` is.
    pub(crate) fn number(&mut self, op: OperationRef<'_, '_>, nth: usize) -> Option<Value> {
        match self.operand(op, nth) {
            Known::Value(value) => Some(value),
            Known::Lanes(lanes) => {
                let vector = self.together(op, &lanes)?;
                let operand = op.operand(nth).ok()?;
                // Where it was put together, what follows has the vector too.
                let made = OperationResult::try_from(operand).ok().and_then(|result| result.owner().block());
                if made.is_some() && made == op.block() {
                    self.bind(operand, Known::Value(vector));
                }
                Some(vector)
            }
            Known::Missing => {
                self.lost(op);
                None
            }
            Known::Bits(..) | Known::Register(..) | Known::Registers(_) => {
                let help = "compute with the number itself; its bits may only be exchanged between lanes";
                self.refuse(op, "the bits of numbers are no number of a program", help);
                None
            }
            Known::Unreadable(what, help) => {
                self.refuse(op, format!("{what} has no counterpart"), help);
                None
            }
            Known::Tf32(_) => {
                let help = "round where an operator is computed; products of tiles round what they take";
                self.refuse(op, "a number rounded to tf32 is no number of a program", help);
                None
            }
            Known::Buffer(_) | Known::Descriptor(_) | Known::Pointer(..) | Known::Dynamic => {
                self.refuse(op, "a buffer is no number", "load an element of it");
                None
            }
        }
    }

    /// The buffer that operand `nth` of `op` is.
    pub(crate) fn buffer(&mut self, op: OperationRef<'_, '_>, nth: usize) -> Option<Value> {
        match self.operand(op, nth) {
            Known::Buffer(value) => Some(value),
            Known::Missing => {
                self.lost(op);
                None
            }
            _ => {
                self.refuse(
                    op,
                    "this is no buffer of the kernel",
                    "use a parameter, a `memref.alloca`, or a workgroup buffer",
                );
                None
            }
        }
    }

    pub(crate) fn error(
        &mut self,
        op: OperationRef<'_, '_>,
        diagnostic: impl FnOnce(tc_support::Location) -> Diagnostic,
    ) {
        let diagnostic = diagnostic(self.text.location(&self.text.at_op(op)));
        // An op may use one value twice.
        if self.found.iter().last() != Some(&diagnostic) {
            self.found.push(diagnostic);
        }
    }

    /// tc has no counterpart of `op`.
    pub(crate) fn refuse(&mut self, op: OperationRef<'_, '_>, why: impl Into<String>, help: &str) {
        let why = why.into();
        self.error(op, |at| Diagnostic::error("no-counterpart", at, why).help(help));
    }

    /// Runs `run` one region deeper; an error where that is too deep.
    pub(crate) fn deeper(&mut self, op: OperationRef<'_, '_>, region: Region, run: impl FnOnce(&mut Self)) {
        if self.depth >= MAX_DEPTH {
            let text = format!("regions may be nested {MAX_DEPTH} deep");
            return self.error(op, |at| Diagnostic::error("too-deep", at, text));
        }
        self.depth += 1;
        let outer = std::mem::replace(&mut self.region, region);
        run(self);
        self.region = outer;
        self.depth -= 1;
    }

    pub(crate) fn builder(&mut self, op: OperationRef<'_, '_>) -> Builder<'_> {
        let at: At = self.text.at_op(op);
        let loc = self.text.loc(&at, &mut self.func);
        let mut builder = Builder::at_end(&mut self.func, self.region);
        builder.locs.source = loc;
        builder
    }

    /// Makes an op.
    pub(crate) fn make(
        &mut self,
        at: OperationRef<'_, '_>,
        opcode: Opcode,
        operands: &[Value],
        attrs: &[(Name, Attr)],
        results: &[Type],
        n_regions: usize,
    ) -> Op {
        let attrs = if attrs.is_empty() { Attrs::EMPTY } else { self.func.dict(attrs) };
        self.n_effects += u64::from(results.is_empty());
        self.builder(at).op(OpSpec { opcode, operands, keyed: 0, attrs, results, n_regions })
    }

    /// Makes an op with one result, whose type its row infers.
    pub(crate) fn infer(
        &mut self,
        at: OperationRef<'_, '_>,
        opcode: Opcode,
        operands: &[Value],
        attrs: &[(Name, Attr)],
    ) -> Option<Value> {
        let dict = self.func.dict(attrs);
        match self.func.infer_type(opcode, operands, dict) {
            Ok(ty) => {
                let op = self.make(at, opcode, operands, attrs, &[ty], 0);
                self.func.result(op)
            }
            Err(reason) => {
                self.error(at, |at| Diagnostic::error("type", at, reason));
                None
            }
        }
    }

    /// Gives `value` the name, unless it has one.
    pub(crate) fn name(&mut self, value: Value, name: &str) {
        if self.func.value_name(value).is_none() && self.func.constant(value).is_none() {
            let name = self.func.name(&name.replace(['.', '-'], "_"));
            self.func.set_value_name(value, Some(name));
        }
    }

    pub(crate) fn scalar(&self, value: Value) -> Scalar {
        self.func.value_scalar(value).unwrap_or(Scalar::of(Elem::I32))
    }

    /// `value` as numbers of type `elem`.
    pub(crate) fn as_elem(&mut self, at: OperationRef<'_, '_>, value: Value, elem: Elem) -> Value {
        let scalar = self.scalar(value);
        if scalar.elem == elem {
            return value;
        }
        if let Some(number) = self.func.const_int(value).filter(|_| elem.is_int() && scalar.lanes == 1) {
            let number = super::values::wrapped(number, elem);
            return self.builder(at).int(number, elem);
        }
        let ty = self.func.scalar_ty(Scalar { elem, ..scalar });
        let op = self.make(at, ops::CAST, &[value], &[], &[ty], 0);
        self.func.result(op).unwrap_or(value)
    }

    /// The type of result `nth` of `op`, if it is a number's.
    pub(crate) fn result_type(&mut self, op: OperationRef<'_, '_>, nth: usize) -> Option<Scalar> {
        let ty = op.result(nth).ok()?.r#type();
        match types::known(ty) {
            KnownType::Scalar(scalar) => Some(scalar),
            _ => {
                let text = format!("tc has no type `{ty}`");
                self.refuse(op, text, "programs have numbers of 8 to 64 bits, short vectors of them, and buffers");
                None
            }
        }
    }

    /// The attribute `key` = a word.
    pub(crate) fn word(&mut self, key: Name, word: &str) -> (Name, Attr) {
        (key, self.func.word_attr(word))
    }

    /// Marks the function with `key`.
    pub(crate) fn flag(&mut self, key: Name) {
        let unit = self.func.attr(tc_ir::AttrData::Unit);
        self.func.header.attrs = self.func.with_entry(self.func.header.attrs, key, unit);
    }

    /// Barriers are where the text has them.
    pub(crate) fn is_threaded(&mut self) {
        self.flag(keys::THREADED);
    }
}

/// The text of the attribute `name` of `op`.
pub(crate) fn attribute(op: OperationRef<'_, '_>, name: &str) -> Option<String> {
    op.attribute(name).ok().map(|attribute| attribute.to_string())
}

/// The integer attribute `name` of `op`.
pub(crate) fn integer(op: OperationRef<'_, '_>, name: &str) -> Option<i64> {
    let text = attribute(op, name)?;
    text.split(" : ").next()?.parse().ok()
}

/// The word `x` of an attribute `#dialect<kind x>` or `#dialect.kind<x>`.
pub(crate) fn word(op: OperationRef<'_, '_>, name: &str) -> Option<String> {
    let text = attribute(op, name)?;
    let inner = text.split_once('<').map_or(text.as_str(), |(_, rest)| rest.trim_end_matches('>'));
    Some(inner.rsplit(' ').next().unwrap_or(inner).to_string())
}
