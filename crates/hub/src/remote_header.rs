//! Headers of files at the hub, read by range: what a model needs is known before its weights are fetched.

use futures_util::StreamExt;
use futures_util::future::try_join_all;
use plimsoll_gguf::{Header, HeaderError, Limits, Sibling};
use plimsoll_units::Bytes;
use reqwest::header::{HeaderMap, HeaderValue, RANGE};
use reqwest::{Method, StatusCode};
use tokio::time::{sleep, timeout};

use crate::http::{Ask, Failure, bad_answer, refusal};
use crate::metadata::not_found;
use crate::patience::{Fruitless, Next, Trouble};
use crate::{Address, BadAnswer, Hub, HubError, Listed, Listing, RepoVariant};

/// Enough for everything before the tokenizer, and for the whole header of a part or a projector.
const FIRST: Bytes = Bytes::kib(32);
/// What is asked for at a time: little is on its way too much when the header ends early, and a long one takes few
/// questions.
const STEPS: [Bytes; 4] = [Bytes::kib(256), Bytes::mib(2), Bytes::mib(8), HEADER_MAX];
/// Between two tries to make sense of what has come so far.
const GROWTH: Bytes = Bytes::kib(256);
/// The largest published header has some 30 MB of words.
const HEADER_MAX: Bytes = Bytes::mib(64);
/// How far the lists of tensors of two quantisations lie apart.
const SLACK: Bytes = Bytes::kib(16);
/// Looks into a file at a time, to find where its header ends. Two rounds of them narrow 16 MB down to 64 KB.
const LOOKS: u64 = 16;
/// What one look fetches: enough for a row of words, wherever it begins.
const LOOK: Bytes = Bytes::kib(4);
/// As far as is looked; the headers of most published models take 2 to 8 MB.
const LOOKED_AT: Bytes = Bytes::mib(16);
/// Smaller files are read from their beginning: looking would not fetch less.
const WORTH_LOOKING: Bytes = Bytes::mib(3);
/// One record in a list of tensors; the longest name takes 63 bytes of it.
const RECORD: u64 = 112;

/// A header, and what reading it cost.
#[derive(Debug, Clone)]
pub struct RemoteHeader {
    pub header: Header,
    pub fetched: Bytes,
    /// For the other quantisations of the same model; not from split ones.
    pub sibling: Option<Sibling>,
}

impl Hub {
    /// The header of one variant of a repository, of all its parts. Some hundred kilobytes are enough, and fewer with a
    /// sibling; only where the end of the header is not found do the words of the tokenizer come along.
    pub async fn header(
        &self,
        listing: &Listing,
        variant: &RepoVariant,
        sibling: Option<&Sibling>,
    ) -> Result<RemoteHeader, HubError> {
        if self.config().offline {
            return Err(HubError::Offline);
        }
        let mut fetched = Bytes::ZERO;
        if let ([file], Some(sibling)) = (variant.files.as_slice(), sibling)
            && let Some(header) = self.header_apart(listing, file, sibling, &mut fetched).await?
        {
            return Ok(RemoteHeader {
                header,
                fetched,
                sibling: None,
            });
        }
        let mut parts = Vec::new();
        for file in &variant.files {
            parts.push(self.header_of(listing, file, &mut fetched).await?);
        }
        let bad = |source| HubError::Header {
            path: variant.path.clone().into(),
            source,
        };
        if let [(header, tensors_at)] = parts.as_slice() {
            return Ok(RemoteHeader {
                sibling: Some(Sibling::new(header.clone(), *tensors_at)),
                header: header.clone(),
                fetched,
            });
        }
        let header = Header::join(parts.into_iter().map(|(header, _)| header).collect()).map_err(bad)?;
        Ok(RemoteHeader {
            header,
            fetched,
            sibling: None,
        })
    }

    /// The header of one file of a repository that is no variant by itself: a projector. And what reading it cost.
    pub async fn header_beside(&self, listing: &Listing, file: &Listed) -> Result<(Header, Bytes), HubError> {
        if self.config().offline {
            return Err(HubError::Offline);
        }
        let mut fetched = Bytes::ZERO;
        let (header, _) = self.header_of(listing, file, &mut fetched).await?;
        Ok((header, fetched))
    }

    /// From two stretches of the file; `None` when it is not put together as its sibling is.
    async fn header_apart(
        &self,
        listing: &Listing,
        file: &Listed,
        sibling: &Sibling,
        fetched: &mut Bytes,
    ) -> Result<Option<Header>, HubError> {
        let (first, after) = sibling.stretch(SLACK);
        let after = after.min(file.bytes);
        if first >= after || file.bytes < FIRST {
            return Ok(None);
        }
        let start = self
            .range(listing, file, (Bytes::ZERO, FIRST), Vec::new(), &mut |_| false)
            .await?;
        let stretch = self
            .range(listing, file, (first, after), Vec::new(), &mut |_| false)
            .await?;
        *fetched = fetched.plus(Bytes((start.len() + stretch.len()) as u64));
        Ok(Header::read_apart(&start, (first, &stretch), sibling, file.bytes, &Limits::default()).ok())
    }

    /// As much of one file as its header takes.
    async fn header_of(
        &self,
        listing: &Listing,
        file: &Listed,
        fetched: &mut Bytes,
    ) -> Result<(Header, Bytes), HubError> {
        let limits = Limits::default();
        let all = file.bytes.min(HEADER_MAX);
        let mut read: Option<Result<(Header, Bytes), HeaderError>> = None;
        let mut next = FIRST.0;
        let mut came = self
            .range(
                listing,
                file,
                (Bytes::ZERO, all.min(FIRST)),
                Vec::new(),
                &mut |_| false,
            )
            .await?;
        let cut = Header::read_placed(came.as_slice(), file.bytes, &limits);
        if matches!(cut, Err(HeaderError::Cut { .. }))
            && file.bytes >= WORTH_LOOKING
            && let Some(found) = self.header_found(listing, file, &came, fetched).await?
        {
            *fetched = fetched.plus(Bytes(came.len() as u64));
            return Ok(found);
        }
        for step in STEPS {
            let mut enough = |so_far: &[u8]| {
                let have = so_far.len() as u64;
                if have < next && have < all.0 {
                    return false;
                }
                match Header::read_placed(so_far, file.bytes, &limits) {
                    // More of the file would help.
                    Err(HeaderError::Cut { needed, have: at }) if at < file.bytes && have < all.0 => {
                        next = needed.0.max(have.saturating_add(GROWTH.0.max(have / 4)));
                        false
                    }
                    done => {
                        read = Some(done);
                        true
                    }
                }
            };
            came = self
                .range(listing, file, (Bytes::ZERO, all.min(step)), came, &mut enough)
                .await?;
            if read.is_some() {
                break;
            }
        }
        *fetched = fetched.plus(Bytes(came.len() as u64));
        let read = read.unwrap_or_else(|| Header::read_placed(came.as_slice(), file.bytes, &limits));
        read.map_err(|source| HubError::Header {
            path: file.path.clone().into(),
            source,
        })
    }

    /// The header without the words of its tokenizer, from a few pieces of the file: where it ends is looked for.
    /// `None` when it was not found, and the header has to be read whole.
    async fn header_found(
        &self,
        listing: &Listing,
        file: &Listed,
        start: &[u8],
        fetched: &mut Bytes,
    ) -> Result<Option<(Header, Bytes)>, HubError> {
        let limits = Limits::default();
        let mut between = (FIRST, file.bytes.min(LOOKED_AT));
        for _ in 0..2 {
            let Some(narrowed) = self.look_into(listing, file, between, fetched).await? else {
                return Ok(None);
            };
            between = narrowed;
        }
        let Ok(tensors) = Header::tensor_count(start, &limits) else {
            return Ok(None);
        };
        let list = Bytes(tensors.saturating_mul(RECORD)).plus(SLACK);
        let stretch = (between.0.less(list), between.1.plus(LOOK).min(file.bytes));
        if stretch.1.less(stretch.0) > HEADER_MAX {
            return Ok(None);
        }
        let came = self
            .range(listing, file, stretch, Vec::new(), &mut |_| false)
            .await?;
        *fetched = fetched.plus(Bytes(came.len() as u64));
        Ok(Header::read_found(start, (stretch.0, &came), file.bytes, &limits).ok())
    }

    /// Looks into a file at even distances: the last place that is still of its header, and the next one.
    async fn look_into(
        &self,
        listing: &Listing,
        file: &Listed,
        (first, after): (Bytes, Bytes),
        fetched: &mut Bytes,
    ) -> Result<Option<(Bytes, Bytes)>, HubError> {
        let step = after.less(first).0 / LOOKS;
        let places: Vec<Bytes> = (1..LOOKS).map(|n| first.plus(Bytes(n * step))).collect();
        let pieces = try_join_all(places.iter().map(async |place| {
            let until = place.plus(LOOK).min(file.bytes);
            self.range(listing, file, (*place, until), Vec::new(), &mut |_| false)
                .await
        }))
        .await?;
        let came: usize = pieces.iter().map(Vec::len).sum();
        *fetched = fetched.plus(Bytes(came as u64));
        let of_header = pieces.iter().rposition(|piece| Header::looks_like(piece));
        let last = of_header.map_or(Some(first), |at| places.get(at).copied());
        let next = of_header.map_or(0, |at| at + 1);
        // Where the header goes on to the last place its end is further than was looked, or not far from there.
        Ok(last.zip(Some(places.get(next).copied().unwrap_or(after))))
    }

    /// The bytes of a file from the first on, as far as they are wanted, behind what is here already. A line that
    /// breaks is taken up again.
    async fn range(
        &self,
        listing: &Listing,
        file: &Listed,
        (first, after): (Bytes, Bytes),
        mut got: Vec<u8>,
        enough: &mut (dyn FnMut(&[u8]) -> bool + Send),
    ) -> Result<Vec<u8>, HubError> {
        let at = Address {
            repo: listing.repo.clone(),
            path: file.path.clone(),
            revision: listing.commit.clone(),
        };
        let mut fruitless = Fruitless::default();
        loop {
            let before = got.len();
            let trouble = match self.drink_range(&at, (first, after), &mut got, enough).await {
                Ok(()) => return Ok(got),
                Err(Failure::Final(error)) => return Err(error),
                Err(Failure::Passing(trouble)) => trouble,
            };
            if got.len() > before {
                fruitless.forget();
            }
            match fruitless.next(&trouble, &self.config().patience, !got.is_empty(), rand::random()) {
                Next::After(pause) => sleep(pause).await,
                Next::GiveUp => {
                    let progress = (Bytes(got.len() as u64), after.less(first));
                    return Err(self.gave_up(trouble, &at.path, &self.config().endpoint, progress));
                }
            }
        }
    }

    async fn drink_range(
        &self,
        at: &Address,
        (first, after): (Bytes, Bytes),
        got: &mut Vec<u8>,
        enough: &mut (dyn FnMut(&[u8]) -> bool + Send),
    ) -> Result<(), Failure> {
        let url = self.resolve_url(&at.repo, &at.revision, &at.path);
        let from = first.plus(Bytes(got.len() as u64));
        if from >= after {
            return Ok(());
        }
        let mut range = HeaderMap::new();
        let text = format!("bytes={}-{}", from.0, after.0 - 1);
        if let Ok(text) = HeaderValue::from_str(&text) {
            range.insert(RANGE, text);
        }
        let token = self.token();
        let ask = Ask {
            token: token.as_ref(),
            site_headers: range.clone(),
            elsewhere_headers: range,
            ..Ask::default()
        };
        let answer = self.network().send(Method::GET, &url, &ask, &at.path).await?;
        let status = answer.response.status();
        // Without ranges the whole comes from its beginning on, and its end is not taken.
        let whole = status == StatusCode::OK && first == Bytes::ZERO;
        let usable = status == StatusCode::PARTIAL_CONTENT || whole;
        if whole {
            got.clear();
        }
        if !usable {
            if status.is_success() {
                return Err(bad_answer(&url, &at.path, BadAnswer::NoHeader("content-range")).into());
            }
            return Err(refusal(
                &answer,
                &at.path,
                &|headers| not_found(headers, at),
                at.repo.as_str(),
            ));
        }
        let wanted = usize::try_from(after.less(first).0).unwrap_or(usize::MAX);
        let mut body = answer.response.bytes_stream();
        loop {
            let chunk = match timeout(self.config().patience.stall, body.next()).await {
                Err(_) => return Err(Failure::Passing(Trouble::Stalled)),
                Ok(None | Some(Err(_))) => return Err(Failure::Passing(Trouble::Cut)),
                Ok(Some(Ok(chunk))) => chunk,
            };
            let room = wanted.saturating_sub(got.len());
            got.extend_from_slice(chunk.get(..chunk.len().min(room)).unwrap_or_default());
            if enough(got) || got.len() >= wanted {
                return Ok(());
            }
        }
    }
}
