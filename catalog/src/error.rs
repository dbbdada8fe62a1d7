use plimsoll_units::Bytes;

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
    #[error("the key of the catalog is none: {0}")]
    Key(#[source] minisign_verify::Error),
    #[error("the catalog is not signed by its publisher: {0}")]
    Signature(#[source] minisign_verify::Error),
    #[error("a catalog of {bytes}; {most} are the most")]
    TooLarge { bytes: Bytes, most: Bytes },
    #[error("a catalog in form {found}; this version reads form 1")]
    Schema { found: u32 },
    #[error("a catalog without an entry that this version can read")]
    Empty,
}
