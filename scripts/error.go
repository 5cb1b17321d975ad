package scripts

import (
	"errors"
	"fmt"
)

// A Reason says what kind of trouble an [Error] is.
type Reason string

const (
	NotFound  Reason = "NotFound"  // a file, a ConfigMap or a key is not there
	Invalid   Reason = "Invalid"   // it is there, and cannot be a script's source
	Unsettled Reason = "Unsettled" // files change faster than they can be read; try again
)

// An Error says that source cannot be had, and what to do about it.
type Error struct {
	Reason Reason
	Source string // what it is about: "file catset/sync.js", with the place in it when there is one
	Msg    string
	Hint   string
	Err    error // what caused it, or nil
}

// Error gives "source: message (hint)".
func (e *Error) Error() string {
	text := e.Source + ": " + e.Msg
	if e.Hint != "" {
		text += " (" + e.Hint + ")"
	}
	return text
}

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Err }

func invalid(source, msg, hint string) *Error {
	return &Error{Reason: Invalid, Source: source, Msg: msg, Hint: hint}
}

func notFound(source, msg, hint string) *Error {
	return &Error{Reason: NotFound, Source: source, Msg: msg, Hint: hint}
}

func tooLarge(source string, limit int64) *Error {
	return invalid(source, fmt.Sprintf("is larger than the %d bytes that a script may have", limit), "leave out what it does not need, or split it")
}

// forLibrary says which library err is about.
func forLibrary(name string, err error) error {
	var e *Error
	if !errors.As(err, &e) {
		return err
	}
	about := *e
	about.Source = "library " + name + ": " + e.Source
	return &about
}
