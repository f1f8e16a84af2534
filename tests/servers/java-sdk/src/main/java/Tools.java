import io.modelcontextprotocol.json.McpJsonDefaults;
import io.modelcontextprotocol.server.McpServerFeatures.SyncToolSpecification;
import io.modelcontextprotocol.server.McpSyncServerExchange;
import io.modelcontextprotocol.spec.McpSchema;
import io.modelcontextprotocol.spec.McpSchema.CallToolRequest;
import io.modelcontextprotocol.spec.McpSchema.CallToolResult;
import io.modelcontextprotocol.spec.McpSchema.LoggingLevel;
import io.modelcontextprotocol.spec.McpSchema.LoggingMessageNotification;
import io.modelcontextprotocol.spec.McpSchema.TextContent;
import io.modelcontextprotocol.spec.McpSchema.Tool;
import io.modelcontextprotocol.spec.McpStreamableServerTransportProvider;
import java.io.IOException;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.BiFunction;

/** The tools that send numbered log notifications. */
final class Tools {

    private static final int MAX_COUNT = 10_000;
    private static final int MAX_INTERVAL_MS = 60_000;
    private static final int MAX_SIZE = 1_000_000;

    private Tools() {}

    static List<SyncToolSpecification> all(McpStreamableServerTransportProvider transport) {
        Map<String, Object> count = bounded(MAX_COUNT, "How many messages to send.");
        Map<String, Object> label = Map.of("type", "string", "description", "Repeated in every message.");
        return List.of(
                tool(
                        "reattach_emit",
                        "Sends numbered log notifications on the stream of this request, then the result.",
                        Map.of(
                                "count", count,
                                "interval_ms", bounded(MAX_INTERVAL_MS, "Milliseconds before each message."),
                                "size", bounded(MAX_SIZE, "Bytes of padding in each message."),
                                "label", label),
                        Tools::emit),
                tool(
                        "reattach_push",
                        "Sends numbered log notifications on the standalone stream of the session, then the result.",
                        Map.of("count", count, "label", label),
                        (exchange, request) -> push(transport, exchange, request)));
    }

    private static CallToolResult emit(McpSyncServerExchange exchange, CallToolRequest request) {
        int count = integer(request, "count", MAX_COUNT);
        int interval = integer(request, "interval_ms", MAX_INTERVAL_MS);
        String padding = "x".repeat(integer(request, "size", MAX_SIZE));
        for (int n = 1; n <= count; n++) {
            sleep(interval);
            exchange.loggingNotification(message(label(request), n, padding));
        }
        return sent(count);
    }

    /** What the transport sends to a session by its id goes on the session's standalone stream. */
    private static CallToolResult push(
            McpStreamableServerTransportProvider transport, McpSyncServerExchange exchange, CallToolRequest request) {
        int count = integer(request, "count", MAX_COUNT);
        for (int n = 1; n <= count; n++) {
            LoggingMessageNotification message = message(label(request), n, null);
            transport.notifyClient(exchange.sessionId(), McpSchema.METHOD_NOTIFICATION_MESSAGE, message).block();
        }
        return sent(count);
    }

    /** A log notification; the SDK's have text for data, so it is JSON as text. */
    private static LoggingMessageNotification message(String label, int n, String padding) {
        Map<String, Object> data = new LinkedHashMap<>();
        data.put("label", label);
        data.put("n", n);
        if (padding != null) {
            data.put("padding", padding);
        }
        try {
            String text = McpJsonDefaults.getMapper().writeValueAsString(data);
            return LoggingMessageNotification.builder(LoggingLevel.INFO, text).logger("reattach").build();
        } catch (IOException error) {
            throw new IllegalStateException(error);
        }
    }

    private static CallToolResult sent(int count) {
        return CallToolResult.builder()
                .content(List.of(TextContent.builder("sent " + count).build()))
                .isError(false)
                .build();
    }

    private static void sleep(int milliseconds) {
        try {
            Thread.sleep(milliseconds);
        } catch (InterruptedException error) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException(error);
        }
    }

    private static SyncToolSpecification tool(
            String name,
            String description,
            Map<String, Object> properties,
            BiFunction<McpSyncServerExchange, CallToolRequest, CallToolResult> handler) {
        Map<String, Object> schema =
                Map.of("type", "object", "properties", properties, "required", List.of("count"));
        return SyncToolSpecification.builder()
                .tool(Tool.builder(name, schema).description(description).build())
                .callHandler(handler)
                .build();
    }

    private static Map<String, Object> bounded(int maximum, String description) {
        return Map.of("type", "integer", "minimum", 0, "maximum", maximum, "description", description);
    }

    /** An argument, 0 if absent. The SDK has checked it against the tool's schema; this is for one it cannot check. */
    private static int integer(CallToolRequest request, String name, int maximum) {
        Object value = request.arguments().getOrDefault(name, 0);
        if (!(value instanceof Integer number) || number < 0 || number > maximum) {
            throw new IllegalArgumentException(name + ": an integer from 0 to " + maximum + " is needed");
        }
        return number;
    }

    private static String label(CallToolRequest request) {
        return String.valueOf(request.arguments().getOrDefault("label", ""));
    }
}
