//! From the paper's form to the canonical one: the basis of the state in which the lift begins with an identity block.

use super::Form;
use crate::architecture::Architecture;
use crate::network::{Network, ShapeError};
use crate::parameters::{Parameters, ParametersError};

/// Size of a pivot, relative to the largest coefficient of the lift, below which the lift has no full rank: the coefficients
/// of the other basis are about as many times larger, and their rounding to 32 bits would be seen in the function.
const SMALLEST_PIVOT: f64 = 1e-4;

/// Why a network has no canonical form.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum CanonicalError {
    /// The lift does not have full rank.
    #[error(
        "the canonical form needs a state that begins with {full} independent combinations of the inputs, and this network's has {rank}: keep it in the form that it has"
    )]
    Rank {
        /// Independent combinations.
        rank: usize,
        /// How many there would have to be.
        full: usize,
    },
    /// Not a residual FFN.
    #[error(transparent)]
    Shape(#[from] ShapeError),
    /// A coefficient leaves the range of 32 bits.
    #[error(transparent)]
    Parameters(#[from] ParametersError),
}

impl Parameters {
    /// The same function (of classes, the same probabilities) in the canonical form, up to the rounding of coefficients to 32 bits; a network whose lift already has
    /// the identity block keeps every coefficient. Inputs that the lift ignores are not read.
    ///
    /// # Formula
    /// With the basis `L` of the state, made of `min(q, d)` columns of the lift's matrix `A` and unit vectors:
    /// `A' = L^-1 A`, `W1' = W1 L`, `b1' = b1 + W1 a`, `(W2', b2') = L^-1 (W2, b2)`, `C' = C L`, `c' = c + C a`; of a last block of
    /// its own, `c'` takes up `C b2` as well. Of several outputs the last is subtracted from all.
    pub fn to_canonical(&self) -> Result<Self, CanonicalError> {
        if self.network().form() == Form::Canonical {
            return Ok(self.clone());
        }
        let (network, values) = self.canonical()?;
        let rounded = values.into_iter().map(|v| v as f32);
        Ok(Self::new(network, rounded.collect())?)
    }

    /// The canonical network, and its coefficients before they are rounded.
    pub(super) fn canonical(&self) -> Result<(Network, Vec<f64>), CanonicalError> {
        let old = self.network();
        if *old.architecture() != Architecture::Ffn {
            let name = "the canonical form".to_string();
            return Err(ShapeError::FfnOnly { name }.into());
        }
        let paper = self.to_paper();
        let (d, q, r, tying) = (old.d(), old.q(), old.r().max(1), old.tying());
        let lift = Matrix::of(&paper, "input.weight", d);
        let basis = Basis::new(&lift)?;
        let read = basis.inputs.len();
        let carried = q.min(read);
        let network = Network::ffn(read, old.outputs(), q, r, tying)?
            .with_activation(old.activation())?
            .with_form(Form::Canonical)?
            .reading(d, basis.inputs.clone())?;
        let shift = Matrix::of(&paper, "input.bias", 1);
        let outgoing = Matrix::of(&paper, "output.weight", q).less_its_last_row();
        let layout = network.layout();
        let mut values = Vec::with_capacity(network.count());
        for view in &layout {
            let (block, part) = view.name.rsplit_once('.').expect("two parts of a name");
            let name = |part: &str| format!("{block}.{part}");
            let tensor = match (block, part) {
                ("input", _) => {
                    let rest = lift.columns(&basis.inputs[carried..]);
                    basis.matrix.solve(rest).rows(0..carried)
                }
                ("output", "weight") => outgoing.times(&basis.matrix),
                ("output", _) => {
                    let mut bias = Matrix::of(&paper, "output.bias", 1).less_its_last_row();
                    bias.add(&outgoing.times(&shift));
                    let last = format!("block.{}.b2", tying.blocks() - 1);
                    if layout.get(&last).is_none() {
                        bias.add(&outgoing.times(&Matrix::of(&paper, &last, 1)));
                    }
                    bias
                }
                (_, "w1") => {
                    let all = Matrix::of(&paper, &view.name, q).times(&basis.matrix);
                    all.columns(&(0..view.cols).collect::<Vec<_>>())
                }
                (_, "b1") => {
                    let mut bias = Matrix::of(&paper, &view.name, 1);
                    bias.add(&Matrix::of(&paper, &name("w1"), q).times(&shift));
                    bias
                }
                _ => basis
                    .matrix
                    .solve(Matrix::of(&paper, &view.name, view.cols)),
            };
            values.extend(tensor.values);
        }
        Ok((network, values))
    }
}

/// A basis of the state.
struct Basis {
    /// The inputs that are read, those of the identity block first.
    inputs: Vec<usize>,
    /// Its vectors are the columns.
    matrix: Matrix,
}

impl Basis {
    /// The basis in which a lift is canonical.
    fn new(lift: &Matrix) -> Result<Self, CanonicalError> {
        let q = lift.rows;
        let ignored = |input: &usize| (0..q).all(|row| lift.at(row, *input) == 0.0);
        let read: Vec<usize> = (0..lift.cols).filter(|input| !ignored(input)).collect();
        let (rows, mut first) = match identity(lift, &read) {
            Some(first) => ((0..first.len()).collect(), first),
            None => {
                let (rows, mut first) = pivots(lift, &read)?;
                first.sort_unstable();
                (rows, first)
            }
        };
        let mut matrix = Matrix::zero(q, q);
        for row in 0..q {
            for (col, input) in first.iter().enumerate() {
                *matrix.at_mut(row, col) = lift.at(row, *input);
            }
        }
        let others = (0..q).filter(|row| !rows.contains(row));
        for (i, row) in others.enumerate() {
            *matrix.at_mut(row, first.len() + i) = 1.0;
        }
        let rest: Vec<usize> = read.into_iter().filter(|i| !first.contains(i)).collect();
        first.extend(rest);
        Ok(Self {
            inputs: first,
            matrix,
        })
    }
}

/// The inputs that are the first unit vectors of a lift, where the lift is canonical already.
fn identity(lift: &Matrix, read: &[usize]) -> Option<Vec<usize>> {
    let carried = lift.rows.min(read.len());
    let unit = |channel: usize| {
        let is_unit = |input: &&usize| {
            (0..lift.rows).all(|row| lift.at(row, **input) == f64::from(u8::from(row == channel)))
        };
        read.iter().find(is_unit).copied()
    };
    let found: Option<Vec<usize>> = (0..carried).map(unit).collect();
    // Beside an identity block of all channels anything may stand.
    found.filter(|found| !found.is_empty())
}

/// Rows and columns of the pivots of Gaussian elimination with complete pivoting.
fn pivots(lift: &Matrix, read: &[usize]) -> Result<(Vec<usize>, Vec<usize>), CanonicalError> {
    let mut left = lift.columns(read);
    let full = left.rows.min(left.cols);
    let largest = left.values.iter().fold(0.0f64, |a, v| a.max(v.abs()));
    let (mut rows, mut cols): (Vec<usize>, Vec<usize>) = (Vec::new(), Vec::new());
    let too_few = |rank: usize, full: usize| CanonicalError::Rank {
        rank,
        full: full.max(1),
    };
    if full == 0 {
        return Err(too_few(0, lift.rows.min(lift.cols)));
    }
    while rows.len() < full {
        let (mut row, mut col, mut size) = (0, 0, 0.0);
        for i in (0..left.rows).filter(|i| !rows.contains(i)) {
            for j in (0..left.cols).filter(|j| !cols.contains(j)) {
                if left.at(i, j).abs() > size {
                    (row, col, size) = (i, j, left.at(i, j).abs());
                }
            }
        }
        if size <= SMALLEST_PIVOT * largest {
            return Err(too_few(rows.len(), full));
        }
        rows.push(row);
        cols.push(col);
        for i in (0..left.rows).filter(|i| !rows.contains(i)) {
            let factor = left.at(i, col) / left.at(row, col);
            for j in 0..left.cols {
                *left.at_mut(i, j) -= factor * left.at(row, j);
            }
        }
    }
    Ok((rows, cols.into_iter().map(|j| read[j]).collect()))
}

/// A matrix, row by row.
#[derive(Clone, Debug)]
struct Matrix {
    rows: usize,
    cols: usize,
    values: Vec<f64>,
}

impl Matrix {
    fn zero(rows: usize, cols: usize) -> Self {
        let values = vec![0.0; rows * cols];
        Self { rows, cols, values }
    }

    /// A tensor of so many columns.
    fn of(parameters: &Parameters, name: &str, cols: usize) -> Self {
        let view = parameters.view(name);
        Self {
            rows: view.len() / cols,
            cols,
            values: view.iter().map(|v| f64::from(*v)).collect(),
        }
    }

    fn at(&self, row: usize, col: usize) -> f64 {
        self.values[row * self.cols + col]
    }

    fn at_mut(&mut self, row: usize, col: usize) -> &mut f64 {
        &mut self.values[row * self.cols + col]
    }

    fn columns(&self, cols: &[usize]) -> Self {
        let row = |i: usize| cols.iter().map(move |j| self.at(i, *j));
        Self {
            rows: self.rows,
            cols: cols.len(),
            values: (0..self.rows).flat_map(row).collect(),
        }
    }

    fn rows(&self, rows: std::ops::Range<usize>) -> Self {
        let values = self.values[rows.start * self.cols..rows.end * self.cols].to_vec();
        Self {
            rows: rows.len(),
            cols: self.cols,
            values,
        }
    }

    /// Of several rows, how far all but the last are from the last.
    fn less_its_last_row(self) -> Self {
        if self.rows < 2 {
            return self;
        }
        let last = self.rows - 1;
        let row = |i: usize| (0..self.cols).map(move |j| (i, j));
        let value = |(i, j)| self.at(i, j) - self.at(last, j);
        Self {
            rows: last,
            cols: self.cols,
            values: (0..last).flat_map(row).map(value).collect(),
        }
    }

    fn add(&mut self, other: &Self) {
        let pairs = self.values.iter_mut().zip(&other.values);
        pairs.for_each(|(value, more)| *value += more);
    }

    fn times(&self, other: &Self) -> Self {
        let mut product = Self::zero(self.rows, other.cols);
        for i in 0..self.rows {
            for j in 0..other.cols {
                let terms = (0..self.cols).map(|k| self.at(i, k) * other.at(k, j));
                *product.at_mut(i, j) = terms.sum();
            }
        }
        product
    }

    /// `self^-1 right`, by Gaussian elimination with partial pivoting. The matrix has full rank.
    fn solve(&self, right: Self) -> Self {
        let (mut left, mut right, n) = (self.clone(), right, self.rows);
        for k in 0..n {
            let size = |row: &usize| left.at(*row, k).abs();
            let largest = (k..n).max_by(|a, b| size(a).total_cmp(&size(b)));
            let pivot = largest.expect("a row that is left");
            left.swap_rows(k, pivot);
            right.swap_rows(k, pivot);
            for i in k + 1..n {
                let factor = left.at(i, k) / left.at(k, k);
                left.subtract(i, k, factor);
                right.subtract(i, k, factor);
            }
        }
        for k in (0..n).rev() {
            for j in 0..right.cols {
                let known = (k + 1..n).map(|i| left.at(k, i) * right.at(i, j));
                let known: f64 = known.sum();
                *right.at_mut(k, j) = (right.at(k, j) - known) / left.at(k, k);
            }
        }
        right
    }

    fn swap_rows(&mut self, a: usize, b: usize) {
        for j in 0..self.cols {
            self.values.swap(a * self.cols + j, b * self.cols + j);
        }
    }

    /// Subtracts a multiple of row `from` from row `to`.
    fn subtract(&mut self, to: usize, from: usize, factor: f64) {
        for j in 0..self.cols {
            *self.at_mut(to, j) -= factor * self.at(from, j);
        }
    }
}
