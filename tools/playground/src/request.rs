//! What the page asks, and the answer.

use crate::{block, check, look, passes, shown};
use serde_json::{Map, Value, json};
use tc::ir::walk::all_ops;
use tc::run::{Case, Choice, Define, cases};
use tc::sim::Limits;
use tc::target::Target;
use tc::{Compiler, Failure};

/// What texts are called in messages.
pub(crate) const NAME: &str = "playground.tir";
/// Bytes that buffers of a run may take: a module of WebAssembly has 4 GiB in all.
const MEMORY: u64 = 1 << 30;
/// Steps that a run may take where the page does not say: half a minute of a loop on one lane, the slowest that there is.
const STEPS: u64 = 200_000_000;

/// The pipeline of a text that has no launch: what can be said of its loops.
const UNLAUNCHED: &str = "schedule,tir.func(simplify)";

/// A request that was read.
pub(crate) struct Request {
    fields: Map<String, Value>,
    /// The compiler, for the target and the values that were asked for.
    pub(crate) compiler: Compiler,
}

/// An answer, or what is wrong with the request or its text.
pub(crate) type Answer = Result<Value, Failure>;

/// Answers a request. Whatever it holds, there is an answer; a defect of the compiler is one whose diagnostic says so.
pub fn answer(request: &str) -> String {
    let answered = tc::guard::in_place(|| {
        let request = Request::read(request)?;
        match request.text("call") {
            "options" => Ok(look::options(&request.compiler)),
            "look" => look::look(&request),
            "run" => passes::run(&request),
            "report" => passes::report(&request),
            "check" => check::check(&request),
            "block" => block::block(&request),
            other => Err(refused(format!("there is no call `{other}`"))),
        }
    });
    let value = answered.and_then(|answer| answer).unwrap_or_else(|failure| shown::failed(&failure));
    value.to_string()
}

/// The failure of a request that makes no sense.
pub(crate) fn refused(message: String) -> Failure {
    let found = tc::support::Diagnostic::error("call", tc::support::Location::None, message);
    Failure { diagnostics: found.into(), sources: tc::support::Sources::new() }
}

impl Request {
    fn read(text: &str) -> Result<Request, Failure> {
        let Ok(Value::Object(fields)) = serde_json::from_str(text) else {
            return Err(refused("a request is an object in JSON".to_string()));
        };
        let mut request = Request { fields, compiler: Compiler::new() };
        if let Some(name) = request.some_text("target") {
            let no_source = |wrong| Failure { diagnostics: wrong, sources: tc::support::Sources::new() };
            request.compiler.target = Target::parse(name).map_err(|wrong| no_source(wrong.into()))?;
        }
        request.compiler.step_limit = Some(request.limits().steps);
        Ok(request)
    }

    /// A field that is a text; empty where there is none.
    pub(crate) fn text(&self, name: &str) -> &str {
        self.some_text(name).unwrap_or("")
    }

    /// A field that is a text with something in it.
    pub(crate) fn some_text(&self, name: &str) -> Option<&str> {
        self.fields.get(name).and_then(Value::as_str).filter(|text| !text.is_empty())
    }

    /// A field that is a number.
    pub(crate) fn number(&self, name: &str) -> Option<u64> {
        self.fields.get(name).and_then(Value::as_u64)
    }

    /// What a run on the simulator may cost.
    pub(crate) fn limits(&self) -> Limits {
        Limits { steps: self.number("steps").unwrap_or(STEPS), memory: MEMORY, ..Limits::default() }
    }

    /// Values of sizes and parameters, `n=64 block=128`.
    pub(crate) fn defines(&self) -> Result<Vec<Define>, Failure> {
        let one = |word: &str| {
            let (name, value) = word.split_once('=')?;
            let value = match value {
                "true" => 1,
                "false" => 0,
                number => number.parse().ok()?,
            };
            Some((name.to_string(), value))
        };
        let wrong = |word: &str| refused(format!("`{word}` is no value of a size or a parameter: write `name=64`"));
        self.text("defines").split_whitespace().map(|word| one(word).ok_or_else(|| wrong(word))).collect()
    }

    /// The case that `func` and `schedule` name: the first that there is to check, where they name none.
    pub(crate) fn case(&self, module: &tc::ir::Module) -> Result<Case, Failure> {
        let choice = Choice { func: self.some_text("func"), schedule: self.some_text("schedule") };
        let all = cases::to_check(module, choice).map_err(|refused| match refused {
            tc::run::Refused::Call(found) | tc::run::Refused::Input(found) => {
                Failure { diagnostics: (*found).into(), sources: module.sources.clone() }
            }
        })?;
        let exact = all.iter().find(|case| case.schedule.is_some() == choice.schedule.is_some());
        exact.or(all.first()).copied().ok_or_else(|| refused("there is nothing to check".to_string()))
    }
}

/// The function and the schedule of a case, as a request names them, and the pipeline that makes kernels of it: a program without a
/// launch has none.
pub(crate) fn case_json(module: &tc::ir::Module, case: &Case) -> Value {
    let schedule = case.schedule.map(|schedule| module.items[schedule].symbol());
    let func = module.items[case.func].symbol();
    let is_launched =
        || module.items.iter().any(|item| all_ops(item).any(|op| tc::dialects::algebra::is_launch(item, op)));
    let pipeline = match schedule {
        Some(schedule) => format!("cuda{{func={func} schedule={schedule}}}"),
        None if is_launched() => "cuda".to_string(),
        None => UNLAUNCHED.to_string(),
    };
    json!({ "name": case.name(module), "func": func, "schedule": schedule, "pipeline": pipeline })
}
