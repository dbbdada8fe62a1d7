/// A catalog that cannot be used. The packaged one is tested; a refreshed one may be anything.
#[derive(Debug, thiserror::Error)]
pub enum CatalogError {
    #[error("{file} is no catalog file: {source}")]
    Syntax {
        file: String,
        #[source]
        source: serde_json::Error,
    },
    #[error("{file}: {entry}: {problem}")]
    Entry {
        file: String,
        entry: String,
        problem: &'static str,
    },
}
