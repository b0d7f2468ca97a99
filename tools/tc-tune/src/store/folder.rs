//! A store in a folder, which may lie on a file system that several machines share.
//!
//! `FOLDER/TASK/DEVICE/CONTENT.jsonl`, each name a hash. An object is written under another name in its own folder, and gets
//! its own when it is on the disk; a link to a name that is there fails, so that no writer replaces what another wrote. A
//! writer that ends too early leaves a file whose name begins with a dot, which is passed over.

use super::name::is_hash;
use super::{CODE, Listing, MAX_OBJECT, ObjectName, Place, Put, Store};
use std::fs::{self, File, Metadata};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};
use tc::support::source::shown_name;
use tc::support::{Diagnostic, Location};

/// Names that are read of a store at most.
const MAX_NAMES: usize = 1 << 20;

/// A store in this folder.
pub(crate) struct Folder {
    root: PathBuf,
}

impl Folder {
    pub(crate) fn new(root: &Path) -> Folder {
        Folder { root: root.to_path_buf() }
    }

    fn failed(&self, what: &str, error: &std::io::Error) -> Diagnostic {
        let text = format!("cannot {what} the store {}: {error}", self.root.display());
        Diagnostic::error(CODE, Location::None, text)
    }

    /// The folder of a place, which is made where it is missing.
    fn make(&self, place: &Place) -> std::io::Result<PathBuf> {
        // Only its own folder, and not those above it: where nothing is mounted, a store of its own helps no one.
        make_folder(&self.root, None)?;
        // Who may write into the store may write into all of it.
        let rights = fs::metadata(&self.root)?.permissions();
        let task = self.root.join(&place.task);
        make_folder(&task, Some(&rights))?;
        let folder = task.join(&place.device);
        make_folder(&folder, Some(&rights))?;
        Ok(folder)
    }

    fn write(&self, folder: &Path, name: &ObjectName, bytes: &[u8]) -> std::io::Result<Put> {
        let target = folder.join(name.file());
        if fs::symlink_metadata(&target).is_ok() {
            return Ok(Put::Taken);
        }
        let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
        // Two machines may have processes of one number.
        let temporary = folder.join(format!(".{}-{}-{since_1970}.tmp", name.content, std::process::id()));
        let mut file = File::create_new(&temporary)?;
        let written = file
            .write_all(bytes)
            .and_then(|()| share(&self.root, &file))
            .and_then(|()| file.sync_all())
            .and_then(|()| place(&temporary, &target));
        // Best effort: it has its own name by now, or the first error is the one worth telling.
        let _ = fs::remove_file(&temporary);
        if let Ok(folder) = File::open(folder) {
            // Not every file system can.
            let _ = folder.sync_all();
        }
        written
    }

    /// The objects of a place.
    fn objects(&self, place: &Place, listing: &mut Listing) {
        let shown = format!("{}/{}", place.task, place.device);
        for (name, kind) in entries(&self.root.join(&place.task).join(&place.device), &shown, listing) {
            match ObjectName::parse(place, &name) {
                Some(object) if kind.is_file() => listing.objects.push(object),
                found => listing.others.push(other(&format!("{shown}/{name}"), &kind, found.is_some())),
            }
        }
    }

    /// The objects of an operator and a schedule.
    fn devices(&self, task: &str, listing: &mut Listing) {
        for (name, kind) in entries(&self.root.join(task), task, listing) {
            if is_hash(&name) && kind.is_dir() {
                self.objects(&Place { task: task.to_string(), device: name }, listing);
            } else {
                listing.others.push(other(&format!("{task}/{name}"), &kind, is_hash(&name)));
            }
        }
    }
}

impl Store for Folder {
    fn name(&self) -> String {
        self.root.display().to_string()
    }

    fn put(&self, name: &ObjectName, bytes: &[u8]) -> Result<Put, Diagnostic> {
        let written = self.make(&name.place).and_then(|folder| self.write(&folder, name, bytes));
        written.map_err(|error| self.failed("write to", &error).help("nothing of what was there has changed"))
    }

    fn get(&self, name: &ObjectName) -> Result<Vec<u8>, String> {
        let path = self.root.join(&name.place.task).join(&name.place.device).join(name.file());
        // A pipe would be waited for.
        match fs::symlink_metadata(&path) {
            Ok(kind) if !kind.is_file() => return Err("it is no file".to_string()),
            _ => {}
        }
        let mut bytes = Vec::new();
        let read = File::open(&path).and_then(|file| file.take(MAX_OBJECT as u64 + 1).read_to_end(&mut bytes));
        read.map_err(|error| error.to_string())?;
        if bytes.len() > MAX_OBJECT { Err(format!("it has more than {MAX_OBJECT} bytes")) } else { Ok(bytes) }
    }

    fn list(&self, task: Option<&str>) -> Result<Listing, Diagnostic> {
        fs::read_dir(&self.root).map_err(|error| {
            self.failed("read", &error).help("`tc-tune store put` makes one, in a folder that is there")
        })?;
        let mut listing = Listing::default();
        match task {
            Some(task) => match fs::symlink_metadata(self.root.join(task)) {
                Ok(kind) if kind.is_dir() => self.devices(task, &mut listing),
                Ok(kind) => listing.others.push(other(task, &kind, true)),
                // No record of it was put yet.
                Err(_) => {}
            },
            None => {
                for (name, kind) in entries(&self.root, "the store", &mut listing) {
                    if is_hash(&name) && kind.is_dir() {
                        self.devices(&name, &mut listing);
                    } else {
                        listing.others.push(other(&name, &kind, is_hash(&name)));
                    }
                }
            }
        }
        listing.objects.sort();
        listing.others.sort();
        Ok(listing)
    }
}

/// What stands in a folder, by name, apart from what begins with a dot: name, and what it is. A link is a link.
fn entries(folder: &Path, shown: &str, listing: &mut Listing) -> Vec<(String, Metadata)> {
    let mut entries = Vec::new();
    let read = match fs::read_dir(folder) {
        Ok(read) => read,
        Err(error) => {
            listing.others.push(format!("{shown} cannot be read: {error}"));
            return entries;
        }
    };
    for entry in read.flatten() {
        if entries.len() + listing.objects.len() + listing.others.len() >= MAX_NAMES {
            listing.others.push(format!("{shown} is passed over in part: {MAX_NAMES} names of the store are read"));
            break;
        }
        let name = entry.file_name().to_string_lossy().into_owned();
        // What is gone by now is not there.
        if let Ok(kind) = entry.metadata()
            && !name.starts_with('.')
        {
            entries.push((name, kind));
        }
    }
    entries.sort_by(|a, b| a.0.cmp(&b.0));
    entries
}

/// What is said of something that is no object.
fn other(name: &str, kind: &Metadata, is_well_named: bool) -> String {
    let what = match kind {
        kind if kind.is_symlink() => "a link",
        _ if !is_well_named => "none of the store's names",
        kind if kind.is_dir() => "a folder",
        _ => "no folder of the store",
    };
    format!("{} is {what}, and passed over", shown_name(name))
}

/// Makes a folder, unless it is there. A link in its place is none: it may lead anywhere.
fn make_folder(path: &Path, rights: Option<&fs::Permissions>) -> std::io::Result<()> {
    match fs::create_dir(path) {
        Ok(()) => {
            if let Some(rights) = rights {
                // Best effort: who may not, keeps it for themselves.
                let _ = fs::set_permissions(path, rights.clone());
            }
            Ok(())
        }
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            let is_below = rights.is_some();
            let kind = if is_below { fs::symlink_metadata(path)? } else { fs::metadata(path)? };
            if kind.is_dir() { Ok(()) } else { Err(std::io::Error::other(format!("{} is no folder", path.display()))) }
        }
        Err(error) => Err(error),
    }
}

/// Lets those read and write an object who may read and write the store.
fn share(root: &Path, file: &File) -> std::io::Result<()> {
    let mode = fs::metadata(root)?.permissions().mode() & 0o666;
    // Best effort, as for folders.
    let _ = file.set_permissions(fs::Permissions::from_mode(mode));
    Ok(())
}

/// Gives the file its name, unless there is something of that name.
fn place(temporary: &Path, target: &Path) -> std::io::Result<Put> {
    match fs::hard_link(temporary, target) {
        Ok(()) => Ok(Put::Kept),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(Put::Taken),
        // A file system without links. What comes in between has the same bytes, as its name tells.
        Err(_) if fs::symlink_metadata(target).is_err() => fs::rename(temporary, target).map(|()| Put::Kept),
        Err(_) => Ok(Put::Taken),
    }
}
