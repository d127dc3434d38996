//! The terminal correction: from `u` to a value that an affine output function can read
//! (Section E.3).

use super::layout::{CORRECTION_DATA, Native};
use super::routing::zeta;
use crate::Error;
use crate::block::Coordinate;
use crate::compiler::Placement;
use crate::program::{Program, Register};
use crate::rational::Rational;
use crate::records::code;
use crate::resolution::Resolution;
use crate::routines::{Builder, Channel, Reader};
use dashu_int::UBig;
use dashu_int::ops::BitTest;

/// The correction: precisions, coefficients, code and program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Correction {
    /// The bits `b` of a coefficient.
    pub b: usize,
    /// The updates `l` of a multiplication.
    pub l: usize,
    /// The degree `J` of the series.
    pub j: usize,
    /// The coefficients `a_j 2^b`, from `j = 0` on.
    pub words: Vec<UBig>,
    /// The code of `a_J, ..., a_0`.
    pub code: Rational,
    /// The program: phases 1 to 18, then a halt that has no coordinate.
    pub program: Program,
}

/// The place of a phase that no coordinate stands for.
pub(super) const NOWHERE: Coordinate = Coordinate(usize::MAX);

impl Correction {
    /// The correction of a resolution.
    ///
    /// # Formula
    #[doc = loopfit_tex::tex!(r"
        b = \lceil sm \rceil + 6, \quad \ell = \lceil sm/2 \rceil + 4, \quad J = \lceil sm \rceil + 6,
        \qquad a_j = 2^{-b} \lfloor 2^b c_j/4 \rfloor, \quad c_j = \tbinom{2j}{j} 4^{-j}
    ")]
    ///
    /// # Reference
    /// Section E.3.1.
    pub fn new(resolution: &Resolution, reader: Reader) -> Result<Self, Error> {
        let sm = &resolution.s * Rational::from(resolution.m as i64);
        let too_long = || Error::Terms {
            d: resolution.d,
            s: resolution.s.to_string(),
        };
        let whole = |value: Rational| usize::try_from(value.ceil()).map_err(|_| too_long());
        let (b, l) = (whole(sm.clone())? + 6, whole(sm.scaled(-1))? + 4);
        let j = b;
        let words = coefficients(j, b);
        let mut bits = Vec::with_capacity((j + 1) * (b + 1));
        for (index, word) in words.iter().enumerate().rev() {
            bits.extend((0..b).map(|place| word.bit(place)));
            bits.push(index > 0);
        }
        Ok(Self {
            b,
            l,
            j,
            words,
            code: code(&bits),
            program: program(b, l, reader)?,
        })
    }

    /// Where the program lies among the native coordinates.
    pub fn placement(&self, native: &Native) -> Placement {
        let data = native.correction.data.iter().copied();
        let phases = native.correction.phases.iter().copied();
        Placement {
            registers: data.chain([native.u]).collect(),
            phases: phases.chain([NOWHERE]).collect(),
        }
    }

    /// The digits of the code.
    ///
    /// # Formula
    /// `(J + 1)(b + 1)`: a continuation digit follows every word.
    pub fn digits(&self) -> usize {
        (self.j + 1) * (self.b + 1)
    }

    /// The blocks from the evaluator's halt until everything but `C` and `v` is cleared.
    ///
    /// # Formula
    #[doc = loopfit_tex::tex!(r"(J + 1)(2b + 2\ell + 5) + 4\ell + 5")]
    /// below the bound (S65); the transfer out of the halt is among them.
    ///
    /// # Reference
    /// Section E.3.6.
    pub fn iterations(&self) -> usize {
        (self.j + 1) * (2 * self.b + 2 * self.l + 5) + 4 * self.l + 5
    }

    /// How far `v` may be from `g_inv(u)`.
    ///
    /// # Formula
    #[doc = loopfit_tex::tex!(r"
        |v - g_{\rm inv}(u)| \le 8\, 2^{-b} + 7\, 4^{-\ell} + 2^{-J}, \qquad
        g_{\rm inv}(u) = \frac{u}{\sqrt{1 - u^2/2}}
    ")]
    ///
    /// # Reference
    /// (S61) and (S63).
    pub fn accuracy(&self) -> Rational {
        let power =
            |factor: i64, exponent: usize| Rational::from(factor).scaled(-(exponent as i64));
        power(8, self.b) + power(7, 2 * self.l) + power(1, self.j)
    }
}

/// `floor(2^b c_j / 4)` for `j = 0, ..., J`.
fn coefficients(degree: usize, b: usize) -> Vec<UBig> {
    let mut binomial = UBig::ONE;
    let mut words = Vec::with_capacity(degree + 1);
    for j in 0..=degree {
        words.push((&binomial << b) >> (2 * j + 2));
        // binom(2j + 2, j + 1) = binom(2j, j) 2 (2j + 1) / (j + 1)
        binomial = binomial * UBig::from(2 * (2 * j + 1)) / UBig::from(j + 1);
    }
    words
}

/// The registers, in the order of [`CORRECTION_DATA`], and the evaluator's output.
struct Registers {
    c: Register,
    a: Register,
    t: Register,
    p: Register,
    square: Channel,
    channels: [Channel; 2],
    timer: Register,
    beta: Register,
    v: Register,
    u: Register,
}

impl Registers {
    fn new(builder: &mut Builder) -> Self {
        let [
            c,
            a,
            t,
            p,
            v_s,
            s_s,
            w_s,
            v_plus,
            v_minus,
            s_plus,
            s_minus,
            w,
            timer,
            beta,
            v,
        ] = CORRECTION_DATA.map(|name| builder.register(name));
        let channel = |v, s, w| Channel { v, s, w };
        Self {
            c,
            a,
            t,
            p,
            square: channel(v_s, s_s, w_s),
            channels: [channel(v_plus, s_plus, w), channel(v_minus, s_minus, w)],
            timer,
            beta,
            v,
            u: builder.register("u"),
        }
    }
}

/// The phases as the tables of Sections E.3.3 to E.3.5 number them, and a halt.
fn program(b: usize, l: usize, reader: Reader) -> Result<Program, Error> {
    let mut builder = Builder::new();
    let registers = Registers::new(&mut builder);
    let Registers {
        c,
        a,
        t,
        p,
        square,
        channels,
        timer,
        beta,
        v,
        u,
    } = registers;
    let half = Rational::new(1, 2u8);
    // Phase i of the paper is the (i - 1)th of the program.
    let phase = |number: usize| number - 1;
    let double = || vec![timer.set(timer.value() * 2)];
    let elapsed = || timer.value() * 2 - 1;
    let quarter = |w: Register| w.set(w.value() * &Rational::new(1, 4u8));

    let [v_start, s_start] = square.start(&u.value());
    let start = vec![v_start, s_start, square.w.set(1), timer.set(zeta(l))];
    builder.phase("1 square: start", start);
    let [v_update, s_update] = square.update();
    builder.phase(
        "2 square: update",
        vec![v_update, s_update, quarter(square.w)],
    );
    builder.test("3 square: check", double(), elapsed(), phase(4), phase(2));
    let argument = t.set(square.s.value() * &half);
    let start = vec![argument, p.set(0), a.set(0), timer.set(zeta(b))];
    builder.phase("4 series: start", start);
    let word = reader.add_bit(a.set(a.value() * &half), &half, c);
    builder.phase("5 word: bit", vec![reader.shift(c), word]);
    builder.test("6 word: check", double(), elapsed(), phase(7), phase(5));

    // Four phases from number `first` on, for the product of `x` and `y`.
    let multiply = |builder: &mut Builder, first: usize, x: Register, y: Register, result| {
        let sums = [x.value() + y.value(), x.value() - y.value()].map(|sum| sum * &half);
        let [w, ..] = channels.map(|channel| channel.w);
        let mut start = vec![w.set(1), timer.set(zeta(l))];
        let mut update = vec![quarter(w)];
        for (channel, sum) in channels.iter().zip(&sums) {
            start.extend(channel.start(sum));
            update.extend(channel.update());
        }
        let name = |place: usize, what: &str| format!("{} product: {what}", first + place);
        builder.phase(name(0, "start"), start);
        builder.phase(name(1, "update"), update);
        let (out, again) = (phase(first + 3), phase(first + 1));
        builder.test(name(2, "check"), double(), elapsed(), out, again);
        builder.phase(name(3, "result"), vec![result]);
    };
    let product = channels[0].s.value() - channels[1].s.value();
    let horner = p.set(product.clone() + a.value());
    multiply(&mut builder, 7, t, p, horner);
    let marker = reader.add_bit(beta.set(0), &Rational::ONE, c);
    builder.phase("11 marker: read", vec![reader.shift(c), marker]);
    builder.test(
        "12 marker: check",
        vec![],
        beta.value(),
        phase(13),
        phase(14),
    );
    let start = vec![a.set(0), timer.set(zeta(b))];
    builder.jump("13 word: start", start, phase(5));
    multiply(&mut builder, 14, u, p, v.set(product * 4));
    let data = (0..CORRECTION_DATA.len()).map(Register);
    let cleared = data.filter(|register| *register != v);
    builder.phase(
        "18 clear",
        cleared.map(|register| register.set(0)).collect(),
    );
    builder.halt("done")
}
