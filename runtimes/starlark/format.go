package starlark

import (
	"cmp"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"

	"metascript/engine"
)

// Starlark's formats have no flags, no widths and no precisions. The errors in this file say what to write in place of those of Python.

// A spec is what follows % or : in a format of Python.
type spec struct {
	align, flags, width, precision, verb string
}

// conversion matches a conversion of % that has flags, a width or a precision.
var conversion = regexp.MustCompile(`%(?:\(\w+\))?([-#0 +]*)(\d*)(?:\.(\d+))?([a-zA-Z])`)

// percentFault returns the error about the first conversion that Starlark does not have, or err.
func percentFault(format string, err error) error {
	if !strings.HasPrefix(err.Error(), "unknown conversion %") {
		return err
	}
	for _, m := range conversion.FindAllStringSubmatch(strings.ReplaceAll(format, "%%", ""), -1) {
		if s := (spec{"", m[1], m[2], m[3], m[4]}); m[1]+m[2]+m[3] != "" {
			if strings.Contains(s.flags, "-") {
				s.align = "<"
			}
			return s.fault(m[0])
		}
	}
	return &fault{kind: engine.KindRuntime, msg: err.Error(), hint: "the conversions are %s, %r, %d, %x, %o, %c, %e, %f, %g and %%"}
}

// replacement matches what follows : in a replacement field.
var replacement = regexp.MustCompile(`^(?:.?([<>^]))?([-+ #0,_]*)(\d*)([,_]?)(?:\.(\d+))?([a-zA-Z%]?)$`)

// fieldFault returns the error about the format of a replacement field, or err.
func fieldFault(err error) error {
	text, found := strings.CutPrefix(err.Error(), "format spec features not supported in replacement fields: ")
	if !found {
		return err
	}
	s := spec{}
	if m := replacement.FindStringSubmatch(text); m != nil {
		s = spec{m[1], m[2] + m[4], m[3], m[5], m[6]}
	}
	return s.fault("{:" + text + "}")
}

func (s spec) fault(text string) error {
	return &fault{
		kind: engine.KindRuntime, msg: fmt.Sprintf("%s: formats have no flags, no width and no precision", clip(text)), hint: "write " + s.instead(),
	}
}

// instead returns an expression for the same text, of a number n or of any value x.
func (s spec) instead() string {
	text := "str(x)"
	if strings.Contains("dxXoc", cmp.Or(s.verb, "s")) {
		text = fmt.Sprintf(`"%%%s" %% n`, s.verb)
	}
	switch {
	case s.verb == "%":
		return `"%d%%" % math.round(n * 100)`
	case s.verb == "f" || s.verb == "F" || s.precision != "" && s.verb == "":
		return s.fraction()
	case strings.Contains(s.flags, "0") && s.align == "" && s.width != "":
		return fmt.Sprintf(`"0" * (%s - len(%s)) + %[2]s, if the number is not negative`, s.width, text)
	case s.width != "":
		return s.padded(text)
	case strings.Contains(s.flags, "+"):
		return fmt.Sprintf(`("+" if n >= 0 else "") + %s`, text)
	case strings.Contains(s.flags, "#") && (s.verb == "x" || s.verb == "o"):
		return fmt.Sprintf(`"0%s%%%[1]s" %% n`, s.verb)
	}
	return text
}

// fraction returns an expression for a number with some digits after the point; %f has six.
func (s spec) fraction() string {
	digits, err := strconv.Atoi(cmp.Or(s.precision, "6"))
	switch {
	case digits == 0:
		return `"%d" % math.round(n)`
	case err == nil && digits < 6:
		return fmt.Sprintf(`("%%f" %% (math.round(n * %d) / %[1]d))[:%d]`, int(math.Pow10(digits)), digits-6)
	}
	return `"%f" % n`
}

func (s spec) padded(text string) string {
	spaces := fmt.Sprintf(`" " * (%s - len(%s))`, s.width, text)
	left := s.align == "<" || s.align == "" && s.verb == ""
	switch {
	case s.align == "^":
		return fmt.Sprintf(`" " * ((%s - len(%s)) // 2) + %[2]s`, s.width, text)
	case left && text != "str(x)":
		return "(" + text + ") + " + spaces
	case left:
		return text + " + " + spaces
	}
	return spaces + " + " + text
}
