//! How much the output of a network can change when its coefficients do, with every constant explicit.
//!
//! Both recurrences are in the maximum norm, over the whole parameter box `[-M, M]^P` and all inputs of the unit cube. They
//! hold for one shared block and for separate blocks alike.

use loopfit_model::Architecture;
use loopfit_model::architecture::tokens;
use loopfit_numerics::log_number::LogNumber;

/// A named constant of a sensitivity recurrence.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Named {
    /// The symbol.
    pub symbol: &'static str,
    /// What it bounds.
    pub meaning: &'static str,
    /// Its value.
    pub value: LogNumber,
}

/// The sensitivity recurrence of an architecture with given widths and parameter bound.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Sensitivity {
    /// The residual FFN.
    Ffn(Ffn),
    /// The post-LN Transformer.
    Transformer(Transformer),
}

impl Sensitivity {
    /// The recurrence for `d` inputs, widths `q`, `r`, parameter bound `M_par` and, for a Transformer, the stabiliser of
    /// layer normalisation.
    pub fn new(
        architecture: &Architecture,
        d: usize,
        q: u64,
        r: u64,
        parameter_bound: f64,
        stabiliser: f64,
    ) -> Self {
        match architecture {
            Architecture::Ffn => Self::Ffn(Ffn::new(d, q, r, parameter_bound)),
            Architecture::Transformer { partition } => {
                let tokens = tokens(partition);
                let transformer = Transformer::new(d, tokens, q, r, parameter_bound, stabiliser);
                Self::Transformer(transformer)
            }
        }
    }

    /// The sensitivity `Gamma` after `t` iterations: `|f_xi - f_xi'| <= Gamma |xi - xi'|` in maximum norms.
    ///
    /// # Reference
    /// Equation (S11).
    pub fn gamma(&self, t: f64) -> LogNumber {
        match self {
            Self::Ffn(ffn) => ffn.gamma(t),
            Self::Transformer(transformer) => transformer.gamma(t),
        }
    }

    /// The constants of the recurrence.
    pub fn constants(&self) -> Vec<Named> {
        match self {
            Self::Ffn(ffn) => ffn.constants(),
            Self::Transformer(transformer) => transformer.constants(),
        }
    }
}

/// The recurrence of the residual FFN, derived as the paper derives that of the Transformer.
///
/// # Formula
/// Let `m = M_par`. An input has `d` entries in `[0,1]`, so the first state is at most `Z_0 = m(d+1)`. Where the state is
/// at most `Z`, the hidden values are at most `A = m(qZ+1)`, and a block gives at most `Z + m(rA + 1)`:
#[doc = loopfit_tex::tex!(r"Z_{t+1} = a Z_t + g, \qquad a = 1 + qrm^2, \qquad g = rm^2 + m")]
/// Two parameter vectors at distance `delta`, with states at distance `e_t`: hidden values differ by at most
/// `qm e_t + (qZ_t+1) delta`, ReLU does not increase that, and the second map adds `rA_t delta + delta`:
#[doc = loopfit_tex::tex!(r"
    e_0 \le (d+1)\delta, \qquad e_{t+1} \le a\, e_t + b_t \delta, \qquad b_t = 2rA_t + 1, \qquad
    |f - \widetilde f| \le qm\, e_T + (qZ_T + 1)\delta
")]
/// Since `q g/(a-1) = 1 + 1/(rm)`, `b_t = (2rmqZ_0 + 2rm + 2)a^t - 1`, and (S11) sums up to
#[doc = loopfit_tex::tex!(r"
    \Gamma = \max\Bigl\{1,\; qZ_T + 1 + qm\Bigl[(d+1)a^T + (2rmqZ_0 + 2rm + 2)\,T a^{T-1} - \frac{a^T-1}{a-1}\Bigr]\Bigr\}
")]
/// Of the ReLU only `|s(u)| <= |u|` and `|s(u) - s(v)| <= |u - v|` are used, so that the bound holds for tanh and sine too; the slope
/// of the SiLU reaches 1.1. Coefficients that a form fixes are in the box if `m >= 1`.
///
/// It is sharp: where all coefficients are `m`, all inputs are one and nothing is clipped, every step is an equality for
/// an equal change of all coefficients, to first order.
///
/// # Reference
/// Section C.6, equation (S11); the paper's proof of Lemma B.2 bounds the same recurrence by `(T+1)L^{C(T+1)}`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ffn {
    d: LogNumber,
    q: LogNumber,
    r: LogNumber,
    m: LogNumber,
}

impl Ffn {
    /// The recurrence for these dimensions and this parameter bound.
    pub fn new(d: usize, q: u64, r: u64, parameter_bound: f64) -> Self {
        Self {
            d: LogNumber::new(d as f64),
            q: LogNumber::new(q as f64),
            r: LogNumber::new(r as f64),
            m: LogNumber::new(parameter_bound),
        }
    }

    /// `Z_0 = m(d+1)`.
    fn initial_radius(&self) -> LogNumber {
        self.m * (self.d + LogNumber::ONE)
    }

    /// `a = 1 + qrm^2`.
    fn growth(&self) -> LogNumber {
        LogNumber::ONE + self.q * self.r * self.m * self.m
    }

    /// `g = rm^2 + m`.
    fn offset(&self) -> LogNumber {
        self.r * self.m * self.m + self.m
    }

    /// The largest state after `t` iterations.
    ///
    /// # Formula
    #[doc = loopfit_tex::tex!(r"Z_t = a^t Z_0 + g\,\frac{a^t - 1}{a - 1}")]
    ///
    /// # Reference
    /// The recurrence on [`Ffn`]; the proof of Lemma B.2 bounds it by `L^(t+1)`.
    pub fn radius(&self, t: f64) -> LogNumber {
        let a = self.growth();
        a.pow(t) * self.initial_radius() + self.offset() * a.geometric_sum(t)
    }

    /// `Gamma` after `t >= 1` iterations; the formula is on [`Ffn`].
    ///
    /// # Reference
    /// Equation (S11).
    pub fn gamma(&self, t: f64) -> LogNumber {
        let a = self.growth();
        let two = LogNumber::new(2.0);
        let rm = self.r * self.m;
        let slope = two * rm * self.q * self.initial_radius() + two * rm + two;
        let state =
            (self.d + LogNumber::ONE) * a.pow(t) + slope * LogNumber::new(t) * a.pow(t - 1.0);
        let state = state.saturating_sub(a.geometric_sum(t));
        let output = self.q * self.radius(t) + LogNumber::ONE + self.q * self.m * state;
        output.max(LogNumber::ONE)
    }

    fn constants(&self) -> Vec<Named> {
        let named = |symbol, meaning, value| Named {
            symbol,
            meaning,
            value,
        };
        vec![
            named(
                "c_E",
                "change of the first state, d + 1",
                self.d + LogNumber::ONE,
            ),
            named(
                "Z_0",
                "largest first state, m(d + 1)",
                self.initial_radius(),
            ),
            named(
                "a_t",
                "growth of a change in one block, 1 + qrm^2",
                self.growth(),
            ),
            named(
                "g",
                "growth of the state in one block, rm^2 + m",
                self.offset(),
            ),
            named(
                "c_R",
                "what the output makes of a change, qm",
                self.q * self.m,
            ),
        ]
    }
}

/// The recurrence of the post-LN Transformer.
///
/// # Formula
#[doc = loopfit_tex::tex!(r"
    \begin{aligned}
    R &= \max\{1, m(d+1), m(\sqrt q+1)\}, \quad A = m(qR+1), \quad \zeta = 1 + 4\sqrt q A^2, \quad
    \ell = m\sqrt{q/\varepsilon}, \quad \nu = \sqrt q + 1, \\
    a_{\rm att} &= (qm)^2\zeta, \quad b_{\rm att} = qm\zeta(qR+1) + qA + 1, \quad
    a_{\rm ff} = qrm^2, \quad b_{\rm ff} = 2rA + 1, \\
    L_{\rm blk} &= \ell^2(1+a_{\rm ff})(1+a_{\rm att}), \quad
    K_{\rm blk} = \ell(1+a_{\rm ff})(\ell b_{\rm att}+\nu) + \ell b_{\rm ff} + \nu, \\
    \Gamma &= \max\Bigl\{1,\; NqR + 1 + Nqm\Bigl[(d+1)L_{\rm blk}^T
    + K_{\rm blk}\frac{L_{\rm blk}^T-1}{L_{\rm blk}-1}\Bigr]\Bigr\}
    \end{aligned}
")]
///
/// # Reference
/// Lemma C.4 and its proof, equations (S11) and (S14).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Transformer {
    d: LogNumber,
    tokens: LogNumber,
    q: LogNumber,
    m: LogNumber,
    /// Largest state.
    pub radius: LogNumber,
    /// Largest entry of a projection.
    pub projection: LogNumber,
    /// What averaging makes of a change of the projections.
    pub zeta: LogNumber,
    /// What layer normalisation makes of a change.
    pub ell: LogNumber,
    /// What it makes of a change of gain and bias.
    pub nu: LogNumber,
    /// Attention, change of the state.
    pub a_att: LogNumber,
    /// Attention, change of the coefficients.
    pub b_att: LogNumber,
    /// Feedforward layer, change of the state.
    pub a_ff: LogNumber,
    /// Feedforward layer, change of the coefficients.
    pub b_ff: LogNumber,
    /// One block, change of the state.
    pub l_blk: LogNumber,
    /// One block, change of the coefficients.
    pub k_blk: LogNumber,
}

impl Transformer {
    /// The recurrence for these dimensions, `tokens` counting all `N`.
    pub fn new(
        d: usize,
        tokens: usize,
        q: u64,
        r: u64,
        parameter_bound: f64,
        stabiliser: f64,
    ) -> Self {
        let number = LogNumber::new;
        let one = LogNumber::ONE;
        let (d, tokens) = (number(d as f64), number(tokens as f64));
        let (q, r, m) = (number(q as f64), number(r as f64), number(parameter_bound));
        let root_q = q.pow(0.5);
        let radius = one.max(m * (d + one)).max(m * (root_q + one));
        let affine = q * radius + one;
        let projection = m * affine;
        let zeta = one + number(4.0) * root_q * projection * projection;
        let ell = m * (q / number(stabiliser)).pow(0.5);
        let nu = root_q + one;
        let a_att = q * m * q * m * zeta;
        let b_att = q * m * zeta * affine + q * projection + one;
        let a_ff = q * r * m * m;
        let b_ff = number(2.0) * r * projection + one;
        let l_blk = ell * ell * (one + a_ff) * (one + a_att);
        let k_blk = ell * (one + a_ff) * (ell * b_att + nu) + ell * b_ff + nu;
        Self {
            d,
            tokens,
            q,
            m,
            radius,
            projection,
            zeta,
            ell,
            nu,
            a_att,
            b_att,
            a_ff,
            b_ff,
            l_blk,
            k_blk,
        }
    }

    /// `Gamma` after `t >= 1` iterations; the formula is on [`Transformer`].
    ///
    /// # Reference
    /// Lemma C.4, equations (S11) and (S14).
    pub fn gamma(&self, t: f64) -> LogNumber {
        let one = LogNumber::ONE;
        let state = (self.d + one) * self.l_blk.pow(t) + self.k_blk * self.l_blk.geometric_sum(t);
        let width = self.tokens * self.q;
        let output = width * self.radius + one + width * self.m * state;
        output.max(one)
    }

    fn constants(&self) -> Vec<Named> {
        let named = |symbol, meaning, value| Named {
            symbol,
            meaning,
            value,
        };
        vec![
            named("R", "largest state", self.radius),
            named("A", "largest entry of a projection", self.projection),
            named("zeta", "attention, of a change of projections", self.zeta),
            named(
                "l",
                "layer normalisation, of a change of its argument",
                self.ell,
            ),
            named(
                "nu",
                "layer normalisation, of a change of gain and bias",
                self.nu,
            ),
            named("a_att", "attention, of a change of the state", self.a_att),
            named(
                "b_att",
                "attention, of a change of coefficients",
                self.b_att,
            ),
            named("a_ff", "feedforward, of a change of the state", self.a_ff),
            named(
                "b_ff",
                "feedforward, of a change of coefficients",
                self.b_ff,
            ),
            named("L_blk", "one block, of a change of the state", self.l_blk),
            named(
                "K_blk",
                "one block, of a change of coefficients",
                self.k_blk,
            ),
        ]
    }
}

#[cfg(test)]
mod tests;
