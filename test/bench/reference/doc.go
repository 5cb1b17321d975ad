// Reference is a controller to measure the server of this project beside. It does what a controller of Metacontroller with a webhook
// does, in the simplest form, with the informers and the work queue of client-go, and without limits on its requests: it calls the
// webhook for each parent, creates and updates the children that the webhook returns, deletes the others, and updates the status of
// the parent.
//
//	reference --kubeconfig FILE --parents widgets.v1.bench.example.com --children configmaps.v1. --webhook http://127.0.0.1:8080
//
// It serves /metrics, with the requests that it has sent and the objects in its caches, and /debug/pprof.
package main
