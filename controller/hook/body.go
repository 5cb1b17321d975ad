package hook

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"

	"metascript/controller/bodies"
	"metascript/controller/connection"
	"metascript/controller/etags"
	"metascript/controller/jsontree"
)

// receive reads and checks the body of a response. A small body is read as a whole. A larger one first reserves memory of
// InFlight, and is decoded while it is read, unless its text is cached.
func (w *Webhook) receive(ctx context.Context, resp *http.Response, req *Request, key etags.Key) (*Response, error) {
	if err := w.refused(resp); err != nil {
		if w.Client.Tenant == nil {
			err = connection.WithProxy(err, w.URL) // the response may be the proxy's
		}
		return nil, err
	}
	limit := cmp.Or(max(w.Limit, 0), maxBody)
	if resp.ContentLength > limit {
		return nil, bodies.TooLarge(limit)
	}
	body := bodies.NewReader(resp.Body, limit)
	first, err := io.ReadAll(io.LimitReader(body, smallBody+1))
	if err != nil {
		return nil, err
	}
	if len(first) <= smallBody {
		return w.decodeAndCache(ctx, first, resp, req, key)
	}
	release, err := w.reserve(ctx, req, resp.ContentLength, limit, body)
	if err != nil {
		return nil, err
	}
	defer release()
	if w.Cache != nil && resp.Header.Get("ETag") != "" {
		text, err := io.ReadAll(io.MultiReader(bytes.NewReader(first), body))
		if err != nil {
			return nil, err
		}
		return w.decodeAndCache(ctx, text, resp, req, key)
	}
	return w.stream(ctx, first, body, req)
}

// decodeAndCache decodes and checks the text of a response, and caches it if it has an ETag.
func (w *Webhook) decodeAndCache(ctx context.Context, text []byte, resp *http.Response, req *Request, key etags.Key) (*Response, error) {
	answer, err := w.read(ctx, text, req)
	if etag := resp.Header.Get("ETag"); err == nil && w.Cache != nil && etag != "" {
		answer.Cached = w.Cache.Put(key, etag, text)
	}
	return answer, err
}

// stream decodes a response while it is read, and checks it.
func (w *Webhook) stream(ctx context.Context, first []byte, rest *bodies.Reader, req *Request) (*Response, error) {
	answer, twice, err := jsontree.Decode(io.MultiReader(bytes.NewReader(first), rest), w.Strict)
	switch {
	case rest.Err() != nil:
		return nil, rest.Err() // the error of the decoder may hide it
	case err == nil && answer == nil:
		err = errNull
	}
	if err != nil {
		return nil, notAnObject(err, first)
	}
	if w.Strict && len(twice) > 0 {
		return nil, errors.Join(twice...)
	}
	return w.decode(ctx, answer, req, func() []error { return twice })
}

// reserve takes memory of InFlight for a response of this length, or, if the length is not known, of any length up to limit.
// The memory belongs to the Lease in ctx until the reconcile ends. For a customize hook, whose response is not kept, and
// without a Lease in ctx, it is returned by release.
func (w *Webhook) reserve(ctx context.Context, req *Request, length, limit int64, of *bodies.Reader) (release func(), err error) {
	if w.InFlight == nil {
		return func() {}, nil
	}
	size := w.InFlight.Size()
	if length > size {
		return nil, fmt.Errorf("the answer has %d bytes, and all answers in flight can have at most %d bytes together: raise --webhook-memory", length, size)
	}
	lease := bodies.FromContext(ctx)
	own := lease == nil || req.Shape == Customizing
	if own {
		lease = &bodies.Lease{}
	}
	least, most := length, length
	if length < 0 {
		least, most = min(of.Len(), size), min(limit, size)
	}
	n, err := lease.TakeUpTo(ctx, w.InFlight, least, most)
	if err != nil {
		return nil, err
	}
	if length < 0 {
		of.Bound(n, aboveBudget(n, size))
	}
	if own {
		return lease.Release, nil
	}
	return func() { lease.Shrink(n, of.Len()) }, nil
}

// aboveBudget returns the error for a response that is larger than n bytes, which were reserved of a budget of size bytes.
func aboveBudget(n, size int64) error {
	if n == size {
		return fmt.Errorf("the answer is larger than the %d bytes that all answers in flight can have together: raise --webhook-memory", size)
	}
	return fmt.Errorf("the answer is larger than %d bytes: all answers in flight can have at most %d bytes together, and other answers for the same parent use the rest: raise --webhook-memory", n, size)
}
