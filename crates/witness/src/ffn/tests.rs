use super::*;
use crate::arithmetic::{BigFloat, Exact, F64};
use crate::expression::Expression;
use crate::interpreter::Interpreter;
use crate::target::Polynomial;
use loopfit_model::reference::{forward, forward_values};
use proptest::prelude::*;

fn r(text: &str) -> Rational {
    text.parse().unwrap()
}

/// `-1/10 + x_1/3 - x_1 x_d/4 + x_d^2/5`, with all derivatives bounded by one.
fn target(d: usize) -> Polynomial {
    let monomial = |powers: &[usize]| {
        let mut exponents = vec![0; d];
        powers.iter().for_each(|&i| exponents[i] += 1);
        exponents
    };
    let terms = vec![
        (monomial(&[]), r("-1/10")),
        (monomial(&[0]), r("1/3")),
        (monomial(&[0, d - 1]), r("-1/4")),
        (monomial(&[d - 1, d - 1]), r("1/5")),
    ];
    Polynomial::new(d, terms).unwrap()
}

fn witness(d: usize, s: &str, m: usize, u: usize, reader: Reader) -> Witness {
    let resolution = Resolution::new(d, r(s), Rational::ONE, m).unwrap();
    Witness::new(resolution, u, reader, &target(d)).unwrap()
}

/// A point off the strips, near the one with these fractions of `2^32`.
fn off_strips(resolution: &Resolution, fractions: &[u32]) -> Vec<Rational> {
    let strip = Rational::power_of_two(resolution.m as i64 - resolution.g() as i64);
    let coordinate = |fraction: &u32| {
        let place = Rational::from(i64::from(*fraction)).scaled(resolution.m as i64 - 32);
        let cell = Rational::from(place.floor());
        let inside = (place - &cell).max(strip.clone());
        (cell + inside.min(Rational::ONE - &strip)).scaled(-(resolution.m as i64))
    };
    let point: Vec<_> = fractions[..resolution.d].iter().map(coordinate).collect();
    assert!(!resolution.is_on_strip(&point));
    point
}

/// Resources for the cases that the theorem is used with: building checks every line of the table,
/// and a run ends exactly when (S34) says, not before.
#[test]
fn resources_and_times() {
    for d in 1..=3 {
        for s in ["1/2", "1", "3/2", "2", "3"] {
            for m in 1..=3 {
                for u in 0..=m {
                    let witness = witness(d, s, m, u, Reader::Paper);
                    let resources = witness.resources();
                    assert_eq!(resources.table().len(), 10);
                    let network = witness.network(resources.q, resources.r, 1);
                    if let Ok(network) = network {
                        assert_eq!(network.count() as u128, resources.count);
                    }
                    if resources.finishing_time > 3000 {
                        continue;
                    }
                    let x = off_strips(
                        witness.resolution(),
                        &[0x3333_3333, 0xaaaa_0000, 0x7000_1234],
                    );
                    let runner = witness.runner(Exact);
                    let mut run = runner.start(&x).unwrap();
                    let is_started = |run: &run::Run<'_, Exact>| {
                        run.active_phases()
                            .iter()
                            .any(|phase| phase.name == "reset p")
                    };
                    let halts = |run: &run::Run<'_, Exact>| {
                        run.active_phases().iter().any(|phase| phase.name == "halt")
                    };
                    run.advance(resources.selection_time - 1);
                    assert!(!is_started(&run));
                    run.advance(1);
                    assert!(is_started(&run));
                    let rest = resources.finishing_time - resources.selection_time;
                    run.advance(rest - 1);
                    assert!(!halts(&run), "d = {d}, s = {s}, m = {m}, u = {u}");
                    run.advance(1);
                    assert!(halts(&run), "d = {d}, s = {s}, m = {m}, u = {u}");
                }
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// In every state of a run the network is what the interpreter says: dormant before the
    /// lookup, then the program on the code of the input's group; its phases are one-hot, the
    /// selector's with the value C; nothing changes in 1000 further iterations; and the output is
    /// within the error bound.
    #[test]
    fn networks_are_their_program(
        d in 1usize..=2, s in prop::sample::select(vec!["1/2", "1", "3/2", "2"]),
        m in 1usize..=2, u in 0usize..=2, dyadic: bool, fractions in prop::array::uniform2(any::<u32>()),
    ) {
        let reader = if dyadic { Reader::Dyadic } else { Reader::Paper };
        let witness = witness(d, s, m, u.min(m), reader);
        let x = off_strips(witness.resolution(), &fractions);
        let group = {
            let coarse = x.iter().map(|x| usize::try_from(x.scaled(u.min(m) as i64).floor()).unwrap());
            coarse.zip(0..).map(|(a, i)| a << (u.min(m) * i)).sum::<usize>()
        };
        let program = &witness.evaluator().program;
        let mut registers = vec![Rational::ZERO; program.registers().len()];
        for (register, x) in witness.evaluator().x.iter().zip(&x) {
            registers[register.0] = x.clone();
        }
        let dormant = registers.clone();
        registers[witness.evaluator().code.0] = witness.codes()[group].clone();
        let mut oracle = Interpreter::new(program, registers);
        let runner = witness.runner(Exact);
        let mut run = runner.start(&x).unwrap();
        let resources = witness.resources();
        let placement = witness.placement();
        let values = |run: &run::Run<'_, Exact>, places: &[crate::Coordinate]| -> Vec<Rational> {
            places.iter().map(|c| run.state()[c.0].clone()).collect()
        };
        for iteration in 0..=resources.finishing_time {
            let phases = values(&run, &placement.phases);
            if iteration < resources.selection_time {
                prop_assert!(phases.iter().all(Rational::is_zero));
                prop_assert_eq!(&values(&run, &placement.registers), &dormant);
            } else {
                for (index, phase) in phases.into_iter().enumerate() {
                    prop_assert_eq!(phase, Rational::from(i64::from(index == oracle.phase())));
                }
                prop_assert_eq!(&values(&run, &placement.registers), oracle.registers());
                oracle.step().unwrap();
            }
            let scale = run.state()[witness.selector().scale.0].clone();
            let active: Vec<_> = values(&run, &witness.selector().phases)
                .into_iter()
                .filter(|phase| !phase.is_zero())
                .collect();
            prop_assert_eq!(active, vec![scale]);
            if iteration < resources.finishing_time {
                prop_assert!(!run.step().is_empty() || program.phases()[oracle.phase()].assignments.is_empty());
            }
        }
        prop_assert!(oracle.halted());
        for _ in 0..1000 {
            prop_assert!(run.step().is_empty());
        }
        let output = run.output().unwrap();
        let error = (output.value - target(d).value(&x).unwrap()).abs().to_f64();
        prop_assert!(error <= witness.resolution().interior_error_bound());
    }

    /// On coarse strips the selector hands over numbers between codes: phases become fractional and registers may grow
    /// without bound, but the clipped output is in [-H, H] at every time.
    #[test]
    fn clipping_bounds_the_output_on_strips(
        d in 1usize..=2, s in prop::sample::select(vec!["1", "2"]), m in 1usize..=2,
        offset in -4096i64..=4096, other in any::<u32>(),
    ) {
        let witness = witness(d, s, m, 1, Reader::Paper);
        let exponent = witness.resolution().scale_exponent() as i64;
        let mut x = vec![r("1/2") + Rational::from(offset).scaled(-12 - exponent)];
        x.extend((1..d).map(|_| Rational::from(i64::from(other)).scaled(-32)));
        let runner = witness.runner(Exact);
        let mut run = runner.start(&x).unwrap();
        for _ in 0..2 * witness.resources().finishing_time {
            run.step();
            prop_assert!(run.output().unwrap().value.abs() <= Rational::ONE);
        }
    }
}

/// The paper's evaluator is not bounded on coarse strips: at d = 1, s = 2, m = 1, a little left of the middle, phases feed back
/// into each other after the time at which it should have halted.
#[test]
fn evaluators_may_diverge_on_coarse_strips() {
    let target = Expression::parse("x1*(1-x1)/2 - 1/4", None).unwrap();
    let resolution = Resolution::new(1, r("2"), Rational::ONE, 1).unwrap();
    let witness = Witness::new(resolution, 1, Reader::Paper, &*target.into_target()).unwrap();
    let exponent = witness.resolution().scale_exponent() as i64;
    let x = r("1/2") - Rational::from(2815).scaled(-12 - exponent);
    let runner = witness.runner(Exact);
    let mut run = runner.start(&[x]).unwrap();
    run.advance(2 * witness.resources().finishing_time);
    let registers = witness.placement().registers.iter();
    let largest = registers.map(|c| run.state()[c.0].abs()).max().unwrap();
    assert!(largest > Rational::power_of_two(100), "{largest}");
    assert!(run.output().unwrap().value.abs() <= Rational::ONE);
}

/// Between codes the paper's reader keeps [0, 2/3] and the dyadic one does not.
#[test]
fn dyadic_readers_are_unbounded_between_codes() {
    let largest = |reader| {
        let witness = witness(1, "1", 2, 1, reader);
        let exponent = witness.resolution().scale_exponent() as i64;
        let code = witness.placement().registers[witness.evaluator().code.0];
        let runner = witness.runner(Exact);
        let last_code = |eighths: i64| {
            let x = r("1/2") - Rational::from(eighths).scaled(-3 - exponent);
            let mut run = runner.start(&[x]).unwrap();
            run.advance(witness.resources().finishing_time);
            run.state()[code.0].abs()
        };
        (1..8).map(last_code).max().unwrap()
    };
    assert!(largest(Reader::Paper) <= r("2/3"));
    assert!(largest(Reader::Dyadic) > Rational::from(1000));
}

/// The model is an ordinary one: in f64 the dense network, padded, gives the bits that the sparse
/// run in `F64` gives, and with the dyadic reader those of the exact run.
#[test]
fn witnesses_are_ordinary_networks() {
    for (d, s, m, u) in [(1, "1", 2, 1), (2, "1", 1, 0), (1, "2", 1, 1)] {
        for reader in [Reader::Paper, Reader::Dyadic] {
            let witness = witness(d, s, m, u, reader);
            let resources = witness.resources();
            let t = resources.finishing_time;
            let network = witness
                .network(resources.q + 2, resources.r + 3, t)
                .unwrap();
            let values = witness.dense(&network, Rational::to_f64);
            for numerator in [1u32, 5, 11, 13] {
                let x = off_strips(witness.resolution(), &[numerator << 28, 0x5800_0000]);
                let floats: Vec<_> = x.iter().map(Rational::to_f64).collect();
                let dense = forward_values(&network, &values, &floats)[0];
                let runner = witness.runner(F64);
                let mut run = runner.start(&x).unwrap();
                run.advance(t);
                assert_eq!(dense, run.output().unwrap().u.to_f64());
                if reader == Reader::Dyadic {
                    let exact = witness.runner(Exact).evaluate(&x).unwrap();
                    assert_eq!(exact.u.to_f64(), dense);
                }
            }
        }
    }
}

/// One record of 5 bits fits 24 bits, four do not; the lists say which coefficients.
#[test]
fn models_say_what_they_round() {
    let witness = |u| {
        let resolution = Resolution::new(1, r("1"), Rational::ONE, 2).unwrap();
        Witness::new(resolution, u, Reader::Dyadic, &target(1)).unwrap()
    };
    let short = witness(2);
    let resources = short.resources();
    let t = resources.finishing_time;
    let model = short.model(resources.q, resources.r, t).unwrap();
    assert_eq!(model.rounded, []);
    let x = [r("3/8")];
    let exact = short.runner(Exact).evaluate(&x).unwrap();
    assert_eq!(forward(&model.parameters, &[0.375]), [exact.value.to_f64()]);
    let long = witness(0);
    let resources = long.resources();
    let model = long.model(resources.q, resources.r, 1).unwrap();
    // gamma, -2 gamma and gamma, in two rows each
    assert_eq!(model.rounded.len(), 6);
    for rounded in &model.rounded {
        assert_eq!(rounded.tensor, "block.0.w2");
        let code = &long.codes()[0];
        assert!(rounded.exact == *code || rounded.exact == -code.scaled(1));
    }
    // The paper's threshold is not a float at all.
    let paper = Witness::new(long.resolution().clone(), 2, Reader::Paper, &target(1)).unwrap();
    let rounded = paper
        .model(resources.q, resources.r + 200, 1)
        .unwrap()
        .rounded;
    assert!(!rounded.is_empty() && rounded.iter().all(|entry| entry.tensor == "block.0.b1"));
}

/// With bits for the code and the gates, floats are exact; with too few they are not.
#[test]
fn floats_of_enough_bits_are_exact() {
    let resolution = Resolution::new(1, r("1"), Rational::ONE, 3).unwrap();
    let constant = Polynomial::new(1, vec![(vec![0], r("-1/2"))]).unwrap();
    let witness = Witness::new(resolution, 0, Reader::Dyadic, &constant).unwrap();
    // In the last cell: its record is at the end of the code.
    let x = [r("0.95")];
    let exact = witness.runner(Exact).evaluate(&x).unwrap();
    assert_eq!(exact.u, r("-1/2"));
    let bits = 2 * witness.resources().code_length;
    let at = |bits| witness.runner(BigFloat::new(bits)).evaluate(&x).unwrap();
    assert!((at(bits + 16).u - &exact.u).abs() < r("1/1000000"));
    assert!((at(bits / 2).u - &exact.u).abs() > r("1/1000"));
}

#[test]
fn wrong_requests_are_refused() {
    let witness = witness(1, "1", 2, 1, Reader::Paper);
    let text = |error: Error| error.to_string();
    let refuse = |x: &[&str]| {
        let x: Vec<_> = x.iter().map(|x| r(x)).collect();
        text(witness.runner(Exact).evaluate(&x).unwrap_err())
    };
    assert!(refuse(&["1/2", "1/2"]).contains("has 2 numbers"));
    assert!(refuse(&["-1/2"]).contains("-1/2 is outside"));
    assert!(refuse(&["3/2"]).contains("3/2 is outside"));
    assert!(text(witness.network(55, 9999, 1).unwrap_err()).contains("at least 56"));
    assert!(text(witness.network(56, 2079, 1).unwrap_err()).contains("at least 2080"));
    assert!(text(witness.network(56, 2080, 0).unwrap_err()).contains("not a model"));
    let resolution = witness.resolution();
    // R(u) = 2030 + 25 2^u for d = s = 1
    assert_eq!(group_exponent(resolution, 2055), Ok(0));
    assert_eq!(group_exponent(resolution, 2129), Ok(1));
    assert_eq!(group_exponent(resolution, 2130), Ok(2));
    assert_eq!(group_exponent(resolution, usize::MAX), Ok(2));
    assert_eq!(
        group_exponent(resolution, 2054),
        Err(Error::HiddenWidth {
            r: 2054,
            least: 2055
        })
    );
}
