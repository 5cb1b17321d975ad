// Command webhook serves the functions of a JavaScript file as the hooks of a controller: POST /sync and POST /finalize.
// It does not use metascript. A webhook gets the same JSON as a script.
package main

import (
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"

	"github.com/dop251/goja"
)

func main() {
	listen := flag.String("listen", ":8080", "the address to serve at")
	flag.Parse()
	if err := serve(*listen, flag.Arg(0)); err != nil {
		log.Fatal(err)
	}
}

func serve(address, file string) error {
	source, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	program, err := goja.Compile(file, string(source), true)
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	for _, hook := range []string{"sync", "finalize"} {
		mux.HandleFunc("POST /"+hook, func(w http.ResponseWriter, r *http.Request) {
			answer, err := call(program, hook, r.Body)
			if err != nil {
				http.Error(w, err.Error(), http.StatusInternalServerError)
				return
			}
			_, _ = io.WriteString(w, answer)
		})
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	fmt.Printf("http://%s\n", listener.Addr())
	return http.Serve(listener, mux)
}

// call runs a function of the program with the request in a new interpreter. Request and answer are JSON.
func call(program *goja.Program, function string, request io.Reader) (string, error) {
	body, err := io.ReadAll(request)
	if err != nil {
		return "", err
	}
	vm := goja.New()
	if _, err := vm.RunProgram(program); err != nil {
		return "", err
	}
	if err := vm.Set("body", string(body)); err != nil {
		return "", err
	}
	answer, err := vm.RunString("JSON.stringify(" + function + "(JSON.parse(body)))")
	if err != nil {
		return "", err
	}
	return answer.String(), nil
}
