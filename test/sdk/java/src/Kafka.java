// SPDX-License-Identifier: MIT

import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import javax.security.auth.Subject;
import org.apache.kafka.clients.admin.AdminClientConfig;
import org.apache.kafka.common.config.types.Password;
import org.apache.kafka.common.security.JaasContext;
import org.apache.kafka.common.security.authenticator.LoginManager;
import org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginCallbackHandler;
import org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule;
import org.apache.kafka.common.security.oauthbearer.OAuthBearerToken;
import org.apache.kafka.common.security.oauthbearer.internals.OAuthBearerRefreshingLogin;

/**
 * The login of kafka-clients with a token of a file://. There is no broker: the token that the login holds, which a client
 * would send when it connects, is shown to the local cloud's API server.
 */
final class Kafka {
    private Kafka() {
    }

    static void add(Map<String, Run.Way> ways) {
        ways.put("kafka-clients:token-file", Kafka::open);
    }

    private static Run.Call open(Map<String, String> env) throws Exception {
        String url = Path.of(env.get("CFR_SDK_TOKEN_FILE")).toUri().toString();
        System.setProperty("org.apache.kafka.sasl.oauthbearer.allowed.urls", url);
        System.setProperty("org.apache.kafka.sasl.oauthbearer.allowed.files", env.get("CFR_SDK_TOKEN_FILE"));
        Map<String, Object> settings = new HashMap<>();
        settings.put("sasl.mechanism", "OAUTHBEARER");
        settings.put("sasl.jaas.config", new Password(OAuthBearerLoginModule.class.getName() + " required;"));
        settings.put("sasl.login.callback.handler.class", OAuthBearerLoginCallbackHandler.class);
        settings.put("sasl.oauthbearer.token.endpoint.url", url);
        settings.put("sasl.login.refresh.min.period.seconds", (short) 1); // the default is longer than the lives of a test
        settings.put("sasl.login.refresh.buffer.seconds", (short) 1);
        settings.put("bootstrap.servers", "127.0.0.1:1"); // never connected to
        Map<String, ?> all = new AdminClientConfig(settings).values();
        Subject subject = LoginManager.acquireLoginManager(JaasContext.loadClientContext(all), "OAUTHBEARER",
            OAuthBearerRefreshingLogin.class, all).subject();
        return () -> {
            synchronized (subject.getPrivateCredentials()) {
                String token = subject.getPrivateCredentials(OAuthBearerToken.class).iterator().next().value();
                return Run.show("/kube/api/v1/namespaces/default/secrets/sdk", token);
            }
        };
    }
}
