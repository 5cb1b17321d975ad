package bench

import (
	"bytes"
	"fmt"
	"strings"

	"metascript/engine"
	"metascript/engine/enginetest"
	"metascript/engine/packed"
)

// request returns a request for sync of a CompositeController, with a parent of about 1.9 KB and n Pods of about 3.2 KB. The parent and
// the Pods are packed, as in the caches of a controller.
func request(n int) map[string]any {
	arg := plainRequest(n)
	arg["parent"] = enginetest.Pack(arg["parent"].(map[string]any))
	pods := podsOf(arg)
	for name, pod := range pods {
		pods[name] = enginetest.Pack(pod.(map[string]any))
	}
	return arg
}

// plainRequest is request with maps.
func plainRequest(n int) map[string]any {
	pods := make(map[string]any, n)
	for i := range n {
		name := podName(i)
		pods[name] = pod(name, i)
	}
	return map[string]any{
		"controller": map[string]any{
			"apiVersion": "metacontroller.k8s.io/v1alpha1", "kind": "CompositeController",
			"metadata": map[string]any{"name": "web", "uid": uid("controller", 0), "resourceVersion": "100"},
		},
		"parent":     parent(n),
		"children":   map[string]any{"Pod.v1": pods},
		"related":    map[string]any{},
		"finalizing": false,
		"now":        "2026-01-02T03:04:05Z",
	}
}

func podName(i int) string { return fmt.Sprintf("web-7c5ddbdf54-%05d", i) }

func uid(kind string, i int) string {
	return fmt.Sprintf("%-8.8s-0000-4000-8000-%012d", kind, i)
}

func parent(replicas int) map[string]any {
	return map[string]any{
		"apiVersion": "example.com/v1", "kind": "Web",
		"metadata": map[string]any{
			"name": "web", "namespace": "default", "uid": uid("parent", 0), "resourceVersion": "1000", "generation": int64(7),
			"creationTimestamp": "2026-01-02T03:04:05Z", "labels": labels(),
			"annotations": map[string]any{"example.com/description": strings.Repeat("what it is for. ", 20)},
		},
		"spec": map[string]any{
			"replicas": int64(replicas), "image": image,
			"template": map[string]any{
				"metadata": map[string]any{"labels": labels()},
				"spec":     map[string]any{"containers": []any{container(7)}},
			},
		},
		"status": map[string]any{"observedGeneration": int64(7), "replicas": int64(replicas), "ready": int64(replicas)},
	}
}

const image = "registry.example.com/team/web:1.27.3"

func labels() map[string]any {
	return map[string]any{"app.kubernetes.io/name": "web", "app.kubernetes.io/part-of": "shop", "tier": "front"}
}

func container(variables int) map[string]any {
	return map[string]any{
		"name": "web", "image": image, "imagePullPolicy": "IfNotPresent",
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

// pod returns a Pod like one in the cache of an informer, without managedFields. Every tenth Pod is not ready.
func pod(name string, i int) map[string]any {
	return map[string]any{
		"apiVersion": "v1", "kind": "Pod",
		"metadata": map[string]any{
			"name": name, "namespace": "default", "uid": uid("pod", i), "resourceVersion": resourceVersion(i, 0),
			"creationTimestamp": "2026-01-02T03:04:05Z", "labels": labels(),
			"ownerReferences": []any{map[string]any{
				"apiVersion": "example.com/v1", "kind": "Web", "name": "web", "uid": uid("parent", 0),
				"controller": true, "blockOwnerDeletion": true,
			}},
		},
		"spec":   podSpec(i),
		"status": podStatus(i),
	}
}

func podSpec(i int) map[string]any {
	c := container(8)
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
			"name": "web", "ready": ready == "True", "started": true, "restartCount": int64(i % 3), "image": image,
			"state": map[string]any{"running": map[string]any{"startedAt": "2026-01-02T03:04:05Z"}},
		}},
	}
}

// identify is engine.Env.Identify for objects from the caches of a controller.
func identify(object engine.Map) (id, version string) {
	if p, ok := object.(packed.Map); ok { // without an allocation
		if _, managed := p.At("metadata", "managedFields"); managed || p.Text("kind") == "" {
			return "", ""
		}
		return p.Text("metadata", "uid"), p.Text("metadata", "resourceVersion")
	}
	if kind := textAt(object, "kind"); kind == "" {
		return "", ""
	}
	value, _ := object.Get("metadata")
	metadata, ok := engine.MapOf(value)
	if !ok {
		return "", ""
	}
	if managed, _ := metadata.Get("managedFields"); managed != nil {
		return "", ""
	}
	return textAt(metadata, "uid"), textAt(metadata, "resourceVersion")
}

// textAt returns the text of a field; "" if it is no text.
func textAt(m engine.Map, key string) string {
	value, _ := m.Get(key)
	text, _ := value.(string)
	return text
}

// podsOf returns the Pods in a request, by name.
func podsOf(arg map[string]any) map[string]any {
	return arg["children"].(map[string]any)["Pod.v1"].(map[string]any)
}

// change puts a new version of pod i into the request. It changes the version in a copy of the object, which takes some microseconds.
func change(arg map[string]any, i, version int) {
	pods, name := podsOf(arg), podName(i)
	block := bytes.Clone(pods[name].(packed.Map).Bytes())
	at := bytes.Index(block, []byte(resourceVersion(i, 0))[:versionStart])
	copy(block[at:], resourceVersion(i, version))
	changed, err := packed.Load(block)
	if err != nil {
		panic(err)
	}
	pods[name] = changed
}

// resourceVersion returns a version of pod i. All have the same length, and the same first versionStart bytes.
func resourceVersion(i, version int) string { return fmt.Sprintf("2%05d.%010d", i, version) }

const versionStart = 7
