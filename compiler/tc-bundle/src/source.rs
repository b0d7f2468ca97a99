//! The source of a bundle, put together.

use crate::agree::{Function, Interface};
use crate::plan::Piece;
use crate::{Link, Options, TargetCode, call, check, ffi, launches, plan, tables};
use std::fmt::Write;
use tc_support::Diagnostic;
use tc_target::KernelManifest;

const DRIVER: &str = include_str!("c/driver.c");
const LOAD: &str = include_str!("c/load.c");
const LAUNCH: &str = include_str!("c/launch.c");
const SIZES: &str = include_str!("c/sizes.c");
const MAPS: &str = include_str!("c/maps.c");
const WORKSPACE: &str = include_str!("c/workspace.c");
const EMBEDDED: &str = include_str!("c/embedded.c");
const FILES: &str = include_str!("c/files.c");

const INCLUDES: &str = "
#include <dlfcn.h>
#include <pthread.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What a bundle needs is here, whether its functions use all of it or not. */
#define BUNDLE_TC_MAYBE_UNUSED __attribute__((unused))

#define BUNDLE_TC_TRY(call)                             \\
  do {                                                  \\
    tc_status = (call);                                 \\
    if (tc_status != BUNDLE_OK) return tc_status;       \\
  } while (0)
";

/// A text of `c/` with the name of the bundle in the place of `bundle`.
pub(crate) fn renamed(text: &str, name: &str) -> String {
    text.replace("bundle_", &format!("{name}_")).replace("BUNDLE_", &format!("{}_", name.to_uppercase()))
}

/// A text that was made here with the name of the bundle in the place of `$`, and in capitals in that of `$$`: no name and
/// no literal of an author's has that sign in it.
pub(crate) fn named(text: &str, name: &str) -> String {
    text.replace("$$", &name.to_uppercase()).replace('$', name)
}

/// The text of the source.
pub(crate) fn text(interface: &Interface, codes: &[&TargetCode], options: &Options) -> Result<String, Diagnostic> {
    let name = &options.name;
    let mut out = format!("/* Made by tc {}. Do not edit. */\n\n", env!("CARGO_PKG_VERSION"));
    let _ = writeln!(out, "#include \"{name}.h\"");
    out.push_str(&renamed(INCLUDES, name));
    out.push_str(&named(&numbers(codes), name));
    out.push_str(&renamed(DRIVER, name));
    out.push_str(&renamed(LOAD, name));
    out.push_str(&named(&tables::text(codes, options)?, name));
    let image = match options.link {
        Link::Embedded => EMBEDDED,
        Link::Files => FILES,
    };
    [image, LAUNCH, SIZES].iter().for_each(|part| out.push_str(&renamed(part, name)));
    let manifests = || codes.iter().flat_map(|code| &code.manifests);
    if manifests().any(|manifest| !manifest.maps.is_empty()) {
        out.push_str(&renamed(MAPS, name));
    }
    if interface.functions.iter().any(|function| function.has_temporaries) {
        out.push_str(&renamed(WORKSPACE, name));
    }
    for (nth, function) in interface.functions.iter().enumerate() {
        out.push_str(&named(&of_function(nth, function, codes)?, name));
    }
    out.push_str(&renamed(ffi::SUPPORT, name));
    out.push_str(&named(&ffi::text(interface), name));
    out.push_str(ffi::END);
    Ok(out)
}

/// How much of each thing there is at the most, and at least 1, as arrays have an element.
fn numbers(codes: &[&TargetCode]) -> String {
    let of_targets =
        |count: &dyn Fn(&TargetCode) -> usize| codes.iter().map(|code| count(code)).max().unwrap_or(0).max(1);
    let of_manifests =
        |count: fn(&KernelManifest) -> usize| of_targets(&|code| code.manifests.iter().map(count).max().unwrap_or(0));
    let kernels = of_targets(&|code| code.manifests.iter().map(|manifest| manifest.kernels.len()).sum());
    let launches = of_manifests(|manifest| manifest.kernels.len());
    let temporaries = of_manifests(|manifest| manifest.temporaries.len());
    let maps = of_manifests(|manifest| manifest.maps.len());
    format!(
        "\n/* The most of each: kernels of a target, and what one function has. */\n#define $$_TC_N_KERNELS {kernels}\n#define \
         $$_TC_N_LAUNCHES {launches}\n#define $$_TC_N_TEMPORARIES {temporaries}\n#define $$_TC_N_MAPS \
         {maps}\n"
    )
}

/// What the source has of the function `nth`.
fn of_function(nth: usize, function: &Function, codes: &[&TargetCode]) -> Result<String, Diagnostic> {
    let title = format!("@{}", crate::spell::comment(&function.symbol));
    let mut out = format!("\n/* ---- {title} {} */\n", "-".repeat(108usize.saturating_sub(title.chars().count())));
    out.push_str(&check::text(function)?);
    for code in codes {
        let first_kernel = code.manifests[..nth].iter().map(|manifest| manifest.kernels.len()).sum();
        let piece = Piece { function, code, manifest: &code.manifests[nth], first_kernel };
        if !piece.manifest.maps.is_empty() {
            out.push_str(&tables::maps(&piece.name("maps"), &piece.manifest.maps)?);
        }
        out.push_str(&plan::text(&piece)?);
        out.push_str(&launches::text(&piece)?);
    }
    out.push_str(&call::text(function, codes));
    Ok(out)
}
