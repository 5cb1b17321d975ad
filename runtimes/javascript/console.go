package javascript

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/dop251/goja"

	"metascript/engine"
)

const (
	maxMessage = 8 << 10 // bytes of one printed message
	maxNesting = 6       // levels of an object that are printed
)

// console is the console object. It makes a method when a script first reads it, since most scripts print nothing.
type console struct {
	r       *run
	methods map[string]goja.Value
}

var levels = map[string]engine.Level{
	"debug": engine.Debug, "log": engine.Info, "info": engine.Info, "warn": engine.Warn, "error": engine.Err,
}

// Get implements [goja.DynamicObject].
func (c *console) Get(name string) goja.Value {
	if method, ok := c.methods[name]; ok {
		return method
	}
	level, ok := levels[name]
	if !ok {
		return nil
	}
	if c.methods == nil {
		c.methods = map[string]goja.Value{}
	}
	c.methods[name] = c.r.vm.ToValue(func(call goja.FunctionCall) goja.Value {
		c.r.check()
		if c.r.log != nil {
			text := c.r.inspect(maxMessage, call.Arguments...)
			c.r.log(engine.Message{Level: level, Pos: c.r.where(), Text: text})
		}
		return goja.Undefined()
	})
	return c.methods[name]
}

// Has implements [goja.DynamicObject].
func (c *console) Has(name string) bool { return levels[name] != "" }

// Set implements [goja.DynamicObject].
func (c *console) Set(string, goja.Value) bool { return false }

// Delete implements [goja.DynamicObject].
func (c *console) Delete(string) bool { return false }

// Keys implements [goja.DynamicObject].
func (c *console) Keys() []string { return []string{"debug", "error", "info", "log", "warn"} }

// inspect formats values for people: strings as they are, other values similar to JSON, in about n bytes at most.
func (r *run) inspect(n int, values ...goja.Value) string {
	p := printer{r: r, max: n}
	for i, v := range values {
		if p.full() {
			break
		}
		if i > 0 {
			p.b.WriteByte(' ')
		}
		if s, ok := v.(goja.String); ok {
			p.b.WriteString(text(s, n))
			continue
		}
		p.value(v, 0)
	}
	return engine.Clip(p.b.String(), n)
}

// A printer writes values until it has written more than max bytes.
type printer struct {
	r   *run
	b   strings.Builder
	max int
}

func (p *printer) full() bool { return p.b.Len() > p.max }

func (p *printer) value(v goja.Value, depth int) {
	switch v := v.(type) {
	case goja.String:
		p.b.WriteString(strconv.Quote(text(v, p.max)))
	case *goja.Symbol:
		p.b.WriteString("[a symbol]")
	case *goja.Object:
		p.object(v, depth)
	default:
		if what := kind(v); what == "a BigInt" {
			p.b.WriteString("[a BigInt]")
		} else if what == "undefined" {
			p.b.WriteString(what)
		} else {
			p.b.WriteString(v.String())
		}
	}
}

func (p *printer) object(o *goja.Object, depth int) {
	what := kindOfObject(o)
	switch {
	case o.ExportType() == typeWide:
		p.b.WriteString(strconv.FormatInt(o.Export().(*wideInt).n, 10))
	case what == "an Error":
		name, message := p.r.nameAndMessage(o)
		p.b.WriteString(strings.TrimSuffix(name+": "+message, ": "))
	case what == "a Date":
		t, _ := o.Export().(time.Time)
		p.b.WriteString(t.UTC().Format(time.RFC3339Nano))
	case what != "an object" && what != "an array":
		fmt.Fprintf(&p.b, "[%s]", what)
	case depth == maxNesting:
		p.b.WriteString("…")
	case what == "an array":
		p.array(o, depth)
	default:
		p.fields(o, depth)
	}
}

func (p *printer) array(o *goja.Object, depth int) {
	p.b.WriteByte('[')
	for i := range int(o.Get("length").ToInteger()) {
		if p.full() {
			break
		}
		if i > 0 {
			p.b.WriteString(", ")
		}
		p.value(o.Get(strconv.Itoa(i)), depth+1)
	}
	p.b.WriteByte(']')
}

func (p *printer) fields(o *goja.Object, depth int) {
	p.b.WriteByte('{')
	for i, key := range keysOf(o) {
		if p.full() {
			break
		}
		if i > 0 {
			p.b.WriteString(", ")
		}
		p.b.WriteString(strconv.Quote(engine.Clip(key, p.max)) + ": ")
		p.value(o.Get(key), depth+1)
	}
	p.b.WriteByte('}')
}
