//! The kernel manifest: what a runtime needs to launch the kernels of a host function.

use crate::facts::{Facts, buffer_bytes};
use crate::host::Host;
use crate::{maps, sizes};
use rustc_hash::{FxHashMap, FxHashSet};
use std::fmt::Write;
use tc_dialects::tma;
use tc_ir::{Attr, AttrData, Elem, Func, Op, Value, keys};
use tc_support::Diagnostic;
use tc_target::maps::DEFAULT_PROMOTION;
use tc_target::{
    Access, Buffer, DType, Follows, Formula, Kernel, KernelManifest, Param, Scalar, Slot, Target, TensorMap,
};

/// A kernel that was written.
pub struct Written<'m> {
    /// Its facts.
    pub facts: &'m Facts,
    /// Its name in the text.
    pub name: &'m str,
    /// The sizes that it takes after its parameters.
    pub sizes: &'m [String],
}

/// Comments of lines that open with `//`: how each function of the host launches its kernels.
pub fn comment(manifests: &[KernelManifest]) -> String {
    let mut out = String::new();
    let shown = |text: &str| text.chars().map(|c| if c.is_control() { '?' } else { c }).collect::<String>();
    for manifest in manifests {
        // A backslash at its end would make the next line part of the comment.
        let _ = writeln!(out, "// @{}:", shown(&manifest.function).replace('\\', "?"));
        for (nth, kernel) in manifest.kernels.iter().enumerate() {
            let grid = |dim: usize| match manifest.formula(&Slot::Grid { kernel: nth, dim }) {
                Some(formula) => formula.to_string(),
                None => kernel.grid[dim].to_string(),
            };
            let ([gx, gy, gz], [bx, by, bz]) = ([0, 1, 2].map(grid), kernel.block);
            let _ = write!(out, "//   {}: grid ({gx}, {gy}, {gz}), block ({bx}, {by}, {bz})", kernel.name);
            let shared = kernel.static_shared.saturating_add(kernel.dynamic_shared);
            if shared > 0 {
                let _ = write!(out, ", {shared} bytes of shared memory");
            }
            if let Some(when) = &kernel.when {
                let _ = write!(out, ", when {when}");
            }
            out.push('\n');
        }
    }
    out
}

/// The element type `elem` as memory holds it. `None` for an `index`, which has no width.
fn dtype(elem: Elem) -> Option<DType> {
    DType::parse(elem.name())
}

/// The manifest of `host`, whose launches were written as `kernels`, in order.
pub fn build(host: &Host<'_>, kernels: &[Written<'_>], target: &Target) -> Result<KernelManifest, Diagnostic> {
    let func = host.func;
    let mut names = Names::default();
    let mut formulas = Vec::new();
    let facts = facts(func)?;
    let open = sizes::open(func, &facts)?;
    open.iter().for_each(|size| names.reserve(&size.name));
    let params = func.params().iter().map(|&param| {
        let name = names.add(func, param, "arg");
        match func.value_scalar(param) {
            Some(scalar) => Ok(Param::Scalar(Scalar { name, dtype: dtype(scalar.elem).unwrap_or(DType::I64) })),
            None => Ok(Param::Buffer(buffer(host, kernels, param, name, &mut formulas)?)),
        }
    });
    let params = params.collect::<Result<Vec<Param>, Diagnostic>>()?;
    let temporaries = host.temporaries.iter().map(|&value| {
        let name = names.add(func, value, "tmp");
        buffer(host, kernels, value, name, &mut formulas)
    });
    let temporaries = temporaries.collect::<Result<Vec<Buffer>, Diagnostic>>()?;
    for (kernel, written) in kernels.iter().enumerate() {
        for (dim, formula) in written.facts.formulas.iter().enumerate() {
            if let Some(formula) = formula.clone() {
                formulas.push(Follows { slot: Slot::Grid { kernel, dim }, formula });
            }
        }
    }
    let mut maps = Vec::new();
    let kernels = host.launches.iter().zip(kernels).map(|(launch, written)| {
        let args = launch.args.iter().map(|arg| names.of.get(arg).cloned().unwrap_or_default());
        let mut args: Vec<String> = args.chain(written.sizes.iter().cloned()).collect();
        for op in maps::maps(launch.kernel) {
            let map = map(launch.kernel, op, &args, &mut names, &mut formulas)?;
            args.push(map.name.clone());
            maps.push(map);
        }
        Ok(Kernel { when: launch.when(func), ..launched(written, args) })
    });
    let kernels = kernels.collect::<Result<Vec<Kernel>, Diagnostic>>()?;
    let mut manifest = KernelManifest {
        function: func.symbol().to_string(),
        target: target.name.to_string(),
        params,
        maps,
        kernels,
        temporaries,
        sizes: open,
        formulas,
        facts,
    };
    manifest.keep_grids();
    // What does not follow is the author's: an extent that the least sizes make negative, say.
    let located = |wrong| Diagnostic { location: func.location(func.header.loc), ..wrong };
    manifest.set_sizes(&[]).and_then(|()| manifest.validate()).map_err(located)?;
    Ok(manifest)
}

/// The map that `op` makes in `kernel`, which is given `args`; each launch has its own.
fn map(
    kernel: &Func,
    op: Op,
    args: &[String],
    names: &mut Names,
    formulas: &mut Vec<Follows>,
) -> Result<TensorMap, Diagnostic> {
    let unknown = || Diagnostic::bug("emitter", kernel.op_location(op), "a tensor map was accepted that is not known");
    let result = kernel.result(op).ok_or_else(unknown)?;
    let name = names.pick(kernel.value_text(result), "map");
    let buffer = maps::param(kernel, op).and_then(|nth| args.get(nth)).ok_or_else(unknown)?.clone();
    let (elem, _, _) = kernel.as_shaped(kernel.value_type(result)).ok_or_else(unknown)?;
    let dtype = kernel.as_scalar(elem).and_then(|scalar| dtype(scalar.elem)).ok_or_else(unknown)?;
    let mut extents = Vec::new();
    for (dim, formula) in maps::extents(kernel, op).ok_or_else(unknown)?.into_iter().enumerate() {
        extents.push(match formula {
            Formula::Int(extent) => u64::try_from(extent).map_err(|_| unknown())?,
            formula => {
                formulas.push(Follows { slot: Slot::Map { map: name.clone(), dim }, formula });
                0
            }
        });
    }
    let sides = tma::box_extents(kernel, op).ok_or_else(unknown)?;
    let sides = sides.into_iter().map(u64::try_from).collect::<Result<Vec<u64>, _>>().map_err(|_| unknown())?;
    let steps = tma::box_steps(kernel, op).ok_or_else(unknown)?;
    let steps = steps.into_iter().map(u64::try_from).collect::<Result<Vec<u64>, _>>().map_err(|_| unknown())?;
    let swizzle = tma::swizzle_bytes(kernel, op).and_then(|bytes| u64::try_from(bytes).ok()).unwrap_or(0);
    Ok(TensorMap { name, buffer, dtype, extents, sides, steps, swizzle, promotion: DEFAULT_PROMOTION })
}

/// What the author says of the sizes of `func`, to be checked when it is launched.
fn facts(func: &Func) -> Result<Vec<Formula>, Diagnostic> {
    let formula = |&fact: &Attr| {
        sizes::of_attr(func, fact).ok_or_else(|| {
            let text = format!("a fact of `@{}` cannot be checked when it is launched", func.symbol());
            let help = "say it by `+ - * / %`, `min`, `max` and comparisons";
            Diagnostic::error("no-emitter", func.location(func.header.loc), text).help(help)
        })
    };
    func.header.facts.iter().map(formula).collect()
}

/// A launch of the kernel `written`.
fn launched(written: &Written<'_>, args: Vec<String>) -> Kernel {
    let facts = written.facts;
    Kernel {
        name: written.name.to_string(),
        args,
        grid: facts.grid,
        block: facts.block,
        cluster: [facts.cluster, 1, 1],
        overlaps: facts.overlaps,
        dynamic_shared: facts.dynamic_shared,
        static_shared: facts.static_shared,
        when: None,
    }
}

/// Names of parameters and temporaries, each its own.
#[derive(Default)]
struct Names {
    of: FxHashMap<Value, String>,
    taken: FxHashSet<String>,
}

impl Names {
    /// Keeps a name for a size.
    fn reserve(&mut self, name: &str) {
        self.taken.insert(name.to_string());
    }

    fn add(&mut self, func: &Func, value: Value, fallback: &str) -> String {
        let name = self.pick(func.value_text(value), fallback);
        self.of.insert(value, name.clone());
        name
    }

    /// A name made of `wanted`, or of `fallback` where that is empty.
    fn pick(&mut self, wanted: &str, fallback: &str) -> String {
        let base = if wanted.is_empty() { fallback } else { wanted };
        let mut name = base.to_string();
        let mut nth = 0;
        while !self.taken.insert(name.clone()) {
            nth += 1;
            name = format!("{base}_{nth}");
        }
        name
    }
}

/// The buffer `value` of the host function.
fn buffer(
    host: &Host<'_>,
    kernels: &[Written<'_>],
    value: Value,
    name: String,
    formulas: &mut Vec<Follows>,
) -> Result<Buffer, Diagnostic> {
    let func = host.func;
    let unknown = |what: &str| {
        let text = format!("the {what} of `{}` is not known when the program is emitted", func.value_text(value));
        Diagnostic::error("no-emitter", func.location(func.header.loc), text)
    };
    let (elem, shape, _) = func.as_shaped(func.value_type(value)).ok_or_else(|| unknown("shape"))?;
    let scalar = func.as_scalar(elem).ok_or_else(|| unknown("element type"))?;
    let dtype = dtype(scalar.elem).ok_or_else(|| unknown("element type"))?;
    let n_fixed = formulas.len();
    let mut extents = Vec::with_capacity(shape.len() + 1);
    for (dim, &attr) in shape.iter().enumerate() {
        extents.push(match func.attr_data(attr) {
            AttrData::Int(extent, _) => u64::try_from(*extent).map_err(|_| unknown("shape"))?,
            _ => {
                let formula = sizes::of_attr(func, attr).ok_or_else(|| unknown("shape"))?;
                formulas.push(Follows { slot: Slot::Shape { buffer: name.clone(), dim }, formula });
                0
            }
        });
    }
    let mut shape = extents;
    if scalar.lanes > 1 {
        shape.push(scalar.lanes.into());
    }
    if formulas.len() == n_fixed {
        buffer_bytes(func, value).ok_or_else(|| unknown("size"))?;
    }
    let mut buffer = Buffer::new(name, dtype, shape, access(host, kernels, value))?;
    let declared = func.buffer_attr(value, keys::ALIGN).and_then(|attr| func.as_int(attr));
    if let Some(align) = declared.and_then(|align| u64::try_from(align).ok()) {
        buffer.alignment = align;
    }
    // Tiles may count on more than buffers have unless said otherwise.
    buffer.alignment = buffer.alignment.max(alignment(host, kernels, value));
    Ok(buffer)
}

/// The alignment that the kernels count on; 0 if they count on none.
fn alignment(host: &Host<'_>, kernels: &[Written<'_>], value: Value) -> u64 {
    let mut most = 0;
    for (launch, written) in host.launches.iter().zip(kernels) {
        for (&arg, &param) in launch.args.iter().zip(launch.kernel.params()) {
            if arg == value {
                most = most.max(written.facts.alignment(launch.kernel, param));
            }
        }
    }
    most
}

/// What the kernels do to the buffer `value`. One that is written and never read counts as written whole: that no
/// cell is left out is for the simulator to say.
fn access(host: &Host<'_>, kernels: &[Written<'_>], value: Value) -> Access {
    let mut reads = false;
    let mut written_under: Vec<&[(Op, bool)]> = Vec::new();
    for (launch, written) in host.launches.iter().zip(kernels) {
        for (&arg, &param) in launch.args.iter().zip(launch.kernel.params()) {
            if arg == value {
                reads |= written.facts.is_read(launch.kernel, param);
                if written.facts.is_written(launch.kernel, param) {
                    written_under.push(&launch.choices);
                }
            }
        }
    }
    match (reads, !written_under.is_empty()) {
        (_, false) => Access::Read,
        (false, true) if is_always(&written_under) => Access::Write,
        // Where no kernel writes it, what the caller put there stays.
        _ => Access::ReadWrite,
    }
}

/// Steps that `is_always` may take: what it asks is as hard as to satisfy a formula.
const MAX_STEPS: usize = 1 << 16;

/// Is one of these taken, whatever the conditionals choose? Not, where that takes long to see.
fn is_always(choices: &[&[(Op, bool)]]) -> bool {
    let mut worklist = vec![choices.to_vec()];
    let mut steps = 0;
    while let Some(choices) = worklist.pop() {
        steps += choices.len();
        if steps > MAX_STEPS {
            return false;
        }
        if choices.iter().any(|choices| choices.is_empty()) {
            continue;
        }
        let Some(&(first, _)) = choices.iter().find_map(|choices| choices.first()) else { return false };
        for branch in [true, false] {
            let inside = choices.iter().filter_map(|choices| match choices.split_first() {
                Some((&(op, taken), rest)) if op == first => (taken == branch).then_some(rest),
                _ => Some(*choices),
            });
            worklist.push(inside.collect());
        }
    }
    true
}
