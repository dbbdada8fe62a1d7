//! Which quantisation of a model to take: under a wish, on a machine.

use std::cmp::Ordering;

use plimsoll_catalog::{Model, Variant};

use crate::plan::{Plan, Verdict};
use crate::recommend::{assume_bandwidths, entry, judge, kept_quality};
use crate::{Goal, PlanError, Projector, Shape, Situation, Why, Wishes, plan};

/// A variant with its plan.
#[derive(Debug, Clone)]
pub struct Chosen<'a> {
    pub variant: &'a Variant,
    pub shape: Shape,
    pub plan: Plan,
}

/// Below this a mix of few bits is plainly worse: neither a longer context nor speed is worth that.
const QUALITY_LEAST: f64 = 0.75;
/// A context that can be worked with.
const CONTEXT_LEAST: u32 = 8_192;

/// Plans every variant of a model and takes the one that serves the wish best: neither the context nor the bits nor
/// the place always gives way before the others. Of equals the model's own default is taken.
pub fn best_variant<'a>(
    model: &'a Model,
    situation: &Situation,
    wishes: &Wishes,
) -> Result<Option<Chosen<'a>>, PlanError> {
    // Where no bandwidth is known, cautious ones make variants comparable; none is told from them.
    let assumed = assume_bandwidths(situation);
    let assumed = Situation {
        machine: &assumed,
        ..situation.clone()
    };
    let wishes = Wishes {
        projector: wishes.projector.or(Projector::of_model(model)),
        ..wishes.clone()
    };
    let mut best: Option<(Merit, &Variant, Shape)> = None;
    for variant in &model.variants {
        let shape = Shape::from_catalog(model, variant);
        let planned = plan(&shape, &assumed, &wishes)?;
        let merit = Merit::of(model, variant, &shape, planned, wishes.goal);
        if best
            .as_ref()
            .is_none_or(|(than, ..)| merit.better(than) == Ordering::Greater)
        {
            best = Some((merit, variant, shape));
        }
    }
    let Some((_, variant, shape)) = best else {
        return Ok(None);
    };
    let mut plan = plan(&shape, situation, &wishes)?;
    if !variant.quant.eq_ignore_ascii_case(&model.default_quant) {
        plan.why.push(Why::VariantChosen {
            quant: variant.quant.clone(),
            usual: model.default_quant.clone(),
        });
    }
    Ok(Some(Chosen { variant, shape, plan }))
}

/// What a variant is worth, the first difference deciding.
#[derive(Debug)]
struct Merit {
    runs: bool,
    /// Neither too slow nor dense layers in the RAM.
    admissible: bool,
    /// What the wish is about, then what else counts.
    wanted: [f64; 3],
    usual: bool,
}

impl Merit {
    fn of(model: &Model, variant: &Variant, shape: &Shape, plan: Plan, goal: Goal) -> Self {
        let usual = variant.quant.eq_ignore_ascii_case(&model.default_quant);
        let runs = plan.verdict != Verdict::TooBig;
        let quality = kept_quality(&plan);
        let context = f64::from(plan.settings.context);
        let decode = plan.speed.as_ref().map_or(0.0, |speed| speed.decode.mid);
        let spilled = judge(&plan, shape).is_some();
        let entry = entry(model, variant, plan, &|_, _| false);
        let good = |holds: bool| f64::from(u8::from(holds));
        let wanted = match goal {
            Goal::Balanced => {
                let long = context >= f64::from(CONTEXT_LEAST.min(model.context_trained));
                [good(long), entry.worth(), decode]
            }
            Goal::LongestContext => [good(quality >= QUALITY_LEAST), context, entry.worth()],
            Goal::Fastest => [good(quality >= QUALITY_LEAST), decode, entry.worth()],
        };
        Self {
            runs,
            // Who asks for the longest context takes it wherever it is.
            admissible: goal == Goal::LongestContext || !(spilled || entry.too_slow().is_some()),
            wanted,
            usual,
        }
    }

    fn better(&self, than: &Self) -> Ordering {
        let mut order = self
            .runs
            .cmp(&than.runs)
            .then(self.admissible.cmp(&than.admissible));
        // Speeds of equal worth differ in the last place: only the first two figures outweigh what is usual.
        for (own, other) in self.wanted.iter().zip(&than.wanted).take(2) {
            order = order.then(own.total_cmp(other));
        }
        order
            .then(self.usual.cmp(&than.usual))
            .then(self.wanted[2].total_cmp(&than.wanted[2]))
    }
}
