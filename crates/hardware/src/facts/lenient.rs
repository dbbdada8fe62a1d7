//! Reading the lines of a record that a person wrote: a list of lines, one text, or a number.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer};
use serde_json::Value;

/// How deep a value may be nested in another; JSON itself is read to 128.
const DEPTH_MAX: usize = 8;

pub(super) fn lines<'de, D: Deserializer<'de>>(from: D) -> Result<BTreeMap<String, Vec<String>>, D::Error> {
    let said = BTreeMap::<String, Value>::deserialize(from)?;
    Ok(said
        .into_iter()
        .map(|(key, value)| {
            let mut lines = Vec::new();
            flatten(&value, "", DEPTH_MAX, &mut lines);
            (key, lines)
        })
        .collect())
}

/// `label: value` for what stands under a label.
fn flatten(value: &Value, label: &str, depth: usize, lines: &mut Vec<String>) {
    let mut push = |text: &str| {
        lines.push(if label.is_empty() {
            text.to_owned()
        } else {
            format!("{label}: {text}")
        });
    };
    match value {
        Value::String(text) => push(text),
        Value::Number(number) => push(&number.to_string()),
        Value::Bool(known) => push(if *known { "true" } else { "false" }),
        Value::Array(list) if depth > 0 => {
            for inner in list {
                flatten(inner, label, depth - 1, lines);
            }
        }
        Value::Object(map) if depth > 0 => {
            for (key, inner) in map {
                flatten(inner, key, depth - 1, lines);
            }
        }
        Value::Null | Value::Array(_) | Value::Object(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use crate::Facts;

    #[test]
    fn whatever_form_the_lines_have() {
        let facts = Facts::from_json(
            br#"{"facts":{"a":["x","y"],"b":"one\ntwo","c":7,"d":{"hw.memsize":1},"e":null}}"#,
        )
        .unwrap();
        let lines = |key: &str| facts.facts[key].join("|");
        assert_eq!(
            ["a", "b", "c", "d", "e"].map(lines),
            ["x|y", "one\ntwo", "7", "hw.memsize: 1", ""]
        );
    }
}
