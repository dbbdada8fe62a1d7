use plimsoll_units::Tokens;

/// What is left for the conversation itself, at the least: a question and the end of what was said.
const TAIL_LEAST: u64 = 512;

/// What one tool takes of every request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolWeight {
    pub name: String,
    pub tokens: u64,
}

/// Whether a conversation can work at all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FloorCheck {
    /// Tokens of instructions and tools.
    pub floor: u64,
    pub fits: bool,
    /// Tools to leave out so that it fits, the heaviest first; empty where it does, or where that is not enough.
    pub leave_out: Vec<String>,
}

/// At the beginning of a conversation: instructions, tools, a reply and the end of the talk have to fit, else
/// every compaction would fail later.
#[must_use]
pub fn check_floor(system: u64, tools: &[ToolWeight], window: Tokens, reserve: Tokens) -> FloorCheck {
    let heavy: u64 = tools.iter().map(|tool| tool.tokens).sum();
    let room = u64::from(window.0).saturating_sub(u64::from(reserve.0) + TAIL_LEAST);
    let mut floor = system + heavy;
    let check = FloorCheck {
        floor,
        fits: floor <= room,
        leave_out: Vec::new(),
    };
    if check.fits {
        return check;
    }
    let mut by_weight: Vec<&ToolWeight> = tools.iter().collect();
    by_weight.sort_by(|one, two| two.tokens.cmp(&one.tokens).then_with(|| one.name.cmp(&two.name)));
    let mut leave_out = Vec::new();
    for tool in by_weight {
        if floor <= room {
            break;
        }
        floor -= tool.tokens;
        leave_out.push(tool.name.clone());
    }
    FloorCheck {
        leave_out: if floor <= room { leave_out } else { Vec::new() },
        ..check
    }
}

#[cfg(test)]
mod tests {
    use plimsoll_units::Tokens;

    use super::{ToolWeight, check_floor};

    #[test]
    fn the_heaviest_tools_go_first_and_only_as_many_as_it_takes() {
        let tools = [("small", 200), ("huge", 3_000), ("large", 1_500)].map(|(name, tokens)| ToolWeight {
            name: name.into(),
            tokens,
        });
        let check = check_floor(100, &tools, Tokens(4_096), Tokens(1_024));
        assert_eq!((check.floor, check.fits), (4_800, false));
        assert_eq!(check.leave_out, ["huge"]);
        let roomy = check_floor(100, &tools, Tokens(8_192), Tokens(1_024));
        assert!(roomy.fits && roomy.leave_out.is_empty());
        let hopeless = check_floor(9_000, &tools, Tokens(4_096), Tokens(1_024));
        assert!(
            !hopeless.fits && hopeless.leave_out.is_empty(),
            "no tool is to blame"
        );
    }
}
