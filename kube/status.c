/* SPDX-License-Identifier: MIT */
/* Refusals of an API server, by a table of statuses and messages. */
#include "kube/status.h"

#include "base/json.h"
#include "base/redact.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#define HINT_MAX    1024
#define WHAT_MAX    128
#define SHOWN_MAX   64
#define MESSAGE_MIN 16
#define STATUS_ROOM 32 /* for " (HTTP 403): " */
#define RETRY_MAX_S 86400

/* The end of a hint. */
enum advice {
    ADVICE_NONE,
    ADVICE_RULE,     /* the RBAC rule that is missing */
    ADVICE_AUDIENCE, /* the rule by which a node may ask for an audience */
    ADVICE_ATTEST,   /* the rules for the objects of a signer */
    ADVICE_SIGN,
};

/* The first matching row decides: STATUS equal (0: any 4xx, which a policy or webhook chooses), and MESSAGE (if any)
 * contained. */
struct row {
    long status;
    const char *message;
    int result;
    const char *hint;
    enum advice advice;
};

#define HINT_LATER    "the API server is unavailable; this is usually temporary"
#define HINT_UID      "the object was deleted and created again: name its present uid, or leave the uid out"
#define HINT_RACE     "another client wrote it at the same time"
#define HINT_OTHER_SA "the pod runs with another service account: name that one, or a pod that uses this one"
#define HINT_BIND     "a node's own credentials get tokens for pods only: bind the request to a pod, by name and uid"
#define HINT_GONE     "the object that the token is to be bound to does not exist (any more), or is in another namespace"

static const struct row rows[] = {
    {0, "denied the request", CFR_E_DENIED, "an admission webhook of the cluster refuses it", ADVICE_NONE},
    {0, "not permitted to attest for signerName", CFR_E_DENIED, "the caller may not publish bundles of this signer",
     ADVICE_ATTEST},
    {0, "is not permitted to \"sign\" for signer", CFR_E_DENIED, "the caller may not issue certificates of this signer",
     ADVICE_SIGN},
    {0, "ValidatingAdmissionPolicy", CFR_E_DENIED, "an admission policy of the cluster refuses it", ADVICE_NONE},
    {400, "different serviceaccount", CFR_E_REJECTED, HINT_OTHER_SA, ADVICE_NONE},
    {400, "running with serviceaccount", CFR_E_REJECTED, HINT_OTHER_SA, ADVICE_NONE},
    {400, "cannot bind token to object", CFR_E_REJECTED,
     "this API server binds tokens to a Pod or a Secret, a newer one also to a Node", ADVICE_NONE},
    {401, NULL, CFR_E_DENIED,
     "the API server does not accept credfresh's own token or certificate: has it expired, and is it for this cluster?",
     ADVICE_NONE},
    {403, "not found in pod spec volume", CFR_E_DENIED,
     "a node may ask only for audiences that its pod has in a volume; else the group system:nodes needs a "
     "ClusterRole",
     ADVICE_AUDIENCE},
    {403, "only request 0 or 1 audiences", CFR_E_DENIED,
     "a node's own credentials get tokens for one audience at a time: ask for one", ADVICE_NONE},
    {403, "token not bound to a pod", CFR_E_DENIED, HINT_BIND, ADVICE_NONE},
    {403, "pod binding without a uid", CFR_E_DENIED, HINT_BIND, ADVICE_NONE},
    {403, "scheduled on a different node", CFR_E_DENIED,
     "the pod runs on another node: a node gets tokens for its own pods only", ADVICE_NONE},
    {403, "does not match the UID in record", CFR_E_DENIED, HINT_UID, ADVICE_NONE},
    {403, "no relationship found between node", CFR_E_DENIED, "no pod on this node uses that service account or Secret",
     ADVICE_NONE},
    {403, "being terminated", CFR_E_DENIED, "the namespace is being deleted: nothing is created in it any more",
     ADVICE_NONE},
    {403, "exceeded quota", CFR_E_DENIED, "the namespace's resource quota is used up", ADVICE_NONE},
    {403, "\"system:anonymous\"", CFR_E_DENIED,
     "credfresh's token or certificate did not arrive: the API server treated the request as anonymous; check the "
     "kubeconfig's user",
     ADVICE_NONE},
    {403, NULL, CFR_E_DENIED, "RBAC or an admission rule of the cluster refuses it", ADVICE_RULE},
    {404, "serviceaccounts \"", CFR_E_DENIED,
     "the service account does not exist: create it, or correct its name or its namespace", ADVICE_NONE},
    {404, "pods \"", CFR_E_DENIED, HINT_GONE, ADVICE_NONE},
    {404, "pod \"", CFR_E_DENIED, HINT_GONE, ADVICE_NONE}, /* of the node restriction */
    {404, "nodes \"", CFR_E_DENIED, HINT_GONE, ADVICE_NONE},
    {404, "secrets \"", CFR_E_DENIED, "the Secret does not exist: create it, or correct its name or its namespace",
     ADVICE_NONE},
    {404, "namespaces \"", CFR_E_DENIED, "the namespace does not exist: create it, or correct its name", ADVICE_NONE},
    {404, "could not find the requested resource", CFR_E_DENIED,
     "this API server does not know such requests: is it older than Kubernetes 1.12, or another kind of "
     "server?",
     ADVICE_NONE},
    {404, NULL, CFR_E_DENIED, "there is no such object, or no Kubernetes API at this URL; check the server's address",
     ADVICE_NONE},
    {407, NULL, CFR_E_DENIED, "a proxy requires a user and password: write them into the kubeconfig's proxy-url",
     ADVICE_NONE},
    {409, "does not match the UID", CFR_E_CONFLICT, HINT_UID, ADVICE_NONE},
    {409, "conflict with \"", CFR_E_CONFLICT, "others own these fields: remove them there", ADVICE_NONE},
    {409, "conflicts with \"", CFR_E_CONFLICT, "others own these fields: remove them there", ADVICE_NONE},
    {409, "being deleted", CFR_E_UNAVAILABLE, "the object is still being deleted", ADVICE_NONE},
    {409, NULL, CFR_E_UNAVAILABLE, HINT_RACE, ADVICE_NONE},
    {408, NULL, CFR_E_UNAVAILABLE, HINT_LATER, ADVICE_NONE},
    {410, NULL, CFR_E_UNAVAILABLE, "the version that was read is too old; this is usually temporary", ADVICE_NONE},
    {405, NULL, CFR_E_REJECTED, "there is no Kubernetes API at this URL; check the server's address", ADVICE_NONE},
    {406, NULL, CFR_E_REJECTED, "the server cannot answer in JSON; check the server's address", ADVICE_NONE},
    {413, NULL, CFR_E_REJECTED, "the request is too large for the server", ADVICE_NONE},
    {415, NULL, CFR_E_REJECTED,
     "the server does not know this kind of request: server-side apply needs Kubernetes 1.18 or newer", ADVICE_NONE},
    {422, "less than 10 minutes", CFR_E_REJECTED, "request a lifetime of at least 10 minutes", ADVICE_NONE},
    {422, "larger than 2^32", CFR_E_REJECTED, "request a shorter lifetime", ADVICE_NONE},
    {422, "boundObjectRef", CFR_E_REJECTED, "correct the object that the token is to be bound to", ADVICE_NONE},
    {422, "metadata.n", CFR_E_REJECTED, "correct the name or the namespace", ADVICE_NONE},
    {422, "when `immutable` is set", CFR_E_REJECTED,
     "the Secret is immutable: delete it, or publish under another name", ADVICE_NONE},
    {422, "type: Invalid value", CFR_E_REJECTED,
     "the type of a Secret cannot be changed: delete it, or publish under another name", ADVICE_NONE},
    {422, "Too long", CFR_E_REJECTED, "a Secret holds at most 1 MiB", ADVICE_NONE},
    {429, NULL, CFR_E_THROTTLED, "the API server limits the rate of calls; this is usually temporary", ADVICE_NONE},
    {500, "failed to generate token", CFR_E_UNAVAILABLE, "the API server could not sign the token (is its signer up?)",
     ADVICE_NONE},
};

static struct row make_default_row(long status)
{
    if (status >= 300 && status < 400)
        return (struct row){.result = CFR_E_REDIRECT,
                            .hint =
                                "an API server never redirects; check its address, and that no proxy is in between"};
    if (status >= 500)
        return (struct row){.result = CFR_E_UNAVAILABLE, .hint = HINT_LATER};
    if (status >= 400)
        return (struct row){.result = CFR_E_REJECTED,
                            .hint = "the API server does not accept the request; correct what its message "
                                    "names"};
    return (struct row){.result = CFR_E_ANSWER, .hint = "such an answer was not expected; check the server's address"};
}

static struct row find_row(long status, struct cfr_view message)
{
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        bool fits = rows[i].status != 0 ? rows[i].status == status : status >= 400 && status < 500;

        if (fits && (rows[i].message == NULL || cfr_view_find(message, rows[i].message) >= 0))
            return rows[i];
    }
    return make_default_row(status);
}

/* The verb of "... cannot VERB resource ...": an apply that has to create asks for another one than was
 * meant. Only known ones are repeated. */
static const char *find_verb(struct cfr_view message, const struct cfr_k8s_asked *asked)
{
    static const char *const verbs[] = {"create", "patch", "get", "update"};
    char sentence[48];

    for (size_t i = 0; i < sizeof verbs / sizeof verbs[0]; i++) {
        (void)snprintf(sentence, sizeof sentence, " cannot %s resource ", verbs[i]);
        if (cfr_view_find(message, sentence) >= 0)
            return verbs[i];
    }
    return asked->verb;
}

static void write_names(const struct cfr_k8s_asked *asked, bool whole, char *to, size_t room)
{
    if (asked->name != NULL)
        (void)snprintf(to, room, ", resourceNames: [\"%s\"]}", whole ? asked->name : "NAME");
    else
        (void)snprintf(to, room, "}");
}

static void write_rule_hint(const struct cfr_k8s_asked *asked, const char *verb, const char *hint, bool whole,
                            char out[HINT_MAX])
{
    const char *dot = asked->resource != NULL ? strchr(asked->resource, '.') : NULL;
    int resource_n = dot != NULL ? (int)(dot - asked->resource) : INT_MAX;
    char names[CFR_ERR_TEXT_MAX];

    if (verb == NULL || asked->resource == NULL) {
        (void)snprintf(out, HINT_MAX, "%s", hint);
        return;
    }
    /* Also for create: the name of an applied object is in the URL, and the API server checks it. */
    write_names(asked, whole, names, sizeof names);
    (void)snprintf(
        out, HINT_MAX,
        "a %s%s for the caller needs the rule {apiGroups: [\"%s\"], resources: [\"%.*s\"], verbs: [\"%s\"]%s%s",
        asked->namespace_name != NULL ? "Role in " : "ClusterRole",
        asked->namespace_name != NULL ? asked->namespace_name : "", dot != NULL ? dot + 1 : "", resource_n,
        asked->resource, verb, names, whole || asked->name == NULL ? "" : ", where NAME is the object's own");
}

static void write_audience_hint(const struct cfr_k8s_asked *asked, const char *hint, bool whole, char out[HINT_MAX])
{
    const char *audience = asked->audience != NULL ? asked->audience : "*";
    char names[CFR_ERR_TEXT_MAX];

    write_names(asked, whole, names, sizeof names);
    (void)snprintf(out, HINT_MAX,
                   "%s with {apiGroups: [\"\"], resources: [\"%s\"], verbs: "
                   "[\"request-serviceaccounts-token-audience\"]%s%s",
                   hint, whole ? audience : "AUDIENCE", names,
                   whole ? "" : ", with the audience and the account of the request in their places");
}

static void write_signer_hint(const struct cfr_k8s_asked *asked, const char *verb, const char *hint, bool whole,
                              char out[HINT_MAX])
{
    const struct cfr_k8s_asked signers = {.resource = "signers.certificates.k8s.io", .name = asked->signer};

    write_rule_hint(&signers, asked->signer != NULL ? verb : NULL, hint, whole, out);
}

struct refusal {
    struct cfr_view reason;
    struct cfr_view message;
};

/* Reads a Status object. Any other body is its own message, unless it is an HTML page. */
static void read_status(const struct cfr_json *doc, struct cfr_view body, struct refusal *out, int64_t *retry_after_s)
{
    static const char *const retry[] = {"details", "retryAfterSeconds", NULL};
    struct cfr_view kind = {NULL, 0};
    int64_t seconds;

    *out = (struct refusal){{NULL, 0}, {NULL, 0}};
    if (!cfr_json_is_object(doc)) {
        if (body.n != 0 && body.p[0] != '<')
            out->message = body;
        return;
    }
    (void)cfr_json_string(cfr_json_get(doc, "kind"), &kind);
    if (!cfr_view_is(kind, "Status"))
        return;
    (void)cfr_json_string(cfr_json_get(doc, "reason"), &out->reason);
    (void)cfr_json_string(cfr_json_get(doc, "message"), &out->message);
    if (cfr_json_integer(cfr_json_path(doc, retry), &seconds) && seconds > 0)
        *retry_after_s = seconds < RETRY_MAX_S ? seconds : RETRY_MAX_S;
}

/* The hint of ROW. Names that would not fit whole are not cut, but left out (WHOLE is false then). */
static void write_hint(const struct row *row, const struct refusal *r, const struct cfr_k8s_asked *asked, bool whole,
                       char hint[HINT_MAX])
{
    if (row->advice == ADVICE_RULE)
        write_rule_hint(asked, find_verb(r->message, asked), row->hint, whole, hint);
    else if (row->advice == ADVICE_ATTEST || row->advice == ADVICE_SIGN)
        write_signer_hint(asked, row->advice == ADVICE_ATTEST ? "attest" : "sign", row->hint, whole, hint);
    else if (row->advice == ADVICE_AUDIENCE)
        write_audience_hint(asked, row->hint, whole, hint);
    else
        (void)snprintf(hint, HINT_MAX, "%s", row->hint);
}

/* The remedy comes last, where it would be cut: the message is cut instead. */
static int write_text(const struct row *row, long status, const struct refusal *r, const struct cfr_k8s_asked *asked,
                      struct cfr_err *err)
{
    const char *what = asked->what != NULL ? asked->what : "a request";
    char reason[CFR_REDACT_MAX];
    char message[CFR_REDACT_MAX];
    char head[WHAT_MAX + SHOWN_MAX + 16];
    char hint[HINT_MAX];
    char tail[HINT_MAX + 32];
    size_t taken;
    size_t room;

    (void)cfr_redact(r->reason, asked->secrets, asked->secret_count, reason);
    (void)cfr_redact(r->message, asked->secrets, asked->secret_count, message);
    (void)snprintf(head, sizeof head, "%.*s%s%s%.*s", WHAT_MAX, what, strlen(what) > WHAT_MAX ? "..." : "",
                   reason[0] != '\0' ? ": " : "", SHOWN_MAX, reason);
    write_hint(row, r, asked, true, hint);
    if (strlen(head) + strlen(hint) + STATUS_ROOM > CFR_ERR_TEXT_MAX - 1)
        write_hint(row, r, asked, false, hint);
    (void)snprintf(tail, sizeof tail, " (HTTP %ld): %s", status, hint);
    taken = strlen(head) + strlen(tail) + strlen(": ...");
    room = taken < CFR_ERR_TEXT_MAX - 1 ? CFR_ERR_TEXT_MAX - 1 - taken : 0;
    if (message[0] == '\0' || room < MESSAGE_MIN)
        return cfr_err_set(err, row->result, "%s%s", head, tail);
    return cfr_err_set(err, row->result, "%s: %.*s%s%s", head, (int)room, message, strlen(message) > room ? "..." : "",
                       tail);
}

int cfr_k8s_refusal(long status, struct cfr_view body, const struct cfr_k8s_asked *asked, int64_t *retry_after_s,
                    struct cfr_err *err)
{
    struct cfr_view text = cfr_view_trim(body);
    struct cfr_json *doc = NULL;
    struct refusal r;
    struct row row;

    if (text.n != 0 && text.p[0] == '{' && cfr_json_parse(text, &doc, err) == CFR_E_NOMEM)
        return CFR_E_NOMEM;
    read_status(doc, text, &r, retry_after_s);
    row = find_row(status, r.message);
    (void)write_text(&row, status, &r, asked, err);
    cfr_json_free(doc);
    return row.result;
}
