package controlplane

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
)

// How many nodes and PersistentVolumes seed creates.
const (
	nodeCount   = 3
	volumeCount = 12
)

// object is an API object that is sent as JSON.
type object = map[string]any

// releasedVolumeStage is a Stage of kwok that makes a PersistentVolume available
// again when its claim is deleted. Without it, a volume with the reclaim policy
// Retain stays Released, and no volume is available after 12 claims.
const releasedVolumeStage = `apiVersion: kwok.x-k8s.io/v1alpha1
kind: Stage
metadata:
  name: volume-released
spec:
  resourceRef:
    apiGroup: v1
    kind: PersistentVolume
  selector:
    matchExpressions:
    - key: .metadata.deletionTimestamp
      operator: DoesNotExist
    - key: .status.phase
      operator: In
      values:
      - Released
  next:
    patches:
    - root: spec
      type: merge
      template: |
        claimRef: null
`

// etcdHealth returns an error unless the health check of etcd succeeds.
func etcdHealth(ctx context.Context, url string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"/health", nil)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("health: %s", response.Status)
	}
	return nil
}

// seed creates the nodes, the default StorageClass and the PersistentVolumes. It
// returns an error if the API server is not ready yet.
func (c *client) seed(ctx context.Context) error {
	if err := c.get(ctx, "/readyz", nil); err != nil {
		return err
	}
	if err := c.get(ctx, "/api/v1/namespaces/default", nil); err != nil {
		return err
	}
	if err := c.create(ctx, "/apis/storage.k8s.io/v1/storageclasses", storageClass()); err != nil {
		return err
	}
	for i := range nodeCount {
		if err := c.create(ctx, "/api/v1/nodes", node(i+1)); err != nil {
			return err
		}
	}
	for i := range volumeCount {
		if err := c.create(ctx, "/api/v1/persistentvolumes", volume(i+1)); err != nil {
			return err
		}
	}
	return nil
}

// node returns node i with the labels that a kubelet sets. kwok sets its status.
func node(i int) object {
	name := fmt.Sprintf("node-%d", i)
	return object{
		"apiVersion": "v1",
		"kind":       "Node",
		"metadata": object{
			"name":        name,
			"annotations": object{"kwok.x-k8s.io/node": "fake"},
			"labels": object{
				"kubernetes.io/hostname": name,
				"kubernetes.io/os":       "linux",
				"kubernetes.io/arch":     "amd64",
			},
		},
	}
}

// storageClass returns the default StorageClass. It has no provisioner.
func storageClass() object {
	return object{
		"apiVersion": "storage.k8s.io/v1",
		"kind":       "StorageClass",
		"metadata": object{
			"name":        "standard",
			"annotations": object{"storageclass.kubernetes.io/is-default-class": "true"},
		},
		"provisioner":       "kubernetes.io/no-provisioner",
		"volumeBindingMode": "Immediate",
	}
}

// volume returns PersistentVolume i. Nothing opens its path on the host, because
// no containers run.
func volume(i int) object {
	name := fmt.Sprintf("volume-%02d", i)
	return object{
		"apiVersion": "v1",
		"kind":       "PersistentVolume",
		"metadata":   object{"name": name},
		"spec": object{
			"capacity":                      object{"storage": "1Gi"},
			"accessModes":                   []string{"ReadWriteOnce"},
			"persistentVolumeReclaimPolicy": "Retain",
			"storageClassName":              "standard",
			"hostPath":                      object{"path": "/nonexistent/" + name},
		},
	}
}

// controllersWork returns an error unless the ServiceAccount default exists,
// which only kube-controller-manager creates.
func (c *client) controllersWork(ctx context.Context) error {
	return c.get(ctx, "/api/v1/namespaces/default/serviceaccounts/default", nil)
}

// nodesReady returns an error unless all nodes are Ready and have no taints. A
// new node has a taint until it is Ready, so that no Pods are scheduled to it.
func (c *client) nodesReady(ctx context.Context) error {
	var list struct {
		Items []struct {
			Spec struct {
				Taints []json.RawMessage
			}
			Status struct {
				Conditions []struct{ Type, Status string }
			}
		}
	}
	if err := c.get(ctx, "/api/v1/nodes", &list); err != nil {
		return err
	}
	ready := 0
	for _, node := range list.Items {
		for _, condition := range node.Status.Conditions {
			if condition.Type == "Ready" && condition.Status == "True" && len(node.Spec.Taints) == 0 {
				ready++
			}
		}
	}
	if ready < nodeCount {
		return fmt.Errorf("%d of %d nodes are ready", ready, nodeCount)
	}
	return nil
}
