// SPDX-License-Identifier: MIT

package main

import (
	"context"
	"net/http"

	"cloud.google.com/go/auth/credentials"
)

// openGoogle takes application default credentials: the environment decides which of the ways it is.
func openGoogle(context.Context) (call, error) {
	found, err := credentials.DetectDefault(
		&credentials.DetectOptions{Scopes: []string{"https://www.googleapis.com/auth/cloud-platform"}})
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) (string, error) {
		token, err := found.Token(ctx)
		if err != nil {
			return "", err
		}
		return identify(token.Value), get(ctx, http.DefaultClient, base()+"/gcp/whoami", "Authorization", "Bearer "+token.Value)
	}, nil
}
