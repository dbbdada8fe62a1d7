use plimsoll_planner as planner;
use plimsoll_wire as wire;

/// `id`: what the model goes by, which the planner does not know.
pub(crate) fn plan(id: &str, plan: &planner::Plan) -> wire::Plan {
    wire::Plan {
        model: wire::PlanModel {
            id: id.to_owned(),
            quant: plan.model.quant.clone(),
            architecture: plan.model.architecture.clone(),
            parameters: plan.model.parameters,
            active_parameters: plan.model.active_parameters,
            file_bytes: plan.model.file_bytes.0,
            context_trained: plan.model.context_trained,
            drafting_layers: plan.model.drafting_layers,
        },
        settings: settings(&plan.settings),
        verdict: match plan.verdict {
            planner::Verdict::Fits => wire::Verdict::Fits,
            planner::Verdict::Spills => wire::Verdict::Spills,
            planner::Verdict::TooBig => wire::Verdict::TooBig,
        },
        why: plan.why.iter().map(why).collect(),
        memory: memory(&plan.memory),
        speed: plan.speed.as_ref().map(speed),
    }
}

fn why(why: &planner::Why) -> wire::Reason {
    let (code, params) = why.say();
    let params = params.into_iter().map(|(name, value)| {
        let value = match value {
            planner::WhyParam::Whole(whole) => wire::Param::Whole(whole),
            planner::WhyParam::Number(number) => wire::Param::Number(number),
            planner::WhyParam::Text(text) => wire::Param::Text(text),
        };
        (name.to_owned(), value)
    });
    wire::Reason {
        code: code.to_owned(),
        params: params.collect(),
    }
}

fn settings(settings: &planner::Settings) -> wire::PlanSettings {
    wire::PlanSettings {
        context: settings.context,
        slots: settings.slots,
        kv_type_k: settings.key_type.to_string(),
        kv_type_v: settings.value_type.to_string(),
        batch: settings.batch,
        ubatch: settings.ubatch,
        cache_ram_mib: u32::try_from(settings.cache_ram.0 >> 20).unwrap_or(u32::MAX),
        // The planner counts on it, and every preset says so.
        flash_attention: true,
        gpu_layers: settings.gpu_layers,
        tensor_split: settings.tensor_split.clone(),
        host_expert_layers: settings.host_expert_layers,
        arguments: settings.arguments(),
    }
}

fn memory(memory: &planner::Memory) -> wire::PlanMemory {
    wire::PlanMemory {
        devices: memory
            .devices
            .iter()
            .map(|device| wire::DeviceMemory {
                id: device.id.clone(),
                need: need(&device.need),
            })
            .collect(),
        host: need(&memory.host),
        low_bytes: memory.low.0,
        high_bytes: memory.high.0,
    }
}

fn need(need: &planner::Need) -> wire::MemoryNeed {
    wire::MemoryNeed {
        weights_bytes: need.kinds.weights.0,
        context_bytes: need.kinds.context.0,
        compute_bytes: need.kinds.compute.0,
        projector_bytes: need.projector.0,
        overhead_bytes: need.overhead_bytes().0,
        overhead_parts: need
            .overhead
            .iter()
            .map(|part| wire::OverheadPart {
                code: part.part.code().to_owned(),
                bytes: part.bytes.0,
            })
            .collect(),
        total_bytes: need.total().0,
        budget_bytes: need.budget.0,
    }
}

fn speed(speed: &planner::Speed) -> wire::PlanSpeed {
    wire::PlanSpeed {
        decode_tps: range(speed.decode),
        prefill_tps: range(speed.prefill),
        first_token_s: wire::FirstToken {
            prompt_tokens: speed.prompt_tokens,
            low: speed.first_token_s.low,
            mid: speed.first_token_s.mid,
            high: speed.first_token_s.high,
        },
        turn_s: Some(turn(speed)),
        basis: match speed.basis {
            planner::Basis::Table => wire::SpeedBasis::Table,
            planner::Basis::Measured | planner::Basis::OwnRun => wire::SpeedBasis::Measured,
        },
    }
}

/// The same prompt, with an answer of the usual length.
fn turn(speed: &planner::Speed) -> wire::Turn {
    let answer_tokens = planner::ANSWER_TOKENS;
    let turn = speed.turn(speed.prompt_tokens, answer_tokens);
    wire::Turn {
        prompt_tokens: speed.prompt_tokens,
        answer_tokens,
        low: turn.low,
        mid: turn.mid,
        high: turn.high,
    }
}

const fn range(range: planner::Range) -> wire::Range {
    wire::Range {
        low: range.low,
        mid: range.mid,
        high: range.high,
    }
}

pub(crate) fn recommendation(recommended: &planner::Recommendation) -> wire::Recommendation {
    wire::Recommendation {
        pick: recommended.pick.as_ref().map(pick),
        why: recommended.why.iter().map(why).collect(),
        alternatives: recommended
            .alternatives
            .iter()
            .map(|alternative| wire::Alternative {
                pick: pick(&alternative.pick),
                why: alternative.why.iter().map(why).collect(),
            })
            .collect(),
        rejected: recommended.rejected.iter().map(rejected).collect(),
    }
}

fn pick(pick: &planner::Pick) -> wire::Pick {
    wire::Pick {
        model: pick.model.clone(),
        quant: pick.quant.clone(),
        name: pick.name.clone(),
        download_bytes: pick.download.0,
        on_disk: pick.on_disk,
        plan: plan(&format!("{}:{}", pick.model, pick.quant), &pick.plan),
    }
}

fn rejected(rejected: &planner::Rejected) -> wire::Rejected {
    let wire::Reason { code, params } = why(&rejected.why);
    wire::Rejected {
        model: rejected.model.clone(),
        quant: rejected.quant.clone(),
        name: rejected.name.clone(),
        code,
        params,
    }
}
