// Package host has functions that the runtimes of all languages use: to find the files that a script loads (modules.go), to make
// error messages with names and suggestions (names.go), to convert an offset in a text to a position (text.go), and to read the
// tokens of a text (scanner.go).
//
// Messages differ between languages in details, which are in [Names]. What the languages do in different ways, such as to bind
// parameters, is in their packages.
package host
