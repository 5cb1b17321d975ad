package scripts

import (
	"errors"
	"fmt"
)

// A Reason classifies an [Error].
type Reason string

// The reasons of errors.
const (
	NotFound  Reason = "NotFound"  // a file, a ConfigMap or a key does not exist
	Invalid   Reason = "Invalid"   // it exists, and cannot be the source of a script
	Unsettled Reason = "Unsettled" // files change while they are read; try again
)

// An Error says that a source cannot be read, and what to do about it.
type Error struct {
	Reason Reason
	Source string // what could not be read, such as "file catset/sync.js", with the position if there is one
	Msg    string // what is wrong
	Hint   string // what to do about it, or ""
	Err    error  // the cause, or nil
}

// Error returns "source: message (hint)".
func (e *Error) Error() string {
	text := e.Source + ": " + e.Msg
	if e.Hint != "" {
		text += " (" + e.Hint + ")"
	}
	return text
}

// Unwrap returns the cause.
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

// forLibrary adds the name of the library to err.
func forLibrary(name string, err error) error {
	var e *Error
	if !errors.As(err, &e) {
		return err
	}
	about := *e
	about.Source = "library " + name + ": " + e.Source
	return &about
}
