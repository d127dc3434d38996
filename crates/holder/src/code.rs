//! Binary codes of every length in which words differ in an eighth of their places.

mod field;

use crate::Error;
use field::Field;
use loopfit_numerics::stream::Stream;

/// The longest code: all elements of the field of 4096 as places of a Reed-Solomon code, each
/// carried by a word of the extended Golay code.
pub const MAX_LENGTH: usize = 4096 * 24;
/// Codes of up to `2^26` words are verified word by word.
const EXHAUSTIVE_BITS: usize = 26;
/// Words drawn at random where not all are looked at.
const DRAWN: u64 = 8;

/// A cyclic code, shortened to a number of message bits, with a parity bit or without.
#[derive(Clone, Copy, Debug)]
struct Cyclic {
    name: &'static str,
    /// The generator polynomial, in bits.
    generator: u64,
    bits: usize,
    parity: bool,
    distance: usize,
}

impl Cyclic {
    fn all_words(n: usize) -> Self {
        Self {
            name: "all words",
            generator: 1,
            bits: n,
            parity: false,
            distance: 1,
        }
    }

    fn even_weight(n: usize) -> Self {
        Self {
            name: "words of even weight",
            generator: 1,
            bits: n - 1,
            parity: true,
            distance: 2,
        }
    }

    /// A code of length at most 8 or at most 32, by a primitive generator of degree 3 or 5.
    fn extended_hamming(generator: u64, n: usize) -> Self {
        Self {
            name: "extended Hamming",
            generator,
            bits: n - 1 - generator.ilog2() as usize,
            parity: true,
            distance: 4,
        }
    }

    fn extended_golay() -> Self {
        Self {
            name: "extended Golay",
            generator: 0b1010_1110_0011,
            bits: 12,
            parity: true,
            distance: 8,
        }
    }

    /// A message as a word: the product of polynomials over GF(2), then the parity.
    fn encode(self, message: u64) -> u64 {
        let word = (0..self.bits)
            .filter(|i| message >> i & 1 == 1)
            .fold(0, |word, i| word ^ (self.generator << i));
        let parity = u64::from(self.parity) & u64::from(word.count_ones());
        word | parity << (self.length() - 1)
    }

    fn length(self) -> usize {
        self.bits + self.generator.ilog2() as usize + usize::from(self.parity)
    }

    /// Whether the distance is right, by trying all words.
    fn holds(self) -> bool {
        let units: Vec<u64> = (0..self.bits).map(|i| self.encode(1 << i)).collect();
        self.encode(lightest(&units)).count_ones() as usize == self.distance
    }
}

/// How a code is made: a Reed-Solomon code whose symbols are carried by words of an inner code. A
/// code without that outer layer is one of a single symbol.
#[derive(Clone, Copy, Debug)]
struct Plan {
    inner: Cyclic,
    /// A primitive polynomial of the field of symbols.
    polynomial: u32,
    /// Values of a polynomial, one at each of so many elements of the field.
    symbols: usize,
    /// Coefficients of that polynomial.
    dimension: usize,
}

impl Plan {
    /// The plan with the most words of length `n` that differ in at least `distance` places.
    fn new(n: usize, distance: usize) -> Option<Self> {
        let plain = [
            (1..=32).contains(&n).then(|| Cyclic::all_words(n)),
            (2..=32).contains(&n).then(|| Cyclic::even_weight(n)),
            (7..=32)
                .contains(&n)
                .then(|| Cyclic::extended_hamming(0b10_0101, n)),
        ];
        let plain = plain.into_iter().flatten().map(|inner| Self {
            inner,
            polynomial: 0b11,
            symbols: 1,
            dimension: 1,
        });
        let inner = [
            (Cyclic::extended_hamming(0b1011, 8), 0b1_0011),
            (Cyclic::extended_golay(), 0b1_0000_0101_0011),
        ];
        let layered = inner.into_iter().filter_map(|(inner, polynomial)| {
            let symbols = (n / inner.length()).min(1 << inner.bits);
            let dimension = (symbols + 1).checked_sub(distance.div_ceil(inner.distance))?;
            Some(Self {
                inner,
                polynomial,
                symbols,
                dimension,
            })
        });
        plain
            .chain(layered)
            .filter(|plan| plan.dimension > 0 && plan.distance() >= distance)
            .reduce(|a, b| if b.bits() > a.bits() { b } else { a })
    }

    fn bits(self) -> usize {
        self.dimension * self.inner.bits
    }

    fn distance(self) -> usize {
        (self.symbols + 1 - self.dimension) * self.inner.distance
    }
}

/// A linear binary code of length `n` with at least `2^{n/8}` words, any two of which differ in at
/// least `n/8` places.
///
/// # Formula
/// With `ceil(n/8)` for the distance: all words (`n <= 8`), words of even weight (`n <= 16`), a
/// shortened extended Hamming code (`n <= 32`), and above them Reed-Solomon codes whose symbols
/// are carried by an inner code: extended Hamming [8, 4, 4] under GF(16) or extended Golay [24, 12, 8]
/// under GF(4096), whichever has more words. A polynomial with `K` coefficients that is not zero has
/// at most `K - 1` zeros, so of its `N` values at least `N - K + 1` are not zero, and each of these is an
/// inner word of at least the inner distance. Places that are left over are zero.
///
/// # Reference
/// Proof of Lemma C.3, "a binary code with Hamming separation at least a fixed positive fraction";
/// Forney, "Concatenated codes", 1966.
#[derive(Clone, Debug)]
pub struct Code {
    n: usize,
    plan: Plan,
    field: Field,
}

/// What is known of a code's least distance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Distance {
    /// No two words differ in fewer places.
    pub proved: usize,
    /// Whether every word was looked at. Otherwise the inner code was verified word by word, and the
    /// number of zeros of a polynomial does the rest.
    pub exhaustive: bool,
    /// The lightest word that was found; zero is a word, so that its weight is a distance.
    pub lightest: Vec<bool>,
    /// Whether no word that was looked at is nearer to zero than the construction says.
    pub holds: bool,
}

impl Code {
    /// The code of length `n`, from 1 to [`MAX_LENGTH`].
    pub fn new(n: usize) -> Result<Self, Error> {
        let plan = (1..=MAX_LENGTH)
            .contains(&n)
            .then(|| Plan::new(n, Self::least_distance(n)))
            .flatten();
        let field = plan.and_then(|plan| Field::new(plan.polynomial));
        match (plan, field) {
            (Some(plan), Some(field)) => Ok(Self { n, plan, field }),
            _ => Err(Error::CodeLength(n)),
        }
    }

    /// The distance that is asked of a length.
    ///
    /// # Formula
    #[doc = loopfit_tex::tex!(r"\lceil n/8 \rceil")]
    ///
    /// # Reference
    /// Proof of Lemma C.3, "at least a fixed positive fraction of `m^d`": an eighth here.
    pub fn least_distance(n: usize) -> usize {
        n.div_ceil(8)
    }

    /// The length `n`.
    pub fn length(&self) -> usize {
        self.n
    }

    /// The number of message bits, `log_2 M`.
    pub fn bits(&self) -> usize {
        self.plan.bits()
    }

    /// The distance by construction.
    ///
    /// # Formula
    #[doc = loopfit_tex::tex!(r"(N - K + 1)\, d_{\rm inner}")]
    /// for an outer code of `N` symbols and dimension `K`: two polynomials of degree below `K` agree in fewer than
    /// `K` points.
    ///
    /// # Reference
    /// Reed and Solomon, 1960; Forney, 1966.
    pub fn distance(&self) -> usize {
        self.plan.distance()
    }

    /// What the code is, in words.
    pub fn name(&self) -> String {
        let Plan {
            inner,
            symbols,
            dimension,
            ..
        } = self.plan;
        if symbols == 1 {
            return inner.name.to_string();
        }
        format!(
            "Reed-Solomon [{symbols}, {dimension}] over GF({}) with {} [{}, {}, {}]",
            1 << inner.bits,
            inner.name,
            inner.length(),
            inner.bits,
            inner.distance
        )
    }

    /// The word whose message is a number, lowest bit first.
    pub fn word(&self, index: u64) -> Result<Vec<bool>, Error> {
        if self.bits() < 64 && index >> self.bits() != 0 {
            return Err(Error::Member {
                index,
                bits: self.bits(),
            });
        }
        Ok(self.encode(|i| i < 64 && index >> i & 1 == 1))
    }

    /// A word drawn uniformly.
    pub fn draw(&self, stream: Stream) -> Vec<bool> {
        self.encode(|i| stream.bits(i as u64 / 64) >> (i % 64) & 1 == 1)
    }

    /// The word of a message, which is given bit by bit.
    fn encode(&self, bit: impl Fn(usize) -> bool) -> Vec<bool> {
        let inner = self.plan.inner;
        let message: Vec<bool> = (0..self.bits()).map(bit).collect();
        let symbols: Vec<u32> = message
            .chunks(inner.bits)
            .map(|bits| number(bits) as u32)
            .collect();
        let mut word = Vec::with_capacity(self.n);
        for x in 0..self.plan.symbols {
            let symbol = self.field.evaluate(&symbols, x as u32);
            let carried = inner.encode(u64::from(symbol));
            word.extend((0..inner.length()).map(|i| carried >> i & 1 == 1));
        }
        word.resize(self.n, false);
        word
    }

    /// Verifies the distance: over all words where these are at most `2^26`; otherwise over all words of
    /// the inner code, over words drawn at random, and over one whose polynomial has as many zeros as
    /// it can.
    pub fn verify(&self, seed: u64) -> Distance {
        if self.bits() <= EXHAUSTIVE_BITS {
            let units: Vec<u64> = (0..self.bits())
                .map(|unit| number(&self.encode(|i| i == unit)))
                .collect();
            let message = lightest(&units);
            let lightest = self.encode(|i| message >> i & 1 == 1);
            return Distance {
                proved: weight(&lightest),
                exhaustive: true,
                holds: weight(&lightest) >= self.distance(),
                lightest,
            };
        }
        let stream = Stream::new(seed).child("words");
        let lightest = (0..DRAWN)
            .map(|i| self.draw(stream.nth(i)))
            .filter(|word| weight(word) > 0)
            .fold(self.many_zeros(), |a, b| {
                if weight(&b) < weight(&a) { b } else { a }
            });
        Distance {
            proved: self.distance(),
            exhaustive: false,
            holds: self.plan.inner.holds() && weight(&lightest) >= self.distance(),
            lightest,
        }
    }

    /// The word of the monic polynomial that is zero at the first `K - 1` places.
    fn many_zeros(&self) -> Vec<bool> {
        let mut coefficients = vec![1];
        for zero in 0..self.plan.dimension - 1 {
            // Times x + zero, which is x - zero.
            coefficients.insert(0, 0);
            for i in 0..coefficients.len() - 1 {
                coefficients[i] ^= self.field.multiply(coefficients[i + 1], zero as u32);
            }
        }
        let width = self.plan.inner.bits;
        self.encode(|i| coefficients[i / width] >> (i % width) & 1 == 1)
    }
}

/// The places in which a word is one.
pub(crate) fn weight(word: &[bool]) -> usize {
    word.iter().filter(|bit| **bit).count()
}

/// Bits as a number, lowest first.
fn number(bits: &[bool]) -> u64 {
    let add = |number, bit: &bool| number << 1 | u64::from(*bit);
    bits.iter().rev().fold(0, add)
}

/// The message of the lightest word but zero of the linear code with these words for unit
/// messages: all messages in the order of a Gray code, one word added at a time.
fn lightest(units: &[u64]) -> u64 {
    let (mut word, mut best) = (0u64, (u32::MAX, 0u64));
    for i in 1..1u64 << units.len() {
        word ^= units[i.trailing_zeros() as usize];
        if word.count_ones() < best.0 {
            best = (word.count_ones(), i ^ i >> 1);
        }
    }
    best.1
}

#[cfg(test)]
mod tests;
