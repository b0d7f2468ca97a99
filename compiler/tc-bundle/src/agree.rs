//! What the functions of all targets have in common: what the C functions take.

use crate::{TargetCode, names, wrong};
use tc_support::{DType, Diagnostic, Diagnostics};
use tc_target::{Access, Buffer, Formula, KernelManifest, OpenSize, Param, Slot};

/// An extent of a buffer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Extent {
    /// A number.
    Fixed(u64),
    /// What follows from sizes.
    Open(Formula),
}

impl Extent {
    /// `extent`, or what `formula` says in its place.
    pub(crate) fn of(extent: u64, formula: Option<&Formula>) -> Extent {
        match formula {
            None => Extent::Fixed(extent),
            Some(Formula::Int(int)) if *int >= 0 => Extent::Fixed(int.unsigned_abs()),
            Some(formula) => Extent::Open(formula.clone()),
        }
    }
}

/// A buffer that the caller passes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Passed {
    /// The extents, outermost first.
    pub(crate) extents: Vec<Extent>,
    /// The bytes, where no extent is open.
    pub(crate) bytes: Option<u64>,
    /// The alignment that all targets are content with.
    pub(crate) alignment: u64,
    /// Does no target write it?
    pub(crate) is_read_only: bool,
}

/// A parameter of a C function.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Parameter {
    /// The author's name.
    pub(crate) name: String,
    /// The name in C.
    pub(crate) c_name: String,
    /// The type of its elements, or of the value.
    pub(crate) dtype: DType,
    /// The buffer; without one it is a value.
    pub(crate) buffer: Option<Passed>,
}

/// A function of the program, for all targets.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Function {
    /// The author's name.
    pub(crate) symbol: String,
    /// The name in C, without that of the bundle.
    pub(crate) c_name: String,
    /// Buffers and values, in order.
    pub(crate) params: Vec<Parameter>,
    /// The sizes, each with its name in C. The C functions take them last.
    pub(crate) sizes: Vec<(OpenSize, String)>,
    /// What holds of the sizes.
    pub(crate) facts: Vec<Formula>,
    /// Does a target have temporaries?
    pub(crate) has_temporaries: bool,
}

/// The functions of a bundle.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Interface {
    pub(crate) functions: Vec<Function>,
    /// What a workspace is aligned to.
    pub(crate) workspace_alignment: u64,
}

/// Memory of the driver's is aligned to so many bytes at the least.
const LEAST_WORKSPACE_ALIGNMENT: u64 = 256;

impl Function {
    /// What C calls the size `name`.
    pub(crate) fn size(&self, name: &str) -> Option<String> {
        self.sizes.iter().find(|(size, _)| size.name == name).map(|(_, c_name)| c_name.clone())
    }

    /// The buffers among the parameters.
    pub(crate) fn buffers(&self) -> impl Iterator<Item = (&Parameter, &Passed)> {
        self.params.iter().filter_map(|param| Some((param, param.buffer.as_ref()?)))
    }

    /// The names of the sizes in C.
    pub(crate) fn size_names(&self) -> Vec<&str> {
        self.sizes.iter().map(|(_, c_name)| c_name.as_str()).collect()
    }
}

impl Interface {
    /// The functions of `codes`, checked.
    pub(crate) fn of(codes: &[&TargetCode], bundle: &str) -> Result<Interface, Diagnostics> {
        let Some(first) = codes.first() else {
            return Err(wrong(format!("the bundle `{bundle}` has no target")).into());
        };
        if let Some(pair) = codes.windows(2).find(|pair| pair[0].target == pair[1].target) {
            return Err(wrong(format!("the bundle `{bundle}` has the target `{}` twice", pair[0].target)).into());
        }
        if first.manifests.is_empty() {
            return Err(wrong("there is no function in the program that launches kernels").into());
        }
        codes.iter().try_for_each(|code| check(code))?;
        let symbols: Vec<&str> = first.manifests.iter().map(|manifest| manifest.function.as_str()).collect();
        let c_names = names::of_functions(&symbols)?;
        for other in &codes[1..] {
            let others = other.manifests.iter().map(|manifest| manifest.function.as_str());
            if !others.eq(symbols.iter().copied()) {
                let message =
                    format!("the program has other functions for `{}` than for `{}`", other.target, first.target);
                return Err(wrong(message).into());
            }
        }
        let mut functions = Vec::new();
        for (nth, c_name) in c_names.into_iter().enumerate() {
            let mut function = function(&first.manifests[nth], c_name)?;
            for other in &codes[1..] {
                merge(&mut function, &other.manifests[nth]).map_err(|what| {
                    let (symbol, a, b) = (&function.symbol, first.target, other.target);
                    wrong(format!("`@{symbol}` has other {what} for `{b}` than for `{a}`"))
                        .help("a C function is one for all targets: make two bundles")
                })?;
            }
            functions.push(function);
        }
        let temporaries = codes.iter().flat_map(|code| &code.manifests).flat_map(|manifest| &manifest.temporaries);
        let workspace_alignment = temporaries.map(|one| one.alignment).fold(LEAST_WORKSPACE_ALIGNMENT, u64::max);
        Ok(Interface { functions, workspace_alignment })
    }
}

/// Checks what is known of the launches for one target before sizes are.
fn check(code: &TargetCode) -> Result<(), Diagnostics> {
    for manifest in &code.manifests {
        manifest.validate()?;
        let over = manifest.check_limits(&code.target);
        if over.has_errors() {
            return Err(over);
        }
    }
    Ok(())
}

fn function(manifest: &KernelManifest, c_name: String) -> Result<Function, Diagnostic> {
    let authors: Vec<&str> = manifest.params.iter().map(Param::name).chain(size_names(manifest)).collect();
    let mut c_names = names::of_parameters(&authors).into_iter();
    let mut next = || c_names.next().unwrap_or_default();
    let params = manifest.params.iter().map(|param| {
        let buffer = match param {
            Param::Buffer(buffer) => Some(passed(manifest, buffer)),
            Param::Scalar(_) => None,
        };
        Parameter { name: param.name().to_string(), c_name: next(), dtype: param.dtype(), buffer }
    });
    let params = params.collect();
    let sizes = manifest.sizes.iter().map(|size| (size.clone(), next())).collect();
    Ok(Function {
        symbol: manifest.function.clone(),
        c_name,
        params,
        sizes,
        facts: manifest.facts.clone(),
        has_temporaries: !manifest.temporaries.is_empty(),
    })
}

fn size_names(manifest: &KernelManifest) -> impl Iterator<Item = &str> {
    manifest.sizes.iter().map(|size| size.name.as_str())
}

/// The extents of `buffer`, numbers and formulas.
pub(crate) fn extents(manifest: &KernelManifest, buffer: &Buffer) -> Vec<Extent> {
    let extent = |(dim, &extent): (usize, &u64)| {
        let formula = manifest.formula(&Slot::Shape { buffer: buffer.name.clone(), dim });
        formula.map_or(Extent::Fixed(extent), |formula| Extent::Open(formula.clone()))
    };
    buffer.shape.iter().enumerate().map(extent).collect()
}

fn passed(manifest: &KernelManifest, buffer: &Buffer) -> Passed {
    let extents = extents(manifest, buffer);
    let is_open = extents.iter().any(|extent| matches!(extent, Extent::Open(_)));
    Passed {
        extents,
        bytes: (!is_open).then_some(buffer.bytes),
        alignment: buffer.alignment,
        is_read_only: buffer.access == Access::Read,
    }
}

/// Adds to `function` what another target asks of its parameters; the error is what differs.
fn merge(function: &mut Function, manifest: &KernelManifest) -> Result<(), &'static str> {
    let other = self::function(manifest, String::new()).map_err(|_| "parameters")?;
    let shape = |param: &Parameter| {
        let buffer = param.buffer.as_ref().map(|buffer| (buffer.extents.clone(), buffer.bytes));
        (param.name.clone(), param.dtype, buffer)
    };
    if !function.params.iter().map(shape).eq(other.params.iter().map(shape)) {
        return Err("parameters");
    }
    let range = |(size, _): &(OpenSize, String)| (size.name.clone(), size.dtype, size.low, size.high);
    if !function.sizes.iter().map(range).eq(other.sizes.iter().map(range)) {
        return Err("sizes");
    }
    if function.facts != other.facts {
        return Err("facts of its sizes");
    }
    for (param, other) in function.params.iter_mut().zip(other.params) {
        if let (Some(buffer), Some(other)) = (&mut param.buffer, other.buffer) {
            buffer.alignment = buffer.alignment.max(other.alignment);
            buffer.is_read_only &= other.is_read_only;
        }
    }
    function.has_temporaries |= other.has_temporaries;
    Ok(())
}
