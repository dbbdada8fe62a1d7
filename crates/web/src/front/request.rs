//! What the front reads in a body: the model's name and how long the model is to stay in memory afterwards; and what it may
//! change there: the name, the slot, and the form of an answer in words that llama-server reads.
//!
//! Everything else stays as it was written, byte by byte: the order of a tool's properties is part of the
//! prompt, and a prompt that changes is a prompt that is read again.

use std::borrow::Cow;
use std::fmt;
use std::time::Duration;

use bytes::Bytes;
use plimsoll_app::Stay;
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

/// How long the model stays afterwards, in the form that Ollama's clients know: `keep_alive` in seconds or as a
/// duration such as `5m`, less than nothing for always. What cannot be read says nothing.
pub(crate) fn stay(body: &[u8]) -> Result<Stay, Refused> {
    let fields = fields(body)?;
    let said = fields.iter().find(|(name, _)| name == "keep_alive");
    let said = said.and_then(|(_, value)| serde_json::from_str::<serde_json::Value>(value.get()).ok());
    let seconds = match said {
        Some(serde_json::Value::Number(number)) => number.as_f64(),
        Some(serde_json::Value::String(text)) => seconds(&text),
        Some(_) | None => None,
    };
    Ok(match seconds {
        None => Stay::Usual,
        Some(seconds) if seconds < 0.0 => Stay::Always,
        Some(seconds) => Duration::try_from_secs_f64(seconds).map_or(Stay::Always, Stay::For),
    })
}

/// `90`, `1h30m`, `500ms`, `-1`.
fn seconds(text: &str) -> Option<f64> {
    let text = text.trim();
    if let Ok(number) = text.parse::<f64>() {
        return number.is_finite().then_some(number);
    }
    let (sign, mut rest) = match text.strip_prefix('-') {
        Some(rest) => (-1.0, rest),
        None => (1.0, text),
    };
    let mut sum = 0.0;
    while !rest.is_empty() {
        let end = rest.find(|c: char| !(c.is_ascii_digit() || c == '.'))?;
        let (number, after) = rest.split_at(end);
        let (unit, next) = after.split_at(after.find(|c: char| c.is_ascii_digit()).unwrap_or(after.len()));
        let one = match unit {
            "ms" => 0.001,
            "s" => 1.0,
            "m" => 60.0,
            "h" => 3600.0,
            _ => return None,
        };
        sum += number.parse::<f64>().ok()? * one;
        rest = next;
    }
    Some(sign * sum)
}

/// The same body with other values for some fields; those that it lacks come last.
pub(crate) fn with(body: Bytes, change: &[(&str, String)]) -> Result<Bytes, Refused> {
    let mut missing: Vec<&(&str, String)> = change.iter().collect();
    let mut out = String::with_capacity(body.len() + 128);
    let mut put = |field: &str, value: &str| -> Result<(), Refused> {
        out.push(if out.is_empty() { '{' } else { ',' });
        out.push_str(&quoted(field)?);
        out.push(':');
        out.push_str(value);
        Ok(())
    };
    let mut same = true;
    for (field, value) in &fields(&body)? {
        let new = missing.iter().position(|(name, _)| name == field);
        let new = new.map(|at| &missing.swap_remove(at).1);
        same &= new.is_none_or(|new| new == value.get());
        put(field, new.map_or(value.get(), String::as_str))?;
    }
    if same && missing.is_empty() {
        return Ok(body);
    }
    for (field, value) in missing {
        put(field, value)?;
    }
    out.push('}');
    Ok(out.into())
}

pub(crate) fn quoted(text: &str) -> Result<String, Refused> {
    serde_json::to_string(text).map_err(|_| Refused::NotJson)
}

pub(crate) type Fields<'a> = Vec<(Cow<'a, str>, &'a RawValue)>;

pub(crate) fn fields(body: &[u8]) -> Result<Fields<'_>, Refused> {
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
    fn the_time_afterwards_is_read_in_every_form() {
        let said = |value: &str| stay(format!(r#"{{"model":"m","keep_alive":{value}}}"#).as_bytes()).unwrap();
        let of = |seconds| Stay::For(Duration::from_secs(seconds));
        for (value, means) in [
            ("300", of(300)),
            ("\"300\"", of(300)),
            ("\"5m\"", of(300)),
            ("\"1h30m\"", of(5400)),
            ("\"1500ms\"", Stay::For(Duration::from_millis(1500))),
            ("0", of(0)),
            ("-1", Stay::Always),
            ("\"-1m\"", Stay::Always),
            ("1e300", Stay::Always),
            ("null", Stay::Usual),
            ("\"soon\"", Stay::Usual),
            ("\"5 m\"", Stay::Usual),
            ("[]", Stay::Usual),
        ] {
            assert_eq!(said(value), means, "{value}");
        }
        assert_eq!(stay(br#"{"model":"m"}"#), Ok(Stay::Usual));
    }

    #[test]
    fn another_name_and_not_a_byte_more() {
        let body = br#"{ "z": 1.50, "model" : "a", "tools":[{"b":1,  "a":2}], "\u0061": null }"#;
        let model = |name: &str| ("model", quoted(name).unwrap());
        let changed = with(Bytes::from_static(body), &[model("b \"c\"")]).unwrap();
        assert_eq!(
            std::str::from_utf8(&changed).unwrap(),
            r#"{"z":1.50,"model":"b \"c\"","tools":[{"b":1,  "a":2}],"a":null}"#
        );
        let same = with(Bytes::from_static(body), &[model("a")]).unwrap();
        assert_eq!(&same[..], body, "the right name already: the very bytes");
        let more = with(
            Bytes::from_static(body),
            &[model("a"), ("z", "3".into()), ("id_slot", "1".into())],
        );
        assert_eq!(
            std::str::from_utf8(&more.unwrap()).unwrap(),
            r#"{"z":3,"model":"a","tools":[{"b":1,  "a":2}],"a":null,"id_slot":1}"#
        );
    }
}
