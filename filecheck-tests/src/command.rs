//! `RUN` lines as commands.

/// One command of a `RUN` line.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Command {
    /// Must it fail?
    pub not: bool,
    /// The name of the tool.
    pub tool: String,
    /// Its arguments.
    pub args: Vec<String>,
    /// Does its standard error go where its output goes?
    pub merge: bool,
}

impl Command {
    /// Is `flag` among the arguments?
    pub fn has(&self, flag: &str) -> bool {
        self.args.iter().any(|arg| arg == flag)
    }
}

/// What stands for paths in a `RUN` line.
#[derive(Clone, Debug)]
pub struct Names {
    /// `%s`: the file itself.
    pub file: String,
    /// `%S`: its folder.
    pub folder: String,
    /// `%t`: a path for what the test writes.
    pub temporary: String,
}

/// Takes a `RUN` line apart, as a shell would, into the commands of its pipe.
pub fn parse(line: &str, names: &Names) -> Result<Vec<Command>, String> {
    let mut commands = Vec::new();
    let mut words: Vec<String> = Vec::new();
    for word in words_of(line)?.into_iter().chain([Word::Pipe]) {
        match word {
            Word::Text(text) => words.push(expand(&text, names)),
            Word::Pipe => commands.push(command(std::mem::take(&mut words))?),
        }
    }
    Ok(commands)
}

fn command(mut words: Vec<String>) -> Result<Command, String> {
    let not = words.first().is_some_and(|word| word == "not");
    if not {
        words.remove(0);
    }
    let before = words.len();
    words.retain(|word| word != "2>&1");
    let merge = words.len() != before;
    if words.is_empty() {
        return Err("a command is missing".to_string());
    }
    let tool = words.remove(0);
    Ok(Command { not, tool, args: words, merge })
}

fn expand(word: &str, names: &Names) -> String {
    word.replace("%s", &names.file).replace("%S", &names.folder).replace("%t", &names.temporary)
}

enum Word {
    Text(String),
    Pipe,
}

fn words_of(line: &str) -> Result<Vec<Word>, String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut chars = line.chars();
    while let Some(c) = chars.next() {
        match c {
            quote @ ('\'' | '"') => {
                let word = word.get_or_insert_default();
                loop {
                    match chars.next() {
                        None => return Err(format!("a {quote} is never closed")),
                        Some(c) if c == quote => break,
                        Some(c) => word.push(c),
                    }
                }
            }
            '|' => {
                words.extend(word.take().map(Word::Text));
                words.push(Word::Pipe);
            }
            c if c.is_whitespace() => words.extend(word.take().map(Word::Text)),
            c => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word.take().map(Word::Text));
    Ok(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_taken_apart_as_a_shell_would() {
        let names = Names { file: "a/b.tir".into(), folder: "a".into(), temporary: "/tmp/x".into() };
        let line = "not tc-opt %s --pass-pipeline='module(a{x=\"1 2\"})' -o %t.out 2>&1 | FileCheck %s";
        let commands = parse(line, &names).expect("right");
        assert_eq!(commands.len(), 2);
        assert!(commands[0].not && commands[0].merge && !commands[1].not);
        assert_eq!(commands[0].args, ["a/b.tir", "--pass-pipeline=module(a{x=\"1 2\"})", "-o", "/tmp/x.out"]);
        assert_eq!(commands[1].tool, "FileCheck");
        assert!(parse("tc-opt 'x", &names).is_err());
        assert!(parse("tc-opt |", &names).is_err());
    }
}
