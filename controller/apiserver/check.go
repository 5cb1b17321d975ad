package apiserver

import (
	"context"
	"net/http"

	"k8s.io/client-go/rest"
)

// Checker returns a function for Connection.Check, which sends its requests with a config. It asks for /readyz, which is neither a list nor
// a write, and which everybody may read in most clusters: that somebody may not is an answer too.
func Checker(config *rest.Config) (func(context.Context) int, error) {
	config = rest.CopyConfig(config)
	config.QPS = -1
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, err
	}
	base, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return nil, err
	}
	address := base.JoinPath("readyz").String()
	return func(ctx context.Context) int {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
		if err != nil {
			return 0
		}
		response, err := client.Do(request)
		if err != nil {
			return 0
		}
		_ = response.Body.Close()
		return response.StatusCode
	}, nil
}
