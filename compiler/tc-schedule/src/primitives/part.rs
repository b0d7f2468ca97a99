//! What primitives leave in the graph, each its own data: the parts of a stage and of an axis.
//!
//! A part is a type of its primitive's folder, and the table in [`super`] names it. From the table come [`StageParts`] and
//! [`AxisParts`]: a place for each part, found by its type alone. The rest of the crate knows no part. It asks all that are
//! there, by [`StagePart`] and [`AxisPart`], whose answers are those of a part that has nothing to say.

use crate::check::Check;
use crate::diagnostic::ScheduleDiagnostic;
use crate::graph::{AxisId, Graph, Stage, StageId};
use crate::lower::Emitter;
use crate::size::Size;
use tc_ir::{Attr, Func, Loc, Name, Value};
use tc_support::Diagnostic;

/// What the rest of the crate asks of what a primitive left in a stage.
pub(crate) trait StagePart {
    /// Finds what does not hold of the stage once the schedule is read, as far as `check` says it is.
    fn check(&self, _check: &mut Check<'_>, _stage: StageId) {}

    /// Does it speak of the buffer alone, so that it holds of the copy that `cache_write` leaves of the stage?
    fn holds_of_copy(&self) -> bool {
        false
    }

    /// Does it say where the elements of the buffer lie, beyond its dimensions?
    fn orders_elements(&self) -> bool {
        false
    }

    /// Do boxes fill or read the buffer that may reach beyond its tensor?
    fn copied_by_boxes(&self) -> bool {
        false
    }

    /// Is the buffer read by bulk copies, in the background?
    fn leaves_in_bulk(&self) -> bool {
        false
    }

    /// Where the stage, a copy, ends along `axis` and holds zeros beyond, and the directive that says so.
    fn filled_beyond(&self, _axis: AxisId) -> Option<(Size, Loc)> {
        None
    }

    /// The number of elements along `axis` that the stage computes is a multiple of this.
    fn multiple_of(&self, _axis: AxisId) -> Option<i64> {
        None
    }

    /// How many buffers take turns, where it says so.
    fn n_buffers(&self) -> Option<i64> {
        None
    }

    /// The name of the primitive, if the buffer must have a size that is known.
    fn wants_known_size(&self) -> Option<&'static str> {
        None
    }

    /// The extents of the buffer that stands for one of `shape`.
    fn shape(&self, _sched: &Func, _stage: &Stage, _shape: &[i64]) -> Result<Option<Vec<i64>>, ScheduleDiagnostic> {
        Ok(None)
    }

    /// The strides of a buffer of `shape`.
    fn strides(&self, _stage: &Stage, _shape: &[i64]) -> Option<Vec<i64>> {
        None
    }

    /// The attributes of a buffer that has these strides.
    fn attrs(&self, _func: &mut Func, _strides: Option<&[i64]>) -> Vec<(Name, Attr)> {
        Vec::new()
    }

    /// The directive that is named where the buffer cannot be what it asks for; otherwise the one that placed the stage is.
    fn directive(&self) -> Option<Loc> {
        None
    }

    /// Where the element lies that is at `indices` of the stage; written at the place at hand.
    fn place(&self, _emitter: &mut Emitter<'_>, indices: Vec<Value>) -> Vec<Value> {
        indices
    }

    /// Opens the condition under which the stage stores. Says whether there is one.
    fn open_store(&self, _emitter: &mut Emitter<'_>, _stage: StageId) -> Result<bool, Diagnostic> {
        Ok(false)
    }
}

/// What the rest of the crate asks of what a primitive left in an axis.
pub(crate) trait AxisPart {
    /// Finds what does not hold of `axis`, a loop of `stage`, once the schedule is read, as far as `check` says it is.
    fn check(&self, _check: &mut Check<'_>, _stage: StageId, _axis: AxisId) {}

    /// How many buffers take turns of `stage`, which is computed in the loop.
    fn n_buffers_of(&self, _graph: &Graph, _stage: StageId) -> Option<i64> {
        None
    }

    /// Does something else stand for the loop and those inside of it?
    fn stands_for_loops(&self) -> bool {
        false
    }

    /// The attributes of the loop, which is kept for their sake if it has one iteration.
    fn attrs(&self, _func: &mut Func) -> Vec<(Name, Attr)> {
        Vec::new()
    }

    /// The loop that bears the attributes in the initialisation of a reduction, `axis` being the part's.
    fn loop_of_init(&self, _graph: &Graph, axis: AxisId) -> Option<AxisId> {
        Some(axis)
    }

    /// The directive that the loop is there for, if it is this one rather than what made the axis.
    fn loc(&self) -> Option<Loc> {
        None
    }

    /// Ends the sentence that explains the loop.
    fn explain(&self) -> Option<String> {
        None
    }
}

/// A part that has a place in `P`.
pub(crate) trait Part<P>: Sized {
    fn slot(parts: &P) -> &Option<Box<Self>>;
    fn slot_mut(parts: &mut P) -> &mut Option<Box<Self>>;
}

/// Declares a set of parts: a field for each, its trait, and its place by its type.
macro_rules! parts {
    ($(#[$meta:meta])* $parts:ident of $asked:ident; $($field:ident: $part:ty,)*) => {
        $(#[$meta])*
        #[derive(Clone, Default, Debug)]
        pub(crate) struct $parts { $($field: Option<Box<$part>>),* }

        impl $parts {
            /// What the primitive whose part this is has left.
            pub(crate) fn get<P: Part<$parts>>(&self) -> Option<&P> {
                P::slot(self).as_deref()
            }

            pub(crate) fn get_or_default<P: Part<$parts> + Default>(&mut self) -> &mut P {
                P::slot_mut(self).get_or_insert_default()
            }

            pub(crate) fn set<P: Part<$parts>>(&mut self, part: P) {
                *P::slot_mut(self) = Some(Box::new(part));
            }

            /// All that are there, in the order of the table.
            pub(crate) fn iter(&self) -> impl Iterator<Item = &dyn $asked> {
                let all: [Option<&dyn $asked>; _] = [$(self.$field.as_deref().map(|part| part as &dyn $asked)),*];
                all.into_iter().flatten()
            }
        }

        $(impl Part<$parts> for $part {
            fn slot(parts: &$parts) -> &Option<Box<Self>> {
                &parts.$field
            }

            fn slot_mut(parts: &mut $parts) -> &mut Option<Box<Self>> {
                &mut parts.$field
            }
        })*
    };
}

pub(crate) use parts;
