//! Spans of requests that are over come in; batches to an OpenTelemetry collector go out (OTLP over
//! HTTP, as JSON). Never in a request's way: what does not fit into the queue, or what the collector
//! does not take, is dropped and counted.

use super::about::About;
use super::otlp::{Span, export};
use metrics::Counter;
use reqwest::Url;
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};

/// Spans that wait; some kilobytes each at most.
const QUEUE: usize = 4096;
const BATCH: usize = 512;
/// A batch that is not full goes out after so long.
const EVERY: Duration = Duration::from_secs(2);
/// For one batch.
const PATIENCE: Duration = Duration::from_secs(5);

#[derive(Debug)]
enum Message {
    Span(Box<Span>),
    /// Everything before it is to be sent now.
    Flush(oneshot::Sender<()>),
}

/// Where spans go.
#[derive(Debug)]
pub struct Traces {
    sender: mpsc::Sender<Message>,
    dropped: Counter,
}

impl Traces {
    /// Starts to send in the background. Needs a runtime. `endpoint` is the collector's base URL.
    ///
    /// # Errors
    /// No root certificates for an `https` collector.
    pub(super) fn start(
        endpoint: &Url,
        about: About,
        dropped: Counter,
    ) -> Result<Self, reqwest::Error> {
        // An error only says that a provider is installed already.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let mut client = reqwest::Client::builder()
            .redirect(reqwest::redirect::Policy::none())
            .no_proxy()
            .timeout(PATIENCE);
        if endpoint.scheme() != "https" {
            client = client.tls_certs_only([]);
        }
        let exporter = Exporter {
            client: client.build()?,
            url: traces_url(endpoint),
            about,
            dropped: dropped.clone(),
            fails: false,
        };
        let (sender, receiver) = mpsc::channel(QUEUE);
        tokio::spawn(exporter.run(receiver));
        Ok(Self { sender, dropped })
    }

    /// Sends a span some time later.
    pub fn send(&self, span: Span) {
        if self.sender.try_send(Message::Span(Box::new(span))).is_err() {
            self.dropped.increment(1);
        }
    }

    /// Waits until what was sent until now is out, or cannot be.
    pub(super) async fn flush(&self) {
        let (done, is_done) = oneshot::channel();
        if self.sender.send(Message::Flush(done)).await.is_ok() {
            // Dropped without a word where the exporter ended.
            let _ = is_done.await;
        }
    }
}

/// A base URL gets the protocol's path; a whole one is taken as it is.
fn traces_url(endpoint: &Url) -> Url {
    let mut url = endpoint.clone();
    let path = url.path().trim_end_matches('/').to_owned();
    if !path.ends_with("/v1/traces") {
        url.set_path(&format!("{path}/v1/traces"));
    }
    url
}

struct Exporter {
    client: reqwest::Client,
    url: Url,
    about: About,
    dropped: Counter,
    /// The last batch was not taken: said once, not with every batch.
    fails: bool,
}

impl Exporter {
    async fn run(mut self, mut receiver: mpsc::Receiver<Message>) {
        let mut tick = tokio::time::interval(EVERY);
        let mut batch = Vec::new();
        loop {
            tokio::select! {
                message = receiver.recv() => match message {
                    Some(Message::Span(span)) => {
                        batch.push(*span);
                        if batch.len() >= BATCH {
                            self.export(&mut batch).await;
                        }
                    }
                    Some(Message::Flush(done)) => {
                        self.export(&mut batch).await;
                        // Nobody may wait any more.
                        let _ = done.send(());
                    }
                    None => return self.export(&mut batch).await,
                },
                _ = tick.tick() => self.export(&mut batch).await,
            }
        }
    }

    async fn export(&mut self, batch: &mut Vec<Span>) {
        if batch.is_empty() {
            return;
        }
        let spans = std::mem::take(batch);
        let sent = self
            .client
            .post(self.url.clone())
            .headers(self.about.headers.clone())
            .header(http::header::CONTENT_TYPE, "application/json")
            .body(export(&spans, &self.about.resource).to_string())
            .send()
            .await;
        let fault = match sent {
            Ok(reply) if reply.status().is_success() => None,
            Ok(reply) => Some(format!("it answers {}", reply.status().as_u16())),
            Err(error) => Some(error.without_url().to_string()),
        };
        if let Some(fault) = &fault {
            self.dropped.increment(spans.len() as u64);
            if !self.fails {
                tracing::warn!(collector = %self.url, fault, "traces cannot be delivered");
            }
        }
        self.fails = fault.is_some();
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]
    use super::*;

    #[test]
    fn a_base_url_gets_the_protocols_path() {
        for (given, sent) in [
            ("http://c:4318", "http://c:4318/v1/traces"),
            ("http://c:4318/otel/", "http://c:4318/otel/v1/traces"),
            ("http://c:4318/v1/traces", "http://c:4318/v1/traces"),
        ] {
            let url = traces_url(&Url::parse(given).unwrap());
            assert_eq!(url.as_str(), sent);
        }
    }
}
