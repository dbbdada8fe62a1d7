//! Small texts of other sites, such as the list of a release.

use plimsoll_units::Bytes;
use reqwest::Method;
use url::Url;

use crate::http::{Ask, Failure, bad_answer, host_of, refusal};
use crate::patience::Trouble;
use crate::{BadAnswer, Hub, HubError, Setting};

impl Hub {
    /// What stands at `url`, as long as it is no longer than `most`. No token of the hub goes along; asked once, since a
    /// person waits who can ask again.
    pub async fn read_url(&self, url: &str, most: Bytes) -> Result<Vec<u8>, HubError> {
        let url = Url::parse(url).map_err(|_| HubError::BadSetting {
            what: Setting::Endpoint,
        })?;
        let name = url.path().trim_start_matches('/').to_owned();
        self.read_once(&url, &name, most)
            .await
            .map_err(|failure| match failure {
                Failure::Final(error) => error,
                Failure::Passing(trouble) => self.gave_up(trouble, &name, &url, (Bytes::ZERO, most)),
            })
    }

    async fn read_once(&self, url: &Url, name: &str, most: Bytes) -> Result<Vec<u8>, Failure> {
        let answer = self
            .network()
            .send(Method::GET, url, &Ask::default(), name)
            .await?;
        if !answer.response.status().is_success() {
            let status = answer.response.status().as_u16();
            let not_found = |_: &_| HubError::Refused {
                host: host_of(url),
                file: name.to_owned(),
                status,
            };
            return Err(refusal(&answer, name, &not_found, &host_of(url)));
        }
        let mut response = answer.response;
        let mut bytes = Vec::new();
        loop {
            let chunk = tokio::time::timeout(self.config().patience.stall, response.chunk()).await;
            match chunk {
                Err(_) => return Err(Failure::Passing(Trouble::Stalled)),
                Ok(Err(_)) => return Err(Failure::Passing(Trouble::Cut)),
                Ok(Ok(None)) => return Ok(bytes),
                Ok(Ok(Some(chunk))) => bytes.extend_from_slice(&chunk),
            }
            if bytes.len() as u64 > most.0 {
                return Err(bad_answer(url, name, BadAnswer::TooLong).into());
            }
        }
    }
}
