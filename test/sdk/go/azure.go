// SPDX-License-Identifier: MIT

package main

import (
	"context"
	"net/http"
	"net/url"
	"os"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"
)

func callAzure(credential azcore.TokenCredential) call {
	resource := os.Getenv("CFR_SDK_AZURE_RESOURCE")
	if resource == "" {
		resource = "https://management.azure.com"
	}
	return func(ctx context.Context) (string, error) {
		token, err := credential.GetToken(ctx, policy.TokenRequestOptions{Scopes: []string{resource + "/.default"}})
		if err != nil {
			return "", err
		}
		return identify(token.Token), get(ctx, http.DefaultClient,
			base()+"/azure/whoami?resource="+url.QueryEscape(resource), "Authorization", "Bearer "+token.Token)
	}
}

func openManagedIdentity(context.Context) (call, error) {
	credential, err := azidentity.NewManagedIdentityCredential(nil)
	if err != nil {
		return nil, err
	}
	return callAzure(credential), nil
}

// openWorkloadIdentity does not ask Microsoft whether the authority is one of its own: it is the local cloud.
func openWorkloadIdentity(context.Context) (call, error) {
	credential, err := azidentity.NewWorkloadIdentityCredential(
		&azidentity.WorkloadIdentityCredentialOptions{DisableInstanceDiscovery: true})
	if err != nil {
		return nil, err
	}
	return callAzure(credential), nil
}
