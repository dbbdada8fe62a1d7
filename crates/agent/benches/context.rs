//! What the meter and the gates cost in a conversation of 10,000 rows.

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use plimsoll_agent::context::{
    Account, Counted, CutLimits, Digest, GateLimits, Moment, Rates, RowFacts, RowKind, Thoughts, Weight,
    plan_cut,
};
use plimsoll_units::Tokens;

const ROWS: u64 = 10_000;

fn rows() -> Vec<RowFacts> {
    (0..ROWS)
        .map(|n| RowFacts {
            id: format!("row-{n}"),
            kind: if n.is_multiple_of(2) {
                RowKind::User
            } else {
                RowKind::Answer
            },
            digest: Digest::of(&n.to_le_bytes()),
            weight: Weight::text(200 + n % 1_000),
            calls: 0,
            results: Vec::new(),
        })
        .collect()
}

fn account(rows: &[RowFacts]) -> Account {
    let mut account = Account::new();
    account.set_route("r", Thoughts::Never, Rates::default());
    account.set_rows(rows);
    let sent = account.sent();
    account.answered(&sent, Counted::new(Some(Tokens(1_750_000)), Some(Tokens(100))), 0);
    account
}

fn long_conversation(c: &mut Criterion) {
    let rows = rows();
    let limits = GateLimits {
        window: Some(Tokens(4_000_000)),
        reserve: Tokens(8_192),
        ..GateLimits::default()
    };
    let mut live = account(&rows);
    c.bench_function("a reading of 10,000 rows", |b| {
        b.iter(|| black_box(&live).reading(1));
    });
    c.bench_function("a gate of 10,000 rows", |b| {
        b.iter(|| live.gate(Moment::BeforeCall, black_box(&limits), 1));
    });
    c.bench_function("10,000 rows looked through for a change", |b| {
        b.iter(|| live.set_rows(black_box(&rows)));
    });
    c.bench_function("a row more after 10,000", |b| {
        b.iter_batched_ref(
            || account(&rows),
            |account| {
                account.add_row(black_box(&rows[3]));
                account.reading(1)
            },
            criterion::BatchSize::LargeInput,
        );
    });
    let cut = CutLimits {
        head: 500,
        window: Tokens(65_536),
        threshold: Tokens(40_000),
        reserve: Tokens(4_096),
        thoughts: Thoughts::Never,
    };
    c.bench_function("a plan of what to cut from 10,000 rows", |b| {
        b.iter(|| plan_cut(black_box(&rows), live.rates(), cut));
    });
}

criterion_group!(benches, long_conversation);
criterion_main!(benches);
