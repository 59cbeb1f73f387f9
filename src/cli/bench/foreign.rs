//! Programs that a file names: how each is started in front of the scripted server, and what its clients have to say.

use super::super::Failure;
use super::program::Program;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Command, Stdio};

/// One program of the file, a JSON array of these.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Foreign {
    pub(super) name: String,
    /// With `{upstream}` (`http://127.0.0.1:8000`) and `{port}` where it is told them.
    command: Vec<String>,
    /// Where its `/v1` is.
    #[serde(default = "base")]
    base: String,
    /// What it calls the server's model.
    #[serde(default = "model")]
    model: String,
    /// Answers with 200 once it serves.
    #[serde(default = "ready")]
    ready: String,
    /// Of every request, with `{upstream}` in them.
    #[serde(default)]
    headers: BTreeMap<String, String>,
    /// It takes no port, and prints a line with its address instead.
    #[serde(default)]
    tells_address: bool,
}

fn base() -> String {
    "/v1".to_owned()
}

fn model() -> String {
    super::load::MODEL.to_owned()
}

fn ready() -> String {
    "/v1/models".to_owned()
}

/// Reads the file.
pub(super) fn read(path: &Path) -> Result<Vec<Foreign>, Failure> {
    let failed = |why: String| Failure::Config(format!("--peers {}: {why}", path.display()));
    let text = std::fs::read(path).map_err(|error| failed(error.to_string()))?;
    let all: Vec<Foreign> =
        serde_json::from_slice(&text).map_err(|error| failed(error.to_string()))?;
    match all.iter().find(|one| one.command.is_empty()) {
        Some(one) => Err(failed(format!("command of {} is empty", one.name))),
        None => Ok(all),
    }
}

impl Foreign {
    /// Starts it; whether it serves is for who waits.
    pub(super) fn start(&self, upstream: SocketAddr) -> Result<Program, Failure> {
        let address = super::peer::free_address()?;
        let upstream = format!("http://{upstream}");
        let filled = |text: &String| {
            text.replace("{upstream}", &upstream)
                .replace("{port}", &address.port().to_string())
        };
        let mut words = self.command.iter().map(filled);
        let mut command = Command::new(words.next().unwrap_or_default());
        command
            .args(words)
            .stderr(Stdio::null())
            .stdout(match self.tells_address {
                true => Stdio::piped(),
                false => Stdio::null(),
            });
        let mut program = Program::spawn(&self.name, &mut command, address.to_string())?;
        if self.tells_address {
            program.read_own_address()?;
        }
        let mut headers = http::HeaderMap::new();
        for (name, value) in &self.headers {
            let failed =
                |why: String| Failure::Config(format!("{}: header {name}: {why}", self.name));
            let name =
                http::HeaderName::try_from(name).map_err(|error| failed(error.to_string()))?;
            let value = http::HeaderValue::try_from(filled(value));
            headers.insert(name, value.map_err(|error| failed(error.to_string()))?);
        }
        program.serves(&self.base, &self.ready, &self.model, headers);
        Ok(program)
    }
}

#[cfg(test)]
mod tests {
    use super::super::upstream;
    use super::*;

    fn written(text: &str) -> Result<Vec<Foreign>, Failure> {
        let failed = |error: std::io::Error| Failure::Runtime(error.to_string());
        let file = tempfile::NamedTempFile::new().map_err(failed)?;
        std::fs::write(file.path(), text).map_err(failed)?;
        read(file.path())
    }

    #[test]
    fn a_file_that_is_wrong_says_what_is() {
        let cases = [
            (r#"[{"name": "x"}]"#, "missing field `command`"),
            (
                r#"[{"name": "x", "command": ["y"], "url": 1}]"#,
                "unknown field `url`",
            ),
            (r#"[{"name": "x", "command": []}]"#, "command of x is empty"),
            ("[", "EOF"),
        ];
        for (text, why) in cases {
            let told = written(text).map(|all| all.len());
            let told = told.err().map(|failure| failure.to_string());
            assert!(
                told.as_deref().is_some_and(|told| told.contains(why)),
                "{told:?}"
            );
        }
    }

    #[tokio::test]
    async fn a_program_is_told_the_server_and_its_port() -> Result<(), Failure> {
        let upstream = upstream::start().await?;
        let script = r#"test "$1" -gt 0 && echo starting && echo "$0/other/v1" && exec sleep 60"#;
        let file = serde_json::json!([{
            "name": "shell", "command": ["sh", "-c", script, "{upstream}", "{port}"], "base": "/v1",
            "headers": {"x-server": "{upstream}/v1"}, "tells_address": true,
        }]);
        let all = written(&file.to_string())?;
        let started = tokio::task::spawn_blocking(move || {
            all.iter()
                .map(|one| one.start(upstream.address))
                .collect::<Vec<_>>()
        });
        let failed = |error: tokio::task::JoinError| Failure::Runtime(error.to_string());
        for program in started.await.map_err(failed)? {
            let program = program?;
            let server = format!("http://{}/v1", upstream.address);
            assert_eq!(program.base_url, server);
            assert_eq!(program.headers["x-server"], server.as_str());
            program
                .wait_until_ready(&super::super::load::client()?)
                .await?;
        }
        Ok(())
    }
}
