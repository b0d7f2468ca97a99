//! What a search starts from: results of other searches, in files (`--warm-start`) or in a store (`--store`).
//!
//! They are copied into the records of the search before its first trial, and its trials name them. So the same command
//! goes on from the same results, whatever the store has got meanwhile, and a replay needs neither store nor other files.

use crate::drive::load;
use crate::records::{Appender, Record, Start, Trial, distinct};
use crate::store::{Shelf, Wanted, copies};
use crate::task::Identity;
use std::path::PathBuf;
use tc::support::{Diagnostic, Location, Sources, counted};
use tc_cli::Session;

/// A search that starts.
pub(crate) struct Starter<'s, 'i> {
    pub(crate) session: &'s Session<'i>,
    pub(crate) identity: &'s Identity,
    pub(crate) device: &'s str,
    /// Files of `--warm-start`.
    pub(crate) files: &'s [PathBuf],
    pub(crate) shelf: Option<&'s Shelf>,
    /// What its first trial is recorded as, but for what it starts from.
    pub(crate) trial: Trial,
}

/// What it starts from.
#[derive(Default)]
pub(crate) struct Started {
    pub(crate) name: Option<Start>,
    pub(crate) records: Vec<Record>,
}

impl Starter<'_, '_> {
    /// What the search starts from. What is new of it goes to `recorded`, and through `appender` to the file.
    pub(crate) fn start(&self, recorded: &mut Vec<Record>, appender: Option<&mut Appender>) -> Result<Started, u8> {
        let fits = |record: &Record| record.task == *self.identity && record.device == self.device;
        let mut found: Vec<Record> = load(self.session, self.files)?.into_iter().filter(fits).collect();
        if let Some(started) = self.again(recorded, &found) {
            return Ok(started);
        }
        found.extend(self.of_store());
        if found.is_empty() {
            return Ok(Started::default());
        }
        let Some(appender) = appender else {
            let records = distinct(&found).into_iter().cloned().collect();
            return Ok(Started { name: None, records });
        };
        let new = copies(recorded, found);
        appender.append_all(&new).map_err(|wrong| self.session.refuse_with(&wrong))?;
        recorded.extend(new);
        let all = distinct(recorded.iter().filter(|record| fits(record)));
        Ok(Started { name: Some(Start::of(&all)), records: all.into_iter().cloned().collect() })
    }

    /// What the search started from, if it did before, and no file has more since.
    fn again(&self, recorded: &[Record], found: &[Record]) -> Option<Started> {
        let fits = |record: &&Record| record.task == *self.identity && record.device == self.device;
        let is_own = |record: &&Record| {
            let trial = &record.trial;
            let same = Trial { nth: 0, batch: 0, attempt: 0, start: None, ..trial.clone() };
            !record.copied && same == self.trial
        };
        if !copies(recorded, found.to_vec()).is_empty() {
            return None;
        }
        let own: Vec<&Record> = recorded.iter().filter(fits).filter(is_own).collect();
        match own.iter().rev().find_map(|record| record.trial.start.as_ref()) {
            Some(start) => match start.find(recorded.iter().filter(fits)) {
                Some(records) => {
                    let records = records.into_iter().cloned().collect();
                    Some(Started { name: Some(start.clone()), records })
                }
                None => {
                    let text = "the results that the search started from are not the first of its records any more: \
                                it starts anew";
                    self.tell(Diagnostic::warning("records", Location::None, text));
                    None
                }
            },
            // A search that started from nothing goes on so.
            None if !own.is_empty() && found.is_empty() => Some(Started::default()),
            None => None,
        }
    }

    /// What the store has. One that cannot be read has nothing: the search goes on.
    fn of_store(&self) -> Vec<Record> {
        let Some(shelf) = self.shelf else { return Vec::new() };
        let wanted = Wanted { task: self.identity, is_of_target: true, device: Some(self.device) };
        match shelf.get(&wanted) {
            Ok(told) => {
                self.session.tell(&told.warnings.into_iter().collect(), &Sources::new());
                let text = format!("the store {} has {} that fit", shelf.name(), counted(told.is.len(), "record"));
                self.tell(Diagnostic::remark("store", Location::None, text));
                told.is
            }
            Err(wrong) => {
                self.tell(
                    Diagnostic::warning("store", Location::None, wrong.message).help("the search goes on without it"),
                );
                Vec::new()
            }
        }
    }

    fn tell(&self, told: Diagnostic) {
        self.session.tell(&told.into(), &Sources::new());
    }
}

/// Puts the records of a search into a store. They are in the file `records` in any case.
pub(crate) fn put(session: &Session<'_>, shelf: &Shelf, records: &[Record], path: &std::path::Path) {
    let told = match shelf.put(records) {
        // What is passed over was told when the search started.
        Ok(told) => {
            let text = format!("the store {} has got {}", shelf.name(), counted(told.is, "record"));
            Diagnostic::remark("store", Location::None, text)
        }
        Err(wrong) => {
            let help = format!("the records are in {}: `tc-tune store put` puts them later", path.display());
            Diagnostic::warning("store", Location::None, wrong.message).help(help)
        }
    };
    session.tell(&told.into(), &Sources::new());
}
