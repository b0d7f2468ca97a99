//! Records in a store: which object they go to, and what is read of one.

use super::name::MAX_COPIES;
use super::{CODE, MAX_OBJECT, ObjectName, Place, Put, Store};
use crate::records::{self, MAX_FILE, Record, Verdict};
use crate::show::by_task;
use crate::task::{Identity, Values};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use tc::runtime::hash;
use tc::support::{Diagnostic, Location, counted};

/// Bytes of an object that is written, apart from its last record: others have room to read it.
const FULL: usize = MAX_OBJECT / 4;
/// What is passed over and told with its name; more is counted.
const MAX_TOLD: usize = 20;

/// The records of a store.
pub(crate) struct Shelf {
    store: Box<dyn Store>,
    /// Bytes that one call reads at most.
    limit: u64,
}

/// Which records are asked for.
pub(crate) struct Wanted<'w> {
    /// The operator, the schedule and the sizes, for the target that is asked for.
    pub(crate) task: &'w Identity,
    /// Only records of this target? Without, of any.
    pub(crate) is_of_target: bool,
    /// Only records of this class of device.
    pub(crate) device: Option<&'w str>,
}

impl Wanted<'_> {
    fn fits(&self, record: &Record) -> bool {
        let is_task =
            if self.is_of_target { record.task == *self.task } else { record.task.is_same_but_target(self.task) };
        is_task && self.device.is_none_or(|device| record.device == device)
    }
}

/// What was asked for, and what was passed over on the way.
pub(crate) struct Told<T> {
    pub(crate) is: T,
    pub(crate) warnings: Vec<Diagnostic>,
}

/// What a store has of one task and class of device.
pub(crate) struct Row {
    pub(crate) task: Identity,
    pub(crate) device: String,
    /// The folder, or the like, in which the objects are.
    pub(crate) place: Place,
    pub(crate) attempts: usize,
    /// The fastest point, its time, and the class of its clocks.
    pub(crate) best: Option<(Values, records::Time, Option<String>)>,
}

/// What was passed over.
#[derive(Default)]
struct Notes {
    told: Vec<Diagnostic>,
    more: usize,
}

impl Notes {
    fn add(&mut self, text: String) {
        if self.told.len() < MAX_TOLD {
            self.told.push(Diagnostic::warning(CODE, Location::None, text));
        } else {
            self.more += 1;
        }
    }

    fn warnings(mut self) -> Vec<Diagnostic> {
        if self.more > 0 {
            let text = format!("passed over in the store as well: {}", counted(self.more, "name"));
            self.told.push(Diagnostic::warning(CODE, Location::None, text));
        }
        self.told
    }
}

impl Shelf {
    pub(crate) fn new(store: Box<dyn Store>) -> Shelf {
        Shelf { store, limit: MAX_FILE }
    }

    /// What the store is called.
    pub(crate) fn name(&self) -> String {
        self.store.name()
    }

    /// Puts those of `records` that the store lacks; tells how many these were.
    pub(crate) fn put(&self, records: &[Record]) -> Result<Told<usize>, Diagnostic> {
        let mut by_place: BTreeMap<Place, Vec<String>> = BTreeMap::new();
        for record in records {
            by_place.entry(Place::of(record)).or_default().push(record.original());
        }
        let (mut notes, mut n) = (Notes::default(), 0);
        for (place, lines) in by_place {
            let mut seen = self.lines_at(&place, &mut notes)?;
            let mut bytes = String::new();
            for line in lines {
                if bytes.len() + line.len() > FULL && !bytes.is_empty() {
                    self.put_object(&place, std::mem::take(&mut bytes).as_bytes())?;
                }
                if seen.insert(hash(&line)) {
                    bytes.push_str(&line);
                    n += 1;
                }
            }
            if !bytes.is_empty() {
                self.put_object(&place, bytes.as_bytes())?;
            }
        }
        Ok(Told { is: n, warnings: notes.warnings() })
    }

    /// The hashes of the lines that the store has at `place`.
    fn lines_at(&self, place: &Place, notes: &mut Notes) -> Result<BTreeSet<String>, Diagnostic> {
        // A store that is not there yet has none; where it cannot be made, that is told when it is written.
        let Ok(listing) = self.store.list(Some(&place.task)) else { return Ok(BTreeSet::new()) };
        let mut seen = BTreeSet::new();
        let at_place = listing.objects.into_iter().filter(|name| name.place == *place);
        self.read(at_place, notes, &mut |record| {
            seen.insert(hash(record.original()));
        });
        Ok(seen)
    }

    fn put_object(&self, place: &Place, bytes: &[u8]) -> Result<(), Diagnostic> {
        let mut name = ObjectName { place: place.clone(), content: hash(bytes), copy: 0 };
        for copy in 0..MAX_COPIES {
            name.copy = copy;
            match self.store.put(&name, bytes)? {
                Put::Kept => return Ok(()),
                // Another writer had the same records.
                Put::Taken if self.store.get(&name).is_ok_and(|there| there == bytes) => return Ok(()),
                Put::Taken => {}
            }
        }
        let text = format!("{MAX_COPIES} objects of the store {} are torn that begin as {name} does", self.name());
        Err(Diagnostic::error(CODE, Location::None, text).help("move them away, and put the records again"))
    }

    /// The records that fit, each attempt once, in the order of the names of their objects.
    pub(crate) fn get(&self, wanted: &Wanted<'_>) -> Result<Told<Vec<Record>>, Diagnostic> {
        let listing = self.store.list(Some(&Place::task(wanted.task)))?;
        let mut notes = Notes::default();
        listing.others.into_iter().for_each(|other| notes.add(other));
        let (mut records, mut seen) = (Vec::new(), BTreeSet::new());
        self.read(listing.objects, &mut notes, &mut |record| {
            if wanted.fits(&record) && seen.insert(hash(record.original())) {
                records.push(record);
            }
        });
        Ok(Told { is: records, warnings: notes.warnings() })
    }

    /// What there is, by the names of operators, schedules and devices.
    pub(crate) fn list(&self) -> Result<Told<Vec<Row>>, Diagnostic> {
        let listing = self.store.list(None)?;
        let mut notes = Notes::default();
        listing.others.into_iter().for_each(|other| notes.add(other));
        let mut rows: Vec<Row> = Vec::new();
        // Objects of one place follow one another: only its records are kept at a time.
        for at_place in listing.objects.chunk_by(|a, b| a.place == b.place) {
            let (mut records, mut seen) = (Vec::new(), BTreeSet::new());
            self.read(at_place.iter().cloned(), &mut notes, &mut |record| {
                if seen.insert(hash(record.original())) {
                    records.push(record);
                }
            });
            rows.extend(by_task(&records).into_iter().map(|(task, device, group)| row(task, device, &group)));
        }
        let key = |row: &Row| (row.task.operator.clone(), row.task.schedule.clone(), row.device.clone());
        rows.sort_by(|a, b| key(a).cmp(&key(b)).then_with(|| a.task.sizes.cmp(&b.task.sizes)));
        Ok(Told { is: rows, warnings: notes.warnings() })
    }

    /// Reads objects; `take` gets the records of those that are whole.
    fn read(&self, names: impl IntoIterator<Item = ObjectName>, notes: &mut Notes, take: &mut dyn FnMut(Record)) {
        let mut n_bytes = 0;
        let mut n_left = 0;
        for name in names {
            if n_bytes > self.limit {
                n_left += 1;
                continue;
            }
            let bytes = match self.store.get(&name) {
                Ok(bytes) => bytes,
                Err(why) => {
                    notes.add(format!("{name} is passed over: {why}"));
                    continue;
                }
            };
            n_bytes += bytes.len() as u64;
            if hash(&bytes) != name.content {
                notes.add(format!("{name} is torn, or was changed: its bytes are not those that its name tells"));
                continue;
            }
            self.read_object(&name, &bytes, notes, take);
        }
        if n_left > 0 {
            let text = format!("{} bytes are read; passed over: {}", self.limit, counted(n_left, "object"));
            notes.add(text);
        }
    }

    fn read_object(&self, name: &ObjectName, bytes: &[u8], notes: &mut Notes, take: &mut dyn FnMut(Record)) {
        let loaded = records::parse(bytes, Path::new(&name.to_string()));
        // An object of a newer version may have thousands of lines, all of which say the same.
        if let Some(first) = loaded.warnings.first() {
            let more = match loaded.n_passed_over {
                1 => String::new(),
                n => format!(", and {} more", counted(n - 1, "line")),
            };
            notes.add(format!("{}{more}", first.message));
        }
        let mut n_astray = 0;
        for record in loaded.records {
            if Place::of(&record) == name.place {
                take(Record { copied: false, ..record });
            } else {
                n_astray += 1;
            }
        }
        if n_astray > 0 {
            notes.add(format!("passed over in {name}, for another task or device: {}", counted(n_astray, "line")));
        }
    }
}

fn row(task: &Identity, device: &str, group: &[&Record]) -> Row {
    let by_point = records::by_point(group.iter().map(|record| (&record.point, &record.result)));
    let timed = by_point.into_iter().filter(|(_, result)| result.verdict == Verdict::Ok);
    let timed = timed.filter_map(|(point, result)| Some((point, result.time_us?, result.class())));
    let best = timed.min_by(|a, b| a.1.median.total_cmp(&b.1.median));
    Row {
        task: task.clone(),
        device: device.to_string(),
        place: group.first().map_or_else(|| Place { task: String::new(), device: String::new() }, |one| Place::of(one)),
        attempts: group.len(),
        best: best.map(|(point, time, class)| (point.clone(), time, class.map(str::to_string))),
    }
}

#[cfg(test)]
mod tests {
    use super::super::Listing;
    use super::*;
    use std::cell::RefCell;

    /// A store in memory: what another kind of store has to be.
    #[derive(Default)]
    struct Memory(RefCell<BTreeMap<ObjectName, Vec<u8>>>);

    impl Store for std::rc::Rc<Memory> {
        fn name(&self) -> String {
            "memory".to_string()
        }

        fn put(&self, name: &ObjectName, bytes: &[u8]) -> Result<Put, Diagnostic> {
            let mut objects = self.0.borrow_mut();
            if objects.contains_key(name) {
                return Ok(Put::Taken);
            }
            objects.insert(name.clone(), bytes.to_vec());
            Ok(Put::Kept)
        }

        fn get(&self, name: &ObjectName) -> Result<Vec<u8>, String> {
            self.0.borrow().get(name).cloned().ok_or_else(|| "it is gone".to_string())
        }

        fn list(&self, task: Option<&str>) -> Result<Listing, Diagnostic> {
            let objects = self.0.borrow();
            let names = objects.keys().filter(|name| task.is_none_or(|task| name.place.task == task));
            Ok(Listing { objects: names.cloned().collect(), others: Vec::new() })
        }
    }

    fn record(operator: &str, nth: usize) -> Record {
        let line = format!(
            r#"{{"tc-tune":1,"operator":"f","operator_hash":{operator:?},"schedule":"s","schedule_hash":"b","sizes":{{}},"target":"sm_90","device":"x","compiler":"0","point":{{"n":{nth}}},"trial":{{"nth":{nth},"batch":0,"attempt":0,"searcher":"random","seed":1,"trials":9,"batch_size":4}},"verdict":"ok","time_us":{{"median":1.5,"low":1.0,"high":2.0,"n":9}}}}"#
        );
        records::parse(line.as_bytes(), Path::new("r")).records.remove(0)
    }

    fn of(shelf: &Shelf, one: &Record) -> Told<Vec<Record>> {
        shelf.get(&Wanted { task: &one.task, is_of_target: true, device: None }).expect("readable")
    }

    #[test]
    fn what_is_there_is_not_put_again() {
        let memory = std::rc::Rc::new(Memory::default());
        let shelf = Shelf::new(Box::new(memory.clone()));
        let records: Vec<Record> = (0..5).map(|nth| record("a", nth)).collect();
        assert_eq!(shelf.put(&records[..3]).expect("room").is, 3);
        assert_eq!(shelf.put(&records[..3]).expect("room").is, 0);
        // A record that was copied elsewhere is the same.
        let copied = Record { copied: true, ..records[0].clone() };
        assert_eq!(shelf.put(&[copied, records[3].clone(), records[3].clone()]).expect("room").is, 1);
        assert_eq!(memory.0.borrow().len(), 2);
        let mut got = of(&shelf, &records[0]).is;
        got.sort_by_key(|record| record.trial.nth);
        assert_eq!(got, records[..4]);
    }

    #[test]
    fn an_object_that_is_torn_stays_and_its_records_are_put_beside_it() {
        let memory = std::rc::Rc::new(Memory::default());
        let shelf = Shelf::new(Box::new(memory.clone()));
        let records = [record("a", 0), record("a", 1)];
        shelf.put(&records).expect("room");
        let name = memory.0.borrow().keys().next().expect("one").clone();
        let torn = memory.0.borrow()[&name][..100].to_vec();
        memory.0.borrow_mut().insert(name.clone(), torn.clone());
        let told = of(&shelf, &records[0]);
        assert!(told.is.is_empty() && told.warnings[0].message.contains("is torn, or was changed"));
        let told = shelf.put(&records).expect("room");
        assert_eq!((told.is, told.warnings.len()), (2, 1));
        assert_eq!(of(&shelf, &records[0]).is, records);
        assert_eq!(memory.0.borrow()[&name], torn, "what was there stays");
        assert_eq!(shelf.put(&records).expect("room").is, 0);
    }

    #[test]
    fn records_that_are_astray_or_too_many_are_told() {
        let memory = std::rc::Rc::new(Memory::default());
        let mut shelf = Shelf::new(Box::new(memory.clone()));
        let (one, other) = (record("a", 0), record("b", 0));
        let bytes = other.line().into_bytes();
        let name = ObjectName { place: Place::of(&one), content: hash(&bytes), copy: 0 };
        memory.0.borrow_mut().insert(name, bytes);
        let told = of(&shelf, &one);
        assert!(told.is.is_empty() && told.warnings[0].message.contains("for another task or device: 1 line"));
        shelf.put(std::slice::from_ref(&one)).expect("room");
        shelf.limit = 0;
        let told = of(&shelf, &one);
        let message = &told.warnings.last().expect("told").message;
        assert_eq!(message, "0 bytes are read; passed over: 1 object");
    }
}
