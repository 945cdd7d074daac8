// SPDX-License-Identifier: MIT

//! azure_identity's managed identity and workload identity.

use crate::judge::{Consumer, Failure, Judge, Outcome, azure_resource};
use azure_core::credentials::TokenCredential;
use azure_identity::{ManagedIdentityCredential, WorkloadIdentityCredential};
use std::sync::Arc;

struct Azure {
    credential: Arc<dyn TokenCredential>,
    judge: Judge,
}

impl Consumer for Azure {
    fn call(&self) -> Outcome<'_> {
        Box::pin(async {
            let resource = azure_resource();
            let token = self.credential.get_token(&[&format!("{resource}/.default")], None).await?;
            self.judge.show(&format!("/azure/whoami?resource={resource}"), token.token.secret()).await
        })
    }
}

pub fn open(kind: &str) -> Result<Box<dyn Consumer>, Failure> {
    let credential: Arc<dyn TokenCredential> = match kind {
        "workload" => WorkloadIdentityCredential::new(None)?,
        _ => ManagedIdentityCredential::new(None)?,
    };
    Ok(Box::new(Azure { credential, judge: Judge::default() }))
}
