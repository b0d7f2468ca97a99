//! A folder of a dump, and the list of what a dump wrote there.
//!
//! The list, `.tc-dump`, says of each file its name and a hash of its text. By it the next dump into the folder removes
//! what an earlier one left, so that no reader takes that for new; a file that is not listed, or that someone has changed
//! since, is not removed. What has the name of a file that is written is replaced.

use rustc_hash::FxHasher;
use std::hash::{BuildHasher, BuildHasherDefault};
use std::io::{self, ErrorKind, Write};
use std::path::Path;

/// The name of the list.
const LIST: &str = ".tc-dump";
/// What stands in the place of the hash of a folder.
const FOLDER: &str = "folder";

/// Makes `folder` if it is not there, and removes what an earlier dump wrote into it.
pub fn clear(folder: &Path) -> io::Result<()> {
    std::fs::create_dir_all(folder)?;
    let list = folder.join(LIST);
    let text = match std::fs::read_to_string(&list) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    for (hash, name) in text.lines().filter_map(|line| line.split_once(' ')) {
        let path = folder.join(name);
        // A link leads to what is someone else's.
        let Ok(found) = std::fs::symlink_metadata(&path) else { continue };
        if hash == FOLDER && is_number(name) && found.is_dir() {
            clear(&path)?;
            // It stays if something else is in it.
            let _ = std::fs::remove_dir(&path);
        } else if is_name_of_dump(name)
            && found.is_file()
            && std::fs::read(&path).is_ok_and(|text| hash_of(&text) == hash)
        {
            std::fs::remove_file(&path)?;
        }
    }
    std::fs::remove_file(list)
}

/// Writes `text` into the file `name` of `folder`.
pub fn write(folder: &Path, name: &str, text: &str) -> io::Result<()> {
    // What is killed in between has told of a file that is not there, instead of leaving one that no index names.
    tell(folder, &hash_of(text.as_bytes()), name)?;
    replace(&folder.join(name), text)
}

/// Writes `text` into a new file `path` in the place of what is there. A link is replaced too, and what it leads to stays.
pub fn replace(path: &Path, text: &str) -> io::Result<()> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    std::fs::File::create_new(path)?.write_all(text.as_bytes())
}

/// Tells that the folder `name` below `folder` is one of the dump.
pub fn add_folder(folder: &Path, name: &str) -> io::Result<()> {
    tell(folder, FOLDER, name)
}

/// May a dump write a file of this name?
pub fn is_name_of_dump(name: &str) -> bool {
    let of_pass = || name.strip_suffix(".tir")?.split_once('-');
    name == "index.html" || name == LIST || (!name.contains('/') && of_pass().is_some_and(|(nth, _)| is_number(nth)))
}

/// Is `name` that of a folder of one of several texts?
pub fn is_number(name: &str) -> bool {
    name.len() >= 2 && name.bytes().all(|byte| byte.is_ascii_digit())
}

fn tell(folder: &Path, hash: &str, name: &str) -> io::Result<()> {
    let mut list = std::fs::OpenOptions::new().create(true).append(true).open(folder.join(LIST))?;
    list.write_all(format!("{hash} {name}\n").as_bytes())
}

fn hash_of(text: &[u8]) -> String {
    format!("{:016x}", BuildHasherDefault::<FxHasher>::default().hash_one(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_a_dump_wrote_is_removed() {
        let folder = std::env::temp_dir().join(format!("tc-report-dump-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        clear(&folder).expect("made");
        let below = folder.join("00");
        add_folder(&folder, "00").expect("told");
        clear(&below).expect("made");
        for name in ["00-parse.tir", "01-cse.tir", "index.html"] {
            write(&folder, name, name).expect("written");
            write(&below, name, name).expect("written");
        }
        // Of a stranger: a file of his own, one that he changed, a link, and a list that names what lies elsewhere.
        std::fs::write(folder.join("02-mine.tir"), "mine").expect("written");
        std::fs::write(folder.join("01-cse.tir"), "changed").expect("written");
        std::fs::write(folder.join("notes"), "mine").expect("written");
        tell(&folder, &hash_of(b"mine"), "notes").expect("told");
        tell(&below, &hash_of(b"mine"), "../notes").expect("told");
        tell(&below, FOLDER, "..").expect("told");
        clear(&folder).expect("cleared");
        let mut left: Vec<String> = std::fs::read_dir(&folder)
            .expect("there")
            .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
            .collect();
        left.sort();
        assert_eq!(left, ["01-cse.tir", "02-mine.tir", "notes"]);
        std::fs::remove_dir_all(folder).expect("ours");
    }
}
