//! How a packed order is written down: tensors of the model's layout, interleaved.

use loopfit_model::layout::View;
use loopfit_model::{Layout, Network};

/// Places in the model's layout, one for each packed coefficient so far.
pub(crate) struct Order {
    layout: Layout,
    pub(crate) places: Vec<usize>,
}

impl Order {
    pub(crate) fn new(network: &Network) -> Self {
        Self {
            layout: network.layout(),
            places: Vec::with_capacity(network.count()),
        }
    }

    fn view(&self, name: &str) -> View {
        let view = self.layout.get(name).cloned();
        view.unwrap_or_else(|| unreachable!("the architecture has {name}"))
    }

    /// A whole tensor.
    pub(crate) fn vector(&mut self, name: &str) {
        let view = self.view(name);
        self.places.extend(view.range());
    }

    /// The rows of a matrix, each followed by its bias.
    pub(crate) fn affine(&mut self, weight: &str, bias: &str) {
        let (weight, bias) = (self.view(weight), self.view(bias));
        for row in 0..weight.rows {
            let first = weight.offset + row * weight.cols;
            self.places.extend(first..first + weight.cols);
            self.places.push(bias.offset + row);
        }
    }

    /// The hidden units of a block: row of `W1`, bias and column of `W2` of one after the other.
    pub(crate) fn units(&mut self, block: usize) {
        let [w1, b1, w2] =
            ["w1", "b1", "w2"].map(|name| self.view(&format!("block.{block}.{name}")));
        for j in 0..w1.rows {
            let first = w1.offset + j * w1.cols;
            self.places.extend(first..first + w1.cols);
            self.places.push(b1.offset + j);
            self.places
                .extend((0..w2.rows).map(|k| w2.offset + k * w2.cols + j));
        }
    }
}
