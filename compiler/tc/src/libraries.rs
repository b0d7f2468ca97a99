//! The libraries that a run lends to passes: tensor intrinsics to `tensorize-to-wmma`, schedule functions to `schedule`.

use std::sync::Arc;
use tc_dialects::intrinsics::{FILES, wgmma};
use tc_dialects::schedules;
use tc_ir::walk::all_ops;
use tc_ir::{Func, Loc, Op, Registry};
use tc_passes::tensorize_to_wmma::Library;
use tc_schedule::calls::Library as ScheduleLibrary;
use tc_support::Sources;
use tc_syntax::ParseOptions;

/// The intrinsics of this repository, in the dialects of `registry`. They are read when the first program asks for one.
pub(crate) fn intrinsics(registry: Arc<Registry>) -> Library {
    let of_files = registry.clone();
    let all = move || FILES.iter().flat_map(|(name, text)| items(name, text, &of_files)).collect();
    Library::with_names(all, move |name| items(wgmma::FILE, &wgmma::text(name)?, &registry).pop())
}

/// The schedule functions of this repository, in the dialects of `registry`. They are read when a schedule calls one.
pub(crate) fn schedules(registry: Arc<Registry>) -> ScheduleLibrary {
    ScheduleLibrary::new(move || {
        schedules::FILES.iter().flat_map(|(name, text)| items(name, text, &registry)).collect()
    })
}

/// The items of one file. Their locations name the file, whose text is no part of the module that they are used in.
fn items(name: &str, text: &str, registry: &Arc<Registry>) -> Vec<Func> {
    let (module, found) = tc_syntax::parse_module(name, text, registry, &ParseOptions::default());
    debug_assert!(!found.has_errors(), "{name} does not parse: {found:?}");
    let sources = module.sources;
    let mut items = module.items;
    items.iter_mut().for_each(|item| name_locations(item, name, &sources));
    items
}

fn name_locations(item: &mut Func, file: &str, sources: &Sources) {
    let ops: Vec<Op> = all_ops(item).collect();
    for op in ops {
        let source = item.op_locs(op).source;
        if let Some(named) = named(item, source, file, sources) {
            item.set_source_loc(op, named);
        }
    }
    if let Some(named) = named(item, item.header.loc, file, sources) {
        item.header.loc = named;
    }
}

fn named(item: &mut Func, loc: Loc, file: &str, sources: &Sources) -> Option<Loc> {
    let (_, at) = item.file_line_col(loc, sources)?;
    Some(item.named_loc(Some(file), at))
}
