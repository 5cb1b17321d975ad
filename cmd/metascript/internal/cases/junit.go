package cases

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"
)

// These are the elements of JUnit's XML format that CI systems read.
type (
	junitSuites struct {
		XMLName  xml.Name     `xml:"testsuites"`
		Tests    int          `xml:"tests,attr"`
		Failures int          `xml:"failures,attr"`
		Time     string       `xml:"time,attr"`
		Suites   []junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		Name     string      `xml:"name,attr"`
		Tests    int         `xml:"tests,attr"`
		Failures int         `xml:"failures,attr"`
		Time     string      `xml:"time,attr"`
		Cases    []junitCase `xml:"testcase"`

		seconds float64
	}
	junitCase struct {
		Name    string        `xml:"name,attr"`
		Class   string        `xml:"classname,attr"` // the suite: some systems group by it
		File    string        `xml:"file,attr"`
		Time    string        `xml:"time,attr"`
		Failure *junitFailure `xml:"failure"`
		Printed string        `xml:"system-out,omitempty"`
	}
	junitFailure struct {
		Message string `xml:"message,attr"` // the first line
		Text    string `xml:",chardata"`
	}
)

// WriteJUnit writes the results in JUnit's XML format, with a testsuite for each suite. A case that was updated has passed.
func (r *Results) WriteJUnit(w io.Writer) error {
	document := junitSuites{Tests: r.Run, Failures: r.Failed + r.Invalid}
	total := 0.0
	for _, result := range r.Cases {
		if n := len(document.Suites); n == 0 || document.Suites[n-1].Name != result.Suite {
			document.Suites = append(document.Suites, junitSuite{Name: result.Suite})
		}
		document.Suites[len(document.Suites)-1].add(&result)
		total += result.Seconds
	}
	document.Time = junitTime(total)
	text, err := xml.MarshalIndent(document, "", "  ")
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "%s%s\n", xml.Header, text)
	return err
}

// add adds a case. Warnings are no failures: they come before what the script printed.
func (s *junitSuite) add(result *Result) {
	c := junitCase{Name: result.Case, Class: result.Suite, File: result.File, Time: junitTime(result.Seconds), Printed: result.warnings() + result.Printed}
	if why := result.failure(); why != "" {
		message, _, _ := strings.Cut(why, "\n")
		c.Failure = &junitFailure{Message: message, Text: why}
		s.Failures++
	}
	s.Tests, s.seconds = s.Tests+1, s.seconds+result.Seconds
	s.Time = junitTime(s.seconds)
	s.Cases = append(s.Cases, c)
}

// junitTime returns a time in seconds.
func junitTime(seconds float64) string { return fmt.Sprintf("%.3f", seconds) }
