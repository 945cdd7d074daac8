// SPDX-License-Identifier: MIT

import java.net.URI;
import java.nio.file.Path;
import java.util.Map;
import software.amazon.awssdk.auth.credentials.AwsCredentialsProvider;
import software.amazon.awssdk.auth.credentials.ContainerCredentialsProvider;
import software.amazon.awssdk.auth.credentials.InstanceProfileCredentialsProvider;
import software.amazon.awssdk.auth.credentials.ProfileCredentialsProvider;
import software.amazon.awssdk.core.exception.SdkException;
import software.amazon.awssdk.profiles.ProfileFile;
import software.amazon.awssdk.profiles.ProfileFileSupplier;
import software.amazon.awssdk.regions.Region;
import software.amazon.awssdk.services.sts.StsClient;

/** AWS SDK for Java 2.x: each provider signs GetCallerIdentity. */
final class AwsV2 {
    private AwsV2() {
    }

    static void add(Map<String, Run.Way> ways) {
        // A property, because the variable of this process is that of the SDK 1, whose endpoint is another one.
        ways.put("aws-sdk-java-v2:container", env -> {
            System.setProperty("aws.containerCredentialsFullUri", env.get("AWS_CONTAINER_CREDENTIALS_FULL_URI"));
            return call(env, ContainerCredentialsProvider.create());
        });
        ways.put("aws-sdk-java-v2:imds", env -> call(env, InstanceProfileCredentialsProvider.builder()
            .endpoint(env.get("AWS_EC2_METADATA_SERVICE_ENDPOINT")).build()));
        // Reads the file again when its time of modification is later than the last load.
        ways.put("aws-sdk-java-v2:file", env -> call(env, ProfileCredentialsProvider.builder()
            .profileFile(ProfileFileSupplier.reloadWhenModified(keys(env), ProfileFile.Type.CREDENTIALS)).build()));
        ways.put("aws-sdk-java-v2:file-fixed", env -> call(env, ProfileCredentialsProvider.builder()
            .profileFile(ProfileFile.builder().content(keys(env)).type(ProfileFile.Type.CREDENTIALS).build()).build()));
        ways.put("aws-sdk-java-v2:process", AwsV2::openProfile);
        ways.put("aws-sdk-java-v2:web-identity", AwsV2::openProfile);
    }

    private static Path keys(Map<String, String> env) {
        return Path.of(env.get("AWS_SHARED_CREDENTIALS_FILE"));
    }

    /** A profile with credential_process, or with a role and a token file. */
    private static Run.Call openProfile(Map<String, String> env) {
        ProfileFile file = ProfileFile.builder().content(Path.of(env.get("AWS_CONFIG_FILE")))
            .type(ProfileFile.Type.CONFIGURATION).build();
        return call(env, ProfileCredentialsProvider.builder().profileFile(file)
            .profileName(env.getOrDefault("AWS_PROFILE", "default")).build());
    }

    private static Run.Call call(Map<String, String> env, AwsCredentialsProvider provider) {
        StsClient sts = StsClient.builder().credentialsProvider(provider).region(Region.of(env.get("AWS_REGION")))
            .endpointOverride(URI.create(env.get("AWS_ENDPOINT_URL_STS"))).build();
        return () -> {
            String id = provider.resolveCredentials().accessKeyId();
            try {
                sts.getCallerIdentity();
            } catch (SdkException failure) {
                throw new Run.Refused(id, failure.getMessage(), failure);
            }
            return id;
        };
    }
}
