//! The sizes that the shapes of arguments say.
//!
//! A program with open sizes takes arrays of many shapes. An extent of a parameter that is a size as it stands
//! (`A: f32[n, 4]`) gives that size its value; what follows from sizes (`B: f32[2 * n]`) is compared afterwards.

use tc_support::suggest::shorten;
use tc_support::{Diagnostic, Location, counted};
use tc_target::sizes::{Formula, Slot};
use tc_target::{Access, Buffer, KernelManifest, Param};

/// What is given for a parameter, as far as sizes go.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Shape<'a> {
    /// An array of this shape.
    Array(&'a [i64]),
    /// A value.
    Scalar,
    /// Nothing yet: an output that is to be made.
    Absent,
}

/// A parameter as its author declared it.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Declared {
    /// The extents, formulas of sizes; none where they are those of the manifest.
    pub extents: Option<Vec<Formula>>,
    /// It is a result: what the caller put there is not read.
    pub is_result: bool,
}

/// The extents of each parameter as its author declared them; none for a value. Kernels take buffers of one dimension.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Signature {
    params: Vec<Option<Vec<Formula>>>,
    results: Vec<bool>,
}

impl Signature {
    /// Parameters as `manifest` has them, but for those that are `declared` otherwise: of sizes that `manifest` leaves open, with
    /// as many elements.
    pub fn new(manifest: &KernelManifest, declared: &[Declared]) -> Signature {
        let param = |(idx, param): (usize, &Param)| {
            let Param::Buffer(buffer) = param else { return None };
            let own = || (0..buffer.shape.len()).map(|dim| extent(manifest, buffer, dim)).collect();
            let declared = declared.get(idx).and_then(|declared| declared.extents.clone());
            Some(declared.filter(|extents| has_as_many(manifest, buffer, extents)).unwrap_or_else(own))
        };
        let is_result = |(idx, param): (usize, &Param)| {
            let is_written = matches!(param, Param::Buffer(buffer) if buffer.access == Access::Write);
            is_written || declared.get(idx).is_some_and(|declared| declared.is_result)
        };
        let params = || manifest.params.iter().enumerate();
        Signature { params: params().map(param).collect(), results: params().map(is_result).collect() }
    }

    /// Is parameter `idx` filled by the program, whatever is in it before?
    pub fn is_result(&self, idx: usize) -> bool {
        self.results.get(idx) == Some(&true)
    }

    /// The extents of parameter `idx`; `None` for a value.
    pub fn extents(&self, idx: usize) -> Option<&[Formula]> {
        self.params.get(idx)?.as_deref()
    }
}

fn extent(manifest: &KernelManifest, buffer: &Buffer, dim: usize) -> Formula {
    let slot = Slot::Shape { buffer: buffer.name.clone(), dim };
    let fixed = || Formula::Int(i64::try_from(buffer.shape[dim]).unwrap_or(i64::MAX));
    manifest.formula(&slot).cloned().unwrap_or_else(fixed)
}

/// Do `extents` have as many elements as `buffer` for the sizes that `manifest` is for?
fn has_as_many(manifest: &KernelManifest, buffer: &Buffer, extents: &[Formula]) -> bool {
    let extents = extents.iter().map(|extent| value(manifest, extent));
    let n = extents.collect::<Option<Vec<u64>>>().and_then(|shape| buffer.dtype.bytes_of(&shape));
    n == buffer.dtype.bytes_of(&buffer.shape)
}

fn value(manifest: &KernelManifest, formula: &Formula) -> Option<u64> {
    u64::try_from(formula.eval(&|name| manifest.size(name).map(|size| size.value))?).ok()
}

/// A manifest for some arguments, and the shapes of all of them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fitted {
    /// The manifest for these sizes.
    pub manifest: KernelManifest,
    /// The shape of each parameter; nothing for a value.
    pub shapes: Vec<Vec<u64>>,
}

/// `manifest` for arguments of the shapes `given`, one for each parameter, and sizes that are `named` beside them.
///
/// A size that neither says, an extent that two arguments say differently, and one that does not follow are errors, which
/// name the argument.
pub fn fit(
    manifest: &KernelManifest,
    signature: &Signature,
    given: &[Shape<'_>],
    named: &[(String, i64)],
) -> Result<Fitted, Diagnostic> {
    check_count(manifest, given)?;
    let mut sizes: Vec<(String, i64)> = named.to_vec();
    for (idx, shape) in arrays(given) {
        let Some(extents) = signature.extents(idx) else { return Err(unexpected(manifest, idx)) };
        check_rank(manifest, (idx, extents.len()), shape)?;
        for (formula, &extent) in extents.iter().zip(shape) {
            // The first array that says it; the others are compared below.
            if let Formula::Size(name) = formula
                && sizes.iter().all(|(known, _)| known != name)
            {
                sizes.push((name.clone(), extent));
            }
        }
    }
    if let Some(size) = manifest.sizes.iter().find(|size| sizes.iter().all(|(known, _)| *known != size.name)) {
        let message = format!("no argument of `{}` says the size `{}`", manifest.function, size.name);
        return Err(wrong(message).help(format!("name it beside the arguments, `{} = …`", size.name)));
    }
    let mut made = manifest.clone();
    made.set_sizes(&sizes).map_err(|found| Diagnostic { code: CODE, ..found })?;
    let mut shapes = Vec::with_capacity(given.len());
    for (idx, param) in made.params.iter().enumerate() {
        let extents = signature.extents(idx).unwrap_or_default();
        let shape =
            extents.iter().map(|extent| value(&made, extent)).collect::<Option<Vec<u64>>>().ok_or_else(|| {
                let text = format!("the shape of argument `{}` of `{}` has no value", param.name(), made.function);
                with_sizes(wrong(text), &made)
            })?;
        shapes.push(shape);
    }
    for (idx, found) in arrays(given) {
        let expected = &shapes[idx];
        if found.iter().map(|&extent| u64::try_from(extent).ok()).ne(expected.iter().map(|&extent| Some(extent))) {
            let (name, function) = (made.params[idx].name(), &made.function);
            let text = format!("argument `{name}` of `{function}`: expected the shape {expected:?}, found {found:?}");
            return Err(with_sizes(wrong(text), &made));
        }
    }
    if let Some(idx) = (0..given.len()).find(|&idx| given[idx] == Shape::Scalar && signature.extents(idx).is_some()) {
        return Err(unexpected(&made, idx));
    }
    Ok(Fitted { manifest: made, shapes })
}

/// The code of what is wrong with arguments.
pub const CODE: &str = "bad-argument";

fn wrong(message: String) -> Diagnostic {
    Diagnostic::error(CODE, Location::None, message)
}

fn check_count(manifest: &KernelManifest, given: &[Shape<'_>]) -> Result<(), Diagnostic> {
    if given.len() == manifest.params.len() {
        return Ok(());
    }
    let takes = counted(manifest.params.len(), "argument");
    let names: Vec<String> = manifest.params.iter().map(|param| format!("`{}`", param.name())).collect();
    Err(wrong(format!("`{}` takes {takes}, and is given {}", manifest.function, given.len()))
        .note(format!("its parameters are {}", names.join(", "))))
}

fn check_rank(manifest: &KernelManifest, (idx, rank): (usize, usize), shape: &[i64]) -> Result<(), Diagnostic> {
    if shape.len() == rank {
        return Ok(());
    }
    let (name, function) = (manifest.params[idx].name(), &manifest.function);
    let found = shorten(&format!("{shape:?}"));
    let expected = counted(rank, "dimension");
    Err(wrong(format!("argument `{name}` of `{function}`: expected {expected}, found the shape {found}")))
}

/// A value where an array is expected, or the other way round.
fn unexpected(manifest: &KernelManifest, idx: usize) -> Diagnostic {
    let (expected, found) = match manifest.params[idx] {
        Param::Buffer(_) => ("an array", "a value"),
        Param::Scalar(_) => ("a value", "an array"),
    };
    let (name, function) = (manifest.params[idx].name(), &manifest.function);
    wrong(format!("argument `{name}` of `{function}`: expected {expected}, found {found}"))
}

fn with_sizes(diagnostic: Diagnostic, manifest: &KernelManifest) -> Diagnostic {
    let sizes: Vec<String> = manifest.sizes.iter().map(|size| format!("`{} = {}`", size.name, size.value)).collect();
    if sizes.is_empty() { diagnostic } else { diagnostic.note(format!("the arguments say {}", sizes.join(", "))) }
}

/// The arrays among the arguments: number and shape.
fn arrays<'a>(given: &'a [Shape<'a>]) -> impl Iterator<Item = (usize, &'a [i64])> + 'a {
    given.iter().enumerate().filter_map(|(idx, shape)| match shape {
        Shape::Array(shape) => Some((idx, *shape)),
        Shape::Scalar | Shape::Absent => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use tc_target::{BinaryOp, DType, Follows, Kernel, OpenSize};

    /// `f(A: f32[n, 4], B: f32[2 * n])`, with a size that no shape says where `hidden`.
    fn manifest(hidden: bool) -> KernelManifest {
        let buffer = |name, shape: &[u64]| {
            Param::Buffer(Buffer::new(name, DType::F32, shape, Access::Read).expect("a small buffer"))
        };
        let size = |name: &str| OpenSize { name: name.into(), dtype: DType::I32, low: 1, high: Some(1000), value: 1 };
        let n = || Formula::Size("n".into());
        let follows = |buffer: &str, formula| Follows { slot: Slot::Shape { buffer: buffer.into(), dim: 0 }, formula };
        let blocks = Follows { slot: Slot::Grid { kernel: 0, dim: 0 }, formula: n() };
        let kernel = Kernel {
            name: "f".into(),
            args: vec!["A".into(), "B".into(), "n".into()],
            grid: [1, 1, 1],
            block: [32, 1, 1],
            cluster: [1, 1, 1],
            overlaps: false,
            dynamic_shared: 0,
            static_shared: 0,
            when: None,
        };
        KernelManifest {
            function: "f".into(),
            target: "sm_80".into(),
            params: vec![buffer("A", &[1, 4]), buffer("B", &[2])],
            temporaries: vec![],
            maps: vec![],
            kernels: vec![kernel],
            sizes: if hidden { vec![size("n"), size("m")] } else { vec![size("n")] },
            formulas: vec![follows("A", n()), follows("B", Formula::op(BinaryOp::Mul, Formula::Int(2), n())), blocks],
            facts: vec![],
        }
    }

    fn fitted(hidden: bool, given: &[Shape<'_>], named: &[(String, i64)]) -> Result<Fitted, Diagnostic> {
        let manifest = manifest(hidden);
        fit(&manifest, &Signature::new(&manifest, &[]), given, named)
    }

    fn refused(hidden: bool, given: &[Shape<'_>], named: &[(String, i64)]) -> String {
        fitted(hidden, given, named).expect_err("it does not fit").message
    }

    #[test]
    fn a_shape_says_a_size_and_the_rest_follows() {
        let made = fitted(false, &[Shape::Array(&[5, 4]), Shape::Array(&[10])], &[]).expect("it fits");
        assert_eq!((made.manifest.sizes[0].value, made.manifest.kernels[0].grid), (5, [5, 1, 1]));
        let made = fitted(false, &[Shape::Array(&[7, 4]), Shape::Absent], &[]).expect("it fits");
        assert_eq!(made.shapes, [vec![7, 4], vec![14]]);
        let named = [("m".to_string(), 3)];
        assert!(fitted(true, &[Shape::Array(&[5, 4]), Shape::Array(&[10])], &named).is_ok());
    }

    #[test]
    fn arguments_have_the_shapes_that_were_declared() {
        let flat = |extents: Vec<Formula>| {
            let mut manifest = manifest(false);
            manifest.sizes[0].value = 3;
            manifest.set_sizes(&[("n".to_string(), 3)]).expect("in its range");
            let declared = Declared { extents: Some(extents), is_result: true };
            let signature = Signature::new(&manifest, &[Declared::default(), declared]);
            assert_eq!([0, 1, 2].map(|idx| signature.is_result(idx)), [false, true, false]);
            fit(&manifest, &signature, &[Shape::Array(&[5, 4]), Shape::Absent], &[]).map(|fitted| fitted.shapes)
        };
        let (n, two) = (Formula::Size("n".into()), Formula::Int(2));
        assert_eq!(flat(vec![n.clone(), two.clone()]), Ok(vec![vec![5, 4], vec![5, 2]]));
        // One that has another number of elements is not what the kernel takes.
        assert_eq!(flat(vec![n, two.clone(), two]), Ok(vec![vec![5, 4], vec![10]]));
    }

    #[test]
    fn what_does_not_fit_is_named() {
        let (a, b) = (Shape::Array(&[5, 4]), Shape::Array(&[10]));
        assert_eq!(refused(false, &[a], &[]), "`f` takes 2 arguments, and is given 1");
        assert_eq!(
            refused(false, &[a, Shape::Array(&[11])], &[]),
            "argument `B` of `f`: expected the shape [10], found [11]"
        );
        assert_eq!(
            refused(false, &[Shape::Array(&[5, 3]), b], &[]),
            "argument `A` of `f`: expected the shape [5, 4], found [5, 3]"
        );
        assert_eq!(
            refused(false, &[Shape::Array(&[5]), b], &[]),
            "argument `A` of `f`: expected 2 dimensions, found the shape [5]"
        );
        assert_eq!(
            refused(false, &[a, Shape::Scalar], &[("n".to_string(), 5)]),
            "argument `B` of `f`: expected an array, found a value"
        );
        assert_eq!(refused(true, &[a, b], &[]), "no argument of `f` says the size `m`");
        assert_eq!(
            refused(false, &[Shape::Array(&[2000, 4]), b], &[]),
            "the size `n` is 2000, and must be at least 1, and at most 1000"
        );
        assert_eq!(refused(false, &[a, b], &[("k".to_string(), 1)]), "`f` has no size `k`");
        assert_eq!(
            refused(false, &[Shape::Array(&[-5, 4]), b], &[]),
            "the size `n` is -5, and must be at least 1, and at most 1000"
        );
    }
}
