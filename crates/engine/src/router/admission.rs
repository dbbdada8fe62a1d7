use plimsoll_units::Bytes;
use tokio::time::Instant;

/// A model that holds memory now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Held {
    pub id: String,
    pub bytes: Bytes,
    /// It works on a request.
    pub busy: bool,
    pub last_used: Instant,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Admission {
    /// Unload these first, in this order; often none.
    Unload(Vec<String>),
    /// Even with all idle models gone it does not fit beside the busy ones.
    NoRoom { left: Bytes, held_by: Vec<String> },
}

/// Whether a model that needs `asked` may load within `budget`, and what must go for it: idle models, least
/// recently used first, and no more of them than needed.
#[must_use]
pub(super) fn admit(held: &[Held], asked: Bytes, budget: Bytes) -> Admission {
    let mut idle: Vec<&Held> = held.iter().filter(|model| !model.busy).collect();
    idle.sort_by_key(|model| model.last_used);
    let mut taken: Bytes = held.iter().map(|model| model.bytes).sum();
    let mut unload = Vec::new();
    for model in idle {
        if taken.plus(asked) <= budget {
            break;
        }
        taken = taken.less(model.bytes);
        unload.push(model.id.clone());
    }
    // Alone it may be larger than the budget: whether it is worth trying was the planner's decision.
    if taken.plus(asked) <= budget || taken == Bytes::ZERO {
        return Admission::Unload(unload);
    }
    let held_by = held
        .iter()
        .filter(|model| model.busy)
        .map(|model| model.id.clone())
        .collect();
    Admission::NoRoom {
        left: budget.less(taken),
        held_by,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn held(models: &[(&str, u64, bool)]) -> Vec<Held> {
        let start = Instant::now();
        models
            .iter()
            .enumerate()
            .map(|(n, &(id, gib, busy))| Held {
                id: id.into(),
                bytes: Bytes::gib(gib),
                busy,
                last_used: start + Duration::from_secs(n as u64),
            })
            .collect()
    }

    fn unload(ids: &[&str]) -> Admission {
        Admission::Unload(ids.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn two_that_fit_together_stay_together() {
        assert_eq!(
            admit(&held(&[("a", 3, false)]), Bytes::gib(4), Bytes::gib(8)),
            unload(&[])
        );
    }

    #[test]
    fn the_idle_one_goes_first_and_only_as_many_as_needed() {
        let models = held(&[("old", 3, false), ("busy", 2, true), ("new", 2, false)]);
        assert_eq!(admit(&models, Bytes::gib(4), Bytes::gib(8)), unload(&["old"]));
        assert_eq!(
            admit(&models, Bytes::gib(6), Bytes::gib(8)),
            unload(&["old", "new"])
        );
    }

    #[test]
    fn what_works_is_not_unloaded() {
        let models = held(&[("busy", 5, true), ("idle", 1, false)]);
        assert_eq!(
            admit(&models, Bytes::gib(4), Bytes::gib(8)),
            Admission::NoRoom {
                left: Bytes::gib(3),
                held_by: vec!["busy".into()]
            }
        );
    }

    #[test]
    fn alone_it_may_try() {
        assert_eq!(
            admit(&held(&[("a", 3, false)]), Bytes::gib(9), Bytes::gib(8)),
            unload(&["a"])
        );
        assert_eq!(admit(&[], Bytes::gib(9), Bytes::gib(8)), unload(&[]));
    }
}
