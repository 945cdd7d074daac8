// SPDX-License-Identifier: MIT

import com.google.auth.oauth2.ComputeEngineCredentials;
import com.google.auth.oauth2.GoogleCredentials;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;

/** google-auth-library: the request's metadata, as Google's client libraries ask for it. */
final class Google {
    private static final String SCOPE = "https://www.googleapis.com/auth/cloud-platform";

    private Google() {
    }

    static void add(Map<String, Run.Way> ways) {
        ways.put("google-auth-java:metadata", env -> call(ComputeEngineCredentials.create()));
        ways.put("google-auth-java:file", Google::openFile);
        ways.put("google-auth-java:executable", Google::openFile);
    }

    /** An external account, whose subject token is in a file or comes from a program. */
    private static Run.Call openFile(Map<String, String> env) throws Exception {
        try (var in = Files.newInputStream(Path.of(env.get("GOOGLE_APPLICATION_CREDENTIALS")))) {
            return call(GoogleCredentials.fromStream(in));
        }
    }

    private static Run.Call call(GoogleCredentials found) {
        GoogleCredentials credentials = found.createScoped(SCOPE);
        return () -> {
            Map<String, List<String>> headers = credentials.getRequestMetadata(URI.create("https://storage.googleapis.com/"));
            return Run.show("/gcp/whoami", headers.get("Authorization").get(0).replaceFirst("^Bearer ", ""));
        };
    }
}
