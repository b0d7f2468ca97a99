//! What the verifier finds in functions that are broken in one place each.
//!
//! In builds with debug assertions the verifier looks at every op in two ways, which must agree.

use super::verify;
use crate::builder::OpSpec;
use crate::opdef::{OpDef, Opcode, Param, ParamKind, RegionDef, Results};
use crate::registry::Dialect;
use crate::{Attr, AttrData, Builder, Func, Name, Op, Registry, Value};
use std::sync::Arc;
use tc_support::{Diagnostic, Diagnostics};

const PAIR: Opcode = Opcode::new(1, 0);
const MANY: Opcode = Opcode::new(1, 1);
const WORD: Opcode = Opcode::new(1, 2);
const NUMBER: Opcode = Opcode::new(1, 3);
const BLOCK: Opcode = Opcode::new(1, 4);
const END: Opcode = Opcode::new(1, 5);

const VALUE: ParamKind = ParamKind::Value;

static ROWS: &[OpDef] = &[
    OpDef {
        name: "t.pair",
        params: &[Param::pos("a", VALUE), Param::pos("b", VALUE)],
        results: Results::Count(1),
        verify_alone: Some(of_indices),
        ..OpDef::BASE
    },
    OpDef {
        name: "t.many",
        params: &[
            Param::pos("first", VALUE),
            Param::pos("rest", ParamKind::Values),
            Param::key("by", VALUE),
            Param::key("to", VALUE).opt(),
        ],
        results: Results::Many,
        ..OpDef::BASE
    },
    OpDef {
        name: "t.word",
        params: &[Param::pos("kind", ParamKind::Word), Param::key("n", ParamKind::Int).opt()],
        ..OpDef::BASE
    },
    OpDef { name: "t.number", params: &[Param::pos("kind", ParamKind::Int)], ..OpDef::BASE },
    OpDef {
        name: "t.block",
        regions: &[RegionDef { name: "body", optional: false }, RegionDef { name: "other", optional: true }],
        ..OpDef::BASE
    },
    OpDef { name: "t.end", params: &[Param::pos("values", ParamKind::Values)], terminator: true, ..OpDef::BASE },
];

/// Refuses operands of other types than `index`.
fn of_indices(func: &Func, op: Op, found: &mut Diagnostics) {
    let is_other = |&operand: &Value| func.value_scalar(operand).is_none_or(|scalar| scalar.elem != crate::Elem::Index);
    if func.operands(op).iter().any(is_other) {
        found.push(Diagnostic::error("type", func.op_location(op), "`t.pair` pairs what is not `index`"));
    }
}

fn empty() -> Func {
    let mut registry = Registry::new();
    let dialect = Dialect { name: "t", number: Some(1), rows: ROWS, types: &[] };
    registry.register(dialect).expect("the registry is empty");
    Func::new(Arc::new(registry), Opcode::UNKNOWN, "f")
}

type Entries<'e> = &'e [(Name, Attr)];

/// How an op is made: its operands, which keyed ones are given, its results and regions.
#[derive(Clone, Copy, Default)]
struct Made<'m> {
    operands: &'m [Value],
    keyed: u16,
    attrs: Entries<'m>,
    n_results: usize,
    n_regions: usize,
}

fn push(func: &mut Func, opcode: Opcode, made: Made<'_>) -> Op {
    let Made { operands, keyed, attrs, n_results, n_regions } = made;
    let (attrs, results) = (func.dict(attrs), vec![func.index_ty(); n_results]);
    let region = func.body();
    Builder::at_end(func, region).op(OpSpec { opcode, operands, keyed, attrs, results: &results, n_regions })
}

fn arg(func: &mut Func) -> Value {
    let (body, index) = (func.body(), func.index_ty());
    func.push_arg(body, index, Some("x"))
}

fn messages(func: &Func) -> Vec<String> {
    verify(func).iter().map(|found| found.message.clone()).collect()
}

#[test]
fn values_are_used_in_scope_only() {
    let mut func = empty();
    let x = arg(&mut func);
    let block = push(&mut func, BLOCK, Made { n_regions: 1, ..Made::default() });
    let pair = Made { operands: &[x, x], n_results: 1, ..Made::default() };
    let inner = push(&mut func, PAIR, pair);
    assert!(messages(&func).is_empty());
    let y = func.result(inner).expect("a pair has a result");
    let user = push(&mut func, PAIR, Made { operands: &[y, x], ..pair });
    assert!(messages(&func).is_empty());
    let mut rw = crate::Rewriter::new(&mut func);
    rw.move_before(user, block);
    drop(rw);
    assert_eq!(messages(&func), [format!("`t.pair` uses {y:?}, which is not in scope there")]);
    let region = func.op_regions(block)[0];
    let mut rw = crate::Rewriter::new(&mut func);
    rw.move_to_end(inner, region);
    rw.move_to_end(user, region);
    drop(rw);
    assert!(messages(&func).is_empty());
    let body = func.body();
    crate::Rewriter::new(&mut func).move_to_end(user, body);
    assert_eq!(messages(&func), [format!("`t.pair` uses {y:?}, which is not in scope there")]);
}

#[test]
fn uses_are_counted() {
    let mut func = empty();
    let x = arg(&mut func);
    let pair = push(&mut func, PAIR, Made { operands: &[x, x], n_results: 1, ..Made::default() });
    let y = func.result(pair).expect("a pair has a result");
    push(&mut func, PAIR, Made { operands: &[y, y], n_results: 1, ..Made::default() });
    assert!(messages(&func).is_empty());
    func.values[y].n_uses = 1;
    assert_eq!(messages(&func), [format!("{y:?} of `t.pair` is used 2 times, but 1 are on record")]);
}

#[test]
fn what_ends_a_region_stands_last() {
    let mut func = empty();
    push(&mut func, END, Made::default());
    assert!(messages(&func).is_empty());
    push(&mut func, END, Made::default());
    assert_eq!(messages(&func), ["`t.end` does not stand at the end of its block"]);
}

#[test]
fn attributes_are_those_of_the_row() {
    let mut func = empty();
    let (kind, n, note, other) = (func.name("kind"), func.name("n"), func.name("x.note"), func.name("other"));
    let (word, one, unit) = (func.word_attr("w"), func.int_attr(1), func.attr(AttrData::Unit));
    let lists: [(Opcode, Entries<'_>, &[&str]); 11] = [
        (WORD, &[(kind, word)], &[]),
        (WORD, &[(kind, word), (n, one)], &[]),
        (WORD, &[(n, one), (kind, word)], &[]),
        (WORD, &[(kind, word), (note, unit)], &[]),
        (WORD, &[(note, unit), (kind, word)], &[]),
        (WORD, &[], &["`t.word` lacks its attribute `kind`"]),
        (WORD, &[(kind, one)], &["attribute `kind` of `t.word` must be a word"]),
        (WORD, &[(kind, word), (n, word)], &["attribute `n` of `t.word` must be an integer"]),
        (WORD, &[(kind, word), (other, unit)], &["`t.word` has no attribute `other`"]),
        // A list that fits one row need not fit another, nor the same row again after that.
        (NUMBER, &[(kind, one)], &[]),
        (NUMBER, &[(kind, word)], &["attribute `kind` of `t.number` must be an integer"]),
    ];
    for (opcode, attrs, _) in lists {
        push(&mut func, opcode, Made { attrs, ..Made::default() });
    }
    push(&mut func, WORD, Made { attrs: &[(kind, one)], ..Made::default() });
    let mut want: Vec<&str> = lists.iter().flat_map(|(_, _, wrong)| *wrong).copied().collect();
    want.push("attribute `kind` of `t.word` must be a word");
    assert_eq!(messages(&func), want);
}

/// All numbers of operands, results and regions up to three, with all sets of keyed operands.
#[test]
fn ops_have_what_their_rows_declare() {
    for n in 0..3 * 4 * 4 * 4 * 4usize {
        let (opcode, n_operands) = ([PAIR, MANY, BLOCK][n % 3], n / 3 % 4);
        let (keyed, n_results, n_regions) = ((n / 12 % 4) as u16, n / 48 % 4, n / 192 % 4);
        let mut func = empty();
        let x = arg(&mut func);
        let operands = vec![x; n_operands];
        push(&mut func, opcode, Made { operands: &operands, keyed, n_results, n_regions, attrs: &[] });
        let fits = match opcode {
            PAIR => n_operands == 2 && n_results == 1 && n_regions == 0,
            // One operand comes first, one by the key `by`, and one more where the second bit says so.
            MANY => keyed & 1 == 1 && n_operands >= 2 + usize::from(keyed >> 1) && n_regions == 0,
            _ => n_operands == 0 && n_results == 0 && (1..=2).contains(&n_regions),
        };
        assert_eq!(messages(&func).is_empty(), fits, "case {n}: {:?}", messages(&func));
    }
}

/// An edit of an op that was checked is checked again, and one verifier finds what the other does.
#[test]
fn what_was_edited_is_checked_again() {
    type Edit = fn(&mut Func, Op, Op);
    let edits: [(Edit, &str); 6] = [
        (|func, pair, _| crate::Rewriter::new(func).set_opcode(pair, BLOCK), "`t.block` takes 0 operands, not 2"),
        (|func, pair, _| crate::Rewriter::new(func).set_operands(pair, &[]), "`t.pair` takes 2 operands, not 0"),
        (
            |func, _, word| crate::Rewriter::new(func).set_attrs(word, crate::Attrs::EMPTY),
            "`t.word` lacks its attribute `kind`",
        ),
        (
            |func, pair, _| {
                let x = func.operand(pair, 0);
                let float = func.scalar_ty(crate::Scalar::of(crate::Elem::F32));
                crate::Rewriter::new(func).set_type(x, float);
            },
            "`t.pair` pairs what is not `index`",
        ),
        (
            |func, pair, _| {
                let float = func.scalar_ty(crate::Scalar::of(crate::Elem::F32));
                let body = func.body();
                let y = func.push_arg(body, float, Some("y"));
                crate::Rewriter::new(func).set_operand(pair, 1, y);
            },
            "`t.pair` pairs what is not `index`",
        ),
        (
            |func, _, _| {
                push(func, WORD, Made::default());
            },
            "`t.word` lacks its attribute `kind`",
        ),
    ];
    for (edit, want) in edits {
        let mut func = empty();
        let x = arg(&mut func);
        let pair = push(&mut func, PAIR, Made { operands: &[x, x], n_results: 1, ..Made::default() });
        let (kind, word) = (func.name("kind"), func.word_attr("w"));
        let word = push(&mut func, WORD, Made { attrs: &[(kind, word)], ..Made::default() });
        assert!(super::verify_edited(&mut func).is_empty());
        edit(&mut func, pair, word);
        let mut copy = func.clone();
        for func in [&mut func, &mut copy] {
            let edited: Vec<String> = super::verify_edited(func).iter().map(|found| found.message.clone()).collect();
            assert_eq!(edited, [want]);
            // What was wrong is not taken for checked.
            assert_eq!(messages(func), edited);
            assert!(super::verify_edited(func).has_errors());
        }
    }
}
