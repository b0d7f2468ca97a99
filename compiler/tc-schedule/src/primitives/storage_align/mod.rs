//! Pads the stride of a dimension of a stage's buffer, against bank conflicts.
//!
//! # Arguments
//!
//! `storage_align(STAGE.axis, factor = e, offset = o)`: the stride of that dimension becomes the least number of
//! elements that is not below the old stride and, divided by `e`, leaves the remainder `o`.
//!
//! # Legality
//!
//! - The axis is one of the stage's tensor, as the operator declares it; splits of its loop do not matter.
//! - `e` is at least 1, `o` is not negative.
//! - The stage is no result of the operator.
//!
//! # Rewrite
//!
//! ```tir
//! alloc T: f32[8, 16] in shared
//! -> storage_align(T.i, factor = 2, offset = 1)
//! alloc T: f32[8, 16] in shared attributes {strides = [17, 1]}
//! ```
//!
//! # Known elsewhere as
//!
//! `storage_align` (TVM), `align_storage` (Halide), padding.

use super::transform_layout::Layout;
use super::{Primitive, StagePart};
use crate::directive::{Cx, Done, Item, code_list};
use crate::graph::{AxisId, Stage};
use crate::remedy::LEAVE_OUT;
use tc_dialects::sched::StorageAlign;
use tc_ir::attrs::AttrData;
use tc_ir::{Attr, Func, Name, keys};

/// The padding of a dimension's stride: to `factor * n + offset` elements.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Padding {
    axis: AxisId,
    factor: i64,
    offset: i64,
}

/// Those of a stage.
#[derive(Clone, Default, Debug)]
pub(crate) struct Paddings(Vec<Padding>);

impl Paddings {
    /// One of the dimensions.
    pub(super) fn axis(&self) -> AxisId {
        self.0[0].axis
    }
}

impl Primitive for StorageAlign {
    type Legal = Padding;

    fn legality(cx: &Cx<'_>) -> Done<Padding> {
        let axis = cx.axis(cx.operand(0))?;
        let stage = cx.graph[axis].stage;
        cx.check_computed(stage)?;
        let data = &cx.graph[stage];
        if !data.data.contains(&axis) {
            let names = cx.graph.names(&data.data);
            let text = format!("`{}` is no dimension of `{}`", cx.show(axis), data.name);
            let fact = format!("its dimensions are {}", code_list(&names));
            return Err(cx.error("not-a-dimension", text).fact(fact).into());
        }
        if data.output {
            let text = format!("`{}` is a result of the operator, whose strides the caller chooses", data.name);
            return Err(cx.error("align-output", text).fix_its(LEAVE_OUT).into());
        }
        if data.parts.get::<Layout>().is_some() {
            let text =
                format!("the layout of `{}` is mapped by `transform_layout`, and so has no strides to pad", data.name);
            return Err(cx.error("layout-strides", text).help("leave out one of the two").into());
        }
        let (Some(factor), Some(offset)) = (cx.param(1), cx.param(2)) else {
            return Err(cx.mistyped("`storage_align` takes `factor = …` and `offset = …`").into());
        };
        let (factor, offset) = (cx.positive(factor, "factor")?, cx.int(offset)?);
        if offset < 0 {
            return Err(cx.wrong_number(format!("the offset of `storage_align` cannot be {offset}")).into());
        }
        Ok(Padding { axis, factor, offset })
    }

    fn edit(cx: &mut Cx<'_>, padding: Padding) -> Vec<Item> {
        let stage = cx.graph[padding.axis].stage;
        let Paddings(list) = cx.graph[stage].parts.get_or_default();
        list.retain(|other| other.axis != padding.axis);
        list.push(padding);
        cx.touch(stage);
        Vec::new()
    }
}

impl StagePart for Paddings {
    fn orders_elements(&self) -> bool {
        true
    }

    fn wants_known_size(&self) -> Option<&'static str> {
        Some("storage_align")
    }

    fn strides(&self, stage: &Stage, shape: &[i64]) -> Option<Vec<i64>> {
        let mut strides = vec![1i64; shape.len()];
        let mut stride = 1i64;
        for nth in (0..shape.len()).rev() {
            if let Some(&Padding { factor, offset, .. }) = self.0.iter().find(|one| one.axis == stage.data[nth]) {
                let missing = i128::from(factor) + i128::from(offset) - i128::from(stride % factor);
                let missing = missing.rem_euclid(i128::from(factor));
                stride = stride.saturating_add(i64::try_from(missing).unwrap_or(i64::MAX));
            }
            strides[nth] = stride;
            stride = stride.saturating_mul(shape[nth].max(1));
        }
        Some(strides)
    }

    fn attrs(&self, func: &mut Func, strides: Option<&[i64]>) -> Vec<(Name, Attr)> {
        let Some(strides) = strides else { return Vec::new() };
        let list: Vec<Attr> = strides.iter().map(|&stride| func.int_attr(stride)).collect();
        vec![(keys::STRIDES, func.attr(AttrData::List(list.into())))]
    }
}
