//! `--emit=bundle`: a folder with C that launches the kernels of a file, and machine code for several targets.

use crate::args::{Args, BundleLink, Emit, VerifyEach};
use crate::debug::refuse::of_one_run;
use crate::inputs::Input;
use crate::{CALL, FINE, INPUT};
use std::path::Path;
use tc::bundles::{Link, Options};
use tc::support::suggest::shorten;
use tc::syntax::ParseOptions;
use tc::target::Target;
use tc::{BundleTarget, Compiler};
use tc_cli::{Session, status_of, write_whole};

/// What is wrong with the flags of a bundle, or with flags that a bundle does not go with.
pub(crate) fn check(args: &Args) -> Result<(), String> {
    let (run, input) = (&args.run, &args.input);
    if run.emit != Emit::Bundle {
        let flags = [
            ("--targets", !run.targets.is_empty()),
            ("--target-pipeline", !run.target_pipeline.is_empty()),
            ("--bundle-name", run.bundle_name.is_some()),
            ("--bundle-link", run.bundle_link != BundleLink::Embedded),
        ];
        let stray = flags.iter().find(|(_, is_given)| *is_given);
        return stray.map_or(Ok(()), |(flag, _)| Err(format!("`{flag}` is of a bundle, and wants `--emit=bundle`")));
    }
    let stray = [
        ("--in-place", input.in_place.is_some()),
        ("--split-input-file", input.split_input_file),
        ("--verify-diagnostics", input.verify_diagnostics),
        ("--reduce", args.debug.reduce.is_some()),
        ("--bisect", args.debug.bisect.is_some()),
        ("--reproducer", args.debug.reproducer.is_some()),
        ("--verify-each=semantics", run.verify_each == VerifyEach::Semantics),
    ];
    let of_one_run = of_one_run(args).map(|(flag, is_given, _)| (flag, is_given));
    let flag = stray.iter().chain(&of_one_run).find(|(flag, is_given)| *is_given && *flag != "--remarks");
    if let Some((flag, _)) = flag {
        return Err(format!("`{flag}` is of one run of the passes, and a bundle has one for each target"));
    }
    if args.space.is_asked() {
        return Err("a question about a search space makes no bundle: leave `--emit=bundle` out".to_string());
    }
    match &input.output {
        None => Err("a bundle is a folder of files: `-o FOLDER` names it".to_string()),
        Some(path) if path.as_os_str() == "-" => {
            Err("a bundle is a folder of files, and `-` is the standard output: `-o FOLDER` names one".to_string())
        }
        Some(path) if path.is_file() => {
            Err(format!("`{}` is a file, and a bundle is a folder of files: name another one", path.display()))
        }
        Some(_) => Ok(()),
    }
}

/// Makes the bundle of `input`; the status is what the run ends with. An error was reported.
pub(crate) fn run(args: &Args, compiler: &Compiler, session: &Session<'_>, input: &Input) -> Result<u8, u8> {
    let options = options(args, input).map_err(|wrong| session.refuse(&wrong))?;
    tc::bundles::check_name(&options.name).map_err(|wrong| session.refuse_with(&wrong))?;
    let targets = targets(args, compiler, session)?;
    let compiler =
        Compiler { via: args.run.via(), verify: args.run.verify_each != VerifyEach::None, ..compiler.clone() };
    let reading = ParseOptions { allow_unknown_ops: args.input.allow_unknown_ops };
    let made = compiler.parse_with(&input.name, &input.text, &reading).and_then(|parsed| {
        session.tell(&parsed.warnings, &parsed.module.sources);
        compiler.bundle(&parsed.module, &targets, &options)
    });
    let bundle = made.map_err(|failure| {
        session.tell(&failure.diagnostics, &failure.sources);
        status_of(&failure.diagnostics).max(INPUT)
    })?;
    session.tell(&bundle.warnings, &bundle.sources);
    let folder = args.input.output.as_deref().unwrap_or(Path::new("."));
    let failed =
        |path: &Path, error: std::io::Error| session.refuse(&format!("cannot write `{}`: {error}", path.display()));
    std::fs::create_dir_all(folder).map_err(|error| failed(folder, error))?;
    for file in &bundle.files {
        let path = folder.join(&file.name);
        write_whole(&path, &file.bytes).map_err(|error| failed(&path, error))?;
    }
    Ok(FINE)
}

fn options(args: &Args, input: &Input) -> Result<Options, String> {
    let stem = || Path::new(&input.file).file_stem().map(|stem| stem.to_string_lossy().into_owned());
    let name = args.run.bundle_name.clone().or_else(|| stem().filter(|_| input.file != "-"));
    let name = name.ok_or("the standard input has no name that a bundle could have: `--bundle-name` gives one")?;
    let link = match args.run.bundle_link {
        BundleLink::Embedded => Link::Embedded,
        BundleLink::Files => Link::Files,
    };
    Ok(Options { name, link, rust: false })
}

/// The targets, each with its pipeline.
fn targets(args: &Args, compiler: &Compiler, session: &Session<'_>) -> Result<Vec<BundleTarget>, u8> {
    let mut own: Vec<(&str, &str)> = Vec::new();
    for given in &args.run.target_pipeline {
        let Some((name, pipeline)) = given.split_once('=') else {
            let given = shorten(given);
            return Err(session.refuse(&format!("`--target-pipeline` is `NAME=STR`, not `{given}`")));
        };
        compiler.pipeline(pipeline, &mut compiler.module()).map_err(|failure| {
            session.tell(&failure.diagnostics, &failure.sources);
            CALL
        })?;
        own.push((name, pipeline));
    }
    let one = std::slice::from_ref(&args.run.target);
    let names = if args.run.targets.is_empty() { one } else { &args.run.targets };
    if let Some((stray, _)) = own.iter().find(|(name, _)| !names.iter().any(|target| target == name)) {
        let stray = shorten(stray);
        return Err(session.refuse(&format!("`--target-pipeline` is for `{stray}`, which is none of `--targets`")));
    }
    let mut targets: Vec<BundleTarget> = Vec::new();
    for name in names {
        let target = Target::parse(name).map_err(|wrong| session.refuse_with(&wrong))?;
        if targets.iter().any(|known| known.target == target) {
            return Err(session.refuse(&format!("`--targets` names `{target}` twice")));
        }
        let own = own.iter().rev().find(|(of, _)| of == name).map(|(_, pipeline)| pipeline.to_string());
        let Some(pipeline) = own.or_else(|| args.run.pass_pipeline.clone()) else {
            let message = format!(
                "a bundle is of programs that are ready to run: `--pass-pipeline=cuda`, or `--target-pipeline={target}=cuda`"
            );
            return Err(session.refuse(&message));
        };
        targets.push(BundleTarget { target, pipeline });
    }
    Ok(targets)
}
