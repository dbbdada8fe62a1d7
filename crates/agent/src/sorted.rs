use serde::ser::{Serialize, SerializeMap as _, SerializeSeq as _, Serializer};
use serde_json::Value;

/// JSON with sorted keys, whatever order it came in: an equal schema is equal bytes. Lists keep their order,
/// because the order of an `enum` means something.
pub(crate) struct Sorted<'a>(pub(crate) &'a Value);

impl Serialize for Sorted<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Value::Object(fields) => {
                let mut names: Vec<&String> = fields.keys().collect();
                names.sort_unstable();
                let mut map = serializer.serialize_map(Some(names.len()))?;
                for name in names {
                    map.serialize_entry(name, &Sorted(&fields[name]))?;
                }
                map.end()
            }
            Value::Array(values) => {
                let mut list = serializer.serialize_seq(Some(values.len()))?;
                for value in values {
                    list.serialize_element(&Sorted(value))?;
                }
                list.end()
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
                self.0.serialize(serializer)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::Sorted;

    #[test]
    fn keys_are_sorted_at_every_depth_and_lists_are_not() {
        let schema =
            json!({"type": "object", "properties": {"z": {"enum": ["b", "a"]}, "a": [{"y": 1, "b": null}]}});
        assert_eq!(
            serde_json::to_string(&Sorted(&schema)).unwrap(),
            r#"{"properties":{"a":[{"b":null,"y":1}],"z":{"enum":["b","a"]}},"type":"object"}"#
        );
    }
}
