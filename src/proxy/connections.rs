//! How many connections clients may have, all together and from one address.

use super::room::{Place, Room};
use crate::telemetry::Metrics;
use http::Request;
use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};

/// When the process has no file descriptor left, accepting again at once would spin.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// The room for connections.
#[derive(Debug)]
pub(super) struct Connections {
    places: Arc<Room>,
    clients: Clients,
    /// Of one client; 0 for as many as there may be.
    most_of_one: AtomicUsize,
    /// Nothing could be accepted the last time.
    is_short: AtomicBool,
    metrics: Arc<Metrics>,
}

/// Where a connection comes from; in the extensions of its requests.
#[derive(Debug, Clone, Copy)]
pub(super) struct Peer(pub(super) SocketAddr);

impl Peer {
    /// A request that came on this connection.
    pub(super) fn asks<B>(self, mut request: Request<B>) -> Request<B> {
        request.extensions_mut().insert(self);
        request
    }
}

/// How many each client has.
#[derive(Debug, Clone, Default)]
struct Clients(Arc<Mutex<HashMap<IpAddr, usize>>>);

/// A connection's place, until it is dropped.
#[derive(Debug)]
pub(super) struct Connected {
    pub(super) peer: Peer,
    _place: Place,
    _client: Option<OfOne>,
}

#[derive(Debug)]
struct OfOne {
    clients: Clients,
    address: IpAddr,
}

impl Connections {
    pub(super) fn new(most: usize, most_of_one: usize, metrics: Arc<Metrics>) -> Self {
        Self {
            places: Room::new(most),
            clients: Clients::default(),
            most_of_one: AtomicUsize::new(most_of_one),
            is_short: AtomicBool::new(false),
            metrics,
        }
    }

    /// From now on there may be so many.
    pub(super) fn set(&self, most: usize, most_of_one: usize) {
        self.places.set(most);
        self.most_of_one.store(most_of_one, Ordering::Relaxed);
    }

    /// The next connection. While there are as many as may be, others wait in the kernel's queue; errors are waited
    /// out.
    pub(super) async fn accept(&self, listener: &TcpListener) -> (TcpStream, Connected) {
        loop {
            let place = self.place().await;
            match listener.accept().await {
                Ok((stream, peer)) => {
                    self.is_short.store(false, Ordering::Relaxed);
                    let Some(client) = self.client(peer.ip()) else {
                        self.metrics.limit_hit("client_connections");
                        tracing::debug!("a client has as many connections as it may");
                        continue;
                    };
                    // Small events must not wait for the acknowledgement of the one before.
                    let _unimportant = stream.set_nodelay(true);
                    let connected = Connected {
                        peer: Peer(SocketAddr::new(peer.ip().to_canonical(), peer.port())),
                        _place: place,
                        _client: client,
                    };
                    return (stream, connected);
                }
                Err(error) if is_of_the_connection(&error) => {}
                Err(error) => {
                    // It goes on for as long as it does: once is enough.
                    if !self.is_short.swap(true, Ordering::Relaxed) {
                        self.metrics.limit_hit("files");
                        tracing::warn!(%error, "no connection can be accepted for the moment; raise the limit of open files (ulimit -n), or lower limits.connections");
                    }
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                }
            }
        }
    }

    async fn place(&self) -> Place {
        if let Some(place) = self.places.try_take() {
            return place;
        }
        self.metrics.limit_hit("connections");
        self.places.take().await
    }

    /// `None` where the client has too many; `Some(None)` where nobody counts.
    fn client(&self, address: IpAddr) -> Option<Option<OfOne>> {
        let most = self.most_of_one.load(Ordering::Relaxed);
        if most == 0 {
            return Some(None);
        }
        let address = whose(address);
        let mut clients = self.clients.lock();
        let count = clients.entry(address).or_default();
        if *count >= most {
            return None;
        }
        *count += 1;
        drop(clients);
        let clients = self.clients.clone();
        Some(Some(OfOne { clients, address }))
    }
}

impl Clients {
    fn lock(&self) -> MutexGuard<'_, HashMap<IpAddr, usize>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for OfOne {
    fn drop(&mut self) {
        let mut clients = self.clients.lock();
        if let Some(count) = clients.get_mut(&self.address) {
            *count -= 1;
            if *count == 0 {
                clients.remove(&self.address);
            }
        }
    }
}

/// Who has many addresses of version 6 has a network of 64 bits.
fn whose(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => {
            let network = u128::from(address) >> 64 << 64;
            IpAddr::V6(Ipv6Addr::from(network))
        }
        address => address,
    }
}

/// The client was gone before it was accepted.
fn is_of_the_connection(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    matches!(
        error.kind(),
        ConnectionAborted | ConnectionRefused | ConnectionReset
    )
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]
    use super::*;

    #[test]
    fn one_client_has_so_many_and_leaves_room_for_others() {
        let connections = Connections::new(100, 2, Arc::new(Metrics::new([])));
        let of = |text: &str| connections.client(text.parse().unwrap());
        let (first, second) = (of("10.0.0.1"), of("::ffff:10.0.0.1"));
        assert!(first.is_some() && second.is_some());
        assert!(of("10.0.0.1").is_none(), "a third");
        assert!(of("10.0.0.2").is_some(), "another's first");
        drop(first);
        let third = of("10.0.0.1");
        assert!(third.is_some(), "after one has ended");
        let (near, far) = (of("2001:db8::1"), of("2001:db8::ffff"));
        assert!(near.is_some() && far.is_some() && of("2001:db8::2").is_none());
        drop((second, third, near, far));
        assert!(connections.clients.lock().is_empty());
    }
}
