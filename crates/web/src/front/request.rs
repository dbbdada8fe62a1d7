//! The one thing the front reads in a body, and the one thing it may change there: the model's name.
//!
//! Everything else stays as it was written, byte by byte: the order of a tool's properties is part of the
//! prompt, and a prompt that changes is a prompt that is read again.

use std::borrow::Cow;
use std::fmt;

use bytes::Bytes;
use serde::de::{Deserializer as _, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::refused::Refused;

/// The model that a body asks for.
pub(crate) fn model(body: &[u8]) -> Result<String, Refused> {
    let fields = fields(body)?;
    let mut named = fields.iter().filter(|(name, _)| name == "model");
    match (named.next(), named.next()) {
        (Some((_, value)), None) => {
            let name: String = serde_json::from_str(value.get()).map_err(|_| Refused::NoModelNamed)?;
            if name.trim().is_empty() {
                Err(Refused::NoModelNamed)
            } else {
                Ok(name)
            }
        }
        (None, _) => Err(Refused::NoModelNamed),
        // Readers differ on which of the two counts; a check must not look at the other one.
        (Some(_), Some(_)) => Err(Refused::NotJson),
    }
}

/// The same body for the model's name at the router.
pub(crate) fn for_model(body: Bytes, name: &str) -> Result<Bytes, Refused> {
    if model(&body)? == name {
        return Ok(body);
    }
    let mut out = String::with_capacity(body.len() + name.len());
    out.push('{');
    for (place, (field, value)) in fields(&body)?.iter().enumerate() {
        if place > 0 {
            out.push(',');
        }
        out.push_str(&quoted(field)?);
        out.push(':');
        if field == "model" {
            out.push_str(&quoted(name)?);
        } else {
            out.push_str(value.get());
        }
    }
    out.push('}');
    Ok(out.into())
}

fn quoted(text: &str) -> Result<String, Refused> {
    serde_json::to_string(text).map_err(|_| Refused::NotJson)
}

type Fields<'a> = Vec<(Cow<'a, str>, &'a RawValue)>;

fn fields(body: &[u8]) -> Result<Fields<'_>, Refused> {
    struct InOrder;
    impl<'de> Visitor<'de> for InOrder {
        type Value = Fields<'de>;
        fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
            f.write_str("a JSON object")
        }
        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
            let mut fields = Vec::new();
            while let Some((Name(name), value)) = map.next_entry()? {
                fields.push((name, value));
            }
            Ok(fields)
        }
    }
    let mut reader = serde_json::Deserializer::from_slice(body);
    let fields = reader.deserialize_map(InOrder).map_err(|_| Refused::NotJson)?;
    reader.end().map_err(|_| Refused::NotJson)?;
    Ok(fields)
}

/// A field's name, borrowed where it holds no escape.
#[derive(serde::Deserialize)]
struct Name<'a>(#[serde(borrow)] Cow<'a, str>);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_named_model() {
        assert_eq!(model(br#"{"model":"a:Q4","x":[1]}"#), Ok("a:Q4".into()));
        assert_eq!(
            model(br#"{"mod\u0065l":"a"}"#),
            Ok("a".into()),
            "escapes hide nothing"
        );
        for (body, why) in [
            (&b"{}"[..], Refused::NoModelNamed),
            (br#"{"model":""}"#, Refused::NoModelNamed),
            (br#"{"model":3}"#, Refused::NoModelNamed),
            (br#"{"inner":{"model":"a"}}"#, Refused::NoModelNamed),
            (br#"{"model":"a","model":"b"}"#, Refused::NotJson),
            (br#"{"model":"a","mod\u0065l":"b"}"#, Refused::NotJson),
            (br#"{"model":"a"} {"model":"b"}"#, Refused::NotJson),
            (br#"["model"]"#, Refused::NotJson),
            (b"\xff", Refused::NotJson),
            (b"", Refused::NotJson),
        ] {
            assert_eq!(model(body), Err(why), "{}", String::from_utf8_lossy(body));
        }
    }

    #[test]
    fn another_name_and_not_a_byte_more() {
        let body = br#"{ "z": 1.50, "model" : "a", "tools":[{"b":1,  "a":2}], "\u0061": null }"#;
        let changed = for_model(Bytes::from_static(body), "b \"c\"").unwrap();
        assert_eq!(
            std::str::from_utf8(&changed).unwrap(),
            r#"{"z":1.50,"model":"b \"c\"","tools":[{"b":1,  "a":2}],"a":null}"#
        );
        let same = for_model(Bytes::from_static(body), "a").unwrap();
        assert_eq!(&same[..], body, "the right name already: the very bytes");
    }
}
