//! Connections, and the file descriptors that they take.

use super::binary::Binary;
use super::{SHORT, ask, is_served};
use crate::support::chat::{JSON, PLAIN, completion};
use crate::support::proxy::{Proxy, post};
use isogloss_testing::scripted::{Got, Scripted, reply};
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

async fn server() -> Scripted {
    Scripted::start(|_got: &Got| vec![reply(200, JSON, &completion("hi"))]).await
}

#[tokio::test]
async fn silent_connections_keep_others_waiting_no_longer_than_a_head_may_take() {
    let upstream = server().await;
    let proxy = Proxy::with(&[&upstream.url()], |config| {
        config.limits.connections = 4;
        config.timeouts.header = SHORT;
    })
    .await;
    let begun = Instant::now();
    let mut silent = Vec::new();
    for index in 0..12 {
        // Some say nothing, some begin a head.
        let said = if index % 2 == 0 { "" } else { "POST /v1/chat" };
        silent.push(proxy.send(said).await);
    }
    is_served(&proxy).await;
    let elapsed = begun.elapsed();
    println!("behind 12 silent connections with room for 4, a request took {elapsed:?}");
    assert!(elapsed >= SHORT, "they had the room for as long");
    assert!(proxy.has_counted(r#"isogloss_limits_hit_total{limit="connections"}"#));
}

#[tokio::test]
async fn a_client_that_sends_far_too_much_before_it_reads_hears_that() {
    let upstream = server().await;
    let proxy = Proxy::with(&[&upstream.url()], |config| config.limits.body_bytes = 1000).await;
    // More than any socket takes before somebody reads.
    let body = "x".repeat(20 << 20);
    let announced = format!("content-length: {}", body.len());
    let chunked = format!("transfer-encoding: chunked\r\n\r\n{:x}", body.len());
    for (head, end) in [(&announced, ""), (&chunked, "\r\n0\r\n\r\n")] {
        let gap = if end.is_empty() { "\r\n\r\n" } else { "\r\n" };
        let head = format!("POST /v1/chat/completions HTTP/1.1\r\nhost: h\r\n{JSON}{head}{gap}");
        let mut client = TcpStream::connect(proxy.address).await.unwrap();
        for part in [head.as_bytes(), body.as_bytes(), end.as_bytes()] {
            client.write_all(part).await.unwrap();
        }
        let mut heard = String::new();
        client.read_to_string(&mut heard).await.unwrap();
        assert!(heard.starts_with("HTTP/1.1 413 "), "{heard}");
        assert!(heard.contains("limits.body_bytes"), "{heard}");
    }
}

#[tokio::test]
async fn one_client_may_be_kept_to_so_many_connections() {
    let upstream = server().await;
    let proxy = Proxy::with(&[&upstream.url()], |config| {
        config.limits.client_connections = 2;
    })
    .await;
    let mut kept = Vec::new();
    for _ in 0..2 {
        let mut client = proxy.chat(PLAIN).await;
        assert_eq!(client.reply().await.status, 200);
        kept.push(client);
    }
    let mut third = TcpStream::connect(proxy.address).await.unwrap();
    let read = tokio::time::timeout(Duration::from_secs(5), third.read(&mut [0])).await;
    assert!(!matches!(read, Ok(Ok(1..)) | Err(_)), "it is closed");
    // The two go on, and when one ends there is room for another.
    kept[0].send(post(super::CHAT, PLAIN)).await;
    assert_eq!(kept[0].reply().await.status, 200);
    kept.pop();
    let begun = Instant::now();
    loop {
        let mut client = TcpStream::connect(proxy.address).await.unwrap();
        let request = post(super::CHAT, PLAIN);
        let _ = tokio::io::AsyncWriteExt::write_all(&mut client, request.as_bytes()).await;
        if client.read(&mut [0; 12]).await.is_ok_and(|read| read > 0) {
            break;
        }
        assert!(begun.elapsed() < Duration::from_secs(5), "there is no room");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_file_descriptors_for_all_operators_and_servers_are_reached() {
    let upstream = server().await;
    let program = Binary::start(
        "ulimit -n 96; export ISOGLOSS_HEADER_TIMEOUT=1s;",
        &upstream.url(),
        &[],
    );
    let mut silent = Vec::new();
    for _ in 0..200 {
        silent.push(TcpStream::connect(program.address).await.unwrap());
    }
    tokio::time::sleep(SHORT).await;
    let open = program.metric("process_open_fds");
    println!("200 connections, 96 file descriptors: {open} are open");
    assert!(open < 96.0);
    assert!(program.tells("/livez").starts_with("HTTP/1.1 200"));
    assert!(program.tells("/readyz").starts_with("HTTP/1.1 200"));
    assert_eq!(program.metric("isogloss_upstream_up{upstream=\"0\"}"), 1.0);
    // Each of the silent ones has its second; then it is another's turn.
    drop(silent);
    let reply = ask(program.address, post(super::CHAT, PLAIN)).await;
    assert_eq!(reply.status, 200, "{}", reply.text());
    assert_eq!(program.metric("isogloss_upstream_up{upstream=\"0\"}"), 1.0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_soft_limit_of_open_files_is_raised_to_the_hard_one() {
    let upstream = server().await;
    let program = Binary::start("ulimit -S -n 50; ulimit -H -n 700;", &upstream.url(), &[]);
    assert_eq!(program.metric("process_max_fds"), 700.0);
}
