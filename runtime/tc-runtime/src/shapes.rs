//! The sizes that the shapes of arguments say.
//!
//! A program with open sizes takes arrays of many shapes. An extent of a parameter that is a size as it stands
//! (`A: f32[n, 4]`) gives that size its value; what follows from sizes (`B: f32[2 * n]`) is compared afterwards.

use tc_support::suggest::shorten;
use tc_support::{Diagnostic, Location, counted};
use tc_target::sizes::{Formula, Slot};
use tc_target::{Buffer, KernelManifest, Param};

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

/// `manifest` for arguments of the shapes `given`, one for each parameter, and sizes that are `named` beside them.
///
/// A size that neither says, an extent that two arguments say differently, and one that does not follow are errors, which
/// name the argument.
pub fn manifest_for(
    manifest: &KernelManifest,
    given: &[Shape<'_>],
    named: &[(String, i64)],
) -> Result<KernelManifest, Diagnostic> {
    check_count(manifest, given)?;
    let mut sizes: Vec<(String, i64)> = named.to_vec();
    for (buffer, shape) in arrays(manifest, given) {
        check_rank(manifest, buffer, shape)?;
        for (dim, &extent) in shape.iter().enumerate() {
            let slot = Slot::Shape { buffer: buffer.name.clone(), dim };
            let Some(Formula::Size(name)) = manifest.formula(&slot) else { continue };
            // The first array that says it; the others are compared below.
            if sizes.iter().all(|(known, _)| known != name) {
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
    for (buffer, shape) in arrays(&made, given) {
        let expected = &buffer.shape;
        if shape.iter().map(|&extent| u64::try_from(extent).ok()).ne(expected.iter().map(|&extent| Some(extent))) {
            let message = format!(
                "argument `{}` of `{}`: expected the shape {expected:?}, found {shape:?}",
                buffer.name, made.function
            );
            return Err(with_sizes(wrong(message), &made));
        }
    }
    Ok(made)
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

fn check_rank(manifest: &KernelManifest, buffer: &Buffer, shape: &[i64]) -> Result<(), Diagnostic> {
    if shape.len() == buffer.shape.len() {
        return Ok(());
    }
    let message = format!(
        "argument `{}` of `{}`: expected {}, found {}",
        buffer.name,
        manifest.function,
        counted(buffer.shape.len(), "dimension"),
        shorten(&format!("the shape {shape:?}"))
    );
    Err(wrong(message))
}

fn with_sizes(diagnostic: Diagnostic, manifest: &KernelManifest) -> Diagnostic {
    let sizes: Vec<String> = manifest.sizes.iter().map(|size| format!("`{} = {}`", size.name, size.value)).collect();
    if sizes.is_empty() { diagnostic } else { diagnostic.note(format!("the arguments say {}", sizes.join(", "))) }
}

/// The buffers among the parameters for which there is an array, each with its shape.
fn arrays<'a>(
    manifest: &'a KernelManifest,
    given: &'a [Shape<'a>],
) -> impl Iterator<Item = (&'a Buffer, &'a [i64])> + 'a {
    manifest.params.iter().zip(given).filter_map(|pair| match pair {
        (Param::Buffer(buffer), Shape::Array(shape)) => Some((buffer, *shape)),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use tc_target::{Access, BinaryOp, DType, Follows, Kernel, OpenSize};

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

    fn refused(hidden: bool, given: &[Shape<'_>], named: &[(String, i64)]) -> String {
        manifest_for(&manifest(hidden), given, named).expect_err("it does not fit").message
    }

    #[test]
    fn a_shape_says_a_size_and_the_rest_follows() {
        let made = manifest_for(&manifest(false), &[Shape::Array(&[5, 4]), Shape::Array(&[10])], &[]).expect("it fits");
        assert_eq!((made.sizes[0].value, made.kernels[0].grid), (5, [5, 1, 1]));
        let made = manifest_for(&manifest(false), &[Shape::Array(&[7, 4]), Shape::Absent], &[]).expect("it fits");
        assert!(matches!(&made.params[1], Param::Buffer(buffer) if buffer.shape == [14] && buffer.bytes == 56));
        let named = [("m".to_string(), 3)];
        assert!(manifest_for(&manifest(true), &[Shape::Array(&[5, 4]), Shape::Array(&[10])], &named).is_ok());
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
