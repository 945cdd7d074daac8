// SPDX-License-Identifier: MIT

import com.amazonaws.SdkBaseException;
import com.amazonaws.auth.AWSCredentialsProvider;
import com.amazonaws.auth.EC2ContainerCredentialsProviderWrapper;
import com.amazonaws.auth.InstanceProfileCredentialsProvider;
import com.amazonaws.auth.ProcessCredentialsProvider;
import com.amazonaws.auth.profile.ProfileCredentialsProvider;
import com.amazonaws.client.builder.AwsClientBuilder.EndpointConfiguration;
import com.amazonaws.services.securitytoken.AWSSecurityTokenService;
import com.amazonaws.services.securitytoken.AWSSecurityTokenServiceClientBuilder;
import com.amazonaws.services.securitytoken.model.GetCallerIdentityRequest;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;

/** AWS SDK for Java 1.x, which Hadoop uses: each provider signs GetCallerIdentity. */
@SuppressWarnings("deprecation") // the command in one text is what a profile has
final class AwsV1 {
    private AwsV1() {
    }

    static void add(Map<String, Run.Way> ways) {
        System.setProperty("aws.java.v1.disableDeprecationAnnouncement", "true");
        ways.put("aws-sdk-java-v1:container", env -> call(env, new EC2ContainerCredentialsProviderWrapper()));
        ways.put("aws-sdk-java-v1:imds", env -> {
            System.setProperty("com.amazonaws.sdk.ec2MetadataServiceEndpointOverride",
                env.get("AWS_EC2_METADATA_SERVICE_ENDPOINT"));
            return call(env, InstanceProfileCredentialsProvider.getInstance());
        });
        ways.put("aws-sdk-java-v1:process", env -> call(env, ProcessCredentialsProvider.builder()
            .withCommand(command(Path.of(env.get("AWS_CONFIG_FILE")))).build()));
        ways.put("aws-sdk-java-v1:file", env -> call(env,
            new ProfileCredentialsProvider(env.get("AWS_SHARED_CREDENTIALS_FILE"), env.getOrDefault("AWS_PROFILE", "default"))));
    }

    /** This SDK takes the command itself, so the profile's is read here. */
    private static String command(Path file) throws Exception {
        for (String line : Files.readAllLines(file)) {
            if (line.startsWith("credential_process")) {
                return line.substring(line.indexOf('=') + 1).strip();
            }
        }
        throw new IllegalArgumentException(file + " has no credential_process");
    }

    private static Run.Call call(Map<String, String> env, AWSCredentialsProvider provider) {
        AWSSecurityTokenService sts = AWSSecurityTokenServiceClientBuilder.standard().withCredentials(provider)
            .withEndpointConfiguration(new EndpointConfiguration(env.get("AWS_ENDPOINT_URL_STS"), env.get("AWS_REGION")))
            .build();
        return () -> {
            String id = provider.getCredentials().getAWSAccessKeyId();
            try {
                sts.getCallerIdentity(new GetCallerIdentityRequest());
            } catch (SdkBaseException failure) {
                throw new Run.Refused(id, failure.getMessage(), failure);
            }
            return id;
        };
    }
}
