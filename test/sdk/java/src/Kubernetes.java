// SPDX-License-Identifier: MIT

import io.fabric8.kubernetes.client.Config;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.KubernetesClientBuilder;
import io.fabric8.kubernetes.client.KubernetesClientException;
import io.fabric8.kubernetes.client.http.BasicBuilder;
import io.fabric8.kubernetes.client.http.HttpRequest;
import io.fabric8.kubernetes.client.http.Interceptor;
import io.kubernetes.client.openapi.ApiClient;
import io.kubernetes.client.openapi.ApiException;
import io.kubernetes.client.openapi.apis.CoreV1Api;
import io.kubernetes.client.util.ClientBuilder;
import io.kubernetes.client.util.KubeConfig;
import io.kubernetes.client.util.credentials.TokenFileAuthentication;
import java.io.File;
import java.io.FileReader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.atomic.AtomicReference;

/** The official client and fabric8's. Both read a Secret, which an anonymous client may not. */
final class Kubernetes {
    private static final Duration OFTEN = Duration.ofSeconds(10);

    private Kubernetes() {
    }

    static void add(Map<String, Run.Way> ways) {
        ways.put("client-java:in-cluster", Kubernetes::openInCluster);
        ways.put("client-java:exec", env -> official(ClientBuilder.kubeconfig(load(env), OFTEN)));
        ways.put("client-java:exec-default", env -> official(ClientBuilder.kubeconfig(load(env))));
        ways.put("client-java:token-file", env -> official(ClientBuilder.kubeconfig(load(env), OFTEN)));
        ways.put("client-java:token-file-default", env -> official(ClientBuilder.kubeconfig(load(env))));
        ways.put("fabric8:exec", Kubernetes::openFabric8);
        ways.put("fabric8:token-file", Kubernetes::openFabric8);
    }

    private static KubeConfig load(Map<String, String> env) throws Exception {
        File file = new File(env.get("KUBECONFIG"));
        try (FileReader reader = new FileReader(file)) {
            KubeConfig config = KubeConfig.loadKubeConfig(reader);
            config.setFile(file);
            return config;
        }
    }

    /** As ClientBuilder.cluster() does, with the server, the CA and the tokenFile of the kubeconfig. */
    private static Run.Call openInCluster(Map<String, String> env) throws Exception {
        KubeConfig config = load(env);
        Map<?, ?> user = (Map<?, ?>) ((Map<?, ?>) config.getUsers().get(0)).get("user");
        return official(new ClientBuilder().setBasePath(config.getServer())
            .setCertificateAuthority(Files.readAllBytes(Path.of(config.getCertificateAuthorityFile())))
            .setAuthentication(new TokenFileAuthentication((String) user.get("tokenFile"))));
    }

    private static String identifyHeader(String header) throws Exception {
        return header == null || !header.startsWith("Bearer ") ? "" : Run.identify(header.substring("Bearer ".length()));
    }

    private static Run.Call official(ClientBuilder builder) throws Exception {
        ApiClient client = builder.build();
        AtomicReference<String> header = new AtomicReference<>();
        // A network interceptor sees what the SDK's own interceptors have put into the request.
        client.setHttpClient(client.getHttpClient().newBuilder().addNetworkInterceptor(chain -> {
            header.set(chain.request().header("Authorization"));
            return chain.proceed(chain.request());
        }).build());
        CoreV1Api api = new CoreV1Api(client);
        return () -> {
            header.set(null);
            try {
                api.readNamespacedSecret("sdk", "default").execute();
            } catch (ApiException failure) {
                throw new Run.Refused(identifyHeader(header.get()), failure.getCode() + " " + failure.getResponseBody(), failure);
            }
            return identifyHeader(header.get());
        };
    }

    private static Run.Call openFabric8(Map<String, String> env) {
        AtomicReference<String> header = new AtomicReference<>();
        Interceptor seen = new Interceptor() {
            @Override
            public void before(BasicBuilder builder, HttpRequest request, RequestTags tags) {
                header.set(request.header("Authorization"));
            }
        };
        KubernetesClient client = new KubernetesClientBuilder()
            .withConfig(Config.fromKubeconfig(new File(env.get("KUBECONFIG"))))
            .withHttpClientBuilderConsumer(builder -> builder.addOrReplaceInterceptor("seen", seen)).build();
        return () -> {
            header.set(null);
            try {
                client.secrets().inNamespace("default").withName("sdk").require();
            } catch (KubernetesClientException failure) {
                throw new Run.Refused(identifyHeader(header.get()), failure.getMessage(), failure);
            }
            return identifyHeader(header.get());
        };
    }
}
