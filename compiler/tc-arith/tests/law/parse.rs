//! Reads statements of laws.

use tc_arith::BinaryOp;

use super::{Condition, Law, Name, Sort, Term};

/// The laws of a statement: one, or one for each relation that `~` stands for.
pub(crate) fn laws(text: &str) -> Result<Vec<Law>, String> {
    if text.contains('~') {
        ["<=", "==", "!="].into_iter().map(|relation| law(&text.replace('~', relation))).collect()
    } else {
        law(text).map(|law| vec![law])
    }
}

fn law(text: &str) -> Result<Law, String> {
    let tokens = tokens(text).map_err(|error| format!("`{text}`: {error}"))?;
    let mut parser = Parser { tokens, at: 0, names: Vec::new() };
    let (left, right, conditions) = parser.law().map_err(|error| {
        let rest: Vec<&str> = parser.tokens.iter().skip(parser.at).map(String::as_str).collect();
        format!("`{text}`: {error}, at `{}`", rest.join(" "))
    })?;
    let law = Law { text: text.to_string(), names: parser.names, left, right, conditions };
    check_sorts(&law).map_err(|error| format!("`{text}`: {error}"))?;
    Ok(law)
}

/// The pieces of a text, the longest first where one begins another.
fn tokens(text: &str) -> Result<Vec<String>, String> {
    const SIGNS: [&str; 20] =
        ["->", "=>", "<=", ">=", "==", "!=", "&&", "||", "<", ">", "=", "!", "+", "-", "*", "/", "%", "(", ")", ","];
    let mut rest = text.trim_start();
    let mut tokens = Vec::new();
    while let Some(first) = rest.chars().next() {
        let length = if first.is_ascii_digit() {
            rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len())
        } else if first.is_ascii_lowercase() {
            rest.find(|c: char| !c.is_ascii_lowercase() && c != '\'').unwrap_or(rest.len())
        } else {
            SIGNS.iter().find(|sign| rest.starts_with(**sign)).ok_or(format!("`{first}` is no sign of laws"))?.len()
        };
        tokens.push(rest[..length].to_string());
        rest = rest[length..].trim_start();
    }
    Ok(tokens)
}

struct Parser {
    tokens: Vec<String>,
    at: usize,
    names: Vec<(String, Sort)>,
}

type Parsed<T> = Result<T, String>;

impl Parser {
    fn peek(&self) -> &str {
        self.tokens.get(self.at).map_or("", String::as_str)
    }

    fn take(&mut self, token: &str) -> bool {
        let found = self.peek() == token;
        self.at += usize::from(found);
        found
    }

    fn expect(&mut self, token: &str) -> Parsed<()> {
        if self.take(token) { Ok(()) } else { Err(format!("expected `{token}`")) }
    }

    fn law(&mut self) -> Parsed<(Term, Term, Vec<Condition>)> {
        let left = self.term()?;
        self.expect("->")?;
        let right = self.term()?;
        let mut conditions = Vec::new();
        if self.take("if") {
            conditions.push(self.condition()?);
            while self.take(",") {
                conditions.push(self.condition()?);
            }
        }
        if self.peek().is_empty() { Ok((left, right, conditions)) } else { Err("expected the end".into()) }
    }

    fn condition(&mut self) -> Parsed<Condition> {
        if self.take("defined") {
            self.expect("(")?;
            let term = self.term()?;
            self.expect(")")?;
            return Ok(Condition::Defined(term));
        }
        if self.take("width") {
            let narrow = self.machine_type()?;
            self.expect("<=")?;
            self.expect("width")?;
            return Ok(Condition::NoWider(narrow, self.machine_type()?));
        }
        if Sort::of(self.peek()) == Some(Sort::Type) {
            let narrow = self.machine_type()?;
            self.expect("in")?;
            return Ok(Condition::Within(narrow, self.machine_type()?));
        }
        let term = self.term()?;
        if self.take("=>") {
            return Ok(Condition::Where(term, Box::new(self.condition()?)));
        }
        if self.take("=") {
            return Ok(Condition::Same(term, self.term()?));
        }
        if self.take("in") {
            return Ok(Condition::InType(term, self.machine_type()?));
        }
        Ok(Condition::Holds(term))
    }

    fn machine_type(&mut self) -> Parsed<Name> {
        if Sort::of(self.peek()) == Some(Sort::Type) { self.name() } else { Err("expected a type".into()) }
    }

    fn name(&mut self) -> Parsed<Name> {
        let text = self.peek().to_string();
        let sort = Sort::of(&text).ok_or(format!("`{text}` is no name"))?;
        self.at += 1;
        Ok(self.names.iter().position(|(known, _)| *known == text).unwrap_or_else(|| {
            self.names.push((text, sort));
            self.names.len() - 1
        }))
    }

    fn term(&mut self) -> Parsed<Term> {
        let mut left = self.conjunction()?;
        while self.take("||") {
            left = binary(BinaryOp::Or, left, self.conjunction()?);
        }
        Ok(left)
    }

    fn conjunction(&mut self) -> Parsed<Term> {
        let mut left = self.comparison()?;
        while self.take("&&") {
            left = binary(BinaryOp::And, left, self.comparison()?);
        }
        Ok(left)
    }

    /// A sum, or a chain of comparisons, which means all of them.
    fn comparison(&mut self) -> Parsed<Term> {
        let mut left = self.sum()?;
        let mut chain: Option<Term> = None;
        loop {
            let token = self.peek().to_string();
            let op = match token.as_str() {
                "<" | ">" => BinaryOp::Lt,
                "<=" | ">=" => BinaryOp::Le,
                "==" => BinaryOp::Eq,
                "!=" => BinaryOp::Ne,
                _ => return Ok(chain.unwrap_or(left)),
            };
            self.at += 1;
            let right = self.sum()?;
            let (a, b) = if token.starts_with('>') { (right.clone(), left) } else { (left, right.clone()) };
            let link = binary(op, a, b);
            chain = Some(match chain {
                Some(before) => binary(BinaryOp::And, before, link),
                None => link,
            });
            left = right;
        }
    }

    fn sum(&mut self) -> Parsed<Term> {
        let mut left = self.product()?;
        loop {
            let op = match self.peek() {
                "+" => BinaryOp::Add,
                "-" => BinaryOp::Sub,
                _ => return Ok(left),
            };
            self.at += 1;
            left = binary(op, left, self.product()?);
        }
    }

    fn product(&mut self) -> Parsed<Term> {
        let mut left = self.unary()?;
        loop {
            let op = match self.peek() {
                "*" => BinaryOp::Mul,
                "/" => BinaryOp::FloorDiv,
                "%" => BinaryOp::FloorMod,
                _ => return Ok(left),
            };
            self.at += 1;
            left = binary(op, left, self.unary()?);
        }
    }

    fn unary(&mut self) -> Parsed<Term> {
        if self.take("-") {
            return Ok(match self.unary()? {
                Term::Int(value) => Term::Int(-value),
                term => Term::Neg(Box::new(term)),
            });
        }
        if self.take("!") {
            return Ok(Term::Not(Box::new(self.unary()?)));
        }
        self.atom()
    }

    fn atom(&mut self) -> Parsed<Term> {
        let token = self.peek().to_string();
        if let Ok(value) = token.parse::<i64>() {
            self.at += 1;
            return Ok(Term::Int(value));
        }
        let function = match token.as_str() {
            "true" | "false" => {
                self.at += 1;
                return Ok(Term::Bool(token == "true"));
            }
            "(" => {
                self.at += 1;
                let term = self.term()?;
                self.expect(")")?;
                return Ok(term);
            }
            "select" => {
                self.at += 1;
                let [condition, then, otherwise] = self.arguments()?;
                return Ok(Term::Select(condition, then, otherwise));
            }
            "cast" => {
                self.at += 1;
                self.expect("<")?;
                let to = self.machine_type()?;
                self.expect(">")?;
                let [term] = self.arguments()?;
                return Ok(Term::Cast(to, term));
            }
            "min" => BinaryOp::Min,
            "max" => BinaryOp::Max,
            "tdiv" => BinaryOp::TruncDiv,
            "tmod" => BinaryOp::TruncMod,
            _ => return self.name().map(Term::Name),
        };
        self.at += 1;
        let [a, b] = self.arguments()?;
        Ok(Term::Binary(function, a, b))
    }

    fn arguments<const N: usize>(&mut self) -> Parsed<[Box<Term>; N]> {
        self.expect("(")?;
        let mut arguments = vec![Box::new(self.term()?)];
        while self.take(",") {
            arguments.push(Box::new(self.term()?));
        }
        self.expect(")")?;
        arguments.try_into().map_err(|_| format!("expected {N} arguments"))
    }
}

fn binary(op: BinaryOp, a: Term, b: Term) -> Term {
    Term::Binary(op, Box::new(a), Box::new(b))
}

impl Law {
    /// Whether a term of the law, whose names are as they should be, is a truth value.
    pub(crate) fn is_truth(&self, term: &Term) -> bool {
        match term {
            Term::Bool(_) | Term::Not(_) => true,
            Term::Name(name) => self.names[*name].1 == Sort::Truth,
            Term::Binary(op, ..) => op.is_boolean(),
            Term::Select(_, then, _) => self.is_truth(then),
            Term::Int(_) | Term::Neg(_) | Term::Cast(..) => false,
        }
    }
}

fn check_sorts(law: &Law) -> Result<(), String> {
    let want = |term: &Term, truth: bool| {
        if law.is_truth(term) == truth {
            Ok(())
        } else {
            Err(format!("expected {} and not {term:?}", if truth { "a truth value" } else { "an integer" }))
        }
    };
    let mut stack = vec![&law.left, &law.right];
    want(&law.right, law.is_truth(&law.left))?;
    let mut conditions: Vec<&Condition> = law.conditions.iter().collect();
    while let Some(condition) = conditions.pop() {
        stack.extend(condition.terms());
        match condition {
            Condition::Holds(term) => want(term, true)?,
            Condition::Same(a, b) => want(b, law.is_truth(a))?,
            Condition::Where(term, inner) => {
                want(term, true)?;
                conditions.push(inner);
            }
            Condition::InType(term, _) => want(term, false)?,
            Condition::Defined(_) | Condition::Within(..) | Condition::NoWider(..) => {}
        }
    }
    while let Some(term) = stack.pop() {
        stack.extend(term.operands());
        match term {
            Term::Name(name) if law.names[*name].1 == Sort::Type => return Err("a type stands for a value".into()),
            Term::Not(a) => want(a, true)?,
            Term::Neg(a) | Term::Cast(_, a) => want(a, false)?,
            Term::Binary(op, a, b) => {
                let truth = matches!(op, BinaryOp::And | BinaryOp::Or);
                want(a, truth)?;
                want(b, truth)?;
            }
            Term::Select(c, a, b) => {
                want(c, true)?;
                want(b, law.is_truth(a))?;
            }
            Term::Int(_) | Term::Bool(_) | Term::Name(_) => {}
        }
    }
    Ok(())
}
