package controlplane

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"
)

// client is the little of a Kubernetes client that a start needs. It spares
// this package client-go, which would make its tests slow to compile.
type client struct {
	url   string
	token string
	http  *http.Client
}

func newClient(url string, id *identity) (*client, error) {
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(id.ca) {
		return nil, errors.New("kube-apiserver: no certificate authority to verify it with")
	}
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}
	return &client{
		url:   url,
		token: id.token,
		http:  &http.Client{Transport: transport, Timeout: 10 * time.Second},
	}, nil
}

// get reads the JSON at a path; a nil into only checks that it is there.
func (c *client) get(ctx context.Context, path string, into any) error {
	status, body, err := c.do(ctx, http.MethodGet, path, nil)
	if err != nil {
		return err
	}
	if status != http.StatusOK {
		return fmt.Errorf("get %s: %s", path, describe(status, body))
	}
	if into == nil {
		return nil
	}
	if err := json.Unmarshal(body, into); err != nil {
		return fmt.Errorf("get %s: %w", path, err)
	}
	return nil
}

// create makes an object; that it exists already is no error.
func (c *client) create(ctx context.Context, path string, object any) error {
	content, err := json.Marshal(object)
	if err != nil {
		return err
	}
	status, body, err := c.do(ctx, http.MethodPost, path, content)
	if err != nil {
		return err
	}
	if status != http.StatusCreated && status != http.StatusConflict {
		return fmt.Errorf("create %s: %s", path, describe(status, body))
	}
	return nil
}

func (c *client) do(ctx context.Context, method, path string, content []byte) (int, []byte, error) {
	request, err := http.NewRequestWithContext(ctx, method, c.url+path, bytes.NewReader(content))
	if err != nil {
		return 0, nil, err
	}
	request.Header.Set("Authorization", "Bearer "+c.token)
	request.Header.Set("Content-Type", "application/json")
	response, err := c.http.Do(request)
	if err != nil {
		return 0, nil, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	return response.StatusCode, body, err
}

func describe(status int, body []byte) string {
	return fmt.Sprintf("%d %s: %s", status, http.StatusText(status), bytes.TrimSpace(body))
}
