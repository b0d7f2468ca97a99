//! What a launch with some shapes takes, worked out once: kernels with their grids, temporaries, tensor maps.

use super::kernel::KernelLaunch;
use super::launch::low_word;
use super::maps;
use super::module::Module;
use super::resident::Given;
use crate::shapes;
use cudarc::driver::sys;
use smallvec::SmallVec;
use std::sync::{Arc, Mutex, PoisonError};
use tc_support::{Diagnostic, Location};
use tc_target::{DType, KernelManifest, Param, Target, TensorMap};

/// Addresses of a buffer whose tensor maps are kept with a plan.
const MAX_MAPS: usize = 16;

/// What a launch with arrays of some shapes takes.
pub struct Plan {
    /// The shapes of the arrays among the parameters, each after its rank.
    shapes: Vec<i64>,
    /// Sizes that were named beside them.
    named: Vec<(String, i64)>,
    /// Of each parameter that is a buffer: its bytes and its alignment.
    buffers: Vec<Option<(u64, u64)>>,
    /// Bytes of each temporary.
    pub(super) temporaries: Vec<u64>,
    pub(super) maps: Vec<PlannedMap>,
    pub(super) kernels: Vec<(KernelLaunch, Vec<Source>)>,
}

/// Where a parameter of a kernel comes from.
#[derive(Clone, Copy)]
pub(super) enum Source {
    /// A parameter of the program.
    Param(usize),
    /// The address of a temporary.
    Temporary(usize),
    /// A size.
    Word(u64),
    /// A tensor map.
    Map(usize),
}

/// A tensor map, made once for each address.
pub(super) struct PlannedMap {
    map: TensorMap,
    /// The buffer that it is of; none where no kernel that is launched takes it.
    pub(super) of: Option<Source>,
    made: Mutex<Vec<(u64, sys::CUtensorMap)>>,
}

impl Plan {
    pub(super) fn new(
        manifest: &KernelManifest,
        (module, target): (&Arc<Module>, &Target),
        given: &[Given<'_>],
        named: &[(String, i64)],
    ) -> Result<Plan, Diagnostic> {
        let maps = manifest.maps.iter().map(|map| {
            let is_made = manifest.is_needed(&map.name) && !map.is_empty();
            let of = is_made.then(|| source(manifest, &map.buffer)).flatten();
            PlannedMap { map: map.clone(), of, made: Mutex::new(Vec::new()) }
        });
        let kernels = manifest.kernels.iter().map(|kernel| {
            // A manifest that was checked names only what exists.
            let sources = kernel.args.iter().map(|arg| source(manifest, arg)).collect::<Option<Vec<Source>>>();
            Ok((KernelLaunch::new(module, kernel, target)?, sources.expect("the manifest was checked")))
        });
        let buffer = |param: &Param| match param {
            Param::Buffer(buffer) => Some((buffer.bytes, buffer.alignment)),
            Param::Scalar(_) => None,
        };
        Ok(Plan {
            shapes: key(given).collect(),
            named: named.to_vec(),
            buffers: manifest.params.iter().map(buffer).collect(),
            temporaries: manifest.temporaries.iter().map(|buffer| buffer.bytes).collect(),
            maps: maps.collect(),
            kernels: kernels.collect::<Result<_, Diagnostic>>()?,
        })
    }

    /// Is it the plan for such arguments?
    pub(super) fn fits(&self, given: &[Given<'_>], named: &[(String, i64)]) -> bool {
        given.len() == self.buffers.len() && key(given).eq(self.shapes.iter().copied()) && self.named == named
    }

    /// What the parameters of the program are: addresses and values.
    pub(super) fn words(
        &self,
        manifest: &KernelManifest,
        given: &[Given<'_>],
    ) -> Result<SmallVec<[u64; 16]>, Diagnostic> {
        let words = given.iter().zip(&self.buffers).enumerate().map(|(idx, (given, buffer))| match (given, buffer) {
            (Given::Array { address, .. }, Some(_)) => Ok(*address),
            (Given::Word(word), None) => Ok(*word),
            (Given::Array { .. }, None) => Err(refuse(manifest, idx, "is an array, and a value is expected")),
            (Given::Word(_), Some(_)) => Err(refuse(manifest, idx, "is a value, and an array is expected")),
        });
        words.collect()
    }

    /// Refuses words that are as many as no parameters, and addresses that are nowhere or not aligned.
    pub(super) fn check(&self, manifest: &KernelManifest, words: &[u64]) -> Result<(), Diagnostic> {
        if words.len() != self.buffers.len() {
            let text =
                format!("`{}` is launched with {} of {} arguments", manifest.function, words.len(), self.buffers.len());
            return Err(Diagnostic::error(shapes::CODE, Location::None, text));
        }
        for (idx, (&word, buffer)) in words.iter().zip(&self.buffers).enumerate() {
            let Some((bytes, alignment)) = *buffer else { continue };
            if bytes > 0 && (word == 0 || word.checked_add(bytes).is_none()) {
                return Err(refuse(manifest, idx, "has no memory"));
            }
            if !word.is_multiple_of(alignment) {
                let why = format!("lies at {word:#x}, which is no multiple of {alignment} bytes");
                return Err(refuse(manifest, idx, &why));
            }
        }
        Ok(())
    }
}

impl PlannedMap {
    /// The map for a buffer at `address`.
    pub(super) fn at(&self, address: u64) -> Result<sys::CUtensorMap, Diagnostic> {
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, map)) = made.iter().find(|(of, _)| *of == address) {
            return Ok(*map);
        }
        let map = maps::make(&self.map, address)?;
        made.truncate(MAX_MAPS - 1);
        made.insert(0, (address, map));
        Ok(map)
    }
}

/// Where `name` comes from.
fn source(manifest: &KernelManifest, name: &str) -> Option<Source> {
    let param = manifest.params.iter().position(|param| param.name() == name).map(Source::Param);
    let temporary = || manifest.temporaries.iter().position(|buffer| buffer.name == name).map(Source::Temporary);
    let map = || manifest.maps.iter().position(|map| map.name == name).map(Source::Map);
    let size = || {
        let size = manifest.size(name)?;
        Some(Source::Word(match size.dtype {
            // The check of the manifest has seen that it fits.
            DType::I32 => low_word(&(size.value as i32).to_ne_bytes()),
            _ => low_word(&size.value.to_ne_bytes()),
        }))
    };
    param.or_else(temporary).or_else(map).or_else(size)
}

/// The shapes of the arrays among the arguments, each after its rank.
fn key<'a>(given: &'a [Given<'_>]) -> impl Iterator<Item = i64> + 'a {
    given.iter().flat_map(|given| match given {
        Given::Array { shape, .. } => std::iter::once(shape.len() as i64).chain(shape.iter().copied()),
        Given::Word(_) => std::iter::once(-1).chain([].iter().copied()),
    })
}

fn refuse(manifest: &KernelManifest, idx: usize, why: &str) -> Diagnostic {
    let text = format!("argument `{}` of `{}` {why}", manifest.params[idx].name(), manifest.function);
    Diagnostic::error(shapes::CODE, Location::None, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_with_the_same_numbers_have_different_keys() {
        let array = |shape| Given::Array { address: 16, shape };
        let of = |given: &[Given<'_>]| key(given).collect::<Vec<_>>();
        assert_ne!(of(&[array(&[2, 3]), array(&[4])]), of(&[array(&[2]), array(&[3, 4])]));
        assert_ne!(of(&[Given::Word(2), array(&[3])]), of(&[array(&[2]), array(&[3])]));
        assert_eq!(of(&[array(&[2, 3]), Given::Word(7)]), [2, 2, 3, -1]);
    }
}
