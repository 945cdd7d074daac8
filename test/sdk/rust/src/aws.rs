// SPDX-License-Identifier: MIT

//! The default chain of aws-config: the environment decides which of the ways it is.

use crate::judge::{Consumer, Failure, Outcome};
use aws_config::{BehaviorVersion, SdkConfig};
use aws_sdk_sts::config::interceptors::BeforeTransmitInterceptorContextRef;
use aws_sdk_sts::config::{ConfigBag, Intercept, RuntimeComponents};
use aws_sdk_sts::error::{BoxError, DisplayErrorContext};
use std::sync::{Arc, Mutex};

/// Notes the access key in the signature of each request: keys are in the SDK's own cache.
#[derive(Clone, Debug, Default)]
struct Signature(Arc<Mutex<String>>);

impl Intercept for Signature {
    fn name(&self) -> &'static str {
        "signature"
    }

    fn read_before_transmit(
        &self,
        context: &BeforeTransmitInterceptorContextRef<'_>,
        _: &RuntimeComponents,
        _: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        let header = context.request().headers().get("authorization").unwrap_or_default();
        let key = header.split("Credential=").nth(1).and_then(|rest| rest.split('/').next()).unwrap_or_default();
        *self.0.lock().unwrap() = key.to_string();
        Ok(())
    }
}

pub struct Aws {
    client: aws_sdk_sts::Client,
    signature: Signature,
}

impl Aws {
    pub fn new(config: &SdkConfig) -> Self {
        let signature = Signature::default();
        let settings = aws_sdk_sts::config::Builder::from(config).interceptor(signature.clone()).build();
        Aws { client: aws_sdk_sts::Client::from_conf(settings), signature }
    }
}

impl Consumer for Aws {
    /// Asks STS, at AWS_ENDPOINT_URL_STS, who signed the request.
    fn call(&self) -> Outcome<'_> {
        Box::pin(async {
            self.signature.0.lock().unwrap().clear();
            let answer = self.client.get_caller_identity().send().await;
            let id = self.signature.0.lock().unwrap().clone();
            match answer {
                Ok(_) => Ok(id),
                Err(error) => Err(Failure::new(DisplayErrorContext(&error).to_string()).with_id(id)),
            }
        })
    }
}

pub async fn open() -> Aws {
    Aws::new(&aws_config::load_defaults(BehaviorVersion::latest()).await)
}
