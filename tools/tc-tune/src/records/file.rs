//! Files of records: read leniently, appended to safely.

use super::{Record, VERSION};
use flate2::read::MultiGzDecoder;
use serde_json::Value;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use tc::support::source::shown_name;
use tc::support::{Diagnostic, Location, counted};

/// A line longer than this is no record.
const MAX_LINE: usize = 1 << 20;
/// A file larger than this, unpacked, is not read: that is a million records and more.
pub(crate) const MAX_FILE: u64 = 1 << 30;

/// Lines that are no records and told each; more are counted.
const MAX_TOLD: usize = 100;

/// What a file of records holds.
#[derive(Default, Debug)]
pub(crate) struct Loaded {
    pub(crate) records: Vec<Record>,
    /// What was passed over, and why, as far as it is told.
    pub(crate) warnings: Vec<Diagnostic>,
    /// Lines that were passed over.
    pub(crate) n_passed_over: usize,
}

fn failed(what: &str, path: &Path, error: &std::io::Error) -> Diagnostic {
    Diagnostic::error("records", Location::None, format!("{what} {}: {error}", path.display()))
}

/// Reads `path`, which may be packed by gzip where its name ends in `.gz`. Lines that are no records of this version are passed over with a warning.
pub(crate) fn load(path: &Path) -> Result<Loaded, Diagnostic> {
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(|error| failed("cannot read", path, &error))?;
    let is_packed = path.extension().is_some_and(|extension| extension == "gz");
    let mut reader: Box<dyn Read> = if is_packed { Box::new(MultiGzDecoder::new(file)) } else { Box::new(file) };
    let read = reader.by_ref().take(MAX_FILE + 1).read_to_end(&mut bytes);
    read.map_err(|error| failed("cannot read", path, &error))?;
    if bytes.len() as u64 > MAX_FILE {
        let text = format!("{} holds more than {MAX_FILE} bytes", path.display());
        return Err(Diagnostic::error("records", Location::None, text));
    }
    Ok(parse(&bytes, path))
}

/// The records of a file at `path` with these bytes.
pub(crate) fn parse(bytes: &[u8], path: &Path) -> Loaded {
    let mut loaded = Loaded::default();
    let n = bytes.iter().filter(|&&byte| byte == b'\n').count() + 1;
    for (nth, line) in bytes.split(|&byte| byte == b'\n').enumerate() {
        if line.iter().all(u8::is_ascii_whitespace) {
            continue;
        }
        match record(line) {
            Ok(record) => loaded.records.push(record),
            Err(why) => {
                loaded.n_passed_over += 1;
                if loaded.warnings.len() == MAX_TOLD {
                    continue;
                }
                let what = if nth + 1 == n { "is torn" } else { "is passed over" };
                let text = format!("line {} of {} {what}: {}", nth + 1, path.display(), shown_name(&why));
                loaded.warnings.push(Diagnostic::warning("records", Location::None, text));
            }
        }
    }
    let n_more = loaded.n_passed_over - loaded.warnings.len();
    if n_more > 0 {
        let text = format!("passed over in {} as well: {}", path.display(), counted(n_more, "line"));
        loaded.warnings.push(Diagnostic::warning("records", Location::None, text));
    }
    loaded
}

fn record(line: &[u8]) -> Result<Record, String> {
    if line.len() > MAX_LINE {
        return Err(format!("it has more than {MAX_LINE} bytes"));
    }
    let value: Value = serde_json::from_slice(line).map_err(|error| error.to_string())?;
    match value["tc-tune"].as_u64() {
        Some(version) if version == u64::from(VERSION) => {}
        Some(version) => return Err(format!("it is of version {version}, and this tc-tune reads version {VERSION}")),
        None => return Err("it is no record of tc-tune".to_string()),
    }
    let record: Record = serde_json::from_value(value).map_err(|error| error.to_string())?;
    // Models take logarithms of times, and pages divide by them.
    match &record.result.time_us {
        Some(time) if !(time.median > 0.0 && time.low > 0.0 && time.high > 0.0) => {
            Err(format!("{} us is no time", time.median.min(time.low).min(time.high)))
        }
        _ => Ok(record),
    }
}

/// A file that records are appended to, which no other tuner appends to meanwhile.
pub(crate) struct Appender {
    file: File,
    path: PathBuf,
}

impl Appender {
    /// Opens `path`, which is made if it is not there. A last line that is torn is ended, and stays.
    pub(crate) fn open(path: &Path) -> Result<Appender, Diagnostic> {
        if path.extension().is_some_and(|extension| extension == "gz") {
            let text = format!("{} is packed, and takes no records", path.display());
            let wrong = Diagnostic::error("records", Location::None, text);
            return Err(wrong.help("unpack it, or give it to `--warm-start` and choose another file"));
        }
        let opened = OpenOptions::new().read(true).append(true).create(true).open(path);
        let mut file = opened.map_err(|error| failed("cannot write", path, &error))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let text = format!("another tc-tune appends to {}", path.display());
                let wrong = Diagnostic::error("records", Location::None, text);
                return Err(
                    wrong.help("wait for it, or choose another file with `--records`; `tc-tune merge` joins them")
                );
            }
            Err(TryLockError::Error(error)) => return Err(failed("cannot lock", path, &error)),
        }
        let torn = |error: std::io::Error| failed("cannot write", path, &error);
        if file.seek(SeekFrom::End(0)).map_err(torn)? > 0 {
            let mut last = [0];
            file.seek(SeekFrom::End(-1)).and_then(|_| file.read_exact(&mut last)).map_err(torn)?;
            if last != *b"\n" {
                file.write_all(b"\n").map_err(torn)?;
            }
        }
        Ok(Appender { file, path: path.to_path_buf() })
    }

    /// Appends a record; it is on the disk when this returns.
    pub(crate) fn append(&mut self, record: &Record) -> Result<(), Diagnostic> {
        self.append_all(std::slice::from_ref(record))
    }

    /// Appends records; they are on the disk when this returns.
    pub(crate) fn append_all(&mut self, records: &[Record]) -> Result<(), Diagnostic> {
        let lines: String = records.iter().map(Record::line).collect();
        let written = self.file.write_all(lines.as_bytes()).and_then(|()| self.file.sync_data());
        written.map_err(|error| {
            let wrong = failed("cannot append to", &self.path, &error);
            wrong.help("what was recorded before is there; the same command goes on from it")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: &str = r#"{"tc-tune":1,"operator":"f","operator_hash":"a","schedule":"s","schedule_hash":"b","sizes":{},"target":"sm_90","device":"x","compiler":"0","point":{"n":3},"trial":{"nth":0,"batch":0,"attempt":0,"searcher":"random","seed":1,"trials":9,"batch_size":4},"verdict":"ok","time_us":{"median":1.5,"low":1.0,"high":2.0,"n":9}}"#;

    #[test]
    fn a_line_reads_as_it_was_written() {
        let loaded = parse(format!("{LINE}\n\n").as_bytes(), Path::new("r"));
        assert!(loaded.warnings.is_empty(), "{:?}", loaded.warnings);
        assert_eq!(loaded.records[0].result.median(), Some(1.5));
        let again = parse(loaded.records[0].line().as_bytes(), Path::new("r"));
        assert_eq!(again.records, loaded.records);
    }

    #[test]
    fn a_time_stays_the_same_however_often_it_is_read_and_written() {
        // Neighbours of numbers of 17 digits, which a reader that rounds twice takes for one another.
        for median in [4.272319972515106, 1.0715199708938599, 0.1 + 0.2, 1e-5 / 3.0, 123456.78901234567] {
            let text = LINE.replace("1.5", &median.to_string());
            let read = record(text.as_bytes()).expect("a record");
            assert_eq!(read.result.median(), Some(median));
            assert_eq!(record(read.line().as_bytes()).expect("a record").line(), read.line());
        }
        let text = LINE.replace("1.5", "-1.5");
        assert_eq!(record(text.as_bytes()).expect_err("no time"), "-1.5 us is no time");
    }

    #[test]
    fn what_is_torn_newer_or_rubbish_is_told_and_passed_over() {
        let newer = LINE.replace("\"tc-tune\":1", "\"tc-tune\":2");
        let text = format!("{newer}\nrubbish\n{LINE}\n{}", &LINE[..40]);
        let loaded = parse(text.as_bytes(), Path::new("r"));
        let told: Vec<&str> = loaded.warnings.iter().map(|warning| warning.message.as_str()).collect();
        assert_eq!(loaded.records.len(), 1);
        assert!(told[0].starts_with("line 1 of r is passed over: it is of version 2"), "{told:?}");
        assert!(told[1].starts_with("line 2 of r is passed over") && told[2].starts_with("line 4 of r is torn"));
    }

    #[test]
    fn of_many_lines_that_are_no_records_the_rest_is_counted() {
        let loaded = parse("rubbish\n".repeat(250).as_bytes(), Path::new("r"));
        assert_eq!((loaded.n_passed_over, loaded.warnings.len()), (250, 101));
        assert_eq!(loaded.warnings[100].message, "passed over in r as well: 150 lines");
    }

    #[test]
    fn two_tuners_do_not_append_to_one_file() {
        let path = std::env::temp_dir().join(format!("tc-tune-lock-{}", std::process::id()));
        std::fs::write(&path, &LINE[..40]).expect("writable");
        let mut first = Appender::open(&path).expect("free");
        let second = Appender::open(&path).err().expect("taken");
        assert!(second.message.contains("another tc-tune"), "{}", second.message);
        let record = record(LINE.as_bytes()).expect("a record");
        first.append(&record).expect("there is room");
        let loaded = load(&path).expect("readable");
        std::fs::remove_file(&path).expect("ours");
        assert_eq!((loaded.records.len(), loaded.warnings.len()), (1, 1), "the torn line stays, and is told");
    }
}
