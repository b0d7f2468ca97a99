//! The names of objects. They hold nothing but hashes and numbers, whatever records say, and so stay in their store.

use crate::records::Record;
use crate::task::Identity;
use std::fmt::{Display, Formatter};
use tc::runtime::hash;

/// Digits of a hash.
const DIGITS: usize = 32;
/// Objects of the same bytes: the first may be torn.
pub(crate) const MAX_COPIES: u8 = 10;

/// What the records of an object have in common.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Place {
    /// The hash of the operator and the schedule.
    pub(crate) task: String,
    /// The hash of the target and the class of device.
    pub(crate) device: String,
}

/// An object.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct ObjectName {
    pub(crate) place: Place,
    /// The hash of its bytes.
    pub(crate) content: String,
    /// Which of the objects with these bytes it is, from 0.
    pub(crate) copy: u8,
}

impl Place {
    /// Where a record belongs.
    pub(crate) fn of(record: &Record) -> Place {
        Place { task: Place::task(&record.task), device: pair(&record.task.target, &record.device) }
    }

    /// The hash of an operator and a schedule.
    pub(crate) fn task(task: &Identity) -> String {
        pair(&task.operator_hash, &task.schedule_hash)
    }
}

/// The hash of two texts: which belongs to which counts.
fn pair(one: &str, other: &str) -> String {
    hash(format!("{} {one} {other}", one.len()))
}

/// Is this what a hash looks like?
pub(crate) fn is_hash(text: &str) -> bool {
    text.len() == DIGITS && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

impl ObjectName {
    /// The last part of the name.
    pub(crate) fn file(&self) -> String {
        match self.copy {
            0 => format!("{}.jsonl", self.content),
            copy => format!("{}-{copy}.jsonl", self.content),
        }
    }

    /// The object in `place` whose last part is `file`.
    pub(crate) fn parse(place: &Place, file: &str) -> Option<ObjectName> {
        let stem = file.strip_suffix(".jsonl")?;
        let (content, copy) = match stem.split_once('-') {
            Some((content, copy)) => (content, copy.parse().ok().filter(|copy| (1..MAX_COPIES).contains(copy))?),
            None => (stem, 0),
        };
        let name = ObjectName { place: place.clone(), content: content.to_string(), copy };
        // A number may be written in several ways, and a name in one.
        (is_hash(content) && name.file() == file).then_some(name)
    }
}

impl Display for ObjectName {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}/{}", self.place.task, self.place.device, self.file())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_reads_as_it_was_written_and_nothing_else_is_one() {
        let place = Place { task: hash("t"), device: hash("d") };
        for copy in [0, 1, 9] {
            let name = ObjectName { place: place.clone(), content: hash("c"), copy };
            assert_eq!(ObjectName::parse(&place, &name.file()), Some(name));
        }
        let hash = hash("c");
        for file in [
            "a.jsonl".to_string(),
            hash.clone(),
            format!("{hash}.json"),
            format!("{hash}-0.jsonl"),
            format!("{hash}-01.jsonl"),
            format!("{hash}-10.jsonl"),
            format!("{hash}-+1.jsonl"),
            format!("{}.jsonl", hash.to_uppercase()),
            format!("../{hash}.jsonl"),
        ] {
            assert_eq!(ObjectName::parse(&place, &file), None, "{file}");
        }
    }

    #[test]
    fn two_pairs_of_texts_have_two_hashes() {
        assert_ne!(pair("a b", "c"), pair("a", "b c"));
        assert_ne!(pair("a", "b"), pair("b", "a"));
        assert!(is_hash(&pair("../../etc", "passwd")));
    }
}
