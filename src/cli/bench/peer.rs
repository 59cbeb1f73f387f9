//! Other proxies, set up to do as little as a proxy of this kind can: forward, on connections that are kept, without
//! holding replies back. They translate and verify nothing, so they are what forwarding alone costs.

use super::super::Failure;
use super::program::Program;
use crate::proxy::processors;
use std::fs;
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A program that is found on the PATH by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Peer {
    Nginx,
    Haproxy,
    Envoy,
}

/// Starts it in front of a server, with as many threads of work as this machine has cores.
pub(super) fn start(peer: Peer, upstream: SocketAddr) -> Result<(Program, Folder), Failure> {
    let folder = Folder::new(peer)?;
    let address = free_address()?;
    let (name, text, arguments): (_, _, &[&str]) = match peer {
        Peer::Nginx => (
            "nginx",
            nginx(address, upstream, &folder.0),
            &["-e", "stderr", "-c"],
        ),
        Peer::Haproxy => ("haproxy", haproxy(address, upstream), &["-q", "-f"]),
        Peer::Envoy => (
            "envoy",
            envoy(address, upstream),
            &["--log-level", "off", "--use-dynamic-base-id", "-c"],
        ),
    };
    let failed = |error| Failure::Runtime(format!("cannot configure {name}: {error}"));
    // Envoy reads a file by its ending.
    let file = folder.0.join("peer.yaml");
    fs::write(&file, text).map_err(failed)?;
    let mut command = Command::new(name);
    command.args(arguments).arg(&file);
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let mut program = Program::spawn(name, &mut command, address.to_string())?;
    // It forwards routes that the server does not have.
    program.may_fail = true;
    Ok((program, folder))
}

/// What a peer keeps on disk; removed when dropped.
pub(super) struct Folder(PathBuf);

impl Folder {
    fn new(peer: Peer) -> Result<Self, Failure> {
        let name = format!("isogloss-bench-{}-{peer:?}", std::process::id());
        let path = std::env::temp_dir().join(name);
        let failed = |error| Failure::Runtime(format!("{}: {error}", path.display()));
        fs::create_dir_all(&path).map_err(failed)?;
        Ok(Self(path))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What is left is in the system's temporary folder.
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Taken from the system and given back: nothing else asks for one in between.
pub(super) fn free_address() -> Result<SocketAddr, Failure> {
    TcpListener::bind("127.0.0.1:0")
        .and_then(|listener| listener.local_addr())
        .map_err(|error| Failure::Runtime(format!("no free port: {error}")))
}

/// As for inference: bodies of any size, sent on as they come. By default it refuses images, and writes a body of 16 KiB to a file first.
fn nginx(address: SocketAddr, upstream: SocketAddr, folder: &Path) -> String {
    let folder = folder.display();
    let kept = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
        .map(|what| format!("{what}_temp_path {folder}/{what};"))
        .concat();
    format!(
        "worker_processes {}; daemon off; pid {folder}/pid;
events {{ worker_connections 16384; }}
http {{
  access_log off; {kept}
  client_max_body_size 0; proxy_request_buffering off;
  upstream server {{ server {upstream}; keepalive 64; }}
  server {{
    listen {address}; keepalive_requests 1000000;
    location / {{
      proxy_pass http://server; proxy_http_version 1.1; proxy_set_header Connection \"\"; proxy_buffering off;
    }}
  }}
}}
",
        processors()
    )
}

fn haproxy(address: SocketAddr, upstream: SocketAddr) -> String {
    format!(
        "global
  nbthread {}
  maxconn 8192
defaults
  maxconn 8192
  mode http
  timeout connect 5s
  timeout client 60s
  timeout server 60s
  http-reuse always
frontend listen
  bind {address}
  default_backend server
backend server
  server server {upstream}
",
        processors()
    )
}

fn envoy(address: SocketAddr, upstream: SocketAddr) -> String {
    let socket = |address: SocketAddr| {
        format!(
            "{{socket_address: {{address: {}, port_value: {}}}}}",
            address.ip(),
            address.port()
        )
    };
    let (listen, server) = (socket(address), socket(upstream));
    format!(
        "static_resources:
  listeners:
  - address: {listen}
    filter_chains:
    - filters:
      - name: http
        typed_config:
          \"@type\": type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager
          stat_prefix: bench
          route_config: {{virtual_hosts: [{{name: all, domains: ['*'], routes: [{{match: {{prefix: /}}, route: {{cluster: server, timeout: 0s}}}}]}}]}}
          http_filters: [{{name: router, typed_config: {{\"@type\": type.googleapis.com/envoy.extensions.filters.http.router.v3.Router}}}}]
  clusters:
  - name: server
    type: STATIC
    connect_timeout: 5s
    circuit_breakers: {{thresholds: [{{max_connections: 65536, max_pending_requests: 65536, max_requests: 65536}}]}}
    load_assignment: {{cluster_name: server, endpoints: [{{lb_endpoints: [{{endpoint: {{address: {server}}}}}]}}]}}
"
    )
}
