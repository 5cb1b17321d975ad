package hook

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"sync"
	"time"

	"metascript/controller/absent"
	"metascript/controller/httpanswer"
	"metascript/controller/object"
	"metascript/controller/redact"
	"metascript/engine"
)

// A Script is a hook that calls a function of a compiled script.
type Script struct {
	Program       engine.Program
	Name          string // of the script, for errors
	Function      string
	Version       string // V1 or V2; "" is V1
	Tenant, Owner string // the tenant of the controller, and the controller object; see engine.Env
	Limits        engine.Limits
	Timed         bool                                                             // the answer may depend on the time; Call does not use it
	RefuseMissing bool                                                             // of a script in the form of a webhook: see Webhook.RefuseMissing
	Explain       func(error) error                                                // corrects the hint of an error; may be nil
	Log           func(req *Request, m engine.Message)                             // called with each line that the script prints; may be nil
	Key           func(ctx context.Context, parent *object.Object) ([]byte, error) // of the random values for a parent; nil: there is none
	Now           func() time.Time                                                 // returns request.now; default time.Now
	Observe       func(took time.Duration, err error)                              // called after each call, when its answer was checked; may be nil
}

// Call calls the function. A response that is not valid is an [*engine.Error] of kind Result.
func (s *Script) Call(ctx context.Context, req *Request) (*Response, error) {
	redactor := req.redactor(ctx)
	prints := s.printer(req, redactor)
	defer prints.flush()
	back, began := &passedBack{children: req.Children}, time.Now()
	resp, err := s.run(ctx, req, prints, s.random(req, redactor, back))
	if s.Observe != nil {
		s.Observe(time.Since(began), err)
	}
	if err != nil {
		return nil, redactor.Error(err)
	}
	resp.Holders = back.all()
	for i, warning := range resp.Warnings {
		resp.Warnings[i] = redactor.Error(warning)
	}
	if resp.Unread != nil {
		resp.Unread = redactor.Error(resp.Unread)
	}
	return resp, nil
}

func (s *Script) run(ctx context.Context, req *Request, prints *printer, random *engine.Random) (*Response, error) {
	if req.Recorder == nil {
		recorded := *req
		recorded.Recorder, req = &object.Recorder{OnlyParent: true}, &recorded
	}
	arg, now := encode(req, s.Version), req.Now
	if now.IsZero() {
		now = s.now()
	}
	arg["now"] = now.UTC().Format(time.RFC3339)
	env := engine.Env{Tenant: s.Tenant, Owner: s.Owner, Limits: s.Limits, Identify: req.identifier(s.Owner), Random: random}
	if s.Log != nil {
		env.Log = prints.print
	}
	answer, err := s.Program.Call(ctx, s.Function, arg, env)
	if err != nil && s.Explain != nil {
		return nil, s.Explain(err)
	}
	if err != nil {
		return nil, err
	}
	ported, _ := s.Program.(engine.Ported)
	strict := ported == nil || !ported.Ported()
	how := decodeOptions{strict: strict, knownKeys: strict, refuseMissing: s.RefuseMissing, absent: s.absent(arg)}
	if !how.strict {
		if answer, err = s.unwrap(answer, req.Shape, now, &how); err != nil {
			return nil, err
		}
	}
	resp, err := decode(ctx, answer, req, how)
	if err != nil && ctx.Err() != nil {
		return nil, s.fault(&engine.Error{Kind: engine.KindCanceled, Msg: "canceled by its caller"})
	}
	if err != nil {
		return nil, s.resultError(answer, err)
	}
	resp.locate = func(err error) error { return s.resultError(answer, err) }
	resp.endWarnings()
	if err := unread(req, resp); err != nil {
		resp.Unread = resp.locate(err)
	}
	return resp, nil
}

// absent returns the search for texts in the answer to a request that were made of a missing value.
func (s *Script) absent(request map[string]any) *absent.Search {
	p, ok := s.Program.(engine.Written)
	if !ok {
		return &absent.Search{}
	}
	observed := maps.Clone(request)
	delete(observed, "controller") // it has the source text of the script
	return &absent.Search{Language: p.Language(), Request: observed, Quotes: p.Quotes}
}

// resultError returns the error for an answer that is not valid.
func (s *Script) resultError(answer map[string]any, err error) error {
	var at *faultAt
	if !errors.As(err, &at) {
		at = &faultAt{}
	}
	if p, ok := s.Program.(engine.ErrorMaker); ok {
		return p.ResultError(s.Function, answer, at.path, err.Error(), at.hint)
	}
	return &engine.Error{Kind: engine.KindResult, Pos: engine.Pos{File: s.Name}, Func: s.Function, Msg: err.Error(), Hint: at.hint}
}

// Quiet returns a copy whose calls are neither logged nor counted.
func (s *Script) Quiet() *Script {
	quiet := *s
	quiet.Log, quiet.Observe = nil, nil
	return &quiet
}

// TimeOf returns the time that a hook would see as request.now if it were called now.
func TimeOf(h Hook) time.Time {
	switch h := h.(type) {
	case *Script:
		return h.now()
	case *Fallback:
		return TimeOf(h.Script)
	}
	return time.Now()
}

func (s *Script) now() time.Time {
	if s.Now != nil {
		return s.Now()
	}
	return time.Now()
}

// unwrap returns the body of the HTTP response that a function returned, if it was written as an HTTP handler; another answer is returned
// unchanged. how.listed is set if Metacontroller does not have the form of the response: if the body has no children, it is not known that
// none are meant. An answer that has children beside the code of an error is that error.
func (s *Script) unwrap(answer map[string]any, shape Shape, now time.Time, how *decodeOptions) (body map[string]any, err error) {
	resp, ok := httpanswer.Read(answer)
	if !ok || !resp.Node && resp.Code == http.StatusOK && answer[shape.list()] != nil {
		return answer, nil
	}
	how.listed = !resp.Node
	switch resp.Code {
	case http.StatusOK:
		how.twice = func() []error {
			text, _ := resp.Content() // it was read before
			return repeated(text)
		}
		body, err = s.body(resp, answer)
	case http.StatusTooManyRequests:
		err = retryAfter(resp.Header("Retry-After"), now)
	default:
		err = &engine.Error{Kind: engine.KindRaised, Func: s.Function, Msg: fmt.Sprintf("the script answered with status %d: %s", resp.Code, resp.Text())}
	}
	return body, err
}

// body returns the body of a response that the script answered. What is decoded of its text is limited like an answer.
func (s *Script) body(resp httpanswer.Response, answer map[string]any) (map[string]any, error) {
	content, err := resp.Content()
	if err != nil {
		return nil, s.resultError(answer, err)
	}
	if fault := engine.CheckText(content, s.Limits); fault != nil {
		return nil, s.fault(fault)
	}
	body, err := bodyObject(resp)
	if err != nil {
		return nil, s.resultError(answer, err)
	}
	if content == nil {
		return body, nil // it is a part of the answer, which was checked
	}
	if fault := engine.CheckAnswer(body, s.Limits); fault != nil {
		return nil, s.fault(fault)
	}
	return body, nil
}

// fault returns an error of the engine with the place of the function.
func (s *Script) fault(e *engine.Error) error {
	e.Func, e.Pos.File = s.Function, s.Name
	if p, ok := s.Program.(engine.Placed); ok {
		e.Pos = p.Place(s.Function)
	}
	return e
}

func bodyObject(resp httpanswer.Response) (map[string]any, error) {
	body, err := resp.Body()
	answer, ok := body.(map[string]any)
	if err == nil && !ok {
		err = fmt.Errorf("the body that the script answered is %s, want an object or JSON text", typeName(body))
	}
	return answer, err
}

// A printer logs what a script prints, without the values of Secrets. If the request has Secrets, it logs at the end of the
// call, so that the Secrets are searched for once and not for each line.
type printer struct {
	log      func(engine.Message)
	redactor *redact.Redactor

	mu   sync.Mutex // guards kept; the lock of redactor may be taken, and log is called, while it is locked
	kept []engine.Message
}

func (s *Script) printer(req *Request, redactor *redact.Redactor) *printer {
	return &printer{log: func(m engine.Message) { s.Log(req, m) }, redactor: redactor}
}

func (p *printer) print(m engine.Message) {
	if p.redactor.Empty() {
		p.log(m)
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.kept = append(p.kept, m)
}

// flush logs the collected messages.
func (p *printer) flush() {
	p.mu.Lock()
	defer p.mu.Unlock()
	texts := make([]string, len(p.kept))
	for i, m := range p.kept {
		texts[i] = m.Text
	}
	for i, text := range p.redactor.Texts(texts) {
		p.kept[i].Text = text
		p.log(p.kept[i])
	}
	p.kept = nil
}
