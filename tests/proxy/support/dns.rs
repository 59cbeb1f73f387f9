//! A DNS server on loopback that says what a test wants it to say, over UDP.

use hickory_resolver::proto::op::{Message, OpCode, ResponseCode};
use hickory_resolver::proto::rr::rdata::{A, SRV};
use hickory_resolver::proto::rr::{Name, RData, Record, RecordType};
use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex};
use tokio::net::UdpSocket;
use tokio::task::JoinHandle;

/// What is said of a name. Everything holds for no time at all, so that it is asked for again as soon as may be.
#[derive(Debug, Clone)]
pub enum Says {
    /// These are its addresses.
    Addresses(Vec<Ipv4Addr>),
    /// These are its services: priority, weight, port, host.
    Services(Vec<(u16, u16, u16, &'static str)>),
    /// There is no such name.
    Nothing,
    /// The server is broken.
    Fails,
    /// No word.
    Hangs,
}

/// A running DNS server.
pub struct Dns {
    pub address: SocketAddr,
    said: Arc<Mutex<HashMap<&'static str, Says>>>,
    serving: JoinHandle<()>,
}

impl Dns {
    pub async fn start() -> Self {
        let socket = UdpSocket::bind(("127.0.0.1", 0)).await.unwrap();
        let address = socket.local_addr().unwrap();
        let said = Arc::new(Mutex::new(HashMap::new()));
        let serving = tokio::spawn(serve(socket, Arc::clone(&said)));
        Self {
            address,
            said,
            serving,
        }
    }

    /// From now on it says this of a name.
    pub fn say(&self, name: &'static str, says: Says) {
        self.said.lock().unwrap().insert(name, says);
    }
}

impl Drop for Dns {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

async fn serve(socket: UdpSocket, said: Arc<Mutex<HashMap<&'static str, Says>>>) {
    let mut bytes = [0; 4096];
    loop {
        let (length, peer) = socket.recv_from(&mut bytes).await.unwrap();
        let Ok(asked) = Message::from_vec(&bytes[..length]) else {
            continue;
        };
        let says = {
            let name = asked.queries[0].name().to_string().to_ascii_lowercase();
            let said = said.lock().unwrap();
            said.get(name.trim_end_matches('.')).cloned()
        };
        if let Some(answer) = answer(&asked, says.unwrap_or(Says::Nothing)) {
            socket.send_to(&answer, peer).await.unwrap();
        }
    }
}

fn answer(asked: &Message, says: Says) -> Option<Vec<u8>> {
    let query = asked.queries[0].clone();
    let mut answer = Message::response(asked.metadata.id, OpCode::Query);
    answer.metadata.recursion_desired = true;
    answer.metadata.recursion_available = true;
    let name = query.name().clone();
    let add = |answer: &mut Message, data: RData| {
        answer.add_answer(Record::from_rdata(name.clone(), 0, data));
    };
    match says {
        Says::Addresses(all) if query.query_type() == RecordType::A => {
            for address in all {
                add(&mut answer, RData::A(A(address)));
            }
        }
        Says::Services(all) if query.query_type() == RecordType::SRV => {
            for (priority, weight, port, host) in all {
                let host = Name::from_ascii(host).unwrap();
                add(
                    &mut answer,
                    RData::SRV(SRV::new(priority, weight, port, host)),
                );
            }
        }
        // It has nothing of this kind.
        Says::Addresses(_) | Says::Services(_) => {}
        Says::Nothing => answer.metadata.response_code = ResponseCode::NXDomain,
        Says::Fails => answer.metadata.response_code = ResponseCode::ServFail,
        Says::Hangs => return None,
    }
    answer.add_query(query);
    Some(answer.to_vec().unwrap())
}

/// The last number of an address of this machine.
pub fn local(last: u8) -> Ipv4Addr {
    Ipv4Addr::new(127, 0, 0, last)
}

/// The same as any address.
pub fn at(last: u8, port: u16) -> SocketAddr {
    SocketAddr::new(IpAddr::V4(local(last)), port)
}
