// SPDX-License-Identifier: MIT

package main

import (
	"context"
	"net/http"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/config"
	"github.com/gophercloud/gophercloud/v2/openstack/config/clouds"
)

// openKeystone reads clouds.yaml once, as this SDK does, and lets it log in again when a call is refused.
func openKeystone(ctx context.Context) (call, error) {
	options, _, trust, err := clouds.Parse()
	if err != nil {
		return nil, err
	}
	options.AllowReauth = true
	provider, err := config.NewProviderClient(ctx, options, config.WithTLSConfig(trust))
	if err != nil {
		return nil, err
	}
	// The call shows a token to itself. If the SDK has to log in for it, what it shows is still the old one (404), so
	// it is sent once more.
	show := func(ctx context.Context) (string, error) {
		token := provider.Token()
		response, err := provider.Request(ctx, http.MethodGet, options.IdentityEndpoint+"/auth/tokens",
			&gophercloud.RequestOpts{MoreHeaders: map[string]string{"X-Subject-Token": token},
				OkCodes: []int{http.StatusOK}, KeepResponseBody: true})
		if err == nil {
			response.Body.Close()
		}
		return token, err
	}
	return func(ctx context.Context) (string, error) {
		token, err := show(ctx)
		if err != nil && provider.Token() != token {
			token, err = show(ctx)
		}
		return identify(token), err
	}, nil
}
