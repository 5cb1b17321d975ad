// This file lets native.go declare functions without bodies, which it names with go:linkname.
