//! The real binary: the key that it makes lets in, strangers get no key lent, and no signal of habit ends it.

use crate::cli::{VLLM, command, finish, run, scripted, serving};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Command, Stdio};

/// The lines that it says until it serves, or everything where it does not.
fn started(command: &mut Command) -> (bool, String) {
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let is_serving = lines
        .map_while(Result::ok)
        .any(|line| line.contains("base_url"));
    let _gone = child.kill();
    let mut said = String::new();
    child
        .stderr
        .take()
        .unwrap()
        .read_to_string(&mut said)
        .unwrap();
    child.wait().unwrap();
    (is_serving, said)
}

/// A file is checked on another machine than it is served on, and what serving refuses is told there.
#[test]
fn what_serving_refuses_checking_refuses_too() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    std::fs::write(path("cert.pem"), "no certificate").unwrap();
    std::fs::write(path("key.pem"), "no key").unwrap();
    let (cert, key) = (path("cert.pem"), path("key.pem"));
    for (arguments, names) in [
        (
            vec!["--listen", "0.0.0.0:0", "--upstream", "http://127.0.0.1:1"],
            "isogloss key new",
        ),
        (vec!["--tls-cert", &cert, "--tls-key", &key], "cert.pem"),
    ] {
        let mut check = command(&["check"]);
        let ran = finish(check.args(&arguments).env("ISOGLOSS_UPSTREAM_API_KEY", "k"));
        assert_eq!(ran.code, 78, "{arguments:?}");
        assert!(ran.err.contains(names), "{}", ran.err);
    }
}

#[test]
fn strangers_get_no_key_lent_unless_the_operator_says_so() {
    let upstream = scripted(VLLM);
    let serve = |arguments: &[&str], key: &str| {
        let mut command = command(&["serve", "--admin", "127.0.0.1:0", "--upstream", &upstream]);
        started(
            command
                .args(arguments)
                .env("ISOGLOSS_UPSTREAM_API_KEY", key),
        )
    };
    let (is_serving, said) = serve(&["--listen", "0.0.0.0:0"], "k");
    assert!(!is_serving, "{said}");
    for remedy in ["isogloss key new", "127.0.0.1", "--open"] {
        assert!(said.contains(remedy), "{said}");
    }
    // Without a key to lend, it is told and goes on.
    let (is_serving, said) = serve(&["--listen", "0.0.0.0:0"], "");
    assert!(is_serving && said.contains("isogloss key new"), "{said}");
    for arguments in [
        &["--listen", "0.0.0.0:0", "--open"][..],
        &["--listen", "127.0.0.1:0"],
        &["--listen", "[::1]:0"],
    ] {
        let (is_serving, said) = serve(arguments, "k");
        assert!(
            is_serving && !said.contains("isogloss key new"),
            "{arguments:?}: {said}"
        );
    }
}

#[test]
fn the_key_that_is_made_lets_in_and_no_other_does() {
    let made = run(&["key", "new", "team"]);
    assert_eq!((made.code, made.err.as_str()), (0, ""));
    let key = made
        .out
        .lines()
        .find_map(|line| line.strip_prefix("# isg_"))
        .unwrap();
    assert_eq!(key.len(), 43, "{}", made.out);
    assert_ne!(run(&["key", "new", "team"]).out, made.out);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("isogloss.toml");
    let url = scripted(VLLM);
    let text = format!(
        "listen = \"127.0.0.1:0\"\nadmin = \"127.0.0.1:0\"\n{}[[upstream]]\nurl = \"{url}\"\n",
        made.out
    );
    std::fs::write(&file, text).unwrap();
    let mut child = command(&["serve", "--config", file.to_str().unwrap()])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let first = lines.next().unwrap().unwrap();
    let listen = first.split("http://").nth(1).unwrap();
    let listen = listen.split(',').next().unwrap().to_owned();
    let status = |key: &str| {
        let mut client = TcpStream::connect(&listen).unwrap();
        write!(
            client,
            "GET /v1/models HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {key}\r\nconnection: close\r\n\r\n"
        )
        .unwrap();
        let mut reply = String::new();
        client.read_to_string(&mut reply).unwrap();
        reply.split(' ').nth(1).unwrap().to_owned()
    };
    let right = status(&format!("isg_{key}"));
    let wrong = status("isg_wrong");
    let _gone = child.kill();
    child.wait().unwrap();
    assert_eq!((right.as_str(), wrong.as_str()), ("200", "401"));
}

#[test]
fn what_is_wrong_with_a_client_is_told_with_its_remedy() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("isogloss.toml");
    let hash = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    for (block, told) in [
        ("key_sha256 = \"x\"\nname = \"a\"", "isogloss key new"),
        ("name = \"a\"", "a client without a key_sha256"),
        (
            &format!("key_sha256 = \"{hash}\"\nname = \"a b\""),
            "no name of a client",
        ),
        ("key = \"secret-word\"", "does not belong into this file"),
        ("nam = \"a\"", "did you mean `name`?"),
        (
            &format!("key_sha256 = [\"{hash}\"]\nname = \"a\"\nupstreams = [\"http://other\"]"),
            "upstream is not configured",
        ),
        (
            &format!("key_sha256 = [\"{hash}\"]\nname = \"a\"\nupstreams = []"),
            "no upstream is named",
        ),
        (
            &format!("key_sha256 = \"{hash}\"\nname = \"a\"\nrequests_per_minute = 0"),
            "`0` is no count",
        ),
    ] {
        let text = format!("[[upstream]]\nurl = \"http://h\"\n[[client]]\n{block}\n");
        std::fs::write(&file, text).unwrap();
        let ran = run(&["check", "--config", file.to_str().unwrap()]);
        assert_eq!(ran.code, 78, "{block}");
        assert!(ran.err.contains(told), "{block}: {}", ran.err);
        assert!(!ran.err.contains("= \"secret-word"), "{}", ran.err);
    }
    let good = format!(
        "key_sha256 = \"{hash}\"\nname = \"a\"\nupstreams = [\"http://h/v1\"]\nmodels = [\"m\"]"
    );
    let text = format!(
        "forward = [\"/v1/files\"]\n[[upstream]]\nurl = \"http://h\"\n[[client]]\n{good}\n"
    );
    std::fs::write(&file, text).unwrap();
    let ran = finish(&mut command(&["check", "--config", file.to_str().unwrap()]));
    assert_eq!(ran.code, 0, "{}", ran.err);
}

#[test]
fn signals_that_mean_nothing_here_end_nothing() {
    let mut serving = serving(&scripted(VLLM));
    serving.eventually("/readyz", "HTTP/1.1 200 ");
    for name in ["-HUP", "-USR1", "-HUP"] {
        serving.signal(name);
    }
    std::thread::sleep(std::time::Duration::from_millis(200));
    serving.eventually("/readyz", "HTTP/1.1 200 ");
    assert!(serving.child.try_wait().unwrap().is_none());
    serving.signal("-TERM");
    assert_eq!(serving.ended().code(), Some(0));
}
