//! [`Products`] of many rows with one short side: what it has of a few rows stays in registers, while a coefficient after the
//! other comes from memory. How sums start and finish is known to the compiler: asked for each sum, it takes as long as
//! a short sum itself.

use super::{Bias, Finish, Products, Start, rows_of_piece};
use loopfit_numerics::lanes::{Lane, Lanewise, Registers, Simd};

/// Fewest rows that are worth it.
const LEAST: usize = 8;

/// Rows of a piece.
const PIECE: usize = 24;

/// Most numbers of a short side.
const MOST: usize = 8;

/// Rows at a time: `short` numbers of each stay in registers, beside another one of each and a coefficient.
const fn most_rows<S: Simd>(short: usize) -> usize {
    match (S::REGISTERS < 32, short) {
        (false, 0..=6) => 4,
        (false, _) | (true, 0..=3) => 3,
        (true, 4..=6) => 2,
        (true, _) => 1,
    }
}

/// Kinds of [`Finish`].
const SUM: u8 = 0;
const RELU: u8 = 1;
const WHERE: u8 = 2;

/// Rows of `W` numbers, which stay in registers; no products with them begin at rows of their own.
struct Wide<'a, const W: usize, const FINISH: u8>(Short<'a>);

/// Rows of any length to rows of `H` numbers, whose sums stay in registers and are left as they are.
struct High<'a, const H: usize, const OWN: bool>(Short<'a>);

/// The products as both kinds of kernels take them.
struct Short<'a> {
    coefficients: &'a [f32],
    /// Coefficients of an output, or of an input, are neighbours; from one to the next it is so far.
    step: usize,
    bias: Bias<'a>,
    /// What the bias is added to, if the kernel does so.
    own: &'a [Lane],
    /// Where sums count, if the kernel asks.
    positive: &'a [Lane],
    from: &'a [Lane],
    width: usize,
    to: &'a mut [Lane],
    height: usize,
    rows: usize,
}

/// Runs the kernel for a length that is known to be at most eight.
macro_rules! of_length {
    ($registers:expr, $kernel:ident, $length:expr, $kind:tt, $short:expr) => {
        of_length!(@ $registers, $kernel, $length, $kind, $short, 1 2 3 4 5 6 7 8)
    };
    (@ $registers:expr, $kernel:ident, $length:expr, $kind:tt, $short:expr, $($value:literal)*) => {
        match $length {
            $($value => $registers.lanewise($kernel::<$value, $kind>($short)),)*
            _ => unreachable!("short sides are not longer"),
        }
    };
}

impl Products<'_> {
    /// Whether a kernel for short sides ran.
    pub(super) fn run_short(&mut self, registers: Registers) -> bool {
        let (m, width, height) = (self.matrix, self.width, self.height);
        if self.to.len() < LEAST * height {
            return false;
        }
        let wide = m.along == 1 && width <= MOST;
        let high = m.down == 1 && height <= MOST;
        if !wide && !high {
            return false;
        }
        let rows = self.row_count();
        self.check(rows);
        // Added to -0, a number remains what it is.
        let (constant, none) = ([-0.0], &[][..]);
        let mut value = [0.0];
        let (own, bias) = match self.start {
            Start::Constant(start) => {
                value[0] = start;
                (none, Bias::same(&value))
            }
            Start::Bias(bias) => (none, bias),
            Start::Rows(rows) => (rows, Bias::same(&constant)),
            Start::RowsAndBias(rows, bias) => (rows, bias),
        };
        let (finish, positive) = match self.finish {
            Finish::Sum => (SUM, none),
            Finish::Relu => (RELU, none),
            Finish::Where(rows) => (WHERE, rows),
        };
        // What makes the unchecked reads of biases sound.
        assert!(bias.first + (height - 1) * bias.step < bias.coefficients.len());
        let has_own = !own.is_empty();
        let short = Short {
            coefficients: &m.coefficients[m.first..],
            step: if wide { m.down } else { m.along },
            bias,
            own,
            positive,
            from: self.from,
            width,
            to: self.to,
            height,
            rows,
        };
        match (wide, has_own, finish) {
            (true, false, SUM) => of_length!(registers, Wide, width, SUM, short),
            (true, false, RELU) => of_length!(registers, Wide, width, RELU, short),
            (true, false, WHERE) => of_length!(registers, Wide, width, WHERE, short),
            (false, false, SUM) => of_length!(registers, High, height, false, short),
            (false, true, SUM) => of_length!(registers, High, height, true, short),
            _ => return false,
        }
        true
    }
}

impl<const W: usize, const FINISH: u8> Lanewise for Wide<'_, W, FINISH> {
    #[inline(always)]
    fn pieces<S: Simd>(&self) -> usize {
        self.0.rows.div_ceil(PIECE)
    }

    #[inline(always)]
    fn run<S: Simd>(&mut self, s: S, piece: usize) {
        let rows = rows_of_piece(self.0.rows, piece, PIECE);
        by_tiles!(self, S, s, rows, most_rows::<S>(W));
    }
}

impl<const W: usize, const FINISH: u8> Wide<'_, W, FINISH> {
    /// All outputs of rows `row..row + R`.
    #[inline(always)]
    fn tile<S: Simd, const R: usize>(&mut self, s: S, row: usize) {
        let short = &mut self.0;
        let zero = s.splat(0.0);
        let mut x = [[zero; W]; R];
        for r in 0..R {
            for j in 0..W {
                // SAFETY: row + r is a row and W its length; `check`, which `run_short` calls, compared the lengths.
                x[r][j] = s.load(unsafe { short.from.get_unchecked((row + r) * W + j) });
            }
        }
        for i in 0..short.height {
            // SAFETY: i is an output; `check` looked at the last coefficient, `run_short` at the last bias.
            let (w, bias) = unsafe { (short.coefficients_of::<W>(i), short.bias_of(i)) };
            let bias = s.splat(bias);
            let mut sums = [bias; R];
            for j in 0..W {
                let w = s.splat(w[j]);
                for r in 0..R {
                    sums[r] = s.fma(w, x[r][j], sums[r]);
                }
            }
            for r in 0..R {
                // SAFETY: row + r is a row and i an output; `check`, which `run_short` calls, compared the lengths.
                unsafe { short.finish::<S, FINISH>(s, (row + r) * short.height + i, sums[r]) };
            }
        }
    }
}

impl<const H: usize, const OWN: bool> Lanewise for High<'_, H, OWN> {
    #[inline(always)]
    fn pieces<S: Simd>(&self) -> usize {
        self.0.rows.div_ceil(PIECE)
    }

    #[inline(always)]
    fn run<S: Simd>(&mut self, s: S, piece: usize) {
        let rows = rows_of_piece(self.0.rows, piece, PIECE);
        by_tiles!(self, S, s, rows, most_rows::<S>(H));
    }
}

impl<const H: usize, const OWN: bool> High<'_, H, OWN> {
    /// All outputs of rows `row..row + R`.
    #[inline(always)]
    fn tile<S: Simd, const R: usize>(&mut self, s: S, row: usize) {
        let short = &mut self.0;
        let mut sums = [[s.splat(0.0); H]; R];
        for k in 0..H {
            // SAFETY: k is an output; `run_short` looked at the last bias.
            let bias = s.splat(unsafe { short.bias_of(k) });
            for r in 0..R {
                sums[r][k] = bias;
                if OWN {
                    // SAFETY: row + r is a row and H its length; `check`, which `run_short` calls, compared the lengths.
                    let own = unsafe { short.own.get_unchecked((row + r) * H + k) };
                    sums[r][k] = s.add(s.load(own), bias);
                }
            }
        }
        for j in 0..short.width {
            // SAFETY: j is an input; `check` looked at the last coefficient.
            let w = unsafe { short.coefficients_of::<H>(j) };
            let mut x = [s.splat(0.0); R];
            for r in 0..R {
                // SAFETY: row + r is a row, j < width; `check`, which `run_short` calls, compared the lengths.
                x[r] = s.load(unsafe { short.from.get_unchecked((row + r) * short.width + j) });
            }
            for k in 0..H {
                let w = s.splat(w[k]);
                for r in 0..R {
                    sums[r][k] = s.fma(w, x[r], sums[r][k]);
                }
            }
        }
        for r in 0..R {
            for k in 0..H {
                // SAFETY: row + r is a row and H its length; `check`, which `run_short` calls, compared the lengths.
                unsafe { short.finish::<S, SUM>(s, (row + r) * H + k, sums[r][k]) };
            }
        }
    }
}

impl Short<'_> {
    /// The neighbours of output or input `i`.
    ///
    /// # Safety
    /// There are so many from `i` times the step on.
    #[inline(always)]
    unsafe fn coefficients_of<const N: usize>(&self, i: usize) -> &[f32; N] {
        // SAFETY: the caller vouches for the coefficients; an array of them is aligned as they are.
        unsafe { &*self.coefficients.as_ptr().add(i * self.step).cast() }
    }

    /// The bias of output `i`.
    ///
    /// # Safety
    /// `i` is an output.
    #[inline(always)]
    unsafe fn bias_of(&self, i: usize) -> f32 {
        let at = self.bias.first + i * self.bias.step;
        // SAFETY: `run_short` looked at the last one.
        unsafe { *self.bias.coefficients.get_unchecked(at) }
    }

    /// Writes line `at`.
    ///
    /// # Safety
    /// It is a line of `to`, and of `positive` if the kernel asks that.
    #[inline(always)]
    unsafe fn finish<S: Simd, const FINISH: u8>(&mut self, s: S, at: usize, sum: S::V) {
        let zero = s.splat(0.0);
        let sum = match FINISH {
            RELU => s.max(zero, sum),
            WHERE => {
                // SAFETY: the caller vouches for the line.
                let positive = s.load(unsafe { self.positive.get_unchecked(at) });
                s.select_greater(positive, zero, sum, zero)
            }
            _ => sum,
        };
        // SAFETY: the caller vouches for the line.
        s.store(unsafe { self.to.get_unchecked_mut(at) }, sum);
    }
}
