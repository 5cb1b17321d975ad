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
	if err := refused(resp); err != nil {
		return nil, connection.WithProxy(err, w.URL) // the response may be the proxy's
	}
	limit := cmp.Or(max(w.Limit, 0), maxBody)
	if resp.ContentLength > limit {
		return nil, tooLarge(limit)
	}
	body := &body{r: resp.Body, left: limit, limit: limit}
	first, err := io.ReadAll(io.LimitReader(body, smallBody+1))
	if err != nil {
		return nil, err
	}
	if len(first) <= smallBody {
		return w.decodeAndCache(first, resp, req, key)
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
		return w.decodeAndCache(text, resp, req, key)
	}
	return w.stream(first, body, req)
}

// decodeAndCache decodes and checks the text of a response, and caches it if it has an ETag.
func (w *Webhook) decodeAndCache(text []byte, resp *http.Response, req *Request, key etags.Key) (*Response, error) {
	answer, err := w.read(text, req)
	if etag := resp.Header.Get("ETag"); err == nil && w.Cache != nil && etag != "" {
		answer.Cached = w.Cache.Put(key, etag, text)
	}
	return answer, err
}

// stream decodes a response while it is read, and checks it.
func (w *Webhook) stream(first []byte, rest *body, req *Request) (*Response, error) {
	answer, twice, err := jsontree.Decode(io.MultiReader(bytes.NewReader(first), rest), w.Strict)
	switch {
	case rest.err != nil:
		return nil, rest.err // the error of the decoder may hide it
	case err == nil && answer == nil:
		err = errNull
	}
	if err != nil {
		return nil, notAnObject(err, first)
	}
	if len(twice) > 0 {
		return nil, errors.Join(twice...)
	}
	return decode(answer, req, w.decodeOptions())
}

// reserve takes memory of InFlight for a response of this length, or, if the length is not known, of any length up to limit.
// The memory belongs to the Lease in ctx until the reconcile ends. For a customize hook, whose response is not kept, and
// without a Lease in ctx, it is returned by release.
func (w *Webhook) reserve(ctx context.Context, req *Request, length, limit int64, of *body) (release func(), err error) {
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
		least, most = min(of.read, size), min(limit, size)
	}
	n, err := lease.TakeUpTo(ctx, w.InFlight, least, most)
	if err != nil {
		return nil, err
	}
	if length < 0 {
		of.bound(n, aboveBudget(n, size))
	}
	if own {
		return lease.Release, nil
	}
	return func() { lease.Shrink(n, of.read) }, nil
}

// aboveBudget returns the error for a response that is larger than n bytes, which were reserved of a budget of size bytes.
func aboveBudget(n, size int64) error {
	if n == size {
		return fmt.Errorf("the answer is larger than the %d bytes that all answers in flight can have together: raise --webhook-memory", size)
	}
	return fmt.Errorf("the answer is larger than %d bytes: all answers in flight can have at most %d bytes together, and other answers for the same parent use the rest: raise --webhook-memory", n, size)
}

func tooLarge(limit int64) error {
	return fmt.Errorf("the answer is larger than %d bytes: return less, or raise maxResponseSize of the webhook", limit)
}

// A body reads a response body up to a limit. Reading more is an error.
type body struct {
	r     io.Reader
	read  int64
	left  int64
	limit int64
	over  error // the error for a larger body; nil stands for tooLarge(limit)
	err   error // the last error other than io.EOF
}

// bound reduces the limit to n bytes from the beginning of the body. over is the error for a larger body.
func (b *body) bound(n int64, over error) {
	if less := n - b.read; less < b.left {
		b.left, b.over = max(less, 0), over
	}
}

// Read implements io.Reader.
func (b *body) Read(p []byte) (int, error) {
	if b.err != nil {
		return 0, b.err
	}
	if int64(len(p)) > b.left+1 {
		p = p[:b.left+1]
	}
	n, err := b.r.Read(p)
	if int64(n) > b.left {
		n, err = int(b.left), cmp.Or(b.over, tooLarge(b.limit))
	} else if err != nil && err != io.EOF {
		err = fmt.Errorf("the answer broke off after %d bytes: %w", b.read+int64(n), err)
	}
	b.read, b.left = b.read+int64(n), b.left-int64(n)
	if err != io.EOF {
		b.err = err
	}
	return n, err
}
