//! Products of sums: multiplied out as a whole, or not at all.

use crate::analyzer::Analyzer;
use crate::expr::Expr;
use crate::linear::{Linear, Summand, Term};
use crate::rules;
use smallvec::smallvec;

/// How many products a product of sums may be multiplied out to.
const MAX_PRODUCTS: usize = 16;

impl Analyzer {
    /// A product without a literal on its right. It is multiplied out as a whole, or stays the product of all its simplified
    /// factors: were some of them multiplied out, the result would depend on which stand side by side.
    pub(crate) fn simp_product(&mut self, e: Expr) -> Expr {
        let given = self.pool.factors(e);
        if given.len() < 2 {
            return self.rebuild(e);
        }
        let mut scale = 1_i64;
        let mut factors = Vec::with_capacity(given.len());
        for factor in given {
            let simplified = self.simp(factor);
            for factor in self.pool.factors(simplified) {
                match self.pool.as_const(factor).map(|value| scale.checked_mul(value)) {
                    None => factors.push(factor),
                    Some(Some(scaled)) => scale = scaled,
                    Some(None) => return self.rebuild(e),
                }
            }
        }
        let coef = self.pool.int(scale);
        factors.push(coef);
        if !self.product_fits(&factors) {
            return self.rebuild(e);
        }
        factors.pop();
        let atom = self.pool.product(&factors);
        // A factor of zero must not hide that another one fails.
        if factors.len() < 2 || scale == 0 {
            let scaled = self.pool.mul(atom, coef);
            return self.simp(scaled);
        }
        let form = self.multiplied_out(scale, &factors).unwrap_or_else(|| {
            let key = self.key(atom);
            Linear { terms: smallvec![Term { atom, key, coef: scale, right: false }], constant: 0 }
        });
        self.note_form(&rules::add::FORMS[1], e, &form);
        self.finish_sum(form)
    }

    fn multiplied_out(&mut self, scale: i64, factors: &[Expr]) -> Option<Linear> {
        let sums = factors.iter().map(|&factor| self.linear_of(factor)).collect::<Option<Vec<Linear>>>()?;
        let parts = sums.iter().map(|sum| sum.terms.len() + usize::from(sum.constant != 0));
        if parts.fold(1, usize::saturating_mul) > MAX_PRODUCTS {
            return None;
        }
        let product = sums.iter().try_fold(Linear::constant(scale), |product, sum| self.multiply(&product, sum))?;
        if self.facts.is_empty() { Some(product) } else { self.settled(&product) }
    }

    /// The sum with its atoms simplified by what conditions say of them.
    fn settled(&mut self, sum: &Linear) -> Option<Linear> {
        let mut settled = Linear::constant(sum.constant);
        for term in &sum.terms {
            let atom = self.apply_rules(rules::add::KNOWN, term.atom);
            self.gather(&mut settled, Summand { expr: atom, factor: term.coef, settle: false, right: term.right })?;
        }
        Some(settled)
    }

    fn multiply(&mut self, a: &Linear, b: &Linear) -> Option<Linear> {
        let mut product = Linear::constant(a.constant.checked_mul(b.constant)?);
        for x in &a.terms {
            for y in &b.terms {
                let mut factors = self.pool.factors(x.atom);
                factors.extend(self.pool.factors(y.atom));
                if !self.product_fits(&factors) {
                    return None;
                }
                let atom = self.pool.product(&factors);
                let (key, coef) = (self.key(atom), x.coef.checked_mul(y.coef)?);
                product.add_term(&self.pool, Term { atom, key, coef, right: false })?;
            }
            self.add_multiple(&mut product, x, b.constant)?;
        }
        for y in &b.terms {
            self.add_multiple(&mut product, y, a.constant)?;
        }
        self.fits(&product).then_some(product)
    }

    fn add_multiple(&self, sum: &mut Linear, term: &Term, factor: i64) -> Option<()> {
        // Dropping `0 * x` would hide a failure of `x`; but the product of the other parts holds `x` already.
        if factor == 0 {
            Some(())
        } else {
            sum.add_term(&self.pool, Term { coef: term.coef.checked_mul(factor)?, ..*term })
        }
    }
}
