use plimsoll_units::Bytes;

/// One reason of a plan or a pick: a code and parameters, put into words elsewhere.
#[derive(Debug, Clone, PartialEq)]
pub enum Why {
    /// All layers are on one device.
    FitsDevice {
        device: String,
        needed: Bytes,
        budget: Bytes,
    },
    /// All layers are on several devices.
    FitsDevices {
        count: u32,
        needed: Bytes,
        budget: Bytes,
    },
    /// There is no device, or none that may be used.
    RunsOnProcessor {
        needed: Bytes,
        budget: Bytes,
    },
    /// Some layers stay in the RAM, where they are slower.
    LayersSpill {
        on_host: u32,
        layers: u32,
    },
    /// Experts stay in the RAM; few of them are read for a token, so that costs less than layers.
    ExpertsSpill {
        on_host: u32,
        layers: u32,
    },
    TooBig {
        needed: Bytes,
        budget: Bytes,
    },
    /// Kept free for the system.
    ReserveKept {
        reserve: Bytes,
    },
    ContextChosen {
        context: u32,
        trained: u32,
    },
    /// A longer one would not have fitted.
    ContextReduced {
        context: u32,
        usual: u32,
    },
    /// Beyond what the model was trained for it forgets or rambles.
    ContextCapped {
        asked: u32,
        trained: u32,
    },
    /// So many conversations are answered at once, for so much more memory.
    SlotsShared {
        slots: u32,
        bytes: Bytes,
    },
    /// One conversation at a time: so many would take from the context, the speed or the room on a device.
    SlotsCost {
        slots: u32,
    },
    /// One conversation at a time: so many would have so few tokens each.
    SlotsTooNarrow {
        slots: u32,
        each: u32,
    },
    /// The cache is kept in fewer bits, so that the context fits.
    CacheQuantised {
        kind: &'static str,
    },
    /// The prompt is read in pieces small enough to be stopped between them.
    BatchChosen {
        batch: u32,
        ms: u32,
    },
    /// Its memory is worked out by the general rule, with a wider range.
    UnknownArchitecture {
        architecture: String,
    },
    /// The file is not here; its numbers come from the catalog.
    FromCatalog,
    /// No speed is told because the bandwidth of this part is not known.
    BandwidthUnknown {
        part: String,
    },
    /// This mix serves better here than the usual one.
    VariantChosen {
        quant: String,
        usual: String,
    },
    /// What was to guess ahead has other words than the model, or is not in its file.
    DraftLeftOut,
    /// The engine cannot drive this device.
    DeviceLeftOut {
        device: String,
    },
    /// The measured runs of this machine were used.
    SpeedMeasured {
        runs: u32,
    },
    /// This very model was measured on this machine.
    SpeedOfOwnRun,

    // recommending
    /// The best quality among what runs here well enough.
    BestQuality {
        rank: u8,
    },
    AlreadyHere,
    /// A question is answered in about this many seconds.
    TurnTime {
        seconds: f64,
    },
    /// Better, but a question takes too long.
    TooSlow {
        seconds: f64,
        limit: f64,
    },
    /// The first message of a conversation, with instructions and tools, is answered after so long.
    StartTime {
        tokens: u32,
        seconds: f64,
    },
    /// Better, but the first message of a conversation takes too long.
    SlowStart {
        tokens: u32,
        seconds: f64,
        limit: f64,
    },
    /// Part of it runs from the RAM, and a question is answered in time all the same.
    SpillAdmitted {
        seconds: f64,
        limit: f64,
    },
    /// Only a mix of few bits fits, which costs quality.
    FewBits {
        quant: String,
    },
    /// The engine is older than the model needs.
    NeedsEngine {
        needed: u32,
        have: u32,
    },
    /// Another mix of the same model suits better.
    OtherVariant {
        quant: String,
    },
    /// Others suit better.
    Behind {
        rank: u8,
    },
    /// What runs here is no match for a cloud model.
    CloudIsBetter {
        rank: u8,
    },
    /// It continues text instead of answering.
    NotForChat,
    /// Quicker than the pick.
    Faster {
        seconds: f64,
    },
    /// Better than the pick, but not by as much as it is slower.
    SmarterSlower {
        seconds: f64,
    },
    Smaller {
        bytes: Bytes,
    },
    /// Dense layers in the RAM are too slow to pick by ourselves.
    WouldSpill {
        missing: Bytes,
    },
    /// Nothing in the catalog runs here.
    NothingFits {
        smallest: Bytes,
        budget: Bytes,
    },
    /// Nothing is quick here: the quickest was taken.
    NothingIsQuick {
        seconds: f64,
    },
}

/// A parameter of a reason.
#[derive(Debug, Clone, PartialEq)]
pub enum WhyParam {
    Whole(u64),
    Number(f64),
    Text(String),
}

impl From<u32> for WhyParam {
    fn from(value: u32) -> Self {
        Self::Whole(value.into())
    }
}
impl From<u8> for WhyParam {
    fn from(value: u8) -> Self {
        Self::Whole(value.into())
    }
}
impl From<Bytes> for WhyParam {
    fn from(value: Bytes) -> Self {
        Self::Whole(value.0)
    }
}
impl From<f64> for WhyParam {
    fn from(value: f64) -> Self {
        Self::Number(value)
    }
}
impl From<&str> for WhyParam {
    fn from(value: &str) -> Self {
        Self::Text(value.to_owned())
    }
}

impl Why {
    /// The code of the reason, and its parameters by name.
    #[must_use]
    #[expect(clippy::too_many_lines, reason = "one short arm a reason")]
    pub fn say(&self) -> (&'static str, Vec<(&'static str, WhyParam)>) {
        match self {
            Self::FitsDevice {
                device,
                needed,
                budget,
            } => (
                "allOnDevice",
                vec![
                    ("device", device.as_str().into()),
                    ("neededBytes", (*needed).into()),
                    ("budgetBytes", (*budget).into()),
                ],
            ),
            Self::FitsDevices {
                count,
                needed,
                budget,
            } => (
                "allOnDevices",
                vec![
                    ("count", (*count).into()),
                    ("neededBytes", (*needed).into()),
                    ("budgetBytes", (*budget).into()),
                ],
            ),
            Self::RunsOnProcessor { needed, budget } => (
                "cpuOnly",
                vec![
                    ("neededBytes", (*needed).into()),
                    ("budgetBytes", (*budget).into()),
                ],
            ),
            Self::LayersSpill { on_host, layers } => (
                "spillsToHost",
                vec![("onHost", (*on_host).into()), ("layers", (*layers).into())],
            ),
            Self::ExpertsSpill { on_host, layers } => (
                "expertsOnHost",
                vec![("onHost", (*on_host).into()), ("layers", (*layers).into())],
            ),
            Self::TooBig { needed, budget } => (
                "tooBig",
                vec![
                    ("neededBytes", (*needed).into()),
                    ("budgetBytes", (*budget).into()),
                ],
            ),
            Self::ReserveKept { reserve } => ("reserveKept", vec![("reserveBytes", (*reserve).into())]),
            Self::ContextChosen { context, trained } => (
                "contextChosen",
                vec![("context", (*context).into()), ("trained", (*trained).into())],
            ),
            Self::ContextReduced { context, usual } => (
                "contextReduced",
                vec![("context", (*context).into()), ("usual", (*usual).into())],
            ),
            Self::ContextCapped { asked, trained } => (
                "contextCapped",
                vec![("asked", (*asked).into()), ("trained", (*trained).into())],
            ),
            Self::SlotsShared { slots, bytes } => (
                "slotsShared",
                vec![("slots", (*slots).into()), ("bytes", (*bytes).into())],
            ),
            Self::SlotsCost { slots } => ("slotsCost", vec![("slots", (*slots).into())]),
            Self::SlotsTooNarrow { slots, each } => (
                "slotsTooNarrow",
                vec![("slots", (*slots).into()), ("each", (*each).into())],
            ),
            Self::CacheQuantised { kind } => ("cacheQuantised", vec![("kind", (*kind).into())]),
            Self::BatchChosen { batch, ms } => (
                "batchChosen",
                vec![("batch", (*batch).into()), ("ms", (*ms).into())],
            ),
            Self::UnknownArchitecture { architecture } => (
                "unknownArchitecture",
                vec![("architecture", architecture.as_str().into())],
            ),
            Self::FromCatalog => ("fromCatalog", vec![]),
            Self::BandwidthUnknown { part } => ("bandwidthUnknown", vec![("part", part.as_str().into())]),
            Self::VariantChosen { quant, usual } => (
                "variantChosen",
                vec![("quant", quant.as_str().into()), ("usual", usual.as_str().into())],
            ),
            Self::DraftLeftOut => ("draftLeftOut", vec![]),
            Self::DeviceLeftOut { device } => ("deviceLeftOut", vec![("device", device.as_str().into())]),
            Self::SpeedMeasured { runs } => ("speedMeasured", vec![("runs", (*runs).into())]),
            Self::SpeedOfOwnRun => ("speedOfOwnRun", vec![]),
            Self::BestQuality { rank } => ("bestFit", vec![("rank", (*rank).into())]),
            Self::AlreadyHere => ("alreadyHere", vec![]),
            Self::TurnTime { seconds } => ("turnTime", vec![("seconds", (*seconds).into())]),
            Self::TooSlow { seconds, limit } => (
                "tooSlow",
                vec![("seconds", (*seconds).into()), ("limit", (*limit).into())],
            ),
            Self::StartTime { tokens, seconds } => (
                "startTime",
                vec![("tokens", (*tokens).into()), ("seconds", (*seconds).into())],
            ),
            Self::SlowStart {
                tokens,
                seconds,
                limit,
            } => (
                "slowStart",
                vec![
                    ("tokens", (*tokens).into()),
                    ("seconds", (*seconds).into()),
                    ("limit", (*limit).into()),
                ],
            ),
            Self::SpillAdmitted { seconds, limit } => (
                "spillAdmitted",
                vec![("seconds", (*seconds).into()), ("limit", (*limit).into())],
            ),
            Self::FewBits { quant } => ("fewBits", vec![("quant", quant.as_str().into())]),
            Self::NeedsEngine { needed, have } => (
                "needsEngine",
                vec![("needed", (*needed).into()), ("have", (*have).into())],
            ),
            Self::OtherVariant { quant } => ("otherVariant", vec![("quant", quant.as_str().into())]),
            Self::Behind { rank } => ("behind", vec![("rank", (*rank).into())]),
            Self::CloudIsBetter { rank } => ("cloudIsBetter", vec![("rank", (*rank).into())]),
            Self::NotForChat => ("notForChat", vec![]),
            Self::Faster { seconds } => ("faster", vec![("seconds", (*seconds).into())]),
            Self::SmarterSlower { seconds } => ("smarterSlower", vec![("seconds", (*seconds).into())]),
            Self::Smaller { bytes } => ("smaller", vec![("bytes", (*bytes).into())]),
            Self::WouldSpill { missing } => ("wouldSpill", vec![("missingBytes", (*missing).into())]),
            Self::NothingFits { smallest, budget } => (
                "nothingFits",
                vec![
                    ("smallestBytes", (*smallest).into()),
                    ("budgetBytes", (*budget).into()),
                ],
            ),
            Self::NothingIsQuick { seconds } => ("nothingIsQuick", vec![("seconds", (*seconds).into())]),
        }
    }
}
