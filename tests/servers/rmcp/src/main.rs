//! The server that the matrix probes for rmcp: a small, honest one on the official Rust SDK.
//!
//! It keeps to the SDK's public interface and its defaults, in the way of the SDK's hyper example: a handler per
//! session, and `LocalSessionManager`, whose cache of each stream's last messages is what resumptions are served from.
//! Other setups, all of them the SDK's own, are chosen with `--store` and `--mode`. There is no `test_reconnection`:
//! `LocalSessionHandle::close_sse_stream` wants the number of a stream, which nothing tells a request handler.

// Log messages are the older revisions' way to send something during a call, and deprecated since 2026-07-28.
#![allow(deprecated)]

mod store;
mod tools;

use std::{error::Error, net::Ipv4Addr, sync::Arc, time::Duration};

use hyper_util::{
    rt::{TokioExecutor, TokioIo},
    server::conn::auto::Builder,
    service::TowerToHyperService,
};
use rmcp::transport::streamable_http_server::{
    StreamableHttpServerConfig, StreamableHttpService, session::local::LocalSessionManager,
};
use tokio::net::TcpListener;

use crate::{
    store::InMemoryEventStore,
    tools::{Emitter, Stimulus},
};

/// How long each operation of the slow store takes.
const SLOW: Duration = Duration::from_millis(2);

struct Options {
    port: u16,
    store: Option<InMemoryEventStore>,
    config: StreamableHttpServerConfig,
    stimulus: Stimulus,
}

fn options(mut arguments: impl Iterator<Item = String>) -> Result<Options, String> {
    let mut port = None;
    let mut store = None;
    let mut config = StreamableHttpServerConfig::default();
    let mut stimulus = Stimulus::Log;
    while let Some(name) = arguments.next() {
        let value = arguments.next().ok_or(format!("{name}: a value is needed"))?;
        match (name.as_str(), value.as_str()) {
            ("--port", port_text) => port = Some(port_text.parse().map_err(|error| format!("--port: {error}"))?),
            ("--store", "cache") => store = None,
            ("--store", "memory") => store = Some(InMemoryEventStore::new(Duration::ZERO)),
            ("--store", "slow") => store = Some(InMemoryEventStore::new(SLOW)),
            ("--mode", "sessions") => {}
            ("--mode", "stateless") => config = config.with_legacy_session_mode(false),
            ("--stimulus", "log") => stimulus = Stimulus::Log,
            ("--stimulus", "progress") => stimulus = Stimulus::Progress,
            _ => return Err(format!("unknown: {name} {value}")),
        }
    }
    Ok(Options { port: port.ok_or("--port is needed")?, store, config, stimulus })
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let options = options(std::env::args().skip(1))?;
    let mut sessions = LocalSessionManager::default();
    if let Some(store) = options.store {
        sessions = sessions.with_event_store(Arc::new(store));
    }
    let stimulus = options.stimulus;
    let service = TowerToHyperService::new(StreamableHttpService::new(
        move || Ok(Emitter::new(stimulus)),
        Arc::new(sessions),
        options.config,
    ));
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, options.port)).await?;
    loop {
        let stream = TokioIo::new(listener.accept().await?.0);
        let service = service.clone();
        tokio::spawn(async move {
            // A connection that the client cut ends in an error, which is nothing to tell.
            let _ = Builder::new(TokioExecutor::new()).serve_connection(stream, service).await;
        });
    }
}
