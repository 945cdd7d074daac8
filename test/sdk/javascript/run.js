// SPDX-License-Identifier: MIT
//
// Consumers of the SDK matrix in JavaScript: each way keeps one credential provider of its SDK for the whole run and makes one
// authenticated call per period. ../README.md describes the environment and the lines that they print.
"use strict";

const child_process = require("child_process");
const crypto = require("crypto");
const fs = require("fs");
const https = require("https");

const env = process.env;
const base = (env.CFR_SDK_URL || "").replace(/\/$/, "");
const identify = (token) => crypto.createHash("sha256").update(token).digest("hex").slice(0, 12);

// A call that failed after the credential was known.
class Refused extends Error {
  constructor(id, message) {
    super(message);
    this.id = id;
  }
}

// Sends a request to the judge; only 200 means that the credential was accepted. TLS trusts NODE_EXTRA_CA_CERTS.
function get(url, options, id) {
  return new Promise((resolve, reject) => {
    https.get(url, options, (response) => {
      let body = "";
      response.on("data", (part) => (body += part));
      response.on("end", () => (response.statusCode === 200 ? resolve(id) : reject(new Refused(id, `${response.statusCode} ${body}`))));
    }).on("error", (error) => reject(new Refused(id, error.message)));
  });
}

const show = (path, token) => get(base + path, { headers: { Authorization: `Bearer ${token}` } }, identify(token));

// ---- the SDKs: each function creates the provider as the SDK's documentation says, and returns the call ----

function openAws(create) {
  return () => {
    const { STSClient, GetCallerIdentityCommand } = require("@aws-sdk/client-sts");
    const client = new STSClient({
      region: env.AWS_REGION, endpoint: env.AWS_ENDPOINT_URL_STS, credentials: create(require("@aws-sdk/credential-providers")),
    });
    return async () => {
      const id = (await client.config.credentials()).accessKeyId;
      try {
        await client.send(new GetCallerIdentityCommand({}));
      } catch (error) {
        throw new Refused(id, `${error.name}: ${error.message}`);
      }
      return id;
    };
  };
}

// Application default credentials: the environment decides which of the ways it is.
function openGoogle() {
  const { GoogleAuth } = require("google-auth-library");
  const auth = new GoogleAuth({ scopes: "https://www.googleapis.com/auth/cloud-platform" });
  return async () => show("/gcp/whoami", await auth.getAccessToken());
}

function openAzure(create) {
  return () => {
    const resource = env.CFR_SDK_AZURE_RESOURCE || "https://management.azure.com";
    const credential = create(require("@azure/identity"));
    return async () => show(`/azure/whoami?resource=${resource}`, (await credential.getToken(`${resource}/.default`)).token);
  };
}

// Reads a Secret, which an anonymous client may not. The token is what the SDK puts into the options of a request.
function callKube(config) {
  return async () => {
    const options = {};
    await config.applyToHTTPSOptions(options);
    const header = (options.headers || {}).Authorization || "";
    const id = header.startsWith("Bearer ") ? identify(header.slice(7)) : "";
    return get(`${config.getCurrentCluster().server}/api/v1/namespaces/default/secrets/sdk`, options, id);
  };
}

function loadKube() {
  const { KubeConfig } = require("@kubernetes/client-node");
  const config = new KubeConfig();
  config.loadFromDefault();
  return config;
}

// As loadFromCluster does, with the server and the tokenFile of the kubeconfig.
function openInCluster() {
  const found = loadKube();
  const user = { name: "demo", authProvider: { name: "tokenFile", config: { tokenFile: env.CFR_SDK_TOKEN_FILE } } };
  found.loadFromClusterAndUser(found.getCurrentCluster(), user);
  return callKube(found);
}

const ways = {
  "aws-sdk-js-v3:container": openAws((providers) => providers.fromHttp()),
  "aws-sdk-js-v3:imds": openAws((providers) => providers.fromInstanceMetadata()),
  "aws-sdk-js-v3:process": openAws((providers) => providers.fromProcess()),
  "aws-sdk-js-v3:web-identity": openAws((providers) =>
    providers.fromTokenFile({ clientConfig: { region: env.AWS_REGION, endpoint: env.AWS_ENDPOINT_URL_STS } })),
  "aws-sdk-js-v3:file": openAws((providers) => providers.fromIni()),
  "google-auth-js:metadata": openGoogle,
  "google-auth-js:executable": openGoogle,
  "google-auth-js:file": openGoogle,
  "azure-identity-js:app-service": openAzure((identity) => new identity.ManagedIdentityCredential()),
  "azure-identity-js:workload": openAzure((identity) =>
    new identity.WorkloadIdentityCredential({ authorityHost: env.AZURE_AUTHORITY_HOST, disableInstanceDiscovery: true })),
  "client-node:in-cluster": openInCluster,
  "client-node:exec": () => callKube(loadKube()),
  "client-node:token-file": () => callKube(loadKube()),
};

// ---- the run ----

// The message in at most 200 characters. URLs would leave no room for the cause.
function explain(error) {
  const text = `${error.message || error}`.replace(/https?:\/\/\S+/g, "URL").replace(/\s+/g, " ");
  return text.length <= 200 ? text : text.slice(0, 100) + text.slice(-100);
}

// Calls once per period. A provider that cannot be created is a failed call, and is tried again.
async function follow(way, periodMs) {
  let call = null;
  for (let next = Date.now(); ; next += periodMs) {
    await new Promise((resolve) => setTimeout(resolve, next - Date.now()));
    const line = { way, t: Date.now() / 1000, ok: true, id: "", error: "" };
    try {
      call = call || ways[way]();
      line.id = await call();
    } catch (error) {
      Object.assign(line, { ok: false, id: error.id || "", error: explain(error) });
    }
    fs.writeSync(1, JSON.stringify(line) + "\n");
    const late = Date.now() - next;
    if (late > periodMs) {
      next += late - (late % periodMs); // missed periods are not made up for
    }
  }
}

// Starts a process for each way, with the variables of this way from CFR_SDK_CONFIG.
function startEach(names) {
  const settings = env.CFR_SDK_CONFIG ? JSON.parse(fs.readFileSync(env.CFR_SDK_CONFIG, "utf8")) : {};
  for (const name of names) {
    child_process.spawn(process.execPath, [__filename, name], {
      env: { ...env, ...settings[name], CFR_SDK_CHILD: "1" }, stdio: ["pipe", "inherit", "inherit"],
    });
  }
}

const names = process.argv.slice(2);
const unknown = names.find((name) => !ways[name]);
if (unknown !== undefined) {
  console.error(`run: unknown way "${unknown}"`);
  process.exit(1);
}
process.stdin.resume().on("end", () => process.exit(0));
if (env.CFR_SDK_CHILD) {
  follow(names[0], Number(env.CFR_SDK_PERIOD_MS || 1000));
} else {
  startEach(names);
}
