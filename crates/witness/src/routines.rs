//! Writing programs: phases one after the other, and the counted routines of Section D.1.3.

use crate::Error;
use crate::affine::Affine;
use crate::program::{Assignment, Branch, Phase, Program, Register};
use crate::rational::Rational;
use loopfit_numerics::named::Named;

/// The function `D` that reads the first bit of a code.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reader {
    /// The paper's.
    ///
    /// # Formula
    #[doc = loopfit_tex::tex!(r"D(c) = 3\operatorname{ReLU}(c - 1/6) - 3\operatorname{ReLU}(c - 1/2)")]
    ///
    /// # Reference
    /// Section D.1.1.
    #[default]
    Paper,
    /// The same on every code, since none lies in `(1/6, 1/2)`, with thresholds that binary
    /// floats hold exactly.
    ///
    /// Not the same between codes: the paper's map `c -> 4c - 2 D(c)` keeps `[0, 2/3]` inside
    /// itself, this one sends `1/4` to `1` and beyond `2/3` grows like `4^t`. A selector hands over
    /// numbers between codes where the input is within `1/C_*` of a coarse face: there registers
    /// are not bounded, and floats may overflow. No dyadic threshold avoids it: two hinges that
    /// are exact on codes reach `4 alpha` at the threshold `alpha >= 1/6`.
    ///
    /// # Formula
    #[doc = loopfit_tex::tex!(r"D(c) = 4\operatorname{ReLU}(c - 1/4) - 4\operatorname{ReLU}(c - 1/2)")]
    Dyadic,
}

impl Named for Reader {
    const ALL: &'static [Self] = &[Self::Paper, Self::Dyadic];

    fn name(self) -> &'static str {
        match self {
            Self::Paper => "paper",
            Self::Dyadic => "dyadic",
        }
    }
}

impl Reader {
    /// The slope of `D` and the end of the codes whose first bit is zero.
    fn slope_and_threshold(self) -> (i64, Rational) {
        match self {
            Self::Paper => (3, Rational::new(1, 6u8)),
            Self::Dyadic => (4, Rational::new(1, 4u8)),
        }
    }

    /// The assignment with `factor D(code)` added, as two hinges.
    pub fn add_bit(self, assignment: Assignment, factor: &Rational, code: Register) -> Assignment {
        let (slope, threshold) = self.slope_and_threshold();
        let slope = factor * &Rational::from(slope);
        assignment
            .plus(slope.clone(), code.value() - threshold)
            .plus(-slope, code.value() - Rational::new(1, 2u8))
    }

    /// The code without its first digit.
    ///
    /// # Formula
    /// `c+ = 4c - 2 D(c)` (Section D.1.1).
    pub fn shift(self, code: Register) -> Assignment {
        self.add_bit(code.set(code.value() * 4), &Rational::from(-2), code)
    }
}

/// What `READ` works with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decoder {
    /// How a bit is read.
    pub reader: Reader,
    /// The unread code `c`.
    pub code: Register,
    /// The accumulator `a` of the word.
    pub word: Register,
    /// The timer of the repetition.
    pub timer: Register,
}

/// What `MULT` works with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Multiplier {
    /// The running product `t`: factor before, product after.
    pub product: Register,
    /// `v_+, v_-`.
    pub v: [Register; 2],
    /// `S_+, S_-`.
    pub s: [Register; 2],
    /// The scale `w` that both channels share.
    pub w: Register,
    /// The timer of the repetition.
    pub timer: Register,
}

/// One square recurrence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Channel {
    /// The state `v`.
    pub v: Register,
    /// The approximation `S`.
    pub s: Register,
    /// The scale `w`, which channels share.
    pub w: Register,
}

impl Channel {
    /// `v = S = |x|`.
    pub fn start(self, x: &Affine<Register>) -> [Assignment; 2] {
        [self.v, self.s].map(|register| register.set(0).plus(1, x.clone()).plus(1, -x.clone()))
    }

    /// `v+ = v/2 - h` and `S+ = S - v/2 + h` with `h = ReLU(v - w/2)` (S25).
    pub fn update(self) -> [Assignment; 2] {
        let half = Rational::new(1, 2u8);
        let halved = self.v.value() * &half;
        let excess = self.v.value() - self.w.value() * &half;
        [
            self.v.set(halved.clone()).plus(-1, excess.clone()),
            self.s.set(self.s.value() - halved).plus(1, excess),
        ]
    }
}

/// A program in the making: phases follow each other in the order in which they are written.
#[derive(Clone, Debug, Default)]
pub struct Builder {
    registers: Vec<String>,
    phases: Vec<Phase>,
}

impl Builder {
    /// A program without registers and phases.
    pub fn new() -> Self {
        Self::default()
    }

    /// A new register.
    pub fn register(&mut self, name: impl Into<String>) -> Register {
        self.registers.push(name.into());
        Register(self.registers.len() - 1)
    }

    /// The index of the phase that is written next.
    pub fn here(&self) -> usize {
        self.phases.len()
    }

    /// A phase that is followed by the next one.
    pub fn phase(&mut self, name: impl Into<String>, assignments: Vec<Assignment>) {
        let next = self.here() + 1;
        self.jump(name, assignments, next);
    }

    /// A phase that is followed by `next`.
    pub fn jump(&mut self, name: impl Into<String>, assignments: Vec<Assignment>, next: usize) {
        self.phases.push(Phase {
            name: name.into(),
            assignments,
            next,
            branch: None,
        });
    }

    /// A phase that goes to `taken` where `ReLU(test)` is one and to `otherwise` where it is zero.
    pub fn test(
        &mut self,
        name: impl Into<String>,
        assignments: Vec<Assignment>,
        test: Affine<Register>,
        taken: usize,
        otherwise: usize,
    ) {
        self.phases.push(Phase {
            name: name.into(),
            assignments,
            next: otherwise,
            branch: Some(Branch {
                test,
                target: taken,
            }),
        });
    }

    /// Three phases that perform `operation` exactly `count` times, in `1 + 2 count` iterations.
    ///
    /// # Formula
    /// The timer starts at `2^-(count - 1)`; the check doubles it and leaves where
    /// `ReLU(2 tau - 1)`, read from the old timer, is one.
    ///
    /// # Reference
    /// Section D.1.3, primitive counted routines.
    ///
    /// # Panics
    /// If `count` is zero.
    pub fn repeat(
        &mut self,
        name: &str,
        timer: Register,
        count: usize,
        what: &str,
        operation: Vec<Assignment>,
    ) {
        assert!(count > 0, "a repetition is of at least one operation");
        let start = Rational::power_of_two(1 - count as i64);
        self.phase(format!("{name}: timer"), vec![timer.set(start)]);
        let again = self.here();
        self.phase(format!("{name}: {what}"), operation);
        let next = self.here() + 1;
        self.test(
            format!("{name}: check"),
            vec![timer.set(timer.value() * 2)],
            timer.value() * 2 - 1,
            next,
            again,
        );
    }

    /// `READ(l)`: four phases that move a word of `length` bits from the code to the
    /// accumulator, as a fraction of `2^length`, in `2 + 2 length` iterations.
    ///
    /// # Formula
    #[doc = loopfit_tex::tex!(r"c^+ = 4c - 2D(c), \qquad a^+ = (a + D(c))/2")]
    ///
    /// # Reference
    /// Sections D.1.1 and D.1.3.
    pub fn read(&mut self, name: &str, decoder: &Decoder, length: usize) {
        let Decoder {
            reader,
            code,
            word,
            timer,
        } = *decoder;
        let half = Rational::new(1, 2u8);
        self.phase(format!("{name}: reset"), vec![word.set(0)]);
        let halved = word.set(word.value() * &half);
        let operation = vec![reader.shift(code), reader.add_bit(halved, &half, code)];
        self.repeat(name, timer, length, "bit", operation);
    }

    /// `MULT(J)`: five phases that replace the product `t` by `M_J(t, factor)`, in `3 + 2J`
    /// iterations.
    ///
    /// # Formula
    /// The channels start at `v = S = |t +- factor| / 2`, `w = 1`, and go on as
    #[doc = loopfit_tex::tex!(r"
        v^+ = v/2 - \operatorname{ReLU}(v - w/2), \quad
        S^+ = S - v/2 + \operatorname{ReLU}(v - w/2), \quad w^+ = w/4;
    ")]
    /// then `t = S_+ - S_-`.
    ///
    /// # Reference
    /// Lemma D.3 with (S25), and (S26).
    pub fn multiply(
        &mut self,
        name: &str,
        multiplier: &Multiplier,
        factor: &Affine<Register>,
        updates: usize,
    ) {
        let Multiplier {
            product,
            v,
            s,
            w,
            timer,
        } = *multiplier;
        let half = Rational::new(1, 2u8);
        let sums = [
            (product.value() + factor.clone()) * &half,
            (product.value() - factor.clone()) * &half,
        ];
        let mut start = vec![w.set(1)];
        let mut update = vec![w.set(w.value() * &Rational::new(1, 4u8))];
        for ((v, s), sum) in v.into_iter().zip(s).zip(sums) {
            let channel = Channel { v, s, w };
            start.extend(channel.start(&sum));
            update.extend(channel.update());
        }
        self.phase(format!("{name}: channels"), start);
        self.repeat(name, timer, updates, "square", update);
        let difference = s[0].value() - s[1].value();
        self.phase(format!("{name}: product"), vec![product.set(difference)]);
    }

    /// The program, with an absorbing halt behind the last phase.
    pub fn halt(mut self, name: impl Into<String>) -> Result<Program, Error> {
        let here = self.here();
        self.phases.push(Phase {
            name: name.into(),
            assignments: Vec::new(),
            next: here,
            branch: None,
        });
        Program::new(self.registers, self.phases)
    }
}

#[cfg(test)]
mod tests;
