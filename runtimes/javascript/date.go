package javascript

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/dop251/goja"
)

// Functions of dates that goja computes wrongly, or in another form.

// timeOf returns the time of a Date; ok is false for an invalid date and for other values.
func timeOf(v goja.Value) (t time.Time, ok bool) {
	o, isObject := v.(*goja.Object)
	if !isObject || o.ClassName() != "Date" {
		return time.Time{}, false
	}
	t, ok = o.Export().(time.Time)
	return t, ok
}

// setMilliseconds implements the methods that set milliseconds. goja adds a second to a time before 1970.
func setMilliseconds(r *run, call goja.FunctionCall, f native) goja.Value {
	numberArgs(r, call.Arguments)
	t, ok := timeOf(call.This)
	if !ok || len(call.Arguments) == 0 || t.UnixMilli() >= 0 {
		return f(call)
	}
	call, _ = number(call, 0)
	ms := math.Trunc(call.Arguments[0].ToFloat())
	set, ok := goja.AssertFunction(call.This.(*goja.Object).Get("setTime"))
	if !ok || math.IsNaN(ms) {
		return f(call)
	}
	v, err := set(call.This, r.vm.ToValue(float64(t.Unix())*1000+ms))
	if err != nil {
		panic(err)
	}
	return v
}

// toISOString writes a year of more than four digits, or before the year 0, with six digits and a sign.
func toISOString(_ *run, call goja.FunctionCall, f native) goja.Value {
	t, ok := timeOf(call.This)
	t = t.UTC()
	if !ok || t.Year() >= 0 && t.Year() <= 9999 {
		return f(call)
	}
	sign, year := "+", t.Year()
	if year < 0 {
		sign, year = "-", -year
	}
	return asString(fmt.Sprintf("%s%06d-", sign, year) + t.Format("01-02T15:04:05.000Z"))
}

// localDate implements the toLocale… methods of dates for American English, which is the default of Node.js. The layout has Y for the year.
func localDate(layout string) func(*run, goja.FunctionCall, native) goja.Value {
	return func(r *run, call goja.FunctionCall, f native) goja.Value {
		r.needAmerican(call.Arguments)
		t, ok := timeOf(call.This)
		if !ok {
			return f(call)
		}
		t = t.In(time.Local)
		year := t.Year()
		if year < 1 {
			year = 1 - year // before Christ
		}
		return asString(strings.Replace(t.Format(layout), "Y", strconv.Itoa(year), 1))
	}
}

func parsedDate(r *run, call goja.FunctionCall, f native) goja.Value {
	call = r.argTexts(call, 0)
	if s, ok := call.Argument(0).(goja.String); ok {
		r.need(size(s)*1000, "the conversion of a text")
		call.Arguments[0] = dateText(s)
	}
	return f(call)
}

// noDates match texts that are no dates, but that goja reads as some date: a number, a month or day 00, a day above 31, and hours alone or
// a comma in ISO 8601.
var noDates = regexp.MustCompile(`^\s*(?:\d{7,}\s*$|\d{4}-(?:00|\d\d-00|\d{3}\s*$))|T\d\d:\d\d(?::\d\d)?(?:\.\d*)?(?:,|[+-]\d\d\s*$)|[A-Za-z]\s+(?:3[2-9]|[4-9]\d)\b`)

// maxDate is more than the length of a date.
const maxDate = 200

// otherZones match abbreviations of time zones that goja knows, but not JavaScript, outside of brackets.
var otherZones = regexp.MustCompile(`(?i)(?:^|[\s\d])(?:wes?t|ces?t|ees?t)\b`)

// smallISO matches a time in ISO 8601 with a t or z that goja knows only as a capital.
var smallISO = regexp.MustCompile(`^(?:\d{4}|[+-]\d{6})-\d\d-\d\d[tT]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:[zZ]|[+-]\d\d:\d\d)?$`)

// dateText returns the text of a date for goja. It is no date if goja would read another one.
func dateText(s goja.String) goja.String {
	if s.Length() > maxDate {
		return s
	}
	text := s.String()
	switch {
	case noDates.MatchString(text), otherZones.MatchString(text):
		return asString("no date")
	case smallISO.MatchString(text):
		return asString(strings.ToUpper(text))
	}
	return s
}
