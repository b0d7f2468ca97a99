//! The table that handles are numbers in.

use crate::call::Result;
use crate::diagnostics::Found;
use crate::pass::Call;
use crate::status::TcStatus;
use rustc_hash::FxHashMap;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};
use tc::Compiler;
use tc::ir::Module;
use tc::support::Cancel;

/// Numbers begin here: what a program makes up by mistake is below or above all that were given.
const FIRST: u64 = 0x7463_0000_0000_0001;

/// A module, and the compiler of its context.
pub(crate) struct ModuleCell {
    pub(crate) compiler: Arc<Compiler>,
    /// `None` once a pipeline failed on it.
    pub(crate) module: Mutex<Option<Module>>,
}

/// What a handle stands for.
#[derive(Clone)]
pub(crate) enum Object {
    Context(Arc<Compiler>),
    Module(Arc<ModuleCell>),
    Diagnostics(Arc<Found>),
    Text(Arc<str>),
    Cancel(Cancel),
    Call(Arc<Call>),
}

/// What a handle of some kind stands for.
pub(crate) trait Kind: Sized {
    /// Takes it out of an object of this kind.
    fn of(object: &Object) -> Option<Self>;
}

macro_rules! kind {
    ($ty:ty, $variant:ident) => {
        impl Kind for $ty {
            fn of(object: &Object) -> Option<$ty> {
                match object {
                    Object::$variant(inner) => Some(inner.clone()),
                    _ => None,
                }
            }
        }
    };
}

kind!(Arc<Compiler>, Context);
kind!(Arc<ModuleCell>, Module);
kind!(Arc<Found>, Diagnostics);
kind!(Arc<str>, Text);
kind!(Cancel, Cancel);
kind!(Arc<Call>, Call);

/// An object, and the context that it goes with; a context goes with itself.
struct Entry {
    owner: u64,
    object: Object,
}

#[derive(Default)]
struct Table {
    /// How many numbers were given.
    n_given: u64,
    entries: FxHashMap<u64, Entry>,
}

static TABLE: LazyLock<Mutex<Table>> = LazyLock::new(Mutex::default);

/// The lock is held for a look-up only, which does not panic.
fn table() -> MutexGuard<'static, Table> {
    TABLE.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Table {
    fn entry(&self, id: u64) -> Result<&Entry> {
        let was_given = id >= FIRST && id - FIRST < self.n_given;
        self.entries.get(&id).ok_or(if was_given { TcStatus::FreedHandle } else { TcStatus::BadHandle })
    }

    fn add(&mut self, owner: Option<u64>, object: Object) -> u64 {
        let id = FIRST + self.n_given;
        self.n_given += 1;
        self.entries.insert(id, Entry { owner: owner.unwrap_or(id), object });
        id
    }
}

/// Takes in a context.
pub(crate) fn add_context(compiler: Compiler) -> u64 {
    table().add(None, Object::Context(Arc::new(compiler)))
}

/// Takes in what goes with the context `owner`, which may have been freed by another thread meanwhile.
pub(crate) fn add(owner: u64, object: Object) -> Result<u64> {
    let mut table = table();
    table.entry(owner)?;
    Ok(table.add(Some(owner), object))
}

/// Changes the compiler of the context `id`, for modules that are made from now on.
pub(crate) fn change_compiler<T>(id: u64, change: impl FnOnce(&mut Compiler) -> Result<T>) -> Result<T> {
    let mut compiler = Compiler::clone(&*get::<Arc<Compiler>>(id)?.0);
    let made = change(&mut compiler)?;
    let mut table = table();
    table.entry(id)?;
    let old = table
        .entries
        .get_mut(&id)
        .map(|entry| std::mem::replace(&mut entry.object, Object::Context(Arc::new(compiler))));
    // What it held may be dropped by a function of the caller, which may call back.
    drop(table);
    drop(old);
    Ok(made)
}

/// What `id` stands for, and the context that it goes with.
pub(crate) fn get<T: Kind>(id: u64) -> Result<(T, u64)> {
    let table = table();
    let entry = table.entry(id)?;
    T::of(&entry.object).map(|object| (object, entry.owner)).ok_or(TcStatus::WrongKind)
}

/// Frees `id`, and what goes with it if it is a context. 0 stands for nothing, as a null pointer does for `free`.
pub(crate) fn free<T: Kind>(id: u64) -> Result<()> {
    if id == 0 {
        return Ok(());
    }
    let freed: Vec<Entry> = {
        let mut table = table();
        T::of(&table.entry(id)?.object).ok_or(TcStatus::WrongKind)?;
        #[allow(clippy::iter_over_hash_type, reason = "all of them go, and no caller sees in which order")]
        table.entries.extract_if(|other, entry| *other == id || entry.owner == id).map(|(_, entry)| entry).collect()
    };
    drop(freed);
    Ok(())
}
