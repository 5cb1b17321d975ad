package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// findCluster finds the cluster by the file at path, if it is not "", the variable KUBECONFIG, ~/.kube/config, or the
// Pod that the program runs in, in this order.
func findCluster(path string) (*rest.Config, error) {
	if err := checkVariable(); path == "" && err != nil {
		return nil, err
	}
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = path
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, nil).ClientConfig()
	if clientcmd.IsEmptyConfig(err) {
		return nil, errors.New("find a cluster: this is no Pod, and there is no kubeconfig file: name one with --kubeconfig or the variable KUBECONFIG, or put it at ~/.kube/config")
	}
	if err != nil {
		return nil, fmt.Errorf("find a cluster: %w", err)
	}
	return config, nil
}

// checkVariable refuses a KUBECONFIG of which no file is there, which client-go would pass over without a word.
func checkVariable() error {
	value := os.Getenv(clientcmd.RecommendedConfigPathEnvVar)
	if strings.TrimSpace(value) == "" {
		return nil
	}
	for _, path := range filepath.SplitList(value) {
		if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
			return nil // what else may be wrong with it is told when it is read
		}
	}
	return fmt.Errorf("find a cluster: the variable KUBECONFIG names %s, and there is no such file", value)
}
