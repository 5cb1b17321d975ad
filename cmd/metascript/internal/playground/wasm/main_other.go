//go:build !js

package main

import "log"

func main() { log.Fatal("build this program with GOOS=js GOARCH=wasm") }
