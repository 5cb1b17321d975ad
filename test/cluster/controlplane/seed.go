package controlplane

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
)

const (
	nodeCount   = 3
	volumeCount = 12
)

// object is an API object as it is sent.
type object = map[string]any

// releasedVolumeStage makes a volume available again when its claim is gone. Without it
// the volumes would be used up after as many claims, because one that was made
// by hand stays Released until somebody has looked after its data.
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

// etcdHealth asks etcd's own health check.
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

// seed waits for the API server and makes the objects that somebody makes in
// every cluster before it can be used: nodes, and storage for claims.
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

// node has the labels that a kubelet would give it; kwok does the rest.
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

// volume names a path on the host that nothing ever opens.
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

// controllersWork looks for something that only the controller manager makes.
func (c *client) controllersWork(ctx context.Context) error {
	return c.get(ctx, "/api/v1/namespaces/default/serviceaccounts/default", nil)
}

// nodesReady waits for the nodes to be Ready and for the taint to go that kept
// pods away from them until then.
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
