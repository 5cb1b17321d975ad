// Package host is what all runtimes do for the scripts of their language, whichever that is: find the files that a script
// loads (modules.go), say in messages what was not found and what may have been meant (names.go), tell where something is
// in a text (text.go), and read as much of a text's tokens as it takes to count them (scanner.go).
//
// What a message says is the language's own: [Names] has what differs. What the languages do in different ways, such as to
// bind parameters, stays in their packages.
package host
