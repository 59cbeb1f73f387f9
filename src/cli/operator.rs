//! Asks a running proxy's admin port as an operator does: a path in, JSON out.

use super::Failure;
use reqwest::Url;
use serde_json::Value;
use std::path::PathBuf;
use std::time::Duration;

/// What is asked for is in memory.
const PATIENCE: Duration = Duration::from_secs(10);

/// Where a proxy's admin port is.
#[derive(Debug, clap::Args)]
pub(super) struct AdminArgs {
    /// A running proxy's admin port, http://127.0.0.1:9090.
    #[arg(long, value_name = "URL")]
    pub(super) admin: Option<Url>,
    /// The file with the secret that the proxy was given as its --admin-token-file.
    #[arg(long, value_name = "FILE", env = "ISOGLOSS_ADMIN_TOKEN_FILE")]
    admin_token_file: Option<PathBuf>,
}

/// A proxy that is asked.
pub(super) struct Operator {
    base: Url,
    token: Option<String>,
    client: reqwest::Client,
}

impl Operator {
    /// The proxy that was named.
    ///
    /// # Errors
    /// The URL is none of an admin port, or the token cannot be read.
    pub(super) fn new(args: &AdminArgs, base: &Url) -> Result<Self, Failure> {
        if !matches!(base.scheme(), "http" | "https") || base.cannot_be_a_base() {
            let what =
                format!("--admin: `{base}` is no URL of an admin port: http://127.0.0.1:9090");
            return Err(Failure::Usage(what));
        }
        let token = match &args.admin_token_file {
            Some(path) => Some(std::fs::read_to_string(path).map_err(|error| {
                Failure::Usage(format!(
                    "--admin-token-file: {} cannot be read: {error}",
                    path.display()
                ))
            })?),
            None => None,
        };
        // An error only says that a provider is installed already.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = reqwest::Client::builder()
            .redirect(reqwest::redirect::Policy::none())
            .no_proxy()
            .timeout(PATIENCE)
            .build()
            .map_err(|error| {
                Failure::Runtime(format!("the HTTP client cannot be set up: {error}"))
            })?;
        Ok(Self {
            base: base.clone(),
            token: token.map(|token| token.trim().to_owned()),
            client,
        })
    }

    /// What stands at a path.
    ///
    /// # Errors
    /// It cannot be reached, or does not tell.
    pub(super) async fn get(&self, path: &str) -> Result<Value, Failure> {
        let url = format!("{}{path}", self.base.as_str().trim_end_matches('/'));
        let mut request = self.client.get(&url);
        if let Some(token) = &self.token {
            request = request.header("authorization", format!("Bearer {token}"));
        }
        let reply = request.send().await.map_err(|error| {
            Failure::Runtime(format!(
                "{url} cannot be reached: {}: is that the proxy's --admin?",
                cause(&error)
            ))
        })?;
        let status = reply.status();
        let text = reply.text().await.unwrap_or_default();
        let value: Option<Value> = serde_json::from_str(&text).ok();
        match value {
            Some(value) if status.is_success() => Ok(value),
            Some(value) => {
                let why = value["error"]["message"]
                    .as_str()
                    .unwrap_or("no reason is given");
                Err(Failure::Runtime(format!(
                    "{url} answers {}: {why}",
                    status.as_u16()
                )))
            }
            None => Err(Failure::Runtime(format!(
                "{url} answers {}: {}",
                status.as_u16(),
                text.trim_end().lines().next().unwrap_or_default()
            ))),
        }
    }
}

/// The deepest cause says it: connection refused, name not known.
fn cause(error: &reqwest::Error) -> String {
    let mut cause: &dyn std::error::Error = error;
    while let Some(next) = cause.source() {
        cause = next;
    }
    cause.to_string()
}
