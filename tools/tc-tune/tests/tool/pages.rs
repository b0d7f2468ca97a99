//! What `show` draws: a page and a picture that say what the text says, whatever stands in records.

use crate::{Ran, folder, shown, sweep, tune};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The program that says where to get a browser from.
const MISSING: &str = "there is no Chromium: run scripts/install-chromium, or name one in TC_CHROMIUM";

fn browser() -> PathBuf {
    let names = ["chromium-headless-shell", "chromium", "chromium-browser", "google-chrome"];
    let asked = std::env::var_os("TC_CHROMIUM").map(PathBuf::from).filter(|path| !path.as_os_str().is_empty());
    let path = std::env::var_os("PATH").unwrap_or_default();
    let on_path = || std::env::split_paths(&path).flat_map(|folder| names.map(|name| folder.join(name)));
    asked.or_else(|| on_path().find(|file| file.is_file())).expect(MISSING)
}

/// What the browser makes of a file; its console has nothing to say.
fn opened(folder: &Path, file: &str, flags: &[&str]) -> String {
    let mut command = Command::new(browser());
    command.args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars"]);
    command.args(["--enable-logging=stderr", "--v=0", "--virtual-time-budget=5000", "--timeout=60000"]);
    command.arg(format!("--user-data-dir={}", shown(&folder.join("profile")))).args(flags);
    let output = command.arg(format!("file://{file}")).output().expect(MISSING);
    let log = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{log}");
    let console: Vec<&str> = log.lines().filter(|line| line.contains("CONSOLE")).collect();
    assert!(console.is_empty(), "{console:?}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Writes the page and the picture of records: what `show` said, and the two.
fn drawn(folder: &Path, records: &str) -> (Ran, String, String) {
    let (page, picture) = (shown(&folder.join("p.html")), shown(&folder.join("p.svg")));
    let ran = tune(&["show", records, "--html", &page, "--svg", &picture]);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    let read = |path: &str| fs::read_to_string(path).expect("written");
    (ran, read(&page), read(&picture))
}

/// Is it well-formed, as a parser of XML that is not ours says?
fn check_xml(folder: &Path) {
    let script = "import sys, xml.dom.minidom as m; d = m.parse(sys.argv[1]); \
                  print(len(d.getElementsByTagName('script')), len(d.getElementsByTagName('image')))";
    let output = Command::new("python3").args(["-c", script, &shown(&folder.join("p.svg"))]).output().expect("Python");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(String::from_utf8_lossy(&output.stdout), "0 0\n");
}

#[test]
fn text_page_and_picture_agree() {
    let folder = folder("agree");
    let (ran, page, picture) = drawn(&folder, &sweep("depthwise2d"));
    check_xml(&folder);
    let (table, rest) = ran.stdout.split_once("\nthe best over trials").expect("a curve");
    let (curve, effects) = rest.split_once("\nthe best time with each value").expect("effects");
    let mut n = 0;
    let mut has = |text: String, shown: &str| {
        n += 1;
        assert!(shown.contains(&text), "{text}");
    };
    for line in table.lines().skip(3) {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [nth, time, over, point @ ..] = &words[..] else { panic!("{line}") };
        let number = |text: &str| format!("<td class=num>{text}</td>");
        let cells = format!("{}{}{}<td><code>{}</code>", number(nth), number(time), number(over), point.join(" "));
        has(cells, &page);
    }
    for line in curve.lines().skip(1) {
        let words: Vec<&str> = line.split_whitespace().collect();
        has(format!("<td class=num>{}</td><td class=num>{}</td>", words[0], words[1]), &page);
    }
    let best = curve.lines().last().and_then(|line| line.split_whitespace().nth(1)).expect("a step");
    has(format!("best over trials (us): {best}<"), &picture);
    for line in effects.lines().skip(1).filter(|line| !line.is_empty()) {
        let (name, values) = line.trim().split_once(' ').expect("values");
        has(format!("<h3><code>{name}</code></h3>"), &page);
        has(format!(">{name}</text>"), &picture);
        for value in values.trim().split("  ") {
            let (value, over) = value.split_once(": ").expect("a ratio");
            let cell = page.split(&format!("<h3><code>{name}</code>")).nth(1).expect("its table");
            let row = cell.split(&format!("<td class=num>{value}</td>")).nth(1).expect("its row");
            has(format!("<span>{over}</span></td></tr>"), row.split_inclusive("</tr>").next().expect("a row"));
            has(format!(">{over}</text>"), &picture);
        }
    }
    assert!(n > 40, "only {n} were compared");
    fs::remove_dir_all(&folder).ok();
}

#[test]
fn hostile_records_stay_text() {
    let folder = folder("hostile");
    let records = shown(&folder.join("r.jsonl"));
    let hostile =
        "</script></text></style><script>document.documentElement.dataset.pwned=1</script><img src=x onerror=1>";
    let text = fine_lines(&sweep("conv1d"), 3);
    let mut lines = text.replace("\"conv1d\"", &format!("\"{hostile}\\u001b[31m\""));
    for (old, new) in [
        ("\"autotvm\"", format!("{hostile:?}")),
        ("NVIDIA H100", format!("\\\" onload='x' \\u0000\\uffff{hostile}")),
        ("\"block\"", format!("{hostile:?}")),
    ] {
        lines = lines.replace(old, &new);
    }
    let rejected =
        lines.lines().next().expect("one").replace("\"ok\"", &format!("\"rejected\",\"reason\":{hostile:?}"));
    fs::write(&records, format!("{lines}{rejected}\n")).expect("writable");
    let (ran, page, picture) = drawn(&folder, &records);
    assert!(!ran.stdout.contains('\x1b') && ran.stdout.contains("\\u{1b}[31m"), "a terminal obeys nothing");
    assert!(page.contains("rejected: &lt;/script&gt;"), "{page}");
    for markup in [&page, &picture] {
        assert!(!markup.contains("<img") && !markup.contains("<script>document") && !markup.contains('\0'), "{markup}");
    }
    check_xml(&folder);
    let page = opened(&folder, &shown(&folder.join("p.html")), &["--dump-dom"]);
    assert!(page.contains("data-ready=\"0\"") && !page.contains("data-pwned") && !page.contains("<img"), "{page}");
    let picture = opened(&folder, &shown(&folder.join("p.svg")), &["--dump-dom"]);
    assert!(picture.contains("<svg") && !picture.contains("data-pwned") && !picture.contains("<img"), "{picture}");
    fs::remove_dir_all(&folder).ok();
}

/// The first records of a sweep.
fn fine_lines(sweep: &str, n: usize) -> String {
    let all = tune(&["merge", sweep]);
    assert_eq!(all.status, 0, "{}", all.stderr);
    all.stdout.lines().take(n).map(|line| format!("{line}\n")).collect()
}

#[test]
fn a_page_is_read_without_its_script_light_and_dark() {
    let folder = folder("dark");
    let (_, page, picture) = drawn(&folder, &sweep("depthwise_nchw"));
    assert!(page.contains("<h1>12 tasks</h1>") && page.contains("href=\"#task-11\""), "{page}");
    let bare = page.rsplit_once("<script>").expect("the script comes last").0.to_string() + "</body></html>";
    let file = shown(&folder.join("bare.html"));
    fs::write(&file, bare).expect("writable");
    let dark = "--blink-settings=preferredColorScheme=0";
    let light = "--blink-settings=preferredColorScheme=1";
    let mut pictures = Vec::new();
    for (file, flag) in
        [(&file, light), (&file, dark), (&shown(&folder.join("p.svg")), light), (&shown(&folder.join("p.svg")), dark)]
    {
        let shot = shown(&folder.join("shot.png"));
        opened(&folder, file, &["--window-size=900,700", &format!("--screenshot={shot}"), flag]);
        let bytes = fs::read(&shot).expect("a picture");
        assert!(bytes.len() > 15_000, "only {} bytes of {file}: is it empty?", bytes.len());
        pictures.push(bytes);
    }
    assert!(pictures[0] != pictures[1] && pictures[2] != pictures[3], "dark differs from light");
    assert!(!picture.contains("http:") || picture.matches("http:").count() == 1, "the name space alone is an address");
    fs::remove_dir_all(&folder).ok();
}

#[test]
fn records_at_the_edge_are_drawn() {
    let folder = folder("edge");
    let records = shown(&folder.join("r.jsonl"));
    let line = fine_lines(&sweep("conv1d"), 1);
    let start = line.find("\"time_us\"").expect("a time");
    let end = line[start..].find('}').expect("its end") + start + 1;
    let timed = |time: &str| {
        let time = format!("\"time_us\":{{\"median\":{time},\"low\":{time},\"high\":{time},\"n\":9}}");
        line.replace(&line[start..end], &time)
    };
    let rejected = line.replace("\"ok\"", "\"rejected\"");
    // No time at all, one, times as far apart as numbers go.
    for text in [rejected, timed("1.5"), ["1e300", "1.5", "1e-300"].map(timed).concat().replacen("32", "64", 1)] {
        fs::write(&records, text).expect("ours");
        let (_, page, picture) = drawn(&folder, &records);
        check_xml(&folder);
        for drawn in [&page, &picture] {
            let body = drawn.split("</style>").nth(1).expect("what is drawn");
            let body = body.split("<script").next().expect("what is drawn");
            assert!(!body.contains("NaN") && !body.contains("\"inf") && !body.contains(" inf "), "{body}");
        }
    }
    let nowhere = shown(&folder.join("none/p.html"));
    for flag in ["--html", "--svg"] {
        let ran = tune(&["show", &records, flag, &nowhere]);
        assert_eq!(ran.status, 1);
        assert!(
            ran.stderr.contains(&format!("cannot write {nowhere}")) && ran.stderr.contains("a folder that is there")
        );
    }
    fs::remove_dir_all(&folder).ok();
}

/// The commands of the blocks `console` of a page, each with what it answers.
fn commands(page: &str) -> Vec<(String, Vec<String>)> {
    let blocks = page.split("```").skip(1).step_by(2).filter_map(|block| block.strip_prefix("console\n"));
    let mut list: Vec<(String, Vec<String>)> = Vec::new();
    for line in blocks.flat_map(str::lines) {
        match (line.strip_prefix("$ "), list.last_mut()) {
            (Some(command), _) => list.push((command.to_string(), Vec::new())),
            (None, Some((_, output))) => output.push(line.to_string()),
            (None, None) => panic!("a block begins with a command: {line}"),
        }
    }
    list
}

#[cfg(unix)]
#[test]
fn the_tool_answers_what_its_page_shows() {
    let folder = folder("page");
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    for name in ["examples", "tools"] {
        std::os::unix::fs::symlink(format!("{root}/{name}"), folder.join(name)).expect("a link");
    }
    let commands = commands(&fs::read_to_string(format!("{root}/docs/tuning.md")).expect("the page"));
    assert!(commands.len() >= 5, "{commands:?}");
    for (command, wanted) in commands {
        let mut words = command.split_whitespace();
        assert_eq!(words.next(), Some("tc-tune"), "{command}");
        let output = Command::new(env!("CARGO_BIN_EXE_tc-tune")).args(words).current_dir(&folder).output();
        let output = output.expect("it starts");
        let said = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success(), "{command}: {said}");
        let mut said_lines = said.lines();
        let mut may_skip = false;
        for line in &wanted {
            if line == "…" {
                may_skip = true;
                continue;
            }
            let found = if may_skip { said_lines.any(|said| said == line) } else { said_lines.next() == Some(line) };
            assert!(found, "{command}\nsaid\n{said}\nbut the page shows\n{line}");
            may_skip = false;
        }
        assert!(may_skip || said_lines.next().is_none(), "{command} says more than the page shows:\n{said}");
    }
    fs::remove_dir_all(&folder).ok();
}

#[test]
fn the_page_names_every_flag() {
    let page = include_str!("../../../../docs/tuning.md");
    let words: Vec<&str> = page.split(|c: char| !c.is_ascii_lowercase() && c != '-').collect();
    let help = tune(&["--help"]).stdout;
    // Those that stand on a line of their own.
    let long = |line: &str| {
        let at = line.find("--").filter(|_| line.trim_start().starts_with('-'))?;
        Some(line[at..].chars().take_while(|c| c.is_ascii_lowercase() || *c == '-').collect::<String>())
    };
    let flags: Vec<String> = help.lines().filter_map(long).collect();
    assert!(flags.len() > 25, "{flags:?}");
    let is_missing =
        |flag: &&String| !["--help", "--version"].contains(&flag.as_str()) && !words.contains(&flag.as_str());
    let missing: Vec<&String> = flags.iter().filter(is_missing).collect();
    assert!(missing.is_empty(), "{missing:?}");
}
