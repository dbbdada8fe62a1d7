//! Arithmetic, because models guess.

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use serde_json::{Value, json};

use super::{Effect, Tool, ToolError, text_of};
use crate::ToolSpec;

const EXPRESSION_BYTES_MAX: usize = 2_000;
const DEPTH_MAX: usize = 64;

pub(super) struct Calculate(ToolSpec);

impl Calculate {
    pub(super) fn new() -> Self {
        Self(ToolSpec {
            name: "calculate".into(),
            description: "Works out an arithmetic expression exactly: + - * / % ^, parentheses, sqrt, abs, round, floor, ceil, ln, log10, sin, cos, tan, pi, e.".into(),
            parameters: json!({
                "type": "object",
                "properties": {"expression": {"type": "string"}},
                "required": ["expression"],
                "additionalProperties": false,
            }),
        })
    }
}

impl Tool for Calculate {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn plan(&self, arguments: &Value) -> Result<Effect, ToolError> {
        text_of(arguments, "expression").map(|_| Effect::Nothing)
    }

    fn run(&self, arguments: Value, _: Effect) -> BoxFuture<'_, Result<String, ToolError>> {
        async move {
            let expression = text_of(&arguments, "expression")?;
            let value = work_out(expression).ok_or_else(|| ToolError::Arguments {
                problem: format!("{expression:?} is no arithmetic that I can work out"),
            })?;
            Ok(value.to_string())
        }
        .boxed()
    }
}

/// `None` for what is no arithmetic, and for what has no finite value.
fn work_out(expression: &str) -> Option<f64> {
    if expression.len() > EXPRESSION_BYTES_MAX {
        return None;
    }
    let mut parser = Parser {
        rest: expression,
        depth: 0,
    };
    let value = parser.sum()?;
    parser.space();
    (parser.rest.is_empty() && value.is_finite()).then_some(value)
}

struct Parser<'a> {
    rest: &'a str,
    depth: usize,
}

impl Parser<'_> {
    fn space(&mut self) {
        self.rest = self.rest.trim_start();
    }

    fn eat(&mut self, sign: char) -> bool {
        self.space();
        match self.rest.strip_prefix(sign) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn sum(&mut self) -> Option<f64> {
        let mut value = self.product()?;
        loop {
            if self.eat('+') {
                value += self.product()?;
            } else if self.eat('-') || self.eat('−') {
                value -= self.product()?;
            } else {
                return Some(value);
            }
        }
    }

    fn product(&mut self) -> Option<f64> {
        let mut value = self.signed()?;
        loop {
            if self.rest.trim_start().starts_with("**") {
                return Some(value);
            }
            if self.eat('*') || self.eat('×') || self.eat('·') {
                value *= self.signed()?;
            } else if self.eat('/') || self.eat('÷') {
                value /= self.signed()?;
            } else if self.eat('%') {
                value %= self.signed()?;
            } else {
                return Some(value);
            }
        }
    }

    fn signed(&mut self) -> Option<f64> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return None;
        }
        let value = if self.eat('-') || self.eat('−') {
            -self.signed()?
        } else if self.eat('+') {
            self.signed()?
        } else {
            self.power()?
        };
        self.depth -= 1;
        Some(value)
    }

    fn power(&mut self) -> Option<f64> {
        let base = self.atom()?;
        self.space();
        if let Some(rest) = self.rest.strip_prefix("**") {
            self.rest = rest;
            return Some(base.powf(self.signed()?));
        }
        if self.eat('^') {
            return Some(base.powf(self.signed()?));
        }
        Some(base)
    }

    fn atom(&mut self) -> Option<f64> {
        if self.eat('(') {
            self.depth += 1;
            if self.depth > DEPTH_MAX {
                return None;
            }
            let value = self.sum()?;
            self.depth -= 1;
            return self.eat(')').then_some(value);
        }
        self.space();
        let letters = self.rest.len()
            - self
                .rest
                .trim_start_matches(|c: char| c.is_ascii_alphanumeric())
                .len();
        if self.rest.starts_with(|c: char| c.is_ascii_alphabetic()) {
            let name = &self.rest[..letters];
            self.rest = &self.rest[letters..];
            return self.named(name);
        }
        self.number()
    }

    fn named(&mut self, name: &str) -> Option<f64> {
        match name {
            "pi" => return Some(std::f64::consts::PI),
            "e" => return Some(std::f64::consts::E),
            _ => {}
        }
        if !self.rest.trim_start().starts_with('(') {
            return None;
        }
        let value = self.atom()?;
        Some(match name {
            "sqrt" => value.sqrt(),
            "abs" => value.abs(),
            "round" => value.round(),
            "floor" => value.floor(),
            "ceil" => value.ceil(),
            "ln" => value.ln(),
            "log10" => value.log10(),
            "sin" => value.sin(),
            "cos" => value.cos(),
            "tan" => value.tan(),
            _ => return None,
        })
    }

    fn number(&mut self) -> Option<f64> {
        let bytes = self.rest.as_bytes();
        let mut end = 0;
        while let Some(byte) = bytes.get(end) {
            let exponent_sign =
                matches!(byte, b'+' | b'-') && end > 0 && matches!(bytes[end - 1], b'e' | b'E');
            if byte.is_ascii_digit() || matches!(byte, b'.' | b'_' | b'e' | b'E') || exponent_sign {
                end += 1;
            } else {
                break;
            }
        }
        let value = self.rest[..end].replace('_', "").parse().ok()?;
        self.rest = &self.rest[end..];
        Some(value)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::work_out;

    #[test]
    fn arithmetic_is_worked_out_by_its_rules() {
        for (expression, value) in [
            ("1 + 2 * 3", 7.0),
            ("(1 + 2) * 3", 9.0),
            ("2 ^ 3 ^ 2", 512.0),
            ("2**10", 1024.0),
            ("-2^2", -4.0),
            ("7 % 4 - -1", 4.0),
            ("sqrt(16) + abs(-1.5)", 5.5),
            ("1_000 × 1e-3", 1.0),
            ("round(2 * pi)", 6.0),
        ] {
            assert_eq!(work_out(expression), Some(value), "{expression}");
        }
        for wrong in ["", "1 +", "1 / 0", "launch()", "2 2", "((1)", "sqrt(-1)", "1..2"] {
            assert_eq!(work_out(wrong), None, "{wrong}");
        }
        assert_eq!(work_out(&"(".repeat(1_500)), None);
        assert_eq!(work_out(&"-".repeat(1_500)), None);
    }

    proptest! {
        #[test]
        fn sums_agree_with_the_machine(a in -1e6..1e6_f64, b in -1e6..1e6_f64) {
            prop_assert_eq!(work_out(&format!("{a} + ({b})")), Some(a + b));
            prop_assert_eq!(work_out(&format!("{a} * ({b})")), Some(a * b));
        }

        #[test]
        fn any_text_is_worked_out_or_refused(text in "[0-9a-z+*/^%(). -]{0,60}") {
            let _ = work_out(&text);
        }
    }
}
