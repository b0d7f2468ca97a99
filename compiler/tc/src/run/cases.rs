//! What of a file is run: operators by definition, their schedules, programs.

use tc_dialects::{algebra, forms, te, tir};
use tc_ir::opdef::SymbolTable;
use tc_ir::walk::all_ops;
use tc_ir::{AttrData, Func, Module, keys};
use tc_support::{Diagnostic, Location, suggest};

/// One thing to run. Numbers are those of the module's items.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Case {
    /// The operator or the program.
    pub func: usize,
    /// The schedule that is applied to the operator.
    pub schedule: Option<usize>,
    /// The operator that says what comes out.
    pub definition: Option<usize>,
}

impl Case {
    /// Is a `te.func` evaluated as it is written?
    pub fn is_definition(&self) -> bool {
        self.schedule.is_none() && self.definition == Some(self.func)
    }

    /// `conv1d @v5`, or the name of the operator or the program.
    pub fn name(&self, module: &Module) -> String {
        let func = module.items[self.func].symbol();
        match self.schedule {
            Some(schedule) => format!("{func} @{}", module.items[schedule].symbol()),
            None => func.to_string(),
        }
    }
}

/// What the caller wants to run.
#[derive(Clone, Copy, Default, Debug)]
pub struct Choice<'a> {
    /// The operator or the program, without `@`; all of the file if there is none.
    pub func: Option<&'a str>,
    /// The schedule, without `@`; all of the operator if there is none.
    pub schedule: Option<&'a str>,
}

/// Why there is nothing to run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Refused {
    /// The caller asked for what is not there.
    Call(Box<Diagnostic>),
    /// The file is at fault.
    Input(Box<Diagnostic>),
}

fn call(message: String, help: Option<String>) -> Refused {
    let mut diagnostic = Diagnostic::error("choice", Location::None, message);
    diagnostic.help = help;
    Refused::Call(Box::new(diagnostic))
}

fn input(code: &'static str, message: &str, help: &str) -> Refused {
    Refused::Input(Box::new(Diagnostic::error(code, Location::None, message).help(help)))
}

/// Is `item` an operator?
pub fn is_operator(item: &Func) -> bool {
    item.header.opcode == te::FuncItem::OPCODE
}

/// Is `item` a program that can be called: no kernel?
pub fn is_program(item: &Func) -> bool {
    item.header.opcode == tir::FuncItem::OPCODE && !forms::is_device(item)
}

/// All that can be checked: each operator under each of its schedules, and the programs.
///
/// A program that another one calls and that implements no operator is a part of that one, and left out unless it is
/// named. One that binds no loop and has schedules is what these are compared with, not a case itself.
pub fn to_check(module: &Module, choice: Choice<'_>) -> Result<Vec<Case>, Refused> {
    let chosen = functions(module, choice)?;
    let mut cases = Vec::new();
    for &func in &chosen {
        let item = &module.items[func];
        let is_whole = choice.func.is_some() || !is_part(module, item);
        if !is_operator(item) && choice.schedule.is_none() && is_whole && !waits_for_schedule(module, item) {
            cases.push(Case { func, schedule: None, definition: definition(module, func)? });
        }
        cases.extend(scheduled(module, func, choice)?);
    }
    // An operator brings the programs that implement it along.
    if choice.func.is_some() && choice.schedule.is_none() {
        for (func, item) in module.items.iter().enumerate() {
            if is_program(item) && !chosen.contains(&func) {
                let definition = definition(module, func)?;
                if definition.is_some_and(|operator| chosen.contains(&operator)) {
                    cases.push(Case { func, schedule: None, definition });
                }
            }
        }
    }
    if cases.is_empty() {
        require_schedule(module, &chosen, choice)?;
        let help = "write a `schedule` for the operator, or leave `--check` out to evaluate its definition";
        return Err(input("nothing-to-check", "there is nothing to check: no schedule and no program", help));
    }
    Ok(cases)
}

/// All that can be evaluated: operators by definition, or under the schedule that was chosen, and programs.
pub fn to_evaluate(module: &Module, choice: Choice<'_>) -> Result<Vec<Case>, Refused> {
    let chosen = functions(module, choice)?;
    let mut cases = Vec::new();
    for &func in &chosen {
        let item = &module.items[func];
        match (is_operator(item), choice.schedule) {
            (_, Some(_)) => cases.extend(scheduled(module, func, choice)?),
            (true, None) => cases.push(Case { func, schedule: None, definition: Some(func) }),
            (false, None) if choice.func.is_some() || !is_part(module, item) => {
                cases.push(Case { func, schedule: None, definition: definition(module, func)? });
            }
            (false, None) => {}
        }
    }
    require_schedule(module, &chosen, choice)?;
    Ok(cases)
}

/// The operators and programs that the caller chose.
fn functions(module: &Module, choice: Choice<'_>) -> Result<Vec<usize>, Refused> {
    let can_run = |item: &Func| is_operator(item) || is_program(item);
    let all = || module.items.iter().enumerate().filter(|(_, item)| can_run(item));
    if module.items.is_empty() {
        return Err(input("empty", "the file holds no items", "write a `te.func` or a `tir.func`"));
    }
    let Some(name) = choice.func else {
        let chosen: Vec<usize> = all().map(|(func, _)| func).collect();
        if chosen.is_empty() {
            return Err(input(
                "nothing-to-run",
                "the file holds no operator and no program",
                "write a `te.func` or a `tir.func`",
            ));
        }
        return Ok(chosen);
    };
    if let Some((func, _)) = all().find(|(_, item)| item.symbol() == name) {
        return Ok(vec![func]);
    }
    let shown = suggest::shorten(name);
    if let Some(item) = module.items.iter().find(|item| item.symbol() == name) {
        let what = if forms::is_device(item) {
            "kernel".to_string()
        } else {
            format!("`{}`", item.item_row().item.map_or("item", |item| item.keyword))
        };
        return Err(call(format!("`@{shown}` is a {what}, which does not run on its own"), None));
    }
    let names: Vec<&str> = all().map(|(_, item)| item.symbol()).collect();
    Err(call(format!("there is no operator or program `@{shown}` in the file"), at_signs(name, &names)))
}

/// `did you mean @x?`, or the list.
fn at_signs(name: &str, names: &[&str]) -> Option<String> {
    let names: Vec<String> = names.iter().map(|name| format!("@{name}")).collect();
    suggest::did_you_mean(&format!("@{name}"), names.iter().map(String::as_str))
}

/// The operator or program `func` under its schedules, or under the chosen one.
fn scheduled(module: &Module, func: usize, choice: Choice<'_>) -> Result<Vec<Case>, Refused> {
    let item = &module.items[func];
    let schedules = module.schedules_for(item.symbol());
    let wanted = |schedule: &usize| choice.schedule.is_none_or(|name| module.items[*schedule].symbol() == name);
    schedules.filter(wanted).map(|schedule| under(module, func, schedule)).collect()
}

/// The operator or program `func` under `schedule`: what it is compared with is the operator, or the one that it implements.
pub fn under(module: &Module, func: usize, schedule: usize) -> Result<Case, Refused> {
    let definition = if is_operator(&module.items[func]) { Some(func) } else { definition(module, func)? };
    Ok(Case { func, schedule: Some(schedule), definition })
}

/// Refuses a schedule that none of the chosen operators has.
fn require_schedule(module: &Module, chosen: &[usize], choice: Choice<'_>) -> Result<(), Refused> {
    let Some(name) = choice.schedule else { return Ok(()) };
    for &func in chosen {
        if !scheduled(module, func, choice)?.is_empty() {
            return Ok(());
        }
    }
    let mut names: Vec<&str> = Vec::new();
    for &func in chosen {
        names.extend(module.schedules_for(module.items[func].symbol()).map(|idx| module.items[idx].symbol()));
    }
    let of = match choice.func {
        Some(func) => format!("for `@{}`", suggest::shorten(func)),
        None => "in the file".to_string(),
    };
    Err(call(format!("there is no schedule `@{}` {of}", suggest::shorten(name)), at_signs(name, &names)))
}

/// Is `item` a program without launches, whose schedules make some?
fn waits_for_schedule(module: &Module, item: &Func) -> bool {
    is_program(item)
        && module.schedules_for(item.symbol()).next().is_some()
        && !all_ops(item).any(|op| algebra::is_launch(item, op))
}

/// Is `item` called by another program, and implements nothing by itself?
fn is_part(module: &Module, item: &Func) -> bool {
    implements(item).is_none()
        && module
            .items
            .iter()
            .any(|caller| !std::ptr::eq(caller, item) && calls(caller).any(|callee| callee == item.symbol()))
}

/// The functions that `func` calls.
pub fn calls(func: &Func) -> impl Iterator<Item = &str> {
    all_ops(func).filter_map(|op| match func.attr_data(func.attr_of(op, keys::CALLEE)?) {
        AttrData::Symbol(callee) => Some(&**callee),
        _ => None,
    })
}

fn implements(item: &Func) -> Option<&str> {
    match item.attr_data(item.entry(item.header.attrs, keys::IMPLEMENTS)?) {
        AttrData::Symbol(operator) => Some(operator),
        _ => None,
    }
}

/// The operator that the program `func` implements.
fn definition(module: &Module, func: usize) -> Result<Option<usize>, Refused> {
    let item = &module.items[func];
    let Some(name) = implements(item) else { return Ok(None) };
    let found = module.find(SymbolTable::Functions, name);
    if let Some(operator) = found.filter(|&operator| is_operator(&module.items[operator])) {
        return Ok(Some(operator));
    }
    let text =
        format!("`@{}` implements `@{}`, which is no operator of the file", item.symbol(), suggest::shorten(name));
    let mut diagnostic = Diagnostic::error("implements", item.location(item.header.loc), text);
    let operators: Vec<&str> = module.items.iter().filter(|item| is_operator(item)).map(Func::symbol).collect();
    diagnostic.help = at_signs(name, &operators);
    Err(Refused::Input(Box::new(diagnostic)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Compiler;

    const FILE: &str = "
te.func @f(A: f32[8]) -> f32[8] {
  compute B[i: 8] = A[i]
  return B
}
te.func @g(A: f32[8]) -> f32[8] {
  compute B[i: 8] = A[i] * 2.0
  return B
}
schedule @one for @f, @g {}
schedule @two for @f {}
tir.func @by_hand(A: f32[8], B: f32[8]) attributes {implements = @g} {
  for i in 0..8 {
    B[i] = A[i] * 2.0
  }
}
";

    fn module(text: &str) -> Module {
        Compiler::new().parse("f.tir", text).expect("a good file").module
    }

    fn names(module: &Module, cases: Vec<Case>) -> Vec<String> {
        cases.iter().map(|case| case.name(module)).collect()
    }

    fn refused(result: Result<Vec<Case>, Refused>) -> (bool, String) {
        match result.expect_err("refused") {
            Refused::Call(found) => (true, format!("{}; {}", found.message, found.help.unwrap_or_default())),
            Refused::Input(found) => (false, format!("{}; {}", found.message, found.help.unwrap_or_default())),
        }
    }

    #[test]
    fn without_a_choice_all_schedules_and_programs_are_checked() {
        let module = module(FILE);
        let checked = |func, schedule| names(&module, to_check(&module, Choice { func, schedule }).expect("cases"));
        assert_eq!(checked(None, None), ["f @one", "f @two", "g @one", "by_hand"]);
        assert_eq!(checked(Some("g"), None), ["g @one", "by_hand"]);
        assert_eq!(checked(Some("by_hand"), None), ["by_hand"]);
        assert_eq!(checked(None, Some("one")), ["f @one", "g @one"]);
        let evaluated =
            |func, schedule| names(&module, to_evaluate(&module, Choice { func, schedule }).expect("cases"));
        assert_eq!(evaluated(None, None), ["f", "g", "by_hand"]);
        assert_eq!(evaluated(Some("f"), Some("two")), ["f @two"]);
        let by_hand = to_check(&module, Choice { func: Some("by_hand"), schedule: None }).expect("a case")[0];
        assert_eq!(by_hand.definition, Some(1));
        assert!(!by_hand.is_definition());
    }

    #[test]
    fn what_is_not_there_is_the_callers_fault() {
        let module = module(FILE);
        let check = |func, schedule| refused(to_check(&module, Choice { func, schedule }));
        let text = "there is no operator or program `@zzz` in the file; there is `@f`, `@g`, `@by_hand`";
        assert_eq!(check(Some("zzz"), None), (true, text.to_string()));
        assert!(check(Some("by_hnd"), None).1.ends_with("did you mean `@by_hand`?"));
        assert!(check(Some("one"), None).1.starts_with("`@one` is a `schedule`"));
        let text = "there is no schedule `@twoo` for `@f`; did you mean `@two`?";
        assert_eq!(check(Some("f"), Some("twoo")), (true, text.to_string()));
        assert!(check(Some("g"), Some("two")).0);
        assert!(check(Some("by_hand"), Some("one")).1.starts_with("there is no schedule `@one` for `@by_hand`"));
        assert!(refused(to_evaluate(&module, Choice { func: None, schedule: Some("x") })).0);
    }

    #[test]
    fn a_file_without_anything_to_do_is_at_fault() {
        let none = Choice::default();
        assert_eq!(
            refused(to_check(&module(""), none)).1,
            "the file holds no items; write a `te.func` or a `tir.func`"
        );
        let bare = module("te.func @f(A: f32[8]) -> f32[8] { compute B[i: 8] = A[i] return B }");
        let (is_call, text) = refused(to_check(&bare, none));
        assert!(!is_call && text.starts_with("there is nothing to check"), "{text}");
        assert_eq!(to_evaluate(&bare, none).expect("a case").len(), 1);
        let lost = module("tir.func @p(A: f32[8]) attributes {implements = @q} { A[0] = 1.0 }");
        assert!(refused(to_check(&lost, none)).1.contains("`@p` implements `@q`"));
    }
}
