// SPDX-License-Identifier: MIT

package main

import (
	"context"
	"encoding/base64"
	"net/http"
	"os"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
)

// openRegistry takes the login of CFR_SDK_REGISTRY from docker's configuration, which the keychain reads at each
// Resolve, and shows it to the local cloud's registry.
func openRegistry(context.Context) (call, error) {
	registry, err := name.NewRegistry(os.Getenv("CFR_SDK_REGISTRY"))
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) (string, error) {
		found, err := authn.Resolve(ctx, authn.DefaultKeychain, registry)
		if err != nil {
			return "", err
		}
		login, err := authn.Authorization(ctx, found)
		if err != nil {
			return "", err
		}
		value := base64.StdEncoding.EncodeToString([]byte(login.Username + ":" + login.Password))
		return identify(login.Password), get(ctx, http.DefaultClient, base()+"/ecr/v2/", "Authorization", "Basic "+value)
	}, nil
}
