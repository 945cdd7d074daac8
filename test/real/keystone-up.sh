#!/bin/sh
# keystone-up.sh RUN PORT: becomes a Keystone (OpenStack Identity API v3) of Debian's packages on 127.0.0.1:PORT, with
# everything it keeps in the new folder RUN. Administrator: user admin, password adminpw, domain and project of bootstrap.
# About 15 s until it answers, 160 MB. Ends on SIGTERM. TOKEN_SECONDS: life of tokens; FEDERATION=1: adds the methods that
# federation by OpenID Connect needs, with the issuer taken from the header OIDC-iss.
set -eu
run=$(realpath -m "$1")
port=$2
url=http://127.0.0.1:$port/v3
mkdir -m 700 -p "$run/fernet" "$run/credential"
federation=
if [ "${FEDERATION:-0}" = 1 ]; then
    federation="
[auth]
methods = password,token,application_credential,mapped,openid
[openid]
remote_id_attribute = HTTP_OIDC_ISS"
fi
cat >"$run/keystone.conf" <<EOF
[DEFAULT]
log_file = $run/keystone.log
[database]
connection = sqlite:///$run/keystone.db
[token]
provider = fernet
expiration = ${TOKEN_SECONDS:-3600}
[fernet_tokens]
key_repository = $run/fernet/
[fernet_receipts]
key_repository = $run/fernet/
[credential]
key_repository = $run/credential/
[identity]
password_hash_rounds = 4
[oslo_policy]
enforce_scope = true
enforce_new_defaults = true
$federation
EOF
manage() {
    keystone-manage --config-file "$run/keystone.conf" "$@"
}
manage db_sync
# Without it a reader locks the writer out, and application credentials fail at random.
/usr/bin/python3 -c "import sqlite3; sqlite3.connect('$run/keystone.db').execute('PRAGMA journal_mode=WAL')"
manage fernet_setup --keystone-user "$(id -un)" --keystone-group "$(id -gn)"
manage credential_setup --keystone-user "$(id -un)" --keystone-group "$(id -gn)"
manage bootstrap --bootstrap-password adminpw --bootstrap-region-id RegionOne --bootstrap-admin-url "$url" \
    --bootstrap-internal-url "$url" --bootstrap-public-url "$url"
cat >"$run/keystone_app.py" <<EOF
import sys
sys.argv = ["keystone", "--config-file", "$run/keystone.conf"]
from keystone.server.wsgi import initialize_public_application
application = initialize_public_application()
EOF
exec env OS_KEYSTONE_CONFIG_FILES="$run/keystone.conf" OS_KEYSTONE_CONFIG_DIR="$run" PYTHONDONTWRITEBYTECODE=1 \
    gunicorn --chdir "$run" --bind "127.0.0.1:$port" --workers 1 --worker-tmp-dir "$run" keystone_app:application
