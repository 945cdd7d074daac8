// SPDX-License-Identifier: MIT

import com.google.gson.Gson;
import com.google.gson.JsonObject;
import com.google.gson.reflect.TypeToken;
import java.io.IOException;
import java.io.InputStream;
import java.lang.reflect.Field;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyStore;
import java.security.MessageDigest;
import java.security.cert.Certificate;
import java.security.cert.CertificateFactory;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * Consumers of the SDK matrix in Java: each way is a thread that keeps one credential provider of its SDK for the whole run
 * and makes one authenticated call per period. ../README.md describes the environment and the lines that they print.
 */
final class Run {
    /** Returns which credential it used: an access key's id, or identify of a token. */
    interface Call {
        String run() throws Exception;
    }

    /** Creates the SDK's provider from the variables of its way. */
    interface Way {
        Call open(Map<String, String> env) throws Exception;
    }

    /** A call that failed after the credential was known. */
    static final class Refused extends Exception {
        private static final long serialVersionUID = 1;
        final String id;

        Refused(String id, String message, Throwable cause) {
            super(message, cause);
            this.id = id;
        }
    }

    static final Map<String, Way> WAYS = new LinkedHashMap<>();

    static {
        AwsV2.add(WAYS);
        AwsV1.add(WAYS);
        Google.add(WAYS);
        Azure.add(WAYS);
        Kubernetes.add(WAYS);
        Kafka.add(WAYS);
    }

    /** Made when it is used first, because it takes the truststore that is set then. */
    private static final class Judge {
        static final HttpClient CLIENT = HttpClient.newHttpClient();
        static final String BASE = System.getenv().getOrDefault("CFR_SDK_URL", "").replaceAll("/$", "");
    }

    /** Names a token without showing it. */
    static String identify(String token) throws Exception {
        byte[] digest = MessageDigest.getInstance("SHA-256").digest(token.getBytes(StandardCharsets.UTF_8));
        return HexFormat.of().formatHex(digest, 0, 6);
    }

    /** Shows a token to the local cloud; only 200 means that it was accepted. */
    static String show(String path, String token) throws Exception {
        String id = identify(token);
        HttpRequest request = HttpRequest.newBuilder(URI.create(Judge.BASE + path))
            .header("Authorization", "Bearer " + token).build();
        HttpResponse<String> response = Judge.CLIENT.send(request, HttpResponse.BodyHandlers.ofString());
        if (response.statusCode() != 200) {
            throw new Refused(id, response.statusCode() + " " + response.body(), null);
        }
        return id;
    }

    /** The message and its causes in at most 200 characters. URLs would leave no room for the cause. */
    private static String explain(Throwable failure) {
        StringBuilder text = new StringBuilder();
        for (Throwable at = failure; at != null; at = at.getCause()) {
            String message = at.getMessage() == null ? at.getClass().getSimpleName() : at.getMessage();
            if (text.indexOf(message) < 0) {
                text.append(text.length() == 0 ? "" : ": ").append(message);
            }
        }
        String line = text.toString().replaceAll("https?://\\S+", "URL").replaceAll("\\s+", " ");
        return line.length() <= 200 ? line : line.substring(0, 100) + line.substring(line.length() - 100);
    }

    private static void report(String way, long startedMs, String id, Throwable failure) {
        JsonObject line = new JsonObject();
        line.addProperty("way", way);
        line.addProperty("t", startedMs / 1000.0);
        line.addProperty("ok", failure == null);
        line.addProperty("id", id);
        line.addProperty("error", failure == null ? "" : explain(failure));
        synchronized (System.out) {
            System.out.println(line);
            System.out.flush();
        }
    }

    /** Calls once per period. A provider that cannot be created is a failed call, and is tried again. */
    private static void follow(String name, Map<String, String> env, long periodMs) {
        Call call = null;
        for (long next = System.nanoTime();; next += periodMs * 1_000_000) {
            long late = System.nanoTime() - next;
            if (late > periodMs * 1_000_000) {
                next += late; // missed periods are not made up for
            }
            long started = 0;
            String id = "";
            Throwable failure = null;
            try {
                Thread.sleep(Math.max(0, (next - System.nanoTime()) / 1_000_000));
                started = System.currentTimeMillis();
                call = call == null ? WAYS.get(name).open(env) : call;
                id = call.run();
            } catch (Refused refused) {
                id = refused.id;
                failure = refused;
            } catch (Exception | LinkageError thrown) {
                failure = thrown;
            }
            report(name, started, id, failure);
        }
    }

    /**
     * Puts variables into the environment that this process shows its SDKs, because several of them can be set in no other
     * way; the JVM has to open java.lang and java.util for it.
     */
    @SuppressWarnings("unchecked")
    private static void setEnvironment(Map<String, String> variables) throws ReflectiveOperationException {
        Field field = System.getenv().getClass().getDeclaredField("m");
        field.setAccessible(true);
        ((Map<String, String>) field.get(System.getenv())).putAll(variables);
    }

    /** Trusts the CA file, as the system property that Java's users have to set does. */
    private static void trust(String file) throws Exception {
        KeyStore store = KeyStore.getInstance("PKCS12");
        store.load(null, null);
        int count = 0;
        try (InputStream in = Files.newInputStream(Path.of(file))) {
            for (Certificate certificate : CertificateFactory.getInstance("X.509").generateCertificates(in)) {
                store.setCertificateEntry("ca" + count++, certificate);
            }
        }
        Path path = Files.createTempFile("truststore", ".p12");
        path.toFile().deleteOnExit();
        try (var out = Files.newOutputStream(path)) {
            store.store(out, "changeit".toCharArray());
        }
        System.setProperty("javax.net.ssl.trustStore", path.toString());
        System.setProperty("javax.net.ssl.trustStorePassword", "changeit");
    }

    private static Map<String, Map<String, String>> settings() throws IOException {
        String path = System.getenv().getOrDefault("CFR_SDK_CONFIG", "");
        return path.isEmpty() ? Map.of() : new Gson().fromJson(Files.readString(Path.of(path)),
            new TypeToken<Map<String, Map<String, String>>>() { }.getType());
    }

    public static void main(String[] names) throws Exception {
        Map<String, Map<String, String>> settings = settings();
        Map<String, String> common = new HashMap<>();
        for (String name : names) {
            if (!WAYS.containsKey(name)) {
                System.err.println("run: unknown way \"" + name + "\"");
                System.exit(1);
            }
            common.putAll(settings.getOrDefault(name, Map.of()));
        }
        // These would change other ways: no metadata for the one that asks for it on purpose, workload identity for the
        // managed identity.
        common.keySet().removeIf(key -> key.equals("AWS_EC2_METADATA_DISABLED") || key.startsWith("AZURE_"));
        setEnvironment(common);
        String ca = System.getenv().getOrDefault("CFR_SDK_CA", System.getenv().getOrDefault("SSL_CERT_FILE", ""));
        if (!ca.isEmpty()) {
            trust(ca);
        }
        long periodMs = Long.parseLong(System.getenv().getOrDefault("CFR_SDK_PERIOD_MS", "1000"));
        for (String name : names) {
            Map<String, String> env = new HashMap<>(System.getenv());
            env.putAll(settings.getOrDefault(name, Map.of()));
            Thread thread = new Thread(() -> follow(name, env, periodMs), name);
            thread.setDaemon(true);
            thread.start();
        }
        while (System.in.read() >= 0) {
            continue;
        }
        System.exit(0);
    }
}
