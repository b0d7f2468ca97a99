//! What loops and conditionals hand on. TVM has no such values: each has a cell in `local` memory, which is written
//! where ours yields and read after.

use super::expr::Expr;
use super::func::Writer;
use tc_ir::{Op, Region, Value};

impl Writer<'_> {
    /// A cell for numbers of the type of `value`; its name.
    pub(crate) fn cell(&mut self, op: Op, value: Value) -> String {
        let func = self.func;
        let scalar = func.value_scalar(value);
        let Some(ty) = scalar.and_then(|scalar| self.type_name(scalar)) else {
            match scalar {
                Some(scalar) => self.lacks_type(op, scalar),
                None => self.no_counterpart(op),
            };
            return "0".to_string();
        };
        let wanted = format!("{}_cell", func.value_text(value));
        let name = self.names.declare(wanted.trim_start_matches('_'), "cell");
        self.line(&format!("{name} = T.alloc_buffer((1,), \"{ty}\", scope=\"local\")"));
        name.to_string()
    }

    /// Makes the cells of the values that the loop `op` carries, and puts the first values into them.
    pub(crate) fn enter_carry(&mut self, op: Op) -> Vec<String> {
        let func = self.func;
        let body = func.op_regions(op)[0];
        let args = func.region_args(body).get(1..).unwrap_or_default();
        let inits = func.operands(op).get(2..).unwrap_or_default();
        let mut cells = Vec::new();
        for (&arg, &init) in args.iter().zip(inits) {
            let cell = self.cell(op, arg);
            let init = self.text(init);
            self.line(&format!("{cell}[0] = {init}"));
            cells.push(cell);
        }
        cells
    }

    /// At the start of the body: what the iteration before handed on.
    pub(crate) fn read_carried(&mut self, op: Op, cells: &[String]) {
        let func = self.func;
        let body = func.op_regions(op)[0];
        let args = func.region_args(body).get(1..).unwrap_or_default();
        for (&arg, cell) in args.iter().zip(cells) {
            self.bind(op, arg, &format!("{cell}[0]"));
        }
    }

    /// At the end of the body: what the next iteration finds. Values are read before the first cell is written.
    pub(crate) fn hand_on(&mut self, body: Region, cells: &[String]) {
        self.store_cells(body, cells);
    }

    /// After the loop: the last values.
    pub(crate) fn leave_carry(&mut self, op: Op, cells: &[String]) {
        let results: Vec<Value> = self.func.results(op).collect();
        for (result, cell) in results.into_iter().zip(cells) {
            self.read_cell(op, result, cell);
        }
    }

    /// `result` is what the cell `cell` holds from here on.
    pub(crate) fn read_cell(&mut self, op: Op, result: Value, cell: &str) {
        if self.func.n_uses(result) == 0 {
            return;
        }
        if self.func.value_text(result).is_empty() {
            self.spelled.insert(result, Expr::atom(format!("{cell}[0]")));
        } else {
            self.bind(op, result, &format!("{cell}[0]"));
        }
    }

    /// Writes what `region` yields to `cells`. Loads are of other buffers, and carried values were bound before, so one
    /// store changes nothing that the next one reads.
    pub(crate) fn store_cells(&mut self, region: Region, cells: &[String]) {
        let values = self.func.yielded(region).to_vec();
        for (value, cell) in values.into_iter().zip(cells) {
            let text = self.text(value);
            self.line(&format!("{cell}[0] = {text}"));
        }
    }
}
