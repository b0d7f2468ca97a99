//! One kernel: its head and what is declared in it.

use crate::expr::Expr;
use crate::placement::Placement;
use crate::preamble::Needs;
use crate::writer::{Writer, line_directive};
use std::rc::Rc;
use tc_dialects::fragment::Fragment;
use tc_dialects::scope::Scope;
use tc_ir::effects::root_buffer;
use tc_ir::func::Def;
use tc_ir::verify::has_flag;
use tc_ir::walk::all_ops;
use tc_ir::{Elem, Func, Op, Scalar, Value, keys};
use tc_kernel::access::{alignment, element};
use tc_kernel::facts::{self, Facts};
use tc_kernel::job::Text;
use tc_kernel::names::Names;
use tc_kernel::residency::resident_blocks;
use tc_kernel::{bulk, maps, reserved, sizes};
use tc_support::{Diagnostic, Diagnostics, Sources};
use tc_target::Target;

/// The type of a byte.
const BYTE: &str = "unsigned char";

/// The type of a barrier in shared memory.
const ARRIVALS: &str = "unsigned long long";

/// Longer heads are broken after the name, and then between parameters.
const MAX_LINE: usize = 110;

/// The state of writing one kernel.
pub(crate) struct Kernel<'m> {
    pub(crate) func: &'m Func,
    pub(crate) facts: &'m Facts,
    pub(crate) placement: Placement,
    pub(crate) needs: &'m mut Needs,
    /// What is compiled for.
    pub(crate) target: &'m Target,
    pub(crate) names: Names,
    pub(crate) out: Writer,
    /// The files that `#line` names, where it is asked for.
    pub(crate) lines: Option<&'m Sources>,
    bound: Vec<Option<Rc<str>>>,
    found: Diagnostics,
}

/// Writes the kernel `func` under the name `name`. Diagnostics are defects: what cannot be written was refused before.
pub(crate) fn write(
    func: &Func,
    facts: &Facts,
    name: &str,
    target: &Target,
    needs: &mut Needs,
    lines: Option<&Sources>,
) -> Result<Text, Diagnostics> {
    let values = all_ops(func).flat_map(|op| {
        let args = func.op_regions(op).iter().flat_map(|&region| func.region_args(region).iter().copied());
        func.results(op).chain(args)
    });
    let authors = func.region_args(func.body()).iter().copied().chain(values).map(|value| func.value_text(value));
    let mut kernel = Kernel {
        func,
        facts,
        placement: Placement::new(func),
        needs,
        target,
        names: Names::new(reserved::safe, authors),
        out: Writer::default(),
        lines,
        bound: vec![None; func.n_value_ids()],
        found: Diagnostics::new(),
    };
    let sizes: Vec<Value> =
        sizes::symbols(func).iter().copied().filter(|&size| kernel.placement.is_live(size)).collect();
    kernel.head(name, &sizes);
    kernel.region(func.body());
    kernel.out.close();
    let sizes = sizes.into_iter().map(|size| func.value_text(size).to_string()).collect();
    if kernel.found.is_empty() { Ok(Text { text: kernel.out.finish(), sizes }) } else { Err(kernel.found) }
}

impl Kernel<'_> {
    fn head(&mut self, name: &str, sizes: &[Value]) {
        let mut params: Vec<String> = self.func.params().iter().map(|&param| self.param(param)).collect();
        params.extend(sizes.iter().map(|&size| self.size(size)));
        params.extend(maps::maps(self.func).filter_map(|op| self.func.result(op)).map(|map| self.map(map)));
        let bounds = match resident_blocks(self.func, self.facts, self.target) {
            Some(blocks) => format!("{}, {blocks}", self.facts.n_threads()),
            None => self.facts.n_threads().to_string(),
        };
        let cluster = match self.facts.cluster {
            1 => String::new(),
            blocks => format!("__cluster_dims__({blocks}) "),
        };
        let opening = format!("extern \"C\" __global__ void {cluster}__launch_bounds__({bounds}) {name}(");
        let whole = format!("{opening}{}) {{", params.join(", "));
        if whole.len() <= MAX_LINE || params.is_empty() {
            self.out.open(&whole);
            return;
        }
        self.out.line(&opening);
        let mut line = "   ".to_string();
        for (nth, param) in params.iter().enumerate() {
            let end = if nth + 1 == params.len() { ") {" } else { "," };
            if line.len() + param.len() + end.len() >= MAX_LINE && !line.trim().is_empty() {
                self.out.line(&line);
                line = "   ".to_string();
            }
            line.push(' ');
            line.push_str(param);
            line.push_str(end);
        }
        self.out.open(&line);
    }

    fn param(&mut self, param: Value) -> String {
        let func = self.func;
        let name = self.declare(param, "arg");
        if let Some(scalar) = func.value_scalar(param) {
            return format!("{} {name}", self.needs.type_name(scalar));
        }
        let ty = self.pointer(param);
        let restrict = if has_flag(func, func.header.attrs, keys::NOALIAS) { " __restrict__" } else { "" };
        format!("{ty}{restrict} {name}")
    }

    /// A size that the program leaves open. Where it is converted to the type that it has here, it is used as it is.
    fn size(&mut self, size: Value) -> String {
        let func = self.func;
        let name = self.declare(size, "size");
        for taken in sizes::taken_as(func, size) {
            self.bind(taken, name.clone());
        }
        format!("{} {name}", self.needs.type_name(Scalar::of(sizes::elem(func, size))))
    }

    /// A tensor map, which the engine of copies reads where the parameter lies.
    fn map(&mut self, map: Value) -> String {
        let name = self.declare(map, "map");
        format!("const __grid_constant__ {} {name}", self.needs.tensor_map())
    }

    /// The type of the elements of `buffer`.
    fn type_of(&mut self, buffer: Value) -> Option<String> {
        match element(self.func, self.func.value_type(buffer)) {
            Some(elem) => Some(self.needs.type_name(elem)),
            None => bulk::is_barriers(self.func, buffer).then(|| ARRIVALS.to_string()),
        }
    }

    /// The type of a pointer to the elements of `buffer`.
    fn pointer(&mut self, buffer: Value) -> String {
        let ty = match self.type_of(buffer) {
            Some(ty) => ty,
            None => self.stray("a buffer of something that is no number").text,
        };
        format!("{}{ty}*", if self.is_const(buffer) { "const " } else { "" })
    }

    /// Is the buffer a parameter, or inside one, that is only read?
    pub(crate) fn is_const(&self, buffer: Value) -> bool {
        let root = root_buffer(self.func, buffer);
        matches!(self.func.def(root), Def::Arg(..)) && !self.facts.is_written(self.func, root)
    }

    /// Declares the buffer that the alloc `op` makes.
    pub(crate) fn alloc(&mut self, op: Op) {
        self.at(op);
        let func = self.func;
        let Some(buffer) = func.result(op) else { return };
        if let Some(fragment) = facts::fragment_of(func, buffer) {
            return self.fragments(buffer, fragment);
        }
        let (Some(ty), Some(n)) = (self.type_of(buffer), facts::n_elements(func, buffer)) else {
            self.stray("an alloc without a size");
            return;
        };
        // C++ has no arrays without elements.
        let n = n.max(1);
        let scope = Scope::of(func, buffer);
        if scope.is_some_and(Scope::is_sized_by_launch) {
            let align = self.facts.shared_alignment(func, buffer);
            self.out.line(&format!("extern __shared__ __align__({align}) {BYTE} dyn_shared[];"));
            let name = self.declare(buffer, "buf");
            let start =
                if ty == BYTE { "dyn_shared".to_string() } else { format!("reinterpret_cast<{ty}*>(dyn_shared)") };
            self.out.line(&format!("{ty}* const {name} = {start};"));
            return;
        }
        let unread = if self.facts.is_read(func, buffer) { "" } else { "[[maybe_unused]] " };
        let name = self.declare(buffer, "buf");
        if scope.is_some_and(Scope::is_shared) {
            let align = self.facts.shared_alignment(func, buffer);
            self.out.line(&format!("{unread}__shared__ __align__({align}) {ty} {name}[{n}];"));
            return;
        }
        let natural = element(func, func.value_type(buffer)).map_or(1, |elem| u64::from(alignment(elem)));
        let align = facts::declared_alignment(func, buffer).max(self.facts.alignment(func, buffer));
        let align = if align > natural { format!("__align__({align}) ") } else { String::new() };
        self.out.line(&format!("{unread}{align}{ty} {name}[{n}];"));
    }

    /// Declares the buffer `buffer` of fragments.
    fn fragments(&mut self, buffer: Value, fragment: Fragment) {
        let n = facts::n_elements(self.func, buffer).unwrap_or(1).max(1);
        let ty = crate::wmma::fragment_type(fragment, self.needs);
        let unread = if self.facts.is_read(self.func, buffer) { "" } else { "[[maybe_unused]] " };
        let name = self.declare(buffer, "buf");
        self.out.line(&format!("{unread}{ty} {name}[{n}];"));
    }

    /// Declares the buffer inside another one that `op` makes.
    pub(crate) fn view(&mut self, op: Op) {
        self.at(op);
        let func = self.func;
        let (Some(view), &[outer, offset]) = (func.result(op), func.operands(op)) else { return };
        let constant = if self.is_const(outer) { "const " } else { "" };
        let is_bytes = element(func, func.value_type(outer)) == Some(Scalar::of(Elem::U8));
        let outer = self.buffer(outer);
        let bytes = if is_bytes { outer.to_string() } else { format!("reinterpret_cast<{constant}{BYTE}*>({outer})") };
        let start = match self.bare_int(offset) {
            Some(0) => outer.to_string(),
            _ => format!("{bytes} + {}", self.lane(offset, 0).at(crate::expr::prec::MUL)),
        };
        let ty = self.pointer(view);
        let name = self.declare(view, "buf");
        self.out.line(&format!("{ty} const {name} = reinterpret_cast<{ty}>({start});"));
    }

    /// Declares a name for `value`: its author's, or one made from `fallback`.
    pub(crate) fn declare(&mut self, value: Value, fallback: &str) -> Rc<str> {
        let name: Rc<str> = self.names.declare(self.func.value_text(value), fallback).into();
        self.bind(value, name.clone());
        name
    }

    /// Declares a name for `value`: its author's, or a numbered one.
    pub(crate) fn declare_or_number(&mut self, value: Value) -> Rc<str> {
        if self.func.value_name(value).is_some() {
            return self.declare(value, "v");
        }
        let name: Rc<str> = self.names.temporary().into();
        self.bind(value, name.clone());
        name
    }

    /// From now on `value` is called `name`.
    pub(crate) fn bind(&mut self, value: Value, name: Rc<str>) {
        self.bound[value.as_u32() as usize] = Some(name);
    }

    /// What `value` is called.
    pub(crate) fn name_of(&self, value: Value) -> Option<Rc<str>> {
        self.bound[value.as_u32() as usize].clone()
    }

    /// What the buffer `value` is called.
    pub(crate) fn buffer(&mut self, value: Value) -> Rc<str> {
        match self.name_of(value) {
            Some(name) => name,
            None => self.stray("a buffer that was not declared").text.into(),
        }
    }

    /// Notes where the next statement comes from.
    pub(crate) fn at(&mut self, op: Op) {
        let Some(sources) = self.lines else { return };
        let loc = self.func.op_locs(op).source;
        if let Some((file, at)) = self.func.file_line_col(loc, sources)
            && (1..=i32::MAX as u32).contains(&at.line)
        {
            self.out.directive(&line_directive(at.line, file.as_deref()));
        }
    }

    /// What should have been refused has come up.
    pub(crate) fn stray(&mut self, what: &str) -> Expr {
        let text = format!("the emitter met {what} in `@{}`", self.func.symbol());
        self.found.push(Diagnostic::bug("emitter", self.func.location(self.func.header.loc), text));
        Expr::name("0")
    }
}
