//! The command line.

use crate::features;
use crate::worker::WorkerDevice;
use clap::{Args as ClapArgs, Parser, Subcommand};
use std::ffi::OsString;
use std::path::PathBuf;
use std::str::FromStr;
use tc::target::Machine;
use tc_cli::AboutArgs;
use tc_search::Kind;

/// What measures points.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum DeviceName {
    /// The GPU with this number.
    Cuda(usize),
    /// The measurements of a file.
    Replay(PathBuf),
    /// The static estimate, of this machine or of the target's.
    Model(Option<&'static str>),
}

impl FromStr for DeviceName {
    type Err = String;

    fn from_str(text: &str) -> Result<DeviceName, String> {
        if let Some(path) = text.strip_prefix("replay=").filter(|path| !path.is_empty()) {
            return Ok(DeviceName::Replay(PathBuf::from(path)));
        }
        if text == "model" {
            return Ok(DeviceName::Model(None));
        }
        if let Some(name) = text.strip_prefix("model=") {
            let names = || Machine::all().iter().map(|machine| machine.name).collect::<Vec<_>>().join(", ");
            let machine = Machine::named(name).ok_or_else(|| format!("there are models of {}", names()))?;
            return Ok(DeviceName::Model(Some(machine.name)));
        }
        cuda(text).map(DeviceName::Cuda).ok_or_else(|| {
            "there is `cuda`, `cuda:N` for the GPU with number N, `replay=RECORDS`, and `model`".to_string()
        })
    }
}

/// How wide the interval of a median may be, as a part of the median.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Interval(pub(crate) Option<f64>);

impl FromStr for Interval {
    type Err = String;

    fn from_str(text: &str) -> Result<Interval, String> {
        if text == "none" {
            return Ok(Interval(None));
        }
        let percent = text.strip_suffix('%').unwrap_or(text).parse::<f64>().ok();
        let percent = percent.filter(|percent| (0.0..=100.0).contains(percent));
        let percent = percent.ok_or_else(|| "there is a percentage such as `1%`, and `none`".to_string())?;
        Ok(Interval(Some(percent / 100.0)))
    }
}

fn cuda(text: &str) -> Option<usize> {
    let rest = text.strip_prefix("cuda")?;
    match rest.strip_prefix(':') {
        Some(ordinal) => ordinal.parse().ok(),
        None => rest.is_empty().then_some(0),
    }
}

fn worker_device(text: &str) -> Result<WorkerDevice, String> {
    match text {
        "none" => Ok(WorkerDevice::None),
        _ => cuda(text).map(WorkerDevice::Cuda).ok_or_else(|| "there is `cuda`, `cuda:N` and `none`".to_string()),
    }
}

fn kind(text: &str) -> Result<Kind, String> {
    Kind::parse(text).ok_or_else(|| {
        let names: Vec<&str> = Kind::ALL.iter().map(|kind| kind.name()).collect();
        format!("there is {}", names.join(", "))
    })
}

/// A symbol, with or without `@`.
fn symbol(text: &str) -> Result<String, String> {
    let name = text.strip_prefix('@').unwrap_or(text);
    if name.is_empty() { Err("a name is missing".to_string()) } else { Ok(name.to_string()) }
}

fn define(text: &str) -> Result<(String, i64), String> {
    let wrong = || "expected NAME=VALUE, the value an integer, `true` or `false`".to_string();
    let (name, value) = text.split_once('=').filter(|(name, _)| !name.is_empty()).ok_or_else(wrong)?;
    let value = match value {
        "true" => 1,
        "false" => 0,
        value => value.parse().map_err(|_| wrong())?,
    };
    Ok((name.to_string(), value))
}

fn seconds(text: &str) -> Result<f64, String> {
    let wrong = || "expected a number of seconds above 0".to_string();
    text.parse().ok().filter(|&value: &f64| value > 0.0 && value < 1e9).ok_or_else(wrong)
}

/// Searches the space of a schedule with parameters for its fastest point.
///
/// Points are compiled, checked against the operator's definition, and timed, each in a worker process; what came of each
/// is recorded, and the same command goes on from its record.
#[derive(Parser, Debug)]
#[command(name = "tc-tune", version, max_term_width = 120, args_conflicts_with_subcommands = true)]
#[command(after_help = "Exit status: 0 fine, 1 the input is at fault, 2 the call is at fault, 3 a bug of tc.")]
pub struct Args {
    #[command(subcommand)]
    pub(crate) command: Option<Verb>,

    #[command(flatten)]
    pub(crate) task: TaskArgs,

    #[command(flatten)]
    pub(crate) search: SearchArgs,

    #[command(flatten)]
    pub(crate) measure: MeasureArgs,

    /// Write results as one JSON document, errors as one object a line
    #[arg(long, global = true, help_heading = "Results")]
    pub(crate) json: bool,

    /// What every tool is asked.
    #[command(flatten)]
    pub(crate) about: AboutArgs,
}

/// What is tuned.
#[derive(Clone, ClapArgs, Debug)]
#[command(next_help_heading = "What to tune")]
pub(crate) struct TaskArgs {
    /// The file to read; `-` is the standard input
    #[arg(value_name = "FILE")]
    pub(crate) file: Option<OsString>,

    /// The schedule with parameters; it may be left out where there is one
    #[arg(value_name = "@SCHEDULE", value_parser = symbol)]
    pub(crate) schedule: Option<String>,

    /// The operator, where a schedule's name does not tell
    #[arg(long, value_name = "@NAME", value_parser = symbol)]
    pub(crate) func: Option<String>,

    /// A value for a size of the operator, or for a parameter that is not tuned
    #[arg(short = 'D', long = "define", value_name = "NAME=VALUE", value_parser = define, allow_hyphen_values = true)]
    pub(crate) defines: Vec<(String, i64)>,

    /// The GPU to compile for; without it, the one that is there
    #[arg(long, value_name = "NAME")]
    pub(crate) target: Option<String>,
}

/// How points are chosen.
#[derive(Clone, ClapArgs, Debug)]
#[command(next_help_heading = "How to search")]
pub(crate) struct SearchArgs {
    /// exhaustive, random, evolutionary, forest or annealing
    #[arg(long, value_name = "NAME", value_parser = kind, default_value = "forest")]
    pub(crate) searcher: Kind,

    /// Points to try at most; all of them for the searcher `exhaustive`, where this is left out
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000_000))]
    pub(crate) trials: Option<u32>,

    /// End after so many seconds: what is chosen then depends on the speed of the machine
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub(crate) time: Option<f64>,

    /// End where so many trials in a row bring no better point
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) patience: Option<u32>,

    /// Points in a batch: one is measured while the next is chosen
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=4096), default_value_t = 4)]
    pub(crate) batch: u32,

    /// Estimate the time of each point of a space of so many points before any is measured, and start from the fastest;
    /// above it, the launch alone tells where to start
    #[arg(long, value_name = "N", default_value_t = features::ESTIMATED)]
    pub(crate) estimate: usize,

    /// What choices are drawn from, and inputs
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) seed: u64,

    /// Print so many points that the searcher would try next, from what is recorded, as JSON lines, and measure nothing
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=65_536))]
    pub(crate) ask: Option<u32>,

    /// Measure the points of this file, which somebody else chose, in their order: JSON lines as `--ask` prints them
    #[arg(long, value_name = "FILE", conflicts_with_all = ["ask", "trials", "patience", "searcher"])]
    pub(crate) points: Option<PathBuf>,

    /// Start from the results of these records, of this task and device
    #[arg(long, value_name = "RECORDS")]
    pub(crate) warm_start: Vec<PathBuf>,

    /// Start from what this store has of this task and device, and put the records of the search into it
    #[arg(long, value_name = "FOLDER", requires = "records", conflicts_with = "ask")]
    pub(crate) store: Option<PathBuf>,
}

/// How points are measured.
#[derive(Clone, ClapArgs, Debug)]
#[command(next_help_heading = "How to measure")]
pub(crate) struct MeasureArgs {
    /// `cuda`, `cuda:N`, `replay=RECORDS` for what was measured before, or `model` (`model=H200`) for the static estimate,
    /// which needs no GPU; several share the work
    #[arg(long = "device", value_name = "NAME", value_delimiter = ',', default_value = "cuda")]
    pub(crate) devices: Vec<DeviceName>,

    /// A command that runs `tc-tune worker` elsewhere, such as `ssh host tc-tune worker`, in the place of devices here
    #[arg(long = "worker", value_name = "COMMAND", conflicts_with = "devices")]
    pub(crate) workers: Vec<String>,

    /// Append each attempt to this file, and take what it holds for measured
    #[arg(long, value_name = "FILE")]
    pub(crate) records: Option<PathBuf>,

    /// Samples of each point, in at least 20 ms
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(5..=100_000), default_value_t = 50)]
    pub(crate) repeat: u32,

    /// Take up to 16 times as many samples until the 95 % interval of their median is narrower than this part of it; `none`
    /// takes no more
    #[arg(long, value_name = "PERCENT", default_value = "1%")]
    pub(crate) interval: Interval,

    /// Seconds that the samples of a point may take; five are taken in any case
    #[arg(long, value_name = "SECONDS", value_parser = seconds, default_value = "10")]
    pub(crate) budget: f64,

    /// The least time of one sample, in microseconds: as many launches go into one as that takes
    #[arg(long, value_name = "US", value_parser = seconds, default_value = "400")]
    pub(crate) min_time: f64,

    /// Flush the second-level cache before each launch
    #[arg(long, conflicts_with = "rotate")]
    pub(crate) flush: bool,

    /// Let launches take copies of the buffers in turn, so that none finds its own in the second-level cache
    #[arg(long)]
    pub(crate) rotate: bool,

    /// Time points without comparing their values with the definition first
    #[arg(long)]
    pub(crate) no_check: bool,

    /// Seconds that a point may take, to compile and to measure each
    #[arg(long, value_name = "SECONDS", value_parser = seconds, default_value = "30")]
    pub(crate) timeout: f64,

    /// Processes of this machine that compile ahead of the devices; without it, one for every two cores, and none where
    /// `--worker` names the devices, which then compile what they measure
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub(crate) compilers: Option<u32>,

    /// The folder of compiled code; without it, one below the folder for temporary files
    #[arg(long, value_name = "FOLDER")]
    pub(crate) cache: Option<PathBuf>,
}

/// What else there is to do.
#[derive(Subcommand, Debug)]
pub(crate) enum Verb {
    /// Show what records hold: the best points, the best over trials, each parameter's effect, why points are rejected
    Show {
        /// The records
        #[arg(value_name = "RECORDS", required = true)]
        records: Vec<PathBuf>,
        /// Points to list
        #[arg(long, value_name = "N", default_value_t = 10)]
        top: usize,
        /// Write the same as a page, too
        #[arg(long, value_name = "FILE")]
        html: Option<PathBuf>,
        /// Write the best over trials and the effects as a picture, too
        #[arg(long, value_name = "FILE")]
        svg: Option<PathBuf>,
    },
    /// Print a file with the best point of each of its schedules bound
    Apply {
        /// The file
        #[arg(value_name = "FILE")]
        file: OsString,
        /// The records
        #[arg(long, value_name = "FILE", required = true)]
        records: Vec<PathBuf>,
        /// Take only times of this class of device; without it, those of the first one in the records that was measured
        #[arg(long, value_name = "CLASS")]
        device: Option<String>,
    },
    /// Choose again from what is recorded, and compare with what was chosen
    Replay {
        /// The file
        #[arg(value_name = "FILE")]
        file: OsString,
        /// The records
        #[arg(long, value_name = "FILE", required = true)]
        records: PathBuf,
    },
    /// Join records into one file, each attempt once
    Merge {
        /// The records
        #[arg(value_name = "RECORDS", required = true)]
        records: Vec<PathBuf>,
        /// Where to write; without it, the standard output
        #[arg(long, short, value_name = "FILE")]
        output: Option<PathBuf>,
    },
    /// Share records: put them into a store, get those that fit a task, list what there is
    Store {
        #[command(subcommand)]
        verb: StoreVerb,
    },
    /// Compare the times of points that two records have
    Diff {
        /// The first
        before: PathBuf,
        /// The second
        after: PathBuf,
    },
    /// Print a log of AutoTVM as records, where its entities are called as the schedule's parameters are
    Import {
        #[command(flatten)]
        task: TaskArgs,
        /// The log, version 0.2
        #[arg(long, value_name = "FILE")]
        log: PathBuf,
        /// The class of device that measured it, as other records name theirs
        #[arg(long, value_name = "CLASS")]
        device: String,
    },
    /// Try the searchers on recorded sweeps, without a GPU
    Compare {
        /// The file
        #[arg(value_name = "FILE")]
        file: OsString,
        /// The records
        #[arg(long, value_name = "FILE", required = true)]
        records: Vec<PathBuf>,
        /// Searches by each searcher
        #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u64).range(1..=100_000))]
        seeds: u64,
        /// Trials of a search at most; without it, as many as there are points
        #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
        trials: Option<u32>,
        /// Points in a batch
        #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=4096), default_value_t = 4)]
        batch: u32,
        /// Estimate the time of each point of a sweep of so many points
        #[arg(long, value_name = "N", default_value_t = features::ESTIMATED)]
        estimate: usize,
    },
    /// Tell how well the static estimate and the learned model know the times of recorded sweeps, without a GPU
    Model {
        /// The file
        #[arg(value_name = "FILE")]
        file: OsString,
        /// The records
        #[arg(long, value_name = "FILE", required = true)]
        records: Vec<PathBuf>,
    },
    /// Serve a tuner over standard input and output
    Worker {
        /// `cuda`, `cuda:N`, or `none` for a worker that compiles
        #[arg(long, value_name = "NAME", value_parser = worker_device, default_value = "cuda")]
        device: WorkerDevice,
    },
}

/// What is done with a store.
#[derive(Subcommand, Debug)]
pub(crate) enum StoreVerb {
    /// Put records into a store that it lacks
    Put {
        /// The folder of the store; it is made in a folder that is there
        #[arg(long, value_name = "FOLDER")]
        store: PathBuf,
        /// The records
        #[arg(value_name = "RECORDS", required = true)]
        records: Vec<PathBuf>,
    },
    /// Append the records of a store to a file that fit an operator, a schedule and sizes; with `--target`, only those for it
    Get {
        #[command(flatten)]
        task: TaskArgs,
        /// The folder of the store
        #[arg(long, value_name = "FOLDER")]
        store: PathBuf,
        /// Get only records of this class of device
        #[arg(long, value_name = "CLASS")]
        device: Option<String>,
        /// The records to append to
        #[arg(long, short, value_name = "RECORDS")]
        output: PathBuf,
    },
    /// List what a store has: operators, schedules, sizes, devices, the number of attempts and the best
    List {
        /// The folder of the store
        #[arg(long, value_name = "FOLDER")]
        store: PathBuf,
    },
}

impl tc_cli::CommandLine for Args {
    const NAME: &'static str = "tc-tune";

    fn json(&self) -> bool {
        self.json
    }

    fn about(&self) -> &AboutArgs {
        &self.about
    }

    fn with_names(command: clap::Command) -> clap::Command {
        let targets: Vec<&str> = tc::target::Target::all().iter().map(|target| target.name).collect();
        let searchers: Vec<&str> = Kind::ALL.iter().map(|kind| kind.name()).collect();
        tc_cli::complete(tc_cli::complete(command, &["target"], &targets), &["searcher"], &searchers)
    }
}
