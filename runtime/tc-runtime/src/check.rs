//! Do these arguments fit this manifest?

use crate::array::{Array, describe};
use crate::device::Program;
use tc_support::{Diagnostic, Location, counted};
use tc_target::{DType, KernelManifest, Param};

/// Checks number, element types and shapes of `args` against the parameters, and names the first that is wrong.
pub fn check_args(manifest: &KernelManifest, args: &[Array]) -> Result<(), Diagnostic> {
    let function = &manifest.function;
    if args.len() != manifest.params.len() {
        let names: Vec<String> = manifest.params.iter().map(|param| format!("`{}`", param.name())).collect();
        let message =
            format!("`{function}` takes {}, and is given {}", counted(manifest.params.len(), "argument"), args.len());
        return Err(Diagnostic::error("bad-argument", Location::None, message)
            .note(format!("its parameters are {}", names.join(", "))));
    }
    for (param, arg) in manifest.params.iter().zip(args) {
        let shape: &[u64] = match param {
            Param::Buffer(buffer) => &buffer.shape,
            Param::Scalar(_) => &[],
        };
        if arg.dtype() != param.dtype() || arg.shape() != shape {
            let message = format!(
                "argument `{}` of `{function}`: expected `{}`, found `{}`",
                param.name(),
                describe(param.dtype(), shape),
                describe(arg.dtype(), arg.shape())
            );
            return Err(Diagnostic::error("bad-argument", Location::None, message));
        }
        if let Param::Scalar(scalar) = param
            && scalar.dtype == DType::Bool
            && arg.bytes()[0] > 1
        {
            let message =
                format!("argument `{}` of `{function}` is {}, and a `bool` is 0 or 1", scalar.name, arg.bytes()[0]);
            return Err(Diagnostic::error("bad-argument", Location::None, message));
        }
    }
    Ok(())
}

/// Checks all that can be known of a launch without a device: the manifest, the target's limits, the arguments.
pub fn check_launch(program: &Program, args: &[Array]) -> Result<(), Diagnostic> {
    program.manifest.validate()?;
    if let Some(over) = program.manifest.check_limits(&program.target).into_iter().next() {
        return Err(over);
    }
    check_args(&program.manifest, args)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::element::Element;
    use tc_target::{Access, Buffer, Scalar};

    fn manifest() -> KernelManifest {
        KernelManifest {
            function: "f".into(),
            target: "sm_80".into(),
            params: vec![
                Param::Buffer(Buffer::new("A", DType::F32, [2, 3], Access::Read).unwrap()),
                Param::Scalar(Scalar { name: "n".into(), dtype: DType::I32 }),
            ],
            temporaries: vec![],
            maps: vec![],
            kernels: vec![],
            sizes: vec![],
            formulas: vec![],
            facts: vec![],
        }
    }

    #[test]
    fn a_wrong_argument_is_named() {
        let array = |dtype, shape: &[u64]| Array::zeros(dtype, shape).unwrap();
        let n = Array::scalar(DType::I32, Element::Int(3));
        let refused = |args: &[Array]| check_args(&manifest(), args).expect_err("a wrong argument");
        assert_eq!(check_args(&manifest(), &[array(DType::F32, &[2, 3]), n.clone()]), Ok(()));
        let wrong = refused(std::slice::from_ref(&n));
        assert_eq!(wrong.message, "`f` takes 2 arguments, and is given 1");
        assert_eq!(wrong.notes, ["its parameters are `A`, `n`"]);
        assert_eq!(
            refused(&[array(DType::F16, &[2, 3]), n.clone()]).message,
            "argument `A` of `f`: expected `f32[2, 3]`, found `f16[2, 3]`"
        );
        assert_eq!(
            refused(&[array(DType::F32, &[3, 2]), n]).message,
            "argument `A` of `f`: expected `f32[2, 3]`, found `f32[3, 2]`"
        );
        assert_eq!(
            refused(&[array(DType::F32, &[2, 3]), array(DType::I32, &[1])]).message,
            "argument `n` of `f`: expected `i32`, found `i32[1]`"
        );
    }
}
