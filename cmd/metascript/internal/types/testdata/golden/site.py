
class Object:
    apiVersion: str = None
    kind: str = None
    metadata: dict = None
    spec: dict = None
    status: dict = None

class Metadata:
    name: str = None
    namespace: str = None
    labels: dict = None
    annotations: dict = None
    uid: str = None
    generation: int = None
    creationTimestamp: str = None
    deletionTimestamp: str = None

class SiteSpec:
    hosts: list = None
    image: str = None
    "The image of the server. It listens on the port 80; see https://example.com/*/image."
    labels: dict = None
    limits: dict = None
    memory: str = None
    pages: list = None
    port: any = None
    "The port of the Service, by number or by name."
    replicas: int = None
    reserved: dict = None
    template: any = None
    update: str = None

class SiteSpecLimits:
    rate: int = None

class SiteSpecPages:
    owner: dict = None
    path: str = None

class SiteSpecPagesOwner:
    name: str = None

class SiteStatus:
    conditions: list = None
    observedGeneration: int = None
    phase: str = None

class SiteStatusConditions:
    lastTransitionTime: str = None
    message: str = None
    reason: str = None
    status: str = None
    type: str = None
