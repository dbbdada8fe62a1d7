//! Whose memory is it: this app's, others', nobody's.

use plimsoll_os::process::Resident;
use plimsoll_units::Bytes;

use super::MemoryUse;

/// From what the system says is available and what our processes hold.
///
/// The system counts mapped files, such as weights, as available, because it can drop them. For a person they
/// are memory of this app, so they move from free to ours.
pub(super) fn of_ram(total: Bytes, available: Bytes, ours: &[Resident]) -> MemoryUse {
    let all: Bytes = ours.iter().map(|process| process.resident).sum();
    let files: Bytes = ours.iter().filter_map(|process| process.file).sum();
    let held = total.less(available);
    let others = held.less(all.less(files));
    shared_out(total, all, others)
}

/// From what a device's driver says is used, and how much of that is ours when it says so.
pub(super) fn of_device(total: Bytes, used: Bytes, app: Option<Bytes>) -> MemoryUse {
    let used = used.min(total);
    let app = app.unwrap_or_default().min(used);
    shared_out(total, app, used.less(app))
}

/// Readings taken one after the other need not agree; the sum always does.
fn shared_out(total: Bytes, app: Bytes, others: Bytes) -> MemoryUse {
    let app = app.min(total);
    let others = others.min(total.less(app));
    MemoryUse {
        total,
        app,
        others,
        free: total.less(app).less(others),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn mapped_weights_are_ours_and_not_free() {
        let llama = Resident {
            resident: Bytes::gib(6),
            anonymous: Some(Bytes::gib(1)),
            file: Some(Bytes::gib(5)),
            shared: None,
        };
        // 16 GiB of which 3 are held: one by us, two by others. The weights are in what is available.
        let memory = of_ram(Bytes::gib(16), Bytes::gib(13), &[llama]);
        assert_eq!(
            (memory.app, memory.others, memory.free),
            (Bytes::gib(6), Bytes::gib(2), Bytes::gib(8))
        );
    }

    #[test]
    fn a_driver_that_does_not_say_whose_it_is() {
        let memory = of_device(Bytes::gib(8), Bytes::gib(3), None);
        assert_eq!(
            (memory.app, memory.others, memory.free),
            (Bytes::ZERO, Bytes::gib(3), Bytes::gib(5))
        );
    }

    proptest! {
        #[test]
        fn the_parts_are_the_whole(total: u64, available: u64, resident: u64, file: u64, used: u64, app: Option<u64>) {
            let ours = Resident { resident: Bytes(resident), file: Some(Bytes(file)), ..Resident::default() };
            for memory in [
                of_ram(Bytes(total), Bytes(available), &[ours]),
                of_device(Bytes(total), Bytes(used), app.map(Bytes)),
            ] {
                let sum = u128::from(memory.app.0) + u128::from(memory.others.0) + u128::from(memory.free.0);
                prop_assert_eq!(sum, u128::from(total));
            }
        }
    }
}
