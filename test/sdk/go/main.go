// SPDX-License-Identifier: MIT

// Consumers of the SDK matrix in Go: each way keeps one credential provider of its SDK for the whole run and makes one
// authenticated call per period. ../README.md describes the environment and the lines that they print.
package main

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
)

// A call returns which credential it used (an access key's id, or identify of a token) and why it failed. The id may be
// known of a call that failed.
type call func(ctx context.Context) (id string, err error)

// Each function creates the SDK's provider as the SDK's documentation says, from the environment alone.
var ways = map[string]func(ctx context.Context) (call, error){
	"aws-sdk-go-v2:container":            openAWS,
	"aws-sdk-go-v2:imds":                 openAWS,
	"aws-sdk-go-v2:process":              openAWS,
	"aws-sdk-go-v2:file":                 openAWS,
	"aws-sdk-go-v2:web-identity":         openAWS,
	"azidentity:app-service":             openManagedIdentity,
	"azidentity:workload":                openWorkloadIdentity,
	"gcp-auth-go:metadata":               openGoogle,
	"gcp-auth-go:file":                   openGoogle,
	"gcp-auth-go:executable":             openGoogle,
	"gophercloud:clouds-yaml":            openKeystone,
	"client-go:token-file":               openKube,
	"client-go:exec":                     openKube,
	"go-containerregistry:docker-config": openRegistry,
}

// URLs, and the lines that Azure's SDK draws, would leave no room for the cause.
var noise = regexp.MustCompile(`[-=]{8,}|https?://\S+`)

// identify names a token without showing it.
func identify(token string) string {
	return fmt.Sprintf("%x", sha256.Sum256([]byte(token)))[:12]
}

// base is the URL of the local cloud, which judges the calls.
func base() string {
	return strings.TrimSuffix(os.Getenv("CFR_SDK_URL"), "/")
}

// get sends a request to the judge; only 200 means that the credential was accepted.
func get(ctx context.Context, client *http.Client, url, header, value string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	if header != "" {
		request.Header.Set(header, value)
	}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	body, _ := io.ReadAll(io.LimitReader(response.Body, 4096))
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%d %s", response.StatusCode, body)
	}
	return nil
}

// report prints one line of at most 200 characters of error.
func report(way string, started time.Time, id string, err error) {
	line := struct {
		Way   string  `json:"way"`
		T     float64 `json:"t"`
		OK    bool    `json:"ok"`
		ID    string  `json:"id"`
		Error string  `json:"error"`
	}{Way: way, T: float64(started.UnixMicro()) / 1e6, OK: err == nil, ID: id}
	if err != nil {
		text := []rune(strings.Join(strings.Fields(noise.ReplaceAllString(err.Error(), " ")), " "))
		if len(text) > 200 {
			text = append(text[:100], text[len(text)-100:]...) // the cause is often at the end
		}
		line.Error = string(text)
	}
	text, _ := json.Marshal(line)
	os.Stdout.Write(append(text, '\n'))
}

// run calls once per period. A provider that cannot be created is a failed call, and is tried again.
func run(way string, period time.Duration) {
	ctx := context.Background()
	var use call
	for next := time.Now(); ; next = next.Add(period) {
		time.Sleep(time.Until(next))
		started := time.Now()
		var id string
		var err error
		if use == nil {
			use, err = ways[way](ctx)
		}
		if err == nil {
			id, err = use(ctx)
		}
		report(way, started, id, err)
		if late := time.Since(next); late > period {
			next = next.Add(late.Truncate(period)) // missed periods are not made up for
		}
	}
}

// Starts a process for each way, with the variables of this way from CFR_SDK_CONFIG; all of them share standard input.
func startEach(names []string) {
	var settings map[string]map[string]string
	if path := os.Getenv("CFR_SDK_CONFIG"); path != "" {
		text, err := os.ReadFile(path)
		if err == nil {
			err = json.Unmarshal(text, &settings)
		}
		if err != nil {
			fatal("CFR_SDK_CONFIG: %v", err)
		}
	}
	var children sync.WaitGroup
	for _, name := range names {
		program, _ := os.Executable()
		child := exec.Command(program, name)
		child.Env = append(os.Environ(), "CFR_SDK_CONFIG=", "CFR_SDK_CHILD=1")
		for variable, value := range settings[name] {
			child.Env = append(child.Env, variable+"="+value)
		}
		child.Stdin, child.Stdout, child.Stderr = os.Stdin, os.Stdout, os.Stderr
		if err := child.Start(); err != nil {
			fatal("%v", err)
		}
		children.Go(func() {
			if err := child.Wait(); err != nil {
				fatal("%s: %v", name, err)
			}
		})
	}
	children.Wait()
}

func fatal(format string, arguments ...any) {
	fmt.Fprintf(os.Stderr, "run: "+format+"\n", arguments...)
	os.Exit(1)
}

func main() {
	names := os.Args[1:]
	for _, name := range names {
		if ways[name] == nil {
			fatal("unknown way %q", name)
		}
	}
	if os.Getenv("CFR_SDK_CHILD") == "" {
		startEach(names)
		return
	}
	period := 1000
	if text := os.Getenv("CFR_SDK_PERIOD_MS"); text != "" {
		var err error
		if period, err = strconv.Atoi(text); err != nil || period <= 0 {
			fatal("CFR_SDK_PERIOD_MS: must be a number of milliseconds, got %q", text)
		}
	}
	go run(names[0], time.Duration(period)*time.Millisecond)
	io.Copy(io.Discard, os.Stdin)
}
