//! Asks a running proxy's admin port as an operator does: a path in, JSON out.

use super::Failure;
use reqwest::{Certificate, ClientBuilder, Identity, Url};
use serde_json::Value;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// What is asked for is in memory.
const PATIENCE: Duration = Duration::from_secs(10);

/// An address is one of plain HTTP, as `serve --admin` takes it.
fn admin(text: &str) -> Result<Url, String> {
    let url = match text.parse::<SocketAddr>() {
        Ok(address) => format!("http://{address}"),
        Err(_) => text.to_owned(),
    };
    let url = Url::parse(&url).map_err(|error| error.to_string());
    url.map_err(|error| format!("{error}: write http://127.0.0.1:9090"))
}

/// Where a proxy's admin port is.
#[derive(Debug, clap::Args)]
pub(super) struct AdminArgs {
    /// A running proxy's admin port, http://127.0.0.1:9090.
    #[arg(long, value_name = "URL", value_parser = admin)]
    pub(super) admin: Option<Url>,
    /// The file with the secret that the proxy was given as its --admin-token-file.
    #[arg(long, value_name = "FILE", env = "ISOGLOSS_ADMIN_TOKEN_FILE")]
    admin_token_file: Option<PathBuf>,
    /// Authorities that its certificate may be of, beside the system's (PEM): with --tls-admin.
    #[arg(long, value_name = "FILE", env = "ISOGLOSS_ADMIN_CA_FILE")]
    admin_ca_file: Option<PathBuf>,
    /// A certificate to show it (PEM): with --tls-admin mutual.
    #[arg(
        long,
        value_name = "FILE",
        env = "ISOGLOSS_ADMIN_CLIENT_CERT_FILE",
        requires = "admin_client_key_file"
    )]
    admin_client_cert_file: Option<PathBuf>,
    /// The private key of that certificate (PEM).
    #[arg(
        long,
        value_name = "FILE",
        env = "ISOGLOSS_ADMIN_CLIENT_KEY_FILE",
        requires = "admin_client_cert_file"
    )]
    admin_client_key_file: Option<PathBuf>,
}

impl AdminArgs {
    /// What its authorities and the certificate to show it are read from.
    fn trusting(&self, mut client: ClientBuilder) -> Result<ClientBuilder, Failure> {
        let wrong = |flag: &str, error: &reqwest::Error| {
            Failure::Usage(format!("--{flag}: {}; name a PEM file", cause(error)))
        };
        if let Some(path) = &self.admin_ca_file {
            let flag = "admin-ca-file";
            let all = Certificate::from_pem_bundle(&read(flag, path)?);
            let all = all.map_err(|error| wrong(flag, &error))?;
            if all.is_empty() {
                let path = path.display();
                let what = format!("--{flag}: {path} holds no certificate; name a PEM file");
                return Err(Failure::Usage(what));
            }
            client = client.tls_certs_merge(all);
        }
        if let Some((cert, key)) =
            (self.admin_client_cert_file.as_ref()).zip(self.admin_client_key_file.as_ref())
        {
            let flag = "admin-client-cert-file";
            let cert = read(flag, cert)?;
            let key = read("admin-client-key-file", key)?;
            let identity = Identity::from_pem(&[&cert[..], b"\n", &key[..]].concat());
            client = client.identity(identity.map_err(|error| wrong(flag, &error))?);
        }
        Ok(client)
    }
}

fn read(flag: &str, path: &Path) -> Result<Vec<u8>, Failure> {
    std::fs::read(path).map_err(|error| {
        let path = path.display();
        Failure::Usage(format!("--{flag}: {path} cannot be read: {error}"))
    })
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
        let token = args.admin_token_file.as_deref();
        let token = token
            .map(|path| read("admin-token-file", path))
            .transpose()?;
        // An error only says that a provider is installed already.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = reqwest::Client::builder()
            .redirect(reqwest::redirect::Policy::none())
            .no_proxy()
            .timeout(PATIENCE);
        let client = args.trusting(client)?.build().map_err(|error| {
            let why = cause(&error);
            Failure::Runtime(format!("the HTTP client cannot be set up: {why}"))
        })?;
        Ok(Self {
            base: base.clone(),
            token: token.map(|token| String::from_utf8_lossy(&token).trim().to_owned()),
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
        let value = isogloss_core::json::value(&text).ok();
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
