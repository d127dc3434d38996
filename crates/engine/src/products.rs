//! Products of one matrix with many rows of lanes. Rows lie in memory; a tile of a few of
//! them shares each coefficient, and a few coefficients share each number of a row.
//!
//! Every sum starts where [`Start`] says and adds terms in ascending index, whatever the
//! tile, so that the bits do not depend on how many rows there are.
#![allow(clippy::needless_range_loop)]

/// `$self.tile::<$S, R>($s, row)` for all rows of a range, `$most` at a time or fewer. Constant conditions: what a level does not
/// hold is not compiled.
macro_rules! by_tiles {
    ($self:ident, $S:ident, $s:ident, $rows:expr, $most:expr) => {
        let std::ops::Range {
            start: mut row,
            end,
        } = $rows;
        while row < end {
            let now = crate::products::tile_of(end - row, const { $most });
            match now {
                1 => $self.tile::<$S, 1>($s, row),
                2 if const { $most >= 2 } => $self.tile::<$S, 2>($s, row),
                3 if const { $most >= 3 } => $self.tile::<$S, 3>($s, row),
                4 if const { $most >= 4 } => $self.tile::<$S, 4>($s, row),
                _ => unreachable!("tiles are not larger"),
            }
            row += now;
        }
    };
}
pub(crate) use by_tiles;

mod short;

use loopfit_numerics::lanes::{Lane, Lanewise, Level, Simd};
use std::ops::Range;

/// Most rows and most columns of a register tile.
pub(crate) const TILE: usize = 4;

/// Most rows of a tile. On sixteen registers two rows of [`WIDE_TILE`] columns, or three of three where there are few columns.
const fn most_rows<S: Simd>(few_columns: bool) -> usize {
    match (S::REGISTERS < 32, few_columns) {
        (true, true) => 3,
        (true, false) => 2,
        (false, _) => TILE,
    }
}

/// Fewer columns than this are few.
const FEW_COLUMNS: usize = 10;

/// Most columns of a tile of some rows: sums and factors stay within the registers, with one to spare. With none, three
/// rows of four columns on sixteen registers, compilers keep a sum in memory, and each of its terms waits for it.
const fn most_columns<S: Simd>(rows: usize) -> usize {
    match (S::REGISTERS < 32, rows) {
        (true, 1 | 2) => WIDE_TILE,
        (true, _) => 3,
        (false, _) => TILE,
    }
}

/// Most columns of a tile of two rows.
const WIDE_TILE: usize = 6;

/// The first of the fewest parts of at most `most` whose sizes differ by at most one: a tile of
/// a single row or column would wait for its own sums.
#[inline(always)]
pub(crate) fn first_part<S: Simd>(rest: usize, most: usize) -> usize {
    if !S::TILES {
        return 1;
    }
    // Divisions by constants: another one takes as long as a tile of short rows.
    match rest.div_ceil(most) {
        1 => rest,
        2 => rest.div_ceil(2),
        3 => rest.div_ceil(3),
        4 => rest.div_ceil(4),
        parts => (rest as u32).div_ceil(parts as u32) as usize,
    }
}

/// Rows of the next tile of those that are left: two tiles of about half of them instead of a full one and a single row, which
/// would wait for its own sums.
#[inline(always)]
pub(crate) fn tile_of(rest: usize, most: usize) -> usize {
    match most > 2 && rest == most + 1 {
        true => rest.div_ceil(2),
        false => rest.min(most),
    }
}

/// Rows of a piece, of `size` rows but the last.
#[inline(always)]
pub(crate) fn rows_of_piece(rows: usize, piece: usize, size: usize) -> Range<usize> {
    let first = piece * size;
    first..rows.min(first + size)
}

/// A matrix inside the packed coefficients: entry (i, j) lies at `first + i down + j along`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Matrix<'a> {
    pub(crate) coefficients: &'a [f32],
    pub(crate) first: usize,
    pub(crate) down: usize,
    pub(crate) along: usize,
}

impl<'a> Matrix<'a> {
    /// The rows of an affine map of `width` numbers, each followed by its bias.
    pub(crate) fn affine(coefficients: &'a [f32], width: usize) -> Self {
        Self {
            coefficients,
            first: 0,
            down: width + 1,
            along: 1,
        }
    }

    /// `W1` of hidden units of a state of `q` numbers: unit `j` has its row of `W1`, its bias
    /// and its column of `W2` one after the other.
    pub(crate) fn incoming(units: &'a [f32], q: usize) -> Self {
        Self {
            coefficients: units,
            first: 0,
            down: 2 * q + 1,
            along: 1,
        }
    }

    /// `W2` of hidden units, laid out as for [`Matrix::incoming`].
    pub(crate) fn outgoing(units: &'a [f32], q: usize) -> Self {
        Self {
            coefficients: units,
            first: q + 1,
            down: 1,
            along: 2 * q + 1,
        }
    }

    /// The transposed matrix.
    pub(crate) fn transposed(self) -> Self {
        Self {
            down: self.along,
            along: self.down,
            ..self
        }
    }
}

/// A bias inside the packed coefficients: entry `i` lies at `first + i step`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bias<'a> {
    coefficients: &'a [f32],
    first: usize,
    step: usize,
}

impl<'a> Bias<'a> {
    /// A bias of its own.
    pub(crate) fn new(coefficients: &'a [f32]) -> Self {
        Self {
            coefficients,
            first: 0,
            step: 1,
        }
    }

    /// The biases behind the rows of [`Matrix::affine`].
    pub(crate) fn affine(coefficients: &'a [f32], width: usize) -> Self {
        Self {
            coefficients,
            first: width,
            step: width + 1,
        }
    }

    /// The biases of the hidden units of [`Matrix::incoming`].
    pub(crate) fn incoming(units: &'a [f32], q: usize) -> Self {
        Self {
            coefficients: units,
            first: q,
            step: 2 * q + 1,
        }
    }

    /// The same bias for all.
    fn same(coefficient: &'a [f32; 1]) -> Self {
        Self {
            coefficients: coefficient,
            first: 0,
            step: 0,
        }
    }

    /// Entry `i`.
    #[inline(always)]
    pub(crate) fn at(self, i: usize) -> f32 {
        self.coefficients[self.first + i * self.step]
    }
}

/// What the sum of an output of a row starts from.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Start<'a> {
    /// The same number for all. A sum that starts at -0 leaves its first term as it is.
    Constant(f32),
    /// The output's bias.
    Bias(Bias<'a>),
    /// The row's own number in another array.
    Rows(&'a [Lane]),
    /// The same plus the bias.
    RowsAndBias(&'a [Lane], Bias<'a>),
}

/// What becomes of a sum.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Finish<'a> {
    /// Itself.
    Sum,
    /// `ReLU(sum)`.
    Relu,
    /// The sum where the row's own number in another array is positive, else zero.
    Where(&'a [Lane]),
}

/// `to[row][i] = finish(start + sum_j M[i][j] from[row][j])` for all rows, `width` numbers
/// in a row of `from` and `height` in one of `to`.
pub(crate) struct Products<'a> {
    pub(crate) matrix: Matrix<'a>,
    pub(crate) start: Start<'a>,
    pub(crate) finish: Finish<'a>,
    pub(crate) from: &'a [Lane],
    pub(crate) width: usize,
    pub(crate) to: &'a mut [Lane],
    pub(crate) height: usize,
}

/// Rows of a piece.
const PIECE: usize = 12;

/// Rows of any length, a tile of them at a time.
struct ByTiles<'a, 'b>(&'a mut Products<'b>);

impl Lanewise for ByTiles<'_, '_> {
    #[inline(always)]
    fn pieces<S: Simd>(&self) -> usize {
        self.0.row_count().div_ceil(PIECE)
    }

    #[inline(always)]
    fn run<S: Simd>(&mut self, s: S, piece: usize) {
        let products = &mut self.0.own();
        let rows = products.row_count();
        products.check(rows);
        let mut row = piece * PIECE;
        let end = rows.min(row + PIECE);
        while row < end {
            let now = match products.height < FEW_COLUMNS {
                true => first_part::<S>(end - row, const { most_rows::<S>(true) }),
                false => first_part::<S>(end - row, const { most_rows::<S>(false) }),
            };
            match now {
                1 => products.rows::<S, 1>(s, row),
                2 => products.rows::<S, 2>(s, row),
                3 => products.rows::<S, 3>(s, row),
                _ => products.rows::<S, TILE>(s, row),
            }
            row += now;
        }
    }
}

impl Products<'_> {
    /// Computes them at a level.
    pub(crate) fn run(mut self, level: Level) {
        let short = level.registers().is_some_and(|r| self.run_short(r));
        if !short {
            level.lanewise(ByTiles(&mut self));
        }
    }

    /// The same as a value of its own, of which the compiler knows that no line written changes it.
    #[inline(always)]
    fn own(&mut self) -> Products<'_> {
        Products {
            to: &mut *self.to,
            matrix: self.matrix,
            start: self.start,
            finish: self.finish,
            from: self.from,
            width: self.width,
            height: self.height,
        }
    }

    /// What makes the unchecked reads of [`Products::tile`] sound.
    #[inline(always)]
    fn check(&self, rows: usize) {
        let Self {
            matrix: m,
            width,
            height,
            ..
        } = *self;
        assert!(width > 0 && height > 0);
        assert_eq!(self.from.len(), rows * width, "rows to read");
        assert_eq!(self.to.len(), rows * height, "rows to write");
        let last = m.first + (height - 1) * m.down + (width - 1) * m.along;
        assert!(last < m.coefficients.len(), "the matrix has its entries");
        if let Start::Rows(rows) | Start::RowsAndBias(rows, _) = self.start {
            assert_eq!(rows.len(), self.to.len(), "rows to start from");
        }
        if let Finish::Where(rows) = self.finish {
            assert_eq!(rows.len(), self.to.len(), "rows to look at");
        }
    }

    /// How many rows there are, by a division in 32 bits where that will do: it takes as long as the product of a short row.
    #[inline(always)]
    fn row_count(&self) -> usize {
        match (u32::try_from(self.to.len()), u32::try_from(self.height)) {
            (Ok(lines), Ok(height)) => (lines / height) as usize,
            _ => self.to.len() / self.height,
        }
    }

    /// Writes outputs `i..i + C` of rows `row..row + R`.
    #[inline(always)]
    fn finish<S: Simd, const R: usize, const C: usize>(
        &mut self,
        s: S,
        row: usize,
        i: usize,
        sums: &[[S::V; C]; R],
    ) {
        let zero = s.splat(0.0);
        for r in 0..R {
            let at = (row + r) * self.height + i;
            let to = &mut self.to[at..][..C];
            for c in 0..C {
                let sum = match self.finish {
                    Finish::Sum => sums[r][c],
                    Finish::Relu => s.max(zero, sums[r][c]),
                    Finish::Where(rows) => {
                        s.select_greater(s.load(&rows[at + c]), zero, sums[r][c], zero)
                    }
                };
                s.store(&mut to[c], sum);
            }
        }
    }

    /// All outputs of `R` rows.
    #[inline(always)]
    fn rows<S: Simd, const R: usize>(&mut self, s: S, row: usize) {
        let mut i = 0;
        while i < self.height {
            let wide = const { most_columns::<S>(R) > TILE };
            let now = first_part::<S>(self.height - i, const { most_columns::<S>(R) });
            match now {
                1 => self.tile::<S, R, 1>(s, row, i),
                2 => self.tile::<S, R, 2>(s, row, i),
                3 => self.tile::<S, R, 3>(s, row, i),
                5 if wide => self.tile::<S, R, 5>(s, row, i),
                WIDE_TILE if wide => self.tile::<S, R, WIDE_TILE>(s, row, i),
                _ => self.tile::<S, R, TILE>(s, row, i),
            }
            i += now;
        }
    }

    /// Outputs `i..i + C` of rows `row..row + R`.
    #[inline(always)]
    fn tile<S: Simd, const R: usize, const C: usize>(&mut self, s: S, row: usize, i: usize) {
        let (m, width, height) = (self.matrix, self.width, self.height);
        let mut sums = [[s.splat(0.0); C]; R];
        match self.start {
            Start::Constant(value) => sums = [[s.splat(value); C]; R],
            Start::Bias(bias) => {
                for c in 0..C {
                    let bias = s.splat(bias.at(i + c));
                    for r in 0..R {
                        sums[r][c] = bias;
                    }
                }
            }
            Start::Rows(rows) => {
                for r in 0..R {
                    let rows = &rows[(row + r) * height + i..][..C];
                    for c in 0..C {
                        sums[r][c] = s.load(&rows[c]);
                    }
                }
            }
            Start::RowsAndBias(rows, bias) => {
                for c in 0..C {
                    let bias = s.splat(bias.at(i + c));
                    for r in 0..R {
                        sums[r][c] = s.add(s.load(&rows[(row + r) * height + i + c]), bias);
                    }
                }
            }
        }
        for j in 0..width {
            let mut x = [s.splat(0.0); R];
            for r in 0..R {
                // SAFETY: row + r is a row, j < width; `check` compared the lengths.
                x[r] = s.load(unsafe { self.from.get_unchecked((row + r) * width + j) });
            }
            for c in 0..C {
                let at = m.first + (i + c) * m.down + j * m.along;
                // SAFETY: i + c < height, j < width; `check` looked at the last entry.
                let w = s.splat(unsafe { *m.coefficients.get_unchecked(at) });
                for r in 0..R {
                    sums[r][c] = s.fma(w, x[r], sums[r][c]);
                }
            }
        }
        self.finish(s, row, i, &sums);
    }
}
