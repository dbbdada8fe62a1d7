//! What a command that stays hears of the app.

use plimsoll_wire::{Comparing, Event, Transfer};

/// The few events that a terminal waits for; the rest is for a page.
pub(super) enum News {
    Router,
    Transfer(Box<Transfer>),
    /// Something was lost: the state has to be read again.
    Missed,
    Compared(Comparing),
    Other,
}

impl From<Event> for News {
    fn from(event: Event) -> Self {
        match event {
            Event::RouterChanged { .. } => Self::Router,
            Event::TransferMoved { transfer } => Self::Transfer(Box::new(transfer)),
            Event::Missed => Self::Missed,
            Event::Compared { comparing } => Self::Compared(comparing),
            Event::SetupMoved { .. }
            | Event::Sampled { .. }
            | Event::LibraryChanged
            | Event::EnginesChanged
            | Event::SettingsChanged
            | Event::EndpointUsed { .. }
            | Event::MachineChanged
            | Event::ConversationChanged { .. }
            | Event::ContextChanged { .. }
            | Event::TurnStarted { .. }
            | Event::TurnWaiting { .. }
            | Event::ToolsMoved { .. }
            | Event::ToolAsked { .. }
            | Event::PromptRead { .. }
            | Event::TextAdded { .. }
            | Event::ReasoningAdded { .. }
            | Event::TurnEnded { .. } => Self::Other,
        }
    }
}
