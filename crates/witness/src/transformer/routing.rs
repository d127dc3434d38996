//! Boot and binary routing: from the gathered input to the address of its group (Section E.2).

use super::layout::Native;
use crate::Error;
use crate::affine::Affine;
use crate::block::Coordinate;
use crate::compiler::Placement;
use crate::program::{Assignment, Program, Register};
use crate::rational::Rational;
use crate::records::Groups;
use crate::resolution::Resolution;
use crate::routines::Builder;
use loopfit_numerics::libm;

/// The routing program with its comparison length.
#[derive(Clone, Debug, PartialEq)]
pub struct Routing {
    /// The program: boot, then `C_i`, `M_i`, `H_i` for each input, then the front end, which
    /// stands in the place of its halt. With one group there is boot alone.
    pub program: Program,
    /// The comparisons `L` before each commit; zero with one group.
    pub length: usize,
    /// The half-width `delta` of a centred remainder's exceptional interval; nothing with one
    /// group.
    pub delta: Option<f64>,
    registers: Registers,
}

/// The registers of the program, which lie in the evaluator, the front end and routing.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Registers {
    x: Vec<Register>,
    copies: Vec<Register>,
    aggregate: Vec<Register>,
    address: Register,
    signal: Register,
    inputs: Vec<Input>,
}

/// The registers of one input's routing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Input {
    u: Register,
    w: Register,
    b: Register,
    p: Register,
    compare: Register,
    level: Register,
}

impl Registers {
    fn new(builder: &mut Builder, d: usize) -> Self {
        let each = |builder: &mut Builder, name: &str| -> Vec<_> {
            (0..d)
                .map(|i| builder.register(format!("{name}_{i}")))
                .collect()
        };
        Self {
            x: each(builder, "x"),
            copies: each(builder, "U"),
            aggregate: each(builder, "x_agg"),
            address: builder.register("I"),
            signal: builder.register("a_att"),
            inputs: (0..d)
                .map(|i| {
                    let mut new = |name: &str| builder.register(format!("{name}_{i}"));
                    Input {
                        u: new("u"),
                        w: new("w"),
                        b: new("b"),
                        p: new("p"),
                        compare: new("tau_cmp"),
                        level: new("tau_level"),
                    }
                })
                .collect(),
        }
    }
}

impl Routing {
    /// The program for a partition into groups, with `tokens` tokens of native reference scale
    /// `q_hom`.
    pub fn new(
        resolution: &Resolution,
        groups: Groups,
        tokens: usize,
        q_hom: usize,
    ) -> Result<Self, Error> {
        let d = resolution.d;
        let (length, delta) = match groups.u() {
            0 => (0, None),
            h => {
                let delta = exceptional_width(resolution, h);
                let length = comparison_length(resolution, h, tokens, q_hom);
                (length, Some(delta))
            }
        };
        let mut builder = Builder::new();
        let registers = Registers::new(&mut builder, d);
        write(&mut builder, &registers, groups, length);
        Ok(Self {
            program: builder.halt("warm-up")?,
            length,
            delta,
            registers,
        })
    }

    /// Where the program lies among the native coordinates.
    pub fn placement(&self, native: &Native) -> Placement {
        let Registers {
            x,
            copies,
            aggregate,
            address,
            signal,
            inputs,
        } = &self.registers;
        let mut registers = vec![Coordinate(0); self.program.registers().len()];
        let mut place = |from: &[Register], to: &[Coordinate]| {
            for (register, coordinate) in from.iter().zip(to) {
                registers[register.0] = *coordinate;
            }
        };
        place(x, &native.x);
        place(copies, &native.front.inputs);
        place(aggregate, &native.routing.aggregate);
        place(
            &[*address, *signal],
            &[native.front.address, native.routing.signal],
        );
        for (input, data) in inputs.iter().zip(&native.routing.data) {
            let Input {
                u,
                w,
                b,
                p,
                compare,
                level,
            } = *input;
            place(&[u, w, b, p, compare, level], data);
        }
        let mut phases = vec![native.routing.boot];
        if self.length > 0 {
            phases.extend(native.routing.phases.iter().flatten());
        }
        phases.push(native.front.phases[0]);
        Placement { registers, phases }
    }

    /// The register of the comparison signal, which attention writes.
    pub fn signal(&self) -> Register {
        self.registers.signal
    }

    /// The registers of the gathered input, which attention writes.
    pub fn aggregate(&self) -> &[Register] {
        &self.registers.aggregate
    }

    /// The remainders, whose sum is the query.
    pub fn remainders(&self) -> impl Iterator<Item = Register> + '_ {
        self.registers.inputs.iter().map(|input| input.u)
    }

    /// The blocks that routing takes.
    ///
    /// # Formula
    #[doc = loopfit_tex::tex!(r"1 + d\{h(L + 1) + 1\}")]
    /// with several groups, one with a single one.
    ///
    /// # Reference
    /// Section E.2.5.
    pub fn iterations(&self, groups: Groups) -> usize {
        match groups.u() {
            0 => 1,
            h => 1 + self.registers.inputs.len() * (h * (self.length + 1) + 1),
        }
    }
}

/// `zeta_k = 2^-(k-1)`: the start of a timer of `k` repetitions.
pub(super) fn zeta(count: usize) -> Rational {
    Rational::power_of_two(1 - count as i64)
}

/// `y := Pi_1(form)`, as `-1 + ReLU(form + 1) - ReLU(form - 1)`.
fn clipped(register: Register, form: Affine<Register>) -> Assignment {
    let (upper, lower) = (form.clone() + 1, form - 1);
    register.set(-1).plus(1, upper).plus(-1, lower)
}

/// (S54): the assignments that start the routing of one input, whose value is `x`. Comparator and
/// prefix are zero already.
fn start(input: &Input, x: Register, h: usize, length: usize) -> Vec<Assignment> {
    vec![
        input.u.set(x.value() * 2 - 1),
        input.p.set(1),
        input.compare.set(zeta(length)),
        input.level.set(zeta(h)),
    ]
}

/// The phases: (S54) to (S57).
fn write(builder: &mut Builder, registers: &Registers, groups: Groups, length: usize) {
    let (d, h) = (registers.inputs.len(), groups.u());
    let mut boot = Vec::new();
    for (i, &x) in registers.aggregate.iter().enumerate() {
        boot.push(registers.x[i].set(x.value()));
        boot.push(registers.copies[i].set(x.value()));
    }
    if h > 0 {
        let first = registers.aggregate[0];
        boot.extend(start(&registers.inputs[0], first, h, length));
    }
    builder.phase("boot", boot);
    let routed = if h > 0 { d } else { 0 };
    for (i, input) in registers.inputs.iter().enumerate().take(routed) {
        let Input {
            u,
            w,
            b,
            p,
            compare,
            level,
        } = *input;
        let half = Rational::new(1, 2u8);
        let (comparison, elapsed) = (builder.here(), |timer: Register| timer.value() * 2 - 1);
        let assignments = vec![
            clipped(w, w.value() * 2 + registers.signal.value()),
            compare.set(compare.value() * 2),
        ];
        let (name, commit) = (format!("compare {i}"), comparison + 1);
        builder.test(name, assignments, elapsed(compare), commit, comparison);
        let bit = (p.value() + w.value() - 1) * &half;
        let assignments = vec![
            clipped(u, u.value() * 2 - w.value()),
            b.set(b.value()).plus(1, bit),
            p.set(p.value() * &half),
            w.set(0),
            compare.set(zeta(length)),
            level.set(level.value() * 2),
        ];
        let (name, handoff) = (format!("commit {i}"), commit + 1);
        builder.test(name, assignments, elapsed(level), handoff, comparison);
        let mut assignments: Vec<_> = [u, w, compare, level, p].map(|r| r.set(0)).into();
        if i + 1 < d {
            // The gathered input is gone by now; the evaluator's copy of it is there.
            let next = registers.x[i + 1];
            assignments.extend(start(&registers.inputs[i + 1], next, h, length));
        } else {
            assignments.push(address(registers, groups));
            assignments.extend(registers.inputs.iter().map(|input| input.b.set(0)));
        }
        builder.phase(format!("handoff {i}"), assignments);
    }
}

/// (S57): the normalised address from the prefixes.
fn address(registers: &Registers, groups: Groups) -> Assignment {
    let (d, h) = (registers.inputs.len() as i64, groups.u() as i64);
    let zero = Affine::constant(Rational::ZERO);
    let sum = registers
        .inputs
        .iter()
        .zip(1..)
        .fold(zero, |sum, (input, i)| {
            sum + input.b.value() * &Rational::power_of_two(h * (i - d))
        });
    registers.address.set(sum)
}

/// Half the measure of the inputs that one remainder excludes.
///
/// # Formula
#[doc = loopfit_tex::tex!(r"\delta = K^{-2s}/(dh)")]
///
/// # Reference
/// (S58).
fn exceptional_width(resolution: &Resolution, h: usize) -> f64 {
    libm::exp2(-2.0 * resolution.s.to_f64() * resolution.m as f64) / (resolution.d * h) as f64
}

/// The least signal, as a multiple of the remainder.
///
/// # Formula
#[doc = loopfit_tex::tex!(r"
    c_{\rm sig} = \frac2N \frac{\tanh C_{\rm att}}{C_{\rm att}}, \qquad C_{\rm att} = q_{\rm hom}/\sqrt3
")]
///
/// # Reference
/// (S52).
pub fn least_signal(tokens: usize, q_hom: usize) -> f64 {
    let attention = q_hom as f64 / libm::sqrt(3.0);
    2.0 / tokens as f64 * libm::tanh(attention) / attention
}

/// The comparisons before each commit.
///
/// # Formula
#[doc = loopfit_tex::tex!(r"L = \Big\lceil \log_2\Big(1 + \frac1{c_{\rm sig}\delta}\Big) \Big\rceil")]
///
/// # Reference
/// (S58).
fn comparison_length(resolution: &Resolution, h: usize, tokens: usize, q_hom: usize) -> usize {
    let factor = (resolution.d * h) as f64 / least_signal(tokens, q_hom);
    // log2 of 1 / (c_sig delta), which itself may be beyond the floats.
    let exponent = 2.0 * resolution.s.to_f64() * resolution.m as f64 + libm::log2(factor);
    libm::ceil(exponent + libm::log1p(libm::exp2(-exponent)) / std::f64::consts::LN_2) as usize
}
