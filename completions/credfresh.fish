# SPDX-License-Identifier: MIT
# fish completion of credfresh: made by `credfresh completion fish` from its own tables.

set -g __credfresh_with_value -c --config -s --socket --reason --timeout --audience --field --format --name --trust-policy --federated-credential --pool-provider -d --directory --issuer --key --token-life --settle --signer-lag --web-root

# Whether the line's command is one of those given.
function __credfresh_is
    set -l words (commandline -opc)
    test (count $words) -ge 2; and contains -- $words[2] $argv
end

# Whether the cursor is at argument N of the command, options left out; 0 is the command itself.
function __credfresh_at -a n
    set -l words (commandline -opc)
    set -l seen 0
    set -l value no
    set -e words[1]
    for word in $words
        if test $value = yes
            set value no
        else if contains -- $word $__credfresh_with_value
            set value yes
        else if not string match -q -- '-*' $word
            set seen (math $seen + 1)
        end
    end
    test $value = no; and test $seen -eq $n
end

function __credfresh_names
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

complete -c credfresh -f
complete -c credfresh -n '__credfresh_at 0' -s h -l help -d 'list the commands'
complete -c credfresh -n '__credfresh_at 0' -l version -d 'print the version'

complete -c credfresh -n '__credfresh_at 0' -a run -d 'keep all credentials fresh, in the foreground'
complete -c credfresh -n '__credfresh_is run' -s c -l config -r -F -d 'the configuration'
complete -c credfresh -n '__credfresh_is run' -s h -l help -d 'print this command\'s usage'

complete -c credfresh -n '__credfresh_at 0' -a once -d 'get and publish everything once, run the hooks, end'
complete -c credfresh -n '__credfresh_is once' -s c -l config -r -F -d 'the configuration'
complete -c credfresh -n '__credfresh_is once' -l timeout -x -d 'the longest time to take, as in 90s'
complete -c credfresh -n '__credfresh_is once' -s h -l help -d 'print this command\'s usage'

complete -c credfresh -n '__credfresh_at 0' -a check -d 'look for mistakes; --online does every exchange without publishing'
complete -c credfresh -n '__credfresh_is check' -s c -l config -r -F -d 'the configuration'
complete -c credfresh -n '__credfresh_is check' -l online -d 'do every exchange, and publish nothing'
complete -c credfresh -n '__credfresh_is check' -s h -l help -d 'print this command\'s usage'

complete -c credfresh -n '__credfresh_at 0' -a doctor -d 'look at everything around the credentials, and say what is wrong and what to do; changes nothing'
complete -c credfresh -n '__credfresh_is doctor' -s c -l config -r -F -d 'the configuration'
complete -c credfresh -n '__credfresh_is doctor' -s s -l socket -r -F -d 'the control socket of the running agent'
complete -c credfresh -n '__credfresh_is doctor' -l json -d 'print JSON'
complete -c credfresh -n '__credfresh_is doctor' -l timeout -x -d 'the longest time to take, as in 90s'
complete -c credfresh -n '__credfresh_is doctor' -l offline -d 'send nothing to anybody'
complete -c credfresh -n '__credfresh_is doctor' -l trust-policy -r -F -d 'the role\'s trust policy, as `aws iam get-role` prints it'
complete -c credfresh -n '__credfresh_is doctor' -l federated-credential -r -F -d 'Azure\'s federated credentials, as `az ... federated-credential` prints them'
complete -c credfresh -n '__credfresh_is doctor' -l pool-provider -r -F -d 'Google\'s pool provider, as `gcloud ... providers describe --format json` prints it'
complete -c credfresh -n '__credfresh_is doctor' -s h -l help -d 'print this command\'s usage'
complete -c credfresh -n '__credfresh_is doctor' -x -a '(__credfresh_names)'

complete -c credfresh -n '__credfresh_at 0' -a status -d 'show what the running agent does'
complete -c credfresh -n '__credfresh_is status' -s c -l config -r -F -d 'the configuration'
complete -c credfresh -n '__credfresh_is status' -s s -l socket -r -F -d 'the control socket of the running agent'
complete -c credfresh -n '__credfresh_is status' -l json -d 'print JSON'
complete -c credfresh -n '__credfresh_is status' -l watch -d 'show it again every second'
complete -c credfresh -n '__credfresh_is status' -s h -l help -d 'print this command\'s usage'

complete -c credfresh -n '__credfresh_at 0' -a rotate -d 'renew now; at most once per reason'
complete -c credfresh -n '__credfresh_is rotate' -s c -l config -r -F -d 'the configuration'
complete -c credfresh -n '__credfresh_is rotate' -s s -l socket -r -F -d 'the control socket of the running agent'
complete -c credfresh -n '__credfresh_is rotate' -l all -d 'all credentials'
complete -c credfresh -n '__credfresh_is rotate' -l reason -x -d 'renew at most once for this reason'
complete -c credfresh -n '__credfresh_is rotate' -s h -l help -d 'print this command\'s usage'
complete -c credfresh -n '__credfresh_is rotate' -x -a '(__credfresh_names)'

complete -c credfresh -n '__credfresh_at 0' -a wait -d 'return when the credentials are published and valid'
complete -c credfresh -n '__credfresh_is wait' -s c -l config -r -F -d 'the configuration'
complete -c credfresh -n '__credfresh_is wait' -s s -l socket -r -F -d 'the control socket of the running agent'
complete -c credfresh -n '__credfresh_is wait' -l timeout -x -d 'the longest time to take, as in 90s'
complete -c credfresh -n '__credfresh_is wait' -s h -l help -d 'print this command\'s usage'
complete -c credfresh -n '__credfresh_is wait' -x -a '(__credfresh_names)'

complete -c credfresh -n '__credfresh_at 0' -a reload -d 'make the running agent take its configuration file again'
complete -c credfresh -n '__credfresh_is reload' -s c -l config -r -F -d 'the configuration'
complete -c credfresh -n '__credfresh_is reload' -s s -l socket -r -F -d 'the control socket of the running agent'
complete -c credfresh -n '__credfresh_is reload' -s h -l help -d 'print this command\'s usage'

complete -c credfresh -n '__credfresh_at 0' -a image-credential-provider -d 'answer the kubelet, which runs this to pull images: see image_credentials'
complete -c credfresh -n '__credfresh_is image-credential-provider' -s c -l config -r -F -d 'the configuration'
complete -c credfresh -n '__credfresh_is image-credential-provider' -s h -l help -d 'print this command\'s usage'

complete -c credfresh -n '__credfresh_at 0' -a exec -d 'publish, then run a command with the credentials, keep them fresh, and end as it ends'
complete -c credfresh -n '__credfresh_is exec' -s c -l config -r -F -d 'the configuration'
complete -c credfresh -n '__credfresh_is exec' -l timeout -x -d 'the longest time to take, as in 90s'
complete -c credfresh -n '__credfresh_is exec' -l name -x -a '(__credfresh_names)' -d 'a credential to use; may be given again'
complete -c credfresh -n '__credfresh_is exec' -s h -l help -d 'print this command\'s usage'
complete -c credfresh -n '__credfresh_is exec; and __credfresh_at 1' -x -a '(__fish_complete_command)'
complete -c credfresh -n '__credfresh_is exec; and not __credfresh_at 1' -F

complete -c credfresh -n '__credfresh_at 0' -a quit -d 'make the running agent end'
complete -c credfresh -n '__credfresh_is quit' -s c -l config -r -F -d 'the configuration'
complete -c credfresh -n '__credfresh_is quit' -s s -l socket -r -F -d 'the control socket of the running agent'
complete -c credfresh -n '__credfresh_is quit' -s h -l help -d 'print this command\'s usage'

complete -c credfresh -n '__credfresh_at 0' -a get -d 'print a credential for a program that asks: from the running agent; with -c by an exchange of its own'
complete -c credfresh -n '__credfresh_is get' -s c -l config -r -F -d 'the configuration'
complete -c credfresh -n '__credfresh_is get' -s s -l socket -r -F -d 'the control socket of the running agent'
complete -c credfresh -n '__credfresh_is get' -l timeout -x -d 'the longest time to take, as in 90s'
complete -c credfresh -n '__credfresh_is get' -l field -x -d 'the value of the credential that is the token'
complete -c credfresh -n '__credfresh_is get' -s h -l help -d 'print this command\'s usage'
complete -c credfresh -n '__credfresh_is get; and __credfresh_at 1' -x -a 'aws gcp kube token'
complete -c credfresh -n '__credfresh_is get; and __credfresh_at 2' -x -a '(__credfresh_names)'

complete -c credfresh -n '__credfresh_at 0' -a env -d 'print the variables that point SDKs at a credential, and what wins over them'
complete -c credfresh -n '__credfresh_is env' -s c -l config -r -F -d 'the configuration'
complete -c credfresh -n '__credfresh_is env' -l format -x -a 'sh env json' -d 'how to print it'
complete -c credfresh -n '__credfresh_is env' -s h -l help -d 'print this command\'s usage'
complete -c credfresh -n '__credfresh_is env; and __credfresh_at 1' -x -a '(__credfresh_names)'

complete -c credfresh -n '__credfresh_at 0' -a oidc -d 'keep the key and the documents of a service-account issuer, and rotate the key in the safe order'
complete -c credfresh -n '__credfresh_is oidc' -l json -d 'print JSON'
complete -c credfresh -n '__credfresh_is oidc' -s d -l directory -x -a '(__fish_complete_directories)' -d 'where the issuer\'s journal and key are kept'
complete -c credfresh -n '__credfresh_is oidc' -l issuer -x -d 'the issuer, as it stands in its tokens'
complete -c credfresh -n '__credfresh_is oidc' -l key -x -d 'kind of the keys: rsa-2048 (as by default), rsa-4096, ecdsa-p256 ...'
complete -c credfresh -n '__credfresh_is oidc' -l token-life -x -d 'the longest life of a token that the issuer signs'
complete -c credfresh -n '__credfresh_is oidc' -l settle -x -d 'how long until everybody has read a new document; 1h by default'
complete -c credfresh -n '__credfresh_is oidc' -l signer-lag -x -d 'how long signers take to follow the key\'s file; by default that is confirmed'
complete -c credfresh -n '__credfresh_is oidc' -l web-root -x -a '(__fish_complete_directories)' -d 'where the documents are written; DIR/web by default'
complete -c credfresh -n '__credfresh_is oidc' -l confirm -d 'every signer uses the new key now'
complete -c credfresh -n '__credfresh_is oidc' -l continue -d 'go on with a rotation, and begin none'
complete -c credfresh -n '__credfresh_is oidc' -s h -l help -d 'print this command\'s usage'
complete -c credfresh -n '__credfresh_is oidc; and __credfresh_at 1' -x -a 'init rotate status'

complete -c credfresh -n '__credfresh_at 0' -a inspect -d 'explain a token, and what an STS would say of it'
complete -c credfresh -n '__credfresh_is inspect' -l audience -x -d 'the audience that the token must have'
complete -c credfresh -n '__credfresh_is inspect' -s h -l help -d 'print this command\'s usage'
complete -c credfresh -n '__credfresh_is inspect; and __credfresh_at 1' -r -F

complete -c credfresh -n '__credfresh_at 0' -a reference -d 'print the configuration reference'
complete -c credfresh -n '__credfresh_is reference' -l format -x -a 'markdown man' -d 'how to print it'
complete -c credfresh -n '__credfresh_is reference' -s h -l help -d 'print this command\'s usage'

complete -c credfresh -n '__credfresh_at 0' -a completion -d 'print what a shell needs to complete command lines; names: those of the credentials'
complete -c credfresh -n '__credfresh_is completion' -s c -l config -r -F -d 'the configuration'
complete -c credfresh -n '__credfresh_is completion' -s s -l socket -r -F -d 'the control socket of the running agent'
complete -c credfresh -n '__credfresh_is completion' -s h -l help -d 'print this command\'s usage'
complete -c credfresh -n '__credfresh_is completion; and __credfresh_at 1' -x -a 'bash zsh fish names'

complete -c credfresh -n '__credfresh_at 0' -a version -d 'print the version'
complete -c credfresh -n '__credfresh_is version' -l verbose -d 'the libraries and their versions, too'
complete -c credfresh -n '__credfresh_is version' -s h -l help -d 'print this command\'s usage'

complete -c credfresh -n '__credfresh_at 0' -a help -d 'print this, or a command\'s usage'
complete -c credfresh -n '__credfresh_is help' -s h -l help -d 'print this command\'s usage'
complete -c credfresh -n '__credfresh_is help; and __credfresh_at 1' -x -a 'run once check doctor status rotate wait reload image-credential-provider exec quit get env oidc inspect reference completion version help'
