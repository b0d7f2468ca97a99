//! Computes a buffer in another storage scope, and copies it out: `NEW = cache_write(BUFFER, scope)`.
//!
//! The nest stores to the new buffer; `BUFFER.i` is now a loop of the copy, `NEW.i` the old one.
//!
//! # Legality
//!
//! One perfect nest over the dimensions of the buffer computes it, without conditions between its loops, and stores to each
//! element before it reads it. No directive said how its loops run, and nothing else in the nest may be the same array.

use super::super::Item;
use super::super::cx::{Cx, Done};
use super::super::nest::body;
use super::super::stage::{Producer, may_alias};
use super::Primitive;
use super::cache_read::{NOALIAS, copy_nest, make_like};
use tc_dialects::sched;
use tc_dialects::scope::Scope;
use tc_ir::walk::ops_under;
use tc_ir::{Builder, Op, Rewriter, Value, effects};

/// A buffer, what computes it, and where.
pub(super) struct Computed {
    buffer: Value,
    scope: Scope,
    producer: Producer,
}

impl Primitive for sched::CacheWrite {
    type Legal = Computed;

    fn legality(cx: &Cx<'_>) -> Done<Computed> {
        let buffer = cx.buffer(cx.operand(0))?;
        let scope = cx.scope()?;
        let func = cx.func();
        let producer = Producer::of(func, buffer).map_err(|why| cx.no_producer(buffer, why))?;
        if !producer.starts_with_store(func, buffer) {
            let text = format!("`{}` may be read before it gets a value", cx.show(buffer));
            let error = cx.error("not-computed", text).label(cx.place(producer.root), "in this statement");
            return Err(error.help("let it get a value first in each iteration").into());
        }
        let touches = |&op: &Op| {
            effects::accesses(func, op).iter().any(|&(place, _)| {
                let root = effects::root_buffer(func, place);
                root != buffer && may_alias(func, root, buffer)
            })
        };
        if let Some(op) = ops_under(func, body(func, producer.root)).find(touches) {
            let text = format!("`{}` and what is accessed beside it may be one array", cx.show(buffer));
            let error = cx.error("dependence", text).label(cx.place(op), "here");
            return Err(error.help(NOALIAS).into());
        }
        Ok(Computed { buffer, scope, producer })
    }

    fn edit(cx: &mut Cx<'_>, Computed { buffer, scope, producer }: Computed) -> Vec<Item> {
        let name =
            cx.result_name(0).unwrap_or_else(|| format!("{}_{}", cx.show(buffer), scope.name().replace('.', "_")));
        let names: Vec<String> = producer.by_dim.iter().map(|&op| cx.loop_name(op)).collect();
        let computed = make_like(cx, buffer, scope, producer.root, &name);
        let locs = cx.locs_like(producer.root);
        let func = &mut cx.program.func;
        let users: Vec<Op> = ops_under(func, body(func, producer.root))
            .filter(|&op| func.operands(op).first() == Some(&buffer))
            .collect();
        let mut rw = Rewriter::new(func);
        users.iter().for_each(|&op| rw.set_operand(op, 0, computed));
        producer.tidy(&mut rw);
        drop(rw);
        let func = &mut cx.program.func;
        let range = |&op: &Op| (Some(func.operand(op, 0)), func.operand(op, 1));
        let ranges: Vec<(Option<Value>, Value)> = producer.by_dim.iter().map(range).collect();
        let mut b = Builder::after(func, producer.root);
        b.locs = locs;
        copy_nest(&mut b, (buffer, computed), &ranges, &names);
        vec![Item::Buffer(computed)]
    }
}
