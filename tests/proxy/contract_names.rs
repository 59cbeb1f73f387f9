//! DNS names that stand for several servers: who gets what while DNS changes its mind, falls silent, or fails, and what
//! a client sees of that. Which is nothing.

use crate::support::chat::{EVENTS, PLAIN, content, last, role, whole};
use crate::support::dns::{Dns, Says, at, local};
use crate::support::proxy::Proxy;
use isogloss::config::{Config, Name, UpstreamConfig};
use isogloss_testing::scripted::{Got, PATIENCE, Scripted, Step, chunk, end, head};
use std::net::Ipv4Addr;
use std::time::Duration;

const HOST: &str = "vllm.test";
const SERVICE: &str = "_http._tcp.vllm.test";

/// Servers at 127.0.0.2, 127.0.0.3, …, at the same port; each says its own number.
async fn servers<const N: usize>(
    script: impl Fn(u8, &Got) -> Vec<Step> + Clone + Send + Sync + 'static,
) -> [Scripted; N] {
    let mut all: Vec<Scripted> = Vec::new();
    for last in 2.. {
        if all.len() == N {
            break;
        }
        let port = all.first().map_or(0, |one| one.address.port());
        let script = script.clone();
        all.push(Scripted::start_at(at(last, port), move |got| script(last, got)).await);
    }
    all.try_into().unwrap_or_else(|_| unreachable!())
}

fn numbered(last: u8, _got: &Got) -> Vec<Step> {
    match last {
        2 => whole("2"),
        3 => whole("3"),
        _ => whole("4"),
    }
}

/// A proxy that asks this DNS server for all servers of a name.
async fn before(dns: &Dns, name: Name, port: u16, change: impl FnOnce(&mut Config)) -> Proxy {
    let url = format!("http://{HOST}:{port}");
    Proxy::with(&[&url], |config| {
        config.resolver = Some(dns.address);
        config.upstreams[0].servers = Some(name);
        // A busy machine is no reason to give up.
        config.timeouts.loading = PATIENCE;
        change(config);
    })
    .await
}

fn host() -> Name {
    Name::Addresses(HOST.to_owned())
}

async fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let so = async {
        while !is_so() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    assert!(
        tokio::time::timeout(3 * PATIENCE, so).await.is_ok(),
        "{what}"
    );
}

/// Waits until these are the servers that are used.
async fn until_used(proxy: &Proxy, lasts: &[u8]) {
    let wanted: Vec<String> = lasts
        .iter()
        .map(|last| format!("({})", local(*last)))
        .collect();
    until(&format!("not {lasts:?}"), || {
        let status = proxy.house.app().upstreams().status();
        status.len() == wanted.len()
            && status
                .iter()
                .zip(&wanted)
                .all(|(one, end)| one.url.ends_with(end) && one.state == "ready")
    })
    .await;
}

/// Asks so often; how often each server answered. Everything is answered.
async fn counts(proxy: &Proxy, times: usize) -> [usize; 3] {
    let mut counts = [0; 3];
    for _ in 0..times {
        let reply = proxy.chat(PLAIN).await.reply().await;
        assert_eq!(reply.status, 200, "{}", reply.text());
        let body = reply.json();
        let said = body["choices"][0]["message"]["content"].as_str().unwrap();
        counts[said.parse::<usize>().unwrap() - 2] += 1;
    }
    counts
}

/// Asks until each of these has answered, and nobody else.
async fn until_each_answers(proxy: &Proxy, lasts: &[u8]) {
    let mut left = lasts.to_vec();
    let asked = async {
        while !left.is_empty() {
            // Together: of requests that come one by one the quickest server gets all.
            let ask = || counts(proxy, 3);
            let (one, two, three, four) = tokio::join!(ask(), ask(), ask(), ask());
            for (at, last) in (2..).enumerate().take(3) {
                let count: usize = [one, two, three, four].iter().map(|all| all[at]).sum();
                assert!(count == 0 || lasts.contains(&last), "{last} is asked");
                left.retain(|it| *it != last || count == 0);
            }
        }
    };
    let asked = tokio::time::timeout(3 * PATIENCE, asked).await;
    assert!(asked.is_ok(), "{left:?} of {lasts:?} get nothing");
}

fn all(lasts: &[u8]) -> Says {
    Says::Addresses(lasts.iter().copied().map(local).collect::<Vec<Ipv4Addr>>())
}

#[tokio::test]
async fn each_address_of_a_name_is_a_server_while_dns_says_so_and_streams_end_where_they_began() {
    let begun = role() + &content("so ");
    let mut servers: [Scripted; 3] = servers(move |last_number, got| {
        if isogloss_testing::scripted::find(&got.body, b"\"stream\":true").is_none() {
            return numbered(last_number, got);
        }
        vec![
            head(EVENTS),
            chunk(&begun),
            Step::WaitForGo,
            chunk(&(content("on") + &last())),
            end(),
        ]
    })
    .await;
    let dns = Dns::start().await;
    dns.say(HOST, all(&[3, 2]));
    let proxy = before(&dns, host(), servers[0].address.port(), |_| {}).await;
    // The first request may come before the first answer of DNS does.
    let early = proxy.chat(PLAIN).await.reply().await;
    assert_eq!(early.status, 200, "{}", early.text());
    until_used(&proxy, &[2, 3]).await;
    until_each_answers(&proxy, &[2, 3]).await;
    proxy
        .until_metrics_say("isogloss_dns_servers{name=\"vllm.test\"} 2")
        .await;
    let streamed = PLAIN.replacen('{', r#"{"stream":true,"#, 1);
    let mut streams = Vec::new();
    for _ in 0..8 {
        let mut stream = proxy.chat(&streamed).await;
        stream.until("so ").await;
        streams.push(stream);
    }
    // Who asks all the time sees nothing of what follows.
    dns.say(HOST, all(&[3, 4]));
    until("4 is not asked", || {
        let status = proxy.house.app().upstreams().status();
        status.iter().any(|one| one.url.ends_with("(127.0.0.4)"))
    })
    .await;
    while servers[0].left() > 0 {
        servers[0].next().await;
    }
    until_used(&proxy, &[3, 4]).await;
    until_each_answers(&proxy, &[3, 4]).await;
    assert_eq!(servers[0].left(), 0, "who went gets nothing new");
    for server in &servers {
        server.go();
    }
    for _ in 0..8 {
        servers.iter().for_each(Scripted::go);
    }
    for mut stream in streams {
        let rest = String::from_utf8(stream.until("[DONE]").await).unwrap();
        assert!(rest.contains("on"), "{rest}");
    }
}

#[tokio::test]
async fn who_asks_while_servers_come_and_go_never_sees_an_error() {
    let servers: [Scripted; 3] = servers(numbered).await;
    let dns = Dns::start().await;
    dns.say(HOST, all(&[2]));
    let proxy = before(&dns, host(), servers[0].address.port(), |_| {}).await;
    until_used(&proxy, &[2]).await;
    let proxy = std::sync::Arc::new(proxy);
    let (stop, stopped) = tokio::sync::watch::channel(false);
    let clients: Vec<_> = (0..4)
        .map(|_| {
            let (proxy, stopped) = (std::sync::Arc::clone(&proxy), stopped.clone());
            tokio::spawn(async move {
                let mut asked = 0;
                while !*stopped.borrow() {
                    asked += counts(&proxy, 5).await.iter().sum::<usize>();
                }
                asked
            })
        })
        .collect();
    // One comes; all go and others are there; one is left.
    for lasts in [&[2, 3][..], &[4], &[3, 4], &[3]] {
        dns.say(HOST, all(lasts));
        until_used(&proxy, lasts).await;
    }
    stop.send(true).unwrap();
    for client in clients {
        assert!(client.await.unwrap() > 0, "somebody saw an error");
    }
}

#[tokio::test]
async fn without_an_answer_the_last_one_holds_and_operators_are_told() {
    let servers: [Scripted; 2] = servers(numbered).await;
    let dns = Dns::start().await;
    dns.say(HOST, all(&[2, 3]));
    let proxy = before(&dns, host(), servers[0].address.port(), |_| {}).await;
    until_used(&proxy, &[2, 3]).await;
    for (says, outcome, why) in [
        (Says::Nothing, "empty", "DNS knows no server of this name"),
        (
            Says::Addresses(Vec::new()),
            "empty",
            "DNS knows no server of this name",
        ),
        (
            Says::Fails,
            "failed",
            "the DNS server failed, or none is known",
        ),
    ] {
        dns.say(HOST, says);
        until(outcome, || {
            let known = proxy.house.names();
            known[0].trouble.is_some_and(|it| it.to_string() == why)
        })
        .await;
        assert_eq!(proxy.house.names()[0].servers, 2);
        proxy
            .until_metrics_say("isogloss_dns_stale{name=\"vllm.test\"} 1")
            .await;
        proxy
            .until_metrics_say(&format!(
                "isogloss_dns_lookups_total{{outcome=\"{outcome}\"}}"
            ))
            .await;
        until_each_answers(&proxy, &[2, 3]).await;
    }
    dns.say(HOST, all(&[3]));
    until_used(&proxy, &[3]).await;
    proxy
        .until_metrics_say("isogloss_dns_stale{name=\"vllm.test\"} 0")
        .await;
}

#[tokio::test]
async fn a_resolver_that_hangs_holds_up_nobody() {
    let servers: [Scripted; 1] = servers(numbered).await;
    let dns = Dns::start().await;
    dns.say(HOST, Says::Hangs);
    let proxy = before(&dns, host(), servers[0].address.port(), |config| {
        config.timeouts.loading = Duration::from_millis(200);
        config.timeouts.connect = Duration::from_millis(100);
    })
    .await;
    let refused = proxy.chat(PLAIN).await.reply().await;
    assert!(matches!(refused.status, 502 | 503), "{}", refused.text());
    until("it is not down", || {
        let status = proxy.house.app().upstreams().status();
        status[0]
            .reason
            .as_deref()
            .is_some_and(|why| why.contains("name"))
    })
    .await;
    // Another configuration is put in force meanwhile.
    let app = proxy.house.app();
    let renewed = proxy.house.renew(
        Config {
            upstreams: vec![UpstreamConfig::at(servers[0].url().parse().unwrap())],
            ..app.config().clone()
        },
        app.rules(),
    );
    assert_eq!(
        tokio::time::timeout(PATIENCE, renewed)
            .await
            .unwrap()
            .unwrap()
            .upstreams,
        1
    );
    assert_eq!(proxy.house.names(), []);
    assert_eq!(counts(&proxy, 1).await, [1, 0, 0]);
}

#[tokio::test]
async fn services_say_ports_weights_and_who_is_asked_first() {
    let mut first = Scripted::start(|got| numbered(2, got)).await;
    let second = Scripted::start(|got| numbered(3, got)).await;
    let spare = Scripted::start(|got| numbered(4, got)).await;
    let dns = Dns::start().await;
    dns.say("pod.vllm.test", all(&[1]));
    let port = |server: &Scripted| server.address.port();
    let (one, two, three) = (port(&first), port(&second), port(&spare));
    dns.say(
        SERVICE,
        Says::Services(vec![
            (10, 90, one, "pod.vllm.test"),
            (10, 10, two, "pod.vllm.test"),
            (20, 1, three, "pod.vllm.test"),
            (10, 1, three, "gone.vllm.test"),
        ]),
    );
    let name = Name::Service(SERVICE.to_owned());
    let proxy = before(&dns, name, 1, |_| {}).await;
    until_used(&proxy, &[1, 1, 1]).await;
    let [more, less, none] = counts(&proxy, 60).await;
    assert!(more > less && none == 0, "{more} {less} {none}");
    let host = first.next().await.header("host").map(str::to_owned);
    assert_eq!(host, Some(format!("{HOST}:{one}")), "the name stays");
    // Who is asked last is asked when nobody else is there.
    first.stop().await;
    second.stop().await;
    until("who is gone is not down", || {
        proxy.house.app().upstreams().iter().next().unwrap().doubt();
        let status = proxy.house.app().upstreams().status();
        status.iter().filter(|one| one.state == "down").count() > 0
    })
    .await;
    assert_eq!(counts(&proxy, 5).await, [0, 0, 5]);
}

#[tokio::test(flavor = "multi_thread")]
async fn check_warns_of_each_name_that_nobody_knows_and_of_no_other() {
    let dns = Dns::start().await;
    dns.say(HOST, all(&[2]));
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("isogloss.toml");
    let text = format!(
        "resolver = \"{}\"\n\
         [[upstream]]\nurl = \"http://{HOST}\"\naddresses = \"each\"\n\
         [[upstream]]\nurl = \"http://gone.test\"\naddresses = \"each\"\n\
         [[upstream]]\nsrv = \"_http._tcp.broken.test\"\n\
         [[upstream]]\nurls = [\"http://localhost:1\", \"http://127.0.0.1:2\"]\n\
         [[upstream]]\nurl = \"http://nobody.invalid:8000\"\n",
        dns.address
    );
    dns.say("_http._tcp.broken.test", Says::Fails);
    std::fs::write(&file, text).unwrap();
    let checked = tokio::task::spawn_blocking(move || {
        crate::cli::run(&["check", "--config", file.to_str().unwrap()])
    });
    let ran = checked.await.unwrap();
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(ran.out.starts_with("OK: "), "{}", ran.out);
    let warned: Vec<&str> = ran.err.lines().collect();
    assert_eq!(warned.len(), 3, "{}", ran.err);
    for (line, begins) in warned.iter().zip([
        "warning: `nobody.invalid` (upstream.url): ",
        "warning: `gone.test` (upstream.addresses): DNS knows no server of this name; ",
        "warning: `_http._tcp.broken.test` (upstream.srv): the DNS server failed, or none is known; ",
    ]) {
        assert!(line.starts_with(begins), "{line}");
    }
}
