// SPDX-License-Identifier: MIT

//! Consumers of the SDK matrix in Rust: each way keeps one credential provider of its SDK for the whole run and makes one
//! authenticated call per period. ../README.md describes the environment and the lines that they print.

mod aws;
mod azure;
mod google;
mod judge;
mod kubernetes;
mod object_store;

use judge::{Consumer, Failure};
use std::collections::HashMap;
use std::io::{Read, Write};
use std::process::{Command, exit};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tokio::time::Instant;

const WAYS: [&str; 18] = [
    "aws-config:container",
    "aws-config:imds",
    "aws-config:process",
    "aws-config:file",
    "aws-config:web-identity",
    "azure_identity:app-service",
    "azure_identity:workload",
    "google-cloud-auth:metadata",
    "google-cloud-auth:file",
    "google-cloud-auth:executable",
    "kube:token-file",
    "kube:exec",
    "object_store:s3-container",
    "object_store:s3-imds",
    "object_store:s3-web-identity",
    "object_store:azure-app-service",
    "object_store:azure-workload",
    "object_store:gcs-metadata",
];

/// Creates the SDK's provider as the SDK's documentation says, from the environment alone.
async fn open(way: &str) -> Result<Box<dyn Consumer>, Failure> {
    let (sdk, kind) = way.split_once(':').unwrap_or((way, ""));
    match sdk {
        "aws-config" => Ok(Box::new(aws::open().await)),
        "azure_identity" => azure::open(kind),
        "google-cloud-auth" => google::open(),
        "kube" => kubernetes::open().await,
        _ => object_store::open(kind).await,
    }
}

fn fatal(text: String) -> ! {
    eprintln!("run: {text}");
    exit(1)
}

/// Prints one line with at most 200 characters of error.
fn report(way: &str, started: SystemTime, outcome: Result<String, Failure>) {
    let t = started.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64();
    let ok = outcome.is_ok();
    let (id, text) = match outcome {
        Ok(id) => (id, String::new()),
        Err(failure) => (failure.id, failure.text),
    };
    let words = text.split_whitespace().map(|word| if word.starts_with("http") { "URL" } else { word });
    let mut error: Vec<char> = words.collect::<Vec<_>>().join(" ").chars().collect();
    if error.len() > 200 {
        error.drain(100..error.len() - 100); // the cause is often at the end
    }
    let error: String = error.into_iter().collect();
    let line = serde_json::json!({"way": way, "t": t, "ok": ok, "id": id, "error": error});
    let mut out = std::io::stdout().lock();
    let _ = out.write_all(format!("{line}\n").as_bytes());
    let _ = out.flush();
}

/// Calls once per period. A provider that cannot be created is a failed call, and is tried again.
async fn run(way: &str, period: Duration) {
    let mut consumer: Option<Box<dyn Consumer>> = None;
    let mut next = Instant::now();
    loop {
        tokio::time::sleep_until(next).await;
        let started = SystemTime::now();
        let outcome = match &consumer {
            Some(used) => used.call().await,
            None => match open(way).await {
                Ok(opened) => consumer.insert(opened).call().await,
                Err(failure) => Err(failure),
            },
        };
        report(way, started, outcome);
        next += period;
        while next < Instant::now() {
            next += period; // missed periods are not made up for
        }
    }
}

/// Starts a process for each way, with the variables of this way from CFR_SDK_CONFIG; all of them share standard input.
fn start_each(names: &[String]) {
    let mut settings: HashMap<String, HashMap<String, String>> = HashMap::new();
    if let Ok(path) = std::env::var("CFR_SDK_CONFIG") {
        let text = std::fs::read_to_string(&path).unwrap_or_else(|e| fatal(format!("CFR_SDK_CONFIG: {path}: {e}")));
        settings = serde_json::from_str(&text).unwrap_or_else(|e| fatal(format!("CFR_SDK_CONFIG: {path}: {e}")));
    }
    let program = std::env::current_exe().unwrap_or_else(|e| fatal(e.to_string()));
    let children: Vec<_> = names
        .iter()
        .map(|name| {
            Command::new(&program)
                .arg(name)
                .envs(settings.remove(name).unwrap_or_default())
                .env("CFR_SDK_CHILD", "1")
                .spawn()
                .unwrap_or_else(|e| fatal(format!("{name}: {e}")))
        })
        .collect();
    for mut child in children {
        match child.wait() {
            Ok(status) if status.success() => {}
            other => fatal(format!("{other:?}")),
        }
    }
}

fn main() {
    let names: Vec<String> = std::env::args().skip(1).collect();
    if let Some(name) = names.iter().find(|name| !WAYS.contains(&name.as_str())) {
        fatal(format!("unknown way \"{name}\""));
    }
    if std::env::var_os("CFR_SDK_CHILD").is_none() {
        return start_each(&names);
    }
    let text = std::env::var("CFR_SDK_PERIOD_MS").unwrap_or("1000".into());
    let Ok(period @ 1..) = text.parse::<u64>() else {
        fatal(format!("CFR_SDK_PERIOD_MS: must be a number of milliseconds, got \"{text}\""));
    };
    std::thread::spawn(|| {
        let _ = std::io::stdin().read_to_end(&mut Vec::new());
        exit(0)
    });
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap_or_else(|e| fatal(e.to_string()))
        .block_on(run(&names[0], Duration::from_millis(period)));
}
