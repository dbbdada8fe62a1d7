use std::path::Path;

use plimsoll_os::files;
use plimsoll_units::Bytes;

use super::Session;
use crate::failure::{Failure, at, unreadable};
use crate::show;

/// A long conversation of many tools, with every decision.
const REPLAY_BYTES_MAX: Bytes = Bytes::mib(256);

/// Plays a written conversation. Ends with 1 where it does not decide as the file expects.
pub(super) fn replay(session: &Session, path: &Path) -> Result<(), Failure> {
    let bytes = files::read_up_to(path, REPLAY_BYTES_MAX).map_err(|error| unreadable(path, &error))?;
    let report = plimsoll_app::replay(&bytes).map_err(|fault| at(path, fault))?;
    session.out.answer(&report, show::replay);
    if report.wrong > 0 {
        Err(Failure::Told)
    } else {
        Ok(())
    }
}
