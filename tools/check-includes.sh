#!/bin/sh
# Keeps the dependency rule: base <- {token, sts, kube, ca, mint, files, serve} <- agent; each third-party header in one place; test
# programs that stand for the outside world know nothing of ours.
set -eu
cd "$(dirname "$0")/.."
bad=0
complain() {
    echo "check-includes: $*"
    bad=1
}

# only FOLDER ALLOWED...: quoted includes in FOLDER come from the ALLOWED folders.
only() {
    folder=$1
    shift
    pattern=$(echo "$@" | tr ' ' '|')
    hits=$(grep -nE '^ *# *include "' "$folder"/*.[ch] | grep -vE "include \"($pattern)/" || true)
    [ -z "$hits" ] || complain "$folder/ may include $* only:
$hits"
}
only base base
only token token base
only sts sts base
only kube kube base
only ca ca base
only mint mint base
only files files base
only serve serve base
only agent agent base token sts kube ca mint files serve
hits=$(grep -nE '^ *# *include "(base|token|sts|kube|ca|mint|files|serve|agent)/' reload/*.[ch] libcredfresh/include/*.h || true)
[ -z "$hits" ] || complain "reload/ is for everybody, and includes nothing of ours:
$hits"
hits=$(grep -nE '^ *# *include [<"](reload/|credfresh)' base/*.[ch] token/*.[ch] sts/*.[ch] kube/*.[ch] ca/*.[ch] mint/*.[ch] files/*.[ch] serve/*.[ch] agent/*.[ch] || true)
[ -z "$hits" ] || complain "nothing of ours uses reload/:
$hits"
for outside in test/localcloud test/witness; do
    hits=$(grep -nE '^ *# *include "(base|token|sts|kube|ca|mint|files|serve|agent)/' "$outside"/*.[ch] || true)
    [ -z "$hits" ] || complain "$outside/ stands for the outside world:
$hits"
done

# one HEADER FILE...: HEADER is included by these files only.
one() {
    header=$1
    shift
    for file in $(grep -lE "include <$header" base/*.[ch] token/*.[ch] sts/*.[ch] kube/*.[ch] ca/*.[ch] mint/*.[ch] files/*.[ch] serve/*.[ch] agent/*.[ch]); do
        case " $* " in
        *" $file "*) ;;
        *) complain "$file includes <$header>, which belongs in $*" ;;
        esac
    done
}
one cjson/ base/json.c
one expat.h base/xml.c
one openssl/ pki/ossl_private.h wire/jwt.c wire/sigv4.c serve/sdk/ec2_token.c agent/http/openssl.c
one microhttpd.h agent/httpd/server.c
one yaml.h base/yaml.c
one curl/ agent/http/transfer_private.h

# Nothing below agent/ reads a clock or the environment, opens a socket, or logs; only files/ touches the disk.
hits=$(grep -nE '\b(getenv|clock_gettime|time|gettimeofday|socket|connect|cfr_log)\(' token/*.c sts/*.c kube/*.c ca/*.c mint/*.c serve/*.c || true)
[ -z "$hits" ] || complain "not pure:
$hits"
exit $bad
