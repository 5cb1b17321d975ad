interface ImmortalContainer {
  metadata: { name: string };
  spec: { image: string };
}

interface Request {
  parent: ImmortalContainer;
  children: Record<string, Record<string, object>>;
}

/** One Pod, which is created again when it is deleted. */
export function sync({ parent, children }: Request) {
  const name = `${parent.metadata.name}-immortalpod`;
  return {
    status: { currentPod: name in children["Pod.v1"] ? name : "" },
    children: [{
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name },
      spec: {
        restartPolicy: "OnFailure",
        containers: [{ name: "acontainer", image: parent.spec.image }],
      },
    }],
  };
}
