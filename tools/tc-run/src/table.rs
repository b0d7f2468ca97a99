//! Tables for people.

use crate::against::{self, Against, Peer};
use tc::run::{Checked, Evaluated, Verdict};
use tc::runtime::{Clocks, DType, Element, KernelReport, Timing, array};
use tc::sim::FieldVerdict;
use tc::support::{Diagnostic, Diagnostics, Sources};

/// What came of one case.
#[derive(Default)]
pub(crate) struct Row {
    /// `conv1d @v5`
    pub(crate) case: String,
    /// The sizes that the call goes through, `hw=32`.
    pub(crate) sizes: String,
    /// Microseconds that no schedule goes below, of what was measured on a GPU.
    pub(crate) bound_us: Option<f64>,
    pub(crate) func: String,
    pub(crate) schedule: Option<String>,
    pub(crate) point: Vec<(String, i64)>,
    pub(crate) ok: bool,
    pub(crate) checked: Option<Checked>,
    pub(crate) timing: Option<Timing>,
    /// The clocks of the time, where the device tells them.
    pub(crate) clocks: Option<Clocks>,
    /// What the device knows of the kernels that were measured.
    pub(crate) kernels: Vec<KernelReport>,
    pub(crate) evaluated: Option<Evaluated>,
    pub(crate) diagnostics: Diagnostics,
    /// The files that they point into.
    pub(crate) sources: Sources,
}

impl Row {
    /// `ok`, or what is wrong first.
    fn result(&self) -> String {
        let first = self.diagnostics.iter().find(|found| found.is_error());
        match first {
            _ if self.ok => "ok".to_string(),
            Some(Diagnostic { code: "wrong-result", .. }) => "WRONG".to_string(),
            Some(found) => format!("FAILED: {}", found.code),
            None => "FAILED".to_string(),
        }
    }
}

/// The table of a run with `--check`, `--bench` or both.
pub(crate) fn render(rows: &[Row], device: &str, check: bool, bench: bool, peer: &Peer) -> String {
    let mut header = vec!["case", "device"];
    if check {
        header.extend(["cells compared", "max error", "exactly", "races", "bounds"]);
    }
    if bench {
        header.extend(["median", "95 % interval", "samples"]);
    }
    let against = against::compare(rows, peer);
    let beside: Vec<Beside> =
        BESIDE.into_iter().filter(|(_, of)| bench && against.iter().any(|one| of(one).is_some())).collect();
    header.extend(beside.iter().map(|(title, _)| *title));
    // The simulator has no registers.
    let registers = bench && rows.iter().flat_map(|row| &row.kernels).any(|kernel| kernel.registers.is_some());
    if registers {
        header.extend(["regs", "spill"]);
    }
    header.push(if check { "time" } else { "" });
    header.push("result");
    let mut lines = vec![header.into_iter().map(str::to_string).collect()];
    for (row, against) in rows.iter().zip(&against) {
        let mut line = vec![row.case.clone(), device.to_string()];
        if check {
            line.extend(row.checked.as_ref().map_or(["-"; 5].map(str::to_string), checked_cells));
        }
        if bench {
            line.extend(row.timing.as_ref().map_or(["-"; 3].map(str::to_string), timing_cells));
        }
        line.extend(beside.iter().map(|(_, of)| of(against).unwrap_or("-".to_string())));
        if registers {
            let of = |ask: fn(&KernelReport) -> Option<u64>| per_kernel(&row.kernels, ask);
            line.extend([of(|kernel| kernel.registers), of(|kernel| kernel.local_bytes)]);
        }
        line.push(row.checked.as_ref().map_or(String::new(), |checked| seconds(checked.time.as_secs_f64())));
        line.push(row.result());
        lines.push(line);
    }
    let mut text = columns(&lines);
    let good = rows.iter().filter(|row| row.ok).count();
    text.push_str(&format!(
        "\n{good} of {} {} right",
        rows.len(),
        if rows.len() == 1 { "case is" } else { "cases are" }
    ));
    if rows.iter().any(|row| row.checked.as_ref().is_some_and(|checked| checked.sampled)) {
        text.push_str("; sampled: too large for all blocks and cells, so some that the seed chooses");
    }
    if rows.iter().any(|row| row.checked.as_ref().is_some_and(|checked| checked.in_tf32)) {
        text.push_str("; tf32: factors are rounded to 11 bits, and as much is allowed");
    }
    text.push('\n');
    text.extend(rows.iter().filter_map(point));
    text
}

/// A column of what times are beside.
type Beside = (&'static str, fn(&Against) -> Option<String>);

const BESIDE: [Beside; 5] = [
    ("over first", |against| against.first.map(times)),
    ("over previous", |against| against.previous.map(times)),
    ("peer", |against| against.peer_us.map(us)),
    ("over peer", |against| against.peer.map(times)),
    ("of bound", |against| against.bound.map(|share| format!("{:.0} %", 100.0 * share))),
];

fn times(factor: f64) -> String {
    format!("{factor:.2}x")
}

fn us(us: f64) -> String {
    if us < 1e4 { format!("{us:.2} us") } else { seconds(us / 1e6) }
}

/// The values of the schedule's parameters, as a line; none where they stand in the case's name.
fn point(row: &Row) -> Option<String> {
    let values: Vec<String> = row.point.iter().map(|(name, value)| format!("{name} = {value}")).collect();
    let told = values.is_empty() || row.case.ends_with(&format!(" {}", self::values(&row.point)));
    (!told).then(|| format!("{} is at {}\n", row.case, values.join(", ")))
}

/// `num_thread_y=8 num_thread_x=32`
pub(crate) fn values(point: &[(String, i64)]) -> String {
    let values: Vec<String> = point.iter().map(|(name, value)| format!("{name}={value}")).collect();
    values.join(" ")
}

fn checked_cells(checked: &Checked) -> [String; 5] {
    let cells = match checked.cells {
        None => "no operator".to_string(),
        Some(0) => "none".to_string(),
        Some(n) if checked.sampled => format!("sampled {n}"),
        Some(n) => format!("all {n}"),
    };
    let error = if checked.cells.is_none_or(|n| n == 0) {
        "-".to_string()
    } else if checked.max_abs_err == 0.0 {
        "0".to_string()
    } else {
        format!("{:.1e}", checked.max_abs_err)
    };
    let error = if checked.in_tf32 { format!("{error} (tf32)") } else { error };
    let exactly = exactly(checked.field).unwrap_or("-").to_string();
    [cells, error, exactly, verdict(checked.races, "race").to_string(), verdict(checked.bounds, "violated").to_string()]
}

/// The word for what comparing in exact arithmetic came to.
pub(crate) fn exactly(field: Option<FieldVerdict>) -> Option<&'static str> {
    match field? {
        FieldVerdict::NotRun => None,
        FieldVerdict::Equal => Some("equal"),
        FieldVerdict::Undecided => Some("not decided"),
        FieldVerdict::Different => Some("differs"),
    }
}

/// The word for a verdict; `-` where accesses are not seen.
pub(crate) fn verdict(verdict: Option<Verdict>, found: &'static str) -> &'static str {
    match verdict {
        None => "-",
        Some(Verdict::Clean) => "clean",
        Some(Verdict::SameValue(_)) => "same-value race",
        Some(Verdict::Found(_)) => found,
    }
}

fn timing_cells(timing: &Timing) -> [String; 3] {
    [us(timing.median_us), format!("{} to {}", us(timing.low_us), us(timing.high_us)), timing.n.to_string()]
}

/// What is known of each kernel, in launch order.
fn per_kernel(kernels: &[KernelReport], ask: fn(&KernelReport) -> Option<u64>) -> String {
    let cell = |kernel| ask(kernel).map_or("-".to_string(), |number| number.to_string());
    let cells: Vec<String> = kernels.iter().map(cell).collect();
    if cells.is_empty() { "-".to_string() } else { cells.join(" ") }
}

fn seconds(seconds: f64) -> String {
    if seconds < 1.0 { format!("{:.0} ms", seconds * 1e3) } else { format!("{seconds:.2} s") }
}

/// What evaluating a case gave.
pub(crate) fn evaluated(row: &Row, device: &str, files: &dyn Fn(&str) -> Option<String>) -> String {
    let Some(evaluated) = &row.evaluated else { return format!("{} on {device}: {}\n", row.case, row.result()) };
    let mut lines = Vec::new();
    for argument in &evaluated.arguments {
        let array = &argument.array;
        let role = match (argument.is_input, argument.is_output) {
            (true, false) if argument.given => "given",
            (true, false) => "drawn",
            (true, true) => "changed",
            _ => "result",
        };
        let mut line = vec![format!("  {}", argument.name), array::describe(array.dtype(), array.shape())];
        line.push(role.to_string());
        line.push(contents(array.dtype(), &array.elements().collect::<Vec<_>>()));
        line.push(files(&argument.name).map_or(String::new(), |file| format!("-> {file}")));
        lines.push(line);
    }
    let time = seconds(evaluated.time.as_secs_f64());
    let point = point(row).unwrap_or_default();
    format!("{} on {device}, {time}: {}\n{point}{}", row.case, row.result(), aligned(&lines))
}

/// A few elements as they are, many by their least, greatest and mean.
fn contents(dtype: DType, elements: &[Element]) -> String {
    let show = |element: &Element| match element {
        Element::Int(value) => value.to_string(),
        // As few digits as tell the value from its neighbours.
        Element::Float(value) if dtype != DType::F64 => format!("{}", *value as f32),
        Element::Float(value) => format!("{value}"),
    };
    if elements.len() <= 8 {
        return elements.iter().map(show).collect::<Vec<_>>().join(" ");
    }
    let (mut least, mut greatest, mut sum) = (elements[0], elements[0], 0.0);
    for &element in elements {
        if element.to_f64() < least.to_f64() {
            least = element;
        }
        if element.to_f64() > greatest.to_f64() {
            greatest = element;
        }
        sum += element.to_f64();
    }
    let mean = sum / elements.len() as f64;
    format!("min {}  max {}  mean {mean:.6}", show(&least), show(&greatest))
}

/// The lines in columns, with a rule under the first.
fn columns(lines: &[Vec<String>]) -> String {
    let widths = widths(lines);
    let rule: Vec<String> = widths.iter().map(|&width| "-".repeat(width)).collect();
    let mut ruled = vec![lines[0].clone(), rule];
    ruled.extend_from_slice(&lines[1..]);
    aligned(&ruled)
}

fn widths(lines: &[Vec<String>]) -> Vec<usize> {
    let n = lines.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| lines.iter().filter_map(|line| line.get(column)).map(|cell| cell.chars().count()).max();
    (0..n).map(|column| width(column).unwrap_or(0)).collect()
}

fn aligned(lines: &[Vec<String>]) -> String {
    let widths = widths(lines);
    let mut text = String::new();
    for line in lines {
        let mut shown = String::new();
        for (cell, &width) in line.iter().zip(&widths).filter(|(_, width)| **width > 0) {
            shown.push_str(cell);
            shown.extend(std::iter::repeat_n(' ', width + 2 - cell.chars().count()));
        }
        text.push_str(shown.trim_end());
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;
    use tc::runtime::L2;
    use tc::support::Location;

    fn row(case: &str, checked: Option<Checked>, error: Option<Diagnostic>) -> Row {
        Row {
            sizes: String::new(),
            bound_us: None,
            case: case.into(),
            func: case.into(),
            schedule: None,
            point: Vec::new(),
            ok: error.is_none(),
            checked,
            timing: None,
            clocks: None,
            kernels: Vec::new(),
            evaluated: None,
            diagnostics: error.into_iter().collect(),
            sources: Sources::new(),
        }
    }

    fn checked(sampled: bool, races: Verdict) -> Checked {
        Checked {
            ok: true,
            point: Vec::new(),
            cells: Some(64),
            inputs: 2,
            sampled,
            in_tf32: false,
            field: Some(FieldVerdict::Equal),
            max_abs_err: if sampled { 1.25e-7 } else { 0.0 },
            max_rel_err: 0.0,
            races: Some(races),
            bounds: Some(Verdict::Clean),
            diagnostics: Diagnostics::new(),
            sources: Sources::new(),
            time: Duration::from_millis(1234),
        }
    }

    #[test]
    fn the_table_of_a_check_has_a_line_for_each_case() {
        let race = Diagnostic::error("race", Location::None, "a race");
        let mut tuned = row("f @s", Some(checked(true, Verdict::SameValue(2))), None);
        tuned.point = vec![("block".into(), 64)];
        let rows = [
            row("f", Some(checked(false, Verdict::Clean)), None),
            tuned,
            row("g", Some(checked(false, Verdict::Found(3))), Some(race)),
            row("h", None, Some(Diagnostic::error("unknown-axis", Location::None, "no such axis"))),
        ];
        let expected = "\
case  device  cells compared  max error  exactly  races            bounds  time    result
----  ------  --------------  ---------  -------  ---------------  ------  ------  --------------------
f     sim     all 64          0          equal    clean            clean   1.23 s  ok
f @s  sim     sampled 64      1.2e-7     equal    same-value race  clean   1.23 s  ok
g     sim     all 64          0          equal    race             clean   1.23 s  FAILED: race
h     sim     -               -          -        -                -               FAILED: unknown-axis

2 of 4 cases are right; sampled: too large for all blocks and cells, so some that the seed chooses
f @s is at block = 64
";
        assert_eq!(render(&rows, "sim", true, false, &Peer::new()), expected);
    }

    #[test]
    fn the_table_of_a_bench_shows_the_interval() {
        let mut timed = row("f @s", None, None);
        timed.timing = Timing::from_samples(vec![2.0, 2.25, 2.5], 96, L2::Kept);
        let expected = "\
case  device  median   95 % interval       samples  result
----  ------  -------  ------------------  -------  ------
f @s  cuda:0  2.25 us  2.00 us to 2.50 us  3        ok

1 of 1 case is right
";
        assert_eq!(render(&[timed], "cuda:0", false, true, &Peer::new()), expected);
    }

    #[test]
    fn few_elements_are_shown_and_many_summed_up() {
        let floats = |n: u32| (0..n).map(|value| Element::Float(f64::from(value) / 2.0)).collect::<Vec<_>>();
        assert_eq!(contents(DType::F64, &floats(3)), "0 0.5 1");
        assert_eq!(contents(DType::F32, &[Element::Float(f64::from(0.1f32))]), "0.1");
        assert_eq!(contents(DType::I8, &[Element::Int(-7)]), "-7");
        assert_eq!(contents(DType::F64, &floats(9)), "min 0  max 4  mean 2.000000");
        assert_eq!(contents(DType::F32, &[]), "");
    }

    #[test]
    fn registers_are_shown_where_a_device_has_some() {
        let kernel = |registers, local_bytes| KernelReport { registers, local_bytes, ..KernelReport::default() };
        let mut known = row("f @s", None, None);
        known.timing = Timing::from_samples(vec![2.0], 96, L2::Kept);
        known.kernels = vec![kernel(Some(128), Some(0)), kernel(Some(40), Some(16))];
        let text = render(&[known], "cuda:0", false, true, &Peer::new());
        assert!(text.contains("regs") && text.contains("128 40  0 16"), "{text}");
        let mut unknown = row("f @s", None, None);
        unknown.kernels = vec![kernel(None, None)];
        assert!(!render(&[unknown], "sim", false, true, &Peer::new()).contains("regs"));
    }
}
