//! The dialects that a run knows. There is no global one: a module carries its own.

use crate::attrs::BinOp;
use crate::opdef::{Context, ItemDef, OpDef, Opcode, Role};
use crate::row_facts::RowFacts;
use rustc_hash::FxHashMap;

/// A dialect: a name, a number and a table of rows.
#[derive(Clone, Copy)]
pub struct Dialect {
    /// The name, which opens the names of its ops.
    pub name: &'static str,
    /// The number, which opens their opcodes; without one, [`Registry::register`] allots one that is free. This repository's
    /// dialects have numbers of 1 to 63, so that their opcodes are constants. One from elsewhere needs none: numbers from 64
    /// on are allotted from the first that is free.
    pub number: Option<u8>,
    /// The rows; at most 256.
    pub rows: &'static [OpDef],
    /// The dotted names of its types.
    pub types: &'static [&'static str],
}

/// The first number that is allotted.
const FIRST_FOREIGN: u8 = 64;

/// Why a dialect was not registered.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum RegisterError {
    /// Another dialect has the number.
    NumberTaken(u8),
    /// Another dialect has the name.
    NameTaken(&'static str),
    /// There are more than 256 rows.
    TooManyRows,
    /// No number is left.
    TooManyDialects,
}

impl std::fmt::Display for RegisterError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            RegisterError::NumberTaken(number) => {
                write!(f, "the number {number} is another dialect's: take one of 64 to 254 that is free")
            }
            RegisterError::NameTaken(name) => write!(f, "another dialect is called `{name}`"),
            RegisterError::TooManyDialects => f.write_str("there are as many dialects as there can be"),
            RegisterError::TooManyRows => f.write_str("a dialect has 256 rows at most"),
        }
    }
}

impl std::error::Error for RegisterError {}

/// The dialects that a run knows, and what can be looked up in them.
#[derive(Clone, Default)]
pub struct Registry {
    dialects: Vec<Dialect>,
    /// The rows of each dialect, by its number.
    rows: Vec<Box<[RowFacts]>>,
    by_name: FxHashMap<&'static str, Opcode>,
    by_short: FxHashMap<(Context, &'static str), Opcode>,
    by_role: FxHashMap<(Context, Role), Opcode>,
    /// The operators of dialects over their own types, by the name of a type.
    operators: FxHashMap<(&'static str, Role), Opcode>,
    items: Vec<(ItemDef, Opcode)>,
}

impl std::fmt::Debug for Registry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.dialects.iter().map(|dialect| dialect.name)).finish()
    }
}

impl Registry {
    /// A registry without dialects.
    pub fn new() -> Registry {
        Registry { rows: vec![Box::default(); 256], ..Registry::default() }
    }

    /// Adds a dialect.
    pub fn register(&mut self, dialect: Dialect) -> Result<(), RegisterError> {
        let is_taken = |number: u8| self.dialects.iter().any(|other| other.number == Some(number));
        let is_free = |number: &u8| !is_taken(*number) && *number != u8::MAX;
        let number = match dialect.number {
            Some(number) if is_free(&number) => number,
            Some(number) => return Err(RegisterError::NumberTaken(number)),
            None => (FIRST_FOREIGN..u8::MAX).find(is_free).ok_or(RegisterError::TooManyDialects)?,
        };
        if self.dialects.iter().any(|other| other.name == dialect.name) {
            return Err(RegisterError::NameTaken(dialect.name));
        }
        if dialect.rows.len() > 256 {
            return Err(RegisterError::TooManyRows);
        }
        self.rows[number as usize] = dialect.rows.iter().map(RowFacts::of).collect();
        for (idx, row) in dialect.rows.iter().enumerate() {
            let opcode = Opcode::new(number, idx as u8);
            self.by_name.insert(row.name, opcode);
            if let Some(short) = row.short {
                self.by_short.entry((row.context, short)).or_insert(opcode);
            }
            if let Role::OwnBinary(_) | Role::OwnUnary(_) = row.role {
                // What these come to is a truth value, which the text counts on.
                let is_truth = |op: BinOp| op.is_comparison() || matches!(op, BinOp::AndAnd | BinOp::OrOr);
                let types = if matches!(row.role, Role::OwnBinary(op) if is_truth(op)) { &[] } else { dialect.types };
                for &ty in types {
                    self.operators.entry((ty, row.role)).or_insert(opcode);
                }
            } else if row.role != Role::Plain {
                self.by_role.entry((row.context, row.role)).or_insert(opcode);
            }
            if let Some(item) = row.item {
                self.items.push((item, opcode));
            }
        }
        self.dialects.push(Dialect { number: Some(number), ..dialect });
        Ok(())
    }

    /// The dialects, in the order in which they were registered.
    pub fn dialects(&self) -> &[Dialect] {
        &self.dialects
    }

    /// The dialect that the row of `opcode` is of.
    pub fn dialect(&self, opcode: Opcode) -> Option<&Dialect> {
        self.dialects.iter().find(|dialect| dialect.number == Some(opcode.dialect()))
    }

    /// The row of `opcode`; the row of unknown ops if there is none.
    #[inline]
    pub fn row(&self, opcode: Opcode) -> &'static OpDef {
        self.facts(opcode).row
    }

    /// The row of `opcode`, and what follows from it.
    #[inline]
    pub(crate) fn facts(&self, opcode: Opcode) -> &RowFacts {
        let known = self.rows.get(opcode.dialect() as usize).and_then(|rows| rows.get(opcode.row() as usize));
        known.unwrap_or(&RowFacts::UNKNOWN)
    }

    /// The op with this dotted name.
    pub fn by_name(&self, name: &str) -> Option<Opcode> {
        self.by_name.get(name).copied()
    }

    /// The op that this short name calls in `context`.
    pub fn by_short(&self, context: Context, name: &str) -> Option<Opcode> {
        // The map's keys are `'static`; a lookup by a borrowed key needs the same lifetime only in type.
        self.by_short.get(&(context, name)).or_else(|| self.by_short.get(&(Context::Any, name))).copied()
    }

    /// The op behind a piece of sugar in `context`.
    pub fn by_role(&self, context: Context, role: Role) -> Option<Opcode> {
        self.by_role.get(&(context, role)).or_else(|| self.by_role.get(&(Context::Any, role))).copied()
    }

    /// The op behind an operator over a type of a dialect, given by its dotted name.
    pub fn operator(&self, ty: &str, role: Role) -> Option<Opcode> {
        self.operators.get(&(ty, role)).copied()
    }

    /// The item that `keyword` opens.
    pub fn item(&self, keyword: &str) -> Option<(ItemDef, Opcode)> {
        self.items.iter().find(|(item, _)| item.keyword == keyword).copied()
    }

    /// The dotted names of the dialects' own types, in the order of the dialects.
    pub fn type_names(&self) -> impl Iterator<Item = &'static str> + Clone + '_ {
        self.dialects.iter().flat_map(|dialect| dialect.types).copied()
    }

    /// The words that open items.
    pub fn item_keywords(&self) -> impl Iterator<Item = &'static str> + Clone + '_ {
        self.items.iter().map(|(item, _)| item.keyword)
    }

    /// The short names that can be called in `context`, in the order of the rows.
    pub fn short_names(&self, context: Context) -> impl Iterator<Item = &'static str> + Clone + '_ {
        self.dialects
            .iter()
            .flat_map(|dialect| dialect.rows)
            .filter(move |row| row.context == context || row.context == Context::Any)
            .filter_map(|row| row.short)
    }

    /// The dotted names of all ops, in the order of the rows.
    pub fn names(&self) -> impl Iterator<Item = &'static str> + Clone + '_ {
        self.dialects.iter().flat_map(|dialect| dialect.rows).map(|row| row.name)
    }
}
