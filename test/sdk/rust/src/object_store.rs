// SPDX-License-Identifier: MIT

//! object_store: its own providers of credentials for S3, Azure and GCS. What they give is judged where the other SDKs of
//! that cloud are, because the local cloud has no buckets.

use crate::aws::Aws;
use crate::judge::{Consumer, Failure, Judge, Outcome};
use aws_credential_types::Credentials;
use aws_credential_types::provider::{self, ProvideCredentials, error::CredentialsError, future};
use object_store::aws::{AmazonS3Builder, AwsCredentialProvider};
use object_store::azure::{AzureCredential, AzureCredentialProvider, MicrosoftAzureBuilder};
use object_store::gcp::{GcpCredentialProvider, GoogleCloudStorageBuilder};

#[derive(Debug)]
struct S3(AwsCredentialProvider);

impl S3 {
    async fn get(&self) -> provider::Result {
        let keys = self.0.get_credential().await.map_err(CredentialsError::provider_error)?;
        Ok(Credentials::new(&keys.key_id, &keys.secret_key, keys.token.clone(), None, "object_store"))
    }
}

impl ProvideCredentials for S3 {
    fn provide_credentials<'a>(&'a self) -> future::ProvideCredentials<'a>
    where
        Self: 'a,
    {
        future::ProvideCredentials::new(self.get())
    }
}

struct Azure(AzureCredentialProvider, Judge);

impl Consumer for Azure {
    fn call(&self) -> Outcome<'_> {
        Box::pin(async {
            match self.0.get_credential().await?.as_ref() {
                AzureCredential::BearerToken(token) => {
                    self.1.show("/azure/whoami?resource=https://storage.azure.com", token).await
                }
                _ => Err(Failure::new("it is not a bearer token")),
            }
        })
    }
}

struct Google(GcpCredentialProvider, Judge);

impl Consumer for Google {
    fn call(&self) -> Outcome<'_> {
        Box::pin(async {
            let token = self.0.get_credential().await?;
            self.1.show("/gcp/whoami", &token.bearer).await
        })
    }
}

pub async fn open(kind: &str) -> Result<Box<dyn Consumer>, Failure> {
    Ok(match kind {
        "gcs-metadata" => {
            let store = GoogleCloudStorageBuilder::from_env().with_bucket_name("sdk").build()?;
            Box::new(Google(store.credentials().clone(), Judge::default()))
        }
        "azure-app-service" | "azure-workload" => {
            let store = MicrosoftAzureBuilder::from_env().with_account("sdk").with_container_name("sdk").build()?;
            Box::new(Azure(store.credentials().clone(), Judge::default()))
        }
        _ => {
            let store = AmazonS3Builder::from_env().with_bucket_name("sdk").build()?;
            let config = aws_config::defaults(aws_config::BehaviorVersion::latest())
                .credentials_provider(S3(store.credentials().clone()))
                .identity_cache(aws_config::identity::IdentityCache::no_cache())
                .load()
                .await;
            Box::new(Aws::new(&config))
        }
    })
}
