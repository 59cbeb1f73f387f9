//! What OpenTelemetry's own variables say of an exporter (specification 1.48, "OTLP Exporter" and "Resource SDK"): the headers that
//! a collector wants, and what it is told of this process.

use http::{HeaderMap, HeaderName, HeaderValue};

/// The headers of requests to a collector; the first that is set counts.
const HEADERS: [&str; 2] = [
    "OTEL_EXPORTER_OTLP_TRACES_HEADERS",
    "OTEL_EXPORTER_OTLP_HEADERS",
];
const SERVICE_NAME: &str = "OTEL_SERVICE_NAME";
const RESOURCE: &str = "OTEL_RESOURCE_ATTRIBUTES";

/// What a collector is told beside spans.
#[derive(Debug, Clone)]
pub struct About {
    pub(super) headers: HeaderMap,
    /// Of this process.
    pub(super) resource: Vec<(String, String)>,
}

impl About {
    /// Reads the variables. What cannot be read of them is left out, as the specification wants it, and told.
    pub fn of(env: impl Fn(&str) -> Option<String>) -> Self {
        let set = |name: &str| env(name).filter(|text| !text.trim().is_empty());
        let mut resource = vec![
            ("service.name".to_owned(), "isogloss".to_owned()),
            (
                "service.version".to_owned(),
                env!("CARGO_PKG_VERSION").to_owned(),
            ),
        ];
        let stated = set(RESOURCE).unwrap_or_default();
        for (name, value) in pairs(RESOURCE, &stated) {
            put(&mut resource, name, value);
        }
        if let Some(name) = set(SERVICE_NAME) {
            put(&mut resource, "service.name".to_owned(), name);
        }
        let mut headers = HeaderMap::new();
        let stated = HEADERS.iter().find_map(|name| Some((*name, set(name)?)));
        let (variable, stated) = stated.unwrap_or_default();
        for (name, value) in pairs(variable, &stated) {
            let header = HeaderName::try_from(name.as_str()).ok();
            match header.zip(HeaderValue::try_from(value).ok()) {
                Some((name, mut value)) => {
                    value.set_sensitive(true);
                    headers.insert(name, value);
                }
                None => unread(variable),
            }
        }
        Self { headers, resource }
    }
}

fn put(resource: &mut Vec<(String, String)>, name: String, value: String) {
    resource.retain(|(known, _)| *known != name);
    resource.push((name, value));
}

/// `name=value`, with commas between them; values are percent-encoded (W3C Baggage).
fn pairs(variable: &str, text: &str) -> Vec<(String, String)> {
    let mut all = Vec::new();
    for pair in text.split(',').filter(|pair| !pair.trim().is_empty()) {
        let pair = pair.split_once('=');
        let pair = pair.and_then(|(name, value)| Some((decoded(name)?, decoded(value)?)));
        match pair.filter(|(name, _)| !name.is_empty()) {
            Some(pair) => all.push(pair),
            None => unread(variable),
        }
    }
    all
}

/// Nothing of it is shown: it may be a key.
fn unread(variable: &str) {
    tracing::warn!(parent: None, variable, "a part of the variable is left out: write name=value, with commas between them and values percent-encoded");
}

fn decoded(text: &str) -> Option<String> {
    let mut bytes = text.trim().bytes();
    let mut all = Vec::new();
    while let Some(byte) = bytes.next() {
        if byte != b'%' {
            all.push(byte);
            continue;
        }
        let mut digit = || char::from(bytes.next()?).to_digit(16);
        let (high, low) = (digit()?, digit()?);
        all.push(u8::try_from(high * 16 + low).ok()?);
    }
    String::from_utf8(all).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    type Pairs = Vec<(String, String)>;

    fn about(set: &[(&str, &str)]) -> (Pairs, Pairs) {
        let found = |name: &str| set.iter().find(|(known, _)| *known == name);
        let about = About::of(|name| found(name).map(|(_, value)| (*value).to_owned()));
        let text = |value: &HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
        let headers = about.headers.iter();
        let headers = headers.map(|(name, value)| (name.to_string(), text(value)));
        (about.resource, headers.collect())
    }

    fn owned(pairs: &[(&str, &str)]) -> Pairs {
        let pairs = pairs.iter();
        pairs
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect()
    }

    #[test]
    fn unless_somebody_says_otherwise_the_service_has_its_own_name() {
        let version = ("service.version", env!("CARGO_PKG_VERSION"));
        let own = [("service.name", "isogloss"), version];
        assert_eq!(about(&[]), (owned(&own), Vec::new()));
        assert_eq!(about(&[(SERVICE_NAME, "")]).0, owned(&own));
    }

    #[test]
    fn the_variables_say_what_the_service_is_and_what_the_collector_wants() {
        let (resource, headers) = about(&[
            (SERVICE_NAME, "llm-proxy"),
            (
                RESOURCE,
                "service.name=other, deployment.environment.name=a%2Cb,odd",
            ),
            (
                HEADERS[1],
                "Authorization=Basic%20YWJj%3D,x-scope=t=1,a b=c",
            ),
        ]);
        let version = ("service.version", env!("CARGO_PKG_VERSION"));
        let told = [
            version,
            ("deployment.environment.name", "a,b"),
            ("service.name", "llm-proxy"),
        ];
        assert_eq!(resource, owned(&told));
        let wanted = [("authorization", "Basic YWJj="), ("x-scope", "t=1")];
        assert_eq!(headers, owned(&wanted));
        let (_, headers) = about(&[(HEADERS[0], "a=1"), (HEADERS[1], "b=2")]);
        assert_eq!(headers, owned(&[("a", "1")]));
    }
}
