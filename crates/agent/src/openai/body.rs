use serde::Serialize;

use crate::{Request, Role, Row};

/// The request. A field that is not set is not sent, so that the server's default holds; fields keep one
/// order, so that equal requests are equal bytes.
#[derive(Serialize)]
pub(super) struct Body<'a> {
    model: &'a str,
    messages: Vec<Message<'a>>,
    stream: bool,
    stream_options: StreamOptions,
    return_progress: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    id_slot: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    top_p: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    top_k: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    min_p: Option<f64>,
}

#[derive(Serialize)]
struct StreamOptions {
    include_usage: bool,
}

#[derive(Serialize)]
struct Message<'a> {
    role: &'static str,
    content: &'a str,
}

pub(super) fn body(request: &Request) -> Body<'_> {
    Body {
        model: &request.model,
        messages: request.rows.iter().map(message).collect(),
        stream: true,
        stream_options: StreamOptions { include_usage: true },
        return_progress: true,
        id_slot: request.slot,
        max_tokens: request.sampling.reply_max,
        temperature: request.sampling.temperature,
        top_p: request.sampling.top_p,
        top_k: request.sampling.top_k,
        min_p: request.sampling.min_p,
    }
}

fn message(row: &Row) -> Message<'_> {
    let role = match row.role {
        Role::System => "system",
        Role::User => "user",
        Role::Assistant => "assistant",
    };
    Message {
        role,
        content: &row.text,
    }
}

#[cfg(test)]
mod tests {
    use crate::{Request, Sampling, Transcript};

    #[test]
    fn a_request_says_what_it_needs_and_nothing_else() {
        let mut transcript = Transcript::new("Be brief.");
        transcript.user("Hi");
        let mut request = Request {
            model: "smollm2-135m:Q4_1".into(),
            rows: transcript.into_rows(),
            sampling: Sampling::default(),
            slot: None,
        };
        insta::assert_snapshot!(
            serde_json::to_string(&super::body(&request)).unwrap(),
            @r#"{"model":"smollm2-135m:Q4_1","messages":[{"role":"system","content":"Be brief."},{"role":"user","content":"Hi"}],"stream":true,"stream_options":{"include_usage":true},"return_progress":true}"#
        );
        request.slot = Some(0);
        request.sampling = Sampling {
            temperature: Some(0.0),
            top_p: Some(1.0),
            top_k: Some(20),
            min_p: Some(0.05),
            reply_max: Some(8),
        };
        let full = serde_json::to_value(super::body(&request)).unwrap();
        assert_eq!(
            (
                full["id_slot"].as_u64(),
                full["max_tokens"].as_u64(),
                full["temperature"].as_f64()
            ),
            (Some(0), Some(8), Some(0.0))
        );
        assert_eq!(
            (full["top_k"].as_u64(), full["min_p"].as_f64()),
            (Some(20), Some(0.05))
        );
    }
}
