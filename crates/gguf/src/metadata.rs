use std::collections::BTreeMap;
use std::fmt;

use crate::{BadReason, HeaderError};

/// One metadata value. Widths are dropped: files store the same key as u32, i32 or u64.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    Unsigned(u64),
    Signed(i64),
    Float(f64),
    Bool(bool),
    Text(String),
    Array(Array),
}

/// An array. `items` is empty when it was too long to be worth keeping; `len` always counts all.
#[derive(Debug, Clone, PartialEq)]
pub struct Array {
    pub len: u64,
    pub items: Vec<Value>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ValueKind {
    Number,
    Bool,
    Text,
    Array,
}

impl fmt::Display for ValueKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Number => "a number",
            Self::Bool => "a yes or no",
            Self::Text => "text",
            Self::Array => "an array",
        })
    }
}

impl Value {
    #[must_use]
    pub const fn kind(&self) -> ValueKind {
        match self {
            Self::Unsigned(_) | Self::Signed(_) | Self::Float(_) => ValueKind::Number,
            Self::Bool(_) => ValueKind::Bool,
            Self::Text(_) => ValueKind::Text,
            Self::Array(_) => ValueKind::Array,
        }
    }

    /// As a whole number that is not negative.
    #[must_use]
    pub fn as_u64(&self) -> Option<u64> {
        match self {
            Self::Unsigned(n) => Some(*n),
            Self::Signed(n) => u64::try_from(*n).ok(),
            Self::Bool(_) | Self::Float(_) | Self::Text(_) | Self::Array(_) => None,
        }
    }
}

/// The key-value part of a header.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Metadata(BTreeMap<String, Value>);

impl Metadata {
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.0.get(key)
    }

    pub fn iter(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.0.iter().map(|(key, value)| (key.as_str(), value))
    }

    /// Sets a key, whatever it was.
    pub(crate) fn set(&mut self, key: String, value: Value) {
        self.0.insert(key, value);
    }

    pub(crate) fn unset(&mut self, key: &str) {
        self.0.remove(key);
    }

    /// Adds an entry; `false` when the key was there already (the first one stays).
    pub fn insert(&mut self, key: String, value: Value) -> bool {
        match self.0.entry(key) {
            std::collections::btree_map::Entry::Vacant(place) => {
                place.insert(value);
                true
            }
            std::collections::btree_map::Entry::Occupied(_) => false,
        }
    }

    pub fn text(&self, key: &str) -> Result<Option<&str>, HeaderError> {
        match self.0.get(key) {
            None => Ok(None),
            Some(Value::Text(text)) => Ok(Some(text)),
            Some(other) => Err(wrong_kind(key, ValueKind::Text, other)),
        }
    }

    /// A whole number of 32 bits, as every size of a model is.
    pub fn u32(&self, key: &str) -> Result<Option<u32>, HeaderError> {
        self.0.get(key).map(|value| whole(key, value)).transpose()
    }

    pub fn require_u32(&self, key: &str) -> Result<u32, HeaderError> {
        self.u32(key)?
            .ok_or_else(|| HeaderError::bad(key, BadReason::Missing))
    }

    pub fn f64(&self, key: &str) -> Result<Option<f64>, HeaderError> {
        match self.0.get(key) {
            None => Ok(None),
            Some(Value::Float(n)) if n.is_finite() => Ok(Some(*n)),
            Some(Value::Float(n)) => Err(HeaderError::bad(
                key,
                BadReason::OutOfRange { value: n.to_string() },
            )),
            Some(other) => Err(wrong_kind(key, ValueKind::Number, other)),
        }
    }

    pub fn bool(&self, key: &str) -> Result<Option<bool>, HeaderError> {
        match self.0.get(key) {
            None => Ok(None),
            Some(Value::Bool(yes)) => Ok(Some(*yes)),
            Some(other) => Err(wrong_kind(key, ValueKind::Bool, other)),
        }
    }

    /// How many items an array has, whether they were kept or not.
    pub fn array_len(&self, key: &str) -> Result<Option<u64>, HeaderError> {
        match self.0.get(key) {
            None => Ok(None),
            Some(Value::Array(array)) => Ok(Some(array.len)),
            Some(other) => Err(wrong_kind(key, ValueKind::Array, other)),
        }
    }

    /// A value per layer: one number for all, or an array with at least `layers` numbers.
    pub fn u32_per_layer(&self, key: &str, layers: u32) -> Result<Option<Vec<u32>>, HeaderError> {
        match self.0.get(key) {
            None => Ok(None),
            Some(Value::Array(array)) => per_layer(key, array, layers, |item| whole(key, item)).map(Some),
            Some(single) => Ok(Some(vec![whole(key, single)?; layers as usize])),
        }
    }

    /// A yes or no per layer; numbers count as their being not 0.
    pub fn bool_per_layer(&self, key: &str, layers: u32) -> Result<Option<Vec<bool>>, HeaderError> {
        let Some(Value::Array(array)) = self.0.get(key) else {
            return Ok(None);
        };
        per_layer(key, array, layers, |item| match item {
            Value::Bool(yes) => Ok(*yes),
            Value::Unsigned(_) | Value::Signed(_) | Value::Float(_) | Value::Text(_) | Value::Array(_) => {
                whole(key, item).map(|n| n != 0)
            }
        })
        .map(Some)
    }
}

fn per_layer<T>(
    key: &str,
    array: &Array,
    layers: u32,
    read: impl Fn(&Value) -> Result<T, HeaderError>,
) -> Result<Vec<T>, HeaderError> {
    let items = array.items.get(..layers as usize).ok_or_else(|| {
        HeaderError::bad(
            key,
            BadReason::OutOfRange {
                value: format!("{} items for {layers} layers", array.len),
            },
        )
    })?;
    items.iter().map(read).collect()
}

fn whole(key: &str, value: &Value) -> Result<u32, HeaderError> {
    let out_of_range = |value: String| {
        HeaderError::bad(
            key,
            BadReason::OutOfRange {
                value: value.chars().take(40).collect(),
            },
        )
    };
    match value {
        Value::Unsigned(n) => u32::try_from(*n).map_err(|_| out_of_range(n.to_string())),
        Value::Signed(n) => u32::try_from(*n).map_err(|_| out_of_range(n.to_string())),
        Value::Float(n) => Err(out_of_range(n.to_string())),
        Value::Bool(_) | Value::Text(_) | Value::Array(_) => Err(wrong_kind(key, ValueKind::Number, value)),
    }
}

fn wrong_kind(key: &str, expected: ValueKind, found: &Value) -> HeaderError {
    HeaderError::bad(
        key,
        BadReason::Kind {
            expected,
            found: found.kind(),
        },
    )
}
