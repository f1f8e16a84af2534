//! A client on rmcp, by its defaults. What it is given and prints is reattach-client/1 (docs/clients.md).
//!
//!     client URL

#![allow(deprecated)] // logging, which the revisions with sessions have

use std::{collections::HashMap, env, error::Error, process::ExitCode};

use futures::future::join_all;
use rmcp::{
    ClientHandler, RoleClient, ServiceExt,
    model::{
        CallToolRequestParams, LoggingLevel, LoggingMessageNotificationParam, SetLevelRequestParams,
    },
    service::{NotificationContext, Peer},
    transport::StreamableHttpClientTransport,
};
use serde_json::{Value, json};
use tokio::sync::watch::{self, Receiver, Sender};

const UNLESS_GIVEN: &str = r#"[{"label": "call", "tool": "reattach_emit",
    "arguments": {"count": 10, "interval_ms": 50, "label": "call"}}]"#;

/// Changes when a call is over.
type Over = Receiver<()>;

struct Telling;

impl ClientHandler for Telling {
    async fn on_logging_message(
        &self,
        params: LoggingMessageNotificationParam,
        _: NotificationContext<RoleClient>,
    ) {
        tell(json!({"applied": params}));
    }
}

/// One line; println! holds stdout until all of it is written, and stdout is flushed at each end of a line.
fn tell(said: Value) {
    println!("{said}");
}

/// Makes a call when the one that it comes after is over. Dropping `over` at its end is what tells that to others.
async fn call(peer: &Peer<RoleClient>, wanted: &Value, after: Option<Over>, _over: Sender<()>) {
    if let Some(mut after) = after {
        let _ = after.changed().await;
    }
    let tool = wanted["tool"].as_str().unwrap_or_default().to_owned();
    let arguments = wanted["arguments"].as_object().cloned().unwrap_or_default();
    let asked = CallToolRequestParams::new(tool).with_arguments(arguments);
    match peer.call_tool(asked).await {
        Ok(result) => tell(json!({"result": result, "call": wanted["label"]})),
        Err(error) => tell(json!({"error": error.to_string(), "call": wanted["label"]})),
    }
}

async fn run() -> Result<(), Box<dyn Error>> {
    let url = env::args().nth(1).ok_or("usage: client URL")?;
    let given = env::var("REATTACH_CALLS").unwrap_or_else(|_| UNLESS_GIVEN.to_owned());
    let wanted: Vec<Value> = serde_json::from_str(&given)?;
    let client = Telling
        .serve(StreamableHttpClientTransport::from_uri(url))
        .await?;
    client
        .set_level(SetLevelRequestParams::new(LoggingLevel::Debug))
        .await?;
    let mut ends = HashMap::new();
    let mut calls = Vec::new();
    for each in &wanted {
        let (sender, over) = watch::channel(());
        let after = each["after"]
            .as_str()
            .and_then(|label| ends.get(label).cloned());
        calls.push(call(client.peer(), each, after, sender));
        ends.insert(each["label"].as_str().unwrap_or_default(), over);
    }
    join_all(calls).await;
    client.cancel().await?;
    Ok(())
}

#[tokio::main]
async fn main() -> ExitCode {
    match run().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            tell(json!({"error": error.to_string()}));
            ExitCode::FAILURE
        }
    }
}
