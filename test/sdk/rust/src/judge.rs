// SPDX-License-Identifier: MIT

//! The local cloud, which judges the calls, and what a call returns.

use sha2::{Digest, Sha256};
use std::future::Future;
use std::pin::Pin;

/// Why a call failed; the id of the credential that was used may be known all the same.
pub struct Failure {
    pub id: String,
    pub text: String,
}

impl Failure {
    pub fn new(text: impl Into<String>) -> Self {
        Failure { id: String::new(), text: text.into() }
    }

    pub fn with_id(mut self, id: impl Into<String>) -> Self {
        self.id = id.into();
        self
    }
}

/// The error and its causes; SDKs leave them to the caller.
impl<E: std::error::Error> From<E> for Failure {
    fn from(error: E) -> Self {
        let mut text = error.to_string();
        let mut cause = error.source();
        while let Some(inner) = cause {
            let more = inner.to_string();
            if !text.contains(&more) {
                text = format!("{text}: {more}");
            }
            cause = inner.source();
        }
        Failure::new(text)
    }
}

/// The id of the credential that was used.
pub type Outcome<'a> = Pin<Box<dyn Future<Output = Result<String, Failure>> + 'a>>;

pub trait Consumer {
    fn call(&self) -> Outcome<'_>;
}

/// Names a token without showing it.
pub fn identify(token: &str) -> String {
    Sha256::digest(token.as_bytes()).iter().take(6).map(|byte| format!("{byte:02x}")).collect()
}

/// A client of the local cloud's bearer services. TLS trusts what SSL_CERT_FILE names.
#[derive(Default)]
pub struct Judge(reqwest::Client);

impl Judge {
    /// Shows TOKEN at PATH; only 200 means that it was accepted.
    pub async fn show(&self, path: &str, token: &str) -> Result<String, Failure> {
        let id = identify(token);
        let base = std::env::var("CFR_SDK_URL").unwrap_or_default();
        let sent = self.0.get(format!("{}{path}", base.trim_end_matches('/'))).bearer_auth(token).send().await;
        let response = sent.map_err(|e| Failure::from(e).with_id(&id))?;
        let status = response.status();
        if status != 200 {
            let body = response.text().await.unwrap_or_default();
            return Err(Failure::new(format!("{status} {body}")).with_id(&id));
        }
        Ok(id)
    }
}

pub fn azure_resource() -> String {
    std::env::var("CFR_SDK_AZURE_RESOURCE").unwrap_or("https://management.azure.com".into())
}
