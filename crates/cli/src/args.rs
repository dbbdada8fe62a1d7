//! What can be typed. The sentences of the help stand in the language files, see `help`.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use plimsoll_wire::PlanWishes;

use crate::change::{self, Back, Change};

#[derive(Debug, Parser)]
#[command(
    name = "plimsoll",
    version,
    arg_required_else_help = true,
    disable_help_subcommand = true
)]
pub(crate) struct Cli {
    #[arg(long, global = true)]
    pub(crate) json: bool,
    #[arg(short, long, global = true)]
    pub(crate) verbose: bool,
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Probe(ProbeArgs),
    Plan(Box<PlanArgs>),
    Recommend(RecommendArgs),
    Models(ModelsArgs),
    Search(SearchArgs),
    Pull(PullArgs),
    Import {
        path: PathBuf,
    },
    Verify {
        id: String,
    },
    Remove(RemoveArgs),
    Duplicates(DuplicatesArgs),
    #[command(subcommand, arg_required_else_help = true)]
    Folder(FolderCommand),
    #[command(subcommand, arg_required_else_help = true)]
    Engine(EngineCommand),
    Serve {
        model: Option<String>,
    },
    Memory(MemoryArgs),
    #[command(subcommand, arg_required_else_help = true)]
    Servers(ServersCommand),
    Chat(ChatArgs),
    #[command(subcommand, arg_required_else_help = true)]
    Conversation(ConversationCommand),
    Web(WebArgs),
    Ask(AskArgs),
    Bench(BenchArgs),
    Replay {
        file: PathBuf,
    },
    Context(ContextArgs),
}

#[derive(Debug, Args)]
pub(crate) struct ProbeArgs {
    /// Judge recorded facts instead of this machine.
    #[arg(long, value_name = "FILE", conflicts_with = "record")]
    pub(crate) facts: Option<PathBuf>,
    #[arg(long, value_name = "FILE")]
    pub(crate) record: Option<PathBuf>,
    #[arg(long, conflicts_with = "facts")]
    pub(crate) measure: bool,
    #[arg(long, value_name = "NAME=VALUE", conflicts_with = "facts", value_parser = change::change)]
    pub(crate) set: Vec<Change>,
    #[arg(long, value_name = "NAME", conflicts_with = "facts", value_parser = change::back)]
    pub(crate) unset: Vec<Back>,
}

#[derive(Debug, Args)]
pub(crate) struct PlanArgs {
    pub(crate) model: String,
    #[arg(long, value_name = "FILE")]
    pub(crate) machine: Option<PathBuf>,
    #[arg(long, value_name = "FILE")]
    pub(crate) anchors: Option<PathBuf>,
    #[arg(long, value_name = "GOAL")]
    pub(crate) goal: Option<Goal>,
    #[arg(short, long, value_name = "TOKENS", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) context: Option<u32>,
    #[arg(long, value_name = "N|auto", value_parser = slots)]
    pub(crate) slots: Option<Slots>,
    #[arg(long, value_name = "TYPE")]
    pub(crate) kv: Option<Kv>,
    #[arg(long, value_name = "TOKENS", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) batch: Option<u32>,
    #[arg(long, value_name = "TOKENS", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) ubatch: Option<u32>,
    #[arg(long, value_name = "MIB")]
    pub(crate) cache_ram: Option<u32>,
    #[arg(long, value_name = "KIND")]
    pub(crate) outputs: Option<Outputs>,
    #[arg(long, value_name = "N")]
    pub(crate) gpu_layers: Option<u32>,
    #[arg(long, value_name = "A,B", value_delimiter = ',', value_parser = share)]
    pub(crate) tensor_split: Option<Vec<f64>>,
    #[arg(long, value_name = "N")]
    pub(crate) host_experts: Option<u32>,
    #[arg(long, value_name = "FILE")]
    pub(crate) projector: Option<PathBuf>,
    #[arg(long, value_name = "own|MODEL")]
    pub(crate) draft: Option<String>,
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) prompt_tokens: Option<u32>,
}

impl PlanArgs {
    pub(crate) fn wishes(&self) -> PlanWishes {
        let path = |path: &Option<PathBuf>| path.as_ref().map(|path| path.to_string_lossy().into_owned());
        PlanWishes {
            goal: self.goal.map(Goal::name),
            context: self.context,
            slots: match self.slots {
                Some(Slots::Exactly(count)) => Some(count),
                Some(Slots::Chosen) | None => None,
            },
            choose_slots: (self.slots == Some(Slots::Chosen)).then_some(true),
            kv: self.kv.map(Kv::name),
            batch: self.batch,
            ubatch: self.ubatch,
            cache_ram_mib: self.cache_ram,
            outputs: self.outputs.map(Outputs::name),
            gpu_layers: self.gpu_layers,
            tensor_split: self.tensor_split.clone(),
            host_experts: self.host_experts,
            projector: path(&self.projector),
            draft: self.draft.clone(),
            prompt_tokens: self.prompt_tokens,
        }
    }
}

/// Conversations that are answered at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Slots {
    Exactly(u32),
    /// By the goal and the machine.
    Chosen,
}

fn slots(text: &str) -> Result<Slots, String> {
    if text == "auto" {
        return Ok(Slots::Chosen);
    }
    match text.parse::<u32>() {
        Ok(count) if count > 0 => Ok(Slots::Exactly(count)),
        Ok(_) => Err("at least 1, or auto".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

fn share(text: &str) -> Result<f64, String> {
    match text.trim().parse::<f64>() {
        Ok(value) if value.is_finite() && value >= 0.0 => Ok(value),
        Ok(_) => Err("not a share".to_owned()),
        Err(why) => Err(why.to_string()),
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Goal {
    Balanced,
    LongestContext,
    Fastest,
}

impl Goal {
    fn name(self) -> String {
        match self {
            Self::Balanced => "balanced",
            Self::LongestContext => "longestContext",
            Self::Fastest => "fastest",
        }
        .to_owned()
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Kv {
    F16,
    #[value(name = "q8_0")]
    Q8,
    #[value(name = "q4_0")]
    Q4,
}

impl Kv {
    fn name(self) -> String {
        match self {
            Self::F16 => "f16",
            Self::Q8 => "q8_0",
            Self::Q4 => "q4_0",
        }
        .to_owned()
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Outputs {
    Server,
    Bench,
}

impl Outputs {
    fn name(self) -> String {
        match self {
            Self::Server => "server",
            Self::Bench => "bench",
        }
        .to_owned()
    }
}

#[derive(Debug, Args)]
pub(crate) struct RecommendArgs {
    #[arg(long, value_name = "FILE")]
    pub(crate) machine: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct ModelsArgs {
    #[arg(long)]
    pub(crate) refresh: bool,
}

#[derive(Debug, Args)]
pub(crate) struct SearchArgs {
    #[arg(required = true, value_name = "WORDS|ORG/REPO")]
    pub(crate) words: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct DuplicatesArgs {
    #[arg(long)]
    pub(crate) compare: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum FolderCommand {
    List,
    Add { path: PathBuf },
    Remove { path: PathBuf },
    Move { path: PathBuf },
}

#[derive(Debug, Args)]
pub(crate) struct PullArgs {
    #[arg(value_name = "ID[:QUANT]|hf:ORG/REPO/FILE")]
    pub(crate) model: String,
    #[arg(long)]
    pub(crate) accept_licence: bool,
}

#[derive(Debug, Args)]
pub(crate) struct RemoveArgs {
    pub(crate) id: String,
    #[arg(short, long)]
    pub(crate) yes: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum EngineCommand {
    List,
    Install {
        flavour: Option<String>,
        #[arg(long)]
        newest: bool,
    },
    Newest,
    Add {
        path: PathBuf,
    },
    Use {
        id: String,
    },
    Back,
    Remove {
        id: String,
    },
    Check {
        id: Option<String>,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum ServersCommand {
    List,
    Use { id: String },
    Ignore { id: String },
    Notice { id: String },
}

#[derive(Debug, Args)]
pub(crate) struct MemoryArgs {
    /// 0 is never.
    #[arg(long, value_name = "MINUTES")]
    pub(crate) idle_minutes: Option<u32>,
    #[arg(long, value_name = "YES|NO", value_parser = yes_or_no)]
    pub(crate) release_on_sleep: Option<bool>,
}

fn yes_or_no(text: &str) -> Result<bool, String> {
    match text {
        "yes" | "on" | "true" => Ok(true),
        "no" | "off" | "false" => Ok(false),
        _ => Err("yes or no".to_owned()),
    }
}

#[derive(Debug, Args)]
pub(crate) struct ChatArgs {
    #[arg(short, long, value_name = "ID")]
    pub(crate) model: Option<String>,
    #[arg(long, value_name = "CONVERSATION")]
    pub(crate) go_on: Option<String>,
    #[arg(long, value_name = "TEXT", conflicts_with = "go_on")]
    pub(crate) instructions: Option<String>,
    #[arg(trailing_var_arg = true)]
    pub(crate) text: Vec<String>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ConversationCommand {
    List {
        #[arg(long)]
        trash: bool,
    },
    Search {
        #[arg(required = true)]
        words: Vec<String>,
        #[arg(long)]
        trash: bool,
    },
    Show {
        id: String,
    },
    Export {
        id: String,
        file: Option<PathBuf>,
        #[arg(long)]
        markdown: bool,
    },
    Import {
        file: PathBuf,
    },
    Delete {
        id: String,
    },
    Restore {
        id: String,
    },
    EmptyTrash {
        #[arg(short, long)]
        yes: bool,
    },
}

#[derive(Debug, Args)]
pub(crate) struct ContextArgs {
    #[arg(value_name = "CONVERSATION")]
    pub(crate) conversation: Option<String>,
    #[arg(long, group = "what")]
    pub(crate) compact: bool,
    #[arg(long, group = "what")]
    pub(crate) plan: bool,
    #[arg(long, value_name = "ID", group = "what")]
    pub(crate) undo: Option<String>,
    #[arg(long, value_name = "ID", group = "what")]
    pub(crate) show: Option<String>,
    #[arg(long, value_name = "WORDS", group = "what")]
    pub(crate) search: Option<String>,
    #[arg(long, value_name = "MODE", group = "what")]
    pub(crate) mode: Option<ContextMode>,
    #[arg(long, value_name = "FILE", group = "what")]
    pub(crate) report: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ContextMode {
    Automatic,
    Manual,
    Off,
}

#[derive(Debug, Args)]
pub(crate) struct WebArgs {
    #[arg(long)]
    pub(crate) open: bool,
    #[arg(long, value_name = "PORT", default_value_t = plimsoll_web::PAGE_PORT)]
    pub(crate) port: u16,
}

#[derive(Debug, Args)]
pub(crate) struct BenchArgs {
    /// Every model on disk when none is named.
    #[arg(value_name = "ID")]
    pub(crate) models: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct AskArgs {
    /// The only kind of question so far that is not a conversation.
    #[arg(long, required = true)]
    pub(crate) check: bool,
    #[arg(short, long, value_name = "ID")]
    pub(crate) model: Option<String>,
    #[arg(short, long, value_name = "TOKENS", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) context: Option<u32>,
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) slots: Option<u32>,
    #[arg(long, value_name = "TYPE")]
    pub(crate) kv: Option<Kv>,
    pub(crate) text: Option<String>,
}

impl AskArgs {
    pub(crate) fn wishes(&self) -> PlanWishes {
        PlanWishes {
            context: self.context,
            slots: self.slots,
            kv: self.kv.map(Kv::name),
            ..PlanWishes::default()
        }
    }
}
