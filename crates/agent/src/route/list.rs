use std::time::Duration;

use futures_util::StreamExt as _;
use plimsoll_units::Bytes;
use serde::Deserialize;

use super::{Limits, Route, refusal};
use crate::{ModelError, Unsendable};

/// A list is short, and a person waits for it.
const WAIT_MAX: Duration = Duration::from_secs(20);
/// Of the largest list there is (OpenRouter's, some hundred models with their descriptions) several times over.
const LIST_MAX: Bytes = Bytes::mib(8);

#[derive(Deserialize)]
struct List {
    data: Vec<Entry>,
}

#[derive(Deserialize)]
struct Entry {
    id: String,
}

/// The names of the models that the server at the end of a route has: `GET {base}/models`.
pub async fn list_models(client: &reqwest::Client, route: &Route) -> Result<Vec<String>, ModelError> {
    let url = format!("{}/models", route.base_url.trim_end_matches('/'));
    let url = reqwest::Url::parse(&url).map_err(|_| Unsendable::Address)?;
    let asking = async {
        let get = client.get(url).headers(route.headers()?);
        let response = get.send().await.map_err(|source| ModelError::Unreachable {
            source: source.without_url(),
        })?;
        if !response.status().is_success() {
            return Err(refusal::read(response, Limits::default()).await);
        }
        let mut body = Vec::new();
        let mut chunks = response.bytes_stream();
        while let Some(chunk) = chunks.next().await {
            let chunk = chunk.map_err(|source| ModelError::Cut {
                source: Some(source.without_url()),
            })?;
            body.extend_from_slice(&chunk);
            if Bytes(u64::try_from(body.len()).unwrap_or(u64::MAX)) > LIST_MAX {
                return Err(ModelError::AnswerTooLarge { limit: LIST_MAX });
            }
        }
        let list: List = serde_json::from_slice(&body).map_err(|source| ModelError::Malformed { source })?;
        // Gemini says `models/…`, and takes the name without.
        let name = |id: String| id.strip_prefix("models/").map(str::to_owned).unwrap_or(id);
        Ok(list.data.into_iter().map(|entry| name(entry.id)).collect())
    };
    tokio::time::timeout(WAIT_MAX, asking)
        .await
        .unwrap_or(Err(ModelError::Silent { after: WAIT_MAX }))
}
