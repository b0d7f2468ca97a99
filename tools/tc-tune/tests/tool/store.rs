//! Stores of records: several writers, searches that start from one, folders in which strangers wrote.

use crate::{Ran, example, folder, shown, sweep, tune};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn fine(ran: Ran) -> Ran {
    assert_eq!(ran.status, 0, "{}{}", ran.stdout, ran.stderr);
    ran
}

/// The first records of the sweep of conv1d, from `from` on.
fn some_records(folder: &Path, name: &str, (from, n): (usize, usize)) -> String {
    let path = folder.join(name);
    let all = fine(tune(&["merge", &sweep("conv1d")])).stdout;
    let lines: String = all.lines().skip(from).take(n).map(|line| format!("{line}\n")).collect();
    fs::write(&path, lines).expect("writable");
    shown(&path)
}

/// What stands below a folder: each file with its bytes.
fn tree(root: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut files = BTreeMap::new();
    let mut folders = vec![root.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("readable").map(|entry| entry.expect("readable")) {
            let kind = entry.file_type().expect("known");
            if kind.is_dir() {
                folders.push(entry.path());
            } else if kind.is_file() {
                files.insert(entry.path(), fs::read(entry.path()).expect("readable"));
            }
        }
    }
    files
}

fn lines(path: &str) -> Vec<String> {
    fs::read_to_string(path).expect("readable").lines().map(str::to_string).collect()
}

fn hash(bytes: &[u8]) -> String {
    Sha256::digest(bytes)[..16].iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn what_is_put_is_listed_and_got_and_twice_is_once() {
    let folder = folder("store");
    let (store, out) = (shown(&folder.join("s")), shown(&folder.join("r.jsonl")));
    let put = fine(tune(&["store", "put", "--store", &store, &sweep("conv1d"), &sweep("depthwise_nchw")]));
    assert_eq!(put.stdout, "1728 records put; 0 were there\n");
    let before = tree(Path::new(&store));
    assert_eq!(before.len(), 3, "an object for each operator, schedule and device: {before:?}");
    let again = fine(tune(&["store", "put", "--store", &store, &sweep("depthwise_nchw"), &sweep("conv1d")]));
    assert_eq!(again.stdout, "0 records put; 1728 were there\n");
    assert_eq!(tree(Path::new(&store)), before, "nothing has changed");

    let list = fine(tune(&["store", "list", "--store", &store])).stdout;
    let row = list.lines().find(|line| line.starts_with("conv1d")).expect("a row");
    let words: Vec<&str> = row.split_whitespace().collect();
    assert_eq!(words[..7], ["conv1d", "@autotvm", "-", "NVIDIA", "H100", "80GB", "HBM3,"], "{list}");
    assert_eq!(words[9..12], ["sm_90a", "1404", "1.41"], "{list}");
    assert_eq!(list.lines().count(), 1 + 1 + 12, "six sizes of two schedules: {list}");
    let json = fine(tune(&["store", "list", "--store", &store, "--json"])).stdout;
    let rows: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!((rows[0]["attempts"].as_u64(), rows[0]["best"]["point"]["block"].as_u64()), (Some(1404), Some(32)));

    let get = ["store", "get", "--store", &store, &example("conv1d"), "-o", &out];
    assert_eq!(fine(tune(&get)).stdout, "1404 records fit; 0 were there\n");
    let got = lines(&out);
    assert_eq!(fine(tune(&get)).stdout, "1404 records fit; 1404 were there\n");
    assert_eq!(lines(&out), got, "nothing twice");
    // What was got is what was measured, marked as a copy, and goes back as nothing new.
    let merged = fine(tune(&["merge", &sweep("conv1d")])).stdout;
    assert!(got.iter().all(|line| merged.contains(line.strip_suffix(",\"copied\":true}").expect("a copy"))));
    assert_eq!(fine(tune(&["store", "put", "--store", &store, &out])).stdout, "0 records put; 1404 were there\n");

    // What does not fit is not got.
    for more in [["--target", "sm_80"], ["--device", "NVIDIA H200"]] {
        let none = tune(&[&get[..], &more].concat());
        assert_eq!(none.status, 1);
        assert!(none.stderr.contains("no record of the store fits `conv1d @autotvm`"), "{}", none.stderr);
    }
    let sized = ["store", "get", "--store", &store, &example("depthwise_nchw"), "@threads", "-o", &out];
    let sizes = fine(tune(&sized)).stdout;
    assert_eq!(sizes, "30 records fit; 0 were there\n");
    fs::remove_dir_all(&folder).ok();
}

#[test]
fn many_writers_lose_nothing() {
    let folder = folder("writers");
    let store = shown(&folder.join("s"));
    // Each overlaps with its neighbours, and two put the same.
    let files: Vec<String> =
        (0..8).map(|nth| some_records(&folder, &format!("{nth}.jsonl"), ((nth / 2) * 60, 120))).collect();
    let program = env!("CARGO_BIN_EXE_tc-tune");
    let start = |file: &String| Command::new(program).args(["store", "put", "--store", &store, file]).output();
    let outputs: Vec<_> = std::thread::scope(|scope| {
        let writers: Vec<_> = files.iter().map(|file| scope.spawn(move || start(file))).collect();
        writers.into_iter().map(|writer| writer.join().expect("no panic").expect("it starts")).collect()
    });
    for output in outputs {
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    let out = shown(&folder.join("r.jsonl"));
    let got = fine(tune(&["store", "get", "--store", &store, &example("conv1d"), "-o", &out]));
    assert_eq!((got.stdout.as_str(), got.stderr.as_str()), ("300 records fit; 0 were there\n", ""));
    let temporary =
        tree(Path::new(&store)).into_keys().filter(|path| path.extension().is_none_or(|end| end != "jsonl"));
    assert_eq!(temporary.collect::<Vec<_>>(), Vec::<PathBuf>::new());
    fs::remove_dir_all(&folder).ok();
}

/// A search of 12 trials over the recorded sweep of conv1d.
fn search(records: &str, store: &str, seed: &str) -> Ran {
    let device = format!("replay={}", sweep("conv1d"));
    let file = example("conv1d");
    let how = ["--estimate", "0", "--trials", "12", "--seed", seed, "--records", records, "--store", store];
    fine(tune(&[&[file.as_str(), "@autotvm", "--device", &device], &how[..]].concat()))
}

fn points(lines: &[String]) -> Vec<String> {
    let point = |line: &String| {
        let record: serde_json::Value = serde_json::from_str(line).expect("JSON");
        record["point"].to_string()
    };
    lines.iter().map(point).collect()
}

#[test]
fn a_search_starts_from_a_store_and_is_replayed_without_it() {
    let folder = folder("shared");
    let path = |name: &str| shown(&folder.join(name));
    let (store, first, second) = (path("s"), path("first.jsonl"), path("second.jsonl"));
    let ran = search(&first, &store, "3");
    assert!(ran.stderr.contains("the search goes on without it"), "there is no store yet: {}", ran.stderr);
    assert!(ran.stderr.contains("has got 12 records"), "{}", ran.stderr);
    // Somebody else runs the same command: other points are tried.
    let ran = search(&second, &store, "3");
    assert!(
        ran.stderr.contains("has 12 records that fit") && ran.stderr.contains("has got 12 records"),
        "{}",
        ran.stderr
    );
    let whole = lines(&second);
    let (copied, own) = whole.split_at(12);
    assert!(copied.iter().all(|line| line.ends_with(",\"copied\":true}")), "{copied:#?}");
    assert_eq!(points(copied), points(&lines(&first)));
    assert_eq!(own.len(), 12);
    assert!(points(own).iter().all(|point| !points(copied).contains(point)));
    // The store grows; the same command goes on from what it started from, wherever it was ended.
    search(&path("third.jsonl"), &store, "4");
    let again = search(&second, &store, "3");
    assert_eq!((again.stdout.as_str(), lines(&second)), (ran.stdout.as_str(), whole.clone()));
    for n in [14, 20] {
        let cut: String = whole[..n].iter().map(|line| format!("{line}\n")).collect();
        fs::write(&second, cut).expect("ours");
        assert_eq!(search(&second, &store, "3").stdout, ran.stdout);
        assert_eq!(lines(&second), whole, "ended after {n} lines");
    }
    let list = fine(tune(&["store", "list", "--store", &store])).stdout;
    assert!(list.contains(" sm_90a        36 "), "each attempt once: {list}");
    // A replay needs the records alone.
    fs::remove_dir_all(&store).expect("ours");
    let replayed = fine(tune(&["replay", &example("conv1d"), "--records", &second])).stdout;
    let wanted =
        "of other files, and not chosen again: 12 records\nconv1d @autotvm, forest with seed 3: the same 12 choices\n";
    assert_eq!(replayed, wanted);
    // Without what it started from it says so, as it does where that has changed.
    fs::write(&second, own.join("\n")).expect("ours");
    let replayed = tune(&["replay", &example("conv1d"), "--records", &second]);
    assert_eq!(replayed.status, 1);
    assert!(
        replayed.stdout.contains("the results that the search started from are not the first"),
        "{}",
        replayed.stdout
    );
    fs::remove_dir_all(&folder).ok();
}

#[test]
fn a_search_that_starts_from_other_records_is_replayed() {
    let folder = folder("warm");
    let (other, path) = (some_records(&folder, "other.jsonl", (300, 40)), shown(&folder.join("r.jsonl")));
    let device = format!("replay={}", sweep("conv1d"));
    let file = example("conv1d");
    let args = [&file, "@autotvm", "--device", &device, "--estimate", "0", "--trials", "8", "--warm-start", &other];
    let warm = |more: &[&str]| fine(tune(&[&args[..], more].concat())).stdout;
    let (without, with) = (warm(&[]), warm(&["--records", &path]));
    assert_eq!(with, without, "records change no choice");
    assert_eq!(lines(&path).len(), 48);
    assert_eq!(warm(&["--records", &path]), with);
    assert_eq!(lines(&path).len(), 48);
    let replayed = fine(tune(&["replay", &file, "--records", &path])).stdout;
    assert!(replayed.contains("forest with seed 0: the same 8 choices"), "{replayed}");
    fs::remove_dir_all(&folder).ok();
}

#[test]
fn a_store_out_of_reach_ends_no_search() {
    let folder = folder("reach");
    let (path, file) = (shown(&folder.join("r.jsonl")), folder.join("file"));
    fs::write(&file, "").expect("writable");
    // A file in the place of a folder: nothing can be made below it.
    let ran = search(&path, &shown(&file.join("s")), "3");
    for part in ["warning", "cannot read the store", "cannot write to the store", "`tc-tune store put` puts them later"]
    {
        assert!(ran.stderr.contains(part), "{part}: {}", ran.stderr);
    }
    assert_eq!(lines(&path).len(), 12, "the records are the truth");
    for verb in [&["store", "list", "--store"][..], &["store", "get", &example("conv1d"), "-o", &path, "--store"]] {
        let ran = tune(&[verb, &[&shown(&folder.join("none"))]].concat());
        assert_eq!(ran.status, 2);
        assert!(ran.stderr.contains("cannot read the store"), "{}", ran.stderr);
        assert!(ran.stderr.contains("`tc-tune store put` makes one"), "{}", ran.stderr);
    }
    let ran = tune(&["store", "put", "--store", &shown(&folder.join("none/s")), &path]);
    assert_eq!(ran.status, 2, "only its own folder is made");
    let ran = tune(&[&example("conv1d"), "@autotvm", "--store", &shown(&folder)]);
    assert_eq!(ran.status, 2);
    assert!(ran.stderr.contains("--records"), "the records of a search are its own: {}", ran.stderr);
    fs::remove_dir_all(&folder).ok();
}

#[cfg(unix)]
#[test]
fn what_strangers_left_in_a_store_is_told_and_stays() {
    use std::os::unix::fs::symlink;
    let folder = folder("strangers");
    let (store, outside) = (folder.join("s"), folder.join("outside"));
    let (one, other) = (some_records(&folder, "a.jsonl", (0, 5)), some_records(&folder, "b.jsonl", (5, 5)));
    for file in [&one, &other] {
        fine(tune(&["store", "put", "--store", &shown(&store), file]));
    }
    let objects: Vec<PathBuf> = tree(&store).into_keys().collect();
    let [torn, _] = &objects[..] else { panic!("two objects: {objects:?}") };
    let place = torn.parent().expect("a folder");
    let whole = fs::read(torn).expect("readable");
    fs::write(torn, &whole[..whole.len() / 2]).expect("ours");
    // An object of a version to come, one of another task, and one of bytes that are no text, each well named.
    let text = String::from_utf8(whole.clone()).expect("text");
    let newer = text.replace("\"tc-tune\":1", "\"tc-tune\":9");
    let astray = text.replace("\"operator_hash\":\"c", "\"operator_hash\":\"d");
    for bytes in [newer.as_bytes(), astray.as_bytes(), &[0xff, 0xfe, 0x00, 0x0a]] {
        fs::write(place.join(format!("{}.jsonl", hash(bytes))), bytes).expect("ours");
    }
    // Links, a pipe, names that are none, a folder in the place of a file.
    fs::create_dir(&outside).expect("ours");
    fs::write(outside.join("secret.jsonl"), &whole).expect("ours");
    symlink(outside.join("secret.jsonl"), place.join(format!("{}-1.jsonl", hash(&whole)))).expect("a link");
    symlink(&outside, store.join(hash(b"link"))).expect("a link");
    let pipe = place.join(format!("{}.jsonl", hash(b"pipe")));
    assert!(Command::new("mkfifo").arg(&pipe).status().expect("mkfifo is there").success());
    fs::create_dir(place.join(format!("{}.jsonl", hash(b"folder")))).expect("ours");
    fs::write(store.join("READ\x1b[31mME"), "hello").expect("ours");
    fs::write(place.join(".half.tmp"), "half").expect("ours");

    let before = tree(&folder);
    let out = shown(&folder.join("r.jsonl"));
    let got = fine(tune(&["store", "get", "--store", &shown(&store), &example("conv1d"), "-o", &out]));
    assert_eq!(got.stdout, "5 records fit; 0 were there\n", "{}", got.stderr);
    let name = |bytes: &[u8], end: &str| format!("{}{end}", hash(bytes));
    for (name, why) in [
        (name(&whole, ".jsonl"), "is torn, or was changed"),
        (name(newer.as_bytes(), ".jsonl"), "it is of version 9, and this tc-tune reads version 1, and 4 lines more"),
        (name(astray.as_bytes(), ".jsonl"), "for another task or device: 5 lines"),
        (name(&[0xff, 0xfe, 0x00, 0x0a], ".jsonl"), "is passed over"),
        (name(&whole, "-1.jsonl"), "is a link"),
        (name(b"pipe", ".jsonl"), "is no folder of the store"),
        (name(b"folder", ".jsonl"), "is a folder"),
    ] {
        let told = got.stderr.lines().any(|line| line.contains(&name) && line.contains(why));
        assert!(told, "{name} {why}: {}", got.stderr);
    }
    let list = fine(tune(&["store", "list", "--store", &shown(&store)]));
    assert_eq!(list.stdout.lines().count(), 2, "{}", list.stdout);
    assert!(list.stderr.contains("READ\\u{1b}[31mME is none of the store's names"), "{}", list.stderr);
    assert!(list.stderr.contains(&format!("{} is a link", hash(b"link"))), "{}", list.stderr);
    // The records of the torn object are put again, beside it and beside the link; nothing that was there has changed.
    let put = fine(tune(&["store", "put", "--store", &shown(&store), &one, &other]));
    assert_eq!(put.stdout, "5 records put; 5 were there\n");
    let after = tree(&folder);
    assert!(before.iter().all(|(path, bytes)| after.get(path) == Some(bytes)));
    let again = fs::read(place.join(name(&whole, "-2.jsonl"))).expect("beside the link");
    assert_eq!(again, whole);
    let got = fine(tune(&["store", "get", "--store", &shown(&store), &example("conv1d"), "-o", &out]));
    assert_eq!(got.stdout, "10 records fit; 5 were there\n");
    fs::remove_dir_all(&folder).ok();
}

#[test]
fn no_record_leads_out_of_the_store() {
    let folder = folder("escape");
    let (store, records) = (folder.join("in/s"), shown(&folder.join("r.jsonl")));
    fs::create_dir(folder.join("in")).expect("ours");
    let text = fs::read_to_string(some_records(&folder, "a.jsonl", (0, 1))).expect("readable");
    let start = text.find("caa645d7").expect("the hash of the operator");
    let hash = &text[start..start + 32];
    let hostile = ["../../escaped", "/tmp/escaped", "", "a\\u0000b", "\\u001b[31m", "..", "."];
    let lines: String =
        hostile.iter().map(|name| text.replace(hash, name).replace("conv1d\"", &format!("{name}\""))).collect();
    fs::write(&records, lines).expect("ours");
    let put = fine(tune(&["store", "put", "--store", &shown(&store), &records]));
    assert_eq!(put.stdout, "7 records put; 0 were there\n");
    let is_hash = |name: &str| name.len() == 32 && name.bytes().all(|byte| byte.is_ascii_hexdigit());
    for path in tree(&folder).into_keys().filter(|path| path.extension().is_some()) {
        let Ok(below) = path.strip_prefix(&store) else {
            assert!(path.parent() == Some(folder.as_path()), "{} is out of the store", path.display());
            continue;
        };
        let names: Vec<&str> = below.iter().map(|name| name.to_str().expect("text")).collect();
        let [task, device, file] = names[..] else { panic!("{}", below.display()) };
        assert!(is_hash(task) && is_hash(device) && file.strip_suffix(".jsonl").is_some_and(is_hash), "{names:?}");
    }
    let list = fine(tune(&["store", "list", "--store", &shown(&store)]));
    assert!(list.stdout.contains("\\u{1b}[31m") && !list.stdout.contains('\x1b'), "{}", list.stdout);
    fs::remove_dir_all(&folder).ok();
}
