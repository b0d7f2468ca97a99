//! From flags to what measures.

use crate::args::{DeviceName, MeasureArgs};
use crate::drive::{fail, load};
use crate::executor::{Executor, Local, Model, Replay, Setup};
use crate::records::Record;
use crate::task::Identity;
use crate::tuning::Tuning;
use crate::worker::protocol::{Bench, Open};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;
use tc::Compiler;
use tc::support::{Diagnostic, Location};
use tc::target::{Machine, Target};

impl Tuning<'_, '_> {
    /// What measures, as the flags say.
    pub(crate) fn executor(&self, names: &Identity) -> Result<Box<dyn Executor>, u8> {
        let (session, measure) = (self.session, &self.args.measure);
        let is_gpu = |device: &&DeviceName| matches!(device, DeviceName::Cuda(_));
        let alone = measure.devices.iter().find(|device| !is_gpu(device)).filter(|_| measure.workers.is_empty());
        if alone.is_some() && measure.devices.len() > 1 {
            return Err(session.refuse("what is replayed or estimated shares its work with no other device"));
        }
        match alone {
            Some(DeviceName::Replay(path)) => return Ok(Box::new(self.replayed(path, names)?)),
            Some(DeviceName::Model(name)) => return Ok(Box::new(self.model(*name, names)?)),
            _ => {}
        }
        let setup = self.setup(names, measure).map_err(|wrong| session.refuse_with(&wrong))?;
        let local = Local::start(setup, BTreeMap::new()).map_err(|wrong| session.refuse_with(&wrong))?;
        Ok(Box::new(local))
    }

    /// Estimates for the machine called `name`, or for that of the target.
    fn model(&self, name: Option<&str>, names: &Identity) -> Result<Model, u8> {
        let mut compiler = Compiler::new();
        if let Some(target) = &self.args.task.target {
            compiler.target = Target::parse(target).map_err(|wrong| self.session.refuse_with(&wrong))?;
        }
        let machine = name.and_then(Machine::named).unwrap_or_else(|| Machine::of(&compiler.target));
        if let (None, Ok(target)) =
            (&self.args.task.target, Target::for_device(machine.capability.0, machine.capability.1))
        {
            compiler.target = target;
        }
        let (file, defines) = ((self.file.as_str(), self.text.as_str()), &self.args.task.defines);
        Model::new(compiler, file, names.clone(), defines, machine).map_err(|failure| fail(self.session, &failure))
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
                DeviceName::Replay(_) | DeviceName::Model(_) => None,
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
        // Workers elsewhere may not see the folder of this machine's compilers. Those of this machine draw and compare values on
        // its cores: with a compiler on each core, four GPUs measured a tenth fewer points than with half as many.
        let unasked = if measure.workers.is_empty() { cores.div_ceil(2) } else { 0 };
        let n_compile = measure.compilers.map_or(unasked, |n| n as usize);
        Ok(Setup {
            compile: vec![worker("none"); n_compile],
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
