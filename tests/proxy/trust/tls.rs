//! TLS towards clients and towards servers, with openssl and curl as the other side.

use crate::cli::{VLLM, command, scripted};
use crate::support::dns::{Dns, Says, local};
use crate::support::proxy::Proxy;
use isogloss_testing::scripted::PATIENCE;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::net::TcpListener;

/// Runs a program that a machine may lack; `None` where it does.
fn tool(program: &str, folder: &Path, arguments: &str) -> Option<std::process::Output> {
    let mut command = Command::new(program);
    let ran = command
        .args(arguments.split_whitespace())
        .current_dir(folder);
    match ran.stdin(Stdio::null()).output() {
        Ok(output) => Some(output),
        Err(_) => {
            println!("skipped: {program} is not installed");
            None
        }
    }
}

/// An authority, and certificates of it for a server and a client.
pub(super) fn certificates(folder: &Path) -> Option<()> {
    let make = |arguments: &str| {
        let output = tool("openssl", folder, arguments)?;
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{arguments}: {said}");
        Some(())
    };
    let key = "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2";
    for authority in ["ca", "other"] {
        make(&format!(
            "req -x509 {key} -subj /CN={authority} -keyout {authority}.key -out {authority}.pem"
        ))?;
    }
    std::fs::write(
        folder.join("san"),
        "subjectAltName=IP:127.0.0.1,DNS:localhost,DNS:pods.test\n",
    )
    .unwrap();
    for (name, authority) in [
        ("server", "ca"),
        ("second", "ca"),
        ("client", "ca"),
        ("stranger", "other"),
    ] {
        make(&format!(
            "req {key} -subj /CN={name} -keyout {name}.key -out {name}.csr"
        ))?;
        make(&format!(
            "x509 -req -in {name}.csr -CA {authority}.pem -CAkey {authority}.key -CAcreateserial -days 2 -extfile san -out {name}.pem"
        ))?;
    }
    Some(())
}

/// A proxy, where it listens for clients, and where for operators.
pub(super) struct Running(Child, pub(super) String, pub(super) String);

impl Drop for Running {
    fn drop(&mut self) {
        let _gone = self.0.kill();
        let _reaped = self.0.wait();
    }
}

pub(super) fn serve(folder: &Path, upstream: &str, more: &[&str]) -> Running {
    let mut command = command(&["serve", "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0"]);
    if !upstream.is_empty() {
        command.args(["--upstream", upstream]);
    }
    let mut child = command
        .args(more)
        .current_dir(folder)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let first = lines.next().expect("it serves").unwrap();
    let mut urls = first.split_whitespace().filter(|word| word.contains("://"));
    let mut url = || urls.next().unwrap().trim_end_matches(',').to_owned();
    let (url, admin) = (url(), url());
    assert!(lines.any(|line| line.unwrap().contains("base_url")));
    Running(child, url, admin)
}

/// What curl gets of the models' list: its exit code, the version of HTTP and the status.
fn curl(folder: &Path, url: &str, more: &str) -> Option<(i32, String)> {
    let arguments = format!(
        "-s -o out -w %{{http_version}}/%{{http_code}} --max-time 20 {more} {url}/v1/models"
    );
    let output = tool("curl", folder, &arguments)?;
    let said = String::from_utf8(output.stdout).unwrap();
    Some((output.status.code().unwrap(), said))
}

pub(super) const TLS: [&str; 4] = ["--tls-cert", "server.pem", "--tls-key", "server.key"];

#[test]
fn clients_are_served_in_tls_with_both_versions_of_http_and_in_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let Some(()) = certificates(folder) else {
        return;
    };
    let running = serve(folder, &scripted(VLLM), &TLS);
    let url = &running.1;
    assert!(url.starts_with("https://"), "{url}");
    let Some(second) = curl(folder, url, "--http2 --cacert ca.pem") else {
        return;
    };
    assert_eq!(second, (0, "2/200".to_owned()));
    let first = curl(folder, url, "--http1.1 --cacert ca.pem").unwrap();
    assert_eq!(first, (0, "1.1/200".to_owned()));
    assert_ne!(curl(folder, url, "--cacert other.pem").unwrap().0, 0);
    let plain = url.replace("https://", "http://");
    assert_ne!(curl(folder, &plain, "").unwrap().0, 0);
    // openssl agrees, and sees the protocol that was asked for.
    let address = url.trim_start_matches("https://");
    let seen = tool(
        "openssl",
        folder,
        &format!("s_client -connect {address} -CAfile ca.pem -verify_return_error -alpn http/1.1"),
    );
    let seen = String::from_utf8_lossy(&seen.unwrap().stdout).into_owned();
    assert!(seen.contains("ALPN protocol: http/1.1"), "{seen}");
    assert!(seen.contains("Verify return code: 0"), "{seen}");
}

#[test]
fn a_certificate_that_changes_is_read_again_and_a_broken_one_is_not_taken() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let Some(()) = certificates(folder) else {
        return;
    };
    let running = serve(folder, &scripted(VLLM), &TLS);
    let address = running.1.trim_start_matches("https://");
    let subject = || {
        let shown = tool(
            "openssl",
            folder,
            &format!("s_client -connect {address} -CAfile ca.pem"),
        )
        .unwrap();
        let shown = String::from_utf8_lossy(&shown.stdout).into_owned();
        let line = shown.lines().find(|line| line.starts_with("subject="));
        line.unwrap_or_else(|| panic!("{shown}")).replace(' ', "")
    };
    let until = |name: &str| {
        let patience = Instant::now() + Duration::from_secs(20);
        while subject() != format!("subject=CN={name}") {
            assert!(Instant::now() < patience, "{}", subject());
            std::thread::sleep(Duration::from_millis(200));
        }
    };
    until("server");
    std::fs::write(folder.join("server.pem"), "nothing").unwrap();
    std::thread::sleep(Duration::from_millis(1_500));
    until("server");
    for ending in ["pem", "key"] {
        std::fs::copy(
            folder.join(format!("second.{ending}")),
            folder.join(format!("server.{ending}")),
        )
        .unwrap();
    }
    until("second");
}

#[test]
fn clients_have_certificates_where_they_must() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let Some(()) = certificates(folder) else {
        return;
    };
    let more = [&TLS[..], &["--tls-client-ca", "ca.pem"]].concat();
    let running = serve(folder, &scripted(VLLM), &more);
    let url = &running.1;
    let Some(right) = curl(
        folder,
        url,
        "--cacert ca.pem --cert client.pem --key client.key",
    ) else {
        return;
    };
    assert_eq!(right.0, 0, "{right:?}");
    assert!(right.1.ends_with("/200"), "{right:?}");
    let none = curl(folder, url, "--cacert ca.pem").unwrap();
    assert_ne!(none.0, 0, "{none:?}");
    let stranger = curl(
        folder,
        url,
        "--cacert ca.pem --cert stranger.pem --key stranger.key",
    )
    .unwrap();
    assert_ne!(stranger.0, 0, "{stranger:?}");
    // Some builds of curl keep a certificate to themselves that is of another authority.
    let counted = || {
        let metrics = format!("-s --max-time 20 {}/metrics", running.2);
        let told = tool("curl", folder, &metrics).unwrap();
        let told = String::from_utf8(told.stdout).unwrap();
        let of = |why: &str| {
            let series = format!("isogloss_tls_handshakes_failed_total{{why=\"{why}\"}} ");
            let value = told.lines().find_map(|line| line.strip_prefix(&series));
            value.unwrap().parse::<u32>().unwrap()
        };
        of("no_certificate") + of("wrong_certificate")
    };
    let until = Instant::now() + Duration::from_secs(20);
    while counted() < 2 {
        assert!(Instant::now() < until, "{} are counted", counted());
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn a_server_is_reached_by_its_own_authority_with_our_certificate() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let Some(()) = certificates(folder) else {
        return;
    };
    let more = [&TLS[..], &["--tls-client-ca", "ca.pem"]].concat();
    let server = serve(folder, &scripted(VLLM), &more);
    let status = |tls: &str| {
        let text = format!("[[upstream]]\nurl = \"{}\"\n{tls}", server.1);
        std::fs::write(folder.join("isogloss.toml"), text).unwrap();
        let running = serve(folder, "", &["--config", "isogloss.toml"]);
        curl(folder, &running.1, "").map(|(_, said)| said)
    };
    let identity = |name: &str| {
        format!("client_cert_file = \"{name}.pem\"\nclient_key_file = \"{name}.key\"\n")
    };
    let ca = "ca_file = \"ca.pem\"\n";
    let Some(right) = status(&format!("{ca}{}", identity("client"))) else {
        return;
    };
    assert_eq!(right, "1.1/200");
    let untrusted = "an authority that is not trusted";
    for (wrong, why) in [
        (identity("client"), untrusted),
        (ca.to_owned(), ""),
        (format!("{ca}{}", identity("stranger")), ""),
        (
            format!("ca_file = \"other.pem\"\n{}", identity("client")),
            untrusted,
        ),
    ] {
        let said = status(&wrong).unwrap();
        assert!(said.starts_with("1.1/50"), "{wrong}: {said}");
        let body = std::fs::read_to_string(folder.join("out")).unwrap();
        assert!(body.contains(why), "{wrong}: {body}");
    }
}

#[test]
fn files_for_a_server_that_hold_something_else_are_mistakes() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let Some(()) = certificates(folder) else {
        return;
    };
    std::fs::write(folder.join("text"), "no certificate\n").unwrap();
    let check = |tls: &str| {
        let text = format!("[[upstream]]\nurl = \"https://127.0.0.1:1\"\n{tls}\n");
        std::fs::write(folder.join("isogloss.toml"), text).unwrap();
        let mut check = command(&["check", "--config", "isogloss.toml"]);
        let output = check.current_dir(folder).output().unwrap();
        let said = [output.stdout, output.stderr].concat();
        (output.status.success(), String::from_utf8(said).unwrap())
    };
    let pair = |cert: &str, key: &str| {
        format!("client_cert_file = \"{cert}\"\nclient_key_file = \"{key}\"")
    };
    let (is_right, said) = check(&format!(
        "ca_file = \"ca.pem\"\n{}",
        pair("client.pem", "client.key")
    ));
    assert!(is_right, "{said}");
    for (wrong, why) in [
        (
            "ca_file = \"text\"".to_owned(),
            "`text` holds no certificate",
        ),
        (pair("text", "client.key"), "`text` holds no certificate"),
        (pair("client.pem", "text"), "`text` holds no private key"),
        (pair("client.pem", "server.key"), "do not go together"),
    ] {
        let (is_right, said) = check(&wrong);
        assert!(!is_right && said.contains(why), "{wrong}: {said}");
    }
}

/// What is beyond the limit of streams of one connection would wait unseen.
#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_has_both_versions_of_http_is_asked_by_the_first() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let Some(()) = certificates(folder) else {
        return;
    };
    let chain = CertificateDer::from_pem_file(folder.join("server.pem")).unwrap();
    let key = PrivateKeyDer::from_pem_file(folder.join("server.key")).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider);
    let config = config.with_safe_default_protocol_versions().unwrap();
    let config = config.with_no_client_auth();
    let mut config = config.with_single_cert(vec![chain], key).unwrap();
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    let acceptor = tokio_rustls::TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let url = format!("https://{}", listener.local_addr().unwrap());
    let (told, mut agreed) = tokio::sync::mpsc::channel(16);
    let serving = tokio::spawn(async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            let Ok(stream) = acceptor.accept(stream).await else {
                continue;
            };
            let protocol = stream.get_ref().1.alpn_protocol().map(<[u8]>::to_vec);
            let _nobody_asks_more = told.try_send(protocol);
        }
    });
    let authority = std::fs::read(folder.join("ca.pem")).unwrap();
    let _proxy = Proxy::with(&[&url], |config| {
        config.upstreams[0].tls.ca = Some(authority);
    })
    .await;
    // It is looked at.
    let protocol = tokio::time::timeout(PATIENCE, agreed.recv()).await.unwrap();
    assert_ne!(protocol.unwrap().as_deref(), Some(&b"h2"[..]));
    serving.abort();
}

#[tokio::test(flavor = "multi_thread")]
async fn one_of_several_servers_of_a_name_is_known_by_that_name() {
    let dns = Dns::start().await;
    for name in ["pods.test", "others.test"] {
        dns.say(name, Says::Addresses(vec![local(1)]));
    }
    let resolver = dns.address;
    let tried = tokio::task::spawn_blocking(move || {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        certificates(folder)?;
        let server = serve(folder, &scripted(VLLM), &TLS);
        let port = server.1.rsplit(':').next().unwrap();
        let status = |name: &str| {
            let text = format!(
                "resolver = \"{resolver}\"\n[[upstream]]\nurl = \"https://{name}:{port}\"\n\
                 addresses = \"each\"\nca_file = \"ca.pem\"\n"
            );
            std::fs::write(folder.join("isogloss.toml"), text).unwrap();
            let running = serve(folder, "", &["--config", "isogloss.toml"]);
            curl(folder, &running.1, "").map(|(_, said)| said)
        };
        Some((status("pods.test")?, status("others.test")?))
    });
    let Some((right, wrong)) = tried.await.unwrap() else {
        return;
    };
    assert_eq!(right, "1.1/200");
    assert!(
        wrong.starts_with("1.1/50"),
        "the certificate is not of that name: {wrong}"
    );
}

#[test]
fn operators_are_served_in_tls_and_only_those_who_are_known_where_that_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let Some(()) = certificates(folder) else {
        return;
    };
    let known = "--cert client.pem --key client.key";
    // Who shows none, and who shows one of another authority.
    for (word, none, stranger) in [("yes", "200", "200"), ("mutual", "403", "000")] {
        let more = [
            &TLS[..],
            &["--tls-client-ca", "ca.pem", "--tls-admin", word],
        ]
        .concat();
        let running = serve(folder, &scripted(VLLM), &more);
        let admin = &running.2;
        assert!(admin.starts_with("https://"), "{admin}");
        let asked = |path: &str, more: &str| {
            let arguments = format!(
                "-s -o out -w %{{http_code}} --max-time 20 --cacert ca.pem {more} {admin}{path}"
            );
            let output = tool("curl", folder, &arguments)?;
            Some(String::from_utf8(output.stdout).unwrap())
        };
        let Some(alive) = asked("/livez", "") else {
            return;
        };
        assert_eq!(alive, "200");
        assert_eq!(asked("/metrics", "").unwrap(), none);
        assert_eq!(asked("/metrics", known).unwrap(), "200");
        let shown = asked("/metrics", "--cert stranger.pem --key stranger.key");
        assert_eq!(shown.unwrap(), stranger);
        let plain = curl(folder, &admin.replace("https", "http"), "").unwrap();
        assert_ne!(plain.0, 0, "{plain:?}");
        let address = admin.trim_start_matches("https://");
        for (tls, well) in [(&more[..], true), (&[][..], false)] {
            let healthy = command(&["healthcheck", "--live", "--admin", address])
                .args(tls)
                .current_dir(folder)
                .output()
                .unwrap();
            assert_eq!(healthy.status.success(), well, "{tls:?}: {healthy:?}");
        }
        let trust = ["--admin-ca-file", "ca.pem"];
        let shown = |name: &str| {
            let (cert, key) = (format!("{name}.pem"), format!("{name}.key"));
            [
                "--admin-client-cert-file".to_owned(),
                cert,
                "--admin-client-key-file".to_owned(),
                key,
            ]
        };
        let mutual = word == "mutual";
        for (trusted, shown, well) in [
            (true, Some(shown("client")), true),
            (true, Some(shown("stranger")), !mutual),
            (true, None, !mutual),
            (false, Some(shown("client")), false),
        ] {
            let top = command(&["top", "--once", "--admin", admin])
                .args(trust.iter().filter(|_| trusted))
                .args(shown.iter().flatten())
                .current_dir(folder)
                .output()
                .unwrap();
            assert_eq!(top.status.success(), well, "{word} {shown:?}: {top:?}");
        }
    }
}

#[test]
fn what_is_wrong_with_the_files_of_an_operator_is_told() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("none.pem"), "x").unwrap();
    for (arguments, told) in [
        (
            &["--admin-ca-file", "none.pem"][..],
            "none.pem holds no certificate",
        ),
        (
            &["--admin-ca-file", "missing.pem"],
            "--admin-ca-file: missing.pem cannot be read",
        ),
        (
            &["--admin-client-cert-file", "none.pem"],
            "--admin-client-key-file",
        ),
        (
            &[
                "--admin-client-cert-file",
                "none.pem",
                "--admin-client-key-file",
                "none.pem",
            ],
            "--admin-client-cert-file: ",
        ),
    ] {
        let top = command(&["top", "--once", "--admin", "https://127.0.0.1:1"])
            .args(arguments)
            .current_dir(folder.path())
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&top.stderr);
        assert_eq!(top.status.code(), Some(64), "{arguments:?}: {said}");
        assert!(said.contains(told), "{arguments:?}: {said}");
    }
}

#[test]
fn half_of_a_certificate_and_its_key_is_told() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("server.pem"), "x").unwrap();
    for (arguments, told) in [
        (&["--tls-cert", "server.pem"][..], "--tls-key too"),
        (
            &["--tls-client-ca", "server.pem"],
            "--tls-cert and --tls-key too",
        ),
        (&["--tls-admin", "yes"], "--tls-cert and --tls-key too"),
        (&["--tls-admin", "some"], "write no, yes or mutual"),
        (&["--tls-cert", "missing.pem"], "is no file"),
        (
            &["--tls-cert", "server.pem", "--tls-key", "server.pem"],
            "holds no",
        ),
    ] {
        let mut child = command(&["serve", "--upstream", "http://h", "--listen", "127.0.0.1:0"])
            .args(["--admin", "127.0.0.1:0"])
            .args(arguments)
            .current_dir(folder.path())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut said = String::new();
        child
            .stderr
            .take()
            .unwrap()
            .read_to_string(&mut said)
            .unwrap();
        assert_ne!(child.wait().unwrap().code(), Some(0));
        assert!(said.contains(told), "{arguments:?}: {said}");
    }
}
