#![expect(clippy::unwrap_used, clippy::panic, reason = "tests")]

use super::*;
use isogloss_core::passage;
use tokio::io::DuplexStream;
use tokio::task::JoinHandle;

/// A connection to a proxy that answers every request with this event, and its client.
async fn connected() -> (WebSocketStream<DuplexStream>, JoinHandle<()>) {
    let (client, server) = tokio::io::duplex(1 << 16);
    let house = crate::proxy::tests::house();
    let app = house.app();
    let dialect = passage::client("/v1/responses").unwrap();
    let asking = Asking {
        uri: Uri::from_static("/v1/responses"),
        headers: HeaderMap::new(),
        client: dialect,
    };
    let talk = dialect.socket().unwrap().talk(1 << 20);
    let service = tower::service_fn(|request: Request<Full<Bytes>>| async move {
        assert_eq!(request.method(), Method::POST);
        let event = "data: {\"type\":\"response.completed\",\"response\":{\"id\":\"resp_1\"}}\n\n";
        let mut reply = Response::new(Full::new(Bytes::from(event)));
        let kind = HeaderValue::from_static("text/event-stream");
        reply.headers_mut().insert(CONTENT_TYPE, kind);
        Ok::<_, Infallible>(reply)
    });
    let connection = Connection::new(&app, asking, talk, server).await;
    let serving = tokio::spawn(connection.serve(move |_app| service));
    let client = WebSocketStream::from_raw_socket(client, Role::Client, None).await;
    (client, serving)
}

fn text(message: Message) -> String {
    match message {
        Message::Text(text) => text.to_string(),
        other => panic!("{other:?}"),
    }
}

#[tokio::test(start_paused = true)]
async fn a_client_that_answers_pings_is_kept_for_an_hour() {
    let (mut client, serving) = connected().await;
    let begun = Instant::now();
    let mut pings = 0;
    let last = loop {
        match client.next().await.unwrap().unwrap() {
            // The library answers when it is asked for the next one.
            Message::Ping(_) => pings += 1,
            message => break text(message),
        }
    };
    assert!(
        last.contains("websocket_connection_limit_reached"),
        "{last}"
    );
    assert_eq!(begun.elapsed().as_secs(), MAX_AGE.as_secs());
    assert!((118..=120).contains(&pings), "{pings}");
    assert!(matches!(
        client.next().await,
        Some(Ok(Message::Close(Some(_))))
    ));
    serving.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_client_that_answers_no_ping_is_given_up() {
    let (client, serving) = connected().await;
    let begun = Instant::now();
    serving.await.unwrap();
    assert_eq!(begun.elapsed(), 2 * PING);
    drop(client);
}

#[tokio::test]
async fn what_is_asked_is_answered() {
    let (mut client, serving) = connected().await;
    let create = "{\"type\":\"response.create\",\"model\":\"m\",\"input\":\"x\"}";
    client.send(Message::Text(create.into())).await.unwrap();
    let said = text(client.next().await.unwrap().unwrap());
    assert!(said.contains("\"resp_1\""), "{said}");
    client.close(None).await.unwrap();
    serving.await.unwrap();
}

#[test]
fn a_key_is_answered_as_the_standard_says() {
    let answer = |key: &'static str| accept(&HeaderValue::from_static(key));
    let wanted = HeaderValue::from_static("s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
    assert_eq!(answer("dGhlIHNhbXBsZSBub25jZQ=="), Some(wanted));
    for key in ["", "dGhlIHNhbXBsZQ==", "dGhlIHNhbXBsZSBub25jZQ", "?"] {
        assert_eq!(answer(key), None, "{key}");
    }
}

#[test]
fn a_request_has_the_headers_of_the_handshake_but_for_what_makes_it_one() {
    let mut headers = HeaderMap::new();
    for (name, value) in [
        ("authorization", "Bearer x"),
        ("host", "proxy"),
        ("connection", "upgrade"),
        ("upgrade", "websocket"),
        ("sec-websocket-key", "k"),
        ("sec-websocket-extensions", "permessage-deflate"),
        ("content-length", "0"),
        ("x-own", "1"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    let carried = carried(&headers);
    let mut names: Vec<_> = carried.keys().map(HeaderName::as_str).collect();
    names.sort_unstable();
    assert_eq!(names, ["authorization", "content-type", "host", "x-own"]);
}
