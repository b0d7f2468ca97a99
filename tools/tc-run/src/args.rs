//! The command line.

use clap::{Parser, ValueEnum};
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::str::FromStr;
use tc::ir::Module;
use tc::run::Case;
use tc::sim::Limits;
use tc_cli::AboutArgs;

/// Where things run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DeviceName {
    /// The simulator.
    Sim,
    /// The GPU with this number.
    Cuda(usize),
}

impl FromStr for DeviceName {
    type Err = String;

    fn from_str(text: &str) -> Result<DeviceName, String> {
        let ordinal = text.strip_prefix("cuda").and_then(|rest| match rest.strip_prefix(':') {
            Some(ordinal) => ordinal.parse().ok(),
            None => rest.is_empty().then_some(0),
        });
        match (text, ordinal) {
            ("sim", _) => Ok(DeviceName::Sim),
            (_, Some(ordinal)) => Ok(DeviceName::Cuda(ordinal)),
            _ => Err("there is `sim`, `cuda`, and `cuda:N` for the GPU with number N".to_string()),
        }
    }
}

/// The way from a program to what a GPU takes.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum, Debug)]
pub enum Via {
    /// CUDA C++ and NVIDIA's run-time compiler.
    Cuda,
    /// MLIR and LLVM, in process.
    Mlir,
}

/// A name and what it stands for: `NAME=VALUE`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Pair<T> {
    /// The name.
    pub name: String,
    /// What it stands for.
    pub value: T,
}

fn pair<T>(text: &str, what: &str, value: impl Fn(&str) -> Option<T>) -> Result<Pair<T>, String> {
    let (name, given) = text.split_once('=').ok_or_else(|| format!("expected {what}"))?;
    let value = value(given).filter(|_| !name.is_empty()).ok_or_else(|| format!("expected {what}"))?;
    Ok(Pair { name: name.to_string(), value })
}

fn define(text: &str) -> Result<Pair<i64>, String> {
    pair(text, "NAME=VALUE, the value an integer, `true` or `false`", |value| match value {
        "true" => Some(1),
        "false" => Some(0),
        value => value.parse().ok(),
    })
}

/// Values of a size.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Values(pub Vec<i64>);

fn values(text: &str) -> Result<Pair<Values>, String> {
    let all = |text: &str| text.split(',').map(|value| value.parse().ok()).collect::<Option<Vec<i64>>>();
    pair(text, "NAME=VALUE,VALUE,..., the values integers", |text| all(text).map(Values))
}

fn file(text: &str) -> Result<Pair<PathBuf>, String> {
    pair(text, "NAME=FILE.npy", |value| (!value.is_empty()).then(|| PathBuf::from(value)))
}

/// A symbol, with or without `@`.
fn symbol(text: &str) -> Result<String, String> {
    let name = text.strip_prefix('@').unwrap_or(text);
    if name.is_empty() { Err("a name is missing".to_string()) } else { Ok(name.to_string()) }
}

/// Runs what a file holds, checks it against the operators' definitions, times it.
///
/// Without --check and --bench it evaluates an operator by its definition, or under the schedule that is named.
#[derive(Clone, Parser, Debug)]
#[command(name = "tc-run", version, max_term_width = 120)]
#[command(group = clap::ArgGroup::new("measured").args(["check", "bench"]).multiple(true))]
#[command(after_help = "Exit status: 0 fine, 1 the input is at fault, 2 the call is at fault, 3 a bug of tc.")]
pub struct Args {
    /// The file to read; `-` is the standard input
    #[arg(value_name = "FILE", required_unless_present_any = ["completion", "man_page"])]
    pub file: Option<OsString>,

    /// The operator or program to run; without it, all of the file
    #[arg(long, value_name = "@NAME", value_parser = symbol, help_heading = "What to run")]
    pub func: Option<String>,

    /// The schedule to run; without it, --check and --bench take all
    #[arg(long, value_name = "@NAME", value_parser = symbol, help_heading = "What to run")]
    pub schedule: Option<String>,

    /// A value for a size of an operator or a parameter of a schedule
    #[arg(
        short = 'D', long = "define", value_name = "NAME=VALUE", value_parser = define, allow_hyphen_values = true,
        help_heading = "What to run"
    )]
    pub defines: Vec<Pair<i64>>,

    /// Leave the sizes open that have a default and no value; --check tries several values of those that are
    #[arg(long, help_heading = "What to run")]
    pub symbolic: bool,

    /// With --schedule @auto: products of f32 may round their factors to tf32, 10 bits behind the point
    #[arg(long, requires = "schedule", help_heading = "What to run")]
    pub allow_tf32: bool,

    /// Compare with the operator's definition, and look for races and bad accesses
    #[arg(long, help_heading = "What to do")]
    pub check: bool,

    /// Measure how long one run takes
    #[arg(long, help_heading = "What to do")]
    pub bench: bool,

    /// Count on a GPU what each kernel and each line costs, by Nsight Compute, beside what is estimated
    #[arg(long, conflicts_with_all = ["check", "bench", "outputs"], help_heading = "What to do")]
    pub profile: bool,

    /// The `ncu` of --profile; without it, that of the `PATH`
    #[arg(long, value_name = "FILE", requires = "profile", help_heading = "What to do")]
    pub ncu: Option<PathBuf>,

    /// Launch what another process profiles
    #[arg(long, hide = true, conflicts_with_all = ["check", "bench", "profile", "outputs"])]
    pub profiled: bool,

    /// Of a schedule with parameters, check or time so many valid points that the seed chooses, instead of the first
    #[arg(
        long, value_name = "N", requires = "measured", value_parser = clap::value_parser!(u32).range(1..=100_000),
        help_heading = "What to do"
    )]
    pub points: Option<u32>,

    /// Run each case with each of these values of a size, one set after another
    #[arg(
        long, value_name = "NAME=V,V,...", value_parser = values, requires = "measured", help_heading = "What to do"
    )]
    pub sizes: Vec<Pair<Values>>,

    /// Show the times of a peer beside ours: a JSON object of microseconds by case, such as {"conv1d @v5": 3.2}
    #[arg(long, value_name = "FILE.json", requires = "bench", help_heading = "What to do")]
    pub peer: Option<PathBuf>,

    /// On a GPU, let the launches that --bench times take copies of the buffers in turn, so that none finds its own in the
    /// second-level cache
    #[arg(long, requires = "bench", conflicts_with = "profile", help_heading = "What to do")]
    pub rotate: bool,

    /// On a GPU, flush the second-level cache before each launch that --bench times
    #[arg(long, requires = "bench", conflicts_with_all = ["rotate", "profile"], help_heading = "What to do")]
    pub flush: bool,

    /// Read an input from a file; those not named are drawn from the seed
    #[arg(long = "input", value_name = "NAME=FILE", value_parser = file, help_heading = "Arrays")]
    pub inputs: Vec<Pair<PathBuf>>,

    /// Write a result to a file; it is only touched if all went well
    #[arg(
        long = "output", value_name = "NAME=FILE", value_parser = file, conflicts_with_all = ["check", "bench"],
        help_heading = "Arrays"
    )]
    pub outputs: Vec<Pair<PathBuf>>,

    /// Where inputs that are not given, and samples, come from
    #[arg(long, value_name = "N", default_value_t = 0, help_heading = "Arrays")]
    pub seed: u64,

    /// Where to run: `sim`, `cuda` or `cuda:N`
    #[arg(long, value_name = "NAME", default_value = "sim", help_heading = "Where to run")]
    pub device: DeviceName,

    /// How programs are made for a GPU: by CUDA C++ and NVRTC, or through MLIR, for which tc is built with the feature `mlir`
    #[arg(long, value_enum, value_name = "HOW", help_heading = "Where to run")]
    pub via: Option<Via>,

    /// The GPU to compile for; without it, the one that is there
    #[arg(long, value_name = "NAME", help_heading = "Where to run")]
    pub target: Option<String>,

    /// Write results as one JSON document, errors as one object a line
    #[arg(long, help_heading = "Results")]
    pub json: bool,

    /// Steps that one run on the simulator may take: one is one op done by one thread; without it 4e9 for --check,
    /// which samples what is large, and 2e10 otherwise
    #[arg(long, value_name = "N", help_heading = "Limits")]
    pub step_limit: Option<u64>,

    /// Bytes that one run on the simulator may take
    #[arg(long, value_name = "N", default_value_t = Limits::default().memory, help_heading = "Limits")]
    pub memory_limit: u64,

    /// What every tool is asked.
    #[command(flatten)]
    pub about: AboutArgs,
}

/// Steps that a check may take: it samples blocks and cells well before, so that only a single long thread gets there.
const CHECK_STEPS: u64 = 4_000_000_000;

impl tc_cli::CommandLine for Args {
    const NAME: &'static str = "tc-run";

    fn json(&self) -> bool {
        self.json
    }

    fn about(&self) -> &AboutArgs {
        &self.about
    }

    fn with_names(command: clap::Command) -> clap::Command {
        let targets: Vec<&str> = tc::target::Target::all().iter().map(|target| target.name).collect();
        tc_cli::complete(tc_cli::complete(command, &["target"], &targets), &["device"], &["sim", "cuda"])
    }
}

impl Args {
    /// What one run on the simulator may cost.
    pub fn limits(&self) -> Limits {
        let steps = if self.check { CHECK_STEPS } else { Limits::default().steps };
        Limits { steps: self.step_limit.unwrap_or(steps), memory: self.memory_limit, ..Limits::default() }
    }

    /// The words of the call that launches `case` alone, for a profiler.
    pub fn of_case(&self, module: &Module, case: &Case) -> Vec<OsString> {
        let symbol = |item: usize| format!("@{}", module.items[item].symbol());
        let mut words: Vec<OsString> = vec![self.file().to_os_string(), "--profiled".into()];
        let mut push = |key: &str, value: OsString| {
            let mut word = OsString::from(format!("--{key}="));
            word.push(value);
            words.push(word);
        };
        push("func", symbol(case.func).into());
        if let Some(schedule) = case.schedule {
            push("schedule", symbol(schedule).into());
        }
        for Pair { name, value } in &self.defines {
            push("define", format!("{name}={value}").into());
        }
        for Pair { name, value } in &self.inputs {
            let mut given = OsString::from(format!("{name}="));
            given.push(value);
            push("input", given);
        }
        if let DeviceName::Cuda(ordinal) = self.device {
            push("device", format!("cuda:{ordinal}").into());
        }
        if let Some(target) = &self.target {
            push("target", target.into());
        }
        push("seed", self.seed.to_string().into());
        if self.symbolic {
            words.push("--symbolic".into());
        }
        words
    }

    /// The file to read.
    pub fn file(&self) -> &OsStr {
        self.file.as_deref().unwrap_or_default()
    }

    /// What the file is called in messages.
    pub fn file_name(&self) -> String {
        tc_cli::file_name(self.file())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(args: &[&str]) -> Result<Args, String> {
        let args = ["tc-run", "f.tir"].iter().chain(args);
        Args::try_parse_from(args).map_err(|error| error.to_string())
    }

    #[test]
    fn names_and_values_are_read() {
        let args = parse(&["--func", "@f", "--schedule=v5", "-D", "n=-3", "-Dc=true", "--input", "A=a=b.npy"]);
        let args = args.expect("a good call");
        assert_eq!((args.func.as_deref(), args.schedule.as_deref()), (Some("f"), Some("v5")));
        assert_eq!(args.defines[0], Pair { name: "n".into(), value: -3 });
        assert_eq!(args.defines[1], Pair { name: "c".into(), value: 1 });
        assert_eq!(args.inputs[0], Pair { name: "A".into(), value: PathBuf::from("a=b.npy") });
        assert_eq!(parse(&["--device=cuda:3"]).expect("a good call").device, DeviceName::Cuda(3));
        assert_eq!(parse(&["--device=cuda"]).expect("a good call").device, DeviceName::Cuda(0));
    }

    #[test]
    fn what_is_malformed_is_refused() {
        for args in [["-D", "n"], ["-D", "n=x"], ["-D", "=3"], ["--input", "A="], ["--device", "gpu"], ["--func", "@"]]
        {
            assert!(parse(&args).is_err(), "{args:?}");
        }
        assert!(parse(&["--device", "cuda:x"]).expect_err("no number").contains("cuda:N"));
        assert!(parse(&["--check", "--output", "B=b.npy"]).is_err());
        assert!(parse(&["--rotate"]).is_err() && parse(&["--rotate", "--bench"]).is_ok());
        assert!(parse(&["--rotate", "--flush", "--bench"]).is_err() && parse(&["--flush", "--profile"]).is_err());
        assert!(parse(&["--points", "3"]).is_err() && parse(&["--points", "3", "--bench"]).is_ok());
    }
}
