package plan

import (
	"context"

	"metascript/controller/object"
)

// A Writer does operations.
type Writer interface {
	Do(ctx context.Context, op Op) (*object.Object, error)
}
