//go:build !js

package scripts

import "syscall"

// nonblock is for opening a file: without it, a pipe would wait for a writer.
const nonblock = syscall.O_NONBLOCK
