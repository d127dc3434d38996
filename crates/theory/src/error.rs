//! What is refused, in sentences.

use crate::calibration::BOUNDS;
use crate::integral::MAX_PRODUCT_DIMENSION;
use loopfit_numerics::text::plain;

/// Why a calculation cannot be done.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Error {
    /// A constant that no theorem has.
    #[error("there is no constant `{name}`; those that can be set are {}", crate::Constant::ALL.map(crate::Constant::name).join(", "))]
    UnknownConstant {
        /// The name as given.
        name: String,
    },
    /// A constant outside its range.
    #[error("the constant {name} is {}: it must be a finite number {range}", plain(*value))]
    ConstantRange {
        /// Its name.
        name: &'static str,
        /// The value as given.
        value: f64,
        /// What is allowed.
        range: &'static str,
    },
    /// The construction needs widths beyond counting.
    #[error(
        "the construction for d = {d}, s = {} has more than 10^18 Taylor terms or units: choose a smaller s or d",
        plain(*s)
    )]
    Thresholds {
        /// The dimension.
        d: usize,
        /// The smoothness.
        s: f64,
    },
    /// A dimension of zero.
    #[error("the state dimension q and the hidden width r must be at least 1")]
    NoWidth,
    /// The count of a shape is beyond counting.
    #[error("q = {q}, r = {r} has more than 10^18 parameters: choose smaller widths")]
    ShapeTooLarge {
        /// The state dimension.
        q: u64,
        /// The hidden width.
        r: u64,
    },
    /// No hidden unit fits.
    #[error(
        "the budget {budget} holds no loop with q = {q}: with r = 1 it has {least} parameters; raise the budget{}",
        if *q == 1 { "" } else { " or lower q" }
    )]
    BudgetTooSmall {
        /// The cap.
        budget: u64,
        /// The state dimension.
        q: u64,
        /// What the narrowest loop needs.
        least: u128,
    },
    /// A growing budget without a schedule.
    #[error("no schedule at n = {}: {why}", plain(*n))]
    NoSchedule {
        /// The sample size.
        n: f64,
        /// Why there is none.
        why: Box<Error>,
    },
    /// A number outside its range.
    #[error("{name} is {}: it must be {range}", plain(*value))]
    Range {
        /// What it is.
        name: &'static str,
        /// The value as given.
        value: f64,
        /// What is allowed.
        range: &'static str,
    },
    /// A noise scale or a number of classes that no likelihood has.
    #[error(transparent)]
    Likelihood(#[from] loopfit_likelihood::Error),
    /// A bound of functions that is not a usable positive number.
    #[error("H = {} is not a bound of functions: give a number from {} to {}", plain(*.0), plain(*BOUNDS.start()), plain(*BOUNDS.end()))]
    Bound(f64),
    /// Functions that are larger than their bound.
    #[error(
        "the functions reach {largest} in absolute value, above the bound H = {}: give H = {largest} or more",
        plain(*bound)
    )]
    AboveBound {
        /// The largest value seen.
        largest: f64,
        /// The bound as given.
        bound: f64,
    },
    /// Functions too large to square.
    #[error("the functions reach {} in absolute value and can be compared up to {}: rescale them", plain(*.0), plain(*BOUNDS.end()))]
    TooLarge(f64),
    /// A function that is NaN or infinite somewhere.
    #[error(
        "the {which} function is not a finite number at x = ({point}): its laws have no distance"
    )]
    NotFinite {
        /// `first` or `second`.
        which: &'static str,
        /// The coordinates, separated by commas.
        point: String,
    },
    /// A cube without coordinates.
    #[error("functions on the unit cube need at least one coordinate: give d = 1 or more")]
    NoCoordinates,
    /// A product rule in a dimension where it is hopeless.
    #[error(
        "quadrature serves up to {MAX_PRODUCT_DIMENSION} coordinates, not {0}: use Monte Carlo"
    )]
    ProductDimension(usize),
    /// Too few or too many points.
    #[error("{points} points cannot be used here: choose {least} to {most}")]
    Points {
        /// As asked for.
        points: usize,
        /// The fewest.
        least: usize,
        /// The most.
        most: usize,
    },
    /// Densities so peaked that a single batch of random points holds all their mass.
    #[error(
        "the densities have all their mass near a few of the {0} random points: use more points, or quadrature"
    )]
    Concentrated(usize),
    /// More untied shapes than can be gone through.
    #[error(
        "the union of all untied shapes is enumerated up to a budget of {}, and {budget} is asked for: lower the budget",
        crate::entropy::LARGEST_UNION
    )]
    UnionTooLarge {
        /// The cap.
        budget: usize,
    },
    /// A budget that holds no network.
    #[error(transparent)]
    Budget(#[from] loopfit_model::budget::BudgetError),
    /// Functions that cannot be compared.
    #[error(transparent)]
    Functions(#[from] crate::function::FunctionError),
    /// No Hölder class, or no packing of it.
    #[error(transparent)]
    Holder(#[from] loopfit_holder::Error),
}
