//! `addresses` and `srv` of an `[[upstream]]`: a DNS name that stands for several servers, and the configuration in which
//! these stand instead of it.

use super::file::{Given, RawUpstream};
use super::load::Loader;
use super::units::Wrong;
use super::{ClientConfig, Config, UpstreamConfig};
use reqwest::Url;
use std::net::{IpAddr, SocketAddr};

const DNS_PORT: u16 = 53;
/// Of a name that is asked for (RFC 1035, section 2.3.4).
const MAX_NAME_CHARS: usize = 253;

/// What is asked of DNS.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Name {
    /// The addresses of a host: each is a server.
    Addresses(String),
    /// SRV records (RFC 2782): each has a server's port, and how much it gets.
    Service(String),
}

/// A server that a name stands for, at this moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Endpoint {
    /// The lower ones are asked before all others, as long as one of them can be used.
    pub priority: u16,
    /// Where it is.
    pub address: IpAddr,
    /// Instead of the URL's.
    pub port: Option<u16>,
    /// How much it gets, compared with others of the same priority.
    pub weight: u16,
}

/// One of several servers of the same name.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Member {
    /// Where it is.
    pub address: IpAddr,
    /// What it gets of its upstream's weight; 1 where all get the same.
    pub share: f64,
    /// How many kinds of servers of this name are asked before it.
    pub tier: usize,
}

impl Name {
    /// As it is asked for.
    #[must_use]
    pub fn as_str(&self) -> &str {
        match self {
            Self::Addresses(name) | Self::Service(name) => name,
        }
    }
}

fn each(text: &str) -> Result<bool, Wrong> {
    match text {
        "each" => Ok(true),
        "one" => Ok(false),
        _ => Err(Wrong::new(
            format!("`{text}` does not say what the addresses of a name are"),
            "write each, for as many servers, or one, as without it",
        )),
    }
}

/// `_http._tcp.vllm.default.svc.cluster.local`.
fn service(text: &str) -> Result<String, Wrong> {
    let name = text.strip_suffix('.').unwrap_or(text);
    let mut labels = name.split('.');
    let is_marked =
        |label: Option<&str>| label.is_some_and(|it| it.len() > 1 && it.starts_with('_'));
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    let is_label = |label: &str| (1..=63).contains(&label.len()) && label.bytes().all(is_plain);
    let is_service = is_marked(labels.next()) && is_marked(labels.next());
    let rest: Vec<&str> = labels.collect();
    let is_name = name.len() <= MAX_NAME_CHARS && name.split('.').all(is_label);
    if is_service && is_name && !rest.is_empty() {
        return Ok(text.to_owned());
    }
    Err(Wrong::new(
        format!("`{text}` is no name of a service"),
        "write the port's name, the protocol and the host: _http._tcp.vllm.default.svc.cluster.local",
    ))
}

/// The host that a service is of.
fn host(service: &str) -> &str {
    let host = service.splitn(3, '.').nth(2);
    host.unwrap_or_default().trim_end_matches('.')
}

/// A DNS server: an address, and perhaps a port.
pub(super) fn resolver(text: &str) -> Result<SocketAddr, Wrong> {
    let address = text.parse().map(|ip: IpAddr| SocketAddr::new(ip, DNS_PORT));
    address.or_else(|_| text.parse()).map_err(|_| {
        let what = format!("`{text}` is no address of a DNS server");
        Wrong::new(
            what,
            "write an IP address, and a port where it is not 53: 10.96.0.10 or 127.0.0.1:5353",
        )
    })
}

impl Loader {
    /// Takes what is said of the servers behind a name off the raw table; where they are found by their service, the URL
    /// may be left out.
    pub(super) fn discovery(&mut self, raw: &mut RawUpstream) -> Discovery {
        let addresses = self.read(raw.addresses.take(), each).unwrap_or(false);
        let Some(srv) = raw.srv.take() else {
            return Discovery {
                addresses,
                service: None,
            };
        };
        let given = srv.clone();
        let service = self.read(Some(srv), service);
        if raw.url.is_none() {
            // Where the name is wrong, that is said already.
            let host = service.as_deref().map_or("localhost", host);
            raw.url = Some(Given {
                text: format!("http://{host}"),
                ..given
            });
        }
        Discovery { addresses, service }
    }

    /// What is asked of DNS for the server at this URL.
    pub(super) fn name_of(
        &mut self,
        said: Discovery,
        url: &Url,
        place: &super::Place,
    ) -> Option<Name> {
        let Discovery { addresses, service } = said;
        if !addresses && service.is_none() {
            return None;
        }
        let Some(url::Host::Domain(host)) = url.host() else {
            let wrong = Wrong::new(
                "this URL's host is no name that DNS knows",
                "write a name for `addresses` and `srv`, or leave them out",
            );
            self.fault(place.clone(), wrong);
            return None;
        };
        Some(service.map_or_else(|| Name::Addresses(host.to_owned()), Name::Service))
    }
}

/// What an `[[upstream]]` says of it.
#[derive(Debug, Clone, Default)]
pub(super) struct Discovery {
    addresses: bool,
    service: Option<String>,
}

impl Config {
    /// What is asked of DNS, each once.
    #[must_use]
    pub fn names(&self) -> Vec<Name> {
        let mut names: Vec<Name> = Vec::new();
        for name in self.upstreams.iter().filter_map(|one| one.servers.as_ref()) {
            if !names.contains(name) {
                names.push(name.clone());
            }
        }
        names
    }

    /// The same with the servers that were found in the place of each name. A name of which nothing is known stays: as a
    /// server that cannot be reached.
    #[must_use]
    pub fn with_servers<'a>(&self, found: impl Fn(&Name) -> &'a [Endpoint]) -> Self {
        let mut upstreams = Vec::with_capacity(self.upstreams.len());
        // Where each of them stands now.
        let mut places: Vec<Vec<usize>> = Vec::with_capacity(self.upstreams.len());
        for one in &self.upstreams {
            let first = upstreams.len();
            match one.servers.as_ref().map(&found) {
                None | Some([]) => upstreams.push(one.clone()),
                Some(endpoints) => upstreams.extend(members(one, endpoints)),
            }
            places.push((first..upstreams.len()).collect());
        }
        // The worker comes after all others.
        places.push(vec![upstreams.len()]);
        let clients = self.clients.iter().map(|client| ClientConfig {
            upstreams: client.upstreams.as_ref().map(|all| {
                let all = all.iter().filter_map(|at| places.get(*at));
                all.flatten().copied().collect()
            }),
            ..client.clone()
        });
        Self {
            clients: clients.collect(),
            upstreams,
            ..self.clone()
        }
    }
}

/// One upstream as the servers that its name stands for.
fn members<'a>(
    upstream: &'a UpstreamConfig,
    endpoints: &'a [Endpoint],
) -> impl Iterator<Item = UpstreamConfig> + 'a {
    let mut priorities: Vec<u16> = endpoints.iter().map(|one| one.priority).collect();
    priorities.sort_unstable();
    priorities.dedup();
    // One of weight 0 has hardly a chance (RFC 2782), and all of it where nobody has more.
    let weight = |one: &Endpoint| f64::from(one.weight).max(0.01);
    endpoints.iter().map(move |one| {
        let peers = endpoints
            .iter()
            .filter(|other| other.priority == one.priority);
        let mean = peers.clone().map(weight).sum::<f64>() / peers.count().max(1) as f64;
        let mut url = upstream.url.clone();
        if one.port.is_some() {
            // It has a host, so that it takes a port.
            let _ = url.set_port(one.port);
        }
        UpstreamConfig {
            url,
            member: Some(Member {
                address: one.address,
                share: weight(one) / mean,
                tier: priorities.iter().filter(|it| **it < one.priority).count(),
            }),
            ..upstream.clone()
        }
    })
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]
    use super::*;

    fn at(last: u8) -> Endpoint {
        Endpoint {
            priority: 0,
            address: [10, 0, 0, last].into(),
            port: None,
            weight: 1,
        }
    }

    fn named(name: &str) -> UpstreamConfig {
        UpstreamConfig {
            servers: Some(Name::Addresses(name.to_owned())),
            ..UpstreamConfig::at(format!("http://{name}:8000").parse().unwrap())
        }
    }

    #[test]
    fn the_servers_of_a_name_stand_in_its_place_and_clients_reach_those_that_they_might() {
        let plain = UpstreamConfig::at("http://plain:1".parse().unwrap());
        let client = |upstreams: &[usize]| ClientConfig {
            name: "c".to_owned(),
            keys: Vec::new(),
            models: Vec::new(),
            upstreams: Some(upstreams.to_vec()),
            requests_per_minute: None,
            tokens_per_minute: None,
            concurrency: None,
            priority: 0,
        };
        let config = Config {
            upstreams: vec![named("many"), plain, named("none")],
            clients: vec![client(&[0]), client(&[1, 3]), client(&[2])],
            ..Config::default()
        };
        let many = [at(1), at(2), at(3)];
        let found = config.with_servers(|name| match name.as_str() {
            "many" => &many,
            _ => &[],
        });
        let told: Vec<_> = found
            .upstreams
            .iter()
            .map(|one| {
                (
                    one.url.as_str(),
                    one.member.map(|it| it.address.to_string()),
                )
            })
            .collect();
        let address = |last: u8| Some(format!("10.0.0.{last}"));
        assert_eq!(
            told,
            [
                ("http://many:8000/", address(1)),
                ("http://many:8000/", address(2)),
                ("http://many:8000/", address(3)),
                ("http://plain:1/", None),
                ("http://none:8000/", None),
            ]
        );
        let reached: Vec<_> = found
            .clients
            .iter()
            .map(|one| one.upstreams.clone().unwrap())
            .collect();
        assert_eq!(reached, [vec![0, 1, 2], vec![3, 5], vec![4]]);
        assert_eq!(config.names().len(), 2);
    }

    #[test]
    fn what_records_say_of_weight_and_priority_is_by_their_own_mean_and_order() {
        let weighed = |last, priority, weight| Endpoint {
            priority,
            weight,
            port: Some(9000 + u16::from(last)),
            ..at(last)
        };
        let all = [
            weighed(1, 10, 30),
            weighed(2, 10, 90),
            weighed(3, 20, 7),
            weighed(4, 20, 0),
        ];
        let told: Vec<_> = members(&named("m"), &all)
            .map(|one| {
                let member = one.member.unwrap();
                (
                    one.url.port().unwrap(),
                    member.tier,
                    (member.share * 100.0).round(),
                )
            })
            .collect();
        assert_eq!(
            told,
            [
                (9001, 0, 50.0),
                (9002, 0, 150.0),
                (9003, 1, 200.0),
                (9004, 1, 0.0)
            ]
        );
        let alone: Vec<_> = members(&named("m"), &all[3..]).collect();
        assert!(
            (alone[0].member.unwrap().share - 1.0).abs() < 1e-9,
            "nobody has more"
        );
    }

    #[test]
    fn a_service_names_port_protocol_and_host() {
        for name in [
            "_http._tcp.vllm.default.svc.cluster.local",
            "_http._tcp.vllm.",
        ] {
            assert_eq!(service(name), Ok(name.to_owned()));
        }
        assert_eq!(host("_http._tcp.vllm.default.svc."), "vllm.default.svc");
        let long = format!("_http._tcp.{}", "a.".repeat(130));
        for text in [
            "",
            "vllm.default.svc",
            "_http._tcp",
            "_http.tcp.vllm",
            "_._tcp.x",
            "_http._tcp.a b",
            &long,
        ] {
            assert!(service(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_resolver_is_an_address_and_perhaps_a_port() {
        assert_eq!(resolver("10.96.0.10"), Ok(([10, 96, 0, 10], 53).into()));
        assert_eq!(
            resolver("127.0.0.1:5353"),
            Ok(([127, 0, 0, 1], 5353).into())
        );
        assert_eq!(resolver("::1").map(|it| it.port()), Ok(53));
        for text in ["", "dns.example.com", "10.0.0.1:x"] {
            assert!(resolver(text).is_err(), "{text}");
        }
    }
}
