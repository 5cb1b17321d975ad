package inspection

import (
	"context"
	"net/http"
	"net/url"
)

// Stream sends a request to the server that leads, and returns its response, which has no end in time. The caller must close its body.
func (c *Client) Stream(ctx context.Context, path string, values url.Values) (*http.Response, error) {
	var response *http.Response
	err := c.follow(ctx, func() (failed error) {
		response, failed = c.send(ctx, c.unlimited(), http.MethodGet, path+"?"+values.Encode())
		return failed
	})
	return response, err
}

// Delete sends a DELETE request to the server to which the Client is connected.
func (c *Client) Delete(ctx context.Context, path string) error {
	response, err := c.send(ctx, c.unlimited(), http.MethodDelete, path)
	if err != nil {
		return err
	}
	return response.Body.Close()
}

// unlimited returns the client without a limit of time.
func (c *Client) unlimited() *http.Client {
	unlimited := *c.http
	unlimited.Timeout = 0
	return &unlimited
}
