use std::f64::consts::{E, PI};

use loopfit_numerics::quadrature::midpoint_grid;
use loopfit_numerics::sum::{mean, sample_sd};
use proptest::prelude::*;

use super::*;

mod double_well;
mod packing;

/// Values of an independent program (Python, `math` module) with all signs positive.
#[test]
fn functions_match_an_independent_program() {
    let cases: &[(Simulation, &[f64], f64)] = &[
        (Simulation::Bumps, &[0.5, 0.5], 0.25),
        (Simulation::Bumps, &[0.2, 0.15], 0.19820821334499245),
        (Simulation::Bumps, &[0.9, 0.45], 0.0240752210673015),
        (Simulation::Bumps, &[0.35, 0.35], 0.0),
        (
            Simulation::Recurrence,
            &[0.1, 0.2, 0.3],
            -0.014307497689856591,
        ),
        (
            Simulation::Recurrence,
            &[0.9, 0.25, 0.7],
            0.1719442464266116,
        ),
        (
            Simulation::Recurrence,
            &[1.0, 1.0, 1.0],
            0.23438768298458934,
        ),
        (
            Simulation::Friedman1,
            &[0.1, 0.2, 0.3, 0.4, 0.5],
            0.3963952597646567,
        ),
        (Simulation::Friedman1, &[1.0, 0.5, 0.0, 1.0, 1.0], 1.5),
        (Simulation::FourModes, &[0.2, 0.23], 1.813032202041965),
        (Simulation::FourModes, &[0.5, 0.5], 0.6246887319726346),
        (Simulation::FourModes, &[0.0, 1.0], 0.06211988867367376),
        (Simulation::FourModes, &[0.9, 0.1], 0.663565876325485),
    ];
    for &(simulation, x, expected) in cases {
        let got = simulation.target(1).eval(x);
        let got = if simulation == Simulation::Bumps {
            got.abs()
        } else {
            got
        };
        assert!(
            (got - expected).abs() < 1e-13,
            "{simulation} at {x:?}: {got}, expected {expected}"
        );
    }
}

#[test]
fn bump_signs_are_fair_and_differ_between_seeds() {
    let centres = midpoint_grid(2, 3);
    let signs: Vec<f64> = (0..200)
        .flat_map(|seed| {
            let target = Simulation::Bumps.target(seed);
            centres
                .chunks(2)
                .map(|c| target.eval(c) / 0.25)
                .collect::<Vec<_>>()
        })
        .collect();
    assert!(signs.iter().all(|s| (s.abs() - 1.0).abs() < 1e-12));
    // Five standard errors of the mean of 1800 fair signs.
    assert!(mean(&signs).abs() < 5.0 / (signs.len() as f64).sqrt());
    assert_ne!(signs[..9], signs[9..18]);
}

/// Bounds stated in F.4.1: `(simulation, supremum, Lipschitz constant)`.
fn bounds() -> [(Simulation, f64, f64); 3] {
    let forcing = (0.3f64.powi(2) + (0.16 * PI).powi(2)).sqrt();
    [
        (Simulation::Bumps, 0.25, 0.75 * (32.0 / E) * 2f64.sqrt()),
        (
            Simulation::Recurrence,
            0.5,
            1.0 + forcing / (1.0 - (0.45 + 0.16 * PI)),
        ),
        (
            Simulation::Friedman1,
            1.5,
            (2.0 * (PI / 2.0).powi(2) + 1.0 + 0.25 + 0.0625).sqrt(),
        ),
    ]
}

#[test]
fn the_displayed_bounds_are_below_32() {
    assert!(bounds().iter().all(|(_, sup, lip)| sup + lip < 32.0));
}

proptest! {
    #[test]
    fn functions_keep_the_bounds_of_the_paper(
        seed: u64,
        x in prop::collection::vec(0.0f64..=1.0, 5),
        step in prop::collection::vec(-0.05f64..=0.05, 5),
    ) {
        for (simulation, sup, lipschitz) in bounds() {
            let d = simulation.dim();
            let target = simulation.target(seed);
            let z: Vec<f64> = x.iter().zip(&step).map(|(x, s)| (x + s).clamp(0.0, 1.0)).collect();
            let distance = x[..d].iter().zip(&z).map(|(a, b)| (a - b) * (a - b)).sum::<f64>().sqrt();
            let (fx, fz) = (target.eval(&x[..d]), target.eval(&z[..d]));
            prop_assert!(fx.abs() <= sup + 1e-12);
            prop_assert!((fx - fz).abs() <= lipschitz * distance + 1e-12);
        }
    }

    #[test]
    fn larger_sizes_begin_with_smaller_ones(
        seed: u64,
        small in prop::array::uniform3(0usize..20),
        more in prop::array::uniform3(0usize..20),
    ) {
        for simulation in Simulation::ALL {
            let a = simulation.draw(seed, small[0], small[1], small[2]);
            let b = simulation.draw(seed, small[0] + more[0], small[1] + more[1], small[2] + more[2]);
            for (a, b) in [(a.train, b.train), (a.valid, b.valid), (a.test, b.test)] {
                prop_assert_eq!(&a.x[..], &b.x[..a.x.len()]);
                prop_assert_eq!(&a.y[..], &b.y[..a.y.len()]);
            }
        }
    }
}

#[test]
fn roles_have_their_own_streams() {
    for simulation in Simulation::ALL {
        let draw = simulation.draw(5, 50, 50, 50);
        let mut all: Vec<u64> = [&draw.train, &draw.valid, &draw.test]
            .iter()
            .flat_map(|o| o.x.iter().map(|v| v.to_bits()))
            .collect();
        let n = all.len();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), n, "{simulation}: two roles share inputs");
    }
}

#[test]
fn noise_has_the_stated_size_and_the_test_part_has_none() {
    for (simulation, sd) in [
        (Simulation::Bumps, 0.02),
        (Simulation::Recurrence, 0.02),
        (Simulation::Friedman1, 0.05),
        (Simulation::DoubleWell, 0.3),
    ] {
        assert_eq!(simulation.noise_sd(), Some(sd));
        let target = simulation.target(9);
        let draw = simulation.draw(9, 20_000, 20_000, 100);
        let residuals = |o: &Observations| -> Vec<f64> {
            let points = o.x.chunks(o.d).zip(&o.y);
            points.map(|(x, y)| y - target.eval(x)).collect()
        };
        let (train, valid) = (residuals(&draw.train), residuals(&draw.valid));
        for r in [&train, &valid] {
            // Five standard errors of a mean and of a standard deviation of 20000 normals.
            assert!(mean(r).abs() < 5.0 * sd / 20_000f64.sqrt());
            assert!((sample_sd(r) / sd - 1.0).abs() < 5.0 / 40_000f64.sqrt());
        }
        let products: Vec<f64> = train.iter().zip(&valid).map(|(a, b)| a * b).collect();
        assert!(mean(&products).abs() < 5.0 * sd * sd / 20_000f64.sqrt());
        assert!(residuals(&draw.test).iter().all(|r| *r == 0.0));
    }
}

/// The index on the 512^2 midpoints of the unit square.
fn four_modes_on_the_grid() -> Vec<f64> {
    let target = Simulation::FourModes.target(0);
    let grid = midpoint_grid(2, 512);
    grid.chunks(2).map(|x| target.eval(x)).collect()
}

/// The paper states the range [0.0634, 1.814] (F.4.5).
#[test]
fn four_modes_has_the_stated_range_and_divergence() {
    let index = four_modes_on_the_grid();
    let low = index.iter().copied().fold(f64::INFINITY, f64::min);
    let high = index.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    assert!((low - 0.06341).abs() < 5e-6, "{low}");
    assert!((high - 1.81381).abs() < 5e-6, "{high}");

    // KL(p | uniform) = E_p[f] - log Z.
    let weights: Vec<f64> = index.iter().map(|f| f.exp()).collect();
    let z = mean(&weights);
    let moments: Vec<f64> = index.iter().zip(&weights).map(|(f, w)| f * w).collect();
    let kl = mean(&moments) / z - z.ln();
    assert!((kl - 0.06673).abs() < 5e-6, "{kl}");

    // |grad A exp(-r^2 / 2 s^2)| is at most A exp(-1/2) / s.
    let lipschitz: f64 = four_modes::TERMS
        .iter()
        .map(|(_, a, s)| a.abs() * (-0.5f64).exp() / s)
        .sum();
    let half_diagonal = 2f64.sqrt() / 1024.0;
    assert!(high + lipschitz * half_diagonal < four_modes::BOUND);
}

/// Pearson's chi-square over 8 x 8 cells against the density integrated on the grid.
#[test]
fn four_modes_draws_follow_the_density() {
    let n = 40_000;
    let draw = Simulation::FourModes.draw(3, n, 0, 0);
    assert!(draw.train.y.is_empty());
    let cell = |x: f64| ((8.0 * x) as usize).min(7);
    let mut counts = [0.0; 64];
    for x in draw.train.x.chunks(2) {
        counts[8 * cell(x[0]) + cell(x[1])] += 1.0;
    }
    let mut mass = [0.0; 64];
    for (i, f) in four_modes_on_the_grid().iter().enumerate() {
        mass[8 * (i / 512 / 64) + i % 512 / 64] += f.exp();
    }
    let total: f64 = mass.iter().sum();
    let chi2: f64 = counts
        .iter()
        .zip(&mass)
        .map(|(c, m)| {
            let expected = n as f64 * m / total;
            (c - expected) * (c - expected) / expected
        })
        .sum();
    // The 0.9999 quantile of chi-square with 63 degrees of freedom is 113.505 (its density, integrated
    // numerically).
    assert!(chi2 < 113.505, "{chi2}");
}

#[test]
fn names_are_read_back_and_unknown_ones_list_the_known() {
    for simulation in Simulation::ALL {
        assert_eq!(simulation.name().parse(), Ok(simulation));
    }
    let error = "bump".parse::<Simulation>().unwrap_err().to_string();
    assert_eq!(
        error,
        "there is no simulation `bump`; the known ones are bumps, recurrence, friedman1, four-modes, double-well, \
         packing:dim=d,smoothness=s,bound=H,delta=D and series:smoothness=s,signs=equal"
    );
}

/// One function as a logit and as a log density, against sums over a grid of 4096 cells.
#[test]
fn packings_draw_classes_and_densities() {
    let text = "packing:dim=1,smoothness=1,bound=80,delta=0.06,member=3,law=";
    let named = |law: &str| format!("{text}{law}").parse::<Simulation>().unwrap();
    let (classes, draws) = (named("bernoulli"), named("energy"));
    assert_eq!((classes.is_binary(), classes.is_density()), (true, false));
    assert_eq!((draws.is_binary(), draws.is_density()), (false, true));
    assert_eq!((classes.noise_sd(), draws.noise_sd()), (None, None));
    assert_eq!(classes.to_string(), format!("{text}bernoulli"));
    let target = draws.target(1);
    let on_grid = |f: fn(f64) -> f64, below: f64| -> f64 {
        let points = (0..4096).map(|i| (f64::from(i) + 0.5) / 4096.0);
        points
            .filter(|x| *x < below)
            .map(|x| f(target.eval(&[x])))
            .sum()
    };
    let n = 40_000;
    let y = classes.draw(5, n, 0, 0).train.y;
    assert!(y.iter().all(|y| [0.0, 1.0].contains(y)));
    let ones = y.iter().sum::<f64>() / n as f64;
    let expected = on_grid(|f| 1.0 / (1.0 + (-f).exp()), 1.0) / 4096.0;
    // Four standard deviations of a share of so many.
    assert!(
        (ones - expected).abs() < 4.0 * 0.5 / 200.0,
        "{ones} {expected}"
    );
    let x = draws.draw(5, n, 0, 0).train.x;
    for below in [0.2, 0.3, 0.6] {
        let share = x.iter().filter(|x| **x < below).count() as f64 / n as f64;
        let expected = on_grid(f64::exp, below) / on_grid(f64::exp, 1.0);
        assert!(
            (share - expected).abs() < 4.0 * 0.5 / 200.0,
            "{below}: {share} {expected}"
        );
    }
    for (tail, says) in [
        ("poisson", "gaussian, bernoulli or energy"),
        ("energy,noise=1", "only responses"),
    ] {
        let error = format!("{text}{tail}").parse::<Simulation>().unwrap_err();
        assert!(error.to_string().contains(says), "{error}");
    }
}

#[test]
fn observations_become_a_table() {
    let draw = Simulation::Recurrence.draw(1, 4, 0, 0);
    let table = draw.train.to_table("sim:recurrence");
    assert_eq!(table.names(), ["x1", "x2", "x3", "y"]);
    assert_eq!(table.rows(), 4);
    let Some(Column::Numeric(x2)) = table.column("x2") else {
        panic!("x2 is numeric");
    };
    assert_eq!(x2[3], draw.train.x[3 * 3 + 1]);
}
