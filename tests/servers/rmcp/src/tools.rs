//! The tools, and the log level that the session asked for. A handler serves one session.

use std::{
    sync::atomic::{AtomicUsize, Ordering},
    time::Duration,
};

use rmcp::{
    ErrorData, RoleServer, ServerHandler,
    model::{
        CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, Implementation, JsonObject,
        ListToolsResult, LoggingLevel, LoggingMessageNotificationParam, PaginatedRequestParams,
        ProgressNotificationParam, ServerCapabilities, ServerConfig, SetLevelRequestParams, Tool,
    },
    service::RequestContext,
};
use serde_json::{Value, json};
use tokio::time::sleep;

const MAX_COUNT: u64 = 10_000;
const MAX_INTERVAL_MS: u64 = 60_000;
const MAX_SIZE: u64 = 1_000_000;

/// In what the messages of a call are sent. rmcp sends a progress notification on the stream of the request whose
/// token it carries, and every other notification on the session's standalone stream, also during a call.
#[derive(Clone, Copy)]
pub enum Stimulus {
    /// Log notifications: `reattach_emit`.
    Log,
    /// Progress notifications in steps of one: `reattach_progress`.
    Progress,
}

/// The handler of a session.
pub struct Emitter {
    stimulus: Stimulus,
    /// The rank of the lowest level that the session asked for.
    level: AtomicUsize,
}

impl Emitter {
    pub fn new(stimulus: Stimulus) -> Self {
        Self { stimulus, level: AtomicUsize::new(0) }
    }

    async fn log(&self, context: &RequestContext<RoleServer>, data: Value) -> Result<(), ErrorData> {
        if rank(LoggingLevel::Info) < self.level.load(Ordering::Relaxed) {
            return Ok(());
        }
        let message = LoggingMessageNotificationParam::new(LoggingLevel::Info, data).with_logger("reattach");
        context.peer.notify_logging_message(message).await.map_err(internal)
    }

    async fn emit(&self, context: &RequestContext<RoleServer>, arguments: &JsonObject) -> Result<String, ErrorData> {
        let count = integer(arguments, "count", MAX_COUNT)?;
        let interval = Duration::from_millis(integer(arguments, "interval_ms", MAX_INTERVAL_MS)?);
        let padding = "x".repeat(integer(arguments, "size", MAX_SIZE)? as usize);
        let label = text(arguments, "label");
        for n in 1..=count {
            sleep(interval).await;
            self.log(context, json!({"label": label, "n": n, "padding": padding})).await?;
        }
        Ok(format!("sent {count}"))
    }

    async fn push(&self, context: &RequestContext<RoleServer>, arguments: &JsonObject) -> Result<String, ErrorData> {
        let count = integer(arguments, "count", MAX_COUNT)?;
        let label = text(arguments, "label");
        for n in 1..=count {
            self.log(context, json!({"label": label, "n": n})).await?;
        }
        Ok(format!("sent {count}"))
    }

    async fn progress(
        &self,
        context: &RequestContext<RoleServer>,
        arguments: &JsonObject,
    ) -> Result<String, ErrorData> {
        let count = integer(arguments, "count", MAX_COUNT)?;
        let interval = Duration::from_millis(integer(arguments, "interval_ms", MAX_INTERVAL_MS)?);
        let padding = "x".repeat(integer(arguments, "size", MAX_SIZE)? as usize);
        let token = context.meta.get_progress_token();
        for n in 1..=count {
            sleep(interval).await;
            if let Some(token) = token.clone() {
                let progress = ProgressNotificationParam::new(token, n as f64).with_message(padding.clone());
                context.peer.notify_progress(progress).await.map_err(internal)?;
            }
        }
        Ok(format!("sent {count}"))
    }
}

impl ServerHandler for Emitter {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_logging().enable_tools().build())
            .with_server_info(Implementation::new("reattach-rmcp", "1"))
    }

    async fn set_level(&self, request: SetLevelRequestParams, _: RequestContext<RoleServer>) -> Result<(), ErrorData> {
        self.level.store(rank(request.level), Ordering::Relaxed);
        Ok(())
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let label = json!({"type": "string", "description": "Repeated in every message."});
        let count = bounded(MAX_COUNT, "How many messages to send.");
        let (name, what) = match self.stimulus {
            Stimulus::Log => ("reattach_emit", "Sends numbered log notifications, then the result."),
            Stimulus::Progress => ("reattach_progress", "Sends progress in steps of one, then the result."),
        };
        let during = tool(
            name,
            what,
            json!({
                "count": count,
                "interval_ms": bounded(MAX_INTERVAL_MS, "Milliseconds before each message."),
                "size": bounded(MAX_SIZE, "Bytes of padding in each message."),
                "label": label,
            }),
            &["count"],
        );
        let push = tool(
            "reattach_push",
            "Sends numbered log notifications on the standalone stream of the session, then the result.",
            json!({"count": count, "label": label}),
            &["count"],
        );
        Ok(ListToolsResult::with_all_items(vec![during, push]))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let arguments = request.arguments.unwrap_or_default();
        let sent = match (request.name.as_ref(), self.stimulus) {
            ("reattach_emit", Stimulus::Log) => self.emit(&context, &arguments).await?,
            ("reattach_progress", Stimulus::Progress) => self.progress(&context, &arguments).await?,
            ("reattach_push", _) => self.push(&context, &arguments).await?,
            (name, _) => return Err(ErrorData::invalid_params(format!("unknown tool: {name:.80}"), None)),
        };
        Ok(CallToolResult::success(vec![ContentBlock::text(sent)]).into())
    }
}

fn rank(level: LoggingLevel) -> usize {
    match level {
        LoggingLevel::Debug => 0,
        LoggingLevel::Info => 1,
        LoggingLevel::Notice => 2,
        LoggingLevel::Warning => 3,
        LoggingLevel::Error => 4,
        LoggingLevel::Critical => 5,
        LoggingLevel::Alert => 6,
        LoggingLevel::Emergency => 7,
    }
}

fn tool(name: &'static str, description: &'static str, properties: Value, required: &[&str]) -> Tool {
    let schema = JsonObject::from_iter([
        ("type".to_owned(), json!("object")),
        ("properties".to_owned(), properties),
        ("required".to_owned(), json!(required)),
    ]);
    Tool::new(name, description, schema)
}

fn bounded(maximum: u64, description: &str) -> Value {
    json!({"type": "integer", "minimum": 0, "maximum": maximum, "description": description})
}

fn integer(arguments: &JsonObject, name: &str, maximum: u64) -> Result<u64, ErrorData> {
    arguments
        .get(name)
        .map_or(Some(0), Value::as_u64)
        .filter(|value| *value <= maximum)
        .ok_or_else(|| ErrorData::invalid_params(format!("{name}: an integer from 0 to {maximum} is needed"), None))
}

fn text<'a>(arguments: &'a JsonObject, name: &str) -> &'a str {
    arguments.get(name).and_then(Value::as_str).unwrap_or_default()
}

fn internal(error: impl std::fmt::Display) -> ErrorData {
    ErrorData::internal_error(error.to_string(), None)
}
