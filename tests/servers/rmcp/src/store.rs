//! The event store that the documentation of `EventStore` asks for, in memory: ids unique over all streams, and the
//! events strictly after one, of its stream alone. A replay is finite ("reconnect-and-poll").

use std::{io, time::Duration};

use async_trait::async_trait;
use rmcp::transport::streamable_http_server::session::{
    EventId, EventStore, EventStoreError, EventStream, ServerSseMessage,
};
use tokio::sync::RwLock;

struct Stored {
    stream_id: String,
    event: ServerSseMessage,
}

/// Every event of every session, for ever.
pub struct InMemoryEventStore {
    latency: Duration,
    events: RwLock<Vec<Stored>>,
}

impl InMemoryEventStore {
    /// A store whose every operation first waits `latency`.
    pub fn new(latency: Duration) -> Self {
        Self { latency, events: RwLock::default() }
    }

    async fn wait(&self) {
        if !self.latency.is_zero() {
            tokio::time::sleep(self.latency).await;
        }
    }
}

#[async_trait]
impl EventStore for InMemoryEventStore {
    async fn store_event(&self, stream_id: &str, event: &ServerSseMessage) -> Result<EventId, EventStoreError> {
        self.wait().await;
        let mut events = self.events.write().await;
        let event_id = format!("e{}", events.len());
        let mut event = event.clone();
        event.event_id = Some(event_id.clone());
        events.push(Stored { stream_id: stream_id.to_owned(), event });
        Ok(event_id)
    }

    async fn replay_events_after(&self, last_event_id: &str) -> Result<EventStream, EventStoreError> {
        self.wait().await;
        let events = self.events.read().await;
        let last = last_event_id
            .strip_prefix('e')
            .and_then(|index| index.parse::<usize>().ok())
            .filter(|index| *index < events.len())
            .ok_or_else(|| io::Error::other("no such event"))?;
        let stream_id = &events[last].stream_id;
        let missed: Vec<ServerSseMessage> = events[last + 1..]
            .iter()
            .filter(|stored| stored.stream_id == *stream_id)
            .map(|stored| stored.event.clone())
            .collect();
        Ok(Box::pin(futures::stream::iter(missed)))
    }
}
