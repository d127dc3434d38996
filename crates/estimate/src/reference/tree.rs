//! Regression trees on binned inputs, grown leaf by leaf.

use super::bins::Bins;

/// Smallest gain that is worth a split: below it, rounding.
const SMALLEST_GAIN: f64 = 1e-10;

/// How trees are grown.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Shape {
    /// Leaves at most.
    pub(super) leaves: usize,
    /// Rows in a leaf at least.
    pub(super) rows: usize,
    /// Penalty `lambda` on the squares of the values of leaves.
    pub(super) ridge: f64,
}

/// A tree: node 0 is the root.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Tree {
    nodes: Vec<Node>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Node {
    /// Rows whose `input` is in bin `last` or one before it go to node `next`, others to the
    /// node after that.
    Split { input: u32, last: u32, next: u32 },
    /// The value of the rows that come here.
    Leaf(f64),
}

impl Tree {
    /// The value at a row's bins.
    pub(super) fn value(&self, bins: &[u32]) -> f64 {
        let mut at = 0;
        loop {
            match self.nodes[at] {
                Node::Leaf(value) => return value,
                Node::Split { input, last, next } => {
                    at = next as usize + usize::from(bins[input as usize] > last);
                }
            }
        }
    }
}

/// Sums over the rows of a bin.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Cell {
    slope: f64,
    curvature: f64,
    rows: u32,
}

impl Cell {
    fn add(&mut self, other: &Self) {
        self.slope += other.slope;
        self.curvature += other.curvature;
        self.rows += other.rows;
    }

    fn less(&self, other: &Self) -> Self {
        Self {
            slope: self.slope - other.slope,
            curvature: self.curvature - other.curvature,
            rows: self.rows - other.rows,
        }
    }

    /// Twice what the best value of a leaf with these rows takes off the loss.
    ///
    /// # Formula
    /// `G^2 / (H + lambda)`.
    fn score(&self, ridge: f64) -> f64 {
        self.slope * self.slope / (self.curvature.max(0.0) + ridge)
    }
}

impl Cell {
    /// The sum of two scores, with one division.
    fn score_with(&self, other: &Self, ridge: f64) -> f64 {
        let a = self.curvature.max(0.0) + ridge;
        let b = other.curvature.max(0.0) + ridge;
        (self.slope * self.slope * b + other.slope * other.slope * a) / (a * b)
    }
}

/// A split and what it gains.
#[derive(Clone, Copy, Debug)]
struct Candidate {
    gain: f64,
    input: usize,
    last: usize,
}

/// A leaf while the tree grows: rows `from..to` of the order of rows.
struct Leaf {
    node: usize,
    from: usize,
    to: usize,
    cells: Vec<Cell>,
    best: Option<Candidate>,
}

/// Rows and the loss at them: what a tree is grown on.
#[derive(Clone, Copy)]
pub(super) struct Ground<'a> {
    /// The bins of the inputs.
    pub(super) bins: &'a Bins,
    /// Bins of all rows, row-major.
    pub(super) codes: &'a [u32],
    /// Slope of the loss at each row.
    pub(super) slope: &'a [f64],
    /// Curvature of the loss at each row.
    pub(super) curvature: &'a [f64],
    /// Inputs that may be split.
    pub(super) inputs: &'a [usize],
}

impl Ground<'_> {
    /// Grows a tree on the given rows, which come out in the order of the leaves. Always splits
    /// the leaf that gains most. `value` is told the rows of a leaf and the Newton step at them
    /// and says the value that the leaf gets.
    ///
    /// # Formula
    /// With `G` and `H` the sums of slopes and curvatures over the rows of a node, a split gains
    /// `G_L^2 / (H_L + lambda) + G_R^2 / (H_R + lambda) - G^2 / (H + lambda)`; the Newton step
    /// of a leaf is `-G / (H + lambda)`.
    ///
    /// # Reference
    /// T. Chen, C. Guestrin, XGBoost: A Scalable Tree Boosting System, KDD 2016, equations (5)
    /// and (7).
    pub(super) fn grow(
        &self,
        rows: &mut [u32],
        shape: &Shape,
        value: &mut dyn FnMut(&[u32], f64) -> f64,
    ) -> Tree {
        let mut nodes = vec![Node::Leaf(0.0)];
        let cells = self.cells(rows);
        let mut leaves = vec![Leaf {
            node: 0,
            from: 0,
            to: rows.len(),
            best: self.best(&cells, shape),
            cells,
        }];
        let mut scratch = Vec::with_capacity(rows.len());
        while leaves.len() < shape.leaves {
            // The first of equals.
            let mut most: Option<(usize, Candidate)> = None;
            for (i, leaf) in leaves.iter().enumerate() {
                if let Some(best) = leaf.best
                    && most.is_none_or(|(_, m)| best.gain > m.gain)
                {
                    most = Some((i, best));
                }
            }
            let Some((i, split)) = most else { break };
            let next = nodes.len();
            let leaf = &mut leaves[i];
            nodes[leaf.node] = Node::Split {
                input: split.input as u32,
                last: split.last as u32,
                next: next as u32,
            };
            nodes.extend([Node::Leaf(0.0); 2]);
            let (from, to) = (leaf.from, leaf.to);
            let middle = from + self.part(&mut rows[from..to], split, &mut scratch);
            let (mut left, mut right) = (Vec::new(), Vec::new());
            let full = leaves.len() + 1 == shape.leaves;
            if !full {
                // The cells of the larger part are those of both less those of the smaller.
                let whole = std::mem::take(&mut leaves[i].cells);
                if middle - from <= to - middle {
                    left = self.cells(&rows[from..middle]);
                    right = whole;
                    subtract(&mut right, &left);
                } else {
                    right = self.cells(&rows[middle..to]);
                    left = whole;
                    subtract(&mut left, &right);
                }
            }
            let part = |node, from, to, cells: Vec<Cell>| Leaf {
                node,
                from,
                to,
                best: if full { None } else { self.best(&cells, shape) },
                cells,
            };
            leaves[i] = part(next, from, middle, left);
            leaves.push(part(next + 1, middle, to, right));
        }
        for leaf in &leaves {
            let rows = &rows[leaf.from..leaf.to];
            let (mut slope, mut curvature) = (0.0, 0.0);
            for row in rows {
                slope += self.slope[*row as usize];
                curvature += self.curvature[*row as usize];
            }
            let step = -slope / (curvature + shape.ridge);
            nodes[leaf.node] = Node::Leaf(value(rows, step));
        }
        Tree { nodes }
    }

    fn cells(&self, rows: &[u32]) -> Vec<Cell> {
        let mut cells = vec![Cell::default(); self.bins.count()];
        let d = self.bins.inputs();
        for row in rows {
            let row = *row as usize;
            let one = Cell {
                slope: self.slope[row],
                curvature: self.curvature[row],
                rows: 1,
            };
            let codes = &self.codes[row * d..][..d];
            if self.inputs.len() == d {
                for code in codes {
                    cells[*code as usize].add(&one);
                }
            } else {
                for input in self.inputs {
                    cells[codes[*input] as usize].add(&one);
                }
            }
        }
        cells
    }

    /// The split that gains most; the first of equals.
    fn best(&self, cells: &[Cell], shape: &Shape) -> Option<Candidate> {
        let mut whole = Cell::default();
        cells[self.bins.of(*self.inputs.first()?)]
            .iter()
            .for_each(|c| whole.add(c));
        let parent = whole.score(shape.ridge);
        let mut best: Option<Candidate> = None;
        for input in self.inputs {
            let bins = self.bins.of(*input);
            let mut left = Cell::default();
            // There is nothing right of the last bin.
            for (last, cell) in (bins.start..bins.end - 1).zip(&cells[bins]) {
                if cell.rows == 0 {
                    continue;
                }
                left.add(cell);
                if (left.rows as usize) < shape.rows {
                    continue;
                }
                let right = whole.less(&left);
                if (right.rows as usize) < shape.rows.max(1) {
                    break;
                }
                let gain = left.score_with(&right, shape.ridge) - parent;
                if gain > best.map_or(SMALLEST_GAIN, |b| b.gain) {
                    let input = *input;
                    best = Some(Candidate { gain, input, last });
                }
            }
        }
        best
    }

    /// Rows that go left first, each side in its order; how many they are.
    fn part(&self, rows: &mut [u32], split: Candidate, scratch: &mut Vec<u32>) -> usize {
        let d = self.bins.inputs();
        scratch.clear();
        let mut left = 0;
        for i in 0..rows.len() {
            let row = rows[i];
            if self.codes[row as usize * d + split.input] as usize <= split.last {
                rows[left] = row;
                left += 1;
            } else {
                scratch.push(row);
            }
        }
        rows[left..].copy_from_slice(scratch);
        left
    }
}

fn subtract(from: &mut [Cell], what: &[Cell]) {
    for (from, what) in from.iter_mut().zip(what) {
        *from = from.less(what);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A table of `y` at `x`, one input after the other within a row.
    fn grow(x: &[f32], d: usize, y: &[f64], shape: Shape) -> Vec<f64> {
        let bins = Bins::new(x, d);
        let codes = bins.rows(x);
        let slope: Vec<f64> = y.iter().map(|y| -y).collect();
        let curvature = vec![1.0; y.len()];
        let inputs: Vec<usize> = (0..d).collect();
        let ground = Ground {
            bins: &bins,
            codes: &codes,
            slope: &slope,
            curvature: &curvature,
            inputs: &inputs,
        };
        let mut rows: Vec<u32> = (0..y.len() as u32).collect();
        let tree = ground.grow(&mut rows, &shape, &mut |_, step| step);
        codes.chunks(d).map(|codes| tree.value(codes)).collect()
    }

    const FREE: Shape = Shape {
        leaves: 4,
        rows: 1,
        ridge: 0.0,
    };

    #[test]
    fn a_function_of_four_steps_is_found() {
        let x: Vec<f32> = (0..20).flat_map(|i| [(i % 3) as f32, i as f32]).collect();
        let y: Vec<f64> = (0..20).map(|i| [3.0, -1.0, 4.0, 1.5][i / 5]).collect();
        let found = grow(&x, 2, &y, FREE);
        assert!(found.iter().zip(&y).all(|(f, y)| (f - y).abs() < 1e-14));
    }

    /// Means of the halves of the first best split: 0, 0, 6 | 9 is worse than 0, 0 | 6, 9
    /// (gains 45.9 and 56.3).
    #[test]
    fn two_leaves_take_the_split_that_gains_most_and_the_ridge_shrinks() {
        let (x, y) = ([0.0, 1.0, 2.0, 3.0], [0.0, 0.0, 6.0, 9.0]);
        let stump = Shape { leaves: 2, ..FREE };
        assert_eq!(grow(&x, 1, &y, stump), [0.0, 0.0, 7.5, 7.5]);
        let shrunk = Shape {
            ridge: 1.0,
            ..stump
        };
        assert_eq!(grow(&x, 1, &y, shrunk), [0.0, 0.0, 5.0, 5.0]);
        // Three rows each side there are not, so the only leaf is the mean.
        let large = Shape { rows: 3, ..FREE };
        assert_eq!(grow(&x, 1, &y, large), [3.75; 4]);
    }
}
