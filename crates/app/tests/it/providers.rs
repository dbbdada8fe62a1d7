//! Answers from elsewhere, through the app's front door.

use std::time::Duration;

use plimsoll_app::{App, Config};
use plimsoll_os::Environment;
use plimsoll_testkit::provider::{Beat, Dialect, Provider, Reply, Speaks};
use plimsoll_wire::{
    ChatEnd, ChooseProviderModels, CreateConversation, Event, FaultCode, KeyFrom, KeyPlace,
    ListProviderModels, ListProviders, OpenConversation, ProviderProtocol, ReadLosses, RemoveProvider,
    SaveProvider, SetProviderKey, StartTurn,
};
use serde_json::json;

pub(crate) async fn app(home: &std::path::Path, more: &[(&str, &str)]) -> std::sync::Arc<App> {
    let mut pairs = vec![
        ("HOME", home.to_str().unwrap()),
        ("PLIMSOLL_HOME", home.to_str().unwrap()),
        ("PLIMSOLL_KEYRING", "off"),
    ];
    pairs.extend(more);
    let config = Config::from(&Environment::from_pairs(pairs)).unwrap();
    App::start(config).await.unwrap()
}

/// The id of an endpoint of one's own at this fake, with its key set.
pub(crate) async fn endpoint(
    app: &std::sync::Arc<App>,
    provider: &Provider,
    protocol: ProviderProtocol,
) -> String {
    let saved = app
        .ask(SaveProvider {
            id: None,
            name: "Mine".into(),
            base_url: format!("{}/v1/", provider.url()),
            protocol,
        })
        .await
        .unwrap();
    let id = saved.providers.last().unwrap().id.clone();
    app.ask(SetProviderKey {
        id: id.clone(),
        key: "sesame".into(),
    })
    .await
    .unwrap();
    id
}

async fn turn(app: &std::sync::Arc<App>, conversation: &str, text: &str, model: &str) -> Vec<Event> {
    let mut heard = app.hear();
    app.ask(StartTurn {
        conversation: conversation.into(),
        text: text.into(),
        model: Some(model.into()),
        instead: None,
    })
    .await
    .unwrap();
    let mut events = Vec::new();
    loop {
        let event = tokio::time::timeout(Duration::from_secs(20), heard.next())
            .await
            .unwrap()
            .unwrap();
        let last = matches!(event, Event::TurnEnded { .. });
        events.push(event);
        if last {
            return events;
        }
    }
}

#[tokio::test]
async fn an_endpoint_of_ones_own_is_three_fields_a_test_and_answers() {
    let home = tempfile::tempdir().unwrap();
    let app = app(home.path(), &[]).await;
    let speaks = Speaks::Chat(Dialect::OpenAi);
    let provider = Provider::start_with(
        speaks,
        [Reply::words(&["Deep."]), Reply::words(&["Wide."])],
        Some("sesame".into()),
    )
    .await;
    let id = endpoint(&app, &provider, ProviderProtocol::OpenaiChat).await;
    assert_eq!(
        app.ask(ListProviderModels { id: id.clone() })
            .await
            .unwrap()
            .models,
        ["m"]
    );
    let chosen = app
        .ask(ChooseProviderModels {
            id: id.clone(),
            models: vec!["m".into(), "m".into()],
        })
        .await
        .unwrap();
    let entry = chosen.providers.iter().find(|one| one.id == id).unwrap();
    assert_eq!((entry.key, chosen.keys_in), (KeyFrom::Memory, KeyPlace::Memory));
    assert_eq!(entry.models.len(), 1);
    let model = entry.models[0].id.clone();
    assert_eq!(model, format!("@{id}/m"));

    let conversation = app
        .ask(CreateConversation {
            model: None,
            settings: None,
        })
        .await
        .unwrap()
        .summary
        .id;
    let events = turn(&app, &conversation, "How deep?", &model).await;
    let Some(Event::TurnEnded {
        end: ChatEnd::Complete,
        stats: Some(stats),
        ..
    }) = events.last()
    else {
        panic!("{events:?}")
    };
    assert_eq!(
        (stats.route.as_str(), stats.model.as_str()),
        (id.as_str(), model.as_str())
    );
    assert_eq!((stats.prompt_tokens, stats.cached_tokens), (Some(20), Some(4)));
    assert_eq!(stats.cost, None, "no price is known");
    // The conversation goes on there by itself, with what was said.
    let opened = app
        .ask(OpenConversation {
            id: conversation.clone(),
        })
        .await
        .unwrap();
    assert_eq!(opened.summary.model.as_deref(), Some(model.as_str()));
    turn(&app, &conversation, "How wide?", &model).await;
    assert_eq!(
        provider.requests()[1]["messages"][2],
        json!({"role": "assistant", "content": "Deep."})
    );

    let gone = app.ask(RemoveProvider { id: id.clone() }).await.unwrap();
    assert!(gone.providers.iter().all(|one| one.id != id));
    app.end().await;
}

#[tokio::test]
async fn a_busy_provider_is_waited_for_and_the_page_hears_it() {
    let home = tempfile::tempdir().unwrap();
    let app = app(home.path(), &[]).await;
    let busy = Reply::RefuseWith(
        429,
        ("retry-after-ms", "40".into()),
        json!({"type": "error", "error": {"type": "rate_limit_error", "message": "slow down"}}),
    );
    let provider = Provider::start_with(
        Speaks::Messages,
        [busy, Reply::words(&["Yes."])],
        Some("sesame".into()),
    )
    .await;
    let id = endpoint(&app, &provider, ProviderProtocol::AnthropicMessages).await;
    let conversation = app
        .ask(CreateConversation {
            model: None,
            settings: None,
        })
        .await
        .unwrap()
        .summary
        .id;
    let events = turn(&app, &conversation, "Well?", &format!("@{id}/m")).await;
    let waited = events.iter().any(|event| {
        matches!(event, Event::TurnWaiting { after_ms: 40, fault, .. } if fault.code == FaultCode::RouteRate)
    });
    assert!(waited, "{events:?}");
    assert!(matches!(
        events.last(),
        Some(Event::TurnEnded {
            end: ChatEnd::Complete,
            ..
        })
    ));
    app.end().await;
}

#[tokio::test]
async fn thoughts_are_sealed_kept_and_brought_back_over_a_restart() {
    let home = tempfile::tempdir().unwrap();
    let first = app(home.path(), &[("ANTHROPIC_API_KEY", "sesame")]).await;
    let thinking = Reply::Stream(
        [
            Beat::Thought {
                text: "Rocks, mostly.".into(),
                seal: "sealed-1".into(),
            },
            Beat::Text("Rocks.".into()),
        ]
        .into_iter()
        .chain(Reply::ending("stop", 20, 4, 5))
        .collect(),
    );
    let provider = Provider::start_with(Speaks::Messages, [thinking], Some("sesame".into())).await;
    let id = endpoint(&first, &provider, ProviderProtocol::AnthropicMessages).await;
    let conversation = first
        .ask(CreateConversation {
            model: None,
            settings: None,
        })
        .await
        .unwrap()
        .summary
        .id;
    let model = format!("@{id}/m");
    turn(&first, &conversation, "What is down there?", &model).await;
    first.end().await;
    drop(first);
    let second = app(home.path(), &[("ANTHROPIC_API_KEY", "sesame")]).await;
    // The seal is that model's alone; another one is told to lose it.
    let losses = |model: &str| ReadLosses {
        conversation: conversation.clone(),
        model: model.to_owned(),
    };
    assert_eq!(second.ask(losses(&model)).await.unwrap().thoughts, 0);
    let elsewhere = second.ask(losses("@anthropic/claude-haiku-4-5")).await.unwrap();
    assert_eq!((elsewhere.thoughts, elsewhere.leaves), (1, true));
    let here = second.ask(losses("smollm2-135m:Q4_1")).await.unwrap();
    assert_eq!((here.thoughts, here.leaves), (1, false));
    second.end().await;
}

#[tokio::test]
async fn a_cloud_without_a_key_is_told_before_anything_is_sent() {
    let home = tempfile::tempdir().unwrap();
    let app = app(home.path(), &[("GROQ_API_KEY", "gsk_x")]).await;
    let listed = app.ask(ListProviders {}).await.unwrap();
    let key_of = |id: &str| listed.providers.iter().find(|one| one.id == id).unwrap().key;
    assert_eq!(
        (key_of("groq"), key_of("openai")),
        (KeyFrom::Environment, KeyFrom::Nowhere)
    );
    let conversation = app
        .ask(CreateConversation {
            model: None,
            settings: None,
        })
        .await
        .unwrap()
        .summary
        .id;
    let events = turn(&app, &conversation, "Hello?", "@openai/gpt-5").await;
    let Some(Event::TurnEnded {
        end: ChatEnd::Failed,
        fault: Some(fault),
        ..
    }) = events.last()
    else {
        panic!("{events:?}")
    };
    assert_eq!(fault.code, FaultCode::RouteKey);
    let refused = app
        .ask(SaveProvider {
            id: Some("openai".into()),
            name: "OpenAI".into(),
            base_url: "https://elsewhere.example.com/v1".into(),
            protocol: ProviderProtocol::OpenaiResponses,
        })
        .await
        .unwrap_err();
    assert_eq!(
        refused.code,
        FaultCode::BadRequest,
        "a key must not be led elsewhere"
    );
    let json = serde_json::to_string(&listed).unwrap();
    assert!(!json.contains("gsk_x"), "a key never travels");
    app.end().await;
}
