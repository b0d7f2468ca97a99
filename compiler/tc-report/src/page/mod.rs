//! `--report`: one page that tells all of a compilation.
//!
//! The page is one file without outside resources. All but the program between the passes is plain markup, made here;
//! that is put together from its data by the script.

mod found;
mod head;
mod held;
mod kernels;
mod machine_code;
mod occupancy;
mod pipeline;
mod speed;

pub use held::{HeldBuffers, held_buffers};
pub(crate) use pipeline::viewer;

use crate::html::Html;
use crate::recording::Recording;
use serde_json::json;
use tc_pass::PassRecord;
use tc_perf::{KernelReport, MachineCode};
use tc_support::{Diagnostic, Diagnostics, Severity, Sources};
use tc_target::{KernelManifest, Resources, Target};

/// Texts whose programs a page holds. Of further ones it says how they ended.
const MAX_SHOWN: usize = 50;

/// What a page is made of.
#[derive(Debug)]
pub struct Page {
    /// What was called, as one line.
    pub command: String,
    /// The version of the compiler.
    pub version: String,
    /// The target that was compiled for.
    pub target: Target,
    /// The pipeline, with named pipelines expanded.
    pub pipeline: String,
    /// The texts, in order.
    pub runs: Vec<Run>,
}

/// One text that was compiled.
#[derive(Debug)]
pub struct Run {
    /// What it is called: the name of its file, and its number if the file holds several.
    pub name: String,
    /// The program after each pass; nothing where it could not be parsed.
    pub recording: Recording,
    /// What the passes did, as far as they ran.
    pub records: Vec<PassRecord>,
    /// The passes of the pipeline: name and anchor.
    pub planned: Vec<(&'static str, &'static str)>,
    /// All that was found.
    pub diagnostics: Diagnostics,
    /// What that points into.
    pub sources: Sources,
    /// What was emitted.
    pub emitted: Option<Emitted>,
}

/// What an emitter wrote.
#[derive(Debug)]
pub struct Emitted {
    /// The language, as a heading: `CUDA C++`.
    pub language: &'static str,
    /// The text.
    pub text: String,
    /// How the kernels are launched.
    pub manifests: Vec<KernelManifest>,
    /// What an assembler told of the kernels, or why none was asked.
    pub assembled: Result<Vec<Resources>, String>,
    /// What the kernels say of their speed; nothing where they say none.
    pub speed: Vec<KernelReport>,
    /// The lint of the machine code; empty where none was made.
    pub machine_code: MachineCode,
    /// Buffers that lie spread over registers.
    pub held: Vec<HeldBuffers>,
}

impl Run {
    fn failed(&self) -> bool {
        self.diagnostics.has_errors()
    }

    fn count(&self, severity: Severity) -> usize {
        self.diagnostics.iter().filter(|one| one.severity == severity).count()
    }

    /// Diagnostics that are no remarks.
    fn diagnostics(&self) -> Vec<&Diagnostic> {
        self.diagnostics.iter().filter(|one| one.severity != Severity::Remark).collect()
    }

    fn remarks(&self) -> Vec<&Diagnostic> {
        self.diagnostics.iter().filter(|one| one.severity == Severity::Remark).collect()
    }
}

impl Page {
    /// The page as text.
    pub fn html(&self) -> String {
        let mut html = Html::default();
        head::write(&mut html, self);
        html.raw("<main>\n");
        for (nth, run) in self.runs.iter().take(MAX_SHOWN).enumerate() {
            self.run(&mut html, nth, run);
        }
        html.raw("</main>\n");
        let shown = &self.runs[..self.runs.len().min(MAX_SHOWN)];
        let runs: Vec<_> = shown.iter().map(|run| run.recording.data()).collect();
        html.data("data", &json!({ "runs": runs }));
        let name = self.runs.first().map_or("nothing", |run| &run.name);
        html.page(&format!("{name} - tc report"))
    }

    fn run(&self, html: &mut Html, nth: usize, run: &Run) {
        html.raw("<article class=run data-run=\"").text(nth).raw("\" id=\"run-").text(nth).raw("\">\n");
        if self.runs.len() > 1 {
            html.raw("<h2 class=run-name>").text(&run.name).raw("</h2>\n");
        }
        found::write(html, "Diagnostics", &run.diagnostics(), &run.sources);
        pipeline::write(html, run);
        pipeline::viewer(html, &run.recording, false);
        found::write(html, "Remarks", &run.remarks(), &run.sources);
        kernels::write(html, run.emitted.as_ref(), &self.target);
        held::write(html, run.emitted.as_ref());
        speed::write(html, run.emitted.as_ref(), &run.sources);
        machine_code::write(html, run.emitted.as_ref(), &run.sources);
        if let Some(emitted) = &run.emitted {
            html.raw("<section><h2>").text(emitted.language).raw("</h2>\n<details open><summary>");
            html.text(emitted.text.lines().count()).raw(" lines</summary>\n");
            html.raw(match emitted.language {
                "CUDA C++" => "<pre class=\"code wide\" data-language=cuda>",
                _ => "<pre class=\"code wide\">",
            });
            html.text(&emitted.text).raw("</pre></details></section>\n");
        }
        html.raw("</article>\n");
    }
}
