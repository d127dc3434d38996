//! Labels that keep out of the way: of each other, and of what is drawn.

use super::canvas::text_width;

/// Where a label may stand, as a rectangle.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub(super) left: f64,
    pub(super) top: f64,
    pub(super) width: f64,
    pub(super) height: f64,
}

impl Place {
    fn covers(&self, (x, y): (f64, f64)) -> bool {
        (self.left..self.left + self.width).contains(&x)
            && (self.top..self.top + self.height).contains(&y)
    }

    fn meets(&self, other: &Self) -> bool {
        self.left < other.left + other.width
            && other.left < self.left + self.width
            && self.top < other.top + other.height
            && other.top < self.top + self.height
    }
}

/// What is drawn already: points of curves, and labels.
#[derive(Default)]
pub(super) struct Occupied {
    points: Vec<(f64, f64)>,
    labels: Vec<Place>,
}

impl Occupied {
    /// A line that labels should keep off.
    pub(super) fn add_line(&mut self, from: (f64, f64), to: (f64, f64)) {
        let length = (to.0 - from.0).abs().max((to.1 - from.1).abs());
        let steps = (length / 2.0).ceil().max(1.0) as usize;
        for step in 0..=steps {
            let t = step as f64 / steps as f64;
            let at = |a: f64, b: f64| a + t * (b - a);
            self.points.push((at(from.0, to.0), at(from.1, to.1)));
        }
    }

    /// Takes the first of `places` that disturbs least; a label under another one
    /// disturbs most.
    pub(super) fn take(&mut self, places: &[Place]) -> Option<Place> {
        let disturbed = |place: &&Place| {
            let labels = self.labels.iter().filter(|l| l.meets(place)).count();
            let points = self.points.iter().filter(|p| place.covers(**p)).count();
            1000 * labels + points
        };
        let best = places.iter().min_by_key(disturbed).copied()?;
        self.labels.push(best);
        Some(best)
    }
}

/// With how many ticks between them labels of given texts at given places do not
/// touch; counted from the last one.
pub(super) fn stride(labels: &[(f64, &str)]) -> usize {
    let fits = |stride: &usize| {
        let kept: Vec<_> = labels.iter().rev().step_by(*stride).collect();
        kept.windows(2).all(|pair| {
            let widths = text_width(pair[0].1) + text_width(pair[1].1);
            (pair[0].0 - pair[1].0).abs() >= 0.5 * widths + 4.0
        })
    };
    (1..labels.len().max(2))
        .find(fits)
        .unwrap_or(labels.len().max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_left_out_until_they_fit() {
        let at = |step: f64| -> Vec<(f64, &str)> {
            (0..9).map(|n| (step * f64::from(n), "131072")).collect()
        };
        assert_eq!(stride(&at(50.0)), 1);
        assert_eq!(stride(&at(22.0)), 2);
        assert_eq!(stride(&at(0.0)), 9);
        assert_eq!(stride(&[]), 1);
    }

    #[test]
    fn a_label_avoids_lines_then_labels() {
        let mut occupied = Occupied::default();
        occupied.add_line((0.0, 5.0), (20.0, 5.0));
        let place = |top| Place {
            left: 0.0,
            top,
            width: 20.0,
            height: 10.0,
        };
        assert_eq!(occupied.take(&[place(0.0), place(20.0)]).unwrap().top, 20.0);
        assert_eq!(occupied.take(&[place(20.0), place(0.0)]).unwrap().top, 0.0);
        assert!(occupied.take(&[]).is_none());
    }
}
