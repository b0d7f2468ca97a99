//! The static estimate in the place of a device: a search without a GPU.

use super::{Executor, Job, Report};
use crate::estimate;
use crate::records::{self, Time, Verdict};
use crate::task::{Identity, Task};
use std::collections::VecDeque;
use std::time::Duration;
use tc::ir::Module;
use tc::run::Define;
use tc::support::{Diagnostic, Location};
use tc::target::Machine;
use tc::{Compiler, Failure};

/// Answers with estimates, at once and in order.
pub(crate) struct Model {
    compiler: Compiler,
    module: Module,
    names: Identity,
    defines: Vec<Define>,
    machine: Machine,
    device: String,
    answers: VecDeque<Report>,
}

impl Model {
    /// Estimates points of the task `names` of the file `text`, for `machine`.
    pub(crate) fn new(
        compiler: Compiler,
        (file, text): (&str, &str),
        names: Identity,
        defines: &[Define],
        machine: Machine,
    ) -> Result<Model, Failure> {
        let module = compiler.load(file, text)?.module;
        let device = records::model_of(machine.name);
        let defines = defines.to_vec();
        Ok(Model { compiler, module, names, defines, machine, device, answers: VecDeque::new() })
    }

    fn estimate(&self, job: &Job) -> Result<Time, Diagnostic> {
        let names = (Some(self.names.operator.as_str()), Some(self.names.schedule.as_str()));
        let task = Task::choose(&self.compiler, &self.module, names, self.defines.clone())?;
        let found = estimate::of(&task, &job.point, &self.machine).map_err(|failure| {
            let first = failure.diagnostics.iter().find(|one| one.is_error()).cloned();
            first.unwrap_or_else(|| Diagnostic::error("rejected", Location::None, "it does not compile"))
        })?;
        let us = found.estimate_us;
        Ok(Time { median: us, low: us, high: us, n: 1 })
    }
}

impl Executor for Model {
    fn device(&self) -> &str {
        &self.device
    }

    fn target(&self) -> Option<String> {
        Some(self.compiler.target.name.to_string())
    }

    fn submit(&mut self, job: Job) {
        let result = match self.estimate(&job) {
            Ok(time) => records::Result { time_us: Some(time), ..records::Result::ok() },
            Err(wrong) => records::Result::failed(Verdict::Rejected, wrong.code, &wrong.message),
        };
        self.answers.push_back(Report { ticket: job.ticket, result });
    }

    fn poll(&mut self, _: Duration) -> Result<Option<Report>, Diagnostic> {
        Ok(self.answers.pop_front())
    }
}
