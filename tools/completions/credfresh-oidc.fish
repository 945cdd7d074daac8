# SPDX-License-Identifier: MIT
# fish completion of credfresh-oidc: made by credfresh-gen from the grammar of the command line.

set -g __credfresh_oidc_with_value -d --directory --issuer --key --token-life --settle --signer-lag --web-root --signing-key --public-key --jwks-path --to --name -c --config --ca-file --timeout --jwks --at -o --output --service-account --audience

# Whether the line's command is one of those given.
function __credfresh_oidc_is
    set -l words (commandline -opc)
    test (count $words) -ge 2; and contains -- $words[2] $argv
end

# Whether the cursor is at argument N of the command, options left out; 0 is the command itself.
function __credfresh_oidc_at -a n
    set -l words (commandline -opc)
    set -l seen 0
    set -l value no
    set -e words[1]
    for word in $words
        if test $value = yes
            set value no
        else if contains -- $word $__credfresh_oidc_with_value
            set value yes
        else if not string match -q -- '-*' $word
            set seen (math $seen + 1)
        end
    end
    test $value = no; and test $seen -eq $n
end

function __credfresh_oidc_names
    set -l words (commandline -opc)
    set -l where
    for i in (seq 2 (count $words))
        switch $words[$i]
            case -c --config -s --socket
                test $i -lt (count $words); and set -a where $words[$i] $words[(math $i + 1)]
            case '--config=*' '--socket=*'
                set -a where $words[$i]
        end
    end
    command credfresh completion names $where 2>/dev/null </dev/null
end

complete -c credfresh-oidc -f
complete -c credfresh-oidc -n '__credfresh_oidc_at 0' -s h -l help -d 'list the commands'
complete -c credfresh-oidc -n '__credfresh_oidc_at 0' -l version -d 'print the version'

complete -c credfresh-oidc -n '__credfresh_oidc_at 0' -a init -d 'create an issuer\'s first key and its documents'
complete -c credfresh-oidc -n '__credfresh_oidc_is init' -s d -l directory -x -a '(__fish_complete_directories)' -d 'directory of the journal and the key'
complete -c credfresh-oidc -n '__credfresh_oidc_is init' -l issuer -x -d 'URL of the issuer, as in its tokens'
complete -c credfresh-oidc -n '__credfresh_oidc_is init' -l key -x -d 'kind of the keys: rsa-2048 (the default), rsa-4096, ecdsa-p256 ...'
complete -c credfresh-oidc -n '__credfresh_oidc_is init' -l token-life -x -d 'the longest lifetime of a token that the issuer signs'
complete -c credfresh-oidc -n '__credfresh_oidc_is init' -l settle -x -d 'time until all verifiers have read a new document; default: 1h'
complete -c credfresh-oidc -n '__credfresh_oidc_is init' -l signer-lag -x -d 'time until signers use a new key file; default: wait for --confirm'
complete -c credfresh-oidc -n '__credfresh_oidc_is init' -l web-root -x -a '(__fish_complete_directories)' -d 'directory of the published documents; default: DIR/web'
complete -c credfresh-oidc -n '__credfresh_oidc_is init' -l signing-key -r -F -d 'the private key with which the cluster signs already; default: a new one'
complete -c credfresh-oidc -n '__credfresh_oidc_is init' -l public-key -r -F -d 'the public key of a cluster that keeps the private one'
complete -c credfresh-oidc -n '__credfresh_oidc_is init' -l jwks-path -x -d 'path of the key set below the issuer\'s URL; default: openid/v1/jwks'
complete -c credfresh-oidc -n '__credfresh_oidc_is init' -l claims-supported -d 'list the claims in the discovery document'
complete -c credfresh-oidc -n '__credfresh_oidc_is init' -l certificates -d 'publish a certificate with each key, for Ceph'
complete -c credfresh-oidc -n '__credfresh_oidc_is init' -l replace -d 'replace keys that are not known here, or documents of another issuer'
complete -c credfresh-oidc -n '__credfresh_oidc_is init' -s h -l help -d 'print this command\'s usage'

complete -c credfresh-oidc -n '__credfresh_oidc_at 0' -a rotate -d 'take the next step of the key\'s rotation, if it is safe'
complete -c credfresh-oidc -n '__credfresh_oidc_is rotate' -s d -l directory -x -a '(__fish_complete_directories)' -d 'directory of the journal and the key'
complete -c credfresh-oidc -n '__credfresh_oidc_is rotate' -l public-key -r -F -d 'the next public key, of a cluster that keeps the private one'
complete -c credfresh-oidc -n '__credfresh_oidc_is rotate' -l confirm -d 'every signer uses the new key now'
complete -c credfresh-oidc -n '__credfresh_oidc_is rotate' -l continue -d 'continue a rotation, but start none'
complete -c credfresh-oidc -n '__credfresh_oidc_is rotate' -l recount -d 'begin a waiting time again, if the clock was ahead at the last step'
complete -c credfresh-oidc -n '__credfresh_oidc_is rotate' -l replace -d 'replace keys that are not known here, or documents of another issuer'
complete -c credfresh-oidc -n '__credfresh_oidc_is rotate' -s h -l help -d 'print this command\'s usage'

complete -c credfresh-oidc -n '__credfresh_oidc_at 0' -a publish -d 'upload the documents to a bucket or container, and read them back'
complete -c credfresh-oidc -n '__credfresh_oidc_is publish' -s d -l directory -x -a '(__fish_complete_directories)' -d 'directory of the journal and the key'
complete -c credfresh-oidc -n '__credfresh_oidc_is publish' -l to -x -d 'the bucket or container: its URL, or s3@REGION:URL, blob:URL or gcs:URL; default: the last one'
complete -c credfresh-oidc -n '__credfresh_oidc_is publish' -l name -x -a '(__credfresh_oidc_names)' -d 'the credential of the configuration that may write to the store'
complete -c credfresh-oidc -n '__credfresh_oidc_is publish' -s c -l config -r -F -d 'the configuration; default: $CREDFRESH_CONFIG, else /etc/credfresh/credfresh.yaml, else the environment'
complete -c credfresh-oidc -n '__credfresh_oidc_is publish' -l ca-file -r -F -d 'certificates (PEM) to trust instead of the system\'s'
complete -c credfresh-oidc -n '__credfresh_oidc_is publish' -l replace -d 'replace keys that are not known here, or documents of another issuer'
complete -c credfresh-oidc -n '__credfresh_oidc_is publish' -l timeout -x -d 'the longest time to take, such as 90s; default: 10m'
complete -c credfresh-oidc -n '__credfresh_oidc_is publish' -s h -l help -d 'print this command\'s usage'

complete -c credfresh-oidc -n '__credfresh_oidc_at 0' -a manifests -d 'write what cluster and clouds must know, as files and commands'
complete -c credfresh-oidc -n '__credfresh_oidc_is manifests' -s d -l directory -x -a '(__fish_complete_directories)' -d 'directory of the journal and the key'
complete -c credfresh-oidc -n '__credfresh_oidc_is manifests' -l ca-file -r -F -d 'certificates (PEM) to trust instead of the system\'s'
complete -c credfresh-oidc -n '__credfresh_oidc_is manifests' -s o -l output -x -a '(__fish_complete_directories)' -d 'directory of the files for the clouds'
complete -c credfresh-oidc -n '__credfresh_oidc_is manifests' -l service-account -x -d 'a service account that a cloud trusts; can be repeated'
complete -c credfresh-oidc -n '__credfresh_oidc_is manifests' -l audience -x -d 'the audience of the tokens; default: the usual one of each cloud'
complete -c credfresh-oidc -n '__credfresh_oidc_is manifests' -l offline -d 'send nothing to any server'
complete -c credfresh-oidc -n '__credfresh_oidc_is manifests' -s h -l help -d 'print this command\'s usage'

complete -c credfresh-oidc -n '__credfresh_oidc_at 0' -a status -d 'show the keys and the next step of a rotation'
complete -c credfresh-oidc -n '__credfresh_oidc_is status' -s d -l directory -x -a '(__fish_complete_directories)' -d 'directory of the journal and the key'
complete -c credfresh-oidc -n '__credfresh_oidc_is status' -l json -d 'print JSON'
complete -c credfresh-oidc -n '__credfresh_oidc_is status' -s h -l help -d 'print this command\'s usage'

complete -c credfresh-oidc -n '__credfresh_oidc_at 0' -a verify -d 'check a token\'s signature, issuer, audience and times as a cloud does'
complete -c credfresh-oidc -n '__credfresh_oidc_is verify' -l issuer -x -d 'the issuer to expect, whose published keys are read'
complete -c credfresh-oidc -n '__credfresh_oidc_is verify' -l ca-file -r -F -d 'certificates (PEM) to trust instead of the system\'s, for the issuer\'s URL'
complete -c credfresh-oidc -n '__credfresh_oidc_is verify' -l timeout -x -d 'the longest time to take, such as 90s; default: 30s'
complete -c credfresh-oidc -n '__credfresh_oidc_is verify' -l jwks -r -F -d 'the keys, a JSON Web Key Set; nothing is read from a server'
complete -c credfresh-oidc -n '__credfresh_oidc_is verify' -l at -x -d 'the time to check for, as 2026-01-02T03:04:05Z or Unix seconds; default: now'
complete -c credfresh-oidc -n '__credfresh_oidc_is verify' -l audience -x -d 'the audience that the token must have'
complete -c credfresh-oidc -n '__credfresh_oidc_is verify' -s h -l help -d 'print this command\'s usage'
complete -c credfresh-oidc -n '__credfresh_oidc_is verify; and __credfresh_oidc_at 1' -r -F

complete -c credfresh-oidc -n '__credfresh_oidc_at 0' -a version -d 'print the version'
complete -c credfresh-oidc -n '__credfresh_oidc_is version' -s h -l help -d 'print this command\'s usage'

complete -c credfresh-oidc -n '__credfresh_oidc_at 0' -a help -d 'list the commands, or explain one'
complete -c credfresh-oidc -n '__credfresh_oidc_is help' -s h -l help -d 'print this command\'s usage'
complete -c credfresh-oidc -n '__credfresh_oidc_is help; and __credfresh_oidc_at 1' -x -a 'init rotate publish manifests status verify version help'
