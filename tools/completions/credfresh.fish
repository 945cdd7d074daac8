# SPDX-License-Identifier: MIT
# fish completion of credfresh: made by credfresh-gen from the grammar of the command line.

set -g __credfresh_with_value -c --config -s --socket --reason --timeout --audience --field --format --name --trust-policy --federated-credential --pool-provider -o --output --role-arn --region --tenant-id --client-id --scope --auth-url --application-credential-id --registry --token-url --image --service-account --log-level --log-format

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

complete -c credfresh -n '__credfresh_at 0' -a init -d 'write a first configuration, and what the cluster needs for it'
complete -c credfresh -n '__credfresh_is init' -l audience -x -d 'the audience of the token; at Google Cloud, the full name of the pool\'s provider'
complete -c credfresh -n '__credfresh_is init' -l name -x -a '(__credfresh_names)' -d 'the name of the credential, and of the program that uses it; default: app'
complete -c credfresh -n '__credfresh_is init' -s o -l output -r -F -d 'write to the new FILE, and for pods to a second one, which ends in -kubernetes.yaml; default: print the configuration alone'
complete -c credfresh -n '__credfresh_is init' -l sidecar -d 'for a container next to a program; the default'
complete -c credfresh -n '__credfresh_is init' -l node -d 'for the systemd unit of a machine'
complete -c credfresh -n '__credfresh_is init' -l secret -d 'for a pod that keeps a Secret of the cluster fresh'
complete -c credfresh -n '__credfresh_is init' -l role-arn -x -d 'the role of AWS'
complete -c credfresh -n '__credfresh_is init' -l region -x -d 'the region of AWS or OpenStack'
complete -c credfresh -n '__credfresh_is init' -l tenant-id -x -d 'the tenant of Azure'
complete -c credfresh -n '__credfresh_is init' -l client-id -x -d 'the managed identity of Azure'
complete -c credfresh -n '__credfresh_is init' -l scope -x -d 'the scope of the access token'
complete -c credfresh -n '__credfresh_is init' -l auth-url -x -d 'the URL of Keystone'
complete -c credfresh -n '__credfresh_is init' -l application-credential-id -x -d 'the application credential of OpenStack'
complete -c credfresh -n '__credfresh_is init' -l registry -x -d 'the registry, of whose cloud the other options are; default: one of ECR'
complete -c credfresh -n '__credfresh_is init' -l token-url -x -d 'the token endpoint of the OAuth 2 server'
complete -c credfresh -n '__credfresh_is init' -l image -x -d 'the image of credfresh in your registry'
complete -c credfresh -n '__credfresh_is init' -l service-account -x -d 'the service account of Google Cloud to impersonate'
complete -c credfresh -n '__credfresh_is init' -s h -l help -d 'print this command\'s usage'
complete -c credfresh -n '__credfresh_is init; and __credfresh_at 1' -x -a 'aws gcp azure openstack registry oauth'

complete -c credfresh -n '__credfresh_at 0' -a run -d 'keep all credentials fresh, in the foreground'
complete -c credfresh -n '__credfresh_is run' -s c -l config -r -F -d 'the configuration; default: $CREDFRESH_CONFIG, else /etc/credfresh/credfresh.yaml, else the environment'
complete -c credfresh -n '__credfresh_is run' -l log-level -x -a 'error warn info debug' -d 'the least important events to log; default: $CREDFRESH_LOG_LEVEL, else the configuration\'s'
complete -c credfresh -n '__credfresh_is run' -l log-format -x -a 'text json' -d 'the format of the log; default: $CREDFRESH_LOG_FORMAT, else the configuration\'s'
complete -c credfresh -n '__credfresh_is run' -s h -l help -d 'print this command\'s usage'

complete -c credfresh -n '__credfresh_at 0' -a once -d 'get and publish every credential once, run the hooks, exit'
complete -c credfresh -n '__credfresh_is once' -s c -l config -r -F -d 'the configuration; default: $CREDFRESH_CONFIG, else /etc/credfresh/credfresh.yaml, else the environment'
complete -c credfresh -n '__credfresh_is once' -l timeout -x -d 'the longest time to take, such as 90s; default: 60s'
complete -c credfresh -n '__credfresh_is once' -l log-level -x -a 'error warn info debug' -d 'the least important events to log; default: $CREDFRESH_LOG_LEVEL, else the configuration\'s'
complete -c credfresh -n '__credfresh_is once' -l log-format -x -a 'text json' -d 'the format of the log; default: $CREDFRESH_LOG_FORMAT, else the configuration\'s'
complete -c credfresh -n '__credfresh_is once' -s h -l help -d 'print this command\'s usage'

complete -c credfresh -n '__credfresh_at 0' -a status -d 'show the state of the running agent'
complete -c credfresh -n '__credfresh_is status' -s c -l config -r -F -d 'the configuration that names the control socket'
complete -c credfresh -n '__credfresh_is status' -s s -l socket -r -F -d 'the control socket of the running agent; default: $CREDFRESH_SOCKET, else the configuration\'s'
complete -c credfresh -n '__credfresh_is status' -l json -d 'print JSON'
complete -c credfresh -n '__credfresh_is status' -l watch -d 'repeat every second; q ends it'
complete -c credfresh -n '__credfresh_is status' -l failed -d 'only credentials that are not ready, or that failed last'
complete -c credfresh -n '__credfresh_is status' -l exit-code -d 'exit with 1 if any of them is not ready'
complete -c credfresh -n '__credfresh_is status' -s h -l help -d 'print this command\'s usage'
complete -c credfresh -n '__credfresh_is status' -x -a '(__credfresh_names)'

complete -c credfresh -n '__credfresh_at 0' -a rotate -d 'renew credentials now, at most once per reason'
complete -c credfresh -n '__credfresh_is rotate' -s c -l config -r -F -d 'the configuration that names the control socket'
complete -c credfresh -n '__credfresh_is rotate' -s s -l socket -r -F -d 'the control socket of the running agent; default: $CREDFRESH_SOCKET, else the configuration\'s'
complete -c credfresh -n '__credfresh_is rotate' -l all -d 'all credentials'
complete -c credfresh -n '__credfresh_is rotate' -l reason -x -d 'renew at most once for this reason'
complete -c credfresh -n '__credfresh_is rotate' -s h -l help -d 'print this command\'s usage'
complete -c credfresh -n '__credfresh_is rotate' -x -a '(__credfresh_names)'

complete -c credfresh -n '__credfresh_at 0' -a forget -d 'list keys of credentials that left the configuration'
complete -c credfresh -n '__credfresh_is forget' -s c -l config -r -F -d 'the configuration; default: $CREDFRESH_CONFIG, else /etc/credfresh/credfresh.yaml, else the environment'
complete -c credfresh -n '__credfresh_is forget' -s h -l help -d 'print this command\'s usage'
complete -c credfresh -n '__credfresh_is forget' -x -a '(__credfresh_names)'

complete -c credfresh -n '__credfresh_at 0' -a wait -d 'wait until credentials are published and valid'
complete -c credfresh -n '__credfresh_is wait' -s c -l config -r -F -d 'the configuration that names the control socket'
complete -c credfresh -n '__credfresh_is wait' -s s -l socket -r -F -d 'the control socket of the running agent; default: $CREDFRESH_SOCKET, else the configuration\'s'
complete -c credfresh -n '__credfresh_is wait' -l timeout -x -d 'the longest time to take, such as 90s; default: 30s'
complete -c credfresh -n '__credfresh_is wait' -s h -l help -d 'print this command\'s usage'
complete -c credfresh -n '__credfresh_is wait' -x -a '(__credfresh_names)'

complete -c credfresh -n '__credfresh_at 0' -a reload -d 'make the running agent reload its configuration'
complete -c credfresh -n '__credfresh_is reload' -s c -l config -r -F -d 'the configuration that names the control socket'
complete -c credfresh -n '__credfresh_is reload' -s s -l socket -r -F -d 'the control socket of the running agent; default: $CREDFRESH_SOCKET, else the configuration\'s'
complete -c credfresh -n '__credfresh_is reload' -s h -l help -d 'print this command\'s usage'

complete -c credfresh -n '__credfresh_at 0' -a quit -d 'make the running agent exit'
complete -c credfresh -n '__credfresh_is quit' -s c -l config -r -F -d 'the configuration that names the control socket'
complete -c credfresh -n '__credfresh_is quit' -s s -l socket -r -F -d 'the control socket of the running agent; default: $CREDFRESH_SOCKET, else the configuration\'s'
complete -c credfresh -n '__credfresh_is quit' -s h -l help -d 'print this command\'s usage'

complete -c credfresh -n '__credfresh_at 0' -a check -d 'check the configuration; --online also does every exchange'
complete -c credfresh -n '__credfresh_is check' -s c -l config -r -F -d 'the configuration; default: $CREDFRESH_CONFIG, else /etc/credfresh/credfresh.yaml, else the environment'
complete -c credfresh -n '__credfresh_is check' -l online -d 'do every exchange, and publish nothing'
complete -c credfresh -n '__credfresh_is check' -l json -d 'print JSON'
complete -c credfresh -n '__credfresh_is check' -l strict -d 'exit with 1 for warnings, too'
complete -c credfresh -n '__credfresh_is check' -s h -l help -d 'print this command\'s usage'
complete -c credfresh -n '__credfresh_is check; and __credfresh_at 1' -r -F

complete -c credfresh -n '__credfresh_at 0' -a doctor -d 'diagnose everything around the credentials; changes nothing'
complete -c credfresh -n '__credfresh_is doctor' -s c -l config -r -F -d 'the configuration; default: $CREDFRESH_CONFIG, else /etc/credfresh/credfresh.yaml, else the environment'
complete -c credfresh -n '__credfresh_is doctor' -s s -l socket -r -F -d 'the control socket of the running agent; default: $CREDFRESH_SOCKET, else the configuration\'s'
complete -c credfresh -n '__credfresh_is doctor' -l json -d 'print JSON'
complete -c credfresh -n '__credfresh_is doctor' -l timeout -x -d 'the longest time to take, such as 90s; default: 30s'
complete -c credfresh -n '__credfresh_is doctor' -s v -l verbose -d 'show what is well and notes, too'
complete -c credfresh -n '__credfresh_is doctor' -l offline -d 'send nothing to any server'
complete -c credfresh -n '__credfresh_is doctor' -l trust-policy -r -F -d 'the role\'s trust policy, as `aws iam get-role` prints it'
complete -c credfresh -n '__credfresh_is doctor' -l federated-credential -r -F -d 'Azure\'s federated credentials, as `az ... federated-credential` prints them'
complete -c credfresh -n '__credfresh_is doctor' -l pool-provider -r -F -d 'Google\'s pool provider, as `gcloud ... providers describe --format json` prints it'
complete -c credfresh -n '__credfresh_is doctor' -s h -l help -d 'print this command\'s usage'
complete -c credfresh -n '__credfresh_is doctor' -x -a '(__credfresh_names)'

complete -c credfresh -n '__credfresh_at 0' -a inspect -d 'explain a token, and whether a token service would accept it'
complete -c credfresh -n '__credfresh_is inspect' -l audience -x -d 'the audience that the token must have'
complete -c credfresh -n '__credfresh_is inspect' -s h -l help -d 'print this command\'s usage'
complete -c credfresh -n '__credfresh_is inspect; and __credfresh_at 1' -r -F

complete -c credfresh -n '__credfresh_at 0' -a exec -d 'run a command with credentials that are kept fresh'
complete -c credfresh -n '__credfresh_is exec' -s c -l config -r -F -d 'the configuration; default: $CREDFRESH_CONFIG, else /etc/credfresh/credfresh.yaml, else the environment'
complete -c credfresh -n '__credfresh_is exec' -l timeout -x -d 'the longest time to take, such as 90s; default: 60s'
complete -c credfresh -n '__credfresh_is exec' -l name -x -a '(__credfresh_names)' -d 'a credential to use; can be repeated'
complete -c credfresh -n '__credfresh_is exec' -l log-level -x -a 'error warn info debug' -d 'the least important events to log; default: $CREDFRESH_LOG_LEVEL, else the configuration\'s'
complete -c credfresh -n '__credfresh_is exec' -l log-format -x -a 'text json' -d 'the format of the log; default: $CREDFRESH_LOG_FORMAT, else the configuration\'s'
complete -c credfresh -n '__credfresh_is exec' -s q -l quiet -d 'log errors only'
complete -c credfresh -n '__credfresh_is exec' -s h -l help -d 'print this command\'s usage'
complete -c credfresh -n '__credfresh_is exec; and __credfresh_at 1' -x -a '(__fish_complete_command)'
complete -c credfresh -n '__credfresh_is exec; and not __credfresh_at 1' -F

complete -c credfresh -n '__credfresh_at 0' -a env -d 'print the variables that point SDKs at a credential'
complete -c credfresh -n '__credfresh_is env' -s c -l config -r -F -d 'the configuration; default: $CREDFRESH_CONFIG, else /etc/credfresh/credfresh.yaml, else the environment'
complete -c credfresh -n '__credfresh_is env' -l format -x -a 'sh env json' -d 'the format of the output; default: sh'
complete -c credfresh -n '__credfresh_is env' -s h -l help -d 'print this command\'s usage'
complete -c credfresh -n '__credfresh_is env; and __credfresh_at 1' -x -a '(__credfresh_names)'

complete -c credfresh -n '__credfresh_at 0' -a get -d 'print a credential as the plugin of an SDK or of kubectl'
complete -c credfresh -n '__credfresh_is get' -s c -l config -r -F -d 'exchange by this configuration, without an agent'
complete -c credfresh -n '__credfresh_is get' -s s -l socket -r -F -d 'the control socket of the running agent; default: $CREDFRESH_SOCKET, else the configuration\'s'
complete -c credfresh -n '__credfresh_is get' -l timeout -x -d 'the longest time to take, such as 90s; default: 4s, with -c 25s'
complete -c credfresh -n '__credfresh_is get' -l field -x -d 'the value of the credential that is the token'
complete -c credfresh -n '__credfresh_is get' -s h -l help -d 'print this command\'s usage'
complete -c credfresh -n '__credfresh_is get; and __credfresh_at 1' -x -a 'aws gcp kube token'
complete -c credfresh -n '__credfresh_is get; and __credfresh_at 2' -x -a '(__credfresh_names)'

complete -c credfresh -n '__credfresh_at 0' -a image-credential-provider -d 'log in to image registries for the kubelet, which runs this'
complete -c credfresh -n '__credfresh_is image-credential-provider' -s c -l config -r -F -d 'the configuration; default: $CREDFRESH_CONFIG, else /etc/credfresh/credfresh.yaml, else the environment'
complete -c credfresh -n '__credfresh_is image-credential-provider' -s h -l help -d 'print this command\'s usage'

complete -c credfresh -n '__credfresh_at 0' -a reference -d 'print the configuration reference, or what a key means'
complete -c credfresh -n '__credfresh_is reference' -l format -x -a 'markdown man' -d 'the format of the output; default: markdown'
complete -c credfresh -n '__credfresh_is reference' -s h -l help -d 'print this command\'s usage'
complete -c credfresh -n '__credfresh_is reference; and __credfresh_at 1' -x

complete -c credfresh -n '__credfresh_at 0' -a completion -d 'print a shell\'s completion script, or the credentials\' names'
complete -c credfresh -n '__credfresh_is completion' -s c -l config -r -F -d 'the configuration that names the control socket'
complete -c credfresh -n '__credfresh_is completion' -s s -l socket -r -F -d 'the control socket of the running agent; default: $CREDFRESH_SOCKET, else the configuration\'s'
complete -c credfresh -n '__credfresh_is completion' -s h -l help -d 'print this command\'s usage'
complete -c credfresh -n '__credfresh_is completion; and __credfresh_at 1' -x -a 'bash zsh fish names'

complete -c credfresh -n '__credfresh_at 0' -a version -d 'print the version'
complete -c credfresh -n '__credfresh_is version' -s v -l verbose -d 'the libraries and their versions, too'
complete -c credfresh -n '__credfresh_is version' -s h -l help -d 'print this command\'s usage'

complete -c credfresh -n '__credfresh_at 0' -a help -d 'list the commands, or explain one'
complete -c credfresh -n '__credfresh_is help' -s h -l help -d 'print this command\'s usage'
complete -c credfresh -n '__credfresh_is help; and __credfresh_at 1' -x -a 'init run once status rotate forget wait reload quit check doctor inspect exec env get image-credential-provider reference completion version help'
complete -c credfresh -n '__credfresh_is help; and __credfresh_at 2' -x
