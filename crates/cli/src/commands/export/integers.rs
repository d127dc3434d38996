//! What integers cost, in words and as an object.

use loopfit_export::{Loss, Width};
use loopfit_numerics::named::Named;
use loopfit_numerics::text::count;
use loopfit_report::number::{self, Exponent};
use serde_json::{Value, json};

pub(super) fn sentence(width: Option<Width>, loss: &Loss) -> String {
    let bits = width.map_or("", Named::name);
    let value = |v: f64| number::value(v, 3, Exponent::Own);
    let rows = match loss.from_table {
        true => count(loss.rows, "row"),
        false => format!(
            "{} drawn from what the model knows",
            count(loss.rows, "row")
        ),
    };
    let mut text = format!(
        "weights of {bits} bits: root mean square difference of the {} {}, at most {}, on {rows}",
        loss.of,
        value(loss.rms),
        value(loss.largest),
    );
    match loss.same_class {
        // Scores of classes that are sure may move: weights are chosen by probabilities.
        Some(share) => text += &format!("\nthe same class on {:.2}% of the rows", 100.0 * share),
        None => {
            let nearest = value(loss.rms_of_nearest);
            text += &format!("; {nearest} if each weight were the nearest integer");
        }
    }
    if let Some((own, found)) = &loss.scores {
        let ratio = found.value / own.value;
        let more = match ratio < 10.0 {
            true => format!("{:+.2}%", 100.0 * (ratio - 1.0)),
            false => format!("{} times as much", number::value(ratio, 2, Exponent::Own)),
        };
        text += &format!(
            "\n{} {} of integers, {} of the model ({more})",
            own.metric,
            number::value(found.value, 6, Exponent::Own),
            number::value(own.value, 6, Exponent::Own)
        );
    }
    text
}

pub(super) fn object(width: Option<Width>, loss: &Loss) -> Value {
    let scores = loss.scores.as_ref();
    json!({
        "bits": width.map(Named::name), "rows": loss.rows, "from_table": loss.from_table,
        "of": loss.of, "rms": loss.rms, "largest": loss.largest,
        "rms_of_nearest": loss.rms_of_nearest, "same_class": loss.same_class,
        "scores": scores.map(|(own, found)| {
            json!({"metric": own.metric, "model": own.value, "integers": found.value})
        }),
    })
}
