import io.modelcontextprotocol.server.McpServer;
import io.modelcontextprotocol.server.transport.HttpServletStreamableServerTransportProvider;
import io.modelcontextprotocol.spec.McpSchema.ServerCapabilities;
import java.nio.file.Path;
import java.util.logging.Level;
import java.util.logging.Logger;
import org.apache.catalina.Context;
import org.apache.catalina.Wrapper;
import org.apache.catalina.startup.Tomcat;

/**
 * The server that the matrix probes for the Java SDK: a small, honest one.
 *
 * <p>It keeps to the SDK's public interface and its defaults: the servlet transport on an embedded Tomcat, as in the
 * SDK's own conformance server, and a synchronous server. The SDK has neither an event store nor a way to close a
 * request's stream early, so there is no choice of a store and no {@code test_reconnection}.
 */
public final class Server {

    private static final String HOST = "127.0.0.1";
    private static final String PATH = "/mcp";

    private Server() {}

    public static void main(String[] arguments) throws Exception {
        if (arguments.length != 2 || !arguments[0].equals("--port")) {
            throw new IllegalArgumentException("usage: --port N");
        }
        int port = Integer.parseInt(arguments[1]);
        // Tomcat tells of its start on stderr, and of a machine that is slow to give random numbers.
        Logger.getLogger("").setLevel(Level.SEVERE);

        HttpServletStreamableServerTransportProvider transport =
                HttpServletStreamableServerTransportProvider.builder().mcpEndpoint(PATH).build();
        McpServer.sync(transport)
                .serverInfo("reattach-java-sdk", "1")
                .capabilities(ServerCapabilities.builder().logging().tools(false).build())
                .tools(Tools.all(transport))
                .build();
        tomcat(transport, port).getServer().await();
    }

    private static Tomcat tomcat(HttpServletStreamableServerTransportProvider transport, int port) throws Exception {
        // Tomcat makes empty folders in it. It is always the same one, so that they do not add up.
        String folder = Path.of(System.getProperty("java.io.tmpdir"), "reattach-java-sdk").toString();
        Tomcat tomcat = new Tomcat();
        tomcat.setBaseDir(folder);
        tomcat.setHostname(HOST);
        tomcat.setPort(port);
        tomcat.getConnector().setProperty("address", HOST);
        Context context = tomcat.addContext("", folder);
        Wrapper wrapper = Tomcat.addServlet(context, "mcp", transport);
        wrapper.setAsyncSupported(true);
        wrapper.setLoadOnStartup(1);
        context.addServletMappingDecoded("/*", "mcp");
        tomcat.start();
        return tomcat;
    }
}
