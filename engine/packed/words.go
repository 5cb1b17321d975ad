package packed

// words are texts that are frequent in the objects of Kubernetes. As values they take two bytes, and to read them allocates nothing. Texts
// of three bytes or fewer are not words unless they are very frequent, since looking for words takes time too.
var words = [...]string{
	// Conditions.
	"True", "False", "Unknown", "Ready", "Available", "Progressing", "Initialized", "PodScheduled", "ContainersReady",
	"PodReadyToStartContainers", "ReplicaFailure", "Complete", "Failed", "Degraded", "Synced", "Established", "NamesAccepted",
	"MinimumReplicasAvailable", "NewReplicaSetAvailable", "PodCompleted", "ContainersNotReady", "Unschedulable",

	// States.
	"Running", "Pending", "Succeeded", "Active", "Terminating", "Bound", "Completed", "Error", "CrashLoopBackOff", "ImagePullBackOff",
	"ErrImagePull", "ContainerCreating", "OOMKilled", "Evicted",

	// Kinds and versions.
	"v1", "v1beta1", "v1alpha1", "apps/v1", "batch/v1", "Pod", "Service", "ConfigMap", "Secret", "Namespace", "Node", "Deployment",
	"ReplicaSet", "StatefulSet", "DaemonSet", "Job", "CronJob", "PersistentVolumeClaim", "ServiceAccount", "Ingress",
	"networking.k8s.io/v1", "rbac.authorization.k8s.io/v1", "policy/v1",

	// Choices in specs.
	"Always", "OnFailure", "Never", "IfNotPresent", "ClusterFirst", "Default", "None", "TCP", "UDP", "HTTP", "HTTPS", "http", "https",
	"metrics", "RollingUpdate", "Recreate", "OnDelete", "Parallel", "OrderedReady", "ClusterIP", "NodePort", "LoadBalancer", "Cluster",
	"Local", "IPv4", "SingleStack", "Exists", "Equal", "In", "NoExecute", "NoSchedule", "PreferNoSchedule", "DirectoryOrCreate",
	"Directory", "ReadWriteOnce", "ReadOnlyMany", "ReadWriteMany", "Filesystem", "Delete", "Retain", "Orphan", "Opaque",
	"RuntimeDefault", "ALL", "NET_BIND_SERVICE", "File", "FallbackToLogsOnError", "Burstable", "BestEffort", "Guaranteed",
	"PreemptLowerPriority", "default-scheduler", "default", "kube-system", "root", "node.kubernetes.io/not-ready",
	"node.kubernetes.io/unreachable", "kubernetes.io/hostname", "topology.kubernetes.io/zone", "topology.kubernetes.io/region",

	// Volumes and names in every Pod.
	"/dev/termination-log", "/var/run/secrets/kubernetes.io/serviceaccount", "kube-root-ca.crt", "ca.crt", "token", "namespace",
	"metadata.namespace", "metadata.name", "metadata.uid", "status.podIP", "status.hostIP", "spec.nodeName", "config", "data", "tmp",
	"/tmp", "/healthz", "/readyz", "/livez", "/metrics",
}

// wordValues are the words as values.
var wordValues = func() (values [len(words)]any) {
	for i, w := range words {
		values[i] = w
	}
	return values
}()

// wordNumbers are the numbers of the words.
var wordNumbers = func() map[string]byte {
	numbers := make(map[string]byte, len(words))
	for i, w := range words {
		numbers[w] = byte(i)
	}
	return numbers
}()

// longestWord is the length from which no text is a word.
const longestWord = 48

// wordStarts are, for each length, the first bytes of the words of that length, with a bit for the lower five bits of each. Most other
// texts are excluded by them.
var wordStarts = func() (starts [longestWord]uint32) {
	for _, w := range words {
		starts[len(w)] |= 1 << (w[0] & 31)
	}
	return starts
}()

// wordNumber returns the number of a text, and whether it is a word.
func wordNumber(text []byte) (number byte, ok bool) {
	if len(text) == 0 || len(text) >= longestWord || wordStarts[len(text)]&(1<<(text[0]&31)) == 0 {
		return 0, false
	}
	number, ok = wordNumbers[string(text)]
	return number, ok
}
