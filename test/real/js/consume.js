// SPDX-License-Identifier: MIT
// One process of a consumer in JavaScript: uses its credential again and again until standard input ends, and prints a line
// of JSON for each use: {"id": what it used} or {"error": text}.
// usage: consume.js KIND OPTIONS, with OPTIONS in JSON
"use strict";
const crypto = require("crypto");

const [kind, text] = process.argv.slice(2);
const options = JSON.parse(text);
const PAUSE_MS = 200;

function short(token) {
    return crypto.createHash("sha256").update(token).digest("hex").slice(0, 16);
}

function aws(credentials) {
    const { STSClient, GetCallerIdentityCommand } = require("@aws-sdk/client-sts");
    const client = new STSClient({ region: "us-east-1", endpoint: options.sts, credentials, maxAttempts: 1 });
    return async () => {
        const answer = await client.send(new GetCallerIdentityCommand({}));
        const keys = await client.config.credentials();
        return { id: keys.accessKeyId, identity: answer.Arn };
    };
}

async function bearer(token, url) {
    const answer = await fetch(url, { headers: { Authorization: `Bearer ${token}` } });
    if (!answer.ok) {
        throw new Error(`${answer.status} ${await answer.text()}`);
    }
    return { id: short(token) };
}

const kinds = {
    "aws-container": () => aws(require("@aws-sdk/credential-providers").fromContainerMetadata({
        timeout: 5000, maxRetries: 3 })),
    "aws-http": () => aws(require("@aws-sdk/credential-providers").fromHttp({
        awsContainerCredentialsFullUri: options.uri, awsContainerAuthorizationTokenFile: options.file })),
    "aws-imds": () => aws(require("@aws-sdk/credential-providers").fromInstanceMetadata({ timeout: 5000, maxRetries: 3 })),
    "aws-process": () => aws(require("@aws-sdk/credential-providers").fromProcess({ profile: options.profile })),
    "google": () => {
        const { GoogleAuth, Compute } = require("google-auth-library");
        const auth = new GoogleAuth({ scopes: ["https://www.googleapis.com/auth/cloud-platform"] });
        const other = options.account && new Compute({ serviceAccountEmail: options.account });
        return async () => {
            const client = other || await auth.getClient();
            await client.request({ url: options.whoami });
            return { id: short(client.credentials.access_token) };
        };
    },
    "azure": () => {
        const { ManagedIdentityCredential } = require("@azure/identity");
        const credential = new ManagedIdentityCredential(options.client ? { clientId: options.client } : {});
        return async () => bearer((await credential.getToken(options.scope)).token, options.whoami);
    },
};

let over = false;
process.stdin.resume().on("end", () => { over = true; });

(async () => {
    const use = kinds[kind]();
    do {
        let line;
        try {
            line = await use();
        } catch (e) {
            line = { error: `${e.name}: ${e.message}`.slice(0, 500) };
        }
        process.stdout.write(JSON.stringify(line) + "\n");
        await new Promise((done) => setTimeout(done, PAUSE_MS));
    } while (!over && !options.once);
    process.exit(0);
})();
