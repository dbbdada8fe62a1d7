use plimsoll_os::clock;
use plimsoll_store::{Store, StoreError, TransferRecord, TransferState};
use plimsoll_units::Bytes;
use plimsoll_wire::{Transfer, Transferring};
use serde_json::Value;

/// Writes transfers down, so that a new run of the program can offer to go on.
#[derive(Clone)]
pub(super) struct Ledger(pub(super) Store);

impl Ledger {
    /// What was not finished when the last run ended, and whether it was running then and so was cut off.
    pub(super) async fn unfinished(&self) -> Result<Vec<(Transfer, bool)>, StoreError> {
        let known = self.0.transfers().await?.into_iter();
        Ok(known
            .filter_map(|record| {
                let cut = record.state == TransferState::Running;
                Some((read(record)?, cut))
            })
            .collect())
    }

    /// A ledger that cannot be written costs the offer to go on, not the transfer.
    pub(super) async fn save(&self, transfer: &Transfer, started_at: i64) {
        let saved = match state(transfer.state) {
            Some(state) => self.0.save_transfer(record(transfer, state, started_at)).await,
            None => self.0.forget_transfer(&transfer.id).await,
        };
        if let Err(error) = saved {
            tracing::warn!(%error, transfer = transfer.id, "a transfer is not written down");
        }
    }

    pub(super) async fn forget(&self, id: &str) {
        if let Err(error) = self.0.forget_transfer(id).await {
            tracing::warn!(%error, transfer = id, "a transfer is not forgotten");
        }
    }
}

/// `None` for one that need not be known any more.
fn state(state: Transferring) -> Option<TransferState> {
    match state {
        Transferring::Running | Transferring::Checking => Some(TransferState::Running),
        Transferring::Stopped => Some(TransferState::Paused),
        Transferring::Failed => Some(TransferState::Failed),
        Transferring::Done | Transferring::Cancelled => None,
    }
}

fn record(transfer: &Transfer, state: TransferState, started_at: i64) -> TransferRecord {
    TransferRecord {
        id: transfer.id.clone(),
        subject: transfer.subject.clone(),
        state,
        done: Bytes(transfer.done_bytes),
        total: Bytes(transfer.total_bytes),
        started_at,
        updated_at: clock::now_s(),
        // The subject says it all: asking for it again goes on.
        body: Value::Null,
        fault: transfer
            .fault
            .as_ref()
            .and_then(|fault| serde_json::to_value(fault).ok()),
    }
}

fn read(record: TransferRecord) -> Option<Transfer> {
    let state = match record.state {
        TransferState::Running | TransferState::Paused => Transferring::Stopped,
        TransferState::Failed => Transferring::Failed,
        TransferState::Cancelled | TransferState::Done => return None,
    };
    Some(Transfer {
        id: record.id,
        subject: record.subject,
        state,
        done_bytes: record.done.0,
        total_bytes: record.total.0,
        bytes_per_s: 0,
        notes: Vec::new(),
        seconds_left: None,
        files: None,
        fault: record.fault.and_then(|fault| serde_json::from_value(fault).ok()),
    })
}
