//! One JSON object with stable keys; numbers that do not exist are `null`.

use serde::{Serialize, Serializer};

use crate::{Comparison, MethodResult, Paired};

#[derive(Serialize)]
struct Document<'a> {
    title: &'a str,
    problem: &'a str,
    budget: usize,
    metric: &'a str,
    seeds: &'a [u64],
    methods: Keyed<Method<'a>>,
    paired: Keyed<Difference>,
    notes: &'a [String],
}

#[derive(Serialize)]
struct Method<'a> {
    name: &'a str,
    mean: f64,
    se: Option<f64>,
    median: f64,
    wins: usize,
    values: Vec<f64>,
    shape: &'a str,
    count: usize,
    shapes: Vec<&'a str>,
    counts: Vec<usize>,
    updates: u64,
}

#[derive(Serialize)]
struct Difference {
    mean: f64,
    se: Option<f64>,
    wins: usize,
    differences: Vec<f64>,
}

/// An object whose keys keep the order in which they were given.
struct Keyed<T>(Vec<(String, T)>);

impl<T: Serialize> Serialize for Keyed<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(key, value)| (key, value)))
    }
}

impl Comparison {
    /// The comparison as one JSON object, ending in a line break.
    ///
    /// Keys: `title`, `problem`, `budget`, `metric`, `seeds`, `notes`;
    /// `methods.{single,loop,untied}` (also `loop-transformer` and so on) with `name`, `mean`, `se`, `median`, `wins`,
    /// `values`, `shape` and `count` (of the most frequent shape), `shapes`,
    /// `counts`, `updates`; `paired.{loop_minus_single,loop_minus_untied}` (see [`Comparison::paired`]) with
    /// `mean`, `se`, `wins`, `differences`. With one seed `se` is `null`.
    pub fn to_json(&self) -> String {
        let wins = self.wins();
        let methods = self
            .methods()
            .iter()
            .zip(wins)
            .map(|(m, wins)| (m.key.clone(), method(m, wins)));
        let document = Document {
            title: self.title(),
            problem: self.problem(),
            budget: self.budget(),
            metric: self.metric(),
            seeds: self.seeds(),
            methods: Keyed(methods.collect()),
            paired: Keyed(self.paired().iter().map(difference).collect()),
            notes: self.notes(),
        };
        let mut text =
            serde_json::to_string_pretty(&document).expect("every key of the document is a string");
        text.push('\n');
        text
    }
}

fn method(m: &MethodResult, wins: usize) -> Method<'_> {
    let (shape, count) = m.typical().map_or(("", 0), |r| (r.shape.as_str(), r.count));
    Method {
        name: &m.name,
        mean: m.mean(),
        se: m.se(),
        median: m.median(),
        wins,
        values: m.values(),
        shape,
        count,
        shapes: m.results.iter().map(|r| r.shape.as_str()).collect(),
        counts: m.results.iter().map(|r| r.count).collect(),
        updates: m.updates,
    }
}

fn difference(pair: &Paired<'_>) -> (String, Difference) {
    let key = format!("{}_minus_{}", pair.first.key, pair.second.key);
    let difference = Difference {
        mean: pair.mean(),
        se: pair.se(),
        wins: pair.wins(),
        differences: pair.differences.clone(),
    };
    (key, difference)
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use crate::fixtures::{awkward, comparison};

    fn parsed(c: &crate::Comparison) -> Value {
        serde_json::from_str(&c.to_json()).unwrap()
    }

    #[test]
    fn a_document() {
        let c = comparison(&[
            ("single", &[5.0, 3.0]),
            ("loop", &[2.0, 4.0]),
            ("untied", &[1.0, 9.0]),
        ])
        .with_notes(["a \"note\""]);
        insta::assert_snapshot!(c.to_json(), @r#"
        {
          "title": "Single, Loop and Untied under a cap of 128 numbers",
          "problem": "sim:bumps",
          "budget": 128,
          "metric": "MSE against f0",
          "seeds": [
            88000,
            88001
          ],
          "methods": {
            "single": {
              "name": "Single",
              "mean": 4.0,
              "se": 1.0,
              "median": 4.0,
              "wins": 1,
              "values": [
                5.0,
                3.0
              ],
              "shape": "q=4 r=11",
              "count": 127,
              "shapes": [
                "q=4 r=11",
                "q=4 r=11"
              ],
              "counts": [
                127,
                127
              ],
              "updates": 96000
            },
            "loop": {
              "name": "Loop",
              "mean": 3.0,
              "se": 1.0,
              "median": 3.0,
              "wins": 0,
              "values": [
                2.0,
                4.0
              ],
              "shape": "q=4 r=11 T=16",
              "count": 127,
              "shapes": [
                "q=4 r=11 T=16",
                "q=4 r=11 T=16"
              ],
              "counts": [
                127,
                127
              ],
              "updates": 96000
            },
            "untied": {
              "name": "Untied",
              "mean": 5.0,
              "se": 4.0,
              "median": 5.0,
              "wins": 1,
              "values": [
                1.0,
                9.0
              ],
              "shape": "q=6 r=2 T=3",
              "count": 121,
              "shapes": [
                "q=6 r=2 T=3",
                "q=6 r=2 T=3"
              ],
              "counts": [
                121,
                121
              ],
              "updates": 96000
            }
          },
          "paired": {
            "loop_minus_single": {
              "mean": -1.0,
              "se": 2.0,
              "wins": 1,
              "differences": [
                -3.0,
                1.0
              ]
            },
            "loop_minus_untied": {
              "mean": -2.0,
              "se": 2.9999999999999996,
              "wins": 1,
              "differences": [
                1.0,
                -5.0
              ]
            }
          },
          "notes": [
            "a \"note\""
          ]
        }
        "#);
    }

    #[test]
    fn values_survive_the_round_trip_bit_for_bit() {
        let values = [0.1 + 0.2, 5e-324, -1.0 / 3.0];
        let json = parsed(&comparison(&[("loop", &values)]));
        let read: Vec<f64> = json["methods"]["loop"]["values"]
            .as_array()
            .unwrap()
            .iter()
            .map(|v| v.as_f64().unwrap())
            .collect();
        assert_eq!(read, values);
    }

    #[test]
    fn what_does_not_exist_is_null() {
        let one = parsed(&comparison(&[("loop", &[1.0]), ("single", &[f64::NAN])]));
        assert_eq!(one["methods"]["loop"]["se"], Value::Null);
        assert_eq!(one["methods"]["single"]["mean"], Value::Null);
        assert_eq!(one["methods"]["single"]["values"][0], Value::Null);
        assert_eq!(one["paired"]["loop_minus_single"]["mean"], Value::Null);
        for c in awkward() {
            assert!(parsed(&c).is_object());
        }
    }
}
