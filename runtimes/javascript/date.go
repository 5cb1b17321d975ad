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
	case smallISO.MatchString(text):
		return asString(strings.ToUpper(text))
	case noDates.MatchString(text), otherZones.MatchString(text), !isoForm.MatchString(text) && !plausible(text):
		return asString("no date")
	case !isoForm.MatchString(text):
		return asString(offsetAfterTime.ReplaceAllString(text, "$1 $2"))
	}
	return s
}

var (
	// isoForm matches texts that goja reads by the rules of ISO 8601.
	isoForm = regexp.MustCompile(`^(?:\d{4}|[+-]\d{6})(?:-\d\d){0,2}(?:T.*)?$`)
	// offsetAfterTime matches a time and an offset without a space between them, in which goja sees a year.
	offsetAfterTime = regexp.MustCompile(`(:\d{1,2}(?:\.\d+)?)([+-]\d)`)
	// comment and timeOfDay match the parts of other texts that are no day, month or year: a comment, and a time with an offset.
	comment   = regexp.MustCompile(`\([^()]*\)`)
	timeOfDay = regexp.MustCompile(`\d+:[\d:.]*(?:.*?[+-]\d[\d:]*\s*[A-Za-z]*\s*$)?`)
	// offsetAlone matches an offset in a text without a time, and glued what follows am or pm directly.
	offsetAlone = regexp.MustCompile(`\+|(?i:gmt|utc?)\s*-`)
	glued       = regexp.MustCompile(`(?i)\d\s*[ap]m[a-z]`)
	// numerals matches the numbers in a text, and monthName the name of a month.
	numerals  = regexp.MustCompile(`\d+`)
	monthName = regexp.MustCompile(`(?i)(?:^|[^a-z])(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)`)
)

// plausible reports whether the numbers of a date that is not in ISO 8601 are in ranges in which goja reads them as V8 does.
func plausible(text string) bool {
	if !strings.Contains(text, ":") && offsetAlone.MatchString(text) || glued.MatchString(text) {
		return false
	}
	rest := timeOfDay.ReplaceAllString(comment.ReplaceAllString(text, " "), " ")
	found := numerals.FindAllString(rest, -1)
	for _, number := range found {
		if len(number) > 4 || len(number) > 2 && number[0] == '0' {
			return false
		}
	}
	isYear := func(i int) bool { return len(found[i]) > 2 }
	within := func(i, most int) bool {
		n, _ := strconv.Atoi(found[i])
		return !isYear(i) && n >= 1 && n <= most
	}
	switch named := monthName.MatchString(rest); {
	case named && len(found) == 2:
		return within(0, 31) || isYear(0) && within(1, 31)
	case !named && len(found) == 3:
		return within(0, 12) && within(1, 31) || isYear(0) && within(1, 12) && within(2, 31)
	}
	return true
}
