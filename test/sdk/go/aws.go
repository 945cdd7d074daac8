// SPDX-License-Identifier: MIT

package main

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/sts"
)

// openAWS takes the default chain: the environment decides which of the ways it is. The call is signed for STS, at
// AWS_ENDPOINT_URL_STS.
func openAWS(ctx context.Context) (call, error) {
	settings, err := config.LoadDefaultConfig(ctx)
	if err != nil {
		return nil, err
	}
	client := sts.NewFromConfig(settings)
	return func(ctx context.Context) (string, error) {
		keys, err := settings.Credentials.Retrieve(ctx)
		if err != nil {
			return "", err
		}
		_, err = client.GetCallerIdentity(ctx, nil)
		return keys.AccessKeyID, err
	}, nil
}
