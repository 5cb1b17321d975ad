// Package tools is a module of its own for what serves the development of metascript and is no part of it: the
// tools that generate and check code, at the versions that go.mod names, and a test that needs more
// dependencies than the program may have. A tool runs in the folder it is called in:
//
//	go tool -modfile=test/tools/go.mod staticcheck ./...
//
// The test reads files outside of the module, of which the go command's cache knows nothing: run it with
//
//	go test -C test/tools -count=1 ./...
package tools
