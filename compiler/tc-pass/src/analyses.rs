//! Analyses: facts about a whole function that several passes ask for.
//!
//! A pass asks its context ([`PassCx::analysis`](crate::PassCx::analysis)). An analysis is made on the first request and
//! kept as long as the function has the same [version](tc_ir::func::Version), whoever asks. After a pass that edited the
//! function the manager drops it, unless the row of the pass lists it under
//! [`preserves`](crate::PassInfo::preserves). The forms that a function is in are kept in the same way.

use rustc_hash::FxHashMap;
use std::any::{Any, TypeId};
use std::sync::Arc;
use tc_ir::Func;
use tc_ir::form::Form;
use tc_ir::func::Version;
use tc_ir::uses::Uses;

/// What is known of a function by looking at all of it.
pub trait Analysis: Any + Send + Sync + PartialEq {
    /// Its name in messages.
    const NAME: &'static str;

    /// Analyses `func`.
    fn of(func: &Func) -> Self;
}

impl Analysis for Uses {
    const NAME: &'static str = "uses";

    fn of(func: &Func) -> Uses {
        Uses::of(func)
    }
}

/// An analysis that a pass preserves: made by [`preserved`].
pub struct Preserved {
    id: TypeId,
    name: &'static str,
    still_holds: fn(&(dyn Any + Send + Sync), &Func) -> bool,
}

/// Names the analysis `A` in the row of a pass that preserves it.
pub fn preserved<A: Analysis>() -> Preserved {
    let still_holds = |known: &(dyn Any + Send + Sync), func: &Func| known.downcast_ref::<A>() == Some(&A::of(func));
    Preserved { id: TypeId::of::<A>(), name: A::NAME, still_holds }
}

struct Known {
    id: TypeId,
    version: Version,
    what: Arc<dyn Any + Send + Sync>,
}

/// The forms that a function was seen to be in.
struct InForms {
    version: Version,
    forms: Vec<&'static Form>,
}

/// The analyses that are kept, of each function.
#[derive(Default)]
pub(crate) struct Analyses {
    of: FxHashMap<u64, Vec<Known>>,
    forms: FxHashMap<u64, InForms>,
}

impl Analyses {
    /// The analysis `A` of `func`.
    pub(crate) fn get<A: Analysis>(&mut self, func: &Func) -> Arc<A> {
        let (id, version) = (TypeId::of::<A>(), func.version());
        let all = self.of.entry(version.lineage()).or_default();
        if let Some(known) = all.iter().find(|known| known.id == id && known.version == version)
            && let Ok(what) = Arc::clone(&known.what).downcast::<A>()
        {
            return what;
        }
        let what = Arc::new(A::of(func));
        all.retain(|known| known.id != id);
        all.push(Known { id, version, what: what.clone() });
        what
    }

    /// Those of the function of `version`, which are not here any more.
    pub(crate) fn take(&mut self, version: Version) -> Analyses {
        let lineage = version.lineage();
        Analyses {
            of: self.of.remove(&lineage).map(|all| (lineage, all)).into_iter().collect(),
            forms: self.forms.remove(&lineage).map(|forms| (lineage, forms)).into_iter().collect(),
        }
    }

    /// Takes in all of `other`.
    pub(crate) fn merge(&mut self, other: Analyses) {
        self.of.extend(other.of);
        self.forms.extend(other.forms);
    }

    /// Is `func` in the form `form`? What held of this version of it holds still.
    pub(crate) fn is_in_form(&mut self, func: &Func, form: &'static Form) -> bool {
        let version = func.version();
        let known = self.forms.entry(version.lineage()).or_insert(InForms { version, forms: Vec::new() });
        if known.version != version {
            *known = InForms { version, forms: Vec::new() };
        }
        if known.forms.iter().any(|&other| std::ptr::eq(other, form)) {
            return true;
        }
        let holds = form.holds(func);
        if holds {
            known.forms.push(form);
        }
        holds
    }

    /// Drops what does not hold of `func` any more after a pass that was given it at the version `before`, and keeps what
    /// the pass preserves. In builds with debug assertions what is kept is made once more: the name of an analysis
    /// that is not the same is returned.
    pub(crate) fn after_edit(
        &mut self,
        before: Version,
        func: &Func,
        kept: &[fn() -> Preserved],
    ) -> Option<&'static str> {
        let now = func.version();
        let all = self.of.get_mut(&now.lineage())?;
        let mut wrong = None;
        all.retain_mut(|known| {
            if known.version == now {
                return true;
            }
            let row = kept.iter().map(|row| row()).find(|row| row.id == known.id && known.version == before);
            let Some(row) = row else { return false };
            if cfg!(debug_assertions) && !(row.still_holds)(&*known.what, func) {
                wrong.get_or_insert(row.name);
            }
            known.version = now;
            true
        });
        wrong
    }

    /// Drops those of functions that are gone.
    pub(crate) fn retain<'f>(&mut self, items: impl Iterator<Item = &'f Func>) {
        if !self.of.is_empty() || !self.forms.is_empty() {
            let alive: rustc_hash::FxHashSet<u64> = items.map(|item| item.version().lineage()).collect();
            self.of.retain(|lineage, _| alive.contains(lineage));
            self.forms.retain(|lineage, _| alive.contains(lineage));
        }
    }
}
