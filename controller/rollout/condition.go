package rollout

// The reasons of the condition.
const (
	OnLatest    = "OnLatestRevision"   // every child is at the latest revision
	Progressing = "RolloutProgressing" // a child moves to it now
	Waiting     = "RolloutWaiting"     // the next child waits for one that moved before
)

// UpdatedCondition is the type of the condition.
const UpdatedCondition = "Updated"

// A Condition tells how far the rollout is.
type Condition struct {
	Status  bool
	Reason  string
	Message string // names a child when the status is false
}
