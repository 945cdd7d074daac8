// SPDX-License-Identifier: MIT

package credfresh

import (
	"context"
	"errors"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// serve answers on a socket as the agent does, and returns its path.
func serve(t *testing.T, answer http.HandlerFunc) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "tokens.sock")
	listener, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: answer}
	go server.Serve(listener)
	t.Cleanup(func() { server.Close() })
	return path
}

func TestGet(t *testing.T) {
	socket := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.EscapedPath() != "/v1/token/a%2Fb" || r.Header.Get("Accept") != "application/json" {
			t.Errorf("unexpected request: %s, Accept: %s", r.URL.EscapedPath(), r.Header.Get("Accept"))
		}
		w.Write([]byte(`{"credential":"a/b","kind":"aws","expires":"2026-01-02T04:05:06Z","fields":{"aws_access_key_id":"ASIA"}}`))
	})
	found, err := NewClient(socket).Get(context.Background(), "a/b")
	if err != nil {
		t.Fatal(err)
	}
	if found.Name != "a/b" || found.Kind != "aws" || found.Fields["aws_access_key_id"] != "ASIA" ||
		!found.Expires.Equal(time.Date(2026, 1, 2, 4, 5, 6, 0, time.UTC)) {
		t.Errorf("unexpected credential: %+v", found)
	}
}

func TestGetWithoutExpiry(t *testing.T) {
	socket := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Write([]byte(`{"credential":"a","kind":"secret","expires":null,"fields":{}}`))
	})
	if found, err := NewClient(socket).Get(context.Background(), "a"); err != nil || !found.Expires.IsZero() {
		t.Errorf("unexpected answer: %+v, %v", found, err)
	}
}

func TestToken(t *testing.T) {
	socket := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Accept") != "text/plain" {
			t.Errorf("Accept: %s", r.Header.Get("Accept"))
		}
		w.Write([]byte("eyJ.a.b"))
	})
	t.Setenv("CREDFRESH_TOKEN_SOCKET", socket)
	if token, err := NewClient("").Token(context.Background(), "api"); err != nil || token != "eyJ.a.b" {
		t.Errorf("unexpected answer: %q, %v", token, err)
	}
}

func TestRefusals(t *testing.T) {
	for name, test := range map[string]struct {
		status  int
		retry   string
		body    string
		message string
		after   time.Duration
	}{
		"explained":   {503, "5", `{"error":{"code":"not-ready","message":"no valid session"}}`, "no valid session", 5 * time.Second},
		"unexplained": {403, "", "<html>", "the agent answered 403 Forbidden", 0},
	} {
		t.Run(name, func(t *testing.T) {
			socket := serve(t, func(w http.ResponseWriter, r *http.Request) {
				if test.retry != "" {
					w.Header().Set("Retry-After", test.retry)
				}
				w.WriteHeader(test.status)
				w.Write([]byte(test.body))
			})
			_, err := NewClient(socket).Get(context.Background(), "api")
			var refused *Error
			if !errors.As(err, &refused) || refused.Status != test.status || refused.Message != test.message ||
				refused.RetryAfter != test.after || !strings.Contains(err.Error(), "credential api: "+test.message) {
				t.Errorf("unexpected error: %v", err)
			}
		})
	}
}

func TestNoAgent(t *testing.T) {
	t.Setenv("CREDFRESH_TOKEN_SOCKET", "")
	if _, err := NewClient("").Token(context.Background(), "api"); err == nil || !strings.Contains(err.Error(), "CREDFRESH_TOKEN_SOCKET") {
		t.Errorf("unexpected error: %v", err)
	}
	path := filepath.Join(t.TempDir(), "none.sock")
	if _, err := NewClient(path).Token(context.Background(), "api"); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("unexpected error: %v", err)
	}
}
