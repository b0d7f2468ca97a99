//! Records that several people share: a store keeps objects, and an object holds records of one task and device.
//!
//! - [`Store`]: what keeps objects; [`Folder`] is one. It knows nothing of records, so that another kind, such as a bucket
//!   of an object storage, is these three functions.
//! - [`Shelf`]: records put into a store, got from it and listed; `verbs`: the commands.
//!
//! An object is called by hashes: of the operator and the schedule, of the target and the class of device, and of its own
//! bytes. It is never changed. What is torn, or was changed, does not fit its name, and is passed over.

mod folder;
mod name;
mod shelf;
mod verbs;

pub(crate) use folder::Folder;
pub(crate) use name::{ObjectName, Place};
pub(crate) use shelf::{Shelf, Wanted};
pub(crate) use verbs::{copies, get, list, put};

use tc::support::Diagnostic;

/// The code of what is said of stores.
const CODE: &str = "store";

/// Bytes that an object has at most.
pub(crate) const MAX_OBJECT: usize = 64 << 20;

/// What keeps objects.
pub(crate) trait Store {
    /// What it is called in messages.
    fn name(&self) -> String;

    /// Keeps an object whole, or not at all. Where there is something of its name, that stays.
    fn put(&self, name: &ObjectName, bytes: &[u8]) -> Result<Put, Diagnostic>;

    /// The bytes of an object, [`MAX_OBJECT`] of them at most; the error is for people.
    fn get(&self, name: &ObjectName) -> Result<Vec<u8>, String>;

    /// The objects, all of them or those whose operator and schedule have this hash, in the order of their names.
    fn list(&self, task: Option<&str>) -> Result<Listing, Diagnostic>;
}

/// What came of an object that was put.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Put {
    /// It is there.
    Kept,
    /// Something else has its name, or the same object.
    Taken,
}

/// What a store has.
#[derive(Default, Debug)]
pub(crate) struct Listing {
    pub(crate) objects: Vec<ObjectName>,
    /// What is no object, each with the reason.
    pub(crate) others: Vec<String>,
}
