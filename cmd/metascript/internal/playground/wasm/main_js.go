package main

import (
	"context"
	"encoding/json"
	"syscall/js"
	"time"

	"metascript/cmd/metascript/internal/playground"
)

func main() {
	time.Local = time.UTC // as in the command run: the result of Date in a script must not depend on the machine
	js.Global().Set("metascriptRun", js.FuncOf(func(_ js.Value, args []js.Value) any {
		text, done := args[0].String(), args[1]
		go func() { done.Invoke(run(text)) }() // a callback of the browser must not wait
		return nil
	}))
	js.Global().Call("metascriptReady")
	select {}
}

// run takes the texts, and returns the result, as JSON.
func run(text string) string {
	var files playground.Files
	if err := json.Unmarshal([]byte(text), &files); err != nil {
		return encoded(playground.Result{Error: err.Error()})
	}
	return encoded(playground.Run(context.Background(), files))
}

func encoded(r playground.Result) string {
	text, err := json.Marshal(r)
	if err != nil {
		return `{"error":"the answer cannot be shown"}`
	}
	return string(text)
}
