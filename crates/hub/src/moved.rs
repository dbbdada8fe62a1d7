use std::path::Path;

use crate::library::parts_below;
use crate::{Hub, LedgerError};

impl Hub {
    /// The unfinished parts of a library that was moved here go on from where they were: what the ledger says of
    /// them counts for the new place. `before` is the cache they came from.
    pub async fn take_over_parts(&self, before: &Path) {
        let cache = self.config().cache.clone();
        for part in parts_below(&cache) {
            let Ok(inside) = part.strip_prefix(&cache) else {
                continue;
            };
            let old = before.join(inside);
            let moved = async {
                if let Some(record) = self.ledger().find(&old).await? {
                    self.ledger().keep(&part, record).await?;
                    self.ledger().forget(&old).await?;
                }
                Ok::<(), LedgerError>(())
            };
            if let Err(error) = moved.await {
                tracing::warn!(%error, "an unfinished download begins anew at the new place");
            }
        }
    }
}
