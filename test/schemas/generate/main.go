// Command generate writes the kinds of Kubernetes and their schemas into the packages that embed them. It reads them from the API
// server of the cluster in KUBECONFIG. Run it in the root directory of the repository, with "make schemas".
package main

import (
	"context"
	"fmt"
	"os"

	"k8s.io/client-go/tools/clientcmd"

	"metascript/test/schemas"
)

func main() {
	if err := run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	config, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
	if err != nil {
		return err
	}
	snapshot, err := schemas.Read(ctx, config)
	if err != nil {
		return err
	}
	compressed, err := snapshot.Compress()
	if err != nil {
		return err
	}
	if err := os.WriteFile("controller/kinds/kubernetes.jsonl", snapshot.Kinds, 0o644); err != nil {
		return err
	}
	return os.WriteFile("controller/schemas/kubernetes.gz", compressed, 0o644)
}
