// SPDX-License-Identifier: MIT

package main

import (
	"context"
	"net/http"
	"strings"
	"sync/atomic"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// A bearer is the innermost transport: what it sees in a request was put there by the SDK.
type bearer struct {
	next http.RoundTripper
	id   *atomic.Value
}

func (b bearer) RoundTrip(request *http.Request) (*http.Response, error) {
	if token, ok := strings.CutPrefix(request.Header.Get("Authorization"), "Bearer "); ok {
		b.id.Store(identify(token))
	}
	return b.next.RoundTrip(request)
}

// openKube takes the context of KUBECONFIG, with a tokenFile or an exec plugin, and reads a Secret, which an anonymous
// client may not.
func openKube(context.Context) (call, error) {
	settings, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(
		clientcmd.NewDefaultClientConfigLoadingRules(), nil).ClientConfig()
	if err != nil {
		return nil, err
	}
	var id atomic.Value
	settings.Wrap(func(next http.RoundTripper) http.RoundTripper { return bearer{next, &id} })
	client, err := rest.HTTPClientFor(settings)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) (string, error) {
		id.Store("")
		err := get(ctx, client, settings.Host+"/api/v1/namespaces/default/secrets/sdk", "", "")
		return id.Load().(string), err
	}, nil
}
