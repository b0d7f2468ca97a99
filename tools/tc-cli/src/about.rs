//! What a tool says of itself: completion scripts and the manual page, made of the command line.

use clap::builder::PossibleValuesParser;
use clap::{Command, ValueEnum};

/// The shells that there are completion scripts for.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum, Debug)]
pub enum Shell {
    /// Bash.
    Bash,
    /// Zsh.
    Zsh,
    /// Fish.
    Fish,
}

/// What a tool says of itself.
#[derive(Clone, clap::Args, Debug)]
#[command(next_help_heading = "Asking")]
pub struct AboutArgs {
    /// Print a script that completes flags and names in this shell: `source <(tc-opt --completion=bash)`
    #[arg(long, value_enum, value_name = "SHELL")]
    pub completion: Option<Shell>,

    /// Print the manual page, for `man -l -`
    #[arg(long)]
    pub man_page: bool,
}

impl AboutArgs {
    /// The answer, if one is asked for. `command` is the command line; `with_names` adds the names to it that may stand
    /// in the place of values.
    pub(crate) fn answer(&self, command: Command, with_names: fn(Command) -> Command) -> Option<String> {
        if let Some(shell) = self.completion {
            let mut bytes = Vec::new();
            let name = command.get_name().to_string();
            let mut command = with_names(command);
            let shell = match shell {
                Shell::Bash => clap_complete::Shell::Bash,
                Shell::Zsh => clap_complete::Shell::Zsh,
                Shell::Fish => clap_complete::Shell::Fish,
            };
            clap_complete::generate(shell, &mut command, name, &mut bytes);
            let script = String::from_utf8_lossy(&bytes);
            return Some(if self.completion == Some(Shell::Bash) { with_equals(&script) } else { script.into_owned() });
        }
        if self.man_page {
            let mut bytes = Vec::new();
            // A vector takes all that is written.
            clap_mangen::Man::new(command).render(&mut bytes).ok()?;
            return Some(roff(&String::from_utf8_lossy(&bytes)));
        }
        None
    }
}

/// Bash takes `--flag=value` for three words; the script that is generated knows two.
fn with_equals(script: &str) -> String {
    let three = "prev=\"$3\"
    if [[ \"${cur}\" == \"=\" ]]; then
        cur=\"\"
    elif [[ \"${prev}\" == \"=\" ]]; then
        prev=\"${COMP_WORDS[COMP_CWORD-2]}\"
    fi
";
    script.replacen("prev=\"$3\"\n", three, 1)
}

/// A manual page in ASCII, which every roff reads.
fn roff(page: &str) -> String {
    let mut out = String::with_capacity(page.len());
    for c in page.chars() {
        if c.is_ascii() { out.push(c) } else { out.push_str(&format!("\\[u{:04X}]", u32::from(c))) }
    }
    out
}

/// `command` with `names` in the place of the values of the flags called `flags`, so that shells complete them.
pub fn complete(command: Command, flags: &[&str], names: &[&'static str]) -> Command {
    command.mut_args(|arg| {
        if flags.contains(&arg.get_id().as_str()) {
            arg.value_parser(PossibleValuesParser::new(names.iter().copied())).hide_possible_values(true)
        } else {
            arg
        }
    })
}
