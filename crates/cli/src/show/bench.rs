use plimsoll_wire::{BenchReply, Range};

use crate::lang::clean;
use crate::out::{Out, QUIET, styled};

/// What was measured, beside what had been predicted.
pub(crate) fn bench(out: &Out, measured: &[BenchReply]) -> String {
    let head = [
        "word.id",
        "bench.writes",
        "bench.planned",
        "bench.reads",
        "bench.planned",
    ];
    let mut table = out.table(&head.map(|key| out.lang.text(key)));
    let range = |range: Option<Range>| {
        range
            .map(|range| format!("{} – {}", out.lang.number(range.low), out.lang.number(range.high)))
            .unwrap_or_default()
    };
    for one in measured {
        table.add_row([
            clean(&one.model),
            out.lang.number(one.decode_tps),
            range(one.planned_decode_tps),
            out.lang.number(one.prefill_tps),
            range(one.planned_prefill_tps),
        ]);
    }
    format!(
        "{}\n{}",
        table.trim_fmt(),
        styled(QUIET, out.lang.text("bench.kept"))
    )
}
