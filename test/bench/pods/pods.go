// Package pods has Pods for benchmarks, and serves them as an API server does.
package pods

import "fmt"

// Name returns the name of a Pod.
func Name(i int) string { return fmt.Sprintf("web-7c5ddbdf54-%05d", i) }

// UID returns the UID of an object of a kind.
func UID(kind string, i int) string {
	return fmt.Sprintf("%-8.8s-0000-4000-8000-%012d", kind, i)
}

// Image is the image of all containers.
const Image = "registry.example.com/team/web:1.27.3"

// Labels returns the labels of all objects.
func Labels() map[string]any {
	return map[string]any{"app.kubernetes.io/name": "web", "app.kubernetes.io/part-of": "shop", "tier": "front"}
}

// Container returns a container with some environment variables.
func Container(variables int) map[string]any {
	return map[string]any{
		"name": "web", "image": Image, "imagePullPolicy": "IfNotPresent",
		"args": []any{"--listen=:8080", "--verbosity=2"}, "env": environment(variables),
		"ports": []any{map[string]any{"name": "http", "containerPort": int64(8080), "protocol": "TCP"}},
		"resources": map[string]any{
			"requests": map[string]any{"cpu": "100m", "memory": "128Mi"}, "limits": map[string]any{"cpu": "1", "memory": "256Mi"},
		},
		"readinessProbe": map[string]any{
			"httpGet":       map[string]any{"path": "/healthz", "port": int64(8080), "scheme": "HTTP"},
			"periodSeconds": int64(10), "timeoutSeconds": int64(1), "successThreshold": int64(1), "failureThreshold": int64(3),
		},
	}
}

func environment(n int) []any {
	env := []any{map[string]any{
		"name": "POD_IP", "valueFrom": map[string]any{"fieldRef": map[string]any{"apiVersion": "v1", "fieldPath": "status.podIP"}},
	}}
	for i := range n {
		env = append(env, map[string]any{"name": fmt.Sprintf("VARIABLE_%d", i), "value": "some value of a variable"})
	}
	return env
}

// New returns a Pod like one in the cache of an informer, without managedFields. Every tenth Pod is not ready.
func New(name string, i int) map[string]any {
	return map[string]any{
		"apiVersion": "v1", "kind": "Pod",
		"metadata": map[string]any{
			"name": name, "namespace": "default", "uid": UID("pod", i), "resourceVersion": ResourceVersion(i, 0),
			"creationTimestamp": "2026-01-02T03:04:05Z", "labels": Labels(),
			"ownerReferences": []any{map[string]any{
				"apiVersion": "example.com/v1", "kind": "Web", "name": "web", "uid": UID("parent", 0),
				"controller": true, "blockOwnerDeletion": true,
			}},
		},
		"spec":   podSpec(i),
		"status": podStatus(i),
	}
}

func podSpec(i int) map[string]any {
	c := Container(8)
	c["volumeMounts"] = []any{
		map[string]any{"name": "config", "mountPath": "/etc/web", "readOnly": true},
		map[string]any{"name": "kube-api-access", "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount", "readOnly": true},
	}
	return map[string]any{
		"nodeName": fmt.Sprintf("node-%d.example.com", i%8), "restartPolicy": "Always", "dnsPolicy": "ClusterFirst",
		"serviceAccountName": "web", "schedulerName": "default-scheduler", "terminationGracePeriodSeconds": int64(30),
		"containers": []any{c},
		"volumes": []any{
			map[string]any{"name": "config", "configMap": map[string]any{"name": "web", "defaultMode": int64(420)}},
			map[string]any{"name": "kube-api-access", "projected": map[string]any{"defaultMode": int64(420), "sources": []any{
				map[string]any{"serviceAccountToken": map[string]any{"path": "token", "expirationSeconds": int64(3607)}},
			}}},
		},
		"tolerations": []any{
			map[string]any{"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": int64(300)},
			map[string]any{"key": "node.kubernetes.io/unreachable", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": int64(300)},
		},
	}
}

func podStatus(i int) map[string]any {
	ready := "True"
	if i%10 == 9 {
		ready = "False"
	}
	var conditions []any
	for _, kind := range []string{"PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled"} {
		condition := map[string]any{"type": kind, "status": "True", "lastProbeTime": nil, "lastTransitionTime": "2026-01-02T03:04:05Z"}
		if kind == "Ready" {
			condition["status"] = ready
		}
		conditions = append(conditions, condition)
	}
	return map[string]any{
		"phase": "Running", "podIP": fmt.Sprintf("10.0.%d.%d", i/250, i%250), "hostIP": "192.168.0.1", "qosClass": "Burstable",
		"startTime": "2026-01-02T03:04:05Z", "conditions": conditions,
		"containerStatuses": []any{map[string]any{
			"name": "web", "ready": ready == "True", "started": true, "restartCount": int64(i % 3), "image": Image,
			"state": map[string]any{"running": map[string]any{"startedAt": "2026-01-02T03:04:05Z"}},
		}},
	}
}

// ResourceVersion returns a resourceVersion of Pod i. All have the same length, and those of a Pod begin with the same 7 bytes.
func ResourceVersion(i, version int) string { return fmt.Sprintf("2%05d.%010d", i, version) }
