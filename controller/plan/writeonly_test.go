package plan

import (
	"testing"

	"metascript/controller/object"
)

// Fields of built-in kinds that are write-only, or that the API server or a controller of Kubernetes owns, as hooks return them. What is
// stored after the creation, and what is filled in later, is no difference. After a restart it may need a dry run.
func TestFieldsThatTheServerOwns(t *testing.T) {
	const pod, claim, service = "apiVersion: v1, kind: Pod", "apiVersion: v1, kind: PersistentVolumeClaim", "apiVersion: v1, kind: Service"
	for _, c := range []struct{ name, kind, wanted, stored, later string }{
		{"write-only", "apiVersion: v1, kind: Secret", "stringData: {a: x}", "data: {a: eA==}, type: Opaque", ""},
		{"write-only, beside its result", "apiVersion: v1, kind: Secret", "stringData: {a: x}, data: {a: eQ==, b: eg==}", "data: {a: eA==, b: eg==}, type: Opaque", ""},
		{"of the scheduler", pod, "spec: {nodeName: ''}", "spec: {schedulerName: default-scheduler}", "spec: {schedulerName: default-scheduler, nodeName: n}"},
		{"the default scheduler", pod, "spec: {schedulerName: ''}", "spec: {schedulerName: default-scheduler}", ""},
		{"the default account", pod, "spec: {serviceAccountName: '', serviceAccount: ''}", "spec: {serviceAccountName: default, serviceAccount: default}", ""},
		{"the old name of the account", pod, "spec: {serviceAccount: a}", "spec: {serviceAccountName: a, serviceAccount: a}", ""},
		{"of the priority class", pod, "spec: {priorityClassName: high}", "spec: {priorityClassName: high, priority: 1000, preemptionPolicy: PreemptLowerPriority}", ""},
		{"of a runtime class", pod, "spec: {runtimeClassName: r}", "spec: {runtimeClassName: r, overhead: {podFixed: {cpu: 1}}}", ""},
		{"the finished status", pod, "spec: {hostname: h}, status: {phase: Pending}", "spec: {hostname: h}, status: {phase: Pending}", "spec: {hostname: h}, status: {phase: Running}"},
		{"of the volume binder", claim, "spec: {volumeName: ''}", "spec: {volumeMode: Filesystem}", "spec: {volumeMode: Filesystem, volumeName: v}"},
		{"two names of a source", claim, "spec: {dataSource: {kind: PersistentVolumeClaim, name: a}}", "spec: {dataSource: {kind: PersistentVolumeClaim, name: a}, dataSourceRef: {kind: PersistentVolumeClaim, name: a}}", ""},
		{"of the volume", "apiVersion: v1, kind: PersistentVolume", "spec: {claimRef: {namespace: n, name: c}}", "spec: {claimRef: {namespace: n, name: c}}", "spec: {claimRef: {namespace: n, name: c, uid: u, resourceVersion: '7'}}"},
		{"a reclaim policy", "apiVersion: v1, kind: PersistentVolume", "spec: {persistentVolumeReclaimPolicy: ''}", "spec: {persistentVolumeReclaimPolicy: Retain}", ""},
		{"an address", service, "spec: {clusterIP: ''}", "spec: {clusterIP: 10.0.0.1, clusterIPs: [10.0.0.1], ipFamilies: [IPv4]}", ""},
		{"a node port", service, "spec: {type: NodePort, ports: [{port: 1, nodePort: 0}]}", "spec: {type: NodePort, ports: [{port: 1, nodePort: 30001, protocol: TCP, targetPort: 1}]}", ""},
		{"a protocol", service, "spec: {ports: [{port: 1, protocol: ''}, {port: 1, protocol: UDP}]}", "spec: {ports: [{port: 1, protocol: TCP, targetPort: 1}, {port: 1, protocol: UDP, targetPort: 1}]}", ""},
		{"a protocol of a container", "apiVersion: batch/v1, kind: CronJob", "spec: {jobTemplate: {spec: {template: {spec: {containers: [{name: a, ports: [{containerPort: 1, protocol: ''}]}]}}}}}", "spec: {jobTemplate: {spec: {template: {spec: {containers: [{name: a, ports: [{containerPort: 1, protocol: TCP}]}]}}}}}", ""},
		{"a load balancer", service, "status: {loadBalancer: {}}", "spec: {clusterIP: 10.0.0.1}, status: {loadBalancer: {}}", "spec: {clusterIP: 10.0.0.1}, status: {loadBalancer: {ingress: [{ip: 1.2.3.4}]}}"},
		{"a selector", "apiVersion: batch/v1, kind: Job", "spec: {template: {metadata: {labels: {a: b}}}}", "spec: {selector: {matchLabels: {controller-uid: u}}, template: {metadata: {labels: {a: b, controller-uid: u}}}}", ""},
		{"who asks", "apiVersion: certificates.k8s.io/v1, kind: CertificateSigningRequest", "spec: {username: me, groups: [g]}", "spec: {username: system:serviceaccount:n:a, groups: [system:authenticated]}", ""},
		{"finalizers of a namespace", "apiVersion: v1, kind: Namespace", "spec: {finalizers: []}", "spec: {finalizers: [kubernetes]}", ""},
		{"a revision", "apiVersion: apps/v1, kind: Deployment", "spec: {replicas: 1}", "spec: {replicas: 1, progressDeadlineSeconds: 600}", "spec: {replicas: 1, progressDeadlineSeconds: 600}, status: {replicas: 1}"},
		{"an autoscaler's metrics", "apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler", "spec: {maxReplicas: 3}", "spec: {maxReplicas: 3, minReplicas: 1, metrics: [{type: Resource}]}", ""},
		{"what only the API server sets", "apiVersion: v1, kind: ConfigMap", "metadata: {name: o, namespace: n, uid: other, resourceVersion: '3', generation: 4, creationTimestamp: null, selfLink: /x, managedFields: [{manager: m}]}, data: {a: b}", "data: {a: b}", ""},
	} {
		wanted, withMetadata := c.wanted, ", metadata: {name: o, namespace: n, uid: u, resourceVersion: '1'}"
		if c.name != "what only the API server sets" {
			wanted += ", metadata: {name: o, namespace: n}"
		}
		if c.later == "" {
			c.later = c.stored
		}
		want := parseObject(t, "{"+c.kind+", "+wanted+"}")
		first := storedAs(t, "{"+c.kind+", "+c.stored+withMetadata+"}", want)
		later := storedAs(t, "{"+c.kind+", "+c.later+withMetadata+"}", want)
		kind := want.GroupVersionKind()
		for _, method := range []Method{InPlace, Recreate} {
			memory := Memory{}
			policy := Policy{Rules: Rules{kind: method}, Memory: memory}
			if err := policy.NoteWritten(Op{Verb: Create, Object: first, Wanted: want}, first); err != nil {
				t.Fatal(err)
			}
			for _, have := range []*object.Object{first, later} {
				planned, err := Children(setOf(have), setOf(want), policy)
				if err != nil || len(planned.Ops) > 0 {
					t.Errorf("%s: %s: %v, error %v", c.name, method, planned.Ops, err)
				}
			}
			policy.Memory = Memory{}
			planned, err := Children(setOf(later), setOf(want), policy)
			if err != nil {
				t.Fatal(err)
			}
			for _, op := range planned.Ops {
				if _, confirmed := op.Confirm(); !confirmed || !op.Doubtful {
					t.Errorf("%s: %s: without a dry run after a restart: %v", c.name, method, op)
				}
			}
		}
	}
}

// A number that has a default if it is 0, and a quantity that is rounded, are stored with the same meaning.
func TestZerosAndRoundedQuantitiesMeanTheSame(t *testing.T) {
	want := parseObject(t, `{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {probe: {periodSeconds: 0}, cpu: 100.5m, replicas: 0}}`)
	have := parseObject(t, `{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {probe: {periodSeconds: 10}, cpu: 101m, replicas: 3}}`)
	for _, s := range Spellings(have, want) {
		if other := s.Path.String() == "spec.replicas"; s.Same == other {
			t.Errorf("%s: the same %t", s.Path, s.Same)
		}
	}
}
