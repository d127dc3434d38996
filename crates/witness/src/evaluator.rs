//! The Taylor-table evaluator of Section D.1 as a finite-state program.

use crate::Error;
use crate::affine::Affine;
use crate::program::{Program, Register};
use crate::rational::Rational;
use crate::records::taylor_words;
use crate::resolution::Resolution;
use crate::routines::{Builder, Decoder, Multiplier, Reader};

/// The data registers stay within this in reachable states.
///
/// # Reference
/// Lemma D.2.
pub const REGISTER_BOUND: i64 = 2;

/// The evaluator: its program and the registers that others need.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Evaluator {
    /// The program.
    pub program: Program,
    /// The input `x`.
    pub x: Vec<Register>,
    /// The unread code `c`.
    pub code: Register,
    /// The output `u`.
    pub u: Register,
}

/// The data registers of Section D.1.3, in the order of its table.
struct Registers {
    x: Vec<Register>,
    corner: Vec<Register>,
    decoder: Decoder,
    p: Register,
    d_face: Register,
    psi: Register,
    v: Register,
    u: Register,
    beta: Register,
    multiplier: Multiplier,
}

impl Registers {
    fn new(builder: &mut Builder, d: usize, reader: Reader) -> Self {
        let x = (1..=d)
            .map(|i| builder.register(format!("x_{i}")))
            .collect();
        let corner = (1..=d)
            .map(|i| builder.register(format!("a_j,{i}")))
            .collect();
        let [code, word, product, p, d_face, psi, v, u, beta] =
            ["c", "a", "t", "p", "d_face", "psi", "v", "u", "beta"].map(|n| builder.register(n));
        let [v_plus, v_minus, s_plus, s_minus, w, timer] =
            ["v_+", "v_-", "S_+", "S_-", "w", "tau_eval"].map(|n| builder.register(n));
        Self {
            x,
            corner,
            decoder: Decoder {
                reader,
                code,
                word,
                timer,
            },
            p,
            d_face,
            psi,
            v,
            u,
            beta,
            multiplier: Multiplier {
                product,
                v: [v_plus, v_minus],
                s: [s_plus, s_minus],
                w,
                timer,
            },
        }
    }
}

impl Evaluator {
    /// The evaluator of a resolution, with exactly the phases of the table in Section D.1.4.
    pub fn new(resolution: &Resolution, reader: Reader) -> Result<Self, Error> {
        let mut builder = Builder::new();
        let registers = Registers::new(&mut builder, resolution.d, reader);
        let start = builder.here();
        builder.phase("reset p", vec![registers.p.set(0)]);
        decode_location(&mut builder, &registers, resolution);
        evaluate_terms(&mut builder, &registers, resolution);
        build_gate(&mut builder, &registers, resolution);
        add_output(&mut builder, &registers);
        advance(&mut builder, &registers, start);
        Ok(Self {
            program: builder.halt("halt")?,
            x: registers.x,
            code: registers.decoder.code,
            u: registers.u,
        })
    }
}

/// Stage (i): `5d + 1` phases.
fn decode_location(builder: &mut Builder, registers: &Registers, resolution: &Resolution) {
    for (i, corner) in registers.corner.iter().enumerate() {
        let name = format!("location {}", i + 1);
        builder.read(&name, &registers.decoder, resolution.m);
        let word = registers.decoder.word.value();
        builder.phase(format!("{name}: save"), vec![corner.set(word)]);
    }
    builder.phase("locations: done", vec![]);
}

/// Stage (ii): `7 M_Tay + 5V + 1` phases.
fn evaluate_terms(builder: &mut Builder, registers: &Registers, resolution: &Resolution) {
    let (product, p) = (registers.multiplier.product, registers.p);
    let share = Rational::new(1, resolution.terms as u64);
    let half_side = resolution.side().scaled(-1);
    for word in taylor_words(resolution.d, resolution.k) {
        let letters: Vec<_> = word.iter().map(|i| (i + 1).to_string()).collect();
        let name = format!("term ({})", letters.join(","));
        builder.read(&name, &registers.decoder, resolution.b());
        let coefficient = registers.decoder.word.value() * 2 - 1;
        builder.phase(
            format!("{name}: coefficient"),
            vec![product.set(coefficient)],
        );
        for (place, &i) in word.iter().enumerate() {
            let factor = registers.x[i].value() - registers.corner[i].value() - half_side.clone();
            let name = format!("{name} factor {}", place + 1);
            builder.multiply(&name, &registers.multiplier, &factor, resolution.j());
        }
        builder.phase(format!("{name}: factors done"), vec![]);
        let sum = p.value() + product.value() * &share;
        builder.phase(format!("{name}: add"), vec![p.set(sum)]);
    }
    builder.phase("terms: done", vec![]);
}

/// Stage (iii): `2d + 7` phases.
fn build_gate(builder: &mut Builder, registers: &Registers, resolution: &Resolution) {
    let Registers {
        p, d_face, psi, v, ..
    } = *registers;
    let sum = p.value() * resolution.terms as i64;
    // Pi_1(z) = ReLU(z + 1) - ReLU(z - 1) - 1
    let clipped = v.set(-1).plus(1, sum.clone() + 1).plus(-1, sum - 1);
    builder.phase("clip", vec![clipped]);
    builder.phase("faces: start", vec![d_face.set(1)]);
    let offsets = registers.x.iter().zip(&registers.corner);
    let offsets: Vec<_> = offsets.map(|(x, a)| x.value() - a.value()).collect();
    let mut compare = |name: String, distance: Affine<Register>| {
        let minimum = d_face.set(d_face.value());
        let minimum = minimum.plus(-1, d_face.value() - distance);
        builder.phase(name, vec![minimum]);
    };
    for (i, offset) in offsets.iter().enumerate() {
        compare(format!("face {} lower", i + 1), offset.clone());
    }
    for (i, offset) in offsets.iter().enumerate() {
        let distance = -offset.clone() + resolution.side();
        compare(format!("face {} upper", i + 1), distance);
    }
    builder.phase("faces: done", vec![]);
    builder.phase("gate: start", vec![psi.set(0).plus(1, d_face.value())]);
    let doubled = psi.value() * 2;
    let saturate = psi.set(doubled.clone()).plus(-1, doubled - 1);
    let timer = registers.decoder.timer;
    builder.repeat("gate", timer, resolution.g(), "double", vec![saturate]);
}

/// Stage (iv): one phase.
fn add_output(builder: &mut Builder, registers: &Registers) {
    let Registers { psi, v, u, .. } = *registers;
    let sum = u
        .set(u.value() - psi.value())
        .plus(1, v.value() + psi.value())
        .plus(-1, v.value() - psi.value());
    builder.phase("output", vec![sum]);
}

/// Stage (v): two phases.
fn advance(builder: &mut Builder, registers: &Registers, start: usize) {
    let Registers { beta, decoder, .. } = registers;
    let reader = decoder.reader;
    let bit = reader.add_bit(beta.set(0), &Rational::ONE, decoder.code);
    builder.phase("marker: read", vec![bit, reader.shift(decoder.code)]);
    let end = builder.here() + 1;
    builder.test("marker: check", vec![], beta.value(), start, end);
}

#[cfg(test)]
mod tests;
