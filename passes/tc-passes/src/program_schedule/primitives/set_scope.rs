//! Sets the storage scope of a buffer that the program makes: `set_scope(BUFFER, scope)`.
//!
//! # Legality
//!
//! The buffer is only loaded from and stored to. At the end of the schedule the rules of [launch loops](#launch-loops) hold.

use super::super::Item;
use super::super::cx::{Cx, Done};
use super::super::stage::accesses;
use super::Primitive;
use tc_dialects::sched;
use tc_dialects::scope::Scope;
use tc_ir::{Rewriter, TypeData, Value};

impl Primitive for sched::SetScope {
    type Legal = (Value, Scope);

    fn legality(cx: &Cx<'_>) -> Done<(Value, Scope)> {
        let (buffer, _) = cx.own_buffer(cx.operand(0))?;
        let scope = cx.scope()?;
        if let Err(op) = accesses(cx.func(), buffer) {
            let text = format!("`{}` is used as a whole, so its scope stays", cx.show(buffer));
            return Err(cx.error("scope", text).label(cx.place(op), "here").into());
        }
        Ok((buffer, scope))
    }

    fn edit(cx: &mut Cx<'_>, (buffer, scope): (Value, Scope)) -> Vec<Item> {
        let func = &mut cx.program.func;
        let Some((elem, shape, _)) = func.as_shaped(func.value_type(buffer)) else { return Vec::new() };
        let shape = shape.into();
        let scope = Some(scope.name_in(func));
        let ty = func.ty(TypeData::Shaped { elem, shape, scope });
        Rewriter::new(func).set_type(buffer, ty);
        Vec::new()
    }
}
