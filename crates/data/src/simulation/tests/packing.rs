use super::*;
use loopfit_holder::{HolderClass, Packing, Smoothness};

const TEXT: &str = "packing:dim=2,smoothness=1.5,bound=100,delta=0.001";

fn simulation(text: &str) -> Simulation {
    text.parse().unwrap_or_else(|e| panic!("{text}: {e}"))
}

fn packing() -> Packing {
    let class = HolderClass::new(Smoothness::new(2, 1.5).unwrap(), 100.0).unwrap();
    Packing::new(class, 0.001).unwrap()
}

#[test]
fn texts_are_read_back() {
    for text in [
        TEXT.to_string(),
        format!("{TEXT},member=7"),
        format!("{TEXT},noise=0.5"),
        format!("{TEXT},member=0,noise=0"),
        "packing:dim=1,smoothness=2,bound=1,delta=5e-6,noise=1.5e-7".to_string(),
        "packing:dim=1,smoothness=12,bound=1.25e10,delta=1e-20".to_string(),
    ] {
        assert_eq!(simulation(&text).to_string(), text);
        assert_eq!(simulation(&text).name(), "packing");
    }
    // Order, spaces and the noise that is there anyway do not make another simulation.
    let other = "packing:delta=1e-3, bound=1e2, noise=0.02, smoothness=1.50, dim=2";
    assert_eq!(simulation(other).to_string(), TEXT);
    let large = "packing:dim=1,smoothness=0.3,bound=7e30,delta=1e-3,member=1";
    assert!(large.parse::<Simulation>().is_err(), "too many cells");
}

#[test]
fn wrong_texts_are_explained() {
    let example = "write e.g. sim:packing:dim=2,smoothness=1.5,bound=100,delta=0.001";
    for (text, said) in [
        ("packing", format!("sim:packing needs `dim=`: {example}")),
        ("packing:dim=2", format!("sim:packing needs `smoothness=`: {example}")),
        ("packing:dim", format!("`dim` in sim:packing is not of the form KEY=VALUE: {example}")),
        (
            "packing:dims=2",
            "sim:packing has no `dims`; its keys are dim, smoothness, bound, delta, member, noise, law".to_string(),
        ),
        ("packing:dim=2,dim=3", "sim:packing has `dim` twice: leave one out".to_string()),
        (
            "packing:dim=-2,smoothness=1,bound=1,delta=1",
            "sim:packing cannot use dim=-2: it must be a whole number".to_string(),
        ),
        (
            "packing:dim=2,smoothness=x,bound=1,delta=1",
            "sim:packing cannot use smoothness=x: it must be a number".to_string(),
        ),
        (
            "packing:dim=0,smoothness=1,bound=1,delta=1",
            "sim:packing cannot be built: the dimension d is 0: a function needs at least one input".to_string(),
        ),
        (
            "packing:dim=2,smoothness=1.5,bound=100,delta=0.001,noise=-1",
            "sim:packing cannot use noise=-1: it must be a finite number that is not negative".to_string(),
        ),
        (
            "packing:dim=2,smoothness=1.5,bound=100,delta=nan",
            "sim:packing cannot be built: delta is NaN: it must be a positive number".to_string(),
        ),
    ] {
        assert_eq!(text.parse::<Simulation>().unwrap_err().to_string(), said);
    }
    let bits = packing().code().bits();
    let beyond = format!("{TEXT},member={}", 1u64 << bits);
    let said = beyond.parse::<Simulation>().unwrap_err().to_string();
    assert!(said.contains(&format!("2^{bits} members")), "{said}");
    let wide = "packing:dim=2,smoothness=1.5,bound=1,delta=1";
    let said = wide.parse::<Simulation>().unwrap_err().to_string();
    assert!(said.contains("delta_0"), "{said}");
}

#[test]
fn targets_are_members() {
    let grid = midpoint_grid(2, 40);
    let values = |target: &Target| grid.chunks(2).map(|x| target.eval(x)).collect::<Vec<f64>>();
    let named = simulation(&format!("{TEXT},member=7"));
    let member = packing().member(7).unwrap();
    let expected: Vec<f64> = grid.chunks(2).map(|x| member.value(x)).collect();
    assert_eq!(values(&named.target(0)), expected);
    assert_eq!(values(&named.target(1)), expected);
    // Without a member the seed draws one.
    let drawn = simulation(TEXT);
    assert_eq!(values(&drawn.target(4)), values(&drawn.target(4)));
    assert_ne!(values(&drawn.target(4)), values(&drawn.target(5)));
}

#[test]
fn samples_are_nested_and_have_their_noise() {
    let simulation = simulation(&format!("{TEXT},noise=0.5"));
    assert_eq!((simulation.dim(), simulation.noise_sd()), (2, Some(0.5)));
    let (small, large) = (simulation.draw(3, 10, 5, 4), simulation.draw(3, 5000, 9, 6));
    assert_eq!(small.train.x[..], large.train.x[..20]);
    assert_eq!(small.train.y[..], large.train.y[..10]);
    let target = simulation.target(3);
    let residuals: Vec<f64> = large
        .train
        .x
        .chunks(2)
        .zip(&large.train.y)
        .map(|(x, y)| y - target.eval(x))
        .collect();
    // Five standard errors of a standard deviation of 5000 normals.
    assert!((sample_sd(&residuals) / 0.5 - 1.0).abs() < 5.0 / 10_000f64.sqrt());
    assert_eq!(large.test.y[0], target.eval(&large.test.x[..2]));
}
