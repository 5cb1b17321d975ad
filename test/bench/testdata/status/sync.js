// The parent's status, of five fields of each Pod: name, node, image, phase, and whether it is ready.

const ready = pod => pod.status.conditions.find(c => c.type === 'Ready')?.status === 'True'

function sync({parent, children}) {
  const pods = Object.values(children['Pod.v1'])
  const nodes = new Set(), waiting = []
  let current = 0, running = 0
  for (const pod of pods) {
    nodes.add(pod.spec.nodeName)
    if (pod.spec.containers[0].image === parent.spec.image) current++
    if (pod.status.phase === 'Running') running++
    if (!ready(pod)) waiting.push(pod.metadata.name)
  }
  return {status: {replicas: pods.length, running, current, nodes: [...nodes].sort(), waiting}}
}
