// SPDX-License-Identifier: MIT

//! kube's client with the context of KUBECONFIG, which has a tokenFile or an exec plugin.

use crate::judge::{Consumer, Failure, Outcome, identify};
use kube::client::{Body, ConfigExt};
use kube::{Client, Config};
use std::sync::{Arc, Mutex};
use tower::ServiceBuilder;

struct Kubernetes {
    client: Client,
    id: Arc<Mutex<String>>,
}

impl Consumer for Kubernetes {
    /// Reads a Secret, which an anonymous client may not.
    fn call(&self) -> Outcome<'_> {
        Box::pin(async {
            self.id.lock().unwrap().clear();
            let request = http::Request::get("/api/v1/namespaces/default/secrets/sdk").body(Vec::new())?;
            let answer = self.client.request_text(request).await;
            let id = self.id.lock().unwrap().clone();
            answer.map(|_| id.clone()).map_err(|error| Failure::from(error).with_id(id))
        })
    }
}

/// The layers of the SDK's own client, and below them one that notes which token it put into the request.
pub async fn open() -> Result<Box<dyn Consumer>, Failure> {
    let config = Config::infer().await?;
    let transport = hyper_util::client::legacy::Client::builder(hyper_util::rt::TokioExecutor::new())
        .build(config.rustls_https_connector()?);
    let id = Arc::new(Mutex::new(String::new()));
    let seen = id.clone();
    let service = ServiceBuilder::new()
        .layer(config.base_uri_layer())
        .option_layer(config.auth_layer()?)
        .map_request(move |request: http::Request<Body>| {
            let header = request.headers().get("authorization").and_then(|value| value.to_str().ok());
            if let Some(token) = header.and_then(|value| value.strip_prefix("Bearer ")) {
                *seen.lock().unwrap() = identify(token);
            }
            request
        })
        .map_err(tower::BoxError::from)
        .service(transport);
    Ok(Box::new(Kubernetes { client: Client::new(service, config.default_namespace), id }))
}
