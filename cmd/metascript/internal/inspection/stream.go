package inspection

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"

	"metascript/controller/inspect"
)

// Stream sends a request to the server that leads, and returns its response, which has no end in time. The caller must close its body.
func (c *Client) Stream(ctx context.Context, path string, values url.Values) (*http.Response, error) {
	if c.base == "" {
		if err := c.connect(ctx, ""); err != nil {
			return nil, err
		}
	}
	const hops = 3 // the leader may change meanwhile
	for hop := 0; ; hop++ {
		response, err := c.send(ctx, http.MethodGet, path+"?"+values.Encode())
		var problem *inspect.Problem
		if !errors.As(err, &problem) || !problem.Standby || problem.Leader == "" || c.flags.Server != "" || hop == hops {
			return response, err
		}
		if err := c.connect(ctx, problem.Leader); err != nil {
			return nil, err
		}
	}
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
