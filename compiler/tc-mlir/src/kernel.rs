//! One kernel: its head, and what all that is written in it goes through.

use crate::constants::Constants;
use crate::functions::Function;
use crate::index::SteppedValues;
use crate::memory::{self, Memory};
use crate::names;
use crate::own;
use crate::types;
use crate::unroll::Unrolled;
use crate::writer::Writer;
use std::collections::BTreeSet;
use std::fmt::Write;
use std::rc::Rc;
use tc_dialects::arith;
use tc_ir::verify::has_flag;
use tc_ir::walk::all_ops;
use tc_ir::{Elem, Func, Op, Value, keys};
use tc_kernel::facts::Facts;
use tc_kernel::job::Text;
use tc_kernel::live::{self, ACTS};
use tc_kernel::names::Names;
use tc_kernel::residency::resident_blocks;
use tc_kernel::{maps, sizes};
use tc_support::{Diagnostic, Diagnostics, Sources};
use tc_target::Target;

/// Longer heads are broken between parameters.
const MAX_LINE: usize = 110;

/// Regions around the ops of a kernel: the module, its GPU module, the kernel.
const DEPTH: usize = 3;

/// The state of writing one kernel.
pub(crate) struct Kernel<'m> {
    pub(crate) func: &'m Func,
    pub(crate) facts: &'m Facts,
    /// What is compiled for.
    pub(crate) target: &'m Target,
    pub(crate) names: Names,
    pub(crate) constants: Constants,
    /// Ops at the head, which all others may use.
    pub(crate) top: Writer,
    pub(crate) out: Writer,
    /// What of the module's the kernel uses.
    pub(crate) uses: &'m mut Uses,
    pub(crate) memory: Vec<Option<Rc<Memory>>>,
    /// Buffers that lie in static shared memory: `%AS: memref<…> {…}`.
    pub(crate) workgroup: Vec<String>,
    /// Buffers that others are views of.
    pub(crate) viewed: Vec<bool>,
    live: Vec<bool>,
    effects: Vec<u8>,
    bound: Vec<Option<Rc<str>>>,
    /// What values are called as an `index`, in this region.
    pub(crate) indices: Vec<Option<Rc<str>>>,
    /// What loops step.
    pub(crate) steps: SteppedValues,
    /// Which loops are to be unrolled.
    pub(crate) unrolled: Unrolled,
    /// What is known in each open region only.
    scopes: Vec<Vec<Value>>,
    sources: Option<&'m Sources>,
    found: Diagnostics,
}

/// What kernels use of what their module declares.
#[derive(Default)]
pub(crate) struct Uses {
    /// The alignment of dynamic shared memory; 0 where there is none.
    pub(crate) dynamic_shared: u64,
    /// Loops are unrolled, whole or by these factors.
    pub(crate) unrolled: BTreeSet<Option<i64>>,
    /// Functions that kernels call.
    pub(crate) functions: BTreeSet<Function>,
}

/// The state at the opening of a region.
pub(crate) struct Mark(usize);

/// Writes the kernel `func` under the name `name`. Diagnostics are defects: what cannot be written was refused before.
pub(crate) fn write(
    func: &Func,
    facts: &Facts,
    name: &str,
    target: &Target,
    uses: &mut Uses,
    sources: Option<&Sources>,
) -> Result<Text, Diagnostics> {
    let ops: Vec<Op> = all_ops(func).collect();
    let values = ops.iter().flat_map(|&op| {
        let args = func.op_regions(op).iter().flat_map(|&region| func.region_args(region).iter().copied());
        func.results(op).chain(args)
    });
    let authors = func.region_args(func.body()).iter().copied().chain(values).map(|value| func.value_text(value));
    let effects = live::effects(func, &ops);
    let live = live::values(func, &ops, &effects);
    let steps = SteppedValues::of(func, &ops, |op| is_statement(func, op, &live, &effects));
    let mut kernel = Kernel {
        func,
        facts,
        target,
        names: Names::new(names::safe, authors),
        constants: Constants::default(),
        top: Writer::new(DEPTH),
        out: Writer::new(DEPTH),
        uses,
        memory: vec![None; func.n_value_ids()],
        workgroup: Vec::new(),
        viewed: memory::viewed(func, &ops),
        live,
        effects,
        bound: vec![None; func.n_value_ids()],
        indices: vec![None; func.n_value_ids()],
        steps,
        unrolled: Unrolled::of(func, &ops, facts),
        scopes: vec![Vec::new()],
        sources,
        found: Diagnostics::new(),
    };
    let sizes: Vec<Value> = sizes::symbols(func).iter().copied().filter(|&size| kernel.is_live(size)).collect();
    let mut params: Vec<String> = func.params().iter().map(|&param| kernel.param(param)).collect();
    params.extend(sizes.iter().map(|&size| kernel.size(size)));
    params.extend(maps::maps(func).filter_map(|op| func.result(op)).map(|map| kernel.map(map)));
    kernel.open_params(&params);
    kernel.declare_buffers(&ops);
    kernel.region(func.body());
    kernel.out.op("gpu.return");
    let sizes: Vec<String> = sizes.into_iter().map(|size| func.value_text(size).to_string()).collect();
    if !kernel.found.is_empty() {
        return Err(kernel.found);
    }
    Ok(Text { text: kernel.finish(name, &params, &sizes), sizes })
}

impl Kernel<'_> {
    /// Puts the head, the constants and the ops together.
    fn finish(self, name: &str, params: &[String], sizes: &[String]) -> String {
        let mut text = String::new();
        let location = self.location_of_func();
        let mut opening = format!("    gpu.func @{name}(");
        let mut put = |piece: &str, end: &str| {
            if opening.len() + piece.len() + end.trim_end().len() > MAX_LINE && !opening.trim_end().is_empty() {
                let _ = writeln!(text, "{}", opening.trim_end());
                opening = "        ".to_string();
            }
            opening.push_str(piece);
            opening.push_str(end);
        };
        for (nth, param) in params.iter().enumerate() {
            put(param, if nth + 1 < params.len() { ", " } else { ") " });
        }
        if params.is_empty() {
            put(") ", "");
        }
        for (nth, buffer) in self.workgroup.iter().enumerate() {
            let start = if nth == 0 { "workgroup(" } else { "" };
            put(&format!("{start}{buffer}"), if nth + 1 < self.workgroup.len() { ", " } else { ") " });
        }
        let [x, y, z] = self.facts.block;
        let mut attributes = format!("kernel attributes {{known_block_size = array<i32: {x}, {y}, {z}>");
        if let Some(blocks) = resident_blocks(self.func, self.facts, self.target) {
            let _ = write!(attributes, ", nvvm.minctasm = {blocks} : i32");
        }
        if self.facts.cluster > 1 {
            let _ = write!(attributes, ", nvvm.cluster_dim = array<i32: {}, 1, 1>", self.facts.cluster);
        }
        let n_maps = maps::maps(self.func).count();
        if n_maps > 0 {
            let _ = write!(attributes, ", {} = {n_maps} : i64", own::MAPS);
        }
        attributes.push_str(&own_head(self.func, sizes));
        put(&attributes, "} {");
        let _ = writeln!(text, "{opening}");
        for line in self.constants.lines() {
            let _ = writeln!(text, "      {line}");
        }
        text.push_str(&self.top.finish());
        text.push_str(&self.out.finish());
        let _ = writeln!(text, "    }}{location}");
        text
    }

    fn param(&mut self, param: Value) -> String {
        let func = self.func;
        let Some(scalar) = func.value_scalar(param) else {
            let ty = self.param_buffer(param);
            let mut facts = Vec::new();
            if has_flag(func, func.header.attrs, keys::NOALIAS) {
                facts.push("llvm.noalias");
            }
            if !self.facts.is_written(func, param) {
                facts.push("llvm.readonly");
            }
            return if facts.is_empty() { ty } else { format!("{ty} {{{}}}", facts.join(", ")) };
        };
        let name = self.declare(param, "arg");
        if scalar.elem != Elem::Bool {
            return format!("{name}: {}", types::value(scalar));
        }
        // A truth value is handed over as a byte.
        let byte: Rc<str> = format!("%{}", self.names.declare(&format!("{}_byte", &name[1..]), "arg")).into();
        let text = format!("{byte}: i8");
        self.out.op(&format!("{name} = arith.trunci {byte} : i8 to i1"));
        text
    }

    /// A size that the program leaves open. Where it is converted to the type that it has here, it is used as it is.
    fn size(&mut self, size: Value) -> String {
        let func = self.func;
        let name = self.declare(size, "size");
        for taken in sizes::taken_as(func, size) {
            self.bind(taken, name.clone());
        }
        format!("{name}: {}", types::number(sizes::elem(func, size)))
    }

    /// A tensor map, which the engine of copies reads where the parameter lies: [`own::MAPS`] says that these are constant there.
    fn map(&mut self, map: Value) -> String {
        let name = self.declare(map, "map");
        format!("{name}: !llvm.ptr {{{}}}", own::MAP_PARAM)
    }

    /// Is `value` needed by anything?
    pub(crate) fn is_live(&self, value: Value) -> bool {
        self.live[value.as_u32() as usize]
    }

    /// Is `op` written as a statement?
    pub(crate) fn is_statement(&self, op: Op) -> bool {
        is_statement(self.func, op, &self.live, &self.effects)
    }

    /// Opens a region: names that are declared from now on, and what is made of values, are known until it is closed.
    pub(crate) fn enter(&mut self) -> Mark {
        self.scopes.push(Vec::new());
        Mark(self.names.enter())
    }

    /// Closes the region that `mark` opened.
    pub(crate) fn leave(&mut self, mark: Mark) {
        self.names.leave(mark.0);
        for value in self.scopes.pop().into_iter().flatten() {
            let idx = value.as_u32() as usize;
            self.indices[idx] = None;
            let is_made_here = self.func.def_op(value).is_some_and(|op| is_made_where_used(self.func, op));
            if is_made_here {
                self.bound[idx] = None;
            }
        }
    }

    /// What is known of `value` from now on is known until the region is closed.
    pub(crate) fn note(&mut self, value: Value) {
        if let Some(scope) = self.scopes.last_mut() {
            scope.push(value);
        }
    }

    /// Declares a name for `value`: its author's, or one made from `fallback`.
    pub(crate) fn declare(&mut self, value: Value, fallback: &str) -> Rc<str> {
        let name: Rc<str> = format!("%{}", self.names.declare(self.func.value_text(value), fallback)).into();
        self.bind(value, name.clone());
        name
    }

    /// A name for `value`: its author's, or a numbered one.
    pub(crate) fn declare_or_number(&mut self, value: Value) -> Rc<str> {
        if self.func.value_name(value).is_some() {
            return self.declare(value, "v");
        }
        let name = self.temporary();
        self.bind(value, name.clone());
        name
    }

    /// A numbered name.
    pub(crate) fn temporary(&mut self) -> Rc<str> {
        format!("%{}", self.names.temporary()).into()
    }

    /// From now on `value` is called `name`.
    pub(crate) fn bind(&mut self, value: Value, name: Rc<str>) {
        self.bound[value.as_u32() as usize] = Some(name);
    }

    /// What `value` is called, where it has been declared.
    pub(crate) fn name_of(&self, value: Value) -> Option<Rc<str>> {
        self.bound[value.as_u32() as usize].clone()
    }

    /// Writes `%tN = text`, and gives the name.
    pub(crate) fn temp(&mut self, text: impl AsRef<str>) -> Rc<str> {
        let name = self.temporary();
        self.out.op(&format!("{name} = {}", text.as_ref()));
        name
    }

    /// Writes `text`, an op without a result.
    pub(crate) fn line(&mut self, text: impl AsRef<str>) {
        self.out.op(text.as_ref());
    }

    /// Writes the op `text`, which makes `value`.
    pub(crate) fn define(&mut self, value: Value, text: &str) {
        let name = self.declare_or_number(value);
        self.out.op(&format!("{name} = {text}"));
    }

    /// Notes where the next ops come from.
    pub(crate) fn at(&mut self, op: Op) {
        self.out.location = self.location_text(self.func.op_locs(op).source);
    }

    fn location_of_func(&self) -> String {
        self.location_text(self.func.header.loc)
    }

    fn location_text(&self, loc: tc_ir::Loc) -> String {
        let Some(sources) = self.sources else { return String::new() };
        let Some((file, at)) = self.func.file_line_col(loc, sources) else { return String::new() };
        let mut name = String::new();
        for c in file.as_deref().unwrap_or("-").chars() {
            match c {
                '"' | '\\' => {
                    name.push('\\');
                    name.push(c);
                }
                c if c.is_control() => name.push('?'),
                c => name.push(c),
            }
        }
        format!(" loc(\"{name}\":{}:{})", at.line, at.col)
    }

    /// What should have been refused has come up.
    pub(crate) fn stray(&mut self, what: &str) -> Rc<str> {
        let text = format!("the emitter met {what} in `@{}`", self.func.symbol());
        self.found.push(Diagnostic::bug("emitter", self.func.location(self.func.header.loc), text));
        "%stray".into()
    }
}

/// The attributes by which the text is read back.
fn own_head(func: &Func, sizes: &[String]) -> String {
    let mut text = format!(", {} = {}", own::KERNEL, own::quoted(&own::head(func).to_string()));
    if !sizes.is_empty() {
        let _ = write!(text, ", {} = {}", own::SIZES, own::list(sizes.iter().cloned()));
    }
    text
}

fn is_statement(func: &Func, op: Op, live: &[bool], effects: &[u8]) -> bool {
    !func.row(op).terminator
        && (effects[op.as_u32() as usize] & ACTS != 0 || func.results(op).any(|value| live[value.as_u32() as usize]))
}

/// Ramps and broadcasts stand where they are used, for often nothing of them is.
pub(crate) fn is_made_where_used(func: &Func, op: Op) -> bool {
    match func.opcode(op) {
        arith::RAMP | arith::BROADCAST => true,
        arith::CONSTANT => func.result(op).is_some_and(|value| func.value_name(value).is_none()),
        _ => false,
    }
}
