use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use plimsoll_agent::{
    ChatModel, End, Limits, ModelError, Patience, Pieces, Refusal, Request, RouteModel, Transcript, Turn,
    TurnEvent, TurnFigures,
};
use plimsoll_testkit::provider::{Beat, Dialect, Provider, Reply, Speaks};
use plimsoll_units::{Bytes, Tokens, TokensPerSecond};
use serde_json::json;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::support::{client, limits, route};

const LLAMA: Speaks = Speaks::Chat(Dialect::LlamaServer);

fn model(url: &str, limits: Limits) -> RouteModel {
    RouteModel::new(client(), route(LLAMA, url), limits)
}

fn request() -> Request {
    let mut transcript = Transcript::new("Be brief.");
    transcript.user("How are you?");
    Request::new("m", transcript)
}

/// What a turn told: its text, its reasoning, and all of its ends.
#[derive(Default)]
struct Heard {
    text: String,
    reasoning: String,
    read: Vec<(u32, u32)>,
    waited: Vec<Duration>,
    ends: Vec<(End, TurnFigures)>,
}

async fn run_with(model: &dyn ChatModel, stop: &CancellationToken) -> Heard {
    run_patiently(model, Patience::NONE, stop).await
}

async fn run_patiently(model: &dyn ChatModel, patience: Patience, stop: &CancellationToken) -> Heard {
    let (out, mut events) = mpsc::channel(64);
    let listen = async {
        let mut heard = Heard::default();
        while let Some(event) = events.recv().await {
            assert!(heard.ends.is_empty(), "nothing comes after the end: {event:?}");
            match event {
                TurnEvent::Waiting { after, .. } => heard.waited.push(after),
                TurnEvent::Answered { .. } | TurnEvent::Results(_) => {}
                TurnEvent::PromptRead { done, total } => heard.read.push((done, total)),
                TurnEvent::Text(text) => heard.text += &text,
                TurnEvent::Reasoning(text) => heard.reasoning += &text,
                TurnEvent::End { end, figures } => heard.ends.push((end, figures)),
            }
        }
        heard
    };
    let turn = async {
        Turn::run(model, request(), patience, None, &out, stop).await;
        drop(out);
    };
    tokio::join!(listen, turn).0
}

async fn play(reply: Reply) -> Heard {
    let provider = Provider::start([reply]).await;
    run_with(&model(&provider.url(), limits()), &CancellationToken::new()).await
}

fn only_end(heard: &Heard) -> &(End, TurnFigures) {
    assert_eq!(heard.ends.len(), 1, "exactly one end");
    &heard.ends[0]
}

fn failure(heard: &Heard) -> String {
    if let End::Failed(error) = &only_end(heard).0 {
        error.to_string()
    } else {
        format!("{:?}", heard.ends)
    }
}

#[tokio::test]
async fn a_good_answer_streams_and_says_what_it_took() {
    let provider = Provider::start([Reply::words(&["Fine", ", ", "thanks"])]).await;
    let heard = run_with(&model(&provider.url(), limits()), &CancellationToken::new()).await;
    assert_eq!(heard.text, "Fine, thanks");
    assert_eq!(heard.read, [(0, 20), (20, 20)]);
    let (end, figures) = only_end(&heard);
    assert!(matches!(end, End::Complete), "{end:?}");
    assert_eq!(figures.usage.input, Some(Tokens(20)));
    assert_eq!(figures.usage.cached, Some(Tokens(4)));
    assert_eq!(figures.usage.output, Some(Tokens(3)));
    assert_eq!(figures.decode, TokensPerSecond::new(25.0));
    assert!(figures.first_token.is_some());
    assert_eq!(
        provider.only_request()["messages"],
        json!([{"role": "system", "content": "Be brief."}, {"role": "user", "content": "How are you?"}])
    );
}

#[tokio::test]
async fn thoughts_are_not_the_answer() {
    let heard = play(Reply::Stream(vec![
        Beat::Reasoning("they ask ".into()),
        Beat::Reasoning("how I am".into()),
        Beat::Text("Fine".into()),
        Beat::Finish("stop"),
        Beat::Done,
    ]))
    .await;
    assert_eq!(
        (heard.text.as_str(), heard.reasoning.as_str()),
        ("Fine", "they ask how I am")
    );
}

#[tokio::test]
async fn a_stream_that_counts_nothing_leaves_the_figures_unknown() {
    let heard = play(Reply::Stream(vec![
        Beat::Text("Hi".into()),
        Beat::Finish("stop"),
        Beat::NoUsage,
        Beat::Done,
    ]))
    .await;
    let (end, figures) = only_end(&heard);
    assert!(matches!(end, End::Complete));
    assert_eq!(
        (figures.usage.input, figures.usage.cached, figures.usage.output),
        (None, None, None)
    );
}

#[tokio::test]
async fn an_answer_at_the_limit_says_so() {
    let heard = play(Reply::Stream(vec![
        Beat::Text("Hi".into()),
        Beat::Finish("length"),
        Beat::Done,
    ]))
    .await;
    assert!(matches!(only_end(&heard).0, End::Length));
}

#[tokio::test]
async fn an_error_inside_a_good_stream_is_an_error() {
    let heard = play(Reply::Stream(vec![
        Beat::Text("Hi".into()),
        Beat::Error(json!({"code": 500, "message": "compute failed", "type": "server_error"})),
    ]))
    .await;
    assert_eq!(heard.text, "Hi", "what came before stays");
    assert_eq!(
        failure(&heard),
        "the model's server failed while answering: server_error: compute failed"
    );
}

#[tokio::test]
async fn a_request_that_does_not_fit_says_both_counts() {
    let heard = play(Reply::overflow(20_031, 4_096)).await;
    assert!(
        matches!(
            only_end(&heard).0,
            End::Failed(ModelError::Overflow {
                prompt: Tokens(20_031),
                window: Tokens(4_096)
            })
        ),
        "{:?}",
        heard.ends
    );
}

#[tokio::test]
async fn a_cut_answer_is_no_answer() {
    let cut = play(Reply::Stream(vec![Beat::Text("Hal".into()), Beat::Cut])).await;
    assert!(
        matches!(only_end(&cut).0, End::Failed(ModelError::Cut { .. })),
        "{:?}",
        cut.ends
    );
    let short = play(Reply::Stream(vec![Beat::Text("Hal".into())])).await;
    assert!(
        matches!(only_end(&short).0, End::Failed(ModelError::Cut { .. })),
        "{:?}",
        short.ends
    );
    assert_eq!(short.text, "Hal");
}

#[tokio::test]
async fn a_refusal_keeps_its_words_and_a_page_of_html_its_status() {
    let json = play(Reply::Refuse(
        503,
        json!({"error": {"code": 503, "message": "Loading model", "type": "unavailable_error"}}),
    ))
    .await;
    assert_eq!(
        failure(&json),
        "the model's server refused: 503 unavailable_error: Loading model"
    );
    let other = play(Reply::Refuse(502, json!("a".repeat(1 << 20)))).await;
    let failure = failure(&other);
    assert!(
        failure.contains("502") && failure.len() < 2_100,
        "a megabyte of reply is not carried along"
    );
}

#[tokio::test]
async fn a_wrong_key_is_a_refusal() {
    let provider = Provider::start_with_key([], "right").await;
    let heard = run_with(&model(&provider.url(), limits()), &CancellationToken::new()).await;
    assert!(
        matches!(
            only_end(&heard).0,
            End::Failed(ModelError::Refused {
                status: 401,
                why: Refusal::Key,
                ..
            })
        ),
        "{:?}",
        heard.ends
    );
}

#[tokio::test]
async fn the_key_is_sent_and_never_printed() {
    let provider = Provider::start_with_key([Reply::words(&["Hi"])], "sesame").await;
    let mut route = route(LLAMA, &format!("{}/", provider.url()));
    route.key = Some("sesame".into());
    assert!(!format!("{route:?}").contains("sesame"));
    let heard = run_with(
        &RouteModel::new(client(), route, limits()),
        &CancellationToken::new(),
    )
    .await;
    assert!(matches!(only_end(&heard).0, End::Complete), "{:?}", heard.ends);
}

#[tokio::test]
async fn stopping_closes_the_connection() {
    let provider = Provider::start([Reply::Stream(vec![Beat::Text("Onc".into()), Beat::Hang])]).await;
    let stop = CancellationToken::new();
    let model = model(&provider.url(), limits());
    let (out, mut events) = mpsc::channel(64);
    let press_stop = async {
        let mut ends = 0;
        while let Some(event) = events.recv().await {
            match event {
                TurnEvent::Text(_) => stop.cancel(),
                TurnEvent::End { end, figures } => {
                    assert!(matches!(end, End::Stopped), "{end:?}");
                    assert!(figures.first_token.is_some(), "what was known stays known");
                    assert_eq!(figures.usage.output, None);
                    ends += 1;
                }
                TurnEvent::PromptRead { .. }
                | TurnEvent::Reasoning(_)
                | TurnEvent::Waiting { .. }
                | TurnEvent::Answered { .. }
                | TurnEvent::Results(_) => {}
            }
        }
        ends
    };
    let turn = async {
        Turn::run(&model, request(), Patience::NONE, None, &out, &stop).await;
        drop(out);
    };
    assert_eq!(tokio::join!(press_stop, turn).0, 1);
    provider.left(1).await;
}

#[tokio::test]
async fn a_listener_that_goes_away_stops_the_turn() {
    let provider = Provider::start([Reply::Stream(vec![Beat::Text("Onc".into()), Beat::Hang])]).await;
    let model = model(&provider.url(), limits());
    let (out, mut events) = mpsc::channel(64);
    let leave = async move {
        events.recv().await.unwrap();
        drop(events);
    };
    let stop = CancellationToken::new();
    tokio::join!(
        leave,
        Turn::run(&model, request(), Patience::NONE, None, &out, &stop)
    );
    provider.left(1).await;
}

#[tokio::test]
async fn silence_ends_the_turn_and_comments_do_not_count_as_words() {
    let mut beats = vec![Beat::Text("Hi".into())];
    beats.extend(vec![Beat::Pause(Duration::from_millis(50)); 100]);
    beats.push(Beat::Hang);
    let provider = Provider::start([Reply::Stream(beats)]).await;
    let idle = Duration::from_millis(500);
    let heard = run_with(
        &model(&provider.url(), Limits { idle, ..limits() }),
        &CancellationToken::new(),
    )
    .await;
    assert!(
        matches!(only_end(&heard).0, End::Failed(ModelError::Silent { .. })),
        "{:?}",
        heard.ends
    );
}

#[tokio::test]
async fn a_long_prompt_is_no_silence_while_it_is_read() {
    let mut beats = Vec::new();
    for done in 0..10 {
        beats.push(Beat::Progress { done, total: 10 });
        beats.push(Beat::Pause(Duration::from_millis(150)));
    }
    beats.extend([Beat::Text("Hi".into()), Beat::Finish("stop"), Beat::Done]);
    let provider = Provider::start([Reply::Stream(beats)]).await;
    // 1.5 s in all, more than the limit; but something moves every 0.15 s.
    let idle = Duration::from_secs(1);
    let heard = run_with(
        &model(&provider.url(), Limits { idle, ..limits() }),
        &CancellationToken::new(),
    )
    .await;
    assert!(matches!(only_end(&heard).0, End::Complete), "{:?}", heard.ends);
}

#[tokio::test]
async fn a_line_without_end_is_refused_at_the_limit() {
    let mut beats = vec![Beat::Raw(b"data: {\"choices\":\"".to_vec())];
    beats.extend(vec![Beat::Raw(vec![b'x'; 1024]); 64]);
    let provider = Provider::start([Reply::Stream(beats)]).await;
    let piece = Bytes::kib(16);
    let heard = run_with(
        &model(&provider.url(), Limits { piece, ..limits() }),
        &CancellationToken::new(),
    )
    .await;
    assert!(
        matches!(only_end(&heard).0, End::Failed(ModelError::PieceTooLarge { limit }) if limit == piece),
        "{:?}",
        heard.ends
    );
}

#[tokio::test]
async fn an_answer_without_end_is_refused_at_the_limit() {
    let beats = vec![Beat::Text("x".repeat(1024)); 64];
    let provider = Provider::start([Reply::Stream(beats)]).await;
    let answer = Bytes::kib(16);
    let heard = run_with(
        &model(&provider.url(), Limits { answer, ..limits() }),
        &CancellationToken::new(),
    )
    .await;
    assert!(
        matches!(only_end(&heard).0, End::Failed(ModelError::AnswerTooLarge { .. })),
        "{:?}",
        heard.ends
    );
    assert!(heard.text.len() <= 16 * 1024);
}

#[tokio::test]
async fn what_is_not_a_chat_stream_is_told_apart() {
    let words = play(Reply::Stream(vec![Beat::Raw(b"data: hello\n\n".to_vec())])).await;
    assert!(
        matches!(only_end(&words).0, End::Failed(ModelError::Malformed { .. })),
        "{:?}",
        words.ends
    );
    let noise = play(Reply::Stream(vec![Beat::Raw(vec![0xff, 0xfe, b'\n', b'\n'])])).await;
    assert!(
        matches!(only_end(&noise).0, End::Failed(ModelError::NotText)),
        "{:?}",
        noise.ends
    );
}

#[tokio::test]
async fn text_that_is_split_inside_a_letter_arrives_whole() {
    let event =
        "data: {\"choices\":[{\"delta\":{\"content\":\"Grüße 🌊\"},\"finish_reason\":\"stop\"}]}\r\n\r\n";
    let beats = event.bytes().map(|byte| Beat::Raw(vec![byte])).collect();
    let heard = play(Reply::Stream(beats)).await;
    assert_eq!(heard.text, "Grüße 🌊");
    assert!(
        matches!(only_end(&heard).0, End::Complete),
        "a reason to finish is an end, said or not"
    );
}

#[tokio::test]
async fn nobody_there_is_told_at_once() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let heard = run_with(&model(&url, limits()), &CancellationToken::new()).await;
    assert!(
        matches!(only_end(&heard).0, End::Failed(ModelError::Unreachable { .. })),
        "{:?}",
        heard.ends
    );
}

#[tokio::test]
async fn a_defect_in_an_adapter_still_ends_the_turn() {
    struct Defective;
    impl ChatModel for Defective {
        fn answer(&self, _: Request) -> BoxFuture<'_, Result<Pieces, ModelError>> {
            async { panic!("a defect, on purpose") }.boxed()
        }
    }
    let heard = run_with(&Defective, &CancellationToken::new()).await;
    assert!(
        matches!(only_end(&heard).0, End::Failed(ModelError::Defect)),
        "{:?}",
        heard.ends
    );
}

fn busy(wait_ms: u64) -> Reply {
    Reply::RefuseWith(
        429,
        ("retry-after-ms", wait_ms.to_string()),
        json!({"error": {"message": "slow down", "type": "requests", "code": "rate_limit_exceeded"}}),
    )
}

#[tokio::test]
async fn a_busy_server_is_asked_again_after_its_own_wait_and_that_is_told() {
    let provider = Provider::start([busy(30), busy(20), Reply::words(&["Fine"])]).await;
    let model = model(&provider.url(), limits());
    let heard = run_patiently(&model, Patience::CLOUD, &CancellationToken::new()).await;
    assert_eq!(heard.text, "Fine");
    assert_eq!(heard.waited, [30, 20].map(Duration::from_millis));
    assert!(matches!(only_end(&heard).0, End::Complete), "{:?}", heard.ends);
    let bytes = provider.bytes();
    assert!(
        bytes.windows(2).all(|pair| pair[0] == pair[1]),
        "the same request"
    );
}

#[tokio::test]
async fn a_server_that_wants_more_patience_than_a_person_has_is_told_at_once() {
    let provider = Provider::start([busy(3_600_000)]).await;
    let model = model(&provider.url(), limits());
    let heard = run_patiently(&model, Patience::CLOUD, &CancellationToken::new()).await;
    assert!(heard.waited.is_empty());
    assert!(
        matches!(
            &only_end(&heard).0,
            End::Failed(ModelError::Refused { why: Refusal::Rate { wait: Some(wait) }, .. })
                if *wait == Duration::from_hours(1)
        ),
        "{:?}",
        heard.ends
    );
}

#[tokio::test]
async fn what_was_worked_on_is_never_sent_again() {
    let refused = Reply::Refuse(
        400,
        json!({"error": {"message": "no", "type": "invalid_request_error"}}),
    );
    let cut = Reply::Stream(vec![Beat::Text("Hal".into()), Beat::Cut]);
    let broken = Reply::Stream(vec![Beat::Error(json!({"code": 429, "message": "later"}))]);
    for reply in [refused, cut, broken] {
        let provider = Provider::start([reply]).await;
        let model = model(&provider.url(), limits());
        let heard = run_patiently(&model, Patience::CLOUD, &CancellationToken::new()).await;
        assert!(heard.waited.is_empty());
        assert!(matches!(only_end(&heard).0, End::Failed(_)), "{:?}", heard.ends);
    }
}
