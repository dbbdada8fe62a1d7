//! What a server says of a request without answering it.

use futures_util::StreamExt as _;
use plimsoll_catalog::Protocol;
use plimsoll_units::Tokens;
use serde::Deserialize;
use serde_json::Value;

use super::{RouteModel, refusal};
use crate::{ModelError, Request, Unsendable};

/// A rendered prompt of a million tokens.
const RENDERED_BYTES_MAX: usize = 64 << 20;

#[derive(Deserialize)]
struct CountReply {
    input_tokens: u32,
}

#[derive(Deserialize)]
struct TemplateReply {
    prompt: String,
}

impl RouteModel {
    /// How many tokens this very request has, by the server's own count. llama-server and Anthropic say so; who
    /// does not, refuses.
    pub async fn count(&self, request: &Request) -> Result<Tokens, ModelError> {
        let end = match self.route.protocol {
            Protocol::OpenaiChat | Protocol::OpenaiResponses => "input_tokens",
            Protocol::AnthropicMessages => "count_tokens",
        };
        let url = format!("{}/{end}", self.route.url());
        let reply: CountReply = self.ask(&url, self.route.body(request)?).await?;
        Ok(Tokens(reply.input_tokens))
    }

    /// The prompt that llama-server makes of a request by the model's template.
    pub async fn rendered(&self, request: &Request) -> Result<String, ModelError> {
        let base = self.route.base_url.trim_end_matches('/');
        let root = base.strip_suffix("/v1").unwrap_or(base);
        let url = format!("{root}/apply-template");
        let reply: TemplateReply = self.ask(&url, self.route.body(request)?).await?;
        Ok(reply.prompt)
    }

    /// The projector, template and build behind the model, as llama-server tells its properties; `None` where it
    /// does not say. What was learned about one of them says nothing about another.
    pub async fn properties(&self, model: &str) -> Option<Value> {
        let base = self.route.base_url.trim_end_matches('/');
        let root = base.strip_suffix("/v1").unwrap_or(base);
        let mut url = reqwest::Url::parse(&format!("{root}/props")).ok()?;
        url.query_pairs_mut()
            .append_pair("model", model)
            .append_pair("autoload", "false");
        let asked = self.client.get(url).headers(self.route.headers().ok()?).send();
        let response = tokio::time::timeout(self.limits.idle, asked).await.ok()?.ok()?;
        if !response.status().is_success() {
            return None;
        }
        let bytes = tokio::time::timeout(self.limits.idle, read(response))
            .await
            .ok()?
            .ok()?;
        serde_json::from_slice(&bytes).ok()
    }

    async fn ask<T: for<'de> Deserialize<'de>>(&self, url: &str, body: Vec<u8>) -> Result<T, ModelError> {
        let url = reqwest::Url::parse(url).map_err(|_| Unsendable::Address)?;
        let post = self.client.post(url).headers(self.route.headers()?).body(body);
        let idle = self.limits.idle;
        let silent = || ModelError::Silent { after: idle };
        let response = tokio::time::timeout(idle, post.send())
            .await
            .map_err(|_| silent())?
            .map_err(|source| ModelError::Unreachable {
                source: source.without_url(),
            })?;
        if !response.status().is_success() {
            return Err(refusal::read(response, self.limits).await);
        }
        let bytes = tokio::time::timeout(idle, read(response))
            .await
            .map_err(|_| silent())??;
        serde_json::from_slice(&bytes).map_err(|source| ModelError::Malformed { source })
    }
}

async fn read(response: reqwest::Response) -> Result<Vec<u8>, ModelError> {
    let mut body = Vec::new();
    let mut chunks = response.bytes_stream();
    while let Some(chunk) = chunks.next().await {
        let chunk = chunk.map_err(|source| ModelError::Cut {
            source: Some(source.without_url()),
        })?;
        if body.len() + chunk.len() > RENDERED_BYTES_MAX {
            return Err(ModelError::PieceTooLarge {
                limit: plimsoll_units::Bytes(64 << 20),
            });
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body)
}
