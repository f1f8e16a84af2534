import io.modelcontextprotocol.client.McpClient;
import io.modelcontextprotocol.client.McpSyncClient;
import io.modelcontextprotocol.client.transport.HttpClientStreamableHttpTransport;
import io.modelcontextprotocol.json.McpJsonDefaults;
import io.modelcontextprotocol.json.McpJsonMapper;
import io.modelcontextprotocol.json.TypeRef;
import io.modelcontextprotocol.json.jackson3.JacksonMcpJsonMapper;
import io.modelcontextprotocol.spec.McpSchema.CallToolRequest;
import io.modelcontextprotocol.spec.McpSchema.LoggingLevel;
import java.io.IOException;
import java.net.URI;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import tools.jackson.core.JsonParser;
import tools.jackson.databind.DeserializationContext;
import tools.jackson.databind.deser.std.StdDeserializer;
import tools.jackson.databind.json.JsonMapper;
import tools.jackson.databind.module.SimpleModule;

/**
 * A client on the Java SDK, by its defaults. What it is given and prints is reattach-client/1 (docs/clients.md).
 *
 * <p>It is a synchronous one, on the transport over the JDK's own HTTP client. Usage: {@code Client URL}.
 *
 * <p>One thing is not the SDK's default. By that it drops every log notification whose data is no string, without a word;
 * so the transport is given a mapper that takes any other JSON as its text.
 */
public final class Client {

    private static final McpJsonMapper JSON = McpJsonDefaults.getMapper();
    private static final ExecutorService THREADS = Executors.newCachedThreadPool();
    private static final String UNLESS_GIVEN =
            """
            [{"label": "call", "tool": "reattach_emit",
              "arguments": {"count": 10, "interval_ms": 50, "label": "call"}}]""";

    /** What to call, by which name to tell of it, and after which other call. */
    public record Call(String label, String tool, Map<String, Object> arguments, String after) {}

    private Client() {}

    public static void main(String[] arguments) {
        try {
            run(URI.create(arguments[0]));
        } catch (Exception error) {
            tell(Map.of("error", error.toString()));
            System.exit(1);
        }
        System.exit(0); // the SDK's threads are no daemons
    }

    private static void run(URI url) throws IOException {
        String given = System.getenv("REATTACH_CALLS");
        List<Call> calls = JSON.readValue(given == null ? UNLESS_GIVEN : given, new TypeRef<List<Call>>() {});
        HttpClientStreamableHttpTransport transport = HttpClientStreamableHttpTransport.builder(
                        url.getScheme() + "://" + url.getAuthority())
                .endpoint(url.getPath())
                .jsonMapper(new JacksonMcpJsonMapper(lenient()))
                .build();
        McpSyncClient client = McpClient.sync(transport)
                .loggingConsumer(said -> tell(Map.of("applied", said)))
                .build();
        client.initialize();
        client.setLoggingLevel(LoggingLevel.DEBUG);
        Map<String, CompletableFuture<Void>> over = new HashMap<>();
        for (Call call : calls) {
            CompletableFuture<Void> before =
                    over.getOrDefault(Objects.toString(call.after(), ""), CompletableFuture.completedFuture(null));
            over.put(call.label(), before.thenRunAsync(() -> call(client, call), THREADS));
        }
        over.values().forEach(CompletableFuture::join);
        client.closeGracefully();
    }

    /** The SDK's mapper, but that a text may be given as an object or an array. */
    private static JsonMapper lenient() {
        SimpleModule module = new SimpleModule();
        module.addDeserializer(String.class, new StdDeserializer<>(String.class) {
            @Override
            public String deserialize(JsonParser parser, DeserializationContext context) {
                return parser.currentToken().isStructStart()
                        ? context.readTree(parser).toString()
                        : parser.getValueAsString();
            }
        });
        return JsonMapper.builder().addModule(module).build();
    }

    private static void call(McpSyncClient client, Call call) {
        try {
            var result = client.callTool(
                    CallToolRequest.builder(call.tool()).arguments(call.arguments()).build());
            tell(Map.of("result", result, "call", call.label()));
        } catch (RuntimeException error) {
            tell(Map.of("error", error.toString(), "call", call.label()));
        }
    }

    /** Prints one line. */
    private static synchronized void tell(Map<String, Object> said) {
        try {
            System.out.println(JSON.writeValueAsString(said));
        } catch (IOException error) {
            System.out.println("{\"error\": \"a line cannot be written\"}");
        }
        System.out.flush();
    }
}
