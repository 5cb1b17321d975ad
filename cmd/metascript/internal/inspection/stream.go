package inspection

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"

	"metascript/controller/inspect"
)

// Stream sends a request to the server that leads, and returns its response, which has no end in time. The caller must close its body.
func (c *Client) Stream(ctx context.Context, path string, values url.Values) (*http.Response, error) {
	var response *http.Response
	err := c.follow(ctx, func() (failed error) {
		response, failed = c.send(ctx, http.MethodGet, path+"?"+values.Encode())
		return failed
	})
	return response, err
}

// Delete sends a DELETE request to the server to which the Client is connected.
func (c *Client) Delete(ctx context.Context, path string) error {
	response, err := c.send(ctx, http.MethodDelete, path)
	if err != nil {
		return err
	}
	return response.Body.Close()
}

// send sends one request without a limit of time. A status that is not 200 is an error.
func (c *Client) send(ctx context.Context, method, path string) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, method, c.base+path, nil)
	if err != nil {
		return nil, err
	}
	unlimited := *c.http
	unlimited.Timeout = 0
	response, err := unlimited.Do(request)
	if err != nil {
		return nil, c.unreached(err)
	}
	if response.StatusCode == http.StatusOK {
		return response, nil
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, responseLimit))
	if err != nil {
		return nil, c.unreached(err)
	}
	problem := &inspect.Problem{}
	if json.Unmarshal(text, problem) != nil || problem.Message == "" {
		return nil, fmt.Errorf("what responds at %s is not a server of this program: %s", c.at(), response.Status)
	}
	return nil, problem
}
