//! From flags to what measures.

use crate::args::{DeviceName, MeasureArgs};
use crate::drive::load;
use crate::executor::{Executor, Local, Replay, Setup};
use crate::records::Record;
use crate::task::Identity;
use crate::tuning::Tuning;
use crate::worker::protocol::{Bench, Open};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;
use tc::support::{Diagnostic, Location};

impl Tuning<'_, '_> {
    /// What measures, as the flags say.
    pub(crate) fn executor(&self, names: &Identity) -> Result<Box<dyn Executor>, u8> {
        let (session, measure) = (self.session, &self.args.measure);
        let replays: Vec<&PathBuf> = measure
            .devices
            .iter()
            .filter_map(|device| match device {
                DeviceName::Replay(path) => Some(path),
                DeviceName::Cuda(_) => None,
            })
            .collect();
        if let ([path], true) = (&replays[..], measure.workers.is_empty()) {
            if measure.devices.len() > 1 {
                return Err(session.refuse("what is replayed shares its work with no other device"));
            }
            return Ok(Box::new(self.replayed(path, names)?));
        }
        let setup = self.setup(names, measure).map_err(|wrong| session.refuse_with(&wrong))?;
        let local = Local::start(setup, BTreeMap::new()).map_err(|wrong| session.refuse_with(&wrong))?;
        Ok(Box::new(local))
    }

    /// The measurements of one task, target and class of device.
    fn replayed(&self, path: &PathBuf, names: &Identity) -> Result<Replay, u8> {
        let all = load(self.session, std::slice::from_ref(path))?;
        let is_task = |record: &&Record| record.task.is_same_but_target(names);
        let fitting: Vec<Record> = all.iter().filter(is_task).cloned().collect();
        let Some(first) = fitting.first() else {
            let text = format!("no record of {} is of this operator, schedule and sizes", path.display());
            return Err(self.session.refuse_with(&Diagnostic::error("records", Location::None, text)));
        };
        let (device, target) = (first.device.clone(), first.task.target.clone());
        let of_first = |record: &Record| record.device == device && record.task.target == target;
        let fitting: Vec<Record> = fitting.into_iter().filter(of_first).collect();
        Ok(Replay::new(&device, &target, &fitting))
    }

    fn setup(&self, names: &Identity, measure: &MeasureArgs) -> Result<Setup, Diagnostic> {
        let failed = |text: String| Diagnostic::error("worker", Location::None, text);
        let program =
            std::env::current_exe().map_err(|error| failed(format!("tc-tune does not find itself: {error}")))?;
        let worker = |device: &str| {
            vec![program.display().to_string(), "worker".to_string(), "--device".to_string(), device.to_string()]
        };
        let mut commands: Vec<Vec<String>> = measure
            .devices
            .iter()
            .filter_map(|device| match device {
                DeviceName::Cuda(ordinal) => Some(worker(&format!("cuda:{ordinal}"))),
                DeviceName::Replay(_) => None,
            })
            .collect();
        if !measure.workers.is_empty() {
            let words = |command: &String| command.split_whitespace().map(str::to_string).collect();
            commands = measure.workers.iter().map(words).collect();
        }
        let cache = measure.cache.clone().unwrap_or_else(|| std::env::temp_dir().join("tc-tune-cache"));
        std::fs::create_dir_all(&cache)
            .map_err(|error| failed(format!("the folder {} cannot be made: {error}", cache.display())))?;
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let n_compile = measure.compilers.map_or(cores, |n| n as usize);
        Ok(Setup {
            compile: vec![worker("none"); if measure.workers.is_empty() { n_compile } else { 0 }],
            measure: commands,
            open: Open {
                file: self.file.clone(),
                text: self.text.clone(),
                func: names.operator.clone(),
                schedule: names.schedule.clone(),
                defines: self.args.task.defines.iter().cloned().collect(),
                target: self.args.task.target.clone().unwrap_or_default(),
                seed: self.args.search.seed,
                cache: Some(cache),
                cuda: None,
                bench: bench(measure),
            },
            timeout: Duration::from_secs_f64(measure.timeout),
        })
    }
}

/// How points are timed.
fn bench(measure: &MeasureArgs) -> Bench {
    Bench {
        repeat: measure.repeat as usize,
        interval: measure.interval.0,
        budget_s: Some(measure.budget),
        min_sample_us: measure.min_time,
        warm_up_ms: 20.0,
        flush: measure.flush,
        rotate: measure.rotate,
        check: !measure.no_check,
    }
}
