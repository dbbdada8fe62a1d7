//! How a model is asked: what the person said for one conversation, for every conversation with the model, and
//! what the model's publisher advises, in this order.

use plimsoll_agent::{Effort, SYSTEM_PROMPT, Sampling, Thinking};
use plimsoll_catalog::{Dialect, EffortField, SamplingField};
use plimsoll_wire::{ChatSetting, ChatSettings, Fault, FaultCode, ThinkingChoice, ThinkingWish};
use serde_json::Value;

use crate::fault::fault;

/// Of instructions: many times what any window holds.
const INSTRUCTION_BYTES_MAX: usize = 256 << 10;
const TEMPERATURE_MAX: f64 = 2.0;

/// What was kept. A form of another version says nothing.
pub(crate) fn kept(settings: Option<Value>) -> ChatSettings {
    settings
        .and_then(|settings| serde_json::from_value(settings).ok())
        .unwrap_or_default()
}

/// Refuses numbers that no model takes, before they are kept.
pub(crate) fn check(settings: &ChatSettings) -> Result<(), Fault> {
    let share = |value: Option<f64>| value.is_none_or(|value| (0.0..=1.0).contains(&value));
    let wrong = if settings
        .instructions
        .as_ref()
        .is_some_and(|text| text.len() > INSTRUCTION_BYTES_MAX)
    {
        "instructions"
    } else if !settings
        .temperature
        .is_none_or(|value| (0.0..=TEMPERATURE_MAX).contains(&value))
    {
        "temperature"
    } else if !share(settings.top_p) {
        "topP"
    } else if !share(settings.min_p) {
        "minP"
    } else if settings.reply_max == Some(0) {
        "replyMax"
    } else {
        return Ok(());
    };
    Err(fault(FaultCode::BadRequest, [("what", wrong.into())]))
}

/// What the conversation says, and where it says nothing what holds for the model.
pub(crate) fn over(own: ChatSettings, model: ChatSettings) -> ChatSettings {
    ChatSettings {
        instructions: own.instructions.or(model.instructions),
        temperature: own.temperature.or(model.temperature),
        top_p: own.top_p.or(model.top_p),
        top_k: own.top_k.or(model.top_k),
        min_p: own.min_p.or(model.min_p),
        seed: own.seed.or(model.seed),
        reply_max: own.reply_max.or(model.reply_max),
        thinking: own.thinking.or(model.thinking),
    }
}

/// What stands before everything else. The same words for ever where the person said nothing.
pub(crate) fn system(settings: &ChatSettings) -> String {
    match settings.instructions.as_deref().map(str::trim) {
        None | Some("") => SYSTEM_PROMPT.to_owned(),
        Some(instructions) => format!("{SYSTEM_PROMPT}\n\n{instructions}"),
    }
}

pub(crate) fn sampling(settings: &ChatSettings, advice: Sampling) -> Sampling {
    Sampling {
        temperature: settings.temperature.or(advice.temperature),
        top_p: settings.top_p.or(advice.top_p),
        top_k: settings.top_k.or(advice.top_k),
        min_p: settings.min_p.or(advice.min_p),
        seed: settings.seed.or(advice.seed),
        reply_max: settings.reply_max.or(advice.reply_max),
    }
}

pub(crate) fn thinking(settings: &ChatSettings) -> Thinking {
    match settings.thinking {
        None => Thinking::Default,
        Some(ThinkingWish::Off) => Thinking::Off,
        Some(ThinkingWish::Low) => Thinking::On(Effort::Low),
        Some(ThinkingWish::Medium) => Thinking::On(Effort::Medium),
        Some(ThinkingWish::High) => Thinking::On(Effort::High),
    }
}

/// A publisher's advice in the words of the page.
pub(crate) fn advised(advice: Sampling) -> ChatSettings {
    ChatSettings {
        temperature: advice.temperature,
        top_p: advice.top_p,
        top_k: advice.top_k,
        min_p: advice.min_p,
        seed: advice.seed,
        reply_max: advice.reply_max,
        ..ChatSettings::default()
    }
}

/// What a route takes. A limit of the reply is taken by all.
pub(crate) fn takes(dialect: &Dialect) -> Vec<ChatSetting> {
    let field = |field: &SamplingField| match field {
        SamplingField::Temperature => Some(ChatSetting::Temperature),
        SamplingField::TopP => Some(ChatSetting::TopP),
        SamplingField::TopK => Some(ChatSetting::TopK),
        SamplingField::MinP => Some(ChatSetting::MinP),
        SamplingField::Seed => Some(ChatSetting::Seed),
        SamplingField::Stop => None,
    };
    let mut takes: Vec<ChatSetting> = dialect.sampling.iter().filter_map(field).collect();
    takes.push(ChatSetting::ReplyMax);
    takes
}

pub(crate) fn thinking_choice(dialect: &Dialect) -> ThinkingChoice {
    match dialect.effort {
        EffortField::None => ThinkingChoice::None,
        EffortField::TemplateSwitch => ThinkingChoice::Switch,
        EffortField::ReasoningEffort | EffortField::ReasoningObject | EffortField::Adaptive => {
            ThinkingChoice::Effort
        }
    }
}

#[cfg(test)]
mod tests {
    use plimsoll_agent::{SYSTEM_PROMPT, Sampling};
    use plimsoll_wire::ChatSettings;

    use super::{check, over, sampling, system};

    #[test]
    fn the_nearest_word_counts() {
        let own = ChatSettings {
            temperature: Some(0.1),
            instructions: Some("  ".into()),
            ..ChatSettings::default()
        };
        let model = ChatSettings {
            temperature: Some(0.9),
            top_p: Some(0.8),
            instructions: Some("Be brief.".into()),
            ..ChatSettings::default()
        };
        let advice = Sampling {
            top_p: Some(0.5),
            top_k: Some(20),
            ..Sampling::default()
        };
        let settled = over(own, model.clone());
        let asked = sampling(&settled, advice);
        assert_eq!(
            (asked.temperature, asked.top_p, asked.top_k),
            (Some(0.1), Some(0.8), Some(20))
        );
        assert_eq!(
            system(&settled),
            SYSTEM_PROMPT,
            "nothing is a word too: none here"
        );
        assert_eq!(system(&model), format!("{SYSTEM_PROMPT}\n\nBe brief."));
    }

    #[test]
    fn numbers_that_mean_nothing_are_refused() {
        let base = ChatSettings::default;
        for wrong in [
            ChatSettings {
                temperature: Some(2.1),
                ..base()
            },
            ChatSettings {
                temperature: Some(f64::NAN),
                ..base()
            },
            ChatSettings {
                top_p: Some(-0.1),
                ..base()
            },
            ChatSettings {
                min_p: Some(1.5),
                ..base()
            },
            ChatSettings {
                reply_max: Some(0),
                ..base()
            },
            ChatSettings {
                instructions: Some("x".repeat(300 << 10)),
                ..base()
            },
        ] {
            assert!(check(&wrong).is_err(), "{:?}", wrong.temperature);
        }
        assert!(
            check(&ChatSettings {
                temperature: Some(0.0),
                top_p: Some(1.0),
                ..base()
            })
            .is_ok()
        );
    }
}
