use axum::Json;
use axum::response::{IntoResponse, Response};
use http::{HeaderValue, StatusCode, header};
use plimsoll_wire::{Fault, FaultCode};
use serde_json::json;

use crate::error::status_of;

/// Which family of errors a client can read: by the address, since a wrong key or a bad body says nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Protocol {
    OpenAi,
    Anthropic,
}

impl Protocol {
    pub(crate) fn of(path: &str) -> Self {
        if path == "/v1/messages" || path.starts_with("/v1/messages/") {
            Self::Anthropic
        } else {
            Self::OpenAi
        }
    }
}

/// Why the front itself says no. These sentences are for programs and their logs; they are part of a protocol
/// that is English, and they name no path and no parameter of this machine.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Refused {
    ForeignHost,
    ForeignOrigin,
    WrongKey,
    NoSuchAddress,
    NotJson,
    BodyTooLarge,
    NoModelNamed,
    UnknownModel(String),
    TooMany,
    /// The person has switched the endpoint off.
    SwitchedOff,
    /// The model could not be made ready.
    NotReady(FaultCode),
    RouterGone,
}

/// The longest model name that is repeated in an answer.
const NAME_CHARS_MAX: usize = 200;

impl Refused {
    pub(crate) fn from_fault(fault: &Fault, model: &str) -> Self {
        if fault.code == FaultCode::UnknownModel {
            Self::UnknownModel(model.to_owned())
        } else if fault.code == FaultCode::NotAllowed {
            Self::SwitchedOff
        } else {
            Self::NotReady(fault.code)
        }
    }

    fn status(&self) -> StatusCode {
        match self {
            Self::ForeignHost | Self::ForeignOrigin | Self::SwitchedOff => StatusCode::FORBIDDEN,
            Self::WrongKey => StatusCode::UNAUTHORIZED,
            Self::NoSuchAddress | Self::UnknownModel(_) => StatusCode::NOT_FOUND,
            Self::NotJson | Self::NoModelNamed => StatusCode::BAD_REQUEST,
            Self::BodyTooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            Self::TooMany => StatusCode::TOO_MANY_REQUESTS,
            Self::NotReady(code) => match status_of(*code) {
                // What is wrong with a model here is not the caller's fault.
                status if status.is_client_error() => StatusCode::SERVICE_UNAVAILABLE,
                status => status,
            },
            Self::RouterGone => StatusCode::BAD_GATEWAY,
        }
    }

    fn code(&self) -> String {
        match self {
            Self::ForeignHost => "foreign_host".into(),
            Self::ForeignOrigin => "foreign_origin".into(),
            Self::WrongKey => "invalid_api_key".into(),
            Self::NoSuchAddress => "unknown_url".into(),
            Self::NotJson => "invalid_json".into(),
            Self::BodyTooLarge => "request_too_large".into(),
            Self::NoModelNamed => "model_missing".into(),
            Self::UnknownModel(_) => "model_not_found".into(),
            Self::TooMany => "too_many_requests".into(),
            Self::SwitchedOff => "endpoint_off".into(),
            Self::NotReady(code) => name_of(*code),
            Self::RouterGone => name_of(FaultCode::RouterGone),
        }
    }

    fn message(&self) -> String {
        match self {
            Self::ForeignHost => "This address is not ours: use 127.0.0.1 or localhost.".into(),
            Self::ForeignOrigin => "Web pages of other origins may not use this endpoint.".into(),
            Self::WrongKey => {
                "Missing or wrong key: send it as 'Authorization: Bearer KEY' or 'x-api-key'.".into()
            }
            Self::NoSuchAddress => "There is nothing at this address.".into(),
            Self::NotJson => "The body is not a JSON object.".into(),
            Self::BodyTooLarge => "The body is larger than this endpoint takes.".into(),
            Self::NoModelNamed => "The body names no model.".into(),
            Self::UnknownModel(name) => {
                let name: String = name.chars().take(NAME_CHARS_MAX).collect();
                format!("The model '{name}' does not exist here. GET /v1/models lists those that do.")
            }
            Self::TooMany => "Too many requests are under way.".into(),
            Self::SwitchedOff => "The endpoint is switched off in Plimsoll's settings.".into(),
            Self::NotReady(code) => format!("The model could not be made ready ({}).", name_of(*code)),
            Self::RouterGone => "The engine ended before it answered.".into(),
        }
    }

    /// The error in the words of the protocol that was spoken.
    pub(crate) fn answer(&self, protocol: Protocol) -> Response {
        let status = self.status();
        let body = match protocol {
            Protocol::OpenAi => json!({ "error": {
                "message": self.message(), "type": open_ai_type(status), "param": self.param(), "code": self.code(),
            } }),
            Protocol::Anthropic => json!({ "type": "error", "error": {
                "type": anthropic_type(status), "message": self.message(),
            } }),
        };
        let mut answer = (status, Json(body)).into_response();
        if *self == Self::WrongKey {
            answer
                .headers_mut()
                .insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        answer
    }

    fn param(&self) -> Option<&'static str> {
        matches!(self, Self::NoModelNamed | Self::UnknownModel(_)).then_some("model")
    }
}

/// A fault's code as the wire spells it.
fn name_of(code: FaultCode) -> String {
    serde_json::to_value(code)
        .ok()
        .and_then(|name| name.as_str().map(str::to_owned))
        .unwrap_or_default()
}

pub(crate) fn open_ai_type(status: StatusCode) -> &'static str {
    match status.as_u16() {
        401 => "authentication_error",
        403 => "permission_error",
        429 => "rate_limit_error",
        400..=499 => "invalid_request_error",
        503 => "unavailable_error",
        _ => "server_error",
    }
}

fn anthropic_type(status: StatusCode) -> &'static str {
    match status.as_u16() {
        401 => "authentication_error",
        403 => "permission_error",
        404 => "not_found_error",
        413 => "request_too_large",
        429 => "rate_limit_error",
        400..=499 => "invalid_request_error",
        503 => "overloaded_error",
        _ => "api_error",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_address_says_who_is_asking() {
        for path in ["/v1/messages", "/v1/messages/count_tokens"] {
            assert_eq!(Protocol::of(path), Protocol::Anthropic, "{path}");
        }
        for path in ["/v1/chat/completions", "/v1/messagesx", "/health", "/"] {
            assert_eq!(Protocol::of(path), Protocol::OpenAi, "{path}");
        }
    }

    #[test]
    fn a_fault_tells_its_code_and_nothing_of_this_machine() {
        let mut fault = Fault {
            code: FaultCode::OutOfMemory,
            params: [("path".to_owned(), "/home/someone/model.gguf".into())].into(),
            trace: vec!["reading /home/someone/model.gguf".into()],
            fixes: Vec::new(),
        };
        let refused = Refused::from_fault(&fault, "m");
        assert_eq!(
            refused.message(),
            "The model could not be made ready (outOfMemory)."
        );
        assert_eq!(refused.status(), StatusCode::SERVICE_UNAVAILABLE);
        fault.code = FaultCode::NotAllowed;
        let off = Refused::from_fault(&fault, "m");
        assert_eq!(
            (off.status(), off.code().as_str()),
            (StatusCode::FORBIDDEN, "endpoint_off")
        );
        fault.code = FaultCode::UnknownModel;
        assert_eq!(
            Refused::from_fault(&fault, "m"),
            Refused::UnknownModel("m".into())
        );
    }
}
