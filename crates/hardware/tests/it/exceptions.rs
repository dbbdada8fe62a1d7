//! Where a report's expectation is not met, point by point, and why.

/// What an exception is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Point {
    Class,
    /// A device that is missing, or one too many.
    Device,
    Size,
    Ram,
}

#[derive(Debug)]
pub(crate) struct Exception {
    pub(crate) report: &'static str,
    pub(crate) point: Point,
    /// The facts would have allowed the right answer, and ours is another.
    pub(crate) ours: bool,
    #[expect(dead_code, reason = "read by people")]
    pub(crate) why: &'static str,
}

const fn not_said(report: &'static str, point: Point, why: &'static str) -> Exception {
    Exception {
        report,
        point,
        ours: false,
        why,
    }
}

const fn missed(report: &'static str, point: Point, why: &'static str) -> Exception {
    Exception {
        report,
        point,
        ours: true,
        why,
    }
}

pub(crate) const EXCEPTIONS: &[Exception] = &[
    not_said(
        "2xarc-b70-xe",
        Point::Device,
        "the copied line lists one card, the second is in the title",
    ),
    not_said("6800xt-hermes", Point::Ram, "the RAM is in the title"),
    missed(
        "780m-8845hs-win-8g",
        Point::Class,
        "the adapter has no name; that 8448 MB set aside and twice 12197 MB make a 32 GB machine is not looked for",
    ),
    missed(
        "780m-8845hs-win-8g",
        Point::Device,
        "the adapter has no name; that 8448 MB set aside and twice 12197 MB make a 32 GB machine is not looked for",
    ),
    not_said("7gpu-5090-4090-3090", Point::Ram, "the RAM is in the title"),
    not_said(
        "8700g+b70",
        Point::Size,
        "no source prints the card's size; 2.0 GB is the processor's carve-out alone, and its GPU may borrow as well",
    ),
    not_said(
        "9070xt-win-2nd-device",
        Point::Device,
        "nothing says whether the processor's GPU is there",
    ),
    not_said(
        "9070xt-win-not-detected",
        Point::Class,
        "the list is empty; the card is in the title. A note says that another build may know it",
    ),
    not_said(
        "9070xt-win-not-detected",
        Point::Device,
        "the list is empty; the card is in the title. A note says that another build may know it",
    ),
    not_said(
        "arc140v-win-32g-ik",
        Point::Ram,
        "the RAM is not printed; the 16GB in the name are no RAM",
    ),
    not_said(
        "dmi-lpddr5x-strixhalo",
        Point::Class,
        "memory chips only; the processor is in the title",
    ),
    not_said(
        "dmi-lpddr5x-strixhalo",
        Point::Device,
        "memory chips only; the processor is in the title",
    ),
    not_said(
        "dmi-sodimm-64g",
        Point::Ram,
        "one of two modules was copied, and modules in slots may differ",
    ),
    not_said(
        "gh200-mig",
        Point::Size,
        "the report itself says that the whole card's number is not usable by one process; the slices are not listed",
    ),
    not_said(
        "gtx1650+vega-win",
        Point::Class,
        "the card is in the title; the tool lists the processor's GPU alone",
    ),
    not_said(
        "gtx1650+vega-win",
        Point::Device,
        "the card is in the title; the tool lists the processor's GPU alone",
    ),
    not_said(
        "h100-llama-28524",
        Point::Size,
        "the size is taken from another report",
    ),
    not_said("hx370-890m-96g", Point::Ram, "the RAM is in the title"),
    not_said(
        "hx370-dgpu-missed-win",
        Point::Class,
        "the card is in the title; the tool lists one GPU",
    ),
    not_said(
        "hx370-dgpu-missed-win",
        Point::Device,
        "the card is in the title; the tool lists one GPU",
    ),
    not_said(
        "iris-plus-win",
        Point::Ram,
        "that Windows lends half of the RAM is a default with exceptions, so the RAM does not follow",
    ),
    not_said("iris-xe-win-16g-dell", Point::Device, "no line names the GPU"),
    not_said("iris-xe-win-16g-dell", Point::Ram, "the RAM is in the title"),
    not_said(
        "m1ultra-128g-wired",
        Point::Ram,
        "the RAM is in the title; a limit set by hand tells nothing of it",
    ),
    not_said(
        "m2ultra-192g",
        Point::Ram,
        "what is free at a time tells nothing of the whole",
    ),
    not_said(
        "mac-96g-wired",
        Point::Ram,
        "the RAM is in the title; a limit set by hand tells nothing of it",
    ),
    not_said(
        "optimus-4060l-suspended",
        Point::Device,
        "a processor's name does not tell whether its GPU is switched on",
    ),
    not_said(
        "optimus-smi-slow",
        Point::Class,
        "an observation in words that names no device",
    ),
    not_said(
        "optimus-smi-slow",
        Point::Device,
        "an observation in words that names no device",
    ),
    not_said(
        "riscv-a750",
        Point::Class,
        "a version line; the card is in the title",
    ),
    not_said(
        "riscv-a750",
        Point::Device,
        "a version line; the card is in the title",
    ),
    not_said(
        "rtx5070-unsloth-cpu-build",
        Point::Size,
        "the size is not printed",
    ),
    not_said(
        "snapdragon-x-opencl",
        Point::Size,
        "the report has dots where the size was",
    ),
    not_said("steamdeck-vangogh", Point::Ram, "the RAM is not printed"),
    not_said(
        "strix-halo-96g-linux-llmfit",
        Point::Size,
        "the carve-out is what the owner says in the title; the tool missed it",
    ),
    not_said(
        "strix-halo-96g-windows-llmfit",
        Point::Size,
        "the carve-out is what the owner says in the title; the tool missed it",
    ),
    not_said(
        "strix-halo-linux7",
        Point::Class,
        "a version line and an error; the machine is in the title",
    ),
    not_said(
        "strix-halo-linux7",
        Point::Device,
        "a version line and an error; the machine is in the title",
    ),
    not_said(
        "strix-halo-linux7",
        Point::Ram,
        "a version line and an error; the machine is in the title",
    ),
    not_said(
        "strix-halo-win-heaps",
        Point::Class,
        "two excerpts without a name or a kind, of two settings",
    ),
    not_said(
        "strix-halo-win-heaps",
        Point::Device,
        "two excerpts without a name or a kind, of two settings",
    ),
    not_said(
        "win-6600m",
        Point::Class,
        "a version line; the machine is in the title",
    ),
    not_said(
        "win-6600m",
        Point::Device,
        "a version line; the machine is in the title",
    ),
    not_said(
        "wsl2-9060xt-librocdxg",
        Point::Class,
        "two function names; the card is in the title",
    ),
    not_said(
        "wsl2-9060xt-librocdxg",
        Point::Device,
        "two function names; the card is in the title",
    ),
];
