//! Changes the layout of a stage's buffer by a map of its indices.
//!
//! # Arguments
//!
//! `transform_layout(STAGE) (i, j) { yield j / 8, i, (j % 8) ^ (i & 7) }`: the region of the op maps the indices of the
//! buffer, which start at 0 at the start of the computed region, to new ones. Loops stay unchanged.
//!
//! # Legality
//!
//! - The stage is computed, is no result of the operator, and no directive pads its strides.
//! - The map takes one index for each dimension, and yields one or more non-negative integers.
//! - It maps no two elements to the same position. The check tries all elements, so the buffer has at most 2^20.
//!
//! # Rewrite
//!
//! ```tir
//! alloc T: f32[8, 16] in shared
//! T[i, j] = A[i, j]
//! -> transform_layout(T) (i, j) { yield j, i }
//! alloc T: f32[16, 8] in shared
//! T[j, i] = A[i, j]
//! ```
//!
//! # Known elsewhere as
//!
//! `transform_layout` (TVM), `store_in` with `reorder_storage` (Halide), memory layouts (MLIR).

mod layout;

pub use layout::Layout;

use super::storage_align::Paddings;
use super::{Primitive, StagePart};
use crate::diagnostic::ScheduleDiagnostic;
use crate::directive::{Cx, Done, Item};
use crate::graph::{Stage, StageId};
use crate::lower::Emitter;
use crate::remedy::LEAVE_OUT;
use tc_dialects::sched::TransformLayout;
use tc_ir::{Func, Value};
use tc_support::counted;

impl Primitive for TransformLayout {
    type Legal = (StageId, Layout);

    fn legality(cx: &Cx<'_>) -> Done<(StageId, Layout)> {
        let stage = cx.computed(cx.operand(0))?;
        let data = &cx.graph[stage];
        let name = &data.name;
        if data.output {
            let text = format!("`{name}` is a result of the operator, whose layout the caller chooses");
            return Err(cx.error("layout-output", text).fix_its(LEAVE_OUT).into());
        }
        if data.parts.get::<Layout>().is_some() {
            return Err(cx.said_twice(format!("the layout of `{name}` was said before")).into());
        }
        if let Some(paddings) = data.parts.get::<Paddings>() {
            let axis = cx.show(paddings.axis());
            let text = format!("the strides of `{name}` are padded at `{axis}`, and a layout has no strides");
            return Err(cx.error("layout-strides", text).help("leave out `storage_align`, or pad in the map").into());
        }
        let region = cx.sched.op_regions(cx.at)[0];
        let (given, wanted) = (cx.sched.region_args(region).len(), data.data.len());
        if given != wanted {
            let text =
                format!("`{name}` has {}, and the map takes {}", counted(wanted, "dimension"), counted(given, "index"));
            return Err(cx.error("layout-rank", text).into());
        }
        if cx.sched.yielded(region).is_empty() {
            return Err(cx.error("layout-rank", "the map yields no index").into());
        }
        let number = |value: Value| match cx.env[value.as_u32() as usize] {
            Item::Int(number) => Some(number),
            _ => None,
        };
        Ok((stage, Layout::read(cx.sched, cx.at, &number)?))
    }

    fn edit(cx: &mut Cx<'_>, (stage, layout): (StageId, Layout)) -> Vec<Item> {
        cx.graph[stage].parts.set(layout);
        cx.touch(stage);
        Vec::new()
    }
}

impl StagePart for Layout {
    fn wants_known_size(&self) -> Option<&'static str> {
        Some("transform_layout")
    }

    fn shape(&self, sched: &Func, stage: &Stage, shape: &[i64]) -> Result<Option<Vec<i64>>, ScheduleDiagnostic> {
        Ok(Some(self.extents(sched, &stage.name, shape)?))
    }

    fn place(&self, emitter: &mut Emitter<'_>, indices: Vec<Value>) -> Vec<Value> {
        emitter.region(self.directive, &self.params, indices)
    }
}
