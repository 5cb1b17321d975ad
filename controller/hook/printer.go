package hook

import (
	"sync"

	"metascript/controller/redact"
	"metascript/engine"
)

// A printer passes on what a script prints, without what is in Secrets. When the request has some it does so at the end
// of the call, all at once, so that the Secrets are gone through once and not for each line.
type printer struct {
	log    func(engine.Message)
	hidden *redact.Redactor

	mu   sync.Mutex
	kept []engine.Message
}

func (s *Script) printer(req *Request, hidden *redact.Redactor) *printer {
	return &printer{log: func(m engine.Message) { s.Log(req, m) }, hidden: hidden}
}

func (p *printer) print(m engine.Message) {
	if p.hidden.Empty() {
		p.log(m)
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.kept = append(p.kept, m)
}

// flush passes on what was kept.
func (p *printer) flush() {
	p.mu.Lock()
	defer p.mu.Unlock()
	texts := make([]string, len(p.kept))
	for i, m := range p.kept {
		texts[i] = m.Text
	}
	for i, text := range p.hidden.Texts(texts) {
		p.kept[i].Text = text
		p.log(p.kept[i])
	}
	p.kept = nil
}
