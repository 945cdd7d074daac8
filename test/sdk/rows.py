# SPDX-License-Identifier: MIT
"""The rows of the SDK matrix: which way of which SDK is tried, with which credential of the agent, and what is expected.

works is True: while the agent holds a good credential no call is made with an expired or unknown one, and the calls succeed
again after an outage. A text says how it fails instead; the run fails when that is not true any more, so that the page that is
made from these rows never claims too much or too little. ABANDONS alone may work in a run, as it mostly did.
"""
import collections

Row = collections.namedtuple("Row", "language sdk version way credential works recommended asks needs", defaults=("", ""))

DEAD = "reads it once: refused after the first lifetime"
ANONYMOUS = "ignores it: system:anonymous from the start"
EXTENDS = "extends the lifetime of the keys and sends expired ones"
SLOW = "reads it again only after 5 to 10 min: refused with the short lifetimes of this test"
ABANDONS = "some outages of the token service end it permanently"

BY_CHANCE = "at a random time from 15 to 1 min before the end"

AWS_CONTAINER = "AWS_CONTAINER_CREDENTIALS_FULL_URI and AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"
ALLOW = "GOOGLE_EXTERNAL_ACCOUNT_ALLOW_EXECUTABLES=1"


def rows(language, sdk, version, *ways):
    return [Row(language, sdk, version, *way) for way in ways]


ROWS = [
    *rows("go", "aws-sdk-go-v2", "1.47.7",
          ("container", "aws-container", True, True, "at each call in the last 5 min", AWS_CONTAINER),
          ("process", "aws-process", True, False, "when the keys end", "AWS_CONFIG_FILE, an absolute path in command"),
          ("imds", "aws-imds", EXTENDS, False, "when the keys end", "AWS_EC2_METADATA_SERVICE_ENDPOINT and AWS_REGION"),
          ("web-identity", "aws-web-identity", True, False, "own exchange when the keys end", "AWS_CONFIG_FILE"),
          ("file", "aws-file", DEAD, False, "never", "AWS_SHARED_CREDENTIALS_FILE")),
    *rows("go", "azidentity", "1.15.0",
          ("app-service", "azure-app-service", True, True, "at each call in the last 5 min", "IDENTITY_ENDPOINT and IDENTITY_HEADER"),
          ("workload", "azure-workload", True, False, "own exchange 5 min before the end; keeps the assertion 10 min",
           "azure.env; tokens of 50 min and more")),
    *rows("go", "gcp-auth-go", "0.24.3",
          ("metadata", "gcp-metadata", True, True, "3 min 45 s before the end, in the background", "GCE_METADATA_HOST without http://"),
          ("executable", "gcp-executable", True, True, "own exchange 3 min 45 s before the end", ALLOW),
          ("file", "gcp-file", True, False, "own exchange 3 min 45 s before the end", "GOOGLE_APPLICATION_CREDENTIALS")),
    *rows("go", "gophercloud", "2.15.0",
          ("clouds-yaml", "openstack", True, True, "logs in again after a 401", "OS_CLIENT_CONFIG_FILE, OS_CLOUD and AllowReauth")),
    *rows("go", "client-go", "0.37.2",
          ("token-file", "kube", True, True, "reads the file once a minute", "tokenFile in the kubeconfig"),
          ("exec", "kube", True, True, "when expirationTimestamp is over", "exec in the kubeconfig")),
    *rows("go", "go-containerregistry", "0.22.1",
          ("docker-config", "registry", True, True, "reads the file at each Resolve", "DOCKER_CONFIG")),

    *rows("java", "aws-sdk-java-v2", "2.57.8",
          ("container", "aws-container", True, True, BY_CHANCE, AWS_CONTAINER),
          ("file", "aws-file", True, False, "reads the file when its time of modification is later than the last load",
           "ProfileFileSupplier.reloadWhenModified"),
          ("process", "aws-process", True, False, "before the keys end", "AWS_CONFIG_FILE"),
          ("web-identity", "aws-web-identity", True, False, "own exchange before the keys end", "AWS_CONFIG_FILE and a truststore"),
          ("imds", "aws-imds", EXTENDS, False, "before the keys end", "an endpoint in the builder"),
          ("file-fixed", "aws-file", DEAD, False, "never", "")),
    *rows("java", "aws-sdk-java-v1", "1.12.797",
          ("container", "aws-container", True, True, "at each call in the last 15 min", AWS_CONTAINER),
          ("process", "aws-process", True, False, "before the keys end", "the command in the program"),
          ("imds", "aws-imds", EXTENDS, False, "before the keys end", "com.amazonaws.sdk.ec2MetadataServiceEndpointOverride"),
          ("file", "aws-file", SLOW, False, "5 to 10 min after the last load", "AWS_SHARED_CREDENTIALS_FILE")),
    *rows("java", "google-auth-java", "1.52.0",
          ("metadata", "gcp-metadata", True, True, "3 min 45 s before the end", "GCE_METADATA_HOST"),
          ("executable", "gcp-executable", True, False, "own exchange, the program each time", ALLOW),
          ("file", "gcp-file", True, False, "own exchange, the file each time", "a truststore")),
    *rows("java", "azure-identity-java", "1.19.0",
          ("app-service", "azure-app-service", True, True, "5 min before the end", "IDENTITY_ENDPOINT and IDENTITY_HEADER"),
          ("workload", "azure-workload", True, False, "own exchange at each call", "azure.env")),
    *rows("java", "client-java", "27.0.0",
          ("in-cluster", "kube", True, True, "reads the file once a minute", "TokenFileAuthentication"),
          ("exec", "kube", True, True, "each time that tokenRefreshPeriod is over", "ClientBuilder.kubeconfig(config, period)"),
          ("token-file", "kube", True, False, "each time that tokenRefreshPeriod is over", "ClientBuilder.kubeconfig(config, period)"),
          ("exec-default", "kube", DEAD, False, "never", ""),
          ("token-file-default", "kube", DEAD, False, "never", "")),
    *rows("java", "fabric8", "8.0.0",
          ("exec", "kube", True, True, "once a minute", "exec in the kubeconfig"),
          ("token-file", "kube", ANONYMOUS, False, "never", "")),
    *rows("java", "kafka-clients", "4.4.0",
          ("token-file", "kube", True, True, "at 80 % of the token's lifetime",
           "sasl.oauthbearer.token.endpoint.url=file:///... and org.apache.kafka.sasl.oauthbearer.allowed.urls")),

    *rows("rust", "aws-config", "1.13.0",
          ("container", "aws-container", True, True, "10 s before the keys end", AWS_CONTAINER),
          ("process", "aws-process", True, False, "10 s before the keys end", "AWS_CONFIG_FILE, an absolute path in command"),
          ("imds", "aws-imds", True, False, "10 s before the keys end", "AWS_EC2_METADATA_SERVICE_ENDPOINT"),
          ("web-identity", "aws-web-identity", True, False, "own exchange 10 s before the keys end", "SSL_CERT_FILE, not AWS_CA_BUNDLE"),
          ("file", "aws-file", DEAD, False, "never", "AWS_SHARED_CREDENTIALS_FILE")),
    *rows("rust", "azure_identity", "1.0.0",
          ("app-service", "azure-app-service", True, True, "at each call in the last 5 min", "IDENTITY_ENDPOINT and IDENTITY_HEADER"),
          ("workload", "azure-workload", True, False, "own exchange 5 min before the end; keeps the assertion 10 min",
           "azure.env; tokens of 50 min and more")),
    *rows("rust", "google-cloud-auth", "1.18.0",
          ("metadata", "gcp-metadata", True, True, "4 min before the end, in a task", "GCE_METADATA_HOST"),
          ("executable", "gcp-executable", True, True, "own exchange 4 min before the end", ALLOW),
          ("file", "gcp-file", ABANDONS, False, "own exchange 4 min before the end", "SSL_CERT_FILE")),
    *rows("rust", "kube", "5.0.0",
          ("token-file", "kube", True, True, "reads the file once a minute", "tokenFile in the kubeconfig"),
          ("exec", "kube", True, True, "1 min before expirationTimestamp", "exec in the kubeconfig")),
    *rows("rust", "object_store", "0.14.2",
          ("s3-container", "aws-container", True, True, "at each call in the last 5 min",
           AWS_CONTAINER + "; not AWS_CONTAINER_AUTHORIZATION_TOKEN"),
          ("s3-imds", "aws-imds", True, False, "at each call in the last 5 min", "AWS_METADATA_ENDPOINT"),
          ("s3-web-identity", "aws-web-identity", True, False, "own exchange in the last 5 min",
           "AWS_ROLE_ARN, AWS_WEB_IDENTITY_TOKEN_FILE and AWS_ENDPOINT_URL_STS"),
          ("azure-app-service", "azure-app-service", True, True, "at each call in the last 5 min",
           "the scope https://storage.azure.com"),
          ("azure-workload", "azure-workload", True, False, "own exchange in the last 5 min", "azure.env"),
          ("gcs-metadata", "gcp-metadata", True, True, "at each call in the last 4 min", "GCE_METADATA_HOST")),

    *rows("javascript", "aws-sdk-js-v3", "3.1169.0",
          ("container", "aws-container", True, True, "5 min before the end", AWS_CONTAINER),
          ("imds", "aws-imds", True, False, "5 min before the end", "AWS_EC2_METADATA_SERVICE_ENDPOINT"),
          ("process", "aws-process", True, False, "5 min before the end", "AWS_CONFIG_FILE"),
          ("web-identity", "aws-web-identity", True, False, "own exchange 5 min before the end", "NODE_EXTRA_CA_CERTS"),
          ("file", "aws-file", DEAD, False, "never", "AWS_SHARED_CREDENTIALS_FILE")),
    *rows("javascript", "google-auth-js", "10.9.1",
          ("metadata", "gcp-metadata", True, True, "5 min before the end",
           "GCE_METADATA_HOST and METADATA_SERVER_DETECTION=assume-present"),
          ("executable", "gcp-executable", True, False, "own exchange, the program each time", ALLOW),
          ("file", "gcp-file", True, False, "own exchange, the file each time", "GOOGLE_APPLICATION_CREDENTIALS")),
    *rows("javascript", "azure-identity-js", "4.13.1",
          ("app-service", "azure-app-service", True, True, "5 min before the end", "IDENTITY_ENDPOINT and IDENTITY_HEADER"),
          ("workload", "azure-workload", True, False, "own exchange; keeps the assertion 5 min",
           "azure.env; tokens of 15 min and more")),
    *rows("javascript", "client-node", "1.4.0",
          ("in-cluster", "kube", True, True, "reads the file once a minute", "authProvider tokenFile"),
          ("exec", "kube", True, True, "when expirationTimestamp is over", "exec in the kubeconfig"),
          ("token-file", "kube", ANONYMOUS, False, "never", "")),

    *rows("python", "boto3", "1.44.5",
          ("container", "aws-container", True, True, "15 to 10 min before the end", AWS_CONTAINER),
          ("process", "aws-process", True, True, "15 to 10 min before the end", "AWS_CONFIG_FILE"),
          ("imds", "aws-imds", EXTENDS, False, "15 to 10 min before the end",
           "AWS_EC2_METADATA_SERVICE_ENDPOINT and AWS_REGION; lifetimes of 30 min and more"),
          ("web-identity", "aws-web-identity", True, False, "own exchange 15 to 10 min before the end", "AWS_CONFIG_FILE"),
          ("file", "aws-file", DEAD, False, "never", "AWS_SHARED_CREDENTIALS_FILE")),
    *rows("python", "aiobotocore", "3.10.0",
          ("container", "aws-container", True, True, "15 to 10 min before the end", AWS_CONTAINER),
          ("process", "aws-process", True, True, "15 to 10 min before the end", "AWS_CONFIG_FILE"),
          ("imds", "aws-imds", EXTENDS, False, "15 to 10 min before the end",
           "AWS_EC2_METADATA_SERVICE_ENDPOINT and AWS_REGION; lifetimes of 30 min and more")),
    *rows("python", "google-auth", "2.62.2",
          ("metadata", "gcp-metadata", True, True, "3 min 45 s before the end", "GCE_METADATA_HOST and GCE_METADATA_IP"),
          ("executable", "gcp-executable", True, False, "own exchange, the program each time", ALLOW),
          ("file", "gcp-file", True, False, "own exchange, the file each time", "REQUESTS_CA_BUNDLE")),
    *rows("python", "azure-identity", "1.27.0",
          ("app-service", "azure-app-service", True, True, "5 min before the end", "IDENTITY_ENDPOINT and IDENTITY_HEADER"),
          ("workload", "azure-workload", True, False, "own exchange; keeps the assertion 10 min",
           "azure.env; tokens of 15 min and more")),
    *rows("python", "openstacksdk", "4.22.0",
          ("clouds-yaml", "openstack", True, True, "logs in again 2 min before the end", "OS_CLIENT_CONFIG_FILE and OS_CLOUD")),
    *rows("python", "kubernetes", "37.0.1",
          ("exec", "kube", True, True, "5 min before expirationTimestamp", "exec in the kubeconfig"),
          ("in-cluster", "kube", True, True, "reads the file once a minute", "InClusterConfigLoader"),
          ("token-file", "kube", DEAD, False, "never", "")),
]
