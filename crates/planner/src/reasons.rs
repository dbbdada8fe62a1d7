//! Why a plan is as it is.

use crate::Why;
use crate::attempt::Attempt;
use crate::memory::CacheType;
use crate::plan::Verdict;
use crate::search::{CONTEXTS, Search};

impl Search<'_> {
    pub(crate) fn reasons(&self, attempt: &Attempt, verdict: Verdict) -> Vec<Why> {
        let mut why = Vec::new();
        let layers = self.layers();
        let (needed, budget) = attempt.totals();
        match verdict {
            Verdict::TooBig => why.push(Why::TooBig { needed, budget }),
            Verdict::Fits | Verdict::Spills if attempt.used.is_none() => {
                let host = &attempt.host;
                why.push(Why::RunsOnProcessor {
                    needed: host.total(),
                    budget: host.budget,
                });
            }
            Verdict::Fits => why.push(match attempt.devices.as_slice() {
                [one] => Why::FitsDevice {
                    device: self
                        .bench
                        .used(attempt.used)
                        .first()
                        .map_or_else(String::new, |device| device.name.clone()),
                    needed: one.need.total(),
                    budget: one.need.budget,
                },
                many => Why::FitsDevices {
                    count: u32::try_from(many.len()).unwrap_or(u32::MAX),
                    needed: many.iter().map(|device| device.need.total()).sum(),
                    budget: many.iter().map(|device| device.need.budget).sum(),
                },
            }),
            Verdict::Spills if attempt.load.gpu_layers > layers => {
                why.push(Why::ExpertsSpill {
                    on_host: attempt.load.host_experts,
                    layers,
                });
            }
            Verdict::Spills => {
                let on_host = layers.saturating_sub(attempt.load.gpu_layers.saturating_sub(1));
                why.push(Why::LayersSpill { on_host, layers });
            }
        }
        why.push(Why::ReserveKept {
            reserve: self.bench.ground.reserve,
        });
        let context = attempt.load.context;
        let trained = self.shape.context_trained;
        match self.wishes.context {
            Some(asked) if asked > context => why.push(Why::ContextCapped { asked, trained }),
            Some(_) => {}
            None => {
                let usual = CONTEXTS[0].min(self.context_most());
                why.push(if context < usual {
                    Why::ContextReduced { context, usual }
                } else {
                    Why::ContextChosen { context, trained }
                });
            }
        }
        if self.wishes.kv.is_none() && attempt.load.key_type != CacheType::F16 {
            why.push(Why::CacheQuantised {
                kind: attempt.load.key_type.argument(),
            });
        }
        if self
            .wishes
            .draft
            .as_ref()
            .is_some_and(|draft| !draft.suits(self.shape))
        {
            why.push(Why::DraftLeftOut);
        }
        if !self.shape.is_known() {
            why.push(Why::UnknownArchitecture {
                architecture: self.shape.architecture.clone(),
            });
        }
        if self.shape.estimated {
            why.push(Why::FromCatalog);
        }
        why.extend(self.bench.ground.why.iter().cloned());
        why
    }
}
