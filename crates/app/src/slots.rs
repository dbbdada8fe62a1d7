//! Which slot of a model belongs to which conversation, where the server keeps texts nowhere else. The text of a
//! conversation stays in its slot, so the next question is read from where the last one ended; two conversations in turns
//! on one slot would read all of it again. Of several slots the last is for everybody else: other programs and short work
//! of our own never take the place of a conversation.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Held for a look at a handful of entries: a lock instead of an owner.
#[derive(Debug, Default)]
pub(crate) struct Slots(Mutex<BTreeMap<String, Seats>>);

#[derive(Debug, Default)]
struct Seats {
    /// By slot: whose it is, and when it was given last.
    held: Vec<Option<(String, u64)>>,
    clock: u64,
}

impl Slots {
    /// The slot for whoever is no conversation. `None` where there is only one.
    pub(crate) fn for_others(slots: u32) -> Option<u32> {
        slots.checked_sub(1).filter(|&last| last > 0)
    }

    /// The slot for a conversation's question: its own, else a free one, else that of whoever has not asked for
    /// longest and does not ask now. `None` when all of them work: the server then gives the first that is free.
    pub(crate) fn seat(
        &self,
        model: &str,
        slots: u32,
        conversation: &str,
        is_running: impl Fn(&str) -> bool,
    ) -> Option<u32> {
        let mut all = self.lock();
        let seats = all.entry(model.to_owned()).or_default();
        let own = Self::for_others(slots).unwrap_or(slots);
        seats.held.resize(usize::try_from(own).unwrap_or(1), None);
        seats.clock += 1;
        let clock = seats.clock;
        let holder = |seat: &Option<(String, u64)>| seat.as_ref().map(|(holder, _)| holder.clone());
        let own = seats
            .held
            .iter()
            .position(|seat| holder(seat).as_deref() == Some(conversation));
        let free = || seats.held.iter().position(Option::is_none);
        let oldest = || {
            let idle = seats.held.iter().enumerate().filter_map(|(number, seat)| {
                let (holder, given) = seat.as_ref()?;
                (!is_running(holder)).then_some((*given, number))
            });
            idle.min().map(|(_, number)| number)
        };
        let number = own.or_else(free).or_else(oldest)?;
        *seats.held.get_mut(number)? = Some((conversation.to_owned(), clock));
        u32::try_from(number).ok()
    }

    /// Its slots are gone with it.
    pub(crate) fn forget(&self, model: &str) {
        self.lock().remove(model);
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Seats>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::Slots;

    #[test]
    fn a_conversation_keeps_its_slot_and_takes_none_from_one_that_works() {
        let slots = Slots::default();
        let nobody = |_: &str| false;
        assert_eq!(slots.seat("m", 3, "a", nobody), Some(0));
        assert_eq!(slots.seat("m", 3, "b", nobody), Some(1));
        assert_eq!(slots.seat("m", 3, "a", nobody), Some(0), "its own");
        let b_waits_longest = slots.seat("m", 3, "c", nobody);
        assert_eq!(b_waits_longest, Some(1));
        assert_eq!(
            slots.seat("m", 3, "d", |one| one == "a"),
            Some(1),
            "a works, though it asked before c"
        );
        assert_eq!(slots.seat("m", 3, "e", |_| true), None, "all work");
        assert_eq!(slots.seat("other", 1, "a", nobody), Some(0));
        slots.forget("m");
        assert_eq!(slots.seat("m", 3, "e", nobody), Some(0));
        assert_eq!(slots.seat("m", 1, "f", nobody), Some(0), "fewer than before");
    }

    #[test]
    fn everybody_else_has_the_last_of_several() {
        assert_eq!(
            [0, 1, 2, 4].map(Slots::for_others),
            [None, None, Some(1), Some(3)]
        );
        let slots = Slots::default();
        for conversation in ["a", "b", "c", "d"] {
            assert_ne!(slots.seat("m", 2, conversation, |_| false), Some(1));
        }
    }
}
