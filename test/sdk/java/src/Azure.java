// SPDX-License-Identifier: MIT

import com.azure.core.credential.TokenCredential;
import com.azure.core.credential.TokenRequestContext;
import com.azure.identity.ManagedIdentityCredentialBuilder;
import com.azure.identity.WorkloadIdentityCredentialBuilder;
import java.util.Map;

/** azure-identity, with the JDK's HTTP client. */
final class Azure {
    private Azure() {
    }

    static void add(Map<String, Run.Way> ways) {
        ways.put("azure-identity-java:app-service", env -> call(env, new ManagedIdentityCredentialBuilder().build()));
        // Microsoft is not asked whether the authority is one of its own: it is the local cloud.
        ways.put("azure-identity-java:workload", env -> call(env, new WorkloadIdentityCredentialBuilder()
            .tenantId(env.get("AZURE_TENANT_ID")).clientId(env.get("AZURE_CLIENT_ID"))
            .tokenFilePath(env.get("AZURE_FEDERATED_TOKEN_FILE")).authorityHost(env.get("AZURE_AUTHORITY_HOST"))
            .disableInstanceDiscovery().build()));
    }

    private static Run.Call call(Map<String, String> env, TokenCredential credential) {
        String resource = env.getOrDefault("CFR_SDK_AZURE_RESOURCE", "https://management.azure.com");
        TokenRequestContext request = new TokenRequestContext().addScopes(resource + "/.default");
        return () -> Run.show("/azure/whoami?resource=" + resource, credential.getTokenSync(request).getToken());
    }
}
