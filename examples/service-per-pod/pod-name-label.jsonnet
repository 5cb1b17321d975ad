// A label with the Pod's name, so that a Service can select this one Pod. The annotation has the key of the label.
{
  sync(object):: {
    labels: { [object.metadata.annotations['pod-name-label']]: object.metadata.name },
  },
}
