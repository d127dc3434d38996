//! The coefficients of a network as one flat vector with named views.

use crate::layout;
use crate::network::{Network, ShapeError};
use crate::tying::Tying;

/// The coefficients of a network: as many as it counts, all of them finite.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameters {
    network: Network,
    values: Vec<f32>,
}

/// Why a vector is not the coefficients of a network.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ParametersError {
    /// The vector is too short or too long.
    #[error("the network has {expected} numbers, but {found} values were given")]
    Length {
        /// The network's count.
        expected: usize,
        /// The vector's length.
        found: usize,
    },
    /// A coefficient is infinite or NaN.
    #[error("coefficient {index} of tensor {tensor} is {value}: all coefficients must be finite")]
    NotFinite {
        /// The tensor's name.
        tensor: String,
        /// The place in the tensor, row by row.
        index: usize,
        /// The value there.
        value: f32,
    },
}

/// Why a network cannot stop after so many updates.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum IterationsError {
    /// No update at all.
    #[error("a network makes at least one iteration, not 0")]
    Zero,
    /// More updates than there are blocks.
    #[error(
        "{network}, cannot make {t} iterations: ask for at most {blocks}; only a Loop can go on"
    )]
    TooMany {
        /// The network, with its count.
        network: Box<Network>,
        /// Its blocks.
        blocks: usize,
        /// What was asked for.
        t: usize,
    },
    /// More updates than are supported.
    #[error(transparent)]
    Shape(#[from] ShapeError),
}

impl Parameters {
    /// The coefficients of a network, in the order of its [`Layout`](crate::Layout).
    pub fn new(network: Network, values: Vec<f32>) -> Result<Self, ParametersError> {
        if values.len() != network.count() {
            return Err(ParametersError::Length {
                expected: network.count(),
                found: values.len(),
            });
        }
        if values.iter().any(|v| !v.is_finite()) {
            for view in layout::views(&network) {
                for (index, &value) in values[view.range()].iter().enumerate() {
                    if !value.is_finite() {
                        let tensor = view.name;
                        return Err(ParametersError::NotFinite {
                            tensor,
                            index,
                            value,
                        });
                    }
                }
            }
        }
        Ok(Self { network, values })
    }

    /// The network they belong to.
    pub fn network(&self) -> &Network {
        &self.network
    }

    /// All coefficients, in the order of the layout.
    pub fn values(&self) -> &[f32] {
        &self.values
    }

    /// The coefficients of one tensor, row by row.
    ///
    /// # Panics
    /// If the network has no tensor of that name; [`Layout::get`](crate::Layout::get)
    /// asks first.
    pub fn view(&self, name: &str) -> &[f32] {
        match layout::views(&self.network).find(|view| view.name == name) {
            Some(view) => &self.values[view.range()],
            None => panic!("{} has no tensor {name:?}", self.network),
        }
    }

    /// The same network with its zeros written out.
    pub fn dense(&self) -> Self {
        let network = self.network.dense();
        let zeros = self.network.zeros();
        let mut values = Vec::with_capacity(network.count());
        let mut stored = self.values.iter();
        for place in 0..network.count() {
            let zero = zeros.binary_search(&place).is_ok();
            let value = if zero { None } else { stored.next() };
            values.push(value.copied().unwrap_or(0.0));
        }
        Self { network, values }
    }

    /// The flat vector itself.
    pub fn into_values(self) -> Vec<f32> {
        self.values
    }

    /// The network that stops after `t` updates: a Loop with another iteration count and the same
    /// coefficients (larger counts included), the first `t` blocks of Untied, or Single itself. In
    /// other forms than the paper's, the last block's bias is part of the output's, rounded to 32 bits.
    pub fn after(&self, t: usize) -> Result<Self, IterationsError> {
        if !self.network.zeros().is_empty() {
            return self.dense().after(t);
        }
        let old = &self.network;
        let blocks = old.tying().blocks();
        let tying = match old.tying() {
            _ if t == 0 => return Err(IterationsError::Zero),
            Tying::Loop { .. } => Tying::Loop { t },
            _ if t > blocks => {
                return Err(IterationsError::TooMany {
                    network: Box::new(old.clone()),
                    blocks,
                    t,
                });
            }
            Tying::Single => Tying::Single,
            Tying::Untied { .. } => Tying::Untied { t },
        };
        let network = old.resized(old.r(), tying)?;
        let layout = network.layout();
        let kept = layout.iter().flat_map(|view| self.view(&view.name));
        let mut values: Vec<f32> = kept.copied().collect();
        let dropped = format!("block.{}.b2", t.min(blocks) - 1);
        if layout.get(&dropped).is_none() && old.layout().get(&dropped).is_some() {
            let bias = layout
                .get("output.bias")
                .expect("every network has it")
                .range();
            let (paper, q) = (self.to_paper(), old.q());
            let weights = paper.view("output.weight").chunks_exact(q);
            for (value, row) in values[bias].iter_mut().zip(weights) {
                let terms = row.iter().zip(paper.view(&dropped));
                let shift: f64 = terms.map(|(w, b)| f64::from(*w) * f64::from(*b)).sum();
                *value = (f64::from(*value) + shift) as f32;
            }
        }
        Ok(Self { network, values })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::form::Form;
    use crate::reference::forward;

    #[test]
    fn views_are_slices_of_the_vector() {
        // q = 2, d = 3, r = 1: input 6 + 2, block 2 + 1 + 2 + 2, output 2 + 1.
        let network = Network::ffn(3, 1, 2, 1, Tying::Single).unwrap();
        let p = Parameters::new(network, (0..18u8).map(f32::from).collect()).unwrap();
        assert_eq!(p.view("input.bias"), [6.0, 7.0]);
        assert_eq!(p.view("block.0.w2"), [11.0, 12.0]);
        assert_eq!(p.view("output.bias"), [17.0]);
    }

    #[test]
    fn networks_stop_earlier() {
        let at = |tying| {
            let network = Network::ffn(3, 1, 2, 1, tying).unwrap();
            let values = (0..network.count()).map(|v| v as f32).collect();
            Parameters::new(network, values).unwrap()
        };
        let looped = at(Tying::Loop { t: 4 });
        for t in [1, 3, 9] {
            let other = looped.after(t).unwrap();
            assert_eq!(other.network().tying(), Tying::Loop { t });
            assert_eq!(other.values(), looped.values());
        }
        let untied = at(Tying::Untied { t: 3 });
        let two = untied.after(2).unwrap();
        assert_eq!(two.network().tying(), Tying::Untied { t: 2 });
        for name in ["input.bias", "block.1.w2", "output.weight"] {
            assert_eq!(two.view(name), untied.view(name));
        }
        assert_eq!(
            at(Tying::Single).after(1).unwrap().network().tying(),
            Tying::Single
        );
        for (parameters, t) in [(&untied, 4), (&at(Tying::Single), 2)] {
            assert!(matches!(
                parameters.after(t),
                Err(IterationsError::TooMany { .. })
            ));
        }
        assert_eq!(looped.after(0), Err(IterationsError::Zero));
        assert!(matches!(
            looped.after(usize::MAX),
            Err(IterationsError::Shape(_))
        ));
    }

    /// The states of a form are those of its paper form, and so is what is read out early.
    #[test]
    fn other_forms_stop_earlier() {
        let x = [0.3, 5.0, -0.8];
        for form in [
            Form::Canonical,
            Form::Carried { extra: 1 },
            Form::Carried { extra: 2 },
        ] {
            let network = Network::ffn(2, 2, 3, 2, Tying::Untied { t: 3 }).unwrap();
            let network = network.with_form(form).unwrap();
            let network = network.reading(3, vec![2, 0]).unwrap();
            let values = (0..network.count()).map(|i| (i as f32 * 0.7).sin());
            let p = Parameters::new(network.clone(), values.collect()).unwrap();
            for t in 1..4 {
                let early = forward(&p.after(t).unwrap(), &x);
                let paper = forward(&p.to_paper().after(t).unwrap(), &x);
                for (a, b) in early.iter().zip(paper) {
                    assert!((a - b).abs() < 1e-6, "{form} {t}: {a}, not {b}");
                }
            }
            assert_eq!(p.after(3).unwrap(), p);
        }
        let affine = Network::affine(2, 1, 2).unwrap();
        let affine = Parameters::new(affine, vec![1.0, 2.0, 3.0]).unwrap();
        assert_eq!(affine.after(1).unwrap(), affine);
    }

    #[test]
    fn wrong_vectors_are_refused() {
        let network = Network::ffn(3, 1, 2, 1, Tying::Single).unwrap();
        assert_eq!(
            Parameters::new(network.clone(), vec![0.0; 17]),
            Err(ParametersError::Length {
                expected: 18,
                found: 17
            })
        );
        for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
            let mut values = vec![0.0; 18];
            values[12] = bad;
            let error = Parameters::new(network.clone(), values).unwrap_err();
            assert!(
                matches!(error, ParametersError::NotFinite { tensor, index: 1, .. } if tensor == "block.0.w2")
            );
        }
    }
}
