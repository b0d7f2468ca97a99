//! What a directive is given: the program, its operands, and the checks that directives share.

use super::nest::{carries, is_plain};
use super::{Consumed, Item, Program};
use tc_dialects::scope::Scope;
use tc_dialects::tir;
use tc_ir::clone::Importer;
use tc_ir::func::Locs;
use tc_ir::{AttrData, Func, Loc, Name, Op, Value, keys};
use tc_support::{Diagnostic, Location, suggest};

/// Why a directive was not applied.
pub(super) enum Refused {
    /// An operand is missing because of an error that was reported.
    Silently,
    With(Box<Diagnostic>),
}

impl From<Diagnostic> for Refused {
    fn from(diagnostic: Diagnostic) -> Refused {
        Refused::With(Box::new(diagnostic))
    }
}

pub(super) type Done<T> = Result<T, Refused>;

/// A directive on its way into the program.
pub(super) struct Cx<'a> {
    pub(super) program: &'a mut Program,
    pub(super) sched: &'a Func,
    /// The directive.
    pub(super) at: Op,
    /// Its name.
    pub(super) by: &'static str,
    pub(super) env: &'a [Item],
}

impl Cx<'_> {
    /// The program as it stands.
    pub(super) fn func(&self) -> &Func {
        &self.program.func
    }

    /// Where the directive stands in the schedule.
    pub(super) fn loc(&self) -> Loc {
        self.sched.op_locs(self.at).source
    }

    pub(super) fn error(&self, code: &'static str, text: impl Into<String>) -> Diagnostic {
        Diagnostic::error(code, self.sched.location(self.loc()), text)
    }

    /// The locations of an op that the directive makes for `like`.
    pub(super) fn locs_like(&mut self, like: Op) -> Locs {
        let source = self.func().op_locs(like).source;
        let loc = self.loc();
        let directive = Importer::new(self.sched).loc(&mut self.program.func, loc);
        Locs { source, directive }
    }

    pub(super) fn operand(&self, nth: usize) -> Value {
        self.sched.operand(self.at, nth)
    }

    /// The operand of parameter `nth`, if it is given.
    pub(super) fn param(&self, nth: usize) -> Option<Value> {
        self.sched.param_operands(self.at, nth).first().copied()
    }

    fn item(&self, value: Value) -> Done<Item> {
        match self.env[value.as_u32() as usize] {
            Item::Poison => Err(Refused::Silently),
            Item::Undefined | Item::Unset => {
                let name = suggest::shorten(self.sched.value_text(value));
                let what = if name.is_empty() { "a name here".to_string() } else { format!("`{name}`") };
                let text = format!("{what} is bound in a branch that these parameters do not take");
                Err(self.error("undefined-name", text).help("bind it in the other branch too").into())
            }
            item => Ok(item),
        }
    }

    fn takes(&self, what: &str) -> Refused {
        self.mistyped(format!("`{}` takes {what} here", self.by)).into()
    }

    pub(super) fn mistyped(&self, text: impl Into<String>) -> Diagnostic {
        self.error("schedule-type", text)
    }

    pub(super) fn wrong_number(&self, text: impl Into<String>) -> Diagnostic {
        self.error("schedule-number", text)
    }

    pub(super) fn int(&self, value: Value) -> Done<i64> {
        match self.item(value)? {
            Item::Int(int) => Ok(int),
            _ => Err(self.takes("an integer")),
        }
    }

    /// A number from 1 to `most`, such as a factor.
    pub(super) fn number(&self, value: Value, what: &str, most: i64) -> Done<i64> {
        let int = self.int(value)?;
        if (1..=most).contains(&int) {
            return Ok(int);
        }
        Err(self.wrong_number(format!("the {what} of `{}` must be 1 to {most}, not {int}", self.by)).into())
    }

    /// A buffer.
    pub(super) fn buffer(&self, value: Value) -> Done<Value> {
        match self.item(value)? {
            Item::Buffer(buffer) => Ok(buffer),
            _ => Err(self.takes("a buffer")),
        }
    }

    /// Does `value` stand for a buffer?
    pub(super) fn is_buffer(&self, value: Value) -> bool {
        matches!(self.env[value.as_u32() as usize], Item::Buffer(_))
    }

    /// A buffer that the program makes.
    pub(super) fn own_buffer(&self, value: Value) -> Done<(Value, Op)> {
        let buffer = self.buffer(value)?;
        match self.func().def_op(buffer).filter(|&op| self.func().opcode(op) == tir::ALLOC) {
            Some(alloc) => Ok((buffer, alloc)),
            None => {
                let name = self.show(buffer);
                let text = format!("`{name}` is no buffer that the program makes");
                let help = format!("`cache_read({name}, …)` or `cache_write({name}, …)` makes one");
                Err(self.error("not-computed", text).help(help).into())
            }
        }
    }

    /// A loop that is there.
    pub(super) fn a_loop(&self, value: Value) -> Done<Op> {
        match self.item(value)? {
            Item::Loop(op) => self.still_there(op),
            _ => Err(self.takes("a loop")),
        }
    }

    fn still_there(&self, op: Op) -> Done<Op> {
        let Some(Consumed { name, loc, by, into }) = self.program.consumed.get(&op) else { return Ok(op) };
        let became: Vec<String> = into.iter().map(|&op| format!("`{}`", self.loop_name(op))).collect();
        let text = format!("`{name}` is no loop any more: `{by}` took it");
        let mut error =
            self.error("axis-consumed", text).label(self.sched.location(*loc), format!("`{by}` takes it here"));
        if !became.is_empty() {
            error = error.help(format!("use {}", became.join(" or ")));
        }
        Err(error.into())
    }

    /// A loop of which no directive has said how it runs, and that carries no values.
    pub(super) fn plain_loop(&self, value: Value) -> Done<Op> {
        let op = self.a_loop(value)?;
        self.check_plain(op)?;
        Ok(op)
    }

    pub(super) fn check_plain(&self, op: Op) -> Done<()> {
        if carries(self.func(), op) {
            let text = format!("the loop `{}` carries values from one iteration to the next", self.loop_name(op));
            let error = self.error("loop-carries", text).label(self.func().op_location(op), "they are named here");
            return Err(error.help("keep what is carried in a buffer").into());
        }
        if is_plain(self.func(), op) {
            return Ok(());
        }
        let text = format!(
            "`{}` takes the loop `{}`, of which it was said how it runs; nothing would carry that out",
            self.by,
            self.loop_name(op)
        );
        let func = self.func();
        let said = func.directive_location(op).unwrap_or_else(|| func.op_location(op));
        Err(self.error("directive-unused", text).label(said, "here").help(format!("write `{}` first", self.by)).into())
    }

    /// The name of a loop for a message.
    pub(super) fn loop_name(&self, op: Op) -> String {
        let func = self.func();
        let arg = func.op_regions(op).first().and_then(|&region| func.region_args(region).first());
        suggest::shorten(arg.map_or("", |&var| func.value_text(var))).to_string()
    }

    /// The name of a buffer for a message.
    pub(super) fn show(&self, buffer: Value) -> String {
        suggest::shorten(self.func().value_text(buffer)).to_string()
    }

    /// The author's name of result `nth`.
    pub(super) fn result_name(&self, nth: usize) -> Option<String> {
        let value = self.sched.results(self.at).nth(nth)?;
        let name = self.sched.value_text(value);
        (!name.is_empty() && name != "_").then(|| name.to_string())
    }

    /// Notes that the directive made `into` of the loop `op`.
    pub(super) fn consume(&mut self, op: Op, into: Vec<Op>) {
        let (name, loc, by) = (self.loop_name(op), self.loc(), self.by);
        self.program.consumed.insert(op, Consumed { name, loc, by, into });
    }

    /// The word or string attribute `key`.
    pub(super) fn word(&self, key: Name) -> &str {
        self.sched.word_of(self.at, key).unwrap_or("")
    }

    /// An attribute that is a truth value.
    pub(super) fn flag(&self, key: &str) -> Option<bool> {
        match self.sched.attr_data(self.sched.attr_named(self.at, key)?) {
            AttrData::Bool(value) => Some(*value),
            AttrData::Unit => Some(true),
            AttrData::Int(value, _) => Some(*value != 0),
            _ => None,
        }
    }

    /// The scope that the directive names.
    pub(super) fn scope(&self) -> Done<Scope> {
        let word = self.word(keys::SCOPE);
        Scope::parse(word).ok_or_else(|| {
            let mut error = self.error("scope", format!("there is no scope `{}`", suggest::shorten(word)));
            error.help = suggest::did_you_mean(word, Scope::ALL.map(Scope::name));
            error.into()
        })
    }

    /// Where `op` of the program stands.
    pub(super) fn place(&self, op: Op) -> Location {
        self.func().op_location(op)
    }
}
