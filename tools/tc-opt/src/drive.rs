//! The modes of the tool, and its inputs.

use crate::args::Args;
use crate::job::{Done, Job, Plan};
use crate::sink::Sink;
use crate::{CALL, FINE, help, split};
use tc::Compiler;
use tc::pass::instruments::{PrintPoints, Select};
use tc::pass::{Pipeline, parse_pipeline};
use tc::support::{Sources, suggest};
use tc_cli::{Session, write_whole};

/// Runs the tool; returns the exit status.
pub(crate) fn drive(args: &Args, session: &Session<'_>) -> u8 {
    Tool { args, session }.run().unwrap_or_else(|status| status)
}

struct Tool<'t, 'i> {
    args: &'t Args,
    session: &'t Session<'i>,
}

impl Tool<'_, '_> {
    fn run(&self) -> Result<u8, u8> {
        let (args, session) = (self.args, self.session);
        let compiler = self.compiler()?;
        if args.answer.list_passes {
            session.print(&help::list(&compiler.passes));
            return Ok(FINE);
        }
        if let Some(name) = &args.answer.help_pass {
            let page = help::page(&compiler.passes, name).map_err(|message| session.refuse(&message))?;
            session.print(&page);
            return Ok(FINE);
        }
        let points = self.print_points(&compiler)?;
        let mut sources = Sources::new();
        let pipeline = self.pipeline(&compiler, &mut sources)?;
        if args.answer.dump_pass_pipeline {
            session.print(&format!("{pipeline}\n"));
            return Ok(FINE);
        }
        let text = session.load(args.input.file.as_deref().unwrap_or_default())?;
        let texts = if args.input.split_input_file {
            let too_many = |n| session.refuse(&format!("`{}` holds too many texts: {n}", args.file_name()));
            split::split(&text).map_err(too_many)?
        } else {
            vec![text]
        };
        let plan = Plan { args, compiler: &compiler, pipeline: &pipeline, points: &points, sources: &sources };
        let mut status = FINE;
        let mut outputs = Vec::new();
        for (nth, text) in texts.iter().enumerate() {
            let folder = (texts.len() > 1).then(|| format!("{nth:02}"));
            let Done { output, status: one } = Job { plan: &plan, sink: &Sink::streaming(session), folder }.run(text);
            status = status.max(one);
            outputs.extend(output);
        }
        self.write(&outputs.join(&format!("{}\n", split::MARKER)), status)
    }

    /// Hands over the result: to a file only if all went well.
    fn write(&self, text: &str, status: u8) -> Result<u8, u8> {
        match &self.args.input.output {
            Some(path) if path.as_os_str() != "-" => {
                if status == FINE {
                    let failed = |error| self.session.refuse(&format!("cannot write `{}`: {error}", path.display()));
                    write_whole(path, text).map_err(failed)?;
                }
            }
            _ => self.session.print(text),
        }
        Ok(status)
    }

    fn compiler(&self) -> Result<Compiler, u8> {
        let mut compiler = Compiler::new();
        compiler.threads = self.args.run.threads;
        compiler.target =
            tc::target::Target::parse(&self.args.run.target).map_err(|wrong| self.session.refuse_with(&wrong))?;
        Ok(compiler)
    }

    /// Around which passes the program is printed.
    fn print_points(&self, compiler: &Compiler) -> Result<PrintPoints, u8> {
        let show = &self.args.show;
        let select = |names: &[String], all: bool| {
            if all || names.iter().any(String::is_empty) {
                return Ok(Select::All);
            }
            for name in names {
                if compiler.passes.pass(name).is_none() {
                    let passes = compiler.passes.passes().iter().map(|info| info.name);
                    let help = suggest::nearest(name, passes)
                        .map_or(String::new(), |near| format!(": did you mean `{near}`?"));
                    return Err(self.session.refuse(&format!("unknown pass `{}`{help}", suggest::shorten(name))));
                }
            }
            Ok(if names.is_empty() { Select::None } else { Select::Named(names.to_vec()) })
        };
        Ok(PrintPoints {
            before: select(&show.print_ir_before, show.print_ir_before_all)?,
            after: select(&show.print_ir_after, show.print_ir_after_all)?,
            after_change: show.print_ir_after_change,
        })
    }

    fn pipeline(&self, compiler: &Compiler, sources: &mut Sources) -> Result<Pipeline, u8> {
        let Some(text) = &self.args.run.pass_pipeline else { return Ok(Pipeline::default()) };
        parse_pipeline(text, &compiler.passes, &compiler.registry, sources).map_err(|found| {
            self.session.tell(&found, sources);
            CALL
        })
    }
}
