// SPDX-License-Identifier: MIT

// Package credfresh reads credentials that credfresh keeps fresh, in two ways:
//
//   - A [Client] asks the agent's token socket for a credential each time it is needed.
//   - A [Watcher] follows a directory that is replaced as a whole, either one that credfresh publishes or any volume that the
//     kubelet mounts, and hands out complete snapshots of it.
//
// The package needs only the standard library. On systems other than Linux the Watcher polls.
package credfresh

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"time"
)

const answerMax = 4 << 20 // bytes; the agent's largest credential is far smaller

// Client asks the token socket of an agent (token_socket in its configuration). Its methods may be called from several goroutines.
type Client struct {
	socket string
	http   *http.Client
}

// NewClient returns a client of the socket at the path socket. If socket is empty, the path is in the environment variable
// CREDFRESH_TOKEN_SOCKET, which credfresh exec sets.
func NewClient(socket string) *Client {
	if socket == "" {
		socket = os.Getenv("CREDFRESH_TOKEN_SOCKET")
	}
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "unix", socket)
	}
	// The agent may be restarted between two calls, so no connection is kept.
	return &Client{socket, &http.Client{Transport: &http.Transport{DialContext: dial, DisableKeepAlives: true}}}
}

// Credential is what the agent holds at this moment.
type Credential struct {
	Name    string            // of the credential in the agent's configuration
	Kind    string            // "aws", "gcp", "azure", "token" and others
	Expires time.Time         // zero if it does not expire
	Fields  map[string]string // such as "aws_access_key_id"
}

// Error is an answer of the agent that is not a credential.
type Error struct {
	Credential string
	Status     int           // 403: not allowed, or no such credential; 503: none is valid now
	Message    string        // from the agent
	RetryAfter time.Duration // with 503, when to ask again; else zero
}

func (e *Error) Error() string {
	return fmt.Sprintf("credential %s: %s (status %d)", e.Credential, e.Message, e.Status)
}

// Get returns the credential name. If the agent does not give it, the error is an [*Error].
func (c *Client) Get(ctx context.Context, name string) (*Credential, error) {
	body, err := c.ask(ctx, name, "application/json")
	if err != nil {
		return nil, err
	}
	var answer struct {
		Credential, Kind string
		Expires          *time.Time
		Fields           map[string]string
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		return nil, fmt.Errorf("credential %s: unexpected answer from %s: %w", name, c.socket, err)
	}
	found := &Credential{Name: answer.Credential, Kind: answer.Kind, Fields: answer.Fields}
	if answer.Expires != nil {
		found.Expires = *answer.Expires
	}
	return found, nil
}

// Token returns the credential name if it is a single token. For others, such as AWS keys, it returns an [*Error] with the
// status 406: use [Client.Get].
func (c *Client) Token(ctx context.Context, name string) (string, error) {
	body, err := c.ask(ctx, name, "text/plain")
	return string(body), err
}

// ask returns the body of an answer with status 200.
func (c *Client) ask(ctx context.Context, name, accept string) ([]byte, error) {
	if c.socket == "" {
		return nil, errors.New("no token socket: give NewClient a path, or set CREDFRESH_TOKEN_SOCKET")
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://localhost/v1/token/"+url.PathEscape(name), nil)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Accept", accept)
	response, err := c.http.Do(request)
	if err != nil {
		return nil, fmt.Errorf("credential %s: %w", name, err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, answerMax))
	if err != nil {
		return nil, fmt.Errorf("credential %s: %w", name, err)
	}
	if response.StatusCode != http.StatusOK {
		return nil, refusal(name, response, body)
	}
	return body, nil
}

// refusal is the error of an answer {"error":{"code","message"}}.
func refusal(name string, response *http.Response, body []byte) *Error {
	var answer struct{ Error struct{ Message string } }
	if json.Unmarshal(body, &answer) != nil || answer.Error.Message == "" {
		answer.Error.Message = "the agent answered " + response.Status
	}
	seconds, _ := strconv.Atoi(response.Header.Get("Retry-After"))
	return &Error{name, response.StatusCode, answer.Error.Message, time.Duration(seconds) * time.Second}
}
