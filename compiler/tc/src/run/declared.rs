//! What a program takes and gives, as it is declared: passes make buffers flat, and callers need not know.

use super::build::Built;
use super::cases::Case;
use tc_ir::Module;
use tc_sim::{Arg, CheckOptions, Parameter, Places, Signature, Tensor};
use tc_support::Diagnostics;

/// The parameters of the program of `case`, with the shapes that the text of `module` gives them.
pub(super) fn parameters(module: &Module, case: &Case, options: &CheckOptions) -> Result<Vec<Parameter>, Diagnostics> {
    tc_sim::parameters(module, module.items[case.func].symbol(), options).map_err(Diagnostics::from)
}

/// By argument, how what is run takes an array whose elements are declared to lie apart: by one index, the space between
/// them included. `None` where it takes the elements as they are.
#[derive(Default)]
pub(super) struct Layouts(Vec<Option<Places>>);

impl Layouts {
    /// What has come between the `declared` parameters and those of `built`.
    pub(super) fn between(
        declared: &[Parameter],
        built: &Built,
        options: &CheckOptions,
    ) -> Result<Layouts, Diagnostics> {
        if declared.iter().all(|parameter| parameter.places.is_none()) {
            return Ok(Layouts::default());
        }
        let now = tc_sim::parameters(&built.module, &built.name, options)?;
        let between = |(declared, now): (&Parameter, &Parameter)| {
            declared.places.clone().filter(|_| now.places.is_none() && now.signature.shape != declared.signature.shape)
        };
        Ok(Layouts(declared.iter().zip(&now).map(between).collect()))
    }

    /// The arguments as what is run takes them.
    pub(super) fn lay_out(&self, args: Vec<Arg>) -> Vec<Arg> {
        let of = |(nth, arg): (usize, Arg)| match (arg, self.of(nth)) {
            (Arg::Input(tensor), Some(places)) => Arg::Input(places.lay_out(&tensor)),
            (arg, _) => arg,
        };
        args.into_iter().enumerate().map(of).collect()
    }

    /// What the arguments without contents are for what is run.
    pub(super) fn outputs(&self, args: &[Arg], outputs: Vec<Signature>) -> Vec<Signature> {
        let without = args.iter().enumerate().filter(|(_, arg)| matches!(arg, Arg::Output));
        let of = |((nth, _), signature): ((usize, &Arg), Signature)| match self.of(nth) {
            Some(places) => Signature { shape: vec![places.n_cells()], ..signature },
            None => signature,
        };
        without.zip(outputs).map(of).collect()
    }

    /// The elements of argument `nth` as they are declared.
    pub(super) fn take_out(&self, nth: usize, tensor: Tensor) -> Tensor {
        match self.of(nth) {
            Some(places) => places.take_out(&tensor),
            None => tensor,
        }
    }

    fn of(&self, nth: usize) -> Option<&Places> {
        self.0.get(nth)?.as_ref()
    }
}
