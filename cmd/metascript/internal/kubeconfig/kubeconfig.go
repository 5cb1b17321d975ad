// Package kubeconfig finds the cluster that a command uses.
package kubeconfig

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// Load returns the configuration for the API server. It reads the file at path if that is not "", or else the files in the variable
// KUBECONFIG, or else ~/.kube/config, or else it uses the service account of the Pod.
func Load(path string) (*rest.Config, error) {
	if err := checkVariable(); path == "" && err != nil {
		return nil, err
	}
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = path
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, nil).ClientConfig()
	if clientcmd.IsEmptyConfig(err) {
		return nil, errors.New("find a cluster: this is not a Pod, and there is no kubeconfig file: name one with --kubeconfig or the variable KUBECONFIG, or put it at ~/.kube/config")
	}
	if err != nil {
		return nil, fmt.Errorf("find a cluster: %w", err)
	}
	return config, nil
}

// checkVariable returns an error if KUBECONFIG is set and none of its files exists. client-go ignores such a variable
// silently, and would then use another cluster.
func checkVariable() error {
	value := os.Getenv(clientcmd.RecommendedConfigPathEnvVar)
	if strings.TrimSpace(value) == "" {
		return nil
	}
	for _, path := range filepath.SplitList(value) {
		if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
			return nil // any other error is reported when the file is read
		}
	}
	return fmt.Errorf("find a cluster: the variable KUBECONFIG names %s, and there is no such file", value)
}
