//! DNS: a name in, the servers that it stands for out.

use crate::config::{Endpoint, Name};
use futures_util::future::try_join_all;
use hickory_resolver::config::{
    ConnectionConfig, LookupIpStrategy, NameServerConfig, ResolverConfig, ResolverOpts,
};
use hickory_resolver::lookup::Lookup;
use hickory_resolver::net::NetError;
use hickory_resolver::net::runtime::TokioRuntimeProvider;
use hickory_resolver::proto::rr::rdata::SRV;
use hickory_resolver::proto::rr::{Name as DnsName, RData};
use hickory_resolver::{Resolver as Hickory, TokioResolver};
use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::time::{Duration, Instant};
use tokio::time::timeout;

/// The whole of an answer, with the addresses of the hosts that it names. Longer than a lost packet's time, which is 5 s.
const ANSWER_WITHIN: Duration = Duration::from_secs(8);
/// Servers of one name. A pool of more is a balancer's.
const MAX_SERVERS: usize = 256;
/// Where the machine's DNS servers stand.
const RESOLV_CONF: &str = "/etc/resolv.conf";

/// What DNS said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// The servers: there is one at least.
    pub endpoints: Vec<Endpoint>,
    /// For how long that holds.
    pub holds: Duration,
}

/// Why it said nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trouble {
    /// There is no such name, or it stands for no server.
    Empty,
    /// Its server refused, or is broken.
    Failed,
    /// Nobody answered in time.
    Timeout,
}

impl Trouble {
    /// The word in metrics.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Empty => "empty",
            Self::Failed => "failed",
            Self::Timeout => "timeout",
        }
    }
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Empty => "DNS knows no server of this name",
            Self::Failed => "the DNS server failed, or none is known",
            Self::Timeout => "no DNS server answered in time",
        })
    }
}

impl From<&NetError> for Trouble {
    fn from(error: &NetError) -> Self {
        match error {
            NetError::Timeout => Self::Timeout,
            error if error.is_no_records_found() || error.is_nx_domain() => Self::Empty,
            _ => Self::Failed,
        }
    }
}

/// Who is asked.
#[derive(Clone)]
pub struct Resolver(Option<TokioResolver>);

impl fmt::Debug for Resolver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Resolver(…)")
    }
}

impl Resolver {
    /// This DNS server, else those that the machine asks. Where there are none, every question fails.
    #[must_use]
    pub fn new(server: Option<SocketAddr>) -> Self {
        let read = match server {
            Some(server) => Some((of_server(server), ResolverOpts::default())),
            None => of_machine(&std::fs::read(RESOLV_CONF).unwrap_or_default()),
        };
        Self(read.and_then(|(config, options)| {
            let builder = Hickory::builder_with_config(config, TokioRuntimeProvider::default());
            builder.with_options(asking(options)).build().ok()
        }))
    }

    /// Asks.
    ///
    /// # Errors
    /// There is no server of this name, or nobody says so.
    pub async fn ask(&self, name: &Name) -> Result<Answer, Trouble> {
        let Some(resolver) = &self.0 else {
            return Err(Trouble::Failed);
        };
        let asked = async {
            match name {
                Name::Addresses(host) => addresses(resolver, host).await,
                Name::Service(service) => servers(resolver, service).await,
            }
        };
        let mut answer = timeout(ANSWER_WITHIN, asked)
            .await
            .map_err(|_| Trouble::Timeout)??;
        if answer.endpoints.is_empty() {
            return Err(Trouble::Empty);
        }
        if answer.endpoints.len() > MAX_SERVERS {
            let (name, most) = (name.as_str(), MAX_SERVERS);
            tracing::warn!(name, most, "DNS names more servers than are used");
            answer.endpoints.sort_unstable();
            answer.endpoints.truncate(MAX_SERVERS);
        }
        Ok(answer)
    }
}

fn of_server(server: SocketAddr) -> ResolverConfig {
    let mut connections = [ConnectionConfig::udp(), ConnectionConfig::tcp()];
    for connection in &mut connections {
        connection.port = server.port();
    }
    let server = NameServerConfig::new(server.ip(), true, connections.into());
    ResolverConfig::from_parts(None, Vec::new(), vec![server])
}

/// What `/etc/resolv.conf` says; `None` where it names no server.
fn of_machine(text: &[u8]) -> Option<(ResolverConfig, ResolverOpts)> {
    let (said, _faults) = resolv_conf::Config::parse_with_errors(text);
    let servers = said.nameservers.iter();
    let servers: Vec<_> = servers
        .map(|ip| NameServerConfig::udp_and_tcp(ip.into()))
        .collect();
    if servers.is_empty() {
        return None;
    }
    let search = said.get_last_search_or_domain();
    let search = search.filter_map(|domain| DnsName::from_str_relaxed(domain).ok());
    let mut options = ResolverOpts::default();
    options.ndots = said.ndots as usize;
    options.timeout = Duration::from_secs(said.timeout.into());
    options.attempts = said.attempts as usize;
    Some((
        ResolverConfig::from_parts(None, search.collect(), servers),
        options,
    ))
}

fn asking(mut options: ResolverOpts) -> ResolverOpts {
    // How long an answer holds is kept by who asks.
    options.cache_size = 0;
    // A server with addresses of both kinds is one server.
    options.ip_strategy = LookupIpStrategy::Ipv4thenIpv6;
    options
}

async fn addresses(resolver: &TokioResolver, host: &str) -> Result<Answer, Trouble> {
    let found = resolver
        .lookup_ip(host)
        .await
        .map_err(|error| Trouble::from(&error))?;
    let endpoint = |address: IpAddr| Endpoint {
        priority: 0,
        address,
        port: None,
        weight: 1,
    };
    Ok(Answer {
        endpoints: found.iter().map(endpoint).collect(),
        holds: left(found.valid_until()),
    })
}

async fn servers(resolver: &TokioResolver, service: &str) -> Result<Answer, Trouble> {
    let found = resolver
        .srv_lookup(service)
        .await
        .map_err(|error| Trouble::from(&error))?;
    let records = found
        .answers()
        .iter()
        .filter_map(|record| match &record.data {
            // A root says that there is no such service (RFC 2782).
            RData::SRV(srv) if !srv.target.is_root() => Some(srv),
            _ => None,
        });
    let hosts = records.map(async |srv| match told(&found, srv) {
        told if !told.is_empty() => Ok((srv, told, Duration::MAX)),
        _ => match resolver.lookup_ip(srv.target.clone()).await {
            Ok(hosts) => Ok((srv, hosts.iter().collect(), left(hosts.valid_until()))),
            Err(error) => match Trouble::from(&error) {
                // It went between the two answers.
                Trouble::Empty => Ok((srv, Vec::new(), Duration::MAX)),
                trouble => Err(trouble),
            },
        },
    });
    let mut answer = Answer {
        endpoints: Vec::new(),
        holds: left(found.valid_until()),
    };
    for (srv, hosts, holds) in try_join_all(hosts).await? {
        answer.holds = answer.holds.min(holds);
        answer
            .endpoints
            .extend(hosts.into_iter().map(|address| Endpoint {
                priority: srv.priority,
                address,
                port: Some(srv.port),
                weight: srv.weight,
            }));
    }
    Ok(answer)
}

/// The addresses of a host that came along with the answer that names it.
fn told(found: &Lookup, srv: &SRV) -> Vec<IpAddr> {
    let its = found.additionals().iter();
    let its = its.filter(|record| record.name == srv.target);
    let all: Vec<IpAddr> = its.filter_map(|record| record.data.ip_addr()).collect();
    let of_kind = |is_v4: bool| all.iter().copied().filter(move |it| it.is_ipv4() == is_v4);
    match of_kind(true).next() {
        Some(_) => of_kind(true).collect(),
        None => of_kind(false).collect(),
    }
}

fn left(until: Instant) -> Duration {
    until.saturating_duration_since(Instant::now())
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use std::str::FromStr as _;

    #[test]
    fn the_machines_own_servers_search_list_and_patience_are_asked_with() {
        let text = "search default.svc.cluster.local svc.cluster.local\nnameserver 10.96.0.10\noptions ndots:5 timeout:2 attempts:3\n";
        let (config, options) = of_machine(text.as_bytes()).unwrap();
        assert_eq!(config.name_servers()[0].ip.to_string(), "10.96.0.10");
        assert_eq!(
            config.search()[0],
            DnsName::from_str("default.svc.cluster.local").unwrap()
        );
        assert_eq!(
            (options.ndots, options.timeout.as_secs(), options.attempts),
            (5, 2, 3)
        );
        assert!(of_machine(b"# nothing\n").is_none());
    }

    #[tokio::test]
    async fn nobody_to_ask_is_a_failure() {
        let name = Name::Addresses("vllm".to_owned());
        assert_eq!(Resolver(None).ask(&name).await, Err(Trouble::Failed));
    }
}
